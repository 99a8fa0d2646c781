"""The documentation's claims, as far as a program can check them."""

import os
import re
import subprocess
import tempfile
import unittest

from harness import DEADLINE, RECAST
from pages import CLOSED_LABELS, documented_rows, pages, read_page

# What a file needs whatever it is about.
FRAME = {
    "version": "version: 1\n", "listen": "listen: 127.0.0.1:8080\n",
    "upstreams": "upstreams: { app: 127.0.0.1:3000 }\n", "routes": 'routes: [ { name: all, match: "/*", upstream: app } ]\n',
}


class PageTests(unittest.TestCase):
    """What pages say of metrics, flags and settings is what the pages about them, and the program, say."""

    def test_metrics_with_their_labels(self):
        rows = documented_rows()
        found = 0
        for page, text in pages().items():
            for name, labels in re.findall(r"\b(recast_[a-z_]+)(?:\{([^}]*)\})?", text):
                name = re.sub("_(bucket|sum|count)$", "", name)
                self.assertIn(name, rows, page)
                found += 1
                for part in re.split(r",\s*", labels.replace("\n", "")) if labels else []:
                    label, _, values = part.partition("=")
                    self.assertIn(label.strip("`"), rows[name][0] | {"le"}, (page, name))
                    for value in re.findall(r"[a-z_]+", values.replace("=~", "")):
                        if label in CLOSED_LABELS and rows[name][1]:
                            self.assertIn(value, rows[name][1], (page, name, label))
        self.assertGreater(found, 100)

    def test_flags(self):
        known = set(re.findall(r"^\| `([A-Z]{2})` \|", read_page("docs/access-log.md"), re.M))
        self.assertGreater(len(known), 25)
        for page, text in pages().items():
            # TE is a field, CR and LF are bytes.
            self.assertEqual(set(re.findall(r"`([A-Z]{2})`", text)) - known - {"TE", "CR", "LF"}, set(), page)

    def settings(self, block):
        """The files that a block of a page stands for: it may show a key twice, in its short form and its long one."""
        variants = [{}]
        for part in re.split(r"(?m)^(?=\S)", block):
            if key := re.match(r"([a-z_]+):", part):
                if key[1] in variants[-1]:
                    variants.append(dict(variants[-1]))
                variants[-1][key[1]] = part
        return [{**FRAME, **variant} for variant in variants if variant]

    def test_settings_that_are_shown_are_settings(self):
        found = 0
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            path = os.path.join(folder, "recast.yaml")
            for page, text in pages().items():
                for block in re.findall(r"```yaml\n(.*?)```", text, re.S):
                    for variant in self.settings(block):
                        with open(path, "w") as file:
                            file.write("".join(variant.values()))
                        result = subprocess.run([RECAST, "check", path], capture_output=True, text=True, timeout=DEADLINE,
                                                env={**os.environ, "KEY": "a secret"})
                        # Files and folders of whoever reads it, and a digest that isn't written out, beside its alternative.
                        mistakes = [line for line in result.stderr.splitlines()
                                    if not re.search(r"doesn't exist|can't be read|there is no file|sha256/…|can't stand beside", line)]
                        self.assertEqual(mistakes, [], (page, block))
                        found += 1
        self.assertGreater(found, 10)


if __name__ == "__main__":
    unittest.main()
