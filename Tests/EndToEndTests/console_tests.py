"""The console's endpoints: what is kept of exchanges, who is shown it, and what is sent again. The page has tests of its own."""

import base64
import contextlib
import gzip
import http.client
import json
import plistlib
import re
import select
import shlex
import subprocess
import threading
import time
import unittest

import reload_tests
from admin import Admin, admin_port
from admin_tests import Events
from harness import DEADLINE, FORM, JSON, Client, Closed, ProxyTestCase, free_port, make_multipart
from http2_client import HTTP2Client
from lifecycle_support import reload, wait_until

CANARY = "canary-9f2c7e11"
BAD = b"--b\r\nno colon\r\n\r\n", "multipart/form-data; boundary=b"


class Console(Admin):
    """Asks the console with the token that the log says."""

    def __init__(self, port, recast):
        super().__init__(port)
        # The log is written by a thread of its own.
        wait_until("the log says the token", lambda: "#token=" in recast.error_text())
        self.token, = set(re.findall(r"#token=([0-9a-f]{32})\b", recast.error_text()))

    def ask(self, method, target, body=None, headers=None):
        return super().ask(method, target, body, {"Authorization": f"Bearer {self.token}", **(headers or {})})

    def list(self, query=""):
        return self.json(f"/console/exchanges{query}")["exchanges"]

    def find(self, request_id):
        """The exchange with that request's id, whole: it is kept a moment after its answer."""
        found = []

        def look():
            found[:] = [each for each in self.list() if each["request_id"] == request_id]
            return bool(found)
        wait_until(f"{request_id} is kept", look)
        return self.json(f"/console/exchange?id={found[0]['id']}")

    def post(self, target, document):
        status, _, body = self.ask("POST", target, json.dumps(document), {"Content-Type": JSON})
        return status, json.loads(body)


class ConsoleTestCase(ProxyTestCase):
    console_settings = "on"

    @classmethod
    def setUpClass(cls):
        cls.admin_port = admin_port()[0]
        cls.settings = f"admin: {{ address: 127.0.0.1:{cls.admin_port}, console: {cls.console_settings} }}\n"
        super().setUpClass()
        cls.console = Console(cls.admin_port, cls.recast)

    def exchange(self, method, target, body=None, media_type=None, fields=()):
        """Sends a request; its response, and what the console has of it."""
        number = ConsoleTestCase.number = getattr(ConsoleTestCase, "number", 0) + 1
        request_id = f"console-{number}"
        response = self.send(method, target, body, media_type, [f"X-Request-Id: {request_id}", *fields])
        return response, self.console.find(request_id)


ROUTES = """
  - name: orders
    match: { path: /orders }
    upstream: app
    request: { decode: form, encode: json, map: { rename: { user.password: pw } } }
    response: { decode: json, encode: form }
  - { name: multipart, match: { path: /multipart }, upstream: app, request: multipart -> json }
  - { name: headers, match: { path: /headers }, upstream: app, headers: { request: { set: { X-Other: "${header.x-token}" } } } }
  - { name: plain, match: { path: "/plain*" }, upstream: app }
"""
DOWN = '  - { name: down, match: { path: "/down*" }, upstream: down, request: form -> json }\n'


