"""Slow and greedy clients: each has its bound, and nobody else notices them."""

import os
import re
import resource
import select
import socket
import threading
import time

from harness import DEADLINE, FORM, Closed, ProxyTestCase, memory_of, select_nothing

KIB = 1 << 10
MIB = 1 << 20


def resident(process):
    return memory_of(process, "VmRSS")


def processor_time(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raise_descriptor_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


class LongQueryTests(ProxyTestCase):
    """Queries that become much more than they are."""

    settings = """
limits: { request_line: 190KiB, head: 192KiB }
defaults: { limits: { fields: 100000, parts: 100000, tree: 64MiB, field: 64KiB } }
"""
    routes = """
  - { name: parts, match: /parts, upstream: app, request: query -> multipart }
  - { name: json, match: /json, upstream: app, request: query -> json }
"""

    def test_one_that_fills_the_buffer_goes_on_behind_it(self):
        for count in (1, 30_000, 65_000, 94_000):
            self.upstream.reset()
            self.assertEqual(self.send("GET", "/parts?" + "a&" * count).status, 200)
            self.assertEqual(self.upstream.one().body.count(b'name="a"'), count)

    def test_a_document_of_one(self):
        self.assertEqual(self.send("GET", "/json?" + "a[]&" * 45_000).status, 200)
        self.assertEqual(self.upstream.one().json, {"a": [""] * 45_000})


class SlowClientTests(ProxyTestCase):
    settings = """
timeouts: { header: 3s, write: 2s }
defaults: { min_rate: { grace: 1s } }
"""
    routes = """
  - { name: json, match: /json, upstream: app, request: form -> json }
  - { name: all, match: "/*", upstream: app }
"""

    def open(self, count, data=b""):
        raise_descriptor_limit(count + 200)
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", self.recast.port), timeout=DEADLINE)
            self.addCleanup(connection.close)
            if data:
                connection.sendall(data)
            connections.append(connection)
        return connections

    def rest(self, connection):
        data = b""
        try:
            while piece := connection.recv(1 << 16):
                data += piece
        except ConnectionError:
            pass
        return data

    def test_a_thousand_connections_that_send_nothing_are_closed_without_a_byte(self):
        for connection in self.open(1000):
            self.assertEqual(self.rest(connection), b"")

    def test_two_thousand_heads_that_never_end_cost_little_and_get_408(self):
        self.assertEqual(self.send("GET", "/").status, 200)
        before = resident(self.recast.process)
        start = time.monotonic()
        connections = self.open(2000, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 200)
        # Others are served all the while, and not when the time of these is over.
        self.assertEqual(self.send("GET", "/").status, 200)
        poll = select.poll()
        poll.register(connections[-1], select.POLLIN)
        self.assertEqual(poll.poll(0), [])
        if time.monotonic() - start < 2.5:
            self.assertLess((resident(self.recast.process) - before) / len(connections), 24 * KIB)
        for connection in connections:
            self.assertTrue(self.rest(connection).startswith(b"HTTP/1.1 408 "))

    def test_a_head_byte_by_byte_has_the_time_of_one_head(self):
        client = self.client()
        sent = 0
        done = threading.Event()

        def drip():
            nonlocal sent
            try:
                for sent, byte in enumerate(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: " + b"y" * 1000):
                    client.send(bytes([byte]))
                    if done.wait(0.25):
                        return
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(done.set)
        self.assert_problem(client.response(), 408, "^head_timeout$")
        # Of the three seconds' twelve, with a few that were under way; all of them take minutes.
        self.assertLess(sent, 30)

    def test_a_body_that_comes_too_slowly_is_refused_and_never_completed_upstream(self):
        for path in ("/json", "/"):
            with self.subTest(path):
                self.upstream.reset()
                client = self.client()
                client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: 100\r\n\r\na")
                self.assert_problem(client.response(), 408, "^body_too_slow$")
                if path == "/json":
                    self.assert_untouched()
                else:
                    self.assertFalse(self.upstream.one().is_complete)

    def test_a_client_that_hardly_reads_is_cut_and_the_upstream_with_it(self):
        ended = threading.Event()

        def endless(exchange):
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                while True:
                    exchange.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            finally:
                ended.set()

        self.upstream.script = endless
        before = resident(self.recast.process)
        client = self.client(receive_buffer=4096)
        client.request("GET", "/")
        self.assertTrue(ended.wait(DEADLINE), "the upstream goes on sending")
        self.assertLess(resident(self.recast.process) - before, 4 * MIB)
        with self.assertRaises(Closed):
            client.response()

    def test_a_client_that_reads_steadily_is_not_cut_though_the_kernel_hides_it(self):
        def endless(exchange):
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                exchange.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")

        self.upstream.script = endless
        client = self.client()
        client.request("GET", "/")
        # Several times the time without progress, and far less in all than the system buffers here and there.
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            self.assertTrue(client.socket.recv(20 * KIB))
            threading.Event().wait(0.1)  # what is tried is a slow client

    def test_a_thousand_requests_in_one_segment_are_answered_in_order(self):
        self.upstream.script = lambda exchange: exchange.answer(body=exchange.received.target.encode())
        client = self.client()
        client.send("".join(f"GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n" for number in range(1000)))
        for number in range(1000):
            self.assertEqual(client.response().body, b"/%d" % number)


class ThrottleTests(ProxyTestCase):
    routes = """
  - { name: up, match: /up, upstream: app, rate: 200KiB/s }
  - { name: down, match: /down, upstream: app, rate: { response: 200KiB/s } }
"""

    def test_curl_uploads_and_downloads_as_fast_as_the_route_says(self):
        body = os.urandom(300 * KIB)
        start = time.monotonic()
        status, _ = self.curl("--data-binary", "@-", self.url("/up"), data=body)
        self.assertEqual(status, 200)
        # A first burst of at most 40 KiB comes at once.
        self.assertGreater(time.monotonic() - start, 1.2)
        self.assertEqual(self.upstream.one().body, body)
        self.upstream.reset()
        for framing in ("length", "chunked", "close"):
            with self.subTest(framing):
                self.upstream.script = lambda exchange: exchange.answer(body=body, framing=framing)
                start = time.monotonic()
                self.assertEqual(self.send("GET", "/down").body, body)
                self.assertGreater(time.monotonic() - start, 1.2)


class ConnectionAdmissionTests(ProxyTestCase):
    settings = """
connections: { total: 40, per_client: 30 }
"""
    routes = """
  - { name: all, match: "/*", upstream: app }
"""

    # The only test of its proxy: connections that others have closed may still be counted.
    def test_one_connection_more_than_a_client_may_have(self):
        clients = [self.client() for _ in range(30)]
        # Accepted in order: the last one's answer says that all are here.
        clients[-1].request("GET", "/")
        self.assertEqual(clients[-1].response().status, 200)
        refused = self.client()
        response = refused.response()
        self.assert_problem(response, 429, "^too_many_connections$")
        self.assertEqual((response.fields.get("retry-after"), response.fields.get("connection")), ("1", "close"))
        self.assertTrue(refused.is_closed())


class RequestAdmissionTests(ProxyTestCase):
    settings = """
connections: { requests: 2 }
requests: { in_flight: 3 }
"""
    routes = """
  - { name: all, match: "/*", upstream: app }
"""

    def test_one_request_more_than_may_be_in_flight(self):
        go_on = threading.Event()

        def wait(exchange):
            go_on.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = wait
        clients = [self.client() for _ in range(3)]
        for client in clients:
            client.request("GET", "/")
        self.upstream.wait_for(3)
        response = self.send("GET", "/")
        self.assert_problem(response, 503, "^overloaded$")
        self.assertEqual(response.fields.get("retry-after"), "1")
        go_on.set()
        for client in clients:
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.send("GET", "/").status, 200)

    def test_the_last_request_of_a_connection_says_so(self):
        client = self.client()
        for connection in (None, "close"):
            client.request("GET", "/")
            self.assertEqual(client.response().fields.get("connection"), connection)
        self.assertTrue(client.is_closed())


class DescriptorShortageTests(ProxyTestCase):
    routes = """
  - { name: all, match: "/*", upstream: app }
"""

    def test_without_descriptors_recast_neither_spins_nor_forgets_those_it_serves(self):
        kept = self.client()
        kept.request("GET", "/")
        self.assertEqual(kept.response().status, 200)
        process = self.recast.process
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{process.pid}/fd"))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used + 10, limits[1]))
        crowd = []
        for _ in range(60):
            connection = socket.create_connection(("127.0.0.1", self.recast.port), timeout=DEADLINE)
            connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            crowd.append(connection)
        deadline = time.monotonic() + DEADLINE
        while "no descriptors" not in self.recast.error_text():
            self.assertLess(time.monotonic(), deadline)
            select_nothing()
        before = processor_time(process)
        threading.Event().wait(1)  # what is measured is a time
        self.assertLess(processor_time(process) - before, 0.3)
        for connection in crowd:
            connection.close()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, limits)
        while True:
            try:
                self.assertEqual(self.send("GET", "/").status, 200)
                break
            except (Closed, OSError):
                self.assertLess(time.monotonic(), deadline)
                select_nothing()
        self.assertEqual(len(re.findall("no descriptors", self.recast.error_text())), 1)
