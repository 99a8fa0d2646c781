"""Upstreams that close connections after their answers without saying so (docs/upstreams.md)."""

import unittest

from admin import Admin, admin_port
from harness import Recast
from servers.silent_closer import SilentCloser, load

ROUTES = "  - { name: all, match: /*, upstream: app }\n"

# What nginx 1.22 with a pool (keepalive 64, proxy_http_version 1.1) has of failed POSTs under this load.
NGINX_POSTS = 0.119


class SilentCloseTests(unittest.TestCase):
    def measure(self, delay):
        upstream = SilentCloser(delay)
        self.addCleanup(upstream.stop)
        port, admin_setting = admin_port()
        proxy = Recast(ROUTES, {"app": f"127.0.0.1:{upstream.port}"}, settings=admin_setting)
        self.addCleanup(proxy.remove)
        gets, posts = load(proxy.port, "GET"), load(proxy.port, "POST")
        admin = Admin(port)
        address = admin.json("/upstreams")["upstreams"][0]["addresses"][0]
        metrics = admin.get("/metrics").decode()
        self.assertEqual(proxy.stop(), 0)
        return gets, posts, address, metrics

    def test_no_get_fails_and_few_posts_whenever_the_upstream_closes(self):
        for delay in (0, 0.0005, 0.003, None):
            with self.subTest(delay=delay):
                gets, posts, address, metrics = self.measure(delay)
                self.assertEqual(gets, 0)
                self.assertLessEqual(posts, NGINX_POSTS)
                self.assertGreaterEqual(address["reuse_pauses"], 1)
                self.assertRegex(metrics, r'recast_upstream_reuse_pauses_total\{upstream="app"\} [1-9]')


if __name__ == "__main__":
    unittest.main()
