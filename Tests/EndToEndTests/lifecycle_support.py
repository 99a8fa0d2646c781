"""What the tests of reloads and drains share: a load whose every request is known by an id on both sides."""

import contextlib
import os
import signal
import subprocess
import threading
import time
import unittest

from harness import DEADLINE, RECAST, Client, Closed, Recast, Upstream, memory_of, select_nothing

PLAIN = '  - { name: plain, match: "/plain*", upstream: app }\n'


def wait_until(what, condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never came true: {what}")
        select_nothing()


def count_lines(recast, text):
    return recast.error_text().count(text)


def reload(recast, text="reload: serving", signals=1):
    """SIGHUP, and the log line that says how it went."""
    before = count_lines(recast, text)
    for _ in range(signals):
        recast.process.send_signal(signal.SIGHUP)
    wait_until(f"the log has another \"{text}\"", lambda: count_lines(recast, text) > before)


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def resident_bytes(process):
    return memory_of(process, "VmRSS")


def full_pipe():
    """A pipe that has no room for a byte: what nobody reads has come to. Its two ends; writing waits."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"." * size)
    os.set_blocking(writing, True)
    return reading, writing


class Load:
    """Clients that send numbered requests one after the other; each says when its connection ends, and then opens the next.

    A connection that ends without an answer to a request is a failure: none is sent twice.
    """

    def __init__(self, port, keeping=4, opening=2, target="/plain"):
        self.port, self.target = port, target
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.answered = {}
        self.failures = []
        self.refused = 0
        self.last_ones = 0
        self.threads = [threading.Thread(target=self._run, args=(f"k{number}", True)) for number in range(keeping)]
        self.threads += [threading.Thread(target=self._run, args=(f"n{number}", False)) for number in range(opening)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_until("the load runs", lambda: len(self.answered) > 20)
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(DEADLINE)

    def may_connect(self):
        """Whether new connections are made; a client that may make none ends with the one that it has."""
        return True

    def _run(self, name, keeps):
        number, client = 0, None
        while not self.stopping.is_set():
            number += 1
            request = f"{name}-{number}"
            try:
                if client is None:
                    if not self.may_connect():
                        return
                    client = Client(self.port)
            except ConnectionRefusedError:
                with self.lock:
                    self.refused += 1
                return  # nothing was sent; nobody listens any more
            except OSError as error:
                return self._fail(request, f"connect: {error}")
            try:
                client.request("POST", self.target, request.encode(), "text/plain")
                response = client.response()
            except (Closed, OSError, ValueError) as error:
                client.socket.close()
                return self._fail(request, repr(error))
            if response.status != 200 or response.body != request.encode():
                self._fail(request, f"{response.status} {response.body[:200]!r}")
            with self.lock:
                self.answered[request] = self.answered.get(request, 0) + 1
            closes = "close" in response.fields.get("connection", "")
            if closes:
                with self.lock:
                    self.last_ones += 1
            if closes or not keeps:
                client.socket.close()
                client = None
        if client:
            client.socket.close()

    def _fail(self, request, reason):
        with self.lock:
            self.failures.append(f"{request}: {reason}")


def repeat_body(exchange):
    exchange.read_body()
    exchange.answer(body=exchange.received.body)


def tell_apart(test, load, upstream):
    """Every request was answered once, and reached the upstream once."""
    test.assertEqual(load.failures, [])
    seen = [received.body.decode() for received in upstream.requests if received.method == "POST"]
    test.assertEqual(len(seen), len(set(seen)), "the upstream saw a request twice")
    test.assertEqual(set(load.answered), set(seen))
    test.assertEqual([request for request, count in load.answered.items() if count != 1], [])


class DrainTestCase(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)

    def start(self, workers=2, settings=""):
        self.recast = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, workers=workers, settings=settings)
        self.addCleanup(self.recast.remove)
        self.addCleanup(self._end, self.recast.process)
        wait_until("it serves", lambda: "serving" in self.recast.error_text())
        return self.recast

    def start_another(self, recast):
        """A second process on the same settings; returns when it serves."""
        path = os.path.join(recast.folder, "second")
        with open(path, "wb") as errors:
            process = subprocess.Popen([RECAST, "serve", recast.config], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(self._end, process)

        def serves():
            with open(path) as file:
                text = file.read()
            self.assertIsNone(process.poll(), text)
            return "serving" in text

        wait_until("the second process serves", serves)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
