"""Converted bodies that are longer than what is held of them: a length where the client gave one, filled up with nothing."""

import base64
import gzip
import json
import plistlib
import random
import re
import threading

from admin import Admin
from harness import DEADLINE, JSON, Client, ProxyTestCase, free_port, make_multipart

KIB = 1 << 10
HELD = 256 * KIB
FILE = random.Random(3).randbytes(700 * KIB)


class PaddingTests(ProxyTestCase):
    further_upstreams = {
        "chunking": "{ address: $APP, framing: chunked }",
        "counting": "{ address: $APP, framing: length }",
        "little": "{ address: $APP, spool: { memory: 64KiB, disk: 1MiB } }",
    }
    routes = """
  - { name: upload, match: /upload, upstream: app, request: multipart -> multipart }
  - { name: files, match: /files, upstream: app, request: "multipart -> json(files: base64)" }
  - { name: data, match: /data, upstream: app, request: "multipart -> plist(files: base64)" }
  - { name: flat, match: /flat, upstream: app, request: "multipart(nesting: flat) -> plist(files: base64)" }
  - { name: body, match: /body, upstream: app, request: "raw -> plist(files: base64)" }
  - { name: documents, match: /documents, upstream: app, request: json -> json }
  - { name: forms, match: /forms, upstream: app, request: json -> form }
  - name: declared
    match: /declared
    upstream: app
    request: { decode: { as: json }, fields: { n: integer }, encode: { as: form } }
  - { name: chunked, match: /chunked, upstream: chunking, request: multipart -> multipart }
  - { name: members, match: /members, upstream: app, request: json -> multipart, limits: { tree: 64MiB } }
  - { name: sorted, match: /sorted, upstream: app, request: "json -> json(order: sorted)", limits: { tree: 64MiB }, timeouts: { first_byte: 5m } }
  - { name: xml, match: /xml, upstream: app, request: json -> xml, limits: { tree: 256MiB }, timeouts: { first_byte: 5m } }
  - { name: counted, match: /counted, upstream: counting, request: multipart -> multipart }
  - { name: photos, match: /photos, upstream: app, request: { decode: { as: json }, encode: { as: multipart, files: { p: { from: base64 } } } } }
  - { name: little, match: /little, upstream: little, request: { decode: { as: json }, encode: { as: multipart, files: { p: { from: base64 } } } } }
"""

    @classmethod
    def setUpClass(cls):
        cls.admin_port = free_port()
        cls.settings = f"admin: 127.0.0.1:{cls.admin_port}\n"
        super().setUpClass()

    def metric(self, name, **labels):
        return Admin(self.admin_port).metrics().sum(name, **labels)

    def upload(self, path="/upload", content=FILE, fields=(), boundary="of-a-library-in-the-field", **options):
        body, media_type = make_multipart([("a", None, b"1"), ("f", "f.bin", content), ("b", None, b"2")], boundary)
        return self.send("POST", path, body, media_type, fields, **options)

    def test_an_upload_has_its_exact_length_however_the_client_writes_its_parts(self):
        """Nothing stands behind the closing delimiter: not all readers take that."""
        disposition = "Content-Disposition: form-data; "
        heads = {
            "browser": (disposition + 'name="a"', disposition + 'name="f"; filename="ü.bin"\r\nContent-Type: x/y'),
            "curl": (disposition + 'name="a\\"b"', disposition + 'name="f"; filename="a\\"b.bin"\r\nContent-Type: x/y'),
            ".NET": ("Content-Type: text/plain; charset=utf-8\r\n" + disposition + "name=a",
                     disposition + "name=f; filename=f.bin; filename*=utf-8''f.bin"),
            "Java": (disposition + 'name="a"\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: 8bit',
                     disposition + 'name="f"; filename="f.bin"\r\nContent-Type: x/y\r\nContent-Transfer-Encoding: binary'),
            "Ruby": (disposition + 'name="a"', disposition + 'name="f"; filename="f.bin"\r\nContent-Length: 716800\r\nContent-Type: \r\n'
                     "Content-Transfer-Encoding: binary"),
            "bare": ("content-disposition:form-data;name=a", "content-disposition:form-data;name=f;filename=f"),
        }
        exact = self.metric("recast_transcode_framing_total", mode="length")
        bytes_before = self.metric("recast_transcode_padding_bytes_total")
        count = 0
        for client, (field, file) in heads.items():
            for boundary, end in (("-" * 24 + "0123456789abcdef", "\r\n"), ("4f2f0d5e5d1a4f0c9d0d9a9c0f1e2d3c", ""), ("b" * 22, "\r\n"), ("b" * 70, "\r\n")):
                for order in ((field, file, field), (file, file, field), (field, field, file)):
                    with self.subTest(client=client, boundary=boundary, order=order):
                        self.upstream.reset()
                        contents = [FILE if "filename" in head else b"1" for head in order]
                        body = b"".join(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n" for head, content in zip(order, contents))
                        body += f"--{boundary}--{end}".encode()
                        response = self.send("POST", "/upload", body, f"multipart/form-data; boundary={boundary}")
                        self.assertEqual(response.status, 200)
                        count += 1
                        received = self.upstream.one()
                        ours = re.search("boundary=(.*)", received.fields.get("content-type"))[1].encode()
                        self.assertEqual(len(ours), len(boundary))
                        self.assertNotIn("transfer-encoding", received.fields)
                        self.assertTrue(received.body.endswith(b"\r\n--" + ours + b"--" + end.encode()), received.body[-200:])
                        pieces = (b"\r\n" + received.body).split(b"\r\n--" + ours)
                        self.assertEqual([piece.split(b"\r\n\r\n", 1)[1] for piece in pieces[1:-1]], contents)
                        self.assertEqual(self.recast.log_entry(response.fields.get("x-request-id"))["framing"], "length")
        self.assertEqual(self.metric("recast_transcode_framing_total", mode="length"), exact + count)
        self.assertEqual(self.metric("recast_transcode_padding_bytes_total"), bytes_before)

    def test_under_a_short_boundary_an_upload_has_a_length_and_its_padding_is_an_epilogue(self):
        padded = self.metric("recast_transcode_framing_total", mode="padded")
        bytes_before = self.metric("recast_transcode_padding_bytes_total")
        self.assertEqual(self.upload(boundary="xYzZY").status, 200)
        received = self.upstream.one()
        self.assertNotIn("transfer-encoding", received.fields)
        boundary = re.search("boundary=(.*)", received.fields.get("content-type"))[1].encode()
        body, epilogue = received.body.split(b"--" + boundary + b"--")
        self.assertRegex(epilogue, rb"\A(\r\n)*\r?\Z")
        self.assertLess(len(epilogue), 60_000)
        received.body = body + b"--" + boundary + b"--\r\n"
        self.assertEqual([(name, content) for name, _, _, content in received.parts], [("a", b"1"), ("f", FILE), ("b", b"2")])
        self.assertEqual(self.metric("recast_transcode_framing_total", mode="padded"), padded + 1)
        # The line end behind the closing delimiter is the encoder's.
        self.assertEqual(self.metric("recast_transcode_padding_bytes_total"), bytes_before + len(epilogue) - 2)

    def test_values_that_become_files_have_their_exact_length_as_long_as_the_spool_has_room(self):
        for path, size, framing in (
                ("/photos", 100 * KIB, "length"), ("/photos", 380 * KIB, "length"), ("/photos", 400 * KIB, "spooled"),
                ("/photos", 5000 * KIB, "spooled"), ("/little", 700 * KIB, "spooled"), ("/little", 900 * KIB, "padded")):
            with self.subTest(path=path, size=size):
                self.upstream.reset()
                file = random.Random(size).randbytes(size)
                document = json.dumps({"a": 1, "p": base64.b64encode(file).decode(), "b": "2"}).encode()
                response = self.send("POST", path, document, JSON)
                self.assertEqual(response.status, 200)
                received = self.upstream.one()
                self.assertNotIn("transfer-encoding", received.fields)
                padding = len(received.body) - len(received.body.rstrip(b"\r\n"))
                self.assertEqual(self.recast.log_entry(response.fields.get("x-request-id"))["framing"], framing)
                if framing == "padded":
                    received.body = received.body.rstrip(b"\r\n") + b"\r\n"
                    self.assertGreater(padding, 100 * KIB)
                else:
                    self.assertEqual(padding, 2)
                self.assertEqual([(name, content) for name, _, _, content in received.parts], [("a", b"1"), ("p", file), ("b", b"2")])

    def test_the_log_says_how_each_body_was_framed(self):
        def framing(path, *arguments, **options):
            response = self.upload(path, *arguments, **options)
            return self.recast.log_entry(response.fields.get("x-request-id"))["framing"]

        self.assertEqual(framing("/upload", FILE), "length")
        self.assertEqual(framing("/upload", FILE, boundary="b" * 21), "padded")
        self.assertEqual(framing("/upload", b"short"), "length")
        self.assertEqual(framing("/files", FILE), "padded")
        self.assertEqual(framing("/chunked", FILE), "chunked")
        self.assertEqual(framing("/counted", FILE), "spooled")

    def test_less_than_what_is_held_has_its_exact_length_and_more_is_padded(self):
        for size in (HELD - 1000, HELD - 1, HELD, HELD + 1, HELD + 1000):
            with self.subTest(size=size):
                self.upstream.reset()
                # The output is the document that came: `{"t":"xxx"}`.
                body = b'{"t":"' + b"x" * (size - 8) + b'"}'
                self.assertEqual(self.send("POST", "/documents", body, JSON).status, 200)
                received = self.upstream.one()
                self.assertNotIn("transfer-encoding", received.fields)
                self.assertEqual(received.body.rstrip(b"\n"), body)
                padding = len(received.body) - len(body)
                self.assertEqual(padding > 0, size >= HELD, padding)

    def test_a_document_of_many_values_has_a_length(self):
        """However many there are, whatever stands in front, and however the body is cut."""
        for count in (1_000, 5_000, 50_000, 200_000):
            for value, front in ((1, "a"), ({"id": 1, "name": "a name"}, "a text " * 20)):
                with self.subTest(count=count, value=value):
                    self.upstream.reset()
                    document = json.dumps({"t": front, "a": [value] * count}).encode()
                    self.assertEqual(self.send("POST", "/members", document, JSON).status, 200)
                    received = self.upstream.one()
                    parts = received.body.count(b"Content-Disposition: form-data; name=")
                    self.assertEqual(parts, 1 + count * (1 if value == 1 else 2))
                    self.assertEqual(received.fields.get("content-length"), str(len(received.body)))

    def test_documents_and_base64_are_followed_by_white_space(self):
        self.assertEqual(self.upload("/files").status, 200)
        received = self.upstream.one()
        self.assertEqual(received.json, {"a": "1", "f": base64.b64encode(FILE).decode(), "b": "2"})
        self.assertRegex(received.body[-100:], rb"\A\n+\Z")

    def test_files_in_a_property_list_have_room_for_their_lines(self):
        """Which are the shorter the deeper they stand: where names may say that, the body is held."""
        file = random.Random(5).randbytes(3_000_000)
        held = self.metric("recast_transcode_framing_total", mode="spooled")
        for path, name, found in (("/flat", "a[b]", lambda document: document["a[b]"]), ("/data", "f", lambda document: document["f"]),
                                  ("/data", "a[b][c][d][e][f][g][h]", lambda document: document["a"]["b"]["c"]["d"]["e"]["f"]["g"]["h"])):
            with self.subTest(path=path, name=name):
                self.upstream.reset()
                body, media_type = make_multipart([("n", None, b"1"), (name, "f.bin", file), ("last", "l.bin", b"2")])
                self.assertEqual(self.send("POST", path, body, media_type).status, 200)
                received = self.upstream.one()
                self.assertEqual(found(plistlib.loads(received.body)), file)
                self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
        self.assertEqual(self.metric("recast_transcode_framing_total", mode="spooled"), held + 2)
        self.upstream.reset()
        self.assertEqual(self.send("POST", "/body", file, "application/octet-stream").status, 200)
        self.assertEqual(plistlib.loads(self.upstream.one().body), {"file": file})

    def test_a_document_that_is_read_whole_has_its_exact_length_whatever_it_becomes(self):
        document = {"n": 1, "t": ["é" * 1000] * 150}
        self.assertEqual(self.send("POST", "/declared", json.dumps(document).encode(), JSON).status, 200)
        received = self.upstream.one()
        self.assertGreater(len(received.body), 800 * KIB)
        self.assertNotIn("transfer-encoding", received.fields)
        self.assertEqual(received.body, b"n=1" + b"&t%5B%5D=" .join([b""] + [b"%C3%A9" * 1000] * 150))

    def test_a_document_that_is_read_whole_has_its_exact_length_however_long_it_is(self):
        for path, body in (
            ("/sorted", b'{"a":"' + b"x" * 12_000_000 + b'"}'),
            ("/sorted", b'{"a":"' + b"\\u0000" * 2_000_000 + b'"}'),
            # As many bytes beyond the 8 MiB that are held, in fewer values: a debug build takes each of them its time.
            ("/xml", json.dumps({"a": ["value" * 20] * 90_000}).encode()),
        ):
            with self.subTest(path=path, length=len(body)):
                self.upstream.reset()
                self.assertEqual(self.send("POST", path, body, JSON).status, 200)
                received = self.upstream.one()
                self.assertNotIn("transfer-encoding", received.fields)
                self.assertEqual(received.body[-1:], b"}" if path == "/sorted" else b">")
                if path == "/sorted":
                    self.assertEqual(len(received.body), len(body))

    def test_an_upload_of_many_files_with_long_names_has_a_length_however_these_are_spelled(self):
        name = "\u00e4" * 120 + ".txt"
        plain, extended = f'filename="{name}"'.encode(), b"filename*=UTF-8''" + b"%C3%A4" * 120 + b".txt"
        for spelling, boundary, twice in [
            (plain, "b" * 22, range(1)), (plain + b"; " + extended, "b" * 22, range(600, 601)), (extended, "b" * 22, range(1, 600)),
            (plain, "b", range(1)), (extended, "b", range(600, 601)),
        ]:
            with self.subTest(spelling=spelling, boundary=boundary):
                self.upstream.reset()
                body = b"".join(
                    b'--%s\r\nContent-Disposition: form-data; name="f%d"; %s\r\n\r\n%s\r\n' % (boundary.encode(), number, spelling, b"x" * 2048)
                    for number in range(600)) + b"--%s--\r\n" % boundary.encode()
                self.assertEqual(self.send("POST", "/upload", body, f"multipart/form-data; boundary={boundary}").status, 200)
                received = self.upstream.one()
                self.assertNotIn("transfer-encoding", received.fields)
                self.assertEqual(received.body.count(plain), 600)
                # From where the length is told on there is room for as much as came.
                self.assertIn(received.body.count(b"; " + extended), twice)
                padding = len(received.body) - len(received.body.rstrip(b"\r\n")) - 2
                self.assertEqual(padding > 0, len(boundary) < 22)
                self.assertLess(padding, len(body) / 3)

    def test_what_came_in_chunks_goes_in_chunks(self):
        body, media_type = make_multipart([("f", "f.bin", FILE)])
        texts = json.dumps({"t": ["x" * 1000] * 400}).encode()
        for path, content, kind in (("/upload", body, media_type), ("/forms", texts, JSON)):
            with self.subTest(path=path):
                self.upstream.reset()
                with Client(self.recast.port) as client:
                    client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n")
                    client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))
                    self.assertEqual(client.response().status, 200)
                self.assertEqual(self.upstream.one().fields.get("transfer-encoding"), "chunked")

    def test_what_nothing_can_be_told_of_is_held(self):
        held = self.metric("recast_transcode_framing_total", mode="spooled")
        body, media_type = make_multipart([("f", "f.bin", FILE)])
        response = self.send("POST", "/upload", gzip.compress(body), media_type, ["Content-Encoding: gzip"])
        self.assertEqual(response.status, 200)
        received = self.upstream.one()
        self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
        self.assertEqual(received.parts[0][3], FILE)
        self.upstream.reset()
        self.assertEqual(self.send("POST", "/forms", json.dumps({"t": ["x" * 1000] * 400}).encode(), JSON).status, 200)
        received = self.upstream.one()
        self.assertEqual(received.fields.get("content-length"), str(len(received.body)))
        self.assertEqual(self.metric("recast_transcode_framing_total", mode="spooled"), held + 2)

    def test_a_body_that_outgrows_its_length_is_refused_and_cut(self):
        # Behind 600 KiB of a file come texts whose every byte is escaped to six.
        body, media_type = make_multipart(
            [("f", "f.bin", FILE[:600 * KIB]), *((f"t{number}", None, b"\x01" * 60 * KIB) for number in range(12))])
        response = self.send("POST", "/files", body, media_type)
        self.assert_problem(response, 422)
        self.assertEqual(response.json["code"], "length_outgrown")
        self.assertIn("upstreams.app.framing", response.json["setting"])
        self.assertFalse(self.upstream.one().is_complete)

    def test_a_client_that_leaves_leaves_no_whole_body(self):
        body, media_type = make_multipart([("f", "f.bin", FILE)])
        client = self.client()
        client.send(f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n")
        client.send(body[:-10])
        self.upstream.wait_for(1)
        client.socket.close()
        self.assertFalse(self.upstream.one().is_complete)

    def test_padding_waits_for_an_upstream_that_does_not_read(self):
        reading = threading.Event()

        def script(exchange):
            self.assertTrue(reading.wait(DEADLINE))
            exchange.read_body()
            exchange.answer()

        self.upstream.script = script
        # Escaped quotes half of it: the output is less than the bound by much.
        body = json.dumps({"t": "\\u00e9" * 600 * KIB}).encode().replace(b"\\\\u", b"\\u")
        with Client(self.recast.port) as client:
            client.request("POST", "/documents", body, JSON)
            self.upstream.wait_for(1)
            reading.set()
            self.assertEqual(client.response().status, 200)
        received = self.upstream.one()
        self.assertEqual(received.json, {"t": "é" * 600 * KIB})
        self.assertGreater(len(received.body) - len(received.body.rstrip(b"\n")), 1 << 20)
