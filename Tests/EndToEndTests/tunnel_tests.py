"""Connections that leave HTTP, and uploads that are answered before their end: with a WebSocket of RFC 6455's own frames."""

import base64
import contextlib
import hashlib
import os
import queue
import select
import socket
import ssl
import struct
import threading
import time

from harness import DEADLINE, ProxyTestCase, Recast, free_port, select_nothing
from lifecycle_support import wait_until
from raw_client import Client
from tls_support import TLSClient, TLSUpstream, certificates, pair, path

UPLOAD = 64 << 20
MUCH = 32 << 20  # more than the systems on the way hold
SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


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


def keepalive(local, remote):
    """In how many seconds the system asks the other side of a connection of IPv4 whether it is there; 0: never (proc_net_tcp.txt)."""
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            _, here, there, state, _, timer = line.split()[:6]
            ports = [int(address.split(":")[1], 16) for address in (here, there)]
            if state == "01" and local in (None, ports[0]) and ports[1] == remote and timer.startswith("02:"):
                return int(timer[3:], 16) / 100
    return 0


class WebSocketTests(ProxyTestCase):
    further_upstreams = {"single": "{ address: $APP, max_connections: 1, queue: { size: 4, timeout: 10s } }"}
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: off, match: /off, upstream: app, upgrade: off }
  - name: outer
    match: "/outer/*"
    upstream: app
    rewrite: "/${path.*}"
    addresses: outer
    headers: { response: { remove: [X-Secret, Content-Location], set: { X-Hop: h } } }
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

    def test_f29_a_cookie_of_the_handshake_is_sent_back_where_clients_call(self):
        self.upstream.script = lambda exchange: exchange.send(SWITCHED.replace(
            "\r\n\r\n", "\r\nSet-Cookie: a=1; Path=/; Secure\r\nLocation: /x\r\nX-Secret: s\r\nContent-Location: /y\r\n"
                          "Set-Cookie: b=2\r\n\r\n"))
        client, _ = self.open("/outer/chat")
        line, fields = client.reader.head()
        self.assertTrue(line.startswith("HTTP/1.1 101 "), line)
        self.assertEqual(fields.all("set-cookie"), ["a=1; Path=/outer/; Secure", "b=2"])
        self.assertEqual([fields.all(name) for name in ("location", "x-secret", "content-location", "x-hop", "upgrade")],
                         [["/outer/x"], [], [], ["h"], ["websocket"]])

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

    def test_f23_the_systems_of_both_sides_are_asked_whether_they_are_there(self):
        """One that has gone from the network without a word would hold the other, and its place at the upstream, for an hour."""
        self.upstream.script = websocket_echo
        client, _ = self.open()
        client.reader.head()
        own, theirs = client.socket.getsockname()[1], self.upstream.port
        wait_until("they are to be asked within a minute", lambda: all(
            0 < seconds <= 60 for seconds in (keepalive(self.recast.port, own), keepalive(None, theirs))))
        client.socket.close()

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


def read_to_end(connection):
    """How many bytes come, and whether a FIN or a reset ends them."""
    count = 0
    try:
        while data := connection.recv(1 << 16):
            count += len(data)
        return count, "FIN"
    except ConnectionResetError:
        return count, "reset"


def send_much(connection):
    """To a peer that may have enough of it."""
    with contextlib.suppress(OSError):
        connection.sendall(bytes(MUCH))


def fill(connection):
    """Sends until nothing more is taken: what waits on the way is all that there is room for."""
    with contextlib.suppress(OSError):
        while select.select([], [connection], [], 0.5)[1]:
            connection.send(bytes(1 << 16), socket.MSG_DONTWAIT)


