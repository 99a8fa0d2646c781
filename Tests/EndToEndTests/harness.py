"""What the end-to-end tests stand on: Recast as a process, an upstream that does what a test tells it, a raw client.

Nothing here sleeps: waiting is for an event, a connection or a byte, each with a deadline.
"""

import base64
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from raw_client import DEADLINE, Client, Closed, Fields, Reader

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECAST = os.environ.get("RECAST_BIN", "")
SANITIZED = bool(os.environ.get("RECAST_SANITIZED"))  # by scripts/sanitize
MEMORY_FACTOR = 16 if SANITIZED else 1  # a sanitizer has shadows of what is used, and keeps what was freed
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def shuffled_ports():
    """The ports below those that the system gives to connections, one of which would take it meanwhile: each once, in no order.
    Of suites that run side by side each takes from its own share, "1/4" of E2E_PORTS being the second of four."""
    share, _, shares = os.environ.get("E2E_PORTS", "0/1").partition("/")
    ports = list(range(10_000 + int(share), 32_768, int(shares)))
    random.SystemRandom().shuffle(ports)
    return ports


free_ports = []


def free_port():
    """A port that nobody has, and nobody else was given who may not listen on it yet."""
    while True:
        if not free_ports:
            free_ports.extend(shuffled_ports())
        port = free_ports.pop()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def memory_of(process, line):
    """Bytes that a process has now, "VmRSS", or had at most, "VmHWM". Those of a sanitizer are left out, about."""
    with open(f"/proc/{process.pid}/status") as status:
        found = next(text for text in status if text.startswith(line + ":"))
    return int(found.split()[1]) * 1024 // MEMORY_FACTOR


class Received:
    """One request as the upstream saw it."""

    def __init__(self, connection_number, line, fields):
        self.connection_number = connection_number
        self.method, self.target, self.version = line.split(" ")
        self.fields = fields
        self.body = b""
        self.is_complete = False  # the whole body came, by its own framing
        self.ended = threading.Event()  # complete, or the connection broke

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def media_type(self):
        return self.fields.get("content-type", "").split(";")[0].strip().lower()

    @property
    def parts(self):
        return parse_multipart(self.body, self.fields.get("content-type"))


class Exchange:
    """What a script of the upstream works with."""

    def __init__(self, upstream, connection, reader, received):
        self.upstream, self.connection, self.reader, self.received = upstream, connection, reader, received

    def read_body(self):
        fields, received = self.received.fields, self.received
        if "expect" in fields:
            self.send("HTTP/1.1 100 Continue\r\n\r\n")
        if fields.get("transfer-encoding", "").lower() == "chunked":
            received.body = self.reader.chunked()
        else:
            received.body = self.reader.exactly(int(fields.get("content-length", "0")))
        received.is_complete = True
        received.ended.set()

    def send(self, data):
        self.connection.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def answer(self, status=200, body=b"ok", framing="length", fields=("Content-Type: text/plain",)):
        head = [f"HTTP/1.1 {status} Status", *fields]
        if framing == "length":
            head.append(f"Content-Length: {len(body)}")
        elif framing == "chunked":
            head.append("Transfer-Encoding: chunked")
            half = len(body) // 2
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:half], body[half:]) if piece)
            body += b"0\r\n\r\n"
        elif framing == "close":
            head.append("Connection: close")
        self.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        if framing == "close":
            raise Closed("by the script")

    def close(self):
        raise Closed("by the script")

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Closed("by the script")


def read_and_answer(exchange):
    exchange.read_body()
    exchange.answer()


