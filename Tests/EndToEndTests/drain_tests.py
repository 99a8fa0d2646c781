"""The end of a process: drained under load, handed over to another one, cut short (P9; faults 65 to 67)."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness import DEADLINE, RECAST, ROOT, Client, Closed, Recast, Upstream
from lifecycle_support import Load, count_lines, repeat_body, tell_apart, wait_until

PLAIN = '  - { name: plain, match: "/plain*", upstream: app }\n'


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


class LoadTests(DrainTestCase):
    def test_a_drain_under_load_drops_nothing(self):
        """Fault 65: every request that was sent is answered, and the last answer on each connection says so."""
        for _ in range(3):
            recast = self.start()
            self.upstream.reset()
            self.upstream.script = repeat_body
            with Load(recast.port, keeping=12, opening=4) as load:
                recast.process.send_signal(signal.SIGTERM)
                wait_until("all clients are done", lambda: load.refused == 16 or load.failures)
            self.assertEqual(recast.process.wait(DEADLINE), 0)
            tell_apart(self, load, self.upstream)
            self.assertGreaterEqual(load.last_ones, 12)

    def test_another_process_takes_over_without_a_loss(self):
        """Both listen (`reuse_port`), then the first one drains: clients notice nothing."""
        recast = self.start(settings="reuse_port: true\n")
        self.upstream.script = repeat_body
        with Load(recast.port, keeping=6, opening=6) as load:
            for _ in range(2):
                process = recast.process
                recast.process = self.start_another(recast)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(DEADLINE), 0)
                count = len(load.answered)
                wait_until("the other one serves", lambda: len(load.answered) > count + 100)
        self.assertEqual(load.refused, 0)
        tell_apart(self, load, self.upstream)

    def test_a_second_process_is_refused_where_sharing_is_not_allowed(self):
        recast = self.start(workers=2)
        result = subprocess.run([RECAST, "serve", recast.config], capture_output=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, 69, result.stderr)

    def test_a_killed_process_leaves_the_port_free(self):
        """Fault 67."""
        recast = self.start()
        self.upstream.script = repeat_body
        with Load(recast.port) as load:
            recast.process.kill()
            recast.process.wait()
            self.start_another(recast)
            with Client(recast.port) as client:
                client.request("GET", "/plain")
                self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.process.returncode, -signal.SIGKILL)
        self.assertLessEqual(len(load.failures), len(load.threads))


class EndingTests(DrainTestCase):
    def hold(self):
        """The upstream answers when it is let."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            go_on.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script
        return go_on

    def test_a_request_that_was_on_its_way_is_served(self):
        """A keep-alive client sends the moment the drain begins, and an upload that had begun goes to its end."""
        recast = self.start(settings="drain_idle: 5s\n")
        self.upstream.script = repeat_body
        with Client(recast.port) as idle, Client(recast.port) as fresh, Client(recast.port) as upload:
            idle.request("GET", "/plain")
            self.assertEqual(idle.response().status, 200)
            upload.send("POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
            self.upstream.wait_for(2)
            recast.process.send_signal(signal.SIGTERM)
            wait_until("it drains", lambda: "draining" in recast.error_text())
            for client in (idle, fresh):
                client.request("GET", "/plain")
            upload.send("cd")
            for client in (idle, fresh, upload):
                response = client.response()
                self.assertEqual(response.status, 200)
                self.assertEqual(response.fields.get("connection"), "close")
                self.assertTrue(client.is_closed())
            self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_an_idle_connection_is_closed_and_does_not_keep_it(self):
        recast = self.start(settings="drain_idle: 100ms\n")
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
            recast.process.send_signal(signal.SIGTERM)
            self.assertTrue(client.is_closed())
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_an_answer_that_promised_more_leaves_the_connection_open_for_it(self):
        recast = self.start(settings="drain_idle: 5s\n")
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            go_on.wait(DEADLINE)
            exchange.send("cd")

        self.upstream.script = script
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            client.reader.until(b"\r\n\r\nab")
            recast.process.send_signal(signal.SIGTERM)
            wait_until("it drains", lambda: "draining" in recast.error_text())
            go_on.set()
            self.assertEqual(client.reader.exactly(2), b"cd")
            self.upstream.script = repeat_body
            client.request("GET", "/plain")
            response = client.response()
            self.assertEqual((response.status, response.fields.get("connection")), (200, "close"))
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_the_grace_time_bounds_it_and_says_how_much_was_cut(self):
        recast = self.start(settings="timeouts: { grace: 300ms }\n")
        self.hold()
        with Client(recast.port) as first, Client(recast.port) as second:
            for client in (first, second):
                client.request("GET", "/plain")
            self.upstream.wait_for(2)
            recast.process.send_signal(signal.SIGTERM)
            self.assertEqual(recast.process.wait(DEADLINE), 0)
        self.assertIn("2 connections were still open", recast.error_text())

    def test_a_second_signal_ends_at_once(self):
        """Fault 66."""
        for number in (signal.SIGTERM, signal.SIGINT):
            recast = self.start()
            self.upstream.reset()
            self.hold()
            with Client(recast.port) as client:
                client.request("GET", "/plain")
                self.upstream.wait_for(1)
                recast.process.send_signal(signal.SIGTERM)
                wait_until("it drains", lambda: "draining" in recast.error_text())
                started = time.monotonic()
                recast.process.send_signal(number)
                self.assertNotEqual(recast.process.wait(DEADLINE), 0)
                self.assertLess(time.monotonic() - started, 10)  # far from the 25 s of grace
                with self.assertRaises(Closed):
                    client.response()

    def test_for_the_delay_it_still_accepts(self):
        """Balancers need time to see that it is not ready; who comes meanwhile is served, and told to go."""
        recast = self.start(settings="drain_delay: 2s\n")
        recast.process.send_signal(signal.SIGTERM)
        wait_until("it drains", lambda: "draining" in recast.error_text())
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            response = client.response()
            self.assertEqual((response.status, response.fields.get("connection")), (200, "close"))
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_a_reload_is_not_begun_while_it_drains(self):
        recast = self.start()
        self.hold()
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            self.upstream.wait_for(1)
            recast.process.send_signal(signal.SIGTERM)
            wait_until("it drains", lambda: "draining" in recast.error_text())
            recast.process.send_signal(signal.SIGHUP)
            recast.process.send_signal(signal.SIGTERM)
            self.assertNotEqual(recast.process.wait(DEADLINE), 0)
        self.assertEqual(count_lines(recast, "reload"), 0)

    def test_a_unix_socket_is_gone_when_it_ends(self):
        recast = self.start()
        with Client(recast.path) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.stop(), 0)
        self.assertFalse(os.path.exists(recast.path))


