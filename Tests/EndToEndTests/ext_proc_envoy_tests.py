"""A real Envoy with Recast as its external processor, on the files of config/envoy: what the upstream gets and the client hears.

Short, for every change. ext_proc_envoy_long.py, which scripts/proxies runs with two versions of Envoy, has what takes longer."""

import json
import os
import re
import unittest

from admin import Admin
from envoy import Envoy, validate
from harness import DEADLINE, FORM, JSON, ROOT, Recast, Upstream, free_port, make_multipart, standard_base64
from http2_client import END_HEADERS, END_STREAM, HEADERS, HTTP2Client, block, frame, pseudo
from raw_client import Client

CONFIG = os.path.join(ROOT, "config", "envoy")
MIB = 1 << 20
XML = "application/xml"
# Ports of the files.
FRONT, ADMIN, APP, EXT_PROC, STATUS = 8000, 9901, 3000, 9000, 9902
# Routes for what Envoy sends beyond those of the file.
MORE_ROUTES = """
  - { name: to-json, match: "/to-json*", request: "auto -> json(files: base64)" }
  - { name: to-parts, match: "/to-parts*", request: auto -> multipart, limits: { body: 1GiB } }
  - { name: to-form, match: "/to-form*", request: auto -> form }
  - { name: answer, match: "/answer*", response: "json -> form" }
  - { name: plain, match: "/plain*", limits: { body: 1GiB } }
  - { name: token, match: /token, verify: { preset: gitlab, secret: a-secret-of-bytes } }
  - { name: signed, match: /signed, verify: { preset: github, secret: a-secret-of-bytes } }
  - name: edited
    match: "/edited/{id}"
    rewrite: "/inner/${path.id}"
    headers: { request: { set: { X-Id: "${path.id}" }, remove: ["X-Internal-*"] } }
"""


def read(name):
    with open(os.path.join(CONFIG, name)) as file:
        return file.read()


def in_mode(text, mode):
    """The file of Envoy with another mode of the bodies, for all paths, also those that the file sends past Recast."""
    text = re.sub(r"(?m)^ +typed_per_filter_config:\n.*\n.*\n +disabled: true\n", "", text)
    if mode != "FULL_DUPLEX_STREAMED":
        text = text.replace("FULL_DUPLEX_STREAMED", mode).replace("trailer_mode: SEND", "trailer_mode: SKIP")
    return text


class FileTests(unittest.TestCase):
    def test_envoy_takes_the_file(self):
        self.assertEqual(validate(os.path.join(CONFIG, "envoy.yaml")), "")

    def test_the_two_files_belong_together(self):
        envoy, recast = read("envoy.yaml"), read("recast.yaml")
        self.assertIn(f'"127.0.0.1:{EXT_PROC}", serves: ext_proc', recast)
        self.assertEqual(sorted(map(int, re.findall(r"port_value: (\d+)", envoy))), sorted([FRONT, ADMIN, APP, EXT_PROC]))
        routes = re.findall(r"(?m)^  - name: (\S+)$", recast)
        self.assertLessEqual(set(re.findall(r"key: recast-route, value: (\S+) ", envoy)), set(routes))
        for path in re.findall(r"match: \{ (?:path|prefix): (/\w+/?) \}", envoy):
            self.assertRegex(recast, rf'path: "?{re.escape(path)}\*?"? ?[,}}]')


