"""The end of a process: drained under load, handed over to another one, cut short (P9; faults 65 to 67)."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness import DEADLINE, RECAST, Client, Closed, Recast, free_port
from lifecycle_support import PLAIN, DrainTestCase, Load, count_lines, repeat_body, tell_apart, wait_until


def refuses_connections(port):
    """Whether no worker listens any more."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE).close()
    except ConnectionRefusedError:
        return True
    return False


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

    def test_the_ports_for_operators_are_taken_over_too(self):
        """The second process starts beside the first one, and from SIGTERM on who connects is its own client."""
        for kind in ("tcp", "unix"):
            with self.subTest(kind), tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
                paths = [os.path.join(folder, name) for name in ("admin", "status")]
                ports = [free_port(), free_port()] if kind == "tcp" else paths
                names = [f"127.0.0.1:{port}" if kind == "tcp" else f"'unix:{port}'" for port in ports]
                recast = self.start(
                    settings=f"reuse_port: true\nadmin: {names[0]}\nstatus: {names[1]}\ndrain_delay: 2s\ntimeouts: {{ grace: {DEADLINE}s }}\n")
                # What keeps the first one from its end until all was asked.
                with Client(recast.port) as upload, Client(ports[1]) as probe:
                    upload.send("POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx")
                    self.upstream.wait_for(1)
                    self.assertEqual(self.ask(probe, "/ready"), (200, b"ready\n"))
                    second = self.start_another(recast)
                    first = recast.process
                    recast.process = second
                    first.send_signal(signal.SIGTERM)
                    wait_until("it drains", lambda: "draining" in recast.error_text())
                    # Who was connected hears from the one that it is connected to, and has to go.
                    self.assertEqual(self.ask(probe, "/ready"), (503, b"draining\n"))
                    self.assertTrue(probe.is_closed())
                    for port in ports:
                        for _ in range(20):
                            with Client(port) as client:
                                self.assertEqual(self.ask(client, "/ready"), (200, b"ready\n"))
                    upload.send("y")
                    self.assertEqual(upload.response().status, 200)
                self.assertEqual(first.wait(DEADLINE), 0)
                with Client(ports[0]) as client:
                    self.assertEqual(self.ask(client, "/live"), (200, b"live\n"))
                self.upstream.reset()

    def test_ports_for_operators_that_are_not_shared_are_refused(self):
        port = free_port()
        recast = self.start(settings=f"status: 127.0.0.1:{port}\n")
        with open(recast.config) as file:
            text = file.read().replace(f":{recast.port}", f":{free_port()}")
        with open(recast.config, "w") as file:
            file.write(text)
        result = subprocess.run([RECAST, "serve", recast.config], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, 69, result.stderr)
        self.assertIn(f"127.0.0.1:{port} is already in use", result.stderr)

    @staticmethod
    def ask(client, target):
        client.request("GET", target, host="localhost")
        response = client.response()
        return response.status, response.body

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


class StartTests(DrainTestCase):
    def test_a_signal_while_workers_start_is_no_hang(self):
        """The port is open before the last of many workers runs, the more so where each has much to prepare; those that come
        late end too."""
        routes = PLAIN + "".join(f"  - {{ name: r{n}, match: /r{n}, upstream: u{n % 10} }}\n" for n in range(400))
        upstreams = {"app": f"127.0.0.1:{self.upstream.port}", **{f"u{n}": "127.0.0.1:1" for n in range(10)}}
        for delay in ("0s", "50ms"):
            for signals in (1, 2):
                with self.subTest(delay=delay, signals=signals):
                    recast = Recast(routes, upstreams, workers=64,
                                    settings=f"drain_delay: {delay}\ndrain_idle: 100ms\n")
                    self.addCleanup(recast.remove)
                    self.addCleanup(self._end, recast.process)
                    for _ in range(signals):
                        recast.process.send_signal(signal.SIGTERM)
                        wait_until("it drains", lambda: "draining" in recast.error_text())  # noqa: B023
                    code = recast.process.wait(DEADLINE)
                    self.assertEqual(code == 0, signals == 1, recast.error_text())


