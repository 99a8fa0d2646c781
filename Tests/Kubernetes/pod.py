"""A pod as a node runs it: its own network, read-only roots, volumes that change as the kubelet changes them, hooks and probes.

What a rendered manifest says decides: image arguments, users, mounts, limits, probes, hooks. All of it is in namespaces that
scripts/kubernetes-test made, and goes with them."""

import contextlib
import ctypes
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from manifests import RECAST, ROOT, seconds, size

sys.path.insert(0, os.path.join(ROOT, "Tests", "EndToEndTests"))

from harness import DEADLINE, select_nothing  # noqa: E402
from lifecycle_support import Load, wait_until  # noqa: E402

NODE, POD = "10.88.0.1", "10.88.0.2"
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*arguments):
    subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL)


class inside:
    """Sockets that this thread makes in the block are in another network namespace; they stay there."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        target = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        self.enter(target)

    def __exit__(self, *_):
        self.enter(self.before)

    @staticmethod
    def enter(descriptor):
        if LIBC.setns(descriptor, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        os.close(descriptor)


class MountedFiles:
    """The folder of a ConfigMap or a Secret: links to `..data/NAME`, and `..data` a link to a folder that is replaced as a
    whole. What was before is removed at once, as the kubelet does."""

    def __init__(self, folder, mode=0o644, group=0):
        self.folder, self.mode, self.group, self.version = folder, mode, group, 0
        os.mkdir(folder)
        os.chmod(folder, 0o755)

    def swap(self, files):
        """`files`: contents by name."""
        data = os.path.join(self.folder, "..data")
        before = os.path.realpath(data) if os.path.islink(data) else None
        self.version += 1
        name = f"..2026_01_01_00_00_00.{self.version}"
        os.mkdir(os.path.join(self.folder, name))
        os.chmod(os.path.join(self.folder, name), 0o755)
        for file_name, content in files.items():
            path = os.path.join(self.folder, name, file_name)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            os.chown(path, 0, self.group)
            os.chmod(path, self.mode)
            if before is None:
                os.symlink(f"..data/{file_name}", os.path.join(self.folder, file_name))
        os.symlink(name, data + "_tmp")
        os.rename(data + "_tmp", data)
        if before:
            shutil.rmtree(before)


class Container:
    """One container of a pod: a read-only root with the binary, what it links to, and the mounts of the manifest."""

    def __init__(self, pod, spec):
        self.pod, self.spec = pod, spec
        self.root = os.path.join(pod.folder, f"root-{spec['name']}")
        self.log = os.path.join(pod.folder, f"log-{spec['name']}")
        self.security = {**pod.spec.get("securityContext", {}), **spec.get("securityContext", {})}
        self.process = None
        self.make_root()

    def make_root(self):
        os.mkdir(self.root)
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.root)
        for name in ("proc", "dev", "etc", "usr/bin"):
            os.makedirs(os.path.join(self.root, name))
        linked = subprocess.run(["ldd", RECAST], capture_output=True, text=True).stdout
        for path in {*re.findall(r"(/\S+) \(0x", linked)}:
            self.bind(os.path.realpath(path), path)
        self.bind(RECAST, "/usr/bin/recast")
        for device in ("null", "urandom"):
            self.bind(f"/dev/{device}", f"/dev/{device}")
        with open(os.path.join(self.root, "etc", "hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.pod.hosts.items()))
        with open(os.path.join(self.root, "etc", "resolv.conf"), "w") as file:
            file.write("nameserver 127.0.0.1\noptions ndots:5\n")
        for mount in self.spec.get("volumeMounts", []):
            self.bind(self.pod.volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
        if self.security.get("readOnlyRootFilesystem"):
            run("mount", "-o", "remount,ro", self.root)

    def bind(self, source, target, read_only=False):
        path = self.root + target
        os.makedirs(path if os.path.isdir(source) else os.path.dirname(path), exist_ok=True)
        if not os.path.isdir(source):
            open(path, "a").close()
        run("mount", "--bind", source, path)
        if read_only:
            run("mount", "-o", "remount,bind,ro", path)

    def start(self):
        user, group = str(self.security["runAsUser"]), str(self.security["runAsGroup"])
        limit = size(self.spec["resources"]["limits"]["memory"])
        arguments = ["nsenter", f"--net=/run/netns/{self.pod.name}",
                     # In the place of the control group's limit, which memory.bodies: auto reads in the same way.
                     "prlimit", f"--data={limit}"]
        if self.security.get("allowPrivilegeEscalation") is False:
            arguments += ["setpriv", "--no-new-privs"]
        arguments += ["unshare", "--pid", "--fork", "--mount-proc", f"--root={self.root}",
                      f"--setgid={group}", f"--setuid={user}", "--", "/usr/bin/recast", *self.spec["args"]]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={})
        wait_until("the container runs", self.find_first)

    def find_first(self):
        """The process that is number 1 in the container."""
        if self.process.poll() is not None:
            raise AssertionError(f"the container ended with {self.process.returncode}: {self.text()}")
        for child in self.children():
            with contextlib.suppress(OSError):
                with open(f"/proc/{child}/cmdline") as file:
                    if file.read().split("\0")[0] == "/usr/bin/recast":
                        self.first = child
                        return True
        return False

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(child) for child in file.read().split()]

    def status(self, key):
        with open(f"/proc/{self.first}/status") as file:
            return re.search(rf"^{key}:\s*(.*)$", file.read(), re.M)[1]

    def execute(self, *command, given=b""):
        """As `kubectl exec` and an exec hook do."""
        user, group = self.security["runAsUser"], self.security["runAsGroup"]
        return subprocess.run(
            ["nsenter", f"--target={self.first}", "--net", "--pid", "--mount", "--root", "--wd", f"--setuid={user}",
             f"--setgid={group}", "--", *command], input=given, capture_output=True, timeout=DEADLINE, env={})

    def terminate(self):
        os.kill(self.first, signal.SIGTERM)

    def wait(self, limit):
        """The exit code; fails where the kubelet would kill."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there after {limit} s: {self.text()[-2000:]}") from None

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def remove(self):
        if self.process and self.process.poll() is None:
            for child in [*self.children(), self.process.pid]:
                os.kill(child, signal.SIGKILL)
            self.process.wait()
        run("umount", "--recursive", self.root)


