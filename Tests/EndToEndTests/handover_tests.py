"""Two processes with the same addresses, one of which goes wrong: what the other one serves stays its own."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import DEADLINE, RECAST, Client, Recast, free_port
from lifecycle_support import PLAIN, DrainTestCase, Load, reload, repeat_body, tell_apart, wait_until


def ask(place, path="/plain"):
    with Client(place) as client:
        client.request("GET", path)
        return client.response().status


def file_of(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino


def read(path):
    with open(path) as file:
        return file.read()


class HandoverTestCase(DrainTestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        self.admin = os.path.join(folder.name, "admin.sock")
        self.sharing = f'reuse_port: true\nadmin: "unix:{self.admin}"\n'

    def edit(self, recast, old, new):
        """Other settings for the same process, or for another one."""
        with open(recast.config) as file:
            text = file.read()
        self.assertIn(old, text)
        with open(recast.config, "w") as file:
            file.write(text.replace(old, new))

    def assert_all_serve(self, recast):
        self.assertEqual([ask(place) for place in (recast.port, recast.path)], [200, 200])
        self.assertEqual(ask(self.admin, "/ready"), 200)


class FailingProcessTests(HandoverTestCase):
    def test_a_process_that_fails_to_start_takes_nothing(self):
        """No connection comes to a listener that is closed without accepting, and the unix sockets are the first one's."""
        recast = self.start(settings=self.sharing)
        self.upstream.script = repeat_body
        files = [file_of(path) for path in (recast.path, self.admin)]
        # An address that is in use comes last.
        self.edit(recast, "]\nworkers", f", 127.0.0.1:{self.upstream.port}]\nworkers")
        with Load(recast.port, keeping=1, opening=4) as load:
            for _ in range(5):
                result = subprocess.run([RECAST, "serve", recast.config], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                        timeout=DEADLINE)
                self.assertEqual(result.returncode, 69, result.stderr)
                self.assertIn("already in use", result.stderr)
        tell_apart(self, load, self.upstream)
        self.assertEqual([file_of(path) for path in (recast.path, self.admin)], files)
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.admin))), ["admin.sock"])
        self.assertEqual([name for name in os.listdir(recast.folder) if name.startswith("recast.sock.")], [])
        self.assert_all_serve(recast)

    def test_a_reload_that_is_refused_takes_nothing(self):
        recast = self.start(settings=self.sharing)
        other = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, settings="reuse_port: true\n")
        self.addCleanup(other.remove)
        self.addCleanup(self._end, other.process)
        before = file_of(recast.path)
        self.edit(other, "listen: [", f'listen: ["unix:{recast.path}", 127.0.0.1:{self.upstream.port}, ')
        reload(other, "refused, the settings in effect stay")
        self.assertEqual(file_of(recast.path), before)
        self.assert_all_serve(recast)

    def test_a_process_that_hangs_is_taken_over_from(self):
        """Its backlog is full, so that nobody can knock."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # A backlog has 1024 places, and more descriptors are needed than many systems let a process have by default.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        recast = self.start(settings=self.sharing)
        recast.process.send_signal(signal.SIGSTOP)
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(BlockingIOError):
                while True:
                    waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                    waiting.setblocking(False)
                    waiting.connect(recast.path)
            self.start_another(recast)
            self.assertEqual(ask(recast.path), 200)
            recast.process.kill()


class NoThreadTests(DrainTestCase):
    USER = 61_234  # of nobody else: the limit counts all threads of a user

    def test_a_process_that_gets_too_few_threads_takes_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("root alone starts processes of another user, and only others have this limit")
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            os.chmod(folder, 0o777)
            path, program, config = (os.path.join(folder, name) for name in ("http.sock", "recast", "recast.yaml"))
            recast = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, settings="reuse_port: true\n",
                            listeners=[f'{{ address: "unix:{path}", mode: 0666 }}'])
            self.addCleanup(recast.remove)
            self.addCleanup(self._end, recast.process)
            before = file_of(path)
            with open(RECAST, "rb") as source, open(program, "wb") as copy:
                os.sendfile(copy.fileno(), source.fileno(), 0, os.fstat(source.fileno()).st_size)
            os.chmod(program, 0o755)
            with open(config, "w") as file:
                file.write(f"version: 1\nlisten: 'unix:{path}'\nworkers: 3\nreuse_port: true\nupstreams: {{ app: 127.0.0.1:1 }}\n"
                           f"routes:\n{PLAIN}")
            os.chmod(config, 0o644)
            log = os.path.join(recast.folder, "other.log")
            for most in range(1, 20):
                with open(log, "w") as file:
                    other = subprocess.Popen(
                        [program, "serve", config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, user=self.USER,
                        group=self.USER, extra_groups=[],
                        preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)))
                self.addCleanup(self._end, other)
                wait_until("it serves, or has ended", lambda: " info serving " in read(log) or other.poll() is not None)
                if other.poll() is None:
                    break
                with self.subTest(threads=most):
                    self.assertNotEqual(other.returncode, 0)
                    self.assertEqual(file_of(path), before, read(log))
                    self.assertEqual(ask(path), 200)
            self.assertGreater(most, 3, "no worker's thread was what there was none for")
            # One that serves and is killed leaves its file.
            other.kill()
            other.wait(DEADLINE)
            recast.says(f"the file of unix:{path} was gone")
            self.assertEqual(ask(path), 200)


class LongNameTests(DrainTestCase):
    def test_sockets_with_the_longest_names_are_taken_over(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            paths = [os.path.join(folder, letter * (107 - len(folder) - 1)) for letter in "st"]
            recast = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, settings="reuse_port: true\n",
                            listeners=[f"unix:{path}" for path in paths])
            self.addCleanup(recast.remove)
            self.addCleanup(self._end, recast.process)
            before = [file_of(path) for path in paths]
            self.start_another(recast)
            self.assertEqual({file_of(path) for path in paths} & set(before), set())
            self.assertEqual(recast.stop(), 0)
            self.assertEqual([ask(path) for path in paths], [200, 200])
            self.assertEqual(sorted(os.path.join(folder, name) for name in os.listdir(folder)), paths)


class LostSocketTests(HandoverTestCase):
    def test_a_reload_listens_anew_where_the_file_was_removed(self):
        recast = self.start(settings=f'admin: "unix:{self.admin}"\n')
        self.upstream.script = repeat_body
        with Client(recast.path) as kept:
            kept.request("GET", "/plain")
            self.assertEqual(kept.response().status, 200)
            for path in (recast.path, self.admin):
                os.unlink(path)
            reload(recast)
            for path in (recast.path, self.admin):
                recast.says(f"the file of unix:{path} was gone: it is listened on anew")
            with Load(recast.path, keeping=4, opening=4) as load:
                reload(recast)  # finds all as it should be
            kept.request("GET", "/plain")
            self.assertEqual(kept.response().status, 200)
        self.assertEqual((load.failures, load.refused), ([], 0))
        self.assert_all_serve(recast)
        self.assertEqual(recast.error_text().count("listened on anew"), 2)
        self.assertEqual(recast.stop(), 0)
        self.assertEqual([os.path.exists(path) for path in (recast.path, self.admin)], [False, False])

    def test_what_another_process_has_left_is_taken_back(self):
        """One was started to take over, and was ended again. While it lives, its place is its own."""
        for ending in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(ending):
                recast = self.start(settings=self.sharing)
                other = self.start_another(recast)
                taken = file_of(recast.path)
                reload(recast)
                self.assertEqual(file_of(recast.path), taken)
                other.send_signal(ending)
                other.wait(DEADLINE)  # killed, it leaves its file, and nothing tells that nobody listens
                for path in (recast.path, self.admin):
                    recast.says(f"the file of unix:{path} was gone")
                self.assert_all_serve(recast)
                self.assertEqual(recast.stop(), 0)

    def test_where_it_cannot_be_done_the_rest_of_the_reload_is(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as parent:
            folder = os.path.join(parent, "run")
            os.mkdir(folder)
            path = os.path.join(folder, "http.sock")
            recast = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, listeners=[f"unix:{path}"])
            self.addCleanup(recast.remove)
            self.addCleanup(self._end, recast.process)
            os.unlink(path)
            os.rmdir(folder)
            self.edit(recast, "/plain*", "/new*")
            reload(recast)
            recast.says(f"the file of unix:{path} is gone, so that no client finds it")
            self.assertEqual(ask(recast.port, "/new"), 200)
            os.mkdir(folder)
            reload(recast)
            wait_until("it is there", lambda: os.path.exists(path))
            self.assertEqual(ask(path, "/new"), 200)

    def test_what_cannot_be_done_is_tried_again_and_told_once(self):
        """A process that shares its places looks after them by itself, each second while they aren't its own."""
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as parent:
            folder = os.path.join(parent, "run")
            os.mkdir(folder)
            path, admin = (os.path.join(folder, name) for name in ("http.sock", "admin.sock"))
            recast = Recast(PLAIN, {"app": f"127.0.0.1:{self.upstream.port}"}, listeners=[f"unix:{path}"],
                            settings=f'reuse_port: true\nadmin: "unix:{admin}"\n')
            self.addCleanup(recast.remove)
            self.addCleanup(self._end, recast.process)
            os.rename(folder, folder + ".away")
            for each in (path, admin):
                recast.says(f"the file of unix:{each} is gone")
            os.mkdir(folder)
            for each in (path, admin):
                recast.says(f"the file of unix:{each} was gone: it is listened on anew")
            self.assertEqual((ask(path), ask(admin, "/ready")), (200, 200))
            self.assertEqual(recast.error_text().count(" is gone, so that "), 2)


