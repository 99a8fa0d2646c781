#!/usr/bin/env python3
"""How much memory does Recast take with many idle connections and many large uploads at once?

Opens idle connections, then runs multipart uploads through a route that renames a field, all at the same time, to an
upstream that throws them away, and prints VmHWM of the proxy after each step. The target: 10,000 idle connections and
100 uploads of 1 GiB within 128 MiB.

  scripts/bench.d/memory.py --recast .build/release/recast [--idle 10000] [--uploads 100] [--size 1GiB] [--slow 0]
"""

import argparse
import asyncio
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time

from processes import BenchError

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
HEAD = (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="f.bin"\r\n\r\n')
TAIL = b"\r\n--x--\r\n"
BLOCK = os.urandom(1 << 18)


def size(text):
    return int(text[:-3]) * UNITS[text[-3:]]


def memory(pid):
    fields = {}
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            name, _, value = line.partition(":")
            if name in ("VmHWM", "VmRSS", "RssAnon"):
                fields[name] = int(value.split()[0]) / 1024
    return fields


def report(step, pid):
    now = memory(pid)
    print(f"{step:42s} VmHWM {now['VmHWM']:7.1f} MiB   VmRSS {now['VmRSS']:7.1f} MiB   anonymous {now['RssAnon']:7.1f} MiB",
          flush=True)
    return now["VmHWM"]


class Sink(asyncio.Protocol):
    """An upstream that reads each body to its end (the last chunk, or the client's length) and answers 204."""

    slow = 0

    def connection_made(self, transport):
        self.transport, self.tail, self.left, self.in_body = transport, b"", None, False

    def data_received(self, data):
        if Sink.slow:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(Sink.slow / 1000, self.transport.resume_reading)
        if not self.in_body:
            self.tail += data
            head, mark, rest = self.tail.partition(b"\r\n\r\n")
            if not mark:
                return
            self.in_body, self.left = True, None
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    self.left = int(line.split(b":")[1])
            self.tail, data = b"", rest
        if self.left is not None:
            self.left -= len(data)
            done = self.left <= 0
        else:
            self.tail = (self.tail + data)[-7:]
            done = self.tail == b"\r\n0\r\n\r\n"
        if done:
            self.in_body, self.tail = False, b""
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def upload(port, length):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = len(HEAD) + length + len(TAIL)
    writer.write(f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"
                 f"Content-Length: {total}\r\n\r\n".encode() + HEAD)
    left = length
    while left:
        piece = BLOCK[:min(left, len(BLOCK))]
        writer.write(piece)
        left -= len(piece)
        await writer.drain()
    writer.write(TAIL)
    await writer.drain()
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


async def measure(options):
    loop = asyncio.get_running_loop()
    Sink.slow = options.slow
    server = await loop.create_server(Sink, "127.0.0.1", 0, backlog=1024)
    upstream = server.sockets[0].getsockname()[1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="recast-memory-") as folder:
        config = f"{folder}/recast.yaml"
        with open(config, "w") as file:
            file.write(f"version: 1\nlisten: 127.0.0.1:{port}\nworkers: {options.workers}\naccess_log: off\n"
                       f"memory: {{ bodies: {options.bodies} }}\n"
                       # Above 90 % of the connections the idle ones are closed.
                       f"connections: {{ total: {(options.idle + options.uploads) * 5 // 4} }}\n"
                       "timeouts: { header: 1h, keep_alive: 1h, body_gap: 5m }\n"
                       f"upstreams: {{ app: 127.0.0.1:{upstream} }}\n"
                       "routes:\n  - name: parts\n    match: /upload\n    upstream: app\n    limits: { body: 2GiB }\n"
                       "    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }\n")
        recast = subprocess.Popen([options.recast, "serve", config], stderr=subprocess.PIPE)
        try:
            while b"serving" not in await loop.run_in_executor(None, recast.stderr.readline):
                if recast.poll() is not None:
                    sys.exit("recast doesn't start")
            report("started", recast.pid)
            idle = []
            for _ in range(options.idle):
                client = socket.socket()
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", port))
                idle.append(client)
            base = report(f"{options.idle} idle connections", recast.pid)
            began = time.monotonic()
            statuses = await asyncio.gather(*(upload(port, options.size) for _ in range(options.uploads)))
            took = time.monotonic() - began
            peak = report(f"{options.uploads} uploads of {options.size / UNITS['MiB']:.0f} MiB in {took:.1f} s", recast.pid)
            closed = sum(is_closed(client) for client in idle)
            if closed:
                raise BenchError(f"{closed} of {options.idle} idle connections were closed")
            print("answers:", {status: statuses.count(status) for status in set(statuses)},
                  f"the uploads added {peak - base:.1f} MiB")
            await asyncio.sleep(2)
            report("two seconds later", recast.pid)
            for client in idle:
                client.close()
            return peak, took, statuses
        finally:
            recast.terminate()
            recast.wait()
            server.close()


def is_closed(client):
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def raise_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(recast, idle, uploads, length, slow):
    """One measurement for scripts/bench; its figures."""
    raise_limit()
    options = argparse.Namespace(recast=recast, idle=idle, uploads=uploads, size=length, slow=slow, bodies="64MiB", workers=2)
    peak, took, statuses = asyncio.run(measure(options))
    if set(statuses) != {204}:
        raise BenchError(f"not all uploads came through: {sorted(set(statuses))}")
    return {"idle": idle, "uploads": uploads, "upload_mib": length / UNITS["MiB"], "seconds": took, "peak_mib": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recast", default=".build/release/recast")
    parser.add_argument("--idle", type=int, default=10000)
    parser.add_argument("--uploads", type=int, default=100)
    parser.add_argument("--size", type=size, default="1GiB", help="of each upload: a number and KiB, MiB or GiB")
    parser.add_argument("--slow", type=int, default=0, help="milliseconds that the upstream waits after each read")
    parser.add_argument("--bodies", default="64MiB", help="the budget of memory")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=size, default="128MiB", help="fails when the peak is above")
    options = parser.parse_args()
    raise_limit()
    try:
        peak, _, statuses = asyncio.run(measure(options))
    except BenchError as error:
        sys.exit(f"memory: {error}")
    if set(statuses) != {204} or peak * UNITS["MiB"] > options.limit:
        sys.exit(1)


if __name__ == "__main__":
    main()
