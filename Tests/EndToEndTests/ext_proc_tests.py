"""Recast as Envoy's ext_proc: what becomes of requests and responses in each mode, beside what the proxy makes of the same.

The routes are served by HTTP too, so that both can be asked: what the upstream gets and what a client is refused must be the same.
"""

import base64
import gzip
import hmac
import json
import os
import subprocess
import unittest

from ext_proc_client import BUFFERED, FULL_DUPLEX, NONE, STREAMED, Ended, ExtProcTestCase, Message, Processing, Refused, pseudo
from ext_proc_messages import PROTO, decode, encode, header_map
from harness import FORM, JSON, make_multipart, parse_multipart
from http2_client import HTTP2Client

SECRET = "A Secret to Everybody"
XML, TEXT, PLIST = "application/xml", "text/plain", "application/x-plist"
PART = "multipart/form-data; boundary=x"
PLIST_BODY = (b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>a</key><string>1</string>'
              b"<key>b</key><array><integer>2</integer></array></dict></plist>")
MULTIPART_BODY, MULTIPART_TYPE = make_multipart([("title", None, b"T \xc3\xa9"), ("file", "f.bin", bytes(range(256)) * 40)])
CODED_JSON = b'{"a":"1","b":{"c":["x","y & z"]},"d":"\xc3\xa9"}'
# (route, body, media type): each encoding into others, with and without a tree between.
MATRIX = [
    ("form -> json", b"a=1&b[c]=x+y&d[]=p&d[]=q&e=%C3%A9", FORM),
    ("form -> multipart", b"a=1&a=2&b=", FORM),
    ("form -> xml", b"user[name]=Ann&user[tag][]=a&user[tag][]=b", FORM),
    ("form -> plist", b"a=1&b[]=2", FORM),
    ("form -> form", b"a=1+2&b[c]=%26", FORM),
    ("json -> form", CODED_JSON, JSON),
    ("json -> json", b'{ "a" : [1.10, 12345678901234567890, null, true] }', JSON),
    ("json -> multipart", CODED_JSON, JSON),
    ("json -> xml", b'{"order":{"id":"7","item":["a","b"]}}', JSON),
    ("json -> plist", b'{"a":"1","b":[2]}', JSON),
    ("multipart -> json(files: base64)", MULTIPART_BODY, MULTIPART_TYPE),
    ("multipart -> multipart", MULTIPART_BODY, MULTIPART_TYPE),
    ("multipart -> form", make_multipart([("a", None, b"1 2"), ("b", None, b"&")], "bound")[0], "multipart/form-data; boundary=bound"),
    ("xml -> json", b"<order><id>7</id><item>a</item><item>b</item></order>", XML),
    ("xml -> form", b"<order><id>7</id></order>", XML),
    ("plist -> json", PLIST_BODY, PLIST),
    ("text(field: note) -> json", "über".encode(), TEXT),
    ("auto -> json", b"a=1", FORM),
    ("auto -> json", b'{"a":[1,null]}', JSON),
]
CONVERSIONS = list(dict.fromkeys(conversion for conversion, _, _ in MATRIX))
ROUTES = "".join(f'  - {{ name: "c{number}", match: /c{number}, upstream: app, request: "{conversion}" }}\n'
                 for number, conversion in enumerate(CONVERSIONS)) + f"""
  - {{ name: answer, match: /answer, upstream: app, response: json -> form }}
  - {{ name: both, match: /both, upstream: app, request: form -> json, response: xml -> json }}
  - name: rules
    match: /rules/{{id}}
    upstream: app
    request: form -> json
    headers:
      request: {{ set: {{ X-Id: "${{path.id}}", X-Kind: a }}, add: {{ X-Seen: by recast }}, remove: [Cookie, "X-Internal-*"] }}
      response: {{ set: {{ X-Frame-Options: DENY }}, remove: [Server] }}
  - name: edited
    match: /edited/{{id}}
    upstream: app
    rewrite: "/inner/${{path.id}}"
    headers:
      request: {{ set: {{ X-Id: "${{path.id}}", X-Kind: a }}, add: {{ X-Seen: by recast }}, remove: [Cookie, "X-Internal-*"] }}
  - {{ name: to-query, match: "/to-query/{{id}}", upstream: app, rewrite: "/inner/${{path.id}}", request: json -> query }}
  - name: ruled
    match: /ruled
    upstream: app
    response: json -> form
    headers: {{ response: {{ set: {{ X-Kind: a }}, add: {{ X-Seen: by recast }}, remove: [Server] }} }}
  - {{ name: credentials, match: /credentials, upstream: app, authorize: [{{ bearer: a-token-of-bytes }}] }}
  - {{ name: signed, match: /signed, upstream: app, request: form -> json, verify: {{ preset: github, secret: "{SECRET}" }} }}
  - {{ name: once, match: /once, upstream: app, request: form -> json,
      verify: {{ preset: github, secret: "{SECRET}", replay: 10m }} }}
  - {{ name: forbidden, match: /forbidden, upstream: app, verify: {{ preset: github, secret: "{SECRET}", on_failure: 403 }} }}
  - {{ name: reported, match: /reported, upstream: app, verify: {{ preset: github, secret: "{SECRET}", on_failure: report }} }}
  - {{ name: elsewhere, match: /elsewhere, upstream: app, host: other.example }}
  - {{ name: token, match: /token, upstream: app, verify: {{ preset: gitlab, secret: "{SECRET}" }} }}
  - {{ name: small-body, match: /small-body, upstream: app, limits: {{ body: 1KiB }}, request: form -> json }}
  - {{ name: small-plain, match: /small-plain, upstream: app, limits: {{ body: 1KiB }} }}
  - {{ name: few-fields, match: /few-fields, upstream: app, limits: {{ fields: 3 }}, request: form -> json }}
  - {{ name: short-field, match: /short-field, upstream: app, limits: {{ field: 10B }}, request: form -> json }}
  - {{ name: no-null, match: /no-null, upstream: app, request: "json -> form(nulls: reject)" }}
  - {{ name: posts, match: {{ method: POST, path: /posts }}, upstream: app, request: form -> json }}
  - {{ name: starred, match: "/starred/*", upstream: app, request: form -> json }}
  - {{ name: free, match: "/free/{{id}}/*", upstream: app, request: form -> json }}
  - {{ name: keyed, match: "/keyed/{{id}}", upstream: app, request: form -> json, rate_limit: {{ rate: 10/s, key: path.id }} }}
  - {{ name: put, match: "/put/{{id}}", upstream: app, request: form -> json, response: {{ decode: json, encode: json, map: {{ set: {{ id: "${{path.id}}" }} }} }} }}
  - {{ name: mapped, match: "/mapped/{{id}}", upstream: app, request: {{ decode: form, encode: json, map: {{ set: {{ id: "${{path.id}}" }} }} }} }}
  - {{ name: tenant, match: {{ host: tenant.example, path: /tenant }}, upstream: app, request: form -> json }}
  - {{ name: sized, match: /sized, upstream: app, require_length: true }}
  - {{ name: compressed, match: /compressed, upstream: app, compress: {{ plain: true }} }}
  - {{ name: plain, match: "/plain*", upstream: app }}
"""


