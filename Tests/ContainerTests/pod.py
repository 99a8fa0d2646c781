"""A pod as an engine makes it: a network namespace, a read-only root with the image's files, a user without capabilities."""

import ctypes
import http.client
import json
import os
import signal
import socket
import subprocess
import time

DEADLINE = 20
USER = 10001
NODE, ADDRESS = "10.253.7.1", "10.253.7.2"
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 0x40000000, 24, 38


def run(*command, **further):
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **further)
    if result.returncode:
        raise AssertionError(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


class Pod:
    """What is mounted and connected. It ends with the mount and network namespaces that the tests run in."""

    def __init__(self, work):
        self.root = os.path.join(work, "pod")
        os.makedirs(self.root, exist_ok=True)
        run("mount", "--bind", os.path.join(work, "root"), self.root)
        # Engines make these files in the root before they mount them.
        for name, text in (("hosts", f"127.0.0.1 localhost\n{NODE} upstream.test other.test\n"), ("resolv.conf", "")):
            with open(f"{self.root}/etc/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        for inner in ("/run/recast", "/var/spool/recast", "/dev"):
            run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", self.root + inner)
        run("mknod", "-m", "666", self.root + "/dev/null", "c", "1", "3")
        run("mount", "-t", "proc", "proc", self.root + "/proc")
        run("mount", "-o", "remount,bind,ro", self.root)
        # `ip netns` keeps its names there.
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        run("ip", "netns", "add", "pod")
        run("ip", "link", "add", "node", "type", "veth", "peer", "name", "eth0", "netns", "pod")
        run("ip", "address", "add", f"{NODE}/24", "dev", "node")
        run("ip", "link", "set", "node", "up")
        for arguments in (["link", "set", "lo", "up"], ["link", "set", "eth0", "up"],
                          ["address", "add", f"{ADDRESS}/24", "dev", "eth0"]):
            run("ip", "-n", "pod", *arguments)

    def mount(self, path, inner):
        """Puts a file of the node over one of the image, as settings and authorities are mounted."""
        os.chmod(path, 0o644)
        run("mount", "--bind", path, self.root + inner)

    def enter(self):
        """What a process does before it becomes one of the pod's."""
        namespace = os.open("/run/netns/pod", os.O_RDONLY | os.O_CLOEXEC)
        if LIBC.setns(namespace, CLONE_NEWNET) != 0:
            os._exit(101)
        os.chroot(self.root)
        os.chdir("/")
        for capability in range(64):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            os._exit(102)

    def start(self, *arguments, **further):
        return subprocess.Popen(["/usr/bin/recast", *arguments], preexec_fn=self.enter, text=True,
                                env={"PATH": "/usr/bin", "TMPDIR": "/var/spool/recast"}, **further)

    def run(self, *arguments, input=None):
        process = self.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, error = process.communicate(input, timeout=DEADLINE)
        return process.returncode, output, error


class Served:
    """One run of `recast serve` in the pod, until the end of the block."""

    def __init__(self, pod, *arguments):
        self.begun = time.monotonic()
        self.process = pod.start("serve", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pod = pod

    def __enter__(self):
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() - self.begun > DEADLINE:
                self.__exit__()
                raise AssertionError(f"not ready; exit code {self.process.returncode}: {self.output} {self.error}")
            time.sleep(0.001)  # between two attempts: there is nobody yet who could tell
        self.to_first_answer = time.monotonic() - self.begun
        return self

    @staticmethod
    def is_ready():
        try:
            return request("GET", "/ready", port=9902)[0] == 200
        except OSError:
            return False

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.output, self.error = self.process.communicate(timeout=DEADLINE)

    def end(self):
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE + 30)

    def status(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)[field].strip()


def request(method, path, body=None, headers=None, port=8080, chunked=False):
    """Status, headers and body of one request from the node to the pod."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=DEADLINE)
    try:
        connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def echoed(body):
    return json.loads(body)


def listens(port):
    """Whether the node reaches a port of the pod."""
    try:
        socket.create_connection((ADDRESS, port), timeout=DEADLINE).close()
        return True
    except (ConnectionRefusedError, ConnectionResetError):  # reset: it waited to be accepted when the listener closed
        return False
