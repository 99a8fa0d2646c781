"""Charsets, parts and files by rule, through the command and through the proxy."""

import base64
import plistlib
import subprocess
import unittest

from harness import DEADLINE, FORM, JSON, RECAST, ProxyTestCase

MULTIPART = "multipart/form-data; boundary=b"


def recast(*arguments: str, data: bytes) -> subprocess.CompletedProcess:
    return subprocess.run([RECAST, *arguments], input=data, capture_output=True, timeout=DEADLINE * 2)


def part(headers: str, content: bytes) -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {headers}\r\n\r\n".encode() + content + b"\r\n"


class ConvertTests(unittest.TestCase):
    def convert(self, expression: str, data: bytes, type: str = MULTIPART) -> bytes:
        result = recast("convert", "--type", type, expression, data=data)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refuse(self, expression: str, data: bytes, code: str, type: str = MULTIPART) -> None:
        result = recast("convert", "--type", type, expression, data=data)
        self.assertEqual(result.returncode, 65)
        self.assertIn(code, str(result.stderr))

    def text(self, output) -> str:
        return output.decode() if isinstance(output, bytes) else output

    def test_a_part_is_read_in_its_own_charset(self):
        body = part("name=a\r\nContent-Type: text/plain; charset=iso-8859-1", b"\xe9") + b"--b--\r\n"
        self.assertEqual(self.text(self.convert("multipart -> json", body)), '{"a":"é"}')

    def test_a_form_is_read_in_a_charset_that_is_listed(self):
        self.assertEqual(self.text(self.convert("form(charset: shift_jis) -> json", b"a=%82%A0", FORM)), '{"a":"あ"}')
        self.assertEqual(self.text(self.convert("form(charset: [utf-8, koi8-r]) -> json", b"a=%F0", FORM + "; charset=koi8-r")), '{"a":"П"}')
        self.refuse("form -> json", b"a=%F0", "unsupported_charset", FORM + "; charset=koi8-r")

    def test_a_transfer_encoding_is_undone_where_that_is_said(self):
        body = part("name=a\r\nContent-Transfer-Encoding: quoted-printable", b"1=3D1") + b"--b--\r\n"
        self.assertEqual(self.text(self.convert("multipart(transfer_encoding: decode) -> json", body)), '{"a":"1=1"}')
        self.refuse("multipart -> json", body, "multipart_transfer_encoding")

    def test_files_in_one_part_become_several(self):
        inner = b"--c\r\nContent-Disposition: file; filename=x\r\n\r\nX\r\n--c--\r\n"
        body = part("name=f\r\nContent-Type: multipart/mixed; boundary=c", inner) + b"--b--\r\n"
        self.assertEqual(self.text(self.convert("multipart(mixed_parts: flatten) -> json(files: object)", body)),
                         '{"f":{"filename":"x","data":"WA=="}}')

    def test_bytes_without_a_filename_are_a_file_where_their_type_is_listed(self):
        body = part('name="t"', b"x") + part('name="p"\r\nContent-Type: application/octet-stream', b"\xff\x00") + b"--b--\r\n"
        types = "file_types: [application/octet-stream, image/*]"
        self.assertEqual(self.text(self.convert(f"multipart({types}) -> json(files: base64)", body)), '{"p":"/wA=","t":"x"}')
        head = b'name="p"\r\nContent-Type: application/octet-stream\r\n\r\n\xff\x00\r\n'
        self.assertIn(head, self.convert(f"multipart({types}) -> multipart", body))
        self.assertIn(b'name="p"; filename="p.bin"\r\n', self.convert(f"multipart({types}) -> multipart(files: {{p: {{filename: p.bin}}}})", body))
        self.assertIn(b'name="p"; filename="blob"\r\n', self.convert(f"multipart({types}) -> multipart(dialect: php)", body))
        self.refuse("multipart -> json(files: base64)", body, "setting file_types [multipart_invalid_utf8]")

    def test_json_goes_into_a_part_and_comes_back(self):
        body = part("name=p\r\nContent-Type: application/json", b'{"a":[1.50]}') + b"--b--\r\n"
        self.assertEqual(self.text(self.convert("multipart(json_parts: parse) -> json", body)), '{"p":{"a":[1.50]}}')
        written = self.text(self.convert("json -> multipart(parts: {p: json})", b'{"p":{"a":[1.50]}}', JSON))
        self.assertIn('name="p"\r\nContent-Type: application/json\r\n\r\n{"a":[1.50]}\r\n', written)

    def test_files_have_names_and_types_by_rule(self):
        written = self.text(self.convert(
            "json -> multipart(files: {photos: {from: data_url, name: 'photo{index}', types: ['image/*']}})",
            b'{"photos":["data:image/png;base64,QQ==","data:image/gif;base64,Qg=="]}', JSON))
        self.assertIn('name="photo0"; filename="blob"\r\nContent-Type: image/png\r\n\r\nA\r\n', written)
        self.assertIn('name="photo1"; filename="blob"\r\nContent-Type: image/gif\r\n\r\nB\r\n', written)
        self.refuse("json -> multipart(files: {f: {from: data_url, types: ['image/*']}})",
                    b'{"f":"data:text/html;base64,QQ=="}', "file_type", JSON)

    def test_names_of_files_are_written_in_two_spellings_or_one(self):
        files = "files: {f: {from: base64, filename: ü.txt}}"
        both = """name="f"; filename="ü.txt"; filename*=UTF-8''%C3%BC.txt\r\n"""
        plain = 'name="f"; filename="ü.txt"\r\n'
        for options, head in [("", both), ("filenames: plain, ", plain), ("dialect: whatwg, ", plain), ("dialect: whatwg, filenames: both, ", both)]:
            with self.subTest(options=options):
                self.assertIn(head, self.text(self.convert(f"json -> multipart({options}{files})", b'{"f":"QQ=="}', JSON)))


