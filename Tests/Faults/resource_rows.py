"""Rows 39 to 49: what the machine runs out of."""

import email.utils
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from harness import DEADLINE, Client, Closed
from rig import HERE, MIB, ROUTES, check, equal, hold_answer, injected, problem, row, send_in_background, wait_until


def limit_descriptors(stack, count):
    subprocess.run(["prlimit", f"--pid={stack.process.pid}", f"--nofile={count}:"], check=True)


@row(39, "no descriptor for a new connection: accepting pauses, nothing spins, and it goes on", needs=("prlimit",))
def no_descriptor_to_accept(fault):
    stack = fault.stack()
    used = stack.descriptors()
    limit_descriptors(stack, used + 4)
    held = []
    for _ in range(12):
        connection = socket.create_connection(("127.0.0.1", stack.port), timeout=DEADLINE)
        held.append(connection)
    before, since = stack.processor_seconds(), time.monotonic()
    time.sleep(0.5)  # the time that is measured
    share = (stack.processor_seconds() - before) / (time.monotonic() - since)
    check(share < 0.3, f"it spins: {share:.0%} of a core")
    for connection in held:
        connection.close()
    limit_descriptors(stack, 4096)

    def served():
        try:
            return stack.send().status == 200
        except (Closed, OSError):
            return False

    wait_until(served, "new connections are served again")
    stack.lines_before = None


@row(40, "no descriptor for the upstream's connection: 503", needs=("prlimit",))
def no_descriptor_to_connect(fault):
    stack = fault.stack()
    client = fault.keep(stack.client())
    client.request("GET", "/plain")
    equal(client.response().status, 200)
    wait_until(lambda: stack.settled_descriptors(), "the pool has let go")
    with open(f"/proc/{stack.process.pid}/limits") as file:
        old = next(line.split()[3] for line in file if line.startswith("Max open files"))
    # Every free number below the limit must be gone, so the limit is the lowest free number.
    taken = {int(number) for number in os.listdir(f"/proc/{stack.process.pid}/fd")}
    lowest = next(number for number in range(1 << 16) if number not in taken)
    limit_descriptors(stack, lowest)
    client.request("GET", "/plain")
    problem(client.response(), 503, "upstream_no_resources")
    limit_descriptors(stack, int(old))
    client.request("GET", "/plain")
    equal(client.response().status, 200, "with descriptors again")


@row(41, "a send fails with ENOBUFS: that connection ends, others go on", needs=("strace",))
def send_fails(fault):
    stack = fault.stack()
    # Not `write`: sockets are never written to by it, and an eventfd, by which threads wake one another, never fails so.
    with injected(stack.process.pid, "sendto,sendmsg:error=ENOBUFS:when=1+3"):
        outcomes = []
        for _ in range(12):
            try:
                outcomes.append(stack.send().status)
            except (Closed, OSError):
                outcomes.append(0)
    check(set(outcomes) <= {0, 200, 502}, f"{outcomes}")
    equal(stack.send().status, 200)
    stack.lines_before = None


@row(43, "the memory budget is spent: new bodies are refused, running ones end, nothing dies", modes=("plain",))
def memory_spent(fault):
    stack = fault.stack(settings="memory: { bodies: 8MiB }\n", routes=ROUTES)
    body = b'{"a": "' + b"x" * (700 * 1024) + b'"}'
    go = hold_answer(fault, body=body, fields=["Content-Type: application/json"])
    clients = [fault.keep(stack.client()) for _ in range(60)]
    for client in clients:
        client.request("POST", "/answered", b"x", "text/plain")
    go.set()
    statuses = [client.response().status for client in clients]
    check(set(statuses) <= {200, 502, 503, 504}, f"{statuses}")
    check(200 in statuses, "some are served")
    check(stack.resident() < stack.memory + 64 * MIB, "memory is bounded")
    for client in clients:
        client.socket.close()
    fault.upstream.reset()
    stack.lines_before = None


@row(44, "the disk of the log is full: serving goes on, the lines are counted", modes=("plain",), needs=("own network",))
def log_disk_full(fault):
    with small_disk(fault) as place:
        stack = fault.stack(access_log=os.path.join(place, "access.log"), warm=False)
        with open(os.path.join(place, "filler"), "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        for _ in range(600):
            equal(stack.send().status, 200)
        wait_until(lambda: stack.total("recast_access_log_dropped_total") > 0, "dropped lines are counted")
        equal(stack.stop(), 0)


@row(44.5, "the disk of the spool is full: 507, the upstream sees nothing, the file is gone", modes=("plain",), needs=("own network",))
def spool_disk_full(fault):
    with small_disk(fault) as place:
        stack = fault.stack(app=f", framing: length, spool: {{ memory: 16KiB, disk: 64MiB, dir: {place} }}")
        with stack.client() as client:
            client.send("POST /patient HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")

            pieces = [b"10000\r\n" + bytes(65536) + b"\r\n"] * 64
            thread = send_in_background(client, *pieces, b"0\r\n\r\n")
            problem(client.response(), 507, "spool_full")
            thread.join(DEADLINE)
        equal(len(fault.upstream.requests), 0, "requests upstream")
        equal(os.listdir(place), [], "files on the disk")
        equal(stack.send().status, 200)
        stack.balance()
        equal(stack.stop(), 0)


class small_disk:
    """A tmpfs of 64 KiB for the time of a block."""

    def __init__(self, fault):
        self.place = os.path.join(fault.folder, "disk")

    def __enter__(self):
        os.makedirs(self.place, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", self.place], check=True)
        return self.place

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.place], check=True)


