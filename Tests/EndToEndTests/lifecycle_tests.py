"""Starting and stopping, and the other commands as a user types them."""

import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import unittest

from harness import DEADLINE, FORM, RECAST, ROOT, Client, Recast, Upstream, free_port, select_nothing

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: plain, match: "/*", upstream: app }
"""


def recast(*arguments, data=b""):
    return subprocess.run([RECAST, *arguments], input=data, capture_output=True, timeout=DEADLINE * 2)


class StopTests(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.recast = Recast(ROUTES, {"app": f"127.0.0.1:{self.upstream.port}"})
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.process.wait)
        self.addCleanup(self.recast.process.kill)

    def test_sigterm_ends_an_idle_proxy_with_zero(self):
        with Client(self.recast.port) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
            self.recast.process.send_signal(signal.SIGTERM)
            self.assertTrue(client.is_closed())  # an idle connection is no reason to stay
            self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_sigterm_lets_the_request_in_flight_finish(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            go_on.wait(DEADLINE)
            exchange.answer(body=b"finished")

        self.upstream.script = script
        with Client(self.recast.port) as client:
            client.request("POST", "/form-json", b"a=1", FORM)
            self.upstream.wait_for(1)
            self.recast.process.send_signal(signal.SIGTERM)
            while True:  # it accepts no more, and then the answer comes
                try:
                    Client(self.recast.port).socket.close()
                except ConnectionError:
                    break
                self.assertIsNone(self.recast.process.poll(), "it ended before the request in flight did")
                select_nothing()
            go_on.set()
            response = client.response()
            self.assertEqual((response.status, response.body), (200, b"finished"))
            self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_a_second_sigterm_ends_at_once(self):
        def script(exchange):
            exchange.read_body()
            exchange.reader.rest()

        self.upstream.script = script
        with Client(self.recast.port) as client:
            client.request("GET", "/plain")
            self.upstream.wait_for(1)
            self.recast.process.send_signal(signal.SIGTERM)
            while True:
                try:
                    Client(self.recast.port).socket.close()
                    select_nothing()
                except ConnectionError:
                    break
            self.recast.process.send_signal(signal.SIGTERM)
            self.recast.process.wait(DEADLINE)

    def test_a_taken_port_is_said_in_one_line(self):
        result = recast("serve", self.recast.config)
        self.assertEqual(result.returncode, 69, result.stderr)
        self.assertIn(str(self.recast.port), result.stderr.decode())
        self.assertEqual(len(result.stderr.decode().strip().splitlines()), 1)


class CommandTests(unittest.TestCase):
    def test_check_accepts_the_example_configurations(self):
        for name in os.listdir(os.path.join(ROOT, "config")):
            if not name.endswith(".yaml"):
                continue
            with self.subTest(name):
                result = recast("check", os.path.join(ROOT, "config", name))
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_check_reports_every_mistake_with_its_place(self):
        path = os.path.join(ROOT, "Tests", "EndToEndTests", "mistakes.yaml")
        result = recast("check", path)
        self.assertEqual(result.returncode, 65)
        errors = (result.stderr + result.stdout).decode()
        for place in ("2:1", "6:", "7:"):
            self.assertIn(place, errors)
        self.assertIn("did you mean", errors)

    def test_it_knows_what_it_was_called_with_where_proc_is_not_mounted(self):
        hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
            self.skipTest("only root can hide /proc")
        path = os.path.join(ROOT, "Tests", "EndToEndTests", "mistakes.yaml")
        result = subprocess.run([*hidden, RECAST, "check", path], capture_output=True)
        self.assertEqual((result.returncode, result.stdout), (65, b""))
        self.assertIn(f"{path}:2:1".encode(), result.stderr)

    def test_output_that_nobody_can_keep_is_a_failure(self):
        path = os.path.join(ROOT, "config", "recast.yaml")
        with open("/dev/full", "wb") as full:
            for words in (["routes", path], ["check", path], ["--version"], ["--help"], ["help", "serve"],
                          ["--generate-completion-script", "bash"]):
                with self.subTest(words):
                    result = subprocess.run([RECAST, *words], stdout=full, stderr=subprocess.PIPE)
                    self.assertEqual(result.returncode, 69)
                    self.assertEqual(result.stderr, b"recast: standard output can't be written\n")

    def test_a_command_that_there_is_none_of_is_named(self):
        for words, hint in [(["serv"], 'did you mean "serve"?'), (["serv", "x.yaml"], 'did you mean "serve"?'),
                            (["chekc", "--json", "x.yaml"], 'did you mean "check"?'), (["recast.yaml"], "known are serve, init, "),
                            (["help", "chekc"], 'did you mean "check"?'), (["help", "--version", "x"], None),
                            (["help", "help"], None)]:
            with self.subTest(words):
                result = recast(*words)
                if hint is None:
                    self.assertEqual(result.returncode, 0, result.stderr)
                    continue
                self.assertEqual((result.returncode, result.stdout), (64, b""))
                name = words[1] if words[0] == "help" else words[0]
                self.assertIn(f'recast: there is no command "{name}": {hint}'.encode(), result.stderr)

    def test_routes_that_nobody_could_read_through_are_not_all_listed(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: '127.0.0.1:1' }\nroutes:\n")
            file.writelines(f"  - {{ name: r{number:03}, match: /{number}, upstream: app }}\n" for number in range(42))
            file.flush()
            result = recast("explain", file.name, "something")
        self.assertEqual(result.returncode, 64)
        self.assertIn(b"known are r000, r001, ", result.stderr)
        self.assertIn(b", r039 and 2 more", result.stderr)

    def test_check_prints_findings_for_programs(self):
        path = os.path.join(ROOT, "Tests", "EndToEndTests", "mistakes.yaml")
        result = recast("check", "--json", path)
        self.assertEqual((result.returncode, result.stderr), (65, b""))
        report = json.loads(result.stdout)
        self.assertEqual((report["ok"], report["file"]), (False, path))
        found = [(one["severity"], one["code"], one["line"], one["route"]) for one in report["findings"]]
        self.assertEqual(found, [
            ("error", "setting", 1, None), ("error", "setting", 2, None), ("error", "setting", 6, "one"), ("error", "setting", 7, "two")])
        self.assertEqual(report["findings"][1]["hint"], 'did you mean "listen"?')
        for one in report["findings"]:
            self.assertEqual(set(one), {"severity", "code", "file", "line", "column", "message", "hint", "route"})
        result = recast("check", "--json", os.path.join(ROOT, "config", "recast.yaml"))
        report = json.loads(result.stdout)
        self.assertEqual((result.returncode, report["ok"]), (0, True))
        self.assertGreater(report["routes"], 1)

    SETTINGS = b"""version: 1