class AutoOutputTests(ProxyTestCase):
    routes = """
  - { name: auto, match: /auto, upstream: app, request: "json -> auto(files: {photo: {from: base64}})" }
  - { name: json, match: /json, upstream: app, request: "json -> auto(files: {photo: {from: base64}}, without_files: json)" }
"""

    def test_a_file_makes_it_multipart_and_nothing_else_does(self):
        self.send("POST", "/auto", b'{"a":1}', JSON)
        received = self.upstream.one()
        self.assertEqual((received.media_type, received.body), (FORM, b"a=1"))

    def test_without_files_it_can_be_json(self):
        self.send("POST", "/json", b'{"a":[]}', JSON)
        received = self.upstream.one()
        self.assertEqual((received.media_type, received.body), (JSON, b'{"a":[]}'))

    def test_a_large_file_streams_with_the_type_of_multipart(self):
        content = bytes(range(256)) * 2000
        self.send("POST", "/auto", b'{"a":1,"photo":"' + base64.b64encode(content) + b'"}', JSON)
        received = self.upstream.one()
        self.assertEqual(received.media_type, "multipart/form-data")
        self.assertEqual([(name, data) for name, _, _, data in received.parts], [("a", b"1"), ("photo", content)])


class HTMLFormTests(ProxyTestCase):
    """What browsers and small clients send where nothing was filled in, and under which types."""

    routes = """
  - name: photo
    match: /photo
    upstream: app
    request:
      decode: { as: multipart }
      encode: { as: multipart, files: { avatar: { image: { max: 100 } }, cv: { types: [application/pdf] } } }
  - { name: object, match: /object, upstream: app, request: "multipart -> json(files: object)" }
  - { name: list, match: /list, upstream: app, request: "multipart -> plist(files: base64)" }
  - name: typed
    match: /typed
    upstream: app
    request: { decode: form, encode: json, fields: { age: integer, start: date, pay: number }, blanks: null }
  - { name: beacon, match: /beacon, upstream: app, request: { decode: json, encode: form, accept: { type: text/plain } } }
  - { name: raw, match: /raw, upstream: app, request: raw -> multipart }
  - name: items
    match: /items
    upstream: app
    request: { decode: json, encode: { as: multipart, files: { "items[*].photo": { from: base64, name: "photo{index}" } } } }
"""

    def empty(self, *names: str) -> bytes:
        parts = [part(f'name="{name}"; filename=""\r\nContent-Type: application/octet-stream', b"") for name in names]
        return part("name=n", b"1") + b"".join(parts) + b"--b--\r\n"

    def test_an_input_without_a_chosen_file_passes_rules_about_files(self):
        self.assertEqual(self.send("POST", "/photo", self.empty("avatar", "cv"), MULTIPART).status, 200)
        parts = self.upstream.one().parts
        self.assertEqual([(name, filename, content) for name, filename, _, content in parts],
                         [("n", None, b"1"), ("avatar", "", b""), ("cv", "", b"")])
        text = part('name="cv"; filename="a.txt"\r\nContent-Type: text/plain', b"") + b"--b--\r\n"
        self.assert_problem(self.send("POST", "/photo", text, MULTIPART), 415, "file_type")

    def test_an_input_without_a_chosen_file_is_null_in_a_document(self):
        self.assertEqual(self.send("POST", "/object", self.empty("avatar"), MULTIPART).status, 200)
        self.assertEqual(self.upstream.one().json, {"avatar": None, "n": "1"})
        self.upstream.reset()
        # A property list has no null.
        self.assertEqual(self.send("POST", "/list", self.empty("avatar"), MULTIPART).status, 200)
        self.assertEqual(plistlib.loads(self.upstream.one().body), {"n": "1"})

    def test_blank_inputs_of_declared_types_are_null(self):
        self.assertEqual(self.send("POST", "/typed", b"age=&start=&pay=.5&name=", FORM).status, 200)
        self.assertEqual(self.upstream.one().body, b'{"age":null,"start":null,"pay":0.5,"name":""}')

    def test_a_type_is_accepted_where_that_is_said(self):
        for media_type in ("text/plain;charset=UTF-8", "text/plain", JSON):
            self.assertEqual(self.send("POST", "/beacon", b'{"a":1}', media_type).status, 200)
            received = self.upstream.one()
            self.assertEqual((received.media_type, received.body), (FORM, b"a=1"))
            self.upstream.reset()
        self.assert_problem(self.send("POST", "/beacon", b'{"a":1}', "text/html"), 415, "unsupported_media_type")
        self.assert_problem(self.send("POST", "/beacon", b"a=1", "text/plain"), 400, "json_unexpected_byte")

    def test_a_raw_body_needs_no_type(self):
        for media_type in (None, "image/png"):
            self.assertEqual(self.send("POST", "/raw", b"\x89PNG", media_type).status, 200)
            self.assertEqual([content for *_, content in self.upstream.one().parts], [b"\x89PNG"])
            self.upstream.reset()
        self.assert_problem(self.send("POST", "/beacon", b"{}", None), 415, "unsupported_media_type")

    def test_a_file_is_named_by_the_element_that_it_stands_in(self):
        self.assertEqual(self.send("POST", "/items", b'{"items":[{"sku":"A"},{"sku":"B","photo":"aGk="}]}', JSON).status, 200)
        self.assertEqual([(name, content) for name, _, _, content in self.upstream.one().parts],
                         [("items[0][sku]", b"A"), ("items[1][sku]", b"B"), ("photo1", b"hi")])
