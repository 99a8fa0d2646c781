"""Certificates and keys as files: what `recast check` says of them, and what happens when they change."""

import datetime
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, RECAST, Client, Closed, Recast, Upstream, free_port, select_nothing
from lifecycle_support import PLAIN, reload, wait_until
from tls_support import TLSClient, TLSUpstream, certificates, pair, path, pin


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
        with TLSClient(self.port, certificates().client_context(check_hostname=False)) as client:
            return client.socket.getpeercert()["subject"][0][0][1]

    def wait_until(self, what, condition):
        for _ in range(DEADLINE * 50):
            if condition():
                return
            select_nothing()
        self.fail(f"never came true: {what}: {self.recast.error_text()}")

    def test_row_57_a_certificate_is_replaced_and_garbage_is_kept_out(self):
        self.assertEqual(self.subject(), "server")
        with TLSClient(self.port, certificates().client_context()) as old:
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
        # One that has run out, in whose place is one that hasn't.
        self.install("expired", "ended")
        self.swap("ended")
        self.wait_until("it is refused", lambda: "this certificate ran out on 2021-01-01" in self.recast.error_text())
        self.assertEqual(self.subject(), "rsa")
        # Nor do settings that are read anew take it, which name the same files.
        reload(self.recast)
        self.recast.says(re.compile("reload: listener .*: this certificate ran out on 2021-01-01"))
        self.assertEqual(self.subject(), "rsa")
        # A certificate whose key is another one's, and then all is well again.
        self.install("wild", "three")
        shutil.copy(path("rsa.key"), os.path.join(self.folder, "three", "tls.key"))
        self.swap("three")
        self.wait_until("the mismatch is logged", lambda: "the key of another certificate" in self.recast.error_text())
        self.assertEqual(self.subject(), "rsa")
        self.install("wild", "four")
        self.swap("four")
        self.wait_until("the certificate is shown", lambda: self.subject() == "wild")
        self.recast.says(re.compile(r"loaded anew: .*\(CN=wild, serial [0-9A-F]+, until 2049-01-01"))

    def issue(self, name, start, end):
        """A certificate that holds between two times."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=certificates().folder, check=True, capture_output=True)

        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        openssl("req", "-config", "ca.conf", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr")
        openssl("ca", "-config", "ca.conf", "-batch", "-notext", "-in", f"{name}.csr", "-out", f"{name}.pem", "-cert", "ca.pem",
                "-keyfile", "ca.key", "-startdate", start, "-enddate", end)

    @staticmethod
    def seconds_from_now(seconds):
        return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)).strftime("%Y%m%d%H%M%SZ")

    def test_a_certificate_that_runs_out_is_told_of_then_and_served_on(self):
        self.issue("brief", "20200101000000Z", self.seconds_from_now(10))
        self.install("brief", "brief")
        self.swap("brief")
        self.wait_until("it is shown", lambda: "CN=brief, serial" in self.recast.error_text())
        self.recast.says(re.compile("tls.crt: this certificate ran out on "))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with TLSClient(self.port, context) as client:
            client.request("GET", "/on")
            self.assertEqual(client.response().status, 200)
        # A reload has nothing against it, and neither has a new file that is right.
        reload(self.recast)
        self.swap("one")
        self.wait_until("it is replaced", lambda: "CN=server, serial" in self.recast.error_text())
        self.assertEqual(self.subject(), "server")
        self.assertEqual(self.recast.error_text().count("tls.crt: this certificate ran out on "), 1)

    def test_a_certificate_that_holds_from_later_on_is_taken_then(self):
        """The clock of who issues it may be ahead of ours, and nobody changes the files again."""
        self.issue("later", self.seconds_from_now(8), "20490101000000Z")
        self.install("later", "later")
        self.swap("later")
        self.wait_until("it is told", lambda: "on, when it is looked at again" in self.recast.error_text())
        self.wait_until("it is shown", lambda: self.subject() == "later")


class EndedTests(unittest.TestCase):
    """A process that starts, as at night, with a file that has run out: what has nothing to do with it is served."""

    def test_all_else_is_served(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        secured = TLSUpstream(certificates().server_context("server"))
        self.addCleanup(secured.stop)
        ports = [free_port(), free_port()]
        ended = f"certificate: {path('expired.pem')}, key: {path('expired.key')}"
        asking = f"{pair('server')}, client_ca: {path('old-ca.pem')}"
        recast = Recast(
            '  - { name: secured, match: "/secured", upstream: secured }\n  - { name: all, match: "/*", upstream: app }\n',
            {"app": f"127.0.0.1:{upstream.port}",
             "secured": f"{{ address: '127.0.0.1:{secured.port}', tls: {{ ca: {path('old-ca.pem')}, name: a.example }} }}"},
            listeners=[f"{{address: '127.0.0.1:{port}', tls: {{{tls}}}}}" for port, tls in zip(ports, (ended, asking))])
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        for _ in range(2):
            for what in ("this certificate", "the last of these authorities"):
                recast.says(re.compile(f"listener .*: {what} ran out on 2021-01-01"))
            recast.says(re.compile("upstream secured: the last of these authorities ran out on 2021-01-01"))
            with Client(recast.port) as client:
                client.request("GET", "/plain")
                self.assertEqual(client.response().status, 200)
                client.request("GET", "/secured")
                response = client.response()
                self.assertEqual((response.status, response.json["code"]), (502, "upstream_tls"))
            # Who is concerned hears it from the handshake, and nobody is let in.
            with self.assertRaisesRegex(ssl.SSLCertVerificationError, "expired"):
                TLSClient(ports[0], certificates().client_context(check_hostname=False))
            with self.assertRaises((ssl.SSLError, OSError, Closed)):
                with TLSClient(ports[1], certificates().client_context("client", check_hostname=False)) as client:
                    client.request("GET", "/in")
                    client.response()
            reload(recast)
        self.assertNotIn("/in", [request.target for request in upstream.requests])


class ReloadedSessionTests(unittest.TestCase):
    """Sessions that clients took up before a reload, by OpenSSL's own client, with certificates of clients."""

    FILES = {"tls.crt": "server.pem", "tls.key": "server.key", "ca.crt": "ca.pem", "ca.crl": "ca.crl"}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="recast-tls-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.install(**self.FILES)
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        self.port = free_port()
        files = ", ".join(f"{key}: {self.folder}/{name}" for key, name in (
            ("certificate", "tls.crt"), ("key", "tls.key"), ("client_ca", "ca.crt"), ("client_crl", "ca.crl")))
        self.recast = Recast(
            '  - { name: all, match: "/*", upstream: app }\n', {"app": f"127.0.0.1:{upstream.port}"}, workers=2,
            listeners=(f"{{address: '127.0.0.1:{self.port}', tls: {{{files}}}}}",))
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)

    def install(self, **files):
        for name, source in files.items():
            shutil.copy(path(source), os.path.join(self.folder, name + ".new"))
            os.rename(os.path.join(self.folder, name + ".new"), os.path.join(self.folder, name))

    def connect(self, version, session, takes_up, certificate="client"):
        """The subject of the server's certificate, and whether the session was taken up; None where it was refused."""
        way = ["-sess_in", session] if takes_up else ["-sess_out", session]
        result = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", version, "-servername", "a.example", "-CAfile", path("ca.pem"),
             "-cert", path(f"{certificate}.pem"), "-key", path(f"{certificate}.key"), "-ign_eof", *way],
            input="GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", capture_output=True, text=True, timeout=DEADLINE)
        if "HTTP/1.1 200" not in result.stdout:
            return None
        subject = next((line for line in result.stdout.splitlines() if line.startswith("subject=")), "")
        return subject.replace(" ", "").removeprefix("subject="), "Reused, " in result.stdout

    def sessions(self):
        """A session of each version."""
        sessions = {}
        for version in ("-tls1_2", "-tls1_3"):
            sessions[version] = os.path.join(self.folder, "session" + version)
            self.assertEqual(self.connect(version, sessions[version], takes_up=False)[1], False)
        return sessions

    def test_a_reload_of_the_same_keeps_sessions(self):
        sessions = self.sessions()
        reload(self.recast)
        # The same bytes in new files are the same.
        self.install(**self.FILES)
        reload(self.recast)
        for version, session in sessions.items():
            with self.subTest(version):
                self.assertEqual(self.connect(version, session, takes_up=True), ("CN=server", True))

    def test_a_changed_certificate_is_taken(self):
        sessions = self.sessions()
        self.install(**{"tls.crt": "wild.pem", "tls.key": "wild.key"})
        reload(self.recast)
        for version, session in sessions.items():
            with self.subTest(version):
                self.assertEqual(self.connect(version, session, takes_up=True), ("CN=wild", False))

    def test_changed_authorities_and_lists_end_sessions(self):
        """Who resumes isn't verified: a client whom the new authority doesn't know must not come in by a ticket."""
        sessions = self.sessions()
        self.install(**{"ca.crt": "other-ca.pem"})
        reload(self.recast)
        for version, session in sessions.items():
            with self.subTest(version):
                self.assertIsNone(self.connect(version, session, takes_up=True))
        self.install(**{"ca.crt": "ca.pem"})
        reload(self.recast)
        sessions = self.sessions()
        with open(path("ca.crl")) as file:
            text = file.read()
        with open(os.path.join(self.folder, "ca.crl"), "w") as file:
            file.write("a new list\n" + text)
        reload(self.recast)
        for version, session in sessions.items():
            with self.subTest(version):
                self.assertEqual(self.connect(version, session, takes_up=True), ("CN=server", False))


