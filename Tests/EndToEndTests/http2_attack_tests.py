"""What attackers do with HTTP/2: floods of everything, resets, bombs, and frames that break the rules. The connection ends, or the
stream; the process goes on, with its memory and its upstreams unharmed."""

import os
import random
import struct
import threading
import time

from harness import DEADLINE, SANITIZED, Closed
from http2_client import ACK, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, \
    FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY, HEADERS, INTERNAL_ERROR, LAST_OF_ALL, NO_ERROR, PADDED, PING, PREFACE, \
    PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, HTTP2TestCase, block, frame, \
    integer, literal, ping, pseudo, reset, window_update
from lifecycle_support import wait_until

MIB = 1 << 20
ROUTES = """
  - { name: plain, match: "/plain*", upstream: app }
"""


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class AttackTestCase(HTTP2TestCase):
    routes = ROUTES
    settings = "timeouts: { keep_alive: 5s, header: 2s }\n"

    def setUp(self):
        super().setUp()
        self.let = threading.Event()
        self.addCleanup(self.let.set)
        self.busy = processor_seconds(self.recast.process)
        self.peak = self.recast.peak_bytes()

    def hold_all(self):
        """No request is answered before the test's end, or `assert_bounded`."""
        let = self.let = threading.Event()
        self.addCleanup(let.set)

        def script(exchange):
            exchange.read_body()
            let.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script

    def assert_bounded(self, memory=16 * MIB, seconds=3.0, requests=400):
        self.assertLess(self.recast.peak_bytes() - self.peak, memory)
        if not SANITIZED:
            self.assertLess(processor_seconds(self.recast.process) - self.busy, seconds)
        self.assertLessEqual(len(self.own_requests()), requests)
        self.let.set()
        with self.upstream.changed:
            self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer())
        self.assert_alive()

    def own_requests(self):
        """Those that the upstream saw, without such of the test before that it accepted only now."""
        return [one for one in self.upstream.requests
                if not one.target.startswith("/plain/test_") or one.target.startswith(f"/plain/{self._testMethodName}/")]

    def flood(self, pieces, ends=True, code=None, client=None, **bounds):
        """Sends pieces for as long as the server takes them. With `ends` the connection must not live through them."""
        client = client or self.http2()
        client.blind = True
        reading = client.start_reading()
        all_sent = client.send_all(pieces)
        if ends:
            reading.join(DEADLINE)
            self.assertTrue(client.closed, f"the connection lives; all sent: {all_sent}, GOAWAY: {client.goaways}")
            if client.goaways:
                # Another end than that of an idle connection.
                self.assertNotEqual(client.goaways[-1][1], NO_ERROR, f"it was borne; all sent: {all_sent}")
                self.assertIn(client.goaways[-1][1], (code,) if code is not None else range(1, 14))
        self.assert_bounded(**bounds)
        return client


