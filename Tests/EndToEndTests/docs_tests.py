"""The documentation does what it says: every block of every page is run, checked or compared, and every link leads somewhere.

CONTRIBUTING.md, "Document", says how blocks are marked. A block of a kind that isn't known here fails, and so does one of which
nothing could be tried, so that none is skipped in silence.
"""

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from docs_blocks import Block, all_pages, anchors, code_spans, links, tables, taken_apart
from docs_commands import (
    LOOKED_AT, RUN, Session, Unfit, commands_of_recast, is_known, logical_lines, look_at, look_at_path, look_at_recast, matches,
    program_of, simple_commands, transcript)
from docs_settings import check_foreign, check_settings, is_foreign, read_yaml, setting_paths
from front_proxies import nginx_command, nginx_file
from harness import DEADLINE, ROOT
from pages import documented_rows, read_page


# Pages with tables of keys that aren't settings: those of an example, which a unit test has.
OTHER_KEYS = {"docs/examples.md"}


class Page:
    """Goes through a page from its beginning, as its reader does. Each kind of block has a method; it returns how much it tried."""

    def __init__(self, name, session):
        self.name, self.session = name, session
        self.tried, self.commands, self.settings = 0, 0, 0

    def go_through(self, blocks):
        for block in blocks:
            method = getattr(self, f"try_{block.kind}", None)
            try:
                if not method:
                    raise Unfit(f"a block of the kind {block.kind!r}; the kinds are "
                                + ", ".join(sorted(name[4:] for name in dir(self) if name.startswith("try_"))))
                words = shlex.split(block.marker or "")
                if words and words[0] not in ("file", "serve", "exit", "output", "look", "other"):
                    raise Unfit(f"a marker that nobody knows: {block.marker}")
                if words[:1] == ["file"]:
                    self.session.write(words[1], block.text)
                if words[:1] == ["serve"]:
                    self.session.serve(["echo"])
                    self.session.serve(["serve", *words[1:]])
                if words[:1] == ["output"]:
                    if self.session.last is None or not matches(block.text, self.session.last):
                        raise Unfit(f"the last command prints\n{self.session.last}\nand not\n{block.text}")
                if not method(block, words):
                    raise Unfit("nothing in it could be tried")
            except Unfit as error:
                raise AssertionError(f"{block.place}: {error}") from None
            self.tried += 1

    def try_sh(self, block, words):
        count = 0
        for command, expected in transcript(block.lines):
            if words[:1] == ["look"]:
                if len(words) < 3:
                    raise Unfit("`look` gives its reason")
                for simple in simple_commands(command):
                    if not is_known(program_of(simple)):
                        raise Unfit(f"what is {program_of(simple)}?")
                    look_at(simple)
                    count += 1
            else:
                count += self.session.run(command, expected, int(words[1]) if words[:1] == ["exit"] else 0)
        self.commands += count
        return count

    def try_yaml(self, block, words):
        if words[:1] == ["other"] or is_foreign(read_yaml(block.text)[0]):
            for command in check_foreign(block.text, self.session.folder):
                look_at_recast(command)
        else:
            check_settings(block.text, self.session.folder)
            self.settings += 1
        return True

    def try_json(self, block, words):
        try:
            if words[:1] != ["output"]:  # those may leave something out
                json.loads(block.text)
        except ValueError as error:
            raise Unfit(str(error)) from None
        return True

    def try_xml(self, block, _):
        try:
            xml.etree.ElementTree.fromstring(block.text)
        except xml.etree.ElementTree.ParseError as error:
            raise Unfit(str(error)) from None
        return True

    def try_swift(self, block, _):
        """A part of the program in Examples, which is built and run, or of the manifest, which declares what is named."""
        def flattened(text):
            return "\n".join(line.strip() for line in text.splitlines())

        folder = os.path.join(ROOT, "Examples")
        sources = [read_page(f"Examples/{name}") for name in os.listdir(folder) if name.endswith(".swift")]
        # What is printed may stand behind a line.
        wanted = flattened(re.sub(r"(?<=\S) +// [^\n]*", "", block.text))
        if not any(wanted in flattened(re.sub(r"(?<=\S) +// [^\n]*", "", source)) for source in sources):
            for line in block.lines:
                product = re.match(r'\.product\(name: "(\w+)", package: "(\w+)"\)', line)
                package = re.match(r'\.package\(name: "(\w+)", path: "[^"]+"(?:, traits: \[\])?\)', line)
                manifest = read_page("Package.swift")
                if product and f'.library(name: "{product[1]}"' in manifest and f'name: "{product[2]}"' in manifest:
                    continue
                if not package or f'name: "{package[1]}"' not in manifest:
                    raise Unfit(f"no part of the program in Examples: {line}")
        return True

    def read(self, block, words, *command):
        """The source of a program, saved for a command of the page, as the program's own reader has it."""
        if words[:1] != ["file"]:
            raise Unfit("a program is saved under a name, and run by a command")
        result = subprocess.run([*command, words[1]], cwd=self.session.folder, env=self.session.environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=DEADLINE)
        if result.returncode != 0:
            raise Unfit(result.stdout + result.stderr)
        return bool(block.text.strip())

    def try_php(self, block, words):
        return self.read(block, words, "php", "-l")

    def try_ruby(self, block, words):
        return self.read(block, words, "ruby", "-c")

    def try_python(self, block, words):
        return self.read(block, words, "python3", "-m", "py_compile")

    def try_javascript(self, block, words):
        return self.read(block, words, "node", "--check")

    def try_promql(self, block, _):
        rows, names = documented_rows(), re.findall(r"\brecast_\w+", block.text)
        for name in names:
            if re.sub("_(bucket|sum|count)$", "", name) not in rows:
                raise Unfit(f"there is no metric {name}")
        for line in block.lines:
            query = re.sub(r'"[^"]*"|#.*', "", line)
            for left, right in ("()", "[]", "{}"):
                if query.count(left) != query.count(right):
                    raise Unfit(f"unbalanced: {line}")
        return len(names)

    def try_nginx(self, block, _):
        """A part of `http`, which nginx itself reads."""
        folder = tempfile.mkdtemp(dir=self.session.folder)
        command = nginx_command(folder, nginx_file(folder, self.session.local(block.text)), "-t")
        result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
        if result.returncode != 0:
            raise Unfit(result.stderr)
        return True

    def try_ini(self, block, _):
        """A unit of systemd, or a part of one: sections, and keys with values."""
        sections = 0
        for line in block.lines:
            if re.fullmatch(r"\[\w+\]", line):
                sections += 1
            elif line.strip() and not re.match(r"[#;]|[A-Z]\w+=", line):
                raise Unfit(f"neither a section nor a key: {line}")
        return sections

    def try_dockerfile(self, block, _):
        known = "FROM|COPY|ADD|RUN|USER|ENTRYPOINT|CMD|ARG|ENV|EXPOSE|WORKDIR|HEALTHCHECK|LABEL|STOPSIGNAL|VOLUME"
        lines = [line for line in logical_lines(block.lines) if line.strip()]
        for line in lines:
            if not re.match(rf"#|(?:{known}) ", line):
                raise Unfit(f"no instruction: {line}")
        return lines

    def try_text(self, block, words):
        """A picture, or what something prints; no command, which would go untried."""
        programs = (RUN | set(LOOKED_AT)) - {"recast", "source", "test", "date", "install", "kind", "head", "wait"}  # words, too
        for line in block.lines if words[:1] != ["output"] else []:
            first, second = (line.split() + ["", ""])[:2]
            if line.startswith("$ ") or second and first in programs or first == "recast" and second in commands_of_recast():
                raise Unfit(f"a command in a text: {line}")
        return bool(block.text.strip())


