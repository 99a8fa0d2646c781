"""What is HTTP/2's own between Recast and an upstream: streams that share a connection, and how connections and streams end."""

import collections
import os
import subprocess
import tempfile
import threading
import time

from harness import DEADLINE, FORM, Closed, free_port, select_nothing
from http2_client import CANCEL, DATA, INTERNAL_ERROR, LAST_OF_ALL, MAX_CONCURRENT_STREAMS, NO_ERROR, REFUSED_STREAM, HTTP2Client, window_update
from http2_upstream import HTTP2Upstream
from http2_upstream_support import ROUTES, HTTP2ServerTestCase, repeat
from lifecycle_support import reload, wait_until

KIB = 1 << 10
MIB = 1 << 20


class StreamsTests(HTTP2ServerTestCase):
    def gather(self, server, count):
        """Requests are answered when `count` of them are there."""
        together = threading.Barrier(count, timeout=DEADLINE)

        def script(exchange):
            exchange.read_body()
            together.wait()
            exchange.answer(body=exchange.received.fields.get("x-id").encode())

        server.script = script

    def test_a_hundred_requests_at_once_share_a_connection(self):
        for workers in (1, 2):
            with self.subTest(workers=workers):
                server = self.server()
                self.gather(server, 100)
                self.proxy(server, workers=workers)
                answers = self.side_by_side(100, lambda number: self.outcome("POST", "/", b"x", [f"X-Id: {number}"]))
                self.assertEqual(answers, [(200, str(number).encode()) for number in range(100)])
                self.assertLessEqual(server.connection_count, workers)
                self.assertEqual(self.metric("recast_upstream_connections"), server.connection_count)

    def test_no_more_streams_than_the_server_allows(self):
        """The server counts them. Those beyond have further connections."""
        for limit in (1, 2):
            with self.subTest(limit):
                server = self.server(settings=[(MAX_CONCURRENT_STREAMS, limit)])
                self.gather(server, 10)
                self.proxy(server)
                answers = self.side_by_side(10, lambda number: self.outcome("POST", "/", b"x", [f"X-Id: {number}"]))
                self.assertEqual(answers, [(200, str(number).encode()) for number in range(10)])
                self.assertGreaterEqual(server.connection_count, 10 // limit)

    def test_a_server_that_allows_no_stream_until_it_does(self):
        server = self.server(settings=[(MAX_CONCURRENT_STREAMS, 0)])
        self.proxy(server, upstream="max_connections: 1, queue: { timeout: 200ms }")
        self.assert_problem(self.send(), 503, "upstream_overloaded")
        self.assertEqual(server.requests, [])
        connection = server.connections[-1]
        connection.tell([(MAX_CONCURRENT_STREAMS, 5)])
        # The next one that finds no room would be refused; the settings may still be on their way.
        wait_until("a request is served", lambda: self.send().status == 200)
        self.assertEqual(len(server.open_connections), 1)

    def test_a_server_that_allows_no_stream_gets_no_more_connections(self):
        server = self.server(settings=[(MAX_CONCURRENT_STREAMS, 0)])
        self.proxy(server, upstream="idle: 1m, queue: { timeout: 200ms }")
        for _ in range(4):
            self.assert_problem(self.send(), 503, "upstream_overloaded")
        self.assertEqual(server.connection_count, 1)
        server.connections[-1].tell([(MAX_CONCURRENT_STREAMS, 5)])
        wait_until("a request is served", lambda: self.send().status == 200)
        self.assertEqual(server.connection_count, 1)

    def test_who_waits_is_served_when_a_server_allows_streams_again(self):
        server = self.server(settings=[(MAX_CONCURRENT_STREAMS, 0)])
        self.proxy(server, upstream="idle: 1m, queue: { timeout: 1m }")
        waiting = [self.begin() for _ in range(3)]
        wait_until("they wait", lambda: self.metric("recast_upstream_queue_length") == 3)
        server.connections[-1].tell([(MAX_CONCURRENT_STREAMS, 5)])
        self.assertEqual([client.response().status for client in waiting], [200] * 3)
        self.assertEqual(server.connection_count, 1)

    def test_requests_go_to_the_address_that_takes_some(self):
        full, other = self.server(settings=[(MAX_CONCURRENT_STREAMS, 0)]), self.server()
        self.proxy(full, other, upstream="idle: 1m, queue: { timeout: 1m }")
        self.assertEqual([self.send().status for _ in range(10)], [200] * 10)
        self.assertEqual((full.connection_count <= 1, len(full.requests), len(other.requests)), (True, 0, 10))

    def test_a_limit_that_is_lowered_later(self):
        server = self.server()
        self.gather(server, 6)
        self.proxy(server)
        go_on = server.hold(self)
        first = [self.begin() for _ in range(5)]
        server.wait_for(5)
        connection = server.connections[0]
        connection.tell([(MAX_CONCURRENT_STREAMS, 1)])
        with connection.changed:
            self.assertTrue(connection.changed.wait_for(lambda: connection.limit == 1, DEADLINE))
        further = [self.begin() for _ in range(5)]
        server.wait_for(10)
        go_on.set()
        self.assertEqual([client.response().status for client in [*first, *further]], [200] * 10)
        self.assertGreater(server.connection_count, 1)

    def test_each_gets_its_own_answer(self):
        """Answers come in another order, in pieces that alternate."""
        server = self.server()
        together = threading.Barrier(20, timeout=DEADLINE)

        def script(exchange):
            exchange.read_body()
            exchange.respond(200)
            for _ in range(50):
                exchange.content(exchange.received.body * 100)
            together.wait()
            exchange.content(b"", end=True)

        server.script = script
        self.proxy(server)
        answers = self.side_by_side(20, lambda number: self.outcome("POST", "/", b"%03d" % number))
        self.assertEqual(answers, [(200, b"%03d" % number * 5000) for number in range(20)])


class StalledConnectionTests(HTTP2ServerTestCase):
    def test_who_waits_for_a_connection_takes_a_stream_that_is_free_before(self):
        """The server takes one request at a time, and leaves every connection but the first one without a word."""
        leave = threading.Event()
        self.addCleanup(leave.set)

        served = []

        def greeting(connection):
            if not served:
                served.append(connection)
                return connection.tell([(MAX_CONCURRENT_STREAMS, 1)])
            leave.wait(DEADLINE)
            connection.close()
            raise Closed("it is left")

        server = HTTP2Upstream(greeting=greeting)
        self.addCleanup(server.stop)
        self.proxy(server, upstream="connect: 10s")
        self.assertEqual(self.send().status, 200)
        self.assertEqual(self.side_by_side(6, lambda _: self.send().status), [200] * 6)


class GoawayTests(HTTP2ServerTestCase):
    def test_a_graceful_end(self):
        """First no last stream is named, then the one that came last; nothing is lost, and others have another connection."""
        server = self.server()
        self.proxy(server)
        go_on = server.hold(self)
        first = [self.begin("POST", "/", b"x") for _ in range(3)]
        server.wait_for(3)
        connection = server.connections[0]
        connection.send_goaway(LAST_OF_ALL)
        # Whatever comes until the frame is read may still go there.
        wait_until("another connection", lambda: (self.begin(), server.connection_count)[1] == 2)
        connection.send_goaway(connection.last)
        go_on.set()
        self.assertEqual([client.response().status for client in first], [200] * 3)
        self.assertTrue(connection.ended.wait(DEADLINE), "nobody ends the connection that is used no more")
        self.assertEqual(self.metric("recast_retries_total"), 0)

    def test_what_the_server_has_not_seen_is_sent_again(self):
        server = self.server()
        self.proxy(server)
        go_on = server.hold(self)
        clients = [self.begin("POST", f"/{number}", b"x" * number, [f"X-Id: {number}"]) for number in range(6)]
        seen = server.wait_for(6)
        server.script = repeat
        connection = server.connections[0]
        connection.send_goaway(5)
        go_on.set()
        self.assertEqual([client.response().status for client in clients], [200] * 6)
        again = collections.Counter(received.target for received in server.wait_for(9))
        beyond = {received.target for received in seen if received.stream.number > 5}
        self.assertEqual({target for target, count in again.items() if count == 2}, beyond)
        self.assertEqual(len(server.requests), 9)
        self.assertEqual(self.metric("recast_retries_total", result="refused"), 3)
        bodies = {received.target: received.body for received in server.requests[6:]}
        self.assertEqual(bodies, {f"/{number}": b"x" * number for number in range(6) if f"/{number}" in beyond})

    def test_a_server_that_goes_away_again_and_again(self):
        """200 requests of eight clients, while each connection goes away behind its tenth stream."""
        server = self.server()
        executed = collections.Counter()

        def script(exchange):
            exchange.read_body()
            connection = exchange.connection
            with connection.changed:
                goes = exchange.stream.number >= 19 and connection.goaway is None
                if goes:
                    # What it has begun it ends.
                    connection.goaway = connection.last
            if goes:
                connection.send_goaway(connection.goaway)
            executed[exchange.received.fields.get("x-id")] += 1
            exchange.answer(body=exchange.received.fields.get("x-id").encode())

        server.script = script
        self.proxy(server)
        answers = self.side_by_side(
            200, lambda number: self.outcome("POST" if number % 2 else "GET", "/", b"x" if number % 2 else None, [f"X-Id: {number}"]), 8)
        self.assertGreater(server.connection_count, 5)
        self.assertEqual(answers, [(200, str(number).encode()) for number in range(200)])
        self.assertEqual(executed, {str(number): 1 for number in range(200)})

    def test_goaway_with_an_error_cuts_nothing_that_is_answered(self):
        server = self.server()

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * 100_000)
            exchange.connection.send_goaway(exchange.stream.number, INTERNAL_ERROR)
            exchange.leave()

        server.script = script
        self.proxy(server)
        for _ in range(5):
            self.assertEqual(self.outcome("POST", "/", b"x"), (200, b"x" * 100_000))


