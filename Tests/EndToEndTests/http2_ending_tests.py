"""Ends that come right behind what was sent: whole answers in front of an upload's end, and connections that close at once."""

import json
import signal
import socket
import threading
import time

from harness import DEADLINE, FORM, JSON, Recast, Upstream
from http2_client import DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, LAST_OF_ALL, NO_ERROR, PREFACE, REFUSED_STREAM, \
    HTTP2Client, block, frame, ping, settings, window_update
from http2_upstream_support import ROUTES, HTTP2ServerTestCase, repeat
from lifecycle_support import DrainTestCase, wait_until


class EarlyAnswerTests(HTTP2ServerTestCase):
    def test_the_end_of_an_upload_comes_alone_behind_a_whole_response(self):
        """Nothing but END_STREAM, or trailers, is left of the request: it goes out, and nothing is given up."""
        server, size = self.server(), 50_000

        def script(exchange):
            exchange.reader.exactly(size)
            exchange.answer(413, b"enough")

        server.script = script
        self.proxy(server, routes="  - { name: plain, match: \"/*\", upstream: app, trailers: [X-Sum] }\n")
        for trailers in ([], [("x-sum", "1")]):
            with self.subTest("from HTTP/1", trailers=trailers):
                client = self.begin("POST", "/", None, ["Transfer-Encoding: chunked"])
                client.send(b"%x\r\n%s\r\n" % (size, bytes(size)))
                self.assertEqual(client.response().status, 413)
                client.send("0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in trailers) + "\r\n")
                self.check_end(server.requests[-1], size, trailers)
            with self.subTest("from HTTP/2", trailers=trailers), HTTP2Client(self.recast.port) as client:
                stream = client.request("POST", end=False)
                client.content(stream, bytes(size), end=False)
                record = client.streams[stream]
                client.until(lambda: record.ended)  # noqa: B023
                self.assertEqual(record.status, 413)
                if trailers:
                    client.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, block(trailers)))
                else:
                    client.content(stream, b"", end=True)
                self.check_end(server.requests[-1], size, trailers)
        server.script = repeat
        self.assertEqual(self.send().status, 200)
        self.assertEqual(server.connection_count, 1)

    def test_an_upload_goes_on_behind_a_whole_response(self):
        """The server has said all when the head has come, and reads what follows: the exchange ends with the upload, and is logged."""
        server, size, reads = self.server(window=20_000), 40_000, threading.Event()
        self.addCleanup(reads.set)

        def script(exchange):
            exchange.answer(body=exchange.received.target.encode())
            reads.wait(DEADLINE)
            exchange.read_body()

        server.script = script
        self.proxy(server, routes="  - { name: form-json, match: /form-json, upstream: app, request: form -> json }\n" + ROUTES)
        body, count = b"a=" + b"x" * (size - 2), 0
        # Where all of a request was read of which the server has taken half, its client's connection goes on.
        for path, first in (("/plain", 0), ("/plain", size // 2), ("/plain", size - 1), ("/plain", size), ("/form-json", size)):
            reads.clear()
            client = self.begin("POST", path, None, [f"Content-Length: {size}"], FORM)
            client.send(body[:first])
            response = client.response()
            self.assertEqual(response.body, path.encode())
            client.send(body[first:])
            goes_on = response.fields.get("connection") != "close"
            # Whether all of it was read before the answer came is for the kernel to say, where it was sent.
            self.assertTrue(first == size or not goes_on)
            if goes_on:
                client.request("GET", "/second")
            reads.set()
            if goes_on:
                self.assertEqual(client.response().body, b"/second")
            reads.clear()
            with HTTP2Client(self.recast.port) as client:
                stream = client.request("POST", path, [("content-type", FORM), ("content-length", str(size))], end=False)
                client.content(stream, body[:first], end=first == size)
                record = client.streams[stream]
                client.until(lambda: record.ended)  # noqa: B023
                if first < size:
                    client.content(stream, body[first:])
                reads.set()
                count += 2 + goes_on
                self.wait_for_metric(count, "recast_requests_total")
            came = body if path == "/plain" else b'{"a":"%s"}' % body[2:]
            self.check_end(server.requests[-1], len(came), [])
        self.wait_for_metric(0, "recast_inflight_requests")

    def early_server(self):
        """A server that answers at once, and reads when the event that is returned is set."""
        server, reads = self.server(window=20_000), threading.Event()
        self.addCleanup(reads.set)

        def script(exchange):
            exchange.answer(body=b"early")
            reads.wait(DEADLINE)
            exchange.read_body()

        server.script = script
        return server, reads

    def waiting(self, settings="", streams=100):
        """As above, behind a proxy here that takes more of an upload than waits for the server's window."""
        server, reads = self.early_server()
        self.proxy(server, routes="  - { name: converted, match: /converted, upstream: app, request: form -> json }\n"
                   "  - { name: slow, match: /slow, upstream: app, rate: { request: 1MiB/s } }\n" + ROUTES,
                   settings=f"http2: {{ streams: {streams}, stream_window: 256KiB }}\n" + settings)
        return server, reads

    def test_what_waits_of_an_upload_goes_on_when_its_stream_is_over(self):
        """Both sides have said all, and part of the request waits here for the server: its stream is over, and its client may be, too."""
        server, reads = self.waiting()
        fields = [(f"a{number}", "x" * 1000) for number in range(200)]
        body, count = "&".join(f"{name}={value}" for name, value in fields).encode(), 0
        for path in ("/plain", "/converted", "/slow"):
            for ends_before in (False, True):
                for stays in (True, False):
                    if path == "/converted" and not ends_before:
                        continue  # nothing goes out before the form is whole
                    with self.subTest(path, ends_before=ends_before, stays=stays):
                        reads.clear()
                        client = HTTP2Client(self.recast.port)
                        stream = client.request("POST", path, [("content-type", FORM)], body=body, end=ends_before)
                        record = client.streams[stream]
                        client.until(lambda: record.ended)  # noqa: B023
                        self.assertEqual((record.status, record.reset), (200, None))
                        if not ends_before:
                            client.content(stream, b"", end=True)
                        client.pause()
                        if not stays:
                            client.socket.close()
                        reads.set()
                        came = json.dumps(dict(fields), separators=(",", ":")).encode() if path == "/converted" else body
                        self.check_end(server.requests[-1], len(came), [])
                        wait_until("the server has read it", lambda: server.requests[-1].body == came)  # noqa: B023
                        count += 1
                        self.wait_for_metric(count, "recast_requests_total", code="200")
                        self.wait_for_metric(0, "recast_inflight_requests")
                        if stays:
                            self.assertEqual(client.exchange().body, b"early")
                            count += 1
                            client.socket.close()
        self.wait_for_metric(0, "recast_connections", side="client")

    def test_a_drain_ends_what_waits_of_an_upload_whose_stream_is_over(self):
        self.waiting(settings="timeouts: { grace: 300ms }\n")
        for closes in (False, True):
            client = HTTP2Client(self.recast.port)
            self.addCleanup(client.socket.close)
            record = client.over(client.request("POST", body=bytes(200_000)))
            self.assertEqual((record.status, record.ended), (200, True))
            client.pause()
            if closes:
                client.socket.close()
        self.recast.process.terminate()
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)
        self.assertEqual([line["flags"] for line in self.recast.log_lines(2)], ["GT", "GT"])

    def test_uploads_that_wait_are_as_many_as_streams_may_be(self):
        """Their streams are over, and count no longer: a client must not have any number of them."""
        _, reads = self.waiting(streams=3)
        with HTTP2Client(self.recast.port) as client:
            for _ in range(3):
                record = client.over(client.request("POST", body=bytes(200_000)))
                self.assertEqual((record.status, record.ended), (200, True))
            client.pause()
            self.assertEqual(client.over(client.request()).reset, REFUSED_STREAM)
            reads.set()
            self.wait_for_metric(0, "recast_inflight_requests")
            self.assertEqual(client.exchange().status, 200)

    def test_a_drain_while_an_upload_goes_on_whose_answer_is_out(self):
        """Nothing is left to say to its client, who has gone: the upload goes on to its end, and has its line in the log."""
        (server, reads), size = self.early_server(), 40_000
        self.proxy(server)
        with HTTP2Client(self.recast.port) as client:
            record = client.over(client.request("POST", body=bytes(size)))
            self.assertEqual((record.status, record.ended), (200, True))
        client = self.begin("POST", "/", bytes(size))
        self.assertEqual(client.response().body, b"early")
        client.socket.close()
        self.recast.process.terminate()
        wait_until("it says that it ends", lambda: "draining" in self.recast.error_text())
        reads.set()
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)
        for received in server.requests:
            self.check_end(received, size, [])
        self.assertEqual(len(self.recast.log_lines(2)), 2)


