"""Bodies of four sizes, converted, into servers that people run: every byte arrives, and with a length where the client gave one.

Some of these servers read no chunks (uWSGI, Django's runserver): to them a chunked body is an empty one, and they answer 200.
"""

import base64
import concurrent.futures
import json
import random

from harness import JSON, ProxyTestCase, make_multipart
from real_servers import NAMES, RealServer
from servers.bodies.described import digest

KIB = 1 << 10
SIZES = [20 * KIB, 100 * KIB, 700 * KIB, 50 * KIB * KIB]
TEXT = 'l1\r\nl2 "quoted" \\ é 日本 \t😀 </end>'
# What looks like the end of a part, of a line or of a chunk.
MARKS = b"\r\n--BOUNDARY\r\n--\r\n0\r\n\r\n\r\n--BOUNDARY-of-the-clienT--"

ROUTES = {
    "plain": "",  # what the applications make of a body that was not touched
    "copied": "request: multipart -> multipart",
    "renamed": """request:
      decode: { as: multipart }
      map: { rename: { photo: picture, note: remark } }
      encode: { as: multipart }""",
    "added": """request:
      decode: { as: multipart }
      map: { remove: [note], set: { source: "${header.x-source}", version: 2 } }
      encode: { as: multipart }""",
    "multipart-json": 'request: "multipart -> json(files: base64)"',
    "json-multipart": """request:
      decode: { as: json }
      encode: { as: multipart, files: { photo: { from: base64, filename: "p ü.bin", type: image/x-p } } }""",
    "json-json": """request:
      decode: { as: json }
      map: { rename: { note: remark }, set: { source: "${header.x-source}" } }
      encode: { as: json }""",
}


def file_of(size):
    content = random.Random(size).randbytes(size - len(MARKS))
    return content[:size // 2] + MARKS + content[size // 2:]


class Sample:
    """What is sent for a route and a size, and what a server must answer besides the framing."""

    def __init__(self, route, size):
        name, self.size = "f ü.bin", size
        if route == "json-json":
            # Texts of all lengths up to a tenth of the document, with what JSON escapes.
            texts, left = [], size
            chance = random.Random(size)
            while left > 0:
                text = (TEXT * (1 + chance.randrange(max(1, size // 10)) // len(TEXT)))[:left]
                texts.append(text)
                left -= len(text.encode())
            document = {"note": TEXT, "n": [1.5, -7, 10**15, True, None], "texts": texts}
            self.body, self.media_type = json.dumps(document, ensure_ascii=size % 3 == 0).encode(), JSON
            self.expected = {"json": {
                "remark": digest(TEXT), "n": [1.5, -7, 10**15, True, None], "texts": [digest(text) for text in texts],
                "source": digest("e2e")}}
            return
        content = file_of(size)
        file = {"filename": name, "size": size, "digest": digest(content)}
        text64 = base64.b64encode(content).decode()
        if route == "json-multipart":
            self.body, self.media_type = json.dumps({"title": "T", "photo": text64, "note": TEXT}).encode(), JSON
            self.expected = {
                "fields": {"title": digest("T"), "note": digest(TEXT)}, "files": {"photo": {**file, "filename": "p ü.bin"}}}
            return
        self.body, self.media_type = make_multipart([("title", None, b"T"), ("photo", name, content), ("note", None, TEXT.encode())])
        fields = {"title": digest("T"), "note": digest(TEXT)}
        self.expected = {
            "plain": {"fields": fields, "files": {"photo": file}},
            "copied": {"fields": fields, "files": {"photo": file}},
            "renamed": {"fields": {"title": digest("T"), "remark": digest(TEXT)}, "files": {"picture": file}},
            "added": {
                "fields": {"title": digest("T"), "source": digest("e2e"), "version": digest("2")}, "files": {"photo": file}},
            "multipart-json": {"json": {"photo": digest(text64), **fields}},
        }[route]


class ServerBodyTests(ProxyTestCase):
    routes = "\n" + "".join(
        f'  - name: "{route}-{server}"\n    match: /{route}/{server}\n    upstream: {server}\n    {text}\n'
        for server in NAMES for route, text in ROUTES.items())

    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor() as starting:
            servers = [started.result() for started in [starting.submit(RealServer, name) for name in NAMES]]
        cls.servers = {}
        cls.further_upstreams = {}
        for server in servers:
            cls.addClassCleanup(server.remove)
            cls.addClassCleanup(server.stop)
            cls.servers[server.name] = server
            cls.further_upstreams[server.name] = f"127.0.0.1:{server.port}"
        super().setUpClass()

    def post(self, route, size):
        sample = Sample(route, size)
        for name, server in self.servers.items():
            with self.subTest(server=name, route=route, size=size):
                response = self.send("POST", f"/{route}/{name}", sample.body, sample.media_type, ["X-Source: e2e"])
                self.assertEqual(response.status, 200, server.text())
                answer = response.json
                length = answer.pop("length")
                self.assertEqual((answer.pop("transfer"), length is not None), (None, True), answer)
                self.assertEqual(answer, sample.expected)


def add_tests():
    for route in ROUTES:
        for size in SIZES:
            def test(self, route=route, size=size):
                self.post(route, size)

            label = f"{size // KIB}_kib" if size < KIB * KIB else f"{size // KIB // KIB}_mib"
            setattr(ServerBodyTests, f"test_{route.replace('-', '_')}_{label}", test)


add_tests()
