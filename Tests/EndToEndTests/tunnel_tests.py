"""Connections that leave HTTP, and uploads that are answered before their end: with a WebSocket of RFC 6455's own frames."""

import base64
import contextlib
import hashlib
import os
import struct
import threading

from harness import ProxyTestCase

UPLOAD = 64 << 20


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()


def frame(opcode, data, mask=None):
    """One final frame (RFC 6455 section 5.2)."""
    head = bytes([0x80 | opcode])
    size, masked = len(data), 0x80 if mask else 0
    if size < 126:
        head += bytes([masked | size])
    elif size < 1 << 16:
        head += bytes([masked | 126]) + struct.pack("!H", size)
    else:
        head += bytes([masked | 127]) + struct.pack("!Q", size)
    return head + (mask + xor(data, mask) if mask else data)


def xor(data, mask):
    repeated = (mask * (len(data) // 4 + 1))[:len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")


def read_frame(reader):
    first, second = reader.exactly(2)
    size = second & 0x7F
    if size == 126:
        size, = struct.unpack("!H", reader.exactly(2))
    elif size == 127:
        size, = struct.unpack("!Q", reader.exactly(8))
    mask = reader.exactly(4) if second & 0x80 else None
    data = reader.exactly(size)
    return first & 0x0F, xor(data, mask) if mask else data


def websocket_echo(exchange):
    """A WebSocket server that sends back what it gets."""
    fields = exchange.received.fields
    if fields.get("upgrade") != "websocket":
        return exchange.answer(426, fields=("Upgrade: websocket", "Upgrade: other/1", "Connection: upgrade"))
    exchange.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  f"Sec-WebSocket-Accept: {accept_key(fields.get('sec-websocket-key'))}\r\n\r\n")
    while True:
        opcode, data = read_frame(exchange.reader)
        exchange.send(frame(opcode, data))
        if opcode == 8:
            exchange.close()


class WebSocketTests(ProxyTestCase):
    further_upstreams = {"single": "{ address: $APP, max_connections: 1, queue: { size: 4, timeout: 10s } }"}
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: off, match: /off, upstream: app, upgrade: off }
  - { name: single, match: /single, upstream: single }
  - { name: plain, match: "/*", upstream: app }
"""

    def open(self, target="/chat"):
        client = self.client()
        key = base64.b64encode(os.urandom(16)).decode()
        client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n")
        return client, key

    def test_f23_messages_go_both_ways(self):
        self.upstream.script = websocket_echo
        client, key = self.open()
        line, fields = client.reader.head()
        self.assertTrue(line.startswith("HTTP/1.1 101 "), line)
        self.assertEqual(fields.get("sec-websocket-accept"), accept_key(key))
        for data in (b"", b"hello", b"\r\n\r\nGET / HTTP/1.1\r\n\r\n", os.urandom(70000)):
            client.send(frame(2, data, os.urandom(4)))
            self.assertEqual(read_frame(client.reader), (2, data))
        client.send(frame(8, b"\x03\xe8", os.urandom(4)))
        self.assertEqual(read_frame(client.reader), (8, b"\x03\xe8"))
        self.assertTrue(client.is_closed())

    def test_f23_a_websocket_counts_among_the_upstreams_connections_until_it_ends(self):
        self.upstream.script = websocket_echo
        for _ in range(3):
            client, _ = self.open("/single")
            self.assertTrue(client.reader.head()[0].startswith("HTTP/1.1 101 "))
            waiting, _ = self.open("/single")
            client.send(frame(8, b"", b"abcd"))
            self.assertEqual(read_frame(client.reader), (8, b""))
            self.assertTrue(client.is_closed())
            client.socket.close()
            self.assertTrue(waiting.reader.head()[0].startswith("HTTP/1.1 101 "))
            waiting.socket.close()

    def test_f23_many_at_once_and_much_in_both_directions(self):
        self.upstream.script = websocket_echo
        failures = []

        def talk():
            client, _ = self.open()
            client.reader.head()
            data = os.urandom(1 << 20)
            for _ in range(2):
                sender = threading.Thread(target=client.send, args=(frame(2, data, b"abcd"),))
                sender.start()
                if read_frame(client.reader) != (2, data):
                    failures.append("another message came back")
                sender.join()

        threads = [threading.Thread(target=talk) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_r33_routes_that_say_no_or_convert_don_t_upgrade(self):
        self.upstream.script = websocket_echo
        for target in ("/off", "/form-json"):
            client, _ = self.open(target)
            response = client.response()
            self.assertEqual((response.status, response.fields.all("upgrade")), (426, ["websocket", "other/1"]))
            self.assertIn("Upgrade", response.fields.all("connection"))


class EarlyAnswerTests(ProxyTestCase):
    """F13: the upstream answers after a kilobyte of 64 MiB, and then closes, resets, or goes on reading."""

    routes = """
  - { name: plain, match: "/*", upstream: app }
