"""Requests of HTTP/2 that would be something else once they are written as HTTP/1.1: each is refused, and the upstream gets not a
single byte (RFC 9113 sections 8.1.1, 8.2 and 8.3; James Kettle's "HTTP/2: The Sequel is Always Worse" and "HTTP/1.1 must die")."""

from harness import DEADLINE, FORM
from http2_client import DATA, END_HEADERS, END_STREAM, HEADERS, PROTOCOL_ERROR, HTTP2Client, SecuredTestCase, block, frame, literal, octets, pseudo
from tls_support import certificates

HIDDEN = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: trailing, match: /trailing, upstream: app, trailers: [X-Sum] }
  - { name: passing, match: /passing, upstream: app, underscores: pass }
  - { name: plain, match: "/*", upstream: app }
"""


class SmugglingTests(SecuredTestCase):
    routes = ROUTES

    def refuse(self, fields, body=None, name=None, untouched=True, block_=None, trailers=None, also=(404, 501)):
        """Sends it and sees it refused, by 4xx or the end of the stream or the connection; then another request, which must be
        answered as what it is, unless the connection has ended."""
        with self.subTest(name or str(fields)[:200]):
            self.upstream.settle()
            self.upstream.reset()
            with self.http2() as client:
                with client.at_once():
                    stream = client.open(fields, end=body is None and trailers is None, block_=block_)
                    if body is not None:
                        client.send(frame(DATA, 0 if trailers is not None else END_STREAM, stream, octets(body)))
                    if trailers is not None:
                        client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block(trailers)))
                record = client.over(stream)
                if record.status is not None and record.reset in (None, 0):
                    self.assertGreaterEqual(record.status, 400, bytes(record.body))
                    self.assertIn(record.status, (400, 413, 414, 417, 431, *also))
                    self.assert_problem(record, record.status)
                elif record.reset is not None:
                    self.assertNotEqual(record.reset, 0)
                else:
                    self.assertTrue(client.closed)
                    self.assertTrue(client.goaways and client.goaways[-1][1] != 0, client.goaways)
                if untouched:
                    self.assert_untouched()
                expected = []
                if not client.closed:
                    self.assertEqual(client.exchange(path="/next").status, 200)
                    expected = ["/next"]
                for received in list(self.upstream.requests):
                    self.assertTrue(received.ended.wait(DEADLINE))
                self.assertEqual([received.target for received in self.upstream.requests if received.is_complete], expected)

    def accept(self, fields, body, name, check):
        with self.subTest(name), self.http2() as client:
            self.upstream.reset()
            stream = client.open(fields, end=body is None)
            if body is not None:
                client.send(frame(DATA, END_STREAM, stream, octets(body)))
            self.assertEqual(client.response(stream).status, 200)
            check(self.upstream.one())

    def test_lengths_that_are_not_those_of_the_content(self):
        """H2.CL. What was begun upstream, where content came first, is never completed; behind a length of 0 nothing is begun."""
        for length in ("0", "1", "40", "10000"):
            untouched = length == "0"
            self.refuse([*pseudo("POST"), ("content-length", length)], HIDDEN, f"{length} for {len(HIDDEN)}", untouched=untouched)
            self.refuse([*pseudo("POST", "/form-json"), ("content-length", length), ("content-type", FORM)], "a=1&b=2" + HIDDEN[:13],
                        f"{length}, converted", untouched=untouched)
        self.refuse([*pseudo("POST"), ("content-length", "5")], None, "5 without content")
        self.refuse([*pseudo("GET"), ("content-length", "5")], None, "GET, 5 without content")
        for method in ("GET", "HEAD", "DELETE"):
            self.refuse([*pseudo(method), ("content-length", "0")], HIDDEN, f"{method}, 0 with content")

    def test_lengths_that_are_none(self):
        for values in (["5", "5"], ["5", "6"], ["5, 5"], ["+5"], ["-5"], ["0x5"], ["5 "], [" 5"], [""], ["5\t"], ["5;a"], ["٥".encode()],
                       ["18446744073709551621"], ["9223372036854775808"], ["05"], ["5.0"], ["5_"]):
            # What is equal to a length by white space or a zero may pass as that.
            if values in (["5 "], [" 5"], ["5\t"], ["05"]):
                with self.subTest(values), self.http2() as client:
                    self.upstream.reset()
                    stream = client.open([*pseudo("POST"), ("content-length", values[0])], end=False)
                    client.send(frame(DATA, END_STREAM, stream, b"abcde"))
                    record = client.over(stream)
                    if record.status == 200:
                        self.assertEqual((self.upstream.one().body, self.upstream.one().fields.all("content-length")),
                                         (b"abcde", [values[0].strip().lstrip("0")]))
                    else:
                        self.assert_untouched()
            else:
                self.refuse([*pseudo("POST"), *(("content-length", value) for value in values)], "abcde", f"lengths {values}")

    def test_fields_of_a_connection(self):
        """H2.TE, and the others of RFC 9113 section 8.2.2."""
        for name, value in (
                ("transfer-encoding", "chunked"), ("transfer-encoding", "identity"), ("transfer-encoding", ""),
                ("transfer-encoding", "xchunked"), ("connection", "close"), ("connection", "transfer-encoding"), ("keep-alive", "5"),
                ("proxy-connection", "keep-alive"), ("upgrade", "h2c"), ("upgrade", "websocket"), ("te", "chunked"),
                ("te", "trailers, deflate"), ("te", "gzip")):
            self.refuse([*pseudo("POST"), (name, value)], f"0\r\n\r\n{HIDDEN}", f"{name}: {value}")

    def test_names_that_are_no_names(self):
        for name in ("transfer-encoding ", "transfer-encoding\t", " transfer-encoding", "\ttransfer-encoding", "Transfer-Encoding",
                     "transfer-encodinG", "transfer-encoding:", "transfer-encoding: chunked\r\nx", "x\r\ntransfer-encoding", "x\ry", "x\ny",
                     "x\0y", "x y", "x:y", ":", ":x", ":method ", ":Method", "", "foo\x7f", "fo\xf6", b"\xef\xbb\xbfhost", "x(y)", 'x"y',
                     "x/y", "x,y", "x;y", "x=y", "x@y", "x[y", "x{y", "X-A", "content-length\0", "host\r\n", "cookie\r\n", "coo kie"):
            self.refuse([*pseudo("POST"), (name, "chunked")], f"0\r\n\r\n{HIDDEN}", f"name {name!r}")

    def test_other_spellings_of_a_name_bring_no_such_field(self):
        for path in ("/plain", "/passing"):
            for name in ("transfer_encoding", "content_length"):
                with self.subTest(name, path=path), self.http2() as client:
                    self.upstream.reset()
                    stream = client.open([*pseudo("POST", path), (name, "chunked" if name[0] == "t" else "3")], end=False)
                    client.send(frame(DATA, END_STREAM, stream, b"abcde"))
                    record = client.over(stream)
                    if record.status == 200:
                        self.assertNotIn(name, self.upstream.one().fields)
                        self.assertEqual(self.upstream.one().body, b"abcde")
                    else:
                        self.assert_problem(record, 400)
                        self.assert_untouched()

    def test_values_that_are_no_values(self):
        for value in ("a\r\nTransfer-Encoding: chunked", "a\nb", "a\rb", "a\0b", "\0", "a\r\n\r\n" + HIDDEN, "a\r\n b", "\r\n", "\n", "a\x0bb",
                      "a\x0cb", "a\x1bb", "a\x7fb", "a\x01"):
            for name in ("x-a", "cookie", "content-type", "user-agent", "te", "expect", "x-forwarded-for"):
                self.refuse([*pseudo("POST"), (name, value)], "abc", f"{name}: {value!r}")

    def test_values_with_white_space_at_their_ends(self):
        """RFC 9113 section 8.2.1 allows none."""
        for value in (" a", "a ", "\ta", "a\t", " "):
            self.refuse([*pseudo(), ("x-a", value)], None, f"value {value!r}")

    def test_a_bad_value_among_good_cookies(self):
        self.refuse([*pseudo(), ("cookie", "a=1"), ("cookie", "b=2\r\nX-Evil: 1"), ("cookie", "c=3")], None, "a cookie")

    def test_requests_lines_in_methods(self):
        for method in ("GET /hidden HTTP/1.1\r\nX: ", "GET ", " GET", "G T", "GET\r\n", "GET\n", "GET\0", "", "GET\t", "G:T", "GET/", "GE(T)",
                       "POST /hidden HTTP/1.1\r\nHost: a\r\n\r\n", "G\xcbT", "GET\x7f"):
            self.refuse(pseudo(method), None, f"method {method!r}")

    def test_methods_that_are_not_served(self):
        self.refuse([(":method", "CONNECT"), (":authority", "a.example:443")], None, "CONNECT", also=(404, 405, 501))
        self.refuse(pseudo("CONNECT"), None, "CONNECT with a path", also=(404, 405, 501))
        self.refuse([*pseudo("CONNECT"), (":protocol", "websocket")], None, "extended CONNECT", also=(404, 405, 501))

    def test_targets_that_are_none(self):
        for target in ("/a b", "/a HTTP/1.1\r\nHost: x", "/a\r\nX: y", "/a\nb", "/a\rb", "/a\0b", "/a#b", "/a\tb", "/a\x7fb", "", "a", "*",
                       "http://a.example/hidden", "https://client.example/", "//\r\n", "/\r\n\r\n" + HIDDEN, "?a", "#", " /a", "/a ", "a.example:80",
                       "/a\x01", "/\xe4", "/%", "/%zz", "/..", "/a/../b", "/%2e%2e/a"):
            method = "GET" if target != "*" else "POST"
            if target == "/\xe4":
                # Octets beyond ASCII are a matter of `target_characters`: lenient ones pass as they came, in the line's one place.
                with self.subTest(target), self.http2() as client:
                    self.upstream.reset()
                    if client.over(client.request(path=b"/\xe4")).status == 200:
                        self.assertEqual(self.upstream.one().target, "/\xe4")
                    else:
                        self.assert_untouched()
                continue
            self.refuse(pseudo(method, target), None, f"target {target!r}")

    def test_schemes(self):
        for scheme in ("HTTPS", "ftp", "", "http\r\nX: y", "http://evil.example/?", "http ", " http", "http:", "file", "http\0", "ws"):
            self.refuse(pseudo(scheme=scheme), None, f"scheme {scheme!r}")
        for scheme in ("HTTP", "ftp", ""):
            with self.subTest(scheme, tls=True), HTTP2Client(self.tls, certificates().client_context()) as client:
                self.upstream.reset()
                record = client.over(client.open(pseudo(scheme=scheme, authority="a.example")))
                self.assertTrue(record.reset or record.status == 400, (record.reset, record.status))
                self.assert_untouched()
        # Who ends TLS in front says what its own client used: it decides nothing, and no upstream hears of it.
        for scheme, port, context in (("https", self.recast.port, None), ("http", self.tls, certificates().client_context())):
            with self.subTest(scheme, tls=context is not None), HTTP2Client(port, context) as client:
                self.upstream.reset()
                self.assertEqual(client.over(client.open(pseudo(scheme=scheme, authority="a.example"))).status, 200)
                self.assertEqual(self.upstream.one().fields.get("X-Forwarded-Proto"), "https" if context else "http")

    def test_authorities_that_are_none(self):
        for authority in ("a.example\r\nX: y", "a.example\n", "a.example\0", "a b", " a", "a.example/", "a.example/x", "user@a.example", "a@b:80",
                          "a.example:", "a.example:x", "a.example:99999", "a.example:80:80", "a,b", "a.example?x", "a.example#x", "[::1", "::1",
                          "a\\b", "a\tb", "a.example:80\r\nTransfer-Encoding: chunked", "%", "a\x7fb", ""):
            if authority == "a.example:":
                # A port may be empty (RFC 3986 section 3.2.3).
                continue
            self.refuse(pseudo(authority=authority), None, f"authority {authority!r}")

    def test_hosts_that_are_none_or_another_s(self):
        for host in ("b.example", "client.example:8080", "client.example:080", "client.example@evil", "client.example, evil", "", "client.example/",
                     "client.example\r\nX: y", "[::1]", "client.example.", "xclient.example", "client.example:x", "evil@client.example"):
            if host == "client.example:080":
                continue  # one number is one port
            self.refuse([*pseudo(), ("host", host)], None, f"host {host!r}")
        for host in ("a\r\nX: y", "a b", "a/b", "a@b", "a,b", "a:x", "", " "):
            self.refuse([*pseudo(authority=None), ("host", host)], None, f"host {host!r} alone")
        self.refuse([*pseudo(), ("host", "client.example"), ("host", "client.example")], None, "host twice")
        self.refuse([*pseudo(authority=None), ("host", "a.example"), ("host", "b.example")], None, "host twice alone")
        self.refuse(pseudo(authority=None), None, "neither")

    def test_pseudo_fields(self):
        for name, fields in {
            "two paths": [*pseudo(), (":path", "/hidden")],
            "two equal paths": [*pseudo(), (":path", "/plain")],
            "two methods": [*pseudo(), (":method", "POST")],
            "two schemes": [*pseudo(), (":scheme", "http")],
            "two authorities": [*pseudo(), (":authority", "evil.example")],
            "no method": pseudo(method=None),
            "no path": pseudo(path=None),
            "no scheme": pseudo(scheme=None),
            "nothing but a method": [(":method", "GET")],
            "a status": [*pseudo(), (":status", "200")],
            "an unknown one": [*pseudo(), (":foo", "bar")],
            "a protocol": [*pseudo(), (":protocol", "websocket")],
            "behind another field": [(":method", "GET"), (":scheme", "http"), ("x-a", "b"), (":path", "/"), (":authority", "a")],
            "authority behind host": [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("host", "a"), (":authority", "a")],
            "behind a cookie": [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("cookie", "a=b"), (":authority", "a")],
            "in capitals": [(":Method", "GET"), *pseudo(method=None)],
            "none at all": [("x-a", "b")],
            "no fields": [],
        }.items():
            self.refuse(fields, None, name)

    def test_trailers(self):
        """What came before them has gone on its way: it is never completed."""
        for name, trailers in {
            "a pseudo-field": [(":path", "/hidden")],
            "a method": [(":method", "GET")],
            "a status": [(":status", "200")],
            "transfer-encoding": [("transfer-encoding", "chunked")],
            "connection": [("connection", "close")],
            "a length": [("content-length", "0")],
            "another length": [("content-length", "999")],
            "capitals": [("X-Sum", "1")],
            "a line's end in the value": [("x-sum", "1\r\nX-Evil: 1")],
            "a request in the value": [("x-sum", "1\r\n\r\n" + HIDDEN)],
            "a zero": [("x-sum", "1\0")],
            "a line's end in the name": [("x-sum: 1\r\nx", "1")],
            "no name": [("", "1")],
            "a space in the name": [("x-sum ", "1")],
            "too many": [(f"x-{number}", "1") for number in range(200)],
            "too large": [("x-sum", "1" * 60_000)],
        }.items():
            for target in ("/trailing", "/plain"):
                if name == "a length":
                    # RFC 9110 section 6.5.1 lets a recipient drop it; it must never be merged.
                    continue
                self.refuse(pseudo("POST", target), "abc", f"{name} {target}", untouched=False, trailers=trailers)

    def test_trailers_that_are_none_are_dropped(self):
        raw = []

        def script(exchange):
            exchange.reader.until(b"0\r\n")
            raw.append(exchange.reader.until(b"\r\n\r\n") if exchange.reader.buffer != b"\r\n" else exchange.reader.until(b"\r\n"))
            exchange.answer()

        for name, value in (("host", "evil"), ("authorization", "Bearer a"), ("content-length", "3"), ("content-type", "a/b")):
            with self.subTest(name), self.http2() as client:
                self.upstream.reset()
                self.upstream.script = script
                stream = client.open(pseudo("POST", "/trailing"), end=False)
                client.send(frame(DATA, 0, stream, b"abc")
                            + frame(HEADERS, END_HEADERS | END_STREAM, stream, block([(name, value), ("x-sum", "1")])))
                record = client.over(stream)
                if record.status == 200:
                    self.assertNotIn(name.encode(), raw.pop().lower())
                else:
                    self.assertNotEqual(record.reset, None)

    def test_heads_beyond_the_limits(self):
        self.refuse([*pseudo(), *((f"x-{number}", "a") for number in range(200))], None, "200 fields")
        self.refuse([*pseudo(), ("x-a", "a" * 20_000)], None, "a long line")
        self.refuse([*pseudo(), *((f"x-{number}", "a" * 2000) for number in range(60))], None, "120 kB")
        self.refuse(pseudo(path="/" + "a" * 20_000), None, "a long target")
        self.refuse([*pseudo(), ("x" * 300, "a")], None, "a long name")
        self.refuse([*pseudo(), *(("cookie", f"a{number}=" + "b" * 900) for number in range(80))], None, "72 kB of cookies")
        with self.http2() as client:
            record = client.over(client.request(fields=[("x-a", "a" * 2000)] * 45))
            self.assertEqual(record.status, 431)

    def test_tunnelling_by_head(self):
        """The response to HEAD has no content, whatever its fields say: what stands behind it is not another's answer."""
        self.upstream.script = lambda exchange: exchange.send(
            "HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n" + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        with self.http2() as client:
            self.assertEqual(client.exchange("HEAD").count, 0)
            self.upstream.script = lambda exchange: exchange.answer(body=b"mine")
            self.assertEqual(bytes(client.exchange().body), b"mine")

    def test_answers_before_the_content(self):
        """0.CL: a broken upstream answers a request at once, and takes its content for the next one. Nobody gets that one's answer."""
        self.upstream.script = lambda exchange: exchange.answer(body=exchange.received.target.encode())
        with self.http2() as client, self.http2() as other:
            stream = client.request("POST", fields=[("content-length", str(len(HIDDEN)))], end=False)
            record = client.streams[stream]
            client.until(lambda: record.is_over)
            client.send_all([frame(DATA, END_STREAM, stream, HIDDEN.encode())])
            client.pause()
            for number in range(5):
                self.assertEqual(bytes(other.exchange(path=f"/next/{number}").body), f"/next/{number}".encode())

    def test_the_end_of_content_is_waited_for(self):
        """A request whose length is reached may still be malformed: it isn't whole, for the upstream, before its stream has ended
        (RFC 9113 section 8.1.1: a malformed request must not be forwarded)."""
        for method, length in (("POST", 0), ("GET", 0), ("DELETE", 0), ("POST", 3)):
            with self.subTest(method, length=length), self.http2() as client:
                self.upstream.reset()
                stream = client.open([*pseudo(method), ("content-length", str(length))], end=False)
                if length:
                    client.send(frame(DATA, 0, stream, b"abc"))
                client.pause()
                client.more(0.3)  # an answer, if one comes
                client.send_all([frame(DATA, END_STREAM, stream, HIDDEN.encode())])
                record = client.over(stream)
                self.assertEqual((record.status, record.reset), (None, PROTOCOL_ERROR))
                for received in list(self.upstream.requests):
                    self.assertTrue(received.ended.wait(DEADLINE))
                    self.assertFalse(received.is_complete)

    def test_what_is_put_into_the_table_is_checked_each_time(self):
        """A bad field that is indexed is as bad when it comes by its number."""
        with self.http2() as client:
            first = block(pseudo()) + literal("x-a", "b\r\nTransfer-Encoding: chunked", first=0x40)
            self.assertTrue(client.over(client.open(None, block_=first)).status != 200)
            if not client.closed:
                self.assertTrue(client.over(client.open(None, block_=block(pseudo()) + b"\xbe")).status != 200)
        self.assert_untouched()

    def test_accepted_things_are_one_request_each(self):
        self.accept([*pseudo("POST"), ("content-length", str(len(HIDDEN)))], HIDDEN, "content that looks like a request",
                    lambda received: self.assertEqual(received.body, HIDDEN.encode()))
        self.accept(pseudo("POST"), "0\r\n\r\n" + HIDDEN, "content that looks like chunks",
                    lambda received: self.assertEqual(received.body, b"0\r\n\r\n" + HIDDEN.encode()))
        self.accept(pseudo("GET"), HIDDEN, "GET with content", lambda received: self.assertEqual(received.body, HIDDEN.encode()))
