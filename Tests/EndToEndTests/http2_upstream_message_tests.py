"""What a request and a response are on their way over HTTP/2 to an upstream: heads, content, trailers."""

from harness import FORM, Client, Closed
from http2_client import INTERNAL_ERROR, PROTOCOL_ERROR, HTTP2Client
from http2_upstream import HTTP2UpstreamTestCase
from raw_client import Fields


class RequestTests(HTTP2UpstreamTestCase):
    routes = """
  - { name: json, match: "/json", upstream: app, request: form -> json }
  - { name: forward, match: "/forward", upstream: app, expect_continue: forward }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_pseudo_header_fields(self):
        self.send("GET", "/a%20b?x=1&y=%2F", fields=["X-Own: 1"])
        received = self.upstream.one()
        self.assertEqual(received.pseudo, {":method": "GET", ":scheme": "http", ":path": "/a%20b?x=1&y=%2F",
                                           ":authority": "client.example"})
        self.assertEqual(received.fields.get("x-own"), "1")
        self.assertTrue(received.ends_with_head)

    def test_a_request_without_a_host_has_the_upstreams(self):
        client = self.client()
        client.send("GET / HTTP/1.0\r\n\r\n")
        self.assertEqual(client.response().status, 200)
        self.assertEqual(self.upstream.one().pseudo[":authority"], f"127.0.0.1:{self.upstream.port}")

    def test_methods(self):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"):
            with self.subTest(method):
                self.upstream.reset()
                self.assertEqual(self.send(method, "/").status, 200)
                received = self.upstream.one()
                self.assertEqual((received.method, received.data_frames, received.ends_with_head), (method, 0, True))

    def test_content_with_a_length_and_without(self):
        for body in (b"", b"x", b"y" * 100_000):
            for chunked in (False, True):
                with self.subTest(size=len(body), chunked=chunked):
                    self.upstream.reset()
                    if chunked:
                        client = self.client()
                        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                        client.send((b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n")
                        self.assertEqual(client.response().status, 200)
                    else:
                        self.assertEqual(self.send("POST", "/", body).status, 200)
                    received = self.upstream.one()
                    self.assertEqual(received.body, body)
                    self.assertEqual(received.fields.get("content-length"), None if chunked else str(len(body)))
                    if not body and not chunked:
                        self.assertTrue(received.ends_with_head)

    def test_a_converted_body_has_a_length(self):
        self.send("POST", "/json", b"a=1", FORM)
        received = self.upstream.one()
        self.assertEqual((received.json, received.fields.get("content-length")), ({"a": "1"}, "9"))

    def test_cookies(self):
        self.send("GET", "/", fields=["Cookie: a=1; b=2"])
        self.assertEqual("; ".join(self.upstream.one().fields.all("cookie")), "a=1; b=2")
        self.upstream.reset()
        with HTTP2Client(self.recast.port) as client:
            client.exchange(path="/", fields=[("cookie", "a=1"), ("cookie", "b=2")])
        self.assertEqual("; ".join(self.upstream.one().fields.all("cookie")), "a=1; b=2")

    def test_fields_of_the_connection_stay_here(self):
        self.send("GET", "/", fields=["Connection: X-Named, keep-alive, TE", "X-Named: 1", "Keep-Alive: 5", "TE: trailers, gzip",
                                      "Proxy-Connection: x", "X-Kept: 1"])
        fields = self.upstream.one().fields
        self.assertEqual(fields.get("x-kept"), "1")
        for name in ("x-named", "keep-alive", "connection", "proxy-connection", "upgrade"):
            self.assertNotIn(name, fields)

    def test_an_upgrade_is_not_offered(self):
        """HTTP/2 has none (RFC 9113 §8.6)."""
        self.send("GET", "/", fields=["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"])
        self.assertNotIn("upgrade", self.upstream.one().fields)

    def test_large_heads(self):
        """They take CONTINUATION frames."""
        fields = [f"X-Number-{number}: {'v' * 1000}" for number in range(25)]
        self.assertEqual(self.send("GET", "/" + "p" * 2000, fields=fields).status, 200)
        received = self.upstream.one()
        self.assertEqual(len(received.pseudo[":path"]), 2001)
        self.assertEqual([received.fields.get(f"x-number-{number}") for number in range(25)], ["v" * 1000] * 25)

    def test_fields_keep_their_octets_and_their_order(self):
        client = self.client()
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-B: \xc3\xa9\xff\r\nX-A: 1\r\nX-B: 2\r\nX-Empty:\r\n\r\n")
        client.response()
        fields = self.upstream.one().fields
        self.assertEqual([(name, value) for name, value in fields if name in ("x-a", "x-b", "x-empty")],
                         [("x-b", "Ã©ÿ"), ("x-a", "1"), ("x-b", "2"), ("x-empty", "")])

    def test_an_expectation_is_answered_here_or_by_the_upstream(self):
        for target in ("/", "/forward"):
            with self.subTest(target):
                self.upstream.reset()
                client = self.client()
                client.request("POST", target, None, "text/plain", ["Content-Length: 5", "Expect: 100-continue"])
                self.assertEqual(client.response().status, 100)
                client.send("hello")
                self.assertEqual(client.response().status, 200)
                received = self.upstream.one()
                self.assertEqual((received.body, received.fields.get("expect")), (b"hello", "100-continue" if target != "/" else None))

    def test_an_upstream_that_refuses_an_expectation(self):
        self.upstream.script = lambda exchange: exchange.answer(417, b"no")
        client = self.client()
        client.request("POST", "/forward", None, "text/plain", ["Content-Length: 5", "Expect: 100-continue"])
        response = client.response()
        self.assertEqual((response.status, response.body), (417, b"no"))


class ResponseTests(HTTP2UpstreamTestCase):
    routes = """
  - { name: form, match: "/form", upstream: app, response: json -> form }
  - { name: brief, match: "/brief", upstream: app, timeouts: { gap: 200ms } }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_interim_responses(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond(103, [("link", "</a>; rel=preload")])
            exchange.respond(103, [("link", "</b>; rel=preload")])
            exchange.answer()

        self.upstream.script = script
        client = self.client()
        client.request("GET", "/")
        self.assertEqual([(one.status, one.fields.get("link")) for one in (client.response(), client.response(), client.response())],
                         [(103, "</a>; rel=preload"), (103, "</b>; rel=preload"), (200, None)])
        with HTTP2Client(self.recast.port) as second:
            response = second.exchange(path="/")
            self.assertEqual(([status for status, _ in response.interim], response.status), ([103, 103], 200))

    def test_what_has_no_content(self):
        client = self.client()
        for method, status, fields in (("HEAD", 200, [("content-length", "1000")]), ("HEAD", 200, []), ("GET", 204, []),
                                       ("GET", 304, [("etag", '"a"')]), ("GET", 304, [("content-length", "1000")]),
                                       ("GET", 205, [("content-length", "0")]), ("GET", 200, [("content-length", "0")]),
                                       ("GET", 200, []), ("POST", 201, [])):
            for apart in (False, True):
                with self.subTest(method, status=status, fields=fields, apart=apart):
                    def script(exchange, status=status, fields=fields, apart=apart):
                        exchange.read_body()
                        exchange.respond(status, fields, end=not apart)
                        if apart:
                            exchange.content(b"", end=True)

                    self.upstream.script = script
                    client.request(method, "/")
                    response = client.response(method)
                    self.assertEqual((response.status, response.body), (status, b""))
                    if method == "HEAD":
                        self.assertEqual(response.fields.get("content-length"), dict(fields).get("content-length"))
        self.assertEqual(len({received.connection_number for received in self.upstream.requests}), 1)

    def test_what_comes_behind_a_head_that_is_all(self):
        """The client has the whole response with its head: neither content that may not be there, nor a reset, nor an end that doesn't
        come takes its connection, and nothing of it becomes part of the next response."""
        endings = {
            "content": lambda exchange: exchange.content(b"HTTP/1.1 200 OK\r\n\r\n", end=True),
            "content that goes on": lambda exchange: exchange.content(b"HTTP/1.1 200 OK\r\n\r\n"),
            "a reset": lambda exchange: exchange.abort(INTERNAL_ERROR),
            "nothing": lambda exchange: None,
        }
        for name, ending in endings.items():
            for method, status, length in (("HEAD", 200, None), ("HEAD", 200, 19), ("HEAD", 404, None), ("GET", 204, None),
                                           ("GET", 304, None), ("POST", 304, 19), ("GET", 205, None), ("POST", 205, None), ("GET", 205, 0)):
                with self.subTest(name, method=method, status=status, length=length):
                    def script(exchange, status=status, length=length, ending=ending):
                        exchange.read_body()
                        exchange.respond(status, [("content-length", str(length))] if length is not None else [])
                        ending(exchange)

                    self.upstream.script = script
                    with HTTP2Client(self.recast.port) as other:
                        record = other.over(other.request(method, "/brief"))
                        self.assertEqual((record.reset, record.status, record.body), (None, status, b""))
                    client = self.client()
                    client.request(method, "/brief")
                    response = client.response(method)
                    self.assertEqual((response.status, response.body), (status, b""))
                    self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"next"))
                    client.request("GET", "/")
                    self.assertEqual(client.response().body, b"next")

    def test_trailers_behind_no_content(self):
        """A call that fails has nothing but trailers, and may say so."""
        for length in (None, "0", "3"):
            with self.subTest(length=length):
                def script(exchange, length=length):
                    exchange.read_body()
                    exchange.respond(200, [("content-type", "application/grpc"), *([("content-length", length)] if length else [])])
                    if length == "3":
                        exchange.content(b"abc")
                    exchange.trailers([("grpc-status", "5"), ("grpc-message", "not found")])

                self.upstream.script = script
                with HTTP2Client(self.recast.port) as client:
                    response = client.exchange("POST", "/", [("content-type", "application/grpc"), ("te", "trailers")], b"")
                    self.assertEqual((response.status, dict(response.trailers or {}).get("grpc-status")), (200, "5"))

    def test_lengths_that_are_not_true(self):
        """A response is cut, or 502, when its content isn't as long as it said; never whole."""
        for said, content in (("5", b"123456"), ("5", b"1234"), ("5", b""), ("5, 5", b"12345"), ("-1", b"1"), ("x", b"1"),
                              ("5", b"x" * 100_000)):
            for target in ("/", "/form"):
                with self.subTest(said, content=content[:10], target=target):
                    self.upstream.reset()

                    def script(exchange, said=said, content=content):
                        exchange.read_body()
                        exchange.respond(200, [("content-length", said), ("content-type", "application/json")])
                        exchange.content(content, end=True)

                    self.upstream.script = script
                    with Client(self.recast.port) as client:
                        client.request("GET", target)
                        try:
                            self.assertEqual(client.response().status, 502)
                        except Closed:
                            pass
                    with HTTP2Client(self.recast.port) as client:
                        record = client.over(client.request(path=target))
                        self.assertTrue(record.reset is not None or record.status == 502, record.status)
                    stream = self.upstream.requests[0].stream
                    self.assertIn(stream.code, (PROTOCOL_ERROR, None))
        self.upstream.reset()
        self.assertEqual(self.send("GET", "/").status, 200)

    def test_fields_reach_the_client(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-octets", b"\xc3\xa9\xff"), ("x-empty", ""),
                                   ("content-type", "text/plain"), ("content-length", "2")])
            exchange.content(b"ok", end=True)

        self.upstream.script = script
        response = self.send("GET", "/")
        self.assertEqual(response.fields.all("set-cookie"), ["a=1", "b=2"])
        self.assertEqual((response.fields.get("x-octets"), response.fields.get("x-empty")), ("Ã©ÿ", ""))

    def test_a_large_head(self):
        fields = [(f"x-number-{number}", "v" * 1000) for number in range(20)]
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.respond(200, fields), exchange.content(b"ok", end=True))
        response = self.send("GET", "/")
        self.assertEqual([response.fields.get(name) for name, _ in fields], ["v" * 1000] * 20)
        self.assertEqual(response.body, b"ok")

    def test_a_head_beyond_the_limit_is_a_502(self):
        fields = [(f"x-number-{number}", "v" * 1000) for number in range(100)]
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.respond(200, fields), exchange.content(b"ok", end=True))
        self.assert_problem(self.send("GET", "/"), 502, "^upstream_bad_response$")
        self.upstream.reset()
        self.assertEqual(self.send("GET", "/").status, 200)

    def test_frames_of_any_size_and_empty_ones(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond()
            for size in (0, 1, 0, 16_384, 0, 16_383, 2):
                exchange.content(b"x" * size)
            exchange.content(b"", end=True)

        self.upstream.script = script
        self.assertEqual(len(self.send("GET", "/").body), 1 + 16_384 + 16_383 + 2)

    def test_padding_is_no_content(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("content-length", "6")])
            number = exchange.stream.number.to_bytes(4, "big")
            exchange.frames(b"\x00\x00\x09\x00\x08" + number + b"\x05abc" + bytes(5))
            exchange.frames(b"\x00\x01\x03\x00\x09" + number + b"\xffdef" + bytes(255))
            exchange.stream.is_answered = True

        self.upstream.script = script
        self.assertEqual(self.send("GET", "/").body, b"abcdef")


