"""Rows 14 to 38: what upstreams and the network to them do."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

from harness import DEADLINE, JSON, Client, Closed, free_port, select_nothing
from rig import (FORM, FORM_BODY, JSON_OF_FORM, MIB, ROUTES, check, equal, raises_closed, row, wait_until)


def problem(response, status, code):
    equal((response.status, response.json["code"]), (status, code), "the answer")


def raw(data, then="close"):
    """A script: reads the request, sends these bytes, and closes, resets or stalls."""

    def script(exchange):
        exchange.read_body()
        exchange.send(data)
        if then == "close":
            exchange.close()
        elif then == "reset":
            exchange.reset()
        elif then == "stall":
            exchange.upstream.over.wait(DEADLINE)

    return script


def stalls(fault):
    fault.upstream.over = threading.Event()
    fault.cleanups.callback(fault.upstream.over.set)


class OutsideUpstream:
    """An HTTP server in a process of its own, so that it can be stopped and killed."""

    PROGRAM = r"""
import socket, sys, threading
listener = socket.socket(); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1]))); listener.listen(64)
print("ready", flush=True)
def serve(connection):
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece: return
            data += piece
        head, data = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"): length = int(line.split(b":")[1])
        while len(data) < length: data += connection.recv(65536)
        data = data[length:]
        try: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except OSError: return
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, str(self.port)], stdout=subprocess.PIPE)
        equal(self.process.stdout.readline(), b"ready\n")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def outside(fault, **options):
    upstream = OutsideUpstream(**options)
    fault.cleanups.callback(upstream.stop)
    return upstream


@row(14, "nobody listens: 502 at once")
def refused(fault):
    stack = fault.stack()
    fault.upstream.stop()
    wait_until(lambda: stack.settled_descriptors() <= stack.fds, "the pool has let go")
    begun = time.monotonic()
    response = stack.send()
    problem(response, 502, "upstream_unreachable")
    check(time.monotonic() - begun < 1, "at once")
    equal(stack.new_lines(1), [(502, "UF")])
    stack.fds = None


@row(15, "SYNs are dropped: 504 when the time to connect is over, other routes go on", modes=("plain",), needs=("nft",))
def dropped(fault):
    lost = free_port()
    stack = fault.stack(
        upstreams={"app": f"127.0.0.1:{fault.upstream.port}", "lost": f"{{ address: '127.0.0.1:{lost}', connect: 600ms }}"},
        routes="  - { name: lost, match: /lost, upstream: lost }\n" + ROUTES)
    with firewall(f"tcp dport {lost} drop"):
        client = fault.keep(stack.client())
        begun = time.monotonic()
        client.request("GET", "/lost")
        equal(stack.send().status, 200, "another route meanwhile")
        problem(client.response(), 504, "upstream_connect_timeout")
        check(time.monotonic() - begun < 3, "when the time is over")


class firewall:
    """nft rules on the loopback of this network namespace, for the time of a block."""

    def __init__(self, *rules):
        self.rules = rules

    def __enter__(self):
        lines = ["type filter hook input priority 0", *self.rules]
        text = "table inet faults {\nchain input {\n" + "\n".join(lines) + "\n}\n}\n"
        subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["nft", "delete", "table", "inet", "faults"], check=True)


@row(16, "an upstream accepts and never answers: 504 at the time for the first byte", modes=("plain",))
def stopped(fault):
    upstream = outside(fault)
    stack = fault.stack(upstreams={"app": f"{{ address: '127.0.0.1:{upstream.port}', idle: 400ms }}"})
    upstream.process.send_signal(signal.SIGSTOP)
    problem(stack.send(), 504, "upstream_timeout")
    equal(stack.new_lines(1), [(504, "UT")])
    upstream.process.send_signal(signal.SIGCONT)


@row(17, "an upstream answers just after its time: its bytes reach nobody")
def late(fault):
    stack = fault.stack()
    secret = b"late-" + b"z" * 100

    def script(exchange):
        exchange.read_body()
        if exchange.received.target == "/json":
            fault.upstream.over.wait(DEADLINE)
            exchange.answer(body=secret)
        else:
            exchange.answer(body=b"prompt")

    stalls(fault)
    fault.upstream.script = script
    with stack.client() as client:
        client.request("POST", "/json", FORM_BODY, FORM)
        problem(client.response(), 504, "upstream_timeout")
        fault.upstream.over.set()
        for _ in range(50):
            client.request("GET", "/plain")
            equal(client.response().body, b"prompt", "an answer after the late one")


