"""Many clients before a server of HTTP/2 that does anything: each gets its own answer or an error, nothing is done twice that may
not be, and in the end the books balance."""

import collections
import os
import random
import threading

from harness import Client, Closed
from http2_client import CANCEL, DATA, END_HEADERS, HEADERS, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, HTTP2Client, block, frame
from http2_upstream_support import HTTP2ServerTestCase
from lifecycle_support import wait_until

SEED = int(os.environ.get("E2E_SEED", "7"))
REQUESTS = 80  # of each client


class ChaosTests(HTTP2ServerTestCase):
    def script(self, executed, lock):
        def script(exchange):
            identity = exchange.received.fields.get("x-id")
            chance = random.Random(f"{SEED}-{identity}-{exchange.received.connection_number}-{exchange.stream.number}")
            what = chance.choices(("answer", "large", "early", "refuse", "reset", "cut", "away", "close", "break", "late reset", "wait"),
                                  (40, 8, 4, 6, 4, 4, 3, 2, 1, 3, 3))[0]
            if what == "refuse":
                exchange.abort(REFUSED_STREAM)
                return
            if what == "early":
                with lock:
                    executed[identity] += 1
                exchange.answer(413, identity.encode())
                exchange.abort(NO_ERROR)
                return
            exchange.read_body()
            with lock:
                executed[identity] += 1
            if what == "away":
                exchange.connection.send_goaway_behind_all()
            elif what == "wait":
                exchange.stream.connection.ended.wait(chance.random() / 5)
            elif what == "reset":
                exchange.abort(chance.choice((INTERNAL_ERROR, CANCEL, NO_ERROR)))
                return
            elif what == "close":
                exchange.reset() if chance.random() < 0.5 else exchange.leave()
            elif what == "break":
                exchange.frames(chance.choice((frame(DATA, 0, 0, b"x"), frame(HEADERS, END_HEADERS, exchange.stream.number, b"\xff" * 9),
                                               b"nonsense\r\n\r\n", frame(HEADERS, END_HEADERS, 2, block([(":status", "200")])))))
                exchange.stream.wait_for_cut()
                return
            body = identity.encode() * (20_000 if what == "large" else 1)
            exchange.respond(200, [("content-length", str(len(body)))] if chance.random() < 0.5 else [])
            if what == "cut":
                exchange.content(body[:-1])
                exchange.abort(INTERNAL_ERROR)
                return
            exchange.content(body, end=True)
            if what == "late reset":
                exchange.frames(frame(3, 0, exchange.stream.number, bytes(4)))

        return script

    def judge(self, identity, status, body, wrong):
        if status == 200 and body not in (identity, identity * 20_000) or status == 413 and body != identity \
                or status not in (200, 413, 502, 503):
            wrong.append((identity, status, body[:100]))

    def by_http1(self, name, chance, wrong, answered):
        client = None
        for number in range(REQUESTS):
            identity = f"{name}-{number}".encode()
            client = client or Client(self.recast.port)
            body = None if chance.random() < 0.5 else bytes(chance.choice((1, 1000, 100_000)))
            try:
                client.request("GET" if body is None else "POST", "/", body, fields=[f"X-Id: {identity.decode()}"])
                response = client.response()
                self.judge(identity, response.status, response.body, wrong)
                answered[response.status] += 1
                if response.fields.get("connection", "") == "close":
                    raise Closed
            except (Closed, OSError):
                answered["cut"] += 1
                client.socket.close()
                client = None
        if client:
            client.socket.close()

    def by_http2(self, name, chance, wrong, answered):
        number = 0
        while number < REQUESTS:
            try:
                with HTTP2Client(self.recast.port) as client:
                    while number < REQUESTS and not client.closed:
                        count = chance.randrange(1, 12)
                        begun = []
                        for number in range(number, number + count):
                            body = None if chance.random() < 0.5 else bytes(chance.choice((0, 1000, 30_000)))
                            identity = f"{name}-{number}"
                            begun.append((identity.encode(), client.request("GET" if body is None else "POST", "/", [("x-id", identity)],
                                                                            end=body is None)))
                            if body is not None:
                                try:
                                    client.content(begun[-1][1], body)
                                except Closed:
                                    pass
                        number += 1
                        for identity, stream in begun:
                            record = client.over(stream)
                            if record.ended:
                                self.judge(identity, record.status, bytes(record.body), wrong)
                                answered[record.status] += 1
                            else:
                                answered["cut"] += 1
            except OSError:
                answered["cut"] += 1

    def test_chaos(self):
        server = self.server()
        executed, lock, wrong = collections.Counter(), threading.Lock(), []
        server.script = self.script(executed, lock)
        self.proxy(server, upstream="connect: 3s",
                   routes='  - { name: plain, match: "/*", upstream: app, timeouts: { first_byte: 10s, gap: 10s } }\n')
        counts = [collections.Counter() for _ in range(12)]
        threads = [threading.Thread(target=self.by_http1 if number % 2 else self.by_http2,
                                    args=(f"client{number}", random.Random(SEED + number), wrong, counts[number]))
                   for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive(), "a client waits for ever")
        self.assertEqual(wrong, [])
        answered = sum(counts, collections.Counter())
        self.assertGreater(answered[200], answered.total() / 3, answered)
        posts = {received.fields.get("x-id") for received in server.requests if received.method == "POST"}
        self.assertEqual({identity: count for identity, count in executed.items() if identity in posts and count > 1}, {})
        self.assertIsNone(self.recast.process.poll())
        for name in ("recast_upstream_inflight_requests", "recast_upstream_queue_length"):
            self.wait_for_metric(0, name)
        wait_until("as many connections as the server has",
                   lambda: self.metric("recast_upstream_connections") == len(server.open_connections))
        self.wait_for_metric(0, "recast_upstream_connections")
