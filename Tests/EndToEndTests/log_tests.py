"""The access log as its readers see it."""

import fcntl
import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest

from harness import DEADLINE, RECAST, Client, free_port, select_nothing


class PipedLogTests(unittest.TestCase):
    """Two workers that write to one pipe, which holds less than they write at once, as under a container's log driver."""

    CONNECTIONS, REQUESTS = 16, 60

    def serve(self, output):
        self.port = free_port()
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        config = os.path.join(folder.name, "recast.yaml")
        with open(config, "w") as file:
            file.write(f"version: 1\nlisten: 127.0.0.1:{self.port}\nworkers: 2\naccess_log: stdout\n"
                       "upstreams:\n  app: 127.0.0.1:1\nroutes:\n  - { name: one, match: /one, upstream: app }\n")
        process = subprocess.Popen([RECAST, "serve", config], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        return process

    def connect(self, process):
        while process.poll() is None:
            try:
                return Client(self.port)
            except ConnectionError:
                select_nothing()
        self.fail("recast ended")

    def use(self, process):
        """Many requests on many connections, so that both workers have some, then SIGTERM."""
        def requests():
            with self.connect(process) as client:
                client.send(f"GET /none-{'x' * 1000} HTTP/1.1\r\nHost: a\r\n\r\n" * self.REQUESTS)
                for _ in range(self.REQUESTS):
                    client.response()

        threads = [threading.Thread(target=requests) for _ in range(self.CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)

    def lines(self, blocking):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(writing, blocking)
        process = self.serve(writing)
        os.close(writing)
        pieces = []
        read = threading.Thread(target=lambda: pieces.extend(iter(lambda: os.read(reading, 3000), b"")))
        read.start()
        self.use(process)
        read.join(DEADLINE)
        return b"".join(pieces).split(b"\n")

    def test_no_line_stands_inside_another(self):
        lines = self.lines(blocking=True)
        self.assertEqual(lines.pop(), b"")
        self.assertEqual(len(lines), self.CONNECTIONS * self.REQUESTS)
        for line in lines:
            json.loads(line)

    def test_what_a_full_pipe_cuts_off_ends_its_line(self):
        for line in self.lines(blocking=False):
            self.assertLessEqual(line.count(b'{"ts"'), 1, line)


if __name__ == "__main__":
    unittest.main()