class RefusedTests(HTTP2ServerTestCase):
    def refuse(self, server, times):
        refused = []

        def script(exchange):
            exchange.read_body()
            if len(refused) < times:
                refused.append(exchange.received)
                exchange.abort(REFUSED_STREAM)
            else:
                exchange.answer(body=exchange.received.body)

        server.script = script

    def test_a_refused_request_is_sent_once_more_whatever_its_method_is(self):
        for method, body in (("GET", None), ("POST", b"abc"), ("PATCH", b"x" * 50_000)):
            with self.subTest(method):
                server = self.server()
                self.refuse(server, 1)
                self.proxy(server)
                self.assertEqual(self.outcome(method, "/", body), (200, body or b""))
                self.assertEqual(len(server.requests), 2)
                self.assertEqual(self.metric("recast_retries_total", result="refused"), 1)
                self.assertEqual(self.metric("recast_retries_total"), 1)

    def test_a_request_is_sent_again_over_the_one_connection_that_there_may_be(self):
        """It has room for more streams. Nobody who comes behind it waits either."""
        server, go_on = self.server(), threading.Event()
        self.addCleanup(go_on.set)
        failed = []

        def script(exchange):
            exchange.read_body()
            path = exchange.received.target
            if path == "/long":
                go_on.wait(DEADLINE)
            if path != "/long" and path not in failed:
                failed.append(path)
                return exchange.abort(REFUSED_STREAM) if path == "/refused" else exchange.answer(503)
            exchange.answer(body=path.encode())

        server.script = script
        self.proxy(server, upstream="max_connections: 1, queue: { timeout: 1m }, health: { passive: { failures: 0 } }",
                   routes='  - { name: plain, match: "/*", upstream: app, retry: { on: [503], attempts: 2 } }\n')
        first = self.begin("GET", "/long")
        server.wait_for(1)
        self.assertEqual(self.outcome("POST", "/refused", b"abc"), (200, b"/refused"))
        for method, path in (("GET", "/get"), ("PUT", "/put")):
            self.assertEqual(self.outcome(method, path, b"abc" if method == "PUT" else None), (200, path.encode()))
        go_on.set()
        self.assertEqual(first.response().body, b"/long")
        self.assertEqual(server.connection_count, 1)

    def test_who_is_refused_twice_is_told(self):
        server = self.server()
        self.refuse(server, 1000)
        self.proxy(server)
        for method, body in (("GET", None), ("POST", b"abc")):
            server.reset()
            self.refuse(server, 1000)
            response = self.send(method, "/", body)
            self.assert_problem(response, 503, "upstream_refused")
            self.assertEqual(response.fields.get("retry-after"), "1")
            self.assertEqual(len(server.requests), 2)

    def test_a_body_beyond_the_buffer_is_not_sent_again(self):
        server = self.server()
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, retry: { buffer: 16KiB } }\n')
        for size, attempts in ((15_000, 2), (100_000, 1)):
            with self.subTest(size):
                server.reset()
                self.refuse(server, 1)
                outcome = self.outcome("POST", "/", b"x" * size)
                self.assertEqual(outcome[0], 200 if attempts == 2 else 503)
                self.assertEqual(len(server.requests), attempts)
        self.assertEqual(self.metric("recast_retry_skipped_total", reason="body_too_large"), 1)

    def test_retry_off_means_off(self):
        server = self.server()
        self.refuse(server, 1)
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, retry: off }\n')
        self.assertEqual(self.outcome()[0], 503)
        self.assertEqual(len(server.requests), 1)

    def test_a_conversion_is_sent_again_as_it_was(self):
        server = self.server()
        self.refuse(server, 1)
        self.proxy(server, routes='  - { name: plain, match: "/*", upstream: app, request: form -> json }\n')
        self.assertEqual(self.outcome("POST", "/", b"a=1&b[c]=2", media_type=FORM), (200, b'{"a":"1","b":{"c":"2"}}'))