class RefusedReloadTests(unittest.TestCase):
    def test_a_reload_that_was_refused_for_a_file_is_tried_again_when_that_changes(self):
        """A pair that is renewed half by half, and authorities that come last."""
        folder = tempfile.mkdtemp(prefix="recast-tls-")
        self.addCleanup(shutil.rmtree, folder, True)
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        admin, line = admin_port()
        recast = Recast(PLAIN, {"app": f"127.0.0.1:{upstream.port}"}, settings=f"watch: true\n{line}")
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        with open(recast.config) as file:
            text = file.read()

        def install(source, name):
            shutil.copy(path(source), os.path.join(folder, name + ".new"))
            os.rename(os.path.join(folder, name + ".new"), os.path.join(folder, name))

        def successful():
            return Admin(admin).metrics().sum("recast_config_last_reload_successful")

        files = f"certificate: {folder}/tls.crt, key: {folder}/tls.key, client_ca: {folder}/ca.crt"
        with open(recast.config + ".new", "w") as file:
            file.write(text.replace("listen: [", f"listen: [{{address: '127.0.0.1:{free_port()}', tls: {{{files}}}}}, "))
        os.rename(recast.config + ".new", recast.config)
        for reason, source, name in (
            ("tls.crt doesn't exist", "server.pem", "tls.crt"), ("tls.key doesn't exist", "rsa.key", "tls.key"),
            ("tls.key holds the key of another certificate", "server.key", "tls.key"),
            ("ca.crt doesn't exist", "ca.pem", "ca.crt"),
        ):
            wait_until(reason, lambda: reason in recast.error_text())  # noqa: B023
            wait_until("it is refused", lambda: successful() == 0)
            self.assertNotIn("reload: serving", recast.error_text())
            install(source, name)
        wait_until("it is served", lambda: "reload: serving" in recast.error_text())
        self.assertEqual(successful(), 1)


