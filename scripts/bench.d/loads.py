"""The loads: small requests by wrk, uploads of a gigabyte, idle connections."""

import base64
import json
import random
import socket
import ssl
import subprocess
import time

from processes import BenchError

FORM_TYPE = "application/x-www-form-urlencoded"
# 200 bytes, ten fields, two of them nested.
FORM = ("name=Ada+Lovelace&email=ada%40example.org&age=36&plan=professional&newsletter=true&city=London"
        "&street=St+James+Square+12&user[id]=1815&user[role]=owner&comment=The+engine+weaves+algebraic+patterns.+OK")
FORM_AS_JSON = {
    "name": "Ada Lovelace", "email": "ada@example.org", "age": "36", "plan": "professional", "newsletter": "true",
    "city": "London", "street": "St James Square 12", "user": {"id": "1815", "role": "owner"},
    "comment": "The engine weaves algebraic patterns. OK"}
assert len(FORM) == 200 and FORM.count("&") == 9

BOUNDARY = "----bench-7f3c1e5a9b2d4f60"


def read_response(connection):
    """One response with Content-Length: its status and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise BenchError(f"the connection was closed before a response came; it began with {data[:200]!r}")
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split()[1])
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "content-length" in fields:
        while len(body) < int(fields["content-length"]):
            body += connection.recv(65536)
    elif fields.get("transfer-encoding") == "chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
        body = b"".join(piece for _, piece in chunks(body))
    return status, body


def chunks(body):
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size.split(b";")[0], 16)
        if count == 0:
            return
        yield count, body[:count]
        body = body[count + 2:]


def post(port, path, body, media_type, connection=None):
    own = connection or socket.create_connection(("127.0.0.1", port), timeout=30)
    own.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {media_type}\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
    try:
        return read_response(own)
    finally:
        if connection is None:
            own.close()


def check_small(port, folder, converts):
    """One request before the load: the peer must really do what is to be measured."""
    check_body(*post(port, f"{folder}/echo", FORM.encode(), FORM_TYPE), converts)


def check_body(status, body, converts):
    if status != 200:
        raise BenchError(f"the first request was answered with {status}: {body[:300]!r}")
    if converts and json.loads(body) != FORM_AS_JSON:
        raise BenchError(f"the upstream received the wrong JSON: {body!r}")
    if not converts and body != FORM.encode():
        raise BenchError(f"the upstream received another body than was sent: {body!r}")


def check_secured(port, folder, converts):
    """The same over TLS; returns what was agreed on, so that peers that differ aren't compared."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain, context.wrap_socket(plain) as connection:
        check_body(*post(port, f"{folder}/echo", FORM.encode(), FORM_TYPE, connection), converts)
        return f"{connection.version()} {connection.cipher()[0]}"


