"""Many streams on one connection of HTTP/2: backpressure on both sides, and streams that break off."""

import collections
import os
import socket
import struct
import threading

from harness import DEADLINE, FORM
from http2_client import DATA, INTERNAL_ERROR, LAST_OF_ALL, NO_ERROR, REFUSED_STREAM, HTTP2TestCase, frame, reset, window_update

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: plain, match: "/plain*", upstream: app }
"""
MIB = 1 << 20


def repeat(exchange):
    exchange.read_body()
    exchange.answer(body=exchange.received.body)


class StreamTestCase(HTTP2TestCase):
    routes = ROUTES

    def hold(self):
        """The upstream answers when it is let."""
        return self.upstream.hold(self, lambda exchange: exchange.answer(body=exchange.received.target.encode()))


class ManyTests(StreamTestCase):
    def test_answers_come_as_they_are_made(self):
        go_on = {number: threading.Event() for number in range(20)}

        def script(exchange):
            exchange.read_body()
            go_on[int(exchange.received.target.rpartition("/")[2])].wait(DEADLINE)
            exchange.answer(body=exchange.received.target.encode())

        self.upstream.script = script
        with self.http2() as client:
            streams = [client.request(path=f"/plain/{number}") for number in range(20)]
            self.upstream.wait_for(20)
            for number in reversed(range(20)):
                go_on[number].set()
                self.assertEqual(bytes(client.response(streams[number]).body), f"/plain/{number}".encode())
                self.assertEqual(sum(record.ended for record in client.streams.values()), 20 - number)

    def test_a_hundred_uploads_at_once_with_different_speeds(self):
        self.upstream.script = repeat
        with self.http2() as client:
            bodies = {client.request("POST", f"/plain/{number}", end=False): os.urandom(100 * number + 1) for number in range(100)}
            rest = dict(bodies)
            step = 1
            while rest:
                for stream in list(rest):
                    piece, rest[stream] = rest[stream][:step], rest[stream][step:]
                    client.content(stream, piece, end=not rest[stream])
                    if not rest[stream]:
                        del rest[stream]
                step = step * 2 % 1501
            for stream, body in bodies.items():
                self.assertEqual(bytes(client.response(stream).body), body)

    def test_conversions_beside_each_other(self):
        with self.http2() as client:
            streams = [client.request("POST", "/form-json", [("content-type", FORM)], end=False) for _ in range(50)]
            for at in range(10):
                for number, stream in enumerate(streams):
                    client.content(stream, b"%s=%d" % (b"&n%d" % at if at else b"n0", number), end=at == 9)
            for stream in streams:
                self.assertEqual(client.response(stream).status, 200)
        seen = sorted(int(received.json["n9"]) for received in self.upstream.wait_for(50))
        self.assertEqual(seen, list(range(50)))
        for received in self.upstream.requests:
            self.assertEqual(set(received.json.values()), {received.json["n0"]})

    def test_a_stalled_upload_stops_no_other(self):
        let = threading.Event()
        self.addCleanup(let.set)

        def script(exchange):
            if exchange.received.target == "/plain/stalled":
                let.wait(DEADLINE)
            exchange.read_body()
            exchange.answer(body=b"%d" % len(exchange.received.body))

        self.upstream.script = script
        with self.http2() as client:
            stalled = client.request("POST", "/plain/stalled", end=False)
            sent = client.fill(stalled, most=64 * MIB)
            self.assertLess(sent, 32 * MIB)
            # The connection's window has been given back: others go on as if nothing were.
            for _ in range(5):
                response = client.exchange("POST", "/plain/other", body=b"y" * MIB)
                self.assertEqual(bytes(response.body), b"%d" % MIB)
            let.set()
            client.content(stalled, b"z" * MIB)
            self.assertEqual(bytes(client.response(stalled).body), b"%d" % (sent + MIB))

    def test_content_that_comes_at_once_goes_on_in_one_write(self):
        chunks = []

        def script(exchange):
            reader, sizes = exchange.reader, []
            while exchange.received.method == "POST":
                sizes.append(int(reader.until(b"\r\n"), 16))
                reader.exactly(sizes[-1] + 2)
                if not sizes[-1]:
                    chunks.append(sizes)
                    break
            exchange.answer()

        self.upstream.script = script
        with self.http2() as client:
            # Two connections to the upstream are there then.
            for stream in [client.request() for _ in range(2)]:
                self.assertEqual(client.response(stream).status, 200)
            with client.at_once():
                streams = [client.request("POST", "/plain/pieces", end=False) for _ in range(2)]
                for at in range(3):
                    for stream in streams:
                        client.content(stream, b"x" * 5000, end=False)
            self.upstream.wait_for(4)
            for stream in streams:
                client.content(stream, b"y", end=True)
                self.assertEqual(client.response(stream).status, 200)
        self.assertEqual(chunks, [[15_000, 1, 0]] * 2)

    def test_many_stalled_uploads_stop_no_other(self):
        """More streams stall than the connection's window (1 MiB) holds."""
        let = threading.Event()
        self.addCleanup(let.set)

        def script(exchange):
            if exchange.received.target == "/plain/stalled":
                let.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        with self.http2() as client:
            for _ in range(30):
                stream = client.request("POST", "/plain/stalled", end=False)
                client.content(stream, b"x" * 60_000, end=False)
            self.assertEqual(client.exchange("POST", "/plain/other", body=b"y" * MIB).status, 200)

    def test_streams_beyond_the_limit_are_refused(self):
        go_on = self.hold()
        with self.http2() as client:
            client.pause()  # the server's SETTINGS are acknowledged by then
            streams = [client.request(path=f"/plain/{number}") for number in range(100)]
            self.upstream.wait_for(100)
            beyond = client.request(path="/plain/beyond")
            record = client.over(beyond)
            if record.reset is None:
                # RFC 9113 section 5.4.1 lets an error of a stream be one of the connection.
                self.assertTrue(client.goaways and client.goaways[-1][1] in (1, 7, 11))
            else:
                self.assertIn(record.reset, (REFUSED_STREAM, 1))
                go_on.set()
                for stream in streams:
                    self.assertEqual(client.response(stream).status, 200)
        self.assertNotIn("/plain/beyond", [received.target for received in self.upstream.requests])
        # Where the connection ended nobody else has let the upstream answer.
        go_on.set()
        self.assert_alive()

    def test_streams_beyond_the_limit_before_it_was_known_are_refused_alone(self):
        """A client can't know the limit in its first flight: those that are beyond may be tried again (RFC 9113 section 8.7)."""
        go_on = self.hold()
        with self.http2() as client:
            with client.at_once():
                streams = [client.request(path=f"/plain/{number}") for number in range(130)]
            for stream in streams[100:]:
                self.assertEqual(client.over(stream).reset, REFUSED_STREAM)
            go_on.set()
            for stream in streams[:100]:
                self.assertEqual(client.response(stream).status, 200)
            self.assertEqual(client.goaways, [])
        self.assertEqual(len(self.upstream.requests), 100)

    def test_500_requests_in_a_row(self):
        with self.http2() as client:
            for number in range(500):
                self.assertEqual(client.exchange("POST", f"/plain/{number}", body=b"a").status, 200)