def path_of(conversion):
    return f"/c{CONVERSIONS.index(conversion)}"


def cut(body, sizes):
    """A body in pieces of these sizes, the last size over and over."""
    pieces, sizes = [], list(sizes)
    while body:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        pieces.append(body[:size])
        body = body[size:]
    return pieces or [b""]


def github(body, secret=SECRET):
    return ("x-hub-signature-256", f"sha256={hmac.new(secret.encode(), body, 'sha256').hexdigest()}")


class MessageTests(unittest.TestCase):
    """Our own reading and writing of messages beside protoc's, so that the tests don't believe themselves."""

    REQUEST = {"request_headers": {"headers": header_map([(":path", "/a"), ("x", b"\xff")]), "end_of_stream": True},
               "protocol_config": {"request_body_mode": 4, "response_body_mode": 2}}
    RESPONSE = {"request_body": {"response": {
        "header_mutation": {"set_headers": [{"header": {"key": "a", "raw_value": b"1"}, "append_action": 2},
                                            {"header": {"key": "d", "raw_value": b"2"}, "append": {"value": True}}],
                            "remove_headers": ["b", "c"]},
        "body_mutation": {"streamed_response": {"body": bytes(300), "end_of_stream": True}}}}}

    def protoc(self, option, message, data):
        folder, name = os.path.split(PROTO)
        return subprocess.run(["protoc", f"--{option}={message}", f"--proto_path={folder}", name], input=data, capture_output=True,
                              check=True).stdout

    def test_what_is_written_is_read_by_protoc_and_the_other_way_round(self):
        for message, values in (("ProcessingRequest", self.REQUEST), ("ProcessingResponse", self.RESPONSE)):
            data = encode(message, values)
            text = self.protoc("decode", message, data)
            self.assertNotRegex(text, rb"(?m)^ *\d+:")  # a field that protoc doesn't know
            self.assertEqual(self.protoc("encode", message, text), data)
            self.assertEqual(decode(message, data), values)

    def test_what_is_no_message_is_refused(self):
        for data in (b"\x0a", b"\x0a\x05ab", b"\x08\x01", b"\xff" * 11, b"\x7a\x00"):
            with self.subTest(data), self.assertRaises(AssertionError):
                decode("ProcessingRequest", data)


