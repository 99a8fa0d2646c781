"""Content codings: bodies that arrive compressed, bombs, and responses that are compressed on their way back.

What is sent is made by Python's zlib and by Debian's gzip, brotli and zstd; what comes back is read by them and by curl.
"""

import gzip
import random
import struct
import subprocess
import threading
import zlib

import requests
from harness import DEADLINE, FORM, JSON, Closed, ProxyTestCase, make_multipart

MIB = 1 << 20
CODINGS = ("gzip", "deflate", "br", "zstd")
ALL = "gzip, deflate, br, zstd"


def tool(*command, data):
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=DEADLINE).stdout


def encode(coding, data):
    if coding == "deflate":
        return zlib.compress(data)
    return tool(*{"gzip": ("gzip", "-c"), "br": ("brotli", "-c"), "zstd": ("zstd", "-q", "-c")}[coding], data=data)


def decode(coding, data):
    if coding == "deflate":
        return zlib.decompress(data)
    return tool(*{"gzip": ("gzip", "-dc"), "br": ("brotli", "-dc"), "zstd": ("zstd", "-q", "-dc")}[coding], data=data)


def coded(coding):
    return (f"Content-Encoding: {coding}",)


class RequestCodingTests(ProxyTestCase):
    routes = """
  - { name: forms, match: /forms, upstream: app, request: form -> json }
  - name: small
    match: /small
    upstream: app
    limits: { decompressed: 1000B, ratio: 1000000, body: 500B }
    request: form -> json
  - { name: off, match: /off, upstream: app, codings: off, request: form -> json }
  - { name: one, match: /one, upstream: app, codings: br, request: form -> json }
  - name: upload
    match: /upload
    upstream: app
    limits: { body: 1GiB, decompressed: 1GiB }
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_forms_in_every_coding_become_json(self):
        for coding in CODINGS:
            self.upstream.reset()
            response = self.send("POST", "/forms", encode(coding, b"a=1&b=2"), FORM, coded(coding.upper()))
            received = self.upstream.one()
            self.assertEqual((response.status, received.json), (200, {"a": "1", "b": "2"}), coding)
            self.assertNotIn("content-encoding", received.fields)
            self.assertEqual(received.fields.get("content-length"), str(len(received.body)))

    def test_r36_other_codings_are_415_and_the_answer_says_which_would_do(self):
        for path, field, wanted in (
                ("/forms", "compress", ALL), ("/forms", "gzip, exi", ALL), ("/forms", "gzip, gzip, gzip", ALL),
                ("/off", "gzip", "identity"), ("/one", "gzip", "br")):
            response = self.send("POST", path, b"a=1", FORM, coded(field))
            self.assert_problem(response, 415, "unsupported_content_coding")
            self.assertEqual(response.fields.get("accept-encoding"), wanted)
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.send("POST", "/one", encode("br", b"a=1"), FORM, coded("br")).status, 200)

    def test_curl_and_requests_send_gzip(self):
        status, _ = self.curl("--data-binary", "@-", "-H", "Content-Encoding: gzip", "-H", f"Content-Type: {FORM}",
                              self.url("/forms"), data=gzip.compress(b"a=%20x&b[]=1&b[]=2"))
        self.assertEqual((status, self.upstream.one().json), (200, {"a": " x", "b": ["1", "2"]}))
        self.upstream.reset()
        response = requests.post(
            self.url("/forms"), data=(piece for piece in (gzip.compress(b"a=1&"), gzip.compress(b"b=2"))),
            headers={"Content-Encoding": "gzip", "Content-Type": FORM}, timeout=DEADLINE)
        self.assertEqual((response.status_code, self.upstream.one().json), (200, {"a": "1", "b": "2"}))

    def test_raw_deflate_two_codings_and_identity(self):
        raw = zlib.compressobj(wbits=-15)
        body = raw.compress(b"a=1") + raw.flush()
        twice = encode("br", encode("gzip", b"a=1"))
        for fields, data in (
                (coded("deflate"), body), (coded("gzip, br"), twice), (coded("gzip") + coded("br"), twice),
                (coded("identity"), b"a=1"), (coded("gzip, identity"), gzip.compress(b"a=1"))):
            self.upstream.reset()
            self.assertEqual(self.send("POST", "/forms", data, FORM, fields).status, 200, fields)
            self.assertEqual(self.upstream.one().json, {"a": "1"})

    def test_a_coded_body_that_is_cut_anywhere_is_never_whole(self):
        for coding in CODINGS:
            body = encode(coding, b"a=1&b=2&c=" + bytes(range(65, 91)))
            for count in range(len(body)):
                response = self.send("POST", "/forms", body[:count], FORM, coded(coding))
                self.assert_problem(response, 400, "coding_malformed")
        self.assertEqual(self.upstream.requests, [])

    def test_garbage_is_400_and_so_is_what_follows_the_coded_data(self):
        for coding in CODINGS:
            for body in (b"a=1&b=2", encode(coding, b"a=1") + b"x", random.Random(3).randbytes(300)):
                response = self.send("POST", "/forms", body, FORM, coded(coding))
                self.assert_problem(response, 400, "coding_malformed")
        self.assertEqual(self.upstream.requests, [])

    def test_the_limits_count_the_wire_and_what_comes_out_apart(self):
        def form(count):
            return b"a=" + bytes(97 + i % 26 for i in range(count - 2))
        for count, status in ((999, 200), (1000, 200), (1001, 413)):
            response = self.send("POST", "/small", encode("gzip", form(count)), FORM, coded("gzip"))
            self.assertEqual(response.status, status, count)
        self.assert_problem(response, 413, "limit_decompressed")
        self.assertEqual(response.json["setting"], "limits.decompressed")
        body = encode("gzip", b"a=" + random.Random(1).randbytes(600).hex().encode())
        self.assertGreater(len(body), 500)
        self.assert_problem(self.send("POST", "/small", body, FORM, coded("gzip")), 413, "limit_body")

    def test_bombs_are_refused_early_and_memory_stays_flat(self):
        self.send("POST", "/forms", encode("gzip", b"a=1"), FORM, coded("gzip"))
        before = self.recast.peak_bytes()
        zeros = bytes(16 * MIB)
        bombs = {
            "gzip": gzip.compress(zeros) * 640, "zstd": encode("zstd", zeros) * 640,  # 10 GiB of zeros
            "deflate": zlib.compress(zeros), "br": tool("brotli", "-q", "1", "-c", data=zeros),
        }
        for path, media_type in (("/forms", FORM), ("/upload", "multipart/form-data; boundary=x")):
            for coding, bomb in bombs.items():
                with self.subTest(path=path, coding=coding):
                    response = self.send("POST", path, bomb, media_type, coded(coding))
                    self.assert_problem(response, 413)
                    # zeros are a name without end, or a preamble, which has a limit of its own
                    self.assertIn(response.json["code"], ("limit_ratio", "limit_key", "limit_preamble"))
        twice = gzip.compress(gzip.compress(zeros))
        self.assert_problem(self.send("POST", "/forms", twice, FORM, coded("gzip, gzip")), 413, "limit_(ratio|key)")
        self.assertLess(self.recast.peak_bytes() - before, 40 * MIB)

    def test_200_mib_of_gzip_multipart_are_streamed(self):
        block = random.Random(7).randbytes(MIB)
        head, tail = make_multipart([("a", None, b"1"), ("f", "f.bin", b"@")])[0].split(b"@")
        media_type = make_multipart([])[1]
        packer = zlib.compressobj(1, wbits=-15)

        def pack(data):
            return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)
        first, middle = pack(head), pack(block)
        last = packer.compress(tail) + packer.flush()
        check, size = zlib.crc32(head), len(head) + 200 * MIB + len(tail)
        for _ in range(200):
            check = zlib.crc32(block, check)
        end = last + struct.pack("<II", zlib.crc32(tail, check), size & 0xFFFFFFFF)
        start = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + first
        seen = {"count": 0, "crc": 0}

        def script(exchange):
            for piece in exchange.reader.body_pieces(exchange.received.fields):
                seen["count"] += len(piece)
            exchange.received.is_complete = True
            exchange.answer()
        self.upstream.script = script
        with self.client() as client:
            client.send(f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Encoding: gzip\r\n"
                        f"Content-Length: {len(start) + 200 * len(middle) + len(end)}\r\n\r\n")
            client.send(start + middle)
            self.upstream.wait_for(1)
            before = self.recast.peak_bytes()
            for _ in range(199):
                client.send(middle)
            client.send(end)
            self.assertEqual(client.response().status, 200)
        self.assertGreater(seen["count"], 200 * MIB)
        self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)

    def test_a_slow_upstream_holds_the_decoder_back(self):
        go = threading.Event()

        def script(exchange):
            go.wait(DEADLINE)
            exchange.read_body()
            exchange.answer()
        self.upstream.script = script
        source = random.Random(5)
        content = b"".join(source.randbytes(40) + bytes(360) for _ in range(20 * MIB // 400))  # 20 MiB in about 2.5
        body, media_type = make_multipart([("a", None, b"1"), ("f", "f.bin", content)])
        packed = gzip.compress(body, 1)
        before = self.recast.peak_bytes()
        with self.client() as client:
            # With a length it would be held until the upstream's is known.
            client.send(f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Encoding: gzip\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n")
            client.send(b"%x\r\n" % len(packed) + packed[:300_000])
            self.upstream.wait_for(1)
            go.set()
            client.send(packed[300_000:] + b"\r\n0\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        self.assertTrue(self.upstream.one().parts[1][3] == content)
        self.assertLess(self.recast.peak_bytes() - before, 8 * MIB)

    def test_plain_routes_leave_a_coded_body_alone(self):
        body = gzip.compress(b"a=1") + b"not gzip any more"
        response = self.send("POST", "/anything", body, FORM, coded("x-unknown, gzip"))
        received = self.upstream.one()
        self.assertEqual((response.status, received.body), (200, body))
        self.assertEqual(received.fields.all("content-encoding"), ["x-unknown, gzip"])

    def test_the_log_names_the_coding(self):
        with self.client() as client:
            client.request("POST", "/forms", encode("br", b"a=1"), FORM, (*coded("br"), "X-Request-Id: the-coded-one"))
            self.assertEqual(client.response().status, 200)
        count = 1
        while True:
            lines = [line for line in self.recast.log_lines(count) if line["request_id"] == "the-coded-one"]
            if lines:
                break
            count += 1
        self.assertEqual((lines[0]["coding"], lines[0]["from"], lines[0]["bytes_in"]), ("br", "form", len(encode("br", b"a=1"))))


class ResponseCodingTests(ProxyTestCase):
    routes = """
  - { name: back, match: /back, upstream: app, response: json -> form }
  - { name: asks, match: /asks, upstream: app, codings: { undo: [br, gzip], ask: true }, response: json -> form }
  - name: strict
    match: /strict
    upstream: app
    response: [ { on_other_type: reject, convert: json -> form } ]
  - { name: shrink, match: /shrink, upstream: app, compress: { min: 20B }, response: json -> json }
  - { name: plain, match: "/plain/*", upstream: app, compress: { plain: true, min: 100B } }
  - name: traced
    match: "/traced/*"
    upstream: app
    trailers: [Content-Digest, ETag, X-Rows]
    compress: { plain: true, min: 100B }
  - { name: untouched, match: "/*", upstream: app }
