"""The loads on one peer: wrk as fast as it can, pace.c at a constant rate, large uploads, idle connections."""

import json
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time

import bodies
import clients
from processes import BenchError, count_instructions

HERE = os.path.dirname(os.path.abspath(__file__))


def target(folder, exchange):
    """The sink answers with 415 when the body isn't of this type, so each single request of a load is checked."""
    return f"{folder}/load?type={exchange.expected_type}"


class Usage:
    """The CPU time of a peer from here on: of all of it, and of the program that it asks where there is one."""

    def __init__(self, server):
        self.server, self.asked_ids = server, server.asked() if server.asks else None
        if self.asked_ids == []:
            raise BenchError(f"{server.name} runs no {server.asks}; its log:\n{server.log()}")
        self.began, self.before = time.monotonic(), self._seconds()

    def _seconds(self):
        whole = self.server.cpu_seconds()
        return whole, self.server.cpu_seconds(self.asked_ids) if self.asked_ids else None

    def end(self):
        self.took = time.monotonic() - self.began
        whole, asked = self._seconds()
        self.cpu = whole - self.before[0]
        self.asked = asked - self.before[1] if self.asked_ids else None
        return self

    def figures(self, unit, count, scale=1):
        """For each of `count`: the whole, and the part of what is asked with its ratio to the rest."""
        figures = {f"cpu_{unit}": self.cpu / count * scale, "core_share": self.cpu / self.took}
        if self.asked is not None:
            figures |= {f"asked_cpu_{unit}": self.asked / count * scale, "asked_ratio": self.asked / (self.cpu - self.asked)}
        return figures


