#!/usr/bin/env python3
"""Compares the senders of docs/webhooks.md with Sources/Signatures/SenderPresets.swift: each preset stands in one row of the page's
first table, each alias in the row of what it stands for, and nothing else does."""
import re
import sys
from pathlib import Path

PAGE = Path("docs/webhooks.md")
SOURCE = Path("Sources/Signatures/SenderPresets.swift")
# A preset that is written where its signatures are.
ELSEWHERE = {".httpMessageSignatures": Path("Sources/Signatures/MessageSignature.swift")}
LEAST = {"presets": 30, "aliases": 17}


def part(text, start, end):
    begin = text.index(start) + len(start)
    return text[begin:text.index(end, begin)]


def from_source():
    """The presets, and the aliases with the preset that each stands for."""
    text = re.sub(r"^ *//[^\n]*\n", "", SOURCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    body = part(text, "static let all: [SignatureScheme] = [", "\n    ]\n")
    names, others = set(), set()
    # Each element begins at eight spaces; some lines have two.
    for line in re.findall(r"^ {8}([.\w].*(?:\n {12}\".*)?)", body, re.MULTILINE):
        found = re.findall(r'(?:^|, )(?:\w+)\(\s*"([\w-]+)"', line)
        if line.rstrip(",") in ELSEWHERE:
            scheme = ELSEWHERE[line.rstrip(",")].read_text(encoding="utf-8")
            found = re.findall(r'SignatureScheme\(name: "([\w-]+)"\)', scheme)
        if found:
            names |= set(found)
        else:
            others.add(line)
    aliases = dict(re.findall(r'"([\w-]+)": "([\w-]+)"', part(text, "static let aliases = [", "\n    ]\n")))
    return names, aliases, others


def rows_of_page():
    """The names in each row of the table of senders, with its line; in parentheses only what is in backticks is a name."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith("| preset |"))
    for number, line in enumerate(lines[start + 2:], start + 3):
        if not line.startswith("|"):
            return
        yield number, re.findall(r"`([^`]+)`", line.split("|")[1])


def complaints():
    names, aliases, others = from_source()
    for line in sorted(others):
        yield f"{SOURCE}: no preset can be read from {line}"
    for what, found in (("presets", names), ("aliases", aliases)):
        if len(found) < LEAST[what]:
            yield f"only {len(found)} {what} were found, of at least {LEAST[what]}: scripts/lint.d/presets.py sees too little"
    for alias, target in sorted(aliases.items()):
        if target not in names or alias in names:
            yield f"{SOURCE}: the alias {alias} stands for {target}, which is no preset, or is one itself"
    seen = {}
    for number, row in rows_of_page():
        if not row:
            yield f"{PAGE}:{number}: a row without a preset"
        for name in row:
            if name in seen:
                yield f"{PAGE}:{number}: {name} stands in line {seen[name]} already"
            seen[name] = number
            if name not in names and name not in aliases:
                yield f"{PAGE}:{number}: {name} is no preset"
            elif name in aliases and aliases[name] not in row:
                yield f"{PAGE}:{number}: {name} stands for {aliases[name]}, which is in another row"
    for name in sorted((names | set(aliases)) - set(seen)):
        yield f"{PAGE} has no row with the preset {name}"


def main():
    found = list(complaints())
    for text in found:
        print(f"lint: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
