"""What a start depends on besides the settings: the processors and the descriptors that the process gets, what was built, and what
happens meanwhile."""

import contextlib
import errno
import os
import re
import resource
import signal
import subprocess
import tempfile
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, RECAST, ROOT, Client, Upstream, free_port
from lifecycle_support import wait_until
from tls_support import path


class StartTestCase(unittest.TestCase):
    command = []  # what the process is started by

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(self.folder.cleanup)
        self.port = free_port()
        self.errors = os.path.join(self.folder.name, "stderr")

    def start(self, settings, prepare=None, environment=None, upstreams=""):
        """A process that `prepare` has made ready, as a shell does that sets limits before it starts a program."""
        config = os.path.join(self.folder.name, "recast.yaml")
        with open(config, "w") as file:
            file.write(f"version: 1\nlisten: 127.0.0.1:{self.port}\naccess_log: off\n{settings}\n"
                       f"upstreams: {{ app: 127.0.0.1:{self.upstream.port}{upstreams} }}\n"
                       "routes: [{ name: all, match: /*, upstream: app }]\n")
        with open(self.errors, "wb") as errors:
            process = subprocess.Popen([*self.command, RECAST, "serve", config], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=prepare, env={**os.environ, **(environment or {})})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def error_text(self):
        with open(self.errors) as file:
            return file.read()

    def serves(self, process):
        def told():
            self.assertIsNone(process.poll(), self.error_text())
            return "serving 1 route " in self.error_text()

        wait_until("it serves", told)
        return self.error_text()

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)


class StandardInputTests(StartTestCase):
    def test_settings_that_came_by_standard_input_have_one_name(self):
        text = (f"version: 1\nlisten: 127.0.0.1:{self.port}\naccess_log: off\n"
                f"upstreams: {{ app: 127.0.0.1:{self.upstream.port} }}\nroutes: [{{ name: all, match: /*, upstream: app }}]\n")
        with open(self.errors, "wb") as errors:
            process = subprocess.Popen([RECAST, "serve", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdin.write(text.encode())
        process.stdin.close()
        self.assertIn("serving 1 route of <stdin> on ", self.serves(process))
        self.stop(process)


class MeanwhileTests(StartTestCase):
    """What comes while the settings are read: they are held up by a pipe that one of them comes from."""

    PIPE = 'via: "${file:pipe}"'

    def begin(self, settings="workers: 2", prepare=None):
        """A process that has read its file, and waits for the pipe."""
        self.pipe = os.path.join(self.folder.name, "pipe")
        if not os.path.exists(self.pipe):
            os.mkfifo(self.pipe)
        return self.start(f"{settings}\n{self.PIPE}", prepare)

    def writer(self, process):
        """The other end of the pipe, as soon as the process has opened its own."""
        opened = []

        def is_read():
            self.assertIsNone(process.poll(), self.error_text())
            try:
                opened.append(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            return bool(opened)

        wait_until("the pipe is read", is_read)
        return os.fdopen(opened[0], "w")

    def replace(self):
        config = os.path.join(self.folder.name, "recast.yaml")
        with open(config) as file:
            text = file.read()
        with open(config + ".new", "w") as file:
            file.write(text.replace(self.PIPE, "via: new"))
        os.rename(config + ".new", config)

    def via(self):
        self.upstream.reset()
        with Client(self.port) as client:
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
        return self.upstream.one().fields.get("via")

    def test_a_watched_file_that_is_replaced_is_read_again(self):
        for workers in (1, 3):
            with self.subTest(workers=workers):
                process = self.begin(f"workers: {workers}\nwatch: true")
                with self.writer(process) as pipe:
                    self.replace()
                    pipe.write("old\n")
                self.serves(process)
                wait_until("it is read again", lambda: "reload: serving" in self.error_text())
                self.assertEqual(self.via(), "1.1 new")
                self.stop(process)
                self.assertEqual(self.error_text().count("reload: serving"), 1)

    def test_a_file_that_stays_as_it_was_read_is_not_read_again(self):
        process = self.begin("watch: true")
        with self.writer(process) as pipe:
            pipe.write("old\n")
        self.serves(process)
        self.assertEqual(self.via(), "1.1 old")
        self.stop(process)
        self.assertNotIn("reload", self.error_text())

    def test_signals_that_ask_for_something_wait(self):
        process = self.begin()
        with self.writer(process) as pipe:
            self.replace()
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGUSR1)
            pipe.write("old\n")
        self.serves(process)
        wait_until("it is read again", lambda: "reload: serving" in self.error_text())
        self.assertIn("no log is opened again", self.error_text())
        self.assertEqual(self.via(), "1.1 new")
        self.stop(process)

    def test_signals_that_end_it_do_so_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number):
                process = self.begin()
                with self.writer(process):
                    process.send_signal(number)
                    self.assertEqual(process.wait(DEADLINE), 0)
                self.assertEqual(self.error_text(), "")

    def test_signals_that_end_it_do_so_as_pid_1(self):
        """The system gives that process no signal that it has no handler for."""
        alone = ["unshare", "--fork", "--pid", "--kill-child"]
        try:
            subprocess.run([*alone, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no pid namespace can be made here")
        self.command = alone
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number):
                process = self.begin()
                with self.writer(process):
                    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                        os.kill(int(file.read()), number)
                    self.assertEqual(process.wait(DEADLINE), 0)

    def test_a_mask_that_was_handed_down_keeps_none_back(self):
        blocked = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1}
        process = self.begin(prepare=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked))
        with self.writer(process):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)
        process = self.begin(prepare=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked))
        with self.writer(process) as pipe:
            pipe.write("old\n")
        self.serves(process)
        self.replace()
        process.send_signal(signal.SIGHUP)
        wait_until("it is read again", lambda: "reload: serving" in self.error_text())
        self.stop(process)


