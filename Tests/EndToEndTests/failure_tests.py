"""Clients that leave, upstreams that fail: what was cut short is never made to look complete, on either side."""

import threading

from harness import DEADLINE, FORM, JSON, Closed, ProxyTestCase, free_port, make_multipart


class ClientThatLeavesTests(ProxyTestCase):
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: json-form, match: /json-form, upstream: app, request: json -> form }
  - name: multipart
    match: /multipart
    upstream: app
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: multipart-json, match: /multipart-json, upstream: app, request: "multipart -> json(files: base64)" }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_a_small_body_that_was_cut_never_reaches_the_upstream(self):
        for leave in ("reset", "finish_sending"):
            with self.subTest(leave):
                self.upstream.reset()
                client = self.client()
                client.send(f"POST /form-json HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: 100\r\n\r\na=1&b=2")
                getattr(client, leave)()
                if leave == "finish_sending":
                    try:
                        self.assertIn(client.response().status, (400, 408))
                    except Closed:
                        pass
                # Another request has gone all the way, so the cut one, which came first, had its chance.
                self.assertEqual(self.send("POST", "/form-json?after", b"a=1", FORM).status, 200)
                self.assertEqual([received.target for received in self.upstream.requests], ["/form-json?after"])

    def assert_aborted_upstream(self, path, head, start):
        """Sends the start of a large body; once the upstream has seen its head the client resets."""
        self.upstream.reset()
        client = self.client()
        client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n")
        client.send(start)
        received = self.upstream.wait_for(1)[0]
        client.reset()
        self.assertTrue(received.ended.wait(DEADLINE), "the upstream isn't told that the client has left")
        self.assertFalse(received.is_complete)

    def test_a_large_body_that_was_cut_is_seen_as_cut_by_the_upstream(self):
        body, media_type = make_multipart([("a", None, b"1"), ("file", "f", b"x" * 500000)])
        document = b'{"a":["' + b"x" * 500000
        for path, head, start in (
            ("/plain", "Content-Length: 1000000", b"x" * 200000),
            ("/plain", "Transfer-Encoding: chunked", b"30d40\r\n" + b"x" * 200000 + b"\r\n"),
            ("/multipart", f"Content-Type: {media_type}\r\nContent-Length: {len(body)}", body[:-100]),
            ("/multipart", f"Content-Type: {media_type}\r\nContent-Length: {len(body) + 1}", body),
            ("/multipart-json", f"Content-Type: {media_type}\r\nContent-Length: {len(body)}", body[:-100]),
            # With a length it would be held until the upstream's is known.
            ("/json-form", f"Content-Type: {JSON}\r\nTransfer-Encoding: chunked", b"f4240\r\n" + document),
        ):
            with self.subTest(path, head=head):
                self.assert_aborted_upstream(path, head, start)

    def test_a_bad_body_found_late_aborts_what_the_upstream_has_begun_to_receive(self):
        body, media_type = make_multipart([("file", "f", b"x" * 500000)])
        for path, media_type, data in (
            ("/multipart", media_type, body[:-6]),
            ("/multipart-json", media_type, body[:-6]),
        ):
            with self.subTest(path):
                self.upstream.reset()
                response = self.send("POST", path, data, media_type)
                self.assert_problem(response, 400)
                received = self.upstream.one()
                self.assertFalse(received.is_complete)

    def test_a_client_that_half_closes_after_its_request_is_answered(self):
        client = self.client()
        client.request("POST", "/form-json", b"a=1", FORM)
        client.finish_sending()
        self.assertEqual(client.response().status, 200)

    def test_a_client_that_leaves_before_the_answer_ends_the_upstream_request(self):
        gone = threading.Event()

        def script(exchange):
            exchange.read_body()
            try:
                exchange.reader.exactly(1)
            except Closed:
                gone.set()
                raise

        self.upstream.script = script
        client = self.client()
        client.request("GET", "/plain")
        self.upstream.wait_for(1)
        client.reset()
        self.assertTrue(gone.wait(DEADLINE))


