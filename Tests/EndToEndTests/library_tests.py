"""The library by itself: what SwiftPM fetches for a program that depends on it as its documentation says."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from harness import ROOT

# Seconds for SwiftPM to read the manifests and to fetch what it hasn't got yet.
FETCHING = 300
DOCUMENTATION = os.path.join(ROOT, "Sources", "Serialization", "Serialization.docc", "Serialization.md")


class LibraryTests(unittest.TestCase):
    def fetched(self, dependency):
        """The names of the packages that are fetched for a program with that dependency."""
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            os.makedirs(os.path.join(folder, "Sources", "program"))
            with open(os.path.join(folder, "Sources", "program", "main.swift"), "w") as file:
                file.write("import Serialization\n")
            with open(os.path.join(folder, "Package.swift"), "w") as file:
                file.write(
                    "// swift-tools-version: 6.2\nimport PackageDescription\nlet package = Package(\n"
                    f'    name: "program",\n    dependencies: [{dependency}],\n'
                    '    targets: [.executableTarget(name: "program", dependencies: [\n'
                    '        .product(name: "Serialization", package: "recast")])])\n')
            subprocess.run(["swift", "package", "resolve"], cwd=folder, check=True, capture_output=True, timeout=FETCHING)
            with open(os.path.join(folder, "Package.resolved")) as file:
                return {pin["identity"] for pin in json.load(file)["pins"]}

    def documented(self):
        """The dependency as the documentation has it, on this working copy."""
        with open(DOCUMENTATION) as file:
            line = re.search(r"^(\.package\(name: \"recast\", .*?\)),", file.read(), re.MULTILINE)
        self.assertIsNotNone(line, "the documentation says no more how to depend on the library")
        self.assertIn('path: "../recast"', line[1])
        return line[1].replace('path: "../recast"', f'path: "{ROOT}"')

    def test_a_program_fetches_no_package_of_the_proxy(self):
        self.assertEqual(self.fetched(self.documented()), {"swift-http-types"})

    def test_the_proxy_s_packages_belong_to_a_trait_that_is_on(self):
        everything = self.fetched(self.documented().replace(", traits: []", ""))
        self.assertLessEqual({"swift-http-types", "swift-argument-parser", "swift-log"}, everything)


if __name__ == "__main__":
    unittest.main()