class FloodTests(AttackTestCase):
    def test_pings(self):
        self.flood((ping() * 100 for _ in range(2000)), code=ENHANCE_YOUR_CALM)

    def test_pings_whose_answers_nobody_reads(self):
        client = self.http2(receive_buffer=8192)
        client.socket.settimeout(5)
        client.send_all(ping() * 100 for _ in range(20_000))
        self.assert_bounded()

    def test_settings(self):
        one = frame(SETTINGS, payload=struct.pack("!HI", 4, 65_535))
        self.flood((one * 100 for _ in range(2000)), code=ENHANCE_YOUR_CALM)

    def test_settings_whose_answers_nobody_reads(self):
        client = self.http2(receive_buffer=8192)
        client.socket.settimeout(5)
        client.send_all(frame(SETTINGS) * 100 for _ in range(20_000))
        self.assert_bounded()

    def test_settings_with_many_entries(self):
        self.flood([frame(SETTINGS, payload=struct.pack("!HI", 0x99, 1) * 2700) for _ in range(2000)])

    def test_acknowledgements_that_nobody_asked_for(self):
        self.flood((frame(SETTINGS, ACK) * 100 for _ in range(2000)), ends=False)
        self.flood((ping(flags=ACK) * 100 for _ in range(2000)))

    def test_empty_data(self):
        self.hold_all()
        client = self.http2()
        stream = client.request("POST", end=False)
        self.flood((frame(DATA, 0, stream) * 100 for _ in range(2000)), client=client, code=ENHANCE_YOUR_CALM)

    def test_padded_empty_data(self):
        self.hold_all()
        client = self.http2()
        stream = client.request("POST", end=False)
        self.flood((frame(DATA, PADDED, stream, b"\x03\0\0\0") * 100 for _ in range(2000)), client=client)

    def test_empty_data_for_streams_that_are_over(self):
        client = self.http2()
        stream = client.request("POST", end=False)
        client.send(reset(stream))
        self.ignored(frame(DATA, 0, stream), client=client)

    def ignored(self, *frames, client=None):
        """Frames that must be ignored, or may be: they end the connection, or cost next to nothing."""
        client = client or self.http2()
        self.flood((b"".join(frames) * (1000 // len(frames)) for _ in range(500)), client=client, ends=False, seconds=1, memory=4 * MIB)

    def test_priorities(self):
        """The server has said that it doesn't look at them (RFC 9113 section 5.3.2, RFC 9218 section 2.1.1)."""
        for stream in (1, 99):
            with self.subTest(stream=stream):
                self.ignored(frame(PRIORITY, 0, stream, struct.pack("!IB", 3 if stream == 1 else 5, 16)))

    def test_priorities_of_many_streams(self):
        self.ignored(*(frame(PRIORITY, 0, 2 * number + 1, struct.pack("!IB", 0, 1)) for number in range(1000)))

    def test_priority_updates(self):
        self.ignored(frame(16, 0, 0, struct.pack("!I", 1) + b"u=1"))

    def test_window_updates(self):
        for number in (0, 1):
            with self.subTest(stream=number):
                self.hold_all()
                client = self.http2()
                client.request()
                self.flood((window_update(number, 1) * 100 for _ in range(2000)), client=client, code=ENHANCE_YOUR_CALM)

    def test_a_window_that_opens_a_byte_at_a_time(self):
        """Each frame of content that it lets go is as small as the window, and makes nothing good (CVE-2019-9511)."""
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * MIB))
        client = self.http2(window=1, gives=False)
        stream = client.request()
        record = client.streams[stream]
        with self.assertRaises(Closed):
            for count in range(1, 10_000):
                client.until(lambda: record.count == count)  # noqa: B023
                client.send(window_update(stream, 1))
        self.assertEqual(client.rest(), ENHANCE_YOUR_CALM)
        self.assert_bounded()

    def test_frames_of_no_known_type(self):
        self.ignored(frame(0x77, 0xff, 0, b"x" * 10))

    def test_resets_of_streams_that_are_over(self):
        client = self.http2()
        stream = client.request()
        client.response(stream)
        self.flood((reset(stream) * 100 for _ in range(2000)), client=client)

    def test_goaways(self):
        self.flood((frame(GOAWAY, 0, 0, struct.pack("!II", 0, 0)) * 100 for _ in range(2000)), ends=False)

    def test_single_bytes_are_borne(self):
        """No flood: wasteful, and legal."""
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=exchange.received.body)

        self.upstream.script = script
        with self.http2() as client:
            stream = client.request("POST", end=False)
            client.content(stream, b"x" * 5000, size=1)
            response = client.response(stream)
            self.assertEqual(response.count, 5000)


