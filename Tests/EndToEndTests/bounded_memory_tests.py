"""200 MiB in every direction, with one side that doesn't take them: memory is a few buffers, and every byte arrives."""

import base64
import collections
import hashlib
import random
import threading
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, FORM, JSON, SANITIZED, Client, Closed, ProxyTestCase, Recast, Upstream, memory_of
from http2_client import HTTP2Client, block, literal, pseudo, window_update
from lifecycle_support import wait_until

MIB = 1 << 20
SIZE = 200 * MIB
BLOCK = random.Random(11).randbytes(3 * MIB // 4)  # a multiple of three, so that its base64 can be joined
BLOCK64 = base64.b64encode(BLOCK)
# What a transfer may add to the peak: read buffers, what waits at the watermarks, and the allocator's slack.
ADDED_PEAK = 8 * MIB


def blocks(block, size):
    """`size` bytes of `block` over and over."""
    whole, rest = divmod(size, len(block))
    for _ in range(whole):
        yield block
    if rest:
        yield block[:rest]


def digest(pieces):
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()


class Window:
    """Looks at a body as it comes: digest and length of `size` bytes behind `mark`, and what is around them."""

    def __init__(self, mark, size):
        self.mark, self.missing, self.state = mark, size, hashlib.sha256()
        self.before, self.after, self.found = b"", b"", not mark

    def add(self, piece):
        if not self.found:
            self.before += piece
            if self.mark not in self.before:
                assert len(self.before) < MIB, f"no {self.mark!r} in {self.before[:300]!r}"
                return
            at = self.before.index(self.mark) + len(self.mark)
            piece, self.before, self.found = self.before[at:], self.before[:at], True
        taken = piece[:self.missing]
        self.missing -= len(taken)
        self.state.update(taken)
        self.after += piece[len(taken):]


class BoundedMemoryTests(ProxyTestCase):
    upstream_receive_buffer = 64 * 1024
    routes = """
  - name: renamed
    match: /renamed
    upstream: app
    limits: { body: 1GiB }
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: multipart-json, match: /multipart-json, upstream: app, limits: { body: 1GiB }, request: "multipart -> json(files: base64)" }
  - name: json-multipart
    match: /json-multipart
    upstream: app
    limits: { body: 1GiB }
    request:
      decode: { as: json }
      encode: { as: multipart, files: { file: { from: base64, filename: f.bin } } }
  - { name: json-json, match: /json-json, upstream: app, limits: { body: 1GiB }, request: json -> json }
  - { name: plain, match: { path: "/*", method: [GET, POST] }, upstream: app, limits: { body: 1GiB } }
"""

    def setUp(self):
        super().setUp()
        self.send("POST", "/warm", b"x")
        self.upstream.reset()
        self.peak_before = self.recast.peak_bytes()

    def assert_memory_bounded(self):
        added = self.recast.peak_bytes() - self.peak_before
        self.assertLessEqual(added, ADDED_PEAK, f"the transfer added {added / MIB:.1f} MiB to the peak")

    def upload(self, path, media_type, prefix, block, size, suffix, window, is_chunked):
        """Uploads to an upstream that reads nothing until everything between has filled up."""
        go_on, taken = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target == "/probe":
                return exchange.answer()
            go_on.wait()
            for piece in exchange.reader.body_pieces(exchange.received.fields):
                window.add(piece)
            exchange.received.is_complete = True
            taken.set()
            exchange.answer(body=b"taken")

        self.upstream.reset()
        self.upstream.script = script
        client = self.client()
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(prefix) + size + len(suffix)}"
        client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\n{framing}\r\n\r\n")
        sent = threading.Event()

        def send():
            for piece in (prefix, *blocks(block, size), suffix):
                if is_chunked and piece:
                    client.send(b"%x\r\n" % len(piece))
                client.send(piece + b"\r\n" if is_chunked and piece else piece)
            if is_chunked:
                client.send(b"0\r\n\r\n")
            sent.set()

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        self.upstream.wait_for(1)
        # Other requests show that the loop turns, and give the upload time to fill what can be filled.
        for _ in range(50):
            self.assertEqual(self.send("GET", "/probe").status, 200)
        self.assertFalse(sent.is_set(), "200 MiB went somewhere although nobody reads")
        self.assert_memory_bounded()
        go_on.set()
        # However slow the machine is: the deadline is for the next bytes, not for all of them.
        missing = None
        while not taken.wait(DEADLINE):
            self.assertNotEqual(window.missing, missing, f"nothing came for {DEADLINE} seconds")
            missing = window.missing
        response = client.response()
        self.assertEqual((response.status, response.body), (200, b"taken"))
        self.assertTrue(sent.wait(DEADLINE))
        self.assertTrue(self.upstream.requests[0].is_complete)
        self.assertEqual(window.missing, 0)
        self.assert_memory_bounded()
        # The connection is as good as new.
        client.request("GET", "/probe")
        self.assertEqual(client.response().status, 200)

    def test_plain_uploads(self):
        expected = digest(blocks(BLOCK, SIZE))
        for is_chunked in (False, True):
            with self.subTest(is_chunked=is_chunked):
                window = Window(b"", SIZE)
                self.upload("/plain", "x/y", b"", BLOCK, SIZE, b"", window, is_chunked)
                self.assertEqual((window.state.hexdigest(), window.after), (expected, b""))

    def test_multipart_to_multipart(self):
        prefix = (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
                  b'--x\r\nContent-Disposition: form-data; name="file"; filename="f.bin"\r\n\r\n')
        for is_chunked in (False, True):
            with self.subTest(is_chunked=is_chunked):
                # A file that came without a type stays without one.
                window = Window(b'filename="f.bin"\r\n\r\n', SIZE)
                self.upload("/renamed", "multipart/form-data; boundary=x", prefix, BLOCK, SIZE, b"\r\n--x--\r\n", window, is_chunked)
                self.assertEqual(window.state.hexdigest(), digest(blocks(BLOCK, SIZE)))
                self.assertIn(b'name="b"\r\n\r\n1\r\n', window.before)
                self.assertRegex(window.after.rstrip(b"\r\n "), rb"^\r\n--[^\r]+--$")

    def test_multipart_to_json(self):
        prefix = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f.bin"\r\n\r\n'
        size = SIZE // len(BLOCK) * len(BLOCK)
        window = Window(b'{"file":"', size // 3 * 4)
        self.upload("/multipart-json", "multipart/form-data; boundary=x", prefix, BLOCK, size, b"\r\n--x--\r\n", window, False)
        self.assertEqual(window.state.hexdigest(), digest(blocks(BLOCK64, size // 3 * 4)))
        self.assertEqual(window.after.rstrip(b"\n"), b'"}')

    def test_json_to_multipart(self):
        size = SIZE // len(BLOCK64) * len(BLOCK64)
        window = Window(b'filename="f.bin"\r\nContent-Type: application/octet-stream\r\n\r\n', size // 4 * 3)
        self.upload("/json-multipart", JSON, b'{"file":"', BLOCK64, size, b'"}', window, True)
        self.assertEqual(window.state.hexdigest(), digest(blocks(BLOCK, size // 4 * 3)))
        self.assertRegex(window.after, rb"^\r\n--[^\r]+--\r\n$")

    def test_json_to_json(self):
        item = b'{"name":"some text of a value","number":12345.678,"list":[1,2,3,null,true]},'
        block = item * 10000
        size = SIZE // len(block) * len(block)
        window = Window(b'{"a":[', size)
        self.upload("/json-json", JSON, b'{"a":[', block, size, b'0]}', window, False)
        self.assertEqual(window.state.hexdigest(), digest(blocks(block, size)))
        self.assertEqual(window.after.rstrip(b"\n"), b"0]}")

    def test_downloads_to_a_slow_reader(self):
        expected = digest(blocks(BLOCK, SIZE))
        for framing in ("length", "chunked", "close"):
            with self.subTest(framing):
                sent = threading.Event()

                def script(exchange, framing=framing, sent=sent):
                    if exchange.received.target == "/probe":
                        return exchange.answer()
                    head = {"length": f"Content-Length: {SIZE}", "chunked": "Transfer-Encoding: chunked", "close": "Connection: close"}
                    exchange.send(f"HTTP/1.1 200 OK\r\n{head[framing]}\r\n\r\n")
                    for piece in blocks(BLOCK, SIZE):
                        exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece) if framing == "chunked" else piece)
                    if framing == "chunked":
                        exchange.send("0\r\n\r\n")
                    sent.set()
                    if framing == "close":
                        exchange.close()

                self.upstream.script = script
                client = self.client(receive_buffer=64 * 1024)
                client.request("GET", "/plain")
                _, fields = client.reader.head()
                for _ in range(50):
                    self.assertEqual(self.send("GET", "/probe").status, 200)
                self.assertFalse(sent.is_set(), "200 MiB went somewhere although nobody reads")
                self.assert_memory_bounded()
                self.assertEqual(digest(client.reader.body_pieces(fields)), expected)
                self.assertTrue(sent.wait(DEADLINE))
                self.assert_memory_bounded()
                client.request("GET", "/probe")
                self.assertEqual(client.response().status, 200)

    def test_answers_that_nobody_reads_are_not_piled_up(self):
        client = self.client(receive_buffer=4096)
        request = b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n" * 1000  # refused at once, without the upstream
        done = threading.Event()

        def send():
            try:
                for _ in range(500):
                    client.send(request)
                done.set()
            except OSError:
                pass

        threading.Thread(target=send, daemon=True).start()
        for _ in range(200):
            self.assertEqual(self.send("GET", "/probe").status, 200)
        self.assertFalse(done.is_set(), "half a million requests were taken although no answer is read")
        self.assert_memory_bounded()
        # Whoever reads at last gets answers, in order, without end.
        for _ in range(5000):
            self.assertEqual(client.response().status, 405)
        client.reset()


@unittest.skipIf(SANITIZED, "what sanitizers keep is more than what is bounded")
class HeldDocumentsTests(unittest.TestCase):
    """Documents of many small members from many clients at once, all of them slow: what they take is bounded, not only what is in them."""

    BUDGET, CLIENTS, PIECES, COUNT = 24 * MIB, 120, 12, 9000
    # Besides the budget: what is there of each connection and can't be refused (docs/memory.md), and the allocator's slack.
    BESIDES = CLIENTS * 384 * 1024 + 8 * MIB
    ROUTES = """
  - { name: sorted, match: /sorted, upstream: app, request: "json -> form(order: sorted)" }
  - { name: streamed, match: /streamed, upstream: app, request: json -> form }
  - { name: form, match: /form, upstream: app, request: form -> json }
"""
    BODIES = {
        "/sorted": (JSON, b"{" + b",".join(b'"k%d":"vvvvvvvvvv"' % number for number in range(COUNT)) + b"}"),
        "/streamed": (JSON, b'{"a":{' + b",".join(b'"k%d":"vvvvvvvvvv"' % number for number in range(COUNT)) + b"}}"),
        "/form": (FORM, b"&".join(b"k%d=" % number + b"v" * 240 for number in range(800))),
    }

    def test_what_documents_take_is_bounded(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        upstream.script = lambda exchange: (exchange.read_body(), exchange.answer())
        for path, (media_type, body) in self.BODIES.items():
            with self.subTest(path):
                recast = Recast(self.ROUTES, {"app": f"127.0.0.1:{upstream.port}"},
                                settings=f"memory: {{ bodies: {self.BUDGET // MIB}MiB }}\nconnections: {{ per_client: off }}\n")
                self.addCleanup(recast.remove)
                self.addCleanup(recast.stop)
                before = recast.peak_bytes()
                statuses = self.send_side_by_side(recast, path, media_type, body)
                self.assertLessEqual(set(statuses), {200, 503}, statuses)
                self.assertGreater(statuses[200], 5, statuses)
                added = recast.peak_bytes() - before
                self.assertLessEqual(added, self.BUDGET + self.BESIDES, f"{added / MIB:.1f} MiB were added: {statuses}")
                self.assertEqual(recast.stop(), 0, recast.error_text())

    def send_side_by_side(self, recast, path, media_type, body):
        clients = [Client(recast.port) for _ in range(self.CLIENTS)]
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        size, refused = len(body) // self.PIECES + 1, set()
        for at in range(0, len(body), size):
            for client in clients:
                if client not in refused:
                    try:
                        client.send((head if at == 0 else b"") + body[at:at + size])
                    except OSError:
                        refused.add(client)  # its answer is there
        statuses = collections.Counter(map(self.status, clients))
        for client in clients:
            client.socket.close()
        return statuses

    def status(self, client):
        try:
            return client.response().status
        except (Closed, OSError):
            return 503  # who goes on to send to a connection that is closed may lose the answer


@unittest.skipIf(SANITIZED, "what sanitizers keep is more than what is bounded")
class StalledStreamsTests(unittest.TestCase):
    """Clients of HTTP/2 that ask on all of their streams, and open no window: what their answers take is counted, and bounded."""

    BUDGET, BATCH = 8 * MIB, 50
    ROUTES = """
  - { name: converted, match: /converted, upstream: app, response: "json -> json" }
  - { name: plain, match: "/*", upstream: app }
"""

    def started(self, upstream, settings):
        """A proxy in front of `upstream`, and its memory so far."""
        recast = Recast(self.ROUTES, {"app": f"127.0.0.1:{upstream.port}"}, workers=1, settings=settings)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        return recast, recast.peak_bytes()

    def test_answers_that_wait_are_counted_until_they_are_taken(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        document = b"[" + b",".join(b'"%s"' % (b"x" * 990) for _ in range(2000)) + b"]"
        # Converted ones are whole at once, plain ones of that size are taken from the upstream as a whole.
        for path, body, batches in (("/converted", document, 2), ("/plain", b"x" * 120_000, 8)):
            with self.subTest(path):
                def script(exchange, body=body):
                    exchange.read_body()
                    exchange.answer(body=body, fields=(f"Content-Type: {JSON}",))

                upstream.script = script
                port, line = admin_port()
                admin = Admin(port)
                recast, before = self.started(
                    upstream, f"memory: {{ bodies: {self.BUDGET // MIB}MiB }}\nhttp2: {{ streams: 1000 }}\n{line}")
                statuses = collections.Counter()
                with HTTP2Client(recast.port, window=0, gives=False) as client:
                    for _ in range(batches):
                        opened = [client.request(path=path) for _ in range(self.BATCH)]
                        client.until(lambda: all(client.streams[stream].status for stream in opened))  # noqa: B023
                        statuses.update(client.streams[stream].status for stream in opened)
                    self.assertEqual(set(statuses), {200, 503}, statuses)
                    self.assertGreater(self.buffered(admin), self.BUDGET / 2)
                    added = recast.peak_bytes() - before
                    self.assertLessEqual(added, 2 * self.BUDGET + self.BATCH * 256 * 1024, f"{added / MIB:.1f} MiB: {statuses}")
                wait_until("nothing is counted any more", lambda: self.buffered(admin) == 0)  # noqa: B023
                with HTTP2Client(recast.port) as client:
                    self.assertEqual(client.exchange(path=path).status, 200)
                self.assertEqual(recast.stop(), 0, recast.error_text())

    def test_what_is_left_of_answers_holds_no_memory_of_what_was_taken(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        document, left = b'["%s"]' % (b"x" * 4 * MIB), 100

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=document, fields=(f"Content-Type: {JSON}",))

        upstream.script = script
        port, line = admin_port()
        admin = Admin(port)
        recast, before = self.started(upstream, f"memory: {{ bodies: 64MiB }}\ndefaults: {{ limits: {{ field: 8MiB }} }}\n{line}")
        with HTTP2Client(recast.port, window=len(document) - left, gives=False, keeps=False) as client:
            client.send(window_update(0, (1 << 31) - 65_536))
            for _ in range(50):
                stream = client.request(path="/converted")
                client.until(lambda: client.streams[stream].count == len(document) - left)  # noqa: B023
                self.assertEqual(client.streams[stream].status, 200)
            held, counted = memory_of(recast.process, "VmRSS") - before, self.buffered(admin)
            # 50 streams with 100 bytes each, of 4 MiB: what is left of their memory is little, and counted.
            self.assertLessEqual(counted, 50 * 384 * 1024)
            self.assertLessEqual(held, counted + 8 * MIB, f"{held / MIB:.1f} MiB, of which {counted / MIB:.1f} are counted")
        wait_until("nothing is counted any more", lambda: self.buffered(admin) == 0)
        self.assertEqual(recast.stop(), 0, recast.error_text())

    def test_a_held_answer_is_there_once_while_its_client_takes_nothing(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        document = b'["%s"]' % (b"x" * 31 * MIB)  # below a power of two, at which its memory grows

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=document, fields=(f"Content-Type: {JSON}",))

        upstream.script = script
        for is_http2 in (False, True):
            with self.subTest(is_http2=is_http2):
                recast, before = self.started(
                    upstream, "memory: { bodies: 128MiB }\ndefaults: { limits: { field: 64MiB, response: 64MiB } }\n")
                if is_http2:
                    client = HTTP2Client(recast.port, window=0, gives=False)
                    stream = client.request(path="/converted")
                    client.until(lambda: client.streams[stream].status)  # noqa: B023
                else:
                    client = Client(recast.port, receive_buffer=4096)
                    client.request("GET", "/converted")
                    client.reader.head()
                # Another answer shows that the worker is done with what is behind the head.
                other = Client(recast.port)
                other.send("no request\r\n\r\n")
                self.assertEqual(other.response().status, 400)
                added = recast.peak_bytes() - before
                client.socket.close()
                # Twice while its memory grows from 16 to 32 MiB, and once behind that.
                self.assertLessEqual(added, 32 * MIB + 16 * MIB, f"{added / MIB:.1f} MiB")
                self.assertEqual(recast.stop(), 0, recast.error_text())

    @staticmethod
    def buffered(admin):
        return admin.metrics().sum("recast_buffer_bytes", kind="response")


@unittest.skipIf(SANITIZED, "what sanitizers keep is more than what is bounded")
class HeldHeadsTests(unittest.TestCase):
    """Clients of HTTP/2 whose heads are one field of HPACK's table, again and again, on all of their streams: a byte for 4 KB."""

    BUDGET, STREAMS = 8 * MIB, 100

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.let = threading.Event()
        self.addCleanup(self.let.set)

        def script(exchange):
            self.let.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script
        port, line = admin_port()
        self.admin = Admin(port)
        self.recast = Recast(
            '  - { name: plain, match: "/*", upstream: app }', {"app": f"127.0.0.1:{self.upstream.port}"}, workers=1,
            settings=f"memory: {{ bodies: {self.BUDGET // MIB}MiB }}\n{line}")
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)

    def held(self):
        return self.admin.metrics().sum("recast_buffer_bytes", kind="request")

    def ask(self, client, size, times):
        """Heads of so many bytes, so many times over."""
        first, further = literal("x-a", "b" * size, first=0x40) + b"\xbe" * (times - 1), b"\xbe" * times
        return [client.open(None, block_=block([*pseudo(), ("x-request-id", f"of-{number:03}")]) + (further if number else first))
                for number in range(self.STREAMS)]

    def test_heads_that_wait_for_answers_are_counted(self):
        before = self.recast.peak_bytes()
        with HTTP2Client(self.recast.port) as one, HTTP2Client(self.recast.port) as other:
            streams = self.ask(one, 4000, 14)
            one.until(lambda: one.streams[streams[-1]].status)
            waiting = [stream for stream in streams if one.streams[stream].status is None]
            self.assertEqual({one.streams[stream].status for stream in streams}, {None, 503})
            # They are told by the name that the client gave them.
            name = f"of-{self.STREAMS - 1:03}"
            self.assertEqual(one.response(streams[-1]).json["request_id"], name)
            self.assertEqual(self.recast.log_entry(name)["code"], "memory_exhausted")
            # Three times 56 KB each, in 90 % of the budget.
            self.assertIn(len(waiting), range(35, 50))
            self.assertGreater(self.held(), self.BUDGET * 0.85)
            # A connection that has none may have one.
            others = self.ask(other, 4000, 14)
            other.until(lambda: all(other.streams[stream].status for stream in others[1:]))
            self.assertEqual({other.streams[stream].status for stream in others[1:]}, {503})
            self.assertIsNone(other.streams[others[0]].status)
            self.assertLess(self.recast.peak_bytes() - before, 2 * self.BUDGET)
            # None of them was taken on.
            metrics = self.admin.metrics()
            refused = [metrics.sum("recast_memory_refused_total", reason=reason) for reason in ("admission", "request", "response")]
            self.assertEqual(refused, [self.STREAMS - len(waiting) + self.STREAMS - 1, 0, 0])
            self.let.set()
            one.until(lambda: all(one.streams[stream].status == 200 for stream in waiting))
            other.until(lambda: other.streams[others[0]].status == 200)
            wait_until("nothing is counted any more", lambda: self.held() == 0)
            self.assertEqual(one.exchange(path="/plain").status, 200)

    def test_heads_of_clients_that_leave_are_counted_no_more(self):
        with HTTP2Client(self.recast.port) as client:
            self.ask(client, 2000, 5)
            wait_until("they are counted", lambda: self.held() >= 3 * self.STREAMS * 10_000)
        wait_until("nothing is counted any more", lambda: self.held() == 0)

    def test_small_heads_are_not_counted(self):
        # As HTTP/1.1 would have it: 1 KiB is counted, and nothing that is smaller.
        rest = len("GET /plain HTTP/1.1\r\nhost: client.example\r\nx-request-id: of-000\r\nx-a: \r\n\r\n")
        for size, is_counted in ((1023 - rest, False), (1024 - rest, True), (1025 - rest, True)):
            with self.subTest(size), HTTP2Client(self.recast.port) as client:
                streams = self.ask(client, size, 1)
                wait_until("all wait", lambda: self.admin.metrics().sum("recast_connections", side="upstream", state="active") == 100)
                self.assertEqual(self.held() > 0, is_counted)
                self.assertEqual(len(streams), self.STREAMS)
            wait_until("none waits", lambda: self.admin.metrics().sum("recast_connections", side="upstream") == 0)