class EnvoyTestCase(unittest.TestCase):
    """Envoy before an upstream of the harness, and Recast beside it, each with its file."""

    mode = "FULL_DUPLEX_STREAMED"
    more_routes = MORE_ROUTES
    filters = ""  # in front of the processor
    rules = ""  # of what the processor may change

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.stop)
        cls.recast_port, cls.status_port = free_port(), free_port()
        cls.begin_recast()
        text = in_mode(read("envoy.yaml"), cls.mode) if cls.more_routes else read("envoy.yaml")
        # Envoy has 200 ms for an answer where it doesn't stream, and a second for one to its check: too little for a busy machine.
        text = text.replace("- timeout: 1s", "- timeout: 20s")
        patience = f"                      message_timeout: {DEADLINE}s\n" if cls.more_routes else ""
        begin = "                http_filters:\n"
        mode = "                      processing_mode:"
        cls.envoy = Envoy(text.replace(begin, begin + cls.filters).replace(mode, cls.rules + patience + mode),
                          {APP: cls.upstream.port, EXT_PROC: cls.recast_port}, ADMIN)
        cls.addClassCleanup(cls.envoy.stop)
        cls.envoy.until_ready()
        cls.envoy.until_health("recast", True)
        cls.port = cls.envoy.ports[FRONT]

    @classmethod
    def begin_recast(cls):
        # No test asks for what the delay is for, and each class would end with it.
        text = read("recast.yaml").replace("drain_delay: 10s", "drain_delay: 0s") + cls.more_routes
        for old, new in ((EXT_PROC, cls.recast_port), (STATUS, cls.status_port)):
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        cls.recast = Recast.serving(text)
        cls.addClassCleanup(cls.recast.remove)
        cls.addClassCleanup(cls.recast.stop)

    def setUp(self):
        self.upstream.reset()

    def send(self, method, target, body=None, media_type=None, fields=()):
        with Client(self.port) as client:
            client.request(method, target, body, media_type, fields)
            return client.response(method)

    def send_chunked(self, target, pieces, media_type):
        with Client(self.port) as client:
            client.send(f"POST {target} HTTP/1.1\r\nHost: client.example\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in pieces:
                client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            client.send(b"0\r\n\r\n")
            return client.response()

    def assert_problem(self, response, status, code=None):
        self.assertEqual(response.status, status, response.body)
        self.assertEqual(response.fields.get("content-type"), "application/problem+json")
        self.assertEqual((response.json["status"], response.json["code"] if code else None), (status, code))

    def answer(self, body, media_type, **options):
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=body, fields=[f"Content-Type: {media_type}"], **options)
        self.upstream.script = script


class AsTheFilesSayTests(EnvoyTestCase):
    more_routes = ""

    def test_a_form_becomes_json(self):
        response = self.send("POST", "/signup", b"user[name]=Ann&tags[]=a", FORM)
        self.assertEqual((response.status, response.body), (200, b"ok"))
        received = self.upstream.one()
        self.assertEqual((received.json, received.media_type), ({"user": {"name": "Ann"}, "tags": ["a"]}, JSON))
        self.assertNotIn("content-length", received.fields)  # Envoy takes it off what streams
        self.assertEqual(received.fields.get("host"), "client.example")

    def test_both_ways(self):
        self.answer(b"<order><id>7</id><state>paid</state></order>", XML)
        response = self.send("POST", "/orders", b'{"order":{"id":"7"}}', JSON)
        self.assertEqual((response.status, response.fields.get("content-type")), (200, JSON))
        self.assertEqual(response.json, {"order": {"id": "7", "state": "paid"}})
        received = self.upstream.one()
        self.assertIn(b"<order><id>7</id></order>", received.body)
        self.assertEqual(received.media_type, XML)

    def test_an_upload_by_the_route_that_envoy_names(self):
        content = os.urandom(MIB + 1)
        body, media_type = make_multipart([("token", None, b"t"), ("file", "a.bin", content), ("title", None, b"T")])
        self.assertEqual(self.send("POST", "/upload/a", body, media_type).status, 200)
        self.assertEqual([(name, filename, content) for name, filename, _, content in self.upstream.one().parts],
                         [("document", "a.bin", content), ("title", None, b"T")])

    def test_refusals_come_to_the_client_as_recast_wrote_them(self):
        self.assert_problem(self.send("POST", "/signup", b"a=1&a[b]=2", FORM), 400, "form_conflict")
        response = self.send("POST", "/signup", b"{}", JSON)
        self.assert_problem(response, 415, "unsupported_media_type")
        self.assertEqual(response.fields.get("accept-post"), FORM)
        self.assertEqual(self.upstream.requests, [])

    def test_others_go_past_recast(self):
        self.assertEqual(self.send("POST", "/other", b"a=1", FORM).status, 200)
        received = self.upstream.one()
        self.assertEqual((received.body, received.media_type), (b"a=1", FORM))

    def test_status_says_what_is_counted(self):
        before = Admin(self.status_port).metrics().sum("recast_requests_total")
        self.send("POST", "/signup", b"a=1", FORM)
        self.assertGreater(Admin(self.status_port).metrics().sum("recast_requests_total"), before)


