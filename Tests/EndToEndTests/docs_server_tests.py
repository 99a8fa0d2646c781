"""What docs/php-rails-django-express.md says of the limits of servers, and of bodies without a length, with its own files."""

import json
import unittest

import requests

from docs_blocks import taken_apart
from docs_commands import Session, transcript
from harness import DEADLINE

PAGE = "docs/php-rails-django-express.md"


class ServerPageTests(unittest.TestCase):
    def start(self, name):
        """The application and the proxy of one section, as the page starts them."""
        session = Session()
        self.addCleanup(session.close)
        blocks = taken_apart(PAGE)[0]
        for block in blocks:
            if (block.marker or "").startswith("file "):
                session.write(block.marker.split()[1], block.text)
        commands = next(transcript(block.lines) for block in blocks if f"recast serve {name}.yaml" in block.text)
        for command, _ in commands[:2]:
            session.run(command)
        self.app, self.proxy = session.local("http://127.0.0.1:3000"), session.local("http://127.0.0.1:8080")

    def post(self, document, path="/orders"):
        body = json.dumps(document, separators=(",", ":"))
        return requests.post(self.proxy + path, data=body, headers={"Content-Type": "application/json"}, timeout=2 * DEADLINE)

    @staticmethod
    def deep(levels):
        value = "x"
        for _ in range(levels):
            value = {"a": value}
        return value

    def chunked(self, path="/orders"):
        """A form in chunks, straight to the application."""
        return requests.post(self.app + path, data=iter([b"a=1"]), timeout=2 * DEADLINE,
                             headers={"Content-Type": "application/x-www-form-urlencoded"})

    def test_php(self):
        self.start("php")
        most = (16 * 1024 - len('{"l":[]}') + 1) // 2
        answer = self.post({"l": [1] * most})
        self.assertEqual((answer.status_code, len(answer.json()["post"]["l"])), (200, most))
        self.assertEqual(self.post({"l": [1] * (most + 1)}).status_code, 413)
        self.assertEqual(self.post(self.deep(33)).status_code, 200)
        self.assertEqual(self.post(self.deep(34)).json()["code"], "limit_key_depth")
        self.assertEqual(self.chunked().json()["post"], {"a": "1"})
        # Beyond post_max_size there is nothing, and nothing says so.
        form = requests.post(self.app, data={"a": "x" * (9 << 20)}, timeout=2 * DEADLINE)
        self.assertEqual(form.status_code, 200)
        self.assertTrue(form.text.strip().endswith('{"post":[],"files":[]}'), form.text[:200])

    def test_rails(self):
        self.start("rails")
        self.assertEqual(len(self.post({"l": [1] * 4096}).json()["l"]), 4096)
        self.assertEqual(self.post({"l": [1] * 4097}).status_code, 500)
        self.assertEqual(self.chunked().json(), {"a": "1"})

    def test_django(self):
        self.start("django")
        self.assertEqual(len(self.post({"l": [1] * 1000}).json()["l"]), 1000)
        self.assertEqual(self.post({"l": [1] * 1001}).status_code, 400)
        self.assertEqual(self.chunked().json(), {})
        # A body that is long and without a length arrives all the same.
        document = json.dumps({f"l{number}": "x" * 40_000 for number in range(20)}).encode()
        answer = requests.post(
            self.proxy + "/orders", data=iter([document]), headers={"Content-Type": "application/json"}, timeout=2 * DEADLINE)
        self.assertEqual(sum(len(texts[0]) for texts in answer.json().values()), 800_000)

    def test_express(self):
        self.start("express")
        self.assertEqual(len(self.post({"l": [1] * 1000}).json()["l"]), 1000)
        self.assertEqual(self.post({"l": [1] * 1001}).status_code, 413)
        self.assertEqual(self.post({"l": "x" * (100 << 10)}).status_code, 413)
        self.assertEqual(self.chunked().json(), {"a": "1"})


if __name__ == "__main__":
    unittest.main()
