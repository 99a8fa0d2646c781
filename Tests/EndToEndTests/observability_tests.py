"""deploy/observability: rules, dashboard and scrape configuration against a Recast that has had traffic of every kind, read by
Prometheus' own tools and, for what the panels show, by a Prometheus that scrapes it."""

import functools
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from docs_blocks import anchors, tables
from docs_settings import read_yaml
from harness import DEADLINE, ROOT, free_port, select_nothing
from observed import ObservedTestCase
from pages import documented_rows, read_page
from promql import taken_apart

FOLDER = os.path.join(ROOT, "deploy", "observability")
PAGE = "docs/observability.md"
# What Prometheus gives to each target, and what the Prometheus Operator gives it beside.
TARGET = {"job", "instance"}
FURTHER_TARGET = {"pod", "namespace"}
# Rows of the dashboard, one for each part of what Recast does.
ROWS = ["Traffic and status by route", "Latency by quantiles", "Conversions", "Upstreams", "HTTP/2", "External processing",
        "Memory and limits", "TLS certificates' life", "Process"]
SUFFIX = re.compile("_(bucket|sum|count)$")


def read(name):
    with open(os.path.join(FOLDER, name)) as file:
        return file.read()


@functools.cache
def rules():
    """All rules, those that record first."""
    document, = read_yaml(read("rules.yaml"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts():
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


@functools.cache
def recorded():
    return {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}


@functools.cache
def dashboard():
    return json.loads(read("dashboard.json"))


def panels(kind=None):
    return [panel for panel in dashboard()["panels"] if (panel["type"] == "row") == (kind == "row")]


def filled_in(query, window="1m"):
    """A query of the dashboard as Grafana sends it, with All chosen."""
    for name in ("job", "instance", "route", "upstream"):
        query = query.replace(f"${name}", ".*")
    query = query.replace("$__rate_interval", window)
    if "$" in query:
        raise AssertionError(f"a variable that there is not: {query}")
    return query


def queries():
    """(where it stands, query, labels that its legend or its text names) of all that asks Prometheus."""
    for panel in panels():
        for target in panel["targets"]:
            yield (f"panel {panel['title']!r} {target['refId']}", filled_in(target["expr"]),
                   set(re.findall(r"\{\{ *(\w+) *\}\}", target["legendFormat"])))
    for annotation in dashboard()["annotations"]["list"]:
        yield f"annotation {annotation['name']!r}", filled_in(annotation["expr"]), set(re.findall(r"\{\{ *(\w+) *\}\}", annotation["titleFormat"]))
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield f"variable {variable['name']!r}", filled_in(metric), {label}
    for rule in rules():
        texts = " ".join(rule.get("annotations", {}).values())
        yield f"rule {rule.get('alert') or rule.get('record')}", rule["expr"], set(re.findall(r"\$labels\.(\w+)", texts))


def flattened(selectors):
    """The selectors behind recorded names, too."""
    for selector in selectors:
        if selector.metric in recorded():
            yield from flattened(taken_apart(recorded()[selector.metric])[0])
        else:
            yield selector


def promtool(*arguments):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE)


class FileTests(unittest.TestCase):
    """What can be said of the files without a Recast."""

    def test_promtool_takes_rules_and_configuration(self):
        for arguments in (("check", "rules", os.path.join(FOLDER, "rules.yaml")), ("check", "config", os.path.join(FOLDER, "prometheus.yaml"))):
            result = promtool(*arguments)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        # It follows rule_files, and so says that it has seen them all.
        self.assertIn(f"{len(rules())} rules found", result.stdout)

    def test_each_query_is_one(self):
        """Those of the dashboard too, as rules of a file that is made of them."""
        made = [{"record": f"query:{number}", "expr": query} for number, (_, query, _) in enumerate(queries())]
        self.assertGreater(len(made), 100)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.yaml")

            def check(queries):
                with open(path, "w") as file:
                    json.dump({"groups": [{"name": "queries", "rules": queries}]}, file)
                return promtool("check", "rules", path)

            result = check(made)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn(f"{len(made)} rules found", result.stdout)
            self.assertNotEqual(check([*made, {"record": "query:broken", "expr": "sum by (a) (rate(b[5m])"}]).returncode, 0)

    def test_each_alert_fires_when_it_should_and_only_then(self):
        path = os.path.join(ROOT, "Tests", "Observability", "rules-test.yaml")
        result = promtool("test", "rules", path)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        with open(path) as file:
            document, = read_yaml(file.read())
        fires, quiet, values = set(), set(), set()
        for test in document["tests"]:
            for case in test.get("alert_rule_test", []):
                (fires if case["exp_alerts"] else quiet).add((test["name"], case["alertname"]))
            values |= {case["expr"] for case in test.get("promql_expr_test", [])}
        for name in alerts():
            self.assertIn((f"{name} fires", name), fires)
            self.assertIn((f"{name} doesn't fire", name), quiet)
        self.assertEqual(values, set(recorded()))

    def test_each_alert_says_what_to_do_and_where_that_is_written(self):
        headings = [line.removeprefix("### ") for line in read_page(PAGE).splitlines() if line.startswith("### Recast")]
        self.assertEqual(headings, list(alerts()))
        for name, rule in alerts().items():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"), name)
            self.assertEqual(set(rule["annotations"]), {"summary", "runbook"}, name)
            text, page, anchor = re.fullmatch(r"(.{30,}): (docs/\w+\.md)#(\w+)", rule["annotations"]["runbook"]).groups()
            self.assertEqual((page, anchor), (PAGE, name.lower()), text)
            self.assertIn(anchor, anchors(page))

    def test_the_dashboard_can_be_imported(self):
        board = dashboard()
        # Grafana gives the number; a data source that is written down is somebody else's.
        self.assertNotIn("id", board)
        self.assertEqual([one["name"] for one in board["templating"]["list"] if one["type"] == "datasource"], ["datasource"])
        self.assertEqual(set(re.findall(r'"uid": "([^"]*)"', read("dashboard.json"))), {"recast", "${datasource}"})
        self.assertEqual([panel["title"] for panel in panels("row")], ROWS)
        identities = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(identities), len(set(identities)))
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            self.assertEqual(cells & taken, set(), panel["title"])
            taken |= cells
        asked = [annotation["expr"] for annotation in board["annotations"]["list"]]
        asked += [re.fullmatch(r"label_values\((.*), \w+\)", one["query"]["query"])[1]
                  for one in board["templating"]["list"] if one["name"] in ("route", "upstream")]
        for panel in panels():
            self.assertTrue(panel["title"] and panel["description"] and panel["targets"], panel["title"])
            for target in panel["targets"]:
                self.assertEqual(target["datasource"], panel["datasource"])
                asked.append(target["expr"])
        # Each series is of the jobs and the instances that are chosen.
        self.assertGreater(len(asked), 100)
        for query in asked:
            for selector in taken_apart(query.replace("$__rate_interval", "1m"))[0]:
                self.assertLessEqual({("job", "=~", "$job"), ("instance", "=~", "$instance")}, set(selector.matchers), query)

    def test_queries_are_taken_apart(self):
        """The test itself: nothing that a query names is overlooked."""
        selectors, groupings = taken_apart('sum by (a, b) (rate(x_total{c="d",e!~"f|g"}[5m])) / on (a) group_left (h) y:z > 0.5 and time() > -1 or z offset 5m')
        self.assertEqual(repr(selectors), '[x_total{c="d",e!~"f|g"}, y:z{}, z{}]')
        self.assertEqual(groupings, {"by": {"a", "b"}, "on": {"a"}, "group_left": {"h"}})
        selectors, groupings = taken_apart("sum(a) by (b) + without_it")
        self.assertEqual((repr(selectors), groupings), ("[a{}, without_it{}]", {"by": {"b"}}))
        selector, = taken_apart('a{b=~"5..",c!="d"}')[0]
        self.assertTrue(selector.takes("a", {"b": "502"}))
        for name, labels in (("x", {"b": "502"}), ("a", {"b": "50"}), ("a", {"b": "502", "c": "d"}), ("a", {})):
            self.assertFalse(selector.takes(name, labels))

    def test_every_metric_is_used_or_left_out_for_a_reason(self):
        used = {SUFFIX.sub("", selector.metric) if SUFFIX.sub("", selector.metric) in documented_rows() else selector.metric
                for _, query, _ in queries() for selector in flattened(taken_apart(query)[0])}
        left_out = {cells[0].strip("`"): cells[1] for headings, rows in tables(PAGE) if headings == ["left out", "because"] for _, cells in rows}
        self.assertTrue(left_out and all(left_out.values()))
        self.assertEqual(used & set(left_out), set())
        self.assertEqual(set(documented_rows()) - used - set(left_out), set())
        self.assertEqual((used | set(left_out)) - set(documented_rows()), {"up"})

    def test_the_operators_rule_is_the_same(self):
        """The commands of the page that make a PrometheusRule of the rules."""
        commands = re.search(r"^printf .* > rule\.yaml\nsed .* >> rule\.yaml$", read_page(PAGE), re.M)[0]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(ROOT, "deploy"), os.path.join(folder, "deploy"))
            subprocess.run(["bash", "-euc", commands], cwd=folder, check=True, timeout=DEADLINE)
            with open(os.path.join(folder, "rule.yaml")) as file:
                made, = read_yaml(file.read())
        document, = read_yaml(read("rules.yaml"))
        self.assertEqual((made["apiVersion"], made["kind"], made["spec"]), ("monitoring.coreos.com/v1", "PrometheusRule", document))


