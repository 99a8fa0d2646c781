"""Rows 58 to 61: name servers. They are scripts of ours on port 53 of this network namespace."""

import json
import os
import socket
import struct
import subprocess
import threading
import time

from harness import DEADLINE
from rig import check, equal, row, wait_until


class NameServer:
    """Answers A questions with `answer(name)`: a list of addresses, an error code, or None for silence."""

    def __init__(self, fault, answer, ttl=1, truncate=False, address="127.0.0.53"):
        self.answer, self.ttl, self.truncate, self.asked = answer, ttl, truncate, 0
        self.address, self.tcp_asked = address, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, 53))
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, 53))
        self.listener.listen(16)
        fault.cleanups.callback(self.stop)
        threading.Thread(target=self._serve, daemon=True).start()
        threading.Thread(target=self._serve_tcp, daemon=True).start()

    def stop(self):
        for one in (self.socket, self.listener):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def _reply(self, question, over_tcp):
        self.asked += 1
        end = question.index(b"\0", 12) + 5
        kind = struct.unpack(">H", question[end - 4:end - 2])[0]
        answer = self.answer()
        if answer is None:
            return None
        code = answer if isinstance(answer, int) else 0
        addresses = answer if isinstance(answer, list) and kind == 1 else []
        cut = self.truncate and not over_tcp
        flags = 0x8180 | code | (0x0200 if cut else 0)
        records = b"" if cut else b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, self.ttl, 4) + socket.inet_aton(address) for address in addresses)
        count = 0 if cut else len(addresses)
        return question[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + question[12:end] + records

    def _serve(self):
        while True:
            try:
                question, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            if not question:
                return
            reply = self._reply(question, False)
            if reply:
                self.socket.sendto(reply, peer)

    def _serve_tcp(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(DEADLINE)
                try:
                    size = struct.unpack(">H", connection.recv(2, socket.MSG_WAITALL))[0]
                    self.tcp_asked += 1
                    reply = self._reply(connection.recv(size), True)
                    if reply:
                        connection.sendall(struct.pack(">H", len(reply)) + reply)
                except (OSError, struct.error):
                    pass


def ask_servers(fault, servers, again=False):
    """Lets /etc/resolv.conf name these servers; `again`: where it has named others, in the same file."""
    place = os.path.join(fault.folder, "resolv.conf")
    with open(place, "w") as file:
        file.write("".join(f"nameserver {server.address}\n" for server in servers) + "options timeout:1 attempts:1\n")
    if not again:
        subprocess.run(["mount", "--bind", place, "/etc/resolv.conf"], check=True)
        fault.cleanups.callback(subprocess.run, ["umount", "/etc/resolv.conf"])


def named(fault, answer, **options):
    """A stack whose upstream is a name that `answer` resolves."""
    server = NameServer(fault, answer, **options)
    ask_servers(fault, [server])
    return server


def stack_of(fault, **options):
    return fault.stack(upstreams={"app": f"{{ address: 'app.test:{fault.upstream.port}', idle: 300ms, connect: 5s }}"}, **options)


def problem_status(stack):
    return stack.send("GET", "/plain", None, None).status


@row(58, "a name server falls silent: the last good address is used; none yet: 5xx at its own time", modes=("plain",), needs=("own network",))
def silent_server(fault):
    state = {"answer": ["127.0.0.1"]}
    named(fault, lambda: state["answer"])
    stack = stack_of(fault)
    state["answer"] = None
    until = time.monotonic() + 3
    while time.monotonic() < until:
        equal(problem_status(stack), 200, "with the last good address")
    begun = time.monotonic()
    other = stack_of(fault, warm=False)
    check(problem_status(other) in (502, 503, 504), "without any")
    check(time.monotonic() - begun < DEADLINE, "at its own time")
    other.process.kill()


@row(58.3, "the first of two name servers falls silent: the other one is asked first from then on", modes=("plain",), needs=("own network",))
def silent_first_server(fault):
    state = {"answer": ["127.0.0.1"]}
    first = NameServer(fault, lambda: state["answer"])
    second = NameServer(fault, lambda: ["127.0.0.1"], address="127.0.0.54")
    ask_servers(fault, [first, second])
    stack = stack_of(fault)
    state["answer"] = None
    wait_until(lambda: second.asked > 0, "the second one is asked")
    asked, asked_second = first.asked, second.asked
    # Four questions more are two look-ups.
    wait_until(lambda: second.asked >= asked_second + 5, "it is asked again")
    equal(first.asked, asked, "questions to the silent one")
    equal(problem_status(stack), 200)
    check("can't be resolved" not in stack.error_text(), "nothing is wrong")


@row(58.6, "other name servers stand in /etc/resolv.conf: they are asked", modes=("plain",), needs=("own network",))
def other_servers(fault):
    first = NameServer(fault, lambda: ["127.0.0.1"])
    second = NameServer(fault, lambda: ["127.0.0.1"], address="127.0.0.54")
    ask_servers(fault, [first])
    stack = stack_of(fault)
    equal(second.asked, 0)
    first.stop()
    ask_servers(fault, [second], again=True)
    wait_until(lambda: second.asked > 3, "the other one is asked")
    equal(problem_status(stack), 200)
    check("10 min" not in stack.error_text(), "no answer was missing")


@row(59, "NXDOMAIN, an empty answer and SERVFAIL after success: the old addresses are kept, with a warning", modes=("plain",), needs=("own network",))
def failing_server(fault):
    state = {"answer": ["127.0.0.1"]}
    server = named(fault, lambda: state["answer"])
    stack = stack_of(fault)
    for answer in (3, [], 2):
        state["answer"] = answer
        asked = server.asked
        wait_until(lambda: server.asked > asked + 1, "it is asked again")
        equal(problem_status(stack), 200, f"with the answer {answer!r}")
    check("app.test" in stack.error_text(), "the log names the name")


@row(60, "200 addresses, and an answer cut on UDP: a bounded number is used, TCP is asked", modes=("plain",), needs=("own network",))
def many_addresses(fault):
    addresses = ["127.0.0.1"] + [f"127.0.1.{number}" for number in range(1, 200)]
    server = named(fault, lambda: addresses, truncate=True, ttl=60)
    stack = fault.stack(upstreams={"app": f"{{ address: 'app.test:{fault.upstream.port}', idle: 300ms, connect: 5s }}"}, warm=False)
    wait_until(lambda: server.tcp_asked > 0, "TCP is asked")
    statuses = {problem_status(stack) for _ in range(80)}
    check(statuses <= {200, 502, 503}, f"{statuses}")
    endpoints = json.dumps(json.loads(stack.ask("/upstreams")[1])).count("127.0.")
    check(1 <= endpoints <= 80, f"{endpoints} addresses are used")
    equal(stack.stop(), 0)


@row(61, "the address changes each second: the pool follows, requests in flight end where they are", modes=("plain",), needs=("own network",))
def moving_address(fault):
    state = {"answer": ["127.0.0.1"]}
    named(fault, lambda: state["answer"])
    seen = set()
    listeners = []
    for address in ("127.0.0.2", "127.0.0.3"):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, fault.upstream.port))
        listener.listen(16)
        listeners.append(listener)
        fault.cleanups.callback(listener.close)

        def serve(listener=listener, address=address):
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(DEADLINE)
                    try:
                        while connection.recv(65536):
                            seen.add(address)
                            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
    stack = stack_of(fault)
    for address in ("127.0.0.2", "127.0.0.3"):
        state["answer"] = [address]
        wait_until(lambda: problem_status(stack) == 200 and address in seen, f"requests go to {address}")
    state["answer"] = ["127.0.0.1"]
    fault.upstream.reset()
    wait_until(lambda: problem_status(stack) == 200 and fault.upstream.requests, "and back")
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