class BackpressureTests(StreamTestCase):
    upstream_receive_buffer = 16_384

    def test_an_upload_to_an_upstream_that_doesn_t_read(self):
        let = threading.Event()
        self.addCleanup(let.set)

        def script(exchange):
            let.wait(DEADLINE)
            exchange.received.count = sum(len(piece) for piece in exchange.reader.body_pieces(exchange.received.fields))
            exchange.answer()

        self.upstream.script = script
        before = self.recast.peak_bytes()
        with self.http2() as client:
            stream = client.request("POST", end=False)
            sent = client.fill(stream, most=256 * MIB)
            self.assertLessEqual(client.streams[stream].window, 0)
            # The window, what the proxy holds, and the kernel's buffers between it and the upstream.
            self.assertLess(sent, 12 * MIB)
            self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)
            let.set()
            client.content(stream, b"x" * MIB)
            self.assertEqual(client.response(stream).status, 200)
        self.assertEqual(self.upstream.one().count, sent + MIB)

    def flood_the_client(self, client, streams, stop):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"4000\r\n" + b"x" * 16_384 + b"\r\n"
            exchange.connection.settimeout(0.2)
            for _ in range(64 * MIB // 16_384):
                rest = piece
                while rest and not stop.is_set():
                    try:
                        rest = rest[exchange.connection.send(rest):]
                        exchange.received.count = getattr(exchange.received, "count", 0) + 1
                    except TimeoutError:
                        pass
            exchange.close()

        self.upstream.script = script
        opened = [client.request(path=f"/plain/{number}") for number in range(streams)]
        self.upstream.wait_for(streams)
        return opened

    def settle(self):
        """Waits until nothing moves any more between the proxy and the upstream."""
        counts = None
        while counts != (counts := [getattr(received, "count", 0) for received in self.upstream.requests]):
            threading.Event().wait(0.5)

    def test_responses_without_a_window_wait_at_the_upstream(self):
        for streams in (1, 50):
            with self.subTest(streams=streams):
                self.upstream.reset()
                stop = threading.Event()
                before = self.recast.peak_bytes()
                with self.http2(window=0, gives=False) as client:
                    opened = self.flood_the_client(client, streams, stop)
                    client.until(lambda: all(client.streams[stream].status for stream in opened))  # noqa: B023
                    self.settle()
                    self.assertEqual([client.streams[stream].count for stream in opened], [0] * streams)
                    # Others on the connection have what they need.
                    self.assertLess(self.recast.peak_bytes() - before, streams * 512 * 1024 + 4 * MIB)
                    client.send(window_update(opened[0], 1000))
                    client.until(lambda: client.streams[opened[0]].count == 1000)  # noqa: B023
                    client.pause()
                    self.assertEqual(client.streams[opened[0]].count, 1000)
                    stop.set()
        self.upstream.script = repeat
        self.assert_alive()

    def test_a_client_that_doesn_t_read(self):
        """Windows as wide as can be, and nothing is read: the connection's socket fills, and no more is taken from upstreams."""
        stop = threading.Event()
        before = self.recast.peak_bytes()
        with self.http2(window=LAST_OF_ALL, gives=False, receive_buffer=16_384) as client:
            client.send(window_update(0, LAST_OF_ALL - 65_535))
            self.flood_the_client(client, 20, stop)
            self.settle()
            self.assertLess(self.recast.peak_bytes() - before, 20 * 512 * 1024 + 4 * MIB)
            self.upstream.script = repeat
            self.assert_alive()
            stop.set()

    def test_windows_are_kept(self):
        """Never more than the stream's window, nor the connection's, however many streams there are."""
        stop = threading.Event()
        with self.http2(window=10_000, gives=False) as client:
            opened = self.flood_the_client(client, 10, stop)
            client.until(lambda: sum(record.count for record in client.streams.values()) == 65_535)
            client.pause()
            self.assertEqual(sum(record.count for record in client.streams.values()), 65_535)
            self.assertLessEqual(max(client.streams[stream].count for stream in opened), 10_000)
            client.send(window_update(0, 100_000))
            client.until(lambda: sum(record.count for record in client.streams.values()) == 100_000)
            stop.set()

    def test_a_window_that_is_made_smaller_goes_below_zero(self):
        stop = threading.Event()
        with self.http2(window=30_000, gives=False) as client:
            stream, = self.flood_the_client(client, 1, stop)
            client.until(lambda: client.streams[stream].count == 30_000)
            client.send(frame(4, payload=struct.pack("!HI", 4, 10_000)))
            client.send(window_update(stream, 20_000))
            client.pause()
            self.assertEqual(client.streams[stream].count, 30_000)
            client.send(window_update(stream, 1))
            client.until(lambda: client.streams[stream].count == 30_001)
            stop.set()


class BreakingOffTests(StreamTestCase):
    settings = "timeouts: { write: 2s }\n"

    def test_a_reset_upload_is_never_completed(self):
        for fields in ([], [("content-length", "10")]):
            with self.subTest(fields), self.http2() as client:
                self.upstream.reset()
                stream = client.request("POST", fields=fields, end=False)
                client.content(stream, b"abc", end=False)
                self.upstream.wait_for(1)
                client.send(reset(stream))
                received = self.upstream.one()
                self.assertFalse(received.is_complete)
                # The connection goes on, and the upstream's isn't used again.
                self.assertEqual(client.exchange().status, 200)
                self.assertNotEqual(self.upstream.requests[1].connection_number, received.connection_number)

    def test_a_reset_while_the_answer_is_waited_for_closes_upstream(self):
        ended = threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.reader.rest()
            ended.set()
            exchange.close()

        self.upstream.script = script
        with self.http2() as client:
            stream = client.request()
            self.upstream.wait_for(1)
            client.send(reset(stream))
            self.assertTrue(ended.wait(DEADLINE))
            self.upstream.reset()
            self.assertEqual(client.exchange().status, 200)

    def test_a_connection_that_breaks_ends_all_its_uploads(self):
        client = self.http2()
        for number in range(10):
            client.content(client.request("POST", f"/plain/{number}", end=False), b"abc", end=False)
        received = self.upstream.wait_for(10)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
        for one in received:
            self.assertTrue(one.ended.wait(DEADLINE))
            self.assertFalse(one.is_complete)
        self.assert_alive()

    def test_a_client_that_has_said_all_gets_its_answers(self):
        """docs/rules.md F17: the end of the client's side is no abort for what is whole."""
        go_on = self.hold()
        with self.http2() as client:
            whole, part = client.request(path="/plain/whole"), client.request("POST", "/plain/part", end=False)
            client.content(part, b"abc", end=False)
            self.upstream.wait_for(2)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertIsNotNone(client.over(part).reset)
            go_on.set()
            self.assertEqual(bytes(client.response(whole).body), b"/plain/whole")
            self.assertEqual(client.rest(), NO_ERROR)
        self.assertFalse(next(received for received in self.upstream.requests if received.method == "POST").is_complete)

    def test_a_cut_response_is_a_reset_stream(self):
        for framing in ("Content-Length: 100", "Transfer-Encoding: chunked"):
            for how in ("close", "reset"):
                with self.subTest(framing, how=how), self.http2() as client:
                    go_on = threading.Event()

                    def script(exchange, framing=framing, how=how, go_on=go_on):
                        exchange.read_body()
                        exchange.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n" + ("3\r\nabc\r\n" if "chunked" in framing else "abc"))
                        go_on.wait(DEADLINE)
                        getattr(exchange, how)()

                    self.upstream.script = script
                    stream = client.request()
                    record = client.streams[stream]
                    client.until(lambda: record.count == 3)  # noqa: B023
                    go_on.set()
                    client.until(lambda: record.is_over)  # noqa: B023
                    self.assertEqual((record.ended, record.reset), (False, INTERNAL_ERROR))
                    self.upstream.script = repeat
                    self.assertEqual(client.exchange().status, 200)

    def test_what_came_with_a_fault_goes_out_before_the_reset(self):
        """docs/rules.md F14: of a response that has begun a client gets the head and what there is, however few reads brought all of it."""
        chunked, large = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"x" * 16_384
        cases = {
            "a bad chunk": (200, b"hello", chunked + b"5\r\nhello\r\nZZ"),
            "a bad trailer": (200, b"hello", chunked + b"5\r\nhello\r\n0\r\nX T: 1\r\n\r\n"),
            "much content": (200, large, chunked + b"4000\r\n" + large + b"\r\nZZ"),
            "a short length": (200, b"hello", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"),
            "a refusal": (413, b"large", b"HTTP/1.1 413 T\r\nContent-Length: 100\r\n\r\nlarge"),
        }
        for name, (status, body, answer) in cases.items():
            with self.subTest(name), self.http2() as client:
                self.upstream.script = lambda exchange, answer=answer: (exchange.send(answer), exchange.close())
                record = client.over(client.request())
                self.assertEqual((record.status, bytes(record.body), record.ended, record.reset), (status, body, False, INTERNAL_ERROR))
                self.upstream.script = repeat
                self.assertEqual(client.exchange().status, 200)

    def test_a_cut_response_waits_for_a_window_as_long_as_any_other(self):
        self.upstream.script = lambda exchange: (
            exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ"), exchange.close())
        with self.http2(window=3, gives=False) as client:
            for gives in (True, False):
                record = client.streams[stream := client.request()]
                client.until(lambda: record.count == 3)  # noqa: B023
                if gives:
                    client.send(window_update(stream, 2))
                client.until(lambda: record.is_over)  # noqa: B023
                self.assertEqual((bytes(record.body), record.reset), (b"hello" if gives else b"hel", INTERNAL_ERROR))

    def test_the_rest_of_a_whole_response_is_given_up_too(self):
        """What is left is less than makes an upstream wait."""
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * 100_000))
        with self.http2(window=10_000, gives=False) as client:
            client.send(window_update(0, 1_000_000))
            record = client.streams[stream := client.request()]
            client.until(lambda: record.count == 10_000)
            client.send(window_update(stream, 85_000))
            client.until(lambda: record.is_over)
            self.assertEqual((record.count, record.ended), (95_000, False))
            self.assertIsNotNone(record.reset)

    def test_an_upstream_that_says_nothing_is_a_502(self):
        for how in ("close", "reset"):
            with self.subTest(how), self.http2() as client:
                self.upstream.script = lambda exchange, how=how: (exchange.read_body(), getattr(exchange, how)())
                self.assert_problem(client.exchange("POST", body=b"abc"), 502)
                self.upstream.script = lambda exchange: exchange.close()
                record = client.streams[client.request("POST", end=False)]
                client.until(lambda: record.is_over)  # noqa: B023
                self.assert_problem(record, 502)
                self.upstream.script = repeat
                self.assertEqual(client.exchange().status, 200)

    def test_content_behind_a_reset_or_an_answer_is_thrown_away(self):
        with self.http2() as client:
            first = client.request("POST", end=False)
            client.send(reset(first) + frame(DATA, 0, first, b"x" * 1000) * 10)
            second = client.request("POST", "/nowhere", end=False)
            client.over(second)
            client.send(frame(DATA, 0, second, b"x" * 1000) * 10)
            client.window -= 20_000
            self.assertEqual(client.exchange("POST", body=b"y" * 100_000).status, 200)

    def test_resets_give_back_the_connection_s_window(self):
        """What streams took that were reset is no loss: 100 of them would have emptied the window of 1 MiB."""
        let = threading.Event()
        self.addCleanup(let.set)
        self.upstream.script = lambda exchange: let.wait(DEADLINE)
        with self.http2() as client:
            for _ in range(100):
                stream = client.request("POST", end=False)
                client.content(stream, b"x" * 60_000, end=False)
                client.send(reset(stream))
            client.pause()
            client.pause()  # its answer goes before other frames
            self.assertGreaterEqual(client.window, 512 * 1024)

    def test_a_stream_of_which_only_the_end_is_left_is_given_up(self):
        """Its content has filled the window to the last byte, and nghttp2 sends no end without one."""
        more = threading.Event()

        def script(exchange):
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + "s" * 1000 + "\r\n")
            more.wait(DEADLINE)
            exchange.send("0\r\n\r\n")

        self.upstream.script = script
        for window in (1000, 1001):
            with self.subTest(window=window), self.http2(window=window, gives=False) as client:
                more.clear()
                record = client.streams[client.request(path="/plain/end")]
                client.until(lambda: record.count == 1000)  # noqa: B023
                more.set()
                client.until(lambda: record.is_over)  # noqa: B023
                self.assertEqual(record.ended, window > 1000)

    def test_a_stream_that_takes_nothing_is_given_up_and_others_go_on(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * 1_000_000 if "large" in exchange.received.target else b"small")

        self.upstream.script = script
        with self.http2(window=1000, gives=False) as client:
            stream = client.request(path="/plain/large")
            record = client.streams[stream]
            client.until(lambda: record.count == 1000)
            self.assertEqual(client.exchange(path="/plain/small").status, 200)
            client.until(lambda: record.is_over)
            self.assertIsNotNone(record.reset)
            self.assertFalse(record.ended)
            self.assertEqual(client.exchange(path="/plain/small").status, 200)


