"""Clients of HTTP/2 that are gone without a word: while a request of theirs is on its way, a PING asks whether they are there."""

from admin import Admin, admin_port
from ext_proc_client import ExtProcTestCase, Processing
from ext_proc_client import pseudo as processed
from harness import FORM
from http2_client import ACK, PING, HTTP2TestCase, ping
from lifecycle_support import wait_until

SETTINGS = "http2: { ping: 200ms }\ntimeouts: { keep_alive: 1s }\n"


def asked(client):
    """How often the server has asked for a sign of life."""
    return sum(kind == PING and not flags & ACK for kind, flags, _ in client.frames)


class PingTests(HTTP2TestCase):
    routes = '  - { name: plain, match: "/plain*", upstream: app }\n'

    @classmethod
    def setUpClass(cls):
        port, line = admin_port()
        cls.admin, cls.settings = Admin(port), SETTINGS + line
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.release = self.upstream.hold(self)

    def test_a_client_that_answers_waits_for_as_long_as_it_wants(self):
        client = self.http2()
        stream = client.request()
        self.upstream.wait_for()
        client.until(lambda: asked(client) >= 4)
        self.release.set()
        self.assertEqual(client.response(stream).status, 200)
        self.assertEqual(client.goaways, [])

    def test_anything_that_comes_is_a_sign_of_life(self):
        """As in gRPC: who is about to send needn't answer first."""
        client = self.http2()
        client._answer = lambda data: None  # no acknowledgement, of PING or of anything
        stream = client.request()
        self.upstream.wait_for()
        for count in range(1, 5):
            client.until(lambda: asked(client) >= count)
            client.send(ping(b"anything"))
        self.release.set()
        self.assertEqual(client.response(stream).status, 200)

    def test_a_client_that_is_gone(self):
        for begins in (1, 3):  # requests on their way
            with self.subTest(begins):
                gone = self.count_of_gone()
                client = self.http2()
                client._answer = lambda data: None
                for number in range(begins):
                    client.request(fields=[("x-request-id", f"gone-{begins}-{number}")])
                client.rest()
                self.assertEqual(asked(client), 1)
                for number in range(begins):
                    entry = self.recast.log_entry(f"gone-{begins}-{number}")
                    self.assertEqual((entry["status"], entry["flags"]), (499, "CD"))
                wait_until("it is counted", lambda: self.count_of_gone() == gone + 1)

    def count_of_gone(self):
        return self.admin.metrics().sum("recast_timeouts_total", kind="ping")

    def test_a_connection_without_a_request_is_not_asked(self):
        client = self.http2()
        self.release.set()
        self.assertEqual(client.exchange().status, 200)
        client.rest()
        self.assertEqual(asked(client), 0)


class ProcessingPingTests(ExtProcTestCase):
    """A data plane that is gone would leave its calls behind for ever, since they have no times of their own."""

    routes = "  - { name: form-json, match: /form-json, upstream: app, request: form -> json }\n"
    settings = SETTINGS

    def begin(self, name):
        client = self.connect()
        call = Processing(client)
        call.headers("request", processed("POST", "/form-json", FORM, [("x-request-id", name)]))
        call.body("request", b"a=1")
        return client, call

    def test_a_data_plane_that_is_gone(self):
        client, _ = self.begin("gone")
        client._answer = lambda data: None
        client.rest()
        entry = self.recast.log_entry("gone")
        self.assertEqual((entry["status"], entry["flags"]), (499, "CD"))

    def test_one_that_is_there(self):
        client, call = self.begin("there")
        client.until(lambda: asked(client) >= 4)
        call.body("request", b"&b=2", end=True)
        self.assertEqual(call.take_streamed("request", call.take_headers("request", [])).json, {"a": "1", "b": "2"})