class ResetTests(AttackTestCase):
    """CVE-2023-44487 and CVE-2025-8671: streams that begin and end faster than upstreams can follow."""

    count = 3000

    def run_streams(self, then, fields=(), method="GET", end=True, before=b"", requests=400, at_once=10):
        """Opens streams, each with what `then` makes of its number behind it."""
        self.hold_all()
        client = self.http2()
        client.pause()

        def pieces():
            for first in range(0, self.count, at_once):
                text = b""
                for number in range(first, first + at_once):
                    stream = 2 * number + 1
                    head = block([*pseudo(method, f"/plain/{self._testMethodName}/{number}"), *fields])
                    text += frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, head) + then(stream)
                yield text

        client.blind = True
        client = self.flood(pieces(), client=client, requests=requests)
        # What was begun upstream has been broken off: nothing goes on for a client that is gone.
        wait_until("the upstream's connections end", lambda: all(received.ended.wait(0) for received in self.upstream.requests))
        return client

    def test_rapid_reset(self):
        self.run_streams(reset, at_once=50)

    def test_rapid_reset_one_by_one(self):
        self.run_streams(reset, at_once=1)

    def test_rapid_reset_of_uploads(self):
        self.run_streams(lambda stream: frame(DATA, 0, stream, b"abc") + reset(stream), method="POST", end=False)

    def test_a_window_that_grows_by_nothing(self):
        self.run_streams(lambda stream: window_update(stream, 0))

    def test_a_priority_of_a_wrong_size(self):
        self.run_streams(lambda stream: frame(PRIORITY, 0, stream, b"\0\0\0\0"))

    def test_a_stream_that_depends_on_itself(self):
        self.run_streams(lambda stream: frame(PRIORITY, 0, stream, struct.pack("!IB", stream, 1)))

    def test_data_behind_the_end(self):
        self.run_streams(lambda stream: frame(DATA, 0, stream, b"abc"))

    def test_headers_behind_the_end(self):
        self.run_streams(lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, block([("x-a", "b")])))

    def test_a_window_that_overflows(self):
        self.run_streams(lambda stream: window_update(stream, LAST_OF_ALL))

    def test_content_beyond_its_length(self):
        self.run_streams(lambda stream: frame(DATA, 0, stream, b"abc"), method="POST", fields=[("content-length", "1")], end=False)

    def test_content_short_of_its_length(self):
        self.run_streams(lambda stream: frame(DATA, END_STREAM, stream, b"abc"), method="POST", fields=[("content-length", "5")], end=False)

    def test_trailers_that_are_none(self):
        self.run_streams(lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, block([(":path", "/")])), method="POST", end=False)
        self.run_streams(lambda stream: frame(HEADERS, END_HEADERS, stream, block([("x-a", "b")])), method="POST", end=False)

    def test_malformed_requests(self):
        self.run_streams(lambda stream: b"", fields=[("X-Upper", "a")], requests=0)
        self.upstream.reset()
        self.run_streams(lambda stream: b"", fields=[("connection", "close")], requests=0)

    def test_too_many_streams(self):
        self.run_streams(lambda stream: b"", requests=100)

    def paced(self, client, make, seconds=20):
        """Sends what `make` gives, and waits each time until it has been read: no limit on what waits can stop it. Fails where that
        goes on for so long."""
        deadline = time.monotonic() + seconds
        count = 0
        try:
            while time.monotonic() < deadline:
                with client.at_once():
                    for _ in range(20):
                        make(client)
                        count += 1
                client.pause()
        except (OSError, Closed):
            client.rest()
        self.assertTrue(client.closed, f"{count} in {seconds} s were borne, GOAWAY: {client.goaways}")
        self.assertIn(client.goaways[-1][1], (ENHANCE_YOUR_CALM, PROTOCOL_ERROR, INTERNAL_ERROR))

    def test_nothing_buys_resets(self):
        """Frames of content that have none beside padding are as useless as what they are to make good."""
        self.hold_all()
        for name, filler in (("nothing", b""), ("padding", frame(DATA, PADDED, 1, b"\0") * 8)):
            for what, then in (("reset", reset), ("overflow", lambda stream: window_update(stream, LAST_OF_ALL))):
                with self.subTest(name, what=what):
                    client = self.http2()
                    client.request("POST", end=False)
                    client.pause()
                    self.paced(client, lambda client: client.send(  # noqa: B023
                        filler + then(client.open(pseudo(path="/plain/x")))))  # noqa: B023
                    self.upstream.reset()
                    self.hold_all()
        self.assert_bounded(seconds=10)

    def test_resets_behind_whole_answers_are_borne(self):
        """Go's client resets each upload that is answered before its end."""
        with self.http2() as client:
            for _ in range(500):
                stream = client.request("POST", "/nowhere", end=False)
                self.assertEqual(client.over(stream).status, 404)
                client.send(reset(stream, 0))
            self.assertEqual(client.exchange().status, 200)

    def test_resets_in_peace_are_borne(self):
        """A browser that leaves a page resets what it had asked for."""
        self.hold_all()
        with self.http2() as client:
            for _ in range(2):
                streams = [client.request() for _ in range(50)]
                client.send(b"".join(reset(stream) for stream in streams))
                client.pause()
            self.let.set()
            self.assertEqual(client.exchange().status, 200)