class TrailerTests(HTTP2UpstreamTestCase):
    routes = """
  - { name: passes, match: "/passes", upstream: app, trailers: [x-sum, grpc-status] }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_of_requests(self):
        for target, passes in (("/passes", True), ("/", False)):
            for client_is_http2 in (False, True):
                with self.subTest(target, client_is_http2=client_is_http2):
                    self.upstream.reset()
                    if client_is_http2:
                        with HTTP2Client(self.recast.port) as client:
                            stream = client.request("POST", target, fields=[("trailer", "x-sum")], end=False)
                            client.content(stream, b"abc", end=False)
                            client.send(self.trailers(stream, [("x-sum", "1"), ("x-other", "2")]))
                            self.assertEqual(client.response(stream).status, 200)
                    else:
                        client = self.client()
                        client.send(f"POST {target} HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n")
                        self.assertEqual(client.response().status, 200)
                    received = self.upstream.one()
                    self.assertEqual(received.body, b"abc")
                    self.assertEqual(received.trailers, Fields([("x-sum", "1")]) if passes else None)

    def trailers(self, stream, fields):
        from http2_client import END_HEADERS, END_STREAM, HEADERS, block, frame

        return frame(HEADERS, END_HEADERS | END_STREAM, stream, block(fields))

    def test_of_requests_without_content(self):
        with HTTP2Client(self.recast.port) as client:
            stream = client.request("POST", "/passes", end=False)
            client.send(self.trailers(stream, [("x-sum", "1")]))
            self.assertEqual(client.response(stream).status, 200)
        received = self.upstream.one()
        self.assertEqual((received.body, received.trailers), (b"", Fields([("x-sum", "1")])))

    def test_of_responses(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("trailer", "x-sum")])
            exchange.content(b"abc")
            exchange.trailers([("x-sum", "1"), ("x-other", "2")])

        self.upstream.script = script
        for target, passes in (("/passes", True), ("/", False)):
            with self.subTest(target), HTTP2Client(self.recast.port) as client:
                response = client.exchange(path=target, fields=[("te", "trailers")])
                self.assertEqual(bytes(response.body), b"abc")
                self.assertEqual(response.trailers, Fields([("x-sum", "1")]) if passes else None)
        self.assertEqual(self.send("GET", "/").body, b"abc")
        client = self.client()
        client.request("GET", "/passes", fields=["TE: trailers", "Connection: TE"])
        self.assertEqual(client.reader.head()[1].get("transfer-encoding"), "chunked")
        self.assertEqual(client.reader.until(b"\r\n\r\n"), b"3\r\nabc\r\n0\r\nx-sum: 1")

    def test_a_response_with_a_length_and_trailers(self):
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("content-length", "3")])
            exchange.content(b"abc")
            exchange.trailers([("x-sum", "1")])

        self.upstream.script = script
        for target in ("/passes", "/"):
            self.assertEqual(self.send("GET", target).body, b"abc")

    def test_trailers_that_are_none_are_dropped(self):
        """What tells of framing, of routing or of this hop can't come behind the content; what stands in no list doesn't pass."""
        for name in ("host", "set-cookie", "content-type", "trailer", "expect"):
            with self.subTest(name):
                def script(exchange, name=name):
                    exchange.read_body()
                    exchange.respond(200)
                    exchange.content(b"abc")
                    exchange.trailers([(name, "9"), ("x-sum", "1")])

                self.upstream.script = script
                with HTTP2Client(self.recast.port) as client:
                    response = client.exchange(path="/passes", fields=[("te", "trailers")])
                    self.assertEqual((bytes(response.body), response.trailers), (b"abc", Fields([("x-sum", "1")])))

    def test_trailers_that_break_a_rule(self):
        for fields in ([(":status", "200")], [("X-Upper", "1")], [("connection", "close")], [("x-sum", "a\x00b")],
                       [("content-length", "9")]):
            with self.subTest(fields):
                def script(exchange, fields=fields):
                    exchange.read_body()
                    exchange.respond(200)
                    exchange.content(b"abc")
                    exchange.trailers(fields)

                self.upstream.script = script
                with HTTP2Client(self.recast.port) as client:
                    record = client.over(client.request(path="/passes", fields=[("te", "trailers")]))
                    self.assertFalse(record.ended and record.status == 200, record.trailers)
