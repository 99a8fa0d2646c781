"""Writes man pages in the macros of man(7), in ASCII, for groff and for mandoc."""

import re
import textwrap

from markdown import Code, Heading, List, Paragraph, Table, spans

# What roff takes for a mark, and what some outputs turn into another character.
ESCAPES = {"\\": "\\(rs", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}

# Of the page's own lines, and of the longest word that is sure to find room in a line of a narrow terminal.
WIDTH = 79
LONG = 36


def escape(text, code=False):
    """`text` as roff prints it. In code a hyphen is a minus, as it must be to be copied; in prose it may stay a hyphen."""
    return "".join(
        character if character == "-" and not code
        else ESCAPES.get(character) or (character if character.isascii() else f"\\[u{ord(character):04X}]")
        for character in text)


class Page:
    """A page that is written from its top to its end."""

    def __init__(self, name, section, date, source, title, link=None):
        """`link` gives what the text of a link reads as, from its text and target."""
        self.lines = ['.\\" Made by scripts/man from the program and its pages: change those.',
                      f".TH {name.upper()} {section} {date} {quoted(source)} {quoted(title)}", ".nh", ".ad l"]
        self.link = link or (lambda text, target: text)

    def text(self):
        return "\n".join(self.lines) + "\n"

    def section(self, title):
        self.lines.append(f".SH {quoted(title.upper())}")

    def subsection(self, title):
        self.lines.append(f".SS {quoted(title)}")

    def begin(self):
        """Begins a paragraph; the first of a section has begun with it."""
        if not self.lines[-1].startswith((".SH", ".SS", ".RS")):
            self.lines.append(".PP")

    def paragraph(self, markup):
        self.begin()
        self.flow(self.markup(markup))

    def tagged(self, tag, *paragraphs):
        """A term and what it is; both are roff already."""
        self.lines.append(".TP")
        # A tag is one line of the source; what is long goes on behind a backslash.
        *first, last = textwrap.wrap(tag, WIDTH - 2, break_long_words=False, break_on_hyphens=False)
        self.lines += [guarded(line) + " \\" for line in first] + [guarded(last)]
        for index, paragraph in enumerate(paragraphs):
            if index:
                self.lines.append(".br")
            self.flow(paragraph)

    def code(self, lines):
        self.begin()
        self.lines += [".RS 4", ".nf"]
        # An empty line within .nf is a line, but mandoc would rather have it said.
        self.lines += [guarded(escape(line, code=True)) if line else ".sp" for line in trimmed(lines)]
        self.lines += [".fi", ".RE"]

    def flow(self, roff):
        """Filled text, in lines that can be read. A long word may be broken behind its marks."""
        line = ""
        for word in roff.split():
            if len(word) > LONG:
                word = re.sub(r"(?<=[/,=&?_;|.)])(?=\w)", r"\\:", word)
            if line and len(line) + 1 + len(word) > WIDTH:
                self.lines.append(guarded(line))
                line = word
            else:
                line = f"{line} {word}" if line else word
        if line:
            self.lines.append(guarded(line))

    def blocks(self, blocks, top):
        """Blocks of Markdown whose headings of level `top` are subsections here, and those below it paragraphs."""
        for block in blocks:
            match block:
                case Heading(level=level, text=text) if level <= top:
                    self.lines.append(f".SS {quoted(self.markup(text))}")
                case Heading(text=text):
                    self.begin()
                    self.flow(f"\\fB{self.markup(text, around='B')}\\fR")
                case Paragraph(text=text):
                    self.paragraph(text)
                case Code(lines=lines):
                    self.code(lines)
                case Table():
                    self.table(block)
                case List():
                    self.list(block, top)
                case _:
                    raise TypeError(f"no man page has a {block}")

    def list(self, block, top):
        for number, item in enumerate(block.items, 1):
            self.lines.append(f".IP {number}. 4" if block.numbered else ".IP \\(bu 2")
            if item and isinstance(item[0], Paragraph):
                self.flow(self.markup(item[0].text))
                item = item[1:]
            if item:
                self.lines.append(".RS")
                self.blocks(item, top)
                self.lines.append(".RE")

    def table(self, table):
        """A row is a term and its text: columns would be too narrow on a terminal. The table's head comes first, and again
        in front of each cell where there are more than two."""
        head = [self.markup(cell, around="I") for cell in table.head]
        self.begin()
        self.flow("\\fI" + " | ".join(cell for cell in head if cell) + "\\fR")
        for tag, *row in table.rows:
            if len(row) == 1:
                rest = [self.markup(row[0])]
            else:
                rest = [f"\\fI{name}\\fR: {self.markup(cell)}" if name else self.markup(cell)
                        for name, cell in zip(head[1:], row) if cell]
            self.tagged(self.markup(tag) or "\\&", *(rest or ["\\&"]))

    def markup(self, text, around="R"):
        """A line of Markdown as roff; `around` is the font that it stands in."""
        return "".join(self.piece(kind, part, target, around) for kind, part, target in spans(text))

    def piece(self, kind, part, target, around):
        if kind == "text":
            return escape(part)
        if kind == "code":
            # Spaces in code don't stretch, and a line may still end at them.
            return f"\\fB{escape(part, code=True)}\\f{around}"
        if kind == "link":
            return self.markup(self.link(part, target), around)
        font = "B" if kind == "strong" else "I"
        return f"\\f{font}{self.markup(part, around=font)}\\f{around}"


def trimmed(lines):
    """Lines of code without the empty ones at both ends, and without what nobody sees at their ends."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def quoted(argument):
    """An argument of a macro."""
    return '"' + argument.replace('"', "\\(dq") + '"'


def guarded(line):
    """A line that isn't taken for a request of roff."""
    return re.sub(r"^(?=[.'])", r"\\&", line)
