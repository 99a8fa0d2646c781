"""The metrics as Prometheus reads them: every sum against what was sent."""

import ctypes
import os
import re
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, FORM, ROOT, Client, ProxyTestCase, read_and_answer
from lifecycle_support import reload
from pages import CLOSED_LABELS, documented_rows

ROUTES = """
  - { name: convert, match: { method: POST, path: /convert }, upstream: app, request: form -> json, limits: { body: 1MiB } }
  - { name: small, match: { method: POST, path: /small }, upstream: app, request: json -> form, limits: { body: 20B } }
  - { name: odd, match: /odd, upstream: app }
  - { name: back, match: /back, upstream: app, response: json -> form }
  - { name: never, match: /never, upstream: unasked }
  - { name: brief, match: "/brief/*", upstream: app, timeouts: { request: 800ms } }
  - { name: plain, match: "/*", upstream: app }
"""


class MetricsTests(ProxyTestCase):
    routes = ROUTES
    workers = 2
    further_upstreams = {"unasked": "127.0.0.1:9"}
    CONNECTIONS, REQUESTS = 8, 5

    @classmethod
    def setUpClass(cls):
        port, cls.settings = admin_port()
        cls.admin = Admin(port)
        super().setUpClass()
        cls.admin.until_ready()

    def when(self, condition):
        return self.admin.metrics_when(condition)

    def test_sums_are_those_of_what_was_sent(self):
        before = self.admin.metrics()

        def use():
            with Client(self.recast.port) as client:
                for _ in range(self.REQUESTS):
                    client.request("POST", "/convert", "a=1&b=2", FORM)
                    self.assertEqual(client.response().status, 200)
                client.request("POST", "/convert", "a=1&a[b]=2", FORM)
                self.assertEqual(client.response().status, 400)
                client.request("POST", "/convert", "x", "text/plain")
                self.assertEqual(client.response().status, 415)
                client.request("PUT", "/other", "12345")
                self.assertEqual(client.response().status, 200)
                client.request("BREW", "/pot")
                self.assertEqual(client.response().status, 200)

        threads = [threading.Thread(target=use) for _ in range(self.CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        n, good = self.CONNECTIONS, self.CONNECTIONS * self.REQUESTS

        def grown(metrics, name, **labels):
            return metrics.sum(name, **labels) - before.sum(name, **labels)

        metrics = self.when(lambda m: grown(m, "recast_requests_total") == good + 4 * n)
        for labels, count in [
            ({"route": "convert", "method": "POST", "code": "200"}, good), ({"route": "convert", "code": "400"}, n),
            ({"route": "convert", "code": "415"}, n), ({"route": "plain", "method": "PUT", "code": "200"}, n),
            ({"route": "plain", "method": "other", "code": "200"}, n), ({"method": "BREW"}, 0),
        ]:
            self.assertEqual(grown(metrics, "recast_requests_total", **labels), count, labels)
        self.assertEqual(grown(metrics, "recast_request_duration_seconds_count", route="convert"), good + 2 * n)
        self.assertEqual(grown(metrics, "recast_request_duration_seconds_bucket", route="convert", le="+Inf"), good + 2 * n)
        self.assertGreaterEqual(grown(metrics, "recast_request_duration_seconds_sum", route="convert"), 0)
        converted = {"route": "convert", "from": "form", "to": "json"}
        self.assertEqual(grown(metrics, "recast_transcode_total", result="ok", **converted), good)
        self.assertEqual(grown(metrics, "recast_transcode_total", result="refused", **converted), n)
        self.assertGreater(grown(metrics, "recast_transcode_duration_seconds_sum", route="convert"), 0)
        self.assertEqual(grown(metrics, "recast_transcode_errors_total", route="convert"), 2 * n)
        self.assertEqual(grown(metrics, "recast_transcode_errors_total", code="unsupported_media_type"), n)
        self.assertEqual(grown(metrics, "recast_transcode_parts_total", kind="field"), 2 * good)
        self.assertEqual(grown(metrics, "recast_transcode_framing_total", mode="length"), good)
        sent = good * 7 + n * (10 + 5)
        self.assertEqual(grown(metrics, "recast_request_bytes_total", direction="in", side="client"), sent)
        # {"a":"1","b":"2"} is 17 bytes.
        self.assertEqual(grown(metrics, "recast_request_bytes_total", direction="out", side="upstream"), good * 17 + n * 5)
        self.assertEqual(grown(metrics, "recast_request_bytes_total", direction="in", side="upstream"), (good + 2 * n) * 2)
        self.assertEqual(metrics.sum("recast_inflight_requests"), 0)
        self.assertEqual(metrics.sum("recast_workers"), 2)

    def test_a_body_is_refused_only_where_it_was_the_reason(self):
        """A client that leaves, or is too slow, has no bad body."""
        converted = {"route": "convert", "from": "form", "to": "json"}
        before = self.admin.metrics()

        def grown(metrics, **labels):
            return metrics.sum("recast_transcode_total", **converted, **labels) - before.sum(
                "recast_transcode_total", **converted, **labels)

        with Client(self.recast.port) as client:
            client.send(f"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: 10\r\n\r\na=1")
        metrics = self.when(lambda m: grown(m) == 1)
        self.assertEqual((grown(metrics, result="aborted"), grown(metrics, result="refused")), (1, 0))
        with Client(self.recast.port) as client:
            client.request("POST", "/convert", "a=%00&a[b]=2", FORM)
            self.assertEqual(client.response().status, 400)
        metrics = self.when(lambda m: grown(m) == 2)
        self.assertEqual((grown(metrics, result="aborted"), grown(metrics, result="refused")), (1, 1))

    def test_counters_only_grow_and_buckets_add_up(self):
        last = self.admin.metrics().counters()
        for _ in range(5):
            with Client(self.recast.port) as client:
                client.request("GET", "/grow")
                client.response()
            metrics = self.admin.metrics()
            for key, value in last.items():
                self.assertGreaterEqual(metrics.counters()[key], value, key)
            last = metrics.counters()
        for family in metrics.families:
            if family.type != "histogram":
                continue
            series = {}
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
                    series.setdefault(labels, []).append((float(sample.labels["le"]), sample.value))
            for labels, buckets in series.items():
                self.assertEqual(buckets, sorted(buckets), (family.name, labels))
                self.assertEqual([count for _, count in buckets], sorted(count for _, count in buckets), family.name)

    def test_what_is_in_flight(self):
        with Client(self.recast.port) as client:
            client.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + "x" * 300)
            before = self.when(lambda m: m.sum("recast_inflight_requests") == 1
                               and m.sum("recast_connections", side="upstream", state="active") == 1)
            self.assertGreaterEqual(before.sum("recast_connections", side="client", state="active"), 1)
            client.send("x" * 100)
            # Bytes of an upload count as they come, not when it ends.
            bytes_in = {"direction": "in", "side": "client"}
            self.when(lambda m: m.sum("recast_request_bytes_total", **bytes_in)
                      == before.sum("recast_request_bytes_total", **bytes_in) + 100)
            client.send("x" * 600)
            self.assertEqual(client.response().status, 200)
            self.when(lambda m: m.sum("recast_inflight_requests") == 0
                      and m.sum("recast_connections", side="client", state="idle") >= 1)

    def test_codes_that_an_upstream_makes_up_stay_few(self):
        codes = iter(range(400, 500))
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(status=next(codes)))
        before = self.admin.metrics()
        with Client(self.recast.port) as client:
            for _ in range(100):
                client.request("DELETE", "/odd")
                client.response()
        metrics = self.when(lambda m: m.sum("recast_requests_total") == before.sum("recast_requests_total") + 100)
        rows = [s for f in metrics.families for s in f.samples
                if s.name == "recast_requests_total" and s.labels["route"] == "odd"]
        self.assertLessEqual(len(rows), 2 * 65)
        self.assertGreater(metrics.sum("recast_requests_total", code="other"), 0)

    def test_the_process_is_described(self):
        metrics = self.admin.metrics()
        pid = self.recast.process.pid
        self.assertEqual(metrics.sum("recast_build_info"), 1)
        self.assertAlmostEqual(metrics.sum("process_open_fds"), len(os.listdir(f"/proc/{pid}/fd")), delta=3)
        self.assertGreater(metrics.sum("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(metrics.sum("process_cpu_seconds_total"), 0)
        self.assertLess(abs(metrics.sum("process_start_time_seconds") - time.time()), 3600)

    def test_every_family_is_documented_and_every_documented_one_known(self):
        with open(os.path.join(ROOT, "docs", "metrics.md")) as file:
            documented = set(re.findall(r"^\| `((?:recast|process)_[a-z0-9_]+)", file.read(), re.M))
        # What only shows when something happened has happened.
        with Client(self.recast.port) as client:
            client.request("POST", "/convert", "a=1", FORM)
            client.response()
            client.request("POST", "/convert", "a=1&a[b]=2", FORM)
            client.response()
        metrics = self.when(lambda m: m.sum("recast_transcode_errors_total") > 0)
        # The parser takes _total from a counter's name; the text has it.
        exposed = set(re.findall(r"^# TYPE (\S+)", metrics.text, re.M))
        self.assertEqual(exposed - documented, set())

    def test_the_names_are_those_that_openmetrics_takes(self):
        from prometheus_client.openmetrics.parser import text_string_to_metric_families

        with Client(self.recast.port) as client:
            client.request("POST", "/convert", "a=1", FORM)
            client.response()
        metrics = self.when(lambda m: m.sum("recast_transcode_total") > 0)
        # The same samples as that format writes them: a counter's family goes without _total, and bounds are floats.
        text = re.sub(r"^(# (?:TYPE|HELP) \S+?)_total( (?!gauge|histogram))", r"\1\2", metrics.text, flags=re.M)
        text = re.sub(r'le="([0-9.]+)"', lambda match: f'le="{float(match[1])}"', text)
        families = {family.name: family.type for family in text_string_to_metric_families(text + "# EOF\n")}
        self.assertEqual((families["recast_tunnels"], families["recast_open_tunnels"]), ("counter", "gauge"))
        self.assertGreater(len(families), 60)

    def test_gauges_of_limits_stand_beside_what_they_limit(self):
        metrics = self.admin.metrics()
        for used, most in [("recast_connections", "recast_connections_max"),
                           ("recast_upstream_connections", "recast_upstream_connections_max"),
                           ("recast_upstream_inflight_requests", "recast_upstream_inflight_requests_max"),
                           ("recast_upstream_queue_length", "recast_upstream_queue_max"),
                           ("recast_memory_leased_bytes", "recast_memory_budget_bytes"),
                           ("recast_spool_bytes", "recast_spool_budget_bytes"), ("process_open_fds", "process_max_fds")]:
            labels = {"side": "client"} if used == "recast_connections" else {}
            self.assertLess(metrics.sum(used, **labels), metrics.sum(most, **labels), used)
        self.assertEqual(metrics.sum("recast_upstream_connections_max", upstream="app"), 2 * 4096)
        self.assertEqual(metrics.sum("recast_spool_budget_bytes"), 1 << 30)
        # Without requests.in_flight there is no limit to tell.
        self.assertNotIn("recast_inflight_requests_max", metrics.text)

    def test_responses_of_an_upstream_by_status_and_time(self):
        before = self.admin.metrics()
        statuses = iter([200, 204, 302, 404, 500, 503])
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(status=next(statuses), body=b""))
        with Client(self.recast.port) as client:
            for _ in range(6):
                client.request("POST", "/status")
                client.response()

        def grown(metrics, **labels):
            name = "recast_upstream_responses_total"
            return metrics.sum(name, upstream="app", **labels) - before.sum(name, upstream="app", **labels)

        metrics = self.when(lambda m: grown(m) == 6)
        self.assertEqual([grown(metrics, code=f"{digit}xx") for digit in range(1, 6)], [0, 2, 1, 1, 2])
        name = "recast_upstream_response_seconds_count"
        self.assertEqual(metrics.sum(name, upstream="app") - before.sum(name, upstream="app"), 6)

    def test_responses_that_are_cut_are_told_from_whole_ones(self):
        def part(exchange):
            exchange.read_body()
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 354\r\n\r\nfirst")
            if exchange.received.target == "/cut":
                exchange.close()
            exchange.reader.rest()  # until it is left

        def bad(exchange):
            exchange.read_body()
            exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\nno size\r\n")
            exchange.reader.rest()

        for target, script, flag, reason in (("/cut", part, "UR", "closed"), ("/bad", bad, "UB", "bad_response"), ("/left", part, "CD", None)):
            with self.subTest(target):
                before = self.admin.metrics()
                self.upstream.script = script
                with Client(self.recast.port) as client:
                    client.request("GET", target)
                    self.assertEqual(client.reader.head()[0].split()[1], "200")
                    if flag == "UB":
                        self.assertEqual(client.reader.exactly(3), b"5\r\n")
                    self.assertEqual(client.reader.exactly(5), b"first")
                    if flag == "CD":
                        client.reset()
                    else:
                        client.reader.rest()

                def grown(metrics, name, before=before, **labels):
                    return metrics.sum(name, **labels) - before.sum(name, **labels)

                metrics = self.when(lambda m: grown(m, "recast_responses_cut_total", route="plain") == 1)
                self.assertEqual(grown(metrics, "recast_responses_cut_total", route="plain", flag=flag), 1)
                self.assertEqual(grown(metrics, "recast_requests_total", route="plain", code="200"), 1)
                self.assertEqual(grown(metrics, "recast_upstream_requests_total", result="response"), 1)
                self.assertEqual(grown(metrics, "recast_upstream_requests_total"), 1)
                self.assertEqual(grown(metrics, "recast_upstream_responses_cut_total"), 1 if reason else 0)
                if reason:
                    self.assertEqual(grown(metrics, "recast_upstream_responses_cut_total", reason=reason), 1)
        # A whole one, beside which nothing is counted.
        before = self.admin.metrics()
        self.upstream.script = read_and_answer
        self.assertEqual(self.send("GET", "/whole").status, 200)
        metrics = self.when(lambda m: m.sum("recast_requests_total") == before.sum("recast_requests_total") + 1)
        for name in ("recast_responses_cut_total", "recast_upstream_responses_cut_total"):
            self.assertEqual(metrics.sum(name), before.sum(name), name)

    def test_an_exchange_whose_time_is_over_counts_against_who_is_waited_for(self):
        def much(exchange):
            exchange.read_body()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {1 << 30}\r\n\r\n")
            while True:  # until it is left
                exchange.send(b"x" * (1 << 16))

        def part(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 354\r\n\r\nfirst")
            exchange.reader.rest()

        def silent(exchange):
            exchange.read_body()
            exchange.reader.rest()

        def half(exchange):
            exchange.reader.rest()

        timeout, cut = "recast_upstream_requests_total", "recast_upstream_responses_cut_total"
        for script, code, flag, body, counted in ((silent, "504", None, b"", (1, 0)), (part, "200", "UT", b"", (0, 1)),
                                                  (much, "200", "CS", b"", (0, 0)), (half, "408", None, b"x", (0, 0))):
            with self.subTest(script.__name__):
                before = self.admin.metrics()
                self.upstream.script = script

                def grown(metrics, name, before=before, **labels):
                    return metrics.sum(name, **labels) - before.sum(name, **labels)

                with Client(self.recast.port, receive_buffer=4096) as client:
                    length = ("Content-Length: 2",) if body else ()
                    client.request("POST" if body else "GET", "/brief/" + script.__name__, fields=length)
                    client.send(body)
                    metrics = self.when(lambda m: grown(m, "recast_requests_total", route="brief") == 1)
                self.assertEqual(grown(metrics, "recast_requests_total", route="brief", code=code), 1)
                self.assertEqual(grown(metrics, "recast_responses_cut_total", route="brief"), 1 if flag else 0)
                if flag:
                    self.assertEqual(grown(metrics, "recast_responses_cut_total", route="brief", flag=flag), 1)
                self.assertEqual(grown(metrics, "recast_timeouts_total", kind="request"), 1)
                self.assertEqual((grown(metrics, timeout, result="timeout"), grown(metrics, cut, reason="timeout")), counted)
                self.assertEqual(grown(metrics, timeout), 0 if body else 1)

    def test_bytes_of_a_tunnel_count_on_both_sides(self):
        self.upstream.script = lambda exchange: (
            exchange.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
            exchange.reader.exactly(3), exchange.send("hello"), exchange.close())
        before = self.admin.metrics()
        with Client(self.recast.port) as client:
            client.request("GET", "/tunnel", fields=["Connection: upgrade", "Upgrade: websocket"])
            self.assertEqual(client.response().status, 101)
            client.send("abc")
            self.assertEqual(client.reader.rest(), b"hello")
        metrics = self.when(lambda m: m.sum("recast_requests_total", code="101") == before.sum("recast_requests_total", code="101") + 1)
        for direction, side, count in (("in", "client", 3), ("out", "upstream", 3), ("in", "upstream", 5), ("out", "client", 5)):
            labels = {"direction": direction, "side": side}
            grown = metrics.sum("recast_request_bytes_total", **labels) - before.sum("recast_request_bytes_total", **labels)
            self.assertEqual(grown, count, labels)
        for direction, count in (("upstream", 3), ("client", 5)):
            grown = metrics.sum("recast_tunnel_bytes_total", direction=direction) - before.sum(
                "recast_tunnel_bytes_total", direction=direction)
            self.assertEqual(grown, count, direction)

    def test_a_reload_that_is_refused_shows_until_one_is_taken(self):
        metrics = self.admin.metrics()
        self.assertEqual(metrics.sum("recast_config_last_reload_successful"), 1)
        started = metrics.sum("recast_config_last_reload_success_timestamp_seconds")
        self.assertLess(abs(started - time.time()), 3600)
        with open(self.recast.config) as file:
            good = file.read()
        try:
            with open(self.recast.config, "a") as file:
                file.write("nonsense: 1\n")
            reload(self.recast, "reload: refused")
            self.assertEqual(self.admin.metrics().sum("recast_config_last_reload_successful"), 0)
        finally:
            with open(self.recast.config, "w") as file:
                file.write(good)
            reload(self.recast)
        metrics = self.admin.metrics()
        self.assertEqual(metrics.sum("recast_config_last_reload_successful"), 1)
        self.assertGreaterEqual(metrics.sum("recast_config_last_reload_success_timestamp_seconds"), started)

    def test_the_text_is_written_beside_the_loops(self):
        """By a thread that lets them go first: many routes make a scrape long, and no request waits for it."""
        self.admin.metrics()
        process = self.recast.process.pid
        writers = []
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/comm") as file:
                if file.read() == "recast-metrics\n":
                    writers.append(int(task))
        main = os.getpriority(os.PRIO_PROCESS, process)
        self.assertEqual({os.getpriority(os.PRIO_PROCESS, task) for task in writers}, {min(main + 10, 19)})

    def test_a_histogram_without_a_count_has_no_rows(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.answer(body=b'{"a":1}', fields=["Content-Type: application/json"]))
        with Client(self.recast.port) as client:
            client.request("GET", "/back")
            self.assertEqual(client.response().body, b"a=1")
        metrics = self.when(lambda m: m.sum("recast_transcode_total", route="back", result="ok") > 0)
        self.assertGreater(metrics.sum("recast_request_duration_seconds_count", route="back"), 0)
        self.assertEqual(re.findall(r"^(recast_\w+_seconds_count\{.*\}) 0$", metrics.text, re.M), [])

    def test_labels_and_their_values_are_those_of_the_page(self):
        rows = documented_rows()
        for family in self.admin.metrics().families:
            for sample in family.samples:
                name = re.sub("_(bucket|sum|count)$", "", sample.name) if family.type == "histogram" else sample.name
                if not name.startswith("recast_"):
                    continue
                labels, meaning = rows[name]
                self.assertEqual(set(sample.labels) - {"le"}, labels, name)
                for label in CLOSED_LABELS & labels:
                    self.assertIn(sample.labels[label], meaning, (name, label))

    def test_a_worker_that_is_stuck_keeps_nobody_waiting(self):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        tasks = f"/proc/{self.recast.process.pid}/task"
        names = {}
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm") as file:
                names[file.read().strip()] = int(task)
        thread = names["worker-1"]
        before = self.admin.metrics()
        seize, interrupt, detach = 0x4206, 0x4207, 17
        if libc.ptrace(seize, thread, None, None) != 0:
            self.skipTest("this machine lets no thread be stopped")
        try:
            libc.ptrace(interrupt, thread, None, None)
            os.waitpid(thread, 0x40000000)
            metrics = self.admin.metrics()
            self.assertEqual(metrics.sum("recast_workers_silent"), 1)
            # Its last numbers stand: sums don't go down.
            for key, value in before.counters().items():
                self.assertGreaterEqual(metrics.counters()[key], value, key)
            self.assertEqual(self.admin.json("/transfers")["workers_missing"], 1)
            self.assertEqual(self.admin.json("/upstreams")["workers_missing"], 1)
            self.assertEqual(self.admin.get("/live"), b"live\n")
        finally:
            libc.ptrace(detach, thread, None, None)
        self.when(lambda m: m.sum("recast_workers_silent") == 0)


if __name__ == "__main__":
    unittest.main()
