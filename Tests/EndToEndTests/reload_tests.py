"""Settings read again while requests are served: SIGHUP, and a watched file (P9; faults 62 to 64)."""

import os
import re
import resource
import signal
import socket
import threading
import time
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, Client, Closed, Recast, Upstream, free_port
from http2_client import HTTP2Client
from lifecycle_support import (PLAIN, Load, count_lines, descriptors, reload, repeat_body, resident_bytes, tell_apart,
                               wait_until)
from servers.name_server import NameServer


class ReloadTestCase(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)

    def start(self, routes=PLAIN, workers=2, settings="", access_log="stdout"):
        self.recast = Recast(routes, {"app": f"127.0.0.1:{self.upstream.port}"}, access_log, workers=workers, settings=settings)
        self.addCleanup(self.recast.remove)
        self.addCleanup(self._end, self.recast.process)
        wait_until("it serves", lambda: "serving" in self.recast.error_text())
        with open(self.recast.config) as file:
            self.text = file.read()
        return self.recast

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def write(self, text):
        """Replaces the settings as careful programs do."""
        with open(self.recast.config + ".new", "w") as file:
            file.write(text)
        os.rename(self.recast.config + ".new", self.recast.config)

    def status(self, path, port=None):
        with Client(port or self.recast.port) as client:
            client.request("GET", path)
            return client.response().status


