"""TLS with clients, which others wrote: curl, requests, Python's ssl module, openssl s_client."""

import hashlib
import os
import socket
import ssl
import subprocess
import time
import unittest

import requests

from harness import DEADLINE, Client, Closed, ProxyTestCase, free_port, select_nothing
from tls_support import TLSClient, TLSUpstream, certificates, pair, path

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: secure, match: /secure/*, upstream: secure }
  - { name: plain, match: "/*", upstream: app }
"""


class TLSTestCase(ProxyTestCase):
    listener = ""  # what follows the certificate of the listener
    upstream_tls = "true"

    @classmethod
    def setUpClass(cls):
        cls.secure = TLSUpstream(certificates().server_context())
        cls.addClassCleanup(cls.secure.stop)
        cls.further_upstreams = {
            "secure": f"{{address: 'localhost:{cls.secure.port}', tls: {cls.upstream_tls.replace('CA', path('ca.pem'))}}}"}
        cls.tls_port = free_port()
        cls.listeners = (f"{{address: '127.0.0.1:{cls.tls_port}', tls: {{{pair('server')}{cls.listener_text()}}}}}",)
        super().setUpClass()

    @classmethod
    def listener_text(cls):
        return ""

    routes = ROUTES

    def setUp(self):
        super().setUp()
        self.secure.reset()

    def tls_client(self, context=None, name="a.example"):
        client = TLSClient(self.tls_port, context or certificates().client_context(), name)
        self.addCleanup(client.socket.close)
        return client

    def https(self, target, name="a.example"):
        return ["--cacert", path("ca.pem"), "--resolve", f"{name}:{self.tls_port}:127.0.0.1",
                f"https://{name}:{self.tls_port}{target}"]


class CertificateFieldTests(TLSTestCase):
    """Header rules that name parts of the certificate which the client's end of the connection has shown."""

    upstream_tls = "{ca: CA}"
    routes = """
  - name: identity
    match: /identity
    upstream: app
    headers:
      request:
        set:
          X-Subject: "${client.certificate.subject}"
          X-DNS: "${client.certificate.dns}"
          X-URI: "${client.certificate.uri}"
          X-Print: "sha256:${client.certificate.sha256}"
      response: { set: { X-Who: "${client.certificate.subject}" } }
""" + ROUTES.lstrip("\n")

    @classmethod
    def listener_text(cls):
        return f", client_ca: {path('ca.pem')}, client_auth: optional"

    def identity(self, client):
        # What the client says itself under these names is nothing.
        client.send("GET /identity HTTP/1.1\r\nHost: a\r\nX-Subject: CN=admin\r\nx-subject: CN=other\r\nX_Subject: CN=third\r\n"
                    "X-DNS: admin.example\r\nX-URI: spiffe://admin\r\nX-Print: sha256:00\r\n\r\n")
        response = client.response()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.fields.get("vary"), "*")
        fields = self.upstream.requests[-1].fields
        self.assertEqual(fields.all("x_subject"), [])
        self.assertEqual(response.fields.all("x-who"), fields.all("x-subject"))
        return [fields.all(name) for name in ("x-subject", "x-dns", "x-uri", "x-print")]

    def test_parts_of_a_certificate(self):
        for name, subject, hosts, uri in (
                ("named", ["O=A\\, B,CN=named"], ["one.example, two.example"], ["spiffe://example/app"]),
                # Several are nobody's name.
                ("two-uris", ["CN=two-uris"], ["one.example"], []),
                ("client", ["O=Recast,CN=client"], [], [])):
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                with self.subTest(name, version=version):
                    context = certificates().client_context(name, maximum_version=version)
                    with open(path(name + ".pem")) as file:
                        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read()))
                    client = self.tls_client(context)
                    for _ in range(2):
                        self.assertEqual(self.identity(client), [subject, hosts, uri, ["sha256:" + digest.hexdigest()]])

    def test_who_shows_none_is_nobody(self):
        for client in (self.tls_client(), self.client()):
            self.assertEqual(self.identity(client), [[], [], [], ["sha256:"]])


class ClientsTests(TLSTestCase):
    settings = "timeouts: { handshake: 2s }\n"
    upstream_tls = "{ca: CA}"

    @classmethod
    def listener_text(cls):
        return f", certificates: [{{{pair('rsa')}}}, {{{pair('wild')}}}]"

    def test_curl_sends_a_form_and_the_upstream_gets_json(self):
        for options in ([], ["--tls-max", "1.2"]):
            self.upstream.reset()
            status, _ = self.curl(*options, "--data", "a=1&b=2", *self.https("/form-json"))
            self.assertEqual(status, 200)
            received = self.upstream.one()
            self.assertEqual(received.json, {"a": "1", "b": "2"})
            self.assertEqual(received.fields.get("x-forwarded-proto"), "https")
        self.assertRegex(self.recast.log_lines()[0].get("tls", ""), r"^TLSv1\.[23] \S+$|^$")

    def test_the_log_names_version_and_cipher(self):
        client = self.tls_client()
        client.request("GET", "/logged-by-tls")
        self.assertEqual(client.response().status, 200)
        client.socket.close()
        count = 1
        while not (lines := [line for line in self.recast.log_lines(count) if line.get("path") == "/logged-by-tls"]):
            count += 1
        self.assertEqual(lines[0]["tls"], "%s %s" % ("TLSv1.3", "TLS_AES_128_GCM_SHA256"))

    def test_the_cipher_is_the_shortest_that_the_client_offers(self):
        short, long, chacha = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"
        for offered, chosen in (
            ([long, chacha, short], short), ([short, long], short), ([long, chacha], long), ([long], long),
            # A client that puts it first has no instructions for AES.
            ([chacha, short, long], chacha), ([chacha, long], chacha),
        ):
            run = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-tls1_3", "-brief",
                 "-ciphersuites", ":".join(offered)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
            self.assertIn(f"Ciphersuite: {chosen}\n", run.stdout + run.stderr, offered)

    def test_groups_of_finite_fields_are_taken_from_nobody(self):
        # Each handshake with one would cost up to 120 ms, for bytes that its client has made no effort for.
        for offered, chosen in (
                ("ffdhe8192", None), ("ffdhe2048", None), ("ffdhe2048:ffdhe8192", None), ("ffdhe8192:X25519", "X25519"),
                ("ffdhe3072:P-256", "ECDH, prime256v1"), ("P-384", "ECDH, secp384r1")):
            with self.subTest(offered):
                run = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-tls1_3", "-brief", "-groups", offered],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
                output = run.stdout + run.stderr
                if chosen:
                    self.assertIn(f"Server Temp Key: {chosen},", output)
                else:
                    self.assertIn("handshake failure", output)
        self.told("failed: no_cipher (no suitable key share)")

    def test_requests_over_tls_on_both_sides(self):
        with requests.Session() as session:
            session.trust_env = False  # or its variables win over what is said here
            session.verify = path("ca.pem")
            for number in range(5):
                answer = session.post(f"https://localhost:{self.tls_port}/secure/{number}", data={"a": number})
                self.assertEqual((answer.status_code, answer.text), (200, "ok"))
        self.assertEqual([received.target for received in self.secure.requests], [f"/secure/{n}" for n in range(5)])
        self.assertEqual(len({received.connection_number for received in self.secure.requests}), 1)

    def test_a_hundred_megabytes_through_tls_on_both_sides(self):
        size, piece = 100 * 1000 * 1000, os.urandom(1 << 20)
        seen = []

        def script(exchange):
            digest = hashlib.sha256()
            for part in exchange.reader.body_pieces(exchange.received.fields):
                digest.update(part)
            seen.append(digest.hexdigest())
            exchange.answer()

        self.secure.script = script
        digest = hashlib.sha256()
        client = self.tls_client()
        client.send(f"POST /secure/large HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n")
        for at in range(0, size, len(piece)):
            part = piece[:size - at]
            digest.update(part)
            client.send(part)
        self.assertEqual(client.response().status, 200)
        self.assertEqual(seen, [digest.hexdigest()])
        self.assertLess(self.recast.peak_bytes(), 120 << 20)

    def test_a_large_response_reaches_a_client_that_reads_slowly(self):
        body = os.urandom(3_000_000)

        def script(exchange):
            exchange.read_body()
            exchange.answer(body=body, framing="chunked")

        self.secure.script = script
        client = self.tls_client()
        client.request("GET", "/secure/much")
        self.secure.wait_for(1)
        self.assertEqual(client.response().body, body)

    def test_names_choose_the_certificate(self):
        for name, subject in (("a.example", "server"), ("b.example", "rsa"), ("x.w.example", "wild")):
            client = self.tls_client(name=name)
            self.assertEqual(client.socket.getpeercert()["subject"][0][0][1], subject)
        # Nobody's name gets the first one.
        client = self.tls_client(certificates().client_context(check_hostname=False), "unknown.example")
        self.assertEqual(client.socket.getpeercert()["subject"][0][0][1], "server")

    def test_alpn_takes_the_best_that_is_offered(self):
        for offered, chosen in (
            (["http/1.1"], "http/1.1"), (["http/1.1", "h2"], "h2"), (["h2"], "h2"), (["h3", "http/1.1"], "http/1.1"), ([], None),
            # As curl --http1.0 does.
            (["http/1.0"], "http/1.0"), (["http/1.0", "http/1.1"], "http/1.1"), (["h3", "http/1.0"], "http/1.0"),
        ):
            context = certificates().client_context()
            if offered:
                context.set_alpn_protocols(offered)
            self.assertEqual(self.tls_client(context).socket.selected_alpn_protocol(), chosen)
        context = certificates().client_context()
        context.set_alpn_protocols(["h3", "http/0.9"])
        with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
            self.tls_client(context)

    def test_sessions_are_taken_up_again(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = certificates().client_context(maximum_version=version)
            first = self.tls_client(context)
            first.request("GET", "/")
            first.response()
            again = context.wrap_socket(
                socket.create_connection(("127.0.0.1", self.tls_port)), server_hostname="a.example",
                session=first.socket.session)
            self.addCleanup(again.close)
            self.assertTrue(again.session_reused)

    def test_a_name_that_ends_in_a_dot_chooses_the_certificate_too(self):
        for name in ("b.example", "b.example."):
            with self.subTest(name):
                result = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-servername", name],
                    input="", capture_output=True, text=True)
                self.assertRegex(result.stdout, "(?m)^subject=CN ?= ?rsa$")

    def test_old_versions_are_refused(self):
        result = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"protocol version", result.stderr)

    def test_row_50_a_handshake_that_stalls_is_closed(self):
        for start in (b"", b"\x16\x03\x01\x02"):
            client = Client(self.tls_port)
            self.addCleanup(client.socket.close)
            if start:
                client.send(start)
            self.assertEqual(client.reader.rest(), b"")

    def test_row_50_plain_text_on_the_tls_port_and_tls_on_the_plain_one(self):
        status, body = self.curl(f"http://127.0.0.1:{self.tls_port}/")
        self.assertEqual(status, 400)
        self.assertIn(b"HTTPS", body)
        with self.assertRaises(ssl.SSLError):
            TLSClient(self.recast.port, certificates().client_context())

    def told(self, text):
        """Waits until the operational log has `text`."""
        deadline = time.monotonic() + DEADLINE
        while text not in self.recast.error_text():
            self.assertLess(time.monotonic(), deadline, self.recast.error_text())
            select_nothing()

    def test_other_protocols_on_the_tls_port_are_told_and_answered(self):
        version_2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12)
        for start, answer, word in (
                (b"get / HTTP/1.1\r\n\r\n", b"This port speaks HTTPS", "plain_text"),
                (b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 443\r\n", b"PROXY protocol", "proxy_header"),
                (version_2, b"PROXY protocol", "proxy_header")):
            with self.subTest(start):
                client = Client(self.tls_port)
                self.addCleanup(client.socket.close)
                client.send(start)
                response = client.reader.rest()
                self.assertTrue(response.startswith(b"HTTP/1.1 400 "), response)
                self.assertIn(answer, response)
                self.told(f"listener 127.0.0.1:{self.tls_port}: the TLS handshake with ")
                self.told(f"failed: {word}")

    def test_other_protocols_on_the_plain_port_are_told_and_answered(self):
        for start, code, what in (
                (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(100), "http_tls", "begins with TLS"),
                (b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "http_proxy_header", "PROXY protocol"),
                (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12), "http_proxy_header", "PROXY protocol")):
            with self.subTest(code):
                client = self.client()
                client.send(start)
                self.assert_problem(client.response(), 400, f"^{code}$")
                self.told(f"listener 127.0.0.1:{self.recast.port}: 127.0.0.1:")
                self.told(what)

    def test_a_preface_behind_an_agreement_on_http_1_is_a_version_that_is_not_spoken(self):
        # RFC 9113 section 3.2: over TLS the protocol is what ALPN has chosen; without ALPN the preface decides.
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
        for protocols, agrees in ((["http/1.1"], True), (["http/1.0"], True), ([], False)):
            with self.subTest(protocols):
                context = certificates().client_context()
                if protocols:
                    context.set_alpn_protocols(protocols)
                client = self.tls_client(context)
                client.socket.sendall(preface)
                if agrees:
                    self.assert_problem(client.response(), 505, "^http_unsupported_version$")
                else:
                    # SETTINGS of the server's.
                    self.assertEqual(client.socket.recv(9)[3], 4)

    def test_row_53_close_notify_and_still_waiting(self):
        client = self.tls_client()
        client.request("POST", "/secure/x", b"body")
        # Sends close_notify and doesn't wait for the other side's.
        client.socket.setblocking(False)
        try:
            client.socket.unwrap()
        except (ssl.SSLWantReadError, OSError):
            pass
        self.assertTrue(self.secure.one().is_complete)

    def test_row_55_renegotiation_is_refused(self):
        process = self.s_client("-tls1_2")
        process.stdin.write(b"R\n")
        process.stdin.flush()
        self.assertRegex(process.stdout.read(), rb"RENEGOTIATING[\s\S]*no renegotiation")

    def test_row_55_key_updates_are_bounded(self):
        process = self.s_client("-tls1_3")
        updates = 0
        try:
            while updates < 20_000:
                process.stdin.write(b"K\n")
                process.stdin.flush()
                while b"KEYUPDATE" not in (line := process.stdout.readline()):
                    if not line:
                        raise BrokenPipeError
                updates += 1
        except BrokenPipeError:
            pass
        # The client is ahead of whoever ends the connection, by as much as the machine is busy.
        self.assertGreater(updates, 32)
        self.assertLess(updates, 20_000)

    def s_client(self, *options):
        process = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-CAfile", path("ca.pem"), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if b"Verify return code" in line:
                break
        return process


class ClientCertificatesTests(TLSTestCase):
    @classmethod
    def listener_text(cls):
        return f", client_ca: {path('ca.pem')}, client_crl: {path('ca.crl')}"

    def test_a_client_shows_who_it_is(self):
        client = self.tls_client(certificates().client_context("client"))
        client.request("GET", "/mutual")
        self.assertEqual(client.response().status, 200)
        self.assertEqual(self.recast.log_lines()[0]["tls_client"], "O=Recast,CN=client")

    def test_what_is_shown_is_what_the_file_holds(self):
        # The authority of this certificate is among those that clients come from, and isn't sent for that.
        run = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-showcerts"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(run.stdout.count("-----BEGIN CERTIFICATE-----"), 1, run.stdout)

    def test_others_are_refused_before_anything_reaches_the_upstream(self):
        for certificate in (None, "strange-client", "expired", "revoked"):
            with self.subTest(certificate):
                client = self.tls_client(certificates().client_context(certificate))
                with self.assertRaises((OSError, Closed)):
                    client.request("GET", "/mutual")
                    # In TLS 1.3 a client is done before the server has looked.
                    client.socket.recv(1)
                    raise Closed
        self.assert_untouched()

    def test_f16_who_is_refused_reads_why(self):
        # What isn't read when the connection is closed makes a reset of that, which takes the alert away.
        request = b"POST /mutual HTTP/1.1\r\nHost: a.example\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
        for certificate, reason in ((None, "CERTIFICATE_REQUIRED"), ("strange-client", "UNKNOWN_CA"), ("expired", "CERTIFICATE_EXPIRED")):
            for round in range(10):
                with self.subTest(certificate, round=round):
                    client = self.tls_client(certificates().client_context(certificate))
                    with self.assertRaises(ssl.SSLError) as caught:
                        client.socket.sendall(request)
                        while client.socket.recv(100):
                            pass
                        self.fail("the connection ends as if all were well")
                    self.assertIn(reason, str(caught.exception))
                    client.socket.close()
        self.assert_untouched()

    def test_f16_plain_text_reads_its_answer(self):
        for round in range(10):
            client = Client(self.tls_port)
            self.addCleanup(client.socket.close)
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
            answer = b""
            # A reset would be an error here.
            while piece := client.socket.recv(4096):
                answer += piece
            self.assertIn(b"This port speaks HTTPS", answer)
            client.socket.close()


if __name__ == "__main__":
    unittest.main()
