"""Servers that are none of HTTP/2, or bad ones: nothing wrong ever looks right to a client, others go on, memory stays bounded."""

import json
import socket
import struct
import threading

import hpack

from harness import DEADLINE, Closed
from http2_client import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PING, PRIORITY,
                          PUSH_PROMISE, RST_STREAM, SETTINGS, HTTP2Client, block, frame, literal, ping, settings, window_update)
from http2_upstream import HTTP2Upstream
from http2_upstream_support import HTTP2ServerTestCase
from tls_support import certificates, path

MIB = 1 << 20


class OtherProtocolTests(HTTP2ServerTestCase):
    """What speaks no HTTP/2 gets nothing of the request."""

    def greet(self, greeting, **options):
        server = HTTP2Upstream(greeting=greeting)
        self.addCleanup(server.stop)
        self.proxy(server, **options)
        return server

    def saying(self, data):
        def greeting(connection):
            connection.send(data)
            try:
                # The end behind it, and the proxy's: what it has sent is read, or a reset would overtake the greeting.
                connection.connection.shutdown(socket.SHUT_WR)
                while True:
                    connection._exactly(1)
            except OSError:
                pass
        return greeting

    def test_an_upstream_that_speaks_something_else(self):
        for name, data in {
            "HTTP/1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
            "a frame that is no SETTINGS": frame(PING, 0, 0, bytes(8)),
            "DATA": frame(DATA, 0, 1, b"x"),
            "HEADERS": frame(HEADERS, END_HEADERS | END_STREAM, 1, block([(":status", "200")])),
            "the acknowledgement only": frame(SETTINGS, ACK),
            "SETTINGS of a wrong size": frame(SETTINGS, payload=b"12345"),
            "SETTINGS of a stream": frame(SETTINGS, 0, 1),
            "a window that is too large": settings([(INITIAL_WINDOW_SIZE, 1 << 31)]),
            "a frame that is too large": frame(SETTINGS, payload=bytes(6 * 10_000)),
            "GOAWAY": frame(GOAWAY, payload=bytes(8)),
            "nothing": b"",
            "zeros": bytes(100),
        }.items():
            with self.subTest(name):
                server = self.greet(self.saying(data))
                response = self.send("POST", "/", b"secret=1")
                self.assert_problem(response, 502, "upstream_protocol")
                self.assertEqual(server.bytes_received, 0)
                self.assertEqual(server.requests, [])
                self.assertEqual(self.metric("recast_upstream_connect_failures_total", reason="protocol"), 1)
                self.assertEqual(self.metric("recast_upstream_connections"), 0)

    def test_the_reason_is_told(self):
        self.greet(self.saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        self.assertIn("HTTP/1", self.send().json["detail"])
        self.assertEqual(self.recast.log_lines(1)[0]["flags"], "UF")

    def test_one_that_is_mended_is_used(self):
        broken = [True]

        def greeting(connection):
            if broken[0]:
                connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.close()
            else:
                connection.greet()

        server = self.greet(greeting)
        self.assertEqual(self.send().status, 502)
        broken[0] = False
        self.assertEqual(self.send().status, 200)
        self.assertEqual(len(server.requests), 1)

    def test_another_address_is_tried(self):
        bad = HTTP2Upstream(greeting=self.saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        self.addCleanup(bad.stop)
        good = self.server()
        self.proxy(bad, good)
        for _ in range(10):
            self.assertEqual(self.send("POST", "/", b"x").status, 200)
        self.assertEqual(len(good.requests), 10)


class ALPNTests(HTTP2ServerTestCase):
    def serve(self, protocols, **options):
        context = certificates().server_context()
        if protocols:
            context.set_alpn_protocols(protocols)
        server = self.server(context=context, **options)
        self.proxy(f"localhost:{server.port}", upstream=f"tls: {{ ca: {path('ca.pem')} }}")
        return server

    def test_h2_is_offered_and_chosen(self):
        server = self.serve(["h2"])
        answers = self.side_by_side(20, lambda number: self.outcome("POST", "/", b"x" * 50_000))
        self.assertEqual(answers, [(200, b"ok")] * 20)
        self.assertEqual({connection.connection.selected_alpn_protocol() for connection in server.connections if not connection.is_closed},
                         {"h2"})
        self.assertEqual({received.pseudo[":scheme"] for received in server.requests}, {"https"})
        self.assertEqual(server.connection_count, 1)

    def test_a_server_that_chooses_something_else_or_nothing(self):
        for protocols in (["http/1.1"], []):
            with self.subTest(protocols):
                server = self.serve(protocols)
                response = self.send("POST", "/", b"x")
                self.assert_problem(response, 502, "upstream_protocol")
                self.assertIn("ALPN", response.json["detail"])
                self.assertEqual(server.bytes_received, 0)
                server.violations.clear()  # there is no preface, since nothing is said

    def test_an_upload_and_a_download(self):
        server = self.serve(["h2"])
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(body=exchange.received.body))
        body = bytes(range(256)) * 8192
        self.assertEqual(self.outcome("POST", "/", body), (200, body))


class HostileTests(HTTP2ServerTestCase):
    """Each thing is done inside a response; what the client gets is an error or is cut, and the next request is served."""

    def attack(self, frames, begins=False, target="/"):
        """The first request's stream gets `frames` of its number, behind the head of a response where it `begins`. Returns the
        status and the body of that request, or "cut"."""
        attacked = threading.Event()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/next":
                return exchange.answer(body=b"next")
            if begins:
                exchange.respond(200)
                exchange.content(b"some")
            number = exchange.stream.number
            try:
                for data in frames(number) if callable(frames) else frames:
                    exchange.frames(data)
            finally:
                attacked.set()
            return exchange.stream.wait_for_cut()

        self.source.script = script
        outcome = self.outcome("GET", target)
        self.assertTrue(attacked.wait(DEADLINE))
        self.assertEqual(self.outcome("GET", "/next"), (200, b"next"))
        return outcome

    def setUp(self):
        self.source = self.server()
        self.proxy(self.source, routes='  - { name: plain, match: "/*", upstream: app, timeouts: { first_byte: 10s, gap: 10s } }\n')

    def head(self, fields, flags=END_HEADERS | END_STREAM):
        return lambda number: [frame(HEADERS, flags, number, block(fields))]

    def test_heads_that_break_a_rule(self):
        """The stream is given up: 502, and its connection goes on."""
        good = [(":status", "200")]
        for name, fields in {
            "no status": [("x-a", "1")],
            "two": [*good, *good],
            "another pseudo-header field": [*good, (":path", "/")],
            "an unknown pseudo-header field": [*good, (":own", "1")],
            "a status behind a field": [("x-a", "1"), *good],
            "letters": [(":status", "2xx")],
            "too many digits": [(":status", "2000")],
            "too few": [(":status", "20")],
            "nothing": [(":status", "")],
            "101": [(":status", "101")],
            "101 with a field": [(":status", "101"), ("upgrade", "websocket")],
            "a name in upper case": [*good, ("X-A", "1")],
            "an empty name": [*good, ("", "1")],
            "a space in a name": [*good, ("x a", "1")],
            "a colon in a name": [*good, ("x:a", "1")],
            "a line end in a value": [*good, ("x-a", "1\r\nset-cookie: a=1")],
            "NUL in a value": [*good, ("x-a", "1\x002")],
            "connection": [*good, ("connection", "close")],
            "transfer-encoding": [*good, ("transfer-encoding", "chunked")],
            "keep-alive": [*good, ("keep-alive", "1")],
            "upgrade": [*good, ("upgrade", "h2c")],
            "proxy-connection": [*good, ("proxy-connection", "close")],
            "two lengths": [*good, ("content-length", "1"), ("content-length", "2")],
            "a length that is none": [*good, ("content-length", "+1")],
        }.items():
            with self.subTest(name):
                outcome = self.attack(self.head(fields))
                self.assertNotEqual(outcome, "cut")
                self.assertEqual(outcome[0], 502, outcome)
        self.assertEqual(self.metric("recast_upstream_responses_total", code="1xx"), 0)

    def test_the_field_is_named(self):
        status, body = self.attack(self.head([(":status", "200"), ("x-good", "1"), ("x-own", "a\x01b")]))
        self.assertEqual((status, json.loads(body)["detail"].split(": ")[-1]), (502, "x-own"))

    def test_statuses_below_100_and_above_599(self):
        for status in ("000", "099", "600", "999"):
            with self.subTest(status):
                outcome = self.attack(self.head([(":status", status)]))
                self.assertEqual(outcome[0], int(status) if int(status) >= 600 else 502, outcome)

    def test_an_interim_response_that_ends_the_stream(self):
        self.assertEqual(self.attack(self.head([(":status", "103")]))[0], 502)

    def test_content_without_a_head(self):
        self.assertEqual(self.attack(lambda number: [frame(DATA, END_STREAM, number, b"x")])[0], 502)

    def test_nothing_but_an_end(self):
        self.assertEqual(self.attack(lambda number: [frame(RST_STREAM, 0, number, bytes(4))])[0], 502)

    def test_frames_that_break_the_connection(self):
        for name, frames in {
            "DATA on stream 0": lambda number: [frame(DATA, 0, 0, b"x")],
            "HEADERS on stream 0": lambda number: [frame(HEADERS, END_HEADERS, 0, block([(":status", "200")]))],
            "HEADERS on an even stream": lambda number: [frame(HEADERS, END_HEADERS, 2, block([(":status", "200")]))],
            "HEADERS on a stream that nobody opened": lambda number: [frame(HEADERS, END_HEADERS, number + 2, block([(":status", "200")]))],
            "DATA on a stream that nobody opened": lambda number: [frame(DATA, 0, number + 2, b"x")],
            "PUSH_PROMISE": lambda number: [frame(PUSH_PROMISE, END_HEADERS, number, struct.pack("!I", 2) + block(
                [(":method", "GET"), (":scheme", "http"), (":path", "/x"), (":authority", "a")]))],
            "CONTINUATION of nothing": lambda number: [frame(CONTINUATION, END_HEADERS, number, b"")],
            "another frame inside a head": lambda number: [frame(HEADERS, 0, number, block([(":status", "200")])), ping()],
            "a window above 2^31": lambda number: [window_update(0, (1 << 31) - 1)] * 2,
            "a window update of nothing": lambda number: [window_update(0, 0)],
            "a frame that is too large": lambda number: [frame(DATA, 0, number, bytes(16_385))],
            "PING of a wrong size": lambda number: [frame(PING, 0, 0, b"1")],
            "SETTINGS of a wrong size": lambda number: [frame(SETTINGS, 0, 0, b"1")],
            "ENABLE_PUSH from a server": lambda number: [settings([(2, 1)])],
            "a head that is no HPACK": lambda number: [frame(HEADERS, END_HEADERS, number, b"\xff\xff\xff\xff\xff\xff")],
            "padding longer than the frame": lambda number: [frame(DATA, 8, number, b"\xff")],
            "GOAWAY of a wrong size": lambda number: [frame(GOAWAY, 0, 0, b"1234")],
            "RST_STREAM of a stream that nobody opened": lambda number: [frame(RST_STREAM, 0, number + 2, bytes(4))],
        }.items():
            for begins in (False, True):
                with self.subTest(name, begins=begins):
                    outcome = self.attack(frames, begins)
                    if begins:
                        self.assertEqual(outcome, "cut")
                    else:
                        self.assertEqual(outcome[0], 502, outcome)

    def test_content_beyond_the_window(self):
        """64 KiB may come before some was taken; the client takes nothing."""
        self.source.script = lambda exchange: (
            exchange.read_body(), exchange.respond(200),
            [exchange.frames(frame(DATA, 0, exchange.stream.number, bytes(16_384))) for _ in range(1000)], exchange.stream.wait_for_cut())
        before = self.recast.peak_bytes()
        client = self.begin(receive_buffer=4096)
        received, = self.source.wait_for(1)
        received.stream.wait_for_cut()
        self.assertLess(self.recast.peak_bytes() - before, 4 * MIB)
        with self.assertRaises(Closed):
            client.response()

    def test_frames_behind_the_end(self):
        """The response was whole; what follows reaches nobody."""
        for frames in (lambda number: [frame(DATA, END_STREAM, number, b"more")],
                       lambda number: [frame(HEADERS, END_HEADERS | END_STREAM, number, block([(":status", "200")]))],
                       lambda number: [frame(RST_STREAM, 0, number, bytes(4))],
                       lambda number: [window_update(number, 1)]):
            def script(exchange, frames=frames):
                exchange.read_body()
                if exchange.received.target == "/next":
                    return exchange.answer(body=b"next")
                exchange.answer(body=b"whole")
                return [exchange.frames(data) for data in frames(exchange.stream.number)]

            self.source.script = script
            for _ in range(3):
                with HTTP2Client(self.recast.port) as client:
                    first, second = client.request(path="/"), client.request(path="/next")
                    record = client.over(first)
                    self.assertEqual((record.status, bytes(record.body), record.ended), (200, b"whole", True))
                    record = client.over(second)
                    self.assertIn((record.status, bytes(record.body)[:4]), ((200, b"next"), (502, b'{"ty')))
                self.assertEqual(self.outcome("GET", "/next"), (200, b"next"))

    def flood(self, frames, count=20_000):
        """Frames that bring nothing, as many as are let come; returns how many were."""
        sent = []

        def many(number):
            for _ in range(count):
                yield frames(number)
                sent.append(1)

        before = self.recast.peak_bytes()
        outcome = self.attack(many)
        self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)
        self.assertEqual(outcome[0], 502, outcome)
        return len(sent)

    def told(self, count):
        """SETTINGS, which are acknowledged one by one."""
        self.source.connections[-1].expect_acknowledgements(count)
        return settings([(INITIAL_WINDOW_SIZE, 65_535)]) * count

    def test_floods(self):
        for name, frames in {
            "SETTINGS": lambda number: self.told(10),
            "PING": lambda number: ping() * 10,
            "WINDOW_UPDATE": lambda number: window_update(number, 1) * 10,
            "PRIORITY": lambda number: frame(PRIORITY, 0, number, bytes(5)) * 10,
        }.items():
            with self.subTest(name):
                self.assertLess(self.flood(frames), 20_000)

    def test_a_flood_of_empty_content(self):
        outcome = self.attack(lambda number: (frame(DATA, 0, number) * 10 for _ in range(20_000)), begins=True)
        self.assertEqual(outcome, "cut")

    def test_interim_responses_are_bounded(self):
        """32 of them, of 64 KiB together (docs/limits.md)."""
        def interim(count, size):
            data = frame(HEADERS, END_HEADERS, 0, block([(":status", "103"), ("x-a", "1" * size)]))
            return lambda number: (data[:5] + number.to_bytes(4, "big") + data[9:] for _ in range(count))

        def answering(frames):
            def both(number):
                yield from frames(number)
                yield frame(HEADERS, END_HEADERS | END_STREAM, number, block([(":status", "200")]))
            return both

        for count, size, status in ((32, 10, 200), (33, 10, 502), (20, 4000, 502), (50_000, 1000, 502)):
            with self.subTest(count, size=size):
                before = self.recast.peak_bytes()
                self.attack_with_interim(answering(interim(count, size)), status)
                self.assertLess(self.recast.peak_bytes() - before, 4 * MIB)

    def attack_with_interim(self, frames, status):
        def script(exchange):
            exchange.read_body()
            for data in frames(exchange.stream.number):
                exchange.frames(data)

        self.source.script = script
        client = self.begin()
        response = client.response()
        while response.status == 103:
            response = client.response()
        self.assertEqual(response.status, status)

    def test_a_flood_of_continuations(self):
        def frames(number):
            yield frame(HEADERS, 0, number, block([(":status", "200")]))
            for _ in range(100_000):
                yield frame(CONTINUATION, 0, number, literal("x-a", "1"))

        self.assertEqual(self.attack(frames)[0], 502)

    def test_a_bomb_of_hpack(self):
        """A field of 4,000 bytes that is put into the table once, and named again and again by a byte."""
        def frames(number):
            # The table's newest entry has the index 62.
            yield frame(HEADERS, END_HEADERS, number,
                        literal(":status", "200") + literal("x-a", "v" * 3900, first=0x40) + b"\xbe" * 12_000)

        before = self.recast.peak_bytes()
        self.assertEqual(self.attack(frames)[0], 502)
        self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)

    def test_fields_of_the_table_are_read(self):
        """A server whose table is in use: every response says the same in fewer octets."""
        encoders = {}

        def script(exchange):
            exchange.read_body()
            with exchange.connection.changed:
                encoder = encoders.setdefault(exchange.connection.number, hpack.Encoder())
                data = encoder.encode([(":status", "200"), ("x-own", "value" * 20), ("content-type", "text/plain")])
                exchange.stream.is_answered = True
                exchange.frames(frame(HEADERS, END_HEADERS, exchange.stream.number, data)
                                + frame(DATA, END_STREAM, exchange.stream.number, b"ok"))

        self.source.script = script
        for _ in range(10):
            response = self.send()
            self.assertEqual((response.fields.get("x-own"), response.body), ("value" * 20, b"ok"))

    def test_others_on_the_connection_end_as_if_it_had(self):
        """What breaks the connection breaks all streams of it, and each client hears of it."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/bad":
                exchange.frames(frame(DATA, 0, 0, b"x"))
            elif exchange.received.target == "/begun":
                exchange.respond(200, [("content-length", "10")])
                exchange.content(b"12345")
            exchange.stream.wait_for_cut()

        self.source.script = script
        begun, waiting = self.begin(target="/begun"), self.begin("POST", "/waiting", b"x")
        self.source.wait_for(2)
        begun.reader.head()
        self.assertEqual(self.send("GET", "/bad").status, 502)
        with self.assertRaises(Closed):
            begun.reader.exactly(10)
        self.assertEqual(waiting.response().status, 502)

    def test_it_is_one_failure_of_the_address_however_many_end_by_it(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/bad":
                exchange.frames(frame(DATA, 0, 0, b"x"))
            exchange.stream.wait_for_cut()

        self.source.script = script
        waiting = [self.begin("POST", "/waiting", b"x") for _ in range(6)]
        self.source.wait_for(6)
        self.assertEqual(self.send("GET", "/bad").status, 502)
        self.assertEqual([client.response().status for client in waiting], [502] * 6)
        state = self.admin.json("/upstreams")["upstreams"][0]["addresses"][0]
        self.assertEqual((state["failures"], state["ejections"]), (1, 0))
        self.assertEqual(self.metric("recast_upstream_requests_total", result="bad_response"), 7)
