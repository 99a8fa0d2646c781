"""Charsets, parts and files by rule, through the command and through the proxy."""

import base64
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