class ScrapeTests(ObservedTestCase):
    """Every name against what Recast exposes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.samples = None

    def setUp(self):
        super().setUp()
        if self.samples is None:
            self.send_everything()
            # These come later than the answers: a check each second, a reset when it was read, a call when it has ended.
            metrics = self.admin.metrics_when(
                lambda m: m.sum("recast_upstream_checks_total") > 0 and m.sum("recast_http2_resets_total") > 0
                and m.sum("recast_requests_total", code="0") > 0 and m.sum("recast_requests_total", code="499") > 0)
            type(self).samples = [(sample.name, sample.labels) for family in metrics.families for sample in family.samples]

    def test_every_documented_metric_and_label_shows(self):
        """The traffic is such that nothing is missing, so that what is asked for here would be found."""
        for metric, (labels, _) in documented_rows().items():
            found = [set(one) - {"le"} for name, one in self.samples if SUFFIX.sub("", name) == metric or name == metric]
            self.assertTrue(found, metric)
            for one in found:
                self.assertEqual(one, labels, metric)

    def test_each_metric_and_label_of_a_query_exists(self):
        for place, query, named in queries():
            selectors, groupings = taken_apart(query)
            known = set()
            self.assertTrue(selectors, place)
            for selector in flattened(selectors):
                if selector.metric == "up":  # Prometheus' own
                    known |= TARGET
                    continue
                own = type(selector)(selector.metric, [one for one in selector.matchers if one[0] not in TARGET])
                taken = [labels for name, labels in self.samples if own.takes(name, labels)]
                with self.subTest(place, selector=own):
                    self.assertTrue(taken, f"Recast exposes nothing that this takes, in {query}")
                known |= set().union(*taken) | TARGET
            for word, labels in groupings.items():
                with self.subTest(place, grouping=word):
                    self.assertLessEqual(labels, known | (FURTHER_TARGET if word == "without" else set()), query)
            with self.subTest(place):
                self.assertLessEqual(named, known, query)


class Prometheus:
    """A Prometheus with the scrape configuration and the rules of deploy/observability, but for addresses and intervals; `labels` are
    what the Prometheus Operator gives to targets beside."""

    def __init__(self, test, target, labels):
        # A scrape that takes longer than its time brings nothing: the time is what a few take here and now, which on a slow machine is
        # more than usual.
        began = time.monotonic()
        for _ in range(3):
            with urllib.request.urlopen(f"http://{target}/metrics", timeout=DEADLINE) as answer:
                answer.read()
        interval = f"{max(400, round(4000 * (time.monotonic() - began) / 3))}ms"
        self.folder = tempfile.TemporaryDirectory(prefix="recast-prometheus-")
        test.addCleanup(self.folder.cleanup)
        self.port = free_port()
        settings, = read_yaml(read("prometheus.yaml"))
        settings["global"].update({"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": "200ms"})
        settings["rule_files"] = [os.path.join(FOLDER, name) for name in settings["rule_files"]]
        job, = settings["scrape_configs"]
        job["static_configs"] = [{"targets": [target], "labels": labels}]
        if labels:
            job["honor_labels"] = True  # as each monitor has it
        path = os.path.join(self.folder.name, "prometheus.yaml")
        with open(path, "w") as file:
            json.dump(settings, file)
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        test.addCleanup(self.log.close)
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.folder.name}/data", "--storage.tsdb.retention.time=1h",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        test.addCleanup(self.stop)

    def stop(self):
        self.process.terminate()
        self.process.wait(DEADLINE)

    def ask(self, path, **parameters):
        """The data of an answer, None while it doesn't listen yet."""
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"prometheus ended with {self.process.returncode}: {self.log.read()}")
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=DEADLINE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 503:  # it reads its storage
                    return None
                raise AssertionError(f"{parameters}: {error.read()}") from None
        except urllib.error.URLError:
            return None

    def series(self, query):
        """What a query gives: [(labels, value)]."""
        data = self.ask("query", query=query)
        return [(one["metric"], float(one["value"][1])) for one in data["result"]] if data else []