class PlayedPod:
    """The network and the volumes of a pod. `pod`: a template, as manifests.Pod."""

    number = 0

    def __init__(self, pod, hosts):
        PlayedPod.number += 1
        self.pod, self.spec, self.hosts = pod, pod.spec, hosts
        self.name = f"pod{PlayedPod.number}"
        self.cleanups = contextlib.ExitStack()
        self.folder = tempfile.mkdtemp(prefix="recast-pod-")
        self.cleanups.callback(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.make_network()
        self.volumes, self.files = {}, {}
        for volume in self.spec.get("volumes", []):
            self.make_volume(volume)

    def make_network(self):
        run("ip", "netns", "add", self.name)
        self.cleanups.callback(run, "ip", "netns", "del", self.name)
        run("ip", "link", "add", "node0", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        self.cleanups.callback(run, "ip", "link", "del", "node0")
        run("ip", "address", "add", f"{NODE}/24", "dev", "node0")
        run("ip", "link", "set", "node0", "up")
        for command in (f"address add {POD}/24 dev eth0", "link set eth0 up", "link set lo up"):
            run("ip", "-n", self.name, *command.split())

    def make_volume(self, volume):
        path = self.volumes[volume["name"]] = os.path.join(self.folder, f"volume-{volume['name']}")
        if "emptyDir" in volume:
            os.mkdir(path)
            if volume["emptyDir"].get("medium") == "Memory":
                run("mount", "-t", "tmpfs", "-o", f"mode=777,size={size(volume['emptyDir']['sizeLimit'])}", "tmpfs", path)
                self.cleanups.callback(run, "umount", path)
            os.chmod(path, 0o777)
        elif "configMap" in volume:
            self.files[volume["name"]] = MountedFiles(path)
            self.files[volume["name"]].swap(self.pod.rendering.named("ConfigMap", volume["configMap"]["name"])["data"])
        elif "secret" in volume:
            # The kubelet gives files to the fsGroup where there is one.
            group = self.spec.get("securityContext", {}).get("fsGroup", 0)
            self.files[volume["name"]] = MountedFiles(path, volume["secret"].get("defaultMode", 0o644), group)
        else:
            raise AssertionError(f"a volume that isn't played: {volume}")

    def container(self, spec):
        container = Container(self, spec)
        self.cleanups.callback(container.remove)
        return container

    def remove(self):
        self.cleanups.close()


class Kubelet:
    """Asks a container's probes at the pod's address, as they are written."""

    def __init__(self, container):
        self.container = container
        self.ports = {port["name"]: port["containerPort"] for port in container.spec["ports"]}

    def ask(self, kind):
        """Whether a probe passes."""
        probe = self.container.spec[kind]
        port = probe["httpGet"]["port"]
        try:
            return 200 <= get(self.ports.get(port, port), probe["httpGet"]["path"], probe.get("timeoutSeconds", 1))[0] < 400
        except OSError:
            return False

    def wait_for_start(self):
        """Asks the startup probe until it passes; fails where the kubelet would restart the container."""
        probe = self.container.spec["startupProbe"]
        deadline = time.monotonic() + probe["periodSeconds"] * probe["failureThreshold"]
        while not self.ask("startupProbe"):
            if self.container.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"it doesn't start: {self.container.text()}")
            select_nothing()


def get(port, path, timeout=DEADLINE):
    """(status, body) of a GET to the pod's address."""
    connection = http.client.HTTPConnection(POD, port, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class BalancedLoad(Load):
    """Clients behind a balancer that takes a pod out when its readiness probe has failed as often as the manifest says. It
    makes no new connection then. Those that are kept open go on until Recast says that they end."""

    def __init__(self, kubelet, port):
        super().__init__((POD, port), target="/balanced")
        self.kubelet, self.probe = kubelet, kubelet.container.spec["readinessProbe"]
        self.out, self.ended = threading.Event(), threading.Event()
        self.threads.append(threading.Thread(target=self._balance))

    def _balance(self):
        failed = 0
        while not self.ended.wait(self.probe["periodSeconds"]):
            failed = 0 if self.kubelet.ask("readinessProbe") else failed + 1
            if failed >= self.probe["failureThreshold"]:
                self.out.set()
                return

    def may_connect(self):
        return not self.out.is_set()

    def stop(self):
        self.ended.set()
        super().stop()


def grace_period(pod):
    return pod.spec.get("terminationGracePeriodSeconds", 30)


def drain_time(settings):
    return seconds(settings.get("drain_delay")) + seconds(settings.get("timeouts.grace"))
