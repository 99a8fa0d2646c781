"""Clients of HTTP/2 and an upstream that do what comes to their minds, all at once: no answer is another's, nothing is left behind."""

import os
import random
import threading
import time

from admin import Admin, admin_port
from harness import DEADLINE, FORM, Closed
from http2_client import DATA, END_HEADERS, END_STREAM, HEADERS, HTTP2Client, HTTP2TestCase, block, frame, ping, pseudo, reset, \
    window_update
from lifecycle_support import descriptors, resident_bytes, wait_until

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: back, match: /back, upstream: app, response: json -> form }
  - { name: small, match: /small, upstream: app, limits: { body: 1KiB } }
  - { name: plain, match: "/plain*", upstream: app, trailers: [X-Sum] }
"""
SEED = int(os.environ.get("E2E_SEED", "0"))
SECONDS = 6
# Fewer whole answers would show little; a slow machine takes longer to get them.
ANSWERS = 100


class ChaosTests(HTTP2TestCase):
    routes = ROUTES
    workers = 2
    access_log = "off"
    admin, line = admin_port()
    settings = line + "timeouts: { keep_alive: 2s, write: 1s, body_gap: 1s, header: 1s }\ndefaults: { timeouts: { first_byte: 1s, gap: 1s } }\n"

    def upstream_script(self, exchange):
        """What it does is drawn from what it is asked, so that a client knows which answers may come."""
        name = exchange.received.fields.get("x-name")
        generator = random.Random(name)
        what = generator.randrange(12)
        body = (name.encode() + b"-") * generator.choice([1, 10, 5000])
        if what == 0:
            return exchange.answer(413, body, fields=("Connection: close",)) or exchange.close()
        if what == 1:
            exchange.close()
        if what == 2:
            exchange.reset()
        if what == 3:
            exchange.send("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")
        exchange.read_body()
        if what == 4:
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
            exchange.close()
        if what == 5:
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf")
            exchange.reset()
        if what == 6:
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(body), body.decode()))
            return None
        if what == 7:
            return exchange.send("HTTP/1.1 204 No Content\r\n\r\n")
        if what == 8:
            return exchange.send("nonsense\r\n\r\n") or exchange.close()
        if exchange.received.method == "HEAD":
            return exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n")
        return exchange.answer(body=body, framing=generator.choice(["length", "chunked", "close"]))

    def act(self, client, generator, name, names):
        method = generator.choice(["GET", "POST", "PUT", "HEAD", "POST"])
        path = generator.choice(["/plain", "/plain/x", "/form-json", "/back", "/small", "/nowhere"])
        fields = [("x-name", name), ("te", "trailers"), ("content-type", FORM)]
        size = generator.choice([0, 3, 1000, 70_000])
        body = b"a=" + b"b" * size
        if generator.random() < 0.3:
            fields.append(("content-length", str(len(body))))
        if generator.random() < 0.2:
            fields.append(("expect", "100-continue"))
        if method in ("GET", "HEAD") or generator.random() < 0.1:
            stream = client.request(method, path, [field for field in fields if field[0] != "content-length"])
        else:
            stream = client.open([*pseudo(method, path), *fields], end=False)
            what = generator.random()
            try:
                if what < 0.6:
                    client.content(stream, body, size=generator.choice([1000, 16_384]))
                elif what < 0.75:
                    client.content(stream, body, end=False)
                    client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block([("x-sum", "2")])))
                elif what < 0.9:
                    client.content(stream, body[:len(body) // 2], end=False)
                    client.send(reset(stream, generator.choice([0, 2, 7, 8])))
                    client.streams[stream].reset = 8
                else:
                    client.send(frame(DATA, 0, stream, b""))  # and no more
            except Closed:
                if client.closed:
                    raise
        names[stream] = name
        if generator.random() < 0.05:
            client.send(ping())
        if generator.random() < 0.1 and names:
            other = generator.choice(list(names))
            if not client.streams[other].is_over:
                client.send(reset(other))
                client.streams[other].reset = 8

    def run_client(self, number, until, failures, counts):
        generator = random.Random(f"{SEED}-{number}")
        serial = 0
        while time.monotonic() < until or len(counts) <= ANSWERS and time.monotonic() < until + DEADLINE:
            names = {}
            try:
                client = ForgivingClient(self.recast.port, window=generator.choice([1000, 65_535, 1 << 20]), gives=True)
                try:
                    for _ in range(generator.randrange(1, 60)):
                        serial += 1
                        self.act(client, generator, f"c{SEED}-{number}-{serial}", names)
                        while generator.random() < 0.5 and client.more(0.001):
                            pass
                    if generator.random() < 0.7:
                        deadline = time.monotonic() + 3
                        while time.monotonic() < deadline and not client.closed and not all(one.is_over for one in client.streams.values()):
                            client.more(0.1)
                finally:
                    client.socket.close()
            except (Closed, ConnectionError, TimeoutError):
                pass
            except AssertionError as error:
                failures.append(repr(error))
            for stream, name in names.items():
                record = client.streams[stream]
                if record.ended and record.status == 200 and record.count and bytes(record.body) != b"7":
                    counts.append(1)
                    if bytes(record.body).replace(name.encode() + b"-", b""):
                        failures.append((name, bytes(record.body)[:100]))

    def test_chaos(self):
        self.upstream.script = self.upstream_script
        failures, counts = [], []
        before = descriptors(self.recast.process)
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=self.run_client, args=(number, until, failures, counts)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 2 * DEADLINE)
        self.assertIsNone(self.recast.process.poll(), self.recast.error_text())
        self.assertEqual(failures[:5], [])
        self.assertGreater(len(counts), ANSWERS)
        # Only the pools' connections and the listeners stay.
        wait_until("all have gone", lambda: descriptors(self.recast.process) < before + 140)
        books = ("recast_inflight_requests", "recast_buffer_bytes", "recast_upstream_inflight_requests", "recast_upstream_queue_length")
        Admin(self.admin).metrics_when(lambda metrics: not any(metrics.sum(name) for name in books))
        self.assertLess(resident_bytes(self.recast.process), 200 << 20)
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer())
        self.assert_alive()
        self.assertNotIn("Fatal", self.recast.error_text())


class ForgivingClient(HTTP2Client):
    """Streams that this side has reset may still get what was on its way."""

    def _take_fields(self, stream, flags, payload):
        record = self.streams.get(stream)
        if record is not None and record.reset == 8:
            return self.decoder.decode(payload)
        return super()._take_fields(stream, flags, payload)

    def _take_content(self, stream, flags, payload):
        record = self.streams.get(stream)
        if record is not None and record.reset == 8:
            return self._answer(window_update(0, len(payload)) if payload else b"")
        return super()._take_content(stream, flags, payload)
