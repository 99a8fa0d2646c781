"""What a service manager, a container and an operator's tools see of the process (faults 70 and 72)."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, RECAST, ROOT, Client, ReadySocket
from lifecycle_support import DrainTestCase, Load, full_pipe, repeat_body, tell_apart, wait_until


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
                # 25 s of grace, and what a worker may need behind it.
                self.assertRegex(self.next_message(parent), r"^STOPPING=1\nEXTEND_TIMEOUT_USEC=2[6-9]\d{6}\nSTATUS=draining$")
                self.assertEqual(process.wait(DEADLINE), 0)

    def test_a_manager_that_has_no_room_for_a_message_gets_it_later(self):
        """Without READY=1 it would end a service that serves, as one that never came to that."""
        recast = self.start()
        recast.stop()
        address = os.path.join(recast.folder, "notify")
        parent = self.manager(address)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as others:
            others.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    others.sendto(b"WATCHDOG=1", address)
        process = self.launch(recast, {"NOTIFY_SOCKET": address})
        wait_until("it serves", lambda: self.answers(recast.port))
        process.send_signal(signal.SIGHUP)
        managed = os.path.join(recast.folder, "managed")

        def reloaded():
            with open(managed) as file:
                return "reload: serving" in file.read()

        wait_until("it has reloaded", reloaded)
        messages = [self.next_message(parent) for _ in range(3)]
        self.assertEqual([message.split("\n")[0] for message in messages], ["READY=1", "RELOADING=1", "READY=1"])
        process.send_signal(signal.SIGTERM)
        self.assertIn("STOPPING=1", self.next_message(parent))
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_a_reload_that_was_asked_for_during_another_is_not_told_by_the_end_of_that(self):
        """READY=1 says that what a reload was asked for is in effect, all of it."""
        recast = self.start()
        recast.stop()
        with open(recast.config) as file:
            text = file.read()
        address = os.path.join(recast.folder, "notify")
        parent = self.manager(address)
        process = self.launch(recast, {"NOTIFY_SOCKET": address})
        self.assertIn("READY=1", self.next_message(parent))
        os.unlink(recast.config)
        os.mkfifo(recast.config)  # a reading lasts until somebody has written
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            self.assertIn("RELOADING=1", self.next_message(parent))
        managed = os.path.join(recast.folder, "managed")

        def count():
            with open(managed) as file:
                return file.read().count("reload: serving")

        for readings in (1, 2):
            with open(recast.config, "w") as pipe:
                pipe.write(text)
            wait_until("it is read", lambda: count() == readings)  # noqa: B023
        process.send_signal(signal.SIGTERM)
        messages = [self.next_message(parent) for _ in range(2)]
        self.assertEqual([message.split("\n")[0] for message in messages], ["READY=1", "STOPPING=1"])
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

    GIVE = """