class AuthorityTests(StartTestCase):
    """A machine without certificates of authorities, as a bare container is."""

    def upstreams(self, **tls):
        return "".join(f", {name}: {{ address: 'localhost:1', tls: {options} }}" for name, options in tls.items())

    def folder_of(self, name, *files):
        folder = os.path.join(self.folder.name, name)
        os.mkdir(folder)
        for file in files:
            with open(os.path.join(folder, file), "w"):
                pass
        return folder

    def test_an_upstream_that_nobody_could_believe_is_warned_of(self):
        none = {"SSL_CERT_FILE": "/nonexistent/ca.pem", "SSL_CERT_DIR": f"/nonexistent:{self.folder_of('none', '0123456.0', '01234567.r0', 'ca.pem')}"}
        upstreams = self.upstreams(
            far="true", pinned="{ pins: [sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=] }", unchecked="{ verify: false }",
            own=f"{{ ca: {path('ca.pem')} }}", exact=f"{{ pinned_certificates: {path('self.pem')} }}")
        process = self.start("", environment=none, upstreams=upstreams)
        self.serves(process)
        line = "upstream {}: its certificate is checked by the authorities of this machine, which has none: each request to it fails; install"
        for name in ("pinned", "far"):
            wait_until("it is said", lambda: f"warning {line.format(name)}" in self.error_text())  # noqa: B023
        self.assertEqual(self.error_text().count("which has none"), 2)
        process.send_signal(signal.SIGHUP)
        wait_until("it is said again", lambda: f"warning reload: {line.format('pinned')}" in self.error_text())
        self.stop(process)
        self.assertEqual(self.error_text().count("which has none"), 4)

        config = os.path.join(self.folder.name, "recast.yaml")

        def warned(environment, *arguments):
            result = subprocess.run([RECAST, "check", *arguments, config], capture_output=True, text=True, timeout=DEADLINE,
                                    env={**os.environ, **environment})
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout.count("which has none")

        self.assertEqual(warned(none), 2)
        self.assertEqual(warned(none, "--no-secrets"), 0)  # this is another machine
        self.assertEqual(warned({**none, "SSL_CERT_FILE": path("ca.pem")}), 0)
        self.assertEqual(warned({**none, "SSL_CERT_DIR": f"/nonexistent:{self.folder_of('some', '0123abcd.0')}"}), 0)