class ModeTests:
    """What holds in each mode that a conversion can be right in."""

    def test_conversions(self):
        content = os.urandom(5000)
        body, media_type = make_multipart([("a", None, b"1"), ("file", "f.bin", content)])
        for target, sent, kind, expected in (
                ("/to-json", b"a=1&b[]=x+y", FORM, {"a": "1", "b": ["x y"]}),
                ("/to-json", body, media_type, {"a": "1", "file": standard_base64(content)}),
                ("/to-json", b"<o><a>1</a></o>", XML, {"o": {"a": "1"}})):
            for is_chunked in (False, True):
                with self.subTest(target, kind=kind, is_chunked=is_chunked):
                    self.upstream.reset()
                    response = self.send_chunked(target, [sent[:3], sent[3:]], kind) if is_chunked else self.send("POST", target, sent, kind)
                    self.assertEqual(response.status, 200, response.body)
                    self.assertEqual((self.upstream.one().json, self.upstream.one().media_type), (expected, JSON))
        self.upstream.reset()
        self.assertEqual(self.send("POST", "/to-form", b'{"a":{"b":"c d"}}', JSON).status, 200)
        self.assertEqual((self.upstream.one().body, self.upstream.one().media_type), (b"a%5Bb%5D=c%20d", FORM))
        self.upstream.reset()
        self.assertEqual(self.send("POST", "/to-parts", body, media_type).status, 200)
        self.assertEqual([part[3] for part in self.upstream.one().parts], [b"1", content])

    def test_sizes(self):
        for size in self.sizes:
            content = os.urandom(size)
            body, media_type = make_multipart([("file", "f.bin", content)])
            for target in ("/to-parts", "/plain"):
                with self.subTest(target, size=size):
                    self.upstream.reset()
                    self.assertEqual(self.send("POST", target, body, media_type).status, 200)
                    self.assertEqual(self.upstream.one().parts[0][3], content)

    def test_without_a_body(self):
        for method in ("GET", "HEAD", "DELETE"):
            self.upstream.reset()
            self.assertEqual(self.send(method, "/to-json").status, 200)
            self.assertEqual((self.upstream.one().method, self.upstream.one().body), (method, b""))

    def test_answers(self):
        for framing in ("length", "chunked", "close"):
            self.answer(b'{"a":["1","2"]}', JSON, framing=framing)
            response = self.send("GET", "/answer")
            self.assertEqual((response.status, response.fields.get("content-type"), response.body), (200, FORM, b"a%5B%5D=1&a%5B%5D=2"))
        self.answer(b'{"a":', JSON)
        self.assertEqual(self.send("GET", "/answer").status, 502)

    def test_refusals(self):
        for is_chunked in (False, True):
            bad = b'{"a":1,}'
            response = self.send_chunked("/to-form", [bad], JSON) if is_chunked else self.send("POST", "/to-form", bad, JSON)
            self.assertEqual((response.status, response.fields.get("content-type")), (400, "application/problem+json"))
            self.assertEqual(response.json["offset"], 7)
        self.assertEqual(self.upstream.requests, [])


class FullDuplexTests(ModeTests, EnvoyTestCase):
    sizes = (0, 1, 65_536, MIB + 1)

    def test_a_refusal_behind_output_is_no_whole_request(self):
        """The file is beyond what Envoy and Recast hold, so the upstream has some of it when the end turns out to be missing."""
        begin = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        response = self.send("POST", "/to-parts", begin + b"x" * (4 * MIB), "multipart/form-data; boundary=x")
        self.assertGreaterEqual(response.status, 400)
        for received in list(self.upstream.requests):
            self.assertTrue(received.ended.wait(DEADLINE))
            self.assertFalse(received.is_complete)