class Upstream:
    """An HTTP/1.1 server on `address`, or on the unix socket `path`, a thread per connection, that runs `script` for every
    request head."""

    def __init__(self, receive_buffer=None, path=None, address=("127.0.0.1", 0)):
        self.listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind(path or address)
        self.listener.listen(256)
        self.port = None if path else self.listener.getsockname()[1]
        self.changed = threading.Condition()
        self.connection_count = 0
        self.readers = {}  # of the open connections, with what each had received when the test began
        self.starting = set()  # the threads of accepted connections that have no reader yet
        self.awaiting = set()  # the readers that wait for a head, of which nothing has come
        self.heads = set()  # those of which something has
        self.probes = {}  # connections of `settle`, by their address
        self.closed_bytes = 0
        self.reset()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def reset(self):
        """Forgets what was seen. Idle connections stay open: a proxy's pool may hold them."""
        with self.changed:
            self.script = read_and_answer
            self.requests = []
            self.closed_bytes = 0
            self.readers = {reader: reader.received for reader in self.readers}

    def settle(self):
        """Waits until all is seen that was sent here so far. What a test has asked for and not waited for would be the next one's."""
        if self.port is not None:
            with socket.socket() as probe:
                # Connections are accepted in their order.
                probe.bind(("127.0.0.1", 0))
                arrived = self.probes[probe.getsockname()] = threading.Event()
                try:
                    probe.connect(self.listener.getsockname())
                    arrived.wait(DEADLINE)
                except OSError:
                    pass  # it has stopped
        deadline = time.monotonic() + 5  # of a head that stays half
        while not self._is_settled() and time.monotonic() < deadline:
            select_nothing()

    def _is_settled(self):
        poll = select.poll()
        with self.changed:
            for reader in self.awaiting:
                poll.register(reader.connection, select.POLLIN)
            return not self.starting and not self.heads and not poll.poll(0)

    @property
    def bytes_received(self):
        """What came since the last reset, also if it isn't a whole head."""
        with self.changed:
            return self.closed_bytes + sum(reader.received - before for reader, before in self.readers.items())

    def hold(self, test, answer=lambda exchange: exchange.answer()):
        """Requests are read, and answered when the event that is returned is set, at the latest at the end of `test`."""
        go_on = threading.Event()
        test.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            go_on.wait(DEADLINE)
            answer(exchange)

        self.script = script
        return go_on

    def wait_for(self, count=1):
        """The first `count` requests whose heads have come."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, DEADLINE):
                raise AssertionError(f"the upstream saw {len(self.requests)} requests, not {count}")
            return self.requests[:count]

    def one(self):
        """The only request, ended."""
        received = self.wait_for(1)[0]
        if not received.ended.wait(DEADLINE):
            raise AssertionError("the request neither ended nor broke off")
        if len(self.requests) != 1:
            raise AssertionError(f"the upstream saw {[(one.method, one.target) for one in self.requests]}")
        return received

    def _accept(self):
        while True:
            try:
                connection, address = self.listener.accept()
            except OSError:
                return
            if address in self.probes:
                connection.close()
                self.probes.pop(address).set()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            if type(self)._serve is Upstream._serve:  # others may wait for more than a request
                self.starting.add(thread)
            thread.start()

    def _serve(self, connection):
        connection.settimeout(DEADLINE * 2)
        reader, received = Reader(connection), None
        with self.changed:
            self.connection_count += 1
            number = self.connection_count
            self.readers[reader] = 0
            self.starting.discard(threading.current_thread())
        try:
            while True:
                self._await(reader)
                line, fields = reader.head()
                received = Received(number, line, fields)
                with self.changed:
                    self.requests.append(received)
                    self.heads.discard(reader)
                    self.changed.notify_all()
                    script = self.script
                script(Exchange(self, connection, reader, received))
                received.ended.set()
        except (Closed, OSError):
            pass
        finally:
            connection.close()
            with self.changed:
                self.heads.discard(reader)
                self.closed_bytes += reader.received - self.readers.pop(reader)
            if received:
                received.ended.set()

    def _await(self, reader):
        """Waits for a byte of a head, or the end, and leaves it where it is."""
        if reader.buffer or type(reader.connection) is not socket.socket:
            return
        with self.changed:
            self.awaiting.add(reader)
        try:
            reader.connection.recv(1, socket.MSG_PEEK)
        finally:
            with self.changed:
                self.awaiting.discard(reader)
                self.heads.add(reader)

    def stop(self):
        """Accepts no more and breaks what is open."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.changed:
            for reader in self.readers:
                try:
                    reader.connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def parse_multipart(body, content_type):
    """The parts of a multipart body, in order: (name, filename or None, fields, content). Strict about its frame."""
    boundary = re.search(r'boundary=("?)([^";]+)\1', content_type).group(2).encode()
    if not body.startswith(b"--" + boundary + b"\r\n"):
        raise AssertionError(f"the body doesn't begin with its boundary: {body[:100]!r}")
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary)
    # Behind a body whose length was announced as a bound follow empty lines.
    if not re.fullmatch(rb"--(\r\n)*\r?", pieces[-1]):
        raise AssertionError(f"the body doesn't end with its last boundary: {pieces[-1][:100]!r}")
    parts = []
    for piece in pieces[1:-1]:
        head, _, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        fields = Fields(tuple(text.strip() for text in line.split(":", 1)) for line in head.decode().split("\r\n"))
        disposition = fields.get("content-disposition")
        name = re.search(r'[; ]name="([^"]*)"', disposition).group(1)
        filename = re.search(r'filename="([^"]*)"', disposition)
        parts.append((name, filename.group(1) if filename else None, fields, content))
    return parts


