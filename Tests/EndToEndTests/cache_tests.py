"""Recast behind the cache of Debian's nginx, whose version heeds one line of Vary: what it keeps for one client is none for another."""

import gzip
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from front_proxies import nginx_command, nginx_file
from harness import DEADLINE, JSON, Client, ProxyTestCase, free_port, select_nothing

XML = "application/xml"
DOCUMENT = b'{"a":"1"}'


class CacheTests(ProxyTestCase):
    routes = """
  - name: accepting
    match: /accepting
    upstream: app
    response: [ { when: { accept: application/xml }, convert: json -> xml } ]
  - { name: second, match: { path: /versions, header: { x-version: "2" } }, upstream: app, response: json -> xml }
  - { name: typed, match: { path: /types, type: text/xml }, upstream: app, response: json -> xml }
  - { name: keyed, match: /keyed, upstream: app, authorize: [ { header: X-Api-Key, keys: [a-key-of-16-bytes] } ] }
  - { name: rewritten, match: /rewritten, upstream: app, rewrite: { query: { org: "${header.x-org}" } } }
  - { name: renamed, match: /renamed, upstream: app, headers: { request: { set: { X-Tenant: "${header.x-org}" } } } }
  - { name: address, match: /address, upstream: app, headers: { response: { set: { X-Client: "${client.ip}" } } } }
  - { name: plain, match: "/*", upstream: app }
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="recast-cache-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.cache_port = free_port()
        path = nginx_file(folder, f"""
proxy_cache_path {folder}/kept keys_zone=kept:1m;
server {{
  listen 127.0.0.1:{cls.cache_port};
  location / {{
    proxy_pass http://127.0.0.1:{cls.recast.port};
    proxy_http_version 1.1;
    proxy_cache kept;
    proxy_cache_key $request_uri;
    add_header X-Cache $upstream_cache_status always;
  }}
}}
""")
        nginx = subprocess.Popen(nginx_command(folder, path), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(nginx.wait)
        cls.addClassCleanup(nginx.terminate)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", cls.cache_port), timeout=1).close()
            except OSError:
                if nginx.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError("nginx doesn't start") from None
                select_nothing()

    def ask(self, target, *fields, method="GET"):
        """What the cache answers, and whether from what it keeps."""
        with Client(self.cache_port) as client:
            client.request(method, target, None, None, fields)
            response = client.response(method)
        return response, response.fields.get("x-cache")

    def answer_kept(self, exchange, body=DOCUMENT, fields=()):
        exchange.read_body()
        exchange.answer(body=body, fields=(f"Content-Type: {JSON}", "Cache-Control: max-age=60", *fields))

    def test_what_another_accept_or_coding_led_to_is_no_ones_else(self):
        def script(exchange):
            takes = exchange.received.fields.get("accept-encoding") == "gzip"
            self.answer_kept(exchange, gzip.compress(DOCUMENT) if takes else DOCUMENT,
                             ("Vary: Accept-Encoding", *(("Content-Encoding: gzip",) if takes else ())))

        self.upstream.script = script
        # Recast asks for no coding here, and the upstream says that it would heed one all the same.
        for accept, wanted in ((XML, XML), (JSON, JSON), (f"{XML};q=0", JSON)):
            for found in ("MISS", "HIT"):
                response, cache = self.ask("/accepting", f"Accept: {accept}", "Accept-Encoding: gzip")
                self.assertEqual((response.fields.get("content-type").split(";")[0], cache), (wanted, found))
        # The route without rules passes what it is asked for.
        for coding in ("gzip", "identity"):
            for found in ("MISS", "HIT"):
                response, cache = self.ask("/passing", f"Accept-Encoding: {coding}")
                self.assertEqual((response.fields.get("content-encoding"), cache), ("gzip" if coding == "gzip" else None, found))

    def test_routes_that_fields_tell_apart(self):
        self.upstream.script = self.answer_kept
        for target, field in (("/versions", "X-Version: 2"), ("/types", "Content-Type: text/xml")):
            for fields, wanted in (((), JSON), ((field,), XML)):
                for found in ("MISS", "HIT"):
                    with self.subTest(target, fields=fields):
                        response, cache = self.ask(target, *fields)
                        self.assertEqual((response.fields.get("content-type").split(";")[0], cache), (wanted, found))

    def test_what_a_key_opens_stays_closed(self):
        self.upstream.script = self.answer_kept
        for found in ("MISS", "HIT"):
            response, cache = self.ask("/keyed", "X-Api-Key: a-key-of-16-bytes")
            self.assertEqual((response.status, response.body, cache), (200, DOCUMENT, found))
        for fields in ((), ("X-Api-Key: another-key-16-bytes",)):
            response, _ = self.ask("/keyed", *fields)
            self.assertEqual(response.status, 401)

    def test_what_is_asked_in_the_place_of_the_target(self):
        def script(exchange):
            received = exchange.received
            self.answer_kept(exchange, (received.target + (received.fields.get("x-tenant") or "")).encode(),
                             ("Vary: X-Tenant",) if "renamed" in received.target else ())

        self.upstream.script = script
        for target, wanted in (("/rewritten", "/rewritten?org={}"), ("/renamed", "/renamed{}")):
            for org in ("a", "b"):
                for found in ("MISS", "HIT"):
                    response, cache = self.ask(target, f"X-Org: {org}")
                    self.assertEqual((response.body.decode(), cache), (wanted.format(org), found))

    def test_a_clients_address_is_its_own(self):
        self.upstream.script = self.answer_kept
        for _ in range(2):
            response, cache = self.ask("/address")
            self.assertEqual((response.fields.get("x-client"), cache), ("127.0.0.1", "MISS"))


if __name__ == "__main__":
    unittest.main()
