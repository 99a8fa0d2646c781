"""A Recast that has had traffic of every kind, so that each metric and each label of docs/metrics.md shows in its /metrics."""

import gzip
import time

from admin import Admin, admin_port
from ext_proc_client import FULL_DUPLEX, Processing
from ext_proc_client import pseudo as ext_proc_pseudo
from harness import FORM, JSON, Client, Closed, ProxyTestCase, free_port
from http2_client import CANCEL, HTTP2Client, reset
from tls_support import TLSClient, certificates, pair, path
from verify_tests import SECRET, github

ROUTES = f"""
  - {{ name: signup, match: /signup, upstream: app, request: {{ decode: {{ as: form }}, map: {{ remove: [c] }}, encode: {{ as: json }} }} }}
  - {{ name: hook, match: /hook, upstream: app, verify: {{ preset: github, secret: "{SECRET}", replay: 10m }} }}
  - {{ name: key, match: /key, upstream: app, authorize: {{ bearer: token }} }}
  - name: envelope
    match: /envelope
    upstream: app
    response: [ {{ status_from: {{ path: errcode, map: {{ 0: 200, 40001: 401 }} }}, problem: true }} ]
  - {{ name: limited, match: /limited, upstream: app, rate_limit: {{ key: header.x-key, rate: 1/h }} }}
  - {{ name: copied, match: /copied, upstream: app, shadow: {{ upstream: checked, compare: true }} }}
  - {{ name: tried, match: /tried, upstream: app, request: form -> json, shadow: convert }}
  - {{ name: gone, match: /gone, upstream: gone }}
  - {{ name: plain, match: "/*", upstream: app }}
"""


class ObservedTestCase(ProxyTestCase):
    """Clients of all kinds come with `send_everything`: HTTP/1.1, HTTP/2, TLS and an external processor's."""

    routes = ROUTES

    @classmethod
    def setUpClass(cls):
        cls.admin_port, line = admin_port()
        cls.admin = Admin(cls.admin_port)
        cls.tls_port, cls.ext_proc_port = free_port(), free_port()
        cls.settings = f"{line}requests: {{ in_flight: 1000 }}\n"
        cls.listeners = (f"{{ address: '127.0.0.1:{cls.tls_port}', tls: {{ {pair('server')}, client_ca: {path('ca.pem')}, client_auth: optional, client_crl: {path('ca.crl')} }} }}",
                         f"{{ address: '127.0.0.1:{cls.ext_proc_port}', serves: ext_proc }}")
        cls.further_upstreams = {"gone": f"127.0.0.1:{free_port()}",
                                 "checked": "{ address: $APP, health: { active: { path: /health, interval: 1s } } }"}
        super().setUpClass()
        cls.admin.until_ready()

    def setUp(self):
        super().setUp()
        self.upstream.script = self.answer

    @staticmethod
    def answer(exchange):
        exchange.read_body()
        if exchange.received.target == "/copied":
            # The copy gets another status.
            exchange.answer(status=500 if "recast-shadow" in exchange.received.fields else 200)
        elif exchange.received.target == "/fails":
            exchange.answer(status=500)
        elif exchange.received.target == "/cut":
            # The rest of the content never comes.
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
            exchange.close()
        elif exchange.received.target == "/envelope":
            exchange.answer(body=b'{"errcode":40001,"errmsg":"no"}', fields=(f"Content-Type: {JSON}",))
        else:
            exchange.answer()

    def send_everything(self):
        """Each request once, and one more that Prometheus has a rate of."""
        delivery = str(time.monotonic()).encode()
        for method, target, body, media_type, fields, status in (
            ("POST", "/signup", b"a=1&b=2&c=3", FORM, (), 200),
            ("POST", "/signup", b"a=1&a[b]=2", FORM, (), 400),
            ("POST", "/signup", gzip.compress(b"a=1"), FORM, ("Content-Encoding: gzip",), 200),
            ("POST", "/signup", b"no gzip", FORM, ("Content-Encoding: gzip",), 400),
            ("POST", "/hook", delivery, JSON, (github(delivery),), 200),
            ("POST", "/hook", delivery, JSON, ("X-Hub-Signature-256: sha256=" + "0" * 64,), 401),
            ("GET", "/key", None, None, ("Authorization: Bearer token",), 200),
            ("GET", "/key", None, None, (), 401),
            ("GET", "/envelope", None, None, (), 401),
            ("GET", "/fails", None, None, (), 500),
            ("GET", "/limited", None, None, (f"X-Key: {delivery.decode()}",), 200),
            ("GET", "/limited", None, None, (f"X-Key: {delivery.decode()}",), 429),
            ("GET", "/copied", None, None, (), 200),
            ("POST", "/tried", b"a=1", FORM, (), 200),
            ("POST", "/tried", b"a=%FF", FORM, (), 200),
            ("GET", "/gone", None, None, (), 502),
        ):
            response = self.send(method, target, body, media_type, fields)
            self.assertEqual(response.status, status, (target, response.body))
        with Client(self.recast.port) as client:
            client.request("GET", "/cut")
            with self.assertRaises(Closed):
                client.response()
        with TLSClient(self.tls_port, certificates().client_context()) as client:
            client.request("GET", "/plain")
            self.assertEqual(client.response().status, 200)
        with HTTP2Client(self.recast.port) as client:
            self.assertEqual(client.exchange("GET", "/plain").status, 200)
            client.send(reset(client.open([(":method", "POST"), (":scheme", "http"), (":path", "/plain"), (":authority", "a")], end=False),
                              CANCEL))
        with HTTP2Client(self.ext_proc_port) as client:
            call = Processing(client, FULL_DUPLEX)
            fields = ext_proc_pseudo("POST", "/signup", FORM)
            self.assertEqual(call.run("request", fields, b"a=1").json, {"a": "1"})
            self.assertEqual(call.finish()[0], 0)