class EndlessTests(StreamTestCase):
    """Streams that the client leaves open behind their answer: what they announced has come, or never does."""

    def test_a_request_that_never_ends_is_reset_behind_a_refusal(self):
        with self.http2() as client:
            for path, content, length in (("/nowhere", b"", 0), ("/nowhere", b"x" * 10, 10), ("/nowhere", b"x" * 10, 100),
                                          ("/form-json", b"no gzip at all", 14), ("/form-json", b"no gzip at all", 100)):
                fields = [("content-type", FORM), ("content-encoding", "gzip"), ("content-length", str(length))]
                stream = client.request("POST", path, fields, end=False)
                if content:
                    client.send(frame(DATA, 0, stream, content))
                record = client.over(stream)
                self.assert_problem(record, 404 if path == "/nowhere" else 400)
                client.until(lambda: record.reset is not None)  # noqa: B023
                self.assertEqual(record.reset, NO_ERROR)
            self.assertEqual(client.exchange().status, 200)

    def test_an_upload_that_never_ends_is_reset_behind_a_whole_answer(self):
        """The upstream has answered and takes no more: its answer isn't shown as broken."""
        def script(exchange):
            exchange.answer(body=b"early", fields=["Connection: close"])
            exchange.close()

        self.upstream.script = script
        with self.http2() as client:
            for fields in ([], [("content-length", "100000")]):
                stream = client.request("POST", fields=fields, end=False)
                client.send(frame(DATA, 0, stream, b"x" * 10))
                record = client.over(stream)
                self.assertEqual((record.status, bytes(record.body), record.ended), (200, b"early", True))
                client.until(lambda: record.reset is not None)  # noqa: B023
                self.assertEqual(record.reset, NO_ERROR)
            self.upstream.script = repeat
            self.assertEqual(client.exchange().status, 200)