class EndingTests(DrainTestCase):
    def test_a_request_that_was_on_its_way_is_served(self):
        """A keep-alive client sends the moment the drain begins, and an upload that had begun goes to its end."""
        recast = self.start(settings="drain_idle: 20s\n")
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
        recast = self.start(settings="drain_idle: 20s\n")
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
        self.upstream.hold(self)
        with Client(recast.port) as first, Client(recast.port) as second:
            for client in (first, second):
                client.request("GET", "/plain")
            self.upstream.wait_for(2)
            recast.process.send_signal(signal.SIGTERM)
            self.assertEqual(recast.process.wait(DEADLINE), 0)
        recast.says("cutting 2 connections")

    def test_a_second_signal_ends_at_once(self):
        """Fault 66."""
        for number in (signal.SIGTERM, signal.SIGINT):
            recast = self.start()
            self.upstream.reset()
            self.upstream.hold(self)
            with Client(recast.port) as client:
                client.request("GET", "/plain")
                self.upstream.wait_for(1)
                recast.process.send_signal(signal.SIGTERM)
                wait_until("it drains", lambda: "draining" in recast.error_text())
                started = time.monotonic()
                recast.process.send_signal(number)
                self.assertNotEqual(recast.process.wait(DEADLINE), 0)
                self.assertLess(time.monotonic() - started, 20)  # far from the 25 s of grace
                with self.assertRaises(Closed):
                    client.response()

    def test_a_second_signal_loses_no_line_of_the_log(self):
        """Those of both workers: of requests that were answered just before it, and of those that it cuts."""
        recast = self.start()
        go_on = threading.Event()
        never = threading.Event()
        self.addCleanup(never.set)

        def script(exchange):
            (go_on if exchange.received.target == "/plain" else never).wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script
        clients = [Client(recast.port) for _ in range(32)]  # so many that both workers have some of each kind
        answered, cut = clients[::2], clients[1::2]
        with contextlib.ExitStack() as stack:
            for client in clients:
                stack.enter_context(client)
                client.request("GET", "/plain" if client in answered else "/plain/cut")
            self.upstream.wait_for(len(clients))
            recast.process.send_signal(signal.SIGTERM)
            # The log says so before each worker has heard of it; a worker that has takes no more connections.
            wait_until("both workers drain", lambda: refuses_connections(recast.port))
            go_on.set()
            for client in answered:
                self.assertEqual(client.response().status, 200)
            recast.process.send_signal(signal.SIGTERM)
            for client in cut:
                with self.assertRaises(Closed):
                    client.response()
        self.assertNotEqual(recast.process.wait(DEADLINE), 0)
        recast.says(f"ended by a signal: cutting {len(cut)} connections")
        seen = sorted((line["path"], line["status"], line.get("flags")) for line in recast.log_lines(len(clients)))
        self.assertEqual(seen, [("/plain", 200, None)] * len(answered) + [("/plain/cut", 503, "GT")] * len(cut))

    def test_for_the_delay_it_still_accepts(self):
        """Balancers need time to see that it is not ready; who comes meanwhile is served, and told to go."""
        recast = self.start(settings="drain_delay: 5s\n")
        recast.process.send_signal(signal.SIGTERM)
        wait_until("it drains", lambda: "draining" in recast.error_text())
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            response = client.response()
            self.assertEqual((response.status, response.fields.get("connection")), (200, "close"))
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_a_reload_is_left_out_while_it_drains(self):
        recast = self.start()
        self.upstream.hold(self)
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            self.upstream.wait_for(1)
            recast.process.send_signal(signal.SIGTERM)
            wait_until("it drains", lambda: "draining" in recast.error_text())
            recast.process.send_signal(signal.SIGHUP)
            recast.process.send_signal(signal.SIGTERM)
            self.assertNotEqual(recast.process.wait(DEADLINE), 0)
        self.assertEqual((count_lines(recast, "reload"), count_lines(recast, "reload: left out, since the process ends")), (1, 1))

    def test_sigquit_drains_as_sigterm_does(self):
        recast = self.start()
        go_on = self.upstream.hold(self)
        with Client(recast.port) as client:
            client.request("GET", "/plain")
            self.upstream.wait_for(1)
            recast.process.send_signal(signal.SIGQUIT)
            wait_until("it drains", lambda: "draining" in recast.error_text())
            go_on.set()
            self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_a_unix_socket_is_gone_when_it_ends(self):
        recast = self.start()
        with Client(recast.path) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(recast.stop(), 0)
        self.assertFalse(os.path.exists(recast.path))

    def test_its_last_words_are_that_nothing_was_cut(self):
        recast = self.start()
        self.assertEqual(recast.stop(), 0)
        self.assertIn("info drained: nothing is in flight any more", recast.error_text().splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
