"""Servers that people run, each with a small application of `servers/bodies` that says what it read: see `described.py` there."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

from harness import DEADLINE, ROOT, free_port, select_nothing

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "servers", "bodies")
# Debian's interpreters with Debian's packages, whatever else is in the path.
PATH = "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def go_program(source):
    """The program of a Go source, built where builds are kept."""
    folder = os.path.join(ROOT, ".build_test", "go")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, os.path.splitext(source)[0])
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"}
    subprocess.run(["/usr/bin/go", "build", "-o", program, os.path.join(FOLDER, source)], env=environment, check=True, timeout=600)
    return program


def command(name, port):
    """What runs a server on a port of 127.0.0.1."""
    return {
        "uwsgi": lambda: [
            "uwsgi", "--plugin", "python3", "--http-socket", f"127.0.0.1:{port}", "--chdir", FOLDER, "--wsgi-file", "wsgi.py",
            "--need-app", "--die-on-term", "--disable-logging", "--workers", "2", "--master", "--socket-timeout", str(DEADLINE)],
        "django": lambda: ["/usr/bin/python3", os.path.join(FOLDER, "django_app.py"), str(port)],
        "php": lambda: [
            "php", "-n", "-d", "upload_max_filesize=1G", "-d", "post_max_size=1G", "-d", "memory_limit=-1",
            "-d", "display_errors=stderr", "-S", f"127.0.0.1:{port}", os.path.join(FOLDER, "bodies.php")],
        "rack": lambda: ["puma", "--quiet", "--bind", f"tcp://127.0.0.1:{port}", "--threads", "1:2", os.path.join(FOLDER, "bodies.ru")],
        "busboy": lambda: ["node", os.path.join(FOLDER, "busboy_server.js"), str(port)],
        "go": lambda: [go_program("bodies.go"), str(port)],
    }[name]()


NAMES = ["uwsgi", "django", "php", "rack", "busboy", "go"]


class RealServer:
    """One of `NAMES` as a process that listens on `port`."""

    def __init__(self, name):
        self.name, self.port = name, free_port()
        self.folder = tempfile.mkdtemp(prefix=f"recast-{name}-")
        self.output = os.path.join(self.folder, "output")
        node = {"PATH": os.environ["PATH"], "NODE_PATH": "/usr/share/nodejs"} if name == "busboy" else {}
        environment = {**os.environ, "PATH": PATH, "TMPDIR": self.folder, "PYTHONDONTWRITEBYTECODE": "1", **node}
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                command(name, self.port), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 3 * DEADLINE  # interpreters on a busy machine
        while True:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(f"{name} did not start: {self.text()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                select_nothing()

    def text(self):
        """What the server has printed, for a failure."""
        with open(self.output, errors="replace") as file:
            return file.read()[-4000:]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