listen: 127.0.0.1:8080
upstreams:
  app: 127.0.0.1:8080
  old: { address: "127.0.0.1:3001", tls: { ca: /no/such/ca.pem } }
routes:
  - name: a
    match: /*
    upstream: app
    headers: { request: { set: { X-Key: "${env:RECAST_TEST_NO_SUCH}", X-Where: "${header.host}" }, remove: [Cookie] } }
"""

    def test_settings_come_by_standard_input_and_are_checked_away_from_their_machine(self):
        result = recast("check", "-", data=self.SETTINGS)
        self.assertEqual(result.returncode, 65)
        self.assertIn(b"<stdin>:5:", result.stderr)
        self.assertIn(b"<stdin>:10:", result.stderr)
        result = recast("check", "--no-secrets", "-", data=self.SETTINGS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"warning: upstream app: 127.0.0.1:8080 is where this proxy itself listens", result.stdout)
        self.assertIn(b"warning: upstream old: no route names it", result.stdout)
        self.assertIn(b"line 10", result.stdout)
        self.assertEqual(recast("check", "-", data=b"").returncode, 65)
        self.assertEqual(recast("check", "--offline", "-", data=self.SETTINGS).returncode, 64)

    def test_a_pipeline_without_secrets_gets_findings_routes_and_explanations(self):
        result = recast("check", "--no-secrets", "--json", "-", data=self.SETTINGS)
        report = json.loads(result.stdout)
        self.assertEqual((result.returncode, report["ok"], report["routes"], report["unchecked_lines"]), (0, True, 1, [10]))
        self.assertEqual([one["code"] for one in report["findings"]], ["upstream_is_listener", "upstream_unused"])
        result = recast("check", "--no-secrets", "--json", "-", data=self.SETTINGS.replace(b"upstream: app", b"upstream: ap"))
        report = json.loads(result.stdout)
        self.assertEqual((result.returncode, report["ok"]), (65, False))
        self.assertEqual([(one["line"], one["hint"]) for one in report["findings"]], [(9, 'did you mean "app"?')])
        result = recast("routes", "--no-secrets", "-", data=self.SETTINGS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"${env:RECAST_TEST_NO_SUCH}", result.stdout)
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(self.SETTINGS)
            file.flush()
            result = recast("explain", "--no-secrets", file.name, "a", data=b"")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"X-Where: recast.example", result.stdout)
            self.assertEqual(recast("explain", file.name, "a", data=b"").returncode, 65)
            self.assertEqual(recast("routes", file.name).returncode, 65)

    def test_secrets_of_header_rules_are_shown_as_references_only(self):
        text = self.SETTINGS.replace(b", tls: { ca: /no/such/ca.pem }", b"").replace(b"RECAST_TEST_NO_SUCH", b"RECAST_TEST_KEY")
        os.environ["RECAST_TEST_KEY"] = "top-secret-1"
        self.addCleanup(os.environ.pop, "RECAST_TEST_KEY")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.yaml")
            with open(path, "wb") as file:
                file.write(text)
            for command in (("routes", path), ("explain", path, "a"), ("explain", "--json", path, "a")):
                with self.subTest(command[0]):
                    result = recast(*command, data=b"")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn(b"${env:RECAST_TEST_KEY}", result.stdout)
                    self.assertNotIn(b"top-secret", result.stdout)
            self.assertIn(b"X-Where: recast.example", recast("explain", path, "a", data=b"").stdout)

    def test_serve_refuses_a_bad_configuration_before_it_listens(self):
        result = recast("serve", os.path.join(ROOT, "Tests", "EndToEndTests", "mistakes.yaml"))
        self.assertEqual(result.returncode, 65)

    def test_convert_uses_standard_input_and_output(self):
        result = recast("convert", "form -> json", data=b"a[b]=1&c=2")
        self.assertEqual((result.returncode, result.stdout), (0, b'{"a":{"b":"1"},"c":"2"}'))

    def test_convert_shows_the_content_type_when_asked(self):
        result = recast("convert", "-i", "json -> multipart", data=b'{"a":"1"}')
        self.assertEqual(result.returncode, 0, result.stderr)
        head, _, body = result.stdout.partition(b"\n\n")
        boundary = re.search(rb"multipart/form-data; boundary=\"?([^\"\r\n]+)", head).group(1)
        self.assertIn(b"--" + boundary + b"--", body)

    def test_convert_reads_multipart_by_the_type_it_is_given(self):
        body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
        result = recast("convert", "multipart -> json", "--type", "multipart/form-data; boundary=x", data=body)
        self.assertEqual((result.returncode, result.stdout), (0, b'{"a":"1"}'))

    def test_convert_waits_for_streams_that_come_back_at_once(self):
        # Whoever shares a pipe with it may have set that.
        def waiting(pipe):
            return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]

        inner, feed = os.pipe()
        result, outer = os.pipe()
        for pipe in (inner, outer):
            os.set_blocking(pipe, False)
        process = subprocess.Popen([RECAST, "convert", "multipart -> form", "--type", "multipart/form-data; boundary=x"],
                                   stdin=inner, stdout=outer, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(outer)
        part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + b"b" * 30_000 + b"\r\n"
        for number in range(100):
            # Each is taken before the next one comes, so that it finds nothing; and nobody reads until all that a pipe holds is there.
            while waiting(inner) > 0 and waiting(result) < 65_536 and process.poll() is None:
                select_nothing()
            if process.poll() is not None or waiting(result) == 65_536:
                break
            os.write(feed, part)
        self.assertIsNone(process.poll())
        self.assertLess(number, 99)
        os.close(inner)
        os.write(feed, b"--x--\r\n")
        os.close(feed)
        with open(result, "rb") as file:
            self.assertEqual(file.read(), b"&".join([b"a=" + b"b" * 30_000] * number))
        self.assertEqual((process.wait(), process.stderr.read()), (0, b""))

    def test_convert_says_what_is_wrong_in_one_line(self):
        result = recast("convert", "json -> form", data=b'{"a":}')
        self.assertEqual(result.returncode, 65)
        self.assertEqual(len(result.stderr.decode().strip().splitlines()), 1)
        self.assertIn("5", result.stderr.decode())

    def test_a_wrong_command_line_is_a_64(self):
        for arguments in (["nonsense"], ["convert"], ["convert", "json ->"], ["convert", "json -> carrot"]):
            with self.subTest(arguments):
                self.assertEqual(recast(*arguments).returncode, 64)

    def test_a_missing_file_is_said(self):
        result = recast("check", "/nonexistent/recast.yaml")
        self.assertIn(result.returncode, (65, 66))
        self.assertIn("/nonexistent/recast.yaml", result.stderr.decode())
        # One that is there, under a name that no argument can say.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), b"caf\xe9.yaml")
            shutil.copy(os.path.join(ROOT, "config", "recast.yaml"), path)
            result = recast("check", path)
            self.assertEqual(result.returncode, 65)
            self.assertIn("names of files that are given here must be UTF-8", result.stderr.decode())

    def test_routes_lists_every_route(self):
        result = recast("routes", os.path.join(ROOT, "config", "recast.yaml"))
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(ROOT, "config", "recast.yaml")) as file:
            names = re.findall(r"- (?:{ )?name: *([A-Za-z0-9_-]+)", file.read())
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            self.assertIn(name, result.stdout.decode())

    def test_the_image_s_settings_have_the_ports_that_it_names(self):
        with open(os.path.join(ROOT, "Dockerfile")) as file:
            text = file.read()
        probe = re.search(r'^HEALTHCHECK .*CMD \["/usr/bin/recast", "probe", "127.0.0.1:(\d+)", "/ready"\]$', text, re.MULTILINE)
        exposed = re.search(r"^EXPOSE (\d+) (\d+)$", text, re.MULTILINE)
        shown = recast("routes", os.path.join(ROOT, "deploy", "image", "recast.yaml")).stdout.decode()
        self.assertRegex(shown, rf"(?m)^ *listen +0\.0\.0\.0:{exposed[1]} ")
        self.assertRegex(shown, rf"(?m)^ *status +0\.0\.0\.0:{exposed[2]} ")
        self.assertEqual(probe[1], exposed[2])

    def test_echo_answers_with_what_it_received(self):
        port = free_port()
        process = subprocess.Popen([RECAST, "echo", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        result = subprocess.run(
            ["curl", "--silent", "--retry", "50", "--retry-connrefused", "--retry-delay", "1", "--data", "a=1&b[c]=2",
             f"http://127.0.0.1:{port}/some/path"], capture_output=True, timeout=DEADLINE * 2)
        for text in (b"POST", b"/some/path", b"a", b"1"):
            self.assertIn(text, result.stdout)


class RunTests(unittest.TestCase):
    """`make run` as a new user sees it: every request that it prints works."""

    def test_every_request_that_is_printed_works(self):
        folder = os.path.join(ROOT, "config")
        names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
        self.assertIn("recast.yaml", names)
        for name in names:
            with self.subTest(name):
                self.run_example(os.path.join("config", name))

    def run_example(self, config):
        with open(os.path.join(ROOT, config)) as file:
            text = file.read()
        routes = len(re.findall(r"^ *- *\{? *name:", text, re.MULTILINE))
        # What the answer to a request must have in it, where the line below the request's says so.
        expected = dict(re.findall(r"^ *# try: (.*)\n *# answer has: (.*)", text, re.MULTILINE))
        self.assertEqual(len(expected), text.count("# answer has:"), "a line that belongs to no request")
        # A shell gives SIGINT as ignored to what it starts in the background, and that is handed down; a terminal doesn't.
        run = subprocess.Popen([os.path.join(ROOT, "scripts", "run"), config], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        commands, seen = [], []
        for line in run.stdout:
            seen.append(line)
            if line.startswith("  ") and "curl " in line:
                commands.append(line.strip())
            elif commands:
                break
        if any("is taken" in line for line in seen):
            self.skipTest("".join(seen).strip())
        self.assertGreaterEqual(len(commands), routes, "".join(seen))
        for command in commands:
            with self.subTest(command):
                strict = f'curl() {{ command curl --silent --show-error --fail --max-time {DEADLINE} "$@"; }}; {command}'
                result = subprocess.run(["bash", "-c", strict], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(expected.get(command, ""), result.stdout)
        # As Ctrl-C: the terminal tells the whole group.
        os.killpg(run.pid, signal.SIGINT)
        self.assertNotIn("second signal", run.stdout.read())
        self.assertEqual(run.wait(DEADLINE), 0)