class UnreadTests(StreamTestCase):
    settings = "timeouts: { write: 2s }\n"

    def test_a_connection_that_takes_nothing_is_given_up(self):
        """All its windows are open, and its socket is full: its requests end upstream, too."""
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
            for _ in range(100):
                exchange.send(b"x" * 1_000_000)

        self.upstream.script = script
        with self.http2(window=LAST_OF_ALL, gives=False, receive_buffer=16_384) as client:
            client.send(window_update(0, LAST_OF_ALL - 65_535))
            for _ in range(5):
                client.request()
            for received in self.upstream.wait_for(5):
                self.assertTrue(received.ended.wait(DEADLINE))
        self.upstream.script = repeat
        self.assert_alive()

    def test_an_early_answer_without_a_window(self):
        """Its content waits for the window; the stream isn't reset before it has come."""
        with self.http2(window=0) as client:
            stream = client.request("POST", "/nowhere", end=False)
            record = client.streams[stream]
            client.until(lambda: record.status)
            client.pause()
            self.assertFalse(record.is_over)
            client.send(window_update(stream, 10_000))
            client.until(lambda: record.is_over)
            self.assert_problem(record, 404)
            self.assertTrue(record.ended)


class LimitTests(StreamTestCase):
    settings = "http2: { requests: 1000, streams: 50, stream_window: 16KiB }\n"

    def test_the_last_request_of_a_connection(self):
        """RFC 9113 section 6.8: a GOAWAY that names no stream yet, and one that names the last; none is lost."""
        with self.http2() as client:
            opened = []
            while not client.goaways:
                for _ in range(40):
                    opened.append(client.request(path=f"/plain/of-many/{len(opened)}"))
                for stream in opened[-40:]:
                    self.assertEqual(client.response(stream).status, 200)
                self.assertLessEqual(len(opened), 1040)
            self.assertGreaterEqual(len(opened), 1000)
            self.assertEqual(client.goaways[0][1], NO_ERROR)
            client.rest()
            last, code = client.goaways[-1]
            self.assertEqual(code, NO_ERROR)
            self.assertEqual(last, opened[-1])
        # What a test before has asked for and not waited for may come later.
        targets = collections.Counter(received.target for received in self.upstream.requests if "of-many" in received.target)
        self.assertEqual(targets, {f"/plain/of-many/{number}": 1 for number in range(len(opened))})

    def test_a_client_that_doesn_t_heed_goaway(self):
        """It isn't served on and on."""
        with self.http2() as client:
            count = 0
            try:
                while count < 2000:
                    stream = client.request(path=f"/plain/{count}")
                    record = client.over(stream)
                    if not record.ended:
                        break
                    count += 1
            except OSError:
                pass
            # As many more as may be under way when it is told.
            self.assertIn(count, range(1000, 1051), f"GOAWAY: {client.goaways}")

    def test_requests_behind_the_last_one_are_not_begun(self):
        go_on = self.hold()
        with self.http2() as client:
            for number in range(25):
                with client.at_once():
                    opened = [client.request(path=f"/plain/{number}") for _ in range(40)]
                go_on.set()
                for stream in opened[:-1]:
                    client.response(stream)
                if number == 24:
                    break
                client.response(opened[-1])
            client.until(lambda: client.goaways)
            client.response(opened[-1])
            client.rest()
            last = client.goaways[-1][0]
            self.assertNotEqual(last, LAST_OF_ALL)

    def test_settings_are_announced_and_hold(self):
        with self.http2() as client:
            client.exchange()
            self.assertEqual(client.server_settings[3], 50)
            self.assertEqual(client.server_settings[4], 16_384)
            # Content beyond the stream's window is an error of flow control.
            stream = client.request("POST", end=False)
            let = threading.Event()
            self.addCleanup(let.set)
            self.upstream.script = lambda exchange: let.wait(DEADLINE)
            client.send(frame(DATA, 0, stream, b"x" * 16_384) + frame(DATA, 0, stream, b"x" * 16_384) * 200)
            record = client.over(stream)
            self.assertTrue(record.reset == 3 or (client.goaways and client.goaways[-1][1] == 3), (record.reset, client.goaways))