import fcntl, os, sys
given = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in sys.argv[1].split(",")]
for at, descriptor in enumerate(given):
    os.dup2(descriptor, 3 + at)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""

    def test_a_socket_that_is_listed_by_two_names_is_refused(self):
        """Its clients would be served as one of the two says, or as the other does: with TLS or without."""
        recast = self.start()
        recast.stop()
        with open(recast.config) as file:
            text = file.read()
        place = f"127.0.0.1:{recast.port}"

        def write(listen):
            with open(recast.config, "w") as file:
                file.write(text.replace(f"listen: [{place}", f"listen: [{listen}"))

        def told():
            with open(os.path.join(recast.folder, "managed")) as file:
                return file.read()

        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", recast.port))
            listener.listen(16)
            # One socket by two descriptors, each with a name of its own.
            with listener.dup() as same:
                numbers = (listener.fileno(), same.fileno())
                prepare = [sys.executable, "-c", self.GIVE, ",".join(map(str, numbers))]

                def serve():
                    return self.launch(recast, {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "web:api"}, numbers, prepare)

                cases = [(f"systemd:web, {place}", f"systemd:web: it is {place}, which is listed too"),
                         (f"{place}, systemd:api", f"systemd:api: it is {place}, which is listed too"),
                         ("systemd:web, systemd:api", f"systemd:api: it is {place}, and so is systemd:web, which is listed too")]
                for listen, reason in cases:
                    with self.subTest(listen):
                        write(listen)
                        self.assertEqual(serve().wait(DEADLINE), 69)
                        self.assertIn(f"can't listen on {reason}", told())
                for before, (listen, reason) in zip(("systemd:web", place, "systemd:web"), cases):
                    with self.subTest(f"a reload from {before} to {listen}"):
                        write(before)
                        process = serve()
                        wait_until("it serves", lambda: "serving" in told())
                        write(listen)
                        process.send_signal(signal.SIGHUP)
                        wait_until("it is refused", lambda: "refused, the settings in effect stay" in told())
                        self.assertIn(f"can't listen on {reason}", told())
                        process.send_signal(signal.SIGTERM)
                        self.assertEqual(process.wait(DEADLINE), 0)

    def test_a_client_of_a_socket_for_both_families_has_its_ipv4_address(self):
        """As systemd opens `ListenStream=8080`: trust, caps, fields and log know of no mapped addresses."""
        recast = self.start(settings="trusted: [192.0.2.0/24]\nconnections: { per_client: 2 }\n")
        recast.stop()
        with open(recast.config) as file:
            text = file.read()
        output = os.path.join(recast.folder, "managed.log")
        with open(recast.config, "w") as file:
            text = text.replace(f"127.0.0.1:{recast.port}", "systemd:web").replace("access_log: stdout", f"access_log: {output}")
            file.write(text.replace("upstream: app", "upstream: app, real_ip: true"))
        with socket.socket(socket.AF_INET6) as listener:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.bind(("::", 0))
            listener.listen(16)
            port = listener.getsockname()[1]
            script = 'exec 3<&"$0"; export LISTEN_PID=$$; exec "$@"'
            process = self.launch(recast, {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "web"}, (listener.fileno(),),
                                  ["sh", "-c", script, str(listener.fileno())])
            self.upstream.reset()
            with Client(port) as first, Client(port) as second:
                for client in (first, second):
                    client.request("GET", "/plain")
                    self.assertEqual(client.response().status, 200)
                for received in self.upstream.wait_for(2):
                    for name in ("x-forwarded-for", "x-real-ip"):
                        self.assertEqual(received.fields.get(name), "127.0.0.1")
                # These are two of one address; ::1 is another one.
                with Client(port) as third, socket.create_connection(("::1", port), DEADLINE) as other:
                    self.assertEqual(third.response().status, 429)
                    other.sendall(b"GET /plain HTTP/1.1\r\nHost: a\r\n\r\n")
                    self.assertIn(b"HTTP/1.1 200", other.recv(4096))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(DEADLINE), 0)
        with open(output) as log:
            clients = {json.loads(line)["client"].rpartition(":")[0] for line in log}
        self.assertEqual(clients, {"127.0.0.1", "[::1]"})

    def stopped_with_a_name(self):
        """One that has ended, and would listen on the service manager's socket `web` next."""
        recast = self.start()
        recast.stop()
        with open(recast.config) as file:
            text = file.read()
        with open(recast.config, "w") as file:
            file.write(text.replace(f"127.0.0.1:{recast.port}", "systemd:web"))
        return recast

    def test_a_descriptor_that_is_no_listening_socket_is_said(self):
        """As of a unit with ListenDatagram=, or Accept=yes."""
        recast = self.stopped_with_a_name()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            process = self.launch(recast, {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "web"}, (datagrams.fileno(),),
                                  [sys.executable, "-c", self.GIVE, str(datagrams.fileno())])
            self.assertEqual(process.wait(DEADLINE), 69)
        with open(os.path.join(recast.folder, "managed")) as file:
            text = file.read()
        self.assertIn("descriptor 3 of the service manager, web, is no stream socket that listens: it isn't used", text)
        self.assertIn("the service manager gave no socket of that name", text)

    def test_a_name_that_nobody_gave_is_said(self):
        recast = self.stopped_with_a_name()
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
                    file.write(text.replace("/usr/bin/recast", RECAST))
            result = subprocess.run(
                ["systemd-analyze", "--man=no", "verify", *(os.path.join(folder, name) for name in sorted(os.listdir(folder)))],
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
        for arguments, reason in ((["localhost:9901"], b'"localhost:9901" is not an address: write 127.0.0.1:9901'),
                                  (["http://127.0.0.1:9901/ready"], b"is not an address"),
                                  (["127.0.0.1:9901", "ready"], b"a path begins with /")):
            result = probe(*arguments)
            self.assertEqual(result.returncode, 64)
            self.assertIn(reason, result.stderr)
        recast.stop()
        self.assertEqual(probe(f"127.0.0.1:{recast.port}", "/plain").returncode, 69)

    def test_a_probe_prints_what_the_admin_port_says_and_gives_commands(self):
        """What a container without a shell is asked with: kubectl exec POD -- recast probe …"""
        recast = self.start(settings=f"admin: unix:{tempfile.mkdtemp(prefix='recast-e2e-')}/admin.sock\ndrain_delay: 4s\n")
        with open(recast.config) as file:
            admin = re.search(r"^admin: (unix:(.*)/admin\.sock)$", file.read(), re.MULTILINE)
        self.addCleanup(shutil.rmtree, admin[2], ignore_errors=True)

        def probe(*arguments, **options):
            return subprocess.run([RECAST, "probe", "--print", *arguments], capture_output=True, timeout=DEADLINE, **options)

        result = probe(admin[1], "/upstreams")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual([one["name"] for one in json.loads(result.stdout)["upstreams"]], ["app"])
        # Nothing is printed but what was asked for.
        quiet = subprocess.run([RECAST, "probe", admin[1], "/upstreams"], capture_output=True, timeout=DEADLINE)
        self.assertEqual((quiet.returncode, quiet.stdout), (0, b""))
        # An answer that says no is printed as well; the exit code is the one of any probe.
        result = probe(admin[1], "/nowhere")
        self.assertEqual((result.returncode, json.loads(result.stdout)["status"]), (69, 404))
        self.assertIn(b"404", result.stderr)
        self.assertEqual(probe(admin[1], "/drain").returncode, 69)
        self.assertIsNone(recast.process.poll())
        self.assertEqual(probe("--method", "PUT", admin[1], "/log-level?level=debug").returncode, 0)
        self.assertEqual(json.loads(probe(admin[1], "/log-level").stdout)["level"], "debug")
        self.assertEqual(probe("--method", "PATCH", admin[1], "/").returncode, 64)
        # Nobody takes it.
        with open("/dev/full", "wb") as full:
            result = subprocess.run([RECAST, "probe", "--print", admin[1], "/"], stdout=full, stderr=subprocess.PIPE,
                                    timeout=DEADLINE)
        self.assertEqual(result.returncode, 69)
        self.assertIn(b"standard output", result.stderr)
        # A drain that was asked for by POST goes on when a signal follows, as from a manager whose hook it was.
        self.assertEqual(probe("--method", "POST", admin[1], "/drain").returncode, 0)
        wait_until("it drains", lambda: "draining" in recast.error_text())
        recast.process.send_signal(signal.SIGTERM)
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.process.wait(DEADLINE), 0)
        self.assertNotIn("a second signal", recast.error_text())

    def test_a_probe_prints_bodies_of_any_framing_and_no_cut_one_as_whole(self):
        recast = self.start()
        body = bytes(range(256)) * 3000

        def probe(path):
            result = subprocess.run([RECAST, "probe", "--print", f"127.0.0.1:{recast.port}", path], capture_output=True,
                                    timeout=DEADLINE)
            return result.returncode, result.stdout, result.stderr

        for framing in ("length", "chunked", "close"):
            def script(exchange, framing=framing):
                exchange.read_body()
                exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                exchange.answer(body=body, framing=framing)

            self.upstream.script = script
            self.assertEqual(probe("/plain"), (0, body, b""), framing)

        def cut(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut")
            exchange.close()

        self.upstream.script = cut
        code, out, err = probe("/plain")
        self.assertEqual((code, out), (69, b"cut"))
        self.assertIn(b"recast probe: 127.0.0.1", err)

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

    def stop_worker(self, process):
        threads = f"/proc/{process.pid}/task"

        def name(thread):
            with open(f"{threads}/{thread}/comm") as file:
                return file.read().strip()

        thread = next(int(thread) for thread in os.listdir(threads) if name(thread) == "worker-1")
        if self.trace(self.SEIZE, thread) != 0 or self.trace(self.INTERRUPT, thread) != 0:
            self.skipTest("threads can't be traced here")
        os.waitpid(thread, 0x40000000)  # __WALL
        return thread

    def let_go(self, thread):
        while self.trace(self.DETACH, thread) != 0:
            os.waitpid(thread, 0x40000000)

    def test_a_stuck_worker_is_told_and_the_others_serve(self):
        recast = self.start(workers=2)
        thread = self.stop_worker(recast.process)
        wait_until("it is told", lambda: "worker-1 has not answered for 5 s" in recast.error_text())
        with Client(recast.path) as client:  # the first worker's, and the other's too
            client.request("GET", "/plain")
            client.socket.settimeout(DEADLINE)
            self.assertEqual(client.response().status, 200)
        self.let_go(thread)
        wait_until("it goes on", lambda: "worker-1 answers again" in recast.error_text())
        wait_until("its stack is shown", lambda: "[0x" in recast.error_text())
        self.assertEqual(recast.stop(), 0)

    def test_a_worker_that_was_stuck_goes_on_though_nobody_reads_of_it(self):
        port, settings = admin_port()
        recast = self.start(settings=settings)
        recast.stop()
        reading, writing = full_pipe()
        self.addCleanup(os.close, reading)
        with ReadySocket() as ready:
            process = subprocess.Popen([RECAST, "serve", recast.config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=writing, env={**os.environ, "NOTIFY_SOCKET": ready.name})
            os.close(writing)
            self.addCleanup(self._end, process)
            ready.wait(process)
        thread = self.stop_worker(process)
        admin = Admin(port)
        wait_until("it is counted", lambda: admin.metrics().sum("recast_worker_stalls_total") == 1)
        self.let_go(thread)
        wait_until("it answers", lambda: admin.metrics().sum("recast_workers_silent") == 0)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 0)


if __name__ == "__main__":
    unittest.main()
