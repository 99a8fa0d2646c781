"""What the tests of HTTP/2's own share: proxies of their own in front of servers of HTTP/2, and requests side by side."""

import concurrent.futures
import unittest

from admin import Admin, admin_port
from harness import Client, Closed, Recast
from http2_upstream import HTTP2Upstream
from lifecycle_support import wait_until

ROUTES = '  - { name: plain, match: "/*", upstream: app }\n'


def repeat(exchange):
    exchange.read_body()
    exchange.answer(body=exchange.received.fields.get("x-id", "ok").encode())


class HTTP2ServerTestCase(unittest.TestCase):
    """Each test has servers of its own, and a proxy in front of them that stops with 0."""

    def server(self, **options):
        server = HTTP2Upstream(**options)
        self.addCleanup(lambda: self.assertEqual(server.violations, []))
        self.addCleanup(server.stop)
        return server

    def proxy(self, *servers, upstream="", routes=ROUTES, settings="", workers=1):
        """`upstream` are further settings of it; a server may be an address."""
        addresses = ", ".join(f"\"{server if isinstance(server, str) else f'127.0.0.1:{server.port}'}\"" for server in servers)
        port, line = admin_port()
        recast = Recast(routes, {"app": f"{{ http: 2, address: [{addresses}]{upstream and ', ' + upstream} }}"},
                        workers=workers, settings=line + settings)
        self.addCleanup(recast.remove)
        self.addCleanup(lambda: self.assertEqual(recast.stop(), 0, recast.error_text()))
        self.recast, self.admin = recast, Admin(port)
        return recast

    def send(self, method="GET", target="/", body=None, fields=(), media_type=None):
        """One request over a connection of its own."""
        with Client(self.recast.port) as client:
            client.request(method, target, body, media_type, fields)
            return client.response(method)

    def begin(self, method="GET", target="/", body=None, fields=(), media_type=None, **options):
        """A request whose response is read later, by the client that is returned."""
        client = Client(self.recast.port, **options)
        self.addCleanup(client.socket.close)
        client.request(method, target, body, media_type, fields)
        return client

    def outcome(self, *arguments, **options):
        """(status, body) of a request, or "cut" where the response broke off."""
        try:
            response = self.send(*arguments, **options)
        except Closed:
            return "cut"
        return response.status, response.body

    def side_by_side(self, count, one, most=100):
        """What `one` returns for 0 up to `count`, run side by side."""
        with concurrent.futures.ThreadPoolExecutor(most) as pool:
            return list(pool.map(one, range(count)))

    def assert_problem(self, response, status, code):
        self.assertEqual((response.status, response.json["code"]), (status, code), response.body)

    def check_end(self, received, size, trailers):
        """A request has come whole."""
        wait_until("the request ends", lambda: received.stream.is_complete or received.stream.is_cut)
        self.assertIsNone(received.stream.code)
        self.assertEqual((received.stream.count, list(received.trailers or [])), (size, trailers))

    def metric(self, name, **labels):
        return self.admin.metrics().sum(name, **labels)

    def wait_for_metric(self, value, name, **labels):
        wait_until(f"{name} {labels} is {value}", lambda: self.metric(name, **labels) == value)
