"""What the fault matrix stands on: a row of it as a function, and around each row a Recast whose books must balance.

A row injects one fault for real and checks what the client gets, what the upstream saw and what the log says. Whatever the
fault was, the rig then checks that the process lives, that the next request is served, and that descriptors, memory,
connections and buffers are back where they were.
"""

import collections
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "EndToEndTests"))

import harness  # noqa: E402
from harness import DEADLINE, FORM, SANITIZED, Client, Closed, Upstream, free_port, memory_of, select_nothing  # noqa: E402
from tls_support import TLSClient, TLSUpstream  # noqa: E402

MIB = 1 << 20
ADDED_MEMORY = 24 * MIB  # what a row may leave behind in the allocator, above what a few warm requests had taken
MADE_ONCE = 2  # descriptors that each loop makes when it first needs them: the watch over paused peers, the look-ups' socket
SANITIZER_PIPES = 2 if SANITIZED else 0  # to its symbolizer, from the first report on, also of a suppressed one
FORM_BODY = b"a=1&b=two"

ROUTES = """
  - { name: json, match: /json, upstream: app, request: form -> json }
  - { name: hasty, match: /hasty, upstream: app, request: form -> json, timeouts: { first_byte: 1s, gap: 1s } }
  - name: renamed
    match: /renamed
    upstream: app
    limits: { body: 1GiB }
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - name: answered
    match: /answered
    upstream: app
    response: [ { decode: { as: json }, encode: { as: form } } ]
  - name: answered-xml
    match: /answered-xml
    upstream: app
    response: [ { decode: { as: xml }, encode: { as: json } } ]
  - name: answered-plist
    match: /answered-plist
    upstream: app
    response: [ { decode: { as: bplist }, encode: { as: json } } ]
  - { name: patient, match: /patient, upstream: app, limits: { body: 1GiB } }
  - { name: plain, match: "/*", upstream: app, limits: { body: 1GiB } }
"""


class Row:
    def __init__(self, number, title, modes, run, needs):
        self.number, self.title, self.modes, self.run, self.needs = number, title, modes, run, needs


ROWS = []


def row(number, title, modes=("plain", "tls"), needs=()):
    """Registers a row of the fault matrix (docs/faults.md). `needs`: programs without which it can't be injected."""

    def register(run):
        ROWS.append(Row(number, title, modes, run, needs))
        return run

    return register


def equal(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what or 'value'}: {actual!r}, not {expected!r}")


def check(condition, what):
    if not condition:
        raise AssertionError(what() if callable(what) else what)


def wait_until(condition, what, seconds=DEADLINE):
    """Waits for something outside our reach; fails with `what` when it doesn't come about."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"in {seconds} s it did not come about: {what() if callable(what) else what}")
        select_nothing()


def raises_closed(call):
    """The call ends in a cut connection, however the system calls it."""
    try:
        result = call()
    except (Closed, OSError):
        return
    raise AssertionError(f"this should have been cut: {getattr(result, 'status', result)!r}")


def problem(response, status, code):
    equal((response.status, response.json["code"]), (status, code), "the answer")


def hold_answer(fault, **answer):
    """The upstream reads requests, and gives the answer when the event that is returned is set."""
    go = threading.Event()
    fault.cleanups.callback(go.set)

    def script(exchange):
        exchange.read_body()
        go.wait(DEADLINE)
        exchange.answer(**answer)

    fault.upstream.script = script
    return go


def send_in_background(client, *pieces):
    """Sends while the test reads; that the other side ends first is no failure."""

    def send():
        try:
            for piece in pieces:
                client.send(piece)
        except OSError:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


class injected:
    """strace injects a fault into system calls of the process, or of one of its threads, for the time of a block."""

    def __init__(self, pid, rule, follow=True):
        self.arguments = ["strace", *(["-f"] if follow else []), "-qq", "-p", str(pid), "-e", "trace=" + rule.split(":")[0],
                          "-e", "inject=" + rule, "-o", "/dev/null"]
        self.pid = pid

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.is_attached, "strace is attached")
        return self

    def is_attached(self):
        check(self.process.poll() is None, "strace runs")
        with open(f"/proc/{self.pid}/status") as status:
            return "TracerPid:\t0" not in status.read()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE)


def rewrite(stack, old, new):
    """Puts `new` for `old` into the settings, as an editor does: by a file that takes the old one's place."""
    with open(stack.config) as file:
        text = file.read()
    check(old in text, f"{old!r} is in the settings")
    with open(stack.config + ".new", "w") as file:
        file.write(text.replace(old, new))
    os.rename(stack.config + ".new", stack.config)


def reload(stack):
    """SIGHUP; returns when the settings were read, well or not."""
    before = stack.total("recast_config_reloads_total")
    stack.process.send_signal(signal.SIGHUP)
    wait_until(lambda: stack.total("recast_config_reloads_total") > before, "the settings were read again")