class BlockTests(unittest.TestCase):
    """A test for each page, added below, and what holds for all of them."""

    def go_through(self, name):
        session = Session()
        self.addCleanup(session.close)
        page = Page(name, session)
        page.go_through(taken_apart(name)[0])
        # Counted anew, by the fences alone: what was found is all that there is.
        fences = len(re.findall(r"(?m)^ *(?:```|~~~)", read_page(name)))
        self.assertEqual((page.tried * 2, fences), (fences, fences), name)

    def test_pages_are_found(self):
        self.assertGreater(len(all_pages()), 50)
        self.assertGreater(len({name for name in all_pages() if taken_apart(name)[0]}), 15)


def add_tests():
    for name in all_pages():
        if taken_apart(name)[0]:
            def test(self, name=name):
                self.go_through(name)

            setattr(BlockTests, "test_" + re.sub(r"\W+", "_", name.removesuffix(".md")), test)


add_tests()


class ProseTests(unittest.TestCase):
    """What stands between the blocks: links, files, commands and settings that a page names."""

    def test_links_lead_somewhere(self):
        found = 0
        for page in all_pages():
            for line, target in links(page):
                with self.subTest(f"{page}:{line}", target=target):
                    if re.match(r"https?://|mailto:", target):
                        continue
                    path, _, anchor = target.partition("#")
                    where = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                    self.assertFalse(where.startswith(".."), "leads out of the project")
                    self.assertTrue(os.path.exists(os.path.join(ROOT, where)), f"there is no {where}")
                    if anchor:
                        self.assertIn(anchor, anchors(where))
                    found += 1
        self.assertGreater(found, 100)

    def test_commands_and_files_in_the_text_exist(self):
        found = 0
        for page in all_pages():
            for line, span in code_spans(page):
                with self.subTest(f"{page}:{line}", span=span):
                    try:
                        look_at_path(span)
                        if re.match(r"(recast [a-z-]|make [a-z]|scripts/[a-z-]+ )", span):
                            for words in simple_commands(span.replace("…", "")):
                                if program_of(words) in ("recast", "make") or program_of(words).startswith("scripts/"):
                                    look_at(words)
                                    found += 1
                    except Unfit as error:
                        self.fail(str(error))
        self.assertGreater(found, 60)

    def test_settings_in_tables_exist(self):
        known, found = setting_paths(), 0
        for page in all_pages():
            for headings, rows in tables(page):
                for place, heading in enumerate(headings):
                    if heading.lower() not in ("setting", "key", "settings", "keys") or page in OTHER_KEYS:
                        continue
                    for line, cells in rows:
                        before = ""
                        for span in re.findall(r"`(?!off`)(\.?[a-zA-Z_.]+)`", cells[place]):
                            path = before + span if span.startswith(".") else span
                            with self.subTest(f"{page}:{line}", setting=path):
                                self.assertTrue(path in known, "no setting")
                            before = path.rpartition(".")[0]
                            found += 1
        self.assertGreater(found, 60)