class PrometheusTests(ObservedTestCase):
    """What the panels show, in a Prometheus that scrapes Recast."""

    def until(self, what, condition):
        deadline = time.monotonic() + DEADLINE
        while True:
            result = condition()
            if result:
                return result
            if time.monotonic() > deadline:
                self.fail(f"never came true: {what}")
            select_nothing()

    def test_each_panel_shows_something(self):
        self.look_at_panels({})

    def test_each_panel_shows_something_with_the_labels_of_the_operator(self):
        prometheus = self.look_at_panels({"namespace": "edge", "pod": "recast-1", "container": "recast", "endpoint": "status"})
        # The operator's `endpoint` is the name of a port; that of Recast stays what it was.
        for labels, _ in prometheus.series("recast_upstream_endpoint_healthy"):
            self.assertRegex(labels["endpoint"], r"^127\.0\.0\.1:\d+$")
        recorded = 'route:recast_requests:rate5m{namespace="edge",pod=""}'
        self.until(recorded, lambda: prometheus.series(recorded))

    def look_at_panels(self, labels):
        self.send_everything()
        prometheus = Prometheus(self, f"127.0.0.1:{self.admin_port}", labels)
        self.until("Recast has been scraped", lambda: prometheus.series('recast_requests_total{job="recast"}'))
        # What is there already can grow: without a sample from before there would be no rate.
        self.until("what comes late has been scraped", lambda: prometheus.series("recast_upstream_checks_total"))
        self.send_everything()
        shown = 0
        for place, query, named in queries():
            if place.startswith("rule Recast"):
                continue  # an alert's query gives something when it fires: promtool's tests are about that
            with self.subTest(place):
                # Not a number is what a share or a quantile of nothing is.
                found = self.until(query, lambda: [one for one, value in prometheus.series(query) if value == value])
                self.assertTrue(any(named <= set(one) for one in found), (query, found))
                shown += 1
        self.assertGreater(shown, 100)

        def rules_that_ran():
            ran = [rule for group in (prometheus.ask("rules") or {"groups": []})["groups"] for rule in group["rules"]]
            return ran if ran and all(rule["health"] != "unknown" for rule in ran) else None

        ran = self.until("all rules have run", rules_that_ran)
        self.assertEqual([rule["name"] for rule in ran if rule["health"] != "ok"], [])
        self.assertEqual(len(ran), len(rules()))
        return prometheus


if __name__ == "__main__":
    unittest.main()
