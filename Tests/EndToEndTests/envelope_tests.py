"""Statuses and problems out of envelopes: real sockets, bodies in every framing."""

import gzip
import json
import re
import threading
import time

from admin import Admin, admin_port
from harness import DEADLINE, FORM, JSON, ProxyTestCase, select_nothing

TYPE = (f"Content-Type: {JSON}",)
BAD = b'{"errcode":40001,"errmsg":"invalid credential"}'
PROBLEM = {"type": "about:blank", "title": "Unauthorized", "status": 401, "detail": "invalid credential",
           "errcode": 40001, "errmsg": "invalid credential"}


def answering(body, fields=TYPE, **options):
    def script(exchange):
        exchange.read_body()
        exchange.answer(body=body, fields=fields, **options)
    return script


class EnvelopeTests(ProxyTestCase):
    routes = """
  - name: plain
    match: /plain
    upstream: app
    response:
      - when: { status: 200, type: application/json }
        status_from: { path: errcode, map: { 0: 200, 40001: 401 }, default: 502 }
  - name: converted
    match: /converted
    upstream: app
    response:
      - convert: json -> form
        status_from: { path: errcode, map: { 0: 201, 40001: 401 } }
  - name: problem
    match: /problem
    upstream: app
    response:
      - status_from: { path: errcode, map: { 0: 200, 40001: 401 } }
        problem: true
        convert: json -> form
  - name: coded
    match: /coded
    upstream: app
    compress: { plain: true, min: 1KiB }
    response: [ { status_from: { path: errcode, map: { 40001: 401 }, look: 1KiB } } ]
  - name: errors
    match: /errors
    upstream: app
    response: [ { when: { status: 4xx }, problem: { type: "https://example.com/p" } } ]
  - name: coded-problem
    match: /coded-problem
    upstream: app
    compress: { plain: true, min: 1B }
    response: [ { problem: true } ]
  - name: again
    match: /again
    upstream: app
    retry: { on: [503], attempts: 1 }
    response: [ { status_from: { path: errcode, map: { 1: 503 } } } ]
"""

    @classmethod
    def setUpClass(cls):
        port, cls.settings = admin_port()
        cls.admin = Admin(port)
        super().setUpClass()
        cls.admin.until_ready()

    def get(self, target, script, **options):
        self.upstream.script = script
        return self.send("GET", target, **options)

    def until_counted(self, line):
        deadline = time.monotonic() + DEADLINE
        while line not in self.admin.metrics().text:
            if time.monotonic() > deadline:
                self.fail(f"{line} is not in\n{self.admin.metrics().text}")
            select_nothing()

    def test_the_status_is_the_envelopes_and_the_body_goes_on_as_it_came(self):
        client = self.client()
        for body, status in ((b'{"errcode":0,"a":1}', 200), (BAD, 401), (b'{"errcode":7}', 502), (b'{"a":', 200), (b"{}", 502)):
            for framing in ("length", "chunked", "close"):
                with self.subTest(body, framing=framing):
                    self.upstream.script = answering(body, (*TYPE, 'ETag: "v"'), framing=framing)
                    client.request("GET", "/plain")
                    response = client.response()
                    self.assertEqual((response.status, response.body), (status, body))
                    self.assertEqual(response.framing, "length" if framing == "length" else "chunked")
                    self.assertEqual((response.fields.get("content-type"), response.fields.get("etag")), (JSON, '"v"'))

    def test_bytes_that_come_one_by_one(self):
        wire = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BAD), BAD)

        def script(exchange):
            exchange.read_body()
            for at in range(len(wire)):
                exchange.send(wire[at:at + 1])
        for target, body in (("/plain", BAD), ("/converted", b"errcode=40001&errmsg=invalid%20credential")):
            response = self.get(target, script)
            self.assertEqual((response.status, response.body), (401, body))

    def test_with_the_value_the_head_goes_out_and_the_rest_streams(self):
        seen = threading.Event()
        filler = b"x" * 3_000_000

        def script(exchange):
            exchange.read_body()
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            exchange.send(b'12\r\n{"errcode":40001,"\r\n')
            seen.wait(DEADLINE)
            exchange.send(b'3\r\na":\r\n' + b"%x\r\n\"%s\"}\r\n0\r\n\r\n" % (len(filler) + 3, filler))
        self.upstream.script = script
        client = self.client()
        client.request("GET", "/plain")
        line, fields = client.reader.head()
        self.assertEqual(line.split()[1:], ["401", "Unauthorized"])
        self.assertNotIn("content-length", fields)
        seen.set()
        self.assertEqual(len(client.reader.chunked()), len(filler) + 24)

    def test_only_so_much_is_looked_at(self):
        for size, status in ((65_000, 401), (70_000, 200)):
            body = b'{"a":"%s","errcode":40001}' % (b"x" * size)
            response = self.get("/plain", answering(body))
            self.assertEqual((response.status, response.body), (status, body))
        self.until_counted('recast_status_from_total{route="plain",upstream_code="200",code="200",result="too_long"}')

    def test_what_has_no_content_is_not_looked_at(self):
        client = self.client()
        for status, method in ((204, "GET"), (304, "GET"), (200, "HEAD")):
            with self.subTest(status, method=method):
                self.upstream.script = lambda exchange, status=status, method=method: (exchange.read_body(), exchange.send(
                    f"HTTP/1.1 {status} X\r\nContent-Type: {JSON}\r\n"
                    + ("Content-Length: 10\r\n" if method == "HEAD" else "") + "\r\n"))
                client.request(method, "/plain")
                response = client.response(method)
                self.assertEqual(response.status, status)
                if method == "HEAD":
                    self.assertEqual(response.fields.get("content-length"), "10")
        self.assertEqual(self.get("/plain", answering(b"")).status, 200)

    def test_a_converted_body_has_the_status_too(self):
        response = self.get("/converted", answering(BAD))
        self.assertEqual((response.status, response.fields.get("content-type")), (401, FORM))
        self.assertEqual(response.body, b"errcode=40001&errmsg=invalid%20credential")
        self.assertEqual(self.get("/converted", answering(b'{"errcode":0}')).status, 201)
        self.assertEqual(self.get("/converted", answering(b'{"errcode":9}')).status, 200)
        # Longer than a slice, behind the value.
        body = json.dumps({"errcode": 40001, "a": ["x" * 30_000] * 8}).encode()
        response = self.get("/converted", answering(body))
        self.assertEqual(response.status, 401)
        self.assertGreater(len(response.body), 240_000)
        # What can't be converted is still an error, the one that the envelope says, and a 502 where it says none.
        for body, status in ((b'{"errcode":40001,', 401), (b'{"errcode":9,', 502), (b'{"errcode":0,', 502)):
            self.assert_problem(self.get("/converted", answering(body)), status, "^upstream_body_malformed$")

    def test_an_error_becomes_a_problem(self):
        for framing in ("length", "chunked", "close"):
            response = self.get("/problem", answering(BAD, (*TYPE, 'ETag: "v"', "Digest: sha-256=x"), framing=framing))
            self.assertEqual((response.status, response.json), (401, PROBLEM))
            self.assertEqual(response.fields.all("content-type"), ["application/problem+json"])
            self.assertEqual((response.framing, response.fields.get("etag")), ("length", 'W/"v"'))
            self.assertNotIn("digest", response.fields)
        good = self.get("/problem", answering(b'{"errcode":0,"a":1}'))
        self.assertEqual((good.status, good.fields.get("content-type"), good.body), (200, FORM, b"errcode=0&a=1"))
        # The upstream's own errors, with a status of their own.
        response = self.get("/problem", answering(b'{"message":"gone"}', status=410))
        self.assertEqual((response.status, response.json["detail"], response.json["title"]), (410, "gone", "Gone"))
        # What is too long for that goes its usual way.
        long = self.get("/problem", answering(b'{"errcode":40001,"a":"%s"}' % (b"x" * 70_000)))
        self.assertEqual((long.status, long.fields.get("content-type")), (401, FORM))
        self.until_counted('recast_problems_total{route="problem",result="too_long"}')
        self.until_counted('recast_problems_total{route="problem",result="made"}')

    def test_errors_that_pass(self):
        response = self.get("/errors", answering(b"<e><message>no</message></e>", ("Content-Type: text/xml",), status=404))
        self.assertEqual(response.json, {"type": "https://example.com/p", "title": "Not Found", "status": 404,
                                         "detail": "no", "e": {"message": "no"}})
        for body, media_type in ((b"<h1>no</h1>", "text/html"), (b"{", JSON), (b'{"status":4}', "application/problem+json")):
            response = self.get("/errors", answering(body, (f"Content-Type: {media_type}",), status=404))
            self.assertEqual((response.status, response.body, response.fields.get("content-type")), (404, body, media_type))
        # The answer to GET would have other bytes.
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.send(
            "HTTP/1.1 404 X\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"))
        client = self.client()
        client.request("HEAD", "/errors")
        response = client.response("HEAD")
        self.assertEqual(response.status, 404)
        self.assertNotIn("content-length", response.fields)

    def test_head_tells_of_what_get_would_have(self):
        """A cache takes over what an answer to HEAD says for the response to GET that it has (RFC 9111 §4.3.5)."""
        def head(target, status, *fields):
            self.upstream.script = lambda exchange: (exchange.read_body(), exchange.send(
                f'HTTP/1.1 {status} X\r\nETag: "v"\r\nContent-Length: 10\r\n' + "".join(f"{field}\r\n" for field in fields) + "\r\n"))
            response = self.send("HEAD", target, fields=("Accept-Encoding: gzip",))
            self.assertEqual(response.status, status)
            return [response.fields.get(name) for name in ("etag", "content-type", "content-length", "content-encoding", "vary")]

        other, json_type, xml_type = ['W/"v"', None, None, None, None], f"Content-Type: {JSON}", "Content-Type: text/xml"
        # One that is converted or made a problem of, by the status that only GET would have or without it.
        self.assertEqual(head("/problem", 200, json_type), other)
        self.assertEqual(head("/problem", 200, xml_type), other)
        self.assertEqual(head("/problem", 410, xml_type), other)
        self.assertEqual(head("/errors", 404, xml_type), other)
        # One of which neither can be made.
        for target, status, fields, media_type in (("/errors", 404, ("Content-Type: text/html",), "text/html"),
                                                   ("/errors", 404, ("Content-Type: application/problem+json",), "application/problem+json"),
                                                   ("/errors", 404, (json_type, "Cache-Control: no-transform"), JSON),
                                                   ("/problem", 200, ("Content-Type: image/png",), "image/png"),
                                                   ("/problem", 200, (xml_type, "Cache-Control: no-transform"), "text/xml")):
            with self.subTest(target, fields=fields):
                self.assertEqual(head(target, status, *fields), ['"v"', media_type, "10", None, None])
        self.assertEqual(head("/errors", 404, json_type, "Content-Encoding: x-own"), ['"v"', JSON, "10", "x-own", None])
        # No problem has a coding, and nobody knows how long the content of GET is.
        self.assertEqual(head("/coded-problem", 404, json_type), ['W/"v"', None, None, None, "Accept-Encoding"])

    def test_a_304_renews_what_the_client_has(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.send(
            f'HTTP/1.1 304 X\r\nETag: "v"\r\nContent-Type: {JSON}\r\n\r\n'))
        for held, tag, media_type in (('W/"v"', 'W/"v"', None), ('"v"', '"v"', JSON)):
            for target in ("/errors", "/problem"):
                response = self.send("GET", target, fields=(f"If-None-Match: {held}",))
                self.assertEqual((response.status, response.fields.get("etag"), response.fields.get("content-type")), (304, tag, media_type))

    def test_coded_bodies(self):
        body = gzip.compress(BAD)
        response = self.get("/coded", answering(body, (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((response.status, response.body, response.fields.get("content-encoding")), (401, body, "gzip"))
        problem = self.get("/problem", answering(body, (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((problem.status, problem.json), (401, PROBLEM))
        self.assertNotIn("content-encoding", problem.fields)
        converted = self.get("/converted", answering(body, (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((converted.status, converted.body), (401, b"errcode=40001&errmsg=invalid%20credential"))
        damaged = self.get("/coded", answering(body[:-9], (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((damaged.status, damaged.body), (401, body[:-9]))
        damaged = self.get("/coded", answering(body[:20], (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((damaged.status, damaged.body), (200, body[:20]))
        # What passes gets a coding of ours as any other response does.
        long = json.dumps({"errcode": 40001, "a": "x" * 5000}).encode()
        response = self.get("/coded", answering(long), fields=("Accept-Encoding: gzip",))
        self.assertEqual((response.status, gzip.decompress(response.body)), (401, long))
        # A bomb is decoded as far as it is looked at.
        bomb = gzip.compress(b'{"a":"' + b"x" * 5_000_000 + b'","errcode":40001}')
        response = self.get("/coded", answering(bomb, (*TYPE, "Content-Encoding: gzip")))
        self.assertEqual((response.status, response.body), (200, bomb))

    def test_a_client_of_http_1_0(self):
        self.upstream.script = answering(BAD, framing="chunked")
        client = self.client()
        client.send("GET /plain HTTP/1.0\r\nHost: a\r\n\r\n")
        response = client.response()
        self.assertEqual((response.status, response.framing, response.body), (401, "close", BAD))

    def test_a_client_that_reads_slowly(self):
        body = b'{"errcode":40001,"a":"%s"}' % (b"x" * 8_000_000)
        self.upstream.script = answering(body)
        client = self.client(receive_buffer=4096)
        client.request("GET", "/plain")
        self.upstream.one()
        select_nothing()
        response = client.response()
        self.assertEqual((response.status, len(response.body)), (401, len(body)))

    def test_an_upstream_that_leaves_during_the_look_is_a_502(self):
        for target in ("/plain", "/problem"):
            def script(exchange):
                exchange.read_body()
                exchange.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a":1,')
                exchange.close()
            self.assert_problem(self.get(target, script), 502, "^upstream_body_incomplete$")

    def test_retries_see_the_upstreams_status(self):
        response = self.get("/again", answering(b'{"errcode":1}'))
        self.assertEqual(response.status, 503)
        self.assertEqual(len(self.upstream.wait_for(1)), 1)

    def test_the_log_and_the_metrics_have_both(self):
        self.get("/problem", answering(BAD))
        deadline = time.monotonic() + DEADLINE
        while True:
            with open(self.recast.output) as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
            found = [line for line in lines if line.get("problem") == "made" and line["status"] == 401]
            if found or time.monotonic() > deadline:
                break
            select_nothing()
        self.assertEqual((found[0]["upstream_status"], found[0]["status_from"]), (200, "value"))
        self.until_counted('recast_status_from_total{route="problem",upstream_code="200",code="401",result="value"}')
        self.until_counted('recast_requests_total{route="problem",method="GET",code="401"}')
        self.assertTrue(re.search(r'recast_upstream_responses_total\{upstream="app",code="2xx"\}', self.admin.metrics().text))
