"""Runs Recast for one case and measures it, natively and in valgrind's callgrind."""

import contextlib
import glob
import http.client
import mmap
import os
import re
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import time

import cases
import http2
import processing
import proxies
from processes import BenchError, Server, free_port, raise_file_limit

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_IDLE = 5
SECONDS_TO_START = 120

COUNTED = ("instructions",)
CALLED = ("system_calls",)
ALLOCATED = ("allocations", "allocated_bytes")


class Recast:
    """A Recast of its own for each measurement, in front of the sink."""

    def __init__(self, command, folder, case, upstream, environment):
        values = {"listen": free_port(), "secure": free_port(), "processor": free_port(), "admin": free_port(),
                  "upstream": upstream}
        with open(os.path.join(HERE, "recast.yaml")) as file:
            text = file.read() + case.settings
        for name, value in values.items():
            text = text.replace(f"@{name.upper()}@", str(value))
        self.settings = os.path.join(folder, "recast.yaml")
        with open(self.settings, "w") as file:
            file.write(text)
        # Swift seeds the hashes of each process anew otherwise, and with them how long a look-up takes.
        environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1", **environment}
        # The port that is opened last is waited for.
        self.server = Server("recast", [*command, "serve", self.settings], values["processor"], None,
                             os.path.join(folder, "recast.log"), environment=environment, seconds=SECONDS_TO_START)
        self.port, self.secure_port, self.processor_port = values["listen"], values["secure"], values["processor"]
        self.pid, self.stop = self.server.process.pid, self.server.stop