def run_small(server, folder, seconds, connections, core, script, *, port=None, is_new=False):
    """wrk on one peer: plain HTTP, or TLS on `port`; with `is_new` each request has a connection of its own. The peer's CPU
    time is read before and after, so wrk's start counts for every peer alike."""
    before = server.cpu_seconds()
    place = f"https://127.0.0.1:{port}" if port else f"http://127.0.0.1:{server.port}"
    ending = ["close"] if is_new else []
    result = subprocess.run(
        ["taskset", "-c", str(core), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script,
         f"{place}{folder}/small", "--", FORM, FORM_TYPE, *ending],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60)
    cpu = server.cpu_seconds() - before
    line = next((line for line in result.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        raise BenchError(f"wrk gave no result: {result.stdout}{result.stderr}")
    seen = json.loads(line.removeprefix("RESULT "))
    if seen["failed"] or not seen["requests"]:
        raise BenchError(f"{server.name}: {seen['failed']} of {seen['requests']} requests failed; its log:\n{server.log()}")
    return {
        "requests_per_s": seen["requests"] / seen["seconds"], "p50_us": seen["p50_us"], "p99_us": seen["p99_us"],
        "cpu_us_per_request": cpu / seen["requests"] * 1e6, "requests": seen["requests"]}


def run_resumed(server, folder, seconds):
    """One connection after the other, each taking up the session of the one before: wrk can't. The client is slow, so only the
    peer's CPU time says something."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = (f"POST {folder}/small HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {FORM_TYPE}\r\n"
               f"Content-Length: {len(FORM)}\r\nConnection: close\r\n\r\n{FORM}").encode()
    session, count, full, times = None, 0, 0, []
    before, began = server.cpu_seconds(), time.monotonic()
    while time.monotonic() - began < seconds:
        start = time.monotonic()
        plain = socket.create_connection(("127.0.0.1", server.secure_port), timeout=30)
        with context.wrap_socket(plain, session=session, suppress_ragged_eofs=True) as connection:
            connection.sendall(request)
            status, _ = read_response(connection)
            if status != 200:
                raise BenchError(f"{server.name} answered {status}")
            full += not connection.session_reused
            session = connection.session
        times.append(time.monotonic() - start)
        count += 1
    if full > 1 + count // 100:
        raise BenchError(f"{server.name}: {full} of {count} handshakes took no session up")
    times.sort()
    return {"requests_per_s": count / (time.monotonic() - began), "p50_us": times[count // 2] * 1e6,
            "p99_us": times[count * 99 // 100] * 1e6,
            "cpu_us_per_request": (server.cpu_seconds() - before) / count * 1e6, "requests": count}


def upload_body(kind, size):
    """The start, a block to be repeated, how often, and the end of a body whose file has `size` bytes."""
    block = random.Random(20).randbytes(3 << 18)  # 768 KiB: a multiple of 3, so that base64 blocks join
    count = -(-size // len(block))
    if kind == "multipart":
        start = "".join(
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in (("title", "An upload"), ("album", "42")))
        start += (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n'
                  "Content-Type: application/octet-stream\r\n\r\n")
        return (start.encode(), block, count, f"\r\n--{BOUNDARY}--\r\n".encode(),
                f"multipart/form-data; boundary={BOUNDARY}")
    text = base64.b64encode(block)
    count = -(-size // len(text))  # here the string itself has `size` bytes
    return b'{"title":"An upload","album":42,"file":"', text, count, b'"}', "application/json"


def run_upload(server, path, kind, size, expected):
    """One upload over a new connection, made on the fly. `expected` bounds the upstream's byte count, per input byte."""
    start, block, count, end, media_type = upload_body(kind, size)
    length = len(start) + len(block) * count + len(end)
    before = server.cpu_seconds()
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        try:
            connection.sendall((f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                                f"Content-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n").encode() + start)
            for _ in range(count):
                connection.sendall(block)
            connection.sendall(end)
        except (BrokenPipeError, ConnectionResetError):
            pass  # an early answer: the status below says why
        status, body = read_response(connection)
    seconds = time.monotonic() - began
    cpu = server.cpu_seconds() - before
    if status != 200:
        raise BenchError(f"{server.name}{path} answered {status}: {body[:500]!r}")
    low, high = expected
    if not low <= int(body) / length <= high:
        raise BenchError(f"{server.name}{path}: the upstream received {int(body)} bytes for {length}")
    gib = length / (1 << 30)
    return {"cpu_s_per_gib": cpu / gib, "seconds_per_gib": seconds / gib, "peak_mib": server.peak_bytes() / (1 << 20),
            "bytes": length}


def run_idle(server, folder, count):
    """Opens connections that send one request each and stay; returns what each adds to the resident memory."""
    warm = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(100)]
    for connection in warm:
        post(server.port, f"{folder}/idle", FORM.encode(), FORM_TYPE, connection)
    before = server.resident_bytes()
    held = []
    try:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            held.append(connection)
            status, _ = post(server.port, f"{folder}/idle", FORM.encode(), FORM_TYPE, connection)
            if status != 200:
                raise BenchError(f"{server.name} answered connection {len(held)} with {status}")
        after = server.resident_bytes()
        # All must still be there, or the figure is of fewer connections than it says.
        for connection in (held[0], held[len(held) // 2], held[-1]):
            if post(server.port, f"{folder}/idle", FORM.encode(), FORM_TYPE, connection)[0] != 200:
                raise BenchError(f"{server.name} didn't keep its idle connections")
        return {"connections": count, "bytes_per_connection": (after - before) / count,
                "resident_before_mib": before / (1 << 20), "resident_after_mib": after / (1 << 20)}
    finally:
        for connection in warm + held:
            connection.close()