def chunks(body, size=7000):
    pieces = (body[at:at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class ClosedBehindTests(HTTP2ServerTestCase):
    """The FIN is read while bytes wait here that came before it: first they are looked at.

    Whether it comes so is for the kernel to say, in nine of ten cases of this size, so each is tried a few times."""

    times, size = 10, 300_000

    def in_front_of(self, script, routes):
        upstream = Upstream()
        upstream.script = script
        self.addCleanup(upstream.stop)
        self.recast = Recast(routes, {"app": f"127.0.0.1:{upstream.port}"})
        self.addCleanup(self.recast.remove)
        self.addCleanup(lambda: self.assertEqual(self.recast.stop(), 0, self.recast.error_text()))

    def test_a_response_whose_upstream_closes_behind_it(self):
        body = json.dumps({"a": "x" * self.size}, separators=(",", ":")).encode()

        def script(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(body))
            exchange.close()

        self.in_front_of(script, "  - { name: converted, match: /converted, upstream: app, response: json -> json }\n" + ROUTES)
        for path in ("/plain", "/converted"):
            for _ in range(self.times):
                response = self.send(target=path)
                self.assertEqual((response.status, response.body == body), (200, True), path)
                with HTTP2Client(self.recast.port) as client:
                    record = client.over(client.request(path=path))
                self.assertEqual((record.status, record.ended, record.reset, bytes(record.body) == body), (200, True, None, True), path)

    def test_a_request_whose_client_ends_its_side_behind_it(self):
        server = self.server()
        self.proxy(server, routes="  - { name: converted, match: /converted, upstream: app, request: json -> form }\n" + ROUTES)
        body = json.dumps({"a": "x" * self.size}, separators=(",", ":")).encode()
        framings = [("Transfer-Encoding: chunked", chunks(body)), (f"Content-Length: {len(body)}", body)]
        for path, came in (("/plain", body), ("/converted", b"a=" + b"x" * self.size)):
            for framing, content in framings:
                for _ in range(self.times):
                    with self.begin("POST", path, None, [framing], JSON).socket as client:
                        client.sendall(content)
                        client.shutdown(socket.SHUT_WR)
                        self.assertEqual(client.recv(12), b"HTTP/1.1 200", (path, framing))
                    self.assertEqual(server.requests[-1].body.rstrip(b"\r\n ") == came, True, (path, framing))


class LastResponseTests(HTTP2ServerTestCase):
    """A connection ends when the system has all of its last response, which a slow client is still to read while it gives windows back."""

    size = 400_000

    def has_ended(self, client):
        """Whether the proxy's side of the client's connection has sent its end, which waits behind the response."""
        ports = f":{self.recast.port:04X} ", f":{client.socket.getsockname()[1]:04X} 01 "
        with open("/proc/net/tcp") as table:
            return not any(ports[0] in line and ports[1] in line for line in table)

    def test_a_client_that_reads_slowly_gets_all_of_it(self):
        server = self.server()
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * self.size))
        for further, requests in (("http2: { requests: 1 }\n", 1), ("http2: { requests: 2 }\n", 2), ("", 1)):
            self.proxy(server, settings=further)
            with self.subTest(further), HTTP2Client(self.recast.port, window=1 << 30, receive_buffer=4096) as client:
                client.send(window_update(0, 1 << 30))
                for _ in range(requests):
                    stream = client.request()
                self.recast.log_lines(requests)
                if not further:
                    self.recast.process.send_signal(signal.SIGTERM)
                wait_until("the connection ends", lambda: self.has_ended(client))  # noqa: B023
                for record in client.streams.values():
                    client.send(ping() + window_update(0, 1))
                    client.until(lambda: record.is_over)  # noqa: B023
                    self.assertEqual((record.status, record.ended, record.count), (200, True, self.size))
                self.assertEqual(client.rest(), NO_ERROR)
                self.assertEqual(client.goaways, [(LAST_OF_ALL, NO_ERROR), (stream, NO_ERROR)])
            if not further:
                self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_a_client_that_gives_windows_back_is_not_let_go(self):
        """Its own system has all, which it reads slowly: what it sends is answered by no reset, though it takes longer than one that is
        silent may."""
        server = self.server()
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * 30_000))
        self.proxy(server, settings="http2: { requests: 1 }\n")
        with HTTP2Client(self.recast.port, window=1 << 30) as client:
            stream = client.request()
            self.recast.log_lines(1)
            wait_until("the connection ends", lambda: self.has_ended(client))
            until, gone = time.monotonic() + 4.5, threading.Event()
            while time.monotonic() < until:
                client.send(window_update(0, 1))
                gone.wait(0.5)
            self.assertEqual(client.response(stream).count, 30_000)
            self.assertEqual(client.rest(), NO_ERROR)

    def test_a_client_that_takes_its_time_makes_room_for_others(self):
        """Connections that serve requests have all other places."""
        server, begun, gate = self.server(), [], threading.Event()
        server.script = lambda exchange: (begun.append(exchange), len(begun) > 1 and gate.wait(),
                                          exchange.read_body(), exchange.answer(body=b"x" * self.size))
        self.proxy(server, settings="connections: { total: 4 }\nhttp2: { requests: 1 }\ntimeouts: { write: 5m }\n")
        with HTTP2Client(self.recast.port, window=1 << 30, receive_buffer=4096) as client:
            client.send(window_update(0, 1 << 30))
            client.request()
            self.recast.log_lines(1)
            wait_until("the connection ends", lambda: self.has_ended(client))
            statuses = []
            others = [threading.Thread(target=lambda: statuses.append(self.send().status)) for _ in range(4)]
            for other in others:
                other.start()
            try:
                wait_until("all others are served", lambda: len(begun) == 5)
            finally:
                gate.set()
                for other in others:
                    other.join(DEADLINE)
            # None has made room by its own time.
            self.assertEqual(statuses, [200] * 4)

    def test_a_client_that_never_ends_its_side_is_let_go(self):
        self.proxy(self.server(), settings="http2: { requests: 1 }\n")
        with HTTP2Client(self.recast.port) as client:
            self.assertEqual(client.over(client.request()).status, 200)
            self.assertEqual(client.rest(), NO_ERROR)
            self.admin.metrics_when(lambda metrics: metrics.sum("recast_connections", side="client") == 0)