@row(45, "the log's reader stands still, then is gone: nothing blocks, lines are counted", modes=("plain",))
def log_pipe_blocked(fault):
    place = os.path.join(fault.folder, "log.fifo")
    if not os.path.exists(place):
        os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    try:
        stack = fault.stack(access_log=place, warm=False)
        with stack.client() as client:
            for _ in range(8000):
                client.request("GET", "/plain?" + "q" * 20)
                equal(client.response().status, 200)
            wait_until(lambda: stack.total("recast_access_log_dropped_total") > 0, "dropped lines are counted")
            os.close(reader)
            reader = -1
            for _ in range(100):
                client.request("GET", "/plain")
                equal(client.response().status, 200)
        check(stack.process.poll() is None, "no SIGPIPE")
        equal(stack.stop(), 0)
    finally:
        if reader >= 0:
            os.close(reader)


@row(46, "no processor time to be had: late, and no time-out that isn't due", modes=("plain",), needs=("taskset",))
def starved(fault):
    stack = fault.stack()
    subprocess.run(["taskset", "-a", "-p", "1", str(stack.process.pid)], check=True, stdout=subprocess.DEVNULL)
    busy = [subprocess.Popen(["taskset", "1", sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for _ in range(50):
            equal(stack.send(target="/hasty").status, 200)
    finally:
        for process in busy:
            process.kill()
            process.wait()


@row(47, "the clock jumps an hour ahead and back: nothing expires, Date follows", needs=("cc",))
def clock_jumps(fault):
    place = os.path.join(fault.folder, "clock")
    library = os.path.join(fault.folder, "clock.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, os.path.join(HERE, "clock.c")], check=True)

    def set_clock(seconds):
        with open(place + ".new", "w") as file:
            file.write(f"{seconds}\n")
        os.rename(place + ".new", place)

    set_clock(0)
    stack = fault.stack(environment={"LD_PRELOAD": library, "FAULT_CLOCK": place})
    hours = []
    with stack.client() as client:
        for offset in (3600, -3600, 0):
            set_clock(offset)
            client.request("GET", "/plain")
            response = client.response()
            equal(response.status, 200, f"with the clock moved by {offset} s")
            date = email.utils.parsedate_to_datetime(response.fields.get("date")).timestamp()
            hours.append(round((date - time.time()) / 3600))
            seen = len(fault.upstream.requests)
            client.send(b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
            fault.upstream.wait_for(seen + 1)
            set_clock(-offset)
            client.send(b"67890")
            equal(client.response().status, 200, "a request during which nothing may expire")
    equal(hours, [1, -1, 0], "hours by which Date is off")


@row(48, "no local port is left: 503 that says so", modes=("plain",), needs=("own network",))
def no_ports(fault):
    stack = fault.stack()
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        old = file.read()
    taken = []
    client = fault.keep(stack.client())
    client.request("GET", "/plain")
    equal(client.response().status, 200)
    stack.settled_descriptors()
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
            file.write("61000 61003")
        # All ports of the range towards the upstream's address are taken by connections of ours.
        while True:
            connection = socket.socket()
            connection.settimeout(1)
            try:
                connection.connect(("127.0.0.1", fault.upstream.port))
            except OSError:
                connection.close()
                break
            taken.append(connection)
        client.request("GET", "/plain")
        problem(client.response(), 503, "upstream_no_local_port")
    finally:
        for connection in taken:
            connection.close()
        with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
            file.write(old)
    client.request("GET", "/plain")
    equal(client.response().status, 200, "with ports again")


def overflows():
    """How often a queue of connections was full, in this network namespace."""
    with open("/proc/net/netstat") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("ListenOverflows")])


@row(49, "the accept queue overflows: clients try again, nobody who was accepted is lost", modes=("plain",), needs=("own network",))
def accept_queue(fault):
    with open("/proc/sys/net/core/somaxconn") as file:
        old = file.read()
    with open("/proc/sys/net/core/somaxconn", "w") as file:
        file.write("4")
    try:
        stack = fault.stack()
        before = overflows()
        stack.process.send_signal(signal.SIGSTOP)
        answers = []

        def run():
            with Client(stack.port) as client:
                client.request("GET", "/plain")
                answers.append(client.response().status)

        threads = [threading.Thread(target=run, daemon=True) for _ in range(40)]
        for thread in threads:
            thread.start()
        wait_until(lambda: overflows() > before, "the queue has overflowed")
        stack.process.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join(DEADLINE)
        equal(answers, [200] * 40, "the answers")
    finally:
        with open("/proc/sys/net/core/somaxconn", "w") as file:
            file.write(old)
    stack.lines_before = None
