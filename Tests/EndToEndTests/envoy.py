"""Envoy as a process before Recast, on a file whose ports are replaced by free ones."""

import glob
import http.client
import os
import re
import shutil
import subprocess
import tempfile
import time

from harness import DEADLINE, ROOT, free_port, select_nothing

INSTALLED = ("test", "bench")  # what scripts/dependencies has put it into


def envoy_program():
    """The one that $ENVOY_BIN names, the one in the path, or PyPI's: its own command is a script around the program."""
    found = [os.environ.get("ENVOY_BIN"), shutil.which("envoy")]
    for group in INSTALLED:
        found += glob.glob(os.path.join(ROOT, f".build_{group}", "lib/python3*/site-packages/envoy/_bin/envoy"))
    program = next((path for path in found if path), None)
    if not program:
        raise AssertionError("there is no envoy; run: scripts/dependencies test")
    return program


def validate(path):
    """What Envoy says against a file; nothing where it is fine."""
    result = subprocess.run([envoy_program(), "--mode", "validate", "-c", path, "--log-level", "error"], capture_output=True, text=True,
                            timeout=DEADLINE)
    return "" if result.returncode == 0 else result.stdout + result.stderr


class Envoy:
    """`text` with each port as `ports` replaces it; all others get free ones, in `ports` too."""

    def __init__(self, text, ports, admin):
        self.ports = {port: free_port() for port in map(int, re.findall(r"port_value: (\d+)", text))} | ports
        self.admin = self.ports[admin]
        self.folder = tempfile.mkdtemp(prefix="recast-envoy-")
        path = os.path.join(self.folder, "envoy.yaml")
        with open(path, "w") as file:
            file.write(re.sub(r"port_value: (\d+)", lambda match: f"port_value: {self.ports[int(match[1])]}", text))
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [envoy_program(), "-c", path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        with open(self.log, errors="replace") as file:
            return file.read()[-3000:]

    def ask(self, target):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=DEADLINE)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def until(self, what, condition):
        deadline = time.monotonic() + DEADLINE
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"envoy ended with {self.process.returncode}: {self.said()}")
            try:
                if condition():
                    return
            except OSError:
                pass  # it doesn't listen yet
            if time.monotonic() > deadline:
                raise AssertionError(f"never came true: {what}; {self.said()}")
            select_nothing()

    def until_ready(self):
        self.until("envoy is ready", lambda: self.ask("/ready")[0] == 200)

    def until_health(self, cluster, is_healthy):
        """Waits until its checks have found all hosts of a cluster so."""
        def found():
            flags = re.findall(rf"^{cluster}::[^:]+:\d+::health_flags::(.*)$", self.ask("/clusters")[1], re.M)
            return bool(flags) and all((flag == "healthy") == is_healthy for flag in flags)
        self.until(f"{cluster} is {'healthy' if is_healthy else 'not healthy'}", found)

    def counter(self, name):
        """The sum of all counters whose name ends so."""
        return sum(int(value) for value in re.findall(rf"^\S*{re.escape(name)}: (\d+)$", self.ask("/stats")[1], re.M))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(DEADLINE)
        shutil.rmtree(self.folder, ignore_errors=True)