class ResetTests(HTTP2ServerTestCase):
    def test_before_the_response(self):
        """Nothing tells that it wasn't done: it is sent again where the route says so and its method allows it."""
        server = self.server()
        seen = []

        def script(exchange):
            exchange.read_body()
            seen.append(exchange.received.method)
            if len(seen) == 1:
                exchange.abort(INTERNAL_ERROR)
            else:
                exchange.answer()

        server.script = script
        self.proxy(server, routes='  - { name: again, match: "/again", upstream: app, retry: { on: [reset] } }\n' + ROUTES)
        for method, target, status, count in (("GET", "/", 502, 1), ("POST", "/", 502, 1), ("GET", "/again", 200, 2),
                                              ("POST", "/again", 502, 1)):
            with self.subTest(method, target=target):
                seen.clear()
                response = self.send(method, target, b"x" if method == "POST" else None)
                self.assertEqual((response.status, len(seen)), (status, count))
                if status == 502:
                    self.assert_problem(response, 502, "upstream_reset")
                    self.assertIn("INTERNAL_ERROR", response.json["detail"])
        self.assertEqual(server.connection_count, 1)

    def test_inside_the_response(self):
        """It never looks whole, and its connection goes on with others."""
        server = self.server()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/other":
                return exchange.answer()
            exchange.respond(200, [("content-length", "100")] if exchange.received.target == "/length" else [])
            exchange.content(b"x" * 50)
            exchange.abort(INTERNAL_ERROR)
            return None

        server.script = script
        self.proxy(server, routes='  - { name: again, match: "/again", upstream: app, retry: { on: [reset] } }\n' + ROUTES)
        for target in ("/length", "/plain"):
            with self.subTest(target):
                self.assertEqual(self.outcome("GET", target), "cut")
                with HTTP2Client(self.recast.port) as client:
                    record = client.over(client.request(path=target))
                    self.assertFalse(record.ended)
                    self.assertIsNotNone(record.reset)
                    self.assertEqual(client.exchange(path="/other").status, 200)
        # Where the route would have sent it again, it is told why it wasn't.
        self.assertEqual(self.metric("recast_retry_skipped_total", reason="response_started"), 0)
        self.assertEqual(self.outcome("GET", "/again"), "cut")
        self.assertEqual(self.metric("recast_retry_skipped_total", reason="response_started"), 1)
        self.assertEqual(server.connection_count, 1)

    def test_behind_a_whole_response_while_the_upload_goes_on(self):
        server = self.server()

        def script(exchange):
            exchange.reader.exactly(1000)
            exchange.answer(413, b"enough")
            exchange.abort(exchange.code)

        self.proxy(server)
        for code in (NO_ERROR, CANCEL):
            with self.subTest(code):
                def run(exchange, code=code):
                    exchange.code = code
                    script(exchange)

                server.script = run
                client = self.begin("POST", "/", None, ["Content-Length: 100000000"])
                client.send(b"x" * 200_000)
                response = client.response()
                self.assertEqual((response.status, response.body), (413, b"enough"))
                with HTTP2Client(self.recast.port) as second:
                    stream = second.request("POST", end=False)
                    second.content(stream, b"x" * 50_000, end=False)
                    record = second.streams[stream]
                    second.until(lambda: record.is_over)  # noqa: B023
                    self.assertEqual((record.status, bytes(record.body), record.ended), (413, b"enough", True))
        server.script = repeat
        self.assertEqual(self.send().status, 200)
        self.assertEqual(server.connection_count, 1)

    def test_a_client_that_leaves_resets_its_stream_only(self):
        server = self.server()
        self.proxy(server)
        go_on = server.hold(self)
        leaving, staying = self.begin(target="/leaving"), self.begin(target="/staying")
        requests = {received.target: received for received in server.wait_for(2)}
        leaving.reset()
        self.assertEqual(requests["/leaving"].stream.wait_for_cut(), CANCEL)
        go_on.set()
        self.assertEqual(staying.response().status, 200)
        self.assertEqual(server.connection_count, 1)

    def end_with_streams(self, end):
        """What becomes of three requests of each method when the connection ends which had served others before."""
        server = self.server()
        self.proxy(server)
        self.assertEqual(self.send().status, 200)
        server.reset()
        server.hold(self)
        clients = [(method, self.begin(method, "/", b"x" if method == "POST" else None)) for method in ("GET", "POST") * 3]
        server.wait_for(6)
        server.script = repeat
        end(server.connections[0])
        answers = collections.defaultdict(list)
        for method, client in clients:
            response = client.response()
            answers[method].append(response.status)
        return answers, server

    def test_a_connection_that_ends_with_streams_in_flight(self):
        for name, end in {"FIN": lambda connection: connection.close(), "RST": lambda connection: connection.close(True)}.items():
            with self.subTest(name):
                answers, server = self.end_with_streams(end)
                self.assertEqual(answers, {"GET": [200] * 3, "POST": [502] * 3})
                self.assertEqual(server.connection_count, 2)
                self.assertEqual(self.metric("recast_retries_total", result="stale_connection"), 3)

    def test_an_idle_connection_that_has_ended_is_not_used(self):
        server = self.server()
        self.proxy(server)
        for end in (lambda connection: connection.close(), lambda connection: connection.close(True),
                    lambda connection: connection.send_goaway(connection.last)):
            self.assertEqual(self.send().status, 200)
            end(server.connections[-1])
            self.wait_for_metric(0, "recast_upstream_connections")
            self.assertEqual(self.outcome("POST", "/", b"x")[0], 200)
        self.assertEqual(self.metric("recast_retries_total"), 0)