class Threads:
    """The threads of a process, as the scheduler sees them."""

    def __init__(self, pid):
        self.pid = pid
        self.states = [os.open(path, os.O_RDONLY) for path in glob.glob(f"/proc/{pid}/task/*/stat")]

    def are(self, states):
        # "ID (NAME) STATE …", where the name may have any character.
        return all(os.pread(state, 512, 0).rpartition(b") ")[2][:1] in states for state in self.states)

    def are_asleep(self):
        return self.are((b"S",))

    @contextlib.contextmanager
    def stopped(self):
        """Nothing of the process runs meanwhile."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            deadline = time.monotonic() + 60
            while not self.are((b"T", b"t")):
                if time.monotonic() > deadline:
                    raise BenchError(f"process {self.pid} doesn't stop")
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def close(self):
        for state in self.states:
            os.close(state)


class Driver:
    """Sends a case's requests strictly one after the other: each step waits until Recast and the sink sleep, so that events
    come in the same groups however fast the machine is and whatever else runs on it."""

    def __init__(self, case, recast, sink):
        self.case, self.recast, self.sink = case, recast, sink
        self.recast_threads, self.sink_threads = Threads(recast.pid), Threads(sink.process.pid)
        self.connection = None
        self.crowd = []
        self.expected = None  # bytes that the sink must receive

    def settle(self, *processes):
        processes = processes or (self.recast_threads, self.sink_threads)
        quiet, deadline = 0, time.monotonic() + 60
        while quiet < 3:  # one look may fall between two of its threads
            quiet = quiet + 1 if all(threads.are_asleep() for threads in processes) else 0
            if not quiet and time.monotonic() > deadline:
                raise BenchError(f"{self.case.name}: Recast and the sink don't come to rest; Recast's log:\n"
                                 f"{self.recast.server.log()}")

    def connect(self, settles=True):
        port = (self.recast.processor_port if self.case.is_processed
                else self.recast.secure_port if self.case.is_secured else self.recast.port)
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.case.is_secured:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = context.wrap_socket(connection)
        if self.case.is_processed:
            connection = processing.Caller(connection)
        if self.case.streams:
            connection = http2.Requester(connection)
        if settles:
            self.settle()
        return connection

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def request(self, target, body):
        return (f"POST {self.case.folder}/{target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {self.case.media_type}\r\n"
                f"Content-Length: {len(body)}\r\n{''.join(field + chr(13) + chr(10) for field in self.case.fields)}\r\n").encode() + body

    def answer(self, connection):
        """The body of a response."""
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        answer = response.read()
        response.close()
        if response.status != 200:
            raise BenchError(f"{self.case.name}: Recast answered {response.status}: {answer[:500]!r}")
        return answer

    def exchange(self, target, body):
        """One request and its response's body."""
        if not self.connection:
            self.connection = self.connect()
        if self.case.is_processed:
            body = self.connection.process(f"{self.case.folder}/{target}", self.case.media_type, body)
            self.settle()
            return body if target == "echo" else b"%d" % len(body)
        if self.case.streams:
            self.connection.send(1, f"{self.case.folder}/{target}", self.case.media_type, body)
            answer, = self.connection.receive()
            self.settle()
            return answer
        request = self.request(target, body)
        size = self.case.pieces or len(request)
        for start in range(0, len(request), size):
            if start:
                self.settle()
            self.connection.sendall(request[start:start + size])
        answer = self.answer(self.connection)
        if self.case.is_new:
            self.close()
        self.settle()
        return answer

    def pass_of_crowd(self):
        """A request on each connection of the crowd, and the bodies of the responses. Recast finds all requests at once, and then
        all responses: nothing is answered before all requests are on their way, and no batch depends on the machine's pace."""
        while len(self.crowd) < self.case.connections:
            self.crowd.append(self.connect(settles=False))
        self.settle()
        request = self.request("small", self.case.body)

        def send():
            for connection in self.crowd:
                connection.sendall(request)

        self.answer_all_at_once(send)
        answers = [self.answer(connection) for connection in self.crowd]
        self.settle()
        return answers

    def pass_of_streams(self):
        """As above, of requests on as many streams of one connection."""
        if not self.connection:
            self.connection = self.connect()
        self.answer_all_at_once(lambda: self.connection.send(
            self.case.streams, f"{self.case.folder}/small", self.case.media_type, self.case.body))
        answers = self.connection.receive()
        self.settle()
        return answers

    def answer_all_at_once(self, send):
        with contextlib.ExitStack() as until_answered:
            with self.sink_threads.stopped():
                with self.recast_threads.stopped():
                    send()
                self.settle(self.recast_threads)
                until_answered.enter_context(self.recast_threads.stopped())
            self.settle(self.sink_threads)

    def check(self):
        """What the upstream receives, looked at once; from then on each request must bring it as many bytes, and no more than the
        padding of a length that is a bound."""
        sample, more = self.case.sample()
        body = self.exchange("echo", sample)
        self.case.check(sample, body)
        self.expected = len(body) + more

    def requests(self, count):
        for _ in range(count // self.case.at_once):
            for answer in self.answers():
                if not self.expected <= int(answer) <= self.expected + self.case.padding:
                    raise BenchError(f"{self.case.name}: the upstream received {answer!r} bytes, not {self.expected}")

    def answers(self):
        if self.case.connections > 1:
            return self.pass_of_crowd()
        return self.pass_of_streams() if self.case.streams > 1 else [self.exchange("small", self.case.body)]

    def slopes(self, read, repeats, first, second, idle):
        """For each figure of `read`, which gives what was counted since it was last read: what one request adds to it, as
        the difference between `first` and `second` requests, `repeats` times. `idle` is what time alone adds in a second."""
        self.check()
        self.requests(second)  # pools and buffers have their size then
        read()
        found = []
        for _ in range(repeats):
            less, more = (self.window(read, count, idle) for count in (first, second))
            found.append([(b - a) / (second - first) for a, b in zip(less, more)])
        return list(zip(*found))

    def window(self, read, count, idle):
        began = time.monotonic()
        self.requests(count)
        seconds = time.monotonic() - began
        return [value - rate * seconds for value, rate in zip(read(), idle)]

    def idle(self, read):
        """What each figure of `read` becomes in a second without a request, but with a connection."""
        self.check()
        read()
        nothing = read()
        time.sleep(SECONDS_IDLE)
        return [(value - own) / SECONDS_IDLE for value, own in zip(read(), nothing)]

    def end(self):
        self.close()
        for connection in self.crowd:
            connection.close()
        self.recast_threads.close()
        self.sink_threads.close()


def tool(name, package):
    path = shutil.which(name)
    if not path:
        raise BenchError(f"there is no {name}; run: scripts/dependencies guard (or install Debian's package {package})")
    return path


def own_instructions(dump, library):
    """Instructions of one library's own functions in a dump of callgrind."""
    objects, own, is_inclusive, is_its = {}, 0, False, False
    for line in dump.splitlines():
        if line.startswith(("ob=", "cob=")):
            kind, _, text = line.partition("=")
            number, _, path = text.partition(" ")
            if path:
                objects[number] = path
            if kind == "ob":
                is_its = os.path.basename(objects[number]).startswith(library)
        elif line.startswith("calls="):
            is_inclusive = True  # the next line is what was called, with all below it
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if is_its and not is_inclusive:
                own += int(line.split()[1])
            is_inclusive = False
    return own


class Callgrind:
    """Recast in callgrind, which counts instructions and is asked for its counts between requests."""

    def __init__(self, binary, folder, case, upstream, options=()):
        self.folder, self.dumps, self.without = folder, 0, case.without
        # A short path: the name of a pipe is made of it.
        self.prefix = os.path.join(folder, "vgdb")
        self.vgdb = tool("vgdb", "valgrind")
        command = [tool("valgrind", "valgrind"), "--tool=callgrind", "-q", f"--vgdb-prefix={self.prefix}",
                   f"--callgrind-out-file={folder}/calls", *options, binary]
        self.recast = Recast(command, folder, case, upstream, {})
        self.stop = self.recast.stop

    def read(self):
        result = subprocess.run([self.vgdb, f"--vgdb-prefix={self.prefix}", f"--pid={self.recast.pid}", "--wait=30", "dump"],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.dumps += 1
        self.path = os.path.join(self.folder, f"calls.{self.dumps}")
        try:
            with open(self.path) as file:
                text = file.read()
        except FileNotFoundError:
            raise BenchError("callgrind gave no counts when asked by vgdb (is ptrace allowed here?):\n"
                             f"{result.stdout}{result.stderr}{self.recast.server.log()}") from None
        events = re.search(r"^events: (.*)$", text, re.MULTILINE)
        totals = re.search(r"^totals: (.*)$", text, re.MULTILINE)
        if not events or not totals:
            raise BenchError(f"callgrind's file has no totals: {text[:300]!r}")
        counts = dict(zip(events[1].split(), map(int, totals[1].split())))
        return (counts["Ir"] - (own_instructions(text, self.without) if self.without else 0),)


class SystemCalls:
    """Recast with strace attached to its worker, the first thread: each call is a line of a file that is read at any time.
    callgrind would count readings of the clock too, which are no system calls outside of it."""

    def __init__(self, binary, folder, case, upstream):
        self.path, self.before = os.path.join(folder, "calls.strace"), 0
        self.recast = Recast([binary], folder, case, upstream, {})
        self.tracer = subprocess.Popen(
            [tool("strace", "strace"), "-qq", "-s0", "-esignal=none", f"-o{self.path}", f"-p{self.recast.pid}"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 20
        while not self.total():  # the call in which the worker waits is written at once
            if self.tracer.poll() is not None or time.monotonic() > deadline:
                self.tracer.kill()
                self.recast.stop()
                raise BenchError(f"strace doesn't trace Recast (is ptrace allowed here?): {self.tracer.communicate()[1]}")
            time.sleep(0.02)

    def total(self):
        try:
            with open(self.path, "rb") as file:
                return len(file.read().splitlines())
        except FileNotFoundError:
            return 0

    def read(self):
        now = self.total()
        difference, self.before = now - self.before, now
        return (difference,)

    def stop(self):
        self.recast.stop()
        self.tracer.wait(20)


class Allocations:
    """Recast as it is, with a library preloaded that counts its calls of malloc and its relatives."""

    def __init__(self, binary, library, folder, case, upstream):
        path = os.path.join(folder, "allocations")
        with open(path, "wb") as file:
            file.write(bytes(16))
        with open(path, "rb") as file:
            self.counts = mmap.mmap(file.fileno(), 16, access=mmap.ACCESS_READ)
        self.recast = Recast([binary], folder, case, upstream, {"LD_PRELOAD": library, "RECAST_ALLOCATIONS": path})
        self.stop = self.recast.stop
        self.before = (0, 0)
        if not self.read()[0]:
            self.recast.stop()
            raise BenchError("Recast has started and not a single allocation was counted: is its C library linked statically?")

    def read(self):
        now = struct.unpack("=QQ", self.counts[:])
        difference = tuple(b - a for a, b in zip(self.before, now))
        self.before = now
        return difference


class Measurement:
    """Measures cases: owns the sink and what was built for it, in `folder`."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        raise_file_limit(cases.CROWD + 200)
        # valgrind can't read the debug information that Swift writes, and the code is the same without.
        self.stripped = os.path.join(folder, "recast")
        subprocess.run([tool("objcopy", "binutils"), "--strip-debug", binary, self.stripped], check=True)
        self.library = os.path.join(folder, "allocations.so")
        sink, compiler = os.path.join(folder, "sink"), [tool("cc", "gcc"), "-O2", "-Wall", "-Wextra"]
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", self.library, os.path.join(HERE, "allocations.c")], check=True)
        subprocess.run([*compiler, "-o", sink, os.path.join(proxies.HERE, "sink.c")], check=True)
        proxies.make_certificate(folder)
        port = free_port()
        self.sink = Server("sink", [sink, str(port)], port, None, os.path.join(folder, "sink.log"))

    def stop(self):
        self.sink.stop()

    def run(self, case, repeats, idle, options=(), after=None):
        """The figures of a case and how far their repeats are apart. `idle` are the figures of `idle()`.
        `after` is called with callgrind's file of the last requests and their number."""
        first, second = case.counts
        rates = [idle[name]["value"] for name in COUNTED]
        counted = self.counted(case, lambda driver, read: driver.slopes(read, repeats, first, second, rates), options,
                               after and (lambda path: after(path, second)))
        # What Recast does once a second has calls and allocations too. Reading costs nothing here, so the windows can be so
        # short that some of them are between two of these times: the least is of requests alone, and is exact.
        def measure(driver, read):
            return driver.slopes(read, case.windows, 0, case.window, (0, 0))

        return counted | self.called(case, measure, min) | self.allocated(case, measure, min)

    def idle(self, case):
        """The figures of a second without requests."""
        def measure(driver, read):
            return [[value] for value in driver.idle(read)]

        return self.counted(case, measure) | self.called(case, measure) | self.allocated(case, measure)

    def counted(self, case, measure, options=(), after=None):
        counter = Callgrind(self.stripped, self.folder, case, self.sink.port, options)
        return self.figures(case, COUNTED, counter, measure, after=after and (lambda: after(counter.path)))

    def called(self, case, measure, choose=statistics.median):
        return self.figures(case, CALLED, SystemCalls(self.binary, self.folder, case, self.sink.port), measure, choose)

    def allocated(self, case, measure, choose=statistics.median):
        counter = Allocations(self.binary, self.library, self.folder, case, self.sink.port)
        return self.figures(case, ALLOCATED, counter, measure, choose)

    def figures(self, case, names, counter, measure, choose=statistics.median, after=None):
        try:
            driver = Driver(case, counter.recast, self.sink)
            try:
                found = measure(driver, counter.read)
            finally:
                driver.end()
            if after:
                after()
        finally:
            counter.stop()
            for path in glob.glob(os.path.join(self.folder, "calls*")):
                os.remove(path)
        return {name: {"value": choose(values), "spread": max(values) - min(values)}
                for name, values in zip(names, found)}