"""

    def upload(self, then, framing):
        def script(exchange):
            exchange.reader.exactly(1024)
            exchange.send("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large")
            if then == "reads on":
                exchange.reader.rest()
            getattr(exchange, "reset" if then == "resets" else "close")()

        self.upstream.script = script
        client = self.client()

        def send():
            piece = b"x" * 65536
            try:
                for _ in range(UPLOAD // len(piece)):
                    client.send(b"10000\r\n%b\r\n" % piece if framing == "chunked" else piece)
                if framing == "chunked":
                    client.send("0\r\n\r\n")
            except OSError:
                pass  # the proxy lets go of an upload that nobody wants

        length = "Transfer-Encoding: chunked" if framing == "chunked" else f"Content-Length: {UPLOAD}"
        client.send(f"POST / HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n")
        sender = threading.Thread(target=send)
        sender.start()
        response = client.response()
        with contextlib.suppress(OSError):  # the proxy may have closed it by now
            client.socket.shutdown(2)
        sender.join()
        return response

    def test_f13_the_answer_arrives(self):
        for then in ("closes", "resets", "reads on"):
            for framing in ("length", "chunked"):
                with self.subTest(then, framing=framing):
                    self.upstream.reset()
                    response = self.upload(then, framing)
                    self.assertEqual((response.status, response.body), (413, b"too large"))


class ContinueTests(ProxyTestCase):
    routes = """
  - { name: forward, match: /forward, upstream: app, expect_continue: forward }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_f11_curl_waits_for_the_upstream(self):
        def script(exchange):
            self.assertEqual(exchange.received.fields.get("expect"), "100-continue")
            exchange.read_body()
            exchange.answer(body=str(len(exchange.received.body)).encode())

        self.upstream.script = script
        status, body = self.curl("-H", "Expect: 100-continue", "--data-binary", "@-", self.url("/forward"), data=b"x" * 3000000)
        self.assertEqual((status, body), (200, b"3000000"))

    def test_f11_curl_is_refused_before_it_sends(self):
        def script(exchange):
            exchange.send("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno")
            exchange.received.body = exchange.reader.rest()

        self.upstream.script = script
        status, body = self.curl("-H", "Expect: 100-continue", "--data-binary", "@-", self.url("/forward"), data=b"x" * 3000000)
        self.assertEqual((status, body), (401, b"no"))
        received = self.upstream.one()
        self.assertEqual(received.body, b"")


class LoopTests(ProxyTestCase):
    """Recast in front of itself."""

    routes = """
  - { name: loop, match: "/*", upstream: self }
"""

    @classmethod
    def setUpClass(cls):
        cls.further_upstreams = {"self": "unix:/nowhere"}
        super().setUpClass()

    def test_f4_a_chain_of_proxies_of_one_name_is_no_loop_below_the_limit(self):
        client = self.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\nVia: " + ", ".join(["1.1 recast"] * 7) + "\r\n\r\n")
        self.assert_problem(client.response(), 502)
        client = self.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\nVia: " + ", ".join(["1.1 recast"] * 8) + "\r\n\r\n")
        self.assert_problem(client.response(), 508, "loop_detected")