class ConversionTests(ExtProcTestCase):
    routes = ROUTES

    def through_http(self, path, body, media_type):
        self.upstream.reset()
        response = self.send("POST", path, body, media_type)
        self.assertEqual(response.status, 200, response.body)
        return self.upstream.one()

    def assert_same(self, message, received):
        self.assertEqual(message.media_type, received.media_type)
        if received.media_type == "multipart/form-data":  # every body has a boundary of its own
            self.assertEqual([(part[0], part[1], part[2].get("content-type"), part[3]) for part in message.parts],
                             [(part[0], part[1], part[2].get("content-type"), part[3]) for part in received.parts])
        else:
            self.assertEqual(message.body, received.body)
            self.assertEqual(message.fields.get("content-type"), received.fields.get("content-type"))

    def test_every_conversion_gives_in_each_mode_what_the_proxy_gives(self):
        for conversion, body, media_type in MATRIX:
            received = self.through_http(path_of(conversion), body, media_type)
            for mode in (FULL_DUPLEX, BUFFERED):
                for has_length in (True, False):
                    with self.subTest(conversion, mode=mode, has_length=has_length):
                        message = self.ask("POST", path_of(conversion), body, media_type, mode=mode, has_length=has_length)
                        self.assert_same(message, received)
                        self.assertEqual(len(message.fields.all("content-type")), 1)

    def test_it_doesnt_matter_how_a_body_is_cut(self):
        for conversion, body, media_type in MATRIX:
            received = self.through_http(path_of(conversion), body, media_type)
            for pieces in (cut(body, [1]) if len(body) < 400 else cut(body, [997]), [body[:1], b"", body[1:]], [body, b""],
                           [b"", body], [b"", body, b""]):
                with self.subTest(conversion, pieces=[len(piece) for piece in pieces][:5]):
                    self.assert_same(self.ask("POST", path_of(conversion), body, media_type, pieces=pieces), received)

    def test_trailers_are_the_end_in_place_of_end_of_stream(self):
        for pieces in (cut(CODED_JSON, [7]), [CODED_JSON], [CODED_JSON, b""]):
            message = self.ask("POST", path_of("json -> form"), CODED_JSON, JSON, pieces=pieces, trailers=[("x-sum", "1")])
            self.assertEqual(message.body, self.through_http(path_of("json -> form"), CODED_JSON, JSON).body)
            self.assertIsNotNone(message.trailers)

    def test_streamed_is_right_or_refused(self):
        """STREAMED wants an answer to each piece before the next one comes, with that piece's share of the body, and takes no fields
        behind the head. What can't be right so ends in an error that says which mode to choose; nothing is forwarded as it came."""
        for conversion, body, media_type in MATRIX:
            received = self.through_http(path_of(conversion), body, media_type)
            for pieces in ([body], cut(body, [len(body) // 2 + 1])):
                with self.subTest(conversion, pieces=len(pieces)):
                    try:
                        message = self.ask("POST", path_of(conversion), body, media_type, mode=STREAMED, pieces=pieces)
                    except Refused as refused:
                        self.assertGreaterEqual(refused.response.status, 500)
                        self.assertIn(b"FULL_DUPLEX_STREAMED", refused.response.body)
                    except Ended as ended:
                        self.assertNotEqual(ended.code, 0)
                        self.assertIn("FULL_DUPLEX_STREAMED", ended.message)
                    else:
                        self.assert_same(message, received)

    def test_a_plain_route_passes_bytes_in_each_mode(self):
        body = bytes(range(256)) * 300
        for mode in (FULL_DUPLEX, BUFFERED, STREAMED):
            for pieces in ([body], cut(body, [1000, 65_536])):
                with self.subTest(mode=mode, pieces=len(pieces)):
                    message = self.ask("POST", "/plain", body, "application/x-thing; v=1", mode=mode, pieces=pieces)
                    self.assertEqual(message.body, body)
                    self.assertEqual(message.fields.get("content-type"), "application/x-thing; v=1")

    def test_without_a_body_nothing_is_added(self):
        for method in ("GET", "HEAD", "DELETE"):
            for mode in (FULL_DUPLEX, BUFFERED, STREAMED, NONE):
                with self.subTest(method, mode=mode):
                    message = self.ask(method, path_of("form -> json"), mode=mode)
                    self.assertEqual(message.body, b"")
                    self.assertIsNone(message.fields.get("content-type"))

    def test_a_body_that_isnt_sent_is_never_forwarded_under_another_type(self):
        """NONE on a route that converts: the upstream would get the form under whatever head; so that is refused."""
        try:
            message = self.ask("POST", path_of("form -> json"), b"a=1", FORM, mode=NONE)
        except Refused as refused:
            self.assertGreaterEqual(refused.response.status, 400)
        except Ended as ended:
            self.assertNotEqual(ended.code, 0)
        else:
            self.assertEqual(message.fields.get("content-type"), FORM)  # the body goes on as it came
            self.fail("a route that converts let a body pass that it never saw")

    def test_a_mode_that_nobody_says_is_right_or_refused(self):
        """Other data planes may leave it out. Recast can't know then whether fields may still change behind the head."""
        for mode, pieces in ((BUFFERED, [b"a=1"]), (STREAMED, [b"a=1"]), (STREAMED, [b"a=1&", b"b=2"])):
            call = Processing(self.connect(), mode, says_mode=False)
            with self.subTest(mode=mode, pieces=len(pieces)):
                try:
                    message = call.run("request", pseudo("POST", path_of("form -> json"), FORM), pieces=pieces)
                except Refused as refused:
                    self.assertGreaterEqual(refused.response.status, 400)
                except Ended as ended:
                    self.assertNotEqual(ended.code, 0)
                else:
                    self.assertEqual(message.media_type, JSON)
                    self.assertEqual(message.json, {"a": "1"} if len(pieces) == 1 else {"a": "1", "b": "2"})

    def test_header_only_routes_work_without_a_body(self):
        message = self.ask("POST", "/plain", b"a=1", FORM, mode=NONE)
        self.assertEqual(message.fields.get("content-type"), FORM)

    def test_large_messages_come_in_answers_of_at_most_64_kib(self):
        body = b'{"a":"' + b"x" * (1 << 20) + b'"}'
        for conversion, pieces in (("json -> form", [body]), ("json -> form", cut(body, [65_536, 1 << 20]))):
            message = self.ask("POST", path_of(conversion), body, JSON, pieces=pieces, fields=[])
            self.assertEqual(message.body, b"a=" + b"x" * (1 << 20))
            self.assertLessEqual(max(message.pieces), 65_536)


class HeaderTests(ExtProcTestCase):
    routes = ROUTES

    def test_rules_of_the_route(self):
        fields = [("cookie", "a=b"), ("x-internal-a", "1"), ("x-kind", "client"), ("x-seen", "before"), ("x-other", "stays")]
        for mode in (FULL_DUPLEX, BUFFERED):
            message = self.ask("POST", "/rules/17", b"a=1", FORM, fields=fields, mode=mode)
            self.assertEqual(message.json, {"a": "1"})
            got = message.fields
            self.assertEqual((got.all("x-id"), got.all("x-kind"), got.all("x-other")), (["17"], ["a"], ["stays"]))
            self.assertEqual(sorted(value for line in got.all("x-seen") for value in line.split(", ")), ["before", "by recast"])
            for gone in ("cookie", "x-internal-a"):
                self.assertEqual(got.all(gone), [], gone)

    def test_in_buffered_the_head_is_answered_with_what_is_known(self):
        """A data plane that tells of no trailers sends nothing behind the head of a body without bytes: its answer is the last word."""
        fields = [("x-internal-a", "1"), ("x-kind", "client"), ("recast-verified", "github"), ("x-seen", "before"), ("cookie", "a=b")]
        for target, media_type in (("/rules/17", FORM), ("/edited/17", "text/plain")):
            for length in (None, 0):
                with self.subTest(target, length=length):
                    call = self.processing(BUFFERED)
                    sent = pseudo("POST", target, media_type, fields, length)
                    call.headers("request", sent)
                    got = call.take_headers("request", sent).fields
                    self.assertEqual((got.all("x-id"), got.all("x-kind")), (["17"], ["a"]))
                    for gone in ("x-internal-a", "cookie", "recast-verified"):
                        self.assertEqual(got.all(gone), [], gone)
                    self.assertEqual(got.get("content-type"), media_type)  # nothing is converted yet
                    self.assertEqual(call.finish()[0], 0)
            # What comes with the content says the same, and nothing twice.
            message = self.ask("POST", target, b"a=1", media_type, fields, mode=BUFFERED, has_length=False)
            self.assertEqual((message.fields.all("x-id"), message.fields.all("x-kind")), (["17"], ["a"]))
            self.assertEqual(sorted(value for line in message.fields.all("x-seen") for value in line.split(", ")), ["before", "by recast"])
            self.assertEqual(message.body, b'{"a":"1"}' if media_type == FORM else b"a=1")
        self.assertEqual(message.fields.all(":path"), ["/inner/17"])

    def test_in_buffered_the_path_is_known_before_what_becomes_of_the_query(self):
        call = self.processing(BUFFERED)
        sent = pseudo("POST", "/to-query/17?b=2", JSON)
        call.headers("request", sent)
        message = call.take_headers("request", sent)
        self.assertEqual(message.fields.all(":path"), ["/inner/17?b=2"])
        call.body("request", b'{"a":1}', end=True)
        call.take_body("request", message, b'{"a":1}')
        self.assertEqual(message.fields.all(":path"), ["/inner/17?b=2&a=1"])
        self.assertEqual(call.finish()[0], 0)

    def test_a_refusal_is_the_only_answer_to_a_head(self):
        """Behind any other a data plane might forward the request before the refusal comes."""
        for mode in (FULL_DUPLEX, BUFFERED, STREAMED, NONE):
            for target, media_type, status in (("/nowhere", None, 404), (path_of("form -> json"), XML, 415), ("/credentials", None, 401)):
                with self.subTest(target, mode=mode), self.assertRaises(Refused) as raised:
                    call = self.processing(mode)
                    call.headers("request", pseudo("POST", target, media_type))
                    call.answer()
                self.assertEqual(raised.exception.response.status, status)

    def test_fields_of_the_body_follow_it(self):
        """What a conversion makes untrue is taken off: length, digests, coding."""
        body = b"a=1&b=2"
        fields = [("content-md5", "x"), ("digest", "sha-256=x"), ("content-digest", "sha-256=:x:"), ("accept-encoding", "gzip")]
        message = self.ask("POST", path_of("form -> json"), body, FORM, fields=fields)
        for name in ("content-md5", "digest", "content-digest", "content-length"):
            self.assertEqual(message.fields.all(name), [], name)
        message = self.ask("POST", path_of("form -> json"), body, FORM, mode=BUFFERED)
        self.assertEqual(message.fields.all("content-length") or [str(len(message.body))], [str(len(message.body))])

    def test_envoys_own_fields_stay(self):
        """What Envoy has said of the client, and the pseudo-fields, are never touched: `applied` looks for the latter."""
        fields = [("x-forwarded-for", "192.0.2.1"), ("x-request-id", "0123-abc"), ("x-envoy-expected-rq-timeout-ms", "15000"),
                  ("x-forwarded-proto", "https")]
        message = self.ask("POST", path_of("form -> json"), b"a=1", FORM, fields=fields)
        for name, value in fields:
            self.assertEqual(message.fields.all(name), [value], name)
        self.assertEqual(message.fields.all(":path"), [path_of("form -> json")])

    def test_a_host_of_the_route_takes_the_place_of_the_clients(self):
        for authority in ("client.example", "other.example"):
            message = self.ask("GET", "/elsewhere", authority=authority)
            self.assertEqual(message.fields.all(":authority"), ["other.example"])
        self.assertEqual(self.ask("GET", "/plain").fields.all(":authority"), ["client.example"])

    def test_no_range_goes_behind_what_may_be_compressed(self):
        """Where the content of the response comes here, a client that resumes by a date begins anew, as behind the proxy."""
        fields = [("range", "bytes=10-"), ("if-range", "Sat, 01 Jan 2022 00:00:00 GMT"), ("accept-encoding", "gzip")]
        for mode, path, ranges in ((FULL_DUPLEX, "/compressed", []), (BUFFERED, "/compressed", []), (NONE, "/compressed", ["bytes=10-"]),
                                   (FULL_DUPLEX, "/plain", ["bytes=10-"])):
            with self.subTest(path, mode=mode):
                message = self.ask("GET", path, fields=fields, mode=mode)
                self.assertEqual((message.fields.all("range"), "if-range" in message.fields), (ranges, bool(ranges)))

    def test_a_refusal_has_the_id_that_envoy_gave(self):
        response = self.refusal("POST", path_of("json -> form"), b'{"a":', JSON, [("x-request-id", "0123-abc")])
        self.assertEqual(response.json["request_id"], "0123-abc")

    def test_a_body_in_gzip_is_undone(self):
        body = gzip.compress(b"a=1&b=" + b"x" * 1000)
        for mode in (FULL_DUPLEX, BUFFERED):
            message = self.ask("POST", path_of("form -> json"), body, FORM, [("content-encoding", "gzip")], mode=mode)
            self.assertEqual(message.json, {"a": "1", "b": "x" * 1000})
            self.assertEqual(message.fields.all("content-encoding"), [])


class ResponseTests(ExtProcTestCase):
    routes = ROUTES
    DOCUMENT = b'{"user":{"name":"Ann & Bob"},"n":1}'

    def exchange(self, path, body, media_type, status="200", mode=FULL_DUPLEX, pieces=None, fields=(), request=None, method="POST"):
        """The response as the client gets it."""
        call = self.processing(mode)
        call.run("request", pseudo(method, path, FORM if request is not None else None, length=None if request is None else len(request)),
                 request)
        head = [(":status", status), *([("content-type", media_type)] if media_type else []), *fields]
        if body is not None:
            head.append(("content-length", str(len(body))))
        message = call.run("response", head, body, pieces)
        self.assertEqual(call.finish()[0], 0)
        return message

    def test_json_becomes_a_form(self):
        for mode in (FULL_DUPLEX, BUFFERED):
            for pieces in (None, cut(self.DOCUMENT, [5]), [self.DOCUMENT, b""]):
                with self.subTest(mode=mode, pieces=len(pieces or [])):
                    message = self.exchange("/answer", self.DOCUMENT, JSON, mode=mode, pieces=pieces)
                    self.assertEqual((message.status, message.media_type), (200, FORM))
                    self.assertEqual(message.body, b"user%5Bname%5D=Ann%20%26%20Bob&n=1")

    def test_both_ways_on_one_call(self):
        for mode in (FULL_DUPLEX, BUFFERED):
            message = self.exchange("/both", b"<a><b>1</b></a>", XML, mode=mode, request=b"x=1")
            self.assertEqual((message.media_type, message.json), (JSON, {"a": {"b": "1"}}))

    def test_a_response_that_cant_be_read_is_a_502(self):
        for mode in (FULL_DUPLEX, BUFFERED):
            with self.subTest(mode=mode), self.assertRaises(Refused) as raised:
                self.exchange("/answer", b'{"a":', JSON, mode=mode)
            response = raised.exception.response
            self.assertEqual((response.status, response.fields.get("content-type")), (502, "application/problem+json"))

    def test_an_error_that_cant_be_converted_keeps_its_status_and_what_goes_with_it(self):
        fields = [("www-authenticate", "Basic"), ("www-authenticate", "Bearer"), ("retry-after", "7"), ("set-cookie", "a=b")]
        for mode in (FULL_DUPLEX, BUFFERED):
            with self.subTest(mode=mode), self.assertRaises(Refused) as raised:
                self.exchange("/answer", b'{"input":{}}', JSON, status="422", mode=mode, fields=fields)
            response = raised.exception.response
            problem = json.loads(response.body)
            self.assertEqual((response.status, problem["status"], problem["code"]), (422, 422, "upstream_body_unrepresentable"))
            self.assertEqual((response.fields.all("www-authenticate"), response.fields.all("retry-after")), (["Basic", "Bearer"], ["7"]))
            self.assertEqual(response.fields.all("set-cookie"), [])

    def test_a_response_that_nobody_converts_passes(self):
        body = os.urandom(100_000)
        for path in ("/plain", "/answer"):
            message = self.exchange(path, body, "application/octet-stream", pieces=cut(body, [8192]))
            self.assertEqual((message.body, message.media_type), (body, "application/octet-stream"))

    def test_response_rules(self):
        message = self.exchange("/rules/1", b"{}", JSON, request=b"a=1", fields=[("server", "x"), ("x-other", "stays")])
        self.assertEqual(message.fields.all("x-frame-options"), ["DENY"])
        self.assertEqual((message.fields.all("server"), message.fields.all("x-other")), ([], ["stays"]))

    def test_in_buffered_an_empty_response_with_trailers_goes_through(self):
        """No message is left by which the data plane's own could be changed, but where nothing is converted."""
        fields = [("server", "x"), ("x-other", "stays"), ("x-seen", "before"), ("set-cookie", "a=b"), ("set-cookie", "c=d")]
        for path, media_type, status in (
                ("/ruled", JSON, "200"), ("/ruled", JSON, "404"), ("/ruled", "text/plain", "200"), ("/ruled", None, "200"),
                ("/answer", JSON, "200"), ("/answer", None, "200"), ("/compressed", "text/plain", "200")):
            with self.subTest(path, media_type=media_type, status=status):
                call = self.processing(BUFFERED)
                call.run("request", pseudo("GET", path))
                head = [(":status", status), *([("content-type", media_type)] if media_type else []), *fields]
                call.headers("response", head)
                call.trailers("response", [("x-rows", "0")])
                got = call.take_headers("response", head)
                try:
                    self.assertEqual(call.answer()[0], "response_trailers")
                    self.assertEqual(call.finish()[0], 0)
                except Refused as instead:
                    got = instead.response
                    self.assertEqual((got.body, call.status()[0]), (b"", 0))
                self.assertEqual(got.status, int(status))
                got = got.fields
                self.assertEqual((got.get("content-type"), got.all("x-other")), (media_type, ["stays"]))
                self.assertEqual(got.all("set-cookie"), ["a=b", "c=d"])
                if path == "/ruled":
                    self.assertEqual((got.all("x-kind"), got.all("server")), (["a"], []))
                    self.assertEqual(sorted(value for line in got.all("x-seen") for value in line.split(", ")), ["before", "by recast"])

    def test_responses_without_content(self):
        for status, method in (("204", "POST"), ("304", "GET"), ("200", "HEAD")):
            with self.subTest(status, method=method):
                message = self.exchange("/answer", None, JSON if method == "HEAD" else None, status, method=method)
                self.assertEqual((message.status, message.body), (int(status), b""))

    def test_a_response_may_begin_before_the_request_has_ended(self):
        call = self.processing()
        call.headers("request", pseudo("POST", "/plain"))
        call.body("request", b"first")
        request = call.take_headers("request", [])
        call.headers("response", [(":status", "413")])
        call.body("response", b"too long", end=True)
        response = Message([])
        kinds = []
        while not response.ended:
            kind, content = call.answer()
            kinds.append(kind)
            piece = content.get("response", {}).get("body_mutation", {}).get("streamed_response", {})
            {"request_body": request, "response_body": response}.get(kind, Message([])).body += piece.get("body", b"")
            response.ended = response.ended or kind == "response_body" and piece.get("end_of_stream", False)
        self.assertLess(kinds.index("response_headers"), kinds.index("response_body"))
        self.assertEqual((request.body, response.body), (b"first", b"too long"))
        call.half_close()
        self.assertEqual(call.status()[0], 0)


class RefusalTests(ExtProcTestCase):
    routes = ROUTES
    BAD = [
        ("form -> json", b"a=%FF", FORM), ("form -> json", b"a=1&a[b]=2", FORM), ("form -> json", b"{}", JSON), ("form -> json", b"a=1", None),
        ("json -> form", b'{"a":1,}', JSON), ("json -> form", b'{"a":1', JSON), ("json -> form", b'{"list":[]}', JSON),
        ("json -> multipart", b'{"a":"\xff"}', JSON), ("json -> xml", b"[1", JSON),
        ("multipart -> multipart", b"no boundary at all", PART), ("multipart -> form", b"a=1", FORM),
        ("multipart -> multipart", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1', PART),
        ("xml -> json", b"<a><b></a>", XML), ("xml -> json", b"<!DOCTYPE a><a/>", XML), ("plist -> json", b"<plist><dict><key>a</key></dict>", PLIST),
    ]

    def test_what_the_proxy_refuses_is_refused_with_the_same_problem(self):
        for conversion, body, media_type in self.BAD:
            self.upstream.reset()
            expected = self.send("POST", path_of(conversion), body, media_type)
            self.assertGreaterEqual(expected.status, 400, (conversion, body))
            for mode, pieces in ((FULL_DUPLEX, None), (FULL_DUPLEX, cut(body, [1])), (BUFFERED, None)):
                with self.subTest(conversion, body=body, mode=mode, pieces=len(pieces or [])):
                    self.assert_same_refusal(
                        expected, self.refusal("POST", path_of(conversion), body, media_type, mode=mode, pieces=pieces))

    def test_an_error_names_the_place_and_never_what_stands_there(self):
        response = self.refusal("POST", path_of("json -> form"), b'{"secret":"hunter2",}', JSON)
        self.assertEqual(response.json["offset"], 20)
        self.assertNotIn(b"hunter2", response.body)

    def test_after_output_began_the_client_still_hears_why(self):
        """What has gone on can't be taken back: Envoy resets the upstream's side, so what was cut never looks whole."""
        big = b"x" * 500_000
        call = self.processing()
        call.headers("request", pseudo("POST", path_of("multipart -> multipart"), PART))
        call.body("request", b'--x\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\n' + big)
        message = call.take_headers("request", [])
        while not message.body:
            kind, content = call.answer()
            self.assertEqual(kind, "request_body")
            piece = content["response"]["body_mutation"]["streamed_response"]
            self.assertFalse(piece.get("end_of_stream"))
            message.body += piece.get("body", b"")
        call.body("request", b"the file never ends", end=True)
        with self.assertRaises(Refused) as raised:
            call.take_streamed("request", message)
        self.assertEqual(raised.exception.response.status, 400)
        self.assertNotIn(b"--x--", message.body)

    def test_limits_at_n_and_beside_it(self):
        cases = [("/small-body", lambda n: b"a=" + b"x" * (n - 2), 1024, b"limits.body"), ("/small-plain", lambda n: b"a=" + b"x" * (n - 2), 1024, b"limits.body"),
                 ("/few-fields", lambda n: b"&".join(b"f%d=1" % number for number in range(n)), 3, b"limits.fields"),
                 ("/short-field", lambda n: b"a=" + b"x" * n, 10, b"limits.field")]
        for path, make, limit, name in cases:
            for count in (limit - 1, limit, limit + 1):
                body = make(count)
                for mode, pieces, has_length in ((FULL_DUPLEX, None, True), (FULL_DUPLEX, cut(body, [100]), False), (BUFFERED, None, True)):
                    with self.subTest(path, count=count, mode=mode, has_length=has_length):
                        try:
                            message = self.ask("POST", path, body, FORM, mode=mode, pieces=pieces, has_length=has_length)
                        except Refused as refused:
                            self.assertGreater(count, limit)
                            self.assertEqual(refused.response.status, 413)
                            self.assertIn(name, refused.response.body)
                        except Ended as ended:  # a plain route has let something pass before
                            self.assertGreater(count, limit)
                            self.assertEqual((path, has_length), ("/small-plain", False))
                            self.assertNotEqual(ended.code, 0)
                        else:
                            self.assertLessEqual(count, limit)
                            self.assertTrue(message.body)

    def test_a_length_of_nothing_is_a_length(self):
        """Over HTTP/2, and from a data plane, content may follow that has no bytes, as was said."""
        for mode in (FULL_DUPLEX, BUFFERED):
            message = self.ask("POST", "/sized", b"", fields=[], mode=mode)
            self.assertEqual((message.body, message.fields.all("content-length") or ["0"]), (b"", ["0"]))
            self.assertEqual(self.refusal("POST", "/sized", b"", mode=mode, has_length=False).status, 411)
        with HTTP2Client(self.recast.port) as client:
            self.assertEqual(client.exchange("POST", "/sized", [("content-length", "0")], b"").status, 200)
            self.assertEqual(client.exchange("POST", "/sized", [], b"").status, 411)

    def test_content_that_isnt_seen_is_bounded_by_the_length_that_it_announces(self):
        for count in (1023, 1024, 1025):
            try:
                message = self.ask("POST", "/small-plain", b"x" * count, FORM, mode=NONE)
            except Refused as refused:
                self.assertGreater(count, 1024)
                self.assertEqual((refused.response.status, refused.response.json["code"]), (413, "limit_body"))
            else:
                self.assertLessEqual(count, 1024)
                self.assertEqual(message.fields.all("content-length"), [str(count)])
        self.ask("POST", "/small-plain", b"x" * 1025, FORM, mode=NONE, has_length=False)  # nobody knows


class RouteTests(ExtProcTestCase):
    routes = ROUTES

    def test_path_method_and_authority_choose(self):
        self.assertEqual(self.ask("POST", "/posts", b"a=1", FORM).json, {"a": "1"})
        self.assertEqual(self.ask("POST", "/tenant", b"a=1", FORM, authority="tenant.example").json, {"a": "1"})
        for method, path, authority in (("GET", "/posts", "a.example"), ("POST", "/tenant", "other.example"), ("POST", "/nowhere", "a.example")):
            with self.subTest(method, path=path):
                response = self.refusal(method, path, authority=authority)
                through = self.send(method, path, fields=())
                if path != "/tenant":
                    self.assert_same_refusal(through, response)
                self.assertIn(response.status, (404, 405))

    def test_the_query_goes_along(self):
        message = self.ask("POST", path_of("form -> json") + "?x=%2F&y", b"a=1", FORM)
        self.assertEqual(message.json, {"a": "1"})
        self.assertEqual(message.fields.get(":path"), path_of("form -> json") + "?x=%2F&y")

    def test_metadata_chooses_whatever_the_path_is(self):
        for path in ("/nowhere", "/plain", "/posts"):
            message = self.ask("POST", path, b"a=1&b[]=2", FORM, metadata=[("recast-route", "posts")])
            self.assertEqual(message.json, {"a": "1", "b": ["2"]})
            self.assertEqual(message.fields.get(":path"), path)

    def test_a_named_route_whose_path_is_another(self):
        """Stars and variables that nothing takes are no condition; those that something takes are there, or the call says so."""
        for name in ("starred", "free"):
            message = self.ask("POST", "/elsewhere/7", b"a=1", FORM, metadata=[("recast-route", name)])
            self.assertEqual(message.json, {"a": "1"})
        self.assertEqual(self.ask("POST", "/rules/7", b"a=1", FORM, metadata=[("recast-route", "rules")]).fields.get("x-id"), "7")
        for name in ("rules", "keyed", "put", "mapped"):
            with self.subTest(name):
                response = self.refusal("POST", "/elsewhere/7", b"a=1", FORM, metadata=[("recast-route", name)])
                self.assertEqual((response.status, json.loads(response.body)["code"]), (500, "ext_proc_other_path"))

    def test_the_log_names_no_upstream(self):
        """The data plane asks one, and Recast none."""
        self.ask("POST", "/posts", b"a=1", FORM, [("x-request-id", "processed")])
        entry = self.recast.log_entry("processed")
        self.assertEqual((entry["status"], entry["route"]), (0, "posts"))
        self.assertEqual({"upstream", "upstream_address", "attempts"} & entry.keys(), set())

    def test_metadata_that_names_no_route_is_an_error_that_says_so(self):
        for name in ("nowhere", "", "POSTS"):
            with self.subTest(name):
                try:
                    response = self.refusal("POST", "/plain", b"a=1", FORM, metadata=[("recast-route", name)])
                    self.assertGreaterEqual(response.status, 500)
                    self.assertIn(b"recast-route", response.body)
                except Ended as ended:
                    self.assertNotEqual(ended.code, 0)
                    self.assertIn("recast-route", ended.message)


class VerifyTests(ExtProcTestCase):
    routes = ROUTES

    def test_what_is_signed_passes_with_its_mark(self):
        body = b"payload=%7B%22a%22%3A1%7D&b=%C3%A4+x"
        for mode, pieces in ((FULL_DUPLEX, None), (FULL_DUPLEX, cut(body, [3])), (BUFFERED, None)):
            message = self.ask("POST", "/signed", body, FORM, [github(body)], mode=mode, pieces=pieces)
            self.assertEqual(message.json, {"payload": '{"a":1}', "b": "ä x"})
            self.assertEqual(message.fields.all("recast-verified"), ["github"])

    def test_what_has_gone_on_is_a_replay_also_where_its_response_is_never_seen(self):
        body = b"a=1"
        self.assertEqual(self.ask("POST", "/once", body, FORM, [github(body)]).json, {"a": "1"})
        refused = self.refusal("POST", "/once", body, FORM, [github(body)])
        self.assertEqual((refused.status, refused.json["code"]), (409, "signature_replayed"))

    def test_what_isnt_is_refused_as_by_the_proxy(self):
        body = b"a=1"
        for path, fields in (("/signed", []), ("/signed", [github(b"other")]), ("/signed", [github(body, "wrong")]),
                             ("/signed", [github(body), github(body)]), ("/signed", [("x-hub-signature-256", "sha256=xyz")]), ("/forbidden", [])):
            expected = self.send("POST", path, body, FORM, [f"{name}: {value}" for name, value in fields])
            self.assertIn(expected.status, (401, 403))
            for mode in (FULL_DUPLEX, BUFFERED):
                with self.subTest(path, fields=fields, mode=mode):
                    self.assert_same_refusal(expected, self.refusal("POST", path, body, FORM, fields, mode=mode))

    def test_content_that_isnt_seen_is_never_verified(self):
        """In NONE a body passes beside us: neither the signature of it nor that of no body says whose it is."""
        for path in ("/signed", "/once", "/forbidden", "/reported"):
            for signed in (b"b=2", b"", b"other"):
                for has_length in (True, False):
                    with self.subTest(path, signed=signed, has_length=has_length):
                        refused = self.refusal("POST", path, b"b=2", FORM, [github(signed)], mode=NONE, has_length=has_length)
                        self.assertEqual((refused.status, refused.json["code"]), (500, "ext_proc_mode"))
        # Nothing of it was remembered.
        self.assertEqual(self.ask("POST", "/once", b"b=2", FORM, [github(b"b=2")]).json, {"b": "2"})

    def test_where_there_is_no_content_or_none_is_signed_none_must_be_seen(self):
        message = self.ask("GET", "/forbidden", fields=[github(b"")], mode=NONE)
        self.assertEqual(message.fields.all("recast-verified"), ["github"])
        self.assertEqual(self.refusal("GET", "/forbidden", fields=[github(b"other")], mode=NONE).status, 403)
        for mode in (NONE, FULL_DUPLEX):
            message = self.ask("POST", "/token", b"a=1", FORM, [("x-gitlab-token", SECRET)], mode=mode)
            self.assertEqual(message.fields.all("recast-verified"), ["gitlab"])
            self.assertEqual(self.refusal("POST", "/token", b"a=1", FORM, [("x-gitlab-token", "x")], mode=mode).status, 401)

    def test_in_buffered_content_that_may_never_be_told_of_is_never_verified(self):
        """Of an empty body with trailers a data plane may tell nothing, and forward it with the answer to the head."""
        for path in ("/signed", "/once", "/forbidden", "/reported"):
            for fields in ([], [("content-length", "0")]):
                call = self.processing(BUFFERED)
                with self.subTest(path, fields=fields), self.assertRaises(Refused) as raised:
                    call.headers("request", pseudo("POST", path, FORM, [github(b"other"), *fields]))
                    call.answer()
                response = raised.exception.response
                self.assertEqual((response.status, response.json["code"]), (500, "ext_proc_mode"))
        # What says nothing of the content is judged by the head alone.
        for token, verified in ((SECRET, True), ("x", False)):
            call = self.processing(BUFFERED)
            sent = pseudo("POST", "/token", FORM, [("x-gitlab-token", token), ("recast-verified", "me")])
            call.headers("request", sent)
            if verified:
                self.assertEqual(call.take_headers("request", sent).fields.all("recast-verified"), ["gitlab"])
            else:
                with self.assertRaises(Refused) as raised:
                    call.answer()
                self.assertEqual(raised.exception.response.status, 401)

    def test_the_mark_is_never_the_clients(self):
        message = self.ask("POST", "/plain", b"a=1", FORM, [("recast-verified", "github")])
        self.assertEqual(message.fields.all("recast-verified"), [])

    def test_nothing_goes_on_before_the_signature_is_checked(self):
        body = b"a=" + b"x" * 60_000
        call = self.processing()
        call.headers("request", pseudo("POST", "/signed", FORM, [github(body)], len(body)))
        call.body("request", body[:-1])
        call.client.pause()  # all of that was read
        self.assertIsNone(call.buffered())
        call.body("request", body[-1:] if body else b"", end=True)
        message = call.take_streamed("request", call.take_headers("request", []))
        self.assertEqual(message.json, {"a": "x" * 60_000})


class ContentTests(ExtProcTestCase):
    routes = ROUTES

    def test_files_of_all_sizes_stream(self):
        for size in (0, 1, 65_535, 65_536, 65_537, (1 << 20) + 1):
            content = os.urandom(size)
            body, media_type = make_multipart([("title", None, b"T"), ("file", "f.bin", content)])
            with self.subTest(size):
                message = self.ask("POST", path_of("multipart -> multipart"), body, media_type, pieces=cut(body, [65_536, 65_536, 1 << 20]))
                parts = parse_multipart(message.body, message.fields.get("content-type"))
                self.assertEqual([(name, content) for name, _, _, content in parts], [("title", b"T"), ("file", content)])
                message = self.ask("POST", path_of("multipart -> json(files: base64)"), body, media_type)
                self.assertEqual(json.loads(message.body), {"title": "T", "file": base64.b64encode(content).decode()})


if __name__ == "__main__":
    unittest.main()
