"""Clients of HTTP/2 that others wrote: h2load, nghttp, httpx, curl with many streams, Go's net/http."""

import os
import re
import subprocess
import tempfile

from harness import DEADLINE, FORM, free_port
from http2_client import HTTP2TestCase
from tls_support import certificates, pair, path

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: plain, match: "/plain*", upstream: app }
"""

GO = """
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func main() {
	pem, _ := os.ReadFile(os.Args[2])
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "a.example"}, ForceAttemptHTTP2: true}}
	var group sync.WaitGroup
	var lock sync.Mutex
	for number := 0; number < 8; number++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			var err error
			var response *http.Response
			if number%2 == 0 {
				response, err = client.Get(os.Args[1] + "/plain/download")
			} else {
				response, err = client.Post(os.Args[1]+"/plain/upload", "text/plain", bytes.NewReader(make([]byte, 8<<20)))
			}
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				fmt.Println(number%2, err)
				return
			}
			count, err := io.Copy(io.Discard, response.Body)
			fmt.Println(number%2, response.Proto, response.StatusCode, count, err)
		}(number)
	}
	group.Wait()
}
"""


class ToolTests(HTTP2TestCase):
    routes = ROUTES
    access_log = "off"

    @classmethod
    def setUpClass(cls):
        cls.tls = free_port()
        cls.listeners = (f"{{address: '127.0.0.1:{cls.tls}', tls: {{{pair('server')}}}}}",)
        super().setUpClass()

    def run_tool(self, *arguments, **options):
        result = subprocess.run(arguments, capture_output=True, timeout=DEADLINE * 2, **options)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result.stdout.decode()

    def h2load(self, count, *options, target=None):
        text = self.run_tool("h2load", f"--requests={count}", *options, target or self.url("/plain"))
        found = re.search(r"requests: (\d+) total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored", text)
        self.assertEqual([int(number) for number in found.groups()], [count, count, 0, 0], text)
        statuses = re.search(r"status codes: (\d+) 2xx", text)
        self.assertEqual(int(statuses.group(1)), count, text)

    def test_h2load(self):
        for options in (("--clients=1", "--max-concurrent-streams=32"), ("--clients=8", "--max-concurrent-streams=32"),
                        ("--clients=8", "--max-concurrent-streams=1"), ("--clients=1", "--max-concurrent-streams=100"),
                        ("--clients=4", "--max-concurrent-streams=10", "--window-bits=16", "--connection-window-bits=16")):
            with self.subTest(options):
                self.upstream.reset()
                self.h2load(900, *options)
                self.assertEqual(len(self.upstream.requests), 900)

    def test_h2load_with_bodies(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"a=1&b=" + b"x" * 50_000)
            file.flush()
            for options in (("--clients=1", "--max-concurrent-streams=32"), ("--clients=8", "--max-concurrent-streams=8")):
                with self.subTest(options):
                    self.upstream.reset()
                    self.h2load(900, *options, f"--data={file.name}", f"--header=content-type: {FORM}", target=self.url("/form-json"))
                    self.assertEqual({received.json["a"] for received in self.upstream.requests}, {"1"})

    def test_h2load_over_tls(self):
        self.h2load(900, "--clients=2", "--max-concurrent-streams=32", target=f"https://127.0.0.1:{self.tls}/plain")

    def test_h2load_with_large_answers(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * 300_000))
        self.h2load(300, "--clients=3", "--max-concurrent-streams=20")

    def test_nghttp(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"a=1&b=" + b"x" * 60_000 + b"&c=" + b"y" * 60_000)
            file.flush()
            self.run_tool("nghttp", "--null-out", f"--data={file.name}", f"--header=content-type: {FORM}", self.url("/form-json"))
            self.assertEqual(self.upstream.one().json, {"a": "1", "b": "x" * 60_000, "c": "y" * 60_000})
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"y" * 100_000))
        text = self.run_tool("nghttp", "--stat", "--null-out", "--verbose", "--multiply=20", self.url("/plain"))
        self.assertEqual(text.count(":status: 200"), 20)
        self.assertNotIn("RST_STREAM", text)

    def test_nghttp_with_trailers_padding_and_a_continuation(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"abc")
            file.flush()
            text = self.run_tool("nghttp", "--verbose", "--padding=100", "--continuation", "--trailer=x-sum: 1", f"--data={file.name}",
                                 self.url("/plain"))
        self.assertIn(":status: 200", text)
        self.assertEqual(self.upstream.one().body, b"abc")

    def test_httpx(self):
        import httpx

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=exchange.received.body * 10)

        self.upstream.script = script
        with httpx.Client(http2=True, http1=False, timeout=DEADLINE) as client:
            for size in (0, 1, 100_000, 3_000_000):
                response = client.post(self.url("/plain"), content=b"x" * size)
                self.assertEqual((response.http_version, response.status_code, len(response.content)), ("HTTP/2", 200, size * 10))
            self.upstream.reset()
            self.assertEqual(client.post(self.url("/form-json"), data={"a": "1", "b": "ä"}).status_code, 200)
            self.assertEqual(self.upstream.one().json, {"a": "1", "b": "ä"})
            self.assertEqual(client.get(self.url("/nowhere")).json()["status"], 404)
        with httpx.Client(http2=True, verify=certificates().client_context(check_hostname=False), timeout=DEADLINE) as client:
            for _ in range(20):
                response = client.get(f"https://127.0.0.1:{self.tls}/plain")
                self.assertEqual((response.http_version, response.status_code), ("HTTP/2", 200))

    def test_curl_with_many_streams(self):
        """Over TLS: Debian's curl gives up all but the first of parallel requests by prior knowledge, at any server."""
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b"x" * 100_000))
        result = self.run_tool(
            "curl", "--silent", "--parallel", "--parallel-max", "50", "--cacert", path("ca.pem"), "--resolve",
            f"a.example:{self.tls}:127.0.0.1", "--write-out", "%{http_version}/%{http_code} ", "--output", "/dev/null",
            f"https://a.example:{self.tls}/plain/[1-100]")
        self.assertEqual(result.split(), ["2/200"] * 100)

    def test_curl_with_large_contents_over_tls(self):
        def script(exchange):
            count = sum(len(piece) for piece in exchange.reader.body_pieces(exchange.received.fields))
            exchange.received.is_complete = True
            exchange.answer(body=b"x" * count)

        self.upstream.script = script
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(32 << 20)
            result = self.run_tool(
                "curl", "--silent", "--cacert", path("ca.pem"), "--resolve", f"a.example:{self.tls}:127.0.0.1", "--upload-file", file.name,
                "--write-out", "%{http_version} %{http_code} %{size_upload} %{size_download}", "--output", "/dev/null",
                f"https://a.example:{self.tls}/plain/upload")
        self.assertEqual(result, f"2 200 {32 << 20} {32 << 20}")

    def test_go(self):
        """It gives windows back in small steps."""
        def script(exchange):
            count = sum(len(piece) for piece in exchange.reader.body_pieces(exchange.received.fields))
            exchange.received.is_complete = True
            if "download" not in exchange.received.target:
                return exchange.answer(body=b"%d" % count)
            exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {64 << 20}\r\n\r\n")
            for _ in range(64):
                exchange.send(b"x" * (1 << 20))

        self.upstream.script = script
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "main.go"), "w") as file:
                file.write(GO)
            program = os.path.join(folder, "client")
            self.run_tool("go", "build", "-o", program, os.path.join(folder, "main.go"), env={**os.environ, "GO111MODULE": "off"})
            text = self.run_tool(program, f"https://127.0.0.1:{self.tls}", path("ca.pem"))
        self.assertEqual(sorted(text.splitlines()), [f"0 HTTP/2.0 200 {64 << 20} <nil>"] * 4 + ["1 HTTP/2.0 200 7 <nil>"] * 4)
