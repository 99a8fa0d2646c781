"""Proxies before Recast, with the files that docs/behind-proxies.md shows, and the tests that hold for each of them."""

import os
import re
import signal
import socket
import threading
import time

from admin import Admin
from docs_blocks import taken_apart
from docs_commands import Session
from harness import DEADLINE, FORM, Upstream, select_nothing
from raw_client import Client, Reader
from tunnel_tests import frame, read_frame, websocket_echo

PAGE = "docs/behind-proxies.md"


def nginx_file(folder, site):
    """The file of an nginx of its own whose `http` has the settings of a site. Returns its path."""
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(f"worker_processes 1;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
                   f"http {{\naccess_log off;\n{paths}{site}}}\n")
    return path


def nginx_command(folder, path, *more):
    # As root, nginx gives its worker to another user, who may not enter the folder of the temporary files.
    user = "user root; " if os.geteuid() == 0 else ""
    return ["/usr/sbin/nginx", "-p", folder, "-e", "stderr", "-c", path, "-g", f"{user}daemon off;", *more]


class ClientElsewhere(Client):
    """A client at an address of its own, which isn't the proxy's."""

    ADDRESS = "127.0.0.2"

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), DEADLINE, source_address=(self.ADDRESS, 0))
        self.reader = Reader(self.socket)