class SharedTLS:
    """A TLS socket that one thread may read while another writes, which OpenSSL doesn't allow of its own."""

    def __init__(self, secured):
        self.secured, self.lock, self.timeout = secured, threading.Lock(), secured.gettimeout()
        secured.settimeout(0)

    def __getattr__(self, name):
        return getattr(self.secured, name)

    def settimeout(self, seconds):
        self.timeout = seconds

    def _when_ready(self, call, *arguments):
        while True:
            with self.lock:
                try:
                    return call(*arguments)
                except ssl.SSLWantReadError:
                    event = select.POLLIN
                except ssl.SSLWantWriteError:
                    event = select.POLLOUT
            poll = select.poll()
            poll.register(self.secured, event)
            if not poll.poll(None if self.timeout is None else 1000 * self.timeout):
                raise TimeoutError("the other side is silent")

    def recv(self, size):
        try:
            return self._when_ready(self.secured.recv, size)
        except ssl.SSLZeroReturnError:
            return b""  # close_notify, after ours

    def send(self, data):
        return self._when_ready(self.secured.send, data)

    def finish_sending(self):
        with self.lock:
            try:
                self.secured.unwrap()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass  # close_notify is out; the other side's is not waited for
            socket.socket.shutdown(self.secured, socket.SHUT_WR)

    def sendall(self, data):
        data = memoryview(data)
        for at in range(0, len(data), 65536):
            piece = data[at:at + 65536]
            while piece:
                piece = piece[self.send(piece):]


class SharedTLSClient(TLSClient):
    """A client whose test may read and write at the same time."""

    def __init__(self, port, context, receive_buffer=None):
        super().__init__(port, context, "localhost", receive_buffer)
        self.socket = SharedTLS(self.socket)
        self.reader = harness.Reader(self.socket)

    def finish_sending(self):
        """close_notify, then FIN; what comes can still be read."""
        self.socket.finish_sending()


