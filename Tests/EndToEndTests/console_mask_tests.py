"""What the console hides: masked values however a route or a client spells them, and what the settings say to be secret."""

import base64
import contextlib
import glob
import gzip
import json
import os
import subprocess
import unittest
import urllib.parse

from console_tests import ConsoleTestCase
from harness import DEADLINE, FORM, JSON, Client
from lifecycle_support import wait_until

XML = "application/xml"
VALUES = [
    "Simple1234", "Tr0ub&dor3", "p@ss w+rd!", "a/b/c/d/e/f", "quo\"te12345", "back\\slash1", "lt<gt>12345", "ünïcödé12", "per%cent123",
    "apo'stro123", "tab\t1234567", "emoji😀12345",
]


def quote(text):
    return urllib.parse.quote(text, safe="")


def spellings(value):
    """How JSON, forms and XML spell it, and JSON in forms."""
    found = {value, value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
    for ascii_only in (True, False):
        found.add(json.dumps(value, ensure_ascii=ascii_only)[1:-1])
    found |= {json.dumps(each, ensure_ascii=False)[1:-1] for each in list(found)}
    found |= {quote(each) for each in found} | {urllib.parse.quote_plus(each) for each in found}
    return found | {each.lower() for each in found}


def texts(value):
    """All texts of a document, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


class ConsoleMaskTests(ConsoleTestCase):
    routes = """
  - { name: document, match: /document, upstream: app, request: "form(document: payload) -> json" }
  - { name: typed, match: /typed, upstream: app, request: { decode: { as: form }, fields: { payload: json }, encode: { as: json } } }
  - { name: nested, match: /nested, upstream: app, request: "json -> form(nesting: json)" }
  - { name: lossless, match: /lossless, upstream: app, request: "json -> xml(convention: lossless)" }
  - { name: items, match: /items, upstream: app, request: "json -> xml(names: item)" }
  - { name: xml, match: /xml, upstream: app, request: json -> xml }
  - { name: back, match: /back, upstream: app, request: xml -> json }
  - name: files
    match: /files
    upstream: app
    request:
      decode: { as: json }
      encode:
        as: multipart
        files:
          token: { from: base64, name: upload, filename: x.bin }
          "list.password[*]": { from: base64, name: "pic{index}", filename: y.bin }
  - { name: path, match: "/path/{token}/{id}", upstream: app, rewrite: { path: "/to/${path.id}/${path.token}" } }
  - { name: posted, match: { method: POST, path: "/posted/{token}" }, upstream: app }
  - { name: text, match: /text, upstream: app, request: "json -> text(field: password)" }
  - { name: whole, match: /whole, upstream: app, request: "text(field: password) -> json" }
  - { name: answer, match: /answer, upstream: app, response: "json -> text(field: password)" }
  - { name: set, match: /set, upstream: app, request: { decode: { as: json }, map: { set: { x: "${query.password}" } }, encode: { as: xml } } }
  - { name: form, match: /form, upstream: app, request: { decode: { as: json }, map: { set: { x: "${query.password}" } }, encode: { as: form } } }
  - { name: renamed, match: /renamed, upstream: app, request: { decode: { as: json }, map: { rename: { user.password: user.pw, "list[*].token": "list[*].id" } }, encode: { as: json } } }
  - { name: plain, match: "/plain*", upstream: app }
"""

    def hidden(self, value, target, body, media_type, method="POST", fields=()):
        """Sends a request, of which no spelling of the value may be shown anywhere."""
        _, shown = self.exchange(method, target, body, media_type, fields)
        found, = (each for each in self.console.list() if each["id"] == shown["id"])
        for place, part in [*self.parts(shown), ("list", found)]:
            # Escapes of the answer itself are undone.
            text = "\n".join(texts(part))
            for spelled in spellings(value):
                self.assertNotIn(spelled, text, place)
        return shown

    def parts(self, shown):
        for side in ("client", "upstream"):
            for message in ("request", "response"):
                yield f"{side} {message}", shown[side][message]
        yield from shown.items()

    def test_a_text_in_a_value_is_looked_into(self):
        for value in [*VALUES, "A1b2C", "13579"]:
            document = json.dumps({"user": "ann", "password": value})
            plain = json.dumps({"user": "ann", "password": value}, ensure_ascii=False)
            for target, body, media_type in [
                ("/document", f"payload={quote(document)}", FORM), ("/typed", f"payload={quote(plain)}", FORM),
                ("/document", f"payload={urllib.parse.quote_plus(plain)}", FORM), ("/plain", f"payload={quote(plain)}", FORM),
                ("/plain", f"a=1&q={quote('b=1&password=' + quote(value))}", FORM), ("/nested", json.dumps({"user": {"password": value}}), JSON),
                ("/nested", json.dumps({"user": {"password": value}}, ensure_ascii=False), JSON),
                ("/plain", json.dumps({"a": plain}), JSON), ("/plain", json.dumps({"a": json.dumps({"b": document})}), JSON),
            ]:
                with self.subTest(value=value, target=target, body=body):
                    shown = self.hidden(value, target, body.encode(), media_type)
                    self.assertIn("***", shown["client"]["request"]["body"]["text"])
                    self.assertIn("***", shown["curl"])

    def test_a_value_in_another_line_than_its_name(self):
        for body in (b'"token":\nabcdefgh', b'"token":\r\xc2', b'a\n"token":\r\nabcdefgh\n', b'{"a":1}\n{"token":\n"abcdefgh",\n'):
            shown = self.hidden("abcdefgh", "/plain", body, "text/plain")
            self.assertIn('"token":', shown["client"]["request"]["body"]["text"])
        self.hidden("abcdefgh", "/plain", b"", None, "GET", ("X-Text: %22token%22%3A%0D%", "Referer: /?a=%22token%22%3A%0Aabcdefgh%0A"))

    def test_all_but_the_values_is_shown_as_it_came(self):
        body = "payload=%7b%22token%22%3A%22abc%2Bdef%2Fghi%3D%3D%22%2C+%22a%22:1%7D&b=%31"
        shown = self.hidden("abc+def/ghi==", "/typed", body.encode(), FORM)
        self.assertEqual(shown["client"]["request"]["body"]["text"], body.replace("abc%2Bdef%2Fghi%3D%3D", "***"))
        self.assertEqual(json.loads(shown["upstream"]["request"]["body"]["text"]), {"payload": {"token": "***", "a": 1}, "b": "1"})
        self.assertIn(body.replace("abc%2Bdef%2Fghi%3D%3D", "***"), shown["curl"])

    def test_a_value_is_hidden_also_as_a_rule_spells_it(self):
        for value in VALUES:
            plain = json.dumps({"password": value}, ensure_ascii=False)
            for target, body, media_type in [
                ("/lossless", plain, JSON), ("/items", json.dumps({"r": {"my password": value}}), JSON), ("/xml", plain, JSON),
                ("/xml", json.dumps({"r": {"password": {"@v": value}}}), JSON), ("/text", plain, JSON), ("/whole", value, "text/plain"),
                (f"/set?password={quote(value)}", '{"a":1}', JSON), (f"/form?password={quote(value)}", '{"a":1}', JSON),
            ]:
                with self.subTest(value=value, target=target):
                    self.hidden(value, target, body.encode(), media_type)
        for target, body, media_type in [
            ("/lossless", '{"pin_password":"A1b2C"}', JSON), ("/items", '{"r":{"my password":"A1b2C"}}', JSON),
            ("/text", '{"password":"A1b2C"}', JSON), ("/whole", "A1b2C", "text/plain"),
        ]:
            with self.subTest(target=target, body=body):
                self.hidden("A1b2C", target, body.encode(), media_type)

    def test_the_text_that_a_response_becomes_is_hidden_as_its_field_is(self):
        for value in ("A1b2C", "quo\"te12345"):
            self.upstream.script = lambda exchange: (
                exchange.read_body(), exchange.answer(200, json.dumps({"password": value}).encode(), fields=["Content-Type: application/json"]))
            shown = self.hidden(value, "/answer", None, None, "GET")
            self.assertEqual(shown["client"]["response"]["body"]["text"], "***")

    def test_a_name_that_a_rule_gives_is_masked_as_itself_and_in_no_other(self):
        body = {"user": {"password": "abc12"}, "list": [{"token": 1}], "userid": 7, "pwd_id": 8, "width": 9}
        shown = self.hidden("abc12", "/renamed?client_id=web", json.dumps(body).encode(), JSON, fields=["X-Client-Id: web"])
        sent = json.loads(shown["upstream"]["request"]["body"]["text"])
        self.assertEqual(sent["user"], {"pw": "***"})
        self.assertEqual([sent["userid"], sent["pwd_id"], sent["width"]], [7, 8, 9])
        self.assertEqual(sent["list"], [{"id": "***"}])
        self.assertEqual(shown["target"], "/renamed?client_id=web")

    def test_attributes_are_values_and_names(self):
        secret = "hunter2hunter2"
        for body in (f'<r><password v="{secret}"/></r>', f'<r><password v="{secret}">{secret}x</password></r>',
                     f"<r><password><v k='{secret}'/></password></r>", f'<r password="{secret}"/>',
                     f'<map xmlns="http://www.w3.org/2005/xpath-functions"><string key="password">{secret}</string></map>',
                     f'<params><param name="password">{secret}</param></params>', f'<add key="my-password" value="{secret}"/>'):
            for target in ("/plain", "/back"):
                with self.subTest(body=body, target=target):
                    shown = self.hidden(secret, target, body.encode(), XML)
                    self.assertIn("***", shown["client"]["request"]["body"]["text"])

    def test_a_variable_of_the_path_that_gives_access_by_its_name_is_not_shown(self):
        shown = self.hidden("s3cr3t-value", "/path/s3cr3t-value/id-77", None, None, "GET")
        self.assertIn("***", json.dumps(shown["client"]["request"]))
        self.assertIn("id-77", json.dumps(shown["client"]["request"]))
        # Nor where the route takes other methods.
        self.assertEqual(self.hidden("s3cr3t-value", "/posted/s3cr3t-value", None, None, "GET")["status"], 405)

    def test_what_the_access_log_redacts_is_not_shown(self):
        secret = "qw3rt"
        for target, fields in [
            (f"/plain;token={secret}", ()), (f"/plain;jsessionid={secret}/x;{secret}", ()), (f"/plain%3Bsid={secret}", ()),
            ("/plain", [f"Referer: https://a.example/cb?a=1&access_token={secret}"]),
            ("/plain", [f"Referer: https://a.example/cb;sid={secret}#access_token={secret}"]),
            ("/plain", [f"X-Original-URL: /x?access_token={secret}"]), ("/plain", [f"X-Backend: https://ada:{secret}@x/"]),
            ("/plain", [f"X-State: a=1; access_token={secret}; b=2"]), ("/plain", [f'X-Payload: {{"token":"{secret}"}}']),
        ]:
            with self.subTest(target=target, fields=fields):
                shown = self.hidden(secret, target, None, None, "GET", fields)
                self.assertIn("***", json.dumps(shown["client"]["request"]))
                self.assertIn("***", shown["curl"])
        for location in (f"https://a.example/cb?access_token={secret}", f"https://a.example/cb#access_token={secret}&a=1", f"/cb;sid={secret}"):
            with self.subTest(location=location):
                self.upstream.script = lambda exchange, location=location: (
                    exchange.read_body(), exchange.answer(302, b"", fields=[f"Location: {location}"]))
                shown = self.hidden(secret, "/plain", None, None, "GET")
                for side in ("client", "upstream"):
                    field, = (field for field in shown[side]["response"]["fields"] if field["name"].lower() == "location")
                    self.assertTrue(field["masked"])
                    self.assertTrue(field["value"].startswith(location.split(secret)[0] + "***"), field)

    def test_what_is_refused_by_its_target_is_not_shown_either(self):
        self.assertEqual(self.send("GET", "http://ada:qw3rt@x/plain").status, 400)
        shown = []

        def look():
            shown[:] = [each for each in self.console.list() if each["code"] == "http_bad_authority"]
            return bool(shown)
        wait_until("it is kept", look)
        self.assertEqual(shown[0]["target"], "http://***@x/plain")
        self.assertNotIn("qw3rt", json.dumps(self.console.json(f"/console/exchange?id={shown[0]['id']}")))

    def test_what_is_refused_by_its_host_is_not_shown_either(self):
        with Client(self.recast.port) as client:
            client.send("GET /plain HTTP/1.1\r\nHost: ada:qw3rt@x\r\nX-Forwarded-Host: ada:qw3rt@x, b\r\n\r\n")
            self.assertEqual(client.response().status, 400)
        shown = []

        def look():
            shown[:] = [each for each in self.console.list() if each["code"] == "http_bad_host"]
            return bool(shown)
        wait_until("it is kept", look)
        self.assertEqual(shown[0]["host"], "***@x")
        self.assertNotIn("qw3rt", json.dumps(self.console.json(f"/console/exchange?id={shown[0]['id']}")))

    def test_a_target_that_is_left_as_it_is_shown_goes_as_it_was(self):
        target = "/plain;token=qw3rt/y?a=1&next=%2Fz%3Ftoken%3Dqw3rt"
        _, first = self.exchange("GET", target)
        self.assertEqual(first["target"], "/plain;token=***/y?a=1&next=%2Fz%3Ftoken%3D***")
        for edited, sent in [(first["target"], target), (first["target"].replace("a=1", "a=2"), target.replace("a=1", "a=2"))]:
            self.assertEqual(self.console.post("/console/replay", {"id": first["id"], "edit": {"target": edited}})[0], 200)
            self.assertEqual(self.upstream.requests[-1].target, sent)
        status, answer = self.console.post("/console/replay", {"id": first["id"], "edit": {"target": "/plain;token=***/z"}})
        self.assertEqual(status, 409, answer)

    def test_a_replay_sends_what_was_meant_or_nothing(self):
        _, first = self.exchange("POST", "/plain?b=2", b"first", "text/plain")
        count = len(self.upstream.requests)
        for change, said in [
            ({"edits": {"target": "/y"}}, 'did you mean "edit"?'), ({"fields": [{"name": "Host", "value": "x"}]}, 'it stands in "edit"'),
            ({"target": "/y"}, 'it stands in "edit"'), ({"edit": {"Target": "/y"}}, 'did you mean "target"?'),
            ({"edit": {"headers": [{"name": "Host", "value": "x"}]}}, 'they are "fields"'), ({"edit": {"boddy": "x"}}, 'did you mean "body"?'),
            ({"edit": "x"}, "is an object"), ({"edit": []}, "is an object"), ({"edit": 5}, "is an object"), ({"edit": True}, "is an object"),
            ({"edit": {"fields": {"Host": "x"}}}, "is a list"), ({"edit": {"fields": "x"}}, "is a list"),
            ({"edit": {"fields": ["x"]}}, "is an object"), ({"edit": {"fields": [{"name": "Host"}]}}, "a name and a value"),
            ({"edit": {"fields": [{"nam": "Host", "value": "x"}]}}, 'did you mean "name"?'),
            ({"edit": {"fields": [{"name": "Host", "value": 7}]}}, '"value" is a text'), ({"edit": {"body": {"a": 1}}}, '"body" is a text'),
            ({"edit": {"body": "x", "base64": "eA=="}}, "remove one"), ({"edit": {"method": 7}}, '"method" is a text'),
            ({"edit": {"target": ["/"]}}, '"target" is a text'), ({"edit": {"target": "/plain a"}}, "has a space"), ({"edit": {"base64": 1}}, '"base64" is a text'),
            ({"id": 17}, '"id" is a text'), ({"id": None}, "which exchange?"), ({"zzz": 1}, "known are id, request_id, edit"),
        ]:
            with self.subTest(change=change):
                status, answer = self.console.post("/console/replay", {"id": first["id"], **change})
                self.assertEqual(status, 400, answer)
                self.assertIn(said, answer["error"])
        status, _, body = self.console.ask(
            "POST", "/console/replay", f'{{"id": "{first["id"]}", "edit": {{"method": "GET", "method": "PUT"}}}}', {"Content-Type": JSON})
        self.assertEqual(status, 400, body)
        self.assertEqual(len(self.upstream.requests), count)
        for change in ({"edit": None}, {"edit": {}}, {"edit": {"method": None, "body": "first"}}):
            self.assertEqual(self.console.post("/console/replay", {"id": first["id"], **change})[0], 200)
            sent = self.upstream.requests[-1]
            self.assertEqual((sent.method, sent.target, sent.body), ("POST", "/plain?b=2", b"first"))

    def test_a_coded_body_that_is_edited_goes_without_its_coding(self):
        _, first = self.exchange("POST", "/plain", gzip.compress(b'{"a":1}'), JSON, ["Content-Encoding: gzip"])
        self.assertEqual(first["client"]["request"]["body"]["text"], '{"a":1}')
        fields = [{"name": field["name"], "value": field["value"]} for field in first["client"]["request"]["fields"]]
        for edit, coded in [({"body": '{"a":2}'}, False), ({"body": '{"a":2}', "fields": fields}, False), ({"body": '{"a":1}'}, True), ({}, True)]:
            with self.subTest(edit=edit):
                self.assertEqual(self.console.post("/console/replay", {"id": first["id"], "edit": edit})[0], 200)
                sent = self.upstream.requests[-1]
                self.assertEqual(sent.fields.get("content-encoding"), "gzip" if coded else None)
                self.assertEqual(gzip.decompress(sent.body) if coded else sent.body, b'{"a":1}' if coded else b'{"a":2}')

    def test_only_a_replay_has_the_mark_of_one(self):
        for name in ("Recast-Replay", "recast-replay", "RECAST-REPLAY"):
            _, first = self.exchange("GET", "/plain", fields=[f"{name}: mine"])
            self.assertEqual(self.upstream.requests[-1].fields.all("recast-replay"), [])
        status, _ = self.console.post("/console/replay", {"id": first["id"]})
        self.assertEqual((status, self.upstream.requests[-1].fields.all("recast-replay")), (200, [first["request_id"]]))

    def test_what_connection_names_goes_no_further_in_a_replay_either(self):
        _, first = self.exchange("GET", "/plain", fields=["Connection: X-Hop , x-other", "X-Hop: 1", "X-Other: 2", "X-End: 3"])
        self.assertEqual(self.console.post("/console/replay", {"id": first["id"]})[0], 200)
        for request in self.upstream.requests[-2:]:
            self.assertEqual([request.fields.get(name) for name in ("x-hop", "x-other", "x-end")], [None, None, "3"])

    def test_a_coded_body_that_is_undone_in_part_is_told_to_be_cut(self):
        body = gzip.compress(b'{"a":"' + b"z" * 1_000_000 + b'"}')
        _, shown = self.exchange("POST", "/plain", body, JSON, ["Content-Encoding: gzip"])
        shown_body = shown["client"]["request"]["body"]
        self.assertEqual((shown_body["kept"], shown_body["whole"], shown["replayable"]), (len(body), False, True))

    def test_a_file_that_a_rule_names_is_masked_as_its_field(self):
        value = "the-secret-of-a-file-\u00fc"
        body = json.dumps({"token": base64.b64encode(value.encode()).decode(), "list": {"password": ["YWJj", "eHl6MTIzNDU="]}, "n": 1})
        response, shown = self.exchange("POST", "/files", body.encode(), JSON)
        self.assertEqual(response.status, 200)
        self.assertIn(value.encode(), self.upstream.requests[-1].body)
        text = shown["upstream"]["request"]["body"]["text"]
        self.assertEqual([name in text for name in (value, "abc", "xyz12345", 'name="upload"', 'name="pic1"')], [False, False, False, True, True])
        for each in texts(shown):
            self.assertNotIn(value, each)

    def test_what_takes_long_to_mask_holds_no_worker(self):
        body = gzip.compress(json.dumps([f"token={number}" for number in range(4000)]).encode())
        _, shown = self.exchange("POST", "/plain", body, JSON, ["Content-Encoding: gzip"])

        def is_masking():
            for path in glob.glob(f"/proc/{self.recast.process.pid}/task/*/comm"):
                with contextlib.suppress(OSError), open(path) as file:
                    if file.read().startswith("recast-console"):
                        return True
            return False
        with Client(self.console.port) as client:
            client.send(
                f"GET /console/exchange?id={shown['id']} HTTP/1.1\r\nHost: localhost\r\n"
                f"Authorization: Bearer {self.console.token}\r\n\r\n".encode())
            wait_until("a thread masks it", is_masking)
            self.assertEqual(self.send("GET", "/plain").status, 200)
            answer = client.response("GET")
        self.assertEqual(answer.status, 200)
        self.assertEqual(json.loads(answer.body)["client"]["request"]["body"]["masked"], 4000)

    def test_the_command_sends_the_bytes_of_a_field_that_is_no_text(self):
        with Client(self.recast.port) as client:
            client.send(b"GET /plain/raw HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Request-Id: raw-1\r\nX-Name: it's caf\xe9 50%% \\n\xff7 \"$HOME`\r\n\r\n"
                        % self.recast.port)
            self.assertEqual(client.response("GET").status, 200)
        command = self.console.find("raw-1")["curl"]
        sent = self.upstream.requests[-1]
        for shell in ("sh", "bash"):
            subprocess.run([shell, "-c", command], check=True, capture_output=True, timeout=DEADLINE)
            again = self.upstream.requests[-1]
            self.assertIsNot(again, sent)
            self.assertEqual(again.fields.get("x-name"), sent.fields.get("x-name"))


class SecretSettingsTests(ConsoleTestCase):
    routes = """
  - { name: ways, match: /ways, upstream: app, authorize: [{ header: X-Auth, keys: [key-of-somebody] }] }
  - { name: signed, match: /signed, upstream: app, verify: { header: X-Sig, prefix: "sha256=", signed: "{body}", algorithm: hmac-sha256, encoding: hex, secret: "abcdefghijklmnopqrst", on_failure: report } }
  - name: rules
    match: /rules
    upstream: app
    headers:
      request: { set: { X-Upstream-Auth: "${env:CONSOLE_SECRET}", X-Short: "a${env:CONSOLE_SHORT}" }, add: { X-Way: "Key ${env:CONSOLE_SECRET}" } }
    request: { decode: { as: json }, map: { set: { given: "${env:CONSOLE_SET}", mixed: "${header.x-a}-${env:CONSOLE_SECRET}" } }, encode: { as: form } }
  - { name: plain, match: "/plain*", upstream: app, rewrite: { query: { key: "${env:CONSOLE_PARAMETER}" } } }
"""
    values = {"CONSOLE_SECRET": "s3cret&of \"rules\"", "CONSOLE_SHORT": "q7x", "CONSOLE_SET": "set<by>map", "CONSOLE_PARAMETER": "a+b/c&d"}

    @classmethod
    def setUpClass(cls):
        os.environ.update(cls.values)
        cls.addClassCleanup(lambda: [os.environ.pop(name, None) for name in cls.values])
        super().setUpClass()

    def test_fields_that_the_settings_name_are_masked(self):
        for target, name, value in [("/ways", "X-Auth", "key-of-somebody"), ("/ways", "x-auth", "wrong"), ("/signed", "X-Sig", "sha256=00ff00ff")]:
            with self.subTest(target=target, name=name):
                _, shown = self.exchange("POST", target, f"a {value}x".encode(), "text/plain", [f"{name}: {value}", "X-Auth-User: ada"])
                fields = {field["name"].lower(): field["value"] for field in shown["client"]["request"]["fields"]}
                self.assertEqual((fields[name.lower()], fields["x-auth-user"]), ("***", "ada"))
                if len(value) > 5:
                    self.assertNotIn(value, json.dumps(shown))

    def test_values_from_elsewhere_are_masked_wherever_they_stand(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(200, exchange.received.body))
        _, shown = self.exchange("POST", "/rules", b'{"a":1}', JSON, ["X-A: b"])
        sent = self.upstream.requests[-1]
        self.assertIn(urllib.parse.quote_plus(self.values["CONSOLE_SET"]).encode(), sent.body)
        self.assertEqual(sent.fields.get("x-upstream-auth"), self.values["CONSOLE_SECRET"])
        fields = {field["name"].lower(): field["value"] for field in shown["upstream"]["request"]["fields"]}
        self.assertEqual([fields[name] for name in ("x-upstream-auth", "x-short", "x-way")], ["***"] * 3)
        self.assertEqual(shown["upstream"]["request"]["body"]["text"], "a=1&given=***&mixed=b-***")
        self.assertEqual(shown["client"]["response"]["body"]["text"], "a=1&given=***&mixed=b-***")
        _, shown = self.exchange("POST", "/plain", b"x", "text/plain")
        self.assertIn("key=a%2Bb%2Fc%26d", self.upstream.requests[-1].target)
        self.assertEqual(shown["upstream"]["request"]["line"], "POST /plain?key=*** HTTP/1.1")
        # A client may send one, too.
        _, shown = self.exchange("POST", f"/plain/{quote(self.values['CONSOLE_SET'])}", json.dumps(self.values).encode(), JSON)
        self.assertEqual(shown["target"], "/plain/***")
        for name in ("CONSOLE_SECRET", "CONSOLE_SET", "CONSOLE_PARAMETER"):
            self.assertNotIn(self.values[name], "\n".join(texts(shown)))


    def test_values_from_elsewhere_are_masked_where_a_route_is_tried(self):
        status, answer = self.console.post("/console/try", {"route": "rules", "body": '{"a":1}', "type": JSON, "headers": ["X-A: b"]})
        self.assertEqual(status, 200, answer)
        body = answer["output"]["body"]
        self.assertEqual((body["text"], body["masked"]), ("a=1&given=***&mixed=b-***", 2))
        self.assertGreater(body["size"], len(body["text"]))
        for name in ("CONSOLE_SECRET", "CONSOLE_SET"):
            self.assertNotIn(self.values[name], "\n".join(texts(answer)))


class UnmaskedTests(ConsoleTestCase):
    routes = SecretSettingsTests.routes.replace("${env:CONSOLE_", "${header.x-")
    console_settings = "{ mask: off }"

    def test_without_a_mask_everything_is_shown(self):
        target, body = "/plain;sid=abcdef?token=abcdef", '{"a":"{\\"password\\":\\"abcdef\\"}"}'
        _, shown = self.exchange("POST", target, body.encode(), JSON, ["X-Auth: abcdef", "Referer: http://ada:abcdef@x/?token=abcdef"])
        self.assertEqual((shown["target"], shown["client"]["request"]["body"]["text"]), (target, body))
        fields = {field["name"].lower(): field["value"] for field in shown["client"]["request"]["fields"]}
        self.assertEqual((fields["x-auth"], fields["referer"]), ("abcdef", "http://ada:abcdef@x/?token=abcdef"))
        self.assertNotIn("***", json.dumps(shown))


del ConsoleTestCase


if __name__ == "__main__":
    unittest.main()