class FrontProxyTests:
    """Mixed into a TestCase that has `command(session)`: what runs the proxy on port 8000 of the page."""

    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.addClassCleanup(cls.session.close)
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.stop)
        cls.session.ports["3000"] = str(cls.upstream.port)
        for block in taken_apart(PAGE)[0]:
            if (block.marker or "").startswith("file "):
                cls.session.write(block.marker.split()[1], block.text)
        cls.session.serve(["serve", "recast.yaml"])
        cls.recast = cls.session.servers[-1][1]
        cls.session.start(cls.command(), [cls.session.local("127.0.0.1:8000")])
        cls.port = int(cls.session.ports["8000"])
        cls.status = Admin(int(cls.session.ports["9902"]))
        cls.status.until_ready()
        cls.until_forwarding()

    @classmethod
    def until_forwarding(cls):
        """Envoy answers 503 until its first check has passed."""
        deadline = time.monotonic() + DEADLINE
        while True:
            with ClientElsewhere(cls.port) as client:
                client.request("GET", "/")
                if client.response().status == 200:
                    return
            if time.monotonic() > deadline:
                raise AssertionError("the proxy never forwards: " + cls.said())
            select_nothing()

    @classmethod
    def said(cls):
        with open(os.path.join(cls.session.folder, ".said"), errors="replace") as file:
            return file.read()[-3000:]

    def setUp(self):
        self.upstream.reset()

    def send(self, method, target, body=None, media_type=None, fields=()):
        with ClientElsewhere(self.port) as client:
            client.request(method, target, body, media_type, fields)
            return client.response(method)

    def log_line(self, request_id):
        """The line of Recast's access log with that id."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            with open(os.path.join(self.session.folder, ".said"), errors="replace") as file:
                for line in file:
                    if request_id in line and line.endswith("\n"):
                        return line
            select_nothing()
        self.fail(f"{request_id} isn't in the access log")

    def test_a_form_becomes_json_and_the_upstream_hears_of_the_client(self):
        response = self.send("POST", "/signup", b"user[name]=Ada", FORM, ["X-Forwarded-For: 192.0.2.66"])
        self.assertEqual(response.status, 200, response.body)
        received = self.upstream.one()
        self.assertEqual(received.json, {"user": {"name": "Ada"}})
        fields = received.fields
        self.assertEqual(fields.get("host"), "client.example")
        self.assertEqual(fields.get("x-forwarded-proto"), "http")
        # The port of Recast's own listener is none that this client knows.
        self.assertIn(fields.get("x-forwarded-port"), ("80", str(self.port)))
        addresses = [address.strip() for address in fields.get("x-forwarded-for").split(",")]
        self.assertEqual(addresses, ["192.0.2.66", ClientElsewhere.ADDRESS, "127.0.0.1"])
        line = self.log_line(fields.get("x-request-id"))
        self.assertIn(f'"client":"{ClientElsewhere.ADDRESS}"', line)  # and not what the client said of itself
        self.assertIn('"peer":"127.0.0.1', line)

    def test_an_upload_streams(self):
        with ClientElsewhere(self.port) as client:
            client.send(f"POST /upload HTTP/1.1\r\nHost: client.example\r\nContent-Length: {2 << 20}\r\n\r\n")
            client.send(bytes(1 << 20))
            deadline = time.monotonic() + DEADLINE
            while self.upstream.bytes_received < 1 << 19:  # before the rest was sent
                self.assertLess(time.monotonic(), deadline, "held back")
                select_nothing()
            client.send(bytes(1 << 20))
            self.assertEqual(client.response().status, 200)
        self.assertEqual(len(self.upstream.one().body), 2 << 20)

    def test_chunks_pass(self):
        with ClientElsewhere(self.port) as client:
            client.send("POST /upload HTTP/1.1\r\nHost: client.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.upstream.one().body, b"hello")

    def test_connections_to_recast_are_kept(self):
        self.assertEqual(self.send("GET", "/").status, 200)
        name = "recast_connections_accepted_total"
        before = self.status.metrics().sum(name, side="client")
        for _ in range(20):
            self.assertEqual(self.send("GET", "/").status, 200)
        # Those of the status port are not among them; a few more than none, where one was just then not yet free.
        self.assertLess(self.status.metrics().sum(name, side="client") - before, 5)

    def test_errors_of_recast_pass(self):
        response = self.send("POST", "/signup", b"a=1&a[b]=2", FORM)
        self.assertEqual((response.status, response.json["code"]), (400, "form_conflict"))
        self.assertEqual(response.fields.get("content-type"), "application/problem+json")

    def test_a_websocket_passes(self):
        self.upstream.script = websocket_echo
        with ClientElsewhere(self.port) as client:
            client.request("GET", "/", fields=[
                "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])
            self.assertEqual(client.response().status, 101)
            client.send(frame(1, b"hello", b"mask"))
            self.assertEqual(read_frame(client.reader), (1, b"hello"))

    def test_the_proxy_protocol_is_refused(self):
        with Client(int(self.session.ports["8080"])) as client:
            client.send("PROXY TCP4 192.0.2.1 192.0.2.2 5000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            response = client.response()
            self.assertEqual((response.status, response.json["code"]), (400, "http_proxy_header"))

    def test_zz_requests_are_served_while_the_checks_notice_the_end(self):
        """The last one: it ends Recast."""
        begun, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/slow":
                begun.set()
                go_on.wait(DEADLINE)
            exchange.answer()

        self.upstream.script = script
        with ClientElsewhere(self.port) as client:
            client.request("GET", "/slow")
            self.assertTrue(begun.wait(DEADLINE))
            self.recast.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + DEADLINE
            while self.status.ask("GET", "/ready")[0] != 503:
                self.assertLess(time.monotonic(), deadline)
                select_nothing()
            self.assertEqual(self.send("GET", "/").status, 200)  # drain_delay: the proxy doesn't know yet
            go_on.set()
            self.assertEqual(client.response().status, 200)


def envoy_command(session, program):
    """Envoy on the file of the page."""
    block = next(block for block in taken_apart(PAGE)[0] if block.marker == "other envoy")

    def port(match):
        return "port_value: " + session.local(f"127.0.0.1:{match[1]}").rpartition(":")[2]

    path = os.path.join(session.folder, "envoy.yaml")
    with open(path, "w") as file:
        file.write(re.sub(r"port_value: (\d+)", port, block.text))
    return [program, "-c", path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]

