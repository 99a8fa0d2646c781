"""Many streams on one connection of HTTP/2: times, and how a connection ends."""

import itertools
import signal
import threading
import time

from admin import Admin, admin_port
from harness import DEADLINE, Client, Closed
from http2_client import (ACK, END_HEADERS, END_STREAM, HEADERS, LAST_OF_ALL, NO_ERROR, PING, PREFACE, REFUSED_STREAM, HTTP2Client, block,
                          frame, ping, pseudo, settings, window_update)
from http2_stream_tests import MIB, StreamTestCase, repeat
from lifecycle_support import DrainTestCase, count_lines, descriptors, reload, wait_until


# Seconds: earlier than anything would end by itself, whose shortest time is 10 s, and later than a busy machine takes to end it.
SOON = 8


class TimeTests(StreamTestCase):
    settings = "timeouts: { header: 1500ms, keep_alive: 1s, body_gap: 1s }\n"

    @classmethod
    def setUpClass(cls):
        port, line = admin_port()
        cls.admin = Admin(port)
        cls.settings += line
        super().setUpClass()

    def ends_by_itself(self, client, code=NO_ERROR):
        started = time.monotonic()
        self.assertEqual(client.rest(), code)
        self.assertLess(time.monotonic() - started, SOON)

    def test_an_idle_connection_gets_goaway(self):
        with self.http2() as client:
            stream = client.request()
            self.assertEqual(client.response(stream).status, 200)
            self.ends_by_itself(client)
            self.assertEqual(client.goaways[-1], (stream, NO_ERROR))

    def test_pings_keep_no_connection(self):
        with self.http2() as client:
            client.exchange()
            until = time.monotonic() + SOON
            try:
                while not client.goaways and time.monotonic() < until:
                    client.pause()
                    threading.Event().wait(0.05)
            except (OSError, Closed):  # it may end between two of them
                pass
            self.assertLess(time.monotonic(), until)
            client.rest()
            self.assertEqual(client.goaways[-1][1], NO_ERROR)

    def test_a_connection_without_a_request_ends(self):
        with self.http2() as client:
            self.ends_by_itself(client)

    def test_a_preface_that_never_ends(self):
        """As a head of HTTP/1 that never ends: 408, or nothing but the end."""
        for text in (b"P", b"PRI * HTTP/2.0\r\n", PREFACE[:-1]):
            with self.subTest(text), self.http2(hello=False) as client:
                client.send(text)
                client.socket.settimeout(SOON)
                self.assertIn(client.socket.recv(1000)[:12], (b"", b"HTTP/1.1 408"))

    def test_a_head_that_never_ends(self):
        with self.http2() as client:
            client.send(frame(1, 1, 1, block(pseudo())))
            client.rest()
        with self.http2() as client:
            client.send(frame(1, 5, 1, block(pseudo()))[:-3])
            client.rest()
        self.assert_untouched()

    def test_a_head_that_never_ends_while_a_response_waits(self):
        """That the client takes nothing of what waits for it is one thing, and that it doesn't end its head is another."""
        let = self.upstream.hold(self, lambda exchange: exchange.answer(body=bytes(64 * MIB)))
        begun = frame(HEADERS, END_STREAM, 3, block(pseudo()))
        for is_first in (True, False):
            with self.subTest(is_first=is_first), self.http2(window=LAST_OF_ALL, receive_buffer=4096) as client:
                before = self.admin.metrics().sum("recast_timeouts_total", kind="head")
                client.send(window_update(0, LAST_OF_ALL - 65_535))
                client.request()
                if is_first:
                    client.send(begun)
                let.set()
                if not is_first:
                    client.until(lambda: client.streams[1].body)
                    client.send(begun)
                # The client reads nothing meanwhile.
                wait_until("the head's time is over",
                           lambda: self.admin.metrics().sum("recast_timeouts_total", kind="head") == before + 1)  # noqa: B023
                let.clear()

    def test_each_head_has_its_own_time(self):
        """One that begins in the bytes that end another doesn't inherit what that one has used up."""
        first, second = (frame(HEADERS, END_STREAM | END_HEADERS, stream, block(pseudo())) for stream in (1, 3))
        with self.http2() as client:
            client.pause()
            client.blind = True
            client.send(first[:-3])
            self.assertFalse(client.more(0.5), "something came before the head was whole")
            began = time.monotonic()
            client.send(first[-3:] + second[:-3])
            client.rest()
            # Not the second that is left of the first one's.
            self.assertGreaterEqual(time.monotonic() - began, 1.4)
            self.assertIn((HEADERS, END_HEADERS, 1), client.frames)

    def test_a_busy_connection_isn_t_idle(self):
        def script(exchange):
            exchange.read_body()
            threading.Event().wait(2)
            exchange.answer()

        self.upstream.script = script
        with self.http2() as client:
            self.assertEqual(client.exchange().status, 200)
            self.assertEqual(client.goaways, [])

    def test_a_busy_connection_isn_t_idle_whatever_else_was_sent(self):
        """The time of an idle connection ends with a request, also where the server has something to say in the same moment."""
        def script(exchange):
            exchange.read_body()
            threading.Event().wait(2)
            exchange.answer()

        self.upstream.script = script
        for name, beside in (("a ping", lambda client: client.send(ping())),
                             ("a request that is refused", lambda client: client.request(path="/nowhere")),
                             ("settings", lambda client: client.send(settings([(1, 4096)])))):
            for first in (True, False):
                with self.subTest(name, first=first), self.http2(hello=False) as client:
                    if not first:
                        client.hello()
                        client.exchange(path="/nowhere")
                    with client.at_once():
                        if first:
                            client.hello()
                        beside(client)
                        stream = client.request()
                    threading.Event().wait(1.8)  # nothing more comes from the client meanwhile
                    self.assertEqual(client.response(stream).status, 200)
                    self.assertEqual(client.goaways, [])

    def test_a_request_that_comes_as_the_idle_time_ends(self):
        """It is served, or GOAWAY says that it isn't: the client knows whether to send it again (RFC 9113 section 6.8)."""
        for _ in range(5):
            with self.http2() as client:
                client.exchange()
                self.recast.process.send_signal(signal.SIGSTOP)
                try:
                    streams = [client.request() for _ in range(3)]
                    threading.Event().wait(1.2)
                finally:
                    self.recast.process.send_signal(signal.SIGCONT)
                for stream in streams:
                    record = client.over(stream)
                    if not record.ended:
                        self.assertTrue(record.reset == REFUSED_STREAM or client.goaways and client.goaways[-1][0] < stream,
                                        (stream, record.reset, client.goaways))

    def test_content_that_stops(self):
        with self.http2() as client:
            stream = client.request("POST", end=False)
            client.content(stream, b"abc", end=False)
            record = client.streams[stream]
            client.until(lambda: record.is_over)
            self.assertIn(record.status, (408, None))
        self.assertFalse(self.upstream.one().is_complete)


