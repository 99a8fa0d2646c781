"""One budget of memory for all bodies: when it is spent new bodies wait or get 503, and those that have begun go on."""

import json
import plistlib
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, JSON, Client, Closed, ProxyTestCase, Recast, Upstream, make_multipart, select_nothing
from lifecycle_support import wait_until

MIB = 1 << 20


class MemoryTests(ProxyTestCase):
    settings = "memory: { bodies: 1MiB, wait: 100ms }\n"
    upstream_receive_buffer = 64 * 1024
    routes = """
  - name: tree
    match: /tree
    upstream: app
    limits: { body: 16MiB, tree: 8MiB }
    request: { decode: { as: json }, encode: { as: json, order: sorted } }
  - name: xml
    match: /xml
    upstream: app
    limits: { body: 16MiB, tree: 8MiB }
    request: xml -> json
  - name: plist
    match: /plist
    upstream: app
    limits: { body: 16MiB, tree: 8MiB }
    request: plist -> json
  - name: held
    match: /held-output
    upstream: app
    limits: { body: 16MiB, tree: 8MiB }
    request: { decode: { as: json }, encode: { as: form, dialect: afnetworking } }
  - name: parts
    match: /parts
    upstream: app
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: response, match: /response, upstream: app, response: json -> form }
  - { name: plain, match: "/*", upstream: app }
"""

    def hold(self, count):
        """Uploads of 4 MiB that fill what can be filled, because the upstream reads nothing until told."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target == "/held":
                go_on.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        body = b"x" * (4 * MIB)
        outcomes = []
        lock = threading.Lock()

        def upload():
            client = Client(self.recast.port)
            try:
                try:
                    client.request("POST", "/held", body, "x/y")
                except OSError:
                    pass  # refused: the answer is there to be read
                outcome = client.response()
            except Closed as error:
                outcome = error
            with lock:
                outcomes.append(outcome)
            client.socket.close()

        threads = [threading.Thread(target=upload, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        return go_on, threads, outcomes

    def assert_recovered(self):
        """Everything was given back: a big tree finds memory again."""
        self.upstream.reset()
        document = json.dumps({f"k{number}": "v" * 50 for number in range(2000)}).encode()
        for path, body, media_type in (("/tree", document, JSON), ("/after", b"x" * MIB, "x/y")):
            # Connections that were broken off end in their own time.
            deadline = time.monotonic() + DEADLINE
            while (response := self.answer(path, body, media_type)).status == 503 and time.monotonic() < deadline:
                select_nothing()
            self.assertEqual(response.status, 200)

    def answer(self, path, body, media_type):
        """The answer to an upload, also when it comes before the end of it."""
        client = self.client()
        try:
            client.request("POST", path, body, media_type)
        except OSError:
            pass
        return client.response()

    def test_row43_every_upload_gets_an_answer_when_memory_is_short(self):
        known = self.client()
        known.request("GET", "/known")
        self.assertEqual(known.response().status, 200)
        go_on, threads, outcomes = self.hold(30)
        first = None
        # Some are refused while the others wait for the upstream.
        for _ in range(DEADLINE * 10):
            if outcomes:
                first = outcomes[0]
                break
            threads[0].join(0.1)
        self.assertIsNotNone(first, "30 uploads of 4 MiB fitted into a budget of 1 MiB")
        # Requests without a body always pass; the connection isn't kept then.
        known.request("GET", "/known")
        response = known.response()
        self.assertEqual((response.status, response.fields.get("connection")), (200, "close"))
        go_on.set()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(len(outcomes), 30)
        statuses = {}
        for outcome in outcomes:
            self.assertNotIsInstance(outcome, Closed)
            statuses[outcome.status] = statuses.get(outcome.status, 0) + 1
            if outcome.status != 200:
                problem = self.assert_problem(outcome, 503, "memory_exhausted")
                self.assertEqual(problem["setting"], "memory.bodies")
                self.assertEqual(outcome.fields.get("retry-after"), "1")
        self.assertEqual(set(statuses), {200, 503})
        # What was refused never reached the upstream, and what wasn't did so whole.
        held = [received for received in self.upstream.requests if received.target == "/held"]
        self.assertEqual(len(held), statuses[200])
        self.assertTrue(all(received.is_complete for received in held))
        self.assert_recovered()

    def test_row43_a_body_that_waits_goes_on_when_there_is_memory(self):
        go_on, threads, outcomes = self.hold(8)
        client = self.client()
        client.request("POST", "/waits", b"y" * 100000, "x/y")
        go_on.set()
        self.assertIn(client.response().status, (200, 503))
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(len(outcomes), 8)
        self.assertNotIn(Closed, map(type, outcomes))
        self.assert_recovered()

    def test_row43_a_tree_beyond_the_budget_is_refused_before_the_upstream_hears_of_it(self):
        document = json.dumps({f"key{number}": "v" * 20 for number in range(40000)}).encode()
        problem = self.assert_problem(self.send("POST", "/tree", document, JSON), 503, "memory_exhausted")
        self.assertEqual(problem["setting"], "memory.bodies")
        self.assert_untouched()
        self.assert_recovered()

    def test_row43_what_a_codec_holds_by_itself_counts_while_it_comes(self):
        texts = {f"key{number}": f"v{number}" * 20 for number in range(20000)}
        bodies = {
            "/xml": ("application/xml", f"<r>{''.join(f'<{key}>{text}</{key}>' for key, text in texts.items())}</r>".encode()),
            "/plist": ("application/x-plist", plistlib.dumps(texts, fmt=plistlib.FMT_BINARY)),
            "/held-output": (JSON, json.dumps(texts).encode()),
        }
        for path, (media_type, body) in bodies.items():
            with self.subTest(path):
                client = self.client()
                client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n")
                client.send(body[:-100])
                problem = self.assert_problem(client.response(), 503, "memory_exhausted")
                self.assertEqual(problem["setting"], "memory.bodies")
        self.assert_untouched()
        self.assert_recovered()

    def test_row43_a_converted_response_beyond_the_budget_is_refused(self):
        document = json.dumps({f"key{number}": "v" * 200 for number in range(8000)}).encode()

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=document, fields=("Content-Type: application/json",))

        self.upstream.script = script
        self.assert_problem(self.send("GET", "/response"), 503, "memory_exhausted")
        self.assert_recovered()

    def test_row43_clients_that_leave_while_they_wait_leave_nothing(self):
        go_on, threads, _ = self.hold(30)
        for _ in range(20):
            client = self.client()
            client.request("POST", "/leaves", b"y" * 20000, "x/y")
            client.reset()
        go_on.set()
        for thread in threads:
            thread.join(DEADLINE)
        self.assert_recovered()

    def test_F15_uploads_that_break_off_give_their_memory_back(self):
        body, media_type = make_multipart([("a", None, b"1"), ("file", "f.bin", b"x" * MIB)])
        for _ in range(30):
            client = self.client()
            client.send(f"POST /parts HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n")
            client.send(body[:MIB // 2])
            client.reset()
        self.assert_recovered()


class MemoryWaitTests(unittest.TestCase):
    """Bodies of unknown length, each of which asks for 128 KiB, one after the other."""

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.gates = {}
        self.upstream.script = self.script

    def script(self, exchange):
        self.gates.setdefault(exchange.received.target, threading.Event()).wait(DEADLINE)
        exchange.read_body()
        exchange.answer()

    def start(self, wait):
        port, line = admin_port()
        self.admin = Admin(port)
        self.recast = Recast(
            '  - { name: plain, match: "/*", upstream: app }\n', {"app": f"127.0.0.1:{self.upstream.port}"}, workers=1,
            settings=f"memory: {{ bodies: 2MiB, wait: {wait} }}\ndefaults: {{ min_rate: off }}\n{line}")
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)
        self.clients = []

    def waits(self):
        return self.admin.metrics().sum("recast_memory_waits_total")

    def begin(self):
        """Begins an upload, and returns whether it waits: the upstream has it, or the metric tells."""
        client = Client(self.recast.port)
        self.addCleanup(client.socket.close)
        before, number = self.waits(), len(self.clients)
        self.clients.append(client)
        client.send(f"POST /{number} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        wait_until("it goes on, or waits", lambda: self.has(number) or self.waits() > before)
        return not self.has(number)

    def has(self, number):
        return any(received.target == f"/{number}" for received in self.upstream.requests)

    def fill(self):
        """Begins uploads until two wait; returns how many go on."""
        while not self.begin():
            self.assertLess(len(self.clients), 32, "uploads of 128 KiB each fit into 2 MiB without end")
        self.assertTrue(self.begin(), "the next one waits behind the first")
        return len(self.clients) - 2

    def finish(self, number):
        self.gates[f"/{number}"].set()
        self.clients[number].send("0\r\n\r\n")
        self.assertEqual(self.clients[number].response().status, 200)

    def test_they_go_on_in_their_order_and_who_has_left_takes_no_place(self):
        self.start("20s")
        taken = self.fill()
        for _ in range(3):
            self.assertTrue(self.begin())
        # 90 % of the budget, where the last one that is taken passes it.
        self.assertEqual(taken, 15)
        self.clients[taken + 1].reset()
        # The reset is seen before anything is free.
        wait_until("it is forgotten", lambda: self.admin.metrics().sum("recast_inflight_requests") == len(self.clients) - 1)
        for number, following in enumerate((taken, taken + 2, taken + 3, taken + 4)):
            self.assertFalse(self.has(following))
            self.finish(number)
            wait_until(f"{following} goes on", lambda: self.has(following))  # noqa: B023
        self.assertFalse(self.has(taken + 1))
        for number in (*range(4, taken), taken, taken + 2, taken + 3, taken + 4):
            self.gates.setdefault(f"/{number}", threading.Event())
            self.finish(number)
        self.assertEqual(self.admin.metrics().sum("recast_memory_refused_total"), 0)

    def test_who_has_waited_for_its_time_is_refused(self):
        self.start("1s")
        taken = self.fill()
        for client in self.clients[taken:]:
            response = client.response()
            self.assertEqual((response.status, response.json["code"]), (503, "memory_exhausted"))
        metrics = self.admin.metrics()
        self.assertEqual(
            [metrics.sum("recast_memory_refused_total", reason=reason) for reason in ("admission", "request", "response")], [2, 0, 0])
        for number in range(taken):
            self.finish(number)