class Stack(harness.Recast):
    """Recast with its listener and its upstream plain or in TLS, an admin port, and books that can be read.

    Nothing times out here that a busy machine can be late for; a row about a time-out asks for a short one."""

    def __init__(self, fault, routes=ROUTES, settings="", upstreams=None, app="", workers=1, access_log="stdout",
                 command=(), environment=None, address="127.0.0.1", timeouts="header: 30s, body_gap: 30s, write: 30s",
                 idle="400ms"):
        self.tls = fault.mode == "tls"
        self.certificates, self.workers = fault.certificates, workers
        self.port, self.admin = free_port(), free_port()
        self.folder = tempfile.mkdtemp(prefix="recast-fault-")
        self.path = os.path.join(self.folder, "recast.sock")
        listen = f"{address}:{self.port}"
        if self.tls:
            certificate, key = self.certificates.pair("server")
            # Copies, so that a row may replace them.
            self.certificate, self.key = os.path.join(self.folder, "server.pem"), os.path.join(self.folder, "server.key")
            shutil.copy(certificate, self.certificate)
            shutil.copy(key, self.key)
            listen = f"{{ address: '{listen}', tls: {{ certificate: {self.certificate}, key: {self.key} }} }}"
        if upstreams is None:
            tls = f", tls: {{ ca: {self.certificates.path('ca.pem')}, name: localhost }}" if self.tls else ""
            place = f"127.0.0.1:{fault.upstream.port}"
            upstreams = {"app": f"{{ address: '{place}', idle: {idle}, connect: 10s{tls}{app} }}"}
        lines = "".join(f"  {name}: {value}\n" for name, value in upstreams.items())
        self.config = os.path.join(self.folder, "recast.yaml")
        with open(self.config, "w") as file:
            file.write(f"version: 1\nlisten: [{listen}, unix:{self.path}]\nworkers: {workers}\n"
                       f"admin: 127.0.0.1:{self.admin}\naccess_log: {access_log}\ntimeouts: {{ {timeouts} }}\n{settings}"
                       f"upstreams:\n{lines}routes:\n{routes}")
        self.output, self.errors = os.path.join(self.folder, "stdout"), os.path.join(self.folder, "stderr")
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [*command, harness.RECAST, "serve", self.config], stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                env={**os.environ, **(environment or {})})
        wait_until(self.is_ready, lambda: f"recast is ready: {self.error_text()}")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"recast ended with {self.process.returncode}: {self.error_text()}")
        try:
            return self.ask("/ready")[0] == 200
        except OSError:
            return False

    def ask(self, path, method="GET", body=b""):
        """One request to the admin port: (status, body)."""
        with Client(self.admin) as client:
            client.request(method, path, body if method != "GET" else None, fields=["Connection: close"],
                           host="localhost")
            response = client.response()
            return response.status, response.body

    def client(self, **options):
        if self.tls:
            return SharedTLSClient(self.port, self.certificates.client_context(), **options)
        return Client(self.port, **options)

    def send(self, method="POST", target="/json", body=FORM_BODY, media_type=FORM, fields=()):
        """One request over a connection of its own."""
        with self.client() as client:
            client.request(method, target, body, media_type, fields)
            return client.response(method)

    # Books.

    def pids(self):
        return [self.process.pid]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def kinds(self):
        """How many descriptors of each kind there are: {"socket": 3, …}."""
        links = []
        for number in os.listdir(f"/proc/{self.process.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                links.append(os.readlink(f"/proc/{self.process.pid}/fd/{number}"))
        return dict(collections.Counter(link.split(":[")[0] for link in links))

    def resident(self):
        return memory_of(self.process, "VmRSS")

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metrics(self):
        """Samples of the admin port: {name{labels}: value}."""
        status, text = self.ask("/metrics")
        equal(status, 200, "the answer to /metrics")
        return {key: float(value) for key, value in re.findall(r"^([a-z_0-9]+(?:\{.*\})?) (\S+)$", text.decode(), re.M)}

    def total(self, name, *labels):
        """The sum of a metric's samples that have all of `labels`."""
        return sum(value for key, value in self.metrics().items()
                   if key.split("{")[0] == name and all(label in key for label in labels))

    def flags(self, count):
        """(status, flags) of the first `count` lines of the access log."""
        return [(line["status"], line.get("flags", "")) for line in self.log_lines(count)]

    def remember(self):
        """Takes the books after a few requests have warmed the process and the pool has let go of their connections."""
        for _ in range(3):
            equal(self.send().status, 200, "a request before the fault")
        self.lines_before = 3
        self.fds = self.settled_descriptors() + MADE_ONCE * self.workers + SANITIZER_PIPES
        self.kinds_before = self.kinds()
        self.memory = self.resident()

    def settled_descriptors(self):
        """Descriptors once nothing is under way and idle upstream connections are gone."""
        seen, since = self.descriptors(), time.monotonic()
        while time.monotonic() - since < 0.7:
            select_nothing()
            now = self.descriptors()
            if now != seen:
                seen, since = now, time.monotonic()
        return seen

    def balance(self, added_memory=ADDED_MEMORY):
        """The books must be what they were."""
        check(self.process.poll() is None, lambda: f"recast ended with {self.process.returncode}: {self.error_text()}")
        # An upstream may just be closing a connection that the pool still has, and a POST is not sent twice.
        wait_until(lambda: self.total("recast_connections", 'side="upstream"', 'state="idle"') == 0, "the pool is empty")
        response = self.send()
        equal((response.status), 200, f"the request after the fault: {response.body[:300]!r}; status")
        wait_until(lambda: self.descriptors() <= self.fds, 
                   lambda: f"at most {self.fds} descriptors, of {self.kinds_before}: now {self.descriptors()}, {self.kinds()}")
        wait_until(lambda: self.resident() <= self.memory + added_memory,
                   lambda: f"memory is back: {self.memory >> 10} KiB, now {self.resident() >> 10} KiB")
        for name in ("recast_inflight_requests", "recast_buffer_bytes", "recast_spool_bytes", "recast_spool_files",
                     "recast_upstream_inflight_requests", "recast_upstream_queue_length"):
            wait_until(lambda name=name: self.total(name) == 0, lambda name=name: f"{name} is 0: {self.total(name)}")
        wait_until(lambda: self.total("recast_connections", 'side="client"') == 0, "no client connection is left")

    def new_lines(self, count):
        """(status, flags) of the `count` lines that followed those of `remember`."""
        return self.flags(self.lines_before + count)[self.lines_before:]


class Fault:
    """One run of one row."""

    def __init__(self, row, mode, certificates):
        self.row, self.mode, self.certificates = row, mode, certificates
        self.cleanups = contextlib.ExitStack()
        self.folder = self.cleanups.enter_context(tempfile.TemporaryDirectory(prefix="recast-fault-files-"))
        self.upstream = self.make_upstream()
        self.stacks, self.kept = [], []

    def make_upstream(self, certificate="server", **options):
        if self.mode == "tls":
            upstream = TLSUpstream(self.certificates.server_context(certificate), **options)
        else:
            upstream = Upstream(**options)
        self.cleanups.callback(upstream.stop)
        return upstream

    def stack(self, warm=True, **options):
        stack = Stack(self, **options)
        self.cleanups.callback(stack.remove)
        self.cleanups.callback(self._end, stack)
        self.stacks.append(stack)
        if warm:
            stack.remember()
            self.upstream.reset()
        return stack

    def keep(self, client):
        """Closes the client when the row is over, before the books are looked at."""
        self.kept.append(client)
        self.cleanups.callback(client.socket.close)
        return client

    def _end(self, stack):
        if stack.process.poll() is None:
            stack.process.send_signal(signal.SIGCONT)
            stack.process.kill()
        stack.process.wait()

    def run(self):
        with self.cleanups:
            self.row.run(self)
            for client in self.kept:
                client.socket.close()
            self.upstream.reset()
            for stack in self.stacks:
                if getattr(stack, "fds", None) is not None and stack.process.poll() is None:
                    stack.balance(getattr(stack, "added_memory", ADDED_MEMORY))
                    equal(stack.stop(), 0, "the exit code after SIGTERM")
                check("Fatal error" not in stack.error_text() and "AddressSanitizer" not in stack.error_text()
                      and "ThreadSanitizer" not in stack.error_text(), lambda stack=stack: stack.error_text()[-3000:])
