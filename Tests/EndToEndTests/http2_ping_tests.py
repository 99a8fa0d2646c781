"""Peers of HTTP/2 that are gone without a word: while a request is on its way, a PING asks whether they are there."""

import threading

from admin import Admin, admin_port
from ext_proc_client import ExtProcTestCase, Processing
from ext_proc_client import pseudo as processed
from harness import DEADLINE, FORM, Recast
from http2_client import ACK, PING, HTTP2Client, HTTP2TestCase, ping, pseudo, window_update
from http2_upstream_support import HTTP2ServerTestCase
from lifecycle_support import wait_until

SETTINGS = "http2: { ping: 1s }\ntimeouts: { keep_alive: 2s }\n"


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

    def test_many_questions_at_once_are_answered(self):
        """As many as a peer may ask at once (docs/http2.md), in one read or in many."""
        for count in (99, 100, 101, 150, 900):
            with self.subTest(count):
                client = self.http2()
                stream = client.request()
                client.send(ping(b"whatever") * count)
                client.until(lambda: sum(kind == PING and flags & ACK for kind, flags, _ in client.frames) == count)  # noqa: B023
                self.release.set()
                self.assertEqual(client.response(stream).status, 200)
                self.release.clear()

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


class IdleTests(HTTP2TestCase):
    """How long a connection without a request is kept: what it had counts, however soon it was answered."""
    routes = '  - { name: plain, match: "/plain*", upstream: app }\n'

    def at_once(self, client):
        """Answered here, in the tick in which it came."""
        stream = client.open(pseudo("OPTIONS", "*"))
        self.assertEqual(client.response(stream).status, 204)

    def clients(self, settings):
        """One that had an answer, and one that has asked for nothing."""
        recast = Recast(self.routes, {"app": f"127.0.0.1:{self.upstream.port}"}, settings=settings)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        busy, silent = HTTP2Client(recast.port), HTTP2Client(recast.port)
        self.addCleanup(busy.socket.close)
        self.addCleanup(silent.socket.close)
        self.at_once(busy)
        return busy, silent

    def test_a_connection_that_had_a_request_outlives_one_that_had_none(self):
        busy, silent = self.clients("timeouts: { header: 1500ms, keep_alive: 60s }\n")
        for _ in range(3):
            silent.rest()  # its time for a first request is over, and so is that of the other
            self.at_once(busy)
            silent = HTTP2Client(silent.socket.getpeername()[1])
            self.addCleanup(silent.socket.close)

    def test_a_connection_that_had_a_request_ends_when_it_is_idle(self):
        busy, silent = self.clients("timeouts: { header: 60s, keep_alive: 500ms }\n")
        busy.rest()
        self.at_once(silent)


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


class UpstreamPingTests(HTTP2ServerTestCase):
    """Upstreams that say nothing for long: a server of gRPC ends a connection whose client asks more often (grpc_tests has one)."""

    @staticmethod
    def asked(server):
        """How often it was asked for a sign of life."""
        return sum(kind == PING and not flags & ACK for connection in server.connections for kind, flags, _ in connection.events)

    def test_a_silence_is_asked_about_twice(self):
        server = self.server()
        server.hold(self)
        self.proxy(server, routes="  - { name: all, match: '/*', upstream: app, timeouts: { first_byte: 3s } }\n",
                   settings="http2: { ping: 500ms }\n")
        self.assertEqual(self.send().status, 504)
        self.assertEqual(self.asked(server), 2)

    def test_the_next_silence_is_asked_about_again(self):
        server, speak = self.server(), threading.Semaphore(0)

        def script(exchange):
            exchange.read_body()
            exchange.respond(200)
            for _ in range(3):
                speak.acquire(timeout=DEADLINE)
                exchange.content(b"x")
            exchange.content(b"", end=True)

        server.script = script
        self.proxy(server, settings="http2: { ping: 500ms }\n")
        client = self.begin()
        for count in (2, 4, 6):
            wait_until(f"{count} questions", lambda: self.asked(server) >= count)  # noqa: B023
            speak.release()
        self.assertEqual(client.response().body, b"xxx")

    def test_what_a_slow_client_takes_later_is_no_word_of_the_server(self):
        """It has come before the silence was asked about."""
        server, is_sent = self.server(), threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.respond(200)
            exchange.content(bytes(140_000))
            is_sent.set()
            exchange.stream.wait_for_cut()

        server.script = script
        proxy = self.proxy(server, routes="  - { name: all, match: '/*', upstream: app, timeouts: { gap: 3s } }\n",
                           settings="http2: { ping: 500ms }\n")
        client = HTTP2Client(proxy.port, window=1, gives=False)
        self.addCleanup(client.socket.close)
        stream = client.request()
        self.assertTrue(is_sent.wait(DEADLINE))
        wait_until("it is asked twice", lambda: self.asked(server) == 2)
        client.send(window_update(0, 1 << 20) + window_update(stream, 1 << 20))
        self.assertEqual(len(client.over(stream).body), 140_000)
        self.assertEqual(self.asked(server), 2)
