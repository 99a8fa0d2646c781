"""What a user sees of a route before it serves: notes and examples of `check`, one body in `explain`."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from harness import DEADLINE, FORM, JSON, RECAST, ROOT, free_port

EXAMPLE = """
    examples:
      - in: { items: [ { sku: A, qty: 2 } ], token: secret, user_id: 7, photo: aGk= }
        header: { x-tenant: acme }
        path: /api/orders/9
        out_fields: [ "items[0][sku]=A", "items[0][qty]=%s", "photo=hi", "user[id]=7", "tenant=acme" ]
      - { in: { a: {} }, error: field_empty }
"""

ROUTES = """version: 1
listen: 127.0.0.1:%d
access_log: off
upstreams: { app: "127.0.0.1:3000" }
routes:
  - name: orders
    match: { method: [POST, PUT], path: "/api/orders/{id}" }
    upstream: app
    rewrite: { path: "/orders.php", query: { id: "${path.id}" } }
    request:
      decode: { as: json }
      map:
        remove: [token]
        rename: { user_id: user.id }
        set: { tenant: "${header.x-tenant}" }
      fields: { user.id: string }
      encode: { as: multipart, arrays: indices, files: { photo: { from: base64, filename: p.jpg } } }
"""

REST = """
  - { name: signup, match: /signup, upstream: app, request: form -> json }
  - { name: any, match: /any, upstream: app, request: "auto -> json" }
  - { name: to-query, match: /to-query, upstream: app, request: json -> query }
  - { name: back, match: /back, upstream: app, response: json -> form, headers: { response: { set: { X-By: recast } } } }
  - { name: answers, match: /answers, upstream: app, response: [ { when: { status: 2xx }, convert: xml -> json } ] }
  - { name: rest, match: "/*", upstream: app }
