"""The scripted upstream itself, against curl: what the other tests trust must be true."""

import subprocess
import unittest

from harness import DEADLINE, Client, Closed, Upstream, make_multipart, parse_multipart


class UpstreamTests(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)

    def curl(self, *arguments, data=None):
        return subprocess.run(["curl", "--silent", "--max-time", str(DEADLINE), *arguments, f"http://127.0.0.1:{self.upstream.port}/x"],
                              input=data, capture_output=True)

    def test_records_a_body_with_length(self):
        self.assertEqual(self.curl("--data", "a=1").stdout, b"ok")
        received = self.upstream.one()
        self.assertEqual((received.method, received.target, received.body), ("POST", "/x", b"a=1"))
        self.assertTrue(received.is_complete)

    def test_records_a_chunked_body(self):
        self.curl("--upload-file", "-", data=b"x" * 100000)
        self.assertEqual(self.upstream.one().body, b"x" * 100000)

    def test_every_framing_of_a_response_is_read_by_curl(self):
        for framing in ("length", "chunked", "close"):
            with self.subTest(framing):
                def script(exchange, framing=framing):
                    exchange.read_body()
                    exchange.answer(body=b"some text", framing=framing)
                self.upstream.script = script
                self.assertEqual(self.curl().stdout, b"some text")

    def test_a_broken_request_is_not_complete(self):
        with Client(self.upstream.port) as client:
            client.send("POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345")
            self.upstream.wait_for(1)
        self.assertFalse(self.upstream.one().is_complete)

    def test_a_cut_response_is_seen_as_cut(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            exchange.close()
        self.upstream.script = script
        self.assertNotEqual(self.curl().returncode, 0)
        with Client(self.upstream.port) as client:
            client.request("GET", "/x")
            with self.assertRaises(Closed):
                client.response()

    def test_a_silent_upstream_can_be_reset(self):
        self.upstream.script = lambda exchange: exchange.reset()
        self.assertNotEqual(self.curl().returncode, 0)

    def test_multipart_written_by_curl_is_parsed(self):
        self.curl("-F", "a=1", "-F", "f=@/etc/hostname;filename=h.txt")
        parts = self.upstream.one().parts
        self.assertEqual([(name, filename) for name, filename, *_ in parts], [("a", None), ("f", "h.txt")])
        self.assertEqual(parts[0][3], b"1")

    def test_multipart_round_trip(self):
        body, media_type = make_multipart([("a", None, b"1\r\n2"), ("f", "x.bin", b"\r\n--\0")])
        self.assertEqual([(name, filename, content) for name, filename, _, content in parse_multipart(body, media_type)],
                         [("a", None, b"1\r\n2"), ("f", "x.bin", b"\r\n--\0")])


if __name__ == "__main__":
    unittest.main()
