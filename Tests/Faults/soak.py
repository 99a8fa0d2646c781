"""All kinds of requests from several clients, while clients, the upstream and the operator do what the fault matrix does.

    scripts/faults --soak 60 [--seed 1] [--mode tls]

Each request carries a number of its own, in its target and its body. What must hold at the end: no answer was another
request's; nothing was executed twice that must not be; what a cut request left behind was never taken for whole; and
descriptors, memory, connections and buffers are what they were at the start.
"""

import collections
import json
import random
import signal
import threading
import time
import urllib.parse

from harness import DEADLINE, Closed, make_multipart
from rig import FORM, MIB, Row, Fault, check, equal

SAFE = ("GET", "HEAD", "PUT", "DELETE")


class Soak:
    def __init__(self, seconds, seed, mode, certificates):
        self.seconds, self.seed, self.mode, self.certificates = seconds, seed, mode, certificates
        self.lock = threading.Lock()
        self.executed = collections.Counter()  # whole requests that the upstream read, by number
        self.methods = {}
        self.counts = collections.Counter()
        self.wrong = []
        self.ends = threading.Event()

    # The upstream.

    def script(self, exchange):
        received, dice = exchange.received, random.Random(f"{self.seed} {exchange.received.target}")
        number = received.target.partition("?")[2]
        mood = dice.random()
        if mood < 0.02:
            exchange.reset()
        exchange.read_body()
        with self.lock:
            self.executed[number] += 1
        self.check_body(number, received)
        answer = json.dumps({"number": number}).encode()
        if mood < 0.04:
            exchange.close()
        elif mood < 0.06:
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + number)
            exchange.close()
        elif mood < 0.07:
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
            exchange.reset()
        elif mood < 0.08:
            exchange.send("garbage\r\n\r\n")
            exchange.close()
        elif mood < 0.10:
            exchange.answer(body=answer, framing="close", fields=["Content-Type: application/json"])
        elif mood < 0.14:
            exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            exchange.answer(body=answer, framing="chunked", fields=["Content-Type: application/json"])
        else:
            exchange.answer(body=answer, framing=dice.choice(["length", "chunked"]), fields=["Content-Type: application/json"])

    def check_body(self, number, received):
        """Every body that arrived whole must be that of its number."""
        if received.method in ("GET", "HEAD", "DELETE"):
            return
        kind = received.media_type
        if kind == "application/json":
            found = received.json.get("number")
        elif kind == "multipart/form-data":
            found = dict((name, content) for name, _, _, content in received.parts).get("number", b"").decode()
        else:
            found = urllib.parse.parse_qs(received.body.decode()).get("number", [None])[0]
        if found != number:
            self.wrong.append(f"the request {number} arrived with the body of {found}")

    # The clients.

    def client(self, which):
        dice = random.Random(f"{self.seed} client {which}")
        connection, count = None, 0
        while not self.ends.is_set():
            count += 1
            number = f"{which}-{count}"
            try:
                connection = connection or self.stack.client()
                if not self.one(connection, number, dice):
                    connection.socket.close()
                    connection = None
            except (Closed, OSError):
                self.counts["cut"] += 1
                if connection:
                    connection.socket.close()
                connection = None
        if connection:
            connection.socket.close()

    def one(self, connection, number, dice):
        """One request; returns whether the connection can serve another."""
        kind = dice.choice(["form", "form", "form", "multipart", "get", "get", "put", "answered"])
        method = {"get": "GET", "put": "PUT"}.get(kind, "POST")
        self.methods[number] = method
        if kind == "multipart":
            target = "/renamed"
            body, media_type = make_multipart([("number", None, number.encode()),
                                               ("file", "f.bin", bytes(dice.choice([10, 70_000, 900_000])))])
        else:
            target = {"form": "/json", "answered": "/answered"}.get(kind, "/patient")
            body, media_type = f"number={number}&text=a+b".encode(), FORM
        if kind == "get":
            body = media_type = None
        fault = dice.random()
        if body is not None and fault < 0.06:
            self.cut(connection, method, target, number, body, media_type, dice)
            self.counts["cut by the client"] += 1
            return False
        connection.request(method, f"{target}?{number}", body, media_type)
        if fault > 0.98:
            connection.reset()
            self.counts["left"] += 1
            return False
        response = connection.response(method)
        while response.status < 200:
            response = connection.response(method)
        self.counts[response.status] += 1
        if response.status == 200:
            found = response.body.decode()
            if number not in found or (kind != "answered" and json.loads(found)["number"] != number):
                self.wrong.append(f"the request {number} was answered {found[:100]!r}")
        elif response.status not in (502, 503, 504):
            self.wrong.append(f"the request {number}: {response.status} {response.body[:200]!r}")
        return response.fields.get("connection", "").lower() != "close"

    def cut(self, connection, method, target, number, body, media_type, dice):
        connection.send(f"{method} {target}?{number} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n")
        connection.send(body[:dice.randrange(len(body))])
        self.methods[number] = "cut"
        if dice.random() < 0.5:
            connection.reset()

    # The whole.

    def run(self):
        fault = Fault(Row(0, "soak", (self.mode,), lambda fault: self.body(fault), ()), self.mode, self.certificates)
        fault.run()

    def body(self, fault):
        self.stack = fault.stack(workers=2)
        fault.upstream.script = self.script
        threads = [threading.Thread(target=self.client, args=(which,), daemon=True) for which in range(8)]
        for thread in threads:
            thread.start()
        until, reloads, peak = time.monotonic() + self.seconds, 0, 0
        while time.monotonic() < until and not self.wrong:
            self.ends.wait(1)
            self.stack.process.send_signal(signal.SIGHUP if reloads % 2 else signal.SIGUSR1)
            reloads += 1
            peak = max(peak, self.stack.resident())
            check(self.stack.process.poll() is None, lambda: f"it ended: {self.stack.error_text()[-3000:]}")
        self.ends.set()
        for thread in threads:
            thread.join(2 * DEADLINE)
            check(not thread.is_alive(), "a client hangs")
        fault.upstream.reset()
        equal(self.wrong[:5], [], "answers and bodies of other requests")
        twice = {number: count for number, count in self.executed.items()
                 if count > 1 and self.methods.get(number) not in SAFE}
        equal(twice, {}, "requests that were executed more than once")
        whole = [number for number in self.executed if self.methods.get(number) == "cut"]
        equal(whole, [], "cut requests that were taken for whole")
        check(self.counts[200] > self.seconds, f"too few requests were served: {dict(self.counts)}")
        self.stack.lines_before = None
        self.stack.added_memory = 48 * MIB
        print(f"soak: {sum(self.executed.values())} requests executed, answers {dict(self.counts)}, "
              f"{reloads} signals, peak {peak >> 20} MiB", flush=True)
