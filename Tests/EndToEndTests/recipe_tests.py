"""`recast init` and the recipes: docs_tests runs each page's commands, here is what holds for all of them."""

import os
import re
import subprocess
import tempfile
import unittest

from docs_blocks import links, taken_apart
from harness import DEADLINE, RECAST, ROOT
from pages import read_page

FOLDER = os.path.join(ROOT, "config", "recipes")
NAMES = sorted(name.removesuffix(".yaml") for name in os.listdir(FOLDER))


def run(*arguments, folder=None):
    result = subprocess.run([RECAST, "init", *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    return result.returncode, result.stdout, result.stderr.decode()


class RecipeTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recast-init-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_the_list_has_every_file_and_says_what_it_is_for(self):
        code, output, errors = run()
        self.assertEqual((code, errors), (0, ""))
        rows = dict(re.fullmatch(r"(\S+)  +(\S.*)", line).groups() for line in output.decode().splitlines())
        self.assertEqual(sorted(rows), NAMES)
        for name, summary in rows.items():
            self.assertEqual(read_page(f"config/recipes/{name}.yaml").splitlines()[0], f"# {summary}")
            self.assertLess(len(summary), 110, name)

    def test_the_binary_has_the_files_as_they_are(self):
        for name in NAMES:
            with self.subTest(name):
                with open(os.path.join(FOLDER, f"{name}.yaml"), "rb") as file:
                    text = file.read()
                self.assertEqual(run("--print", name), (0, text, ""))
                self.assertEqual(run(name, "-o", "-", folder=self.folder), (0, text, ""))
                code, output, errors = run(name, folder=self.folder)
                self.assertEqual((code, errors), (0, ""))
                self.assertTrue(output.decode().startswith(f"{name}.yaml: "), output)
                with open(os.path.join(self.folder, f"{name}.yaml"), "rb") as file:
                    self.assertEqual(file.read(), text)
                check = subprocess.run([RECAST, "check", "--quiet", "--no-secrets", f"{name}.yaml"], cwd=self.folder,
                                       capture_output=True, text=True, timeout=DEADLINE)
                self.assertEqual(check.returncode, 0, check.stderr)

    def test_a_file_that_is_there_stays(self):
        path = os.path.join(self.folder, "slack.yaml")
        with open(path, "w") as file:
            file.write("mine")
        os.symlink("nowhere.yaml", os.path.join(self.folder, "link.yaml"))
        for arguments in (("slack",), ("slack", "--output", path), ("slack", "-o", "link.yaml")):
            code, output, errors = run(*arguments, folder=self.folder)
            self.assertEqual((code, output), (64, b""))
            self.assertIn("already: name another file by --output", errors)
        with open(path) as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.yaml", "slack.yaml"])
        self.assertEqual(run("slack", "-o", "other.yaml", folder=self.folder)[0], 0)
        self.assertIn("other.yaml", os.listdir(self.folder))

    def test_wrong_usage(self):
        for arguments, code, words in (
                (("nope",), 64, 'there is no recipe "nope": known are '), (("--print",), 64, "name the recipe"),
                (("-o", "a.yaml"), 64, "name the recipe"), (("--print", "slack", "-o", "a.yaml"), 64, "--print writes no file"),
                (("slack", "-o", "no-such-folder/a.yaml"), 69, "can't be written (No such file or directory): --print prints it"), (("slack", "twilio"), 64, "")):
            with self.subTest(arguments):
                found, output, errors = run(*arguments, folder=self.folder)
                self.assertEqual((found, output), (code, b""))
                self.assertIn(words, errors)
                self.assertEqual(os.listdir(self.folder), [])

    def test_a_full_disk_leaves_no_half_a_file(self):
        code, output, errors = run("slack", "-o", "/dev/full")
        # A device is there already, so it isn't touched.
        self.assertEqual((code, output), (64, b""), errors)

    def test_each_recipe_has_a_page_that_shows_its_routes_and_uses_them(self):
        pages = sorted(name.removesuffix(".md") for name in os.listdir(os.path.join(ROOT, "docs", "recipes")) if name != "README.md")
        self.assertEqual(pages, NAMES)
        listed = {target.removesuffix(".md") for _, target in links("docs/recipes/README.md") if "/" not in target}
        self.assertEqual(sorted(listed), NAMES)
        for name in NAMES:
            with self.subTest(name):
                blocks = taken_apart(f"docs/recipes/{name}.md")[0]
                shown = next(block.text for block in blocks if block.kind == "yaml")
                text = read_page(f"config/recipes/{name}.yaml")
                self.assertTrue(text.endswith("\n" + shown), "the page's routes are not the file's")
                commands = "".join(block.text for block in blocks if block.kind == "sh")
                self.assertIn(f"recast init {name}\n", commands)
                self.assertRegex(commands, rf"(?m)^(\w+=\S+ )?recast serve {name}\.yaml$")
                self.assertGreater(len(re.findall(r"(?m)^\$ .*curl ", commands)), 1)
                self.assertTrue(any(block.kind == "text" for block in blocks), "the page shows no error")


if __name__ == "__main__":
    unittest.main()
