"""JSON through Recast's encoders into real servers: PHP, Ruby's Rack, node's qs, Python's urllib and werkzeug.

Each reads back the document that went in, or what a table here says it reads instead. The bytes of a dialect are compared with
what its library writes for the same documents.
"""

import json
import os
import random
import re
import subprocess
import unittest

from harness import DEADLINE, JSON, ProxyTestCase, free_port

SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "servers")
NODE = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}

DOCUMENTS = {
    "nested": {"user": {"name": "Ada", "address": {"city": "London", "line": {"first": "x"}}}, "id": "7"},
    "array": {"tags": ["b", "a", "c"]},
    "one element": {"tags": ["a"]},
    "array of objects": {"items": [{"sku": "A", "qty": "2"}, {"sku": "B", "qty": "1"}]},
    "uneven objects": {"items": [{"sku": "A"}, {"qty": "1"}]},
    "nested arrays": {"m": [["1", "2"], ["3"]]},
    "arrays in objects": {"o": {"l": ["x", "y"], "p": [{"q": ["z"]}]}},
    "empty strings": {"a": "", "b": {"c": ""}, "l": ["", "x", ""]},
    "unicode": {"ключ": "значение", "emoji": {"😀": "👩‍👩‍👧"}, "l": ["日本", "é"]},
    "reserved in values": {"v": "+ & = % [ ] ; ? # / \\ ' \" ~ * ! ( ) %41 %2B", "w": {"x": "a&b=c"}, "l": ["+ &=%[]"]},
    "reserved in keys": {"k+ &=%": "1", "a": {"b+ &=%?#;": "2"}, "%5B": "3"},
    "line ends": {"t": "l1\r\nl2\n", "u": "\ttab\0nul"},
    "dots": {"a.b": "1", "c": {"d.e": "2"}},
    "21 elements": {"l": [str(number) for number in range(21)]},
    "6 levels": {"a": {"b": {"c": {"d": {"e": {"f": {"g": "x"}}}}}}},
    "what every object of JavaScript has": {"toString": "1", "a": {"constructor": "2", "hasOwnProperty": {"valueOf": "3"}}},
    "brackets in a key of the root": {"a[b]": "1"},
    "a bracket in a nested key": {"a": {"b]c": "1"}},
    "an open bracket in a nested key": {"a": {"[": "1"}},
}

# Names that read as structure: our own dialect refuses them, the others write them as their libraries do.
AMBIGUOUS = ["brackets in a key of the root", "a bracket in a nested key", "an open bracket in a nested key"]
REFUSED = dict.fromkeys(AMBIGUOUS, "field_name_unrepresentable")
PHP_AMBIGUOUS = {
    "brackets in a key of the root": {"a": {"b": "1"}},
    "a bracket in a nested key": {"a": {"b": "1"}},
    "an open bracket in a nested key": {"a": {"[": "1"}},
}
RACK_AMBIGUOUS = {
    "brackets in a key of the root": {"a": {"b": "1"}},
    "a bracket in a nested key": {"a": {"b": {"c": "1"}}},
    "an open bracket in a nested key": {"a": None},
}
QS_AMBIGUOUS = {
    "brackets in a key of the root": {"a": {"b": "1"}},
    "a bracket in a nested key": {"a": {"b": "1"}},
    "an open bracket in a nested key": {"a[": ["1"]},
}
# PHP makes variable names of the root's keys: dots and spaces become underscores. NUL ends a file's name, not a value.
PHP_NAMES = {"dots": {"a_b": "1", "c": {"d.e": "2"}}, "reserved in keys": {"k+_&=%": "1", "a": {"b+ &=%?#;": "2"}, "%5B": "3"}}
# `a[][x]=1&a[][y]=2` and `a[][]=1&a[][]=2` don't say where an element begins.
RACK_JOINED = {"uneven objects": {"items": [{"sku": "A", "qty": "1"}]}, "nested arrays": {"m": [["1"], ["2"], ["3"]]}}
PHP_SPLIT = {
    "array of objects": {"items": [{"qty": "2"}, {"sku": "A"}, {"qty": "1"}, {"sku": "B"}]},
    "nested arrays": {"m": [["1"], ["2"], ["3"]]},
}
# qs reads five levels and leaves the rest one name.
QS_DEPTH = {"6 levels": {"a": {"b": {"c": {"d": {"e": {"f": {"[g]": "x"}}}}}}}}