"""


class ExplainTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recast-explain-")
        self.addCleanup(folder.cleanup)
        self.port = free_port()
        self.file = self.write(os.path.join(folder.name, "recast.yaml"), "2")
        self.failing = self.write(os.path.join(folder.name, "failing.yaml"), "3")
        self.folder = folder.name

    def write(self, path, quantity):
        with open(path, "w", encoding="utf-8") as file:
            file.write(ROUTES % self.port + EXAMPLE % quantity + REST)
        return path

    def recast(self, *arguments, data=b""):
        result = subprocess.run([RECAST, *arguments], input=data, capture_output=True, timeout=DEADLINE)
        result.output, result.errors = result.stdout.decode(), result.stderr.decode()
        return result

    # check

    def test_check_prints_the_notes_of_converting_routes_and_accepts_the_file(self):
        result = self.recast("check", self.file)
        self.assertEqual(result.returncode, 0, result.errors)
        lines = result.output.splitlines()
        self.assertIn("route orders: null becomes an empty value; nulls: literal or reject keeps it apart", lines)
        self.assertIn("route any: a file is refused; files: object carries it", lines)
        self.assertFalse([line for line in lines if line.startswith(("route signup", "route rest"))])
        self.assertEqual(lines[-1], f"{self.file}: fine, 7 routes, 2 examples")

    def test_quiet_leaves_the_notes_out(self):
        result = self.recast("check", "--quiet", self.file)
        self.assertEqual((result.returncode, result.output), (0, f"{self.file}: fine, 7 routes, 2 examples\n"))

    def test_strict_refuses_a_file_with_warnings_alone(self):
        """docs/operations.md: notes are no warnings, and --quiet hides a warning without excusing it."""
        self.assertEqual(self.recast("check", "--strict", self.file).returncode, 0)
        warned = os.path.join(self.folder, "warned.yaml")
        with open(self.file, encoding="utf-8") as source, open(warned, "w", encoding="utf-8") as file:
            file.write(source.read().replace("match: /any", "match: '/any/:id'"))
        self.assertEqual(self.recast("check", warned).returncode, 0)
        refusal = f"{warned}: 1 warning, which --strict refuses\n"
        for options in ([], ["--quiet"]):
            result = self.recast("check", "--strict", *options, warned)
            self.assertEqual((result.returncode, result.errors), (65, refusal), options)
            self.assertEqual("warning: route any: " in result.output, not options)
            self.assertNotIn(": fine", result.output)
        result = self.recast("check", "--strict", "--json", warned)
        told = json.loads(result.output)
        self.assertEqual((result.returncode, result.errors, told["ok"], "routes" in told), (65, "", False, False))
        self.assertIn("path_colon", [finding["code"] for finding in told["findings"] if finding["severity"] == "warning"])

    def test_a_file_without_its_secrets_alone_is_offered_the_option_that_does_without(self):
        hint = "--no-secrets reads the settings without what is missing here"
        secret = "'github(secret: \"${env:RECAST_TEST_NOT_HERE}\")'"
        text = ("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
                f"routes: [{{ name: a, match: /a, upstream: app, request: form -> json, verify: {secret}%s }}]\n")
        path = os.path.join(self.folder, "secret.yaml")
        for more, offered in (("", True), (", verfy: 1", False)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text % more)
            for command in (("check", path), ("routes", path), ("explain", path, "a"), ("check", "--quiet", path)):
                with self.subTest(command, more=more):
                    result = self.recast(*command)
                    self.assertEqual((result.returncode, result.output), (65, ""))
                    lines = result.errors.splitlines()
                    self.assertIn("the environment has no variable RECAST_TEST_NOT_HERE", lines[0])
                    self.assertEqual(lines[-1] == hint, offered, result.errors)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text % "")
        # What would be offered does not, a proxy that serves needs them, and a text that was read is gone.
        self.assertEqual(self.recast("check", "--no-secrets", path).errors, "")
        self.assertNotIn(hint, self.recast("serve", path).errors)
        self.assertNotIn(hint, self.recast("check", "-", data=(text % "").encode()).errors)

    def test_who_names_no_file_and_has_none_hears_of_init(self):
        result = subprocess.run([RECAST, "serve"], cwd=self.folder, capture_output=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, 65)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(lines[0], "config/recast.yaml:1:1: there is no file config/recast.yaml")
        self.assertIn("recast init", lines[1])
        self.assertEqual(len(self.recast("check", os.path.join(self.folder, "none.yaml")).errors.splitlines()), 1)

    def test_an_example_that_fails_makes_check_fail_and_shows_both(self):
        result = self.recast("check", self.failing)
        self.assertEqual((result.returncode, result.output), (65, ""))
        self.assertEqual(len(result.errors.splitlines()), 1)
        self.assertTrue(result.errors.startswith(f'{self.failing}:20:9: the example of the route "orders" fails: '))
        self.assertIn('expected ["items[0][sku]=A", "items[0][qty]=3"', result.errors)
        self.assertIn('got ["items[0][sku]=A", "items[0][qty]=2"', result.errors)

    def test_a_file_whose_examples_fail_is_not_served(self):
        result = self.recast("serve", self.failing)
        self.assertEqual((result.returncode, result.output), (65, ""))
        self.assertIn("the example of the route", result.errors)

    def test_the_examples_of_the_shipped_configuration_pass(self):
        result = self.recast("check", os.path.join(ROOT, "config", "recast.yaml"))
        self.assertEqual(result.returncode, 0, result.errors)
        self.assertIn("examples", result.output)

    def test_no_text_of_a_file_reaches_a_terminal_as_it_is_where_it_holds_controls_or_turns_directions(self):
        path = os.path.join(self.folder, "hostile.yaml")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        def printed(*arguments, data=b""):
            result = self.recast(*arguments, data=data)
            both = result.output + result.errors
            self.assertFalse(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", both), ascii(both))
            return both

        write('version: 1\nlisten: 127.0.0.1:1\n"a\u202eb": 1\n"\\e[31m\\x85\\n": 2\nroutes: []\n')
        text = printed("check", path)
        self.assertIn('the file has no key "a\\u{202E}b"', text)
        self.assertIn('the file has no key "\\u{1B}[31m\\u{0085}\\n"', text)
        text = printed("check", "--json", path)
        self.assertIn('no key \\"a\\u202eb\\"', text)
        self.assertIn('no key "\x1b[31m\x85\n"', json.loads(text)["findings"][2]["message"])

        write(ROUTES % self.port + REST.replace("name: any, match: /any", "name: any, match: \"/:any\u202e\""))
        self.assertIn("/:any\\u{202E} a colon is a character like any other", printed("check", path))
        self.assertIn('"a\\u202eb\\u0085"', printed("explain", "--json", path, "orders", data='{"a\u202eb\x85":1}'.encode()))
        self.assertIn('"a\\udb40\\udc01b"', printed("explain", "--json", path, "orders", data='{"a\U000e0001b":1}'.encode()))
        self.assertIn("/:any\\u{202E}  ", printed("routes", path))
        self.assertIn("/:any\\u{202E}", printed("explain", path, "any", "--path", "/x", "--type", FORM, data="\u202ea=1".encode()))
        self.assertIn('has no route "\\u{1B}[0m"', printed("explain", path, "\x1b[0m"))

    # explain

    def test_a_body_is_explained_as_that_of_a_response(self):
        result = self.recast("explain", self.file, "back", "--status", "200", data=b'{"a":{"b":1}}')
        self.assertEqual(result.returncode, 0, result.errors)
        lines = result.output.splitlines()
        self.assertIn("response: json -> form, here application/json", lines)
        self.assertIn("  a.b -> a[b]  nesting: brackets", lines)
        at = lines.index("the response to the client")
        self.assertEqual(
            lines[at:at + 5], ["the response to the client", "200 OK", f"Content-Type: {FORM}", "Content-Length: 10", "X-By: recast"])
        self.assertNotIn("Host:", result.output)
        document = json.loads(self.recast("explain", "--json", self.file, "answers", "--status", "201", data=b"<r><a>1</a></r>").output)
        self.assertEqual((document["request"], [(field["from"], field["to"]) for field in document["sent"]]), (None, [("r.a", "r.a")]))
        for arguments, said in (
                (("answers",), "converts responses: a body is explained as that of one with --status 200"),
                (("answers", "--status", "404"), "let a response of 404"), (("signup", "--status", "200"), "converts no responses"),
                (("back", "--status", "206"), "let a response of 206"), (("back", "--status", "204"), "let a response of 204"),
                (("back", "--status", "200", "--type", "text/plain"), "a response of text/plain passes as it came"),
                (("back", "--status", "99"), "200 to 599"), (("back", "--status", "200", "--example", "1"), "examples are requests")):
            with self.subTest(arguments):
                result = self.recast("explain", self.file, *arguments, data=b"{}")
                self.assertEqual((result.returncode, result.output), (64, ""))
                self.assertIn(said, result.errors)

    def test_a_response_is_explained_with_the_status_and_the_problem_that_its_rules_make(self):
        path = os.path.join(self.folder, "envelopes.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - name: f
    match: /f
    upstream: app
    response: [ { decode: { as: xml }, encode: { as: json }, status_from: { path: Response.code, map: { 0: 200, 5: 500 } }, problem: true } ]
  - { name: alone, match: /a, upstream: app, response: { status_from: { path: code, map: { 5: 500 }, as: json }, problem: true } }
  - { name: dropped, match: /d, upstream: app, response: { decode: { as: xml, root: drop }, encode: { as: json }, status_from: { path: code, map: { 5: 500 } } } }
  - name: two
    match: /t
    upstream: app
    response: [ { when: { status: 2xx }, convert: json -> form }, { when: { status: [4xx, 5xx] }, problem: true } ]
  - { name: good, match: /g, upstream: app, response: { convert: json -> form, accept: { status: 200 } } }
""")

        def explained(route, body, *options, status="200"):
            result = self.recast("explain", path, route, "--status", status, *options, data=body)
            self.assertEqual(result.returncode, 0, result.errors)
            document = json.loads(self.recast("explain", "--json", path, route, "--status", status, *options, data=body).output)
            fields = {field["name"]: field["value"] for field in document["response"]["headers"]}
            self.assertIn(f"the response to the client\n{document['response']['status']} ", result.output)
            return (document["response"]["status"], document["found"], fields["Content-Type"], int(fields["Content-Length"]), document["output"])

        boo = b"<Response><code>%d</code><message>boo</message></Response>"
        problem = ('{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"boo",'
                   '"Response":{"code":"5","message":"boo"}}')
        self.assertEqual(explained("f", boo % 5), (
            500, {"status_from": "value", "problem": "made"}, "application/problem+json", len(problem), "problem"))
        self.assertEqual(explained("f", boo % 0)[:3], (200, {"status_from": "value"}, JSON))
        self.assertEqual(explained("f", boo % 7)[:3], (200, {"status_from": "unmapped"}, JSON))
        self.assertEqual(explained("f", b"x", "--type", "text/plain"), (200, {"status_from": "type"}, "text/plain", 1, "the same"))
        self.assertEqual(explained("dropped", boo % 5)[:3], (500, {"status_from": "value"}, JSON))
        self.assertEqual(explained("alone", b'{"code":5}')[:3], (500, {"status_from": "value", "problem": "made"}, "application/problem+json"))
        self.assertEqual(explained("alone", b'{"code":6}'), (200, {"status_from": "unmapped"}, JSON, 10, "the same"))
        self.assertEqual(explained("two", b'{"a":1}', status="404")[:3], (404, {"problem": "made"}, "application/problem+json"))
        self.assertEqual(explained("two", b'{"a":1}')[:3], (200, {}, FORM))
        for route, status, body, said in (
                ("two", "302", b"{}", "let a response of 302"), ("alone", "204", b"{}", "let a response of 204"),
                ("alone", "200", b"", "without content pass"), ("good", "201", b"{}", "accept.status")):
            with self.subTest(route, status=status):
                result = self.recast("explain", path, route, "--status", status, data=body)
                self.assertEqual((result.returncode, result.output), (64, ""))
                self.assertIn(said, result.errors)

    def test_an_empty_name_is_shown_in_quotes_and_headers_that_a_part_loses_are_named(self):
        self.assertIn('\n  "" -> ""\n', self.recast("explain", self.file, "signup", data=b"=1").output)
        body = b'--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: text/x\r\n\r\n1\r\n--b--\r\n'
        result = self.recast("explain", self.file, "any", "--type", "multipart/form-data; boundary=b", data=body)
        self.assertIn("  a -> a  without Content-Type\n", result.output)

    def test_explain_shows_where_each_field_went_and_what_the_upstream_sees(self):
        body = b'{"items":[{"sku":"A"}],"token":"t","user_id":7,"photo":"aGk=","x":null}'
        result = self.recast(
            "explain", self.file, "orders", "--path", "/api/orders/9", "--header", "X-Tenant: acme", data=body)
        self.assertEqual(result.returncode, 0, result.errors)
        rows = {line.split()[0]: " ".join(line.split()) for line in result.output.splitlines() if line.startswith("  ")}
        self.assertEqual(rows["items[0].sku"], "items[0].sku -> items[0][sku] arrays: indices, nesting: brackets")
        self.assertEqual(
            rows["user_id"],
            "user_id -> user[id] map.rename user_id to user.id, fields user.id: string, nesting: brackets")
        self.assertEqual(rows["file"], "file photo -> photo files.photo: from base64")
        self.assertEqual(rows["token"], "token left out map.remove token")
        self.assertEqual(rows["x"], "x -> x nulls: empty")
        self.assertEqual(rows["(the"], "(the route) -> tenant map.set tenant")
        self.assertIn("\nPOST /orders.php?id=9\n", result.output)
        self.assertRegex(result.output, r"\nContent-Type: multipart/form-data; boundary=\S+\nContent-Length: \d+\n")
        self.assertIn("\nnote: null becomes an empty value;", result.output)

    def test_the_length_is_that_of_the_converted_body_or_its_bound(self):
        small = self.recast("explain", self.file, "signup", data=b"a=1")
        self.assertIn("Content-Length: %d\n" % len(b'{"a":"1"}'), small.output)
        # A document that is put together is held until it is whole.
        held = self.recast("explain", self.file, "signup", data=b"&".join(b"a%d=" % at + b"x" * 60000 for at in range(6)))
        self.assertIn("\nContent-Length: %d\n" % (6 * len('"a0":"",') + 6 * 60000 + 1), held.output)
        for length, is_bound in ((100_000, False), (300_000, True)):
            body = b'{"a":["' + b"b" * (length - 10) + b'"]}'
            output = self.recast("explain", self.file, "any", "--type", "application/json", data=body).output
            announced = int(re.search(r"\nContent-Length: (\d+)\n", output)[1])
            self.assertEqual(announced > length + 60_000, is_bound, announced)

    def test_explain_takes_the_examples_of_the_route_without_input(self):
        first = self.recast("explain", self.file, "orders")
        self.assertEqual(first.returncode, 0, first.errors)
        self.assertIn("items[0].qty", first.output)
        self.assertIn("POST /orders.php?id=9\n", first.output)
        second = self.recast("explain", self.file, "orders", "--example", "2")
        self.assertEqual(second.returncode, 65)
        self.assertIn("\nrequest: json -> multipart", second.output)
        self.assertNotIn("Content-Length", second.output)
        self.assertIn("[field_empty]", second.errors)
        for number in ("3", "0", "-1", str(2**63 - 1), str(-2**63)):
            none = self.recast("explain", self.file, "orders", f"--example={number}")
            self.assertEqual(none.returncode, 64, none.errors)
            self.assertIn(f"the route \"orders\" has 2 examples: there is no --example {number}", none.errors)

    def test_explain_prints_json_when_asked(self):
        result = self.recast("explain", self.file, "orders", "--json", data=b'{"token":"t","a":[1]}')
        document = json.loads(result.output)
        self.assertEqual(document["removed"], [
            {"kind": "field", "from": "token", "to": None, "rules": ["map.remove token"]}])
        self.assertEqual(document["sent"][0], {
            "kind": "field", "from": "a[0]", "to": "a[0]", "rules": ["arrays: indices"]})
        self.assertEqual(document["request"]["target"], "/orders.php?id=id")
        self.assertIn("null_empty", [note["code"] for note in document["notes"]])

    def test_explain_shows_the_response_that_header_rules_edit_when_asked(self):
        path = os.path.join(self.folder, "headers.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - name: a
    match: /a/{id}
    upstream: app
    headers:
      request: { set: { X-Up: up } }
      response:
        set: { X-Id: "${path.id}", X-Key: "${env:RECAST_TEST_RESPONSE}" }
        add: { Link: "<b>; rel=next" }
        remove: [Server, "X-Internal-*"]
""")
        os.environ["RECAST_TEST_RESPONSE"] = "secret-1"
        self.addCleanup(os.environ.pop, "RECAST_TEST_RESPONSE")

        def run(*arguments):
            return subprocess.run([RECAST, "explain", path, "a", *arguments], input=b"", capture_output=True, timeout=DEADLINE)

        self.assertNotIn(b"the response", run().stdout)
        came = ["Server: x", "X-Internal-Host: h", "x_internal_other: o", "X-Id: old", "Link: a", "Link: b", "Content-Type: text/html"]
        options = [word for field in came for word in ("--response-header", field)]
        expected = [
            ("Link", "a"), ("Link", "b"), ("Content-Type", "text/html"), ("X-Id", "7"), ("X-Key", "${env:RECAST_TEST_RESPONSE}"),
            ("Link", "<b>; rel=next")]
        result = run("--path", "/a/7", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = result.stdout.decode().split("the response to the client\n")[1].splitlines()
        self.assertEqual(shown, [f"{name}: {value}" for name, value in expected])
        report = json.loads(run("--json", "--path", "/a/7", *options).stdout)
        self.assertEqual([(one["name"], one["value"]) for one in report["response"]["headers"]], expected)
        self.assertNotIn(b"secret-1", result.stdout)
        self.assertIn(b"X-Id: id\n", run("--response").stdout)
        self.assertIsNone(json.loads(run("--json").stdout)["response"])
        self.assertEqual(run("--response-header", "nonsense").returncode, 64)

    def test_a_target_shows_what_the_settings_say_in_the_place_of_secrets(self):
        path = os.path.join(self.folder, "targets.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - { name: a, match: /a, upstream: app, rewrite: { query: { key: "${env:RECAST_TEST_TOKEN}", short: "${env:RECAST_TEST_SHORT}", v: "2" } } }
  - { name: b, match: /b, upstream: app, rewrite: { path: "/v1/${env:RECAST_TEST_SHORT}/b" } }
  - { name: c, match: /c, upstream: app, rewrite: { query: { key: "${env:RECAST_TEST_TOKEN}" } }, request: { decode: { as: form }, encode: { as: query } } }
""")
        os.environ.update({"RECAST_TEST_TOKEN": "t/+ok en", "RECAST_TEST_SHORT": "s"})
        for name in ("RECAST_TEST_TOKEN", "RECAST_TEST_SHORT"):
            self.addCleanup(os.environ.pop, name)
        for route, body, expected in (
                ("a", b"", "/a?key=${env:RECAST_TEST_TOKEN}&short=${env:RECAST_TEST_SHORT}&v=2"),
                ("b", b"", "/v1/${env:RECAST_TEST_SHORT}/b"),
                ("c", b"x=1", "/c?key=${env:RECAST_TEST_TOKEN}&x=1")):
            result = self.recast("explain", path, route, data=body)
            self.assertEqual(result.returncode, 0, result.errors)
            self.assertIn(f" {expected}\n", result.output)
            report = self.recast("explain", path, route, "--json", data=body)
            self.assertEqual(json.loads(report.output)["request"]["target"], expected)
            for output in (result.output, report.output):
                for secret in ("t/+ok en", "t%2F%2Bok%20en", "t%2F%2Bok+en"):
                    self.assertNotIn(secret, output)

    def test_what_is_signed_shows_what_the_settings_say_in_the_place_of_secrets(self):
        path = os.path.join(self.folder, "signed.yaml")
        with open(path, "w") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "${env:RECAST_TEST_ADDRESS}" }