class WindowTests(HTTP2ServerTestCase):
    def test_a_client_that_reads_slowly_stops_its_own_stream_only(self):
        server = self.server()
        sent = collections.Counter()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target != "/large":
                return exchange.answer()
            exchange.respond(200, [("content-length", str(64 * MIB))])
            for _ in range(64 * MIB // 16_384):
                exchange.content(b"x" * 16_384)
                sent[exchange.received.fields.get("x-id")] += 16_384
            return exchange.content(b"", end=True)

        server.script = script
        self.proxy(server)
        before = self.recast.peak_bytes()
        slow = [self.begin("GET", "/large", fields=[f"X-Id: {number}"], receive_buffer=4096) for number in range(3)]
        server.wait_for(3)
        counts = None
        while counts != (counts := dict(sent)) or len(counts) < 3:
            for _ in range(20):
                self.assertEqual(self.send().status, 200)
        self.assertEqual(server.connection_count, 1)
        self.assertLess(sum(sent.values()), 3 * 8 * MIB)
        self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)
        for client in slow:
            client.reader.head()
            self.assertEqual(sum(len(piece) for piece in client.reader.pieces(64 * MIB)), 64 * MIB)

    def test_an_upload_waits_for_the_window_of_its_stream(self):
        server = self.server(window=0)
        let = threading.Event()
        self.addCleanup(let.set)

        def script(exchange):
            if exchange.received.target == "/upload":
                let.wait(DEADLINE)
                exchange.stream.give(100_000)
            exchange.read_body()
            exchange.answer(body=str(len(exchange.received.body)).encode())

        server.script = script
        self.proxy(server)
        client = self.begin("POST", "/upload", b"x" * 300_000)
        received, = server.wait_for(1)
        for _ in range(10):
            self.assertEqual(self.send().status, 200)
        self.assertEqual(received.stream.count, 0)
        let.set()
        self.assertEqual(client.response().body, b"300000")
        self.assertEqual(server.connection_count, 1)

    def test_a_window_that_never_opens_is_a_timeout_of_its_stream(self):
        server = self.server(window=0)
        over = threading.Event()
        self.addCleanup(over.set)

        def script(exchange):
            if exchange.received.target == "/upload":
                over.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        server.script = script
        self.proxy(server, routes='  - { name: upload, match: /upload, upstream: app, timeouts: { gap: 300ms } }\n' + ROUTES)
        client = self.begin("POST", "/upload", b"x" * 300_000)
        received, = server.wait_for(1)
        self.assert_problem(client.response(), 504, "upstream_timeout")
        self.assertEqual(received.stream.wait_for_cut(), CANCEL)
        self.assertEqual(self.send().status, 200)

    def test_the_connection_s_window_is_shared(self):
        """One upload takes all of it; requests without content go on, and the other upload when there is some again."""
        server = self.server(gives_connection=False, window=MIB)
        self.proxy(server)
        first = self.begin("POST", "/first", b"x" * 200_000)
        connection = server.wait_for(1)[0].connection
        with connection.changed:
            self.assertTrue(connection.changed.wait_for(lambda: connection.room == 0, DEADLINE))
        second = self.begin("POST", "/second", b"y" * 1000)
        server.wait_for(2)
        for _ in range(5):
            self.assertEqual(self.send().status, 200)
        connection.give(MIB)
        self.assertEqual([first.response().status, second.response().status], [200, 200])
        self.assertEqual([len(received.body) for received in server.requests[:2]], [200_000, 1000])

    def test_the_windows_of_many_small_frames_come_back_at_once(self):
        """A server that was busy gives all of them back, each by two frames: that is no flood."""
        server = self.server(window=MIB, connection_window=16 * MIB, gives=False, gives_connection=False)
        self.proxy(server)
        with HTTP2Client(self.recast.port) as client:
            streams = [client.request("POST", f"/{number}", end=False) for number in range(100)]
            for _ in range(20):
                for stream in streams:
                    client.content(stream, b"x", end=False)
                client.pause()
            connection = server.wait_for(100)[0].connection
            with connection.changed:
                self.assertTrue(connection.changed.wait_for(
                    lambda: sum(stream.count for stream in connection.streams.values()) == 2000, DEADLINE))
                numbers = [number for kind, _, number in connection.events if kind == DATA]
            self.assertGreater(len(numbers), 1000)
            connection.send(b"".join(window_update(number, 1) + window_update(0, 1) for number in numbers))
            for stream in streams:
                client.content(stream, b"y")
            self.assertEqual([client.response(stream).status for stream in streams], [200] * 100)
        self.assertEqual(server.connection_count, 1)

    def test_uploads_share_the_connection_fairly(self):
        server = self.server()
        self.proxy(server)
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(body=str(len(exchange.received.body)).encode()))
        answers = self.side_by_side(8, lambda number: self.outcome("POST", "/", bytes([number]) * MIB))
        self.assertEqual(answers, [(200, str(MIB).encode())] * 8)
        self.assertEqual({received.body for received in server.requests}, {bytes([number]) * MIB for number in range(8)})
        self.assertEqual(server.connection_count, 1)


