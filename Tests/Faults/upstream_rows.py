"""Rows 17 to 33 and 37: what upstreams answer."""

import json
import random
import socket
import threading

from harness import DEADLINE, Closed, select_nothing
from rig import FORM, FORM_BODY, MIB, check, equal, problem, raises_closed, row, send_in_background


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


@row(17, "an upstream answers just after its time: its bytes reach nobody")
def late(fault):
    stack = fault.stack()
    secret = b"late-" + b"z" * 100

    def script(exchange):
        exchange.read_body()
        if exchange.received.target == "/hasty":
            fault.upstream.over.wait(DEADLINE)
            exchange.answer(body=secret)
        else:
            exchange.answer(body=b"prompt")

    stalls(fault)
    fault.upstream.script = script
    with stack.client() as client:
        client.request("POST", "/hasty", FORM_BODY, FORM)
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
    stack = fault.stack(idle="20s")
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
    equal(stack.send(target="/hasty").status, 502)
    fault.upstream.script = raw(b"HTTP/1.1 200 OK\r\nContent-Le", "stall")
    equal(stack.send(target="/hasty").status, 504)
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
        sender = send_in_background(client, bytes(16 * MIB))
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
