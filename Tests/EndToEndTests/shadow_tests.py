"""Routes with `shadow`: what the second upstream gets, that the first and its clients hear nothing of it, and what is found out."""

import gzip
import json
import shutil
import socket
import tempfile
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import Client, DEADLINE, FORM, JSON, ProxyTestCase, Recast, Upstream, free_port, read_and_answer, run_on, select_nothing
from http2_client import HTTP2Client
from lifecycle_support import reload
from tls_support import TLSUpstream, certificates, path


class ShadowTestCase(ProxyTestCase):
    """A second upstream `new`, of which `Recast-Shadow` requests are the copies."""

    shadow_upstreams = {}  # further ones, by name

    @classmethod
    def setUpClass(cls):
        cls.new = Upstream()
        cls.addClassCleanup(cls.new.stop)
        cls.further_upstreams = {"new": f"127.0.0.1:{cls.new.port}", **cls.shadow_upstreams}
        cls.admin_port, line = admin_port()
        cls.settings = line + cls.settings
        cls.admin = Admin(cls.admin_port)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.new.settle()
        self.new.reset()
        self.before = self.admin.metrics()

    def counted(self, name, **labels):
        """What a counter has grown by in this test."""
        return self.admin.metrics().sum(name, **labels) - self.before.sum(name, **labels)

    def until(self, count, name, **labels):
        """Waits until a counter has grown by `count`, which it never passes."""
        deadline = time.monotonic() + DEADLINE
        while (grown := self.counted(name, **labels)) < count and time.monotonic() < deadline:
            select_nothing()
        shadows = "\n".join(line for line in self.admin.metrics().text.split("\n") if line.startswith("recast_shadow_"))
        self.assertEqual(grown, count, f"{name} {labels}\n{shadows}")

    def requests(self, count, result, route):
        self.until(count, "recast_shadow_requests_total", route=route, result=result)

    def conversions(self, count, result, route):
        self.until(count, "recast_shadow_conversions_total", route=route, result=result)

    def comparisons(self, count, result, route):
        self.until(count, "recast_shadow_comparisons_total", route=route, result=result)


