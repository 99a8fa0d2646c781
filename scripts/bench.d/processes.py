"""Processes under test: started on a core of their own, measured through /proc, ended by their id."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

INSTRUCTIONS = "instructions:u"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class BenchError(Exception):
    """Something that makes the measurement void; its text says what to do."""


def build_recast():
    """Makes the release binary and returns its path."""
    print("building the release binary", flush=True)
    swift = [os.path.join(ROOT, "scripts", "release"), "--product", "recast"]
    result = subprocess.run(swift, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise BenchError(f"the build failed:\n{(result.stdout + result.stderr)[-3000:]}")
    folder = subprocess.run([*swift, "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return os.path.join(folder, "recast")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def raise_file_limit(wanted):
    """Raises the limit of open files as far as allowed and returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return wanted
        except (ValueError, OSError):
            pass
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted)), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def counts_instructions():
    """Whether `perf` counts the instructions of a process here: many virtual machines have no counters."""
    if not shutil.which("perf"):
        return False
    result = subprocess.run(["perf", "stat", "-x,", "-e", INSTRUCTIONS, "true"], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL)
    return result.returncode == 0 and read_counter(result.stderr) is not None


def read_counter(text):
    """The number in what `perf stat -x,` prints, or None where it says <not supported> or <not counted>."""
    for line in text.splitlines():
        value = line.split(",")[0]
        if value.isdigit():
            return int(value)
    return None


def count_instructions(pids):
    """Starts to count in these processes; what is returned ends it and says how many there were."""
    counter = subprocess.Popen(["perf", "stat", "-x,", "-e", INSTRUCTIONS, "-p", ",".join(map(str, pids))],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end():
        counter.send_signal(signal.SIGINT)
        _, text = counter.communicate(timeout=10)
        counted = read_counter(text)
        if counted is None:
            raise BenchError(f"perf counted no instructions: {text.strip()}")
        return counted

    return end


def server_environment(more):
    """This process's environment without what is the TLS clients' alone (openssl.cnf)."""
    return {**{key: value for key, value in os.environ.items() if key != "OPENSSL_CONF"}, **more}


class Server:
    """A server on 127.0.0.1, with its children."""

    def __init__(self, name, command, port, cores, log_path, *, asks=None, environment=None, waits=True, seconds=10,
                 own_session=True):
        """`asks` is the path of a program among its children that it asks about each request: its part is told by itself."""
        self.name, self.port, self.log_path, self.asks = name, port, log_path, asks
        # Without cores it has those of the caller.
        # The child takes over the cores of the thread that starts it; setting them in the child costs a slower way to fork.
        own = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores or own)
        try:
            with open(log_path, "ab") as log:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                start_new_session=own_session, env=server_environment(environment or {}))
        finally:
            os.sched_setaffinity(0, own)
        if waits:
            self._await(seconds)

    def _await(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise BenchError(f"{self.name} ended at once with code {self.process.returncode}:\n{self.log()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise BenchError(f"{self.name} doesn't listen on port {self.port} after {seconds} s:\n{self.log()}")

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()[-2000:]

    def processes(self):
        """The ids of the process and of all below it."""
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as children:
                        waiting += [int(child) for child in children.read().split()]
            except FileNotFoundError:
                pass
        return found

    def asked(self):
        """The ids of the program that it asks."""
        return [pid for pid in self.processes() if os.path.samefile(f"/proc/{pid}/exe", self.asks)]

    def cpu_seconds(self, pids=None):
        """User and system time of all threads so far: the scheduler's nanoseconds, or ticks where it keeps none."""
        total = 0.0
        for pid in self.processes() if pids is None else pids:
            tasks = os.listdir(f"/proc/{pid}/task")
            try:
                for task in tasks:
                    with open(f"/proc/{pid}/task/{task}/schedstat") as stat:
                        total += int(stat.read().split()[0]) / 1e9
            except FileNotFoundError:
                with open(f"/proc/{pid}/stat") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def _memory(self, key, pids=None):
        total = 0
        for pid in self.processes() if pids is None else pids:
            with open(f"/proc/{pid}/status") as status:
                for line in status:
                    if line.startswith(key + ":"):
                        total += int(line.split()[1]) * 1024
        return total

    def resident_bytes(self):
        return self._memory("VmRSS")

    def anonymous_bytes(self):
        """Of the resident memory what is no file: the program itself and its libraries are shared with others."""
        return self._memory("RssAnon")

    def peak_bytes(self, pids=None):
        """The sum of each process's peak since it started."""
        return self._memory("VmHWM", pids)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                for pid in reversed(self.processes()):
                    os.kill(pid, signal.SIGKILL)
                self.process.wait(5)