class ProcessorTests(StartTestCase):
    """`workers: auto` by what the process may use, as the threads that run and the log's first line say."""

    def workers(self, settings="workers: auto", prepare=None):
        process = self.start(settings, prepare)
        text = self.serves(process)
        threads = []
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/comm") as file:
                threads.append(file.read().strip())
        self.stop(process)
        # The first one is the main thread.
        return 1 + sum(name.startswith("worker-") for name in threads), text.split("\n")[0]

    def test_the_processors_that_it_may_run_on(self):
        mine = sorted(os.sched_getaffinity(0))
        for count in {1, len(mine)}:
            workers, line = self.workers(prepare=lambda: os.sched_setaffinity(0, mine[:count]))
            self.assertEqual(workers, count)
            self.assertRegex(line, rf"starts with {count} workers?, by the processors that it may run on$")

    def test_a_number_is_that_number(self):
        mine = sorted(os.sched_getaffinity(0))
        workers, line = self.workers("workers: 3", prepare=lambda: os.sched_setaffinity(0, mine[:1]))
        self.assertEqual(workers, 3)
        self.assertRegex(line, r"starts with 3 workers$")

    @contextlib.contextmanager
    def group(self):
        """A control group of this test's own, and how its quota is written; skips where none can be made."""
        name = f"recast-test-{os.getpid()}"
        with open("/proc/self/mounts") as file:
            mounts = [line.split() for line in file]
        for _, point, kind, options, *_ in mounts:
            if kind == "cgroup2":
                files = lambda quota: {"cpu.max": f"{quota} 100000"}
            elif kind == "cgroup" and "cpu" in options.split(","):
                files = lambda quota: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(quota)}
            else:
                continue
            folder = os.path.join(point, name)
            try:
                os.mkdir(folder)
                os.mkdir(os.path.join(folder, "inner"))
            except OSError:
                continue
            try:
                if all(os.access(os.path.join(folder, file), os.W_OK) for file in files(1)):
                    yield folder, files
                    return
            finally:
                for each in (os.path.join(folder, "inner"), folder):
                    os.rmdir(each)
        self.skipTest("this machine lets nobody make a control group with a quota")

    def test_the_quota_of_a_control_group_and_of_one_above(self):
        mine = len(os.sched_getaffinity(0))
        with self.group() as (folder, files):
            for inner in ("", "inner"):
                for quota, processors, text in [(50000, 1, "0.50"), (100000 * mine + 1, None, None), (100001, 2, "1.01")]:
                    for file, content in files(quota).items():
                        with open(os.path.join(folder, file), "w") as out:
                            out.write(content)

                    def join():
                        with open(os.path.join(folder, inner, "cgroup.procs"), "w") as out:
                            out.write("0")

                    workers, line = self.workers(prepare=join)
                    if processors is None or processors >= mine:
                        self.assertEqual(workers, mine)
                        self.assertIn("by the processors that it may run on", line)
                    else:
                        self.assertEqual(workers, processors)
                        self.assertIn(f"by the quota of {text} processors in {folder}/", line)