def make_multipart(parts, boundary="BOUNDARY-of-the-client"):
    """A body of (name, filename or None, content) and its Content-Type."""
    body = b""
    for name, filename, content in parts:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'.encode()
        if filename is not None:
            body += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'.encode()
        body += b"\r\n\r\n" + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class ReadySocket:
    """The socket of a service manager. That a port of Recast's answers doesn't say that all of them do: each worker begins to
    listen by itself, and it is ready when the last one listens at all addresses."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("")  # a name of the kernel's choice in the abstract namespace
        self.socket.settimeout(0.2)  # how often to look whether the process has ended
        self.name = "@" + self.socket.getsockname()[1:].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def wait(self, process):
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self.socket.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                if process.poll() is not None:
                    raise AssertionError(f"recast ended with {process.returncode}") from None
        raise AssertionError("recast is not ready")


class Recast:
    """`recast serve` on a configuration of its own and a free port."""

    def __init__(self, routes, upstreams, access_log="stdout", workers=1, settings="", listeners=()):
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="recast-e2e-")
        self.path = os.path.join(self.folder, "recast.sock")
        lines = "".join(f"  {name}: {address}\n" for name, address in upstreams.items())
        listen = ", ".join([f"127.0.0.1:{self.port}", f"unix:{self.path}", *listeners])
        self._begin(f"version: 1\nlisten: [{listen}]\nworkers: {workers}\n"
                    f"access_log: {access_log}\n{settings}"
                    f"upstreams:\n{lines}routes:\n{routes}")

    @classmethod
    def serving(cls, text):
        """`recast serve` on a whole file."""
        recast = cls.__new__(cls)
        recast.folder = tempfile.mkdtemp(prefix="recast-e2e-")
        recast._begin(text)
        return recast

    def _begin(self, text):
        self.config = os.path.join(self.folder, "recast.yaml")
        with open(self.config, "w") as file:
            file.write(text)
        self.output, self.errors = os.path.join(self.folder, "stdout"), os.path.join(self.folder, "stderr")
        with ReadySocket() as ready, open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [RECAST, "serve", self.config], stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                env={**os.environ, "NOTIFY_SOCKET": ready.name})
            try:
                ready.wait(self.process)
            except AssertionError as error:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"{error}: {self.error_text()}") from None

    def error_text(self):
        with open(self.errors, errors="replace") as file:
            return file.read()

    def says(self, text):
        """Waits until the operational log has a line with that text, or one that a pattern matches: a thread of its own writes them,
        behind what they tell of. Returns the line, the first one."""
        matches = (lambda line: text in line) if isinstance(text, str) else text.search
        deadline = time.monotonic() + DEADLINE
        while True:
            log = self.error_text()
            for line in log.splitlines():
                if matches(line):
                    return line
            if time.monotonic() > deadline:
                raise AssertionError(f"the operational log doesn't say {text!r}:\n{log}")
            select_nothing()

    def log_lines(self, count=1):
        """The first `count` lines of the access log; a line is written after its response, so they are waited for."""
        deadline = time.monotonic() + DEADLINE
        while True:
            with open(self.output) as file:
                lines = [line for line in file if line.endswith("\n")]
            if len(lines) >= count:
                return [json.loads(line) for line in lines[:count]]
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(lines)} lines in the access log, not {count}")
            select_nothing()

    def log_entry(self, request_id):
        """The line of the access log of that request, waited for."""
        count = 0
        while True:
            lines = self.log_lines(count + 1)
            for line in lines[count:]:
                if line["request_id"] == request_id:
                    return line
            count = len(lines)

    def peak_bytes(self):
        return memory_of(self.process, "VmHWM")

    def stop(self):
        """SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"recast doesn't end on SIGTERM: {self.error_text()}") from None

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def select_nothing():
    """A short wait between two looks at something outside our reach (a process, a file)."""
    threading.Event().wait(0.02)