class ReloadTests(ReloadTestCase):
    def test_200_reloads_under_load_lose_nothing(self):
        """Fault 63: no request is lost or answered twice, no descriptor stays, memory is flat."""
        recast = self.start()
        self.upstream.script = repeat_body
        other = self.text.replace("access_log: stdout", "access_log: off").replace(
            f"app: 127.0.0.1:{self.upstream.port}", f"app: {{ address: 127.0.0.1:{self.upstream.port}, max_idle: 7 }}")
        other += '  - { name: more, match: "/more", upstream: app }\n'
        with Load(recast.port) as load:
            sizes = []
            for number in range(200):
                self.write(other if number % 2 == 0 else self.text)
                reload(recast)
                if number % 50 == 49:
                    sizes.append(resident_bytes(recast.process))
        tell_apart(self, load, self.upstream)
        self.assertEqual(load.last_ones, 0, "a reload closed connections")
        self.assertEqual(count_lines(recast, "reload: serving"), 200)
        wait_until("no descriptor is left", lambda: descriptors(recast.process) <= 45)
        self.assertLess(sizes[-1] - sizes[0], 8 << 20, sizes)

    def test_a_storm_of_signals_is_few_reloads_and_no_loss(self):
        recast = self.start()
        self.upstream.script = repeat_body
        with Load(recast.port) as load:
            for _ in range(300):
                recast.process.send_signal(signal.SIGHUP)
            wait_until("it was read", lambda: count_lines(recast, "reload: serving") > 0)
        tell_apart(self, load, self.upstream)
        self.assertIsNone(recast.process.poll())

    def test_a_request_in_flight_ends_on_the_route_it_began_with(self):
        """Fault 64: the route and its upstream are gone for the next request only."""
        recast = self.start()
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            go_on.wait(DEADLINE)
            repeat_body(exchange)

        self.upstream.script = script
        with Client(recast.port) as client:
            client.request("POST", "/plain", b"begun", "text/plain")
            self.upstream.wait_for(1)
            self.write(self.text.replace("/plain*", "/other"))
            reload(recast)
            self.assertEqual(self.status("/plain"), 404)
            go_on.set()
            response = client.response()
            self.assertEqual((response.status, response.body), (200, b"begun"))
            self.assertNotIn("close", response.fields.get("connection", ""))
            client.request("GET", "/plain")  # on the same connection, by the new settings
            self.assertEqual(client.response().status, 404)
            client.request("GET", "/other")
            self.assertEqual(client.response().status, 200)

    def test_what_began_before_is_counted_until_it_ends(self):
        """Also where nothing of the new settings leads to its upstream."""
        port, line = admin_port()
        recast, admin = self.start(settings=line), Admin(port)
        admin.until_ready()
        address = f"app: 127.0.0.1:{self.upstream.port}"
        counted = (("recast_connections", {"side": "upstream", "state": "active"}),
                   ("recast_upstream_connections", {"upstream": "app", "state": "active"}),
                   ("recast_upstream_inflight_requests", {"upstream": "app"}))
        for text in (self.text.replace(address, f"app: {{ address: 127.0.0.1:{self.upstream.port}, max_idle: 7 }}"),
                     self.text.replace("app", "other")):
            with Client(recast.port) as client:
                self.upstream.reset()
                go_on = self.upstream.hold(self)
                client.request("POST", "/plain", b"begun", "text/plain")
                self.upstream.wait_for(1)
                self.write(text)
                reload(recast)
                metrics = admin.metrics()
                self.assertEqual([metrics.sum(name, **labels) for name, labels in counted], [1, 1, 1])
                go_on.set()
                self.assertEqual(client.response().status, 200)
            admin.metrics_when(lambda metrics: all(metrics.sum(name, **labels) == 0 for name, labels in counted))
            self.write(self.text)
            reload(recast)

    def test_a_bad_file_changes_nothing_and_says_where(self):
        """Fault 62."""
        recast = self.start()
        self.write(self.text.replace("upstream: app", "upstream: ap"))
        reload(recast, "refused, the settings in effect stay")
        recast.says(re.compile(r"recast\.yaml:\d+:\d+: .*did you mean"))
        self.assertEqual(self.status("/plain"), 200)
        os.remove(recast.config)
        reload(recast, "refused, the settings in effect stay")
        self.assertEqual(self.status("/plain"), 200)
        self.write(self.text.replace("/plain*", "/better"))
        reload(recast)
        self.assertEqual((self.status("/better"), self.status("/plain")), (200, 404))

    def test_a_failing_example_refuses_the_file(self):
        recast = self.start()
        self.write(self.text + """  - name: form
    match: /form
    upstream: app
    request: form -> json
    examples: [{ in: a=1, out: { a: "2" } }]
""")
        reload(recast, "refused, the settings in effect stay")
        recast.says("example of the route \"form\" fails")
        self.assertEqual(self.status("/form"), 404)

    def test_listeners_come_and_go_and_the_others_stay(self):
        recast = self.start()
        self.upstream.script = repeat_body
        added = free_port()
        with Load(recast.port) as load:
            for _ in range(5):
                self.write(self.text.replace("listen: [", f"listen: [127.0.0.1:{added}, "))
                reload(recast)
                self.assertEqual(self.status("/plain", added), 200)
                kept = Client(added)
                self.addCleanup(kept.socket.close)
                self.write(self.text)
                reload(recast)
                kept.request("GET", "/plain")  # the connection outlives its listener
                self.assertEqual(kept.response().status, 200)
                wait_until("nobody listens there", lambda: self.is_refused(added))
        tell_apart(self, load, self.upstream)

    def test_a_removed_listener_serves_who_has_come(self):
        """New connections to an address that goes: each is served or refused, none is reset."""
        recast = self.start()
        self.upstream.script = repeat_body
        for _ in range(3):
            added = free_port()
            self.write(self.text.replace("listen: [", f"listen: [127.0.0.1:{added}, "))
            reload(recast)
            with Load(added, keeping=2, opening=6) as load:
                self.write(self.text)
                reload(recast)
                wait_until("nobody listens there", lambda: load.refused >= 6)
            self.assertEqual(load.failures, [])

    def test_a_listener_that_was_removed_is_put_back_at_once(self):
        """Its sockets are still being closed then. When they are, somebody else's is in the way as ever."""
        recast = self.start()
        added = free_port()
        more = self.text.replace("listen: [", f"listen: [127.0.0.1:{added}, ")
        for _ in range(5):
            self.write(more)
            reload(recast)
            self.assertEqual(self.status("/plain", added), 200)
            self.write(self.text)
            reload(recast)
        self.assertNotIn("refused", recast.error_text())
        wait_until("nobody listens there", lambda: self.is_refused(added))
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(("127.0.0.1", added))
            other.listen()
            self.write(more)
            reload(recast, "refused, the settings in effect stay")
            recast.says(f"127.0.0.1:{added} is already in use")
        reload(recast)
        self.assertEqual(self.status("/plain", added), 200)

    def is_refused(self, port):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE):
                return False
        except ConnectionRefusedError:
            return True

    def test_an_address_in_use_refuses_the_reload(self):
        recast = self.start()
        self.write(self.text.replace("listen: [", f"listen: [127.0.0.1:{self.upstream.port}, ").replace("/plain", "/new"))
        reload(recast, "refused, the settings in effect stay")
        recast.says(str(self.upstream.port))
        self.assertEqual((self.status("/plain"), self.status("/new")), (200, 404))

    def test_what_needs_a_restart_is_named(self):
        recast = self.start()
        self.write(self.text.replace("workers: 2", "workers: 3").replace("/plain", "/new"))
        reload(recast)
        recast.says('a new value of "workers" takes effect after a restart')
        self.assertEqual(self.status("/new"), 200)

    def test_the_lines_of_a_reload_have_the_level_that_it_brings(self):
        recast = self.start(settings="log:\n  level: info\n")
        self.write(self.text.replace("level: info", "level: error").replace("workers: 2", "workers: 3").replace("/plain", "/quiet"))
        recast.process.send_signal(signal.SIGHUP)
        wait_until("the new route serves", lambda: self.status("/quiet") == 200)
        self.write(self.text.replace("level: info", "level: warning\nreuse_port: true").replace("/plain", "/loud"))
        recast.process.send_signal(signal.SIGHUP)
        wait_until("the new route serves", lambda: self.status("/loud") == 200)
        recast.says('a new value of "reuse_port" takes effect after a restart')
        self.assertEqual(count_lines(recast, "takes effect after a restart"), 1)
        self.assertEqual(count_lines(recast, "reload: serving"), 0)

    def test_the_admin_port_shows_what_runs_and_not_what_waits_for_a_restart(self):
        port, line = admin_port()
        recast = self.start(settings=line + "memory: { bodies: 100MiB }\n")
        admin = Admin(port)
        admin.until_ready()
        changed = self.text.replace("workers: 2", "workers: 3").replace("bodies: 100MiB", "bodies: 200MiB, wait: 3s")
        self.write(changed.replace(line, "admin: off\nspool: { total: 1MiB }\ndrain_idle: 7s\n"))
        reload(recast)
        shown = {entry["key"]: entry for entry in admin.json("/config")["settings"]}
        values = {key: shown[key]["value"] for key in (
            "workers", "memory.bodies", "memory.wait", "spool.total", "admin", "drain_idle")}
        self.assertEqual(values, {"workers": "2", "memory.bodies": "100MiB", "memory.wait": "1s", "spool.total": "1GiB",
                                  "admin": f"127.0.0.1:{port}", "drain_idle": "7s"})
        self.assertIn("at the start", shown["workers"]["origin"])
        for name in ("workers", "memory", "spool", "admin"):
            recast.says(f'a new value of "{name}" takes effect after a restart')
        # Of the budgets only that of the disk is another one.
        self.write(self.text.replace("drain_idle: 7s", "").replace(line, line + "spool: { total: 2MiB }\n"))
        before = count_lines(recast, 'a new value of "memory"')
        reload(recast)
        self.assertEqual(count_lines(recast, 'a new value of "memory"'), before)
        self.assertEqual(count_lines(recast, 'a new value of "spool"'), 2)

    def test_settings_that_differ_in_what_needs_a_restart_still_reach_every_worker(self):
        # Fewer workers in the file than run, and more: each must have what follows, and no socket may be without a worker.
        for workers in (1, 4):
            with self.subTest(workers=workers):
                self.start(workers=3)
                changed = self.text.replace("workers: 3", f"workers: {workers}")
                self.write(changed)
                reload(self.recast)
                port = free_port()
                self.write(changed.replace("/plain", "/new").replace("listen: [", f"listen: [127.0.0.1:{port}, "))
                reload(self.recast)
                for place in (self.recast.port, port):
                    statuses = set()
                    for _ in range(60):
                        with Client(place) as client:
                            client.request("GET", "/new")
                            statuses.add(client.response().status)
                    self.assertEqual(statuses, {200}, f"port {place}")
                self.assertEqual(self.recast.stop(), 0)

    def test_the_upstreams_connection_is_kept_where_nothing_changed_and_closed_where_it_did(self):
        recast = self.start(workers=1)
        self.assertEqual(self.status("/plain"), 200)
        reload(recast)
        self.assertEqual(self.status("/plain"), 200)
        self.assertEqual(self.upstream.connection_count, 1)
        self.write(self.text.replace(
            f"app: 127.0.0.1:{self.upstream.port}", f"app: {{ address: 127.0.0.1:{self.upstream.port}, max_idle: 9 }}"))
        reload(recast)
        wait_until("the old connection is closed", lambda: not self.upstream.readers)
        self.assertEqual(self.status("/plain"), 200)
        self.assertEqual(self.upstream.connection_count, 2)

    def test_the_log_goes_to_another_file(self):
        recast = self.start()
        path = os.path.join(recast.folder, "new.log")
        self.write(self.text.replace("access_log: stdout", f"access_log: {path}"))
        reload(recast)
        self.assertEqual(self.status("/plain"), 200)
        wait_until("a line", lambda: os.path.getsize(path) > 0)
        self.write(self.text.replace("access_log: stdout", "access_log: /nonexistent/folder/log"))
        reload(recast, "refused, the settings in effect stay")
        self.assertEqual(self.status("/plain"), 200)