def same(value):
    return value


def numbered(value):
    """Arrays as Rack reads `a[0]`: objects with the keys 0, 1, 2."""
    if isinstance(value, dict):
        return {key: numbered(member) for key, member in value.items()}
    if isinstance(value, list):
        return {str(index): numbered(element) for index, element in enumerate(value)}
    return value


def numbered_containers(value):
    """The same where our own dialect has indices: in arrays of objects and of arrays."""
    if isinstance(value, dict):
        return {key: numbered_containers(member) for key, member in value.items()}
    if isinstance(value, list) and isinstance(value[0], (dict, list)):
        return {str(index): numbered_containers(element) for index, element in enumerate(value)}
    return value


# What is sent to each server, how it reads arrays, and the documents that it reads otherwise or that are refused with a code.
TREES = [
    ("php", "form(dialect: php)", same, {**PHP_NAMES, **PHP_AMBIGUOUS}),
    ("php", "form", same, {**PHP_NAMES, **REFUSED}),
    ("php", "form(arrays: indices)", same, {**PHP_NAMES, **REFUSED}),
    ("php", "form(dialect: afnetworking)", same, {**PHP_NAMES, **PHP_AMBIGUOUS, **PHP_SPLIT}),
    ("php", "multipart(dialect: php)", same, {**PHP_NAMES, **PHP_AMBIGUOUS}),
    ("php", "multipart", same, {**PHP_NAMES, **REFUSED}),
    ("rack", "form(dialect: rack)", same, {**RACK_JOINED, **RACK_AMBIGUOUS}),
    ("rack", "form(dialect: afnetworking)", same, {**RACK_JOINED, **RACK_AMBIGUOUS}),
    ("rack", "form", numbered_containers, REFUSED),
    ("rack", "form(arrays: indices)", numbered, REFUSED),
    ("rack", "form(arrays: brackets)", same, {**REFUSED, **{
        "uneven objects": "field_regrouped", "nested arrays": "field_container_in_array"}}),
    ("rack", "multipart(dialect: rack)", same, {**RACK_JOINED, **RACK_AMBIGUOUS}),
    ("rack", "multipart", numbered_containers, REFUSED),
    ("qs", "form(dialect: qs)", same, {**QS_DEPTH, **QS_AMBIGUOUS}),
    ("qs", "form", same, {**QS_DEPTH, **REFUSED}),
    ("qs", "form(arrays: indices)", same, {**QS_DEPTH, **REFUSED}),
]
FLAT = ["form(dialect: whatwg)", "form", "form(arrays: indices)", "multipart"]


def command(script):
    """What runs a script of `servers`, and its environment."""
    return {
        ".php": (["php", "-n", "-d", "display_errors=stderr"], None), ".rb": (["ruby"], None), ".js": (["node"], NODE),
        ".py": (["/usr/bin/python3"], None),
    }[os.path.splitext(script)[1]]


