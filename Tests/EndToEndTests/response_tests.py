"""Responses that are converted: real sockets, upstreams that send as real ones do, and as broken ones do."""

import json
import threading
from urllib.parse import parse_qsl

from harness import DEADLINE, FORM, JSON, Closed, ProxyTestCase, make_multipart

DOCUMENT = {"user": {"name": "Ann & Bob", "tags": ["a", "b"]}, "n": 1}
TEXT = json.dumps(DOCUMENT).encode()
FIELDS = [("user[name]", "Ann & Bob"), ("user[tags][]", "a"), ("user[tags][]", "b"), ("n", "1")]
TYPE = (f"Content-Type: {JSON}",)


def answering(body=TEXT, **options):
    """A script that answers with JSON."""
    options = {"fields": TYPE, **options}

    def script(exchange):
        exchange.read_body()
        exchange.answer(body=body, **options)
    return script


def sending(*pieces, then=None):
    """A script that sends these bytes and does what `then` names."""
    def script(exchange):
        exchange.read_body()
        for piece in pieces:
            exchange.send(piece)
        if then:
            getattr(exchange, then)()
    return script


class ConvertedResponseTests(ProxyTestCase):
    routes = """
  - { name: form, match: /form, upstream: app, response: json -> form }
  - { name: both, match: /both, upstream: app, request: form -> json, response: json -> form }
  - { name: back, match: /back, upstream: app, response: form -> json }
  - { name: xml, match: /xml, upstream: app, response: xml -> json }
  - { name: parts, match: /parts, upstream: app, response: "multipart -> json(files: base64)" }
  - name: rules
    match: /rules
    upstream: app
    response:
      - when: { status: [4xx, 5xx], type: +json }
        pass: true
      - when: { status: 2xx, type: [application/json, +json], accept: application/x-www-form-urlencoded }
        decode: { as: json }
        map: { remove: [secret], set: { id: "${query.id}" } }
        encode: { as: form, arrays: indices, remove_nulls: true }
      - when: { type: "text/*" }
        accept: { type: text/plain }
        on_other_type: reject
        convert: form -> json
  - { name: whole, match: /whole, upstream: app, response: "raw -> json(files: base64)" }
  - { name: bounded, match: /bounded, upstream: app, limits: { response: 64KiB, field: 1MiB }, response: json -> form }
  - { name: impatient, match: /impatient, upstream: app, timeouts: { gap: 1s }, response: json -> form }
  - { name: plain, match: "/*", upstream: app }
"""

    def assert_form(self, response, fields=FIELDS):
        self.assertEqual(response.status, 200, response.body)
        self.assertEqual(response.fields.get("content-type"), FORM)
        self.assertEqual(response.framing, "length")
        self.assertEqual(parse_qsl(response.body.decode(), keep_blank_values=True), fields)

    def test_every_framing_gives_the_same_response_over_one_connection(self):
        client = self.client()
        for framing in ("length", "chunked", "close", "length"):
            with self.subTest(framing):
                self.upstream.script = answering(framing=framing)
                client.request("GET", "/form")
                self.assert_form(client.response())
        # The close-delimited one took its connection with it, no other did.
        numbers = [received.connection_number for received in self.upstream.wait_for(4)]
        self.assertEqual(numbers[:3], [numbers[0]] * 3)
        self.assertNotEqual(numbers[3], numbers[0])

    def test_bytes_that_come_one_by_one(self):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: {len(TEXT)}\r\n\r\n".encode()
        chunks = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        for byte in TEXT:
            chunks += b"1\r\n%c\r\n" % byte
        chunks += b"0\r\n\r\n"
        for wire in (head + TEXT, chunks):
            self.upstream.script = sending(*(wire[at:at + 1] for at in range(len(wire))))
            self.assert_form(self.send("GET", "/form"))

    def test_requests_and_responses_are_converted_on_the_same_route(self):
        client = self.client()
        for number in range(3):
            self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(
                body=exchange.received.body, fields=TYPE))
            client.request("POST", "/both", b"a[b]=%d&c=x+y" % number, FORM)
            self.assert_form(client.response(), [("a[b]", str(number)), ("c", "x y")])

    def test_other_encodings(self):
        self.upstream.script = answering(b"a[]=1&a[]=2", fields=(f"Content-Type: {FORM}",))
        self.assertEqual(self.send("GET", "/back").json, {"a": ["1", "2"]})
        for media_type in ("application/xml", "text/xml; charset=utf-8", "application/soap+xml"):
            self.upstream.script = answering(b"<?xml version='1.0'?><o id='1'><i>a</i><i>b</i></o>",
                                             fields=(f"Content-Type: {media_type}",))
            self.assertEqual(self.send("GET", "/xml").json, {"o": {"@id": "1", "i": ["a", "b"]}})
        self.upstream.script = answering(b"<o><i>SECRET</o>", fields=("Content-Type: text/xml",))
        self.assert_problem(self.send("GET", "/xml"), 502, "^upstream_body_malformed$")
        body, media_type = make_multipart([("title", None, b"t"), ("file", "f.bin", b"\x00\x01")])
        self.upstream.script = answering(body, fields=(f"Content-Type: {media_type}",))
        self.assertEqual(self.send("GET", "/parts").json, {"file": "AAE=", "title": "t"})

    def test_the_upstream_is_asked_for_a_body_that_can_be_read(self):
        self.upstream.script = answering()
        fields = ("Accept-Encoding: gzip", "Range: bytes=0-3", 'If-Range: "a"')
        self.assert_form(self.send("GET", "/form", fields=fields))
        received = self.upstream.one()
        self.assertEqual(received.fields.all("accept-encoding"), ["identity"])
        self.assertNotIn("range", received.fields)
        self.assertNotIn("if-range", received.fields)

    def test_fields_that_speak_of_the_old_body_are_gone(self):
        self.upstream.script = answering(fields=(
            *TYPE, 'ETag: "v1"', "Digest: sha-256=x", "Content-MD5: x", "Accept-Ranges: bytes", "X-Kept: yes", "Vary: Origin"))
        response = self.send("GET", "/form")
        self.assert_form(response)
        for name in ("digest", "content-md5", "accept-ranges"):
            self.assertNotIn(name, response.fields)
        self.assertEqual((response.fields.get("etag"), response.fields.get("x-kept")), ('W/"v1"', "yes"))
        self.assertEqual(response.fields.all("vary"), ["Origin"])

    def test_an_upload_flows_on_behind_the_head_of_its_response(self):
        """The server has answered, and reads: nobody is silent on such a connection."""
        def script(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            exchange.read_body()
            exchange.send(b"hello")

        self.upstream.script = script
        client = self.client()
        client.request("POST", "/impatient", None, "text/plain", ["Content-Length: 30000"])
        # Longer than the upstream may be silent, in pieces that come sooner.
        for _ in range(30):
            client.send(b"x" * 1000)
            threading.Event().wait(0.08)
        self.assertEqual(client.response().body, b"hello")
        self.assertEqual(self.upstream.requests[-1].body, b"x" * 30_000)

    def test_what_has_no_body_passes(self):
        client = self.client()
        for status, method in ((204, "GET"), (304, "GET"), (200, "HEAD"), (404, "HEAD"), (204, "HEAD")):
            with self.subTest(status, method=method):
                self.upstream.script = sending(f"HTTP/1.1 {status} X\r\nContent-Type: {JSON}\r\nX-Own: 1\r\n"
                                               + ("Content-Length: 10\r\n" if method == "HEAD" and status != 204 else "") + "\r\n")
                client.request(method, "/form")
                response = client.response(method)
                self.assertEqual((response.status, response.fields.get("x-own")), (status, "1"))
                # A cache takes over what a 304 says (RFC 9111 §3.2), and an answer to HEAD with the same tag (§4.3.5), for a response
                # that was converted.
                self.assertEqual(response.fields.get("content-type"), JSON if status == 204 else None)
                # A length would be that of a body which nobody gets.
                self.assertNotIn("content-length", response.fields)
        for body in (b"", b" "):
            for framing in ("length", "chunked", "close"):
                with self.subTest(body, framing=framing):
                    self.upstream.script = answering(body, framing=framing, fields=(*TYPE, 'ETag: "v"'))
                    client.request("GET", "/form")
                    response = client.response()
                    self.assertEqual((response.status, response.body, response.fields.get("etag")), (200, body, '"v"'))
                    self.assertEqual(response.fields.get("content-type"), JSON)

    def test_rules_choose_by_status_type_and_accept(self):
        document = b'{"secret":1,"list":["a"],"none":null}'
        for status, media_type, accept, body, wanted in (
            (200, JSON, FORM, document, b"list%5B0%5D=a&id=7"),
            (201, "application/vnd.x+json", "text/html, */*;q=0.1", document, b"list%5B0%5D=a&id=7"),
            (200, JSON, None, document, b"list%5B0%5D=a&id=7"),
            (200, JSON, f"{FORM};q=0, */*", document, document),
            (200, JSON, "application/json", document, document),
            (404, "application/problem+json", FORM, document, document),
            (500, "text/plain", FORM, b"a=1", b'{"a":"1"}'),
            (200, "image/png", FORM, b"\x89PNG", b"\x89PNG"),
        ):
            with self.subTest(status=status, media_type=media_type, accept=accept):
                self.upstream.script = answering(body, status=status, fields=(f"Content-Type: {media_type}",))
                response = self.send("GET", "/rules?id=7", fields=[f"Accept: {accept}"] if accept else [])
                self.assertEqual((response.status, response.body), (status, wanted))
                asked = status < 300 and media_type != "image/png"
                self.assertEqual(response.fields.get("vary"), "Accept" if asked else None)
        self.upstream.script = answering(b"<a/>", fields=("Content-Type: text/html",))
        self.assert_problem(self.send("GET", "/rules"), 502, "^upstream_unacceptable_type$")

    def test_c3_no_content_is_none_of_another_type_however_it_is_framed(self):
        client = self.client()
        for framing in ("length", "chunked", "close"):
            for status in (200, 404):
                with self.subTest(framing, status=status):
                    self.upstream.script = answering(b"", status=status, framing=framing, fields=("Content-Type: text/html", "X-Own: 1"))
                    client.request("GET", "/rules")
                    response = client.response()
                    self.assertEqual((response.status, response.body, response.fields.get("x-own")), (status, b"", "1"))
                    self.assertEqual(response.fields.get("content-type"), "text/html")
            # Rails' spelling of it.
            with self.subTest(framing, content="one space"):
                self.upstream.script = answering(b" ", framing=framing, fields=("Content-Type: text/html",))
                client.request("GET", "/rules")
                response = client.response()
                self.assertEqual((response.status, response.body, response.fields.get("content-type")), (200, b" ", "text/html"))
            for content, coding in ((b"<a/>", ()), (b"  ", ()), (b"x", ()), (b" ", ("Content-Encoding: x-own",))):
                with self.subTest(framing, content=content, coding=coding):
                    self.upstream.script = answering(content, framing=framing, fields=("Content-Type: text/html", *coding))
                    client.request("GET", "/rules")
                    self.assert_problem(
                        client.response(), 502, "^upstream_unacceptable_coding$" if coding else "^upstream_unacceptable_type$")

    def test_no_rule_is_for_a_status_beyond_599(self):
        """What no status is for (docs/rules.md F30): LinkedIn's 999, and those of vendors."""
        for status in (600, 999):
            self.upstream.script = answering(status=status)
            response = self.send("GET", "/form")
            self.assertEqual((response.status, response.body, response.fields.get("content-type")), (status, TEXT, JSON))

    def test_a_response_without_a_type_passes(self):
        for fields in ((), ("Content-Type:",)):
            self.upstream.script = answering(b'{"a":1}', fields=fields)
            self.assertEqual(self.send("GET", "/form").body, b'{"a":1}')

    def test_a_file_is_a_response_of_any_type_or_none(self):
        for fields in ((), ("Content-Type:",), ("Content-Type: image/x",)):
            self.upstream.script = answering(b"\xff", fields=fields)
            response = self.send("GET", "/whole")
            self.assertEqual((response.body, response.fields.get("content-type")), (b'{"file":"/w=="}', JSON), fields)
            # HEAD tells of no other content than GET's.
            self.assertIsNone(self.send("HEAD", "/whole").fields.get("content-type"), fields)
        # Two readers would take it for two things.
        self.upstream.script = answering(b"\xff", fields=("Content-Type: a/b", "Content-Type: c/d"))
        self.assertEqual(self.send("GET", "/whole").body, b"\xff")

    def test_a_response_that_passes_is_streamed(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 8\r\n\r\nhalf")
            go_on.wait(DEADLINE)
            exchange.send("half")

        self.upstream.script = script
        client = self.client()
        client.request("GET", "/form")
        client.reader.head()
        self.assertEqual(client.reader.exactly(4), b"half")
        go_on.set()
        self.assertEqual(client.reader.exactly(4), b"half")

    # What can't be converted.

    def test_a_body_that_cannot_be_read_is_a_502_and_both_connections_serve_on(self):
        client = self.client()
        for body, code in (
            (b'{"a":"SECRET",}', "upstream_body_malformed"), (b'{"a":"SECRET"', "upstream_body_malformed"),
            (b"  ", "upstream_body_malformed"), (b'{"a":"SECRET","b":[]}', "upstream_body_unrepresentable"),
            (b'"SECRET"', "upstream_body_unrepresentable"), (b'{"a":' + b"[" * 200, "upstream_body_limit"),
            (b'{"a":"' + b"x" * 300_000 + b'"]', "upstream_body_malformed"),
        ):
            for framing in ("length", "chunked", "close"):
                with self.subTest(body[:20], framing=framing):
                    self.upstream.script = answering(body, framing=framing)
                    client.request("GET", "/form")
                    response = client.response()
                    problem = self.assert_problem(response, 502, f"^{code}$")
                    self.assertTrue(problem["cause"])
                    self.assertNotIn(b"SECRET", response.body)
        self.upstream.script = answering()
        client.request("GET", "/form")
        self.assert_form(client.response())

    def test_an_error_that_cannot_be_converted_keeps_its_status_and_what_goes_with_it(self):
        own = ("WWW-Authenticate: Basic realm=a", "WWW-Authenticate: Bearer", "Retry-After: 7", "Allow: GET, PUT", "Set-Cookie: a=b")
        client = self.client()
        for status in (400, 401, 405, 422, 429, 500, 503):
            for body, code in (
                (b'{"detail":[{"input":{}}]}', "upstream_body_unrepresentable"), (b'{"a":', "upstream_body_malformed"),
                (b'{"a":' + b"[" * 200, "upstream_body_limit"),
            ):
                for framing in ("length", "chunked"):
                    with self.subTest(status, code=code, framing=framing):
                        self.upstream.script = answering(body, status=status, fields=(*TYPE, *own), framing=framing)
                        client.request("POST", "/both", b"a=1", FORM)
                        response = client.response()
                        self.assertEqual(self.assert_problem(response, status, f"^{code}$")["status"], status)
                        self.assertEqual(response.fields.all("www-authenticate"), ["Basic realm=a", "Bearer"])
                        self.assertEqual((response.fields.get("retry-after"), response.fields.get("allow")), ("7", "GET, PUT"))
                        self.assertNotIn("set-cookie", response.fields)
        # The limit of what comes out, and a length beyond that of what comes in.
        self.upstream.script = answering(b'{"a":"%s"}' % (b"x" * 70_000), status=500)
        self.assert_problem(self.send("GET", "/bounded"), 500, "^limit_response$")
        # HEAD isn't converted.
        self.upstream.script = sending(f"HTTP/1.1 422 X\r\nContent-Type: {JSON}\r\nContent-Length: 9\r\n\r\n")
        client = self.client()
        client.request("HEAD", "/form")
        self.assertEqual(client.response("HEAD").status, 422)
        # A body that doesn't come to its end is none of the upstream's errors.
        self.upstream.script = sending(f'HTTP/1.1 422 X\r\nContent-Type: {JSON}\r\nContent-Length: 9\r\n\r\n{{"a":', then="close")
        self.assert_problem(self.send("GET", "/form"), 502, "^upstream_body_incomplete$")

    def test_a_body_that_is_cut_is_a_502_and_never_a_cut_off_200(self):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\n"
        whole = b'{"a":"' + b"x" * 200_000 + b'"}'
        client = self.client()
        for name, wire in {
            "a length": head.encode() + b"Content-Length: %d\r\n\r\n" % (len(whole) + 1) + whole,
            "a length in a small body": head.encode() + b'Content-Length: 20\r\n\r\n{"a":1}',
            "a length without a byte": head.encode() + b"Content-Length: 20\r\n\r\n",
            "a chunk": head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (len(whole) + 1) + whole,
            "no last chunk": head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(whole), whole),
        }.items():
            for then in ("close", "reset"):
                with self.subTest(name, then=then):
                    self.upstream.script = sending(wire, then=then)
                    client.request("GET", "/form")
                    self.assert_problem(client.response(), 502, "^upstream_body_incomplete$")
        self.upstream.script = sending(head + '\r\n{"a":1', then="close")
        client.request("GET", "/form")
        self.assert_problem(client.response(), 502, "^upstream_body_malformed$")

    def test_a_response_that_stops_is_a_504(self):
        ended = threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: 20\r\n\r\n{{")
            try:
                exchange.reader.exactly(1)
            finally:
                ended.set()

        self.upstream.script = script
        self.assert_problem(self.send("GET", "/impatient"), 504)
        self.assertTrue(ended.wait(DEADLINE))

    def test_a_client_that_leaves_ends_the_upstreams_work(self):
        ended = threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: 20\r\n\r\n{{")
            try:
                exchange.reader.exactly(1)
            except Closed:
                ended.set()
                raise

        self.upstream.script = script
        client = self.client()
        client.request("GET", "/form")
        self.upstream.wait_for(1)
        client.reset()
        self.assertTrue(ended.wait(DEADLINE))

    def test_limits_response_holds_to_the_byte(self):
        bound = 64 * 1024
        client = self.client()
        for count in (bound - 1, bound, bound + 1, bound + 200_000):
            for framing in ("length", "chunked", "close"):
                with self.subTest(count, framing=framing):
                    self.upstream.script = answering(b'{"a":"' + b"v" * (count - 2) + b'"}', framing=framing)
                    client.request("GET", "/bounded")
                    response = client.response()
                    if count <= bound:
                        self.assertEqual((response.status, response.body), (200, b"a=" + b"v" * (count - 2)))
                    else:
                        problem = self.assert_problem(response, 502, "^limit_response$")
                        self.assertEqual(problem["setting"], "limits.response")

    def test_a_body_without_an_end_is_refused_and_not_gathered(self):
        before = self.recast.peak_bytes()

        def script(exchange):
            exchange.read_body()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n")
            exchange.send(b'2\r\n["\r\n')
            while True:
                exchange.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")

        self.upstream.script = script
        self.assert_problem(self.send("GET", "/bounded"), 502)
        self.assertLess(self.recast.peak_bytes() - before, 64 << 20)

    def test_unknown_content_codings_and_no_transform_pass_untouched(self):
        for field in ("Content-Encoding: exi", "Cache-Control: no-transform"):
            self.upstream.script = answering(b"\x1f\x8bzip", fields=(*TYPE, field, 'ETag: "v"'))
            response = self.send("GET", "/form")
            self.assertEqual((response.status, response.body, response.fields.get("etag")), (200, b"\x1f\x8bzip", '"v"'))
            self.assertIn(field.split(":")[0], response.fields)

    def test_a_client_that_reads_late_gets_all_of_it(self):
        value = b"v" * 60_000
        self.upstream.script = answering(b'{"a":"%s"}' % value)
        client = self.client(receive_buffer=4096)
        for _ in range(3):
            client.request("GET", "/form")
        for _ in range(3):
            self.assertEqual(client.response().body, b"a=" + value)


class LogTests(ProxyTestCase):
    routes = """
  - { name: form, match: /form, upstream: app, response: json -> form }
"""

    def test_the_log_tells_what_became_of_responses(self):
        for body in (TEXT, b'{"a":"SECRET"', b"\x89PNG"):
            media_type = "image/png" if body.startswith(b"\x89") else JSON
            self.upstream.script = answering(body, fields=(f"Content-Type: {media_type}",))
            self.send("GET", "/form")
        good, bad, other = self.recast.log_lines(3)
        self.assertEqual((good["status"], good["response_from"], good["response_to"]), (200, "json", "form"))
        self.assertEqual((good["bytes_in_upstream"], good["response_fields"]), (len(TEXT), 4))
        self.assertNotIn("flags", good)
        self.assertEqual((bad["status"], bad["flags"], bad["bytes_in_upstream"]), (502, "RD", 13))
        self.assertNotIn("response_from", other)
        self.assertNotIn("SECRET", json.dumps([good, bad, other]))
