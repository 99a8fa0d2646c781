"""TLS on both sides, with clients and servers that others wrote: curl, requests, Python's ssl module, openssl s_client."""

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

import requests

from harness import (DEADLINE, FORM, RECAST, Client, Closed, ProxyTestCase, Reader, Recast, Upstream, free_port,
                     select_nothing)

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Certificates", "make")
FOLDER = None


def setUpModule():
    global FOLDER
    FOLDER = tempfile.mkdtemp(prefix="recast-certificates-")
    subprocess.run([MAKE, FOLDER], check=True)


def tearDownModule():
    shutil.rmtree(FOLDER, ignore_errors=True)


def path(name):
    return os.path.join(FOLDER, name)


def pair(name):
    return f"certificate: {path(name + '.pem')}, key: {path(name + '.key')}"


def pin(name):
    with open(path(name + ".pin")) as file:
        return "sha256/" + file.read().strip()


def client_context(certificate=None, **options):
    context = ssl.create_default_context(cafile=path("ca.pem"))
    if certificate:
        context.load_cert_chain(path(certificate + ".pem"), path(certificate + ".key"))
    for name, value in options.items():
        setattr(context, name, value)
    return context


class TLSClient(Client):
    def __init__(self, port, context, name="a.example"):
        super().__init__(port)
        self.socket = context.wrap_socket(self.socket, server_hostname=name)
        self.reader = Reader(self.socket)


