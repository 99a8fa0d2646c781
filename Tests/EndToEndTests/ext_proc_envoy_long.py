"""A real Envoy with Recast as its external processor: long bodies, and what needs many tries. Not among the suite's modules:
scripts/proxies runs it with each version of Envoy that it knows."""

import concurrent.futures
import hashlib
import os
import threading
import unittest

from bounded_memory_tests import BLOCK, blocks, digest
from ext_proc_envoy_tests import MIB, EnvoyTestCase
from harness import FORM, JSON, MEMORY_FACTOR, memory_of, make_multipart
from raw_client import Client

SIZE = 100 * MIB


class LongBodyTests(EnvoyTestCase):
    BEGIN = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    END = b"\r\n--x--\r\n"

    def upload(self, target, pieces, length):
        with Client(self.port) as client:
            framing = f"Content-Length: {length}" if length else "Transfer-Encoding: chunked"
            client.send(f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n{framing}\r\n\r\n")
            for piece in pieces:
                client.send(piece if length else b"%x\r\n%s\r\n" % (len(piece), piece))
            if not length:
                client.send(b"0\r\n\r\n")
            return client.response()

    def test_an_upload_of_100_mib(self):
        expected = digest(blocks(BLOCK, SIZE))
        seen = {}

        def script(exchange):
            state, count, head = hashlib.sha256(), 0, b""
            for piece in exchange.reader.body_pieces(exchange.received.fields):
                if b"\r\n\r\n" not in head:
                    head += piece
                    if b"\r\n\r\n" not in head:
                        continue
                    piece = head.partition(b"\r\n\r\n")[2]
                taken = piece[:max(0, SIZE - count)]
                state.update(taken)
                count += len(taken)
            seen.update(digest=state.hexdigest(), count=count)
            exchange.answer()

        self.upstream.script = script
        before = memory_of(self.recast.process, "VmHWM")
        for target in ("/to-parts", "/plain"):
            for length in (len(self.BEGIN) + SIZE + len(self.END), None):
                with self.subTest(target, length=length):
                    seen.clear()
                    response = self.upload(target, [self.BEGIN, *blocks(BLOCK, SIZE), self.END], length)
                    self.assertEqual(response.status, 200, response.body)
                    self.assertEqual(seen, {"digest": expected, "count": SIZE})
        self.assertLess(memory_of(self.recast.process, "VmHWM") - before, 16 * MIB * MEMORY_FACTOR)

    def test_an_answer_of_100_mib(self):
        def script(exchange):
            exchange.read_body()
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {SIZE}\r\n\r\n")
            for block in blocks(BLOCK, SIZE):
                exchange.send(block)

        self.upstream.script = script
        before = memory_of(self.recast.process, "VmHWM")
        with Client(self.port) as client:
            client.request("GET", "/plain")
            _, fields = client.reader.head()
            self.assertEqual(digest(client.reader.body_pieces(fields)), digest(blocks(BLOCK, SIZE)))
        self.assertLess(memory_of(self.recast.process, "VmHWM") - before, 16 * MIB * MEMORY_FACTOR)

    def test_many_uploads_of_more_than_a_mebibyte(self):
        """Envoy's issue 46237: with bodies of that size the last piece may come twice. All must be whole, none longer."""
        content = os.urandom(1_670_000)
        body, media_type = make_multipart([("file", "f.bin", content)])
        wrong, lock = [], threading.Lock()

        def script(exchange):
            exchange.read_body()
            if exchange.received.parts[0][3] != content:
                with lock:
                    wrong.append(len(exchange.received.body))
            exchange.answer()

        self.upstream.script = script
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            statuses = list(pool.map(lambda _: self.send("POST", "/to-parts", body, media_type).status, range(100)))
        self.assertEqual((set(statuses), wrong), ({200}, []))

    def test_many_at_once(self):
        def ask(number):
            response = self.send("POST", "/to-json", b"n=%d" % number, FORM)
            return response.status, response.body

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=exchange.received.body, fields=[f"Content-Type: {JSON}"])

        self.upstream.script = script
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            self.assertEqual(list(pool.map(ask, range(2000))), [(200, b'{"n":"%d"}' % number) for number in range(2000)])


if __name__ == "__main__":
    unittest.main()