class LastRequestTests(HTTP2ServerTestCase):
    def take(self, listener, begun, ended, result):
        """Answers an upload with its head, and reads it when the proxy's side has ended, giving windows back. Where the connection was
        closed instead, what is sent to it breaks it."""
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(DEADLINE)
            connection.sendall(settings([(INITIAL_WINDOW_SIZE, 1 << 30)]) + window_update(0, 1 << 30))
            reader = connection.makefile("rb", 1024)
            reader.read(len(PREFACE))
            while not result or not result[-1]:
                head = reader.read(9)
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                count = len(reader.read(int.from_bytes(head[:3], "big")))
                if kind == HEADERS:
                    connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x88"))
                    begun.set()
                    ended.wait(DEADLINE)
                elif kind == DATA:
                    connection.sendall(window_update(0, count) if count else ping())
                    result[:] = [sum(result[:1]) + count, flags & END_STREAM]
            connection.sendall(ping())
            reader.read()
            connection.sendall(ping())

    def test_a_server_that_answers_first_gets_all_of_the_upload(self):
        """Also where its own system has all of it before the connection ends."""
        for size, buffer in (400_000, 4096), (30_000, 1 << 20):
            with self.subTest(size), socket.create_server(("127.0.0.1", 0)) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
                port, begun, ended, result = listener.getsockname()[1], threading.Event(), threading.Event(), []
                failures = []

                def serve():
                    try:
                        self.take(listener, begun, ended, result)  # noqa: B023
                    except OSError as failure:
                        failures.append(failure)  # noqa: B023

                server = threading.Thread(target=serve)
                server.start()
                self.proxy(f"127.0.0.1:{port}", upstream="requests_per_connection: 1")
                self.assertEqual(self.send("POST", "/", b"x" * size).status, 200)
                begun.wait(DEADLINE)

                def has_ended():
                    with open("/proc/net/tcp") as table:
                        return not any(f":{port:04X} 01 " in line for line in table)  # noqa: B023

                wait_until("the connection ends", has_ended)
                ended.set()
                server.join(DEADLINE)
                self.assertEqual((result, failures), ([size, END_STREAM], []))


class DelayTests(DrainTestCase):
    def test_a_connection_that_is_made_in_the_delay_hears_of_the_end_with_its_first_request(self):
        """A client of gRPC waits for SETTINGS before it sends, and sends nothing where GOAWAY came with them."""
        recast = self.start(workers=1, settings="drain_delay: 5s\n")
        recast.process.send_signal(signal.SIGTERM)
        wait_until("it drains", lambda: "draining" in recast.error_text())
        with HTTP2Client(recast.port) as client, HTTP2Client(recast.port) as silent:
            client.until(lambda: client.server_settings)
            client.pause()
            self.assertEqual(client.goaways, [])
            stream = client.request()
            self.assertEqual(client.response(stream).status, 200)
            client.until(lambda: client.goaways)
            self.assertEqual(client.rest(), NO_ERROR)
            self.assertEqual(client.goaways, [(LAST_OF_ALL, NO_ERROR), (stream, NO_ERROR)])
            # One that never asks keeps nothing from ending.
            self.assertEqual(silent.rest(), NO_ERROR)
        self.assertEqual(recast.process.wait(DEADLINE), 0)
