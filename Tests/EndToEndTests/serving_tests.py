"""The ways to reach Recast and its upstreams: several workers, unix sockets, names."""

import os
import signal
import tempfile

from harness import DEADLINE, FORM, Client, ProxyTestCase, Upstream


class ServingTests(ProxyTestCase):
    workers = 2
    routes = """
  - { name: local, match: "/local/*", upstream: local, request: form -> json }
  - { name: socket, match: "/socket/*", upstream: socket, request: form -> json }
  - { name: nameless, match: "/nameless/*", upstream: nameless }
  - { name: form-json, match: "/*", upstream: app, request: form -> json }
"""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "app.sock")
        cls.unix, cls.local = Upstream(path=path), Upstream()
        cls.addClassCleanup(cls.unix.stop)
        cls.addClassCleanup(cls.local.stop)
        cls.further_upstreams = {
            "socket": f"unix:{path}", "local": f"localhost:{cls.local.port}", "nameless": "no-such-name.invalid:80"}
        super().setUpClass()

    def test_two_workers_serve_many_connections(self):
        clients = [self.client() for _ in range(40)]
        for number, client in enumerate(clients * 2):
            client.request("POST", "/x", b"n=%d" % number, FORM)
        for client in clients * 2:
            self.assertEqual(client.response().status, 200)
        seen = self.upstream.wait_for(80)
        self.assertEqual(sorted(int(received.json["n"]) for received in seen), list(range(80)))

    def test_an_upstream_may_be_a_name_that_has_several_addresses(self):
        self.local.reset()
        for _ in range(3):
            self.assertEqual(self.send("POST", "/local/x", b"a=1", FORM).status, 200)
        self.assertEqual([received.json for received in self.local.wait_for(3)], [{"a": "1"}] * 3)

    def test_a_name_that_does_not_exist_is_a_503(self):
        self.assertEqual(self.send("GET", "/nameless/x").status, 503)

    def test_listener_and_upstream_may_be_unix_sockets(self):
        self.unix.reset()
        with Client(self.recast.path) as client:
            for _ in range(2):
                client.request("POST", "/socket/x", b"a=1", FORM)
                self.assertEqual(client.response().status, 200)
        first, second = self.unix.wait_for(2)
        self.assertEqual((first.json, first.connection_number), ({"a": "1"}, second.connection_number))
        # A unix socket's client has no address to tell of.
        self.assertNotIn("x-forwarded-for", first.fields)


class DrainTests(ProxyTestCase):
    workers = 2
    routes = """
  - { name: form-json, match: "/*", upstream: app, request: form -> json }
"""

    def test_sigterm_lets_an_upload_finish_and_says_that_the_connection_ends(self):
        client = self.client()
        body = b"&".join(b"f%d=%s" % (number, b"x" * 300) for number in range(900))
        client.send(f"POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n")
        client.send(body[:150_000])
        idle = self.client()
        idle.request("GET", "/x")
        self.assertEqual(idle.response().status, 200)
        self.recast.process.send_signal(signal.SIGTERM)
        self.assertTrue(idle.is_closed())
        self.assertIsNone(self.recast.process.poll())
        client.send(body[150_000:])
        response = client.response()
        self.assertEqual((response.status, response.fields.get("connection")), (200, "close"))
        self.assertTrue(client.is_closed())
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)
