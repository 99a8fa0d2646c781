"""What is installed beside the program: its man pages, its completions, its unit, and `make install` itself."""

import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest

from harness import DEADLINE, RECAST, ROOT
from pages import read_page

sys.path.insert(0, os.path.join(ROOT, "scripts", "man.d"))

import markdown  # noqa: E402
import settings_page  # noqa: E402


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE * 3, stdin=subprocess.DEVNULL, **options)
    if result.returncode:
        raise AssertionError(f"{' '.join(command)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def shown(path):
    """A page as it is read, each line as long as it likes, all white space as one space."""
    text = run("mandoc", "-T", "utf8", "-O", "width=1000,indent=0", path)
    return folded(re.sub(".\b", "", text))


def folded(text):
    return re.sub(r"\s+", " ", text.replace("\N{HYPHEN}", "-").replace("\N{NO-BREAK SPACE}", " ")).strip()


def squeezed(text):
    """Text without white space: a formatter ends lines behind hyphens, too."""
    return re.sub(r"\s", "", folded(text))


def help_of(*command):
    return run(RECAST, "help", *command)


def subcommands():
    return re.findall(r"^  ([a-z]+)  ", help_of().partition("SUBCOMMANDS:")[2], re.M)


def options(subcommand):
    """The options that a subcommand's own help lists, each way of writing them."""
    part = help_of(subcommand).partition("\nOPTIONS:\n")[2]
    return {word for line in re.findall(r"^  (-[^\n]*?)(?:  |$)", part, re.M) for word in re.findall(r"(?<!\S)--?[\w-]+", line)}


class ManPageTests(unittest.TestCase):
    """The pages have everything that the program and the pages of docs have, and both formatters take them without a word."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        cls.addClassCleanup(cls.folder.cleanup)
        run(os.path.join(ROOT, "scripts", "man"), RECAST, cls.folder.name, env={**os.environ, "SOURCE_DATE_EPOCH": "1750000000"})
        cls.paths = [os.path.join(cls.folder.name, name) for name in ("recast.1", "recast.yaml.5")]
        cls.command, cls.settings = map(shown, cls.paths)

    def test_the_formatters_have_no_complaint(self):
        for path in self.paths:
            self.assertEqual(run("mandoc", "-T", "lint", "-W", "style", path), "")
            result = subprocess.run(["groff", "-wall", "-man", "-Tutf8", "-rLL=80n", path], capture_output=True, text=True,
                                    timeout=DEADLINE)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(path, encoding="ascii") as file:
                self.assertIn(" 2025-06-15 ", next(line for line in file if line.startswith(".TH ")))

    def chapter(self, text, name):
        """What the page of the command says of a subcommand."""
        found = re.search(rf" recast {name} .*?(?= [a-z]+ recast [a-z]+ | OPTIONS )", text.partition(" COMMANDS ")[2])
        return found[0] if found else ""

    def missing(self, text):
        """Subcommands and options of the program of which `text` says nothing."""
        common = options(subcommands()[0]) & options(subcommands()[1])
        behind = text.partition(" COMMANDS ")[2]
        lost = {option for option in common if not self.has(behind.partition(" OPTIONS ")[2], option)}
        for name in [*subcommands(), "help"]:
            chapter = self.chapter(text, name)
            lost |= {name} if not chapter else set()
            lost |= {f"{name} {option}" for option in options(name) - common if not self.has(chapter, option)}
        return lost

    @staticmethod
    def has(text, option):
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)

    def test_every_subcommand_and_option(self):
        self.assertGreater(len(subcommands()), 5)
        self.assertEqual(self.missing(self.command), set())
        # What a page without one would be told.
        self.assertEqual(self.missing(self.command.replace("--timeout", "--time")), {"probe --timeout"})
        missing = self.missing(re.sub(r"\brecast routes\b", "recast", self.command))
        self.assertEqual({name.split()[0] for name in missing}, {"routes"})
        self.assertIn("routes", missing)

    def test_every_exit_code_signal_and_variable(self):
        codes = set(re.findall(r"(\d+) ", help_of().partition("Exit codes:")[2].partition("USAGE")[0]))
        self.assertGreater(len(codes), 4)
        status = self.command.partition(" EXIT STATUS ")[2].partition(" SIGNALS ")[0]
        self.assertEqual(codes - set(re.findall(r"\b(\d+)\b", status)), set())
        part = read_page("docs/operations.md").partition("## Signals")[2].partition("\n## ")[0]
        signals = set(re.findall(r"\bSIG[A-Z0-9]+\b", part))
        self.assertGreater(len(signals), 5)
        self.assertEqual(signals - set(re.findall(r"\bSIG[A-Z0-9]+\b", self.command.partition(" SIGNALS ")[2])), set())
        variables = set()
        for folder, _, files in os.walk(os.path.join(ROOT, "Sources")):
            for name in files:
                if name.endswith(".swift"):
                    with open(os.path.join(folder, name)) as file:
                        text = file.read()
                    if "getenv(" in text or "environment" in text:
                        variables |= set(re.findall(r'\b(?:variable|environment|text|value)\w*\(\s*"([A-Z][A-Z_]{4,})"', text))
        self.assertGreater(variables, {"TMPDIR", "NOTIFY_SOCKET"})
        environment = self.command.partition(" ENVIRONMENT ")[2].partition(" FILES ")[0]
        self.assertEqual({name for name in variables if name not in environment}, set())

    def test_every_key_of_the_settings(self):
        block = re.search(r"```yaml\n(.*?)```", read_page("docs/settings.md"), re.S)[1]
        path = os.path.join(self.folder.name, "all.yaml")
        with open(path, "w") as file:
            file.write(block)
        # The program's account of the file that has every key, which a unit test holds it to.
        keys = {word for line in run(RECAST, "routes", path).splitlines()
                for key in re.findall(r"^ *([a-z_]+(?:\.[a-z_]+)*)[: ]", line) for word in key.split(".")}
        self.assertGreater(len(keys), 100)
        self.assertEqual({key for key in keys if not re.search(rf"\b{key}\b", self.settings)}, set())
        whole = squeezed(self.settings)
        for line in block.splitlines():
            self.assertIn(squeezed(line), whole)

    def test_tables_texts_and_code_arrive_whole(self):
        """Every piece of the pages that recast.yaml(5) is made of. A link may read as something else there."""
        counts = {markdown.Code: 0, markdown.Table: 0, markdown.Paragraph: 0}
        chapters = settings_page.chapters(read_page)
        self.assertGreater(set(chapters), {"settings.md", "tls.md", "limits.md", "upstreams.md", "forwarding.md"})
        whole = squeezed(self.settings)
        for title, blocks in chapters.values():
            self.assertIn(squeezed(title).upper(), whole)
            self.look_for(blocks, counts, whole)
        self.assertGreater(min(counts.values()), 10, counts)

    def look_for(self, blocks, counts, whole):
        for block in blocks:
            if type(block) in counts:
                counts[type(block)] += 1
            match block:
                case markdown.Code(lines=lines):
                    texts, is_code = lines, True
                case markdown.Table(head=head, rows=rows):
                    texts, is_code = [*head, *(cell for row in rows for cell in row)], False
                case markdown.Paragraph(text=text) | markdown.Heading(text=text, level=2 | 3):
                    texts, is_code = [text], False
                case markdown.List(items=items):
                    for item in items:
                        self.look_for(item, counts, whole)
                    continue
                case _:
                    continue
            for text in texts:
                for piece in [text] if is_code else re.split(r"\[[^\]]*\]\([^)]*\)", text):
                    self.assertIn(squeezed(piece if is_code else markdown.plain(piece)), whole)

    def test_what_a_page_can_not_carry_is_refused(self):
        for text in ("> said", "<p>", "<!-- open", "![a](b.svg)", "```\nopen", "| a | b |\n|---|---|\n| 1 |", "#none"):
            with self.assertRaises(markdown.Unknown):
                markdown.blocks(text, "page")


class CompletionTests(unittest.TestCase):
    """bash asks the script that is installed, as it does at a terminal."""

    @classmethod
    def setUpClass(cls):
        cls.script = run(RECAST, "--generate-completion-script", "bash")

    def complete(self, *words, folder=None):
        program = self.script + r"""
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
            COMP_POINT=${#COMP_LINE} COMPREPLY=()
            set -- $(complete -p recast)
            while [ "$1" != -F ]; do shift; done
            "$2" recast "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}" """
        text = run("bash", "--norc", "--noprofile", "-c", program, "bash", "recast", *words, cwd=folder)
        return {line for line in text.split("\n") if line}

    def test_subcommands(self):
        self.assertGreaterEqual(self.complete(""), {*subcommands(), "help"})
        self.assertEqual(self.complete("che"), {"check"})
        self.assertEqual(self.complete("e"), {"echo", "explain"})

    def test_options(self):
        for name in subcommands():
            self.assertGreaterEqual(self.complete(name, "--"), {word for word in options(name) if word.startswith("--")}, name)
        self.assertEqual(self.complete("check", "--js"), {"--json"})
        self.assertEqual(self.complete("check", "--json", "--js"), set())

    def test_file_names(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            for name in ("one.yaml", "one two.yaml", "other.yaml"):
                open(os.path.join(folder, name), "w").close()
            os.mkdir(os.path.join(folder, "ones"))
            for name in ("serve", "check", "routes", "explain"):
                self.assertEqual(self.complete(name, "one", folder=folder), {"one.yaml", "one two.yaml", "ones"}, name)
            self.assertEqual(self.complete("probe", "one", folder=folder), set())


class InstallTests(unittest.TestCase):
    """`make install` and `make uninstall`, into a folder that stands for /."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recast-e2e-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def install(self, *arguments, status=0, folder=None, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in ("PREFIX", "SYSCONFDIR")}
        result = subprocess.run([os.path.join(ROOT, "scripts", "install"), *arguments], capture_output=True, text=True,
                                timeout=DEADLINE * 3, stdin=subprocess.DEVNULL, cwd=folder,
                                env={**environment, "DESTDIR": self.root, "BINARY": RECAST, **variables})
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr

    def files(self):
        return {os.path.relpath(os.path.join(folder, name), self.root): os.path.join(folder, name)
                for folder, _, names in os.walk(self.root) for name in names}

    def test_every_part_lies_where_it_is_looked_for(self):
        places = {"/usr/local": "usr/local/share/zsh/site-functions/_recast", "/usr": "usr/share/zsh/vendor-completions/_recast",
                  "/opt/recast": "opt/recast/share/zsh/site-functions/_recast"}
        for prefix, zsh in places.items():
            with self.subTest(prefix):
                errors = self.install(PREFIX=prefix)
                here, files = prefix.strip("/"), self.files()
                wanted = {f"{here}/bin/recast", f"{here}/share/man/man1/recast.1.gz", f"{here}/share/man/man5/recast.yaml.5.gz",
                          f"{here}/share/bash-completion/completions/recast", zsh,
                          f"{here}/share/fish/vendor_completions.d/recast.fish", f"{here}/lib/systemd/system/recast.service",
                          f"{here}/share/doc/recast/LICENSE", f"{here}/share/doc/recast/examples/production.yaml",
                          f"{here}/share/doc/recast/docs/settings.md", "etc/recast/recast.yaml"}
                self.assertEqual(wanted - set(files), set())
                for name, path in files.items():
                    self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o755 if name == f"{here}/bin/recast" else 0o644, name)
                with open(files[f"{here}/lib/systemd/system/recast.service"]) as file:
                    self.assertIn(f"\nExecStart={prefix}/bin/recast serve /etc/recast/recast.yaml\n", file.read())
                self.assertEqual("systemctl link" in errors, prefix == "/opt/recast")
                self.assertIn("recast ", run(files[f"{here}/bin/recast"], "--version"))
                run(files[f"{here}/bin/recast"], "check", files["etc/recast/recast.yaml"])
                self.install("--uninstall", PREFIX=prefix)
                self.assertEqual(self.files(), {})
                self.assertFalse(os.path.exists(os.path.join(self.root, here, "share/doc/recast")))

    def test_settings_of_somebody_stay(self):
        self.install()
        path = os.path.join(self.root, "etc/recast/recast.yaml")
        with open(path, "a") as file:
            file.write("# mine\n")
        self.install()
        self.install("--uninstall")
        with open(path) as file:
            self.assertTrue(file.read().endswith("# mine\n"))
        self.assertEqual(set(self.files()), {"etc/recast/recast.yaml"})

    def test_settings_elsewhere(self):
        self.install(SYSCONFDIR="/usr/local/etc")
        with open(self.files()["usr/local/lib/systemd/system/recast.service"]) as file:
            self.assertIn("recast serve /usr/local/etc/recast/recast.yaml\n", file.read())

    def test_the_binary_is_named_from_the_callers_folder(self):
        with tempfile.TemporaryDirectory(prefix="recast-e2e-") as folder:
            os.symlink(RECAST, os.path.join(folder, "mine"))
            self.install(folder=folder, BINARY="./mine")
            self.install("--uninstall", folder=folder, BINARY="./mine")
            self.assertIn("doesn't run", self.install(folder=folder, BINARY="none", status=69))

    def test_what_can_not_be_installed(self):
        self.assertIn("from / on", self.install(PREFIX="usr", status=64))
        self.assertIn("a unit can't name", self.install(PREFIX="/opt/a b", status=64))
        self.assertIn("doesn't run", self.install(BINARY="/bin/false", status=69))
        self.assertIn("Usage", self.install("--remove", status=64))
        self.assertEqual(self.files(), {})


if __name__ == "__main__":
    unittest.main()