def on_reuse(fault, ending):
    """The upstream answers the first request of a connection and breaks the second one without a byte."""
    served = set()
    seen = []

    def script(exchange):
        exchange.read_body()
        number = exchange.received.connection_number
        seen.append(exchange.received.method)
        if number in served:
            exchange.reset() if ending == "reset" else exchange.close()
        served.add(number)
        exchange.answer()

    fault.upstream.script = script
    return seen


@row(18, "a reused connection is closed without a byte: GET goes once more, POST doesn't")
def closed_on_reuse(fault):
    reuse(fault, "close")


@row(19, "a reused connection is reset between our write and its read: the same")
def reset_on_reuse(fault):
    reuse(fault, "reset")


def reuse(fault, ending):
    stack = fault.stack()
    with stack.client() as client:
        seen = on_reuse(fault, ending)
        client.request("GET", "/plain")
        equal(client.response().status, 200)
        client.request("GET", "/plain?again")
        equal(client.response().status, 200, "a GET that broke on a reused connection")
        equal(seen, ["GET", "GET", "GET"], "what the upstream got")
        seen.clear()
        client.request("POST", "/json", FORM_BODY, FORM)
        problem(client.response(), 502, "upstream_closed")
        equal(seen, ["POST"], "what the upstream got")


@row(20, "half a head, then the end or nothing more: 502, 504")
def half_head(fault):
    stack = fault.stack()
    stalls(fault)
    fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nContent-Le")
    equal(stack.send().status, 502)
    fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nContent-Le", "stall")
    equal(stack.send().status, 504)
    equal(stack.new_lines(2), [(502, "UR"), (504, "UT")])


@row(21, "a body shorter than its length, cut at every sixteenth: never complete")
def short_body(fault):
    stack = fault.stack()
    body = json.dumps({"text": "x" * 3000}).encode()
    for sixteenth in range(16):
        fault.upstream.script = raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body[:len(body) * sixteenth // 16])
        raises_closed(lambda: stack.send(target="/plain", body=b"x", media_type="text/plain"))
        problem(stack.send(target="/answered", body=b"x", media_type="text/plain"), 502, "upstream_body_incomplete")


@row(22, "a body longer than its length: exactly its length is relayed, the connection is not used again")
def long_body(fault):
    stack = fault.stack()
    fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
                                then="stall")
    stalls(fault)
    with stack.client() as client:
        for _ in range(3):
            client.request("GET", "/plain")
            equal(client.response().body, b"ok", "the body")
    equal(len({received.connection_number for received in fault.upstream.requests}), 3, "connections")


@row(23, "chunked without a last chunk: no last chunk goes on, no closing bracket")
def no_last_chunk(fault):
    stack = fault.stack()
    fault.upstream.script = raw(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
                                b'9\r\n{"a": "b"\r\n')
    raises_closed(lambda: stack.send(target="/plain", body=b"x"))
    problem(stack.send(target="/answered", body=b"x"), 502, "upstream_body_incomplete")


@row(24, "a bad chunk size, at once or after a chunk: cut, or a 502 where the head had not gone on yet")
def bad_chunk(fault):
    stack = fault.stack()
    for chunks in (b"10000\r\n" + bytes(65536) + b"\r\nzz\r\n", b"0x5\r\nhello\r\n0\r\n\r\n"):
        fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        try:
            problem(stack.send(target="/plain", body=b"x"), 502, "upstream_bad_response")
        except Closed:
            pass


@row(25, "413 while the upload still runs, and the connection is kept, closed or reset: the client gets it")
def early_answer(fault):
    stack = fault.stack()
    for ending in ("keep", "close", "reset"):
        def script(exchange):
            start = exchange.reader.exactly(1024)
            exchange.answer(413, b"early")
            if ending == "close":
                exchange.close()
            elif ending == "reset":
                exchange.reset()
            exchange.reader.buffer = start + exchange.reader.buffer
            for _ in exchange.reader.body_pieces(exchange.received.fields):
                pass

        fault.upstream.script = script
        client = fault.keep(stack.client())
        client.send(f"POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: {16 * MIB}\r\n\r\n")

        def send():
            try:
                client.send(bytes(16 * MIB))
            except OSError:
                pass

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        equal(client.response().status, 413, f"the status when the upstream would {ending}")
        sender.join(DEADLINE)
        client.socket.close()


