"""Several addresses, names that change, limits, and which requests are sent twice (docs/upstreams.md)."""

import collections
import http.client
import os
import resource
import socket
import threading
import time
import unittest
import unittest.mock
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from admin import Admin, admin_port
from harness import DEADLINE, Client, ProxyTestCase, Recast, Upstream
from lifecycle_support import reload, wait_until
from servers.name_server import NameServer
from tls_support import TLSUpstream, certificates

ROUTES = "  - { name: all, match: /*, upstream: app }\n"


class LoopbackServer(ThreadingHTTPServer):
    """Answers every request with the loopback address that it came in on, and closes."""

    daemon_threads = True
    request_queue_size = 256

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = self.connection.getsockname()[0].encode()
            self.server.seen[body.decode()] += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self, address="0.0.0.0", port=0):
        super().__init__((address, port), self.Handler)
        self.seen = collections.Counter()
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class RecastTestCase(unittest.TestCase):
    def recast(self, upstream, routes=ROUTES, settings=""):
        proxy = Recast(routes, {"app": upstream}, settings=settings)
        self.addCleanup(proxy.remove)
        self.addCleanup(lambda: self.assertEqual(proxy.stop(), 0))
        return proxy

    def dead_port(self):
        """A port that nobody listens on and nobody else gets: connections are refused. A LoopbackServer may take it."""
        holder = socket.socket()
        self.addCleanup(holder.close)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]

    def get(self, proxy, target="/"):
        with Client(proxy.port) as client:
            client.request("GET", target)
            return client.response()

    def wait_for(self, what, condition):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never came true: {what}")
            threading.Event().wait(0.02)