class ConsoleTests(ConsoleTestCase):
    routes = ROUTES + DOWN
    further_upstreams = {"down": f"127.0.0.1:{free_port()}"}
    workers = 2

    def test_an_exchange_is_shown_as_it_came_and_as_it_went_on(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.answer(201, b'{"id":7}', fields=["Content-Type: application/json", "X-Own: 1"]))
        response, shown = self.exchange("POST", "/orders?x=1", b"user[name]=Ann&n=1", FORM)
        self.assertEqual((response.status, response.body), (201, b"id=7"))
        self.assertEqual(
            [shown[key] for key in ("method", "target", "protocol", "route", "status", "upstream_status", "code", "flag", "input", "output")],
            ["POST", "/orders?x=1", "HTTP/1.1", "orders", 201, 201, None, None, "form", "json"])
        client, upstream = shown["client"], shown["upstream"]
        self.assertEqual(client["request"]["line"], "POST /orders?x=1 HTTP/1.1")
        self.assertEqual(client["request"]["body"]["text"], "user[name]=Ann&n=1")
        self.assertEqual(upstream["request"]["body"]["text"], '{"user":{"name":"Ann"},"n":"1"}')
        self.assertEqual(upstream["response"]["body"]["text"], '{"id":7}')
        self.assertEqual(client["response"]["body"]["text"], "id=7")
        self.assertEqual(client["address"], "127.0.0.1")
        self.assertEqual((upstream["name"], upstream["address"]), ("app", f"127.0.0.1:{self.upstream.port}"))
        received = [(field["name"].lower(), field["value"]) for field in upstream["request"]["fields"]]
        self.assertEqual(received, [(name.lower(), value) for name, value in self.upstream.one().fields])
        answered = {field["name"].lower(): field["value"] for field in client["response"]["fields"]}
        self.assertEqual((answered["content-type"], answered["x-own"]), (FORM, "1"))
        moves = {entry["from"]: entry["to"] for entry in shown["explanation"]["sent"]}
        self.assertEqual(moves, {"user[name]": "user.name", "n": "n"})
        self.assertIsNone(shown["explanation_error"])
        back = [(entry["from"], entry["to"]) for entry in shown["response_explanation"]["sent"]]
        self.assertEqual((back, shown["response_explanation_error"]), ([("id", "id")], None))
        for body, size in [(client["request"], 18), (upstream["request"], 31), (upstream["response"], 8), (client["response"], 4)]:
            self.assertEqual((body["body"]["size"], body["body"]["kept"], body["body"]["whole"]), (size, size, True))
        self.assertGreater(shown["times"]["total"], 0)

    def test_a_refused_body_is_shown_with_its_problem(self):
        response, shown = self.exchange("POST", "/multipart", *BAD)
        problem = self.assert_problem(response, 400)
        self.assertEqual((shown["status"], shown["code"], shown["upstream_status"]), (400, problem["code"], None))
        self.assertEqual(shown["client"]["request"]["body"]["text"], BAD[0].decode())
        self.assertEqual(json.loads(shown["client"]["response"]["body"]["text"]), problem)
        self.assertIsNone(shown["upstream"]["request"])
        self.assertIsNone(shown["explanation"])
        self.assertIn("multipart", shown["explanation_error"])
        self.assertIsNone(shown["response_explanation"])
        self.assertTrue(shown["replayable"])

    def test_of_a_request_that_never_went_out_it_is_told(self):
        response, shown = self.exchange("POST", "/down", b"a=1", FORM)
        self.assertEqual(response.status, 502)
        self.assertFalse(shown["upstream"]["sent"])
        self.assertIn(shown["flag"], ("UF", "UH"))
        self.assertTrue(shown["upstream"]["request"]["line"])
        self.assertEqual(shown["upstream"]["request"]["body"]["size"], 0)
        # One that went out, without an answer, did all the same.
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.close())
        response, shown = self.exchange("POST", "/plain/closed", b"a=1", FORM)
        self.assertEqual((response.status, shown["upstream"]["sent"]), (502, True))

    def test_what_frames_an_answer_is_shown_as_it_was_sent(self):
        def framing(shown, side):
            return {field["name"].lower(): field["value"] for field in shown[side]["response"]["fields"]
                    if field["name"].lower() in ("content-length", "transfer-encoding", "connection")}
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(200, b"12345"))
        _, shown = self.exchange("GET", "/plain/sized")
        self.assertEqual(framing(shown, "client").get("content-length"), "5")
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
        response, shown = self.exchange("GET", "/plain/chunked")
        self.assertEqual(response.body, b"abc")
        self.assertEqual(framing(shown, "client").get("transfer-encoding"), "chunked")
        # A client of HTTP/1.0 reads to the end of its connection.
        with Client(self.recast.port) as client:
            client.send("GET /plain/chunked HTTP/1.0\r\nHost: a\r\nX-Request-Id: framed-1\r\n\r\n")
            client.response("GET")
        self.assertEqual(framing(self.console.find("framed-1"), "client"), {"connection": "close"})
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(200, b"12345"))
        with HTTP2Client(self.recast.port) as client:
            stream = client.request("GET", "/plain/h2", [("x-request-id", "framed-2")])
            self.assertEqual(client.response(stream).body, b"12345")
        self.assertEqual(framing(self.console.find("framed-2"), "client"), {"content-length": "5"})

    def test_a_request_of_no_route_and_one_without_a_head_are_kept(self):
        response, shown = self.exchange("GET", "/nowhere")
        self.assertEqual((response.status, shown["route"], shown["code"]), (404, None, "no_route"))
        before = {each["id"] for each in self.console.list("?status=400")}
        with Client(self.recast.port) as client:
            client.send("GET /plain HTTP/1.1\r\nHost: a\r\nbad field: 1\r\n\r\n")
            self.assertEqual(client.response("GET").status, 400)
        wait_until("it is kept", lambda: len(self.console.list("?status=400")) > len(before))
        new, = (each for each in self.console.list("?status=400") if each["id"] not in before)
        whole = self.console.json(f"/console/exchange?id={new['id']}")
        self.assertFalse(whole["replayable"])
        status, answer = self.console.post("/console/replay", {"id": new["id"]})
        self.assertEqual(status, 409, answer)

    def test_values_of_masked_names_are_shown_nowhere(self):
        multipart, multipart_type = make_multipart([("token", None, CANARY.encode()), ("a", None, b"1")], "BOUNDARY")
        cases = [
            ("/orders", FORM, f"user[password]={CANARY}&n=1&api_key={CANARY}"),
            ("/plain", JSON, json.dumps({"token": CANARY, "deep": [{"Secret": {"x": CANARY}}]})),
            ("/plain", "application/xml", f"<a><token>{CANARY}</token><b password='{CANARY}'/></a>"),
            ("/plain", "application/x-plist", plistlib.dumps({"password": CANARY, "a": 1})),
            ("/plain", "application/x-plist", plistlib.dumps({"password": CANARY}, fmt=plistlib.FMT_BINARY)),
            ("/plain", "text/plain", f"password: {CANARY}"),
            ("/multipart", multipart_type, multipart),
            (f"/plain?access_token={CANARY}", None, None), (f"/headers?X={CANARY}", None, None),
        ]

        def echo(exchange):
            exchange.read_body()
            exchange.answer(200, exchange.received.body or b"{}", fields=["Content-Type: application/json", f"Set-Cookie: a={CANARY}"])
        for target, media_type, body in cases:
            with self.subTest(target=target, media_type=media_type):
                self.upstream.script = echo
                body = body.encode() if isinstance(body, str) else body
                _, shown = self.exchange(
                    "POST" if body else "GET", target, body, media_type,
                    [f"X-Token: {CANARY}", f"Authorization: Bearer {CANARY}", f"Cookie: a={CANARY}"])
                text = json.dumps(shown)
                self.assertNotIn(CANARY, text)
                self.assertNotIn(base64.b64encode(CANARY.encode()).decode()[:-2], text)
                self.assertIn("***", text)
                self.assertNotIn(CANARY, json.dumps(self.console.list()))

    def test_a_body_with_a_coding_is_shown_without_it(self):
        body = gzip.compress(json.dumps({"token": CANARY, "a": "b" * 50}).encode())
        _, shown = self.exchange("POST", "/plain", body, JSON, ["Content-Encoding: gzip"])
        shown = shown["client"]["request"]["body"]
        self.assertEqual((shown["size"], shown["coding"], shown["masked"]), (len(body), "gzip", 1))
        self.assertEqual(json.loads(shown["text"]), {"token": "***", "a": "b" * 50})
        # Where its fields went is told of what was in the coding.
        _, shown = self.exchange("POST", "/orders", gzip.compress(b"user[name]=Ann&n=1"), FORM, ["Content-Encoding: gzip"])
        self.assertIsNone(shown["explanation_error"])
        self.assertEqual({entry["from"]: entry["to"] for entry in shown["explanation"]["sent"]}, {"user[name]": "user.name", "n": "n"})
        _, shown = self.exchange("POST", "/plain", b"\x00\xff", "application/octet-stream", ["Content-Encoding: unknown"])
        self.assertTrue(shown["client"]["request"]["body"]["hidden"])

    def test_bytes_whose_names_nobody_can_read_are_not_shown(self):
        secret = "hunter2-secret"
        document = json.dumps({"password": secret})
        for data, media_type in ((bytes(range(256)), "application/octet-stream"), (document.encode("utf-16"), JSON),
                                 (document.encode("utf-16-le"), JSON), (f"<a><password>{secret}</password></a>".encode("utf-16"), "application/xml"),
                                 (b"\x81\xa8password\xae" + secret.encode(), "application/msgpack"),
                                 (b"\x81\xa8password\xae" + secret.encode(), "text/plain")):
            with self.subTest(data=data[:20]):
                _, shown = self.exchange("POST", "/plain", data, media_type)
                body = shown["upstream"]["request"]["body"]
                self.assertEqual((body["text"], body["base64"], body["size"]), (None, None, len(data)))
                self.assertIn("can't be read", body["hidden"])
                text = json.dumps(shown)
                for spelled in (secret.encode(), secret.encode("utf-16-le")):
                    self.assertNotIn(base64.b64encode(spelled).decode()[:12], text)
                self.assertNotIn(secret, text)

    def test_of_a_long_body_the_beginning_is_kept(self):
        for count in (16383, 16384, 16385, 3_000_000):
            with self.subTest(count=count):
                _, shown = self.exchange("POST", "/plain", b"x" * count, "text/plain")
                body = shown["client"]["request"]["body"]
                self.assertEqual((body["size"], body["kept"], body["whole"]), (count, min(count, 16384), count <= 16384))
                self.assertEqual(body["text"], "x" * min(count, 16384))
                self.assertEqual(shown["upstream"]["request"]["body"], body)
                self.assertEqual(shown["replayable"], count <= 16384)

    def test_a_chunked_body_is_kept_without_its_framing(self):
        with Client(self.recast.port) as client:
            client.send("POST /plain HTTP/1.1\r\nHost: a\r\nX-Request-Id: chunked-1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            self.assertEqual(client.response("POST").status, 200)
        shown = self.console.find("chunked-1")
        self.assertEqual(shown["client"]["request"]["body"]["text"], "abcde")
        self.assertEqual(shown["upstream"]["request"]["body"]["text"], "abcde")
        status, answer = self.console.post("/console/replay", {"id": shown["id"]})
        self.assertEqual((status, answer["status"]), (200, 200))
        self.assertEqual(self.upstream.requests[-1].body, b"abcde")

    def test_a_request_of_http2_is_shown_and_sent_again(self):
        with HTTP2Client(self.recast.port) as client:
            stream = client.request("POST", "/plain?h=2", [("x-request-id", "h2-1"), ("content-type", "text/plain")], b"abc")
            self.assertEqual(client.response(stream).status, 200)
        shown = self.console.find("h2-1")
        self.assertEqual((shown["protocol"], shown["target"]), ("HTTP/2.0", "/plain?h=2"))
        self.assertEqual(shown["client"]["request"]["body"]["text"], "abc")
        status, answer = self.console.post("/console/replay", {"id": shown["id"]})
        self.assertEqual((status, answer["status"]), (200, 200))
        self.assertEqual(self.upstream.requests[-1].body, b"abc")

    # The list.

    def test_the_list_is_newest_first_and_can_be_filtered(self):
        self.exchange("PUT", "/plain/1", b"a", "text/plain")
        self.exchange("POST", "/multipart", *BAD)
        everything = self.console.list()
        self.assertEqual([each["at"] for each in everything], sorted((each["at"] for each in everything), reverse=True))
        for query, holds in [
            ("?route=multipart", lambda each: each["route"] == "multipart"), ("?status=400", lambda each: each["status"] == 400),
            ("?status=4xx", lambda each: each["status"] // 100 == 4), ("?method=PUT", lambda each: each["method"] == "PUT"),
            ("?method=put", lambda each: each["method"] == "PUT"), ("?method=PU", lambda each: False),
            ("?code=no_route", lambda each: each["code"] == "no_route"), ("?code=Route", lambda each: "route" in (each["code"] or "")),
            ("?code=bd", lambda each: each["flag"] == "BD" or "bd" in (each["code"] or "")), ("?route=orders&status=2xx&method=POST", lambda each: (
                each["route"], each["status"] // 100, each["method"]) == ("orders", 2, "POST")),
        ]:
            with self.subTest(query=query):
                found = self.console.list(query)
                self.assertTrue(all(holds(each) for each in found))
                self.assertGreaterEqual(
                    {each["id"] for each in found}, {each["id"] for each in self.console.list() if holds(each)})
        for query in ("?status=abc", "?status=4xxx", "?status=1000", "?status=xx4", "?sttus=4xx", "?route=plain&route=orders"):
            self.assertEqual(self.console.ask("GET", f"/console/exchanges{query}")[0], 400)

    def events(self, query=""):
        events = Events(self.admin_port, f"/console/exchanges{query}", fields=[f"Authorization: Bearer {self.console.token}"])
        self.addCleanup(events.close)
        return events

    def test_exchanges_come_as_events(self):
        events = self.events("?route=plain&method=DELETE")
        name, document = events.next()
        self.assertEqual((name, document["entries"], document["body"]), ("exchanges", 200, 16384))
        self.assertIn("password", document["mask"])
        _, shown = self.exchange("DELETE", "/plain/events")
        self.exchange("GET", "/plain/other")
        name, document = events.next()
        self.assertEqual((name, [each["id"] for each in document["exchanges"]], document["missed"]), ("more", [shown["id"]], 0))

    def test_many_exchanges_are_counted_where_they_are_not_shown(self):
        events = self.events("?route=plain")
        events.next()

        def load():
            with Client(self.recast.port) as client:
                for _ in range(400):
                    client.request("GET", "/plain/many")
                    client.response("GET")
        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        seen = missed = 0
        while seen + missed < 800:
            name, document = events.next()
            self.assertEqual(name, "more")
            self.assertLessEqual(len(document["exchanges"]), 200)
            seen += len(document["exchanges"])
            missed += document["missed"]
        for thread in threads:
            thread.join()
        self.assertGreaterEqual(seen, 200)

    # Who is shown it.

    def test_without_the_token_nothing_is_shown(self):
        admin = Admin(self.admin_port)
        for method, path in [("GET", "exchanges"), ("GET", "exchange?id=0-1"), ("GET", "routes"), ("POST", "replay")]:
            for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer " + "0" * 32},
                            {"Authorization": f"Basic {self.console.token}"}, {"Authorization": f"Bearer {self.console.token}0"}):
                status, fields, body = admin.ask(method, f"/console/{path}", "{}" if method == "POST" else None, headers)
                self.assertEqual((status, fields["WWW-Authenticate"].split()[0]), (401, "Bearer"), body)
        self.assertEqual(admin.ask("GET", "/console/exchanges", headers={"Authorization": f"bearer {self.console.token}"})[0], 200)

    def test_the_page_is_for_everybody_and_allows_nothing_from_elsewhere(self):
        admin = Admin(self.admin_port)
        status, fields, body = admin.ask("GET", "/console")
        self.assertEqual((status, fields["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", fields["Content-Security-Policy"])
        self.assertEqual((fields["X-Content-Type-Options"], fields["Referrer-Policy"]), ("nosniff", "no-referrer"))
        self.assertNotIn(self.console.token.encode(), body)
        for name, media_type in re.findall(rb'(?:src|href)="(?:/console/)?([a-z]+\.(js|css))"', body):
            status, fields, _ = admin.ask("GET", f"/console/{name.decode()}")
            self.assertEqual((status, media_type.decode() in fields["Content-Type"].replace("javascript", "js")), (200, True))
        self.assertEqual(admin.ask("GET", "/console/none.js")[0], 404)
        self.assertEqual(admin.ask("POST", "/console")[0], 405)
        self.assertEqual(admin.ask("GET", "/console", headers={"Host": "evil.example"})[0], 421)

    def test_a_page_of_another_origin_may_not_send_again(self):
        _, shown = self.exchange("GET", "/plain")
        own = f"http://127.0.0.1:{self.admin_port}"
        for origin, expected in [(own, 200), (own.upper(), 200), ("http://127.0.0.1:1", 403), ("https" + own[4:], 403), ("null", 403), (own + ".evil", 403)]:
            status, _, body = self.console.ask("POST", "/console/replay", json.dumps({"id": shown["id"]}), {"Origin": origin})
            self.assertEqual(status, expected, (origin, body))
        status, _, _ = self.console.ask("GET", "/console/exchanges", headers={"Sec-Fetch-Site": "cross-site"})
        self.assertEqual(status, 403)

    # Replays.

    def replay(self, document, expected=200):
        status, answer = self.console.post("/console/replay", document)
        self.assertEqual(status, expected, answer)
        return answer

    def test_an_answer_that_was_cut_is_found_by_its_flag(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), exchange.close())
        with Client(self.recast.port) as client:
            client.request("GET", "/plain/cut", fields=["X-Request-Id: cut-1"])
            self.assertRaises(Closed, client.response, "GET")
        shown = self.console.find("cut-1")
        self.assertEqual((shown["status"], shown["flag"], shown["code"]), (200, "UR", None))
        for text in ("UR", "ur", "u"):
            self.assertIn(shown["id"], {each["id"] for each in self.console.list(f"?code={text}")}, text)
        self.assertNotIn(shown["id"], {each["id"] for each in self.console.list("?code=urr")})

    def test_of_an_id_that_is_another_request_nothing_is_sent_again(self):
        _, first = self.exchange("POST", "/plain", b"a=1", FORM)
        count = len(self.upstream.requests)
        for edit in ({}, {"edit": {"body": "b"}}):
            self.assertIn("another request", self.replay({"id": first["id"], "request_id": "of-another", **edit}, 409)["error"])
        self.replay({"id": first["id"], "request_id": 1}, 400)
        self.assertEqual(len(self.upstream.requests), count)
        self.replay({"id": first["id"], "request_id": first["request_id"]})
        self.replay({"id": first["id"], "request_id": None})
        # One that holds a masked value goes by what is shown of it, too.
        self.send("POST", "/plain", b"a=1", FORM, [f"X-Token: {CANARY}", f"X-Request-Id: of-{CANARY}"])
        shown = self.console.find("of-***")
        for request_id in ("of-***", f"of-{CANARY}"):
            self.replay({"id": shown["id"], "request_id": request_id})
        self.replay({"id": shown["id"], "request_id": "of-***x"}, 409)

    def test_a_replay_is_the_same_request_and_marked(self):
        _, first = self.exchange("POST", "/orders?token=abcdef", f"user[password]={CANARY}&n=1".encode(), FORM, ["X-Own: 1", "Authorization: Bearer x"])
        sent = self.upstream.requests[-1]
        answer = self.replay({"id": first["id"]})
        again = self.upstream.requests[-1]
        self.assertEqual((again.method, again.target, again.body), (sent.method, sent.target, sent.body))
        self.assertIn(CANARY.encode(), again.body)
        self.assertEqual(again.fields.all("recast-replay"), [first["request_id"]])
        self.assertNotEqual(again.fields.get("x-request-id"), sent.fields.get("x-request-id"))
        differing = ("recast-replay", "x-request-id", "date")
        def rest(fields):
            return sorted((name, value) for name, value in fields if name.lower() not in differing)
        self.assertEqual(rest(again.fields), rest(sent.fields))
        shown = self.console.json(f"/console/exchange?id={answer['id']}")
        self.assertEqual((shown["replay_of"], shown["status"]), (first["id"], answer["status"]))

    def test_no_more_replays_run_at_once_than_sixteen(self):
        _, first = self.exchange("POST", "/plain", b'{"n":1}', JSON)
        known, may_answer = len(self.upstream.requests), threading.Event()
        self.upstream.script = lambda exchange: (exchange.read_body(), may_answer.wait(DEADLINE), exchange.answer())
        # Half of them are edited, which takes longer.
        orders = [{"id": first["id"], **({"edit": {"body": "{}"}} if number % 2 else {})} for number in range(16)]
        statuses = []
        posts = [threading.Thread(target=lambda order=order: statuses.append(self.console.post("/console/replay", order)[0])) for order in orders]
        try:
            for post in posts:
                post.start()
            wait_until("sixteen have come", lambda: len(self.upstream.requests) == known + 16)
            for order in orders[:2]:
                self.assertIn("16", self.replay(order, 503)["error"])
        finally:
            may_answer.set()
            for post in posts:
                post.join()
        self.assertEqual(statuses, [200] * 16)
        self.replay(orders[0])

    def test_an_edited_replay_goes_as_it_was_edited(self):
        _, first = self.exchange("POST", "/plain/a?token=abcdef&b=1", b'{"password":"geheim","n":1}', JSON, ["X-Token: geheimer"])
        self.replay({"id": first["id"], "edit": {
            "method": "PUT", "target": "/plain/b?token=***&b=2",
            "fields": [{"name": "Host", "value": "h"}, {"name": "x-token", "value": "***"}, {"name": "X-New", "value": "2"}],
            "body": '{"n":2}'}})
        request = self.upstream.requests[-1]
        self.assertEqual([request.method, request.target], ["PUT", "/plain/b?token=abcdef&b=2"])
        self.assertEqual((request.fields.get("x-token"), request.fields.get("x-new"), request.body), ("geheimer", "2", b'{"n":2}'))
        # A body that was left as it was shown is the one that it was.
        self.replay({"id": first["id"], "edit": {"body": first["client"]["request"]["body"]["text"]}})
        self.assertEqual(self.upstream.requests[-1].body, b'{"password":"geheim","n":1}')
        data = bytes(range(256))
        self.replay({"id": first["id"], "edit": {"base64": base64.b64encode(data).decode()}})
        self.assertEqual(self.upstream.requests[-1].body, data)

    def test_what_is_left_as_it_is_shown_goes_as_it_was(self):
        # A masked value stands elsewhere, too: in the path, in a parameter, within a field.
        secret = "abcdef123"
        target = f"/plain/reset/{secret}?token={secret}&x=1&seen=a{secret}b"
        _, first = self.exchange("POST", target, f"see {secret}".encode(), "text/plain", [
            f"Cookie: {secret}", f"X-Debug: seen {secret} here", "X-Token: first-1", "X-Token: second-2"])
        request = first["client"]["request"]
        self.assertNotIn(secret, json.dumps(first))
        self.assertEqual(first["target"], "/plain/reset/***?token=***&x=1&seen=a***b")
        framing = ("content-length", "x-request-id")
        fields = [{"name": field["name"], "value": field["value"]} for field in request["fields"] if field["name"].lower() not in framing]
        edit = {"method": first["method"], "target": first["target"], "fields": fields, "body": request["body"]["text"]}
        for change, expected in [
            ({}, target), ({"target": first["target"].replace("x=1", "y=2&x=***d")[:-1] + "b"}, None),
            ({"target": first["target"].replace("x=1", "y=2")}, target.replace("x=1", "y=2")),
            ({"target": "/plain/other?seen=a***b&token=***"}, f"/plain/other?seen=a{secret}b&token={secret}"),
            ({"target": "/plain/reset/***/more?token=***"}, None), ({"target": "/plain/reset/***"}, f"/plain/reset/{secret}"),
            ({"target": "/plain?x=***"}, None), ({"method": "P***"}, None), ({"body": "see *** more"}, None),
            ({"body": None, "base64": base64.b64encode(b"see *** more").decode()}, None),
        ]:
            with self.subTest(change=change):
                count = len(self.upstream.requests)
                self.replay({"id": first["id"], "edit": {**edit, **change}}, 200 if expected else 409)
                self.assertEqual(len(self.upstream.requests), count + bool(expected))
                if not expected:
                    continue
                sent = self.upstream.requests[-1]
                self.assertEqual((sent.method, sent.target, sent.body), ("POST", expected, f"see {secret}".encode()))
                self.assertEqual(sent.fields.get("x-debug"), f"seen {secret} here")
                self.assertEqual(sent.fields.get("cookie"), secret)
                self.assertEqual(sent.fields.all("x-token"), ["first-1", "second-2"])
        # Of two values of a name nobody knows which one is left; and a part of one is no value.
        for name, value in [("X-Token", None), ("X-Debug", "*** seen"), ("X-Other", "***")]:
            changed = [field for field in fields if field["name"] != name]
            changed.append({"name": name, "value": value or "***"})
            self.assertIn("***", self.replay({"id": first["id"], "edit": {"fields": changed}}, 409)["error"])
        # One that is changed leaves the other as it was.
        tokens = [field for field in fields if field["name"] == "X-Token"]
        tokens[0]["value"] = "new"
        self.replay({"id": first["id"], "edit": {"fields": fields}})
        self.assertEqual(self.upstream.requests[-1].fields.all("x-token"), ["new", "second-2"])

    def test_what_cant_be_sent_again_is_refused_and_sends_nothing(self):
        _, first = self.exchange("POST", "/plain", b'{"password":"geheim"}', JSON)
        count = len(self.upstream.requests)
        for edit, expected in [
            ({"body": '{"password":"***","n":1}'}, 409), ({"target": "/plain?token=***"}, 409),
            ({"fields": [{"name": "Host", "value": "h"}, {"name": "X-Token", "value": "***"}]}, 409), ({"base64": "a"}, 400),
            ({"fields": [{"name": "Host"}]}, 400), ({"fields": [{"name": "Ho st", "value": "h"}]}, 400),
            ({"fields": [{"name": "Host", "value": "h\r\n\r\nGET / HTTP/1.1"}]}, 400), ({"method": "GET /x HTTP/1.1\r\nA: b\r\n\r\nPOST"}, 400),
            ({"target": "plain"}, 400), ({"method": ""}, 400), ({"method": "TRACE"}, 400), ({"fields": []}, 400),
        ]:
            with self.subTest(edit=edit):
                answer = self.replay({"id": first["id"], "edit": edit}, expected)
                self.assertTrue(answer["error"])
        for document, expected in [({}, 400), ({"id": "0-999999"}, 404), ({"id": "x"}, 400), ({"id": "9-1"}, 404), ([], 400)]:
            self.replay(document, expected)
        self.assertEqual(self.console.ask("POST", "/console/replay", "{")[0], 400)
        self.assertEqual(len(self.upstream.requests), count)

    def test_the_body_of_a_replay_that_was_not_kept_can_be_given(self):
        _, first = self.exchange("POST", "/plain", b"x" * 20000, "text/plain")
        self.assertIn("16384", self.replay({"id": first["id"]}, 409)["error"])
        self.replay({"id": first["id"], "edit": {"body": "y" * 300_000}})
        self.assertEqual(self.upstream.requests[-1].body, b"y" * 300_000)

    def test_a_replay_of_a_slow_upstream_waits_and_its_failure_is_told(self):
        _, first = self.exchange("POST", "/plain/slow", b"x", "text/plain")
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.close())
        self.assertEqual(self.replay({"id": first["id"]})["status"], 502)
        # One that is cut within its response, too.
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), exchange.close())
        self.replay({"id": first["id"]})

    def test_the_command_sends_the_same_request(self):
        with Client(self.recast.port) as client:
            client.request(
                "POST", "/plain/it's?a=[1]", "it's \"ü\"\n@x".encode(), "text/plain; charset=utf-8",
                ["X-Request-Id: command-1", "X-Empty:", "X-Quote: '\"$HOME"], host=f"127.0.0.1:{self.recast.port}")
            client.response("POST")
        first = self.console.find("command-1")
        sent = self.upstream.requests[-1]
        command = first["curl"]
        self.assertEqual(shlex.split(command)[0], "curl")
        subprocess.run(["sh", "-c", command], check=True, capture_output=True)
        again = self.upstream.requests[-1]
        self.assertEqual((again.method, again.target, again.body), (sent.method, sent.target, sent.body))
        self.assertEqual(again.fields.get("x-quote"), sent.fields.get("x-quote"))

    def test_the_command_asks_recast_whatever_host_was_asked_for(self):
        _, first = self.exchange("POST", "/plain/host", b"a=1", FORM, ["X-Token: geheimer"])
        self.assertEqual(first["curl_masked"], 1)
        with Client(self.recast.port) as client:
            client.request("GET", "/plain/host", fields=["X-Request-Id: host-1"], host="shop.example")
            client.response("GET")
        first = self.console.find("host-1")
        self.assertEqual(first["curl_masked"], 0)
        count = len(self.upstream.requests)
        subprocess.run(["sh", "-c", first["curl"]], check=True, capture_output=True, timeout=DEADLINE)
        again = self.upstream.wait_for(count + 1)[count]
        self.assertEqual((again.target, again.fields.get("host")), ("/plain/host", self.upstream.requests[count - 1].fields.get("host")))
        self.assertIn("'Host: shop.example'", first["curl"])

    def test_the_command_of_a_request_of_http2_is_one_of_http2(self):
        with HTTP2Client(self.recast.port) as client:
            stream = client.request("POST", "/plain/h2", [("x-request-id", "h2-command"), ("content-type", "text/plain")], b"abc")
            self.assertEqual(client.response(stream).status, 200)
        command = self.console.find("h2-command")["curl"]
        subprocess.run(["sh", "-c", command.replace("h2-command", "h2-copied")], check=True, capture_output=True, timeout=DEADLINE)
        again = self.console.find("h2-copied")
        self.assertEqual((again["protocol"], again["client"]["request"]["body"]["text"]), ("HTTP/2.0", "abc"))

    def test_the_command_of_a_body_with_a_coding_sends_it_without(self):
        _, first = self.exchange("POST", "/plain/coded", gzip.compress(b"a=1&b=2"), FORM, ["Content-Encoding: gzip"])
        command = first["curl"].replace(first["request_id"], "coded-copied")
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, timeout=DEADLINE)
        again = self.console.find("coded-copied")["client"]["request"]["body"]
        self.assertEqual((again["text"], again["coding"]), ("a=1&b=2", None))

    def test_the_command_is_the_same_request_also_where_curl_would_add_to_it(self):
        for number, (method, target, body) in enumerate((
            ("HEAD", "/plain/head", None), ("GET", "/plain/bare", None), ("POST", "/plain/untyped", "a=1"), ("OPTIONS", "*", None),
        )):
            with self.subTest(method):
                length = "" if body is None else f"Content-Length: {len(body)}\r\n"
                with Client(self.recast.port) as client:
                    client.send(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{self.recast.port}\r\nX-Request-Id: bare-{number}\r\n{length}\r\n"
                                + (body or ""))
                    client.response(method)
                first = self.console.find(f"bare-{number}")
                command = first["curl"].replace(f"bare-{number}", f"copied-{number}")
                subprocess.run(["sh", "-c", command], check=True, capture_output=True, timeout=DEADLINE)
                again = self.console.find(f"copied-{number}")
                came, copied = ((each["client"]["request"]["line"], [field["name"].lower() for field in each["client"]["request"]["fields"]],
                                 (each["client"]["request"]["body"] or {}).get("text")) for each in (first, again))
                self.assertEqual(came, copied)

    def test_routes_come_with_what_they_have_done(self):
        def count(name):
            route, = (route for route in self.console.json("/console/routes")["routes"] if route["name"] == name)
            return route
        before = count("multipart")
        self.exchange("POST", "/multipart", *BAD)
        after = count("multipart")
        self.assertEqual(after["requests"], before["requests"] + 1)
        self.assertEqual(after["by_status"]["4xx"], before["by_status"].get("4xx", 0) + 1)
        self.assertEqual(after["request"], "multipart -> json")


class ReadersTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ entries: 600, body: 0B }"

    def test_many_readers_keep_no_probe_out(self):
        """Answers that take long are made for a few at once: the others are told, and leave their places to who asks for less."""
        target = "/plain/a?" + "&".join(f"a{name}={'x' * 20}" for name in range(100))
        with Client(self.recast.port) as client:
            for _ in range(6):
                client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n" * 100)
                for _ in range(100):
                    self.assertEqual(client.response().status, 200)
        over, statuses = threading.Event(), []

        def read():
            while not over.is_set():
                # A probe may have had the place of one that waits.
                with contextlib.suppress(OSError, Closed), Client(self.admin_port) as client:
                    while not over.is_set():
                        client.send(f"GET /console/exchanges HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.console.token}\r\n\r\n")
                        statuses.append(client.response().status)
                        if statuses[-1] == 503:
                            over.wait(0.1)

        readers = [threading.Thread(target=read) for _ in range(64)]
        probes = []
        try:
            for reader in readers:
                reader.start()
            wait_until("many are being answered", lambda: len(statuses) >= 64)
            for _ in range(20):
                with contextlib.suppress(OSError, http.client.HTTPException):
                    probes.append(Admin(self.admin_port).get("/live"))
        finally:
            over.set()
            for reader in readers:
                reader.join()
        # One that comes in the moment in which all places have just been taken is turned away.
        self.assertGreaterEqual(probes.count(b"live\n"), 15)
        self.assertEqual(set(statuses), {200, 503})


