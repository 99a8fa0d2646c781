"""Clients of HTTP/2 that others wrote: h2load, nghttp, httpx, curl with many streams, Go's net/http, Envoy, gRPC."""

import os
import re
import subprocess
import tempfile
import threading

from envoy import Envoy
from harness import DEADLINE, FORM, Client
from http2_client import SecuredTestCase
from tls_support import certificates, path

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


class ToolTests(SecuredTestCase):
    routes = ROUTES
    access_log = "off"

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

    def test_clients_that_send_all_before_they_read_get_a_refusal(self):
        """A stream that is reset behind its answer is an error to Debian's curl and to httpx, which show no answer then."""
        import httpx

        def script(exchange):
            exchange.answer(413, b"too much", fields=("Connection: close",))
            exchange.close()

        self.upstream.script = script
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(4 << 20)
            for target, status in (("/plain", 413), ("/nowhere", 404), ("/form-json", 415)):
                with self.subTest(target):
                    text = self.run_tool("curl", "--silent", "--http2-prior-knowledge", "--data-binary", f"@{file.name}", "--header",
                                         "content-type: text/plain", "--output", "/dev/null", "--write-out", "%{http_version} %{http_code}",
                                         self.url(target))
                    self.assertEqual(text, f"2 {status}")
                    # More than all windows, and no more: the rest behind an answer has two seconds, and httpx is slow.
                    with httpx.Client(http2=True, http1=False, timeout=DEADLINE) as client:
                        response = client.post(self.url(target), content=b"x" * (5 << 18), headers={"content-type": "text/plain"})
                        self.assertEqual(response.status_code, status)

    def test_curl_gets_an_answer_that_comes_before_its_upload_is_read(self):
        """Debian's curl reads nothing more behind an answer that ends while it waits for the window of its stream; nor behind the last byte
        of one whose length it knows."""
        def script(exchange):
            exchange.answer(200, b"hi", framing="chunked")
            exchange.reader.exactly(5 << 20)
            exchange.received.is_complete = True

        self.upstream.script = script
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(5 << 20)
            for _ in range(3):
                text = self.run_tool("curl", "--silent", "--http2-prior-knowledge", "--data-binary", f"@{file.name}",
                                     "--max-time", str(DEADLINE),
                                     "--write-out", " %{http_version} %{size_upload}", self.url("/plain"))
                self.assertEqual(text, f"hi 2 {5 << 20}")

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


# What stands for ports is replaced: 10001 and 10002 are where Envoy listens, 20001 and 20002 Recast's listeners.
ENVOY = """
admin: { address: { socket_address: { address: 127.0.0.1, port_value: 9901 } } }
static_resources:
  listeners:
%s
  clusters:
%s
"""
ENVOY_LISTENER = """
    - name: to-%(name)s
      address: { socket_address: { address: 127.0.0.1, port_value: %(listen)d } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: %(name)s
                codec_type: AUTO
                route_config:
                  virtual_hosts: [{ name: all, domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: %(name)s } }] }]
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
"""
ENVOY_CLUSTER = """
    - name: %(name)s
      type: STATIC
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: { connection_keepalive: { interval: 1s, timeout: 5s } } }
      load_assignment:
        cluster_name: %(name)s
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: %(port)d } } } }] }]
"""
ENVOY_TLS = """
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: a.example
          common_tls_context: { alpn_protocols: [h2], validation_context: { trusted_ca: { filename: %s } } }
"""


