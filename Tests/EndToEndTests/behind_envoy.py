"""Recast behind Envoy, with the files of docs/behind-proxies.md. Not among the suite's modules, which have no Envoy: scripts/proxies."""

import os
import unittest

from front_proxies import FrontProxyTests, envoy_command


class EnvoyTests(FrontProxyTests, unittest.TestCase):
    @classmethod
    def command(cls):
        return envoy_command(cls.session, os.environ["ENVOY_BIN"])


if __name__ == "__main__":
    unittest.main()