class LessonTests(ConsoleTestCase):
    routes = ROUTES

    def test_nobody_waits_for_what_is_learnt(self):
        body = "&".join(f"user[k{number}][x]={number}" for number in range(480))
        with Client(self.recast.port) as client:
            for _ in range(200):
                client.request("POST", "/plain", body, FORM)
                self.assertEqual(client.response().status, 200)
        with Client(self.admin_port) as learner:
            learner.send(f"GET /console/learn?route=plain HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.console.token}\r\n\r\n")
            learner.wait_until_read()
            self.assertEqual(Admin(self.admin_port).get("/live"), b"live\n")
            self.assertEqual(self.send("GET", "/plain").status, 200)
            self.assertEqual(select.select([learner.socket], [], [], 0)[0], [], "it wasn't the lesson that came first")
            self.assertEqual(json.loads(learner.response().body)["exchanges"], 200)


class FewEntriesTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ entries: 3, body: 0B, mask: off }"

    def test_the_last_ones_are_kept_and_nothing_of_bodies(self):
        ids = []
        for number in range(5):
            _, shown = self.exchange("POST", f"/plain/{number}?token=abcdef", b"x", "text/plain", ["Authorization: Bearer abc"])
            ids.append(shown["id"])
        self.assertEqual([each["id"] for each in self.console.list()], ids[:1:-1])
        self.assertEqual(self.console.ask("GET", f"/console/exchange?id={ids[1]}")[0], 404)
        self.assertEqual((shown["client"]["request"]["body"]["size"], shown["client"]["request"]["body"]["kept"]), (1, 0))
        self.assertEqual(shown["target"], "/plain/4?token=abcdef")
        self.assertIn("Bearer abc", json.dumps(shown))

    def test_of_many_that_run_at_once_as_many_are_kept(self):
        go_on = self.upstream.hold(self)
        clients = [self.client() for _ in range(6)]
        for client in clients:
            client.request("GET", "/plain/held")
        self.upstream.wait_for(6)
        go_on.set()
        for client in clients:
            self.assertEqual(client.response("GET").status, 200)
        wait_until("they are kept", lambda: len(self.console.list()) == 3)


