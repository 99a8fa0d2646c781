"""Every vector of http-bad-requests.json over real connections: what is refused is not executed, whatever its cut."""

import concurrent.futures
import contextlib
import json
import os
import re
import threading

from harness import ROOT, Client, ProxyTestCase

# These end their side once all is sent; the others wait for the proxy to end the connection.
HALF_CLOSING = {"cl-033", "ck-025", "ck-026", "ck-027", "fs-028", "jk-002", "jk-008", "jk-011"}
PARALLEL = 64
# So many send at once: what has a time must not wait for all others here, piece by piece.
sending = threading.BoundedSemaphore(4)

with open(os.path.join(ROOT, "Tests", "Vectors", "http-bad-requests.json")) as file:
    VECTORS = json.load(file)["vectors"]


def whole(raw):
    return [raw]


def bytewise(raw):
    return [raw[index:index + 1] for index in range(len(raw))]


def halves(raw):
    return [raw[:len(raw) // 2], raw[len(raw) // 2:]]


class VectorTests(ProxyTestCase):
    routes = """
  - { name: reencode, match: /reencode, upstream: app, request: auto -> json }
  - { name: plain, match: "/*", upstream: app, limits: { body: 100MiB } }
"""
    # Short, because some vectors are answered when their time is over, and those that are fine wait for the end.
    settings = "timeouts: { header: 4s, body_gap: 4s, keep_alive: 2s }\n"

    def setUp(self):
        super().setUp()
        self.lock = threading.Lock()
        self.executed = []

        def script(exchange):
            exchange.read_body()
            with self.lock:
                self.executed.append(exchange.received)
            exchange.answer(body=b"" if exchange.received.method == "HEAD" else b"ok")

        self.upstream.script = script

    def final_statuses(self, vector, cut):
        """Sends a vector and returns the statuses of all final responses on its connection."""
        pieces = cut(vector["raw"].encode("latin-1"))
        with contextlib.ExitStack() as stack:
            with sending:
                client = stack.enter_context(Client(self.recast.port))
                try:
                    for piece in pieces:
                        client.socket.sendall(piece)
                    if vector["id"] in HALF_CLOSING:
                        client.finish_sending()
                except OSError:
                    pass  # the proxy has refused what came so far and closed
            text = client.reader.rest()
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", text)]
        return [status for status in statuses if status >= 200]

    def run_all(self, vectors, cut):
        with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            answers = list(pool.map(lambda vector: self.final_statuses(vector, cut), vectors))
        for vector, statuses in zip(vectors, answers):
            with self.subTest(vector["id"], why=vector["why"]):
                self.assertIn(statuses[-1] if statuses else 0, vector["status"], statuses)
                if vector["expect"] == "reject":
                    self.assertNotIn(200, statuses[-1:])
                    self.assertLessEqual(len(statuses), 1 if vector["class"] != "pipeline" else 2)
                if vector["expect"] == "accept":
                    self.assertEqual(set(statuses), {200})
                if "exactly 1 response" in vector["why"]:
                    self.assertEqual(len(statuses) if vector["expect"] == "reject" else statuses.count(200), 1)
                if count := re.search(r"(\d+) responses", vector["why"]):
                    self.assertEqual(len(statuses), int(count.group(1)))
        # Each request that the upstream has seen to its end was answered with 200, and no other was, but OPTIONS that goes
        # no further than us.
        answered = sum(statuses.count(200) for vector, statuses in zip(vectors, answers) if vector["id"] != "hb-011")
        self.assertEqual(len(self.executed), answered)
        self.assertFalse([received.target for received in self.executed if "evil" in received.target])
        self.assertEqual([received.version for received in self.executed if received.version != "HTTP/1.1"], [])
        for received in self.executed:
            for name in ("transfer-encoding", "content-length", "host"):
                self.assertLessEqual(len(received.fields.all(name)), 1)
            self.assertNotIn("evil.test", received.fields.get("host"))

    def test_whole(self):
        self.assertEqual(len(VECTORS), 259)
        self.run_all(VECTORS, whole)

    def test_in_two_pieces(self):
        self.run_all(VECTORS, halves)

    def test_byte_by_byte(self):
        # Long ones are cut at every byte by the parser's own tests.
        self.run_all([vector for vector in VECTORS if len(vector["raw"]) <= 1000], bytewise)

    def test_a_sample_split_at_every_byte(self):
        by_class = {}
        for vector in VECTORS:
            if vector["expect"] == "reject" and 408 not in vector["status"] and len(vector["raw"]) < 150:
                by_class.setdefault(vector["class"], vector)
        jobs = [(vector, at) for vector in by_class.values() for at in range(1, len(vector["raw"]))]
        self.assertGreater(len(jobs), 500)
        with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            answers = list(pool.map(
                lambda job: self.final_statuses(job[0], lambda raw: [raw[:job[1]], raw[job[1]:]]), jobs))
        for (vector, at), statuses in zip(jobs, answers):
            with self.subTest(vector["id"], at=at):
                self.assertIn(statuses[-1] if statuses else 0, vector["status"])
        self.assertEqual(len(self.executed), sum(status == 200 for statuses in answers for status in statuses))
