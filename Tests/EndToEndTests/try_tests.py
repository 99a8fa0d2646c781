"""`recast try`, and what its console tries: bodies through routes, and through definitions that are in no file."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from harness import DEADLINE, RECAST, free_port

SETTINGS = """version: 1
listen: [%(listen)s]
access_log: off
upstreams:
  app: 127.0.0.1:1
  secure: { address: "app.invalid:443", tls: true }
routes:
  - name: orders
    match: { method: [POST, PUT], path: "/orders/{id}" }
    upstream: app
    request:
      decode: { as: json }
      map: { remove: [token], set: { id: "${path.id}" } }
      encode: { as: form, arrays: indices }
    response: json -> form
  - { name: rest, match: "/*", upstream: secure }
"""

HOOK = """  - name: hook
    match: /hook
    upstream: app
    verify: { preset: github, secret: "${file:/run/secrets/none}" }
    request: form -> json
"""


class Trying:
    """A `recast try` that runs."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [RECAST, "try", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log, self.lines = [], []
        self.has_console, self.is_serving, self.reloaded = threading.Event(), threading.Event(), threading.Event()
        self.threads = [threading.Thread(target=read, args=(stream,), daemon=True) for read, stream in
                        ((self._read_log, self.process.stderr), (self._read_output, self.process.stdout))]
        for thread in self.threads:
            thread.start()
        for event in (self.has_console, self.is_serving):
            if not event.wait(DEADLINE) or self.process.poll() is not None:
                self.stop(signal.SIGKILL)
                raise AssertionError(f"recast try doesn't serve: {self.log} {self.lines}")

    def _read_log(self, stream):
        for line in stream:
            self.log.append(line)
            found = re.search(r"console: http://([0-9.:\[\]]+)/console#token=(\S+)", line)
            if found:
                self.console, self.token = found[1], found[2]
                self.has_console.set()
            if "reload: serving" in line:
                self.reloaded.set()
        # Whoever waits is told that it has ended.
        self.has_console.set()

    def _read_output(self, stream):
        for line in stream:
            self.lines.append(line)
            if line.startswith("recast try: "):
                self.places = re.findall(r"http://([0-9.:\[\]]+)", line)
                self.is_serving.set()
        self.is_serving.set()

    def stop(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(DEADLINE)
        for thread in self.threads:
            thread.join(DEADLINE)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def ask(self, method, target, value=None, token=True):
        """The status and the JSON of an answer of the console's port."""
        connection = http.client.HTTPConnection(self.console, timeout=DEADLINE)
        fields = {"Authorization": f"Bearer {self.token}"} if token else {}
        if value is not None:
            fields["Content-Type"] = "application/json"
        body = value if isinstance(value, (bytes, type(None))) else json.dumps(value)
        connection.request(method, target, body, fields)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

    def send(self, method, target, body=None, fields=(), place=0):
        connection = http.client.HTTPConnection(self.places[place], timeout=DEADLINE)
        connection.request(method, target, body, dict(fields))
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response, data


class TryTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recast-try-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text, name="recast.yaml"):
        path = os.path.join(self.folder, name)
        # As editors do it: whoever watches sees one whole file or the other.
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)
        return path

    def begin(self, *arguments):
        trying = Trying(*arguments)
        self.addCleanup(lambda: trying.process.poll() is None and trying.stop(signal.SIGKILL))
        return trying


