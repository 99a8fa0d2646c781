"""Where messages begin and end: keep-alive, pipelining, HTTP/1.0, responses without a body, what is refused."""

import glob
import json
import os

from harness import DEADLINE, FORM, JSON, ROOT, Client, Closed, ProxyTestCase


class FramingTests(ProxyTestCase):
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: small, match: /small, upstream: app, limits: { body: 1KiB }, request: form -> json }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_a_client_connection_and_an_upstream_connection_are_reused(self):
        client = self.client()
        for number in range(5):
            client.request("POST", "/form-json", b"n=%d" % number, FORM)
            self.assertEqual(client.response().status, 200)
        seen = self.upstream.wait_for(5)
        self.assertEqual([received.json["n"] for received in seen], ["0", "1", "2", "3", "4"])
        self.assertEqual(len({received.connection_number for received in seen}), 1)

    def test_pipelined_requests_are_answered_in_order(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(body=exchange.received.target.encode() + b":" + exchange.received.body)

        self.upstream.script = script
        client = self.client()
        text = ""
        for number in range(20):
            body = f"n={number}"
            text += f"POST /form-json?{number} HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            text += f"GET /plain?{number} HTTP/1.1\r\nHost: a\r\n\r\n"
        client.send(text)
        for number in range(20):
            self.assertEqual(client.response().body, b'/form-json?%d:{"n":"%d"}' % (number, number))
            self.assertEqual(client.response().body, b"/plain?%d:" % number)

    def test_a_request_may_come_byte_by_byte(self):
        client = self.client()
        for byte in b"POST /form-json HTTP/1.1\r\nHost: a\r\nContent-Type: " + FORM.encode() + b"\r\nContent-Length: 7\r\n\r\na=1&b=2":
            client.send(bytes([byte]))
        self.assertEqual(client.response().status, 200)
        self.assertEqual(self.upstream.one().json, {"a": "1", "b": "2"})

    def test_a_chunked_request_with_extensions_and_trailers_is_read(self):
        client = self.client()
        client.send(f"POST /form-json HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "3;x=\"y\"\r\na=1\r\n4\r\n&b=2\r\n0\r\nX-Trailer: t\r\n\r\n")
        self.assertEqual(client.response().status, 200)
        received = self.upstream.one()
        self.assertEqual(received.json, {"a": "1", "b": "2"})
        self.assertNotIn("x-trailer", received.fields)

    def test_no_content_is_told_as_the_client_told_it(self):
        for method in ("GET", "DELETE", "OPTIONS", "PROPFIND", "POST", "PUT", "PATCH"):
            for lines, length in (([], ["0"] if method in ("POST", "PUT", "PATCH") else []), (["Content-Length: 0"], ["0"])):
                with self.subTest(method, lines=lines):
                    self.upstream.reset()
                    client = self.client()
                    client.request(method, "/plain", fields=lines)
                    self.assertEqual(client.response().status, 200)
                    received = self.upstream.one()
                    self.assertEqual(received.fields.all("content-length"), length)
                    self.assertNotIn("transfer-encoding", received.fields)

    def test_an_http_1_0_client_gets_an_unchunked_response_and_the_end_of_the_connection(self):
        for framing in ("length", "chunked", "close"):
            with self.subTest(framing):
                self.upstream.reset()

                def script(exchange, framing=framing):
                    exchange.read_body()
                    exchange.answer(body=b"text of the answer", framing=framing)

                self.upstream.script = script
                client = self.client()
                client.send(f"POST /form-json HTTP/1.0\r\nContent-Type: {FORM}\r\nContent-Length: 3\r\n\r\na=1")
                response = client.response()
                self.assertEqual((response.status, response.body), (200, b"text of the answer"))
                self.assertNotIn("transfer-encoding", response.fields)
                self.assertTrue(client.is_closed())
                received = self.upstream.one()
                self.assertEqual((received.version, received.json), ("HTTP/1.1", {"a": "1"}))

    def test_every_framing_of_a_response_reaches_the_client(self):
        for framing in ("length", "chunked", "close"):
            with self.subTest(framing):
                def script(exchange, framing=framing):
                    exchange.read_body()
                    exchange.answer(body=b"x" * 200000, framing=framing)

                self.upstream.script = script
                client = self.client()
                client.request("GET", "/plain")
                self.assertEqual(client.response().body, b"x" * 200000)

    def test_head_has_no_body_and_the_connection_goes_on(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.method == "HEAD":
                exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n")
            else:
                exchange.answer(body=b"next")

        self.upstream.script = script
        client = self.client()
        client.request("HEAD", "/plain")
        client.request("GET", "/plain")
        response = client.response("HEAD")
        self.assertEqual((response.status, response.fields.get("content-length")), (200, "12345"))
        self.assertEqual(client.response().body, b"next")

    def test_204_and_304_have_no_body_and_the_connection_goes_on(self):
        for status in (204, 304):
            with self.subTest(status):
                self.upstream.reset()

                def script(exchange, status=status):
                    exchange.read_body()
                    if exchange.received.target == "/none":
                        exchange.send(f"HTTP/1.1 {status} X\r\nETag: \"e\"\r\n\r\n")
                    else:
                        exchange.answer(body=b"next")

                self.upstream.script = script
                client = self.client()
                client.request("GET", "/none")
                client.request("GET", "/plain")
                response = client.response()
                self.assertEqual((response.status, response.body), (status, b""))
                self.assertNotIn("transfer-encoding", response.fields)
                self.assertEqual(client.response().body, b"next")

    def test_100_continue_is_sent_when_the_head_is_accepted_and_the_body_is_awaited(self):
        for path in ("/form-json", "/plain"):
            with self.subTest(path):
                self.upstream.reset()
                client = self.client()
                client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: 3\r\n"
                            "Expect: 100-continue\r\n\r\n")
                self.assertEqual(client.response().status, 100)
                client.send("a=1")
                self.assertEqual(client.response().status, 200)
                self.assertTrue(self.upstream.one().is_complete)

    def test_100_continue_is_not_sent_for_what_the_route_refuses(self):
        for path, media_type, length, status in (("/form-json", JSON, 3, 415), ("/small", FORM, 1025, 413), ("/plain", FORM, 3, 417)):
            with self.subTest(path):
                expectation = "banana" if status == 417 else "100-continue"
                client = self.client()
                client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n"
                            f"Expect: {expectation}\r\n\r\n")
                self.assertEqual(client.response().status, status)
                self.assert_untouched()

    def test_interim_responses_of_the_upstream_pass_or_vanish_but_never_end_the_exchange(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            exchange.answer(body=b"final")

        self.upstream.script = script
        client = self.client()
        client.request("GET", "/plain")
        response = client.response()
        if response.status == 103:
            response = client.response()
        self.assertEqual((response.status, response.body), (200, b"final"))

    def test_curl_gets_through_with_every_method_and_protocol_it_has(self):
        for arguments in ([], ["--http1.0"], ["--head"], ["--request", "DELETE"], ["--request", "PATCH", "--data", "x"],
                          ["-H", "Transfer-Encoding: chunked", "--data", "x"], ["-H", "Expect: 100-continue", "--data", "x"]):
            with self.subTest(" ".join(arguments)):
                self.assertEqual(self.curl(*arguments, self.url("/plain"))[0], 200)


class HostileRequestTests(ProxyTestCase):
    """The list of bad requests, over real sockets: whatever is refused is refused before an upstream acts on it."""

    routes = """
  - { name: reencode, match: /reencode, upstream: app, request: auto -> json }
  - { name: plain, match: "/*", upstream: app }
"""
    # These the client ends by half-closing, because they are cut short; the list itself says so.
    half_closed = {"cl-033", "ck-025", "ck-026", "ck-027", "fs-025", "fs-028", "fs-029", "jk-001", "jk-002", "jk-008", "jk-011"}

    def statuses(self, vector):
        """The final statuses on the connection; 0 at the end when it was closed without any."""
        found = []
        with Client(self.recast.port) as client:
            try:
                client.send(vector["raw"])
                if vector["id"] in self.half_closed:
                    client.finish_sending()
            except ConnectionError:
                pass  # refused while we were sending; the answer is still there
            methods = ["HEAD"] if vector["raw"].startswith("HEAD ") else []
            try:
                while True:
                    response = client.response(methods.pop() if methods else "GET")
                    if response.status >= 200:
                        found.append(response.status)
                    if response.fields.get("connection", "").lower() == "close":
                        break
                    client.finish_sending()  # nothing more will come: what is pending is answered, then it ends
            except (Closed, OSError):
                pass
        return found or [0]

    def test_the_whole_list(self):
        lists = glob.glob(os.path.join(ROOT, "Tests", "Vectors", "**", "http-bad-requests.json"), recursive=True)
        self.assertEqual(len(lists), 1, "Tests/Vectors holds http-bad-requests.json once")
        with open(lists[0]) as file:
            vectors = json.load(file)["vectors"]
        self.assertGreater(len(vectors), 200)
        for vector in vectors:
            with self.subTest(vector["id"], why=vector["why"]):
                self.upstream.reset()
                statuses = self.statuses(vector)
                self.assertIn(statuses[-1], vector["status"], statuses)
                if vector["expect"] == "reject" and vector["class"] not in ("pipeline", "reencode"):
                    complete = [received for received in self.upstream.requests if received.is_complete]
                    self.assertLessEqual(len(complete), statuses.count(200), [received.target for received in complete])

    def test_smuggled_requests_never_reach_the_upstream(self):
        hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
        for name, text in {
            "length and chunked": f"Content-Length: {5 + len(hidden)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
            "two lengths": f"Content-Length: 0\r\nContent-Length: {len(hidden)}\r\n\r\n{hidden}",
            "a list of lengths": f"Content-Length: 0, {len(hidden)}\r\n\r\n{hidden}",
            "chunked that isn't": f"Transfer-Encoding: xchunked\r\n\r\n{hidden}",
            "a space before the colon": f"Content-Length : {len(hidden)}\r\n\r\n{hidden}",
            "a folded line": f"X: y\r\n Transfer-Encoding: chunked\r\n\r\n{hidden}",
            "a bare LF": f"X: y\nContent-Length: 0\r\n\r\n{hidden}",
            "a chunk size that wraps": f"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n{hidden}",
            "a chunk longer than it says": f"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n{hidden}",
        }.items():
            with self.subTest(name):
                self.upstream.reset()
                client = self.client()
                client.send(f"POST /plain HTTP/1.1\r\nHost: a\r\n{text}")
                self.assertGreaterEqual(client.response().status, 400)
                self.assertTrue(client.is_closed())
                self.assertNotIn("/hidden", [received.target for received in self.upstream.requests])
                for received in list(self.upstream.requests):
                    self.assertTrue(received.ended.wait(DEADLINE))
                    self.assertFalse(received.is_complete)
