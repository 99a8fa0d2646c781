"""TLS with upstreams: which of them are believed, and where what they send ends."""

import ssl
import unittest

from harness import FORM, Closed, ProxyTestCase, free_port
from tls_support import TLSUpstream, certificates, pair, path, pin


class UpstreamsTests(ProxyTestCase):
    """What an upstream may be and do."""

    @classmethod
    def setUpClass(cls):
        cls.servers = {name: TLSUpstream(certificates().server_context(name)) for name in ("server", "expired", "self")}
        cls.servers["mutual"] = TLSUpstream(certificates().server_context(client_ca="ca"))
        cls.servers["old"] = TLSUpstream(certificates().server_context(version=ssl.TLSVersion.TLSv1_2))
        for server in cls.servers.values():
            cls.addClassCleanup(server.stop)
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
            "old": ("old", f"{ca}, min_version: '1.3'"),
        }
        cls.further_upstreams = {
            name: f"{{address: 'localhost:{cls.servers[server].port}', idle: 100ms, tls: {'{' + tls + '}' if tls else 'true'}}}"
            for name, (server, tls) in table.items()}
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

    def test_a_failed_handshake_is_flagged(self):
        self.send("GET", "/wrong-name")
        count = 1
        while not (lines := [line for line in self.recast.log_lines(count) if line.get("path") == "/wrong-name"]):
            count += 1
        self.assertEqual(lines[0]["flags"], "UF")

    def test_an_upstream_that_wants_a_certificate_and_gets_none(self):
        # In TLS 1.3 the upstream refuses after our side is done: no request may be lost in silence.
        self.assertIn(self.send("GET", "/stranger").status, (502,))
        self.assertEqual(self.servers["mutual"].requests, [])

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


if __name__ == "__main__":
    unittest.main()