class TimeTests(HTTP2ServerTestCase):
    routes = """
  - { name: slow, match: "/slow", upstream: app, timeouts: { first_byte: 300ms } }
  - { name: slow-body, match: "/slow/body", upstream: app, timeouts: { gap: 1s } }
""" + ROUTES

    def trickle(self, server):
        """Each response to /trickle comes a byte at a time until the event is set."""
        done = threading.Event()
        self.addCleanup(done.set)

        def script(exchange):
            exchange.read_body()
            target = exchange.received.target
            if target == "/trickle":
                exchange.respond()
                while not done.is_set():
                    exchange.content(b"x")
                    done.wait(0.02)
                exchange.content(b"y", end=True)
            elif target == "/slow":
                exchange.stream.wait_for_cut()
            elif target == "/slow/body":
                exchange.respond()
                exchange.content(b"some")
                exchange.stream.wait_for_cut()
            else:
                exchange.answer()

        server.script = script
        return done

    def test_a_stream_that_is_late_is_given_up_alone(self):
        server = self.server()
        done = self.trickle(server)
        self.proxy(server, routes=self.routes)
        other = self.begin(target="/trickle")
        server.wait_for(1)
        self.assert_problem(self.send(target="/slow"), 504, "upstream_timeout")
        self.assertEqual(self.outcome(target="/slow/body"), "cut")
        self.assertEqual(self.send().status, 200)
        done.set()
        self.assertEqual(other.response().body[-1:], b"y")
        self.assertEqual(server.connection_count, 1)
        self.assertEqual([received.stream.code for received in server.requests if received.target.startswith("/slow")], [CANCEL] * 2)

    def test_a_server_that_is_silent_gets_no_further_request(self):
        """It may be gone without a word: the request that waited in vain takes the connection out of use."""
        server = self.server()
        self.trickle(server)
        self.proxy(server, routes=self.routes)
        self.assertEqual(self.send().status, 200)
        self.assert_problem(self.send(target="/slow"), 504, "upstream_timeout")
        self.assertEqual(self.send("POST", "/", b"x").status, 200)
        self.assertEqual([received.connection_number for received in server.requests], [1, 1, 2])

    def test_settings_that_never_come(self):
        silent = threading.Event()
        self.addCleanup(silent.set)
        server = self.server(greeting=lambda connection: silent.wait(DEADLINE))
        self.proxy(server, upstream="connect: 300ms")
        self.assert_problem(self.send(), 504, "upstream_connect_timeout")
        self.assertEqual(server.requests, [])