class BufferedTests(ModeTests, EnvoyTestCase):
    mode = "BUFFERED"
    sizes = (0, 1, 65_536, 200_000)  # Envoy's own limit of the file is 256 KiB

    def test_the_length_is_right(self):
        self.send("POST", "/to-json", b"a=1", FORM)
        self.assertEqual(self.upstream.one().fields.all("content-length"), [str(len(b'{"a":"1"}'))])

    def test_trailers_alone_take_no_request_past_us(self):
        """Envoy tells nothing of trailers here, so nothing of the end of an empty body that has some."""
        for target, fields, status in (("/token", [], 401), ("/token", [("x-gitlab-token", "x")], 401), ("/nowhere", [], 404),
                                       ("/signed", [("x-hub-signature-256", "sha256=" + "0" * 64)], 500),
                                       ("/edited/17", [("x-internal-a", "1")], 200)):
            with self.subTest(target, fields=fields), HTTP2Client(self.port) as client:
                self.upstream.reset()
                stream = client.open([*pseudo("POST", target), ("recast-verified", "github"), *fields], end=False)
                client.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, block([("x-sum", "1")])))
                self.assertEqual(client.response(stream).status, status)
                if status != 200:
                    self.assertEqual(self.upstream.requests, [])
                    continue
                received = self.upstream.one()
                self.assertEqual((received.target, received.body), ("/inner/17", b""))
                self.assertEqual([received.fields.all(name) for name in ("x-id", "x-internal-a", "recast-verified")], [["17"], [], []])

    def test_beyond_envoys_limit_its_own_413(self):
        body, media_type = make_multipart([("file", "f.bin", bytes(300_000))])
        self.assertEqual(self.send("POST", "/to-parts", body, media_type).status, 413)
        self.assertEqual(self.upstream.requests, [])

    def test_what_grows_beyond_envoys_limit_has_a_code(self):
        body = json.dumps({f"k{number}": "&" * 20_000 for number in range(5)}).encode()
        self.assert_problem(self.send("POST", "/to-form", body, JSON), 413, "limit_ext_proc")
        self.assertEqual(self.upstream.requests, [])
        self.answer(body, JSON)
        self.assert_problem(self.send("GET", "/answer"), 502, "limit_ext_proc")


class HeaderTests(EnvoyTestCase):
    """Every line of the heads beside those that Recast itself forwards, with the same routes, as a hop."""

    more_routes = """
  - name: headers
    match: "/headers*"
    headers:
      request: { set: { X-Set: recast, X-New: recast }, add: { X-Seen: recast, X-Both: [a, b] }, remove: [X-Gone] }
      response: { set: { X-Hop: recast }, add: { Set-Cookie: [c=3, d=4], X-Seen: recast }, remove: [X-Gone] }
    compress: { codings: [gzip], min: 1B, plain: true }
  - { name: to-json, match: "/to-json*", request: auto -> json, headers: { request: { add: { X-Seen: recast } } } }
  - { name: elsewhere, match: "/elsewhere*", host: other.example,
      headers: { request: { set: { X-Client: "${client.ip}", X-Envoy-Thing: a } } } }
"""
    # What each hop writes of its own.
    OWN = {"host", "via", "x-request-id", "connection", "content-length", "transfer-encoding", "server", "date", "forwarded",
           "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hop = free_port()
        routes = cls.more_routes.replace("    match:", "    upstream: app\n    match:").replace("{ name:", "{ upstream: app, name:")
        cls.hop = Recast.serving(f"version: 1\nlisten: 127.0.0.1:{hop}\nupstreams: {{ app: '127.0.0.1:{cls.upstream.port}' }}\n"
                                 f"routes:{routes}")
        cls.addClassCleanup(cls.hop.remove)
        cls.addClassCleanup(cls.hop.stop)
        cls.hop_port = hop

    def lines(self, fields):
        """All lines, those of one name in their order; Envoy may join such of a list (RFC 9110, section 5.3)."""
        return sorted(((name.lower(), element.strip()) for name, value in fields
                       if name.lower() not in self.OWN and not name.lower().startswith("x-envoy-")
                       for element in ([value] if name.lower() == "set-cookie" else value.split(","))), key=lambda line: line[0])

    def heads(self, port, method, target, body, media_type, fields, answer):
        self.upstream.reset()

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=b"some text", fields=answer)
        self.upstream.script = script
        with Client(port) as client:
            client.request(method, target, body, media_type, fields)
            response = client.response(method)
        self.assertEqual(response.status, 200, response.body)
        return self.lines(self.upstream.one().fields), self.lines(response.fields)

    def test_the_lines_are_those_of_a_hop(self):
        answer = ["Content-Type: text/plain", "Set-Cookie: a=1", "Set-Cookie: b=2", "Vary: Authorization", "X-Seen: upstream",
                  "X-Hop: upstream", "X-Gone: 1"]
        sent = ["X-Seen: client", "X-Seen: twice", "X-Set: client", "X-Gone: 1", "X-Other: 1", "X-Other: 2", "Accept-Encoding: gzip"]
        for method, target, body, media_type in (("GET", "/headers", None, None), ("POST", "/headers", b"a=1", FORM),
                                                 ("POST", "/to-json", b"a=1", FORM)):
            with self.subTest(method, target=target):
                through = [self.heads(port, method, target, body, media_type, sent, answer) for port in (self.port, self.hop_port)]
                self.assertEqual(through[0], through[1])
        upstream, client = through[0]
        self.assertEqual([value for name, value in upstream if name == "x-seen"], ["client", "twice", "recast"])

    def test_nothing_that_is_added_replaces(self):
        upstream, client = self.heads(self.port, "GET", "/headers", None, None, ["X-Seen: client", "Accept-Encoding: gzip"],
                                      ["Content-Type: text/plain", "Set-Cookie: a=1", "Vary: Authorization"])
        self.assertEqual([value for name, value in upstream if name in ("x-seen", "x-both")], ["a", "b", "client", "recast"])
        self.assertEqual([value for name, value in client if name == "set-cookie"], ["a=1", "c=3", "d=4"])
        self.assertEqual([value.lower() for name, value in client if name == "vary"], ["authorization", "accept-encoding"])


    def test_the_client_is_envoys(self):
        self.assertEqual(self.send("GET", "/elsewhere", fields=["X-Forwarded-For: 203.0.113.7"]).status, 200)
        received = self.upstream.one().fields
        # For a client on its own machine Envoy writes an address of the machine, where that has one beside loopback.
        told = received.get("x-forwarded-for").split(",")[-1].strip()
        self.assertEqual(received.all("x-client"), ["203.0.113.7" if told.startswith("127.") else told])

    def test_what_wants_a_rule_of_envoys_is_left_out_without(self):
        self.assertEqual(self.send("GET", "/elsewhere").status, 200)
        received = self.upstream.one().fields
        self.assertEqual((received.all("host"), received.all("x-envoy-thing")),
                         (["other.example"], ["a"]) if self.rules else (["client.example"], []))


