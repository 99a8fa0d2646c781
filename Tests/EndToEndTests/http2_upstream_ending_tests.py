"""Servers of HTTP/2 that give up what they have begun, or take few requests for each connection: what clients see of it."""

import collections
import os
import signal
import socket
import threading

from harness import DEADLINE, FORM, Client
from http2_client import (CANCEL, DATA, END_HEADERS, HEADERS, INTERNAL_ERROR, NO_ERROR, PUSH_PROMISE, REFUSED_STREAM, HTTP2Client, block, frame,
                          ping, reset)
from http2_upstream_support import HTTP2ServerTestCase
from lifecycle_support import wait_until
from tls_support import certificates, path

ROUTES = """
  - { name: converts, match: "/converted", upstream: app, response: form -> json }
  - { name: coded, match: "/coded", upstream: app, compress: { types: ["*/*"], min: 1B, plain: true } }
  - { name: plain, match: "/*", upstream: app }
"""
CALL = "application/grpc"


class HeadAloneTests(HTTP2ServerTestCase):
    """The head of a response and the stream's reset come in one read. To a connection that ends without a byte clients send their
    request again, POST, too: so all of them are answered."""

    def serve(self, fields=(), code=INTERNAL_ERROR):
        server = self.server()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/next":
                return exchange.answer(body=b"next")
            number = exchange.stream.number
            with exchange.connection.changed:
                exchange.stream.code = code
            exchange.frames(frame(HEADERS, END_HEADERS, number, block([(":status", "200"), *fields])) + reset(number, code))
            return None

        server.script = script
        self.proxy(server, routes=ROUTES)
        return server

    def test_clients_of_http1_get_an_answer_and_go_on(self):
        for fields in ((), [("content-length", "100")], [("content-type", FORM)]):
            server = self.serve(fields)
            for target in ("/plain", "/coded", "/converted"):
                for method in ("GET", "POST"):
                    with self.subTest(fields=fields, target=target, method=method), Client(self.recast.port) as client:
                        before = len(server.requests)
                        client.request(method, target, b"x" if method == "POST" else None)
                        response = client.response(method)
                        converted = target == "/converted" and fields == [("content-type", FORM)]
                        self.assert_problem(response, 502, "upstream_body_incomplete" if converted else "upstream_reset")
                        if not converted:
                            self.assertIn("INTERNAL_ERROR", response.json["detail"])
                        client.request("GET", "/next")
                        self.assertEqual(client.response().body, b"next")
                        self.assertEqual(len(server.requests) - before, 2)
            self.assertEqual({line["status"] for line in self.recast.log_lines(12)}, {200, 502})

    def test_clients_of_http2_get_an_answer(self):
        self.serve()
        with HTTP2Client(self.recast.port) as client:
            answer = client.exchange(path="/plain")
            self.assertEqual((answer.status, answer.ended), (502, True))
            self.assertEqual(client.exchange(path="/next").status, 200)

    def test_calls_hear_it_as_calls_do(self):
        self.serve([("content-type", CALL)])
        with HTTP2Client(self.recast.port) as client:
            number = client.request("POST", "/plain", fields=[("content-type", CALL), ("te", "trailers")], end=False)
            client.content(number, bytes(5))
            record = client.over(number)
            self.assertEqual((record.status, record.fields.get("grpc-status"), record.ended), (200, "14", True))

    def test_the_code_is_the_server_s(self):
        for code, name in ((NO_ERROR, "NO_ERROR"), (CANCEL, "CANCEL"), (99, "the code 99")):
            with self.subTest(name):
                self.serve(code=code)
                self.assertIn(f"with {name}", self.send().json["detail"])

    def test_no_connection_ends_without_a_byte(self):
        """Where the server's whole connection ends behind the head that may have gone out; what is cut then has begun."""
        server = self.server()

        def script(exchange):
            exchange.read_body()
            head = frame(HEADERS, END_HEADERS, exchange.stream.number, block([(":status", "200")]))
            # A frame that breaks the connection.
            exchange.frames(head + frame(DATA, 0, 0, b"x"))
            exchange.leave()

        server.script = script
        self.proxy(server)
        for method in ("GET", "POST"):
            with self.subTest(method), Client(self.recast.port) as client:
                client.request(method, "/", b"x" if method == "POST" else None)
                self.assertIn(client.reader.head()[0].split()[1], ("200", "502"))
        self.assertEqual(len(server.requests), 2)