class RemovedAddressTests(unittest.TestCase):
    def test_who_waits_at_a_tls_address_that_goes_is_never_served_in_plain_text(self):
        """Also where the address that takes its place is a part of it."""
        for before, after in (("127.0.0.1", None), ("0.0.0.0", "127.0.0.1")):
            with self.subTest(before=before, after=after):
                self.replace(before, after)

    def replace(self, before, after):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        port = free_port()

        def listener(host):
            return f"{{address: '{host}:{port}', tls: {{{pair('server')}, client_ca: {path('ca.pem')}}}}}"

        recast = Recast(PLAIN, {"app": f"127.0.0.1:{upstream.port}"}, listeners=(listener(before),),
                        settings="connections: { total: 2 }\ntimeouts: { grace: 1s }\n")
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        holders = [Client(recast.port) for _ in range(2)]
        for client in holders:
            self.addCleanup(client.socket.close)
            client.send("POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab")
        upstream.wait_for(2)
        # There is no room: these two wait in the address' backlog until it is left.
        plain, secure = Client(port), Client(port)
        self.addCleanup(plain.socket.close)
        self.addCleanup(secure.socket.close)
        plain.request("GET", "/plain/secret")
        with open(recast.config) as file:
            text = file.read()
        with open(recast.config, "w") as file:
            file.write(text.replace(", " + listener(before), f", {listener(after)}" if after else ""))
        reload(recast)
        for client in holders:
            client.socket.close()
        self.assertEqual(plain.response().status, 400)
        context = certificates().client_context("client")
        secured = context.wrap_socket(secure.socket, server_hostname="a.example")
        self.addCleanup(secured.close)
        secured.sendall(b"GET /plain/asked HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertIn(b"HTTP/1.1 200", secured.recv(4096))
        self.assertNotIn("/plain/secret", [request.target for request in upstream.requests])


class CheckTests(unittest.TestCase):
    def check(self, listen="127.0.0.1:1", tls="true"):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=certificates().folder) as file:
            file.write(f"version: 1\nlisten: {listen}\nupstreams:\n  app: {{address: 'a:1', tls: {tls}}}\n"
                       'routes: [{name: all, match: "/*", upstream: app}]\n')
            file.flush()
            result = subprocess.run([RECAST, "check", "--quiet", file.name], capture_output=True, text=True)
            output = (result.stdout + result.stderr).replace(file.name, "FILE")
            return result.returncode, output.replace(certificates().folder + "/", "")

    def test_files_are_loaded_and_what_is_wrong_is_told_where_it_stands(self):
        with open(path("ca.pem")) as first, open(path("other-ca.pem")) as second, open(path("lost-ca.pem"), "w") as file:
            file.write(first.read() + "".join("  " + line for line in second))
        for tls, message in (
            (pair("server"), None),
            # Relative paths begin at the file's folder.
            ("certificate: server.pem, key: server.key", None),
            ("certificate: none.pem, key: server.key", "FILE:2:53: .*none.pem doesn't exist"),
            ("certificate: server.pem, key: none.key", "FILE:2:70: .*none.key doesn't exist"),
            ("certificate: server.pem, key: rsa.key", "FILE:2:70: .*rsa.key holds the key of another certificate"),
            ("certificate: expired.pem, key: expired.key", None),
            ("certificate: server.pem, key: server.key, client_ca: ca.pem, client_crl: forged.crl",
             "FILE:2:113: a revocation list of CN=ca isn't signed by that authority's key"),
            ("certificate: server.pem, key: server.key, client_ca: ca.pem, client_crl: ca.crl", None),
            ("certificate: client.pem, key: locked.key", "FILE:2:.*with a password"),
            ("certificate: server.pem, key: server.key, certificates: [{certificate: rsa.pem, key: self.key}]",
             "FILE:2:.*self.key holds the key of another"),
            ("certificate: server.pem, key: server.key, client_ca: none.pem", "FILE:2:.*none.pem doesn't exist"),
            ("certificate: server.pem, key: server.key, client_auth: optional", "FILE:2:.*needs \"client_ca\""),
            ("key: server.key", "FILE:2:.*needs \"certificate\""),
            ("certificate: server.pem, key: server.key, min_version: '1.1'", "FILE:2:.*\"min_version\" is not \"1.1\""),
            ("certificate: server.pem, key: server.key, cert: x", "FILE:2:.*no key \"cert\""),
            ("certificate: server.pem, private_key: server.key",
             "FILE:2:.*no key \"private_key\": write key: server.key"),
            ("certificate: for-clients.pem, key: for-clients.key", "FILE:2:53: this certificate isn't one of a server"),
            ("certificate: odd-curve.pem, key: odd-curve.key", "FILE:2:73: .*odd-curve.key holds a key with which no handshake"),
            ("certificate: server.pem, key: server.key, client_ca: lost-ca.pem",
             "FILE:2:93: .*lost-ca.pem has in line \\d+ the beginning of a block that would be passed over"),
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
            ("{verify: false, ca: ca.pem}", "FILE:4:46: \"ca\" is not looked at"),
            ("{verify: false, crl: ca.crl}", "FILE:4:46: \"crl\" is not looked at"),
            ("{crl: ca.crl, ca: ca.pem}", None),
            ("{key: client.key}", "FILE:4:.*\"key\" needs \"certificate\""),
        ):
            with self.subTest(tls):
                code, output = self.check(tls=tls)
                self.assertEqual(code == 0, message is None, output)
                if message:
                    self.assertRegex(output, message)

    def test_upstreams_share_the_authorities_of_the_system(self):
        """A pipe gives what it has once: whoever reads it again would wait for ever."""
        with tempfile.TemporaryDirectory(prefix="recast-authorities-") as folder:
            pipe, file = os.path.join(folder, "pipe"), os.path.join(folder, "recast.yaml")
            os.mkfifo(pipe)
            names = "".join(f"  u{number}: {{ address: 'a{number}.example:443', tls: true }}\n" for number in range(20))
            routes = "".join(f"  - {{ name: r{number}, match: /r{number}, upstream: u{number} }}\n" for number in range(20))
            with open(file, "w") as settings:
                settings.write(f"version: 1\nlisten: 127.0.0.1:8080\nupstreams:\n{names}routes:\n{routes}")

            def give():
                with open(pipe, "wb") as end, open(path("ca.pem"), "rb") as authorities:
                    end.write(authorities.read())

            giver = threading.Thread(target=give, daemon=True)
            giver.start()
            result = subprocess.run(
                [RECAST, "check", "--strict", file], env={**os.environ, "SSL_CERT_FILE": pipe, "SSL_CERT_DIR": folder},
                capture_output=True, text=True, timeout=DEADLINE)
            giver.join(DEADLINE)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_names_of_upstreams_are_hosts_alone(self):
        for key, value, is_fine in (
            ("name", "app.internal", True), ("name", "app.internal.", True), ("name", "10.0.0.1", True), ("name", "'::1'", True),
            ("name", "a.test:443", False), ("name", "https://app.internal", False), ("name", "app.internal/", False),
            ("name", "'[::1]'", False), ("name", "''", False), ("name", "a b", False), ("name", "10.0.0", False),
            ("sni", "app.internal", True), ("sni", "a.test:80", False), ("sni", "10.0.0.1", False), ("sni", "'::1'", False),
        ):
            with self.subTest(f"{key}: {value}"):
                code, output = self.check(tls=f"{{ca: ca.pem, {key}: {value}}}")
                self.assertEqual(code == 0, is_fine, output)
                if not is_fine:
                    self.assertRegex(output, f'FILE:4:\\d+: "{key}" is a name')

    def test_what_some_peers_refuse_is_noted(self):
        """Each is fine, and a warning stands where the file is named: what time has brought about is one, too."""
        folder = certificates().folder
        for name, parts in (("stray.pem", ("server", "other-ca")), ("two-ca.pem", ("ca", "other-ca"))):
            with open(os.path.join(folder, name), "w") as file:
                for part in parts:
                    with open(path(part + ".pem")) as source:
                        file.write(source.read())
        for tls, code, message in (
            ("certificate: stray.pem, key: server.key", "tls_chain_stray", "certificate 2 of this file .CN=other-ca."),
            ("certificate: server.pem, key: server.key, certificates: [{certificate: next.pem, key: next.key}]",
             "tls_never_chosen", "no name chooses this certificate"),
            ("certificate: server.pem, key: server.key, client_ca: rsa.pem", "tls_no_authority", "none of these certificates"),
            ("certificate: server.pem, key: server.key, client_ca: two-ca.pem, client_crl: ca.crl",
             "tls_unlisted_authority", "no revocation list of the authority CN=other-ca"),
            ("certificate: expired.pem, key: expired.key", "tls_dates", ": this certificate ran out on 2021-01-01"),
            ("certificate: future.pem, key: future.key", "tls_dates", ": this certificate holds from 2040-01-01"),
            ("certificate: server.pem, key: server.key, client_ca: old-ca.pem",
             "tls_dates", ": the last of these authorities ran out on 2021-01-01"),
            ("certificate: server.pem, key: server.key, client_ca: ca.pem, client_crl: old.crl",
             "tls_dates", ": this revocation list, .*, ran out on 2021-01-01"),
            ("certificate: server.pem, key: server.key, client_ca: ca.pem, client_crl: future.crl",
             "tls_dates", ": this revocation list, .*, holds from 2040-01-01"),
        ):
            with self.subTest(tls), tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=folder) as file:
                file.write(f"version: 1\nlisten: {{address: '127.0.0.1:1', tls: {{{tls}}}}}\nupstreams: {{app: 'a:1'}}\n"
                           'routes: [{name: all, match: "/*", upstream: app}]\n')
                file.flush()
                result = subprocess.run([RECAST, "check", "--json", file.name], capture_output=True, text=True, check=True)
                findings = [finding for finding in json.loads(result.stdout)["findings"] if finding["code"].startswith("tls_")]
                self.assertEqual([(finding["code"], finding["severity"], finding["line"]) for finding in findings],
                                 [(code, "warning", 2)])
                self.assertRegex(findings[0]["message"], message)
                strict = subprocess.run([RECAST, "check", "--strict", file.name], capture_output=True, text=True)
                self.assertEqual(strict.returncode, 65)

    def test_a_value_of_the_client_s_certificate_wants_a_listener_that_asks_for_one(self):
        for more, codes in (("", ["certificate_never"]), (", client_ca: ca.pem", [])):
            for arguments in ((), ("--no-secrets",)):
                with self.subTest(more, arguments=arguments), tempfile.NamedTemporaryFile(
                        "w", suffix=".yaml", dir=certificates().folder) as file:
                    file.write(
                        f"version: 1\nlisten: {{address: '127.0.0.1:1', tls: {{certificate: server.pem, key: server.key{more}}}}}\n"
                        "upstreams: {app: 'a:1'}\nroutes: [{name: all, match: \"/*\", upstream: app, "
                        "headers: {request: {set: {X-Client: \"${client.certificate.dns}\"}}}}]\n")
                    file.flush()
                    result = subprocess.run([RECAST, "check", "--json", *arguments, file.name], capture_output=True, text=True, check=True)
                    self.assertEqual([finding["code"] for finding in json.loads(result.stdout)["findings"]], codes)

    def test_no_key_is_ever_shown(self):
        with open(path("server.key")) as file:
            secret = file.read().split("\n")[1]
        for listen in ("{address: '127.0.0.1:1', tls: {certificate: server.key, key: server.pem}}",
                       f"{{address: '127.0.0.1:1', tls: {{certificate: server.pem, key: '-----BEGIN {secret}'}}}}"):
            code, output = self.check(listen=listen)
            self.assertNotEqual(code, 0)
            self.assertNotIn(secret, output)


if __name__ == "__main__":
    unittest.main()