class WorkersTests(ConsoleTestCase):
    routes = ROUTES
    workers = 3
    console_settings = "{ entries: 2 }"

    def test_a_list_shows_what_all_workers_keep(self):
        document = self.console.json("/console/exchanges")
        self.assertEqual([document[name] for name in ("entries", "workers", "limit", "truncated")], [2, 3, 6, False])
        # Each connection is a worker's: so many that each of the workers has had some.
        for number in range(60):
            self.send("GET", f"/plain/{number}")
        wait_until("each worker keeps two", lambda: len(self.console.list()) == 6)
        self.assertEqual({each["id"].split("-")[0] for each in self.console.list()}, {"0", "1", "2"})
        self.assertFalse(self.console.json("/console/exchanges")["truncated"])


class NoMaskTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ entries: 5, mask: off }"

    def test_bytes_that_are_no_text_are_shown_in_base64(self):
        data = bytes(range(256))
        _, shown = self.exchange("POST", "/plain", data, "application/octet-stream")
        body = shown["upstream"]["request"]["body"]
        self.assertEqual((body["text"], base64.b64decode(body["base64"]), body["hidden"]), (None, data, None))


class ManyEntriesTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ entries: 2000 }"

    def test_what_one_event_has_no_room_for_is_counted(self):
        events = Events(self.admin_port, "/console/exchanges", fields=[f"Authorization: Bearer {self.console.token}"])
        self.addCleanup(events.close)
        events.next()
        count = 900
        with Client(self.recast.port) as client:
            # No upstream is asked, so that many end between two looks.
            client.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" * count)
            for _ in range(count):
                self.assertEqual(client.response("GET").status, 404)
        seen = missed = 0
        while seen + missed < count:
            _, document = events.next()
            self.assertLessEqual(len(document["exchanges"]), 200)
            seen += len(document["exchanges"])
            missed += document["missed"]
        self.assertEqual(seen + missed, count)


class LongBodyTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ entries: 5, body: 1MiB }"

    def test_a_body_full_of_masked_fields_is_looked_at_in_time_and_not_shown(self):
        for count, is_hidden in ((20, False), (20_000, True)):
            body = "&".join(f"token{number}=secret-{number}" for number in range(count)).encode()
            with self.subTest(count=count):
                started = time.monotonic()
                _, shown = self.exchange("POST", "/plain", body, FORM)
                # Each value looked for in each byte took minutes.
                self.assertLess(time.monotonic() - started, DEADLINE / 2)
                text = json.dumps(shown)
                self.assertNotIn("secret-1", text)
                self.assertEqual([shown[side]["request"]["body"]["hidden"] is not None for side in ("client", "upstream")], [is_hidden] * 2)


class LongCommandTests(ConsoleTestCase):
    routes = ROUTES
    console_settings = "{ body: 64KiB }"

    def test_a_body_that_no_argument_of_a_command_can_be_is_a_file(self):
        longest = 30 * 1024
        for size in (longest - 1, longest, longest + 1):
            # A quotation mark takes the most room.
            body = "'" * size
            _, found = self.exchange("POST", "/plain/long", body.encode(), "text/plain")
            self.assertEqual(found["curl"].endswith(" --data-binary @body"), size > longest, size)
            if size > longest:
                continue
            count = len(self.upstream.requests)
            subprocess.run(["sh", "-c", f"{found['curl']} --connect-to ::127.0.0.1:{self.recast.port}"],
                           check=True, capture_output=True, timeout=DEADLINE)
            self.assertEqual(self.upstream.wait_for(count + 1)[count].body, body.encode())


