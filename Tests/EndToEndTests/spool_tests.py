"""Upstreams that want a Content-Length: bodies are held until it is known, in memory and then on disk, and never half sent."""

import gzip
import json
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from harness import DEADLINE, FORM, JSON, RECAST, ProxyTestCase, make_multipart, select_nothing
from lifecycle_support import wait_until

KIB, MIB = 1024, 1 << 20


def chunks(body, size=65536):
    text = b"".join(b"%x\r\n%s\r\n" % (len(body[at:at + size]), body[at:at + size]) for at in range(0, len(body), size))
    return text + b"0\r\n\r\n"


class SpoolFolder(ProxyTestCase):
    """A folder of its own for spools, `$FOLDER` in upstreams."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="recast-spool-")
        cls.addClassCleanup(os.rmdir, cls.folder)  # fails when a file is left there
        cls.further_upstreams = {name: text.replace("$FOLDER", cls.folder) for name, text in cls.further_upstreams.items()}
        super().setUpClass()

    def descriptors(self):
        links = []
        for name in os.listdir(f"/proc/{self.recast.process.pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{self.recast.process.pid}/fd/{name}"))
            except OSError:
                pass
        return [link for link in links if self.folder in link or "recast-spool" in link]

    def assert_no_files(self):
        """Nothing is left of any spool, within the time in which connections end."""
        wait_until("no file is left", lambda: not self.descriptors())
        self.assertEqual(os.listdir(self.folder), [])


class SpoolTests(SpoolFolder):
    settings = "spool: { total: 3MiB }\n"
    routes = """
  - { name: form-json, match: /form-json, upstream: spooled, request: form -> json }
  - name: parts
    match: /parts
    upstream: spooled
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: json-form, match: /json-form, upstream: spooled, request: json -> form }
  - { name: chunked-json, match: /chunked-json, upstream: chunks, request: form -> json }
  - { name: chunked, match: /chunked, upstream: chunks }
  - { name: auto, match: /auto, upstream: app }
  - { name: plain, match: "/*", upstream: spooled }