class FewRequestsTests(HTTP2ServerTestCase):
    """Servers that end each connection behind so many requests (nginx's `keepalive_requests`) lose none: what a GOAWAY leaves out
    wasn't looked at, and goes to the next connection, which may leave it out as well."""

    def serve(self, most):
        """A server that takes `most` streams of each connection and says so at the last one, when `count` requests have come."""
        server = self.server()
        self.executed = collections.Counter()
        self.lock = threading.Lock()

        def script(exchange):
            last = 2 * most - 1
            connection = exchange.connection
            with connection.changed:
                is_beyond = exchange.stream.number > last
                goes = exchange.stream.number == last and connection.goaway is None
                if goes:
                    connection.goaway = last
            if is_beyond:
                return
            exchange.read_body()
            if goes:
                connection.send_goaway(last)
            with self.lock:
                self.executed[exchange.received.fields.get("x-id")] += 1
            exchange.answer(body=exchange.received.fields.get("x-id").encode())

        server.script = script
        return server

    def test_no_request_is_lost_or_done_twice(self):
        for most, count in ((1, 20), (5, 60), (50, 100)):
            with self.subTest(most=most, count=count):
                self.serve_all(most, count)

    def serve_all(self, most, count):
        server = self.serve(most)
        self.proxy(server, upstream="queue: { timeout: 1m }")
        answers = self.side_by_side(
            count, lambda number: self.outcome("POST", "/", b"x", [f"X-Id: {number}"]))
        self.assertEqual(answers, [(200, str(number).encode()) for number in range(count)])
        self.assertEqual(self.executed, {str(number): 1 for number in range(count)})
        self.assertGreaterEqual(server.connection_count, count // most)
        tried = sum(line["attempts"] - 1 for line in self.recast.log_lines(count))
        self.assertEqual(self.metric("recast_retries_total", result="refused"), tried)
        self.assertEqual(self.metric("recast_retry_skipped_total"), 0)

    def test_a_connection_that_takes_nothing_is_a_refusal(self):
        """Once more, and no further."""
        server = self.server()

        def script(exchange):
            exchange.connection.send_goaway(0)

        server.script = script
        self.proxy(server)
        self.assert_problem(self.send("POST", "/", b"x"), 503, "upstream_refused")
        self.assertEqual(len(server.requests), 2)
        self.assertEqual(self.metric("recast_retry_skipped_total", reason="attempts"), 1)

    def test_a_connection_that_ends_with_an_error_is_a_refusal(self):
        """Though it has taken others: the next one may end so, too."""
        server = self.server()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/first":
                return exchange.answer()
            return exchange.connection.send_goaway(max(exchange.stream.number - 2, 0), INTERNAL_ERROR)

        server.script = script
        self.proxy(server)
        self.assertEqual(self.send("POST", "/first", b"x").status, 200)
        self.assert_problem(self.send("POST", "/", b"x"), 503, "upstream_refused")
        self.assertEqual([received.target for received in server.requests], ["/first", "/", "/"])

    def test_a_refused_stream_of_such_a_server_is_a_refusal(self):
        """What it is left out for doesn't count against it, and a second refusal does."""
        server, refused = self.server(), []

        def script(exchange):
            exchange.read_body()
            connection = exchange.connection
            if exchange.received.target == "/first":
                exchange.answer()
                return None
            refused.append(connection.number)
            if len(refused) == 1:
                # The first request of the connection was served: this one is left out.
                return connection.send_goaway(1)
            return exchange.abort(REFUSED_STREAM)

        server.script = script
        self.proxy(server)
        self.assertEqual(self.send(target="/first").status, 200)
        self.assert_problem(self.send("POST", "/second", b"x"), 503, "upstream_refused")
        self.assertEqual(len(refused), 3)


class WindowTests(HTTP2ServerTestCase):
    def test_a_connection_whose_window_never_comes_back_is_left(self):
        server = self.server(gives_connection=False, window=1 << 20)

        def script(exchange):
            exchange.read_body()
            exchange.answer()

        server.script = script
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, timeouts: { gap: 300ms } }\n')
        self.assert_problem(self.send("POST", "/first", b"x" * 200_000), 504, "upstream_timeout")
        self.assertEqual(self.outcome("POST", "/second", b"x" * 1000), (200, b"ok"))
        self.assertEqual([received.target for received in server.requests], ["/first", "/second"])
        self.assertEqual(server.connection_count, 2)

    def test_an_upload_that_is_taken_slowly_behind_the_response_s_head(self):
        """As long as some of it is taken, a response that stands still is not late."""
        server = self.server(window=1000, gives=False)
        over = threading.Event()
        self.addCleanup(over.set)

        def script(exchange):
            exchange.respond()
            for _ in range(15):
                over.wait(0.1)
                exchange.stream.give(5000)
            exchange.read_body()
            exchange.content(str(len(exchange.received.body)).encode(), end=True)

        server.script = script
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, timeouts: { gap: 1s } }\n')
        # No more than is kept for a stream, so that nothing but its window tells how it gets on.
        self.assertEqual(self.outcome("POST", "/", b"x" * 61_000), (200, b"61000"))
        self.assertEqual(self.metric("recast_timeouts_total", kind="upstream_gap"), 0)

    def test_an_upload_of_which_nothing_more_is_taken_behind_the_response_s_head(self):
        server = self.server(window=1000, gives=False)

        def script(exchange):
            exchange.respond()
            exchange.stream.give(5000)
            exchange.stream.wait_for_cut()

        server.script = script
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, timeouts: { gap: 300ms } }\n')
        self.assertEqual(self.outcome("POST", "/", b"x" * 61_000), "cut")
        self.wait_for_metric(1, "recast_timeouts_total", kind="upstream_gap")


