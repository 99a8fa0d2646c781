"""Rows 1 to 13: what clients do."""

import json
import os
import resource
import socket
import threading
import time

from harness import DEADLINE, Closed, make_multipart
from rig import FORM_BODY, HERE, MIB, check, equal, hold_answer, raises_closed, row, send_in_background, wait_until

FORM_HEAD = (b"POST /json HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
             b"Content-Length: %d\r\n\r\n")
MULTIPART, MULTIPART_TYPE = make_multipart([("a", None, b"1"), ("file", "f.bin", bytes(4 * MIB))])


@row(1, "a client connects and sends nothing: closed after the time for a head, without a byte")
def silent(fault):
    stack = fault.stack(timeouts="header: 2s")
    clients = [fault.keep(stack.client()) for _ in range(100 if fault.mode == "tls" else 1000)]
    for client in clients:
        equal(client.reader.rest(), b"", "bytes to a silent client")


@row(2, "a head one byte at a time: 408 when the time for the whole head is over")
def slow_head(fault):
    stack = fault.stack(timeouts="header: 2s")
    client = fault.keep(stack.client())
    begun = time.monotonic()
    try:
        for byte in b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 1000:
            client.send(bytes([byte]))
            client.socket.settimeout(0.05)
            try:
                client.reader._more()
                break
            except TimeoutError:
                continue
    except OSError:
        pass
    client.socket.settimeout(DEADLINE)
    equal(client.response().status, 408)
    check(time.monotonic() - begun < DEADLINE, "the head's time is absolute")
    equal(stack.new_lines(1), [(408, "CT")])