def run_closed(server, folder, exchange, seconds, connections, core, *, port=None, is_new=False, instructions=False):
    """wrk on one peer: plain HTTP, or TLS on `port`; with `is_new` each request has a connection of its own. The peer's CPU
    time is read before and after, so wrk's start counts for every peer alike."""
    place = f"https://127.0.0.1:{port}" if port else f"http://127.0.0.1:{server.port}"
    ending = ["close"] if is_new else []
    command = ["taskset", "-c", str(core), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s",
               os.path.join(HERE, "wrk.lua"), place + target(folder, exchange), "--", exchange.sent.decode(),
               exchange.content_type, *ending]
    usage = Usage(server)
    counting = count_instructions(server.processes()) if instructions else None
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60)
    counted = counting() if counting else None
    usage.end()
    line = next((line for line in result.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        raise BenchError(f"wrk gave no result: {result.stdout}{result.stderr}")
    seen = json.loads(line.removeprefix("RESULT "))
    if not seen["requests"]:
        raise BenchError(f"no request of {connections} connections was answered in {seconds} s; its log:\n{server.log()}")
    if seen["failed"]:
        raise BenchError(f"{seen['failed']} of {seen['requests']} requests failed; its log:\n{server.log()}")
    figures = {"requests_per_s": seen["requests"] / seen["seconds"], "p50_us": seen["p50_us"], "p99_us": seen["p99_us"],
               **usage.figures("us_per_request", seen["requests"], 1e6), "requests": seen["requests"]}
    if counted is not None:
        figures["instructions_per_request"] = counted / seen["requests"]
    return figures


def run_streams(server, folder, exchange, seconds, connections, streams, core, *, port=None, instructions=False):
    """h2load on one peer: HTTP/2 by prior knowledge, or over TLS on `port`, `streams` requests at once on each connection."""
    place = f"https://127.0.0.1:{port}" if port else f"http://127.0.0.1:{server.port}"
    with tempfile.NamedTemporaryFile() as body:
        body.write(exchange.sent)
        body.flush()
        command = ["taskset", "-c", str(core), "h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}",
                   f"-d{body.name}", f"-Hcontent-type: {exchange.content_type}", place + target(folder, exchange)]
        usage = Usage(server)
        counting = count_instructions(server.processes()) if instructions else None
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60)
        counted = counting() if counting else None
        usage.end()
    counts = re.search(r"(\d+) done, (\d+) succeeded, (\d+) failed", result.stdout)
    if not counts or "h2" not in result.stdout:
        raise BenchError(f"h2load gave no result: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    done, succeeded, _ = map(int, counts.groups())
    # Those that are on their way when the time is over are none of these.
    if not done or succeeded != done:
        raise BenchError(f"{done - succeeded} of {done} requests failed; its log:\n{server.log()}")
    figures = {"requests_per_s": done / seconds, **usage.figures("us_per_request", done, 1e6), "requests": done}
    if counted is not None:
        figures["instructions_per_request"] = counted / done
    return figures


def run_paced(program, server, folder, exchange, rate, seconds, connections, core):
    """pace.c on one peer: requests at a constant rate, latencies from the moment when each was due."""
    command = ["taskset", "-c", str(core), program, str(server.port), target(folder, exchange), f"{rate:.0f}", str(seconds),
               str(connections), exchange.content_type]
    before = server.cpu_seconds()
    result = subprocess.run(command, input=exchange.sent, capture_output=True, timeout=seconds + 60)
    cpu = server.cpu_seconds() - before
    if result.returncode:
        raise BenchError(f"{result.stderr.decode().strip()}; its log:\n{server.log()}")
    seen = json.loads(result.stdout)
    if seen["failed"]:
        raise BenchError(f"{seen['failed']} of {seen['asked']} requests failed, the first: {seen['failure']}")
    if seen["answered"] < seen["asked"]:
        raise BenchError(f"{seen['asked'] - seen['answered']} of {seen['asked']} requests were not answered in time: it doesn't "
                         f"keep up with {rate:.0f} requests/s")
    percentiles = {f"{share:g}": value for share, value in seen["percentiles"]}
    return {"rate": rate, "p50_us": percentiles["50"], "p99_us": percentiles["99"], "p999_us": percentiles["99.9"],
            "most_us": percentiles["100"], "percentiles": percentiles, "client_lag_p99_us": seen["lag_p99_us"],
            "cpu_us_per_request": cpu / seen["asked"] * 1e6, "requests": seen["asked"]}


def run_resumed(server, folder, exchange, seconds):
    """One connection after the other, each taking up the session of the one before: wrk can't. The client is slow, so only the
    peer's CPU time says something."""
    context = clients.tls_context()
    request = clients.request(server.secure_port, target(folder, exchange), exchange.sent, exchange.content_type, closes=True)
    session, count, full = None, 0, 0
    before, began = server.cpu_seconds(), time.monotonic()
    while time.monotonic() - began < seconds:
        plain = clients.connect(server.secure_port)
        with context.wrap_socket(plain, session=session, suppress_ragged_eofs=True) as connection:
            connection.sendall(request)
            status, _, body = clients.read_response(connection)
            if status != 200:
                raise BenchError(f"a request was answered with {status}: {body[:300]!r}")
            full += not connection.session_reused
            session = connection.session
        count += 1
    took = time.monotonic() - began
    if full > 1 + count // 100:
        raise BenchError(f"{full} of {count} handshakes took no session up")
    return {"cpu_us_per_request": (server.cpu_seconds() - before) / count * 1e6, "requests": count,
            "core_share": (server.cpu_seconds() - before) / took}


# Bytes that padding may have whatever the length: up to 1 MiB for what may have to be escaped, and some for the fields around a
# file (docs/framing.md). In a short upload they are more than a thousandth.
PADDING = 5 << 18


def run_upload(server, folder, kind, size, expected):
    """One upload over a new connection, made on the fly. `expected`: the upstream's media type, and bounds of its byte count
    per input byte."""
    upload = bodies.upload(kind, size)
    length = upload.length()
    usage = Usage(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        try:
            connection.sendall((f"POST {folder}/load?type={expected[0]} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                                f"Content-Type: {upload.content_type}\r\nContent-Length: {length}\r\n\r\n").encode()
                               + upload.start)
            for _ in range(upload.count):
                connection.sendall(upload.block)
            connection.sendall(upload.end)
        except (BrokenPipeError, ConnectionResetError):
            pass  # an early answer: the status below says why
        status, _, body = clients.read_response(connection)
    return upload_figures(server, usage.end(), length, expected, status, body)


def upload_figures(server, usage, length, expected, status, body):
    """`body` is the answer: how many bytes the upstream has received."""
    _, low, high = expected
    if status != 200:
        raise BenchError(f"the upload was answered with {status}: {body[:500]!r}")
    if not low * length <= int(body) <= high * length + PADDING:
        raise BenchError(f"the upstream received {int(body)} bytes for {length}")
    gib = length / (1 << 30)
    figures = {**usage.figures("s_per_gib", gib), "seconds_per_gib": usage.took / gib,
               "peak_mib": server.peak_bytes() / (1 << 20), "bytes": length}
    if usage.asked_ids:
        figures["asked_peak_mib"] = server.peak_bytes(usage.asked_ids) / (1 << 20)
    return figures


def run_http2_upload(server, folder, path, content_type, expected, core):
    """One upload of the file at `path` by nghttp, over HTTP/2 by prior knowledge."""
    length = os.path.getsize(path)
    command = ["taskset", "-c", str(core), "nghttp", f"-d{path}", f"-Hcontent-type: {content_type}",
               f"http://127.0.0.1:{server.port}{folder}/load?type={expected[0]}"]
    usage = Usage(server)
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    usage.end()
    # nghttp prints the body alone, whatever the status: an answer that is no number is no count.
    if result.returncode or not result.stdout.strip().isdigit():
        raise BenchError(f"nghttp got no count: {result.stdout[-500:]}{result.stderr[-500:]}; the log:\n{server.log()}")
    return upload_figures(server, usage, length, expected, 200, result.stdout)


def run_idle(server, folder, exchange, count):
    """Opens connections that send one request each and stay; returns what they add to the process's floor, which is its
    resident memory after the start and one request."""
    held, curve = [], []

    def ask(connection):
        status, _, body = clients.post(connection, server.port, target(folder, exchange), exchange.sent,
                                       exchange.content_type)
        if status != 200:
            raise BenchError(f"a request on connection {len(held)} was answered with {status}: {body[:300]!r}")

    try:
        with clients.connect(server.port) as first:
            ask(first)
        floor, anonymous = server.resident_bytes(), server.anonymous_bytes()
        curve.append([0, floor / (1 << 20)])
        for number in range(1, count + 1):
            held.append(clients.connect(server.port))
            ask(held[-1])
            if number % max(1, count // 20) == 0 or number == count:
                curve.append([number, server.resident_bytes() / (1 << 20)])
        after = server.resident_bytes()
        # All must still be there, or the figure is of fewer connections than it says.
        for connection in held:
            connection.setblocking(False)
            try:
                closed = connection.recv(1, socket.MSG_PEEK) == b""
            except BlockingIOError:
                closed = False
            except ConnectionResetError:
                closed = True
            if closed:
                raise BenchError("it didn't keep its idle connections")
        return {"connections": count, "bytes_per_connection": (after - floor) / count, "floor_mib": floor / (1 << 20),
                "floor_anonymous_mib": anonymous / (1 << 20),
                "resident_after_mib": after / (1 << 20), "curve": curve}
    finally:
        for connection in held:
            connection.close()


def run_start(peer, folder, upstream, core, files, exchange, times):
    """From the start of the process to its first answer, each time with a fresh one."""
    taken = []
    for _ in range(times):
        launch = peer.prepare(folder, upstream, files)
        began = time.monotonic()
        server = launch(core, waits=False)
        try:
            while True:
                try:
                    connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
                    break
                except ConnectionRefusedError:
                    if server.process.poll() is not None or time.monotonic() - began > 10:
                        raise BenchError(f"it doesn't listen; its log:\n{server.log()}") from None
                    time.sleep(0.0002)
            with connection:
                status, _, body = clients.post(connection, server.port, target("/measured", exchange), exchange.sent,
                                               exchange.content_type)
            taken.append((time.monotonic() - began) * 1000)
            if status != 200:
                raise BenchError(f"the first request was answered with {status}: {body[:300]!r}")
        finally:
            server.stop()
    return {"start_ms": statistics.median(taken), "slowest_start_ms": max(taken), "starts": times}