class IdleTests(HTTP2ServerTestCase):
    """What has come over a connection without a request when the next one is there, and nobody has looked at yet (docs/rules.md F19)."""

    def answer_behind(self, what, secured):
        """A POST, and what `what` does with the server's connection behind it: both are there when Recast looks, the request first."""
        context = certificates().server_context() if secured else None
        if context:
            context.set_alpn_protocols(["h2"])
        server = self.server(context=context)
        tls = f", tls: {{ ca: {path('ca.pem')} }}" if secured else ""
        self.proxy(f"localhost:{server.port}", upstream="idle: 1h" + tls)
        self.assertEqual(self.send().status, 200)
        with Client(self.recast.port) as client:
            self.wait_for_metric(2, "recast_connections_accepted_total", side="client")
            self.recast.process.send_signal(signal.SIGSTOP)
            try:
                os.waitpid(self.recast.process.pid, os.WUNTRACED)
                client.request("POST", "/", b"x")
                what(server.connections[0])
            finally:
                self.recast.process.send_signal(signal.SIGCONT)
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.metric("recast_retries_total"), 0)
        return [(received.method, received.connection_number) for received in server.requests]

    def test_no_request_goes_where_the_end_has_come(self):
        for secured in (False, True):
            for end in (lambda connection: connection.close(),
                        lambda connection: (connection.send_goaway(connection.last), connection.close())):
                with self.subTest(secured=secured):
                    self.assertEqual(self.answer_behind(end, secured), [("GET", 1), ("POST", 2)])

    def test_anything_else_is_looked_at_first(self):
        for secured in (False, True):
            with self.subTest(secured=secured):
                self.assertEqual(self.answer_behind(lambda connection: connection.send(ping()), secured), [("GET", 1), ("POST", 1)])

    def test_a_server_that_is_silent_behind_its_settings_gets_no_further_request(self):
        silent = threading.Event()
        self.addCleanup(silent.set)

        def greeting(connection):
            connection.greet()
            if connection.number == 1:
                silent.wait(DEADLINE)

        server = self.server(greeting=greeting)
        self.proxy(server, routes='  - { name: slow, match: "/slow", upstream: app, timeouts: { first_byte: 300ms } }\n' + ROUTES)
        self.assert_problem(self.send(target="/slow"), 504, "upstream_timeout")
        self.assertEqual(self.send("POST", "/", b"x").status, 200)
        self.assertEqual([received.connection_number for received in server.requests], [2])


