"""The Markdown that the project's pages are written in, as blocks: headings, paragraphs, lists, tables and code. What it
doesn't know it refuses, so that a page never loses text on its way into a man page."""

import re
from dataclasses import dataclass, field


@dataclass
class Heading:
    level: int
    text: str


@dataclass
class Paragraph:
    text: str


@dataclass
class Code:
    lines: list


@dataclass
class Table:
    head: list
    rows: list


@dataclass
class List:
    """Items are lists of blocks; `numbered` says whether they count."""

    numbered: bool
    items: list = field(default_factory=list)


class Unknown(Exception):
    """What the page says can't be read; the text says where and why."""


ITEM = re.compile(r"(?P<mark>[-*]|\d+\.) +(?P<text>.*)")
FENCE = re.compile(r"(```+|~~~+)")
COMMENT = re.compile(r"\s*<!--.*?-->\s*")  # which nobody is shown
RULE = re.compile(r"\|? *:?-+:? *(\| *:?-+:? *)*\|?")


def blocks(text, page):
    """The blocks of `text`; `page` is its name, for what can't be read."""
    return _blocks(list(enumerate(text.split("\n"), 1)), page)


def _blocks(lines, page):
    found, at = [], 0
    while at < len(lines):
        number, line = lines[at]
        if not line.strip() or COMMENT.fullmatch(line):
            at += 1
        elif fence := FENCE.match(line):
            end = next((i for i in range(at + 1, len(lines)) if lines[i][1].strip() == fence[1]), None)
            if end is None:
                raise Unknown(f"{page}:{number}: a block of code that doesn't end")
            found.append(Code([text for _, text in lines[at + 1:end]]))
            at = end + 1
        elif line.startswith("    "):
            end = at
            while end < len(lines) and (lines[end][1].startswith("    ") or not lines[end][1].strip()):
                end += 1
            code = [text[4:] for _, text in lines[at:end]]
            while code and not code[-1].strip():
                code.pop()
            found.append(Code(code))
            at = end
        elif line.startswith("#"):
            heading = re.fullmatch(r"(#+) +(.*?)(?: +#+)?", line)
            if not heading:
                raise Unknown(f"{page}:{number}: a heading without a space behind its marks")
            found.append(Heading(len(heading[1]), heading[2]))
            at += 1
        elif line.startswith("|"):
            end = _end(lines, at, lambda text: text.startswith("|"))
            found.append(_table(lines[at:end], page))
            at = end
        elif ITEM.match(line):
            at = _list(lines, at, page, found)
        elif line.startswith((">", "<", "![")):
            raise Unknown(f"{page}:{number}: quotations, HTML and images have no place in a man page")
        else:
            end = _end(lines, at, lambda text: text.strip() and not text.startswith(("#", "|", "```", "~~~"))
                       and not ITEM.match(text))
            found.append(Paragraph(" ".join(text.strip() for _, text in lines[at:end])))
            at = end
    return found


def _end(lines, at, belongs):
    """The first index behind `at` whose line doesn't belong to what stands there."""
    end = at + 1
    while end < len(lines) and belongs(lines[end][1]):
        end += 1
    return end


def _list(lines, at, page, found):
    """Appends the list that begins at `at` and gives the index behind it. What is indented belongs to the item above."""
    result = List(numbered=lines[at][1][0].isdigit())
    while at < len(lines) and (item := ITEM.match(lines[at][1])):
        if item["mark"][0].isdigit() != result.numbered:
            break
        inner, end = [(lines[at][0], item["text"])], at + 1
        # A line behind the item that isn't indented, and begins nothing else, goes on with its text.
        while end < len(lines):
            number, text = lines[end]
            if text.startswith(("  ", "\t")):
                inner.append((number, re.sub(r"^(\t| {2,%d})" % (len(item["mark"]) + 1), "", text)))
            elif not text.strip():
                behind = next((after for _, after in lines[end + 1:] if after.strip()), "")
                if not behind.startswith("  "):
                    break
                inner.append((number, ""))
            elif ITEM.match(text) or text.startswith(("#", "|", "```", "~~~")) or not inner[-1][1].strip():
                break
            else:
                inner.append((number, text))
            end += 1
        result.items.append(_blocks(inner, page))
        at = end
        while at < len(lines) and not lines[at][1].strip():
            at += 1
    found.append(result)
    return at


def _table(lines, page):
    number = lines[0][0]
    if len(lines) < 2 or not RULE.fullmatch(lines[1][1].strip()):
        raise Unknown(f"{page}:{number}: a table whose second line isn't its rule")
    head, *rows = [cells(text) for _, text in lines[:1] + lines[2:]]
    for (place, _), row in zip(lines[2:], rows):
        if len(row) != len(head):
            raise Unknown(f"{page}:{place}: a row of {len(row)} cells in a table of {len(head)} columns")
    return Table(head, rows)


def cells(line):
    """The cells of a table's row. A bar behind a backslash is a bar, as GitHub takes it: in code, too."""
    line = line.strip().removeprefix("|")
    line = re.sub(r"(?<!\\)\|$", "", line)
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


# Code, strong, emphasis, links, and the backslash before a mark; whatever else is text.
SPAN = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>.+?)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|\[(?P<link>(?:`[^`]*`|[^\]`])*)\]\((?P<target>[^)\s]+)\)"
    r"|\\(?P<escaped>[\\`*_{}\[\]()#+.!|<>-])")


def spans(text):
    """Pieces of a line as (kind, text, target); the kinds are text, code, strong, emphasis and link. A piece of the last
    three may hold others."""
    at = 0
    for match in SPAN.finditer(text):
        if match.start() > at:
            yield "text", text[at:match.start()], None
        if match["code"] is not None:
            code = match["code"]
            if len(code) > 2 and code.startswith(" ") and code.endswith(" ") and code.strip():
                code = code[1:-1]
            yield "code", code, None
        elif match["strong"] is not None:
            yield "strong", match["strong"], None
        elif match["emphasis"] is not None:
            yield "emphasis", match["emphasis"], None
        elif match["link"] is not None:
            yield "link", match["link"], match["target"]
        else:
            yield "text", match["escaped"], None
        at = match.end()
    if at < len(text):
        yield "text", text[at:], None


def plain(text):
    """The words of a line, without its marks."""
    return "".join(part if kind in ("text", "code") else plain(part) for kind, part, _ in spans(text))
