"""Clean Debian systems for scripts/package-test: made by debootstrap, kept, copied for each test, and run in containers of
systemd-nspawn, with systemd as pid 1 or with one command. Nothing here sleeps: a container says by itself when it is up."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

SUITE = "bookworm"
TIME = 240  # seconds for what waits for nobody outside. A hang is what it finds: on a machine that is busy a package unpacks for minutes
LONG = 900  # for what comes over the network


class Failed(Exception):
    """A step that didn't do what it must."""


def run(*command, limit=TIME, status=(0,), **options):
    """The output of a command. Another exit code than those of `status` fails the test, with all that it said."""
    try:
        result = subprocess.run(command, text=True, timeout=limit, stdin=subprocess.DEVNULL, capture_output=True, **options)
    except subprocess.TimeoutExpired as fault:
        raise Failed(f"{' '.join(command)}: not done in {limit} s\n{fault.output or ''}") from None
    if result.returncode not in status:
        raise Failed(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Roots:
    """The systems that are kept in `folder`; each is whole or isn't there."""

    def __init__(self, folder):
        self.folder = folder
        self.architecture = run("dpkg", "--print-architecture").strip()

    def clean(self):
        """Debian with what is essential, and apt."""
        def make(place):
            run("debootstrap", "--variant=minbase", f"--arch={self.architecture}", SUITE, place, limit=LONG)
            in_root(place, "apt-get", "update", limit=LONG)

        return self._kept(f"{SUITE}-{self.architecture}", make)

    def with_systemd(self):
        """The same, which systemd can start."""
        def make(place):
            copy(self.clean(), place)
            in_root(place, "apt-get", "install", "--yes", "--no-install-recommends", "systemd", "systemd-sysv", "dbus",
                    limit=LONG)

        return self._kept(f"{SUITE}-{self.architecture}-systemd", make)

    def _kept(self, name, make):
        place = os.path.join(self.folder, name)
        if not os.path.isdir(place):
            half = place + ".half"
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            os.rename(half, place)
        return place


def copy(root, place):
    run("cp", "--archive", "--reflink=auto", root, place)


def in_root(root, *command, limit=TIME, network=True):
    """The output of a command in a container of its own. With `network` it has this machine's, to reach an archive."""
    apart = ["--resolv-conf=copy-host"] if network else ["--private-network"]
    return run(*nspawn(root), *apart, "--setenv=DEBIAN_FRONTEND=noninteractive", *command, limit=limit)


def nspawn(root):
    return ["systemd-nspawn", "--quiet", "--directory", root, "--register=no", "--keep-unit", "--console=pipe"]


class Container:
    """A container that goes on, with a network of its own that has nothing but loopback."""

    def __init__(self, root, *command, until=None):
        """`command` is pid 1, and up when it has said `until`; without a command systemd is, and tells its manager."""
        self.root, self.others, self.lines = root, [], []
        self.folder = tempfile.mkdtemp(prefix="recast-package-")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(os.path.join(self.folder, "notify"))
            manager.settimeout(TIME)
            what = ["--", *command] if command else ["--boot", "--notify-ready=yes"]
            self.process = subprocess.Popen(
                [*nspawn(root), "--private-network", *what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env={**os.environ, "NOTIFY_SOCKET": manager.getsockname()})
            said = threading.Event()
            self.reader = threading.Thread(target=self._read, args=(until, said), daemon=True)
            self.reader.start()
            self.leader, ready = None, False
            try:
                while not (self.leader and ready):
                    text = manager.recv(4096).decode()
                    if found := re.search(r"^X_NSPAWN_LEADER_PID=(\d+)$", text, re.M):
                        self.leader = found[1]
                    ready = ready or "READY=1" in text.split("\n")
            except TimeoutError:
                ready = False
        if not ready or until and not (said.wait(TIME) and self.process.poll() is None):
            self.close()
            raise Failed(f"no container came up from {root} within {TIME} s:\n{self.said}")

    def _read(self, until, said):
        """Keeps what the container says."""
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace"))
            if until and until in self.lines[-1]:
                said.set()
        said.set()  # it will say no more

    def run(self, *command, **options):
        """The output of a command in the container."""
        return run("nsenter", f"--target={self.leader}", "--all", *command, env=self.environment, **options)

    def start(self, *command):
        """A process in the container that goes on when it has said its first line, and ends with the container."""
        process = subprocess.Popen(["nsenter", f"--target={self.leader}", "--all", *command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.others.append(process)
        if not process.stderr.readline():
            raise Failed(f"{' '.join(command)}: ended with {process.wait()} without a word")

    def beside(self, *command, **options):
        """The output of a command of this machine in the container's network."""
        return run("nsenter", f"--target={self.leader}", "--net", *command, **options)

    @property
    def environment(self):
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}

    @property
    def said(self):
        return "".join(self.lines)

    def close(self):
        if self.process.poll() is None:
            # With its pid 1 all of a container ends at once. Nothing in it has anything to finish.
            if self.leader:
                os.kill(int(self.leader), signal.SIGKILL)
            else:
                self.process.terminate()
            try:
                self.process.wait(TIME)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for process in self.others:
            process.kill()
            process.wait()
            process.stderr.close()
        self.others = []
        self.reader.join(TIME)

    def remove(self):
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