class Server:
    """A script of `servers` as a process that listens on `port`."""

    def __init__(self, script):
        arguments, environment = command(script)
        path = os.path.join(SERVERS, script)
        if script.endswith(".php"):
            port = free_port()
            arguments = [*arguments, "-S", f"127.0.0.1:{port}", path]
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            stream, mark = self.process.stderr, rf":({port})\) started"
        else:
            self.process = subprocess.Popen([*arguments, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
            stream, mark = self.process.stdout, r"ready (\d+)"
        line = stream.readline().decode()
        match = re.search(mark, line)
        if not match:
            self.stop()
            raise AssertionError(f"{script} did not start: {line!r}")
        self.port = int(match[1])

    def stop(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def run_encoder(script, documents):
    arguments, environment = command(script)
    result = subprocess.run([*arguments, os.path.join(SERVERS, script)], input=json.dumps(documents).encode(), env=environment,
                            capture_output=True, check=True, timeout=DEADLINE)
    return json.loads(result.stdout)


def leaves(value, style, name=""):
    """The fields of a document for readers that don't nest: names with brackets, and arrays by `auto`, `indices` or `repeat`."""
    if isinstance(value, dict):
        return [leaf for key, member in value.items() for leaf in leaves(member, style, f"{name}[{key}]" if name else key)]
    if isinstance(value, list):
        def element_name(index, element):
            if style == "repeat":
                return name
            return name + (f"[{index}]" if style == "indices" or isinstance(element, (dict, list)) else "[]")
        return [leaf for index, element in enumerate(value) for leaf in leaves(element, style, element_name(index, element))]
    return [[name, value]]


def has_nested_object(value):
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(member, dict) or has_nested_object(member) for member in members)


class ReadingTests(ProxyTestCase):
    """Through Recast into the servers."""

    routes = "\n" + "".join(
        f'  - {{ name: "{server}-{number}", match: /{server}/{number}, upstream: {server}, request: "json -> {expression}" }}\n'
        for number, (server, expression) in enumerate([tree[:2] for tree in TREES] + [("werkzeug", flat) for flat in FLAT])
    ) + """
  - name: files
    match: "/files/{server}"
    upstream: php
    request:
      decode: { as: json }
      encode: { as: multipart, dialect: php, files: { "photos[*]": { from: base64, filename: "ü.bin", type: text/x-y } } }
  - name: rack-files
    match: /rack-files
    upstream: rack
    request:
      decode: { as: json }
      encode: { as: multipart, dialect: rack, files: { "photos[*]": { from: base64, filename: "ü.bin", type: text/x-y } } }
"""

    @classmethod
    def setUpClass(cls):
        cls.further_upstreams = {}
        for name, script in [("php", "form.php"), ("rack", "rack_server.rb"), ("qs", "qs_server.js"), ("werkzeug", "werkzeug_server.py")]:
            server = Server(script)
            cls.addClassCleanup(server.stop)
            cls.further_upstreams[name] = f"127.0.0.1:{server.port}"
        super().setUpClass()

    def read(self, path, document):
        """What the server makes of the document, or the code of the refusal."""
        response = self.send("POST", path, json.dumps(document).encode(), JSON)
        if response.status != 200:
            self.assert_problem(response, 422)
            return {"fields": response.json["code"], "urllib": response.json["code"]}
        return response.json

    def test_nested_documents_are_read_back(self):
        for number, (server, expression, reading, others) in enumerate(TREES):
            for name, document in DOCUMENTS.items():
                with self.subTest(server=server, expression=expression, document=name):
                    expected = others[name] if name in others else reading(document)
                    answer = self.read(f"/{server}/{number}", document)
                    self.assertEqual(answer.get("fields"), expected, answer)

    def test_flat_readers_get_each_field_in_order(self):
        for number, expression in enumerate(FLAT, len(TREES)):
            is_flat = "whatwg" in expression
            style = "repeat" if is_flat else "indices" if "indices" in expression else "auto"
            for name, document in DOCUMENTS.items():
                with self.subTest(expression=expression, document=name):
                    expected = leaves(document, style)
                    if is_flat and has_nested_object(document):
                        expected = "field_nested_object"
                    elif not is_flat and name in REFUSED:
                        expected = REFUSED[name]
                    answer = self.read(f"/werkzeug/{number}", document)
                    self.assertEqual(answer["fields"], expected)
                    self.assertEqual(answer.get("urllib", expected), expected)

    def test_values_that_are_no_strings(self):
        document = {"yes": True, "no": False, "none": None, "n": 1.50, "tiny": 1e-7, "l": [1, None, [], {}, True], "o": {}}
        expected = {
            "form(dialect: php)": {"yes": "1", "no": "0", "n": "1.5", "tiny": "1.0E-7", "l": {"0": "1", "4": "1"}},
            "form(dialect: rack)": {
                "yes": "true", "no": "false", "none": None, "n": "1.5", "tiny": "1.0e-07", "l": ["1", None, "true"]},
            "form(dialect: qs)": {"yes": "true", "no": "false", "none": "", "n": "1.5", "tiny": "1e-7", "l": ["1", "", "true"]},
        }
        for number, (server, expression, _, _) in enumerate(TREES):
            if expression in expected:
                with self.subTest(expression=expression):
                    self.assertEqual(self.read(f"/{server}/{number}", document)["fields"], expected.pop(expression))
        self.assertEqual(expected, {})

    def test_files_among_fields(self):
        document = {"title": "T", "photos": ["QQ==", "Qg=="], "o": {"k": ["v"]}}
        answer = self.read("/files/php", document)
        self.assertEqual(answer["fields"], {"title": "T", "o": {"k": ["v"]}})
        self.assertEqual(answer["files"], {"photos": [
            {"filename": "ü.bin", "type": "text/x-y", "content": content} for content in "AB"]})
        answer = self.read("/rack-files", document)
        self.assertEqual(answer["fields"], {"title": "T", "o": {"k": ["v"]}, "photos": [
            {"filename": "ü.bin", "type": "text/x-y", "content": content} for content in "AB"]})


class BytesTests(ProxyTestCase):
    """What a dialect writes is what its library writes."""

    expressions = {
        "php": ["form(dialect: php)", "form(dialect: php, spaces: percent)"],
        "rack": ["form(dialect: rack)"],
        "qs": ["form(dialect: qs)", "form(dialect: qs, arrays: brackets, spaces: plus, nulls: key)",
               "form(dialect: qs, arrays: repeat, nesting: dots, nulls: omit)", "form(dialect: whatwg)"],
    }
    routes = "\n" + "".join(
        f'  - {{ name: "{name}-{number}", match: /{name}/{number}, upstream: app, request: "json -> {expression}" }}\n'
        for name, all in expressions.items() for number, expression in enumerate(all))

    @staticmethod
    def documents():
        """The documents from above, and some that are made up, the same each time."""
        chance = random.Random(20261121)
        numbers = [0, 1, -7, 1.5, 1e-7, 1e15, 1e21, 0.1, 2**53, 10**20, -0.25, 123456.5, 1e-5, 100.0]
        texts = ["", "a", "x y", "~!*()'-._", "&=?#/%+", "[]", "é€𐐷", "l1\r\nl2", "\0", "a.b", ","]
        keys = ["a", "b", "c d", "e[f]", "g.h", "é", "", "&"]

        def value(depth):
            kind = chance.randrange(9 if depth < 4 else 6)
            if kind < 6:
                return [chance.choice(texts), chance.choice(texts), chance.choice(numbers), True, False, None][kind]
            if kind == 6:
                return [value(depth + 1) for _ in range(chance.randrange(4))]
            return {key: value(depth + 1) for key in chance.sample(keys, chance.randrange(4))}

        made = [{key: value(1) for key in chance.sample(keys, chance.randrange(1, 5))} for _ in range(150)]
        flat = [{key: value(9) for key in chance.sample(keys, chance.randrange(1, 5))} for _ in range(30)]
        return [*DOCUMENTS.values(), *made, *flat]

    def compare(self, name, number, documents, expected, readable=lambda text: text):
        for document, text in zip(documents, expected):
            if text is None:
                continue
            with self.subTest(expression=self.expressions[name][number], document=document):
                self.upstream.reset()
                self.assertEqual(self.send("POST", f"/{name}/{number}", json.dumps(document).encode(), JSON).status, 200)
                self.assertEqual(readable(self.upstream.one().body.decode()), readable(text))

    def test_php_writes_the_same(self):
        documents = self.documents()
        for number, expected in enumerate(zip(*run_encoder("encode.php", documents))):
            self.compare("php", number, documents, expected)

    def test_rack_writes_the_same(self):
        # Rack 2 leaves the brackets alone that Rack 3 escapes, and repeats the name's escapes; the rest is the same.
        # Ruby keeps the point where one digit of 17 stands behind it.
        chance = random.Random(20261123)
        floats = [chance.choice([1, -1]) * chance.uniform(1e15, chance.choice([2e15, 5e15, 1e16])) for _ in range(2000)]
        documents = [*self.documents(), {"n": floats}]
        self.compare("rack", 0, documents, run_encoder("encode.rb", documents),
                     lambda text: text.replace("%5B", "[").replace("%5D", "]"))

    def test_qs_and_urlsearchparams_write_the_same(self):
        documents = self.documents()
        for number, expected in enumerate(zip(*run_encoder("encode.js", documents))):
            self.compare("qs", number, documents, expected)


if __name__ == "__main__":
    unittest.main()