class CommandTests(TryTestCase):
    def test_without_a_file_the_routes_to_try_are_served_in_front_of_an_echo(self):
        trying = self.begin()
        response, data = trying.send("POST", "/form-to-json", "user[name]=Ann&tags[]=a&tags[]=b",
                                     {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(response.status, 200)
        self.assertEqual(json.loads(data)["json"], {"user": {"name": "Ann"}, "tags": ["a", "b"]})
        status, answer = trying.ask("GET", "/console/exchanges")
        self.assertEqual(status, 200)
        self.assertEqual([one["target"] for one in answer["exchanges"]], ["/form-to-json"])
        curls = [line for line in trying.lines if line.startswith("  curl ")]
        self.assertEqual(len(curls), 10)
        self.assertTrue(all(trying.places[0] in line for line in curls), curls)
        self.assertEqual(trying.stop(), 0)

    def test_a_file_is_served_with_its_own_addresses_where_they_are_free(self):
        ports = [free_port(), free_port()]
        path = self.write(SETTINGS % {"listen": f"127.0.0.1:{ports[0]}, 0.0.0.0:{ports[1]}"})
        trying = self.begin(path)
        self.assertEqual(trying.places, [f"127.0.0.1:{port}" for port in ports])
        response, data = trying.send("POST", "/orders/9", '{"tags":["a","b"],"token":"x"}', {"Content-Type": "application/json"})
        # The echo's answer is JSON, which the route's response rule makes a form.
        self.assertEqual(response.getheader("Content-Type"), "application/x-www-form-urlencoded")
        self.assertIn(b"tags%5B0%5D", data)
        response, data = trying.send("GET", "/other", place=1)
        self.assertEqual((response.status, json.loads(data)["target"]), (200, "/other"), "an upstream with TLS is the echo, too")
        self.assertEqual(trying.stop(signal.SIGTERM), 0)

    def test_a_port_that_is_taken_is_replaced(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            trying = self.begin(self.write(SETTINGS % {"listen": f"127.0.0.1:{port}"}))
            self.assertNotEqual(trying.places, [f"127.0.0.1:{port}"])
            self.assertTrue(trying.places[0].startswith("127.0.0.1:"))
            self.assertEqual(trying.send("GET", "/x")[0].status, 200)
            self.assertEqual(trying.stop(), 0)

    def test_what_listens_elsewhere_is_on_this_machine_here(self):
        listen = f'"unix:{self.folder}/recast.sock", "systemd:web"'
        trying = self.begin(self.write(SETTINGS % {"listen": listen}))
        self.assertEqual(len(trying.places), 1)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "recast.sock")))
        self.assertEqual(trying.send("GET", "/x")[0].status, 200)
        self.assertEqual(trying.stop(), 0)

    def test_secrets_need_not_be_here(self):
        path = self.write((SETTINGS % {"listen": "127.0.0.1:0"}).replace("  - { name: rest", HOOK + "  - { name: rest"))
        checked = subprocess.run([RECAST, "check", path], capture_output=True, timeout=DEADLINE)
        self.assertEqual(checked.returncode, 65)
        trying = self.begin(path)
        response, data = trying.send("POST", "/hook", "a=1", {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual((response.status, json.loads(data)["json"]), (200, {"a": "1"}))
        self.assertEqual(trying.stop(), 0)
        self.assertIn("taken from anybody, because secrets are not here: requests of hook\n", trying.lines)

    def test_mistakes_are_told_as_check_tells_them(self):
        path = self.write((SETTINGS % {"listen": "127.0.0.1:0"}).replace("arrays: indices", "arrays: indexes"))
        outcomes = [subprocess.run([RECAST, command, path], stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
                    for command in ("check", "try")]
        self.assertEqual([one.returncode for one in outcomes], [65, 65])
        self.assertEqual(outcomes[0].stderr, outcomes[1].stderr)
        self.assertIn(b"indices", outcomes[1].stderr)
        missing = subprocess.run([RECAST, "try", path + ".none"], capture_output=True, timeout=DEADLINE)
        self.assertEqual(missing.returncode, 65)
        usage = subprocess.run([RECAST, "try", "--upstreams"], capture_output=True, timeout=DEADLINE)
        self.assertEqual(usage.returncode, 64)

    def test_a_changed_file_is_read_again(self):
        text = SETTINGS % {"listen": f"127.0.0.1:{free_port()}"}
        path = self.write(text)
        trying = self.begin(path)
        self.write(text.replace("arrays: indices", "arrays: brackets"))
        self.assertTrue(trying.reloaded.wait(DEADLINE))
        _, data = trying.send("POST", "/orders/9", '{"tags":["a"]}', {"Content-Type": "application/json"})
        self.assertIn(b"tags%5B%5D", data)
        self.assertEqual(trying.stop(), 0)

    def test_with_upstreams_requests_go_where_the_file_says(self):
        with socket.create_server(("127.0.0.1", 0)) as upstream:
            text = (SETTINGS % {"listen": "127.0.0.1:0"}).replace("127.0.0.1:1", "127.0.0.1:%d" % upstream.getsockname()[1])
            trying = self.begin(self.write(text), "--upstreams")
            answers = []
            sender = threading.Thread(
                target=lambda: answers.append(trying.send("PUT", "/orders/3", "{}", {"Content-Type": "application/json"})))
            sender.start()
            upstream.settimeout(DEADLINE)
            connection, _ = upstream.accept()
            with connection:
                self.assertTrue(connection.recv(100).startswith(b"PUT /orders/3 HTTP/1.1\r\n"))
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                sender.join(DEADLINE)
            self.assertEqual(answers[0][0].status, 204)
            self.assertEqual(trying.stop(), 0)


class ConsoleTests(TryTestCase):
    """What `POST /console/try` and `GET /console/options` answer."""

    def setUp(self):
        super().setUp()
        self.trying = self.begin(self.write(SETTINGS % {"listen": "127.0.0.1:0"}))
        self.addCleanup(self.trying.stop)

    def attempt(self, **members):
        return self.trying.ask("POST", "/console/try", members)

    def check(self, yaml):
        """What `recast check` says of a file with that route."""
        head = "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:1, secure: 127.0.0.1:2 }\n"
        path = self.write(head + yaml, "pasted.yaml")
        result = subprocess.run([RECAST, "check", path], capture_output=True, timeout=DEADLINE)
        self.assertEqual((result.returncode, result.stderr), (0, b""), yaml)

    def test_a_route_as_it_is(self):
        status, answer = self.attempt(route="orders", path="/orders/7", body='{"a":["x"],"token":"t"}')
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["output"]["type"], "application/x-www-form-urlencoded")
        body = answer["output"]["body"]
        self.assertEqual((body["text"], body["size"], body["encoding"]), ("a[0]=x&id=7".replace("[", "%5B").replace("]", "%5D"), len(body["text"]), "form"))
        self.assertEqual([(one["from"], one["to"]) for one in answer["explanation"]["sent"]][0], ("a[0]", "a[0]"))
        self.assertEqual([one["from"] for one in answer["explanation"]["removed"]], ["token"])
        self.assertEqual(answer["explanation"]["request"]["target"], "/orders/7")
        # Written from what was read: the file's own text may be in one line, or repeat a part of another route.
        self.assertTrue(answer["yaml"].startswith("routes:\n  - name: orders\n"), answer["yaml"])
        self.check(answer["yaml"])

    def test_a_definition_that_is_in_no_file(self):
        status, answer = self.attempt(definition="# mine\nrequest: form -> json # so\n", body="a[b]=1&c[]=2")
        self.assertEqual(status, 200, answer)
        self.assertEqual(json.loads(answer["output"]["body"]["text"]), {"a": {"b": "1"}, "c": ["2"]})
        self.assertEqual(
            answer["yaml"],
            "routes:\n  - name: tried\n    match: /tried\n    upstream: app\n    # mine\n    request: form -> json # so\n")
        self.check(answer["yaml"])
        status, answer = self.attempt(route="orders", definition="request: form -> json", body="a=1")
        self.assertEqual(status, 200, answer)
        self.assertIn('match: "/orders/{id}"\n', answer["yaml"])
        self.check(answer["yaml"])

    def test_what_a_program_needs_to_change_a_definition(self):
        status, answer = self.attempt(
            definition="request: form -> json\nname: mine\nlimits: { fields: 9 }\n", body="a[b]=1&c[]=2&t=3")
        self.assertEqual(status, 200, answer)
        self.assertEqual([name for name, _ in answer["tree"]["members"]], ["name", "match", "upstream", "request", "limits"])
        self.assertEqual(
            dict(answer["tree"]["members"])["request"],
            {"members": [["decode", {"members": [["as", {"text": "form"}]]}], ["encode", {"members": [["as", {"text": "json"}]]}]]})
        self.assertEqual([one["places"] for one in answer["explanation"]["sent"]],
                         [{"map": "a.b", "now": "a.b", "fields": "a.b"}, {"map": "c", "now": "c", "fields": "c[*]"},
                          {"map": "t", "now": "t", "fields": "t"}])
        self.assertEqual("routes:\n" + answer["item"], answer["yaml"])
        self.check(answer["yaml"])
        path = self.write(answer["file"], "whole.yaml")
        result = subprocess.run([RECAST, "check", path], capture_output=True, timeout=DEADLINE)
        self.assertEqual((result.returncode, result.stderr), (0, b""), answer["file"])
        # A body that is refused leaves the definition one that was read; one with mistakes is none.
        status, answer = self.attempt(definition="request: json -> form", body="{")
        self.assertEqual((status, answer["tree"]["members"][0]), (422, ["name", {"text": "tried"}]))
        status, answer = self.attempt(definition="request: json -> fom", body="{")
        self.assertEqual((status, answer["tree"]), (422, None))
        # What may be a secret isn't told of a route that serves.
        status, answer = self.attempt(route="orders", path="/orders/7", body='{"a":["x"],"token":"t"}')
        self.assertEqual([one["places"]["map"] for one in answer["explanation"]["removed"]], ["token"])
        self.assertIsNone([one for one in answer["explanation"]["sent"] if one["from"] is None][0]["places"])

    def test_a_body_that_is_no_text(self):
        status, answer = self.attempt(definition="request: json -> bplist", body='{"a":1}')
        self.assertEqual(status, 200, answer)
        self.assertTrue(answer["output"]["body"]["base64"].startswith("YnBsaXN0"), "bplist")
        self.assertIsNone(answer["output"]["body"]["text"])
        status, back = self.attempt(definition="request: bplist -> json", base64=answer["output"]["body"]["base64"])
        self.assertEqual((status, back["output"]["body"]["text"]), (200, '{"a":1}'))

    def test_a_response(self):
        status, answer = self.attempt(route="orders", side="response", path="/orders/7", body='{"ok":true}')
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["output"]["body"]["text"], "ok=true")
        self.assertIsNone(answer["explanation"]["request"])
        self.assertEqual(answer["explanation"]["response"]["headers"][0],
                         {"name": "Content-Type", "value": "application/x-www-form-urlencoded"})
        status, answer = self.attempt(route="rest", side="response", body="{}")
        self.assertEqual((status, answer["error"]), (422, 'the route "rest" converts no responses, and takes '
                         "neither a status nor a problem from their bodies"))

    def test_a_body_that_is_refused_says_where(self):
        status, answer = self.attempt(route="orders", path="/orders/7", body='{"a": 1,}')
        self.assertEqual((status, answer["status"], answer["offset"]), (422, 422, 8), answer)
        self.assertTrue(answer["code"].startswith("json_"), answer)
        status, answer = self.attempt(definition="request: form -> json", body="a=1&a[b]=2")
        self.assertEqual((status, answer["code"], answer["field"]), (422, "form_conflict", "a[b]"), answer)

    def test_mistakes_of_a_definition_have_its_places(self):
        status, answer = self.attempt(definition="request: form -> jsn\nlimts: {}\n", body="a=1")
        self.assertEqual(status, 422, answer)
        self.assertEqual([(one["line"], one["column"]) for one in answer["mistakes"]], [(1, 18), (2, 1)])
        self.assertIn('did you mean "json"?', answer["mistakes"][0]["message"])
        for text in ("", "request: [", "- name: a", "request: form -> json\n---\nversion: 1", "request: form -> json\n- name: evil"):
            status, answer = self.attempt(definition=text, body="a=1")
            self.assertEqual(status, 422, text)
            self.assertTrue(answer["mistakes"], text)

    def test_nothing_of_this_machine_gets_into_a_definition(self):
        secret = self.write("sesame", "secret")
        definition = ("request:\n  decode: { as: form }\n  map: { set: { file: '${file:%s}', home: '${env:HOME}' } }\n"
                      "  encode: { as: json }\n" % secret)
        status, answer = self.attempt(definition=definition, body="a=1")
        self.assertEqual(status, 200, answer)
        self.assertNotIn("sesame", json.dumps(answer))
        self.assertNotIn(os.environ["HOME"], json.dumps(answer))
        self.assertEqual(answer["unchecked_lines"], [3])
        # Where the route itself hangs on such a value there is none to try.
        for definition, line in (("request: form -> json\nupstream: '${env:HOME}'\n", 2), ("match: '${file:/x}'\nrequest: form -> json\n", 1),
                                 ("request:\n  decode: { as: '${env:HOME}' }\n  encode: { as: json }\n", 2)):
            status, answer = self.attempt(definition=definition, body="a=1")
            self.assertEqual((status, [one["line"] for one in answer["mistakes"]]), (422, [line]), answer)
            self.assertIn("can't be read without what ${env:…}", answer["mistakes"][0]["message"])

    def test_what_a_sample_may_cost_is_bounded(self):
        deep = "[" * 60 + ",".join("1" for _ in range(5000)) + "]" * 60
        definition = "request:\n  decode: { as: json }\n  encode: { as: xml, indentation: 16 }\nlimits: { tree: 64MiB }\n"
        status, answer = self.attempt(definition=definition, body=deep)
        self.assertEqual((status, answer.get("code")), (422, "limit_sample"), str(answer)[:500])
        many = "[" + ",".join("1" for _ in range(100_000)) + "]"
        status, answer = self.attempt(definition="request: json -> json", body=many)
        self.assertEqual((status, answer.get("code")), (422, "limit_sample"), str(answer)[:500])
        status, answer = self.attempt(definition="request: form -> json #" + "x" * 16384, body="a=1")
        self.assertEqual((status, answer["mistakes"][0]["message"]), (422, "a definition has at most 16384 bytes here"))

    def test_what_is_no_such_request_is_refused(self):
        for body, status in ((b"", 400), (b"[]", 400), (b"{}", 400), (b'{"route":1,"rout":"x"}', 400), (b'{"route":{"a":1}}', 400),
                             (b'{"route":"orders","headers":"A: b"}', 400), (b'{"route":"orders","body":"","base64":""}', 400),
                             (b'{"route":"orders","base64":"%"}', 400), (b'{"route":"orders","side":"both"}', 400),
                             (b'{"route":"orders","headers":["no colon"]}', 400), (b'{"route":"other"}', 404)):
            found, answer = self.trying.ask("POST", "/console/try", body)
            self.assertEqual((found, answer["status"]), (status, status), (body, answer))
            self.assertTrue(answer["error"])
        for body in (b"[]", b"null", b"true", b"1", b'"a"'):
            self.assertIn("no object", self.trying.ask("POST", "/console/try", body)[1]["error"], body)

    def test_both_ask_for_the_token(self):
        self.assertEqual(self.trying.ask("POST", "/console/try", {"route": "orders"}, token=False)[0], 401)
        self.assertEqual(self.trying.ask("GET", "/console/options", token=False)[0], 401)
        self.assertEqual(self.trying.ask("GET", "/console/try")[0], 405)

    def test_each_expression_that_the_options_give_is_one(self):
        status, answer = self.trying.ask("GET", "/console/options")
        self.assertEqual(status, 200)
        encodings = {one["name"]: one for one in answer["encodings"]}
        self.assertLessEqual({"form", "json", "multipart", "plist", "bplist", "xml", "text", "raw", "auto", "query"}, set(encodings))
        self.assertEqual(encodings["form"]["media_type"], "application/x-www-form-urlencoded")
        tried = 0
        for option in encodings["form"]["options"]:
            if option["writes"] and option["values"]:
                for value in option["values"]:
                    # The words of files are for inputs that may have some.
                    expression = f"{'auto' if option['name'] == 'files' else 'json'} -> form({option['name']}: {value})"
                    status, answer = self.attempt(definition=f"request: '{expression}'", body='{"a":{"b":"c"}}')
                    self.assertIn(status, (200, 422), expression)
                    self.assertEqual(answer.get("mistakes", []), [], expression)
                    tried += 1
        self.assertGreater(tried, 15)

    def test_a_definition_is_learnt_from_what_has_come(self):
        status, answer = self.trying.ask("GET", "/console/learn?route=rest")
        self.assertEqual(status, 409, answer)
        for body in ("user[age]=41&tags[]=c4n4ry&on=true", "user[age]=42&on=false&note=c4n4ry"):
            self.assertEqual(self.trying.send("POST", "/any", body, {"Content-Type": "application/x-www-form-urlencoded"})[0].status, 200)
        status, answer = self.trying.ask("GET", "/console/learn?route=rest")
        self.assertEqual((status, answer["route"], answer["exchanges"]), (200, "rest", 2), answer)
        self.assertNotIn("c4n4ry", json.dumps(answer))
        fields = {one["path"]: (one["values"], one["bodies"], one["type"]) for one in answer["fields"]}
        self.assertEqual(fields, {"user.age": (["integer"], 2, "integer"), "tags[*]": (["string"], 1, None),
                                  "on": (["boolean"], 2, "boolean"), "note": (["string"], 1, None)})
        self.check(answer["yaml"])
        status, tried = self.attempt(definition=answer["definition"], body="user[age]=43&on=true")
        self.assertEqual((status, tried["output"]["body"]["text"]), (200, '{"user":{"age":43},"on":true}'))
        self.assertEqual(answer["tree"]["members"][0], ["name", {"text": "rest"}])
        self.assertEqual(self.trying.ask("GET", "/console/learn?route=rest&count=true"), (200, {"route": "rest", "bodies": 2}))
        self.assertEqual(self.trying.ask("GET", "/console/learn?route=orders&count=true"), (200, {"route": "orders", "bodies": 0}))
        self.assertEqual(self.trying.ask("GET", "/console/learn?route=none")[0], 404)
        self.assertEqual(self.trying.ask("GET", "/console/learn")[0], 400)
        self.assertEqual(self.trying.ask("GET", "/console/learn?route=rest", token=False)[0], 401)


class LearnTests(TryTestCase):
    """`recast learn` of bodies in files."""

    def learn(self, *arguments, data=b""):
        result = subprocess.run([RECAST, "learn", *arguments], input=data, capture_output=True, timeout=DEADLINE)
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def test_a_definition_is_printed(self):
        files = [self.write("n=1&s=c4n4ry", "one"), self.write("n=2&s=x&s=y", "two"), self.write("n=1&n[a]=2", "three")]
        code, output, errors = self.learn(*files)
        self.assertEqual(code, 0, errors)
        self.assertEqual(output, "request:\n  decode:\n    as: form\n  fields:\n    n: integer\n    s: array\n  encode:\n    as: json\n")
        self.assertEqual(errors, "recast learn: left out: 1 body with form_conflict\n")
        code, output, _ = self.learn("--json", "-", data=b"a=1")
        self.assertEqual((code, json.loads(output)["fields"][0]["type"]), (0, "integer"))
        code, output, _ = self.learn("--type", "application/json", "--to", "form", "-", data=b'{"a":1}')
        self.assertEqual((code, output), (0, "request:\n  decode:\n    as: json\n  encode:\n    as: form\n"))

    def test_a_body_without_a_type_is_what_it_begins_with(self):
        """Read as a form, a document would be one name, which is printed: a value must not be."""
        multipart = b'--b\r\nContent-Disposition: form-data; name="s"\r\n\r\nc4n4ry\r\n--b--\r\n'
        for data, encoding in ((b'{"s":"c4n4ry"}', "json"), (b' [{"s":"c4n4ry"}]', "json"), (b"<r><s>c4n4ry</s></r>", "xml"),
                               (multipart, "multipart"), (b"s=c4n4ry", "form"), (b"--=c4n4ry", "form")):
            for arguments in ((), ("--json",)):
                code, output, errors = self.learn(*arguments, "-", data=data)
                self.assertEqual((code, errors), (0, ""), data)
                self.assertIn(f"as: {encoding}", output)
                self.assertNotIn("c4n4ry", output)
        code, output, errors = self.learn("--to", "form", "-", data=b'{"s":[]}')
        self.assertEqual((code, output), (65, ""))
        self.assertIn("read as application/json, becomes form: 1 body with field_empty", errors)

    def test_a_file_beside_fields_gets_a_name_of_its_own(self):
        """Rails' and PHP's way to name an upload: what is proposed takes it, and nothing is refused for where it stands."""
        def part(name, more=""):
            return f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\nv\r\n'

        body = (part("user[name]") + part("user[photo]", '; filename="a.png"') + "--b--\r\n").encode()
        code, output, errors = self.learn("-", data=body)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(output, "request:\n  decode:\n    as: multipart\n  map:\n    rename:\n      user.photo: user_photo\n"
                         "  encode:\n    as: json\n    files: base64\n")
        path = self.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\nroutes:\n  - name: a\n    match: /a\n"
                          "    upstream: app\n" + "".join(f"    {line}\n" for line in output.splitlines()), "learnt.yaml")
        result = subprocess.run([RECAST, "explain", path, "a", "--type", "multipart/form-data; boundary=b", "--json"], input=body,
                                capture_output=True, timeout=DEADLINE)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_what_cannot_be_learnt_from(self):
        self.assertEqual(self.learn("--to", "text", "-")[0], 64)
        self.assertEqual(self.learn(os.path.join(self.folder, "none"))[0], 69)
        self.assertEqual(self.learn("--type", "application/json", "-", data=b"{")[0], 65)