@row(26, "103 a hundred times, 100 without end: a few pass, then 502")
def interim(fault):
    stack = fault.stack()
    for status in (103, 100):
        fault.upstream.script = raw(b"HTTP/1.1 %d Interim\r\n\r\n" % status * 100)
        with stack.client() as client:
            client.request("GET", "/plain")
            passed = 0
            while True:
                response = client.response()
                if response.status >= 200:
                    break
                passed += 1
            equal(response.status, 502)
            check(passed <= 32, f"{passed} interim responses passed")
    equal(stack.new_lines(2), [(502, "UB"), (502, "UB")])


@row(27, "101 that nobody asked for: 502; 200 with Upgrade: a plain 200")
def unasked_upgrade(fault):
    stack = fault.stack()
    fault.upstream.script = raw(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
    equal(stack.send().status, 502)
    fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok")
    response = stack.send()
    equal((response.status, response.body, "upgrade" in response.fields), (200, b"ok", False))


@row(28, "a body with HEAD, 204 or 304: dropped, the connection is not used again")
def body_where_none_is(fault):
    stack = fault.stack()
    stalls(fault)
    with stack.client() as client:
        for number, (method, status) in enumerate((("HEAD", 200), ("GET", 204), ("GET", 304)), 1):
            fault.upstream.script = raw(b"HTTP/1.1 %d Status\r\nContent-Length: 5\r\n\r\nextra" % status, then="stall")
            client.request(method, "/plain")
            response = client.response(method)
            equal((response.status, response.body), (status, b""))
            fault.upstream.script = lambda exchange: exchange.answer(body=b"clean")
            client.request("GET", "/plain")
            equal(client.response().body, b"clean", "the next answer on this client's connection")


@row(29, "256 MiB at line rate to a slow client: memory is bounded, every byte arrives")
def large_response(fault):
    stack = fault.stack()
    size = 256 * MIB if fault.mode == "plain" else 64 * MIB

    def script(exchange):
        exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")
        for _ in range(size // MIB):
            exchange.send(bytes(MIB))

    fault.upstream.script = script
    client = fault.keep(stack.client(receive_buffer=65536))
    client.request("GET", "/patient")
    _, fields = client.reader.head()
    received = sum(len(piece) for piece in client.reader.body_pieces(fields))
    equal(received, size, "bytes")
    check(stack.peak_bytes() < stack.memory + 16 * MIB, lambda: f"a peak of {stack.peak_bytes() >> 20} MiB")


@row(30, "heads of 100 KB, of 500 fields, with NUL, with bare LF: 502")
def bad_heads(fault):
    stack = fault.stack()
    for head in (b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
                 b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 500 + b"\r\n",
                 b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n",
                 b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
                 b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na",
                 b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
                 b"HTTP/2 200\r\n\r\n", b"garbage\r\n\r\n"):
        fault.upstream.script = raw(head)
        problem(stack.send(), 502, "upstream_bad_response")


@row(31, "bodies that would cost: cut, bad UTF-8, 100,000 levels, a number of a million digits, XML bomb, plist cycle")
def bad_bodies(fault):
    stack = fault.stack()
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">' + b"".join(
        b'<!ENTITY c%d "%s">' % (number, (b"&c%d;" % (number - 1) if number else b"&b;") * 10) for number in range(9)
    ) + b"]><a>&c8;</a>"
    # An array whose only element is itself.
    cycle = b"bplist00" + b"\xa1\x00" + b"\x08" + bytes(6) + b"\x01\x01" + (1).to_bytes(8, "big") + bytes(8) + (10).to_bytes(8, "big")
    used = stack.processor_seconds()
    for target, media_type, body in (
            ("/answered", "application/json", b'{"a": ['), ("/answered", "application/json", b'{"a": "\xff\xfe"}'),
            ("/answered", "application/json", b"[" * 100_000), ("/answered", "application/json", b"1" * 1_000_000),
            ("/answered-xml", "application/xml", bomb), ("/answered-xml", "application/xml", b"<a>" * 100_000),
            ("/answered-plist", "application/x-plist", cycle)):
        fault.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.answer(body=body, fields=[f"Content-Type: {media_type}"]))
        response = stack.send(target=target, body=b"x")
        equal(response.status, 502, f"{target} {body[:20]!r}")
    check(stack.processor_seconds() - used < 2, "none of them costs much")


@row(32, "a multipart upload whose boundary stands in its data, or without its last boundary: cut, never complete")
def bad_multipart(fault):
    stack = fault.stack()
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    for body in (head + bytes(200_000) + b"\r\n--x garbage\r\n" + bytes(1000) + b"\r\n--x--\r\n",
                 head + bytes(200_000) + b"\r\n--x", head + bytes(200_000)):
        response = stack.send(target="/renamed", body=body, media_type="multipart/form-data; boundary=x")
        equal(response.status, 400)
    for received in list(fault.upstream.requests):
        check(received.ended.wait(DEADLINE) and not received.is_complete, "the upstream must not see one whole")


