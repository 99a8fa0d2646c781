"""scripts/release-check: a commit that can be released, and each reason why one can't."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import DEADLINE, ROOT

DIGEST = "sha256:" + "0123456789abcdef" * 4
FILES = {
    "Sources/Proxy/Observe/BuildInformation.swift":
        'public enum BuildInformation {\n    public static let version = "1.2.3"\n}\n',
    "CHANGELOG.md": "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n### Added\n- a\n\n## [1.2.2] - 2025-12-31\n\n- b\n",
    "README.md": "Recast 1.2.3 listens on 127.0.0.1. recast_1.2.3-0recast1_amd64.deb\n",
    "SECURITY.md": "Supported is `1.2.x`.\n",
    "deploy/kustomization.yaml": 'images: [ { name: recast, newTag: "1.2.3" } ]\n',
    "Package.swift":
        '// .package(url: "https://a.example/none.git", from: "1.0.0")\nlet package = Package(dependencies: [\n'
        '    .package(url: "https://a.example/one.git", exact: "1.0.0", traits: []),\n    .package(path: "../two"),\n])\n',
    "Dockerfile":
        f"ARG BASE=debian:bookworm@{DIGEST}\n# FROM other\nFROM --platform=linux/amd64 swift:6.3@{DIGEST} \\\n    AS builder\n"
        "FROM $BASE AS run\nFROM scratch\nCOPY --from=builder /a /a\nCOPY --from=0 /b /b\n",
}


class ReleaseCheckTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "scripts"))
        shutil.copy(os.path.join(ROOT, "scripts", "release-check"), os.path.join(self.root, "scripts"))
        for name, text in FILES.items():
            self.write(name, text)
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def git(self, *arguments):
        who = {f"GIT_{role}_{what}": "a@a.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        who |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, timeout=DEADLINE,
                       env={**os.environ, **who})

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a")

    def check(self, *arguments):
        """The exit code, and the mistakes."""
        result = subprocess.run([os.path.join(self.root, "scripts", "release-check"), *arguments], capture_output=True, text=True,
                                timeout=DEADLINE)
        *found, _ = [line.removeprefix("release-check: ") for line in result.stdout.splitlines()] or [None]
        return result.returncode, found

    def replace(self, name, old, new):
        self.assertIn(old, FILES[name])
        self.write(name, FILES[name].replace(old, new))

    def expect(self, mistake, *arguments):
        self.commit()
        code, found = self.check(*(arguments or ("--tag", "v1.2.3")))
        self.assertEqual((code, len(found)), (65, 1), found)
        self.assertIn(mistake, found[0])

    def test_a_commit_that_can_be_released(self):
        self.assertEqual(self.check("--tag", "v1.2.3"), (0, []))
        self.git("tag", "v1.2.3")
        self.assertEqual(self.check(), (0, []))
        self.assertEqual(self.check("--tag", "v1.2.3"), (0, []))

    def test_each_mistake(self):
        source = "Sources/Proxy/Observe/BuildInformation.swift"
        for name, old, new, mistake in (
            (source, '"1.2.3"', '"1.2"', "'1.2' is no version"),
            (source, "let version", "let number", "doesn't say one version"),
            ("CHANGELOG.md", "[1.2.3] -", "[1.3.0] -", "the top section is 1.3.0"),
            ("CHANGELOG.md", "2026-01-31", "Unreleased", "CHANGELOG.md:3: 1.2.3 has no day"),
            ("CHANGELOG.md", "2026-01-31", "2026-02-31", "has no day"),
            ("CHANGELOG.md", "2026-01-31", "2999-01-31", "yet to come"),
            ("CHANGELOG.md", "[1.2.3] - 2026-01-31", "1.2.3 (2026-01-31)", "a section begins as"),
            ("CHANGELOG.md", "2025-12-31", "", "a section begins as"),
            ("CHANGELOG.md", "[1.2.2]", "[1.2.3]", "has a section in line 3"),
            ("CHANGELOG.md", "- a\n", "", "tells of nothing"),
            ("README.md", "Recast 1.2.3", "Recast 1.2.2", "README.md:1: it names version 1.2.2"),
            ("README.md", "recast_1.2.3-", "recast_1.2.4-", "it names version 1.2.4"),
            ("README.md", "127.0.0.1", "recast:1.3.0-rc.1", "it names version 1.3.0-rc.1"),
            ("README.md", "127.0.0.1", '.package(url: "https://a.example/recast.git", from: "1.0.0")', "it names version 1.0.0"),
            ("SECURITY.md", "1.2.x", "1.1.x", "1.1.x is supported"),
            ("deploy/kustomization.yaml", "1.2.3", "1.2.0", "it names version 1.2.0"),
            ("Package.swift", 'exact: "1.0.0"', 'from: "1.0.0"', "Package.swift:3: https://a.example/one.git isn't pinned"),
            ("Package.swift", 'exact: "1.0.0"', 'branch: "main"', "isn't pinned"),
            ("Package.swift", 'exact: "1.0.0"', '.upToNextMinor(from: "1.0.0")', "isn't pinned"),
            ("Package.swift", '.package(path: "../two")', '.package(\n        url: "two",\n        "1.0.0"..<"2.0.0")',
             "Package.swift:4: two isn't pinned"),
            ("Dockerfile", f"swift:6.3@{DIGEST}", "swift:6.3", "Dockerfile:3: the image swift:6.3 has no digest"),
            ("Dockerfile", f"bookworm@{DIGEST}", "bookworm", "the image debian:bookworm has no digest"),
            ("Dockerfile", f"swift:6.3@{DIGEST}", f"swift:6.3@{DIGEST[:-1]}", "has no digest"),
            ("Dockerfile", "--from=builder", "--from=busybox", "the image busybox has no digest"),
        ):
            with self.subTest(name, new=new):
                self.replace(name, old, new)
                if name == source:
                    # Everything else has another version then: what is about the source comes first.
                    self.commit()
                    code, found = self.check("--tag", "v1.2.3")
                    self.assertEqual(code, 65)
                    self.assertIn(mistake, found[0])
                else:
                    self.expect(mistake)
                self.write(name, FILES[name])

    def test_trees_and_tags(self):
        self.assertEqual(self.check()[1], ["this commit has no tag: give the one that it will have, --tag v1.2.3"])
        self.expect("the tag v1.2.4 isn't v1.2.3", "--tag", "v1.2.4")
        self.git("tag", "v1.2.2")
        code, found = self.check("--tag", "v1.2.3")
        self.assertEqual((code, found), (65, ["this commit has the tag v1.2.2, and its version is 1.2.3"]))
        self.git("tag", "--delete", "v1.2.2")
        self.git("tag", "v1.2.3")
        self.expect("is the tag of another commit already")
        self.git("tag", "--delete", "v1.2.3")
        self.write("README.md", FILES["README.md"] + "more\n")
        self.assertEqual(self.check("--tag", "v1.2.3"), (65, ["README.md: it has changes that are not committed"]))
        self.commit()
        self.write("new", "")
        self.assertEqual(self.check("--tag", "v1.2.3"), (65, ["new: git does not know it"]))

    def test_all_mistakes_come_at_once(self):
        self.replace("CHANGELOG.md", "2026-01-31", "Unreleased")
        self.replace("Dockerfile", f"swift:6.3@{DIGEST}", "swift:6.3")
        self.replace("Package.swift", "exact", "from")
        code, found = self.check("--tag", "v1.2.3")
        self.assertEqual((code, len(found)), (65, 6), found)

    def test_wrong_usage_and_no_checkout(self):
        self.assertEqual(self.check("v1.2.3")[0], 64)
        shutil.rmtree(os.path.join(self.root, ".git"))
        self.assertEqual(self.check()[0], 69)


if __name__ == "__main__":
    unittest.main()