class EnvoyTests(SecuredTestCase):
    """Envoy as the client: what a mesh has before an app whose port is `kubernetes.io/h2c`."""

    routes = ROUTES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Envoy says the scheme that its own client used, over whatever connection.
        both = ({"name": "plain", "listen": 10001, "port": 20001}, {"name": "secured", "listen": 10002, "port": 20002})
        clusters = ENVOY_CLUSTER % both[0] + ENVOY_CLUSTER % both[1] + ENVOY_TLS % path("ca.pem")
        cls.envoy = Envoy(ENVOY % ("".join(ENVOY_LISTENER % one for one in both), clusters),
                          {20001: cls.recast.port, 20002: cls.tls}, admin=9901)
        cls.addClassCleanup(cls.envoy.stop)
        cls.envoy.until_ready()

    def ports(self):
        for listen in (10001, 10002):
            with self.subTest("over TLS" if listen == 10002 else "by prior knowledge"):
                self.upstream.reset()
                yield self.envoy.ports[listen]

    def test_many_requests_at_once(self):
        failures = []

        def ask(port, name):
            try:
                with Client(port) as client:
                    for number in range(20):
                        client.request("POST", "/form-json", f"name={name}&number={number}", FORM)
                        assert client.response().status == 200
            except Exception as error:  # noqa: BLE001 - whatever it is, the test has failed
                failures.append(error)

        for port in self.ports():
            threads = [threading.Thread(target=ask, args=(port, name)) for name in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertEqual({(one.json["name"], one.json["number"]) for one in self.upstream.requests},
                             {(str(name), str(number)) for name in range(16) for number in range(20)})
        self.assertEqual({line["proto"] for line in self.recast.log_lines(640)}, {"HTTP/2.0"})

    def test_large_contents(self):
        body = os.urandom(8 << 20)
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=exchange.received.body))
        for port in self.ports():
            self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=exchange.received.body))
            with Client(port) as client:
                client.request("POST", "/plain/echo", body, "application/octet-stream")
                response = client.response()
            self.assertEqual((response.status, response.body == body), (200, True))

    def test_refusals(self):
        for port in self.ports():
            with Client(port) as client:
                client.request("POST", "/form-json", "a=1&a[b]=2", FORM)
                self.assertEqual(client.response().status, 400)
                client.request("GET", "/nowhere")
                self.assertEqual(client.response().status, 404)
            self.assertEqual(self.upstream.requests, [])


class GRPCTests(SecuredTestCase):
    """gRPC's own library. Upstreams are asked in HTTP/1.1, which has no calls of gRPC: one that speaks them all the same, with trailers
    that the route lets pass, is as far as it goes. Else a call fails, at once and in gRPC's words."""

    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: calls, match: "/calls/*", upstream: app, trailers: [Grpc-Status, Grpc-Message] }
  - { name: plain, match: "/*", upstream: app }
"""

    def channels(self):
        import grpc

        with open(path("ca.pem"), "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        for channel in (grpc.insecure_channel(f"127.0.0.1:{self.recast.port}"),
                        grpc.secure_channel(f"127.0.0.1:{self.tls}", credentials, [("grpc.ssl_target_name_override", "a.example")])):
            self.upstream.reset()
            yield channel
            channel.close()

    def test_an_upstream_that_answers_with_trailers(self):
        def script(exchange):
            exchange.read_body()
            body = exchange.received.body
            exchange.send("HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\n")
            exchange.send(b"%x\r\n%s\r\n0\r\nGrpc-Status: 0\r\nGrpc-Message: fine\r\n\r\n" % (len(body), body))

        for channel in self.channels():
            self.upstream.script = script
            self.assertEqual(channel.unary_unary("/calls/a.Service/Method")(b"abc", timeout=DEADLINE), b"abc")
            pieces = [bytes([number]) * 10_000 for number in range(20)]
            answered = channel.stream_stream("/calls/a.Service/Stream")(iter(pieces), timeout=DEADLINE)
            self.assertEqual(list(answered), pieces)
            self.assertEqual({one.fields.get("content-type") for one in self.upstream.requests}, {"application/grpc"})

    def test_calls_that_fail(self):
        import grpc

        for channel in self.channels():
            for name in ("/form-json", "/a.Service/Method"):
                for call in (lambda: channel.unary_unary(name)(b"abc", timeout=DEADLINE),
                             lambda: list(channel.stream_stream(name)(iter([b"x" * 1000] * 5), timeout=DEADLINE))):
                    with self.subTest(name), self.assertRaises(grpc.RpcError) as raised:
                        call()
                    # Not DEADLINE_EXCEEDED: it is told, by the answer or by the reset behind one that came before the call was whole.
                    self.assertIn(raised.exception.code(), (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL))