@row(33, "every second connection is reset: only what isn't safe fails, and nothing is executed twice")
def flaky(fault):
    stack = fault.stack()
    executed = []
    lock = threading.Lock()
    dice = random.Random(3)

    def script(exchange):
        exchange.read_body()
        with lock:
            executed.append((exchange.received.method, exchange.received.target))
            lucky = dice.random() < 0.5
        if not lucky:
            exchange.reset()
        exchange.answer()

    fault.upstream.script = script
    statuses = []
    with stack.client() as client:
        for number in range(200):
            client.request("POST", f"/json?{number}", FORM_BODY, FORM)
            response = client.response()
            statuses.append(response.status)
    check(set(statuses) <= {200, 502}, f"{set(statuses)}")
    posts = [target for method, target in executed if method == "POST"]
    equal(len(posts), len(set(posts)), "a POST is executed once at most")


@row(34, "one of three addresses is dead: it is left out, and taken back", modes=("plain",))
def one_dead(fault):
    first, second, third = outside(fault), outside(fault), outside(fault)
    places = ", ".join(f"'127.0.0.1:{one.port}'" for one in (first, second, third))
    stack = fault.stack(upstreams={"app": f"{{ address: [{places}], idle: 400ms, connect: 600ms }}"})
    third.stop()
    for _ in range(60):
        equal(stack.send("GET", "/plain", None, None).status, 200, "a request with one address dead")
    back = outside(fault, port=third.port)
    wait_until(lambda: (stack.send("GET", "/plain", None, None).status == 200
                        and json.loads(stack.ask("/upstreams")[1])
                        and stack.total("recast_upstream_endpoint_healthy") == 3), "it is taken back", 40)
    del back


@row(35, "all addresses are dead: 5xx at once, and well again within seconds", modes=("plain",))
def all_dead(fault):
    first, second = outside(fault), outside(fault)
    places = ", ".join(f"'127.0.0.1:{one.port}'" for one in (first, second))
    stack = fault.stack(upstreams={"app": f"{{ address: [{places}], idle: 400ms, connect: 600ms }}"})
    first.stop()
    second.stop()
    for _ in range(40):
        begun = time.monotonic()
        status = stack.send("GET", "/plain", None, None).status
        check(status in (502, 503) and time.monotonic() - begun < 1, f"{status} after {time.monotonic() - begun:.2f} s")
    outside(fault, port=first.port)
    outside(fault, port=second.port)
    wait_until(lambda: stack.send("GET", "/plain", None, None).status == 200, "it recovers", 15)


@row(36, "three of ten packets are lost: slower, and right", modes=("plain",), needs=("nft",))
def loss(fault):
    stack = fault.stack(timeouts="header: 20s, body_gap: 20s, write: 20s", connect="20s")
    with firewall(f"tcp dport {fault.upstream.port} numgen random mod 100 < 20 drop"):
        for _ in range(3):
            with stack.client() as client:
                client.socket.settimeout(2 * DEADLINE)
                client.request("POST", "/patient", bytes(300_000), "application/octet-stream")
                equal(client.response().status, 200)


@row(37, "answers in pieces of seven bytes: right")
def slices(fault):
    stack = fault.stack()
    body = json.dumps({"a": ["x" * 500, 1, True]}).encode()
    data = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%s\r\n" % (len(body[at:at + 13]), body[at:at + 13]) for at in range(0, len(body), 13)) + b"0\r\n\r\n"

    def script(exchange):
        exchange.read_body()
        exchange.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), 7):
            exchange.send(data[at:at + 7])
            if at % 70 == 0:
                select_nothing()

    fault.upstream.script = script
    response = stack.send(target="/plain", body=b"x")
    equal((response.status, response.body), (200, body))
    response = stack.send(target="/answered", body=b"x")
    equal(response.status, 200, response.body)


@row(38, "256 kbit/s: right, paused cleanly", modes=("plain",), needs=("tc",))
def narrow(fault):
    stack = fault.stack(timeouts="header: 20s, body_gap: 30s, write: 30s", connect="20s")
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "256kbit", "burst", "70000", "limit", "500000"],
                   check=True)
    try:
        with stack.client() as client:
            client.request("POST", "/patient", bytes(60_000), "application/octet-stream")
            equal(client.response().status, 200)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
