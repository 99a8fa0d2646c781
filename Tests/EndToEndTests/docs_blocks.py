"""The pages of the documentation taken apart: fenced blocks with their markers, links, headings, tables."""

import functools
import os
import re

from harness import ROOT
from pages import read_page

FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*(.*?)\s*$")
MARKER = re.compile(r"^\s*<!-- docs-test: (.*?) -->\s*$")


class Block:
    """A fenced block: its kind is the first word behind the fence, its marker what a comment in the line before says."""

    def __init__(self, page, line, kind, marker):
        self.page, self.line, self.kind, self.marker = page, line, kind, marker
        self.lines = []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def place(self):
        return f"{self.page}:{self.line}"


@functools.cache
def all_pages():
    """The names of all Markdown files of the project, but what is built or measured."""
    names = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "out")
        names += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files if name.endswith(".md")]
    return sorted(names)


@functools.cache
def taken_apart(page):
    """The blocks of a page, and its prose: each line with its number, without what stands in blocks."""
    blocks, prose, marker, block, fence, indentation = [], [], None, None, "", 0
    for number, line in enumerate(read_page(page).split("\n"), 1):
        match = FENCE.match(line)
        if block:
            if match and match[2].startswith(fence) and not match[3]:
                blocks.append(block)
                block = None
            else:
                block.lines.append(line[min(indentation, len(line) - len(line.lstrip())):])
        elif match:
            indentation, fence = len(match[1]), match[2]
            block = Block(page, number, (match[3].split() or [""])[0], marker)
            marker = None
        else:
            if marker is not None:
                raise AssertionError(f"{page}:{number - 1}: a docs-test marker stands in the line before a block")
            found = MARKER.match(line)
            marker = found[1] if found else None
            prose.append((number, line))
    if block or marker is not None:
        raise AssertionError(f"{page}: ends within a block, or with a marker")
    return blocks, prose


def without_code(line):
    return re.sub(r"(`+)(?:(?!\1).)+\1", "", line)


def code_spans(page):
    """What stands in backticks, with the number of its line. A span may go over a line's end."""
    _, prose = taken_apart(page)
    text, starts = "", []
    for number, line in prose:
        starts.append((len(text), number))
        text += line + "\n"
    for match in re.finditer(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", text, re.S):
        number = max(line for start, line in starts if start <= match.start())
        yield number, " ".join(match[2].split())


def links(page):
    """Targets of links and pictures, with the number of their line."""
    for number, line in taken_apart(page)[1]:
        plain = without_code(line.replace("`](", "](")) if line.count("`") % 2 else without_code(line)
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|href|srcset)=\"([^\"]+)\"", plain):
            yield number, target[0] or target[1]
        for name in re.findall(r"<doc:(\w+)>", plain):
            yield number, f"{name}.md"


@functools.cache
def anchors(page):
    """The names by which GitHub lets the headings of a page be linked to."""
    names, seen = set(), {}
    for _, line in taken_apart(page)[1]:
        if heading := re.match(r"#{1,6} +(.*?)[ #]*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = seen[slug] = seen.get(slug, -1) + 1
            names.add(f"{slug}-{count}" if count else slug)
        names.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return names


def tables(page):
    """Each table as its headings and rows: lists of cells, a row with the number of its line."""
    table, before = None, None
    for number, line in taken_apart(page)[1]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]] if line.strip().startswith("|") else None
        if cells is None:
            if table:
                yield table
            table = None
        elif all(re.fullmatch(":?-+:?", cell) for cell in cells):
            table = (before, [])
        elif table:
            table[1].append((number, cells))
        before = cells
    if table:
        yield table