class ProxyTestCase(unittest.TestCase):
    """Tests that share one Recast with the class's `routes`, in front of one scripted upstream named `app`.

    The upstream forgets everything between tests. Recast is stopped after the last one and must exit with 0."""

    routes = ""
    further_upstreams = {}  # by name; $APP is the address of the scripted one
    access_log = "stdout"
    workers = 1
    settings = ""  # further lines of the configuration's top level
    listeners = ()  # further listeners, in YAML's flow style
    upstream_receive_buffer = None
    upstream_type = Upstream

    @classmethod
    def upstream_settings(cls, text):
        """The settings of an upstream that is the scripted one, whose address `text` has."""
        return text

    @classmethod
    def setUpClass(cls):
        if not RECAST:
            raise AssertionError("set RECAST_BIN, or run scripts/e2e")
        cls.upstream = cls.upstream_type(cls.upstream_receive_buffer)
        cls.addClassCleanup(cls.upstream.stop)
        app = f"127.0.0.1:{cls.upstream.port}"
        upstreams = {"app": cls.upstream_settings(app)}
        for name, text in cls.further_upstreams.items():
            upstreams[name] = cls.upstream_settings(text.replace("$APP", app)) if "$APP" in text else text
        cls.recast = Recast(cls.routes, upstreams, cls.access_log, cls.workers, cls.settings, cls.listeners)
        cls.addClassCleanup(cls.recast.remove)
        cls.addClassCleanup(cls._stop)

    @classmethod
    def _stop(cls):
        code = cls.recast.stop()
        if code != 0:
            raise AssertionError(f"recast ended with {code}: {cls.recast.error_text()}")

    def setUp(self):
        self.upstream.settle()
        self.upstream.reset()

    def client(self, **options):
        client = Client(self.recast.port, **options)
        self.addCleanup(client.socket.close)
        return client

    def send(self, method, target, body=None, media_type=None, fields=()):
        """One request over a connection of its own."""
        with Client(self.recast.port) as client:
            client.request(method, target, body, media_type, fields)
            return client.response(method)

    def url(self, path):
        return f"http://127.0.0.1:{self.recast.port}{path}"

    def curl(self, *arguments, data=None):
        """Runs curl; returns (status, body). `-s`, a deadline and the status line are added."""
        result = subprocess.run(
            ["curl", "--silent", "--show-error", "--max-time", str(DEADLINE), "--write-out", "\n%{http_code}", *arguments],
            input=data, capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        body, _, status = result.stdout.rpartition(b"\n")
        return int(status), body

    def assert_problem(self, response, status, code=None):
        """An error of ours: RFC 9457, with what every error has."""
        self.assertEqual(response.status, status, response.body)
        self.assertEqual(response.fields.get("content-type", "").split(";")[0], "application/problem+json")
        problem = response.json
        self.assertEqual(problem["status"], status)
        self.assertRegex(problem["code"], "^[a-z][a-z0-9_]*$")
        self.assertTrue(problem["title"])
        self.assertTrue(problem["request_id"])
        if code:
            self.assertRegex(problem["code"], code)
        return problem

    def assert_untouched(self):
        """The upstream has seen nothing at all."""
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.upstream.bytes_received, 0)


def run_on(text, *command):
    """Runs a command of Recast on settings, which it calls FILE; its code, what it prints with single spaces, and what it complains of."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        result = subprocess.run([RECAST, command[0], file.name, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=DEADLINE)
    return result.returncode, re.sub(" +", " ", result.stdout.replace(file.name, "FILE")), result.stderr


def standard_base64(data):
    return base64.b64encode(data).decode()