class LearnFromProxyTests(TryTestCase):
    """`recast learn ROUTE --admin …`, of a proxy that runs."""

    def learn(self, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "RECAST_TOKEN"}
        result = subprocess.run([RECAST, "learn", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE,
                                env={**environment, **variables})
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def begin_with(self, *bodies):
        trying = self.begin(self.write(SETTINGS % {"listen": "127.0.0.1:0"}))
        for body in bodies:
            trying.send("POST", "/any", body, {"Content-Type": "application/x-www-form-urlencoded"})
        return trying

    DEFINITION = "request:\n  decode:\n    as: form\n  fields:\n    n: integer\n  encode:\n    as: json\n"

    def test_a_route_is_learnt_by_each_form_of_address_and_token(self):
        trying = self.begin_with("n=1&s=c4n4ry", "n=2&s=c4n4ry", "n=1&n[a]=2")
        place, token = trying.console, trying.token
        for arguments, variables in (
            (("--admin", place, "--token", token), {}),
            (("--admin", f"http://{place}/console#token={token}"), {}),
            # The view of the page stands behind it.
            (("--admin", f"http://{place}/console/#token={token}&view=routes"), {}),
            (("--admin", f"http://{place}", "--token", token), {}),
            (("--admin", place), {"RECAST_TOKEN": token}),
            # What is written is meant; the variable may be of another proxy.
            (("--admin", place, "--token", token), {"RECAST_TOKEN": "other"}),
            (("--admin", f"http://{place}/console#token={token}"), {"RECAST_TOKEN": "other"}),
        ):
            self.assertEqual(self.learn("rest", *arguments, **variables),
                             (0, self.DEFINITION, "recast learn: left out: 1 body with form_conflict\n"), (arguments, variables))
        code, output, _ = self.learn("rest", "--admin", place, "--json", RECAST_TOKEN=token)
        self.assertEqual((code, json.loads(output)), (0, trying.ask("GET", "/console/learn?route=rest")[1]))
        self.assertNotIn("c4n4ry", output)

    def test_a_unix_socket_is_asked(self):
        """Of `recast serve`, whose log has the token beside the path."""
        place = f"unix:{self.folder}/admin.sock"
        settings = (SETTINGS % {"listen": f"127.0.0.1:{free_port()}"}) + f"admin: {{ address: {place}, console: on }}\n"
        process = subprocess.Popen([RECAST, "serve", self.write(settings)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, DEADLINE)
        self.addCleanup(process.kill)
        lines = []
        for line in process.stderr:
            lines.append(line)
            found = re.search(r"console on (unix:\S+), with the token (\S+)", line)
            if found:
                break
        else:
            self.fail(lines)
        self.assertEqual(found[1], place)
        # The socket is there before the line; it answers when the loop runs.
        code, output, errors = self.learn("rest", "--admin", found[1], RECAST_TOKEN=found[2])
        self.assertEqual((code, output), (69, ""))
        self.assertTrue(errors.startswith(f"recast learn: {place}: no body of its requests is kept whole"), errors)

    def test_the_argument_is_a_name_whatever_files_there_are(self):
        trying = self.begin_with("n=1")
        folder = os.getcwd()
        self.addCleanup(os.chdir, folder)
        self.write("other=1", "rest")
        os.chdir(self.folder)
        self.assertEqual(self.learn("rest", "--admin", trying.console, "--token", trying.token)[1], self.DEFINITION)
        self.assertIn("other", self.learn("rest")[1])

    def learn_from(self, answer, name="rest"):
        """The command's end, and the head of its request, where `answer` is all that the port says."""
        heads = []

        def serve(listener):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as reader:
                heads.append(b"".join(iter(reader.readline, b"\r\n")).decode())
                try:
                    connection.sendall(answer)
                except OSError:
                    pass  # The command has heard enough.

        with socket.create_server(("127.0.0.1", 0)) as listener:
            place = "127.0.0.1:%d" % listener.getsockname()[1]
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            outcome = self.learn(name, "--admin", place, "--token", "t0k3n")
            thread.join(DEADLINE)
        return outcome, heads[0].replace(place, "PLACE")

    @staticmethod
    def answer(body, status="200 OK", length=None):
        return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), length or len(body), body)

    def test_a_name_is_sent_as_it_is(self):
        """The port gets it escaped, as one parameter, and beside it the token."""
        body = json.dumps({"definition": "x: ä\n", "fields": [{"definition": "y"}]}).encode()
        outcome, head = self.learn_from(self.answer(body), "a&b c/ä#")
        self.assertEqual(outcome, (0, "x: ä\n", ""))
        self.assertEqual(head, "GET /console/learn?route=a%26b%20c%2F%C3%A4%23 HTTP/1.1\r\nHost: PLACE\r\n"
                               "Authorization: Bearer t0k3n\r\nConnection: close\r\n")

    def test_answers_that_are_none(self):
        for answer, reason in (
            (self.answer(b"{}"), "it answers with no definition"),
            (self.answer(b'{"definition": ["x"]}'), "it answers with no definition"),
            (self.answer(b"<html>"), "it answers with no definition"),
            (self.answer(b"<html>", "502 Bad Gateway"), 'it answers "HTTP/1.1 502": is it the admin port?'),
            (self.answer(b'{"error": "a\\nb\\u001b[2J"}', "409 Conflict"), "a b [2J"),
            (self.answer(b'{"definition": "x"}', length=99), "it closed before the end of its answer"),
            (b"", "it closed without an answer"),
        ):
            (code, output, errors), _ = self.learn_from(answer)
            self.assertEqual((code, output), (69, ""), answer)
            self.assertIn(": " + reason, errors, answer)
            self.assertEqual(errors.count("\n"), 1, answer)

    def test_an_answer_has_a_bound(self):
        document = b'{"definition": "x"}'
        bound = 8 * 1024 * 1024
        for size in (bound - 1, bound):
            self.assertEqual(self.learn_from(self.answer(document.ljust(size)))[0], (0, "x", ""), size)
        code, output, errors = self.learn_from(self.answer(document.ljust(bound + 1)))[0]
        self.assertEqual((code, output), (69, ""))
        self.assertIn(f"its answer has more than {bound} bytes", errors)

    def test_what_the_proxy_refuses_is_told(self):
        trying = self.begin_with()
        place, token = trying.console, trying.token
        for arguments, reason in (
            (("rest", "--token", token), "no body of its requests is kept whole: send some"),
            (("rset", "--token", token), 'there is no route "rset": did you mean "rest"?'),
            (("rest", "--token", "c4n4ry"), "it doesn't take this token"),
        ):
            code, output, errors = self.learn(*arguments, "--admin", place)
            self.assertEqual((code, output), (69, ""), errors)
            self.assertTrue(errors.startswith(f"recast learn: {place}: {reason}"), errors)
            self.assertEqual(errors.count("\n"), 1)
            self.assertNotIn("c4n4ry", errors)
        # Another port that speaks HTTP, and none that does.
        code, output, errors = self.learn("rest", "--admin", trying.places[0], "--token", token)
        self.assertEqual((code, output), (69, ""))
        self.assertIn("is it the admin port?", errors)
        closed = f"127.0.0.1:{free_port()}"
        self.assertEqual(self.learn("rest", "--admin", closed, "--token", token),
                         (69, "", f"recast learn: {closed}: connection refused\n"))
        code, _, errors = self.learn("rest", "--admin", f"unix:{self.folder}/none.sock", "--token", token)
        self.assertEqual(code, 69)
        self.assertIn("No such file", errors)

    def test_wrong_usage(self):
        admin = ("--admin", "127.0.0.1:1")
        for arguments, variables, reason in (
            (("rest", *admin), {}, "--token is missing"),
            (("rest", *admin), {"RECAST_TOKEN": ""}, "--token is missing"),
            (("rest", "--admin", "http://127.0.0.1:1/console#token="), {}, "--token is missing"),
            (("rest", "--admin", "http://127.0.0.1:1/console"), {}, "--token is missing"),
            (("rest", "--token", "t"), {}, "--token goes with --admin ADDRESS"),
            (("rest", "more", *admin, "--token", "t"), {}, "one argument, the name of a route"),
            (("", *admin, "--token", "t"), {}, "one argument, the name of a route"),
            (("rest", "--admin", "http://127.0.0.1:1/console#token=a", "--token", "t"), {}, "leave --token out"),
            (("rest", "--admin", "http://127.0.0.1:1/elsewhere", "--token", "t"), {}, "with no other path"),
            (("rest", "--admin", "https://127.0.0.1:1/console", "--token", "t"), {}, "--admin is 127.0.0.1:9901"),
            (("rest", "--admin", "nowhere", "--token", "t"), {}, "--admin is 127.0.0.1:9901"),
            (("rest", *admin, "--token", "t\r\nX: y"), {}, "a character that none has"),
            (("rest", *admin, "--token", "t", "--to", "form"), {}, "--type and --to are of files"),
            (("rest", *admin, "--token", "t", "--type", "application/json"), {}, "--type and --to are of files"),
        ):
            code, output, errors = self.learn(*arguments, **variables)
            self.assertEqual((code, output), (64, ""), (arguments, errors))
            self.assertIn(reason, errors, arguments)
        # A file that isn't there may have been meant as a route; one with a path was not.
        code, _, errors = self.learn("rest")
        self.assertEqual(code, 69)
        self.assertIn("the name of a route goes with --admin ADDRESS", errors)
        self.assertNotIn("--admin", self.learn(os.path.join(self.folder, "none"))[2])


if __name__ == "__main__":
    unittest.main()