class DocsTestTests(unittest.TestCase):
    """The test itself: what it must not let pass."""

    def test_outputs_are_compared(self):
        self.assertTrue(matches("a … c\n...\nz\n", "a b c\nd\ne\nz\n"))
        self.assertTrue(matches("a\n", "a"))
        for shown, printed in (("a\n", "b\n"), ("a\n", "a\nb\n"), ("a…\n", "b\n"), ("a\n...\nz\n", "a\n"), ("…x\n", "x\ny\n")):
            self.assertFalse(matches(shown, printed), (shown, printed))
        self.assertRaises(Unfit, matches, "…\n...\n", "anything\n")

    def test_wrong_blocks_fail(self):
        wrong = [
            ("sh", "recast chek a.yaml"), ("sh", "recast check --fast config/recast.yaml"), ("sh", "make no-such-target"),
            ("sh", "scripts/no-such"), ("sh", "scripts/e2e --no-such"), ("sh", "no-such-program a"), ("sh", "# nothing"),
            ("sh", "$ echo a\nb"), ("sh", "recast check config/no.yaml"), ("sh", "curl http://127.0.0.1:9/"), ("sh", "echo 'a"),
            ("sh", "docker build --build-arg NO=1 ."), ("sh", "kubectl apply -f config/no.yaml"), ("sh", "$ docker build .\nok"),
            ("yaml", "colour: red"), ("yaml", "request: form -> jsn"), ("yaml", "limits: { body: 1XB }"), ("yaml", "- a\n- b"),
            ("yaml", "a: ["), ("yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  recast.yaml: |\n    version: 1\n    routes: []\n"),
            ("json", "{"), ("xml", "<a>"), ("swift", "let a = noSuchFunction()"), ("promql", "recast_no_such_total"),
            ("text", "$ recast check"), ("text", "recast check FILE"), ("text", ""), ("", "a"), ("nginx", "serve {}"),
            ("ini", "a b"), ("dockerfile", "FORM a"),
        ]
        for kind, text in wrong:
            with self.subTest(kind, text=text):
                self.assertRaises(AssertionError, self.try_block, kind, text)

    def test_markers_that_say_nothing_fail(self):
        for marker in ("skip", "look", "look well", "output", "exit 65", "serve config/no.yaml"):
            with self.subTest(marker):
                self.assertRaises(AssertionError, self.try_block, "sh", "echo a", marker)
        self.try_block("sh", "echo a | recast convert 'json -> form'", "exit 65")

    def test_right_blocks_pass(self):
        right = [
            ("sh", "$ echo -n 'a=1' | recast convert 'form -> json'\n{\"a\":\"1\"}"), ("sh", "make run  # tries it"),
            ("sh", "recast echo\nrecast check config/recast.yaml && recast serve config/recast.yaml\n"
                   "curl -d 'a=1' http://127.0.0.1:8080/form-to-json"),
            ("sh", "cat > a.yaml <<'EOF'\nversion: 1\nEOF\ngrep version a.yaml"), ("yaml", "request: form -> json"),
            ("yaml", "address: [10.0.0.1:80, 10.0.0.2:80]"), ("yaml", "drain_delay: 2s"),
            ("yaml", "- { name: a, match: /a, upstream: b }"), ("yaml", "decode: { as: form }\nencode: { as: json }"),
            ("yaml", "limits: { parts: 5 }"), ("text", "recast is a word"),
        ]
        for kind, text in right:
            with self.subTest(kind, text=text):
                self.try_block(kind, text)

    def try_block(self, kind, text, marker=None):
        session = Session()
        try:
            block = Block("a page", 1, kind, marker)
            block.lines = text.split("\n")
            Page("a page", session).go_through([block])
        finally:
            session.close()


if __name__ == "__main__":
    unittest.main()
