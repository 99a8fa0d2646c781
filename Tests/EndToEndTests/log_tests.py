"""The access log as its readers see it."""

import base64
import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, FORM, RECAST, ROOT, Client, ProxyTestCase, Recast, Upstream, free_port, select_nothing
from http2_client import CONTINUATION, END_HEADERS, END_STREAM, HEADERS, HTTP2Client, StreamRecord, block, frame, pseudo
from lifecycle_support import full_pipe, wait_until


class PipedLogTests(unittest.TestCase):
    """Two workers that write to one pipe, which holds less than they write at once, as under a container's log driver."""

    # Their lines have less than the 1 MiB that may wait, however slowly they are read.
    CONNECTIONS, REQUESTS = 16, 40

    def serve(self, output):
        self.port = free_port()
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        config = os.path.join(folder.name, "recast.yaml")
        with open(config, "w") as file:
            file.write(f"version: 1\nlisten: 127.0.0.1:{self.port}\nworkers: 2\naccess_log: stdout\n"
                       "upstreams:\n  app: 127.0.0.1:1\nroutes:\n  - { name: one, match: /one, upstream: app }\n")
        process = subprocess.Popen([RECAST, "serve", config], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def connect(self, process):
        while process.poll() is None:
            try:
                return Client(self.port)
            except ConnectionError:
                select_nothing()
        self.fail("recast ended")

    def use(self, process):
        """Many requests on many connections, so that both workers have some, then SIGTERM."""
        def requests():
            with self.connect(process) as client:
                client.send(f"GET /none-{'x' * 1000} HTTP/1.1\r\nHost: a\r\n\r\n" * self.REQUESTS)
                for _ in range(self.REQUESTS):
                    client.response()

        threads = [threading.Thread(target=requests) for _ in range(self.CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)

    def lines(self, blocking):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(writing, blocking)
        process = self.serve(writing)
        os.close(writing)
        pieces = []
        read = threading.Thread(target=lambda: pieces.extend(iter(lambda: os.read(reading, 3000), b"")))
        read.start()
        self.use(process)
        read.join(DEADLINE)
        return b"".join(pieces).split(b"\n")

    def test_no_line_stands_inside_another(self):
        lines = self.lines(blocking=True)
        self.assertEqual(lines.pop(), b"")
        self.assertEqual(len(lines), self.CONNECTIONS * self.REQUESTS)
        for line in lines:
            json.loads(line)

    def test_what_a_full_pipe_cuts_off_ends_its_line(self):
        for line in self.lines(blocking=False):
            self.assertLessEqual(line.count(b'{"ts"'), 1, line)


ROUTES = """
  - { name: convert, match: { method: POST, path: /convert }, upstream: app, request: form -> json }
  - { name: plain, match: "/*", upstream: app }
"""
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class LogFieldTests(ProxyTestCase):
    routes = "  - { name: down, match: /down, upstream: down }" + ROUTES
    nobody = free_port()
    further_upstreams = {"down": f"127.0.0.1:{nobody}"}

    def line(self, method, target, *arguments, **options):
        """The line of one request, found by its id."""
        number = os.urandom(8).hex()
        with Client(self.recast.port) as client:
            fields = [*options.pop("fields", ()), f"X-Request-Id: {number}"]
            client.request(method, target, *arguments, fields=fields, **options)
            client.response()
        return self.recast.log_entry(number)

    def test_a_conversion_is_told_with_its_times_and_parts(self):
        line = self.line("POST", "/convert", "a=1&b=2", FORM)
        self.assertRegex(line["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((line["parts"], line["fields"], line["files"], line["dropped"]), (2, 2, 0, 0))
        self.assertEqual((line["upstream"], line["attempts"]), ("app", 1))
        self.assertEqual(line["upstream_address"], f"127.0.0.1:{self.upstream.port}")
        self.assertGreater(line["t_transcode"], 0)
        self.assertGreaterEqual(line["t_total"], line["t_upstream_ttfb"])

    def test_phases_that_take_time_are_told(self):
        with Client(self.recast.port) as client:
            client.send("POST /phases HTTP/1.1\r\nHost: a\r\n")
            client.wait_until_read()
            select_nothing()
            client.send("Content-Length: 2\r\n\r\nx")
            self.upstream.wait_for(1)
            select_nothing()
            client.send("y")
            client.response()
        lines = self.recast.log_lines(1)
        while not (found := [line for line in lines if line["path"] == "/phases"]):
            lines = self.recast.log_lines(len(lines) + 1)
        line = found[0]
        self.assertGreater(line["t_header"], 0.01)
        self.assertGreater(line["t_body"], 0.01)

    def test_a_head_of_http2_that_comes_in_pieces_has_its_time(self):
        with HTTP2Client(self.recast.port) as client:
            client.exchange("GET", "/whole", [("x-request-id", "whole")])
            stream, client.next_stream = client.next_stream, client.next_stream + 2
            client.streams[stream] = StreamRecord(client.server_initial_window)
            head = block([*pseudo(path="/pieces"), ("x-request-id", "pieces")])
            client.send(frame(HEADERS, END_STREAM, stream, head[:20]))
            Client.wait_until_read(client)
            select_nothing()
            client.send(frame(CONTINUATION, END_HEADERS, stream, head[20:]))
            client.response(stream)
            client.exchange("GET", "/behind", [("x-request-id", "behind")])
        self.assertGreater(self.recast.log_entry("pieces")["t_header"], 0.01)
        for other in ("whole", "behind"):
            self.assertNotIn("t_header", self.recast.log_entry(other))

    def test_a_query_shows_names_only(self):
        self.assertEqual(self.line("GET", "/q?token=SECRET&a=b=c&SECRET&e=")["query"], "token=*&a=*&*&e=*")
        self.assertNotIn("query", self.line("GET", "/q"))

    def test_who_asked_whom_from_where(self):
        line = self.line("GET", "/h;jsessionid=SECRET/x?a=SECRET", fields=[
            "User-Agent: probe/1 (\u0085)", "Referer: http://u:SECRET@r.example/p;s=SECRET?q=SECRET#SECRET"])
        self.assertEqual(line["host"], "client.example")
        self.assertEqual(line["path"], "/h;jsessionid=*/x")
        # The client here writes ISO 8859-1.
        self.assertEqual(line["user_agent"], "probe/1 (\ufffd)")
        self.assertEqual(line["referer"], "http://*@r.example/p;s=*?q=*#*")
        for referer, shown in (("http:/u:SECRET@h/p", "http:*@h/p"), ("http:\\\\u:SECRET@h", "http:*@h"), ("u:SECRET@h/p?q=SECRET", "u:*@h/p?q=*"),
                               ("//u:SECRET@h/", "//*@h/"), ("/p/a:b@c", "/p/a:b@c"), ("about:blank", "about:blank")):
            self.assertEqual(self.line("GET", "/who", fields=[f"Referer: {referer}"])["referer"], shown)
        self.assertNotIn("SECRET", json.dumps(line))
        with open(self.recast.output, "rb") as file:
            for text in file:
                self.assertNotIn("\u0085", text.decode())

    def test_an_address_that_nobody_listens_on_is_told(self):
        line = self.line("GET", "/down")
        self.assertEqual((line["flags"], line["code"], line["status"]), ("UF", "upstream_unreachable", 502))
        self.assertEqual(line["upstream_address"], f"127.0.0.1:{self.nobody}")

    def test_every_field_is_documented(self):
        with open(os.path.join(ROOT, "docs", "access-log.md")) as file:
            rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", file.read(), re.M)
        documented = set(re.findall(r"`([a-z_]+)`", " ".join(rows)))
        self.line("POST", "/convert", "a=1&b=2", FORM, fields=["User-Agent: a", "Referer: b", f"traceparent: {TRACE}"])
        self.line("GET", "/down?a")
        for line in self.recast.log_lines(1):
            self.assertEqual(set(line) - documented, set())

    def test_traceparent_is_passed_on_and_logged(self):
        line = self.line("GET", "/t", fields=[f"traceparent: {TRACE}", "tracestate: a=b", "tracestate: c=d"])
        self.assertEqual(line["trace_id"], TRACE[3:35])
        fields = self.upstream.one().fields
        self.assertEqual((fields.all("traceparent"), fields.all("tracestate")), ([TRACE], ["a=b", "c=d"]))

    def test_an_invalid_traceparent_goes_no_further(self):
        for bad in ["00-" + "0" * 32 + TRACE[35:], TRACE + "-more", TRACE.upper(), "ff" + TRACE[2:], "x", ""]:
            self.upstream.reset()
            line = self.line("GET", "/t", fields=[f"traceparent: {bad}", "tracestate: a=b"])
            self.assertNotIn("trace_id", line)
            fields = self.upstream.one().fields
            self.assertNotIn("traceparent", fields, bad)
            self.assertNotIn("tracestate", fields, bad)
        self.upstream.reset()
        self.line("GET", "/t", fields=[f"traceparent: {TRACE}", f"traceparent: {TRACE}"])
        self.assertNotIn("traceparent", self.upstream.one().fields)


class ChosenFieldTests(ProxyTestCase):
    routes = ROUTES
    access_log = "{ to: stdout, fields: { request: [X-Tenant], response: [X-Cache] } }"

    def test_chosen_fields_are_told_and_cut(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.answer(fields=("X-Cache: HIT", "X-Cache: " + "é" * 200)))
        self.send("GET", "/x", fields=["X-Tenant: " + "a" * 256])
        self.send("GET", "/x", fields=["X-Tenant: " + "a" * 257, "X-Cache: no"])
        first, second = self.recast.log_lines(2)
        self.assertEqual(first["request.x-tenant"], "a" * 256)
        self.assertEqual(second["request.x-tenant"], "a" * 256 + "…")
        self.assertTrue(first["response.x-cache"].startswith("HIT, é"))
        self.assertTrue(first["response.x-cache"].endswith("é…"))
        self.assertLessEqual(len(first["response.x-cache"].encode()), 256 + 3)
        self.assertNotIn("request.x-cache", second)


class ChosenAddressTests(ProxyTestCase):
    routes = ROUTES
    access_log = "{ to: stdout, fields: { request: [Referer, X-Original-URL, X-Tenant], response: [Location, Content-Location, Link, Refresh] } }"

    def test_addresses_are_shown_as_the_referer_is(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(302, b"", fields=(
            "Location: https://u:SECRET@h/p;s=SECRET?code=SECRET&page=SECRET#SECRET", "Content-Location: x?a=SECRET",
            "Link: </next?cursor=SECRET>; rel=next", "Refresh: 0;url=/x?a=SECRET")))
        for _ in range(2):
            self.send("GET", "/x", fields=["Referer: http://r/?t=SECRET", "X-Original-URL: /a;b=SECRET?c=SECRET", "X-Tenant: a/b?c=d"])
        line = self.recast.log_lines(2)[1]
        self.assertEqual({name: value for name, value in line.items() if "." in name}, {
            "request.referer": "http://r/?t=*", "request.x-original-url": "/a;b=*?c=*", "request.x-tenant": "a/b?c=d",
            "response.location": "https://*@h/p;s=*?code=*&page=*#*", "response.content-location": "x?a=*",
            "response.link": "</next?cursor=*", "response.refresh": "0;url=*/x?a=*"})


class CombinedLogTests(ProxyTestCase):
    routes = ROUTES
    access_log = "{ to: stdout, format: combined, query: drop }"
    settings = "trusted: [127.0.0.0/8]\n"

    def line(self, *fields):
        """The line of one request, behind those that were there."""
        with open(self.recast.output) as file:
            file.seek(0, os.SEEK_END)
            with Client(self.recast.port) as client:
                client.request("GET", "/a?token=SECRET", fields=fields)
                client.response()
            text = ""
            while not text.endswith("\n"):
                text += file.read()
                select_nothing()
        return text

    def test_the_client_is_whom_a_trusted_peer_speaks_for(self):
        self.assertRegex(self.line("X-Forwarded-For: 203.0.113.9"), r"^203\.0\.113\.9 - - \[")

    def test_a_line_is_what_log_readers_expect_and_nothing_can_break_it(self):
        text = self.line('User-Agent: evil" 200 "\\x', "Referer: http://r.example/p?SECRET=SECRET")
        self.assertRegex(text, r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
                               r'"GET /a HTTP/1\.1" 200 2 "http://r\.example/p" "evil\\x22 200 \\x22\\x5Cx"\n$')
        self.assertNotIn("SECRET", text)


class CombinedLineTests(ProxyTestCase):
    """Its size is that of the body alone, and its user who was let in, as nginx and Apache have them."""

    routes = """
  - { name: some, match: /some, upstream: app }
  - { name: posts, match: { path: /posts, method: POST }, upstream: app }
  - { name: hooks, match: "/hooks/{id}/{hook_token}/*", upstream: app }
  - { name: posted, match: { method: POST, path: "/posted/{token}" }, upstream: app }
  - { name: users, match: /users, upstream: app, authorize: [{ basic: { ada: pw, 'b"b x': pw } }, { bearer: token }] }
"""
    access_log = "{ to: stdout, format: combined }"

    def lines(self, count, word):
        """The first lines that have that word, which are waited for."""
        deadline = time.monotonic() + DEADLINE
        while True:
            with open(self.recast.output) as file:
                lines = [line for line in file if line.endswith("\n") and word in line]
            if len(lines) >= count:
                return lines
            self.assertLess(time.monotonic(), deadline)
            select_nothing()

    def test_a_variable_that_gives_access_by_its_name_is_not_shown(self):
        self.send("GET", "/hooks/7/s3cr3t-value/a;b=1?c=2")
        self.assertIn('"GET /hooks/7/*/a;b=*?c=* HTTP/1.1"', self.lines(1, "/hooks")[0])
        self.assertEqual(self.upstream.one().target, "/hooks/7/s3cr3t-value/a;b=1?c=2")

    def test_such_a_variable_is_not_shown_where_the_route_does_not_take_the_request(self):
        for method, target, field, status in (
            ("GET", "/posted/s3cr3t-value", "X-A: b", 405), ("POST", "/p%6fsted/s3cr3t-value?a=1", "X A: b", 400),
            ("GET", "/hooks/9/s3cr3t-value/a", "Expect: x", 417),
        ):
            self.assertEqual(self.send(method, target, fields=(field,)).status, status, target)
        for word, text in (("GET /posted", '"GET /posted/* HTTP/1.1" 405 '), ("p%6fsted", '"POST /p%6fsted/*?a=* HTTP/1.1" 400 '),
                           ("/hooks/9", '"GET /hooks/9/*/a HTTP/1.1" 417 ')):
            self.assertIn(text, self.lines(1, word)[0])
        self.assert_untouched()

    def test_the_user_is_who_was_let_in(self):
        def basic(text):
            return "Authorization: Basic " + base64.b64encode(text.encode()).decode()

        for field in (basic("ada:pw"), basic('b"b x:pw'), basic("ada:no"), "Authorization: Bearer token"):
            self.send("GET", "/users", fields=(field,))
        users = [line.split(" [")[0].split(" ") for line in self.lines(4, "/users")]
        self.assertEqual([user for _, _, user in users], ["ada", r"b\x22b\x20x", "-", "-"])

    def test_sizes_of_answers_of_ours_and_of_forwarded_ones(self):
        sizes = []
        for method, target in (("GET", "/some?size"), ("GET", "/none?size"), ("HEAD", "/none?size"), ("GET", "/posts?size")):
            response = self.send(method, target)
            sizes.append((response.status, len(response.body)))
        with HTTP2Client(self.recast.port) as client:
            response = client.exchange("GET", "/none?size")
            sizes.append((response.status, len(response.body)))
        self.assertEqual([status for status, _ in sizes[:3]], [200, 404, 404])
        self.assertGreater(min(sizes[1][1], sizes[4][1]), 0)
        logged = [re.search(r'" (\d+) (\d+) "', line) for line in self.lines(5, "?*")]
        self.assertEqual([(int(match[1]), int(match[2])) for match in logged], sizes)


class StoppedReaderTests(unittest.TestCase):
    """Row 45 of the fault table: whoever reads the log stops, or is gone; serving goes on, and lines are counted."""

    requests = 0

    def serve(self, output, log="stdout"):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.port = free_port()
        port, admin = admin_port()
        self.admin = Admin(port)
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        config = self.config = os.path.join(folder.name, "recast.yaml")
        with open(config, "w") as file:
            file.write(f"version: 1\nlisten: 127.0.0.1:{self.port}\nworkers: 2\naccess_log: {log}\n{admin}"
                       f"upstreams:\n  app: 127.0.0.1:{self.upstream.port}\nroutes:\n"
                       "  - { name: all, match: \"/*\", upstream: app, limits: { body: 1KiB } }\n")
        self.errors = os.path.join(folder.name, "errors")
        with open(self.errors, "wb") as errors:
            process = subprocess.Popen([RECAST, "serve", config], stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return process
            except ConnectionError:
                select_nothing()
        self.fail("recast ended")

    def use(self, requests):
        """Requests that are answered without an upstream and whose lines are long."""
        self.requests += requests
        with Client(self.port) as client:
            for _ in range(requests // 20):
                client.send(f"POST /{'x' * 7000} HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n{'b' * 2000}" * 20)
                for _ in range(20):
                    self.assertEqual(client.response().status, 413)

    def dropped(self):
        return self.admin.metrics().sum("recast_access_log_dropped_total")

    def until_told(self, pattern):
        """What the operational log says, as a match, once it says it."""
        deadline = time.monotonic() + DEADLINE
        while True:
            with open(self.errors) as file:
                text = file.read()
            match = re.search(pattern, text)
            if match:
                return match
            self.assertLess(time.monotonic(), deadline, text)
            select_nothing()

    def test_row_45_a_pipe_that_nobody_reads(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        process = self.serve(writing)
        os.close(writing)
        self.use(400)
        while self.dropped() == 0:
            self.use(20)
        process.send_signal(signal.SIGTERM)
        # It waits a second for the reader, and then goes.
        self.assertEqual(process.wait(DEADLINE), 0)
        os.set_blocking(reading, False)
        lines = os.read(reading, 1 << 20).split(b"\n")
        self.assertGreater(len(lines), 1)
        for line in lines[:-1]:
            json.loads(line)
        match = self.until_told(r" warning the access log on standard output ends, with at most (\d+) lines dropped\n")
        self.assertLessEqual(int(match[1]), self.requests)
        self.assertGreaterEqual(int(match[1]) + len(lines) - 1, self.requests)

    def test_row_45_standard_error_that_nobody_reads_keeps_no_process_from_its_end(self):
        """One that can't start, and one that is told twice to end: a manager that waits for it would start no other."""
        process = self.serve(subprocess.DEVNULL)
        process.kill()
        process.wait()
        self.upstream.hold(self)
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            bad, in_use = os.path.join(folder, "bad.yaml"), os.path.join(folder, "in_use.yaml")
            with open(bad, "w") as file:
                file.write("version: [")
            with open(self.config) as settings, open(in_use, "w") as file:
                file.write(settings.read().replace(str(self.port), str(taken.getsockname()[1])))
            for config, code in ((bad, 65), (in_use, 69), (self.config, 70)):
                with self.subTest(code):
                    reading, writing = full_pipe()
                    self.addCleanup(os.close, reading)
                    process = subprocess.Popen([RECAST, "serve", config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                               stderr=writing)
                    os.close(writing)
                    self.addCleanup(process.wait)
                    self.addCleanup(process.kill)
                    if code == 70:
                        self.end_twice(process)
                    self.assertEqual(process.wait(DEADLINE), code)

    def end_twice(self, process):
        wait_until("it serves", lambda: self.connects())
        with Client(self.port) as client:
            client.request("GET", "/")
            self.upstream.wait_for(1)
            process.send_signal(signal.SIGTERM)
            wait_until("it drains", lambda: not self.connects())
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE)

    def connects(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def test_row_45_a_pipe_that_is_closed(self):
        reading, writing = os.pipe()
        process = self.serve(writing)
        os.close(writing)
        os.close(reading)
        self.use(40)
        self.until_told(r" warning the access log on standard output can't be written: Broken pipe; \d+ lines? dropped so far\n")
        self.use(40)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_row_44_a_disk_that_is_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("this machine has no /dev/full")
        process = self.serve(subprocess.DEVNULL, log="/dev/full")
        self.use(40)
        self.until_told(r" warning the access log /dev/full can't be written: No space left on device; \d+ lines? dropped so far\n")
        self.use(20)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)
        self.until_told(r" warning the access log /dev/full ends, with 60 lines dropped\n")

    def test_what_a_log_has_lost_stays_counted_when_another_one_takes_its_place(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("this machine has no /dev/full")
        process = self.serve(subprocess.DEVNULL, log="/dev/full")
        self.use(40)
        while self.dropped() < 40:
            select_nothing()
        with open(self.config) as file:
            text = file.read()
        for count, log in enumerate(("off", "/dev/null"), 1):
            with open(self.config, "w") as file:
                file.write(text.replace("access_log: /dev/full", f"access_log: {log}"))
            process.send_signal(signal.SIGHUP)
            self.admin.metrics_when(lambda metrics: metrics.sum("recast_config_reloads_total", result="success") == count)
            self.assertEqual(self.dropped(), 40)
        self.until_told(r" warning the access log /dev/full ends, with 40 lines dropped\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)
        with open(self.errors) as file:
            self.assertEqual(file.read().count("dropped\n"), 1)

    def filled(self, folder):
        """The path of a log whose file may not grow beyond 10,000 bytes and has, its process, and the limit to lift that to."""
        path = os.path.join(folder, "log")
        process = self.serve(subprocess.DEVNULL, log=path)
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (10_000, most))
        self.use(40)
        self.until_told(f" warning the access log {re.escape(path)} can't be written: File too large; ")
        return path, process, most

    def test_a_file_that_may_not_grow_any_more(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path, process, most = self.filled(folder)
            self.use(20)
            self.assertEqual(os.path.getsize(path), 10_000)
            # There is room again: what was lost meanwhile is told with the first line that is written.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
            self.use(20)
            match = self.until_told(f" warning the access log {re.escape(path)} is written again, with (\\d+) lines dropped\n")
            self.assertEqual(int(match[1]), self.dropped())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)

    def test_half_a_line_is_ended_in_a_file_that_is_moved_away(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path, process, most = self.filled(folder)
            with open(path, "rb") as file:
                cut = file.read()
            self.assertEqual(len(cut), 10_000)
            self.assertFalse(cut.endswith(b"\n"), "the limit cuts no line: another one is wanted")
            # There is room again, and the next line goes to another file.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
            os.rename(path, path + ".1")
            process.send_signal(signal.SIGUSR1)
            wait_until("the log is opened anew", lambda: os.path.exists(path))
            # Lines that waited may have found room in this one, behind the half.
            wait_until("the line is ended", lambda: os.path.getsize(path + ".1") > 10_000)
            with open(path + ".1", "rb") as file:
                left = file.read()
            self.assertEqual((left[:10_001], left[-1:]), (cut + b"\n", b"\n"))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)

    def serve_to_fifo(self, path):
        """A process whose log is a FIFO that is full, and that nobody reads."""
        os.mkfifo(path)
        process = self.serve(subprocess.DEVNULL, log=path)
        self.use(400)
        while self.dropped() == 0:
            self.use(20)
        return process

    def test_a_fifo_that_nobody_has_opened_to_read(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path = os.path.join(folder, "log")
            process = self.serve_to_fifo(path)
            reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, reading)
            json.loads(os.read(reading, 1 << 20).split(b"\n")[0])
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)

    def test_a_fifo_whose_reader_has_stopped_gives_way_to_a_file(self):
        """What the thread waits for must not keep the log from being opened anew."""
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path = os.path.join(folder, "log")
            process = self.serve_to_fifo(path)
            os.unlink(path)
            process.send_signal(signal.SIGUSR1)
            deadline = time.monotonic() + DEADLINE
            while not os.path.exists(path) or os.path.getsize(path) == 0:
                self.assertLess(time.monotonic(), deadline)
                self.use(20)
            with open(path) as file:
                json.loads(file.readline())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)


class OperationalLogTests(unittest.TestCase):
    def serve(self, settings=""):
        recast = Recast(ROUTES, {"app": "127.0.0.1:1"}, settings=settings)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.process.wait)
        self.addCleanup(recast.process.kill)
        with Client(recast.port) as client:
            client.request("GET", "/x")
            self.assertEqual(client.response().status, 502)
        self.assertEqual(recast.stop(), 0)
        return recast.error_text().splitlines()

    def test_lines_of_text_with_time_and_level(self):
        lines = self.serve()
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (info|warning|error) ")
        self.assertTrue(any("serving 2 routes" in line for line in lines), lines)
        self.assertTrue(any("draining" in line for line in lines), lines)

    def test_lines_of_json(self):
        for line in map(json.loads, self.serve("log: { format: json }\n")):
            self.assertEqual(list(line)[:3], ["ts", "level", "message"])

    def test_below_the_level_nothing_is_said(self):
        self.assertEqual(self.serve("log: { level: error }\n"), [])

    def test_lines_that_were_left_out_are_counted_at_the_end_too(self):
        port, line = admin_port()
        recast = Recast(ROUTES, {"app": "127.0.0.1:1"}, settings=line)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.process.wait)
        self.addCleanup(recast.process.kill)
        with Client(port) as client:
            client.send("PUT /log-level?level=info HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
            for _ in range(300):
                self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.stop(), 0)
        lines = recast.error_text().splitlines()
        told = sum(int(found[1]) for found in (re.search(r" (\d+) lines? (?:was|were) left out$", line) for line in lines) if found)
        # All that was said is there, or is counted.
        self.assertGreaterEqual(sum("the log level is info" in line for line in lines) + told, 300)


if __name__ == "__main__":
    unittest.main()