class RetrySafetyTests(ProxyTestCase):
    routes = ROUTES

    def test_F20_row_33_nothing_unsafe_is_executed_twice_and_nothing_safe_is_lost(self):
        """The upstream resets every second request on a connection that it has answered on before."""
        executed = collections.Counter()
        served = collections.Counter()

        def script(exchange):
            exchange.read_body()
            identity = exchange.received.fields.get("x-id")
            number = exchange.received.connection_number
            executed[identity] += 1
            served[number] += 1
            if served[number] > 1:
                exchange.reset()
            exchange.answer(body=identity.encode())

        self.upstream.script = script
        failed = 0
        with Client(self.recast.port) as client:
            for index in range(60):
                method = ("GET", "POST", "PUT")[index % 3]
                client.request(method, "/", None if method == "GET" else b"body", "text/plain", [f"X-Id: {index}"])
                response = client.response()
                if method == "POST":
                    self.assertLessEqual(executed[str(index)], 1)
                    if response.status == 502:
                        failed += 1
                        self.assertEqual(response.json["code"], "upstream_closed")
                        continue
                else:
                    self.assertLessEqual(executed[str(index)], 2)
                self.assertEqual((response.status, response.body), (200, str(index).encode()))
        self.assertGreater(failed, 0)
        self.assertTrue(any(count == 2 for count in executed.values()))

    def test_F20_row_18_parallel_clients_get_their_own_answers(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.connection_number % 3 == 0 and exchange.received.target == "/again":
                exchange.close()
            exchange.answer(body=exchange.received.fields.get("x-id").encode())

        self.upstream.script = script
        wrong = []

        def run(name):
            with Client(self.recast.port) as client:
                for index in range(20):
                    identity = f"{name}-{index}"
                    client.request("GET", "/again" if index % 4 == 3 else "/", fields=[f"X-Id: {identity}"])
                    response = client.response()
                    if response.status not in (200, 502) or response.status == 200 and response.body != identity.encode():
                        wrong.append((identity, response.status, response.body))

        threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class RouteRetryTests(ProxyTestCase):
    routes = (
        "  - { name: again, match: /again, upstream: app, retry: { on: [503, reset], attempts: 2 } }\n"
        "  - { name: never, match: /*, upstream: app, retry: off }\n")

    def test_F20_a_route_asks_for_more_attempts(self):
        def script(exchange):
            exchange.read_body()
            number = len(self.upstream.requests)
            if number == 1:
                exchange.answer(503)
            elif number == 2:
                exchange.reset()
            else:
                exchange.answer()

        self.upstream.script = script
        with Client(self.recast.port) as client:
            client.request("PUT", "/again", b"a" * 5000, "text/plain")
            self.assertEqual(client.response().status, 200)
        seen = self.upstream.wait_for(3)
        self.assertEqual([received.body for received in seen], [b"a" * 5000] * 3)

    def test_F20_a_post_gets_one_attempt(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(503))
        with Client(self.recast.port) as client:
            client.request("POST", "/again", b"a", "text/plain")
            self.assertEqual(client.response().status, 503)
        self.assertEqual(len(self.upstream.requests), 1)

    def test_F20_a_response_that_has_begun_is_why_there_is_no_second_attempt(self):
        for begun in (b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc"):
            self.upstream.reset()
            self.upstream.script = lambda exchange, begun=begun: (exchange.read_body(), exchange.send(begun), exchange.reset())
            for path, skipped in (("/again", "response_started"), ("/else", None)):
                identity = f"begun-{len(begun)}-{path[1:]}"
                with self.client() as client:
                    client.request("GET", path, fields=[f"X-Request-Id: {identity}", "Connection: close"])
                    client.reader.rest()
                self.assertEqual(self.recast.log_entry(identity).get("retry_skipped"), skipped)
            self.assertEqual(len(self.upstream.requests), 2)

    def test_F20_retry_off(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/second":
                exchange.close()
            exchange.answer()

        self.upstream.script = script
        with Client(self.recast.port) as client:
            client.request("GET", "/first")
            self.assertEqual(client.response().status, 200)
            client.request("GET", "/second")
            self.assertEqual(client.response().json["code"], "upstream_closed")
        self.assertEqual(len(self.upstream.requests), 2)


class AddressTests(RecastTestCase):
    def test_row_34_one_of_three_addresses_is_dead(self):
        servers = [LoopbackServer("127.0.0.1") for _ in range(2)]
        for server in servers:
            self.addCleanup(server.end)
        ports = [server.port for server in servers] + [self.dead_port()]
        addresses = ", ".join(f"127.0.0.1:{port}" for port in ports)
        proxy = self.recast(f"{{ address: [{addresses}], health: {{ passive: {{ ejection: 1s }} }} }}")
        for _ in range(30):
            self.assertEqual(self.get(proxy).status, 200)
        self.wait_for("the warning", lambda: "could not be connected to 5 times" in proxy.error_text())
        # It comes back by itself.
        returned = LoopbackServer("127.0.0.1", ports[2])
        self.addCleanup(returned.end)
        self.wait_for("it gets requests", lambda: self.get(proxy).status == 200 and returned.seen)

    def test_a_request_that_comes_from_a_dead_address_takes_an_idle_connection(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        proxy = self.recast(
            f"{{ address: [127.0.0.1:{self.dead_port()}, 127.0.0.1:{upstream.port}], idle: 60s,"
            " health: { passive: { failures: 0 } } }")
        self.assertEqual([self.get(proxy).status for _ in range(8)], [200] * 8)
        self.assertEqual(upstream.connection_count, 1)

    def test_F20_a_retry_whose_other_address_is_dead_goes_back(self):
        """The address that failed first is better than none."""
        server = Upstream()
        self.addCleanup(server.stop)
        failed = set()

        def script(exchange):
            exchange.read_body()
            path = exchange.received.target
            if path in failed:
                return exchange.answer(body=b"again")
            failed.add(path)
            return exchange.answer(503) if path.startswith("/status") else exchange.reset()

        server.script = script
        proxy = self.recast(
            f"{{ address: [127.0.0.1:{server.port}, 127.0.0.1:{self.dead_port()}], health: {{ passive: {{ failures: 0 }} }} }}",
            "  - { name: again, match: /*, upstream: app, retry: { on: [503, reset], attempts: 1 } }\n")
        for number in range(10):
            for kind in ("status", "reset"):
                with Client(proxy.port) as client:
                    client.request("PUT", f"/{kind}/{number}", b"x", "text/plain")
                    response = client.response()
                    self.assertEqual((response.status, response.body), (200, b"again"), kind)

    def test_each_address_has_its_turn_where_requests_wait_for_a_connection(self):
        servers = [LoopbackServer("127.0.0.1") for _ in range(3)]
        for server in servers:
            self.addCleanup(server.end)
        addresses = ", ".join(f"127.0.0.1:{server.port}" for server in servers)
        for most in range(1, 6):
            with self.subTest(most):
                for server in servers:
                    server.seen.clear()
                proxy = self.recast(f"{{ address: [{addresses}], max_connections: {most}, queue: {{ timeout: 1m }} }}")

                def run(proxy=proxy):
                    with Client(proxy.port) as client:
                        for _ in range(10):
                            client.request("GET", "/")
                            client.response()

                threads = [threading.Thread(target=run) for _ in range(9)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual([server.seen["127.0.0.1"] for server in servers], [30, 30, 30])

    def test_the_log_says_which_address_gets_requests_all_the_same(self):
        for ports, outcome in ((1, "requests try it all the same"), (2, "it gets no requests for a while")):
            addresses = ", ".join(f"127.0.0.1:{self.dead_port()}" for _ in range(ports))
            proxy = self.recast(f"{{ address: [{addresses}], health: {{ passive: {{ failures: 2 }} }} }}")
            for _ in range(4):
                self.assertIn(self.get(proxy).status, (502, 503))
            self.wait_for("it is said", lambda: proxy.error_text().count(outcome) >= 1)
            said = [line for line in proxy.error_text().splitlines() if "times in a row" in line]
            self.assertIn(outcome, said[0])
            if ports == 1:
                self.assertEqual([self.get(proxy).status for _ in range(3)], [502] * 3)

    def test_row_35_all_addresses_are_dead_and_one_returns(self):
        ports = [self.dead_port(), self.dead_port()]
        proxy = self.recast(f"{{ address: [127.0.0.1:{ports[0]}, 127.0.0.1:{ports[1]}] }}")
        # The first one that isn't tried: none of them may be tried again soon.
        while (response := self.get(proxy)).status == 502:
            pass
        self.assertEqual((response.status, response.json["code"]), (503, "upstream_unavailable"))
        self.assertEqual(response.fields.get("retry-after"), "1")
        server = LoopbackServer("127.0.0.1", ports[1])
        self.addCleanup(server.end)
        start = time.monotonic()
        self.wait_for("it serves again", lambda: self.get(proxy).status == 200)
        self.assertLess(time.monotonic() - start, DEADLINE / 4)

    def test_row_40_no_descriptor_left_is_503_and_passes(self):
        server = LoopbackServer("127.0.0.1")
        self.addCleanup(server.end)
        proxy = self.recast(f"127.0.0.1:{server.port}")
        pid = proxy.process.pid
        with Client(proxy.port) as client:
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
            before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            self.wait_for("the upstream's connection is closed", lambda: not idle_sockets(pid, server.port))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free(pid), before[1]))
            client.request("GET", "/")
            response = client.response()
            self.assertEqual((response.status, response.json["code"]), (503, "upstream_no_resources"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)

    def test_a_full_upstream_lets_requests_wait_for_their_turn(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        gate = threading.Event()
        upstream.script = lambda exchange: (exchange.read_body(), gate.wait(DEADLINE), exchange.answer())
        proxy = self.recast(
            f"{{ address: 127.0.0.1:{upstream.port}, max_requests: 2, queue: {{ size: 3, timeout: 20s }} }}")
        clients = [Client(proxy.port) for _ in range(6)]
        statuses = []
        for client in clients:
            self.addCleanup(client.socket.close)
            client.request("GET", "/")
        # Five find a place, whichever they are.
        upstream.wait_for(2)
        refused = []

        def read(client):
            response = client.response()
            (refused if response.status == 503 else statuses).append(response.status)

        threads = [threading.Thread(target=read, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        self.wait_for("one is refused", lambda: refused)
        gate.set()
        for thread in threads:
            thread.join()
        self.assertEqual((len(refused), statuses), (1, [200] * 5))


class MovedAddressTests(RecastTestCase):
    def test_an_address_that_moves_to_another_name_is_asked_by_that_name(self):
        context = certificates().server_context()
        asked = []
        context.sni_callback = lambda _, name, __: asked.append(name)
        server = TLSUpstream(context)
        self.addCleanup(server.stop)
        server.script = lambda exchange: (exchange.read_body(), exchange.answer(fields=["Connection: close"]))
        names = NameServer(["127.0.0.1"])
        self.addCleanup(names.stop)
        proxy = self.recast(
            f"{{ address: [\"one.recast.test:{server.port}\", \"two.recast.test:{server.port}\"], tls: {{ verify: false }}, "
            f"resolve: {{ servers: \"127.0.0.1:{names.port}\" }} }}")

        def name():
            self.assertEqual(self.get(proxy).status, 200)
            return asked[-1]

        self.wait_for("the first name's", lambda: name() == "one.recast.test")
        # Nobody listens there: all requests go to the address that is the second name's alone now.
        names.named["one.recast.test"] = ["127.0.0.9"]
        self.wait_for("the second name's", lambda: name() == "two.recast.test")


class ShareTests(unittest.TestCase):
    def test_all_workers_together_send_no_more_requests_than_may_be_on_their_way(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        gate = threading.Event()
        self.addCleanup(gate.set)
        upstream.script = lambda exchange: (exchange.read_body(), gate.wait(DEADLINE), exchange.answer())
        port, line = admin_port()
        limits = "max_requests: 5, queue: { size: 100, timeout: 60s }"
        proxy = Recast(ROUTES, {"app": f"{{ address: 127.0.0.1:{upstream.port}, {limits} }}"}, workers=4, settings=line)
        self.addCleanup(proxy.remove)
        self.addCleanup(lambda: self.assertEqual(proxy.stop(), 0))
        admin = Admin(port)
        admin.until_ready()
        for limit in (5, 7):
            with self.subTest(limit):
                if limit != 5:
                    with open(proxy.config) as file:
                        text = file.read()
                    with open(proxy.config, "w") as file:
                        file.write(text.replace("max_requests: 5", f"max_requests: {limit}"))
                    reload(proxy)
                upstream.requests.clear()
                gate.clear()
                clients = [Client(proxy.port) for _ in range(60)]
                for client in clients:
                    self.addCleanup(client.socket.close)
                    client.request("GET", "/")

                def numbers():
                    state = admin.json("/upstreams")["upstreams"][0]
                    return state["requests"], state["queued"]

                wait_until("all have come", lambda: sum(numbers()) == 60)
                self.assertLessEqual(numbers()[0], limit)
                gate.set()
                for client in clients:
                    self.assertEqual(client.response().status, 200)
                    client.socket.close()


def descriptors(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield int(name), os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass


def lowest_free(pid):
    taken = {number for number, _ in descriptors(pid)}
    return next(number for number in range(1 << 20) if number not in taken)


def idle_sockets(pid, port):
    """The process's sockets that go to `port` of this host."""
    inodes = {text[8:-1] for _, text in descriptors(pid) if text.startswith("socket:[")}
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return [row for row in rows if row[9] in inodes and row[2].endswith(f":{port:04X}")]


class NameTests(RecastTestCase):
    def setUp(self):
        self.server = LoopbackServer()
        self.addCleanup(self.server.end)

    def named(self, names, more=""):
        self.addCleanup(names.stop)
        return self.recast(
            f"{{ address: \"app.recast.test:{self.server.port}\", resolve: {{ servers: \"127.0.0.1:{names.port}\" }}"
            f"{more} }}")

    def body(self, proxy):
        response = self.get(proxy)
        self.assertEqual(response.status, 200, response.body)
        return response.body.decode()

    def test_row_61_the_pool_follows_a_name_that_changes_each_second(self):
        names = NameServer(["127.0.0.2"])
        proxy = self.named(names)
        for address in ("127.0.0.3", "127.0.0.4", "127.0.0.5"):
            self.assertNotEqual(self.body(proxy), address)
            names.addresses = [address]
            self.wait_for("the new address", lambda: self.body(proxy) == address)  # noqa: B023
            self.assertEqual({self.body(proxy) for _ in range(5)}, {address})

    def test_row_59_the_last_good_answer_is_kept(self):
        names = NameServer(["127.0.0.2"])
        proxy = self.named(names)
        self.assertEqual(self.body(proxy), "127.0.0.2")
        for manner in ("nxdomain", "servfail", "silent"):
            names.manner = manner
            asked = names.questions
            self.wait_for("more questions", lambda: names.questions > asked + 1)  # noqa: B023
            self.assertEqual(self.body(proxy), "127.0.0.2")
        proxy.says("can't be resolved")
        names.addresses, names.manner = ["127.0.0.3"], "answers"
        self.wait_for("the new address", lambda: self.body(proxy) == "127.0.0.3")
        proxy.says("is resolved again")

    def test_a_dot_ends_an_absolute_name_to_which_no_search_domain_is_added(self):
        for name, asked in (("app", {"app.search.test"}), ("app.", {"app"}), ("app.recast.test.", {"app.recast.test"})):
            with self.subTest(name), unittest.mock.patch.dict(os.environ, {"LOCALDOMAIN": "search.test", "RES_OPTIONS": "ndots:5"}):
                names = NameServer(["127.0.0.2"])
                self.addCleanup(names.stop)
                proxy = self.recast(
                    f"{{ address: \"{name}:{self.server.port}\", resolve: {{ servers: \"127.0.0.1:{names.port}\" }} }}")
                self.assertEqual(self.body(proxy), "127.0.0.2")
                self.assertEqual(names.asked, asked)

    def test_row_58_a_name_without_any_answer_is_503(self):
        for manner, within in (("silent", 1.5), ("nxdomain", 1.5)):
            with self.subTest(manner):
                names = NameServer(manner=manner)
                proxy = self.named(names, ", connect: 500ms")
                start = time.monotonic()
                response = self.get(proxy)
                self.assertEqual((response.status, response.json["code"]), (503, "upstream_unresolved"))
                self.assertLess(time.monotonic() - start, within + DEADLINE / 20)
                self.wait_for("the warning", lambda: "can't be resolved" in proxy.error_text())  # noqa: B023
                proxy.says("it has no address")
                names.addresses, names.manner = ["127.0.0.2"], "answers"
                self.wait_for("an answer", lambda: self.get(proxy).status == 200)

    def test_a_name_server_that_is_silent_about_one_family_gives_the_other(self):
        names = NameServer(["127.0.0.2"])
        names.ignored.add(28)
        self.assertEqual(self.body(self.named(names, ", connect: 20s")), "127.0.0.2")

    def searched(self, names):
        """Behind a name that stands for one in either of two domains."""
        self.addCleanup(names.stop)
        with unittest.mock.patch.dict(os.environ, {"LOCALDOMAIN": "one.test two.test", "RES_OPTIONS": "ndots:1"}):
            return self.recast(
                f"{{ address: \"app:{self.server.port}\", resolve: {{ servers: \"127.0.0.1:{names.port}\" }}, connect: 20s }}")

    def test_the_other_family_is_none_of_a_name_in_the_next_search_domain(self):
        """A name that has no address of the family of which its server speaks is there all the same."""
        names = NameServer()
        names.named = {"app.one.test": ["::1"], "app.two.test": ["127.0.0.3"]}
        names.ignored.add(("app.one.test", 28))
        proxy = self.searched(names)
        self.assertEqual(self.get(proxy).status, 503)
        names.ignored.clear()
        names.named["app.one.test"] = ["127.0.0.2"]
        self.wait_for("an answer", lambda: self.get(proxy).status == 200)
        self.assertEqual(self.body(proxy), "127.0.0.2")

    def test_a_name_in_the_next_search_domain_is_found_where_nobody_speaks_of_one_family(self):
        names = NameServer()
        names.named = {"app.one.test": None, "app.two.test": ["127.0.0.3"]}
        names.ignored.add(28)
        self.assertEqual(self.body(self.searched(names)), "127.0.0.3")

    def test_addresses_of_a_family_of_which_nobody_speaks_any_more_are_kept(self):
        names = NameServer(["127.0.0.2", "::1"])
        self.addCleanup(names.stop)
        port, line = admin_port()
        proxy = self.recast(
            f"{{ address: \"app.recast.test:{self.server.port}\", resolve: {{ servers: \"127.0.0.1:{names.port}\" }} }}", settings=line)

        def state():
            found = Admin(port).json("/upstreams")["upstreams"][0]["names"][0]
            return sorted(one.rpartition(":")[0] for one in found["addresses"]), found["fault"]

        self.wait_for("both", lambda: state() == (["127.0.0.2", "[::1]"], None))
        names.ignored.add(28)
        names.addresses[0] = "127.0.0.3"
        self.wait_for("the other one's new address", lambda: state() == (["127.0.0.3", "[::1]"], None))
        names.ignored.clear()
        names.addresses.pop()
        self.wait_for("an answer that is whole", lambda: state() == (["127.0.0.3"], None))
        self.assertEqual(self.body(proxy), "127.0.0.3")

    def test_a_name_that_a_reload_has_taken_away_is_looked_up_for_who_waits_for_it_and_not_again(self):
        upstream, names = Upstream(), NameServer(["127.0.0.1"], manner="silent")
        self.addCleanup(upstream.stop)
        self.addCleanup(names.stop)
        release = upstream.hold(self)
        proxy = self.recast(
            f"{{ address: \"app.recast.test:{upstream.port}\", resolve: {{ servers: \"127.0.0.1:{names.port}\" }}, connect: 20s }}")
        with Client(proxy.port) as client:
            client.request("GET", "/")
            self.wait_for("a question", lambda: names.questions)
            with open(proxy.config) as file:
                text = file.read()
            with open(proxy.config, "w") as file:
                file.write(text.replace("app.recast.test", "other.recast.test"))
            reload(proxy)
            names.manner = "answers"
            upstream.wait_for()
            asked = []
            for number in range(6):
                names.asked.clear()
                self.wait_for("the other name's next look-up", lambda: "other.recast.test" in names.asked)
                if number > 2:  # what was asked while nobody answered may be asked once more
                    asked += names.asked
            self.assertEqual(set(asked), {"other.recast.test"})
            release.set()
            self.assertEqual(client.response().status, 200)

    def test_an_answer_that_cannot_be_read_is_told_as_that(self):
        names = NameServer(["127.0.0.2"])
        names.short.add(1)
        proxy = self.named(names)
        response = self.get(proxy)
        self.assertEqual((response.status, response.json["code"]), (503, "upstream_unresolved"))
        self.assertIn("Misformatted DNS reply", response.json["detail"])
        proxy.says("can't be resolved (the name servers failed: Misformatted DNS reply): it has no address")
        names.short.clear()
        self.wait_for("an answer", lambda: self.get(proxy).status == 200)

    def test_an_answer_of_one_family_that_cannot_be_read_leaves_the_other(self):
        names = NameServer(["127.0.0.2"])
        names.short.add(28)
        self.assertEqual(self.body(self.named(names)), "127.0.0.2")

    def test_a_name_behind_another_is_looked_up_again_when_the_first_one_s_time_is_over(self):
        names = NameServer(["127.0.0.2"], ttl=1000)
        names.alias_ttl = 1
        proxy = self.named(names)
        self.assertEqual(self.body(proxy), "127.0.0.2")
        names.addresses = ["127.0.0.3"]
        self.wait_for("the new address", lambda: self.body(proxy) == "127.0.0.3")

    def test_row_60_200_addresses_come_over_tcp_and_32_are_used(self):
        names = NameServer([f"127.0.1.{index}" for index in range(1, 201)])
        proxy = self.named(names)
        for _ in range(80):
            self.assertIn("127.0.1.", self.body(proxy))
        self.assertGreater(names.questions_over_tcp, 0)
        self.assertEqual(len(self.server.seen), 32)

    def test_requests_before_the_first_answer_wait_for_it(self):
        names = NameServer(["127.0.0.2"], manner="silent")
        proxy = self.named(names, ", connect: 20s")
        with Client(proxy.port) as client:
            client.request("GET", "/")
            self.wait_for("a question", lambda: names.questions)
            names.manner = "answers"
            self.assertEqual(client.response().status, 200)


class CheckTests(RecastTestCase):
    def test_active_checks_take_an_address_out_and_bring_it_back(self):
        good, bad = Upstream(), Upstream()
        self.addCleanup(good.stop)
        self.addCleanup(bad.stop)
        port, line = admin_port()
        ill = threading.Event()
        ill.set()

        def script(name):
            def run(exchange):
                exchange.read_body()
                if exchange.received.target == "/healthz" and name == "bad" and ill.is_set():
                    return exchange.answer(500)
                return exchange.answer(body=name.encode())
            return run

        good.script, bad.script = script("good"), script("bad")
        proxy = self.recast(
            f"{{ address: [127.0.0.1:{good.port}, 127.0.0.1:{bad.port}],"
            " health: { active: { path: /healthz, interval: 100ms, fall: 2, rise: 1 } } }", settings=line)
        ejections = lambda: Admin(port).metrics().sum("recast_upstream_ejections_total")
        self.wait_for("it is out", lambda: "fails its checks" in proxy.error_text())
        self.assertEqual(ejections(), 1)
        self.assertEqual({self.get(proxy).body for _ in range(6)}, {b"good"})
        # Another pace is another pool, which would need a minute to find out by itself.
        with open(proxy.config) as file:
            text = file.read()
        self.assertIn("interval: 100ms", text)
        with open(proxy.config, "w") as file:
            file.write(text.replace("interval: 100ms", "interval: 30s"))
        reload(proxy)
        self.assertEqual({self.get(proxy).body for _ in range(12)}, {b"good"})
        self.assertEqual(ejections(), 1)
        ill.clear()
        with open(proxy.config, "w") as file:
            file.write(text)
        reload(proxy)
        self.wait_for("it is back", lambda: self.get(proxy).body == b"bad")
        self.assertEqual(ejections(), 1)

    def test_a_check_that_waits_for_its_answer_takes_no_request_s_room(self):
        """The check of an address that says nothing lasts for its whole time, one after the other."""
        good, silent = Upstream(), Upstream()
        self.addCleanup(good.stop)
        self.addCleanup(silent.stop)
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/healthz":
                go_on.wait(DEADLINE)
            exchange.answer()

        silent.script = script
        proxy = self.recast(
            f"{{ address: [127.0.0.1:{good.port}, 127.0.0.1:{silent.port}], max_connections: 1, queue: {{ size: 1, timeout: 50ms }},"
            " health: { active: { path: /healthz, interval: 60s, timeout: 60s } } }")
        self.wait_for("the check is on its way", lambda: silent.requests)
        for _ in range(4):
            self.assertEqual(self.get(proxy).status, 200)

    def test_a_check_for_which_there_is_no_descriptor_says_nothing_of_the_server(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        port, line = admin_port()
        proxy = self.recast(
            f"{{ address: 127.0.0.1:{upstream.port}, idle: 60s,"
            " health: { active: { path: /healthz, interval: 50ms, fall: 2, rise: 1 } } }", settings=line)
        pid = proxy.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        admin = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        self.addCleanup(admin.close)

        def shortages():
            admin.request("GET", "/metrics")
            line = next(line for line in admin.getresponse().read().decode().splitlines() if 'reason="resources"' in line)
            # A check may have the lowest number just now.
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free(pid), before[1]))
            return int(line.split()[-1])

        with Client(proxy.port) as client:
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
            shortages()
            self.wait_for("checks have had none", lambda: shortages() > 6)
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
            client.request("GET", "/")
            self.assertEqual(client.response().status, 200)
        self.assertNotIn("fails its checks", proxy.error_text())


if __name__ == "__main__":
    unittest.main()
