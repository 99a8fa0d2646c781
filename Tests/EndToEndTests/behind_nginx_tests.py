"""Recast behind nginx of Debian, with the files of docs/behind-proxies.md."""

import os
import unittest

from front_proxies import FrontProxyTests, nginx_command, nginx_file


class NginxTests(FrontProxyTests, unittest.TestCase):
    @classmethod
    def command(cls):
        folder = os.path.join(cls.session.folder, "nginx")
        os.mkdir(folder)
        with open(os.path.join(cls.session.folder, "site.conf")) as file:
            return nginx_command(folder, nginx_file(folder, file.read()))


if __name__ == "__main__":
    unittest.main()