class BufferedHeaderTests(HeaderTests):
    mode = "BUFFERED"


class RuledHeaderTests(HeaderTests):
    rules = "                      mutation_rules: { allow_all_routing: true, allow_envoy: true }\n"


class FilterTests(EnvoyTestCase):
    """What a filter in front of the processor answers comes to the client as that filter says it."""

    filters = """
                  - name: envoy.filters.http.rbac
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC
                      rules:
                        action: DENY
                        policies:
                          none: { permissions: [ { header: { name: x-denied, present_match: true } } ], principals: [ { any: true } ] }
"""

    def test_a_denial_is_a_denial(self):
        for body in (None, b"a=1"):
            response = self.send("POST" if body else "GET", "/to-json", body, FORM, ["X-Denied: 1"])
            self.assertEqual((response.status, response.body), (403, b"RBAC: access denied"))
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.send("POST", "/to-json", b"a=1", FORM).status, 200)
        self.assertEqual(self.upstream.one().json, {"a": "1"})


class BufferedFilterTests(FilterTests):
    mode = "BUFFERED"


class DeadTests(EnvoyTestCase):
    more_routes = ""

    def test_without_recast_nothing_goes_unconverted(self):
        self.assertEqual(self.send("POST", "/signup", b"a=1", FORM).status, 200)
        self.upstream.reset()
        self.assertEqual(self.recast.stop(), 0)
        for _ in range(2):  # before the checks have noticed, and after
            response = self.send("POST", "/signup", b"a=1", FORM)
            self.assertEqual(response.status, 503, response.body)
            self.assertEqual(self.upstream.requests, [])
            self.envoy.until_health("recast", False)
        self.assertEqual(self.send("POST", "/other", b"a=1", FORM).status, 200)
        self.begin_recast()
        self.envoy.until_health("recast", True)
        self.assertEqual(self.send("POST", "/signup", b"a=1", FORM).status, 200)


if __name__ == "__main__":
    unittest.main()