class UnsentTests(HTTP2ServerTestCase):
    """What ends a connection with requests on their way when another one begins there, of which nothing has gone out yet."""

    def ended_behind(self, what, method, body, held):
        """A request, and what `what` does with the server's connection behind it, on which `held` others are: both are there when Recast
        looks. Returns the method and the connection of all that came to the server behind those."""
        server = self.server()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/held":
                exchange.stream.wait_for_cut(DEADLINE * 2)
            else:
                exchange.answer()

        server.script = script
        self.proxy(server, upstream="idle: 1h")
        with Client(self.recast.port) as client:
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
            for _ in range(held):
                # Without content, of which the server would tell: what stands in front of the end is read by itself.
                self.begin("POST", "/held")
            server.wait_for(1 + held)
            self.recast.process.send_signal(signal.SIGSTOP)
            try:
                os.waitpid(self.recast.process.pid, os.WUNTRACED)
                client.request(method, "/", body)
                what(server.connections[0])
            finally:
                self.recast.process.send_signal(signal.SIGCONT)
            self.assertEqual(client.response().status, 200)
        return [(received.method, received.connection_number) for received in server.requests[1 + held:]]

    def test_it_goes_to_another_connection_whatever_its_method_is(self):
        ends = {"the end": lambda connection: connection.close(),
                "one side's end, behind which the server reads on": lambda connection: connection.connection.shutdown(socket.SHUT_WR),
                "GOAWAY": lambda connection: (connection.send_goaway(connection.last), connection.close()),
                "a bad frame": lambda connection: connection.send(frame(DATA, 0, 0, b"x")),
                # Which are read first: the end stands behind them.
                "a PING and the end": lambda connection: (connection.send(ping()), connection.close()),
                "a PING and one side's end": lambda connection: (
                    connection.send(ping()), connection.connection.shutdown(socket.SHUT_WR))}
        for what, end in ends.items():
            for method, body, held in (("POST", bytes(30_000), 2), ("POST", None, 1), ("GET", None, 2), ("POST", b"x", 0)):
                with self.subTest(what, method=method, size=body and len(body), held=held):
                    self.assertEqual(self.ended_behind(end, method, body, held), [(method, 2)])


class RoomTests(HTTP2ServerTestCase):
    def test_of_several_with_room_the_one_with_the_fewest_requests_is_taken(self):
        servers = [self.server() for _ in range(3)]
        go_on = [server.hold(self) for server in servers]
        self.proxy(*servers, upstream="max_connections: 2, queue: { timeout: 1m }")

        def counts():
            return sorted(len(server.requests) for server in servers)

        held = [self.begin()]
        wait_until("a request has come", lambda: counts() == [0, 0, 1])
        held.append(self.begin())
        wait_until("another one has", lambda: counts() == [0, 1, 1])
        # Three times round: a third of them is meant for the address without a connection.
        held += [self.begin() for _ in range(9)]
        wait_until("all have", lambda: sum(counts()) == 11)
        self.assertEqual(counts(), [0, 5, 6])
        for event in go_on:
            event.set()
        self.assertEqual([client.response().status for client in held], [200] * 11)


class CheckTests(HTTP2ServerTestCase):
    def test_the_reason_is_told(self):
        server = self.server()

        def push(exchange):
            # Which Recast's settings forbid.
            exchange.frames(frame(PUSH_PROMISE, END_HEADERS, exchange.stream.number, bytes(3) + b"\x02" + block([(":method", "GET")])))
            exchange.stream.wait_for_cut()

        def malformed(exchange):
            exchange.frames(frame(HEADERS, END_HEADERS, exchange.stream.number, block([(":status", "x")])))
            exchange.stream.wait_for_cut()

        for script, reason in ((push, "its connection of HTTP/2 was ended: it broke a rule of HTTP/2 (PROTOCOL_ERROR, RFC 9113 §7)"),
                               (malformed, "its answer breaks a rule of HTTP/2"),
                               (lambda exchange: exchange.leave(), "it closed the connection before it answered"),
                               (lambda exchange: exchange.abort(NO_ERROR), "it gave the request up (NO_ERROR)"),
                               (lambda exchange: exchange.abort(REFUSED_STREAM), "it gave the request up (REFUSED_STREAM)")):
            with self.subTest(reason):
                server.script = script
                recast = self.proxy(server, upstream="health: { active: { path: /healthz, interval: 100ms, fall: 1, rise: 1 } }")
                recast.says(f"fails its checks: {reason}")