class DescriptorTests(StartTestCase):
    """Few descriptors: refused with what is needed, or enough for more than those who sit on them."""

    def limited(self, soft, hard=None):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard or soft))

    def refusal(self, settings, limit):
        process = self.start(settings, self.limited(limit))
        self.assertEqual(process.wait(DEADLINE), 69)
        return self.error_text()

    def minimum(self, settings="workers: 1"):
        text = self.refusal(settings, 64)
        self.assertRegex(text, r"64 files may be open, and .* need at least \d+: raise the hard limit \(ulimit -Hn")
        return int(re.search(r"need at least (\d+)", text)[1])

    def test_it_refuses_to_start_with_one_less_than_it_needs(self):
        for settings in ("workers: 1", "workers: 3", f"workers: 2\nadmin: 127.0.0.1:{free_port()}"):
            minimum = self.minimum(settings)
            self.assertIn(f"need at least {minimum}", self.refusal(settings, minimum - 1))
            process = self.start(settings, self.limited(minimum))
            self.serves(process)
            self.stop(process)

    def test_a_soft_limit_is_raised(self):
        process = self.start("workers: 1", self.limited(64, self.minimum()))
        self.serves(process)
        self.stop(process)

    def test_a_cap_that_is_too_high_for_them_is_told(self):
        for total, is_told in [(32, False), (5000, True)]:
            process = self.start(f"workers: 1\nconnections: {{ total: {total} }}", self.limited(self.minimum()))
            self.assertEqual(f"warning connections.total is {total}, " in self.serves(process), is_told)
            self.stop(process)

    def test_with_the_fewest_idle_clients_keep_nobody_out(self):
        port, admin = admin_port()
        settings = "workers: 1\n" + admin
        minimum = self.minimum(settings)
        process = self.start(settings, self.limited(minimum))
        self.serves(process)
        held = []
        self.addCleanup(lambda: [client.socket.close() for client in held])
        for number in range(100):
            client = Client(self.port)
            held.append(client)
            if number % 2:
                # Idle behind an answer; the others say nothing at all.
                client.request("GET", "/")
                self.assertEqual(client.response().status, 200)
            elif number % 10 == 0:
                client.send("GET / HT")
        for _ in range(50):
            with Client(self.port) as client:
                client.request("GET", "/")
                self.assertEqual(client.response().status, 200)
        self.assertEqual(Admin(port).get("/ready"), b"ready\n")
        self.assertGreater(Admin(port).metrics().sum("recast_connections_evicted_total"), 0)
        self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), minimum)
        self.stop(process)


class VersionTests(unittest.TestCase):
    def test_the_version_with_the_commit_and_the_libraries(self):
        result = subprocess.run([RECAST, "--version"], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, (
            r"^recast \d+\.\d+\.\d+ \(commit (unknown|[0-9a-f]{7,40}(-changed)?(, \d{4}-\d\d-\d\d)?), Swift \d+\.\d+(\.\d+)?, "
            r"libevent \d+\.\d+\.\d+, OpenSSL 3\.\d+\.\d+, c-ares \d+\.\d+\.\d+, nghttp2 \d+\.\d+\.\d+, "
            r"zlib \d+\.\d+(\.\d+)*, Brotli \d+\.\d+\.\d+, Zstandard \d+\.\d+\.\d+, "
            r"libjpeg-turbo \d+\.\d+\.\d+, libpng \d+\.\d+\.\d+, libwebp \d+\.\d+\.\d+, libyaml \d+\.\d+\.\d+\)\n$"))

    def test_the_version_stands_in_one_place(self):
        with open(os.path.join(ROOT, "Sources/Proxy/Observe/BuildInformation.swift")) as file:
            version = re.search(r'version = "([0-9.]+)"', file.read())[1]
        line = subprocess.run([RECAST, "--version"], capture_output=True, text=True, timeout=DEADLINE).stdout
        self.assertTrue(line.startswith(f"recast {version} ("), line)


class VersionOfARunningProcessTests(StartTestCase):
    def test_the_log_the_admin_port_and_the_metrics_tell_it(self):
        port, admin = admin_port()
        process = self.start("workers: 1\n" + admin)
        text = self.serves(process)
        line = subprocess.run([RECAST, "--version"], capture_output=True, text=True, timeout=DEADLINE).stdout
        version, commit = re.match(r"recast (\S+) \(commit ([^,]+)", line).groups()
        self.assertRegex(text.split("\n")[0], rf" info recast {re.escape(version)} .*starts with 1 worker$")
        index = Admin(port).json("/")
        self.assertEqual((index["version"], index["commit"] or "unknown"), (version, commit))
        self.assertEqual(Admin(port).metrics().sum("recast_build_info", version=version, commit=commit), 1)
        self.stop(process)


if __name__ == "__main__":
    unittest.main()
