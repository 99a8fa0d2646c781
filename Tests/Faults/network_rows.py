"""Rows 14 to 16, 34 to 36 and 38: upstreams that can't be reached, and what the network to them does."""

import contextlib
import json
import signal
import socket
import subprocess
import sys

from harness import DEADLINE, Client, free_port
from rig import ROUTES, check, equal, problem, row, wait_until


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


@row(14, "nobody listens: 502 at once")
def refused(fault):
    stack = fault.stack()
    fault.upstream.stop()
    wait_until(lambda: stack.settled_descriptors() <= stack.fds, "the pool has let go")
    problem(stack.send(), 502, "upstream_unreachable")
    equal(stack.new_lines(1), [(502, "UF")])
    stack.fds = None


@contextlib.contextmanager
def system_setting(name, value):
    """Another value of the kernel's for this network."""
    with open(f"/proc/sys/net/{name}") as file:
        old = file.read()
    try:
        with open(f"/proc/sys/net/{name}", "w") as file:
            file.write(value)
        yield
    finally:
        with open(f"/proc/sys/net/{name}", "w") as file:
            file.write(old)


@row(14.3, "nobody listens on a port that the system gives to connections, too: 502, and the port stays free", modes=("plain",), needs=("own network",))
def own_port(fault):
    stack = fault.stack(
        upstreams={"app": f"{{ address: '127.0.0.1:{fault.upstream.port}', idle: 400ms }}", "gone": "127.0.0.1:61002"},
        routes="  - { name: gone, match: /gone, upstream: gone }\n" + ROUTES)
    with system_setting("ipv4/ip_local_port_range", "61000 61007"), Client(stack.path) as client:
        for _ in range(60):
            client.request("GET", "/gone")
            problem(client.response(), 502, "upstream_unreachable")
        with socket.socket() as server:
            server.bind(("127.0.0.1", 61002))


@row(14.6, "an address of IPv6 where this host has none: left out, no port is said to be lacking", modes=("plain",), needs=("own network",))
def no_source(fault):
    with system_setting("ipv6/conf/all/disable_ipv6", "1"):
        port = fault.upstream.port
        stack = fault.stack(upstreams={"app": f"{{ address: ['127.0.0.1:{port}', '[::1]:{port}'], idle: 400ms }}"})
        for _ in range(20):
            equal(stack.send("GET", "/plain", None, None).status, 200)
        equal(stack.total("recast_upstream_connect_failures_total", 'reason="local_port"'), 0, "ports lacking")
        equal(stack.total("recast_upstream_endpoint_healthy"), 1, "fit addresses")


@row(15, "SYNs are dropped: 504 when the time to connect is over, other routes go on", modes=("plain",), needs=("nft", "own network"))
def dropped(fault):
    lost = free_port()
    stack = fault.stack(
        upstreams={"app": f"{{ address: '127.0.0.1:{fault.upstream.port}', idle: 400ms }}",
                   "lost": f"{{ address: '127.0.0.1:{lost}', connect: 600ms }}"},
        routes="  - { name: lost, match: /lost, upstream: lost }\n" + ROUTES)
    with firewall(f"tcp dport {lost} drop"):
        client = fault.keep(stack.client())
        client.request("GET", "/lost")
        equal(stack.send().status, 200, "another route meanwhile")
        problem(client.response(), 504, "upstream_connect_timeout")


@row(16, "an upstream accepts and never answers: 504 at the time for the first byte", modes=("plain",))
def stopped(fault):
    upstream = outside(fault)
    stack = fault.stack(upstreams={"app": f"{{ address: '127.0.0.1:{upstream.port}', idle: 400ms }}"})
    upstream.process.send_signal(signal.SIGSTOP)
    problem(stack.send(target="/hasty"), 504, "upstream_timeout")
    equal(stack.new_lines(1), [(504, "UT")])
    upstream.process.send_signal(signal.SIGCONT)


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
                        and stack.total("recast_upstream_endpoint_healthy") == 3), "it is taken back", 2 * DEADLINE)
    del back


@row(35, "all addresses are dead: 5xx at once, and well again within seconds", modes=("plain",))
def all_dead(fault):
    first, second = outside(fault), outside(fault)
    places = ", ".join(f"'127.0.0.1:{one.port}'" for one in (first, second))
    stack = fault.stack(upstreams={"app": f"{{ address: [{places}], idle: 400ms, connect: 600ms }}"})
    first.stop()
    second.stop()
    for _ in range(40):
        # 504 would be one that was waited for.
        status = stack.send("GET", "/plain", None, None).status
        check(status in (502, 503), f"{status}")
    outside(fault, port=first.port)
    outside(fault, port=second.port)
    wait_until(lambda: stack.send("GET", "/plain", None, None).status == 200, "it recovers")


@row(36, "one of five packets is lost: slower, and right", modes=("plain",), needs=("nft", "own network"))
def loss(fault):
    stack = fault.stack()
    with firewall(f"tcp dport {fault.upstream.port} numgen random mod 100 < 20 drop"):
        for _ in range(3):
            with stack.client() as client:
                client.socket.settimeout(2 * DEADLINE)
                client.request("POST", "/patient", bytes(300_000), "application/octet-stream")
                equal(client.response().status, 200)


@row(38, "256 kbit/s: right, paused cleanly", modes=("plain",), needs=("tc", "own network"))
def narrow(fault):
    stack = fault.stack()
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "256kbit", "burst", "70000", "limit", "500000"],
                   check=True)
    try:
        with stack.client() as client:
            client.request("POST", "/patient", bytes(60_000), "application/octet-stream")
            equal(client.response().status, 200)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
