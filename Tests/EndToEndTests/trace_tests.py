"""Spans of requests, as a collector reads them, and the traceparent that upstreams get (docs/tracing.md)."""

import os
import re
import time
import unittest
import unittest.mock

from admin import Admin, admin_port
from ext_proc_client import ExtProcTestCase, pseudo
from harness import DEADLINE, FORM, Client, ProxyTestCase, Recast, Upstream, free_port, select_nothing
from http2_client import HTTP2Client
from tls_support import certificates
from trace_collector import Collector, attributes

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
SERVER, CLIENT, INTERNAL = 2, 3, 1
ERROR = 2

ROUTES = """
  - name: convert
    match: { method: POST, path: "/convert/{id}" }
    upstream: app
    request: { decode: { as: form }, encode: { as: json } }
    response: { decode: { as: json }, encode: { as: form } }
  - { name: gone, match: /gone, upstream: gone }
  - { name: again, match: /again, upstream: app, retry: { on: [503] } }
  - { name: posted, match: { method: POST, path: "/posted/{token}" }, upstream: app }
  - { name: plain, match: "/plain/*", upstream: app }
"""


def tracing(url, sample="100%", **further):
    keys = {"endpoint": url, "sample": sample, "interval": "10ms", **further}
    return "tracing: { " + ", ".join(f"{key}: {value}" for key, value in keys.items()) + " }\n"


class TracedTestCase(ProxyTestCase):
    routes = ROUTES
    tracing = {}
    further_settings = ""

    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.stop)
        cls.admin_port, line = admin_port()
        cls.settings = line + tracing(cls.collector.url, **cls.tracing) + cls.further_settings
        cls.further_upstreams = {"gone": f"127.0.0.1:{free_port()}"}
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.collector.reset()

    def metric(self, name, **labels):
        return Admin(self.admin_port).metrics().sum(name, **labels)

    def wait_for_metric(self, least, name, **labels):
        deadline = time.monotonic() + DEADLINE
        while (value := self.metric(name, **labels)) < least:
            self.assertLess(time.monotonic(), deadline, f"{name} {labels} is {value}, not {least}")
            select_nothing()
        return value

    def traced(self, method, target, body=None, media_type=None, fields=()):
        """The response, and the spans by their kind."""
        response = self.send(method, target, body, media_type, fields)
        return response, self.spans(response)

    def spans(self, response):
        spans = self.collector.spans_of(response.fields.get("x-request-id") or response.json["request_id"])
        return {kind: [span for span in spans if span.kind == kind] for kind in (SERVER, CLIENT, INTERNAL)}