class BombTests(AttackTestCase):
    def test_continuations(self):
        """CVE-2024-28182."""
        for name, first, piece in (
                ("empty", block(pseudo()), b""), ("small", block(pseudo()), literal("x-a", "b")),
                ("large", block(pseudo()), literal("x-a", "b" * 16_000)), ("empty behind nothing", b"", b"")):
            with self.subTest(name):
                client = self.http2()
                head = frame(HEADERS, END_STREAM, 1, first)
                more = frame(CONTINUATION, 0, 1, piece)
                self.flood((more if number else head for number in range(20_000)), client=client)
                self.assertEqual(self.upstream.requests[:-1], [])
                self.upstream.reset()

    def test_the_end_of_a_flood_of_continuations_says_why(self):
        client = self.http2()
        # From here on no frame of the client's own comes between: its settings are acknowledged.
        client.exchange()
        self.upstream.reset()
        head = frame(HEADERS, END_STREAM, 3, block(pseudo()))
        self.flood((frame(CONTINUATION, 0, 3) if number else head for number in range(1000)), client=client, code=ENHANCE_YOUR_CALM)

    def bomb(self, name, most):
        """One long field is put into the table, and named again and again by one byte each."""
        client = self.http2()
        value = "b" * (4096 - 32 - len(name))
        data = block(pseudo()) + literal(name, value, first=0x40)
        data += b"\xbe" * (16_384 * most - len(data))
        client.open(None, block_=data)
        return client

    def test_a_bomb_of_hpack(self):
        client = self.bomb("x-a", 8)
        record = client.over(1)
        self.assertTrue(record.status == 431 or record.reset or client.closed, (record.status, record.reset))
        self.assert_bounded(requests=0)

    def test_a_bomb_of_cookies(self):
        """They are joined, which takes memory before a limit is asked."""
        client = self.bomb("cookie", 8)
        record = client.over(1)
        self.assertTrue(record.status == 431 or record.reset or client.closed, (record.status, record.reset))
        self.assert_bounded(requests=0)

    def test_a_bomb_of_small_cookies(self):
        client = self.http2()
        data = block(pseudo()) + literal("cookie", "a", first=0x40)
        client.open(None, block_=data + b"\xbe" * (16_384 * 8 - len(data)))
        record = client.over(1)
        self.assertTrue(record.status == 431 or record.reset or client.closed, (record.status, record.reset))
        self.assert_bounded(requests=0)

    def test_a_bomb_in_trailers(self):
        self.hold_all()
        client = self.http2()
        stream = client.request("POST", end=False)
        client.content(stream, b"abc", end=False)
        data = literal("x-a", "b" * 4000, first=0x40)
        data += b"\xbe" * (16_384 - len(data))
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, data))
        record = client.over(stream)
        self.assertTrue(record.reset or client.closed)
        self.assert_bounded(requests=1)

    def test_many_bombs_at_once(self):
        for _ in range(20):
            self.bomb("x-a", 4)
        self.assert_bounded(requests=0, seconds=6)

    def test_large_heads_again_and_again(self):
        """431 each time, on a connection that goes on or not; nothing is kept of them."""
        client = self.http2()
        reading = client.start_reading()
        head = block(pseudo()) + literal("x-a", "b" * 60_000)
        for _ in range(300):
            try:
                client.open(None, block_=head)
            except OSError:
                break
        client.socket.shutdown(1)
        reading.join(DEADLINE)
        self.assert_bounded(requests=0)

    def test_answers_that_nobody_takes(self):
        """CVE-2019-9517: a window of nothing, and as many responses as can be had."""
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * MIB)

        self.upstream.script = script
        clients = []
        for _ in range(5):
            client = self.http2(window=0, gives=False)
            clients.append(client)
            for number in range(100):
                client.request(path=f"/plain/{number}")
            client.until(lambda: sum(record.status is not None for record in client.streams.values()) == 100)  # noqa: B023
        # 64 KiB for each stream, as much of what was read beyond it, and the upstreams' connections.
        self.assertLess(self.recast.peak_bytes() - self.peak, 500 * 256 * 1024)
        for client in clients:
            client.socket.close()
        self.assert_bounded(memory=500 * 256 * 1024, requests=600)

    def test_one_byte_at_a_time(self):
        """CVE-2019-9511: a window that grows by single bytes."""
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * MIB)

        self.upstream.script = script
        client = self.http2(window=0, gives=False)
        stream = client.request()
        client.until(lambda: client.streams[stream].status)
        self.flood((window_update(stream, 1) * 10 for _ in range(20_000)), client=client, ends=False, seconds=5)