class ConsoleReloadTests(reload_tests.ReloadTestCase):
    def test_a_reload_turns_it_on_and_off_and_forgets(self):
        port = admin_port()[0]
        recast = self.start(workers=1, settings=f"admin: {{ address: 127.0.0.1:{port} }}\n")
        admin = Admin(port)
        self.assertEqual([admin.ask("GET", path)[0] for path in ("/console", "/console/exchanges", "/console/console.js")], [404] * 3)
        self.assertNotIn("console:", recast.error_text())
        on = self.text.replace(f"127.0.0.1:{port} }}", f"127.0.0.1:{port}, console: on }}")
        self.write(on)
        reload(recast)
        console = Console(port, recast)
        self.assertEqual(console.list(), [])
        self.assertEqual(self.status("/plain"), 200)
        wait_until("it is kept", lambda: len(console.list()) == 1)
        # The same settings keep what there is, and the token stays.
        self.write(on + "\n")
        reload(recast)
        self.assertEqual(len(console.list()), 1)
        first, = console.list()
        events = Events(port, "/console/exchanges", fields=[f"Authorization: Bearer {console.token}"])
        self.addCleanup(events.close)
        self.assertEqual(events.next()[1]["entries"], 200)
        told = []
        reader = threading.Thread(target=lambda: told.append(events.next()), daemon=True)
        reader.start()
        self.write(on.replace("console: on", "console: { entries: 5 }"))
        reload(recast)
        self.assertEqual(console.list(), [])
        # Who follows it begins anew, and no id stands for another exchange than before.
        reader.join(DEADLINE)
        self.assertEqual(told, [None])
        self.assertEqual(self.status("/plain"), 200)
        wait_until("it is kept", lambda: len(console.list()) == 1)
        self.assertNotEqual(console.list()[0]["id"], first["id"])
        self.assertEqual(console.ask("GET", f"/console/exchange?id={first['id']}")[0], 404)
        self.assertEqual(console.post("/console/replay", {"id": first["id"], "request_id": first["request_id"]})[0], 404)
        self.write(self.text)
        reload(recast)
        self.assertEqual(console.ask("GET", "/console/exchanges")[0], 404)
        self.assertEqual(self.status("/plain"), 200)


if __name__ == "__main__":
    unittest.main()