class TLSUpstream(Upstream):
    """A scripted upstream that speaks TLS. As Python does, it closes without close_notify unless a script unwraps."""

    def __init__(self, certificate, client_ca=None, version=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(path(certificate + ".pem"), path(certificate + ".key"))
        if client_ca:
            self.context.load_verify_locations(path(client_ca + ".pem"))
            self.context.verify_mode = ssl.CERT_REQUIRED
        if version:
            self.context.maximum_version = version
        self.sessions = []  # for each connection, whether it took up an earlier session
        self.failures = []
        super().__init__()

    def _serve(self, connection):
        try:
            connection.settimeout(DEADLINE)
            secured = self.context.wrap_socket(connection, server_side=True)
        except OSError as error:
            self.failures.append(str(error))
            connection.close()
            return
        self.sessions.append(secured.session_reused)
        super()._serve(secured)


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
        cls.secure = TLSUpstream("server")
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
        client = TLSClient(self.tls_port, context or client_context(), name)
        self.addCleanup(client.socket.close)
        return client

    def https(self, target, name="a.example"):
        return ["--cacert", path("ca.pem"), "--resolve", f"{name}:{self.tls_port}:127.0.0.1",
                f"https://{name}:{self.tls_port}{target}"]


class ClientsTests(TLSTestCase):
    settings = "timeouts: { handshake: 300ms }\n"
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
        client = self.tls_client(client_context(check_hostname=False), "unknown.example")
        self.assertEqual(client.socket.getpeercert()["subject"][0][0][1], "server")

    def test_alpn_speaks_http_1_only(self):
        for offered, chosen in (
            (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), ([], None),
            # As curl --http1.0 does.
            (["http/1.0"], "http/1.0"), (["http/1.0", "http/1.1"], "http/1.1"), (["h2", "http/1.0"], "http/1.0"),
        ):
            context = client_context()
            if offered:
                context.set_alpn_protocols(offered)
            self.assertEqual(self.tls_client(context).socket.selected_alpn_protocol(), chosen)
        context = client_context()
        context.set_alpn_protocols(["h2"])
        with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
            self.tls_client(context)

    def test_sessions_are_taken_up_again(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = client_context(maximum_version=version)
            first = self.tls_client(context)
            first.request("GET", "/")
            first.response()
            again = context.wrap_socket(
                socket.create_connection(("127.0.0.1", self.tls_port)), server_hostname="a.example",
                session=first.socket.session)
            self.addCleanup(again.close)
            self.assertTrue(again.session_reused)

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
            TLSClient(self.recast.port, client_context())

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
        client = self.tls_client(client_context("client"))
        client.request("GET", "/mutual")
        self.assertEqual(client.response().status, 200)
        self.assertEqual(self.recast.log_lines()[0]["tls_client"], "O=Recast,CN=client")

    def test_others_are_refused_before_anything_reaches_the_upstream(self):
        for certificate in (None, "strange-client", "expired", "revoked"):
            with self.subTest(certificate):
                client = self.tls_client(client_context(certificate))
                with self.assertRaises((OSError, Closed)):
                    client.request("GET", "/mutual")
                    # In TLS 1.3 a client is done before the server has looked.
                    client.socket.recv(1)
                    raise Closed
        self.assert_untouched()


class UpstreamsTests(ProxyTestCase):
    """What an upstream may be and do."""

    @classmethod
    def setUpClass(cls):
        cls.servers = {name: TLSUpstream(name) for name in ("server", "expired", "self")}
        cls.servers["mutual"] = TLSUpstream("server", client_ca="ca")
        cls.servers["old"] = TLSUpstream("server", version=ssl.TLSVersion.TLSv1_2)
        for server in cls.servers.values():
            cls.addClassCleanup(server.stop)
        ca = f"ca: {path('ca.pem')}"
        table = {
            "good": ("server", f"{ca}"),
            "short": ("server", f"{ca}, name: a.example"),
            "wrong-name": ("server", f"{ca}, name: c.example"),
            "unknown": ("server", f"ca: {path('other-ca.pem')}"),
            "system": ("server", ""),
            "expired": ("expired", f"{ca}, name: a.example"),
            "self-signed": ("self", f"{ca}, name: self.example"),
            "unchecked": ("self", "verify: false"),
            "pinned": ("self", f"verify: false, pins: ['{pin('self')}']"),
            "pinned-file": ("self", f"name: self.example, pinned_certificates: {path('self.pem')}"),
            "mispinned": ("server", f"{ca}, pins: ['{pin('self')}']"),
            "mutual": ("mutual", f"{ca}, {pair('client')}"),
            "stranger": ("mutual", ca),
            "old": ("old", f"{ca}, min_version: '1.3'"),
        }
        cls.further_upstreams = {
            name: f"{{address: 'localhost:{cls.servers[server].port}', idle: 100ms, tls: {'{' + tls + '}' if tls else 'true'}}}"
            for name, (server, tls) in table.items()}
        cls.further_upstreams["not-tls"] = f"{{address: 'localhost:{free_port()}', tls: true}}"
        cls.routes = "".join(
            f"  - {{ name: {name}, match: /{name}, upstream: {name} }}\n" for name in cls.further_upstreams)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        for server in self.servers.values():
            server.reset()

    def test_row_56_an_upstream_is_believed_or_it_gets_nothing(self):
        for name, word in {
            "good": None, "short": None, "unchecked": None, "pinned": None, "pinned-file": None, "mutual": None,
            "wrong-name": "wrong_name", "unknown": "unknown_ca", "system": "unknown_ca", "expired": "expired",
            "self-signed": "self_signed", "mispinned": "pin_mismatch", "old": "alert_protocol_version",
        }.items():
            with self.subTest(name):
                answer = self.send("POST", f"/{name}", b"a=1", FORM)
                if word is None:
                    self.assertEqual((answer.status, answer.body), (200, b"ok"))
                    continue
                problem = self.assert_problem(answer, 502, "^upstream_tls$")
                self.assertTrue(problem["detail"].endswith(f": {word}"), problem["detail"])
        self.assertEqual([received.target for server in self.servers.values() for received in server.requests
                          if received.target in ("/wrong-name", "/unknown", "/expired", "/mispinned")], [])

    def test_a_failed_handshake_is_flagged(self):
        self.send("GET", "/wrong-name")
        count = 1
        while not (lines := [line for line in self.recast.log_lines(count) if line.get("path") == "/wrong-name"]):
            count += 1
        self.assertEqual(lines[0]["flags"], "UF")

    def test_an_upstream_that_wants_a_certificate_and_gets_none(self):
        # In TLS 1.3 the upstream refuses after our side is done: no request may be lost in silence.
        self.assertIn(self.send("GET", "/stranger").status, (502,))
        self.assertEqual(self.servers["mutual"].requests, [])

    def test_sessions_with_upstreams_are_taken_up_again(self):
        server = self.servers["server"]
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(fields=("Connection: close",)))
        before = len(server.sessions)
        for _ in range(3):
            self.assertEqual(self.send("GET", "/good").status, 200)
        self.assertEqual(server.sessions[before + 1:], [True, True])

    def test_row_51_what_ends_with_the_connection_is_complete_with_close_notify_only(self):
        server = self.servers["server"]

        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
            if exchange.received.fields.get("x-clean"):
                try:
                    exchange.connection.unwrap()
                except OSError:
                    pass
            exchange.close()

        server.script = script
        answer = self.send("GET", "/good", fields=("X-Clean: yes",))
        self.assertEqual((answer.status, answer.body), (200, b"all of it"))
        with self.assertRaises(Closed):
            answer = self.send("GET", "/good")
            self.fail(f"{answer.status} {answer.body!r} looks complete")

    def test_row_51_a_length_that_was_reached_is_complete(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer()
            exchange.close()

        self.servers["server"].script = script
        self.assertEqual(self.send("GET", "/good").body, b"ok")

    def test_row_52_a_reset_is_no_end(self):
        def script(exchange):
            exchange.read_body()
            exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na part")
            exchange.reset()

        self.servers["server"].script = script
        with self.assertRaises(Closed):
            answer = self.send("GET", "/good")
            if answer.status == 502:
                raise Closed
            self.fail("it looks complete")


class ChangedFilesTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="recast-tls-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        # As Kubernetes mounts a secret: the files are links through ..data, which is swapped.
        self.install("server", "one")
        os.symlink("one", os.path.join(self.folder, "..data"))
        for name in ("tls.crt", "tls.key"):
            os.symlink(f"..data/{name}", os.path.join(self.folder, name))
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        self.port = free_port()
        files = f"certificate: {self.folder}/tls.crt, key: {self.folder}/tls.key"
        self.recast = Recast(
            '  - { name: all, match: "/*", upstream: app }\n', {"app": f"127.0.0.1:{upstream.port}"}, workers=2,
            listeners=(f"{{address: '127.0.0.1:{self.port}', tls: {{{files}}}}}",))
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)

    def install(self, certificate, folder):
        os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        for end, name in (("pem", "tls.crt"), ("key", "tls.key")):
            shutil.copy(path(f"{certificate}.{end}"), os.path.join(self.folder, folder, name))

    def swap(self, folder):
        os.symlink(folder, os.path.join(self.folder, "..new"))
        os.rename(os.path.join(self.folder, "..new"), os.path.join(self.folder, "..data"))

    def subject(self):
        with TLSClient(self.port, client_context(check_hostname=False)) as client:
            return client.socket.getpeercert()["subject"][0][0][1]

    def wait_until(self, what, condition):
        for _ in range(DEADLINE * 50):
            if condition():
                return
            select_nothing()
        self.fail(f"never came true: {what}: {self.recast.error_text()}")

    def test_row_57_a_certificate_is_replaced_and_garbage_is_kept_out(self):
        self.assertEqual(self.subject(), "server")
        with TLSClient(self.port, client_context()) as old:
            old.request("GET", "/before")
            self.assertEqual(old.response().status, 200)
            self.install("rsa", "two")
            self.swap("two")
            self.wait_until("the new certificate is shown", lambda: self.subject() == "rsa")
            # What is open goes on.
            old.request("GET", "/after")
            self.assertEqual(old.response().status, 200)
        # Garbage, in place: nothing changes, and it is told.
        with open(os.path.join(self.folder, "two", "tls.crt"), "w") as file:
            file.write("-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n")
        self.wait_until("an error is logged", lambda: "the old ones stay" in self.recast.error_text())
        self.assertEqual(self.subject(), "rsa")
        self.assertNotIn("garbage", self.recast.error_text())
        # A certificate whose key is another one's, and then all is well again.
        self.install("wild", "three")
        shutil.copy(path("rsa.key"), os.path.join(self.folder, "three", "tls.key"))
        self.swap("three")
        self.wait_until("the mismatch is logged", lambda: "the key of another certificate" in self.recast.error_text())
        self.assertEqual(self.subject(), "rsa")
        self.install("wild", "four")
        self.swap("four")
        self.wait_until("the certificate is shown", lambda: self.subject() == "wild")


class CheckTests(unittest.TestCase):
    def check(self, listen="127.0.0.1:1", tls="true"):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=FOLDER) as file:
            file.write(f"version: 1\nlisten: {listen}\nupstreams:\n  app: {{address: 'a:1', tls: {tls}}}\n"
                       'routes: [{name: all, match: "/*", upstream: app}]\n')
            file.flush()
            result = subprocess.run([RECAST, "check", "--quiet", file.name], capture_output=True, text=True)
            return result.returncode, (result.stdout + result.stderr).replace(file.name, "FILE").replace(FOLDER + "/", "")

    def test_files_are_loaded_and_what_is_wrong_is_told_where_it_stands(self):
        for tls, message in (
            (pair("server"), None),
            # Relative paths begin at the file's folder.
            ("certificate: server.pem, key: server.key", None),
            ("certificate: none.pem, key: server.key", "FILE:2:53: .*none.pem doesn't exist"),
            ("certificate: server.pem, key: none.key", "FILE:2:70: .*none.key doesn't exist"),
            ("certificate: server.pem, key: rsa.key", "FILE:2:70: .*rsa.key holds the key of another certificate"),
            ("certificate: expired.pem, key: expired.key", "FILE:2:53: this certificate ran out on 2021-01-01"),
            ("certificate: future.pem, key: future.key", "FILE:2:53: this certificate holds from 2040-01-01"),
            ("certificate: client.pem, key: locked.key", "FILE:2:.*with a password"),
            ("certificate: server.pem, key: server.key, certificates: [{certificate: rsa.pem, key: self.key}]",
             "FILE:2:.*self.key holds the key of another"),
            ("certificate: server.pem, key: server.key, client_ca: none.pem", "FILE:2:.*none.pem doesn't exist"),
            ("certificate: server.pem, key: server.key, client_auth: optional", "FILE:2:.*needs \"client_ca\""),
            ("key: server.key", "FILE:2:.*needs \"certificate\""),
            ("certificate: server.pem, key: server.key, min_version: '1.1'", "FILE:2:.*\"min_version\" is not \"1.1\""),
            ("certificate: server.pem, key: server.key, cert: x", "FILE:2:.*no key \"cert\""),
        ):
            with self.subTest(tls):
                code, output = self.check(listen=f"{{address: '127.0.0.1:1', tls: {{{tls}}}}}")
                self.assertEqual(code == 0, message is None, output)
                if message:
                    self.assertRegex(output, message)

    def test_upstreams(self):
        for tls, message in (
            ("true", None), ("false", None), ("{ca: ca.pem}", None), ("{verify: false}", None),
            (f"{{pins: ['{pin('server')}']}}", None), ("{pinned_certificates: [server.pem, rsa.pem]}", None),
            ("{ca: ca.pem, certificate: client.pem, key: client.key, sni: b, name: a, session_resumption: false}", None),
            ("maybe", "FILE:4:.*\"tls\" is true or false"),
            ("{ca: none.pem}", "FILE:4:35: .*none.pem doesn't exist"),
            ("{ca: server.key}", "FILE:4:35: .*server.key holds no certificate"),
            ("{pins: [sha256/abc]}", "FILE:4:.*a pin is sha256/"),
            (f"{{pins: ['{pin('server')}'], pinned_certificates: server.pem}}", "FILE:4:.*can't stand beside"),
            ("{pinned_certificates: server.key}", "FILE:4:.*server.key holds no certificate"),
            ("{verify: false, ca: ca.pem}", "FILE:4:.*is not looked at"),
            ("{key: client.key}", "FILE:4:.*\"key\" needs \"certificate\""),
        ):
            with self.subTest(tls):
                code, output = self.check(tls=tls)
                self.assertEqual(code == 0, message is None, output)
                if message:
                    self.assertRegex(output, message)

    def test_no_key_is_ever_shown(self):
        with open(path("server.key")) as file:
            secret = file.read().split("\n")[1]
        for listen in (f"{{address: '127.0.0.1:1', tls: {{certificate: server.key, key: server.pem}}}}",
                       f"{{address: '127.0.0.1:1', tls: {{certificate: server.pem, key: '-----BEGIN {secret}'}}}}"):
            code, output = self.check(listen=listen)
            self.assertNotEqual(code, 0)
            self.assertNotIn(secret, output)


if __name__ == "__main__":
    unittest.main()