class ShadowTests(ShadowTestCase):
    routes = """
  - { name: copied, match: /copied, upstream: app, request: form -> json, shadow: { upstream: new } }
  - { name: plain, match: "/plain/*", upstream: app, rewrite: { path: "/p/${path.*}" }, shadow: { upstream: new, buffer: 1KiB } } # PLAIN
  - { name: sampled, match: /sampled, upstream: app, shadow: { upstream: new, sample: 10%, in_flight: 1000 } }
  - { name: ruled, match: /ruled, upstream: app, host: upstream, shadow: { upstream: new },
      headers: { request: { set: { X-Tenant: "a" }, remove: [Cookie] } } }
  - { name: retried, match: /retried, upstream: app, retry: { on: [503], attempts: 1 }, shadow: { upstream: new } }
  - { name: few, match: /few, upstream: app, shadow: { upstream: new, in_flight: 2, timeout: 60s } }
  - { name: calls, match: "/test.Service/*", upstream: app, shadow: { upstream: new } }
  - { name: sockets, match: /socket, upstream: app, shadow: { upstream: new } }
  - { name: off, match: /off, upstream: app, shadow: off }
  - { name: secured, match: /secured, upstream: app, shadow: { upstream: secured } }
  - { name: unbelieved, match: /unbelieved, upstream: app, shadow: { upstream: unbelieved } }
  - { name: over2, match: "/over2/*", rewrite: "/off", upstream: self, shadow: { upstream: new, compare: true } }
  - { name: length, match: /length, upstream: long, request: form -> json, shadow: { upstream: new } }
  - { name: unix, match: /unix, upstream: app, host: upstream, shadow: { upstream: unix } }
""".replace(' # PLAIN', '').replace('"/plain/*"', '"/plain/{rest}"').replace("${path.*}", "${path.rest}")

    @classmethod
    def setUpClass(cls):
        cls.secured = TLSUpstream(certificates().server_context("server"))
        folder = tempfile.mkdtemp(prefix="recast-e2e-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.local = Upstream(path=f"{folder}/new.sock")
        for server in (cls.secured, cls.local):
            cls.addClassCleanup(server.stop)
        address = f"address: 'localhost:{cls.secured.port}'"
        cls.shadow_upstreams = {
            "secured": f"{{ {address}, tls: {{ ca: {path('ca.pem')} }} }}",
            "unbelieved": f"{{ {address}, tls: {{ ca: {path('other-ca.pem')} }} }}", "unix": f"unix:{folder}/new.sock",
            "long": "{ address: $APP, framing: length }"}
        # Recast itself is the first upstream that speaks HTTP/2.
        second_port = free_port()
        cls.listeners = (f"127.0.0.1:{second_port}",)
        cls.shadow_upstreams["self"] = f"{{ address: '127.0.0.1:{second_port}', http: 2 }}"
        super().setUpClass()

    def test_it_is_spoken_to_by_tls_and_over_unix_sockets_too(self):
        for _ in range(2):
            self.assertEqual(self.send("POST", "/secured", b"abc").status, 200)
            self.assertEqual(self.send("GET", "/unix").status, 200)
            self.secured.wait_for(1)
            self.local.wait_for(1)
        self.requests(2, "answered", "secured")
        self.requests(2, "answered", "unix")
        self.assertEqual([request.body for request in self.secured.requests], [b"abc"] * 2)
        self.assertEqual(self.local.requests[0].fields.all("host"), ["localhost"])
        self.assertEqual(self.send("POST", "/unbelieved", b"abc").status, 200)
        self.requests(1, "unreachable", "unbelieved")
        self.assertEqual(len(self.secured.requests), 2)

    def test_the_converted_copy_goes_to_the_second_upstream(self):
        response = self.send("POST", "/copied", b"user[name]=Ada&tags[]=a", FORM, ("X-Request-Id: r-1", "Cookie: c=1"))
        self.assertEqual(response.status, 200)
        first, copy = self.upstream.one(), self.new.one()
        self.assertEqual(copy.json, {"user": {"name": "Ada"}, "tags": ["a"]})
        self.assertEqual((copy.method, copy.target, copy.body), (first.method, first.target, first.body))
        self.assertEqual(copy.fields.all("recast-shadow"), ["copied"])
        self.assertNotIn("recast-shadow", first.fields)
        # Both have the same fields besides, the request's id among them.
        for name in ("x-request-id", "content-type", "content-length", "host", "cookie", "via", "x-forwarded-for"):
            self.assertEqual(copy.fields.all(name), first.fields.all(name), name)
        self.requests(1, "answered", "copied")

    def test_content_in_chunks_is_framed_anew_with_its_length(self):
        client = self.client()
        client.send(b"POST /plain/a%2Fb?q=1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"
                    b"Content-Type: text/plain\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n")
        self.assertEqual(client.response("POST").status, 200)
        copy = self.new.one()
        self.assertEqual((copy.target, copy.body), (self.upstream.one().target, b"abcde"))
        self.assertEqual(copy.fields.all("content-length"), ["5"])
        for name in ("transfer-encoding", "trailer", "connection"):
            self.assertNotIn(name, copy.fields)

    def test_expect_stays_with_the_first(self):
        client = self.client()
        client.send(b"POST /plain/a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(client.reader.head()[0].split()[1], "100")
        client.send(b"abc")
        self.assertEqual(client.response("POST").status, 200)
        copy = self.new.one()
        self.assertEqual(copy.body, b"abc")
        self.assertNotIn("expect", copy.fields)

    def test_methods_without_content_and_with_an_empty_one(self):
        for method, lengths in (("GET", []), ("HEAD", []), ("DELETE", []), ("POST", ["0"])):
            self.new.reset()
            self.assertEqual(self.send(method, "/plain/x").status, 200)
            copy = self.new.one()
            self.assertEqual((copy.method, copy.fields.all("content-length")), (method, lengths))
        self.requests(4, "answered", "plain")

    def test_a_body_of_just_the_buffer_is_copied_and_one_byte_more_is_not(self):
        for chunked in (False, True):
            for count in (1023, 1024, 1025):
                body = bytes(count)
                if chunked:
                    client = self.client()
                    client.send(b"POST /plain/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                    client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (count, body))
                    response = client.response("POST")
                else:
                    response = self.send("POST", "/plain/x", body)
                self.assertEqual(response.status, 200)
        self.requests(4, "answered", "plain")
        self.requests(2, "too_large", "plain")
        self.assertEqual(sorted(len(request.body) for request in self.new.requests), [1023, 1023, 1024, 1024])

    def test_a_long_upload_is_counted_and_passes(self):
        body = bytes(3 << 20)
        self.assertEqual(self.send("POST", "/plain/x", body).status, 200)
        client = self.client()
        client.send(b"POST /plain/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        self.assertEqual(client.response("POST").status, 200)
        self.assertEqual([len(request.body) for request in self.upstream.requests], [len(body)] * 2)
        self.requests(2, "too_large", "plain")
        self.assertEqual(self.new.requests, [])

    def test_a_sample_is_about_that_part(self):
        client = self.client()
        for _ in range(500):
            client.request("GET", "/sampled")
            self.assertEqual(client.response().status, 200)
        # All are counted as on their way by now, and the last of them may not have come yet.
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_shadow_in_flight") == 0)
        self.requests(len(self.new.requests), "answered", "sampled")
        # 50 on average, with a standard deviation of 6.7: one run in a billion is outside.
        self.assertTrue(10 <= len(self.new.requests) <= 95, len(self.new.requests))

    def test_host_and_header_rules_are_those_of_the_first(self):
        self.assertEqual(self.send("GET", "/ruled", fields=("Cookie: c=1", "Recast-Shadow: forged")).status, 200)
        copy = self.new.one()
        self.assertEqual(copy.fields.all("host"), [f"127.0.0.1:{self.new.port}"])
        first = self.upstream.one()
        self.assertEqual(first.fields.all("host"), [f"127.0.0.1:{self.upstream.port}"])
        # Nobody but Recast says that a request is a copy.
        self.assertNotIn("recast-shadow", first.fields)
        self.assertEqual(copy.fields.all("x-tenant"), ["a"])
        self.assertEqual(copy.fields.all("recast-shadow"), ["ruled"])
        self.assertNotIn("cookie", copy.fields)

    def test_a_request_that_is_sent_twice_is_copied_once(self):
        answers = [503, 200]
        def script(exchange):
            exchange.read_body()
            exchange.answer(answers.pop(0))
        self.upstream.script = script
        self.assertEqual(self.send("PUT", "/retried", b"abc").status, 200)
        self.assertEqual([request.body for request in self.upstream.wait_for(2)], [b"abc", b"abc"])
        self.assertEqual(self.new.one().body, b"abc")
        self.requests(1, "answered", "retried")

    def test_the_copy_is_sent_whatever_the_first_says(self):
        for status in (204, 301, 404, 500):
            self.upstream.script = lambda exchange, status=status: (exchange.read_body(), exchange.answer(
                status, b"", framing="length" if status != 204 else "none"))
            self.assertEqual(self.send("POST", "/plain/x", b"a").status, status)
        self.requests(4, "answered", "plain")

    def test_http_2_clients_are_copied_too(self):
        with HTTP2Client(self.recast.port) as client:
            for _ in range(3):
                self.assertEqual(client.exchange("POST", "/copied", body=b"a=1", fields=[("content-type", FORM)]).status, 200)
        self.requests(3, "answered", "copied")
        self.assertEqual([request.json for request in self.new.requests], [{"a": "1"}] * 3)

    def test_the_first_may_be_spoken_to_by_http_2(self):
        self.assertEqual(self.send("POST", "/over2/a", b"abc").status, 200)
        self.assertEqual(self.new.one().body, b"abc")
        client = self.client()
        client.send(b"POST /over2/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        self.upstream.wait_for(2)
        client.send(b"2\r\nde\r\n0\r\n\r\n")
        self.assertEqual(client.response("POST").status, 200)
        copy = self.new.wait_for(2)[1]
        self.requests(2, "answered", "over2")
        self.assertEqual((copy.body, copy.fields.all("content-length")), (b"abcde", ["5"]))
        self.comparisons(2, "same", "over2")
        # What is cut has no end that its framing tells.
        client = self.client()
        client.send(b"POST /over2/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        self.upstream.wait_for(3)
        client.reset()
        self.requests(1, "incomplete", "over2")
        self.assertEqual(len(self.new.requests), 2)

    def test_content_that_was_held_until_its_length_was_known(self):
        client = self.client()
        client.send(b"POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: %s\r\n\r\n"
                    b"3\r\na=1\r\n0\r\n\r\n" % FORM.encode())
        self.assertEqual(client.response("POST").status, 200)
        self.assertEqual(self.new.one().json, {"a": "1"})
        self.requests(1, "answered", "length")

    def test_connections_to_it_are_used_again(self):
        connections = self.new.connection_count
        client = self.client()
        for number in range(5):
            client.request("GET", "/plain/x")
            self.assertEqual(client.response().status, 200)
            self.requests(number + 1, "answered", "plain")
        self.assertLessEqual(self.new.connection_count - connections, 1)

    def test_what_came_before_the_request_was_whole_is_no_copy(self):
        client = self.client()
        client.send(b"POST /plain/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        self.upstream.wait_for(1)
        client.socket.close()
        self.requests(1, "incomplete", "plain")
        self.assertEqual(self.new.requests, [])

    def test_a_client_that_leaves_behind_its_request_does_not_take_the_copy_along(self):
        go_on = self.upstream.hold(self)
        client = self.client()
        client.request("POST", "/plain/x", b"abc")
        self.upstream.wait_for(1)
        client.reset()
        self.requests(1, "answered", "plain")
        self.assertEqual(self.new.one().body, b"abc")
        go_on.set()

    def test_calls_and_upgrades_have_no_copy(self):
        response = self.send("POST", "/test.Service/x", b"\0\0\0\0\0", "application/grpc")
        self.assertEqual(response.status, 200)
        def script(exchange):
            exchange.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            exchange.reader.exactly(4)
        self.upstream.script = script
        client = self.client()
        client.send(b"GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        self.assertEqual(client.reader.head()[0].split()[1], "101")
        client.send(b"ping")
        self.assertTrue(self.upstream.wait_for(2)[1].ended.wait(DEADLINE))
        client.socket.close()
        self.upstream.script = read_and_answer
        self.assertEqual(self.send("GET", "/off").status, 200)
        self.assertEqual(self.send("GET", "/plain/x").status, 200)
        self.requests(1, "answered", "plain")
        self.assertEqual([request.target for request in self.new.requests], ["/p/x"])
        self.assertEqual(self.counted("recast_shadow_requests_total"), 1)

    def test_no_more_than_in_flight_are_on_their_way(self):
        go_on = self.new.hold(self)
        client = self.client()
        for number in range(5):
            client.request("GET", "/few")
            self.assertEqual(client.response().status, 200)
            if number == 1:
                self.new.wait_for(2)
        self.requests(3, "in_flight", "few")
        self.assertEqual(self.admin.metrics().sum("recast_shadow_in_flight"), 2)
        go_on.set()
        self.requests(2, "answered", "few")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_shadow_in_flight") == 0)

    def test_answers_of_every_framing_and_of_none_reach_nobody(self):
        for framing in ("length", "chunked", "close"):
            self.new.script = lambda exchange, framing=framing: (exchange.read_body(), exchange.answer(
                500, b"x" * 100_000, framing=framing, fields=("Set-Cookie: s=1",)))
            client = self.client()
            for _ in range(2):
                client.request("POST", "/plain/x", b"a")
                response = client.response("POST")
                self.assertEqual((response.status, response.body), (200, b"ok"))
        self.requests(6, "answered", "plain")


class DeadShadowTests(ShadowTestCase):
    """Second upstreams that are of no use: the first one's clients hear nothing of it."""

    routes = """
  - { name: refusing, match: /refusing, upstream: app, shadow: { upstream: refusing } }
  - { name: hanging, match: /hanging, upstream: app, shadow: { upstream: hanging, in_flight: 4, timeout: 6s } }
  - { name: slow, match: /slow, upstream: app, shadow: { upstream: slow, in_flight: 3, timeout: 6s, buffer: 4MiB } }
  - { name: broken, match: /broken, upstream: app, shadow: { upstream: new } }
  - { name: unknown, match: /unknown, upstream: app, shadow: { upstream: unknown } }
  - { name: held, match: /held, upstream: app, shadow: { upstream: new, timeout: 60s } }
"""

    @classmethod
    def setUpClass(cls):
        # Nobody ever accepts: the system does, and takes what fits its buffers.
        cls.hanging, cls.slow = socket.create_server(("127.0.0.1", 0), backlog=256), socket.socket()
        cls.slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        cls.slow.bind(("127.0.0.1", 0))
        cls.slow.listen(256)
        cls.addClassCleanup(cls.hanging.close)
        cls.addClassCleanup(cls.slow.close)
        cls.shadow_upstreams = {
            "refusing": f"127.0.0.1:{free_port()}", "hanging": f"127.0.0.1:{cls.hanging.getsockname()[1]}",
            "slow": f"127.0.0.1:{cls.slow.getsockname()[1]}", "unknown": "nowhere.invalid:80"}
        super().setUpClass()

    def served(self, path, count, body=None):
        """Requests over one connection, each of which is answered; returns the longest time that one took."""
        client, longest = self.client(), 0
        for _ in range(count):
            began = time.monotonic()
            client.request("POST", path, body)
            response = client.response("POST")
            longest = max(longest, time.monotonic() - began)
            self.assertEqual((response.status, response.body), (200, b"ok"))
        self.assertEqual(len(self.upstream.requests), count)
        return longest

    def test_one_that_refuses_is_asked_now_and_then(self):
        self.assertLess(self.served("/refusing", 100), 4)
        self.until(100, "recast_shadow_requests_total", route="refusing")
        unreachable = self.counted("recast_shadow_requests_total", route="refusing", result="unreachable")
        self.assertTrue(1 <= unreachable <= 16, unreachable)
        paused = self.counted("recast_shadow_requests_total", route="refusing", result="paused")
        self.assertGreater(paused, 0)
        self.recast.says("route refusing: the upstream refusing gets no copies of requests for 1 s:")

    def test_one_that_never_answers_has_no_more_than_its_number(self):
        self.assertLess(self.served("/hanging", 100), 4)
        self.requests(96, "in_flight", "hanging")
        self.requests(4, "timeout", "hanging")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_shadow_in_flight") == 0)

    def test_one_that_never_reads_holds_no_more_than_its_number(self):
        self.served("/slow", 10, bytes(3 << 20))
        self.requests(3, "timeout", "slow")
        self.requests(7, "in_flight", "slow")
        metrics = self.admin.metrics_when(lambda metrics: metrics.sum("recast_shadow_in_flight") == 0)
        self.assertEqual(metrics.sum("recast_buffer_bytes", kind="response"), 0)
        self.assertEqual(metrics.sum("recast_buffer_bytes", kind="copy"), 0)
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_buffer_bytes", kind="request") == 0)

    def test_answers_that_cannot_be_read_are_counted(self):
        for answer in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", b"",
                       b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"):
            def script(exchange, answer=answer):
                exchange.read_body()
                exchange.send(answer)
                exchange.close()
            self.new.script = script
            self.assertEqual(self.send("GET", "/broken").status, 200)
            self.new.wait_for(1)
        self.requests(4, "failed", "broken")

    def test_one_whose_name_is_nobodys(self):
        self.assertLess(self.served("/unknown", 20), 4)
        self.until(20, "recast_shadow_requests_total", route="unknown")
        self.assertGreater(self.counted("recast_shadow_requests_total", route="unknown", result="unreachable"), 0)

    def test_a_reload_lets_copies_end_and_counts_go_on(self):
        go_on = self.new.hold(self)
        self.assertEqual(self.send("GET", "/held").status, 200)
        self.new.wait_for(1)
        reload(self.recast)
        self.assertEqual(self.send("GET", "/held").status, 200)
        self.new.wait_for(2)
        go_on.set()
        self.requests(2, "answered", "held")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_shadow_in_flight") == 0)


class CopyMemoryTests(ShadowTestCase):
    """Copies for an upstream that hangs have little memory, and take none of it from requests."""

    settings = "memory: { bodies: 16MiB, wait: 100ms }\n"
    routes = """
  - { name: copied, match: /copied, upstream: app, shadow: { upstream: new, buffer: 1MiB, in_flight: 32, timeout: 60s } }
  - { name: compared, match: /compared, upstream: app, shadow: { upstream: new, buffer: 1MiB, timeout: 60s, compare: true } }
  - { name: rest, match: "/*", upstream: app }
"""

    def test_requests_do_not_wait_for_the_memory_of_copies(self):
        go_on = self.new.hold(self)
        client, body = self.client(), bytes(500 * 1024)
        for _ in range(32):
            client.request("POST", "/copied", body)
            response = client.response("POST")
            self.assertEqual((response.status, response.fields.get("connection")), (200, None))
        # Each takes 512 KiB of the 2 MiB that all have. Without that bound they would hold all of the budget.
        metrics = self.admin.metrics_when(lambda metrics: metrics.sum("recast_buffer_bytes", kind="copy") == 2 << 20)
        self.assertEqual(metrics.sum("recast_shadow_in_flight"), 4)
        self.requests(28, "memory", "copied")
        # What is on its way of a response may be leased still, but no copy is.
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_memory_leased_bytes") == 0)
        for _ in range(20):
            client.request("POST", "/other", body)
            response = client.response("POST")
            self.assertEqual((response.status, response.fields.get("connection")), (200, None))
        self.assertEqual(self.counted("recast_memory_waits_total") + self.counted("recast_memory_refused_total"), 0)
        # The answers that would be compared have no more than is left.
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(200, bytes(200 * 1024)))
        client.request("GET", "/compared")
        self.assertEqual(len(client.response().body), 200 * 1024)
        go_on.set()
        self.requests(4, "answered", "copied")
        self.comparisons(1, "skipped", "compared")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_buffer_bytes", kind="copy") == 0)
        # And there are copies again.
        client.request("POST", "/copied", body)
        self.assertEqual(client.response("POST").status, 200)
        self.requests(5, "answered", "copied")


class ShadowEndTests(unittest.TestCase):
    """The end of the process waits for copies, but not for long."""

    def end_with(self, script, timeout):
        app, new = Upstream(), Upstream()
        self.addCleanup(app.stop)
        self.addCleanup(new.stop)
        new.script = script
        recast = Recast(f'  - {{ name: all, match: "/*", upstream: app, shadow: {{ upstream: new, timeout: {timeout} }} }}\n',
                        {"app": f"127.0.0.1:{app.port}", "new": f"127.0.0.1:{new.port}"})
        self.addCleanup(recast.remove)
        with Client(recast.port) as client:
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
            new.wait_for(1)
        began = time.monotonic()
        self.assertEqual(recast.stop(), 0)
        return time.monotonic() - began, recast.error_text()

    def test_a_copy_without_an_answer_is_given_up(self):
        over = threading.Event()
        self.addCleanup(over.set)
        took, said = self.end_with(lambda exchange: over.wait(DEADLINE), "60s")
        self.assertLess(took, DEADLINE / 3)
        self.assertIn("route all: 1 copies of requests had no end before that of the worker", said)

    def test_one_that_is_answered_in_time_has_its_end(self):
        took, said = self.end_with(read_and_answer, "60s")
        self.assertNotIn("no end", said)


class ComparedTests(ShadowTestCase):
    routes = """
  - { name: compared, match: /compared, upstream: app, shadow: { upstream: new, compare: true, ignore: [updated_at, "items[].id"] } }
  - { name: logged, match: /logged, upstream: app, shadow: { upstream: new, compare: true } }
  - { name: converted, match: /converted, upstream: app, response: json -> form, shadow: { upstream: new, compare: true } }
  - { name: short, match: /short, upstream: app, shadow: { upstream: new, compare: true, buffer: 1KiB } }
"""

    def answer_with(self, first, second, types=(JSON, JSON), statuses=(200, 200), fields=((), ())):
        for upstream, body, media_type, status, further in zip((self.upstream, self.new), (first, second), types, statuses, fields):
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            def script(exchange, body=body, media_type=media_type, status=status, further=further):
                exchange.read_body()
                exchange.answer(status, body, fields=(f"Content-Type: {media_type}", *further))
            upstream.script = script

    def compare(self, *answers, route="compared", outcome, differences=(), **options):
        self.answer_with(*answers, **options)
        before = self.before = self.admin.metrics()
        self.assertEqual(self.send("GET", f"/{route}").status, options.get("statuses", (200,))[0])
        self.comparisons(1, outcome, route)
        after = self.admin.metrics()
        found = {kind: count for kind in ("status", "missing", "added", "value", "type", "content", "unreadable")
                 if (count := after.sum("recast_shadow_differences_total", route=route, kind=kind)
                     - before.sum("recast_shadow_differences_total", route=route, kind=kind))}
        self.assertEqual(found, dict(differences))

    def test_equal_values_are_the_same_however_they_are_written(self):
        self.compare({"a": 1, "b": [1, 2]}, b'{ "b" : [1,2], "a":1 }', outcome="same")
        self.compare(b"a=1&b=2", b"b=2&a=1", types=(FORM, FORM), outcome="same")
        self.compare(b"<a><b>1</b></a>", b"<a>\n<b>1</b></a>", types=("application/xml",) * 2, outcome="same")
        self.compare({"a": 1}, gzip.compress(b'{"a":1}'), fields=((), ("Content-Encoding: gzip",)), outcome="same")
        self.compare(b"ok", b"ok", types=("text/plain",) * 2, outcome="same")

    def test_differences_are_counted_by_kind_and_place(self):
        self.compare({"a": 1, "b": 2, "c": "x"}, {"a": 2, "c": 3, "d": 4}, outcome="different",
                     differences={"value": 1, "missing": 1, "type": 1, "added": 1})
        # A hundred elements have one place.
        self.compare({"items": [{"price": n} for n in range(100)]}, {"items": [{"price": n + 1} for n in range(100)]},
                     outcome="different", differences={"value": 1})
        self.compare({}, {}, statuses=(200, 404), outcome="different", differences={"status": 1})
        self.compare({}, b"{", outcome="different", differences={"unreadable": 1})
        self.compare({}, b"<html>", types=(JSON, "text/html"), outcome="different", differences={"type": 1})

    def test_contents_without_values_are_compared_by_their_bytes(self):
        for media_type in ("text/plain", "text/html; charset=utf-8", "image/png", "application/octet-stream"):
            self.compare(b"ok", b"ok", types=(media_type,) * 2, outcome="same")
            self.compare(b"ok", b"OK", types=(media_type,) * 2, outcome="different", differences={"content": 1})
        self.compare(b"ok", b"ok", types=("text/html", "Text/HTML; charset=utf-8"), outcome="same")
        self.compare(b"ok", b"ok", types=("text/plain", "text/html"), outcome="different", differences={"type": 1})
        self.compare(b"ok", gzip.compress(b"ok"), types=("text/plain",) * 2, fields=((), ("Content-Encoding: gzip",)), outcome="same")
        self.compare(b"", b"", types=("text/plain",) * 2, outcome="same")
        self.compare(b"", b"a", types=("text/plain",) * 2, outcome="different", differences={"content": 1})
        self.compare(b"a", b"b", types=("text/plain",) * 2, statuses=(200, 201), outcome="different",
                     differences={"status": 1, "content": 1})
        # Nothing of them is compared where one is too long.
        self.compare(b"a" * 1024, b"b" * 1024, types=("text/plain",) * 2, route="short", outcome="different",
                     differences={"content": 1})
        self.compare(b"a" * 1025, b"b" * 1025, types=("text/plain",) * 2, route="short", outcome="skipped")

    def test_what_is_ignored_may_differ(self):
        self.compare({"updated_at": 1, "items": [{"id": 1}, {"id": 2}]}, {"items": [{"id": 3}, {}]}, outcome="same")

    def test_what_cannot_be_compared_is_skipped(self):
        self.compare({"a": "x" * 1100}, {"a": "y" * 1100}, route="short", outcome="skipped")
        self.compare({"a": 1}, {"a": 2}, fields=((), ("Content-Encoding: x-unknown",)), outcome="skipped")
        self.compare(list(range(5000)), list(range(1, 5001)), outcome="skipped")

    def test_a_converted_answer_is_compared_as_the_upstream_gave_it(self):
        self.compare({"a": 1}, {"a": 1}, route="converted", outcome="same")

    def test_the_log_has_the_places_and_no_value(self):
        self.answer_with({"secret-a": "hidden-1", "list": [{"x.y": "hidden-2"}]}, {"secret-a": "hidden-3", "list": [{}]})
        self.assertEqual(self.send("GET", "/logged", fields=("X-Request-Id: r-log",)).status, 200)
        self.comparisons(1, "different", "logged")
        self.assertIn('route logged: the answers to the request r-log and to its copy differ: value secret-a; missing list[*]."x.y"',
                      self.recast.error_text())
        self.assertNotIn("hidden", self.recast.error_text())


class TriedTests(ShadowTestCase):
    """`shadow: convert`: requests go on as they came, and what their conversion would refuse is counted."""

    settings = "limits: { request_line: 100KiB, field_line: 100KiB, head: 128KiB, header_fields: 1000 }\ndefaults: { limits: { field: 100KiB } }\n"

    routes = """
  - { name: tried, match: /tried, upstream: app, request: form -> json, shadow: convert }
  - { name: beside, match: /beside, upstream: app, shadow: { convert: "json -> form", buffer: 1KiB } }
  - { name: both, match: /both, upstream: app, request: form -> json, shadow: { convert: request, upstream: new } }
  - name: sourced
    match: /sourced
    upstream: app
    request: { decode: { as: form }, map: { set: { tenant: "${header.x-tenant}" } }, encode: { as: json } }
    shadow: convert
  - { name: passing, match: /passing, upstream: app, request: form -> json, on_other_type: pass, shadow: convert }
  - { name: large, match: /large, upstream: app, request: form -> json, shadow: { convert: request, buffer: 1MiB } }
  - { name: growing, match: /growing, upstream: app, shadow: { convert: "json -> form" } }
  - { name: query, match: /query, upstream: app, shadow: { convert: "json -> query" } }
  - { name: asked, match: "/asked", upstream: app, shadow: { convert: "query -> json" } }
"""

    def passes(self, path, body, media_type=FORM, fields=()):
        """The request goes on as it came."""
        self.upstream.reset()
        self.assertEqual(self.send("POST", path, body, media_type, fields).status, 200)
        received = self.upstream.one()
        self.assertEqual((received.body, received.fields.all("content-type")), (body, [media_type] if media_type else []))

    def test_what_can_be_converted(self):
        self.passes("/tried", b"a=1&b[]=2")
        self.passes("/tried", gzip.compress(b"a=1"), fields=("Content-Encoding: gzip",))
        self.conversions(2, "converted", "tried")

    def test_what_would_be_refused_is_counted_by_its_code_and_passes(self):
        self.passes("/tried", b"a=%FF")
        self.conversions(1, "form_invalid_utf8", "tried")
        self.passes("/tried", b"{}", JSON)
        self.conversions(1, "unsupported_media_type", "tried")
        self.passes("/tried", b"a=1", fields=("Content-Encoding: gzip",))
        self.conversions(1, "coding_malformed", "tried")
        self.recast.says("route tried: a request would be refused with 400 form_invalid_utf8")

    def test_what_grows_too_much_and_what_no_target_can_carry(self):
        self.passes("/growing", b'{"%s":[%s]}' % (b"n" * 900, b",".join([b"1"] * 25_000)), JSON)
        self.conversions(1, "limit_ratio", "growing")
        # The target has what the settings give it, which is more than the usual.
        self.passes("/query", b'{"a":"%s"}' % (b"v" * 40_000), JSON)
        self.conversions(1, "converted", "query")

    def test_heads_that_the_settings_let_pass(self):
        fields = [f"X-{n}: {n}" for n in range(600)] + ["X-Long: " + "v" * 70_000]
        self.assertEqual(self.send("GET", "/asked?a=" + "v" * 20_000, fields=fields).status, 200)
        self.conversions(1, "converted", "asked")

    def test_requests_without_content_have_nothing_to_convert(self):
        self.assertEqual(self.send("GET", "/tried").status, 200)
        self.conversions(1, "passed", "tried")

    def test_other_types_that_would_pass(self):
        self.passes("/passing", b"{}", JSON)
        self.conversions(1, "passed", "passing")

    def test_beside_a_plain_forward_and_at_its_bound(self):
        for count in (1023, 1024, 1025):
            self.passes("/beside", b'{"a":"%s"}' % (b"x" * (count - 8)), JSON)
        self.conversions(2, "converted", "beside")
        self.conversions(1, "too_large", "beside")

    def test_with_an_upstream_that_gets_it_as_it_came(self):
        self.passes("/both", b"a=1")
        self.assertEqual(self.new.one().body, b"a=1")
        self.conversions(1, "converted", "both")
        self.requests(1, "answered", "both")

    def test_values_of_the_head_that_it_would_take(self):
        self.passes("/sourced", b"a=1", fields=("X-Tenant: t",))
        self.conversions(1, "converted", "sourced")

    def test_what_they_hold_is_given_back(self):
        client = self.client()
        for body in (b"&".join(b"k%d=%s" % (n, b"v" * 500) for n in range(900)), b"a=" + b"v" * 300_000 + b"%FF"):
            for _ in range(3):
                client.request("POST", "/large", body, FORM)
                self.assertEqual(client.response("POST").status, 200)
        self.until(6, "recast_shadow_conversions_total", route="large")
        self.conversions(3, "converted", "large")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_buffer_bytes") == 0)

    def test_many_at_once_are_all_converted(self):
        client = self.client()
        body = b"&".join(b"k%d=%s" % (n, b"v" * 50) for n in range(900))
        for _ in range(20):
            client.request("POST", "/tried", body, FORM)
            self.assertEqual(client.response("POST").status, 200)
        self.until(20, "recast_shadow_conversions_total", route="tried")
        self.assertGreater(self.counted("recast_shadow_conversions_total", route="tried", result="converted"), 0)


class ShownShadowTests(unittest.TestCase):
    """What an operator sees of it before it serves."""

    SETTINGS = """version: 1
listen: 127.0.0.1:8080
upstreams: { app: 127.0.0.1:3000, new: 127.0.0.1:3001 }
routes:
  - { name: orders, match: /orders, upstream: app, request: form -> json, shadow: { upstream: new, sample: 10%, compare: true, ignore: ["a[].b"] } }
  - name: tried
    match: /tried
    upstream: app
    request: form -> json
    shadow: convert
    examples: [ { in_fields: [ "a=1" ], out: { a: "1" } } ]
  - { name: free, match: /free, upstream: app }
"""

    def test_routes_and_explain_say_what_is_in_effect(self):
        code, shown, said = run_on(self.SETTINGS, "routes")
        self.assertEqual(code, 0, said)
        orders, rest = shown.split("\norders\n")[1].split("\ntried\n")
        for line in ("upstream new FILE:5", "sample 10% FILE:5", "buffer 64KiB default", "in_flight 16 default", "timeout 5s default",
                     "compare true FILE:5", "ignore a[*].b FILE:5"):
            self.assertIn(f" shadow.{line}\n", orders)
        self.assertIn(" shadow.convert request FILE:10\n", rest)
        self.assertIn(" shadow off default", rest)
        _, shown, _ = run_on(self.SETTINGS, "explain", "orders")
        self.assertIn("shadow: new", shown)
        code, shown, said = run_on(self.SETTINGS, "explain", "tried")
        self.assertEqual(code, 0, said)
        self.assertIn("shadow: convert", shown)
        self.assertIn("request: form -> json", shown)

    def test_examples_go_by_the_conversion_that_is_tried(self):
        self.assertEqual(run_on(self.SETTINGS, "check")[0], 0)
        code, _, said = run_on(self.SETTINGS.replace('out: { a: "1" }', 'out: { a: "2" }'), "check")
        self.assertNotEqual(code, 0)
        self.assertIn("tried", said)

    def test_check_knows_who_gets_copies_and_what_a_conversion_that_is_tried_cannot_carry(self):
        code, shown, said = run_on(self.SETTINGS, "check")
        self.assertEqual(code, 0)
        self.assertNotIn("no route names it", shown + said)
        _, shown, said = run_on(self.SETTINGS.replace("form -> json\n    shadow: convert", "json -> form\n    shadow: convert")
                                     .replace('examples: [ { in_fields: [ "a=1" ], out: { a: "1" } } ]', ""), "check")
        self.assertIn("route tried, shadow", shown + said)

    def test_mistakes_have_their_place(self):
        code, _, said = run_on(self.SETTINGS.replace("upstream: new, s", "upstream: nww, s"), "check")
        self.assertNotEqual(code, 0)
        self.assertIn(':5:95: there is no upstream "nww": did you mean "new"?', said)
        self.assertEqual(said.count(".yaml:"), 1, said)


if __name__ == "__main__":
    unittest.main()
