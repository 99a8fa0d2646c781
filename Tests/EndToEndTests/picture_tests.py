"""Pictures in uploads made smaller: real sockets, real files, broken ones, many at once."""

import base64
import hashlib
import hmac
import json
import struct
import subprocess
import threading
import time
import unittest
import zlib

from admin import Admin, admin_port
from harness import DEADLINE, JSON, RECAST, Client, ProxyTestCase, select_nothing

MULTIPART = "multipart/form-data; boundary=b"
PATIENCE = 4 * DEADLINE  # of who waits for a large picture


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width, height, extra=b""):
    """A picture whose left half is red and whose right half is blue."""
    row = b"\0" + b"\xdc\x14\x14" * (width // 2) + b"\x14\x14\xdc" * (width - width // 2)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + extra
            + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


def size(picture):
    """What a PNG, a JPEG or a WebP without loss of its container says of its size."""
    if picture.startswith(b"\x89PNG"):
        return struct.unpack(">II", picture[16:24])
    if picture.startswith(b"\xff\xd8"):
        at = 2
        while picture[at + 1] not in (0xC0, 0xC2):
            at += 2 + struct.unpack(">H", picture[at + 2:at + 4])[0]
        height, width = struct.unpack(">HH", picture[at + 5:at + 9])
        return width, height
    if picture[12:16] == b"VP8 ":
        width, height = struct.unpack("<HH", picture[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise AssertionError(f"no picture: {picture[:32]!r}")


def file_part(name, content, filename="a.png", type="image/png"):
    return (f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
            f"Content-Type: {type}\r\n\r\n").encode() + content + b"\r\n"


def field_part(name, value):
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()


def body_of(*parts):
    return b"".join(parts) + b"--b--\r\n"


class PictureTests(ProxyTestCase):
    routes = """
  - name: small
    match: /small
    upstream: app
    limits: { body: 32MiB }
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60 } } } }
  - name: jpeg
    match: /jpeg
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60, quality: 50, format: jpeg, metadata: drop, pixels: 1M } } } }
  - name: webp
    match: /webp
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { "photos.*": { image: { height: 30, format: webp } } } }
  - name: pass
    match: /pass
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60, on_other: pass } } } }
  - name: base64
    match: /base64
    upstream: app
    request:
      decode: { as: json, files: { photo: { from: base64, filename: a.png } } }
      encode: { as: multipart, files: { photo: { image: { max: 60, format: jpeg } } } }
  - name: json
    match: /json
    upstream: app
    request: { decode: { as: json }, encode: { as: json, files: { photo: { image: { max: 60, format: jpeg } } } } }
  - name: form
    match: /form
    upstream: app
    request: { decode: { as: multipart }, encode: { as: json, files: { photo: { image: { max: 60 } } } } }
  - name: signed
    match: /signed
    upstream: app
    verify: { preset: github, secrets: ["a-secret-of-some-length"] }
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60 } } } }
"""

    @classmethod
    def setUpClass(cls):
        port, cls.settings = admin_port()
        cls.admin = Admin(port)
        super().setUpClass()
        cls.admin.until_ready()

    def post(self, target, body, type=MULTIPART, fields=()):
        return self.send("POST", target, body, type, fields)

    def part(self, name):
        """Head and content of a part that the upstream got."""
        received = self.upstream.one()
        boundary = b"--" + received.fields.get("content-type").split("boundary=")[1].strip('"').encode()
        for part in received.body.split(boundary)[1:-1]:
            head, content = part.split(b"\r\n\r\n", 1)
            if f'name="{name}"'.encode() in head:
                return head.decode(), content[:-2]
        self.fail(f"no part {name} in {received.body[:200]!r}")

    def test_a_large_picture_becomes_smaller_and_everything_else_stays(self):
        body = body_of(field_part("a", "1"), file_part("photo", png(400, 200)), field_part("b", "2"))
        self.assertEqual(self.post("/small", body).status, 200)
        head, content = self.part("photo")
        self.assertEqual(size(content), (60, 30))
        self.assertIn('filename="a.png"', head)
        self.assertIn("Content-Type: image/png", head)
        self.assertEqual((self.part("a")[1], self.part("b")[1]), (b"1", b"2"))

    def test_one_that_fits_passes_byte_for_byte(self):
        for picture in (png(60, 60), png(60, 1), png(1, 1)):
            self.upstream.reset()
            self.assertEqual(self.post("/small", body_of(file_part("photo", picture))).status, 200)
            self.assertEqual(self.part("photo")[1], picture)

    def test_the_format_changes_with_its_type_and_the_end_of_its_name(self):
        exif = chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0")
        for filename, expected in (("a.png", "a.jpg"), ("A.B.PNG", "A.B.jpg"), ("noend", "noend"), ("a.txt", "a.txt")):
            self.upstream.reset()
            body = body_of(file_part("photo", png(400, 200, exif), filename))
            self.assertEqual(self.post("/jpeg", body).status, 200)
            head, content = self.part("photo")
            self.assertIn(f'filename="{expected}"', head)
            self.assertIn("Content-Type: image/jpeg", head)
            # Turned as its EXIF says, which is gone.
            self.assertEqual(size(content), (30, 60))
            self.assertNotIn(b"Exif", content)

    def test_one_that_passes_byte_for_byte_gets_its_type_and_the_end_of_its_name(self):
        self.post("/jpeg", body_of(file_part("photo", png(60, 40))))
        jpeg = self.part("photo")[1]
        for filename, type, renamed, expected in (
                ("a.png", "image/png", "a.jpg", "image/jpeg"),
                ("a.PNG", "application/octet-stream", "a.jpg", "image/jpeg"),
                ("a.jpeg", "image/jpg", "a.jpeg", "image/jpeg"), ("a.bin", "", "a.bin", "image/jpeg"),
                ("a.jpg", "Image/JPEG; a=b", "a.jpg", "Image/JPEG; a=b")):
            self.upstream.reset()
            part = file_part("photo", jpeg, filename, type).replace(b"Content-Type: \r\n", b"")
            self.assertEqual(self.post("/jpeg", body_of(part)).status, 200)
            head, content = self.part("photo")
            self.assertEqual(content, jpeg)
            self.assertIn(f'filename="{renamed}"', head)
            self.assertIn(f"Content-Type: {expected}\r\n", head + "\r\n")
        text = base64.b64encode(jpeg).decode()
        for start, expected in (
                ("data:image/png;base64,", "data:image/jpeg;base64,"), ("data:;base64,", "data:image/jpeg;base64,"),
                ("data:image/jpeg;a=b;base64,", "data:image/jpeg;a=b;base64,"), ("", "")):
            self.upstream.reset()
            self.assertEqual(self.post("/json", json.dumps({"photo": start + text}).encode(), JSON).status, 200)
            self.assertEqual(self.upstream.one().json["photo"], expected + text)

    def test_jpeg_and_webp_come_in_too(self):
        self.post("/jpeg", body_of(file_part("photo", png(60, 40))))
        jpeg = self.part("photo")[1]
        self.upstream.reset()
        body = body_of(file_part("photos[]", jpeg, "a.jpg", "image/jpeg"), file_part("photos[]", png(10, 90)))
        self.assertEqual(self.post("/webp", body).status, 200)
        received = self.upstream.one().body
        self.assertEqual(received.count(b"WEBPVP8 "), 2)
        webp = self.part("photos[]")[1]
        self.assertEqual(size(webp), (45, 30))
        self.upstream.reset()
        self.assertEqual(self.post("/jpeg", body_of(file_part("photo", webp, "a.webp", "image/webp"))).status, 200)
        self.assertEqual(size(self.part("photo")[1]), (45, 30))

    def test_a_body_in_single_bytes_and_in_chunks(self):
        body = body_of(field_part("a", "1"), file_part("photo", png(100, 50)), field_part("b", "2"))
        with Client(self.recast.port) as client:
            client.socket.sendall(b"POST /small HTTP/1.1\r\nHost: x\r\nContent-Type: " + MULTIPART.encode()
                        + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(len(body)):
                client.socket.sendall(b"1\r\n" + body[at:at + 1] + b"\r\n")
            client.socket.sendall(b"0\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(size(self.part("photo")[1]), (60, 30))
        self.assertEqual(self.part("b")[1], b"2")

    def test_base64_in_json_becomes_a_part_or_stays_base64(self):
        text = base64.b64encode(png(200, 100)).decode()
        self.assertEqual(self.post("/base64", json.dumps({"a": 1, "photo": text}).encode(), JSON).status, 200)
        head, content = self.part("photo")
        self.assertIn('filename="a.jpg"', head)
        self.assertEqual(size(content), (60, 30))
        self.upstream.reset()
        body = json.dumps({"a": [1], "photo": "data:image/png;base64," + text, "b": None}).encode()
        self.assertEqual(self.post("/json", body, JSON).status, 200)
        received = self.upstream.one().json
        self.assertEqual((list(received), received["a"], received["b"]), (["a", "photo", "b"], [1], None))
        start, _, encoded = received["photo"].partition(",")
        self.assertEqual(start, "data:image/jpeg;base64")
        self.assertEqual(size(base64.b64decode(encoded, validate=True)), (60, 30))

    def test_a_file_of_multipart_becomes_base64(self):
        body = body_of(field_part("a", "1"), file_part("photo", png(200, 100)))
        self.assertEqual(self.post("/form", body).status, 200)
        received = self.upstream.one().json
        self.assertEqual(size(base64.b64decode(received["photo"])), (60, 30))
        self.assertEqual(received["a"], "1")

    def test_bombs_are_refused_by_their_header(self):
        for width, height, isTaken in ((1000, 1000, True), (1000, 1001, False), (2 ** 31 - 1, 2 ** 31 - 1, False)):
            self.upstream.reset()
            picture = png(1000, 1000) if isTaken else (
                b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)) + b"x" * 99)
            response = self.post("/jpeg", body_of(file_part("photo", picture)))
            if isTaken:
                self.assertEqual(response.status, 200)
            else:
                problem = self.assert_problem(response, 413, "limit_pixels")
                self.assertEqual(problem["field"], "photo")
                self.assert_untouched()

    def test_a_picture_that_hides_another_one_is_refused(self):
        self.post("/jpeg", body_of(file_part("photo", png(40, 30))))
        jpeg = self.part("photo")[1]
        # A frame of 16,384 x 16,384 in what only looks like a segment: libraries pass over FF 00 and look on right behind it.
        hidden = b"\xff\xc2\0\x0b\x08\x40\0\x40\0\1\1\x11\0"
        for marker in (b"\xff\0", b"\xff\xff\0", b"\xff\1", b"\xff\xf0", b"\xff\xdc"):
            picture = jpeg[:2] + marker + struct.pack(">H", len(hidden) + 2) + hidden + jpeg[2:]
            for target in ("/small", "/jpeg"):
                self.upstream.reset()
                problem = self.assert_problem(
                    self.post(target, body_of(file_part("photo", picture))), 422, "image_unreadable")
                self.assertIn("more than one way", problem["detail"])
                self.assert_untouched()

    def test_what_is_no_picture_is_refused_or_passes(self):
        whole = png(200, 100)
        animated = png(200, 100, chunk(b"acTL", b"\0\0\0\2\0\0\0\0"))
        for content in (b"", b"%PDF-1.7", b"GIF89a", whole[:-30], whole[:60], b"\xff\xd8\xff\xd9", animated):
            self.upstream.reset()
            problem = self.assert_problem(
                self.post("/small", body_of(file_part("photo", content))), 422, "image_unreadable")
            self.assertEqual(problem["field"], "photo")
            self.assert_untouched()
            self.assertEqual(self.post("/pass", body_of(file_part("photo", content))).status, 200)
            head, passed = self.part("photo")
            self.assertEqual(passed, content)
            self.assertIn("Content-Type: image/png", head)

    def test_a_verified_upload_waits_for_both(self):
        body = body_of(file_part("photo", png(200, 100)), field_part("b", "2"))
        good = hmac.new(b"a-secret-of-some-length", body, hashlib.sha256).hexdigest()
        self.assertEqual(
            self.post("/signed", body, fields=(f"X-Hub-Signature-256: sha256={good}",)).status, 200)
        self.assertEqual(size(self.part("photo")[1]), (60, 30))
        self.assertEqual(self.part("b")[1], b"2")

    def test_many_at_once_and_those_that_leave(self):
        body = body_of(file_part("photo", png(600, 400)), field_part("b", "2"))
        statuses = []

        def upload(number):
            if number % 4 == 3:
                with Client(self.recast.port) as client:
                    client.request("POST", "/small", body, MULTIPART)
                return
            statuses.append(self.post("/small", body).status)
        threads = [threading.Thread(target=upload, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 30)
        # Nothing is left over of those that have left.
        self.until(lambda: self.admin.metrics().sum("recast_images_pending") == 0)
        self.until(lambda: self.admin.metrics().sum("recast_buffer_bytes") == 0)
        metrics = self.admin.metrics()
        self.assertGreaterEqual(metrics.sum("recast_images_total", result="made"), 30)
        self.assertGreater(metrics.sum("recast_image_bytes_total", side="in"), 0)

    def until(self, holds):
        deadline = time.monotonic() + DEADLINE
        while not holds():
            if time.monotonic() > deadline:
                self.fail(self.admin.metrics().text)
            select_nothing()


class HalfClosedTests(ProxyTestCase):
    """Clients that end their side while their request waits for a picture: `half_close` says what becomes of them."""

    routes = "".join(f"""
  - name: {rule}
    match: /{rule}
    upstream: app
    half_close: {rule}
    request:
      decode: {{ as: multipart }}
      encode: {{ as: multipart, files: {{ photo: {{ image: {{ max: 60 }} }} }} }}
""" for rule in ("answer", "abort"))

    @classmethod
    def setUpClass(cls):
        port, line = admin_port()
        cls.settings = line + "images: { threads: 1 }\n"
        cls.admin = Admin(port)
        super().setUpClass()
        cls.admin.until_ready()
        # Long to be made, short to be sent. Where others have the processors it takes minutes: pictures come last.
        cls.large = body_of(file_part("photo", png(4000, 4000)), field_part("b", "2"))
        cls.small = body_of(file_part("photo", png(200, 100)), field_part("b", "2"))

    def upload(self, target, body):
        client = self.client()
        client.socket.settimeout(PATIENCE)
        client.request("POST", target, body, MULTIPART)
        return client

    def pending(self, state, count):
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_images_pending", state=state) == count, PATIENCE)

    def end_of(self, client):
        """What comes until the end of the connection, which may be a reset where bytes were left unread."""
        return client.reader.rest()

    def gone(self):
        return self.admin.metrics().sum("recast_requests_total", route="abort", code="499")

    def test_one_that_waits(self):
        before, made = self.gone(), self.admin.metrics().sum("recast_images_total", result="made")
        first = self.upload("/answer", self.large)
        self.pending("running", 1)
        answered, given_up = self.upload("/answer", self.small), self.upload("/abort", self.small)
        self.pending("waiting", 2)
        for client in (answered, given_up):
            client.finish_sending()
        self.assertEqual(self.end_of(given_up), b"")
        for client in (first, answered):
            self.assertEqual(client.response("POST").status, 200)
        self.pending("waiting", 0)
        metrics = self.admin.metrics_when(lambda metrics: metrics.sum("recast_images_total", result="made") >= made + 2)
        self.assertEqual(metrics.sum("recast_images_total", result="made"), made + 2)
        self.assertEqual(self.gone() - before, 1)
        self.assertEqual([request.target for request in self.upstream.requests], ["/answer"] * 2)

    def test_one_whose_picture_is_being_made(self):
        def dropped():
            return self.admin.metrics().sum("recast_images_total", result="dropped")

        for _ in range(5):
            before, dropped_before = self.gone(), dropped()
            client = self.upload("/abort", self.large)
            self.pending("running", 1)
            client.finish_sending()
            rest = self.end_of(client)
            # And not when the picture is there: it is stopped, since nobody waits for it.
            self.pending("running", 0)
            if dropped() == dropped_before + 1:
                break
            # It may have been made before anything could be looked at here, where the machine is busy: once more.
            self.upstream.reset()
        else:
            self.fail("the picture is made for nobody")
        self.assertEqual(rest, b"")
        self.admin.metrics_when(lambda metrics: metrics.sum("recast_requests_total", route="abort", code="499") == before + 1)
        self.assert_untouched()


class MetadataMemoryTests(ProxyTestCase):
    """What is kept beside the pixels takes memory as the pixels do, and is paid for."""

    settings = "memory: { bodies: 32MiB }\n"
    routes = """
  - name: keep
    match: /keep
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60 } } } }
  - name: drop
    match: /drop
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { photo: { image: { max: 60, metadata: drop } } } }
"""

    def test_a_picture_full_of_metadata_costs_what_is_held_of_it(self):
        text = chunk(b"tEXt", b"k\0" + b"x" * (1024 * 1024))
        # Read, copied, and there three times while the output grows: of 8 MiB that are 40.
        for count, target, status in ((4, "/keep", 200), (8, "/keep", 503), (8, "/drop", 200)):
            self.upstream.reset()
            body = body_of(file_part("photo", png(400, 200, text * count)))
            response = self.send("POST", target, body, MULTIPART)
            if status == 503:
                self.assert_problem(response, 503, "memory_exhausted")
                self.assert_untouched()
            else:
                self.assertEqual(response.status, 200)
                self.assertEqual(self.upstream.one().body.count(b"tEXtk"), count if target == "/keep" else 0)


class ConvertTests(unittest.TestCase):
    """`recast convert` makes pictures smaller as the proxy does."""

    def convert(self, expression, body, *arguments):
        return subprocess.run([RECAST, "convert", expression, *arguments], input=body, capture_output=True, timeout=DEADLINE)

    def converted(self, expression, body, *arguments):
        result = self.convert(expression, body, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    def test_a_part_becomes_smaller_and_everything_else_stays(self):
        picture = png(1200, 600)
        body = body_of(field_part("a", "1"), file_part("photo", picture), field_part("b", "2"), file_part("other", picture))
        made = self.converted(
            "multipart -> multipart(files: {photo: {image: {max: 60, format: jpeg}}})", body, "--type", MULTIPART)
        boundary = made[:made.index(b"\r\n")]
        parts = [part.split(b"\r\n\r\n", 1) for part in made.split(boundary)[1:-1]]
        self.assertEqual([content[:-2] for head, content in parts if b"filename" not in head], [b"1", b"2"])
        head, content = parts[1]
        self.assertIn(b'filename="a.jpg"', head)
        self.assertIn(b"Content-Type: image/jpeg", head)
        self.assertEqual(size(content), (60, 30))
        self.assertEqual(parts[3][1][:-2], picture)

    def test_base64_stays_base64_in_its_own_spelling(self):
        text = base64.b64encode(png(400, 200)).decode()
        expression = "json -> json(files: {photo: {image: {max: 60}}})"
        made = json.loads(self.converted(expression, json.dumps({"a": 1, "photo": text, "b": [2]}).encode()))
        self.assertEqual((made["a"], made["b"], size(base64.b64decode(made["photo"]))), (1, [2], (60, 30)))
        url = json.loads(self.converted(expression, json.dumps({"photo": f"data:image/png;base64,{text}"}).encode()))["photo"]
        self.assertTrue(url.startswith("data:image/png;base64,"), url[:40])
        self.assertEqual(size(base64.b64decode(url.split(",")[1])), (60, 30))

    def test_what_cannot_be_made_smaller_is_an_error_or_passes(self):
        body = json.dumps({"photo": base64.b64encode(b"no picture").decode()}).encode()
        refused = self.convert("json -> json(files: {photo: {image: {max: 60}}})", body)
        self.assertEqual(refused.returncode, 65)
        self.assertNotIn(b"}", refused.stdout)
        self.assertIn(b"the file is no JPEG, PNG or WebP", refused.stderr)
        passed = self.converted("json -> json(files: {photo: {image: {max: 60, on_other: pass}}})", body)
        self.assertEqual(json.loads(passed), json.loads(body))
        for pixels, code in ((79999, 65), (80000, 0), (80001, 0)):
            result = self.convert(
                "json -> json(files: {photo: {image: {max: 60, pixels: %d}}})" % pixels,
                json.dumps({"photo": base64.b64encode(png(400, 200)).decode()}).encode())
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(b"80000 pixels" in result.stderr, code == 65)

    def test_a_profile_that_is_padded_loses_no_picture(self):
        def made(picture, keys):
            body = json.dumps({"photo": base64.b64encode(picture).decode()}).encode()
            text = self.converted("json -> json(files: {photo: {image: {%s}}})" % keys, body)
            return base64.b64decode(json.loads(text)["photo"])
        jpeg = made(png(40, 20), "format: jpeg")
        profile = struct.pack(">I", 132) + b"lcms\2\x10\0\0mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(92)
        content = b"ICC_PROFILE\0\1\1" + profile + bytes(4)
        jpeg = jpeg[:2] + b"\xff\xe2" + struct.pack(">H", len(content) + 2) + content + jpeg[2:]
        written = made(jpeg, "format: png")
        start = written.index(b"iCCP")
        count, = struct.unpack(">I", written[start - 4:start])
        name, _, packed = written[start + 4:start + 4 + count].partition(b"\0")
        self.assertEqual((name, zlib.decompress(packed[1:])), (b"icc", profile))

    def test_several_pictures_in_one_body(self):
        body = body_of(*(file_part("photos[]", png(200 + 2 * at, 100)) for at in range(20)))
        made = self.converted("multipart -> json(files: {'photos.*': {image: {max: 50}}})", body, "--type", MULTIPART)
        self.assertEqual({size(base64.b64decode(text))[0] for text in json.loads(made)["photos"]}, {50})