class ServiceManagerTests(DrainTestCase):
    """systemd's protocols, spoken with a parent that isn't it."""

    def manager(self, name):
        parent = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(parent.close)
        parent.bind(name)
        parent.settimeout(DEADLINE)
        return parent

    def launch(self, recast, environment, pass_fds=(), prepare=None):
        errors = open(os.path.join(recast.folder, "managed"), "wb")
        self.addCleanup(errors.close)
        process = subprocess.Popen(
            prepare + [RECAST, "serve", recast.config] if prepare else [RECAST, "serve", recast.config],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=pass_fds,
            env={**os.environ, **environment})
        self.addCleanup(self._end, process)
        return process

    def test_it_tells_when_it_is_ready_reloads_and_stops(self):
        for name in ("path", "abstract"):
            with self.subTest(name):
                recast = self.start()
                recast.stop()
                address = os.path.join(recast.folder, "notify") if name == "path" else f"\0recast-{os.getpid()}"
                parent = self.manager(address)
                process = self.launch(recast, {"NOTIFY_SOCKET": address.replace("\0", "@"), "WATCHDOG_USEC": "400000"})
                self.assertIn("READY=1", parent.recv(4096).decode())
                self.assertEqual(parent.recv(4096), b"WATCHDOG=1")
                self.assertEqual(parent.recv(4096), b"WATCHDOG=1")
                process.send_signal(signal.SIGHUP)
                before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
                message = self.next_message(parent)
                self.assertRegex(message, r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
                self.assertLess(abs(int(message.split("=")[-1]) - before), 10_000_000)
                self.assertIn("READY=1", self.next_message(parent))
                process.send_signal(signal.SIGTERM)
                self.assertIn("STOPPING=1", self.next_message(parent))
                self.assertEqual(process.wait(DEADLINE), 0)

    @staticmethod
    def next_message(parent):
        while True:
            message = parent.recv(4096).decode()
            if message != "WATCHDOG=1":
                return message

    def test_it_serves_on_the_sockets_that_it_is_given(self):
        """Socket activation, by address and by name: the next process serves from the very same socket, so nobody is ever
        refused."""
        for listen in (None, "systemd:web"):
            with self.subTest(listen):
                recast = self.start()
                recast.stop()
                if listen:
                    with open(recast.config) as file:
                        text = file.read()
                    with open(recast.config, "w") as file:
                        file.write(text.replace(f"127.0.0.1:{recast.port}", listen))
                self.upstream.reset()
                self.serve_on_given_sockets(recast)

    def serve_on_given_sockets(self, recast):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", recast.port))
            listener.listen(128)
            self.upstream.script = repeat_body
            script = 'exec 3<&"$0"; export LISTEN_PID=$$; exec "$@"'
            environment = {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "web"}
            prepare = ["sh", "-c", script, str(listener.fileno())]
            processes = [self.launch(recast, environment, (listener.fileno(),), prepare)]
            with Load(recast.port, keeping=4, opening=4) as load:
                for _ in range(2):
                    processes[-1].send_signal(signal.SIGTERM)
                    self.assertEqual(processes[-1].wait(DEADLINE), 0)
                    processes.append(self.launch(recast, environment, (listener.fileno(),), prepare))
                    count = len(load.answered)
                    wait_until("the next one serves", lambda: len(load.answered) > count + 50)
            self.assertEqual(load.refused, 0)
            tell_apart(self, load, self.upstream)

    def test_a_name_that_nobody_gave_is_said(self):
        recast = self.start()
        recast.stop()
        with open(recast.config) as file:
            text = file.read()
        with open(recast.config, "w") as file:
            file.write(text.replace(f"127.0.0.1:{recast.port}", "systemd:web"))
        result = subprocess.run([RECAST, "serve", recast.config], capture_output=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, 69)
        self.assertIn(b"the service manager gave no socket of that name", result.stderr)

    def test_the_units_can_be_read(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("recast.service", "recast.socket"):
                with open(os.path.join(ROOT, "config", "systemd", name)) as file:
                    text = file.read()
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text.replace("/usr/local/bin/recast", RECAST))
            result = subprocess.run(
                ["systemd-analyze", "verify", *(os.path.join(folder, name) for name in sorted(os.listdir(folder)))],
                capture_output=True, text=True, timeout=DEADLINE)
            complaints = [line for line in (result.stdout + result.stderr).splitlines() if "recast." in line]
            self.assertEqual((result.returncode, complaints), (0, []))

    def test_a_probe_tells_by_its_exit_code(self):
        recast = self.start()

        def probe(*arguments):
            return subprocess.run([RECAST, "probe", *arguments], capture_output=True, timeout=DEADLINE)

        self.assertEqual(probe(f"127.0.0.1:{recast.port}", "/plain").returncode, 0)
        self.assertEqual(probe(f"unix:{recast.path}", "/plain").returncode, 0)
        result = probe(f"127.0.0.1:{recast.port}", "/nowhere")
        self.assertEqual(result.returncode, 69)
        self.assertIn(b"404", result.stderr)
        self.assertEqual(probe("nonsense").returncode, 64)
        recast.stop()
        self.assertEqual(probe(f"127.0.0.1:{recast.port}", "/plain").returncode, 69)

    def test_closed_standard_descriptors_are_no_harm(self):
        """Fault 70: no connection becomes standard output."""
        recast = self.start()
        recast.stop()
        process = self.launch(recast, {}, (), ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
        wait_until("it listens", lambda: self.answers(recast.port))
        for number in (0, 1, 2):
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{number}"), "/dev/null")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_as_the_first_process_it_ends_on_sigterm_and_reaps(self):
        """What a container's pid 1 must do."""
        recast = self.start()
        recast.stop()
        try:
            subprocess.run(["unshare", "--fork", "--pid", "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no pid namespace can be made here")
        # The shell leaves two children behind: they are pid 1's when it becomes recast.
        process = self.launch(recast, {"HOME": ""}, (),
                              ["unshare", "--fork", "--pid", "--kill-child", "sh", "-c", 'sleep 0.3 & sleep 0.4 & exec "$@"', "sh"])
        wait_until("it listens", lambda: self.answers(recast.port))
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        with open(children) as file:
            inner = int(file.read().split()[0])

        def has_none():
            with open(f"/proc/{inner}/task/{inner}/children") as file:
                return not file.read().strip()

        wait_until("no zombie is left", has_none)
        os.kill(inner, signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)

    @staticmethod
    def answers(port):
        try:
            with Client(port) as client:
                client.request("GET", "/plain")
                return client.response().status == 200
        except OSError:
            return False


class StuckWorkerTests(DrainTestCase):
    """Fault 72: one thread is stopped by a debugger's means."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def trace(self, request, thread):
        library = ctypes.CDLL(None, use_errno=True)
        return library.ptrace(ctypes.c_long(request), ctypes.c_long(thread), ctypes.c_void_p(0), ctypes.c_void_p(0))

    def test_a_stuck_worker_is_told_and_the_others_serve(self):
        recast = self.start(workers=2)
        threads = f"/proc/{recast.process.pid}/task"

        def name(thread):
            with open(f"{threads}/{thread}/comm") as file:
                return file.read().strip()

        thread = next(int(thread) for thread in os.listdir(threads) if name(thread) == "worker-1")
        if self.trace(self.SEIZE, thread) != 0 or self.trace(self.INTERRUPT, thread) != 0:
            self.skipTest("threads can't be traced here")
        os.waitpid(thread, 0x40000000)  # __WALL
        wait_until("it is told", lambda: "worker-1 has not answered for 5 s" in recast.error_text())
        with Client(recast.path) as client:  # the first worker's, and the other's too
            client.request("GET", "/plain")
            client.socket.settimeout(DEADLINE)
            self.assertEqual(client.response().status, 200)
        while self.trace(self.DETACH, thread) != 0:
            os.waitpid(thread, 0x40000000)
        wait_until("it goes on", lambda: "worker-1 answers again" in recast.error_text())
        wait_until("its stack is shown", lambda: "[0x" in recast.error_text())
        self.assertEqual(recast.stop(), 0)


if __name__ == "__main__":
    unittest.main()