class EndAmidContentTests(AttackTestCase):
    """A connection that is ended while content waits for a client that doesn't read."""

    def test_nothing_that_is_cut_looks_whole(self):
        """What ends it is a frame of its own, and no content of a response of which it takes the place."""
        size = 65_546
        self.upstream.script = lambda exchange: exchange.answer(body=b"x" * size)
        for _ in range(5):
            client = self.http2(window=(1 << 31) - 1, receive_buffer=65_536, gives=False)
            client.send(window_update(0, (1 << 31) - 1 - 65_535))
            streams = [client.request(path="/plain") for _ in range(90)]
            self.upstream.wait_for(90)
            client.send_all([ping()] * 3000)
            self.assertEqual(client.rest(), ENHANCE_YOUR_CALM)
            for stream in streams:
                record = client.streams[stream]
                self.assertTrue(not record.ended or bytes(record.body) == b"x" * size, stream)
                self.assertEqual(bytes(record.body).strip(b"x"), b"", stream)
            self.upstream.reset()
            self.upstream.script = lambda exchange: exchange.answer(body=b"x" * size)


class BrokenFrameTests(AttackTestCase):
    """Errors of the connection that RFC 9113 wants: GOAWAY with this code, and the end; nothing upstream."""

    def assert_ends(self, name, data, codes, client=None, requests=0):
        with self.subTest(name):
            client = client or self.http2()
            client.send_all([data])
            code = client.rest()
            self.assertIn(code, codes if isinstance(codes, tuple) else (codes,))
            self.assertLessEqual(len(self.upstream.requests), requests)
            if not requests:
                self.assert_untouched()

    def test_errors_of_the_connection(self):
        head = block(pseudo())
        opened = frame(HEADERS, END_HEADERS, 1, block(pseudo(method="POST", path="/nowhere")))
        for name, data, codes in (
                ("DATA on stream 0", frame(DATA, 0, 0, b"abc"), PROTOCOL_ERROR),
                ("DATA on an idle stream", frame(DATA, 0, 1, b"abc"), (PROTOCOL_ERROR, STREAM_CLOSED)),
                ("HEADERS on stream 0", frame(HEADERS, 5, 0, head), PROTOCOL_ERROR),
                ("HEADERS on an even stream", frame(HEADERS, 5, 2, head), PROTOCOL_ERROR),
                ("PUSH_PROMISE", frame(PUSH_PROMISE, 4, 1, struct.pack("!I", 2) + head), PROTOCOL_ERROR),
                ("CONTINUATION alone", frame(CONTINUATION, 4, 1, head), PROTOCOL_ERROR),
                ("another frame in a head", frame(HEADERS, 1, 1, head) + ping(), PROTOCOL_ERROR),
                ("another stream's CONTINUATION", frame(HEADERS, 1, 1, head) + frame(CONTINUATION, 4, 3), PROTOCOL_ERROR),
                ("an unknown frame in a head", frame(HEADERS, 1, 1, head) + frame(0x77), PROTOCOL_ERROR),
                ("padding beyond the frame", frame(HEADERS, 0xd, 1, b"\xff" + head[:20]), PROTOCOL_ERROR),
                ("a frame that is too large", frame(HEADERS, 5, 1, head + bytes(16_385)), FRAME_SIZE_ERROR),
                ("SETTINGS on a stream", frame(SETTINGS, 0, 1), PROTOCOL_ERROR),
                ("an acknowledgement with a payload", frame(SETTINGS, ACK, 0, bytes(6)), FRAME_SIZE_ERROR),
                ("SETTINGS of five bytes", frame(SETTINGS, 0, 0, bytes(5)), FRAME_SIZE_ERROR),
                ("a window beyond the largest", frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 1 << 31)), FLOW_CONTROL_ERROR),
                ("a frame size below the least", frame(SETTINGS, 0, 0, struct.pack("!HI", 5, 100)), PROTOCOL_ERROR),
                ("push that is neither on nor off", frame(SETTINGS, 0, 0, struct.pack("!HI", 2, 2)), PROTOCOL_ERROR),
                ("PING on a stream", frame(PING, 0, 1, bytes(8)), PROTOCOL_ERROR),
                ("PING of seven bytes", frame(PING, 0, 0, bytes(7)), FRAME_SIZE_ERROR),
                ("GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL_ERROR),
                ("RST_STREAM on stream 0", frame(RST_STREAM, 0, 0, bytes(4)), PROTOCOL_ERROR),
                ("RST_STREAM on an idle stream", reset(1), PROTOCOL_ERROR),
                ("RST_STREAM of three bytes", opened + frame(RST_STREAM, 0, 1, bytes(3)), FRAME_SIZE_ERROR),
                ("WINDOW_UPDATE on an idle stream", window_update(1, 1), PROTOCOL_ERROR),
                ("WINDOW_UPDATE of three bytes", frame(WINDOW_UPDATE, 0, 0, bytes(3)), FRAME_SIZE_ERROR),
                ("WINDOW_UPDATE by nothing", window_update(0, 0), PROTOCOL_ERROR),
                ("WINDOW_UPDATE beyond the largest", window_update(0, LAST_OF_ALL), FLOW_CONTROL_ERROR),
                ("no SETTINGS first", None, PROTOCOL_ERROR),
        ):
            client = self.http2(hello=data is not None)
            client.blind = True
            self.assert_ends(name, data or PREFACE + ping(), codes, client)

    def test_an_older_stream(self):
        """RFC 9113 section 5.1.1 wants PROTOCOL_ERROR for a number below one that was used. nghttp2 may leave it unanswered."""
        with self.http2() as client:
            client.blind = True
            client.send(frame(HEADERS, 5, 5, block(pseudo(path="/nowhere"))) + frame(HEADERS, 5, 3, block(pseudo())))
            if client.rest() == NO_ERROR:  # the end of an idle connection
                self.assertNotIn((HEADERS, 3), [(kind, stream) for kind, _, stream in client.frames])
        self.assert_untouched()

    def test_errors_of_compression(self):
        head = block(pseudo())
        for name, data in {
            "an index of zero": b"\x80",
            "an index beyond the table": b"\xff\x80\x01",
            "an integer without an end": b"\xff" + b"\xff" * 20,
            "a literal longer than the block": b"\x00\x7f\xff\xff\x03abc",
            "a table larger than allowed": integer(1 << 20, 5, 0x20),
            "a size of the table behind fields": head + integer(0, 5, 0x20),
            "a Huffman code that is none": b"\x00\x84\xff\xff\xff\xff\x01a",
            "half a field": head[:-3],
        }.items():
            client = self.http2()
            client.blind = True
            self.assert_ends(name, frame(HEADERS, 5, 1, data), COMPRESSION_ERROR, client)

    def test_errors_of_compression_in_a_request_that_is_refused_anyway(self):
        client = self.http2()
        client.blind = True
        self.assert_ends("trailing", frame(HEADERS, 5, 1, block(pseudo()) + literal("X-Bad", "a") + b"\x80"), COMPRESSION_ERROR, client)

    def test_content_beyond_the_connection_s_window(self):
        def script(exchange):
            self.let.wait(DEADLINE)
            exchange.close()  # what wasn't read would be the next test's

        self.upstream.script = script
        client = self.http2()
        stream = client.request("POST", end=False)
        client.send_all(frame(DATA, 0, stream, b"x" * 16_384) for _ in range(500))
        record = client.over(stream)
        self.assertTrue(record.reset == FLOW_CONTROL_ERROR or client.goaways and client.goaways[-1][1] == FLOW_CONTROL_ERROR,
                        (record.reset, client.goaways))
        self.assert_bounded()

    def test_frames_at_random(self):
        generator = random.Random(9113)
        head = block(pseudo())
        pieces = [head, b"", bytes(4), bytes(5), bytes(6), bytes(8), struct.pack("!I", 1), b"abc", head[:10]]
        for _ in range(400):
            client = self.http2()
            client.blind = True
            text = b""
            for _ in range(generator.randrange(1, 30)):
                kind = generator.choice([0, 0, 1, 1, 1, 2, 3, 4, 6, 7, 8, 9, 5, 16, 77])
                text += frame(kind, generator.randrange(256), generator.choice([0, 1, 1, 3, 3, 5, 2, 7]), generator.choice(pieces))
            client.send_all([text[:generator.randrange(len(text) + 1)] if generator.random() < 0.2 else text])
            client.socket.close()
        self.assert_bounded(requests=1 << 20)