"""

    further_upstreams = {
        "spooled": "{ address: $APP, framing: length, spool: { memory: 64KiB, disk: 2MiB, dir: $FOLDER } }",
        "chunks": "{ address: $APP, framing: chunked }",
    }

    def post_chunked(self, path, body, media_type="x/y", client=None):
        client = client or self.client()
        client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            client.send(chunks(body))
        except OSError:
            pass  # refused early: the answer is there to be read
        return client.response()

    def test_F7_a_chunked_upload_reaches_a_length_upstream_with_its_length(self):
        for size in (0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, 2 * MIB, 2 * MIB + 64 * KIB):
            with self.subTest(size):
                self.upstream.reset()
                body = os.urandom(size)
                self.assertEqual(self.post_chunked("/plain", body).status, 200)
                received = self.upstream.one()
                self.assertEqual(received.fields.get("content-length"), str(size))
                self.assertNotIn("transfer-encoding", received.fields)
                self.assertTrue(received.body == body)
        self.assert_no_files()

    def test_F7_conversions_reach_a_length_upstream_with_their_length(self):
        for count in (1, 2000, 20000):
            with self.subTest(count):
                self.upstream.reset()
                document = {f"key{number}": "v" * 60 for number in range(count // 100)} or {"a": "1"}
                body = json.dumps(document).encode()
                self.assertEqual(self.send("POST", "/json-form", body, JSON).status, 200)
                received = self.upstream.one()
                self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
        content = os.urandom(MIB)
        body, media_type = make_multipart([("a", None, b"1"), ("file", "f.bin", content)])
        for is_chunked in (False, True):
            with self.subTest(is_chunked=is_chunked):
                self.upstream.reset()
                if is_chunked:
                    self.assertEqual(self.post_chunked("/parts", body, media_type).status, 200)
                else:
                    self.assertEqual(self.send("POST", "/parts", body, media_type).status, 200)
                received = self.upstream.one()
                self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
                self.assertEqual([(part[0], part[3]) for part in received.parts], [("b", b"1"), ("file", content)])
        self.assert_no_files()

    def test_F7_a_known_length_is_not_spooled(self):
        self.assertEqual(self.send("POST", "/plain", b"x" * (3 * MIB), "x/y").status, 200)
        self.assertEqual(self.upstream.one().fields.get("content-length"), str(3 * MIB))

    def test_F7_chunked_upstreams_get_chunks(self):
        for path, body, media_type in (("/chunked", b"x" * 10, "x/y"), ("/chunked-json", b"a=1", FORM)):
            with self.subTest(path):
                self.upstream.reset()
                self.assertEqual(self.send("POST", path, body, media_type).status, 200)
                received = self.upstream.one()
                self.assertEqual(received.fields.get("transfer-encoding"), "chunked")
                self.assertNotIn("content-length", received.fields)
        self.upstream.reset()
        self.assertEqual(self.send("GET", "/chunked").status, 200)
        self.assertNotIn("transfer-encoding", self.upstream.one().fields)

    def test_the_log_says_what_was_spooled(self):
        self.assertEqual(self.post_chunked("/logged", b"x" * 100000).status, 200)
        count = 1
        while True:
            lines = [line for line in self.recast.log_lines(count) if line.get("path") == "/logged"]
            if lines:
                break
            count += 1
        self.assertEqual(lines[0]["framing"], "spooled")

    def test_row44_beyond_the_requests_quota_413_names_the_setting(self):
        client = self.client()
        problem = self.assert_problem(self.post_chunked("/plain", b"x" * (2 * MIB + 64 * KIB + 1), client=client), 413, "limit_spool")
        self.assertEqual(problem["setting"], "upstreams.spooled.spool.disk")
        self.assert_untouched()
        self.assert_no_files()

    def test_row44_beyond_the_process_quota_503_says_when_to_retry(self):
        first = self.client()
        first.send("POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        first.send(chunks(b"x" * (2 * MIB))[:-5])  # without its end
        while not self.descriptors():
            select_nothing()
        second = self.client()
        response = self.post_chunked("/plain", b"y" * (2 * MIB), client=second)
        self.assert_problem(response, 503, "spool_exhausted")
        self.assertEqual(response.fields.get("retry-after"), "1")
        self.assert_untouched()
        # The first one isn't touched by that.
        first.send("0\r\n\r\n")
        self.assertEqual(first.response().status, 200)
        self.assertEqual(len(self.upstream.one().body), 2 * MIB)
        self.assertEqual(self.post_chunked("/plain", b"y" * (2 * MIB)).status, 200)
        self.assert_no_files()

    def test_F15_an_upload_that_breaks_off_never_reaches_the_upstream(self):
        for ending in ("reset", "close"):
            with self.subTest(ending):
                client = self.client()
                client.send("POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                client.send(chunks(b"x" * MIB)[:-5])
                while not self.descriptors():
                    select_nothing()
                if ending == "reset":
                    client.reset()
                else:
                    client.socket.close()
                self.assert_no_files()
                self.assert_untouched()

    def test_F14_a_bad_body_never_reaches_the_upstream(self):
        body, media_type = make_multipart([("file", "f.bin", b"x" * MIB)])
        self.assertEqual(self.send("POST", "/parts", body[:-10], media_type).status, 400)
        self.assert_untouched()
        self.assert_no_files()

    def test_F13_an_upstream_that_answers_early_is_heard(self):
        def script(exchange):
            exchange.answer(status=413, body=b"too much", fields=("Connection: close",))
            exchange.close()

        self.upstream.script = script
        response = self.post_chunked("/plain", os.urandom(2 * MIB))
        self.assertIn(response.status, (413, 502))
        self.assert_no_files()

    def test_a_slow_upstream_gets_everything_and_others_are_served_meanwhile(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target == "/plain":
                go_on.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        body = os.urandom(2 * MIB)
        client = self.client()
        done = threading.Thread(target=lambda: self.answers.append(self.post_chunked("/plain", body, client=client)), daemon=True)
        self.answers = []
        done.start()
        self.upstream.wait_for(1)
        for _ in range(20):
            self.assertEqual(self.send("GET", "/auto").status, 200)
        go_on.set()
        done.join(DEADLINE)
        self.assertEqual(self.answers[0].status, 200)
        self.assertTrue(self.upstream.requests[0].body == body)
        self.assert_no_files()

    def test_an_upstream_that_breaks_off_is_a_502(self):
        def script(exchange):
            exchange.reader.exactly(1000)
            exchange.reset()

        self.upstream.script = script
        self.assert_problem(self.post_chunked("/plain", os.urandom(2 * MIB)), 502)
        self.assert_no_files()


class HeldTests(SpoolFolder):
    """Upstreams that don't say what they want are spared chunks, too, as long as the spool has room."""

    routes = """
  - { name: form, match: /form, upstream: held, request: json -> form, limits: { field: 8MiB, fields: 100000, ratio: 10000 } }
  - { name: raw, match: /raw, upstream: held, request: multipart -> raw }
  - name: files
    match: /files
    upstream: held
    limits: { field: 8MiB }
    request:
      decode: { as: json }
      encode: { as: multipart, files: { photo: { from: base64, filename: p, type: image/png } } }
"""
    limit = MIB + 64 * KIB
    further_upstreams = {"held": "{ address: $APP, spool: { memory: 64KiB, disk: 1MiB, dir: $FOLDER } }"}

    def document(self, count):
        """JSON that becomes a form of so many bytes, some more than its own."""
        return ('{"a":"%s","b":"%s"}' % ("é" * 10, "x" * (count - len("a=&b=") - 60))).encode()

    def assert_form(self, received, count):
        self.assertTrue(received.body == b"a=" + b"%C3%A9" * 10 + b"&b=" + b"x" * (count - len("a=&b=") - 60))

    def post(self, path, body, media_type=JSON, fields=()):
        self.assertEqual(self.send("POST", path, body, media_type, fields).status, 200)
        return self.upstream.requests[-1]

    def assert_held(self, received, count):
        self.assertEqual((received.fields.get("content-length"), received.fields.get("transfer-encoding")), (str(count), None))

    def assert_chunked(self, received):
        self.assertEqual((received.fields.get("content-length"), received.fields.get("transfer-encoding")), (None, "chunked"))

    def test_F7_what_has_no_bound_has_its_length_up_to_the_spools_end(self):
        for count in (600 * KIB, self.limit - 1, self.limit):
            with self.subTest(count=count):
                received = self.post("/form", self.document(count))
                self.assert_held(received, count)
                self.assert_form(received, count)
        self.assert_no_files()

    def test_F7_beyond_the_spool_all_of_it_goes_on_in_chunks(self):
        # What is written at the end needn't find room there any more: by 256 KiB, which the shorter bodies are held by, or by less.
        for count in (self.limit + 256 * KIB, self.limit + 257 * KIB):
            with self.subTest(count=count):
                # The client's body fits, and what it becomes doesn't.
                letters = (count - 1000 * KIB) // 4
                text = "é" * letters + "x" * (count - 2 - 6 * letters)
                body = ('{"a":"%s"}' % text).encode()
                self.assertLess(len(body), self.limit)
                received = self.post("/form", body)
                self.assert_chunked(received)
                self.assertEqual(len(received.body), count)
                self.assertTrue(urllib.parse.unquote(received.body[2:].decode()) == text)
        self.assert_no_files()

    def test_a_body_that_is_longer_than_the_spool_is_not_held_at_all(self):
        go_on = threading.Event()

        def script(exchange):
            go_on.set()
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        body = self.document(4 * MIB)
        with self.client() as client:
            client.send(f"POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n")
            client.send(body[:MIB])
            self.assertTrue(go_on.wait(DEADLINE), "the upstream hears of it before it is whole")
            client.send(body[MIB:])
            self.assertEqual(client.response().status, 200)
        received = self.upstream.one()
        self.assert_chunked(received)
        self.assertEqual(len(received.body), 4 * MIB)

    def test_a_coded_body_has_its_length(self):
        for count in (300 * KIB, self.limit):
            with self.subTest(count=count):
                body = gzip.compress(self.document(count))
                received = self.post("/form", body, fields=["Content-Encoding: gzip"])
                self.assert_held(received, count)
                self.assert_form(received, count)
        received = self.post("/form", gzip.compress(self.document(3 * MIB)), fields=["Content-Encoding: gzip"])
        self.assert_chunked(received)
        self.assert_form(received, 3 * MIB)
        self.assert_no_files()

    def test_raw_content_has_its_length(self):
        content = os.urandom(900 * KIB)
        body, media_type = make_multipart([("f", "f.bin", content)])
        received = self.post("/raw", body, media_type)
        self.assert_held(received, len(content))
        self.assertTrue(received.body == content)
        self.assert_no_files()

    def test_a_loosely_bound_body_beyond_the_spool_is_padded(self):
        # The client's own length passes what the spool holds.
        body = json.dumps({"text": "\u00e9" * 400 * KIB, "photo": "aGVsbG8="}).encode()
        self.assertGreater(len(body), self.limit)
        received = self.post("/files", body)
        self.assertIsNone(received.fields.get("transfer-encoding"))
        self.assertIn("\u00e9".encode() * 400 * KIB, received.body)

    def test_a_fault_behind_what_was_held_never_reaches_the_upstream(self):
        body = self.document(800 * KIB)
        self.assert_problem(self.send("POST", "/form", body[:-1] + b"]", JSON), 400)
        self.assert_untouched()
        self.assert_no_files()

    def test_a_client_that_leaves_behind_what_was_held_never_reaches_the_upstream(self):
        with self.client() as client:
            client.send(f"POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON}\r\nContent-Length: {MIB}\r\n\r\n")
            client.send(self.document(MIB)[:800 * KIB])
            wait_until("content is held", self.descriptors)
        self.assert_no_files()
        self.assert_untouched()

    def test_a_slow_upstream_gets_all_of_what_was_held_and_what_comes_behind_it(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target == "/form":
                go_on.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        texts = ["%06d" % at for at in range(90_000)]
        body = json.dumps({"items": texts}).encode()  # 900 KB that become 1.6 MB
        self.assertLess(len(body), self.limit)
        self.answers = []

        def upload():
            with self.client() as client:
                client.request("POST", "/form", body, JSON)
                self.answers.append(client.response())

        done = threading.Thread(target=upload, daemon=True)
        done.start()
        self.upstream.wait_for(1)
        for _ in range(20):
            self.assertEqual(self.send("GET", "/raw").status, 200)
        go_on.set()
        done.join(DEADLINE)
        self.assertEqual(self.answers[0].status, 200)
        received = self.upstream.requests[0]
        self.assert_chunked(received)
        self.assertEqual([value for _, value in urllib.parse.parse_qsl(received.body.decode(), strict_parsing=True)], texts)
        self.assert_no_files()

    def test_an_upstream_that_breaks_off_behind_what_was_held_is_a_502(self):
        def script(exchange):
            exchange.reader.exactly(1000)
            exchange.reset()

        self.upstream.script = script
        body = json.dumps({"items": ["%06d" % at for at in range(90_000)]}).encode()
        self.assert_problem(self.send("POST", "/form", body, JSON), 502)
        self.assert_no_files()


class HeldBesideOthersTests(SpoolFolder):
    """The process' quota is spent, so nothing is held that needn't be."""

    settings = "spool: { total: 256KiB }\n"
    routes = """
  - { name: form, match: /form, upstream: held, request: json -> form, limits: { field: 8MiB, fields: 100000 } }
  - { name: plain, match: /plain, upstream: spooled }
"""
    further_upstreams = {
        "held": "{ address: $APP, spool: { memory: 64KiB, disk: 256KiB, dir: $FOLDER } }",
        "spooled": "{ address: $APP, framing: length, spool: { memory: 64KiB, dir: $FOLDER } }",
    }

    def post(self, count):
        sent = json.dumps({"items": ["%05d" % at for at in range(count)]}, separators=(",", ":")).encode()
        self.assertEqual(self.send("POST", "/form", sent, JSON).status, 200)
        return sent, self.upstream.requests[-1]

    def test_beyond_the_quota_it_goes_on_in_chunks(self):
        _, received = self.post(16_500)
        self.assertEqual(received.fields.get("content-length"), str(len(received.body)), "nothing else is on the disk")
        other = self.client()
        other.send("POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        other.send(b"20000\r\n" + b"x" * (128 * KIB) + b"\r\n")
        other.wait_until_read()
        wait_until("half of the other body is on disk", self.descriptors)
        # Of the client's 129 KiB what isn't in memory finds room beside it, and of what they become it doesn't; the longer one doesn't find
        # any in the first place.
        for count in (16_500, 35_000):
            sent, received = self.post(count)
            self.assertEqual(len(sent) > 256 * KIB, count == 35_000)
            self.assertLess(len(sent), 320 * KIB)
            self.assertEqual(received.fields.get("transfer-encoding"), "chunked")
            self.assertGreater(len(received.body), 256 * KIB)
            self.assertEqual(len(received.body) > 320 * KIB, count == 35_000)
            pairs = urllib.parse.parse_qsl(received.body.decode(), strict_parsing=True)
            self.assertEqual([int(value) for _, value in pairs], list(range(count)))
        other.socket.close()
        self.assert_no_files()


def mount(folder):
    """A file system of 64 KiB at `folder`; False where we may not mount."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    return shutil.which("mount") and subprocess.run(command, capture_output=True).returncode == 0


class FullDisk(ProxyTestCase):
    """A spool's folder on a file system of 64 KiB."""

    fields = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="recast-full-")
        cls.addClassCleanup(os.rmdir, folder)
        if not mount(folder):
            raise unittest.SkipTest("only root can mount a file system that runs full")
        cls.addClassCleanup(subprocess.run, ["umount", folder], check=True)  # fails while a file is open there
        spool = f"{{ memory: 16KiB, disk: 64MiB, dir: {folder} }}"
        cls.further_upstreams = {"spooled": f"{{ address: $APP, framing: length, spool: {spool} }}"}
        super().setUpClass()

    def upload(self, size):
        client = self.client()
        client.send(f"POST /plain HTTP/1.1\r\nHost: a\r\n{self.fields}Transfer-Encoding: chunked\r\n\r\n")
        try:
            client.send(chunks(b"x" * size))
        except OSError:
            pass
        return client.response()

    def assert_refused(self, times):
        for _ in range(times):
            self.assert_problem(self.upload(256 * KIB), 507, "spool_full")
            self.assert_untouched()

    def assert_said_once(self):
        self.recast.says("the disk is full")
        self.assertEqual(self.recast.error_text().count("the disk is full"), 1, "said once, not for each request")


class FullDiskTests(FullDisk):
    routes = '  - { name: plain, match: "/*", upstream: spooled }\n'

    def test_row44_a_full_disk_is_a_507_and_serving_goes_on(self):
        self.assert_refused(times=20)  # a descriptor or a page that stays would fill it for good
        self.assertEqual(self.upload(48 * KIB).status, 200)
        self.assertEqual(len(self.upstream.one().body), 48 * KIB)
        self.assert_said_once()


class FullDiskOfVerifiedTests(FullDisk):
    """A body that is held to be verified."""

    routes = '  - { name: plain, match: "/*", upstream: spooled, verify: { preset: github, secret: a-secret-of-some-length } }\n'
    fields = f"X-Hub-Signature-256: sha256={'0' * 64}\r\n"

    def test_a_full_disk_is_a_507_and_the_operator_hears_of_it(self):
        self.assert_refused(times=3)
        self.assert_said_once()


class FullDiskOfSignedTests(FullDisk):
    """A body that is held to be signed."""

    routes = '  - { name: plain, match: "/*", upstream: spooled, sign: { preset: github, secret: a-secret-of-some-length } }\n'

    def test_a_full_disk_is_a_507_and_the_operator_hears_of_it(self):
        self.assert_refused(times=3)
        self.assert_said_once()


class FileSizeLimitTests(ProxyTestCase):
    """A service manager's limit of how large a file may be (`LimitFSIZE=`), which the system tells by a signal, too."""

    routes = '\n  - { name: plain, match: "/*", upstream: spooled }\n'
    further_upstreams = {"spooled": "{ address: $APP, framing: length, spool: { memory: 16KiB, disk: 2MiB, dir: /tmp } }"}

    def test_it_is_a_full_disk(self):
        resource.prlimit(self.recast.process.pid, resource.RLIMIT_FSIZE, (64 * KIB, 64 * KIB))
        for size, status in ((256 * KIB, 507), (48 * KIB, 200)):
            client = self.client()
            client.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.send(chunks(b"z" * size))
            self.assertEqual(client.response().status, status)
        wait_until("the folder and the reason are told",
                   lambda: "in /tmp: the disk is full (File too large)" in self.recast.error_text())


class MissingFolderTests(ProxyTestCase):
    """A folder that is missing is made by the first body that needs it: an image has none, and most routes spool nothing."""

    above = tempfile.mkdtemp(prefix="recast-spool-")
    folder = above + "/of a/spool/"
    routes = '\n  - { name: plain, match: "/*", upstream: spooled }\n'
    further_upstreams = {
        "spooled": f'{{ address: $APP, framing: length, spool: {{ memory: 1KiB, disk: 2MiB, dir: "{folder}" }} }}'}

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(shutil.rmtree, cls.above)
        super().setUpClass()

    def upload(self, size):
        client = self.client()
        client.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send(chunks(b"z" * size))
        return client.response()

    def test_it_is_made_when_it_is_needed_and_again_when_it_was_removed(self):
        self.assertEqual(os.listdir(self.above), [])
        self.assertEqual(self.upload(1 * KIB).status, 200)
        self.assertEqual(os.listdir(self.above), [], "what stays in memory needs no folder")
        for count in (2, 3):
            self.assertEqual(self.upload(256 * KIB).status, 200)
            self.assertEqual(len(self.upstream.wait_for(count)[-1].body), 256 * KIB)
            self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)
            self.assertEqual(os.listdir(self.folder), [])
            shutil.rmtree(self.above + "/of a")

    def test_one_that_can_be_neither_written_nor_made_is_a_mistake(self):
        file = os.path.join(self.above, "file")
        open(file, "w").close()
        self.addCleanup(os.unlink, file)
        made = "doesn't exist, and can't be made"
        for path, reason in ((file, "is no folder"), (file + "/under", "is no folder"),
                             ("/proc/none", f"{made}: /proc can't be written"),
                             ("/proc/none/below", f"{made}: /proc can't be written"),
                             (self.above + "/none/there", None)):
            with self.subTest(path):
                text = ("version: 1\nlisten: 127.0.0.1:1\nupstreams:\n"
                        f"  app: {{ address: 127.0.0.1:2, framing: length, spool: {{ dir: {path} }} }}\n"
                        'routes: [{ name: a, match: "/*", upstream: app }]\n')
                result = subprocess.run(unprivileged() + [RECAST, "check", "-"], input=text, capture_output=True, text=True)
                if reason is None:
                    self.assertEqual(result.returncode, 0, result.stderr)
                else:
                    self.assertEqual(result.returncode, 65)
                    self.assertIn(f"4:56: the folder of spooled bodies, {path}, {reason}", result.stderr + result.stdout)


def unprivileged():
    """What runs a command as this user without the right to write wherever it likes."""
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"] if os.geteuid() == 0 else []
