"""Routes with `rate_limit`: how many requests pass, whatever connection and worker they come by, and what the others are told."""

import concurrent.futures
import time
import unittest

import reload_tests
from admin import Admin, admin_port
from ext_proc_client import ExtProcTestCase
from grpc_client import RESOURCE_EXHAUSTED, Call
from harness import FORM, ProxyTestCase, run_on
from http2_client import HTTP2Client
from lifecycle_support import reload

HOUR = 3600
SLOW = "rate: 1/h, burst: 3"


def statuses(responses):
    """How many there are of each status."""
    counts = {}
    for response in responses:
        counts[response.status] = counts.get(response.status, 0) + 1
    return counts


class RateLimitTests(ProxyTestCase):
    workers = 3
    admin_address, admin_line = admin_port()
    settings = admin_line + "trusted: [127.0.0.0/8]\n"
    routes = f"""
  - {{ name: many, match: /many, upstream: app, rate_limit: {{ rate: 1/h, burst: 20 }} }}
  - {{ name: versions, match: /versions, upstream: app, rate_limit: {{ rate: 1/h, burst: 20 }} }}
  - {{ name: one, match: /one, upstream: app, rate_limit: 1/h }}
  - {{ name: fast, match: /fast, upstream: app, rate_limit: {{ rate: 100/s, burst: 200 }} }}
  - {{ name: header, match: "/header/*", upstream: app, rate_limit: {{ key: header.x-api-key, {SLOW} }} }}
  - {{ name: path, match: "/tenants/{{tenant}}/*", upstream: app, rate_limit: {{ key: path.tenant, {SLOW} }} }}
  - {{ name: query, match: /query, upstream: app, rate_limit: {{ key: query.user, {SLOW} }} }}
  - {{ name: client, match: /client, upstream: app, rate_limit: {{ {SLOW} }} }}
  - {{ name: silent, match: /silent, upstream: app, rate_limit: {{ rate: 1/h, burst: 1, fields: false }} }}
  - {{ name: fields, match: /fields, upstream: app, rate_limit: {{ rate: 1/h, burst: 9 }} }}
  - {{ name: rules, match: /rules, upstream: app, rate_limit: {{ rate: 1/h, burst: 1 }},
      headers: {{ request: {{ set: {{ X-Asked: "${{header.x-ask}}" }} }}, response: {{ set: {{ X-Hop: "${{header.x-ask}}" }} }} }} }}
  - {{ name: bodies, match: /bodies, upstream: app, request: form -> json, rate_limit: {{ key: header.x-key, rate: 1/h }} }}
  - {{ name: guarded, match: /guarded, upstream: app, authorize: {{ bearer: token }}, rate_limit: {{ {SLOW} }} }}
  - {{ name: logged, match: /logged, upstream: app, rate_limit: 1/h }}
  - {{ name: full, match: /full, upstream: app, rate_limit: {{ key: header.x-key, rate: 1/h, entries: 100 }} }}
  - {{ name: calls, match: "/test.Service/*", upstream: app, rate_limit: 1/h }}
  - {{ name: steady, match: /steady, upstream: app, rate_limit: {{ rate: 50/s, burst: 1 }} }}
  - {{ name: free, match: /free, upstream: app }}
"""

    def get(self, path, *fields):
        return self.send("GET", path, fields=fields)

    def assert_limited(self, response, quota, window, wait=HOUR):
        """A refusal, whose times are those to a second that the test may have taken."""
        problem = self.assert_problem(response, 429, "^rate_limited$")
        self.assertEqual(response.fields.all("ratelimit-policy"), [f'"default";q={quota};w={window}'])
        retry, = response.fields.all("retry-after")
        self.assertLessEqual(int(retry), wait)
        self.assertGreaterEqual(int(retry), max(1, wait - 600))
        self.assertEqual(response.fields.all("ratelimit"), [f'"default";r=0;t={retry}'])
        return problem

    def test_exactly_the_burst_passes_over_many_connections_and_workers(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(lambda _: self.get("/many"), range(200)))
        self.assertEqual(statuses(responses), {200: 20, 429: 180})
        self.assertEqual(len(self.upstream.requests), 20)
        remaining = sorted(int(response.fields.get("ratelimit").split(";")[1][2:]) for response in responses if response.status == 200)
        self.assertEqual(remaining, list(range(20)))
        for response in responses:
            if response.status == 429:
                self.assert_limited(response, 20, 20 * HOUR)

    def test_a_connection_goes_on_behind_a_refusal(self):
        client = self.client()
        for status in (200, 429, 429):
            client.request("GET", "/one")
            self.assertEqual(client.response().status, status)
        client.request("GET", "/free")
        self.assertEqual(client.response().status, 200)

    def test_what_was_taken_comes_back_at_the_rate(self):
        client = self.client()
        passed = 0
        began = time.monotonic()
        while passed < 11:
            client.request("GET", "/steady")
            passed += client.response().status == 200
        # One at once, then one each 20 ms; a worker reads its clock once a tick.
        self.assertGreater(time.monotonic() - began, 0.19)

    def test_http_1_and_2_count_together(self):
        with HTTP2Client(self.recast.port) as client:
            responses = [client.exchange("GET", "/versions") for _ in range(10)]
            responses += [self.get("/versions") for _ in range(5)]
            streams = [client.request("GET", "/versions") for _ in range(10)]
            responses += [client.response(stream) for stream in streams]
        self.assertEqual(statuses(responses), {200: 20, 429: 5})
        refused, = [response for response in responses[-1:] if response.status == 429]
        self.assertEqual(refused.json["code"], "rate_limited")
        self.assertEqual(refused.fields.get("ratelimit-policy"), f'"default";q=20;w={20 * HOUR}')
        self.assertTrue(refused.fields.get("retry-after"))

    def test_what_passes_says_what_is_left(self):
        first = self.get("/fast")
        self.assertEqual(first.status, 200)
        self.assertEqual(first.fields.all("ratelimit-policy"), ['"default";q=200;w=2'])
        self.assertEqual(first.fields.all("ratelimit"), ['"default";r=199;t=1'])
        self.assertNotIn("ratelimit", self.get("/free").fields)
        # An exchange is used again: nothing of another route's request is left.
        client = self.client()
        for path, says in (("/fast", True), ("/free", False), ("/silent", False), ("/silent", True)):
            client.request("GET", path)
            self.assertEqual("ratelimit" in client.response().fields, says, path)

    def test_fields_of_the_upstreams_own_stay(self):
        own = ("RateLimit: \"theirs\";r=5;t=1", "Content-Type: text/plain")
        self.upstream.script = lambda exchange: exchange.answer(fields=own)
        response = self.get("/fields")
        self.assertEqual(response.fields.all("ratelimit"), ['"theirs";r=5;t=1'])
        self.assertEqual(response.fields.all("ratelimit-policy"), [f'"default";q=9;w={9 * HOUR}'])

    def test_header_rules_hold_beside_it(self):
        response = self.get("/rules", "X-Ask: a")
        self.assertEqual((response.fields.get("x-hop"), response.fields.get("ratelimit")), ("a", '"default";r=0;t=3600'))
        self.assertEqual(self.upstream.one().fields.get("x-asked"), "a")
        self.assert_limited(self.get("/rules", "X-Ask: b"), 1, HOUR)

    def test_by_a_header_and_those_without_it_are_one(self):
        for key in ("a", "b", "x" * 8000):
            responses = [self.get(f"/header/{number}", f"X-API-Key: {key}") for number in range(4)]
            self.assertEqual([response.status for response in responses], [200, 200, 200, 429])
            self.assert_limited(responses[3], 3, 3 * HOUR)
        for fields, status in (((), 200), (("X-Api-Key:",), 200), (("X-Other: a",), 200), ((), 429), (("X-Api-Key: ",), 429)):
            self.assertEqual(self.get("/header/", *fields).status, status)

    def test_by_a_variable_of_the_path_as_it_is_decoded(self):
        paths = ["/tenants/a/1", "/tenants/a/2", "/tenants/%61/3", "/tenants/a/4", "/tenants/b/1"]
        self.assertEqual([self.get(path).status for path in paths], [200, 200, 200, 429, 200])

    def test_by_a_parameter_of_the_query(self):
        targets = ["/query?user=1", "/query?x=1&user=1", "/query?user=%31", "/query?user=1&y", "/query?user=2", "/query"]
        self.assertEqual([self.get(target).status for target in targets], [200, 200, 200, 429, 200, 200])

    def test_by_the_client_that_a_trusted_proxy_speaks_for(self):
        def ask(chain):
            return self.get("/client", f"X-Forwarded-For: {chain}").status
        self.assertEqual([ask("192.0.2.1") for _ in range(4)], [200, 200, 200, 429])
        # What stands before an address that isn't trusted is anybody's word.
        self.assertEqual(ask("192.0.2.7, 192.0.2.1"), 429)
        self.assertEqual(ask("192.0.2.2"), 200)
        self.assertEqual([ask(f"2001:db8:1:1::{number}") for number in range(1, 5)], [200, 200, 200, 429])
        self.assertEqual(ask("2001:db8:1:2::1"), 200)
        self.assertEqual([self.get("/client").status for _ in range(4)], [200, 200, 200, 429])

    def test_a_client_that_waits_for_100_hears_429(self):
        self.assertEqual(self.send("POST", "/bodies", b"a=1", FORM, ("X-Key: e",)).status, 200)
        client = self.client()
        client.send(b"POST /bodies HTTP/1.1\r\nHost: a\r\nX-Key: e\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                    b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        line, fields = client.reader.head()
        self.assertEqual(line.split()[1], "429")
        self.assertTrue(fields.get("retry-after"))

    def test_a_short_body_of_a_refused_request_is_not_taken_for_the_next(self):
        client = self.client()
        for number, status in enumerate((200, 429, 429)):
            client.request("POST", "/bodies", b"a=GET /free HTTP/1.1\r\nHost: a\r\n\r\n", FORM, ("X-Key: s",))
            self.assertEqual(client.response("POST").status, status, number)
        self.assertEqual([request.target for request in self.upstream.requests], ["/bodies"])

    def test_guesses_of_credentials_are_counted_before_they_are_looked_at(self):
        for _ in range(3):
            response = self.get("/guarded", "Authorization: Bearer guess")
            self.assert_problem(response, 401, "authorization_refused")
            self.assertTrue(response.fields.get("ratelimit"))
        self.assert_limited(self.get("/guarded", "Authorization: Bearer token"), 3, 3 * HOUR)
        self.assert_untouched()

    def test_a_call_hears_that_its_resources_are_exhausted(self):
        self.assertEqual(self.get("/test.Service/x").status, 200)
        with HTTP2Client(self.recast.port) as client:
            call = Call(client, "/test.Service/x")
            call.send(b"message", end=True)
            code, message = call.status()
            self.assertEqual(code, RESOURCE_EXHAUSTED)
            self.assertIn("rate_limited", message)
            self.assertEqual(call.record.fields.get("ratelimit-policy"), f'"default";q=1;w={HOUR}')

    def test_log_metrics_and_config_say_what_happened(self):
        admin = Admin(self.admin_address)
        for status in (200, 429, 429):
            self.assertEqual(self.get("/logged", f"X-Request-Id: r-{status}").status, status)
        entry = self.recast.log_entry("r-429")
        self.assertEqual((entry["status"], entry["flags"], entry["route"]), (429, "TM", "logged"))
        self.assertNotIn("flags", self.recast.log_entry("r-200"))
        samples = admin.metrics()
        counts = [samples.sum("recast_rate_limit_requests_total", route="logged", result=result) for result in ("passed", "limited")]
        self.assertEqual(counts, [1, 2])
        self.assertEqual(samples.sum("recast_rate_limit_entries", route="logged"), 1)
        self.assertEqual(samples.sum("recast_rate_limit_evictions_total", route="logged"), 0)
        self.assertNotIn('route="free",result="passed"', samples.text)

    def test_keys_without_end_are_forgotten_and_none_is_refused_for_it(self):
        admin = Admin(self.admin_address)
        client = self.client()
        for number in range(500):
            client.request("GET", "/full", fields=(f"X-Key: {number}",))
            self.assertEqual(client.response().status, 200)
        samples = admin.metrics()
        self.assertEqual(samples.sum("recast_rate_limit_entries", route="full"), 96)
        self.assertEqual(samples.sum("recast_rate_limit_evictions_total", route="full"), 404)


class ShownRateLimitTests(unittest.TestCase):
    """What an operator sees of a limit before it serves."""

    SETTINGS = """version: 1
listen: 127.0.0.1:8080
upstreams: { app: 127.0.0.1:3000 }
defaults: { rate_limit: { rate: 100/s, burst: 200 } }
routes:
  - { name: tenants, match: "/tenants/{tenant}/*", upstream: app, rate_limit: { key: path.tenant, entries: 1000 } }
  - { name: free, match: /free, upstream: app, rate_limit: off }
"""

    def test_routes_and_explain_say_what_is_in_effect(self):
        code, shown, _ = run_on(self.SETTINGS, "routes")
        self.assertEqual(code, 0)
        tenants, free = shown.split("\ntenants\n")[1].split("\nfree\n")
        for line in ("rate 100/s FILE:4", "burst 200 FILE:4", "key path.tenant FILE:6", "entries 1000 FILE:6", "fields true default"):
            self.assertIn(f" rate_limit.{line}\n", tenants)
        self.assertIn(" rate_limit off FILE:7", free)
        _, shown, _ = run_on(self.SETTINGS, "explain", "tenants")
        self.assertIn("\nrate_limit: 100/s\n key path.tenant\n burst 200\n entries 1000\n", shown)

    def test_mistakes_have_their_place(self):
        code, _, errors = run_on(self.SETTINGS.replace("path.tenant", "path.tennant"), "check")
        self.assertNotEqual(code, 0)
        self.assertRegex(errors, ':6:86: the route.s path has no variable "tennant": did you mean "tenant"')


class ProcessedRateLimitTests(ExtProcTestCase):
    """Limits that a data plane asks for: they count with what comes by HTTP."""

    routes = """
  - { name: one, match: /one, upstream: app, rate_limit: { key: header.x-key, rate: 1/h, burst: 2 } }
"""

    def test_a_data_plane_is_told_of_the_refusal(self):
        fields = ("X-Key: a",)
        self.assertEqual(self.send("GET", "/one", fields=fields).status, 200)
        self.ask("GET", "/one", fields=(("x-key", "a"),))
        immediate = self.refusal("GET", "/one", fields=(("x-key", "a"),))
        self.assertEqual(immediate.status, 429)
        self.assertEqual(immediate.fields.get("ratelimit-policy"), '"default";q=2;w=7200')
        self.assert_same_refusal(self.send("GET", "/one", fields=fields), immediate)


class ReloadedRateLimitTests(reload_tests.ReloadTestCase):
    ROUTES = '  - { name: one, match: "/one", upstream: app, rate_limit: { rate: 1/h, burst: 4 } }\n'

    def test_a_reload_keeps_what_is_counted_as_long_as_the_limit_stays(self):
        recast = self.start(self.ROUTES, workers=2)
        self.assertEqual([self.status("/one") for _ in range(2)], [200, 200])
        self.write(self.text + '  - { name: more, match: "/more", upstream: app }\n')
        reload(recast)
        self.assertEqual(self.status("/more"), 200)
        self.assertEqual([self.status("/one") for _ in range(3)], [200, 200, 429])
        self.write(self.text.replace("rate_limit", "require_length: false, rate_limit"))
        reload(recast)
        self.assertEqual(self.status("/one"), 429)
        self.write(self.text.replace("burst: 4", "burst: 5"))
        reload(recast)
        self.assertEqual([self.status("/one") for _ in range(6)], [200] * 5 + [429])
        self.write(self.text.replace(", rate_limit: { rate: 1/h, burst: 4 }", ""))
        reload(recast)
        self.assertEqual([self.status("/one") for _ in range(6)], [200] * 6)
        self.write(self.text)
        reload(recast)
        self.assertEqual([self.status("/one") for _ in range(5)], [200] * 4 + [429])


if __name__ == "__main__":
    unittest.main()
