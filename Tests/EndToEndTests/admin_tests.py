"""The admin port as an operator's tools see it."""

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from admin import Admin, admin_port
from harness import DEADLINE, JSON, RECAST, Client, Closed, ProxyTestCase, Recast, Upstream, free_port, select_nothing
from lifecycle_support import reload, wait_until

ROUTES = """
  - name: orders
    match: { method: POST, path: "/orders/{id}" }
    upstream: app
    request:
      decode: { as: json }
      map:
        set: { n: "${path.id}" }
        remove: [token]
      encode: { as: form }
  - { name: keyed, match: { path: /keyed, header: { x-key: "${env:ADMIN_TEST_SECRET}" } }, upstream: app }
  - { name: long, match: /long, upstream: app, request: json -> xml, limits: { tree: 64MiB } }
  - { name: rest, match: "/*", upstream: app, limits: { body: 1GiB } }
"""
SECRET = 'correct "horse" battery'


class Events:
    """A reader of server-sent events, as the WHATWG has them."""

    def __init__(self, port, target, fields=()):
        self.client = Client(port)
        lines = "".join(f"{field}\r\n" for field in fields)
        self.client.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{lines}\r\n")
        self.file = self.client.socket.makefile("rb")
        status = self.file.readline()
        assert status.split()[1] == b"200", status
        fields = dict(line.decode().strip().split(": ", 1) for line in iter(self.file.readline, b"\r\n"))
        assert fields["Content-Type"] == "text/event-stream" and fields["Cache-Control"] == "no-store", fields
        assert "Content-Length" not in fields and fields["Connection"] == "close", fields

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.client.socket.close()

    def next(self):
        """The next event's name and document; None at the end."""
        name, data = "message", []
        for line in iter(self.file.readline, b""):
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif line == b"\n" and data:
                return name, json.loads("\n".join(data))
            elif line == b"\n":
                name = "message"
        return None


