"""TLS with upstreams: which of them are believed, and where what they send ends."""

import ctypes
import re
import socket
import socketserver
import ssl
import subprocess
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, FORM, Client, Closed, ProxyTestCase, Recast, free_port, select_nothing
from tls_support import TLSUpstream, certificates, pair, path, pin


class PlainServer(socketserver.ThreadingTCPServer):
    """Answers whatever comes as servers of HTTP answer what isn't that."""

    daemon_threads = True

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class UpstreamsTests(ProxyTestCase):
    """What an upstream may be and do."""

    @classmethod
    def setUpClass(cls):
        cls.servers = {name: TLSUpstream(certificates().server_context(name)) for name in ("server", "expired", "self")}
        cls.servers["mutual"] = TLSUpstream(certificates().server_context(client_ca="ca"))
        cls.servers["old"] = TLSUpstream(certificates().server_context(version=ssl.TLSVersion.TLSv1_2))
        cls.servers["authority"] = TLSUpstream(certificates().server_context("ca"))
        for server in cls.servers.values():
            cls.addClassCleanup(server.stop)
        plain = PlainServer()
        cls.addClassCleanup(plain.stop)
        ca = f"ca: {path('ca.pem')}"
        table = {
            "good": ("server", f"{ca}"),
            "short": ("server", f"{ca}, name: a.example"),
            "wrong-name": ("server", f"{ca}, name: c.example"),
            "unknown": ("server", f"ca: {path('other-ca.pem')}"),
            "system": ("server", ""),
            "expired": ("expired", f"{ca}, name: a.example"),
            "self-signed": ("self", f"{ca}, name: self.example"),
            "unchecked": ("self", "verify: false"),
            "pinned": ("self", f"verify: false, pins: ['{pin('self')}']"),
            "pinned-file": ("self", f"name: self.example, pinned_certificates: {path('self.pem')}"),
            "mispinned": ("server", f"{ca}, pins: ['{pin('self')}']"),
            "mutual": ("mutual", f"{ca}, {pair('client')}"),
            "stranger": ("mutual", ca),
            "authority": ("authority", f"{ca}, verify_name: false"),
            "old": ("old", f"{ca}, min_version: '1.3'"),
        }
        cls.further_upstreams = {
            name: f"{{address: 'localhost:{cls.servers[server].port}', idle: 100ms, tls: {'{' + tls + '}' if tls else 'true'}}}"
            for name, (server, tls) in table.items()}
        cls.ports = {name: cls.servers[server].port for name, (server, _) in table.items()}
        cls.ports["plain"] = plain.server_address[1]
        cls.further_upstreams["plain"] = f"{{address: '127.0.0.1:{cls.ports['plain']}', tls: {{{ca}}}}}"
        cls.further_upstreams["checked"] = (
            f"{{address: '127.0.0.1:{cls.servers['expired'].port}', tls: {{{ca}, name: a.example}},"
            " health: { active: { path: /, interval: 100ms, fall: 1 } } }")
        cls.ports["finite"] = free_port()
        cls.further_upstreams["finite"] = f"{{address: 'localhost:{cls.ports['finite']}', tls: {{{ca}}}}}"
        port, cls.settings = admin_port()
        cls.admin = Admin(port)
        cls.further_upstreams["not-tls"] = f"{{address: 'localhost:{free_port()}', tls: true}}"
        cls.routes = "".join(
            f"  - {{ name: {name}, match: /{name}, upstream: {name} }}\n" for name in cls.further_upstreams)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        for server in self.servers.values():
            server.reset()

    def test_row_56_an_upstream_is_believed_or_it_gets_nothing(self):
        for name, word in {
            "good": None, "short": None, "unchecked": None, "pinned": None, "pinned-file": None, "mutual": None,
            "wrong-name": "wrong_name", "unknown": "unknown_ca", "system": "unknown_ca", "expired": "expired",
            "self-signed": "self_signed", "mispinned": "pin_mismatch", "old": "alert_protocol_version",
        }.items():
            with self.subTest(name):
                answer = self.send("POST", f"/{name}", b"a=1", FORM)
                if word is None:
                    self.assertEqual((answer.status, answer.body), (200, b"ok"))
                    continue
                problem = self.assert_problem(answer, 502, "^upstream_tls$")
                self.assertTrue(problem["detail"].endswith(f": {word}"), problem["detail"])
        self.assertEqual([received.target for server in self.servers.values() for received in server.requests
                          if received.target in ("/wrong-name", "/unknown", "/expired", "/mispinned")], [])

    def test_an_upstream_asks_for_no_group_of_finite_fields(self):
        # A server may choose among all groups that are offered: one of these would hold the loop up for 120 ms a handshake.
        certificate, key = certificates().pair("server")
        server = subprocess.Popen(
            ["openssl", "s_server", "-accept", f"localhost:{self.ports['finite']}", "-cert", certificate, "-key", key,
             "-tls1_3", "-groups", "ffdhe8192"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while "ACCEPT" not in server.stdout.readline():
            self.assertIsNone(server.poll())
        problem = self.assert_problem(self.send("GET", "/finite"), 502, "^upstream_tls$")
        self.assertTrue(problem["detail"].endswith(": alert_handshake_failure"), problem["detail"])

    def test_a_failed_handshake_is_flagged(self):
        self.send("GET", "/wrong-name")
        count = 1
        while not (lines := [line for line in self.recast.log_lines(count) if line.get("path") == "/wrong-name"]):
            count += 1
        self.assertEqual((lines[0]["flags"], lines[0]["code"]), ("UF", "upstream_tls"))

    def test_why_a_handshake_failed_is_told_to_the_operator(self):
        for name, reason in {
            "expired": "expired (certificate has expired)", "wrong-name": "wrong_name (hostname mismatch)",
            "mispinned": "pin_mismatch", "authority": "bad_certificate (", "plain": "plain_text",
        }.items():
            with self.subTest(name):
                count = self.recast.error_text().count(f"upstream {name}: TLS with ")
                answers = [self.send("GET", f"/{name}") for _ in range(2)]
                self.assertEqual({answer.json["code"] for answer in answers}, {"upstream_tls"})
                word = reason.split(" ")[0]
                self.assertEqual({answer.json["detail"].split(": ")[-1] for answer in answers}, {word})
                port = self.ports[name]
                self.recast.says(f"upstream {name}: TLS with ")
                told = [line for line in self.recast.error_text().splitlines() if f"upstream {name}: TLS with " in line]
                # Each address and reason once in ten seconds, whatever else fails meanwhile.
                self.assertLessEqual(len(told) - count, 1)
                self.assertIn(f"upstream {name}: TLS with 127.0.0.1:{port} failed: {reason}", told[0])
                entry = next(entry for entry in self.admin.json("/upstreams")["upstreams"] if entry["name"] == name)
                address = next(address for address in entry["addresses"] if address["address"] == f"127.0.0.1:{port}")
                self.assertTrue(address["last_failure"].startswith(f"TLS failed: {reason}"), address["last_failure"])
                self.assertGreaterEqual(address["last_failure_age"], 0)

    def test_an_upstream_that_serves_has_no_last_failure(self):
        self.assertEqual(self.send("GET", "/good").status, 200)
        entry = next(entry for entry in self.admin.json("/upstreams")["upstreams"] if entry["name"] == "good")
        self.assertEqual([address["last_failure"] for address in entry["addresses"] if address["address"].startswith("127.")], [None])

    def test_a_check_that_fails_says_why(self):
        deadline = time.monotonic() + DEADLINE
        while "fails its checks" not in self.recast.error_text():
            self.assertLess(time.monotonic(), deadline, self.recast.error_text())
            select_nothing()
        self.assertRegex(
            self.recast.error_text(), "upstream checked: 127.0.0.1:[0-9]+ fails its checks: TLS failed: expired .certificate has expired")

    def test_an_upstream_that_wants_a_certificate_and_gets_none(self):
        # In TLS 1.3 the upstream refuses after our side is done: no request may be lost in silence.
        before = self.handshakes("alert_")
        for _ in range(3):
            problem = self.assert_problem(self.send("GET", "/stranger"), 502, "^upstream_tls$")
            self.assertRegex(problem["detail"], ": alert_(certificate_required|116)$")
        self.assertEqual(self.servers["mutual"].requests, [])
        self.recast.says(re.compile("upstream stranger: TLS with 127.0.0.1:[0-9]+ failed: alert_"))
        self.assertGreater(self.handshakes("alert_"), before)

    def handshakes(self, prefix):
        """Those with upstreams whose result begins so."""
        lines = re.findall(r"^recast_tls_handshakes_total\{(.*)\} ([0-9]+)$", self.admin.get("/metrics").decode(), re.M)
        return sum(int(count) for labels, count in lines if 'side="upstream"' in labels and f'result="{prefix}' in labels)

    def test_sessions_with_upstreams_are_taken_up_again(self):
        server = self.servers["server"]
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(fields=("Connection: close",)))
        # May go over a connection that an earlier test has left, and ends it.
        for _ in range(2):
            self.assertEqual(self.send("GET", "/good").status, 200)
        before = len(server.sessions)
        for _ in range(2):
            self.assertEqual(self.send("GET", "/good").status, 200)
        self.assertEqual(server.sessions[before:], [True, True])

    def test_row_51_what_ends_with_the_connection_is_complete_with_close_notify_only(self):
        server = self.servers["server"]

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
            if exchange.received.fields.get("x-clean"):
                try:
                    exchange.connection.unwrap()
                except OSError:
                    pass
            exchange.close()

        server.script = script
        answer = self.send("GET", "/good", fields=("X-Clean: yes",))
        self.assertEqual((answer.status, answer.body), (200, b"all of it"))
        with self.assertRaises(Closed):
            answer = self.send("GET", "/good")
            self.fail(f"{answer.status} {answer.body!r} looks complete")

    def test_row_51_a_length_that_was_reached_is_complete(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer()
            exchange.close()

        self.servers["server"].script = script
        self.assertEqual(self.send("GET", "/good").body, b"ok")

    def test_row_52_a_reset_is_no_end(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na part")
            exchange.reset()

        self.servers["server"].script = script
        with self.assertRaises(Closed):
            answer = self.send("GET", "/good")
            if answer.status == 502:
                raise Closed
            self.fail("it looks complete")


class PiecedTicketServer:
    """Serves one request over TLS 1.3. Of its tickets, each of which takes two records, it sends the first record, and the rest when it
    has heard nothing for a while: then a client that wants to write can't, as OpenSSL writes nothing in the middle of a message."""

    SET_MAX_SEND_FRAGMENT = 52  # SSL_CTRL_SET_MAX_SEND_FRAGMENT of openssl/ssl.h, which Python has no name for

    def __init__(self):
        # The tickets have the client's certificate.
        self.context = certificates().server_context(client_ca="ca")
        library = ctypes.CDLL(ssl._ssl.__file__)
        library.SSL_CTX_ctrl.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p)
        library.SSL_CTX_ctrl.restype = ctypes.c_long
        pointer = ctypes.c_void_p.from_address(id(self.context) + object.__basicsize__).value
        assert library.SSL_CTX_ctrl(pointer, self.SET_MAX_SEND_FRAGMENT, 512, None) == 1
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.changed = threading.Condition()
        self.got, self.was_silent, self.is_over = 0, False, False
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self):
        self.listener.close()

    def _note(self, **values):
        with self.changed:
            self.__dict__.update(values)
            self.changed.notify_all()

    def _serve(self):
        connection, _ = self.listener.accept()
        with connection:
            try:
                self._speak(connection)
            except OSError:
                pass
            self._note(is_over=True)

    def _speak(self, connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured = self.context.wrap_bio(incoming, outgoing, server_side=True)
        connection.settimeout(DEADLINE)
        while True:
            try:
                secured.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
        tickets = outgoing.read()
        first = 5 + int.from_bytes(tickets[3:5], "big")
        connection.sendall(tickets[:first])
        connection.settimeout(0.3)
        request = b""
        while True:
            try:
                while piece := secured.read(65536):
                    request += piece
            except ssl.SSLWantReadError:
                self._note(got=len(request))
            if b"END" in request:
                break
            try:
                piece = connection.recv(65536)
                if not piece:
                    return
                incoming.write(piece)
            except TimeoutError:
                self._note(was_silent=True)
                connection.settimeout(DEADLINE)
                connection.sendall(tickets[first:])
        secured.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        connection.sendall(outgoing.read())
        connection.recv(65536)

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition() or self.is_over, DEADLINE), "nothing came of it"


class PiecedTicketTests(unittest.TestCase):
    def test_what_is_written_between_two_records_of_a_ticket_waits_for_the_second(self):
        server = PiecedTicketServer()
        self.addCleanup(server.stop)
        proxy = Recast(
            "  - { name: all, match: /*, upstream: app }\n",
            {"app": f"{{ address: 127.0.0.1:{server.port}, tls: {{ ca: {path('ca.pem')}, name: a.example, {pair('client')} }} }}"})
        self.addCleanup(proxy.remove)
        self.addCleanup(lambda: self.assertEqual(proxy.stop(), 0))
        with Client(proxy.port) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            server.wait(lambda: server.got > 0)
            # Each is on its way when the next one is written, until one has to wait.
            while not server.was_silent and not server.is_over:
                before = server.got
                client.send(b"4\r\nmore\r\n")
                server.wait(lambda: server.got > before or server.was_silent)  # noqa: B023
            client.send(b"3\r\nEND\r\n0\r\n\r\n")
            response = client.response()
        self.assertEqual((response.status, response.body), (200, b"ok"))


if __name__ == "__main__":
    unittest.main()