class LifeTests(HTTP2ServerTestCase):
    def test_one_connection(self):
        server = self.server()
        self.proxy(server, upstream="max_connections: 1")
        answers = self.side_by_side(200, lambda number: self.outcome(fields=[f"X-Id: {number}"]), 50)
        self.assertEqual([status for status, _ in answers], [200] * 200)
        self.assertEqual(server.connection_count, 1)

    def test_who_may_have_no_connection_to_the_next_address_takes_a_stream_of_another(self):
        servers = [self.server() for _ in range(3)]
        go_on = [server.hold(self) for server in servers]
        self.proxy(*servers, upstream="max_connections: 1, queue: { timeout: 1m }")
        held = [self.begin()]
        wait_until("a request has come", lambda: any(server.requests for server in servers))
        [server] = [server for server in servers if server.requests]
        held += [self.begin() for _ in range(7)]
        server.wait_for(8)
        self.assertEqual(self.metric("recast_upstream_queue_length"), 0)
        for event in go_on:
            event.set()
        self.assertEqual([client.response().status for client in held], [200] * 8)

    def test_requests_beyond_the_only_connection_s_streams_wait_in_the_queue(self):
        server = self.server(settings=[(MAX_CONCURRENT_STREAMS, 2)])
        self.proxy(server, upstream="max_connections: 1, queue: { size: 4, timeout: 10s }")
        # The first request brings what the server allows.
        self.assertEqual(self.send().status, 200)
        server.reset()
        go_on = server.hold(self)
        begun = [self.begin() for _ in range(2)]
        server.wait_for(2)
        waiting = [self.begin() for _ in range(4)]
        self.wait_for_metric(4, "recast_upstream_queue_length")
        self.assert_problem(self.send(), 503, "upstream_overloaded")
        go_on.set()
        self.assertEqual([client.response().status for client in [*begun, *waiting]], [200] * 6)
        self.assertEqual(server.connection_count, 1)

    def test_requests_per_connection(self):
        server = self.server()
        self.proxy(server, upstream="requests_per_connection: 10")
        for number in range(40):
            self.assertEqual(self.send("POST", "/", b"x").status, 200, number)
        counts = collections.Counter(received.connection_number for received in server.requests)
        self.assertLessEqual(max(counts.values()), 10)
        self.assertGreaterEqual(min(list(counts.values())[:-1]), 9)
        self.assertTrue(server.connections[0].ended.wait(DEADLINE))

    def test_a_connection_that_is_too_old_ends_when_its_streams_do(self):
        server = self.server()
        self.proxy(server, upstream="max_age: 300ms, idle: 10s")
        go_on = server.hold(self)
        client = self.begin()
        server.wait_for(1)
        server.script = repeat
        wait_until("another connection", lambda: self.send().status == 200 and server.connection_count > 1)
        self.assertFalse(server.connections[0].is_closed)
        go_on.set()
        self.assertEqual(client.response().status, 200)
        self.assertTrue(server.connections[0].ended.wait(DEADLINE))

    def test_an_idle_connection_is_closed_in_its_time(self):
        server = self.server()
        self.proxy(server, upstream="idle: 2s")
        self.assertEqual(self.send().status, 200)
        connection = server.connections[0]
        self.wait_for_metric(1, "recast_upstream_connections", state="idle")
        self.assertTrue(connection.ended.wait(DEADLINE))
        self.assertEqual(connection.peer_goaway, (0, NO_ERROR))
        self.wait_for_metric(0, "recast_upstream_connections")

    def test_a_connection_with_a_stream_is_not_idle(self):
        server = self.server()
        self.proxy(server, upstream="idle: 100ms")
        server.script = lambda exchange: (exchange.read_body(), threading.Event().wait(0.5), exchange.answer())
        for _ in range(2):
            self.assertEqual(self.send().status, 200)

    def test_a_reload_with_streams_in_flight(self):
        server = self.server()
        self.proxy(server)
        go_on = server.hold(self)
        clients = [self.begin("POST", "/", b"x") for _ in range(5)]
        server.wait_for(5)
        with open(self.recast.config) as file:
            text = file.read()
        with open(self.recast.config, "w") as file:
            file.write(text.replace("http: 2,", "http: 2, idle: 4s,"))
        reload(self.recast)
        server.script = repeat
        self.assertEqual(self.send().status, 200)
        go_on.set()
        self.assertEqual([client.response().status for client in clients], [200] * 5)
        self.assertTrue(server.connections[0].ended.wait(DEADLINE), "the connection of the settings before stays")
        self.assertEqual(len(server.requests), 6)

    def test_a_reload_from_one_version_to_the_other(self):
        server = self.server()
        self.proxy(server)
        self.assertEqual(self.send().status, 200)
        with open(self.recast.config) as file:
            text = file.read()
        with open(self.recast.config, "w") as file:
            file.write(text.replace("http: 2,", "http: 1.1,"))
        reload(self.recast)
        self.assertEqual(self.send().status, 502)
        server.violations.clear()  # it was spoken to by HTTP/1
        with open(self.recast.config, "w") as file:
            file.write(text)
        reload(self.recast)
        self.assertEqual(self.send().status, 200)

    def test_a_drain_with_streams_in_flight(self):
        server = self.server()
        self.proxy(server)
        go_on = server.hold(self)
        clients = [self.begin("POST", "/", b"x") for _ in range(5)]
        server.wait_for(5)
        self.recast.process.terminate()
        wait_until("it says that it ends", lambda: "draining" in self.recast.error_text())
        go_on.set()
        self.assertEqual([client.response().status for client in clients], [200] * 5)
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_active_checks(self):
        server = self.server()
        is_well = threading.Event()
        is_well.set()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/healthz":
                exchange.answer(200 if is_well.is_set() else 503)
            else:
                exchange.answer()

        server.script = script
        self.proxy(server, upstream="health: { active: { path: /healthz, host: check.example, interval: 100ms, fall: 2, rise: 2 } }")
        self.assertEqual(self.send().status, 200)
        wait_until("checks pass", lambda: self.metric("recast_upstream_checks_total", result="passed") > 2)
        check = next(received for received in server.requests if received.target == "/healthz")
        self.assertEqual((check.method, check.pseudo[":authority"], check.ends_with_head), ("GET", "check.example", True))
        is_well.clear()
        wait_until("the address is out of use", lambda: self.send().status == 503)
        is_well.set()
        wait_until("the address is in use again", lambda: self.send().status == 200)
        # Each check has a connection of its own, which ends.
        wait_until("connections of checks end", lambda: len(server.open_connections) <= 2)

    def test_active_checks_that_are_answered_too_late(self):
        """Each is answered when the next one has come. None of them passes, and none leaves a stream or a connection behind."""
        server = self.server()
        newest = threading.Event()
        self.addCleanup(lambda: newest.set())

        def script(exchange):
            nonlocal newest
            exchange.read_body()
            if exchange.received.target == "/healthz":
                before, newest = newest, threading.Event()
                own = newest
                before.set()
                own.wait(DEADLINE)
            exchange.answer()

        server.script = script
        self.proxy(server, upstream="health: { active: { path: /healthz, interval: 100ms, timeout: 50ms, fall: 2, rise: 2 } }")
        wait_until("checks fail", lambda: self.metric("recast_upstream_checks_total", result="failed") > 10)
        self.assertEqual(self.metric("recast_upstream_checks_total", result="passed"), 0)
        wait_until("the connections of checks that failed end", lambda: len(server.open_connections) < 8)
        self.assertEqual(self.send().status, 503)

    def test_as_many_requests_as_may_be_on_their_way_need_a_connection(self):
        """They count themselves while they wait for it."""
        for most in (1, 3):
            with self.subTest(most):
                server = self.server()
                self.proxy(server, upstream=f"max_requests: {most}")
                answers = self.side_by_side(most, lambda _: self.send("POST", "/", b"x").status)
                self.assertEqual(answers, [200] * most)

    def test_active_checks_of_what_speaks_no_http2(self):
        server = self.server(greeting=lambda connection: (connection.send(b"HTTP/1.1 400 Bad\r\n\r\n"), connection.close()))
        self.proxy(server, upstream="health: { active: { path: /healthz, interval: 100ms, fall: 1, rise: 1 } }")
        wait_until("checks fail", lambda: self.metric("recast_upstream_checks_total", result="failed") > 2)
        self.assertEqual(self.send().status, 503)

    def test_an_address_that_refuses_connections(self):
        server = self.server()
        self.proxy(server, f"127.0.0.1:{free_port()}")
        for _ in range(20):
            self.assertEqual(self.send("POST", "/", b"x").status, 200)
        self.assertEqual(len(server.requests), 20)
        self.assertGreater(self.metric("recast_upstream_connect_failures_total", reason="unreachable"), 0)

    def test_two_addresses_share_the_requests(self):
        servers = [self.server(), self.server()]
        self.proxy(*servers)
        for _ in range(20):
            self.assertEqual(self.send().status, 200)
        self.assertEqual([len(server.requests) for server in servers], [10, 10])
        self.assertEqual([server.connection_count for server in servers], [1, 1])

    def test_a_unix_socket(self):
        path = os.path.join("/tmp", f"recast-h2-{os.getpid()}.sock")
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        server = self.server(path=path)
        self.proxy(f"unix:{path}")
        self.assertEqual(self.send("POST", "/", b"x").status, 200)
        self.assertEqual(server.requests[0].pseudo[":authority"], "client.example")