class WatchTests(ReloadTestCase):
    def changed(self, path, status=200):
        wait_until(f"{path} is {status}", lambda: self.status(path) == status)

    def test_a_file_that_is_replaced_or_written_is_read(self):
        self.start(settings="watch: true\n")
        self.write(self.text.replace("/plain*", "/renamed"))
        self.changed("/renamed")
        with open(self.recast.config, "w") as file:
            file.write(self.text.replace("/plain*", "/written"))
        self.changed("/written")
        self.write("version: 2\n")
        wait_until("it is refused", lambda: "refused, the settings in effect stay" in self.recast.error_text())
        self.assertEqual(self.status("/written"), 200)
        self.write(self.text)
        self.changed("/plain")

    def test_a_change_while_no_descriptor_is_left_is_told_and_made_up_for(self):
        """What tells of a change is read once: it must not be forgotten because there is nothing to watch anew by."""
        recast = self.start(settings="watch: true\n")
        limits = resource.prlimit(recast.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(recast.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        self.write(self.text.replace("/plain", "/new"))
        recast.says("a file of the settings has changed")
        recast.says("Too many open files")
        recast.says("reload: refused, the settings in effect stay")
        recast.says("the settings' files can't be watched")
        resource.prlimit(recast.process.pid, resource.RLIMIT_NOFILE, limits)
        self.write(self.text.replace("/plain", "/newer"))
        recast.says("reload: serving")
        self.assertEqual((self.status("/plain"), self.status("/newer")), (404, 200))

    def test_a_turned_link_is_seen_as_kubernetes_turns_it(self):
        """The mounted folder has links to `..data/NAME`, and `..data` is itself a link that is renamed over."""
        self.start()
        folder = os.path.join(self.recast.folder, "mounted")
        os.mkdir(folder)
        text = self.text.replace("workers:", "watch: true\nworkers:").replace("/plain*", "/${file:name}")

        def turn(version, name):
            data = os.path.join(folder, f"..{version}")
            os.mkdir(data)
            for file_name, content in (("recast.yaml", text), ("name", name + "\n")):
                with open(os.path.join(data, file_name), "w") as file:
                    file.write(content)
            os.symlink(f"..{version}", os.path.join(folder, "..data_tmp"))
            os.rename(os.path.join(folder, "..data_tmp"), os.path.join(folder, "..data"))

        turn("1", "one")
        for name in ("recast.yaml", "name"):
            os.symlink(f"..data/{name}", os.path.join(folder, name))
        os.remove(self.recast.config)
        os.symlink(os.path.join(folder, "recast.yaml"), self.recast.config)
        # `${file:…}` begins at the folder of the path that was given.
        os.symlink(os.path.join(folder, "name"), os.path.join(self.recast.folder, "name"))
        reload(self.recast)
        self.assertEqual(self.status("/one"), 200)
        turn("2", "two")
        self.changed("/two")
        turn("3", "three")
        self.changed("/three")
        self.assertEqual(self.status("/one"), 404)

    def test_an_included_file_is_watched_also_when_it_was_missing(self):
        self.start(settings="watch: true\n")
        self.write(self.text.replace("/plain*", "/${file:name}"))
        wait_until("it is refused", lambda: "refused, the settings in effect stay" in self.recast.error_text())
        for name in ("first", "second"):
            path = os.path.join(self.recast.folder, "name")
            with open(path, "w") as file:
                file.write(name)
            self.changed(f"/{name}")

    def test_without_watch_nothing_is_read_until_it_is_asked_for(self):
        self.start()
        self.write(self.text.replace("/plain*", "/renamed"))
        reload(self.recast)
        self.write(self.text)
        before = count_lines(self.recast, "reload")
        deadline = time.monotonic() + 0.6  # three times what a watch waits
        while time.monotonic() < deadline:
            self.assertEqual(self.status("/renamed"), 200)
        self.assertEqual(count_lines(self.recast, "reload"), before)


class SignalTests(ReloadTestCase):
    def test_sigusr1_opens_the_log_again(self):
        recast = self.start(settings="")
        path = os.path.join(recast.folder, "logs", "access.log")
        os.mkdir(os.path.dirname(path))
        self.write(self.text.replace("access_log: stdout", f"access_log: {path}"))
        reload(recast)
        self.assertEqual(self.status("/plain"), 200)
        wait_until("a line", lambda: os.path.getsize(path) > 0)
        os.rename(path, path + ".1")
        recast.process.send_signal(signal.SIGUSR1)
        wait_until("the file is there again", lambda: os.path.exists(path))
        wait_until("it is said", lambda: "opened again" in recast.error_text())
        size = os.path.getsize(path + ".1")
        self.assertEqual(self.status("/plain"), 200)
        wait_until("a line in the new file", lambda: os.path.getsize(path) > 0)
        self.assertEqual(os.path.getsize(path + ".1"), size)
        os.rename(os.path.dirname(path), os.path.dirname(path) + ".1")
        said = count_lines(recast, "opened again")
        recast.process.send_signal(signal.SIGUSR1)
        wait_until("why it can't be", lambda: "can't be reopened: No such file or directory" in recast.error_text())
        self.assertEqual(recast.error_text().count("opened again"), said)

    def test_sigusr1_says_that_there_is_no_file_to_open_again(self):
        for target in ("stdout", "off"):
            with self.subTest(target):
                recast = self.start(settings="", access_log=target)
                recast.process.send_signal(signal.SIGUSR1)
                wait_until("it is said", lambda: "no log is opened again: the access log goes to no file" in recast.error_text())

    def test_signals_without_a_meaning_are_ignored(self):
        """Fault 68."""
        recast = self.start()
        self.upstream.script = repeat_body
        with Load(recast.port) as load:
            for _ in range(500):
                for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCHLD):
                    recast.process.send_signal(number)
        tell_apart(self, load, self.upstream)
        self.assertIsNone(recast.process.poll())

    def test_a_stopped_process_times_nobody_out_who_has_sent(self):
        """Fault 69: what came while it stood still is read before timers fire, on more connections than one look tells of."""
        # How fast a body comes is a time of its own, which all of this may pass on a busy machine.
        recast = self.start(settings="timeouts: { header: 8s, body_gap: 8s }\ndefaults: { min_rate: off }\n", workers=1)
        self.upstream.script = repeat_body
        head = "POST /plain HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n"
        clients = [Client(recast.port) for _ in range(300)]
        for client in clients:
            self.addCleanup(client.socket.close)
            client.send(head + "ab")
        self.upstream.wait_for(len(clients))
        recast.process.send_signal(signal.SIGSTOP)
        for client in clients:
            client.send("c")
        time.sleep(9)  # the fault itself: longer than the timeouts
        recast.process.send_signal(signal.SIGCONT)
        late = 0
        for client in clients:
            try:
                client.send("d")
            except OSError:
                pass  # counted below
        for client in clients:
            try:
                late += client.response().status != 200
            except Closed:
                late += 1
        self.assertEqual(late, 0)

    def test_a_standstill_is_held_against_no_body_for_its_speed_and_no_head_for_its_time(self):
        recast = self.start(
            settings="timeouts: { header: 4s }\ndefaults: { min_rate: { request: 1KiB/s, grace: 4s } }\n", workers=1)
        self.upstream.script = repeat_body
        client, other, slow, late = Client(recast.port), HTTP2Client(recast.port), Client(recast.port), HTTP2Client(recast.port)
        for one in (client, other, slow, late):
            self.addCleanup(one.socket.close)
        client.send("POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
        stream = other.request("POST", "/plain", end=False)
        other.content(stream, b"a", end=False)
        slow.send("GET /plain HTTP/1.1\r\n")
        slow.wait_until_read()
        # A head of HTTP/2 whose last bytes are still to come.
        with late.at_once():
            late.request()
            late.held, rest = late.held[:-3], late.held[-3:]
        Client.wait_until_read(late)
        self.upstream.wait_for(2)
        recast.process.send_signal(signal.SIGSTOP)
        time.sleep(6)  # the fault itself: longer than the grace time
        recast.process.send_signal(signal.SIGCONT)
        for _ in range(50):  # the timers that came due have fired by then
            self.assertEqual(self.status("/plain"), 200)
        slow.send("Host: a\r\n\r\n")
        self.assertEqual(slow.response().status, 200)
        late.send(rest)
        self.assertEqual(late.response(1).status, 200)
        client.send("bc")
        other.content(stream, b"bc")
        self.assertEqual(client.response().body, b"abc")
        self.assertEqual(bytes(other.response(stream).body), b"abc")

    def test_a_standstill_counts_in_no_time_of_a_request_and_idle_connections_are_too_old_behind_it(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target == "/plain/held":
                go_on.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script
        other = Upstream()
        self.addCleanup(other.stop)
        port, admin = admin_port()
        # Names whose time is over behind the standstill, and isn't.
        names = {name: NameServer(["127.0.0.1"], ttl=ttl) for name, ttl in (("short", 5), ("long", 1000))}
        for server in names.values():
            self.addCleanup(server.stop)
        recast = Recast(
            PLAIN + "".join(f'  - {{ name: {name}, match: "/{name}", upstream: {name} }}\n' for name in ("other", *names)),
            {"app": f"{{ address: 127.0.0.1:{self.upstream.port}, max_requests: 1, queue: {{ timeout: 4s }} }}",
             "other": f"{{ address: 127.0.0.1:{other.port}, idle: 4s }}",
             **{name: f"{{ address: \"{name}.recast.test:{other.port}\", resolve: {{ servers: \"127.0.0.1:{server.port}\" }} }}"
                for name, server in names.items()}},
            settings=admin + "defaults: { timeouts: { request: 4s, first_byte: 4s } }\n")
        self.addCleanup(recast.remove)
        self.addCleanup(self._end, recast.process)
        self.assertEqual(self.status("/other", recast.port), 200)
        held, queued = Client(recast.port), Client(recast.port)
        for client in (held, queued):
            self.addCleanup(client.socket.close)
        held.request("GET", "/plain/held")
        self.upstream.wait_for(1)
        queued.request("GET", "/plain/queued")
        state = Admin(port)
        wait_until("it waits", lambda: state.json("/upstreams")["upstreams"][0]["queued"] == 1)
        wait_until("the names are known", lambda: all(one["addresses"] for one in state.json("/upstreams")["upstreams"]))
        recast.process.send_signal(signal.SIGSTOP)
        os.waitpid(recast.process.pid, os.WUNTRACED)
        asked = {name: server.questions for name, server in names.items()}
        time.sleep(6)  # the fault itself: longer than each of the times
        recast.process.send_signal(signal.SIGCONT)
        wait_until("the idle connection is closed", lambda: not other.readers)
        wait_until("the short one is looked up again", lambda: names["short"].questions > asked["short"])
        for _ in range(50):  # the timers that came due have fired by then
            self.assertEqual(self.status("/other", recast.port), 200)
        self.assertEqual(other.connection_count, 2)
        self.assertEqual(names["long"].questions, asked["long"])
        go_on.set()
        self.assertEqual(held.response().status, 200)
        self.assertEqual(queued.response().status, 200)


if __name__ == "__main__":
    unittest.main()