@row(3, "a body that stalls: 408, and the upstream sees no end of it")
def slow_body(fault):
    stack = fault.stack(timeouts="body_gap: 2s")
    client = fault.keep(stack.client())
    client.send(b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n12345")
    received = fault.upstream.wait_for(1)[0]
    equal(client.response().status, 408)
    check(received.ended.wait(DEADLINE), "the upstream's connection is over")
    check(not received.is_complete, "what was cut must not be complete")
    equal(stack.new_lines(1), [(408, "CT")])


@row(4, "a client that doesn't read its response: the upstream is paused, memory stays, the client is cut")
def slow_reader(fault):
    stack = fault.stack(timeouts="write: 2s")
    size = 64 * MIB
    sent = []

    def script(exchange):
        exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")
        for _ in range(size // MIB):
            exchange.send(bytes(MIB))
            sent.append(MIB)

    fault.upstream.script = script
    client = fault.keep(stack.client(receive_buffer=4096))
    client.request("GET", "/patient")
    wait_until(lambda: stack.new_lines(1) if b"CS" in open(stack.output, "rb").read() else None, "the client is cut")
    check(sum(sent) < size, "the upstream was held back")
    check(stack.resident() < stack.memory + 8 * MIB, "memory stays")
    raises_closed(client.response)


@row(5, "a reset after the head: the upstream's connection is closed at once")
def reset_after_head(fault):
    stack = fault.stack()
    hold_answer(fault)
    client = stack.client()
    client.send(b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n12345")
    received = fault.upstream.wait_for(1)[0]
    client.reset()
    check(received.ended.wait(DEADLINE) and not received.is_complete, "the upstream hears of it, as of a cut")
    equal(stack.new_lines(1), [(499, "CD")])


@row(6, "a reset in the middle of an upload: the upstream sees it cut, nothing is sent again")
def reset_in_upload(fault):
    stack = fault.stack()
    client = stack.client()
    client.send(f"POST /renamed HTTP/1.1\r\nHost: a\r\nContent-Type: {MULTIPART_TYPE}\r\n"
                f"Content-Length: {len(MULTIPART)}\r\n\r\n")
    client.send(MULTIPART[:2 * MIB])
    received = fault.upstream.wait_for(1)[0]
    client.reset()
    check(received.ended.wait(DEADLINE) and not received.is_complete, "the upstream sees a cut")
    equal(len(fault.upstream.requests), 1, "requests")
    equal(stack.new_lines(1), [(499, "CD")])


@row(7, "a FIN in the middle of an upload: the same")
def end_in_upload(fault):
    stack = fault.stack()
    client = fault.keep(stack.client())
    client.send(f"POST /renamed HTTP/1.1\r\nHost: a\r\nContent-Type: {MULTIPART_TYPE}\r\n"
                f"Content-Length: {len(MULTIPART)}\r\n\r\n")
    client.send(MULTIPART[:2 * MIB])
    received = fault.upstream.wait_for(1)[0]
    client.finish_sending()
    check(received.ended.wait(DEADLINE) and not received.is_complete, "the upstream sees a cut")
    equal(stack.new_lines(1), [(499, "CD")])


@row(8, "a FIN after a whole request: the answer is delivered", modes=("plain",))
def end_after_request(fault):
    stack = fault.stack()
    go = hold_answer(fault)
    client = fault.keep(stack.client())
    client.send(FORM_HEAD % len(FORM_BODY) + FORM_BODY)
    client.finish_sending()
    fault.upstream.wait_for(1)
    go.set()
    equal(client.response().status, 200)
    check(client.is_closed(), "the connection ends behind the answer")


@row(9, "a client dies while it isn't read from: noticed without a byte")
def death_while_paused(fault):
    stack = fault.stack()
    over = threading.Event()
    fault.cleanups.callback(over.set)
    fault.upstream.script = lambda exchange: over.wait(DEADLINE)  # reads the head and nothing more
    client = stack.client()
    client.send(f"POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: {64 * MIB}\r\n\r\n")
    fault.upstream.wait_for(1)
    fill(client)
    client.reset()
    wait_until(lambda: b'"CD"' in open(stack.output, "rb").read(), "it is noticed")


def fill(client):
    """Sends until the other side takes no more for a while."""
    client.socket.settimeout(0.4)
    try:
        while True:
            client.socket.send(bytes(65536))
    except OSError:
        client.socket.settimeout(DEADLINE)


@row(10, "1,000 pipelined requests in one piece: answered in order, others are served meanwhile")
def pipelined(fault):
    stack = fault.stack()
    count = 1000
    client = fault.keep(stack.client())
    fault.upstream.script = lambda exchange: exchange.answer(body=exchange.received.target.encode())
    sender = send_in_background(client, b"".join(
        b"GET /plain?%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(count)))
    for number in range(count):
        equal(client.response().body, b"/plain?%d" % number, "the answer")
        if number == 100:
            equal(stack.send("GET", "/plain?other", None, None).status, 200, "another client")
    sender.join(DEADLINE)


@row(11, "every bad request of the vectors, whole and byte by byte: refused, never executed")
def bad_requests(fault):
    stack = fault.stack()
    with open(os.path.join(HERE, "..", "Vectors", "http-bad-requests.json")) as file:
        vectors = json.load(file)["vectors"]
    check(vectors, "there are vectors")
    refused = [one for one in vectors if one["expect"] == "reject" and "reencode" not in one.get("class", "")]
    for vector in refused[::1 if fault.mode == "plain" else 5]:
        for cut in (None, 1):
            client = stack.client()
            raw = vector["raw"].encode("latin-1")
            pieces = [raw] if cut is None else [raw[at:at + 1] for at in range(min(len(raw), 2000))] + [raw[2000:]]
            if cut and len(raw) > 3000:
                continue
            try:
                for piece in pieces:
                    if piece:
                        client.send(piece)
                client.finish_sending()
            except OSError:
                pass
            text = client.reader.rest()
            statuses = [int(line.split()[1]) for line in text.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
            last = statuses[-1] if statuses else 0
            check(last == 0 or last >= 400, f"{vector['id']}: {last}")
            client.socket.close()
    stack.lines_before = None


@row(12, "10,000 idle connections: held, bounded, and new ones are served", modes=("plain",))
def idle(fault):
    count = 10_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    check(hard >= count + 2000, f"the limit of descriptors, {hard}, is too low for this row")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stack = fault.stack(timeouts="header: 60s, keep_alive: 60s", settings="connections: { total: 12000, per_client: off }\n")
    clients = []
    try:
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", stack.port), timeout=DEADLINE)
            clients.append(client)
        wait_until(lambda: stack.descriptors() >= count, "all are held")
        equal(stack.send().status, 200, "a new client")
        check(stack.resident() - stack.memory < count * 4096, lambda: f"{(stack.resident() - stack.memory) // count} bytes each")
    finally:
        for client in clients:
            client.close()


@row(13, "a flood of new connections: accepted ones are served")
def flood(fault):
    stack = fault.stack()
    counts = {"answered": 0, "refused": 0}
    lock = threading.Lock()

    def run(number):
        for _ in range(60 if fault.mode == "tls" else 300):
            try:
                status = stack.send("GET", "/plain", None, None, fields=["Connection: close"]).status
                kind = "answered" if status == 200 else "refused"
            except (Closed, OSError):
                kind = "refused"
            with lock:
                counts[kind] += 1

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * DEADLINE)
        check(not thread.is_alive(), "the flood is over")
    equal(counts["refused"], 0, "requests that were not answered")
    stack.lines_before = None