class SpanTests(TracedTestCase):
    tracing = {"headers": "{ Authorization: Bearer 1234 }", "service": "edge"}

    def test_a_request_has_a_server_span_and_a_client_span(self):
        before = time.time_ns()
        response, spans = self.traced("POST", "/plain/a;k=secret?q=secret&r", "hello", "text/plain", ["User-Agent: tester/1"])
        after = time.time_ns()
        self.assertEqual(response.status, 200)
        (server,), (client,), internal = spans[SERVER], spans[CLIENT], spans[INTERNAL]
        self.assertEqual(internal, [])
        self.assertEqual((server.name, server.parent_span_id), ("POST /plain/*", b""))
        self.assertEqual((client.name, client.parent_span_id), ("POST", server.span_id))
        self.assertEqual((len(server.trace_id), len(server.span_id)), (16, 8))
        self.assertNotEqual(server.span_id, client.span_id)
        slack = 5_000_000_000  # the loop's clock stands still for a tick, which is long where others have the processor
        for span in (server, client):
            self.assertLess(before - slack, span.start_time_unix_nano)
            self.assertLessEqual(span.start_time_unix_nano, span.end_time_unix_nano)
            self.assertLess(span.end_time_unix_nano, after + slack)
            self.assertEqual(span.status.code, 0)
        self.assertEqual(attributes(server), {
            "http.request.method": "POST", "url.path": "/plain/a;k=*", "url.query": "q=*&*", "url.scheme": "http",
            "network.protocol.version": "1.1", "server.address": "client.example",
            "user_agent.original": "tester/1", "http.route": "/plain/*", "network.peer.address": "127.0.0.1",
            "client.address": "127.0.0.1", "http.response.status_code": 200, "http.request.body.size": 5,
            "http.response.body.size": 2, "recast.route": "plain",
            "recast.request_id": response.fields.get("x-request-id")})
        self.assertEqual(attributes(client), {
            "http.request.method": "POST", "server.address": "127.0.0.1", "server.port": self.upstream.port,
            "url.full": f"http://127.0.0.1:{self.upstream.port}/plain/a;k=*?q=*&*",
            "recast.upstream": "app", "http.request.body.size": 5, "http.response.status_code": 200,
            **{key: value for key, value in attributes(client).items() if key == "recast.connect.duration"}})
        path, fields, body = self.collector.posts[-1]
        self.assertEqual((path, fields["Content-Type"], fields["Authorization"]),
                         ("/v1/traces", "application/x-protobuf", "Bearer 1234"))
        self.assertRegex(fields["User-Agent"], r"^recast/\d")
        self.assertNotIn(b"secret", body)
        self.assertEqual(self.collector.resources[-1]["service.name"], "edge")
        self.assertEqual(self.collector.scopes[-1].name, "recast")

    def test_the_upstream_is_told_of_the_client_span(self):
        _, spans = self.traced("GET", "/plain/a", fields=["tracestate: a=b"])
        (client,) = spans[CLIENT]
        received = self.upstream.one().fields
        self.assertEqual(received.all("traceparent"), [f"00-{client.trace_id.hex()}-{client.span_id.hex()}-01"])
        # It belongs to a trace that nobody has named.
        self.assertNotIn("tracestate", received)

    def test_a_sampled_parent_is_followed(self):
        response, spans = self.traced(
            "GET", "/plain/a", fields=[f"traceparent: {SAMPLED}", "tracestate: a=b", "tracestate: c=d"])
        (server,), (client,) = spans[SERVER], spans[CLIENT]
        self.assertEqual((server.trace_id.hex(), server.parent_span_id.hex()), (TRACE, PARENT))
        self.assertEqual((server.trace_state, client.trace_state), ("a=b,c=d", "a=b,c=d"))
        received = self.upstream.one().fields
        self.assertEqual(received.all("traceparent"), [f"00-{TRACE}-{client.span_id.hex()}-01"])
        self.assertEqual(received.all("tracestate"), ["a=b", "c=d"])
        self.assertEqual(self.recast.log_entry(response.fields.get("x-request-id"))["trace_id"], TRACE)

    def test_a_state_that_no_span_can_have_spoils_no_batch(self):
        """protobuf's texts are UTF-8: with one that isn't, a collector can read none of the spans that come with it."""
        for state in ("a=\xff\xfe", "a=\xc3\xa4", "a=" + "b" * 511):
            self.upstream.reset()
            self.collector.reset()
            _, spans = self.traced("GET", "/plain/a", fields=[f"traceparent: {SAMPLED}", f"tracestate: {state}"])
            self.assertEqual([span.trace_state for kind in (SERVER, CLIENT) for span in spans[kind]], ["", ""], state)
            self.assertEqual(self.upstream.one().fields.all("tracestate"), [state])

    def test_an_unsampled_parent_is_passed_on(self):
        self.send("GET", "/plain/a", fields=[f"traceparent: {UNSAMPLED}", "tracestate: a=b"])
        received = self.upstream.one().fields
        self.assertEqual((received.all("traceparent"), received.all("tracestate")), ([UNSAMPLED], ["a=b"]))
        # What comes behind it is there, so it would be, too.
        self.traced("GET", "/plain/b")
        self.assertNotIn(TRACE, [span.trace_id.hex() for span in self.collector.spans])

    def test_an_invalid_parent_begins_a_trace(self):
        for bad in (f"00-{TRACE}-{PARENT}", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", "x"):
            self.upstream.reset()
            response, spans = self.traced("GET", "/plain/a", fields=[f"traceparent: {bad}", "tracestate: a=b"])
            (server,), (client,) = spans[SERVER], spans[CLIENT]
            self.assertEqual(server.parent_span_id, b"", bad)
            self.assertNotEqual(server.trace_id.hex(), TRACE, bad)
            received = self.upstream.one().fields
            self.assertEqual(received.all("traceparent"), [f"00-{client.trace_id.hex()}-{client.span_id.hex()}-01"])
            self.assertNotIn("tracestate", received)
            self.assertEqual(self.recast.log_entry(response.fields.get("x-request-id"))["trace_id"], server.trace_id.hex())

    def test_a_conversion_is_a_child(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(
            body=b'{"x":"y"}', fields=("Content-Type: application/json",)))
        response, spans = self.traced("POST", "/convert/7", "a=1&b=2", FORM)
        self.assertEqual((response.status, response.body), (200, b"x=y"))
        (server,), (client,) = spans[SERVER], spans[CLIENT]
        self.assertEqual(server.name, "POST /convert/{id}")
        request, answer = sorted(spans[INTERNAL], key=lambda span: span.name)
        self.assertEqual((request.name, answer.name), ("recast.convert request", "recast.convert response"))
        for span in (request, answer):
            self.assertEqual((span.parent_span_id, span.status.code), (server.span_id, 0))
            self.assertLessEqual(server.start_time_unix_nano, span.start_time_unix_nano)
            self.assertLessEqual(span.end_time_unix_nano, server.end_time_unix_nano)
        found = attributes(request)
        self.assertGreaterEqual(found.pop("recast.convert.duration"), 0)
        self.assertEqual(found, {
            "recast.input": "form", "recast.output": "json", "recast.bytes_in": 7,
            "recast.bytes_out": len(self.upstream.one().body), "recast.fields": 2, "recast.files": 0, "recast.dropped": 0})
        self.assertEqual(attributes(answer), {
            "recast.input": "json", "recast.output": "form", "recast.bytes_in": 9, "recast.bytes_out": 3,
            "recast.fields": 1, "recast.files": 0, "recast.dropped": 0})
        self.assertEqual(len({span.span_id for span in (server, client, request, answer)}), 4)

    def test_a_refusal_has_its_code(self):
        response, spans = self.traced("GET", "/none")
        (server,) = spans[SERVER]
        self.assertEqual((response.status, spans[CLIENT], server.name), (404, [], "GET"))
        found = attributes(server)
        self.assertEqual((found["recast.code"], found["recast.flag"], found["http.response.status_code"]),
                         (response.json["code"], "NR", 404))
        self.assertNotIn("error.type", found)
        self.assertNotIn("http.route", found)
        self.assertEqual(server.status.code, 0)  # the client's fault

    def test_the_size_of_an_answer_of_ours_is_its_bodys(self):
        for method, target, status in (("GET", "/none", 404), ("HEAD", "/none", 404), ("GET", "/gone", 502)):
            with self.subTest(method=method, target=target):
                with Client(self.recast.port) as client:
                    client.request(method, target)
                    response = client.response(method)
                self.assertEqual(response.status, status)
                (server,) = self.spans(response)[SERVER]
                self.assertEqual(attributes(server)["http.response.body.size"], len(response.body))
        with HTTP2Client(self.recast.port) as client:
            response = client.exchange("GET", "/none")
            (server,) = self.spans(response)[SERVER]
            self.assertGreater(len(response.body), 0)
            self.assertEqual(attributes(server)["http.response.body.size"], len(response.body))

    def test_a_variable_that_gives_access_is_not_shown_where_no_route_takes_the_request(self):
        response, spans = self.traced("GET", "/posted/s3cr3t-value")
        (server,) = spans[SERVER]
        self.assertEqual((response.status, attributes(server)["url.path"]), (405, "/posted/*"))

    def test_a_body_that_can_not_be_converted(self):
        response, spans = self.traced("POST", "/convert/7", "a=%FFsecret", FORM)
        self.assertEqual(response.status, 400)
        (server,), (conversion,) = spans[SERVER], spans[INTERNAL]
        self.assertEqual(attributes(server)["recast.code"], response.json["code"])
        self.assertNotIn("error.type", attributes(server))
        self.assertEqual((conversion.status.code, attributes(conversion)["error.type"]), (ERROR, response.json["code"]))
        self.assertFalse(any(b"secret" in body for _, _, body in self.collector.posts))

    def test_an_upstream_that_is_not_there(self):
        response, spans = self.traced("GET", "/gone")
        (server,), (client,) = spans[SERVER], spans[CLIENT]
        self.assertEqual((response.status, server.status.code, client.status.code), (502, ERROR, ERROR))
        for name in ("error.type", "recast.code"):
            self.assertEqual(attributes(server)[name], response.json["code"])
        self.assertEqual(attributes(client)["error.type"], response.json["code"])
        self.assertNotIn("http.response.status_code", attributes(client))

    def test_a_client_that_leaves_before_it_has_an_answer(self):
        self.upstream.reset()
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.reader.rest())
        with Client(self.recast.port) as client:
            client.request("GET", "/plain/a")
            received = self.upstream.wait_for(1)[0]
            client.reset()
        (server,) = [span for span in self.collector.spans_of(received.fields.get("x-request-id")) if span.kind == SERVER]
        self.assertEqual((attributes(server)["recast.flag"], attributes(server)["error.type"]), ("CD", "CD"))
        # 499 is how it is counted; no status was sent.
        self.assertNotIn("http.response.status_code", attributes(server))

    def test_an_upstream_that_fails(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(status=500))
        response, spans = self.traced("GET", "/plain/a")
        for kind in (SERVER, CLIENT):
            (span,) = spans[kind]
            self.assertEqual((span.status.code, attributes(span)["error.type"]), (ERROR, "500"))

    def test_a_request_that_was_sent_again(self):
        statuses = iter([503, 200])
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(status=next(statuses)))
        response, spans = self.traced("GET", "/again")
        (client,) = spans[CLIENT]
        self.assertEqual((response.status, attributes(client)["http.request.resend_count"]), (200, 1))
        first, second = self.upstream.wait_for(2)
        self.assertEqual(first.fields.get("traceparent"), second.fields.get("traceparent"))

    def test_a_response_that_breaks_off(self):
        self.upstream.script = lambda exchange: (
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), exchange.close())
        with self.client() as client:
            client.send("GET /plain/cut HTTP/1.1\r\nHost: a\r\nX-Request-Id: cut-off\r\n\r\n")
            client.reader.rest()
        spans = self.collector.spans_of("cut-off")
        for span in spans:
            self.assertEqual((span.status.code, attributes(span)["error.type"]), (ERROR, "UR"), span)
        self.assertEqual(len(spans), 2)

    def test_a_response_that_is_cut_for_its_clients_fault(self):
        """Its head said 200, and no error of ours came behind that: the span says that it isn't whole all the same."""
        self.upstream.script = lambda exchange: (
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), exchange.reader.rest())
        with self.client() as client:
            client.send("POST /plain/cut HTTP/1.1\r\nHost: a\r\nX-Request-Id: cut-for-chunk\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
            client.reader.until(b"half")
            client.send("no size\r\n")
            client.reader.rest()
        spans = self.collector.spans_of("cut-for-chunk")
        self.assertEqual(sorted(span.kind for span in spans), [SERVER, CLIENT])
        for span in spans:
            self.assertEqual((span.status.code, attributes(span)["error.type"]), (ERROR, "http_bad_chunk_size"), span)
            self.assertEqual(attributes(span)["http.response.status_code"], 200)

    def test_a_request_whose_stream_is_reset_has_no_status(self):
        with HTTP2Client(self.recast.port) as client:
            client.over(client.request("GET", "/plain/malformed", [("connection", "close")]))
        (server,) = self.collector.spans_with("url.path", "/plain/malformed")
        found = attributes(server)
        self.assertEqual((server.status.code, found["recast.flag"], found["error.type"]), (ERROR, "BR", "BR"))
        self.assertNotIn("http.response.status_code", found)

    def test_a_tunnel_has_the_status_on_both_sides(self):
        self.upstream.script = lambda exchange: (
            exchange.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
            exchange.reader.rest(), exchange.close())
        with self.client() as client:
            client.send("GET /plain/tunnel HTTP/1.1\r\nHost: a\r\nX-Request-Id: tunnel\r\n"
                        "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n")
            self.assertEqual(client.response().status, 101)
            client.finish_sending()
            self.assertTrue(client.is_closed())
        spans = self.collector.spans_of("tunnel")
        self.assertEqual(sorted(span.kind for span in spans), [SERVER, CLIENT])
        for span in spans:
            self.assertEqual((span.status.code, attributes(span)["http.response.status_code"]), (0, 101), span)

    def test_long_texts_are_cut(self):
        response, spans = self.traced("NONE-OF-THEM", "/plain/" + "p" * 3000, fields=["User-Agent: " + "\u00e4" * 300])
        (server,) = spans[SERVER]
        found = attributes(server)
        self.assertEqual((found["http.request.method"], found["http.request.method_original"]), ("_OTHER", "NONE-OF-THEM"))
        self.assertEqual(server.name, "HTTP /plain/*")
        self.assertEqual(found["url.path"], "/plain/" + "p" * 249)
        for value in found.values():
            self.assertLessEqual(len(str(value).encode()), 256)
        self.assertLessEqual(server.ByteSize(), 8192)

    def test_http2(self):
        with HTTP2Client(self.recast.port) as client:
            for target in ("/plain/one", "/plain/two"):
                self.upstream.reset()
                response = client.exchange("GET", target, fields=[("traceparent", SAMPLED)])
                (server,), (client_span,) = (self.spans(response)[kind] for kind in (SERVER, CLIENT))
                found = attributes(server)
                self.assertEqual((found["network.protocol.version"], found["url.path"]), ("2", target))
                self.assertEqual(server.parent_span_id.hex(), PARENT)
                self.assertEqual(self.upstream.one().fields.all("traceparent"),
                                 [f"00-{TRACE}-{client_span.span_id.hex()}-01"])
                self.collector.reset()


class CallSpanTests(ExtProcTestCase, TracedTestCase):
    def test_a_call_that_ends_with_an_error_has_no_status(self):
        call = self.processing()
        for _ in range(2):  # the second head comes out of order
            call.headers("request", pseudo("POST", "/plain/disorder", fields=[("x-request-id", "disorder")]))
        self.assertNotEqual(call.status()[0], 0)
        (server,) = self.collector.spans_of("disorder")
        found = attributes(server)
        self.assertEqual((server.status.code, found["recast.flag"], found["error.type"]), (ERROR, "BR", "500"))
        self.assertNotIn("http.response.status_code", found)


class OriginTests(TracedTestCase):
    """Where the client's request went, as OpenTelemetry has it: by Host, or by what a trusted peer says."""

    NAMES = "url.scheme", "server.address", "server.port", "client.address"

    def origin(self, target, *fields):
        _, spans = self.traced("GET", target, fields=fields)
        (server,) = spans[SERVER]
        found = attributes(server)
        return tuple(found.get(name) for name in self.NAMES)


class TrustedOriginTests(OriginTests):
    routes = ROUTES + """
  - { name: rfc, match: "/rfc/*", upstream: app, forwarded: forwarded }
  - { name: none, match: "/none/*", upstream: app, forwarded: off }
"""
    further_settings = "trusted: [127.0.0.0/8, 10.0.0.0/8]\n"

    def test_x_forwarded(self):
        own = self.origin("/plain/a")
        self.assertEqual((own[0], own[3]), ("http", "127.0.0.1"))
        fields = ("X-Forwarded-For: 192.0.2.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: Pub.example")
        for target in ("/plain/a", "/none/a"):
            self.assertEqual(self.origin(target, *fields), ("https", "pub.example", None, "192.0.2.9"))
        # Forwarded is not the format of that route.
        self.assertEqual(self.origin("/plain/a", "Forwarded: for=192.0.2.9;proto=https;host=pub.example"), own)
        for host, expected in (("pub.example:8443", ("pub.example", 8443)), ("[2001:DB8::1]:444", ("2001:db8::1", 444)),
                               ("made-up.example, pub.example", ("pub.example", None)), ("a b", own[1:3]), ("", own[1:3])):
            with self.subTest(host):
                self.assertEqual(self.origin("/plain/a", f"X-Forwarded-Host: {host}")[1:3], expected)
        for proto, expected in (("HTTPS", "https"), ("http", "http"), ("https, http", "http"), ("http, https", "https"), ("wss", "https"), ("gopher", "http")):
            with self.subTest(proto):
                self.assertEqual(self.origin("/plain/a", f"X-Forwarded-Proto: {proto}")[0], expected)

    def test_forwarded(self):
        own = self.origin("/rfc/a")
        self.assertEqual(self.origin("/rfc/a", 'Forwarded: for=192.0.2.9;proto=https;host="Pub.example:8443"'),
                         ("https", "pub.example", 8443, "192.0.2.9"))
        # The element of the proxy that the client has reached: what stands left of it may be made up.
        self.assertEqual(self.origin("/rfc/a", "Forwarded: for=198.51.100.7;host=made-up.example;proto=http",
                                     "Forwarded: for=192.0.2.9;proto=https;host=pub.example, for=10.1.2.3;host=inner.example;proto=http"),
                         ("https", "pub.example", None, "192.0.2.9"))
        self.assertEqual(self.origin("/rfc/a", "Forwarded: for=unknown;proto=https;host=pub.example"),
                         ("https", "pub.example", None, own[3]))
        self.assertEqual(self.origin("/rfc/a", "Forwarded: for=192.0.2.9"), (*own[:3], "192.0.2.9"))
        self.assertEqual(self.origin("/rfc/a", "X-Forwarded-Proto: https", "X-Forwarded-Host: pub.example"), own)


class UntrustedOriginTests(OriginTests):
    def test_nobody_else_is_believed(self):
        own = self.origin("/plain/a")
        self.assertEqual(self.origin("/plain/a", "X-Forwarded-For: 192.0.2.9", "X-Forwarded-Proto: https",
                                     "X-Forwarded-Host: pub.example"), own)

    def test_an_address_of_ipv6_has_no_brackets(self):
        with Client(self.recast.port) as client:
            client.send(b"GET /plain/a HTTP/1.1\r\nHost: [::1]:8443\r\n\r\n")
            (server,) = self.spans(client.response("GET"))[SERVER]
        found = attributes(server)
        self.assertEqual((found["server.address"], found["server.port"]), ("::1", 8443))


class SampleTests(TracedTestCase):
    tracing = {"sample": "0%"}

    def test_no_trace_that_begins_here_is_recorded(self):
        response = self.send("GET", "/plain/a")
        parent = self.upstream.one().fields.get("traceparent")
        self.assertRegex(parent, "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$")
        self.assertEqual(self.recast.log_entry(response.fields.get("x-request-id"))["trace_id"], parent[3:35])
        # One that is recorded comes alone.
        self.traced("GET", "/plain/b", fields=[f"traceparent: {SAMPLED}"])
        self.assertEqual({span.trace_id.hex() for span in self.collector.spans}, {TRACE})


class IgnoredParentTests(TracedTestCase):
    tracing = {"parent": "ignore"}

    def test_a_parent_is_not_followed(self):
        for parent in (SAMPLED, UNSAMPLED):
            self.upstream.reset()
            _, spans = self.traced("GET", "/plain/a", fields=[f"traceparent: {parent}", "tracestate: a=b"])
            (server,) = spans[SERVER]
            self.assertEqual((server.parent_span_id, server.trace_state), (b"", ""))
            self.assertNotEqual(server.trace_id.hex(), TRACE)
            received = self.upstream.one().fields
            self.assertEqual(received.get("traceparent")[3:35], server.trace_id.hex())
            self.assertNotIn("tracestate", received)


class CollectorTests(TracedTestCase):
    """A collector that doesn't do what it should. Requests are served all the same."""

    tracing = {"queue": 8, "batch": 4, "timeout": "3s"}

    def counts(self):
        return {result: self.metric("recast_tracing_spans_total", result=result)
                for result in ("sent", "dropped_queue", "dropped_failed", "rejected")}

    def setUp(self):
        super().setUp()
        self.settled()
        self.before = self.counts()

    def settled(self):
        deadline = time.monotonic() + DEADLINE
        while self.metric("recast_tracing_queue_spans") > 0:
            self.assertLess(time.monotonic(), deadline)
            select_nothing()

    def grown(self):
        return {result: count - self.before[result] for result, count in self.counts().items()}

    def test_what_can_be_sent_again_is(self):
        self.collector.reset(lambda number: (503, {"Retry-After": "0"}, b"") if number < 3 else (200, {}, b""))
        response = self.send("GET", "/plain/a")
        self.assertEqual(len(self.collector.spans_of(response.fields.get("x-request-id"))), 2)
        self.settled()
        self.assertEqual(len({body for _, _, body in self.collector.posts[:3]}), 1)
        self.assertEqual(self.grown(), {"sent": 2, "dropped_queue": 0, "dropped_failed": 0, "rejected": 0})

    def test_retry_after_is_heeded(self):
        times = []
        self.collector.reset(lambda number: (times.append(time.monotonic()),
                                             (429, {"Retry-After": "1"}, b"") if number == 1 else (200, {}, b""))[1])
        response = self.send("GET", "/plain/a")
        self.collector.spans_of(response.fields.get("x-request-id"))
        self.assertGreater(times[1] - times[0], 0.9)

    def test_what_can_not_be_sent_again_is_dropped(self):
        self.collector.reset(lambda number: (400, {}, b"no") if number == 1 else (200, {}, b""))
        self.send("GET", "/plain/a")
        self.collector.wait_for_posts(1)
        self.settled()
        self.assertEqual(self.grown(), {"sent": 0, "dropped_queue": 0, "dropped_failed": 2, "rejected": 0})
        self.assertEqual(len(self.collector.posts), 1)
        self.recast.says("answers with 400")

    def test_a_batch_that_is_too_long_goes_in_halves(self):
        """Down to single spans; one that is too long by itself is dropped, and no other with it."""
        singles = []

        def answer(_):
            if self.collector.count_of_last() > 1:
                return 413, {}, b""
            singles.append(self.collector.posts[-1][2])
            return 413 if len(singles) == 1 else 200, {}, b""

        self.collector.reset(answer)
        for _ in range(2):
            self.send("GET", "/plain/a")
        self.wait_for_metric(self.before["sent"] + 3, "recast_tracing_spans_total", result="sent")
        self.settled()
        self.assertEqual(self.grown(), {"sent": 3, "dropped_queue": 0, "dropped_failed": 1, "rejected": 0})
        self.assertEqual((len(set(singles)), len({span.span_id for span in self.collector.spans})), (4, 3))
        self.recast.says("spans at once, which go in halves")
        self.collector.reset()
        response = self.send("GET", "/plain/a")
        self.assertEqual(len(self.collector.spans_of(response.fields.get("x-request-id"))), 2)

    def test_what_is_rejected_is_counted(self):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

        answer = ExportTraceServiceResponse()
        answer.partial_success.rejected_spans = 1
        answer.partial_success.error_message = "no"
        self.collector.reset(lambda number: (200, {}, answer.SerializeToString()))
        self.send("GET", "/plain/a")
        self.collector.wait_for_posts(1)
        self.settled()
        self.assertEqual(self.grown(), {"sent": 1, "dropped_queue": 0, "dropped_failed": 0, "rejected": 1})

    def test_a_connection_that_is_closed(self):
        self.collector.reset(lambda number: None if number == 1 else (200, {}, b""))
        response = self.send("GET", "/plain/a")
        self.assertEqual(len(self.collector.spans_of(response.fields.get("x-request-id"))), 2)

    def test_a_collector_that_hangs_slows_nothing_down(self):
        self.collector.reset(lambda number: "hang")
        began = time.monotonic()
        for _ in range(20):
            self.assertEqual(self.send("GET", "/plain/a").status, 200)
        self.assertLess(time.monotonic() - began, DEADLINE)
        # 40 spans, of which 8 wait: whatever is on its way is one of them.
        self.assertEqual(self.metric("recast_tracing_queue_spans"), 8)
        self.assertEqual(self.grown()["dropped_queue"], 32)
        # What hangs is given up in its time, and tried again.
        self.collector.wait_for_posts(2)
        self.collector.reset()
        self.collector.over.set()
        self.settled()
        self.collector.over.clear()
        grown = self.grown()
        self.assertEqual(sum(grown.values()), 40)


class LifeTests(unittest.TestCase):
    """The end, and new settings."""

    def setUp(self):
        self.collector, self.upstream = Collector(), Upstream()
        self.addCleanup(self.collector.stop)
        self.addCleanup(self.upstream.stop)

    def serve(self, settings, workers=1):
        recast = Recast(ROUTES, {"app": f"127.0.0.1:{self.upstream.port}", "gone": "127.0.0.1:1"},
                        settings=settings, workers=workers)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        return recast

    def get(self, recast, target="/plain/a"):
        with Client(recast.port) as client:
            client.request("GET", target)
            return client.response("GET").fields.get("x-request-id")

    def test_what_waits_is_sent_at_the_end(self):
        recast = self.serve(tracing(self.collector.url, interval="1h", batch=1000), workers=2)
        ids = {self.get(recast) for _ in range(8)}
        self.assertEqual(self.collector.posts, [])
        self.assertEqual(recast.stop(), 0)
        found = {attributes(span).get("recast.request_id") for span in self.collector.spans}
        self.assertEqual(found - {None}, ids)

    def test_the_end_waits_for_no_collector_that_hangs(self):
        self.collector.reset(lambda number: "hang")
        recast = self.serve(tracing(self.collector.url, interval="1h"))
        self.get(recast)
        began = time.monotonic()
        self.assertEqual(recast.stop(), 0)
        self.assertLess(time.monotonic() - began, DEADLINE / 3)
        recast.says("2 spans were not sent")

    def test_full_batches_are_sent_at_once(self):
        recast = self.serve(tracing(self.collector.url, interval="1h", batch=4))
        for _ in range(2):
            self.get(recast)
        self.collector.wait_for_posts(1)
        self.assertEqual(len(self.collector.spans), 4)

    def test_a_secured_collector(self):
        secured = Collector(context=certificates().server_context())
        self.addCleanup(secured.stop)
        with unittest.mock.patch.dict(os.environ, SSL_CERT_FILE=certificates().path("ca.pem")):
            recast = self.serve(tracing(secured.url))
        for _ in range(2):
            self.assertEqual(len(secured.spans_of(self.get(recast))), 2)

    def test_a_secured_collector_that_nobody_knows(self):
        secured = Collector(context=certificates().server_context())
        self.addCleanup(secured.stop)
        with unittest.mock.patch.dict(os.environ, SSL_CERT_FILE=certificates().path("other-ca.pem")):
            recast = self.serve(tracing(secured.url, interval="1h"))
        self.get(recast)
        self.assertEqual(recast.stop(), 0)
        self.assertEqual(secured.posts, [])
        recast.says(re.compile("the collector of spans, localhost:[0-9]+, takes none, which are dropped: .*certificate"))

    def test_nothing_is_sent_when_it_is_off(self):
        recast = self.serve("tracing: off\n")
        self.get(recast)
        self.assertNotIn("traceparent", self.upstream.one().fields)
        self.assertEqual(recast.stop(), 0)
        self.assertEqual(self.collector.posts, [])

    def test_new_settings(self):
        other = Collector()
        self.addCleanup(other.stop)
        recast = self.serve(tracing(self.collector.url, interval="1h"))
        first = self.get(recast)
        with open(recast.config) as file:
            text = file.read()
        with open(recast.config, "w") as file:
            file.write(text.replace(self.collector.url, other.url).replace("1h", "10ms"))
        recast.process.send_signal(1)
        # What waited goes where it was to go.
        self.assertEqual(len(self.collector.spans_of(first)), 2)
        self.assertEqual(len(other.spans_of(self.get(recast))), 2)

    def reload(self, recast, *changes):
        with open(recast.config) as file:
            text = file.read()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with open(recast.config, "w") as file:
            file.write(text)
        recast.process.send_signal(1)

    def test_new_settings_lose_no_batch_that_waits_for_its_next_attempt(self):
        other = Collector()
        self.addCleanup(other.stop)
        for changes in ((("100%", "99%"),), (("interval: 10ms", "interval: 20ms"),), ((self.collector.url, other.url),), (("service: edge", "service: rim"),)):
            with self.subTest(changes):
                # The second attempt comes behind the reload; it is not the last one.
                self.collector.reset(lambda number: (503, {}, b"") if number < 3 else (200, {}, b""))
                recast = self.serve(tracing(self.collector.url, service="edge"))
                first = self.get(recast)
                self.collector.wait_for_posts(1)
                self.reload(recast, *changes)
                self.assertEqual(len(self.collector.spans_of(first)), 2)
                self.assertEqual({resource["service.name"] for resource in self.collector.resources}, {"edge"})
                self.assertEqual(len(self.collector.posts), 3)
                self.assertEqual(recast.stop(), 0)

    def test_what_waits_for_earlier_settings_is_sent_at_the_end(self):
        other = Collector()
        self.addCleanup(other.stop)
        # The next attempt would come in half a minute.
        self.collector.reset(lambda number: (503, {"Retry-After": "30"}, b"") if number == 1 else (200, {}, b""))
        recast = self.serve(tracing(self.collector.url))
        first = self.get(recast)
        self.collector.wait_for_posts(1)
        self.reload(recast, (self.collector.url, other.url))
        deadline = time.monotonic() + DEADLINE
        while not other.posts:
            self.assertLess(time.monotonic(), deadline)
            self.get(recast)
            select_nothing()
        self.assertEqual(recast.stop(), 0)
        self.assertEqual(len(self.collector.spans_of(first)), 2)
        self.assertNotIn("were not sent", recast.error_text())

    def test_a_smaller_batch_sends_what_waits(self):
        recast = self.serve(tracing(self.collector.url, interval="1h", batch=1000))
        first = self.get(recast)
        self.reload(recast, ("batch: 1000", "batch: 2"))
        self.assertEqual(len(self.collector.spans_of(first)), 2)
