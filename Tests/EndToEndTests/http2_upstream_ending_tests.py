"""Servers of HTTP/2 that give up what they have begun: what clients see of it."""

from harness import FORM, Client
from http2_client import (CANCEL, DATA, END_HEADERS, HEADERS, INTERNAL_ERROR, NO_ERROR, HTTP2Client, block, frame, reset)
from http2_upstream_support import HTTP2ServerTestCase

ROUTES = """
  - { name: converts, match: "/converted", upstream: app, response: form -> json }
  - { name: coded, match: "/coded", upstream: app, compress: { types: ["*/*"], min: 1B, plain: true } }
  - { name: plain, match: "/*", upstream: app }
"""
CALL = "application/grpc"


class HeadAloneTests(HTTP2ServerTestCase):
    """The head of a response and the stream's reset come in one read. To a connection that ends without a byte clients send their
    request again, POST, too: so all of them are answered."""

    def serve(self, fields=(), code=INTERNAL_ERROR):
        server = self.server()

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/next":
                return exchange.answer(body=b"next")
            number = exchange.stream.number
            with exchange.connection.changed:
                exchange.stream.code = code
            exchange.frames(frame(HEADERS, END_HEADERS, number, block([(":status", "200"), *fields])) + reset(number, code))
            return None

        server.script = script
        self.proxy(server, routes=ROUTES)
        return server

    def test_clients_of_http1_get_an_answer_and_go_on(self):
        for fields in ((), [("content-length", "100")], [("content-type", FORM)]):
            server = self.serve(fields)
            for target in ("/plain", "/coded", "/converted"):
                for method in ("GET", "POST"):
                    with self.subTest(fields=fields, target=target, method=method), Client(self.recast.port) as client:
                        before = len(server.requests)
                        client.request(method, target, b"x" if method == "POST" else None)
                        response = client.response(method)
                        converted = target == "/converted" and fields == [("content-type", FORM)]
                        self.assert_problem(response, 502, "upstream_body_incomplete" if converted else "upstream_reset")
                        if not converted:
                            self.assertIn("INTERNAL_ERROR", response.json["detail"])
                        client.request("GET", "/next")
                        self.assertEqual(client.response().body, b"next")
                        self.assertEqual(len(server.requests) - before, 2)
            self.assertEqual({line["status"] for line in self.recast.log_lines(12)}, {200, 502})

    def test_clients_of_http2_get_an_answer(self):
        self.serve()
        with HTTP2Client(self.recast.port) as client:
            answer = client.exchange(path="/plain")
            self.assertEqual((answer.status, answer.ended), (502, True))
            self.assertEqual(client.exchange(path="/next").status, 200)

    def test_calls_hear_it_as_calls_do(self):
        self.serve([("content-type", CALL)])
        with HTTP2Client(self.recast.port) as client:
            number = client.request("POST", "/plain", fields=[("content-type", CALL), ("te", "trailers")], end=False)
            client.content(number, bytes(5))
            record = client.over(number)
            self.assertEqual((record.status, record.fields.get("grpc-status"), record.ended), (200, "14", True))

    def test_the_code_is_the_server_s(self):
        for code, name in ((NO_ERROR, "NO_ERROR"), (CANCEL, "CANCEL"), (99, "the code 99")):
            with self.subTest(name):
                self.serve(code=code)
                self.assertIn(f"with {name}", self.send().json["detail"])

    def test_no_connection_ends_without_a_byte(self):
        """Where the server's whole connection ends behind the head that may have gone out; what is cut then has begun."""
        server = self.server()

        def script(exchange):
            exchange.read_body()
            head = frame(HEADERS, END_HEADERS, exchange.stream.number, block([(":status", "200")]))
            # A frame that breaks the connection.
            exchange.frames(head + frame(DATA, 0, 0, b"x"))
            exchange.leave()

        server.script = script
        self.proxy(server)
        for method in ("GET", "POST"):
            with self.subTest(method), Client(self.recast.port) as client:
                client.request(method, "/", b"x" if method == "POST" else None)
                self.assertIn(client.reader.head()[0].split()[1], ("200", "502"))
        self.assertEqual(len(server.requests), 2)
