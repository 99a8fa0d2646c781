"""Sessions end with what their peers were verified by: certificates and revocation lists that run out while the proxy runs."""

import datetime
import os
import subprocess
import unittest

from harness import DEADLINE, Client, Recast, Upstream, free_port
from lifecycle_support import PLAIN, wait_until
from tls_support import TLSUpstream, certificates, pair, path

LIFE = datetime.timedelta(seconds=8)  # long enough for the first handshakes on a busy machine


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=certificates().folder, check=True, capture_output=True)


def date(offset):
    return (datetime.datetime.now(datetime.UTC) + offset).strftime("%Y%m%d%H%M%SZ")


def issue(name, names=()):
    """A certificate that runs out soon."""
    extension = ["-addext", "subjectAltName=" + ",".join(names)] if names else []
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl("req", "-config", "ca.conf", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", *extension, "-out", f"{name}.csr")
    openssl("ca", "-config", "ca.conf", "-batch", "-notext", "-in", f"{name}.csr", "-out", f"{name}.pem", "-cert", "ca.pem",
            "-keyfile", "ca.key", "-startdate", "20200101000000Z", "-enddate", date(LIFE))


class ClientSessionsTests(unittest.TestCase):
    def serve(self, certificate_list=None):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        self.port = free_port()
        files = f"{pair('server')}, client_ca: {path('ca.pem')}"
        if certificate_list:
            files += f", client_crl: {path(certificate_list)}"
        recast = Recast(
            PLAIN, {"app": f"127.0.0.1:{upstream.port}"},
            listeners=(f"{{address: '127.0.0.1:{self.port}', tls: {{{files}}}}}",))
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)

    def connect(self, version, certificate, *way):
        """Whether a session was taken up; None where the client was refused."""
        result = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", *version, "-servername", "a.example",
             "-CAfile", path("ca.pem"), "-cert", path(f"{certificate}.pem"), "-key", path(f"{certificate}.key"), "-ign_eof", *way],
            input="GET /plain HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", capture_output=True, text=True,
            timeout=DEADLINE)
        return "Reused, " in result.stdout if "HTTP/1.1 200" in result.stdout else None

    def check(self, certificate):
        sessions = {}
        for version in (("-tls1_2",), ("-tls1_3",), ("-tls1_2", "-no_ticket")):
            name = sessions[version] = path(f"{certificate}{''.join(version)}.session")
            self.addCleanup(os.remove, name)
            self.assertIs(self.connect(version, certificate, "-sess_out", name), False, version)
            # What is renewed ends with what it was made of.
            self.assertIs(self.connect(version, certificate, "-sess_in", name, "-sess_out", name), True, version)
        wait_until("the client is refused", lambda: self.connect(("-tls1_3",), certificate) is None)
        for version, name in sessions.items():
            # With TLS 1.2 they are counted in whole seconds, and last one more.
            wait_until(f"the session is over {version}", lambda: self.connect(version, certificate, "-sess_in", name) is None)  # noqa: B023

    def test_a_certificate_of_a_client_that_runs_out_ends_its_sessions(self):
        self.serve()
        issue("short-client")
        self.check("short-client")

    def test_a_revocation_list_that_runs_out_ends_the_sessions_of_its_issuer(self):
        openssl("ca", "-config", "ca.conf", "-cert", "ca.pem", "-keyfile", "ca.key", "-gencrl", "-out", "short.crl",
                "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", date(LIFE))
        self.serve("short.crl")
        self.check("client")


class UpstreamSessionsTests(unittest.TestCase):
    def test_a_certificate_of_an_upstream_that_runs_out_ends_its_sessions(self):
        issue("short-server", ("DNS:localhost",))
        upstream = TLSUpstream(certificates().server_context("short-server"))
        self.addCleanup(upstream.stop)
        address = f"address: 'localhost:{upstream.port}', requests_per_connection: 1, tls: {{ca: {path('ca.pem')}}}"
        recast = Recast(PLAIN, {"app": f"{{{address}}}"})
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)

        def status():
            with Client(recast.port) as client:
                client.request("GET", "/plain")
                return client.response().status

        for _ in range(3):
            self.assertEqual(status(), 200)
        self.assertIn(True, upstream.sessions)
        wait_until("it is believed no more", lambda: status() == 502)
        self.assertEqual(status(), 502)


if __name__ == "__main__":
    unittest.main()