"""
    ANSWER = b'{"a":"1","b":[' + b",".join(b'"%d"' % n for n in range(50)) + b"]}"

    def answer(self, body, *fields, status=200, framing="length", media_type=JSON):
        def script(exchange):
            exchange.read_body()
            exchange.answer(status, body, framing, (f"Content-Type: {media_type}", *fields))
        self.upstream.script = script

    def test_coded_answers_are_undone_and_converted(self):
        for coding in CODINGS:
            for framing in ("length", "chunked"):
                self.answer(encode(coding, b'{"a":1}'), f"Content-Encoding: {coding}", 'ETag: "x"', framing=framing)
                response = self.send("GET", "/back")
                self.assertEqual((response.status, response.body), (200, b"a=1"), coding)
                self.assertNotIn("content-encoding", response.fields)
                self.assertEqual(response.fields.get("etag"), 'W/"x"')

    def test_the_upstream_is_asked_for_what_the_route_says(self):
        """For what the client takes, too: what isn't converted passes as it came."""
        self.send("GET", "/back", fields=("Accept-Encoding: gzip",))
        asked = ((("Accept-Encoding: zstd",), "identity"), ((), "identity"), (("Accept-Encoding: ",), "identity"),
                 (("Accept-Encoding: x-gzip;q=0.5, br",), "br, gzip"), (("Accept-Encoding: *;q=0.1",), "br, gzip"),
                 (("Accept-Encoding: gzip;q=0, *",), "br"), (("Accept-Encoding: deflate", "Accept-Encoding: gzip"), "gzip"))
        for fields, _ in asked:
            self.send("GET", "/asks", fields=fields)
        seen = [request.fields.all("accept-encoding") for request in self.upstream.wait_for(1 + len(asked))]
        self.assertEqual(seen, [["identity"]] + [[codings] for _, codings in asked])

    def test_what_a_route_asks_for_and_passes_is_what_the_client_takes(self):
        page = b"<p>It is not here.</p>" * 50

        def script(exchange):
            exchange.read_body()
            takes = "gzip" in (exchange.received.fields.get("accept-encoding") or "")
            exchange.answer(404, gzip.compress(page) if takes else page, "length",
                            ("Content-Type: text/html", "Vary: Accept-Encoding", *(("Content-Encoding: gzip",) if takes else ())))

        self.upstream.script = script
        for fields, coding in ((), None), (("Accept-Encoding: gzip;q=0",), None), (("Accept-Encoding: gzip",), "gzip"):
            response = self.send("GET", "/asks", fields=fields)
            self.assertEqual((response.status, response.fields.get("content-encoding")), (404, coding))
            self.assertEqual(gzip.decompress(response.body) if coding else response.body, page)

    def test_several_content_types_are_none(self):
        self.answer(b'{"a":1}', "Content-Type: text/html")
        response = self.send("GET", "/back")
        self.assertEqual((response.body, response.fields.all("content-type")), (b'{"a":1}', [JSON, "text/html"]))
        self.assert_problem(self.send("GET", "/strict"), 502, "upstream_unacceptable_type")

    def test_trailers_of_coded_content_tell_nothing_of_its_bytes(self):
        text = b"0123456789" * 100
        trailers = 'Content-Digest: sha-256=:AA==:\r\nETag: "x"\r\nX-Rows: 10\r\n'

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
                          "Trailer: content-digest, x-rows\r\n\r\n" f"{len(text):x}\r\n{text.decode()}\r\n0\r\n{trailers}\r\n")

        self.upstream.script = script
        for field, coded in ("X-Any: 1", False), ("Accept-Encoding: gzip", True):
            client = self.client()
            client.send(f"GET /traced/a HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE, close\r\n{field}\r\n\r\n".encode())
            head, _, body = client.reader.rest().partition(b"\r\n\r\n")
            self.assertEqual(b"content-digest" in head.lower(), not coded, head)
            for name in (b"Content-Digest: ", b"ETag: "):
                self.assertEqual(name in body, not coded, body)
            self.assertTrue(body.endswith(b"X-Rows: 10\r\n\r\n"), body)

    def test_an_answer_that_cannot_be_undone_is_502_and_an_unknown_coding_passes_or_not(self):
        good = encode("gzip", b'{"a":1}')
        for body in (good[:-1], good + b"x", b"garbage", bytes(5)):
            self.answer(body, "Content-Encoding: gzip")
            response = self.send("GET", "/back")
            self.assert_problem(response, 502, "upstream_body_malformed")
            self.assertEqual(response.json["cause"], "coding_malformed")
        self.answer(gzip.compress(b" " * (20 * MIB)), "Content-Encoding: gzip")
        response = self.send("GET", "/back")
        self.assert_problem(response, 502, "upstream_body_limit")
        self.assertEqual(response.json["cause"], "limit_ratio")
        self.answer(b"?", "Content-Encoding: exi")
        response = self.send("GET", "/back")
        self.assertEqual((response.status, response.body, response.fields.get("content-encoding")), (200, b"?", "exi"))
        self.assert_problem(self.send("GET", "/strict"), 502, "upstream_unacceptable_coding")

    def test_an_empty_or_one_space_answer_passes_undone(self):
        for text in (b"", b" "):
            self.answer(gzip.compress(text), "Content-Encoding: gzip")
            response = self.send("GET", "/back")
            self.assertEqual((response.status, response.body), (200, text))
            self.assertNotIn("content-encoding", response.fields)
            self.assertEqual(response.fields.get("content-type"), JSON)

    def test_converted_answers_get_the_coding_the_client_wants(self):
        self.answer(self.ANSWER, 'ETag: "x"')
        for field, coding in (
                ("gzip", "gzip"), ("br", "br"), ("zstd", "zstd"), ("gzip, deflate, br", "br"), ("*", "br"),
                ("br;q=0.5, gzip", "gzip"), ("br;q=0, *", "zstd"), ("deflate", None), ("identity", None),
                ("gzip;q=0", None), ("gzip;q=0.5, identity", None), ("", None), (None, None)):
            response = self.send("GET", "/shrink", fields=() if field is None else (f"Accept-Encoding: {field}",))
            self.assertEqual(response.fields.get("content-encoding"), coding, field)
            body = decode(coding, response.body) if coding else response.body
            self.assertEqual((response.status, body), (200, self.ANSWER), field)
            self.assertEqual((response.fields.get("vary"), response.fields.get("etag")), ("Accept-Encoding", 'W/"x"'))
            self.assertEqual(response.framing, "length")
        self.answer(b'{"a":1}')
        self.assertNotIn("content-encoding", self.send("GET", "/shrink", fields=("Accept-Encoding: br",)).fields)

    def test_curl_reads_plain_answers_that_were_compressed(self):
        text = b"It was a dark and stormy night. " * 1000
        for framing in ("length", "chunked", "close"):
            self.answer(text, "Vary: Origin", "Accept-Ranges: bytes", framing=framing, media_type="text/plain")
            status, body = self.curl("--compressed", self.url("/plain/a"))
            self.assertEqual((status, body), (200, text))
            response = self.send("GET", "/plain/a", fields=("Accept-Encoding: gzip",))
            self.assertEqual(response.fields.get("content-encoding"), "gzip")
            self.assertEqual(gzip.decompress(response.body), text)
            self.assertLess(len(response.body), 1000)
            self.assertEqual(response.fields.all("vary"), ["Origin, Accept-Encoding"])
            self.assertNotIn("accept-ranges", response.fields)
            self.assertEqual(response.framing, "chunked")
        answer = requests.get(self.url("/plain/a"), timeout=DEADLINE)
        self.assertEqual((answer.content, answer.headers["Content-Encoding"]), (text, "gzip"))

    def test_what_must_not_be_compressed_is_not(self):
        text = b"0123456789" * 100
        accept = ("Accept-Encoding: gzip",)
        for fields, status, media_type, size in (
                (("Content-Encoding: br",), 200, "text/plain", 1000), (("Cache-Control: no-transform",), 200, "text/plain", 1000),
                (("Content-Range: bytes 0-9/100",), 206, "image/png", 1000), ((), 200, "image/png", 1000),
                ((), 200, "text/plain", 99)):
            self.answer(text[:size], 'ETag: "x"', *fields, status=status, media_type=media_type)
            response = self.send("GET", "/plain/a", fields=accept)
            self.assertEqual((response.status, response.body), (status, text[:size]), fields)
            self.assertEqual((response.framing, response.fields.get("etag")), ("length", '"x"'))
            self.assertNotIn("vary", response.fields)
        # A range is of a representation of which there is another one.
        for size in (99, 1000):
            self.answer(text[:size], 'ETag: "x"', "Content-Range: bytes 0-9/1000", status=206, media_type="text/plain")
            response = self.send("GET", "/plain/a", fields=accept)
            self.assertEqual((response.body, response.fields.all("vary"), response.fields.get("etag")),
                             (text[:size], ["Accept-Encoding"], '"x"'))
        # Of several ranges it isn't said here what they are of.
        self.answer(text, status=206, media_type="multipart/byteranges; boundary=x")
        response = self.send("GET", "/plain/a", fields=accept)
        self.assertEqual((response.body, response.fields.all("vary")), (text, ["Accept-Encoding"]))
        self.answer(text, 'ETag: "x"', media_type="text/plain")
        response = self.send("GET", "/plain/a")
        self.assertEqual((response.body, response.fields.get("vary"), response.fields.get("etag")),
                         (text, "Accept-Encoding", '"x"'))

    def test_a_download_is_not_resumed_in_another_coding(self):
        date, accept = "If-Range: Sat, 01 Jan 2022 00:00:00 GMT", "Accept-Encoding: gzip"
        for path, fields, ranged in (
                ("/plain/a", (date, accept), False), ("/plain/a", (date,), True), ("/plain/a", (date, "Accept-Encoding: identity"), True),
                ("/plain/a", (date, accept, "Cache-Control: no-transform"), True),
                ("/plain/a", (accept,), True), ("/plain/a", ('If-Range: "x"', accept), True), ("/plain/a", ('If-Range: W/"x"', accept), True),
                ("/untouched", (date, accept), True)):
            with self.subTest(path, fields=fields):
                self.upstream.reset()
                self.send("GET", path, fields=("Range: bytes=10-", *fields))
                received = self.upstream.one().fields
                self.assertEqual((received.all("range"), "if-range" in received),
                                 (["bytes=10-"] if ranged else [], ranged and any("If-Range" in field for field in fields)))
        for minor, ranges in ((0, ["bytes=10-"]), (1, [])):
            with self.subTest(minor=minor):
                self.upstream.reset()
                client = self.client()
                client.send(f"GET /plain/a HTTP/1.{minor}\r\nHost: a\r\nRange: bytes=10-\r\n{date}\r\n{accept}\r\n\r\n")
                client.response()
                self.assertEqual(self.upstream.one().fields.all("range"), ranges)

    def test_f8_f9_head_and_304_speak_of_the_compressed_answer(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.method == "HEAD":
                exchange.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\nETag: "x"\r\n\r\n')
            else:
                exchange.send('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n')
        self.upstream.script = script
        response = self.send("HEAD", "/plain/a", fields=("Accept-Encoding: gzip",))
        self.assertEqual([response.fields.get(name) for name in ("content-encoding", "content-length", "etag", "vary")],
                         ["gzip", None, 'W/"x"', "Accept-Encoding"])
        for held, tag in (('W/"x"', 'W/"x"'), ('"x"', '"x"'), ('"y", W/"x"', 'W/"x"')):
            response = self.send("GET", "/plain/a", fields=(f"If-None-Match: {held}", "Accept-Encoding: gzip"))
            self.assertEqual((response.status, response.fields.get("etag")), (304, tag))

    def test_head_and_304_of_a_converted_answer_say_that_it_varies(self):
        """A cache would else give one client the other's form."""
        body = b'{"text": "' + b"x" * 500 + b'"}'

        def script(exchange):
            exchange.read_body()
            if exchange.received.method == "HEAD":
                exchange.send(f'HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\nETag: "x"\r\n\r\n')
            elif "if-none-match" in exchange.received.fields:
                exchange.send('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n')
            else:
                exchange.send(f'HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\nETag: "x"\r\n\r\n'.encode() + body)

        self.upstream.script = script
        for target, varies in (("/shrink", "Accept-Encoding"), ("/back", None)):
            for accepted in ((), ("Accept-Encoding: gzip",)):
                for method, fields, status in (("GET", (), 200), ("HEAD", (), 200), ("GET", ('If-None-Match: W/"x"',), 304),
                                               ("GET", ('If-None-Match: "x", W/"x"',), 304), ("GET", ('If-None-Match: *',), 304)):
                    with self.subTest(target, method=method, status=status, accepted=accepted):
                        response = self.send(method, target, fields=(*fields, *accepted))
                        self.assertEqual((response.status, response.fields.get("vary"), response.fields.get("etag")), (status, varies, 'W/"x"'))
                # The strong tag is that of a response that passed as it was.
                for held in ('"x"', 'W/"y", "x"'):
                    response = self.send("GET", target, fields=(f"If-None-Match: {held}", *accepted))
                    self.assertEqual((response.status, response.fields.get("vary"), response.fields.get("etag")), (304, varies, '"x"'))

    def test_streamed_events_come_through_at_once(self):
        more = threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in range(20):
                event = b"data: %d\n\n" % number
                exchange.send(b"%x\r\n%s\r\n" % (len(event), event))
                if not more.wait(DEADLINE):
                    raise Closed("nobody read the event")
                more.clear()
            exchange.send("0\r\n\r\n")
        self.upstream.script = script
        with self.client() as client:
            client.request("GET", "/plain/events", fields=("Accept-Encoding: gzip",))
            _, fields = client.reader.head()
            self.assertEqual(fields.get("content-encoding"), "gzip")
            unpacker, text, number = zlib.decompressobj(wbits=31), b"", 0
            for piece in client.reader.chunked_pieces():
                text += unpacker.decompress(piece)
                while text.count(b"\n\n") > number:
                    number += 1
                    more.set()
            self.assertTrue(unpacker.eof)
            self.assertEqual(text, b"".join(b"data: %d\n\n" % number for number in range(20)))

    def test_f14_a_compressed_answer_that_the_upstream_cuts_stays_cut(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n" + "x" * 3000)
            exchange.close()
        self.upstream.script = script
        with self.assertRaises(Closed):
            self.send("GET", "/plain/a", fields=("Accept-Encoding: gzip",))

    def test_untouched_routes_are_untouched(self):
        body = b"these bytes are not gzip"
        self.answer(body, "Content-Encoding: gzip", 'ETag: "x"', media_type="text/plain")
        response = self.send("GET", "/a", fields=("Accept-Encoding: gzip, br",))
        self.assertEqual((response.body, response.fields.get("content-encoding"), response.fields.get("etag")),
                         (body, "gzip", '"x"'))
        self.assertNotIn("vary", response.fields)
        self.assertEqual(self.upstream.one().fields.all("accept-encoding"), ["gzip, br"])