class DrainTests(DrainTestCase):
    def hold(self):
        return self.upstream.hold(
            self, lambda exchange: exchange.answer(body=exchange.received.body + exchange.received.target.encode()))

    def test_streams_finish_in_a_drain(self):
        go_on = self.hold()
        recast = self.start()
        with HTTP2Client(recast.port) as client, HTTP2Client(recast.port) as idle:
            self.addCleanup(go_on.set)
            waiting = [client.request(path=f"/plain/{number}") for number in range(30)]
            upload = client.request("POST", "/plain", end=False)
            client.content(upload, b"abc", end=False)
            idle.pause()
            self.upstream.wait_for(31)
            recast.process.send_signal(signal.SIGTERM)
            client.until(lambda: client.goaways)
            self.assertEqual(client.goaways[0], (LAST_OF_ALL, NO_ERROR))
            # One that was on its way.
            late = client.request(path="/plain/late")
            client.until(lambda: len(client.goaways) == 2)
            self.assertEqual(client.goaways[1], (late, NO_ERROR))
            # One that is behind the last: it is no request.
            client.request(path="/plain/too-late")
            go_on.set()
            client.content(upload, b"def")
            for number, stream in enumerate(waiting):
                self.assertEqual(bytes(client.response(stream).body), f"/plain/{number}".encode())
            self.assertEqual(bytes(client.response(late).body), b"/plain/late")
            self.assertEqual(bytes(client.response(upload).body), b"abcdef/plain")
            self.assertEqual(client.rest(), NO_ERROR)
            self.assertEqual(idle.rest(), NO_ERROR)
            self.assertEqual(recast.process.wait(DEADLINE), 0)
        self.assertNotIn("/plain/too-late", [received.target for received in self.upstream.requests])

    def test_no_request_is_lost_under_load(self):
        """Clients that heed GOAWAY and open another connection: each request that was served or not is known."""
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=exchange.received.body))
        recast = self.start(settings="drain_delay: 300ms\n")
        failures, answered = [], []
        signalled = threading.Event()

        def run(name):
            client, number, unsure = None, 0, []
            try:
                while True:
                    if client is None or client.goaways:
                        if client:
                            for stream in unsure:
                                client.response(stream)
                            client.socket.close()
                        try:
                            client = HTTP2Client(recast.port)
                        except ConnectionRefusedError:
                            return
                    number += 1
                    body = f"{name}-{number}".encode()
                    stream = client.request("POST", "/plain", body=body)
                    record = client.over(stream)
                    if record.ended and record.status == 200 and bytes(record.body) == body:
                        answered.append(body.decode())
                    elif client.goaways and client.goaways[-1][0] < stream or record.reset == REFUSED_STREAM:
                        pass  # it says that it wasn't served
                    elif client.closed and not signalled.is_set() or record.is_over or client.goaways:
                        failures.append((body, record.status, record.reset, client.goaways))
                        return
                    else:
                        # A connection that was opened as the listener closed.
                        return failures.append((body, "closed without GOAWAY"))
            except ConnectionError as error:
                if not client.goaways:
                    failures.append((name, repr(error)))

        threads = [threading.Thread(target=run, args=(f"c{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        wait_until("the load runs", lambda: len(answered) > 100)
        signalled.set()
        recast.process.send_signal(signal.SIGTERM)
        self.assertEqual(recast.process.wait(DEADLINE), 0)
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(failures, [])
        seen = [received.body.decode() for received in self.upstream.requests]
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(set(answered), set(seen))

    def test_a_drain_that_takes_too_long_cuts_streams(self):
        self.hold()
        recast = self.start(settings="timeouts: { grace: 1s }\n")
        with HTTP2Client(recast.port) as client:
            stream = client.request()
            upload = client.request("POST", end=False)
            client.content(upload, b"abc", end=False)
            self.upstream.wait_for(2)
            recast.process.send_signal(signal.SIGTERM)
            client.rest()
            self.assertTrue(client.goaways)
            for one in (stream, upload):
                self.assertFalse(client.streams[one].ended and client.streams[one].status == 200)
            recast.process.wait(DEADLINE)
        self.assertFalse(next(one for one in self.upstream.requests if one.method == "POST").is_complete)
        self.assertEqual([(line["status"], line["flags"]) for line in recast.log_lines(2)], [(503, "GT")] * 2)

    def test_a_preface_that_never_ends_holds_up_no_drain(self):
        recast = self.start(settings=f"timeouts: {{ header: 300ms, grace: {2 * DEADLINE}s }}\n")
        with Client(recast.port) as client:
            client.send(PREFACE[:10])
            recast.process.send_signal(signal.SIGTERM)
            self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_heads_that_begin_all_the_time_put_off_no_look_at_what_a_client_takes(self):
        port, line = admin_port()
        recast = self.start(settings=f"timeouts: {{ write: 1s }}\n{line}")
        self.upstream.script = lambda exchange: exchange.answer(body=bytes(64 * MIB))
        admin = Admin(port)
        with HTTP2Client(recast.port, window=LAST_OF_ALL, receive_buffer=4096) as client:
            client.send(window_update(0, LAST_OF_ALL - 65_535))
            first = client.request()
            client.until(lambda: client.streams[first].body)
            # From here on it reads nothing: each head ends in the bytes that begin the next.
            heads = [frame(HEADERS, END_STREAM | END_HEADERS, stream, block(pseudo(path="/nowhere"))) for stream in range(3, 199, 2)]
            until = time.monotonic() + SOON
            try:
                client.send(heads[0][:-3])
                for one, other in itertools.pairwise(heads):
                    self.assertLess(time.monotonic(), until, "it was never cut")
                    threading.Event().wait(0.1)
                    client.send(one[-3:] + other[:-3])
            except OSError:
                pass  # it was cut
            wait_until("it is cut", lambda: admin.metrics().sum("recast_timeouts_total", kind="write") >= 1)
            self.assertEqual(admin.metrics().sum("recast_timeouts_total", kind="head"), 0)
            self.assertLess(time.monotonic(), until)
        recast.stop()

    def test_a_reload_lets_streams_go_on(self):
        go_on = self.hold()
        recast = self.start()
        with HTTP2Client(recast.port) as client:
            waiting = [client.request(path=f"/plain/{number}") for number in range(20)]
            upload = client.request("POST", "/plain", end=False)
            client.content(upload, b"abc", end=False)
            self.upstream.wait_for(21)
            with open(recast.config) as file:
                text = file.read()
            with open(recast.config, "w") as file:
                file.write(text + '  - { name: new, match: "/new", upstream: app }\n')
            reload(recast)
            new = client.request(path="/new")
            go_on.set()
            client.content(upload, b"def")
            for number, stream in enumerate(waiting):
                self.assertEqual(bytes(client.response(stream).body), f"/plain/{number}".encode())
            self.assertEqual(bytes(client.response(upload).body), b"abcdef/plain")
            self.assertEqual(bytes(client.response(new).body), b"/new")
            self.assertEqual(client.goaways, [])
        self.assertEqual(count_lines(recast, "reload: serving"), 1)
        recast.stop()

    def replace(self, old, new):
        """Has the settings read again with something else in them."""
        with open(self.recast.config) as file:
            text = file.read()
        self.assertIn(old, text)
        with open(self.recast.config, "w") as file:
            file.write(text.replace(old, new))
        reload(self.recast)

    def test_requests_on_a_connection_that_is_there_follow_a_reload(self):
        self.upstream.script = repeat
        recast = self.start(workers=1, settings="limits: { header_fields: 100 }\n")
        many = [(f"x-{number}", "a") for number in range(10)]
        with HTTP2Client(recast.port) as client:
            for _ in range(2):
                self.assertEqual([client.exchange(fields=many).status, client.exchange(path="/plain|").status], [200, 200])
                self.replace("limits: { header_fields: 100 }\n", "limits: { header_fields: 10 }\ntarget_characters: strict\n")
                self.assertEqual([client.exchange(fields=many).status, client.exchange(path="/plain|").status], [431, 400])
                self.assertEqual(client.exchange(fields=many[:9]).status, 200)
                self.replace("limits: { header_fields: 10 }\ntarget_characters: strict\n", "limits: { header_fields: 100 }\n")
            self.assertEqual(client.goaways, [])
        recast.stop()

    def test_a_connection_ends_by_the_number_of_requests_of_a_reload(self):
        self.upstream.script = repeat
        recast = self.start(workers=1, settings="http2: { requests: 1000 }\n")
        with HTTP2Client(recast.port) as client, HTTP2Client(recast.port) as other:
            for _ in range(3):
                client.exchange()
            other.exchange()
            self.replace("requests: 1000", "requests: 2")
            for one in (client, other):
                self.assertEqual(one.exchange().status, 200)
                self.assertEqual(one.rest(), NO_ERROR)
                self.assertEqual(one.goaways[0], (LAST_OF_ALL, NO_ERROR))
        recast.stop()

    def test_a_connection_whose_client_was_told_of_other_limits_ends_behind_a_reload(self):
        self.upstream.script = repeat
        recast = self.start(workers=1, settings="http2: { streams: 100 }\n")
        for new in ("streams: 99", "streams: 99, stream_window: 32KiB", "streams: 99, connection_window: 2MiB"):
            with self.subTest(new), HTTP2Client(recast.port) as client:
                client.exchange()
                self.replace("streams: 100", new)
                self.assertEqual(client.exchange().status, 200)
                self.assertEqual(client.rest(), NO_ERROR)
                self.assertEqual(client.goaways[0], (LAST_OF_ALL, NO_ERROR))
                self.replace(new, "streams: 100")
        recast.stop()

    def test_a_connection_that_is_there_is_asked_for_a_sign_of_life_by_the_time_of_a_reload(self):
        go_on = self.hold()
        recast = self.start(workers=1, settings="http2: { ping: 1h }\n")
        with HTTP2Client(recast.port) as client:
            client.pause()
            self.replace("ping: 1h", "ping: 200ms")
            stream = client.request()
            client.until(lambda: any(kind == PING and not flags & ACK for kind, flags, _ in client.frames))
            go_on.set()
            self.assertEqual(client.response(stream).status, 200)
        recast.stop()

    def test_so_is_one_with_a_request_that_was_on_its_way(self):
        """From the next bytes on: before those nothing asks for the settings."""
        go_on = self.hold()
        recast = self.start(workers=1, settings="http2: { ping: 1h }\n")
        with HTTP2Client(recast.port) as client:
            stream = client.request()
            self.upstream.wait_for()
            self.replace("ping: 1h", "ping: 200ms")
            client.pause()
            client.until(lambda: any(kind == PING and not flags & ACK for kind, flags, _ in client.frames))
            go_on.set()
            self.assertEqual(client.response(stream).status, 200)
        recast.stop()

    def test_nothing_is_left_open(self):
        self.upstream.script = repeat
        recast = self.start()
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            client.response()
        before = descriptors(recast.process)
        for _ in range(3):
            clients = [HTTP2Client(recast.port) for _ in range(20)]
            for client in clients:
                for _ in range(5):
                    client.request("POST", end=False)
                client.socket.close()
            wait_until("all have gone", lambda: descriptors(recast.process) <= before + 10)
        recast.stop()