class IndependentServerTests(HTTP2ServerTestCase):
    """nghttpd, which somebody else has written."""

    def nghttpd(self, *arguments):
        port = free_port()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="recast-nghttpd-"))
        self.content = os.urandom(3 * MIB)
        with open(os.path.join(folder, "file.bin"), "wb") as file:
            file.write(self.content)
        process = subprocess.Popen(["nghttpd", "--no-tls", "-d", folder, *arguments, str(port)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.proxy(f"127.0.0.1:{port}", upstream="connect: 1s")
        deadline = time.monotonic() + DEADLINE
        while self.outcome(target="/file.bin")[0] != 200:
            self.assertLess(time.monotonic(), deadline)
            select_nothing()

    def test_files(self):
        self.nghttpd()
        answers = self.side_by_side(10, lambda number: self.outcome(target="/file.bin"))
        self.assertEqual(answers, [(200, self.content)] * 10)
        self.assertEqual(self.send(target="/none").status, 404)
        self.assertEqual(self.send("HEAD", "/file.bin").fields.get("content-length"), str(3 * MIB))

    def test_an_echo_of_uploads(self):
        self.nghttpd("--echo-upload")
        for size in (1, 65_535, 65_536, MIB):
            body = os.urandom(size)
            self.assertEqual(self.outcome("POST", "/", body), (200, body))

    def test_few_streams_trailers_and_padding(self):
        self.nghttpd("-m", "2", "-b", "100", "--trailer", "x-sum: 1")
        answers = self.side_by_side(20, lambda number: self.outcome(target="/file.bin"), 20)
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual({body for _, body in answers}, {self.content})