class AdminTests(ProxyTestCase):
    routes = ROUTES
    workers = 2

    @classmethod
    def setUpClass(cls):
        os.environ["ADMIN_TEST_SECRET"] = SECRET
        port, cls.settings = admin_port()
        cls.admin = Admin(port)
        super().setUpClass()
        cls.admin.until_ready()

    def test_index_lists_what_there_is(self):
        paths = [entry["path"] for entry in self.admin.json("/")["endpoints"]]
        paths = [path for path in paths if not path.startswith("/console")]  # console_tests
        self.assertEqual(set(paths), {"/", "/live", "/ready", "/metrics", "/routes", "/upstreams", "/transfers", "/config",
                                      "/log-level", "/drain", "/explain"})

    def test_live_and_ready(self):
        self.assertEqual(self.admin.get("/live"), b"live\n")
        self.assertEqual(self.admin.get("/ready"), b"ready\n")
        self.assertEqual(self.admin.ask("HEAD", "/ready")[::2], (200, b""))

    def test_unknown_pages_and_wrong_methods(self):
        self.assertEqual(self.admin.ask("GET", "/nothing")[0], 404)
        for method, target, allow in [("POST", "/metrics", "GET, HEAD"), ("GET", "/drain", "POST"),
                                      ("GET", "/explain", "POST"), ("DELETE", "/log-level", "GET, HEAD, PUT, POST")]:
            status, fields, _ = self.admin.ask(method, target)
            self.assertEqual((status, fields["Allow"]), (405, allow), target)

    def test_a_page_in_a_browser_commands_nothing(self):
        self.assertEqual(self.admin.ask("POST", "/drain", headers={"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(self.admin.get("/ready"), b"ready\n")

    def test_a_name_that_leads_here_reads_nothing(self):
        for host in ("evil.example", f"evil.example:{self.admin.port}", "127.0.0.1.nip.io"):
            for method, target in [("GET", "/config"), ("GET", "/"), ("GET", "/nothing"), ("POST", "/drain")]:
                status, _, body = self.admin.ask(method, target, headers={"Host": host})
                self.assertEqual(status, 421, (host, target))
                self.assertIn("admin.hosts", json.loads(body)["error"])
        for host in ("localhost", f"localhost:{self.admin.port}", "127.0.0.1", "[::1]:1", "10.0.0.7:9901"):
            self.assertEqual(self.admin.ask("GET", "/config", headers={"Host": host})[0], 200, host)
        self.assertEqual(self.admin.get("/ready"), b"ready\n")

    def test_a_page_of_another_site_reads_nothing(self):
        for site, wanted in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]:
            for target in ("/config", "/metrics", "/live"):
                self.assertEqual(self.admin.ask("GET", target, headers={"Sec-Fetch-Site": site})[0], wanted, (site, target))
        self.assertEqual(self.admin.ask("POST", "/drain", headers={"Sec-Fetch-Site": "cross-site"})[0], 403)
        self.assertEqual(self.admin.get("/ready"), b"ready\n")

    def test_routes_in_their_order(self):
        routes = self.admin.json("/routes")["routes"]
        self.assertEqual([route["name"] for route in routes], ["orders", "keyed", "long", "rest"])
        self.assertEqual(routes[0]["match"]["path"], "/orders/{id}")
        self.assertEqual(routes[0]["upstream"], "app")
        self.assertEqual([route["request"] for route in routes], ["json -> form", "forward", "json -> xml", "forward"])

    def test_config_shows_every_value_and_no_secret(self):
        text = self.admin.get("/config").decode()
        config = json.loads(text)
        values = {entry["key"]: entry for entry in config["settings"]}
        self.assertEqual(values["workers"]["value"], "2")
        self.assertIn(":3", values["workers"]["origin"])
        self.assertEqual(values["access_log.format"]["origin"], "default")
        self.assertNotIn("horse", text)
        self.assertIn("${env:ADMIN_TEST_SECRET}", text)

    def test_upstreams_with_their_connections(self):
        with Client(self.recast.port) as client:
            client.request("GET", "/x")
            self.assertEqual(client.response().status, 200)
            # The upstream's connection waits in its pool now, for three seconds.
            upstream, = self.admin.json("/upstreams")["upstreams"]
            self.assertEqual(upstream["name"], "app")
            self.assertEqual(upstream["addresses"][0]["address"], f"127.0.0.1:{self.upstream.port}")
            self.assertGreaterEqual(upstream["connections"]["idle"], 1)

    def test_the_level_of_the_log(self):
        self.assertEqual(self.admin.json("/log-level"), {"level": "info"})
        try:
            for method, level in [("PUT", "debug"), ("POST", "error")]:
                self.assertEqual(self.admin.ask(method, f"/log-level?level={level}")[0], 200)
                self.assertEqual(self.admin.json("/log-level"), {"level": level})
            self.assertEqual(self.admin.ask("PUT", "/log-level?level=loud")[0], 400)
            self.assertEqual(self.admin.ask("PUT", "/log-level")[0], 400)
            status, fields, _ = self.admin.ask("GET", "/log-level?level=debug")
            self.assertEqual((status, fields["Allow"]), (405, "PUT, POST"))
        finally:
            self.admin.ask("PUT", "/log-level?level=info")

    def test_explain_says_where_each_field_goes(self):
        body = '{"a": 1, "token": "x"}'
        status, _, text = self.admin.ask("POST", "/explain?route=orders", body)
        self.assertEqual(status, 200, text)
        self.assertIn(b"left out", text)
        status, fields, text = self.admin.ask(
            "POST", "/explain?route=orders&path=%2Forders%2F7", body, {"Accept": JSON, "Content-Type": JSON})
        self.assertEqual((status, fields["Content-Type"]), (200, JSON))
        answer = json.loads(text)
        self.assertEqual(answer["route"], "orders")
        self.assertEqual([entry["from"] for entry in answer["removed"]], ["token"])
        for target, body, wanted in [("/explain", body, 400), ("/explain?route=order", body, 404),
                                     ("/explain?route=rest", body, 400), ("/explain?route=orders", "{]", 422)]:
            self.assertEqual(self.admin.ask("POST", target, body)[0], wanted, target)

    def test_explain_is_asked_for_another_method(self):
        self.assertEqual(self.admin.ask("POST", "/explain?route=orders&method=POST", '{"a": 1}')[0], 200)
        status, _, text = self.admin.ask("POST", "/explain?route=orders&method=PUT", '{"a": 1}')
        self.assertEqual(status, 400)
        self.assertIn(b"the route takes POST, not PUT", text)

    def test_nobody_waits_for_a_long_explanation(self):
        document = '{"a": [' + ",".join(["1"] * 100_000) + "]}"
        with Client(self.admin.port) as client:
            client.send("POST /explain?route=long HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(document)}\r\n\r\n{document}")
            # The document has come, and what is asked behind it is answered before it.
            for _ in range(5):
                self.assertEqual(self.admin.get("/live"), b"live\n")
            self.assertEqual(select.select([client.socket], [], [], 0)[0], [])
            self.assertEqual(client.response("POST").status, 200)

    def test_transfers_shows_uploads_in_flight(self):
        with Client(self.recast.port) as client:
            client.send("POST /upload HTTP/1.1\r\nHost: a\r\nX-Request-Id: the-upload\r\nContent-Length: 1000\r\n\r\n"
                        + "x" * 400)
            self.upstream.wait_for(1)
            while True:
                answer = self.admin.json("/transfers")
                if answer["transfers"] and answer["transfers"][0]["bytes_out"] == 400:
                    break
                select_nothing()
            transfer, = answer["transfers"]
            self.assertEqual((transfer["id"], transfer["route"], transfer["upstream"]), ("the-upload", "rest", "app"))
            self.assertEqual((transfer["bytes_in"], transfer["total"]), (400, 1000))
            self.assertGreater(transfer["age"], 0)
            self.assertGreater(transfer["bytes_per_second"], 0)
            self.assertEqual((answer["truncated"], answer["workers_missing"]), (False, 0))
            client.send("x" * 600)
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.admin.json("/transfers")["transfers"], [])

    def upload(self, name, size=1000, first=400):
        """A client that has sent `first` bytes of an upload, which Recast has seen."""
        client = Client(self.recast.port)
        self.addCleanup(client.socket.close)
        client.send(f"POST /upload HTTP/1.1\r\nHost: a\r\nX-Request-Id: {name}\r\nContent-Length: {size}\r\n\r\n" + "x" * first)
        return client

    def test_transfers_of_one_id_or_route(self):
        clients = [self.upload(name) for name in ("first-upload", "second-upload")]
        wait_until("both are there", lambda: len(self.admin.json("/transfers")["transfers"]) == 2)
        for query, wanted in (("id=second-upload", ["second-upload"]), ("id=third-upload", []), ("route=orders", []),
                              ("route=rest", ["first-upload", "second-upload"]), ("route=rest&id=first-upload", ["first-upload"])):
            found = [transfer["id"] for transfer in self.admin.json("/transfers?" + query)["transfers"]]
            self.assertEqual(sorted(found), wanted, query)
        for client in clients:
            client.send("x" * 600)
            self.assertEqual(client.response().status, 200)

    def test_transfers_as_events(self):
        """The list at once, and again whenever it has changed."""
        with Events(self.admin.port, "/transfers?interval=100&id=the-upload") as events:
            self.assertEqual(events.next()[1], {"transfers": [], "truncated": False, "workers_missing": 0})
            # Another one is none of this reader's business.
            other = self.upload("another-upload")
            client = self.upload("the-upload")
            seen = [events.next()]
            while seen[-1][1]["transfers"][0]["bytes_out"] < 400:
                seen.append(events.next())
            client.send("x" * 300)
            while seen[-1][1]["transfers"][0]["bytes_out"] < 700:
                seen.append(events.next())
            self.assertTrue(all(name == "transfers" for name, _ in seen))
            transfers = [transfer for _, data in seen for transfer in data["transfers"]]
            self.assertEqual({(transfer["id"], transfer["total"], transfer["route"]) for transfer in transfers},
                             {("the-upload", 1000, "rest")})
            counts = [(transfer["bytes_in"], transfer["bytes_out"]) for transfer in transfers]
            self.assertEqual(counts, sorted(counts))
            self.assertEqual(len(set(counts)), len(counts), "nothing had changed")
            client.send("x" * 300)
            self.assertEqual(client.response().status, 200)
            name, data = events.next()
            while name == "transfers":
                name, data = events.next()
            self.assertEqual((name, data), ("end", {"id": "the-upload"}))
            self.assertIsNone(events.next())
            other.send("x" * 600)
            self.assertEqual(other.response().status, 200)

    def test_events_of_all_transfers_go_on_when_one_ends(self):
        with Events(self.admin.port, "/transfers?interval=100") as events:
            self.assertEqual(events.next()[1]["transfers"], [])
            client = self.upload("one")
            while not any(transfer["bytes_out"] == 400 for transfer in events.next()[1]["transfers"]):
                pass
            client.send("x" * 600)
            self.assertEqual(client.response().status, 200)
            while events.next()[1]["transfers"]:
                pass
            self.upload("two")
            self.assertEqual([transfer["id"] for transfer in events.next()[1]["transfers"]], ["two"])

    def test_what_asks_for_events(self):
        status, fields, body = self.admin.ask("HEAD", "/transfers", headers={"Accept": "text/event-stream"})
        self.assertEqual((status, fields["Content-Type"], body), (200, "text/event-stream", b""))
        for interval in ("99", "60001", "-1", "1s", "", "99999999999"):
            status, _, body = self.admin.ask("GET", f"/transfers?interval={interval}", headers={"Accept": "text/event-stream"})
            self.assertEqual(status, 400, interval)
            self.assertIn("100 to 60000", json.loads(body)["error"])
        for interval in ("100", "60000"):
            with Events(self.admin.port, f"/transfers?interval={interval}") as events:
                self.assertEqual(events.next()[0], "transfers")
        for site in ("cross-site", "same-site"):
            headers = {"Accept": "text/event-stream", "Sec-Fetch-Site": site}
            self.assertEqual(self.admin.ask("GET", "/transfers", headers=headers)[0], 403)

    def test_accept_is_read_as_http_has_it(self):
        for accepts, is_wanted in (
            ("Text/Event-Stream", True), ("text/html, text/event-stream; q=0.1", True), ("text/event-stream;q=0", False),
            ("text/event-stream-x", False), ("x/y; a=\"text/event-stream\"", False), ("text/*, */*", False),
        ):
            _, fields, _ = self.admin.ask("HEAD", "/transfers", headers={"Accept": accepts})
            self.assertEqual(fields["Content-Type"], "text/event-stream" if is_wanted else JSON, accepts)
        for accepts, is_wanted in (("APPLICATION/JSON", True), ("application/json;q=0", False), ("*/*", False)):
            _, fields, _ = self.admin.ask("POST", "/explain?route=orders", '{"a": 1}', {"Accept": accepts, "Content-Type": JSON})
            self.assertEqual(fields["Content-Type"].split(";")[0], JSON if is_wanted else "text/plain", accepts)
        with Client(self.admin.port) as client:  # several lines are one list
            client.send("HEAD /transfers HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nAccept: text/event-stream\r\n\r\n")
            self.assertEqual(client.response("HEAD").fields.get("content-type"), "text/event-stream")

    def test_parameters_that_say_nothing_are_mistakes(self):
        for method, target, error in (
            ("GET", "/transfers?rute=orders", 'there is no parameter "rute" here'), ("GET", "/transfers?id=a&id=b", '"id" may come once'),
            ("PUT", "/log-level?level=info&level=debug", '"level" may come once'), ("POST", "/explain?route=orders&typ=a/b", '"typ"'),
            ("GET", "/config?route=orders", "there are none"), ("POST", "/drain?now", "there are none"),
        ):
            status, _, body = self.admin.ask(method, target, "{}" if method == "POST" else None)
            self.assertEqual(status, 400, target)
            self.assertIn(error, json.loads(body)["error"])
        # What scrapers, probes and load balancers add themselves is theirs.
        for target in ("/metrics?name[]=up&name[]=x", "/live?x", "/ready?x=1&x=2"):
            self.assertEqual(self.admin.ask("GET", target)[0], 200, target)
        self.assertEqual(self.admin.ask("POST", "/explain?route=orders&header=A:1&header=B:2", '{"a": 1}', {"Content-Type": JSON})[0], 200)

    def test_who_announces_too_much_is_not_told_to_go_on(self):
        with Client(self.admin.port) as client:
            client.send(f"POST /explain?route=orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: {(1 << 20) + 1}\r\n"
                        "Expect: 100-continue\r\n\r\n")
            self.assertEqual(client.response().status, 413)

    def test_as_many_readers_of_events_as_there_may_be(self):
        with contextlib.ExitStack() as stack:
            readers = [stack.enter_context(Events(self.admin.port, "/transfers")) for _ in range(16)]
            for reader in readers:
                self.assertEqual(reader.next()[0], "transfers")
            self.assertEqual(self.admin.ask("GET", "/transfers", headers={"Accept": "text/event-stream"})[0], 503)
            # Others are served as before.
            self.assertEqual(self.admin.json("/transfers")["transfers"], [])
            readers[3].close()

            def is_free():
                try:
                    stack.enter_context(Events(self.admin.port, "/transfers"))
                except AssertionError:
                    return False
                return True

            wait_until("the place is free again", is_free)

    def test_what_a_reader_of_events_sends_is_of_no_matter(self):
        with Events(self.admin.port, "/transfers?interval=100") as events:
            self.assertEqual(events.next()[1]["transfers"], [])
            events.client.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.upload("one")
            self.assertEqual(events.next()[1]["transfers"][0]["id"], "one")

    def test_requests_on_one_connection_and_in_pieces(self):
        with Client(self.admin.port) as client:
            client.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ready HT")
            self.assertEqual(client.response().body, b"live\n")
            client.send("TP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.response().body, b"ready\n")
            client.send("POST /explain?route=orders HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "7\r\n{\"a\":1}\r\n0\r\n\r\n")
            self.assertEqual(client.response().status, 200)
            client.send("GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertEqual(client.response().body, b"live\n")
            self.assertTrue(client.is_closed())

    def test_bad_and_large_requests_are_refused(self):
        for head, status in [("GET /live HTTP/1.1\r\n\r\n", 400), ("GET /live\r\n\r\n", 400),
                             ("POST /explain?route=orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n", 413),
                             (f"GET /live HTTP/1.1\r\nHost: localhost\r\nX: {'x' * 20000}\r\n\r\n", 431)]:
            with Client(self.admin.port) as client:
                client.send(head)
                response = client.response()
                self.assertEqual(response.status, status, head[:60])
                self.assertNotIn(b"limits.", response.body, "its limits are no settings")

    def test_more_connections_than_it_holds(self):
        held = [Client(self.admin.port) for _ in range(64)]
        try:
            for client in (held[0], held[-1]):
                client.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(client.response().status, 200)
            # One more takes the place of the one that has asked nothing for longest, which is neither of these two.
            for number in (1, 2):
                self.assertEqual(self.admin.get("/live"), b"live\n")
                self.assertTrue(held[number].is_closed())
            held[-1].send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(held[-1].response().status, 200)
        finally:
            for client in held:
                client.socket.close()

    def test_more_requests_than_it_holds_connections(self):
        """Where none is idle one more takes the place of the one whose request has been coming longest, which is told and counted."""
        held = []
        try:
            for _ in range(64):
                client = Client(self.admin.port)
                held.append(client)
                client.send("GET /live HTTP/1.1\r\nHost: local")
                client.wait_until_read()
            with Client(self.admin.port) as further:
                further.request("GET", "/live", host="localhost")
                self.assertEqual(further.response().status, 200)
                self.assertTrue(held[0].is_closed())
                for client in held[1:]:
                    client.send("host\r\n\r\n")
                    self.assertEqual(client.response().status, 200)
        finally:
            for client in held:
                client.socket.close()
        self.assertEqual(self.admin.metrics().sum("recast_admin_connections_refused_total", port="admin"), 1)
        self.recast.says("the admin port has 64 connections with requests: closed one")


class DoorTests(unittest.TestCase):
    """The port for commands by its names, and the one that only tells."""

    def start(self, settings, **options):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        recast = Recast("  - { name: all, match: \"/*\", upstream: app }\n", {"app": f"127.0.0.1:{upstream.port}"},
                        settings=settings, **options)
        self.addCleanup(recast.remove)
        self.addCleanup(recast.process.wait)
        self.addCleanup(recast.process.kill)
        return recast

    def test_clients_that_take_no_answers_keep_no_probe_out(self):
        port = free_port()
        recast = self.start(f"admin: 127.0.0.1:{port}\n")

        def is_answered():
            with Client(port) as probe, contextlib.suppress(OSError, Closed):
                probe.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return probe.response().status == 200
            return False

        held = [Client(port, receive_buffer=4096) for _ in range(64)]
        try:
            for client in held:
                client.socket.settimeout(0)
                with contextlib.suppress(OSError):  # more than is read, once the answers wait
                    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400)
            for client in held:
                client.socket.settimeout(DEADLINE)
                client.socket.recv(1)  # from here on it always has an answer to take, or gets one
            wait_until("a probe is answered", is_answered)
            recast.says("the admin port has 64 connections with requests: closed one")
        finally:
            for client in held:
                client.socket.close()

    def test_clients_that_do_not_close_keep_no_probe_out(self):
        """Their last answers are out, and they are waited for no longer where somebody else needs the place."""
        port = free_port()
        recast = self.start(f"status: 127.0.0.1:{port}\n")
        held = [Client(port) for _ in range(64)]
        try:
            for client in held:
                client.send("GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                self.assertEqual(client.response().status, 200)
            for _ in range(3):
                self.assertEqual(Admin(port).get("/ready"), b"ready\n")
        finally:
            for client in held:
                client.socket.close()
        self.assertIsNone(recast.process.poll())

    def test_many_who_scrape_at_once_share_their_answers(self):
        port = free_port()
        self.start(f"status: 127.0.0.1:{port}\n", workers=2)
        held = [Client(port) for _ in range(60)]
        try:
            for _ in range(3):
                for client in held:
                    client.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
                for _ in range(4):
                    self.assertEqual(Admin(port).get("/live"), b"live\n")
                for client in held:
                    response = client.response()
                    self.assertEqual(response.status, 200)
                    self.assertIn(b"\nrecast_build_info{", response.body)
        finally:
            for client in held:
                client.socket.close()

    def test_the_status_port_tells_anybody_how_things_stand_and_no_more(self):
        port, status_port = free_port(), free_port()
        recast = self.start(f"admin: 127.0.0.1:{port}\nstatus: 0.0.0.0:{status_port}\n", workers=2)
        wait_until("the port is told of", lambda: f"status port on 0.0.0.0:{status_port}" in recast.error_text())
        status = Admin(status_port)
        status.until_ready()
        for host in ("127.0.0.1", "recast.default.svc.cluster.local:9902", "evil.example"):
            for target in ("/live", "/ready", "/metrics"):
                self.assertEqual(status.ask("GET", target, headers={"Host": host})[0], 200, (host, target))
        self.assertEqual(status.ask("HEAD", "/ready")[::2], (200, b""))
        self.assertEqual(status.metrics().sum("recast_workers"), 2)
        for method, target in [("GET", "/"), ("GET", "/config"), ("GET", "/routes"), ("GET", "/upstreams"),
                               ("GET", "/transfers"), ("POST", "/drain"), ("GET", "/drain"), ("GET", "/log-level"),
                               ("PUT", "/log-level?level=debug"), ("POST", "/explain?route=all"), ("GET", "/nothing"),
                               ("GET", "/metrics/"), ("GET", "//config"), ("GET", "/%63onfig"), ("GET", "/ready/../config")]:
            self.assertEqual(status.ask(method, target)[0], 404, (method, target))
        for method in ("POST", "PUT", "DELETE"):
            answer, fields, _ = status.ask(method, "/ready")
            self.assertEqual((answer, fields["Allow"]), (405, "GET, HEAD"), method)
        # All that was refused has changed nothing, and the other port still takes commands.
        self.assertEqual(status.get("/ready"), b"ready\n")
        probe = subprocess.run([RECAST, "probe", f"127.0.0.1:{status_port}", "/ready"], timeout=DEADLINE)
        self.assertEqual(probe.returncode, 0)
        with Client(recast.port) as client:
            client.request("GET", "/x")
            client.response()
            wait_until("it is counted", lambda: Admin(port).metrics().sum("recast_requests_total") == 1)
            self.assertEqual(status.metrics().sum("recast_requests_total"), 1)
        # Clients of the one don't keep those of the other out.
        held = [Client(status_port) for _ in range(64)]
        try:
            self.assertEqual(Admin(port).ask("POST", "/drain")[0], 202)
        finally:
            for client in held:
                client.socket.close()
        self.assertEqual(recast.process.wait(DEADLINE), 0)

    def test_a_reader_of_events_holds_no_end_up(self):
        port, line = admin_port()
        recast = self.start(line)
        Admin(port).until_ready()
        with Events(port, "/transfers") as events:
            self.assertEqual(events.next()[1]["transfers"], [])
            recast.process.send_signal(signal.SIGTERM)
            self.assertEqual(recast.process.wait(DEADLINE), 0)
            self.assertIsNone(events.next())

    def test_the_status_port_alone(self):
        status_port = free_port()
        recast = self.start(f"status: 127.0.0.1:{status_port}\n")
        status = Admin(status_port)
        status.until_ready()
        with Client(recast.port) as client:
            client.request("GET", "/x")
            self.assertEqual(client.response().status, 200)
        wait_until("it is counted", lambda: status.metrics().sum("recast_requests_total") == 1)
        self.assertEqual(status.ask("POST", "/drain")[0], 404)

    def test_names_of_the_port_come_with_a_reload_and_addresses_with_a_restart(self):
        port, status_port = free_port(), free_port()
        recast = self.start(f"admin: {{ address: 127.0.0.1:{port}, hosts: [old.internal] }}\nstatus: 127.0.0.1:{status_port}\n")
        admin = Admin(port)
        admin.until_ready()
        self.assertEqual(admin.ask("GET", "/config", headers={"Host": "old.internal"})[0], 200)
        self.assertEqual(admin.ask("GET", "/config", headers={"Host": "new.internal"})[0], 421)
        with open(recast.config) as file:
            text = file.read()
        with open(recast.config, "w") as file:
            file.write(text.replace("old.internal", "new.internal").replace(f":{status_port}", ":1"))
        reload(recast)
        self.assertEqual(admin.ask("GET", "/config", headers={"Host": "old.internal"})[0], 421)
        self.assertEqual(admin.ask("GET", "/config", headers={"Host": "new.internal"})[0], 200)
        recast.says('a new value of "status" takes effect after a restart')
        values = {entry["key"]: entry["value"] for entry in admin.json("/config")["settings"]}
        self.assertEqual(values["status"], f"127.0.0.1:{status_port}")
        self.assertEqual(values["admin.hosts"], "new.internal")
        self.assertEqual(Admin(status_port).get("/ready"), b"ready\n")

    def test_a_unix_socket_is_called_by_any_name(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path = os.path.join(folder, "admin.sock")
            self.start(f"admin: \"unix:{path}\"\n")
            for host in ("recast", "evil.example"):
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(DEADLINE)
                    client.connect(path)
                    client.sendall(f"GET /config HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                    self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200 "), host)

    def test_modes_of_unix_sockets_hold_whatever_the_umask_is(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            paths = {name: os.path.join(folder, name) for name in ("listen", "admin", "status")}
            before = os.umask(0o077)
            try:
                recast = self.start(f"admin: {{ address: 'unix:{paths['admin']}', mode: '0o600' }}\n"
                                    f"status: {{ address: 'unix:{paths['status']}', mode: 666 }}\n",
                                    listeners=(f"{{ address: 'unix:{paths['listen']}', mode: 0660 }}",))
            finally:
                os.umask(before)
            wait_until("it serves", lambda: "serving" in recast.error_text())
            modes = {name: stat.S_IMODE(os.stat(path).st_mode) for name, path in paths.items()}
            self.assertEqual(modes, {"listen": 0o660, "admin": 0o600, "status": 0o666})
            # Without one the umask decides.
            self.assertEqual(stat.S_IMODE(os.stat(recast.path).st_mode), 0o700)
            with Client(paths["status"]) as client:
                client.request("GET", "/live")
                self.assertEqual(client.response().status, 200)
            # A socket that stays has its file as it was made, and the log says so.
            with open(recast.config) as file:
                text = file.read()
            with open(recast.config, "w") as file:
                file.write(text.replace("mode: 0660", "mode: 0666"))
            reload(recast)
            recast.says('a new value of "listen.mode" takes effect after a restart')
            self.assertEqual(stat.S_IMODE(os.stat(paths["listen"]).st_mode), 0o660)

    def test_a_port_that_is_taken_already_is_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nlisten: 127.0.0.1:8080\nadmin: 127.0.0.1:9901\nstatus: 127.0.0.1:9901\n"
                       "upstreams: { app: 127.0.0.1:1 }\nroutes: [{ name: a, match: /*, upstream: app }]\n")
            file.flush()
            result = subprocess.run([RECAST, "check", file.name], capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(result.returncode, 65)
            self.assertIn("listened on already", result.stderr)


class AdminEndTests(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        port, settings = admin_port()
        self.admin = Admin(port)
        self.recast = Recast("  - { name: all, match: \"/*\", upstream: app }\n",
                             {"app": f"127.0.0.1:{self.upstream.port}"}, workers=2, settings=settings)
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.process.wait)
        self.addCleanup(self.recast.process.kill)

    def test_drain_is_not_ready_and_ends_when_the_exchange_has(self):
        with Client(self.recast.port) as client:
            client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nx")
            self.upstream.wait_for(1)
            self.assertEqual(self.admin.ask("POST", "/drain")[0], 202)
            # A second time is no second signal: nothing is cut.
            self.assertEqual(self.admin.ask("POST", "/drain")[0], 202)
            self.assertEqual(self.admin.ask("GET", "/ready")[::2], (503, b"draining\n"))
            self.assertEqual(self.admin.get("/live"), b"live\n")
            # An orchestrator's hook asks for the drain, and then its SIGTERM comes.
            self.recast.process.send_signal(signal.SIGTERM)
            self.assertEqual(self.admin.get("/live"), b"live\n")
            client.send("y")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def switches(self):
        """How often the main thread and the other worker's have slept: one that serves a request wakes for it."""
        counts = {}
        process = self.recast.process.pid
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/status") as status:
                lines = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
            name = "main" if thread == str(process) else lines["Name"]
            counts[name] = int(lines["voluntary_ctxt_switches"])
        return counts

    def client_of_the_main_thread(self):
        """A connection that the main thread serves. Others serve the further ones that this makes."""
        while True:
            client = Client(self.recast.port)
            self.addCleanup(client.socket.close)
            before = self.switches()
            for _ in range(50):
                client.request("GET", "/")
                self.assertEqual(client.response().status, 200)
            after = self.switches()
            if after["main"] - before["main"] > after["worker-1"] - before["worker-1"]:
                return client

    def test_of_a_worker_that_has_ended_only_the_counts_stay(self):
        self.admin.until_ready()
        with self.client_of_the_main_thread() as client:
            self.assertEqual(self.admin.metrics().sum("recast_upstream_endpoint_healthy"), 2)
            client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nx")
            self.assertEqual(self.admin.ask("POST", "/drain")[0], 202)
            while (metrics := self.admin.metrics()).sum("recast_workers") != 1:
                select_nothing()
            self.assertEqual(metrics.sum("recast_upstream_endpoint_healthy"), 1)
            self.assertEqual(metrics.sum("recast_connections", side="client"), 1)
            self.assertEqual(metrics.sum("recast_requests_total") + 1, len(self.upstream.requests))
            client.send("y")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_a_client_that_half_closes_gets_its_answer(self):
        with Client(self.admin.port) as client:
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.finish_sending()
            self.assertEqual(client.response().status, 200)
            self.assertTrue(client.is_closed())

    def test_a_unix_socket_serves_it_too(self):
        path = os.path.join(self.recast.folder, "admin.sock")
        other = Recast("  - { name: all, match: \"/*\", upstream: app }\n", {"app": "127.0.0.1:1"},
                       settings=f"admin: unix:{path}\n")
        self.addCleanup(other.remove)
        with Client(path) as client:
            client.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.response().body, b"live\n")
        self.assertEqual(other.stop(), 0)

    def test_an_address_in_use_is_said(self):
        with self.assertRaisesRegex(AssertionError, f"ended with 69.*127.0.0.1:{self.admin.port}"):
            Recast("  - { name: all, match: \"/*\", upstream: app }\n", {"app": "127.0.0.1:1"},
                   settings=f"admin: 127.0.0.1:{self.admin.port}\n")


if __name__ == "__main__":
    unittest.main()