class OtherUserTests(DrainTestCase):
    def test_a_socket_of_another_user_is_not_called_in_use(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes files of other users")
        recast = self.start()
        recast.stop()
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            os.chmod(folder, 0o1777)  # others may write, and remove nothing of ours
            os.chmod(recast.folder, 0o755)
            path = os.path.join(folder, "left.sock")
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(path)
            program = os.path.join(folder, "recast")
            with open(RECAST, "rb") as source, open(program, "wb") as copy:
                os.sendfile(copy.fileno(), source.fileno(), 0, os.fstat(source.fileno()).st_size)
            os.chmod(program, 0o755)
            config = os.path.join(folder, "recast.yaml")
            with open(config, "w") as file:
                file.write(f"version: 1\nlisten: ['unix:{path}', 127.0.0.1:{free_port()}]\nupstreams: {{ app: 127.0.0.1:1 }}\n"
                           f"routes:\n{PLAIN}")
            os.chmod(config, 0o644)
            for mode, reason in ((0o777, "unlink unix:.*, which nobody listens on: "), (0o700, "connect unix:.*, which another user has made: ")):
                os.chmod(path, mode)
                result = subprocess.run([program, "serve", config], stdin=subprocess.DEVNULL, capture_output=True, text=True, user=65534,
                                        group=65534, extra_groups=[], timeout=DEADLINE)
                self.assertEqual(result.returncode, 69, result.stderr)
                self.assertRegex(result.stderr, reason)


if __name__ == "__main__":
    unittest.main()
