"""Large and slow bodies: streamed, with bounded memory, in every way that clients send them."""

import hashlib
import json
import os
import random
import subprocess
import tempfile
import threading

from harness import DEADLINE, JSON, SANITIZED, ProxyTestCase, standard_base64

MIB = 1 << 20
SIZE = (5 if SANITIZED else 50) * MIB  # of the file
# What an upload may add to the peak: read buffers, what waits at the watermarks, and the allocator's slack.
ADDED_PEAK = 8 * MIB


def digest(data):
    return hashlib.sha256(data).hexdigest()


class UploadTests(ProxyTestCase):
    upstream_receive_buffer = 64 * 1024
    routes = """
  - name: renamed
    match: /renamed
    upstream: app
    request:
      decode: { as: multipart }
      map: { rename: { title: headline }, set: { source: e2e } }
      encode: { as: multipart }
  - { name: multipart-json, match: /multipart-json, upstream: app, request: "multipart -> json(files: base64)" }
  - name: json-multipart
    match: /json-multipart
    upstream: app
    request:
      decode: { as: json }
      encode: { as: multipart, files: { file: { from: base64, filename: big.bin, type: application/octet-stream } } }
  - { name: json-form, match: /json-form, upstream: app, request: json -> form }
  - { name: plain, match: "/*", upstream: app }
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.content = random.Random(4).randbytes(SIZE)
        cls.file = os.path.join(cls.folder.name, "big.bin")
        with open(cls.file, "wb") as file:
            file.write(cls.content)

    def setUp(self):
        super().setUp()
        self.send("POST", "/warm", b"x")
        self.upstream.reset()
        self.peak_before = self.recast.peak_bytes()

    def assert_memory_bounded(self):
        added = self.recast.peak_bytes() - self.peak_before
        self.assertLessEqual(added, ADDED_PEAK, f"the upload added {added / MIB:.1f} MiB to the peak")

    def test_multipart_to_multipart_streams_a_file_and_renames_a_field(self):
        status, _ = self.curl("-F", "title=An upload", "-F", f"file=@{self.file}", self.url("/renamed"))
        self.assertEqual(status, 200)
        parts = {name: (filename, content) for name, filename, _, content in self.upstream.one().parts}
        self.assertEqual(set(parts), {"headline", "file", "source"})
        self.assertEqual((parts["headline"][1], parts["source"][1]), (b"An upload", b"e2e"))
        self.assertEqual(parts["file"][0], "big.bin")
        self.assertEqual(digest(parts["file"][1]), digest(self.content))
        self.assert_memory_bounded()

    def test_a_large_conversion_has_a_length(self):
        self.curl("-F", f"file=@{self.file}", self.url("/renamed"))
        received = self.upstream.one()
        self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
        self.assertNotIn("transfer-encoding", received.fields)

    def test_multipart_to_json_streams_a_file_as_base64(self):
        self.assertEqual(self.curl("-F", "a=1", "-F", f"file=@{self.file}", self.url("/multipart-json"))[0], 200)
        received = self.upstream.one()
        self.assertEqual(received.json["a"], "1")
        self.assertEqual(received.json["file"], standard_base64(self.content))
        self.assert_memory_bounded()

    def test_a_json_string_streams_into_a_file(self):
        document = os.path.join(self.folder.name, "big.json")
        with open(document, "w") as file:
            json.dump({"a": "1", "file": standard_base64(self.content)}, file)
        self.assertEqual(self.curl("-H", f"Content-Type: {JSON}", "--data-binary", f"@{document}", self.url("/json-multipart"))[0], 200)
        parts = {name: (filename, content) for name, filename, _, content in self.upstream.one().parts}
        self.assertEqual(parts["a"][1], b"1")
        self.assertEqual((parts["file"][0], digest(parts["file"][1])), ("big.bin", digest(self.content)))
        self.assert_memory_bounded()

    def test_a_plain_upload_keeps_its_length(self):
        self.assertEqual(self.curl("-H", "Content-Type: application/x-big", "--data-binary", f"@{self.file}", self.url("/plain"))[0], 200)
        received = self.upstream.one()
        self.assertEqual(received.fields.get("content-length"), str(len(self.content)))
        self.assertEqual(digest(received.body), digest(self.content))
        self.assert_memory_bounded()

    def test_an_upload_from_standard_input_is_chunked_on_a_plain_route(self):
        self.assertEqual(self.curl("--upload-file", "-", self.url("/plain"), data=self.content)[0], 200)
        received = self.upstream.one()
        self.assertEqual((received.method, received.fields.get("transfer-encoding")), ("PUT", "chunked"))
        self.assertEqual(digest(received.body), digest(self.content))
        self.assert_memory_bounded()

    def test_a_chunked_upload_from_standard_input_is_converted(self):
        document = json.dumps({"list": [f"value {number}" for number in range(20000)]}).encode()
        status, _ = self.curl("--request", "POST", "-H", f"Content-Type: {JSON}", "--upload-file", "-", self.url("/json-form"), data=document)
        self.assertEqual(status, 200)
        self.assertEqual(self.upstream.one().body.count(b"&"), 19999)

    def test_a_slow_upstream_slows_the_client_down_and_not_the_memory_up(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            if exchange.received.target != "/probe":
                go_on.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        uploads = [subprocess.Popen(
            ["curl", "--silent", "--max-time", "120", "-F", f"file=@{self.file}", "--output", "/dev/null", self.url(path)],
            stdin=subprocess.DEVNULL) for path in ("/renamed", "/multipart-json", "/plain")]
        self.upstream.wait_for(3)
        # Other requests show that the loop still turns while the three are paused, and give them time to fill up.
        for _ in range(50):
            self.assertEqual(self.send("GET", "/probe").status, 200)
        self.assert_memory_bounded()
        go_on.set()
        for upload in uploads:
            self.assertEqual(upload.wait(120), 0)
        posts = [received for received in self.upstream.requests if received.method == "POST"]
        self.assertEqual([received.is_complete for received in posts], [True, True, True])

    def test_a_slow_reader_pauses_the_upstream(self):
        size = 64 * MIB
        sent = threading.Event()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/probe":
                return exchange.answer()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")
            for _ in range(size // MIB):
                exchange.send(bytes(MIB))
            sent.set()

        self.upstream.script = script
        client = self.client(receive_buffer=64 * 1024)
        client.request("GET", "/plain")
        line, fields = client.reader.head()
        self.assertEqual(fields.get("content-length"), str(size))
        for _ in range(50):
            self.assertEqual(self.send("GET", "/probe").status, 200)
        self.assertFalse(sent.is_set(), "64 MiB went somewhere although nobody reads")
        self.assert_memory_bounded()
        self.assertEqual(len(client.reader.exactly(size)), size)
        self.assertTrue(sent.wait(DEADLINE))
