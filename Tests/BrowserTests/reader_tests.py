"""What the page's modules make of bodies, events and numbers: called in the browser that they are for."""

import json
import unittest

from console_support import ConsoleTestCase


class ReaderTests(ConsoleTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.browser.page()
        cls.page.go(f"{cls.origin}/console#token={cls.token}")
        cls.page.until_text("Live")

    def call(self, module, script, *values):
        return self.page.run(f"const m = await import('/console/{module}.js'); {script}", *values)

    def json_lines(self, text):
        return self.call("readers", "return m.jsonLines(values[0]).map(({ depth, path, tokens }) => [depth, path, tokens.map((one) => one[1]).join('')])", text)

    def test_json_keeps_numbers_order_and_doubles_and_has_paths(self):
        lines = self.json_lines('{"b":1e400,"a":{"x":[1.10,{"y":null}],"e":{},"f":[ ]},"b":"\\u00e9\\n","":true}')
        self.assertEqual([(path, text) for _, path, text in lines], [
            ("", "{"), ("b", '"b": 1e400,'), ("a", '"a": {'), ("a.x", '"x": ['), ("a.x[0]", "1.10,"), ("a.x[1]", "{"), ("a.x[1].y", '"y": null'),
            ("", "}"), ("", "],"), ("a.e", '"e": {},'), ("a.f", '"f": []'), ("", "},"), ("b", '"b": "\\u00e9\\n",'), ("", '"": true'), ("", "}")])
        self.assertEqual([depth for depth, _, _ in lines], [0, 1, 1, 2, 3, 3, 4, 3, 2, 2, 2, 1, 1, 1, 0])

    def test_json_of_all_kinds_is_the_same_when_joined_again(self):
        for text in ("1", '"a,b:{}[]\\"\\\\"', "[]", "{}", "[[],{}]", '[{"a":[{"b":[]}]}]', " [ 1 , 2 ] ", "null", '{"a":{"b":{"c":1}},"d":[0,-1,2.5E+3]}'):
            joined = "".join(line for _, _, line in self.json_lines(text))
            self.assertEqual(json.loads(joined), json.loads(text), text)

    def test_what_is_no_json_is_refused(self):
        for text in ("", "{", "[1,]", "{a:1}", "01", "nul", '{"a":1}}'):
            with self.assertRaises(AssertionError, msg=text):
                self.json_lines(text)

    def test_forms_are_pairs(self):
        for text, pairs in (
            ("a=1&b", [["a", "1"], ["b", None]]), ("a+b=%C3%BC%20+", [["a b", "ü  "]]), ("&&a=&=b", [["a", ""], ["", "b"]]), ("a=1=2", [["a", "1=2"]]),
            ("a=%zz&b=%ff", [["a", "%zz"], ["b", "%ff"]]), ("", []),
        ):
            self.assertEqual(self.call("readers", "return m.formPairs(values[0]).map((pair) => [pair.name, pair.value])", text), pairs, text)

    def test_multipart_bodies_are_parts_as_far_as_they_go(self):
        whole = "--b\r\nContent-Disposition: form-data; name=\"a b\"\r\n\r\none\r\ntwo\r\n--b\r\n" \
                "Content-Disposition: form-data; name=f; filename=\"x\\\"y.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n--b\r\n\r\nbare\r\n--b--\r\nrest"
        script = """const parts = m.multipartParts(new TextEncoder().encode(values[0]), values[1]);
            return parts && parts.map((part) => [part.name, part.filename, part.type, new TextDecoder().decode(part.bytes), part.whole]);"""
        parts = [["a b", None, None, "one\r\ntwo", True], ["f", 'x"y.txt', "text/plain", "", True], ["", None, None, "bare", True]]
        self.assertEqual(self.call("readers", script, whole, "multipart/form-data; boundary=b"), parts)
        self.assertEqual(self.call("readers", script, "preamble\r\n" + whole, 'multipart/form-data; charset=x; boundary="b"'), parts)
        self.assertEqual(self.call("readers", script, whole[:60], "multipart/form-data; boundary=b"), [["a b", None, None, whole[:60].split("\r\n\r\n")[1], False]])
        self.assertIsNone(self.call("readers", script, whole, "multipart/form-data"))
        self.assertIsNone(self.call("readers", script, "nothing", "multipart/form-data; boundary=b"))
        lines = "--bc\r\n--b c\r\n--b--c\r\n --b\r\n\n--b\r\n--c.b\n"
        padded = f"--bc\r\n--b \t\r\nContent-Disposition: form-data; name=a\r\n\r\n{lines}\r\n--b-- \r\n--b\r\n\r\nrest\r\n--b--"
        self.assertEqual(self.call("readers", script, padded, "multipart/form-data; boundary=b"), [["a", None, None, lines, True]])
        self.assertEqual(self.call("readers", script, padded.replace("--b", "--b.c (+"), 'multipart/form-data; boundary="b.c (+"'),
                         [["a", None, None, lines.replace("--b", "--b.c (+"), True]])
        self.assertEqual(self.call("readers", script, "--bc\r\n\r\nx", "multipart/form-data; boundary=b"), None)
        for cut in range(len(whole)):  # wherever a kept beginning ends
            self.call("readers", script, whole[:cut], "multipart/form-data; boundary=b")

    def test_places_are_those_of_bytes(self):
        for text, offset, expected in (
            ("abc", 0, [1, 1, "", "abc", 0]), ("abc", 3, [1, 4, "abc", "", 3]), ("a\nbü d", 5, [2, 3, "bü", " d", 4]), ("a\n\nb", 2, [2, 1, "", "", 2]),
            ("abc", 99, [1, 4, "abc", "", 3]), ("", 0, [1, 1, "", "", 0]), ("😀x", 4, [1, 2, "😀", "x", 2]),
        ):
            found = self.call("readers", "const p = m.placeOf(new TextEncoder().encode(values[0]), values[1]);"
                              " return [p.line, p.column, p.before, p.after, p.index]", text, offset)
            self.assertEqual(found, expected)

    def test_events_are_read_however_they_are_cut(self):
        text = ": sign\nevent: exchanges\ndata: {\"a\":\ndata:1}\n\nevent: more\r\ndata: {}\r\n\r\ndata: 2\n\nevent: none\n\n"
        for size in (1, 2, 3, 7, 1000):
            found = self.call("api", "const seen = []; const parse = m.eventParser((...one) => seen.push(one));"
                              " for (let at = 0; at < values[0].length; at += values[1]) parse(values[0].slice(at, at + values[1])); return seen", text, size)
            self.assertEqual(found, [["exchanges", '{"a":\n1}'], ["more", "{}"], ["message", "2"]], size)

    def test_a_command_goes_to_an_address_that_it_can_speak_to(self):
        for listen, further, origin in (
            ("127.0.0.1:8081", {}, "http://127.0.0.1:8081"), ("0.0.0.0:80", {}, "http://127.0.0.1:80"), ("[::]:8080", {}, "http://[::1]:8080"),
            ("[::1]:8080, 10.0.0.1:80", {}, "http://[::1]:8080"), ("unix:/run/a:1, 10.0.0.1:80", {}, "http://10.0.0.1:80"),
            ("127.0.0.1:1, 127.0.0.1:2", {"127.0.0.1:1.tls.key": "/k"}, "http://127.0.0.1:2"), ("0.0.0.0:443", {"0.0.0.0:443.tls.key": "/k"}, "https://127.0.0.1:443"),
            ("127.0.0.1:1, 127.0.0.1:2", {"127.0.0.1:1.serves": "ext_proc"}, "http://127.0.0.1:2"),
            ("127.0.0.1:1, 127.0.0.1:2", {"127.0.0.1:1.http": "2"}, "http://127.0.0.1:2"), ("unix:/run/recast.sock, systemd:web", {}, "http://127.0.0.1:8080"),
        ):
            settings = [{"key": f"listen.{key}", "value": value} for key, value in further.items()] + [{"key": "listen", "value": listen}]
            self.assertEqual(self.call("api", "return m.originOf(values[0])", settings), origin, listen)

    def test_units(self):
        for value, text in ((0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (16 << 10, "16 KiB"), (102_400, "100 KiB"), (1_048_575, "1 MiB"),
                            (200 << 20, "200 MiB"), (5 << 40, "5 TiB"), (None, "–")):
            self.assertEqual(self.call("dom", "return m.size(values[0])", value), text)
        for value, text in ((0, "0 µs"), (0.0009, "900 µs"), (0.0011, "1.1 ms"), (0.25, "250 ms"), (0.9951, "1.0 s"), (61, "61.0 s"),
                            (125, "2 min 5 s"), (119.9, "2 min 0 s"), (None, "–")):
            self.assertEqual(self.call("dom", "return m.duration(values[0])", value), text)

    def test_field_lines(self):
        script = "return m.fieldLines(values[0])"
        self.assertEqual(self.call("replay", script, "A: b:c\r\n\nX-Y:\n"), {"fields": [{"name": "A", "value": "b:c"}, {"name": "X-Y", "value": ""}]})
        for text, line in (("A: b\nnone", 2), (": x", 1)):
            self.assertEqual(self.call("replay", script, text), {"wrong": line})

    def test_an_edited_text_keeps_the_ends_of_its_lines(self):
        script = "return m.withLineEnds(values[0], values[1], values[2] ?? null)"
        for original, edited, text in (
            ("a\r\nb\nc\rd", "a\nb\nc\nd", "a\r\nb\nc\rd"), ("a\r\nb\nc\rd", "a\nB\nc\nd", "a\r\nB\r\nc\rd"), ("a\r\nb\nc\rd", "a\nd", "a\r\nd"),
            ("a\r\nb\nc\rd", "a\nb\nnew\nc\nd", "a\r\nb\nnew\nc\rd"), ("a\r\nb", "a\nb\nc\nd", "a\r\nb\r\nc\r\nd"), ("a\r\n", "x\ny\n", "x\r\ny\r\n"),
            ("", "a\nb", "a\nb"), ("a\n\n\r\nb", "a\n\n\nb", "a\n\n\r\nb"), ("a\n\r\nb", "", ""), ("a", "a", "a"),
        ):
            self.assertEqual(self.call("readers", script, original, edited), text, (original, edited))
        self.assertEqual(self.call("readers", script, "", "a\nb\n", "\r\n"), "a\r\nb\r\n")
        # What nobody has changed is what it was, whatever it was.
        self.assertEqual(self.call("readers", """const field = document.createElement('textarea'); const wrong = [];
            for (let number = 0; number < 4 ** 6; number += 1) {
                const text = [...number.toString(4).padStart(6, '0')].map((digit) => ['\\r', '\\n', 'a', 'b'][digit]).join('');
                field.value = text;
                if (m.withLineEnds(text, field.value) !== text) wrong.push(text);
            } return wrong"""), [])

    def test_base64_comes_back(self):
        self.assertTrue(self.call("api", """for (const size of [0, 1, 2, 3, 0x8000, 0x8001, 100000]) {
            const bytes = Uint8Array.from({ length: size }, (_, at) => at * 7 % 256); const back = m.fromBase64(m.toBase64(bytes));
            if (back.length !== size || back.some((byte, at) => byte !== bytes[at])) return false; } return true"""))


if __name__ == "__main__":
    unittest.main()