routes:
  - name: a
    match: /a
    upstream: app
    verify: { preset: square, secret: 0123456789abcdef, public_url: "https://u:${env:RECAST_TEST_TOKEN}@h.example" }
    sign: { preset: twilio, secret: 0123456789abcdef, public_url: "https://ada:inline-pw@up.example" }
    headers: { request: { set: { X-Back: "https://ada:inline-pw@back.example" } } }
  - name: b
    match: /b
    upstream: app
    verify:
      header: X-S
      signed: "${env:RECAST_TEST_TOKEN}.${env:RECAST_TEST_SHORT}.{body}"
      prefix: "${env:RECAST_TEST_TOKEN}="
      secret: 0123456789abcdef
""")
        os.environ.update({"RECAST_TEST_TOKEN": "tok}}en-777", "RECAST_TEST_SHORT": "qz", "RECAST_TEST_ADDRESS": "db7.internal:3000"})
        for name in ("RECAST_TEST_TOKEN", "RECAST_TEST_SHORT", "RECAST_TEST_ADDRESS"):
            self.addCleanup(os.environ.pop, name)
        expected = {"a": ("https://*@h.example", "https://*@up.example", "https://*@back.example"),
                    "b": ("${env:RECAST_TEST_TOKEN}.${env:RECAST_TEST_SHORT}.{body}", "X-S behind ${env:RECAST_TEST_TOKEN}=")}
        for arguments in ([], ["--json"]):
            for route, texts in expected.items():
                output = self.recast("explain", path, route, *arguments, data=b"a=1").output
                for text in texts:
                    self.assertIn(text, output)
                for secret in ("tok}", "qz", "inline-pw", "ada", "db7"):
                    self.assertNotIn(secret, output)
        output = self.recast("routes", path).output
        self.assertIn("https://*@h.example", output)
        self.assertNotIn("inline-pw", output)

    def test_explain_shows_pictures_and_envelopes_and_no_secret(self):
        path = os.path.join(self.folder, "bodies.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - name: a
    match: /a
    upstream: app
    request:
      decode: { as: json }
      encode: { as: json, files: { photo: { image: { max: 60, format: jpeg, quality: 50, metadata: drop } }, b.c: { image: { width: 9 } } } }
    response:
      - when: { status: 200, type: application/json }
        status_from: { path: "${env:RECAST_TEST_PLACE}", map: { 0: 200, 1-9: 400, missing: unchanged }, default: 502, as: json }
        problem: true
      - { when: { status: 4xx }, problem: { detail: error.text } }
      - { when: { status: 5xx }, pass: true }
  - { name: b, match: /b, upstream: app, response: { status_from: code } }
""")
        os.environ["RECAST_TEST_PLACE"] = "errcode"
        self.addCleanup(os.environ.pop, "RECAST_TEST_PLACE")
        lines = self.recast("explain", path, "a", data=b'{"photo":"aGk="}').output.splitlines()
        shown = [" ".join(line.split()) for line in lines[3:lines.index("")]]
        self.assertEqual(shown, [
            "image: photo", "max 60", "format jpeg", "quality 50", "metadata drop", "pixels 50M", "on_other reject",
            "image: b.c", "width 9", "quality 85", "metadata keep", "pixels 50M", "on_other reject", "format as it came",
            "response: status 200, type application/json", "status_from ${env:RECAST_TEST_PLACE}",
            "map 0: 200, 1-9: 400, missing: unchanged", "default 502", "look 64KiB", "as json", "problem true",
            "response: status 4xx", "problem true", "detail error.text", "look 64KiB"])
        report = json.loads(self.recast("explain", path, "a", "--json", data=b'{"photo":"aGk="}').output)
        self.assertEqual(report["images"], [
            {"field": "photo", "max": "60", "format": "jpeg", "quality": "50", "metadata": "drop", "pixels": "50M", "on_other": "reject"},
            {"field": "b.c", "width": "9", "quality": "85", "metadata": "keep", "pixels": "50M", "on_other": "reject"}])
        self.assertEqual(report["envelopes"], [
            {"when": {"status": "200", "type": "application/json"},
             "status_from": {"path": "${env:RECAST_TEST_PLACE}", "map": {"0": "200", "1-9": "400", "missing": "unchanged"},
                             "default": "502", "look": "64KiB", "as": "json"}, "problem": {}},
            {"when": {"status": "4xx"}, "status_from": None, "problem": {"detail": "error.text", "look": "64KiB"}}])
        # A route that does nothing else can be explained too.
        short = self.recast("explain", path, "b")
        self.assertEqual(short.returncode, 0, short.errors)
        self.assertIn("response: any\n  status_from  code\n  map          the value is the status\n", short.output)
        self.assertIn("  as           by Content-Type\n", short.output)
        self.assertIsNone(json.loads(self.recast("explain", path, "b", "--json").output)["envelopes"][0]["status_from"]["map"])

    def test_check_warns_of_rules_that_never_hold(self):
        path = os.path.join(self.folder, "never.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - name: a
    match: { path: /a, method: GET }
    upstream: app
    request: { decode: { as: multipart }, encode: { as: multipart, files: { photo: { image: { max: 60 } } } } }
    response: { when: { type: text/html }, status_from: code }
""")
        lines = self.recast("check", path).output.splitlines()
        self.assertIn(
            'warning: route a: it has an "image", and takes GET alone, which come without a body; '
            "match: { method: [POST, PUT] } takes uploads (line 5)", lines)
        self.assertIn(
            'warning: route a, response: "status_from" looks at no body of text/html; as: json reads it, whatever its type (line 5)', lines)
        codes = [one["code"] for one in json.loads(self.recast("check", "--json", path).output)["findings"]]
        self.assertEqual([code for code in codes if code.startswith(("image", "status"))], ["image_without_body", "status_from_type"])
        self.assertIn("framing_chunked", codes)

    def test_what_is_signed_has_a_length_and_no_note_of_chunks(self):
        path = os.path.join(self.folder, "signed.yaml")
        verified = ", verify: 'github(secret: 0123456789abcdef)'"
        for sign, noted in (("", True), (", sign: 'github(secret: 0123456789abcdef)'", False),
                            # Of what is held until its signature is known 1 MiB is taken.
                            (verified, False), (verified + ", limits: { signed: 8MiB }", True), (", limits: { body: 1MiB }", False)):
            with open(path, "w", encoding="utf-8") as file:
                file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
                           f"routes: [{{ name: a, match: /a, upstream: app, request: json -> form{sign} }}]\n")
            codes = [one["code"] for one in json.loads(self.recast("check", "--json", path).output)["findings"]]
            self.assertEqual("framing_chunked" in codes, noted, codes)

    def test_a_long_body_is_framed_as_its_upstream_has_it(self):
        path = os.path.join(self.folder, "framed.yaml")
        body = '{"a":"' + "x" * 400_000 + '"}'
        for upstream, expected in (
            ("framing: auto", "Content-Length: 400002"),
            ("framing: length", "Content-Length: 400002"),
            ("framing: chunked", "Transfer-Encoding: chunked"),
            ("spool: { memory: 300KiB, disk: 64KiB }", "Transfer-Encoding: chunked"),
        ):
            with self.subTest(upstream=upstream):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: { address: \"127.0.0.1:3000\", "
                               f"{upstream} }} }}\n"
                               "routes: [{ name: a, match: /a, upstream: app, request: json -> form, limits: { field: 1MiB } }]\n")
                lines = self.recast("explain", path, "a", data=body.encode()).output.splitlines()
                self.assertIn(expected, lines)

    def test_a_header_value_is_explained_up_to_its_limit(self):
        path = os.path.join(self.folder, "long.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
                "routes: [{ name: a, match: /a, upstream: app, headers: { request: { set: { X-Up: \"${header.x-long}\" } } } }]\n")
        for length in (8191, 8192, 8193):
            result = subprocess.run(
                [RECAST, "explain", path, "a", "--header", "X-Long: " + "v" * length], input=b"", capture_output=True, timeout=DEADLINE)
            self.assertEqual(result.returncode, 0 if length <= 8192 else 64, result.stderr)

    def test_explain_of_a_query_shows_the_target_that_the_body_becomes(self):
        result = self.recast("explain", self.file, "to-query", data=b'{"a":"x y"}')
        self.assertIn("\nPOST /to-query?a=x%20y\n", result.output)

    def test_explain_reads_what_the_route_would(self):
        """The type that the request says, its query where that is the body, and of a response what goes on."""
        path = os.path.join(self.folder, "reads.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""version: 1
listen: 127.0.0.1:8080
upstreams: { app: "127.0.0.1:3000" }
routes:
  - { name: form, match: /form, upstream: app, request: form -> json, headers: { response: { set: { X-By: a } } } }
  - { name: other, match: /other, upstream: app, on_other_type: pass, request: form -> json }
  - { name: query, match: /query, upstream: app, request: query -> json }
  - { name: gone, match: { method: DELETE, path: /gone }, upstream: app, request: form -> json, rewrite: /x }
""")
        # docs/conversions.md: of a request without content nothing is converted, but of a POST, PUT or PATCH that names its type.
        for data, said in ((b"", "request: forwarded as it came"), (b"a=1", "request: form -> json, here ")):
            result = self.recast("explain", path, "gone", "--type", FORM, data=data)
            self.assertEqual(result.returncode, 0, result.errors)
            self.assertIn("\nDELETE /x\n", result.output)
            self.assertIn(said, result.output)
        for method, data, said in (("PUT", b"a=1", "request: form -> json, here "), ("DELETE", b"", "request: forwarded as it came")):
            result = self.recast("explain", path, "form", "--method", method, "--type", FORM, data=data)
            self.assertIn(f"\n{method} /form\n", result.output, result.errors)
            self.assertIn(said, result.output)
        for arguments, data, code, said in (
                (("form", "--header", "Content-Type: application/json"), b'{"a":1}', 65, "unsupported_media_type"),
                (("other", "--header", "content-type: text/plain"), b"a", 64, "a body of text/plain passes as it came"),
                (("query", "--query", "x=1"), b"a=1", 64, "with one and with content is a 422"),
                (("query", "--path", "/query?x=1"), b"a=1", 64, "with one and with content is a 422")):
            with self.subTest(arguments):
                result = self.recast("explain", path, *arguments, data=data)
                self.assertEqual(result.returncode, code, result.errors)
                # A refused body is the route's for all that, whose own part is printed; what is asked wrongly has none.
                self.assertEqual(result.output.startswith("route form: path /form\n"), code == 65, result.output)
                self.assertNotIn("Content-Length", result.output)
                self.assertIn(said, result.errors)
        for arguments in (("--query", "y=2"), ("--path", "/query?y=2")):
            result = self.recast("explain", path, "query", *arguments)
            self.assertIn("\n  y -> y\n", result.output, arguments)
            self.assertIn("Content-Length: 9", result.output)
        fields = ("Connection: X-A, close", "X-A: 1", "Keep-Alive: 1", "Transfer-Encoding: chunked", "Content-Length: 5", "X-B: 2")
        options = [word for field in fields for word in ("--response-header", field)]
        result = self.recast("explain", path, "form", *options, data=b"a=1")
        self.assertEqual(result.output[result.output.index("the response to the client"):].split("\n")[1:3], ["X-B: 2", "X-By: a"])

    def test_a_refused_body_is_an_error_as_convert_shows_it(self):
        explained = self.recast("explain", self.file, "orders", data=b'{"a":')
        converted = self.recast("convert", "json -> multipart", data=b'{"a":')
        self.assertEqual(explained.returncode, 65)
        # What the route says doesn't depend on the body.
        self.assertTrue(explained.output.startswith("route orders: "), explained.output)
        self.assertIn("request: json -> multipart, here application/json\n", explained.output)
        self.assertNotIn("->", explained.output.split("\n", 3)[3])
        as_json = self.recast("explain", "--json", self.file, "orders", data=b'{"a":')
        self.assertEqual((as_json.returncode, as_json.output, as_json.errors), (65, "", explained.errors))
        back = self.recast("explain", self.file, "back", "--status", "200", data=b'{"a":')
        self.assertEqual((back.returncode, back.output.splitlines()[2]), (65, "response: json -> form, here application/json"))
        self.assertEqual(
            explained.errors.removeprefix("recast explain: "), converted.errors.removeprefix("recast convert: "))

    def test_what_explain_cannot_do_is_wrong_usage_and_says_what_to_do(self):
        for arguments, words in (
            (["order"], 'did you mean "orders"?'),
            (["rest"], "forwards bodies as they are"),
            (["any"], "--type application/json"),
            (["orders", "--header", "x"], "'Name: value'"),
            (["orders", "--path", "/other"], "doesn't take /other"),
            (["orders", "--method", "GET"], "not GET"),
            (["to-query", "--method", "A B"], "this is no request"),
        ):
            with self.subTest(arguments=arguments):
                result = self.recast("explain", self.file, *arguments, data=b"{}")
                self.assertEqual((result.returncode, result.output), (64, ""))
                self.assertEqual(len(result.errors.splitlines()), 1)
                self.assertIn(words, result.errors)


if __name__ == "__main__":
    unittest.main()