class UpstreamThatFailsTests(ProxyTestCase):
    further_upstreams = {"down": f"127.0.0.1:{free_port()}"}
    routes = """
  - { name: down, match: "/down/*", upstream: down }
  - { name: down-json, match: /down-json, upstream: down, request: form -> json }
  - { name: hasty, match: "/hasty/*", upstream: app, timeouts: { first_byte: 300ms } }
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - name: upload
    match: /upload
    upstream: app
    request: { decode: { as: multipart }, map: { rename: { a: b } }, encode: { as: multipart } }
  - { name: compressed, match: /compressed, upstream: app, compress: { plain: true } }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_an_upstream_that_is_down_is_a_502(self):
        self.assert_problem(self.send("GET", "/down/x"), 502)
        self.assert_problem(self.send("POST", "/down-json", b"a=1", FORM), 502)

    def test_an_upstream_that_never_answers_is_a_504_and_is_let_go(self):
        ended = threading.Event()

        def script(exchange):
            exchange.read_body()
            try:
                exchange.reader.exactly(1)
            finally:
                ended.set()

        self.upstream.script = script
        self.assert_problem(self.send("GET", "/hasty/x"), 504)
        self.assertTrue(ended.wait(DEADLINE))

    def test_an_upstream_that_closes_or_answers_nonsense_is_a_502(self):
        for name, text in {
            "nothing": "", "half a head": "HTTP/1.1 200 OK\r\nContent-Le", "no HTTP": "SSH-2.0-OpenSSH\r\n\r\n",
            "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "length and chunked": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "a status of four digits": "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
            "an unasked switch": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        }.items():
            with self.subTest(name):
                self.upstream.reset()

                def script(exchange, text=text):
                    exchange.read_body()
                    exchange.send(text)
                    exchange.close()

                self.upstream.script = script
                self.assert_problem(self.send("POST", "/form-json", b"a=1", FORM), 502)
                self.assertEqual(len(self.upstream.requests), 1, "a POST is not sent twice")

    def test_a_chunk_that_can_t_be_read_behind_the_head_is_a_502(self):
        for route in ("/plain", "/compressed"):
            with self.subTest(route):
                def script(exchange):
                    exchange.read_body()
                    exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n")
                    exchange.reader.rest()

                self.upstream.script = script
                client = self.client()
                for _ in range(2):
                    client.request("GET", route, fields=["Accept-Encoding: gzip"])
                    response = client.response()
                    self.assert_problem(response, 502, "upstream_bad_response")
                    self.assertIsNone(response.fields.get("content-encoding"))

    def test_a_response_that_was_cut_is_seen_as_cut_by_the_client(self):
        for name, head, body in (
            ("length", "Content-Length: 1000000", b"x" * 300000),
            ("chunked, between chunks", "Transfer-Encoding: chunked", b"493e0\r\n" + b"x" * 300000 + b"\r\n"),
            ("chunked, within a chunk", "Transfer-Encoding: chunked", b"493e0\r\n" + b"x" * 200000),
        ):
            for ending in ("close", "reset"):
                with self.subTest(name, ending=ending):
                    def script(exchange, head=head, body=body, ending=ending):
                        exchange.read_body()
                        exchange.send(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n")
                        exchange.send(body)
                        getattr(exchange, ending)()

                    self.upstream.script = script
                    client = self.client()
                    client.request("GET", "/plain")
                    with self.assertRaises(Closed):
                        if client.response().status == 502:
                            raise Closed("refused as a whole, which a reset may lead to")

    def test_F14_a_response_that_has_begun_never_ends_without_a_byte(self):
        """To a connection that does, clients send their request again, POST, too."""
        for head in ("Content-Length: 10", "Transfer-Encoding: chunked"):
            for ending in ("close", "reset"):
                with self.subTest(head, ending=ending):
                    def script(exchange, head=head, ending=ending):
                        exchange.read_body()
                        exchange.send(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n")
                        getattr(exchange, ending)()

                    self.upstream.reset()
                    self.upstream.script = script
                    client = self.client()
                    client.request("POST", "/plain", b"x")
                    self.assertIn(client.reader.head()[0].split()[1], ("200", "502"))
                    # None at all where a connection of HTTP/2 ends that another request has ended.
                    self.assertLessEqual(len(self.upstream.requests), 1)

    def test_more_bytes_than_the_response_announced_reach_nobody(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

        self.upstream.script = script
        for _ in range(5):
            self.assertEqual(self.send("GET", "/plain").body, b"ok")

    def test_an_early_answer_reaches_the_client_while_it_still_sends(self):
        body, media_type = make_multipart([("a", None, b"1"), ("file", "f", b"x" * (8 << 20))])
        for path in ("/plain", "/upload"):
            for ending in ("keeps reading", "close"):
                with self.subTest(path, ending=ending):
                    self.upstream.reset()

                    def script(exchange, ending=ending):
                        exchange.answer(status=413, body=b"too large for me", fields=())
                        if ending == "close":
                            exchange.close()
                        exchange.read_body()

                    self.upstream.script = script
                    client = self.client()
                    client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n")
                    client.send(body[:400000])  # more than what is held of it
                    response = client.response()
                    self.assertEqual((response.status, response.body), (413, b"too large for me"))
                    client.socket.close()
                    if ending == "close":
                        # One of HTTP/2 is shared: the next request may go out before its end has come, and isn't answered.
                        received = self.upstream.one()
                        self.assertTrue(getattr(received, "connection", received).ended.wait(DEADLINE))

    def test_curl_gets_an_early_answer_too(self):
        def script(exchange):
            exchange.answer(status=403, body=b"no", fields=())
            exchange.close()

        self.upstream.script = script
        status, body = self.curl("--upload-file", "-", self.url("/plain"), data=b"x" * (2 << 20))
        self.assertEqual((status, body), (403, b"no"))

    def test_one_sick_route_leaves_the_others_alone(self):
        for _ in range(20):
            self.assertEqual(self.send("GET", "/down/x").status, 502)
            self.assertEqual(self.send("GET", "/plain").status, 200)


class IdleUpstreamTests(ProxyTestCase):
    routes = """
  - { name: plain, match: "/*", upstream: app }
"""

    def test_a_pooled_connection_that_the_upstream_has_closed_is_not_used(self):
        closed = threading.Event()

        def script(exchange):
            exchange.read_body()
            exchange.answer()
            if exchange.received.target == "/first":
                exchange.connection.close()
                closed.set()
                exchange.close()

        self.upstream.script = script
        self.assertEqual(self.send("GET", "/first").status, 200)
        self.assertTrue(closed.wait(DEADLINE))
        for _ in range(5):
            self.assertEqual(self.send("POST", "/next", b"x").status, 200)
