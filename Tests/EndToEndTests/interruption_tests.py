"""One side stops, stalls or answers too soon: the other hears of it, nothing hangs, nothing cut looks whole."""

import subprocess
import tempfile
import threading
import time

from harness import DEADLINE, FORM, JSON, Closed, ProxyTestCase, free_port, make_multipart
from lifecycle_support import wait_until

MIB = 1 << 20
UPLOAD = 64 * MIB
BOUNDARY = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f.bin"\r\n\r\n'
LAST = b"\r\n--x--\r\n"


class EarlyAnswerTests(ProxyTestCase):
    """The upstream answers after the first KiB of 64 MiB (docs/rules.md P5, F13)."""

    upstream_receive_buffer = 64 * 1024
    routes = """
  - name: renamed
    match: /renamed
    upstream: app
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: plain, match: "/*", upstream: app }
"""

    @staticmethod
    def break_off(exchange):
        exchange.reset()

    def script(self, ending, status):
        def script(exchange):
            start = exchange.reader.exactly(1024)
            exchange.answer(status=status, body=b"early", fields=())
            if ending == "closes":
                exchange.close()
            elif ending == "resets":
                self.break_off(exchange)
            exchange.reader.buffer = start + exchange.reader.buffer
            for _ in exchange.reader.body_pieces(exchange.received.fields):
                pass
            exchange.received.is_complete = True

        return script

    def send_all(self, client, path, is_chunked, failed):
        body = UPLOAD if path == "/plain" else UPLOAD - len(PART) - len(LAST)
        pieces = [PART] if path != "/plain" else []
        pieces += [bytes(MIB)] * (body // MIB) + [bytes(body % MIB)]
        if path != "/plain":
            pieces.append(LAST)
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {UPLOAD}"
        try:
            client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {BOUNDARY}\r\n{framing}\r\n\r\n")
            for piece in pieces:
                if piece:
                    client.send(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
            if is_chunked:
                client.send("0\r\n\r\n")
        except OSError:
            failed.set()

    def test_it_reaches_a_client_that_reads_while_it_sends_and_one_that_sends_first(self):
        for ending in ("keeps reading", "closes", "resets"):
            for path in ("/plain", "/renamed"):
                for is_chunked in (False, True):
                    for reads_first in (True, False):
                        with self.subTest(ending, path=path, is_chunked=is_chunked, reads_first=reads_first):
                            self.upstream.reset()
                            self.upstream.script = self.script(ending, 413)
                            client = self.client()
                            failed = threading.Event()
                            sender = threading.Thread(target=self.send_all, args=(client, path, is_chunked, failed), daemon=True)
                            sender.start()
                            if not reads_first:
                                sender.join(DEADLINE)
                                self.assertFalse(sender.is_alive(), "the client can neither send nor is it told to stop")
                            response = client.response()
                            self.assertEqual((response.status, response.body), (413, b"early"))
                            sender.join(DEADLINE)
                            self.assertFalse(sender.is_alive(), "the client can neither send nor is it told to stop")
                            if ending == "keeps reading":
                                self.assertFalse(failed.is_set(), "the upstream still reads, so the client may still send")
                                received = self.upstream.one()
                                # The last of it may be on its way behind the answer.
                                wait_until("the upload is whole", lambda: received.is_complete)
                            client.socket.close()

    def test_a_client_that_sends_on_is_held_back_before_its_connection_ends(self):
        """Clients that see an error as they write look for no answer any more: behind all that is dropped they wait in their write."""
        self.upstream.script = self.script("closes", 413)
        client = self.client()
        client.send(f"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: {UPLOAD}\r\n\r\n")
        sent, taken_at = 0, time.monotonic()
        try:
            while sent < UPLOAD:
                sent += client.socket.send(bytes(64 * 1024))
                taken_at = time.monotonic()
        except OSError:
            pass
        held = time.monotonic() - taken_at
        self.assertGreater(sent, 16 * MIB)
        self.assertLess(sent, UPLOAD)
        self.assertGreater(held, 0.1)  # half a second is what it has
        response = client.response()
        self.assertEqual((response.status, response.body), (413, b"early"))
        self.assertTrue(client.is_closed())

    def test_it_reaches_curl(self):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(UPLOAD)
            for ending in ("keeps reading", "closes", "resets"):
                for arguments in (["--data-binary", f"@{file.name}", "-H", "Content-Type: x/y", self.url("/plain")],
                                  ["-F", f"file=@{file.name}", self.url("/renamed")],
                                  ["-H", "Expect:", "-F", f"file=@{file.name}", self.url("/renamed")]):
                    with self.subTest(ending, arguments=arguments):
                        self.upstream.script = self.script(ending, 413)
                        result = subprocess.run(
                            ["curl", "--silent", "--max-time", str(DEADLINE), "--write-out", "\n%{http_code}", *arguments],
                            capture_output=True)
                        self.assertEqual(result.stdout, b"early\n413")


class StallTests(ProxyTestCase):
    upstream_receive_buffer = 64 * 1024
    further_upstreams = {"down": f"127.0.0.1:{free_port()}"}
    routes = """
  - { name: down-json, match: /down-json, upstream: down, request: form -> json }
  - { name: renamed, match: /renamed, upstream: app, timeouts: { first_byte: 400ms, gap: 400ms },
      request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } } }
  - { name: stops, match: /stops, upstream: app, timeouts: { gap: 1s } }
  - { name: plain, match: "/*", upstream: app, timeouts: { first_byte: 400ms, gap: 400ms } }
"""

    def hold(self):
        """The upstream reads heads and nothing more until the test is over."""
        over = threading.Event()
        self.addCleanup(over.set)

        def script(exchange):
            over.wait(DEADLINE)
            exchange.read_body()
            self.leave(exchange)

        self.upstream.script = script
        return over

    @staticmethod
    def leave(exchange):
        """Ends what was given up, without an answer."""
        exchange.close()

    def test_an_upstream_that_takes_nothing_is_a_504(self):
        # Sizes around what the sockets and the watermarks hold: the client is done, or is held back, at any point.
        for path in ("/plain", "/renamed"):
            for size in (1, 100_000, 400_000, 3_000_000, 30_000_000):
                with self.subTest(path, size=size):
                    self.upstream.reset()
                    over = self.hold()
                    body = PART + bytes(size) + LAST
                    client = self.client()
                    def send(client=client, path=path, body=body):
                        try:
                            client.request("POST", path, body, BOUNDARY)
                        except OSError:
                            pass
                    threading.Thread(target=send, daemon=True).start()
                    self.assert_problem(client.response(), 504)
                    # What the sockets hold may have been the whole; what is larger must be seen as cut.
                    over.set()
                    received = self.upstream.one()
                    if size > 10_000_000:
                        self.assertFalse(received.is_complete)

    def test_an_upstream_that_stops_in_its_answer_cuts_it(self):
        for framing in ("Content-Length: 100", "Transfer-Encoding: chunked", "X-Until: close"):
            with self.subTest(framing):
                over = threading.Event()
                self.addCleanup(over.set)

                def script(exchange, framing=framing, over=over):
                    # At once: a head that came alone, and nothing behind it in time, is a 504.
                    exchange.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n5\r\n12345\r\n")
                    over.wait(DEADLINE)
                    exchange.close()

                self.upstream.script = script
                client = self.client()
                client.request("GET", "/stops")
                with self.assertRaises(Closed):
                    client.response()

    def test_a_body_until_close_that_was_reset_is_cut_for_every_client(self):
        def script(exchange):
            exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            exchange.send(bytes(100_000))
            # The client has its first bytes before the reset, which would overtake them.
            go_on.wait(DEADLINE)
            exchange.reset()

        for version in ("1.1", "1.0"):
            with self.subTest(version):
                go_on = threading.Event()
                self.upstream.script = script
                client = self.client()
                client.send(f"GET /stops HTTP/{version}\r\nHost: a\r\n\r\n")
                client.reader.head()
                client.reader.exactly(1000)
                go_on.set()
                if version == "1.1":
                    self.assertFalse(client.reader.rest().endswith(b"0\r\n\r\n"))
                else:
                    with self.assertRaises(ConnectionResetError):
                        while client.socket.recv(65536):
                            pass

    def test_a_down_upstream_leaves_the_connection_usable(self):
        client = self.client()
        for _ in range(3):
            client.request("POST", "/down-json", b"a=1", FORM)
            self.assert_problem(client.response(), 502)


class ClientStallTests(ProxyTestCase):
    # As long as a busy machine may hold up a client that goes on.
    settings = "timeouts: { body_gap: 1s, header: 1s }\n"
    routes = """
  - { name: renamed, match: /renamed, upstream: app, timeouts: { gap: 400ms },
      request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } } }
  - { name: json-form, match: /json-form, upstream: app, request: json -> form }
  - { name: plain, match: "/*", upstream: app, timeouts: { gap: 400ms } }
"""

    def test_a_client_that_stops_in_its_body_gets_a_408_and_the_upstream_no_end(self):
        for path, head, start in (
            ("/plain", "Content-Length: 10", b"12345"),
            ("/plain", "Transfer-Encoding: chunked", b"5\r\n12345\r\n"),
            ("/json-form", f"Content-Type: {JSON}\r\nContent-Length: 10", b'{"a":'),
            ("/renamed", f"Content-Type: {BOUNDARY}\r\nContent-Length: 1000000", PART + bytes(300_000)),
        ):
            with self.subTest(path, head=head):
                self.upstream.reset()
                client = self.client()
                client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n")
                client.send(start)
                self.assert_problem(client.response(), 408)
                self.assertTrue(client.is_closed())
                for received in list(self.upstream.requests):
                    self.assertTrue(received.ended.wait(DEADLINE))
                    self.assertFalse(received.is_complete)

    def test_a_head_that_does_not_come_is_a_408_and_no_head_at_all_just_the_end(self):
        for start in ("GET / HTTP/1.1\r\nHost: a\r\n", "GE", "GET / HTTP/1.1\r\n"):
            with self.subTest(start):
                client = self.client()
                client.send(start)
                self.assert_problem(client.response(), 408)
                self.assertTrue(client.is_closed())
        self.assertTrue(self.client().is_closed())

    def test_a_refused_request_whose_body_never_comes_ends_its_connection(self):
        client = self.client()
        client.send("POST /json-form HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n")
        self.assert_problem(client.response(), 415)
        self.assertTrue(client.is_closed())


class ConnectionTests(ProxyTestCase):
    """What becomes of the client's connection after something went wrong, or went slowly."""

    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: json-form, match: /json-form, upstream: app, request: json -> form }
  - { name: multipart-json, match: /multipart-json, upstream: app, request: multipart -> json }
  - { name: only-post, match: { path: /only-post, method: POST }, upstream: app }
  - { name: plain, match: "/plain", upstream: app }
"""

    def test_a_bad_small_body_leaves_the_connection_usable(self):
        bad = [("/form-json", FORM, b"a=%FF"), ("/form-json", FORM, b"a=1&a[b]=2"), ("/json-form", JSON, b'{"a":'),
               ("/json-form", JSON, b'{"a":1} x' + b"y" * 20_000), ("/json-form", "text/plain", b"x" * 20_000),
               ("/multipart-json", BOUNDARY, b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'),
               ("/nowhere", FORM, b"a=1")]
        client = self.client()
        for path, media_type, body in bad * 2:
            for cut in (len(body), 0, 1, len(body) // 2):
                with self.subTest(path, body=body[:20], cut=cut):
                    self.upstream.reset()
                    client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\n"
                                f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:cut])
                    client.send(body[cut:])
                    response = client.response()
                    self.assertIn(response.status, (400, 404, 415))
                    self.assertNotIn("connection", response.fields)
                    self.assert_untouched()
                    client.request("POST", "/form-json", b"a=1", FORM)
                    self.assertEqual(client.response().status, 200)
                    self.assertEqual(self.upstream.one().json, {"a": "1"})

    def test_pipelined_bodies_of_every_kind_are_answered_in_order(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"%d" % len(exchange.received.body))

        self.upstream.script = script
        large = b"x" * 300_000
        requests = [
            (b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + large, 200, b"300000"),
            (b"POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n493e0\r\n" + large + b"\r\n0\r\n\r\n", 200, b"300000"),
            (b"GET /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345", 404, None),
            (f"POST /form-json HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
             + b"1\r\na\r\n2\r\n=1\r\n0\r\n\r\n", 200, b"9"),
            (f"POST /json-form HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: 2\r\n\r\n{{]".encode(), 400, None),
            (b"HEAD /only-post HTTP/1.1\r\nHost: a\r\n\r\n", 405, None),
            (f"POST /json-form HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: 300008\r\n\r\n".encode()
             + b'{"a":"' + large + b'"}', 200, b"300002"),
            (b"PUT /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 200, b"0"),
        ] * 3
        client = self.client()
        text = b"".join(request for request, _, _ in requests)
        sender = threading.Thread(target=client.send, args=(text,), daemon=True)
        sender.start()
        for request, status, body in requests:
            response = client.response(request.split()[0].decode())
            self.assertEqual(response.status, status, request[:80])
            if body is not None:
                self.assertEqual(response.body, body, request[:80])
        sender.join(DEADLINE)

    def test_one_byte_at_a_time_works_in_both_directions_and_every_encoding(self):
        def script(exchange):
            exchange.read_body()
            for byte in b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX: t\r\n\r\n":
                exchange.send(bytes([byte]))

        self.upstream.script = script
        client = self.client()
        body, media_type = make_multipart([("a", None, b"1"), ("b", None, b"\r\n--B")])
        chunked = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in b'{"a":[1,"\\u00e9"]}') + b"0\r\n\r\n"
        for path, head, data in (
            ("/multipart-json", f"Content-Type: {media_type}\r\nContent-Length: {len(body)}", body),
            ("/json-form", f"Content-Type: {JSON}\r\nTransfer-Encoding: chunked", chunked),
            ("/plain", "Transfer-Encoding: chunked", chunked),
        ):
            with self.subTest(path):
                for byte in f"POST {path} HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n".encode() + data:
                    client.send(bytes([byte]))
                response = client.response()
                self.assertEqual((response.status, response.body), (200, b"abcde"))
        self.assertEqual([received.body for received in self.upstream.wait_for(3)],
                         [b'{"a":"1","b":"\\r\\n--B"}', b"a%5B%5D=1&a%5B%5D=%C3%A9", b'{"a":[1,"\\u00e9"]}'])

    def test_a_slow_reader_gets_every_length_to_its_end_and_may_go_on(self):
        """The answer's end must be seen also when its last bytes had to wait."""
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * int(exchange.received.fields.get("x-size", "0")))
            answered.set()

        self.upstream.script = script
        for size in (100_000, 200_000, 300_000, 500_000, 1_000_000):
            with self.subTest(size):
                answered = threading.Event()
                client = self.client(receive_buffer=4096)
                client.request("GET", "/plain", fields=[f"X-Size: {size}"])
                client.reader.head()
                for _ in range(5):
                    with self.client() as probe:
                        probe.request("GET", "/plain", fields=["X-Size: 0"])
                        self.assertEqual(probe.response().status, 200)
                self.assertEqual(len(client.reader.exactly(size)), size)
                client.request("GET", "/plain", fields=["X-Size: 0"])
                self.assertEqual(client.response().status, 200)

    def test_a_client_that_half_closes_and_reads_slowly_gets_everything(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"x" * 4_500_000)
            answered.set()

        self.upstream.script = script
        for version in ("1.1", "1.0"):
            for moment in ("at once", "when the answer has come"):
                with self.subTest(version, moment=moment):
                    answered = threading.Event()
                    client = self.client(receive_buffer=4096)
                    client.send(f"GET /plain HTTP/{version}\r\nHost: a\r\n\r\n")
                    if moment == "at once":
                        client.finish_sending()
                        self.assertEqual(len(client.response().body), 4_500_000)
                    else:
                        client.reader.head()
                        missing = 4_500_000
                        while not answered.is_set():
                            missing -= len(client.reader.exactly(10_000))
                        client.finish_sending()
                        self.assertEqual(len(client.reader.exactly(missing)), missing)
                    self.assertTrue(client.is_closed())