class TunnelEndTests(ProxyTestCase):
    """F23: when a tunnel that has said nothing for its time is closed, and what a side gets for which bytes still wait."""

    upstream_receive_buffer = 8192
    routes = """
  - { name: brief, match: /brief, upstream: app, timeouts: { tunnel: 700ms } }
  - { name: longer, match: /longer, upstream: app, timeouts: { tunnel: 2s } }
  - { name: plain, match: "/*", upstream: app }
"""

    def open(self, target, port=None):
        client = Client(port or self.recast.port, receive_buffer=8192)
        self.addCleanup(client.socket.close)
        client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Request-Id: {self.id()}\r\n\r\n")
        while client.reader.received < len(SWITCHED) or b"\r\n\r\n" not in client.reader.buffer:
            client.reader.buffer += client.socket.recv(1)
            client.reader.received += 1
        return client.socket

    def push(self):
        """The upstream sends much."""
        def script(exchange):
            exchange.send(SWITCHED)
            send_much(exchange.connection)
            exchange.close()

        self.upstream.script = script

    def drop(self):
        """The upstream takes nothing until it is told to; returns that event, another one, and how what came has ended."""
        go_on, ended, found = threading.Event(), threading.Event(), []
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.send(SWITCHED)
            go_on.wait(DEADLINE)
            found.append(read_to_end(exchange.connection))
            ended.set()
            exchange.close()

        self.upstream.script = script
        return go_on, ended, found

    def test_a_slow_reader_is_not_idle(self):
        """The system has megabytes for it, so that Recast hears for long of no byte that it takes."""
        self.push()
        connection, count = self.open("/brief"), 0
        while count < 100 * 8192:
            count += len(connection.recv(8192))
            select_nothing()
        self.assertEqual(count + read_to_end(connection)[0], MUCH)
        connection.close()  # its own side, which is waited for, too
        self.assertNotIn("flags", self.recast.log_entry(self.id()))

    def test_who_was_slow_to_read_has_the_whole_time_for_an_answer(self):
        """The time counts from the last byte that was taken, and not from when it was looked at last before that."""
        count = 1 << 20

        def script(exchange):
            exchange.send(SWITCHED)
            exchange.send(bytes(count))
            exchange.send(exchange.reader.exactly(4))
            exchange.close()

        self.upstream.script = script
        begun, left = time.monotonic(), count
        connection = self.open("/longer")
        while left > 0:
            # It was looked at after two seconds, and will be after four.
            left -= len(connection.recv(min(left, 8192 if time.monotonic() < begun + 3 else left)))
            if time.monotonic() < begun + 3:
                select_nothing()
        connection.settimeout(begun + 4.7 - time.monotonic())
        with self.assertRaises(TimeoutError):
            connection.recv(1)
        connection.settimeout(DEADLINE)
        connection.sendall(b"word")
        self.assertEqual(connection.recv(4), b"word")

    def test_a_client_that_reads_nothing_can_t_take_what_it_got_for_all(self):
        self.push()
        connection = self.open("/brief")
        self.assertEqual(self.recast.log_entry(self.id())["flags"], "TI")
        count, end = read_to_end(connection)
        self.assertEqual(end, "reset")
        self.assertLess(count, MUCH)

    def test_an_upstream_that_reads_nothing_can_t_either(self):
        go_on, ended, found = self.drop()
        connection = self.open("/brief")
        fill(connection)
        self.assertEqual(self.recast.log_entry(self.id())["flags"], "TI")
        go_on.set()
        self.assertTrue(ended.wait(DEADLINE))
        self.assertEqual([end for _, end in found], ["reset"])

    def test_one_on_which_nothing_waits_ends_by_a_fin(self):
        go_on, ended, found = self.drop()
        go_on.set()
        self.assertEqual(read_to_end(self.open("/brief")), (0, "FIN"))
        self.assertTrue(ended.wait(DEADLINE))
        self.assertEqual(found, [(0, "FIN")])
        self.assertEqual(self.recast.log_entry(self.id())["flags"], "TI")

    def test_an_upstream_for_which_bytes_wait_at_the_end_of_a_drain(self):
        go_on, ended, found = self.drop()
        recast = Recast(self.routes, {"app": f"127.0.0.1:{self.upstream.port}"}, settings="timeouts: { grace: 200ms }\n")
        self.addCleanup(recast.remove)
        connection = self.open("/plain", recast.port)
        fill(connection)
        self.assertEqual(recast.stop(), 0)
        go_on.set()
        self.assertTrue(ended.wait(DEADLINE))
        self.assertEqual([end for _, end in found], ["reset"])
        self.assertEqual(recast.log_entry(self.id())["flags"], "GT")


class TunnelTLSEndTests(ProxyTestCase):
    """F23 within TLS: an end that no close_notify has told is passed on as such, for somebody on the way may have made it."""

    routes = '  - { name: chat, match: "/*", upstream: secure }\n'

    @classmethod
    def setUpClass(cls):
        cls.secure = TLSUpstream(certificates().server_context())
        cls.addClassCleanup(cls.secure.stop)
        cls.further_upstreams = {"secure": f"{{address: 'localhost:{cls.secure.port}', tls: {{ca: {path('ca.pem')}}}}}"}
        cls.tls_port = free_port()
        cls.listeners = (f"{{address: '127.0.0.1:{cls.tls_port}', tls: {{{pair('server')}}}}}",)
        super().setUpClass()

    def open(self, version):
        client = TLSClient(self.tls_port, certificates().client_context(maximum_version=version))
        self.addCleanup(client.socket.close)
        client.send("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.socket.recv(1)
        return client.socket

    @staticmethod
    def end(connection, tells):
        """A FIN, behind close_notify or without it."""
        if tells:
            # It is sent first; the other side's, which is waited for then, may be there or not.
            connection.settimeout(0)
            with contextlib.suppress(OSError):
                connection.unwrap()
        with socket.socket(fileno=os.dup(connection.fileno())) as bare:
            bare.shutdown(socket.SHUT_WR)

    @staticmethod
    def read(connection):
        """What comes, and whether its end is told."""
        connection.suppress_ragged_eofs = False
        data = b""
        try:
            while piece := connection.recv(1 << 16):
                data += piece
            return data, True
        except ssl.SSLEOFError:
            return data, False

    def test_f23_an_end_is_told_where_it_was_told(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for tells in (True, False):
                with self.subTest(version=version, client=tells):
                    found = queue.Queue()
                    self.secure.script = lambda exchange: (
                        exchange.send(SWITCHED), found.put(self.read(exchange.connection)), exchange.close())
                    client = self.open(version)
                    client.sendall(b"part")
                    self.end(client, tells)
                    self.assertEqual(found.get(timeout=DEADLINE), (b"part", tells))
                with self.subTest(version=version, upstream=tells):
                    is_over = threading.Event()
                    self.addCleanup(is_over.set)
                    self.secure.script = lambda exchange: (
                        exchange.send(SWITCHED), exchange.send(b"part"), self.end(exchange.connection, tells),
                        is_over.wait(DEADLINE), exchange.close())
                    self.assertEqual(self.read(self.open(version)), (b"part", tells))
                    is_over.set()


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
