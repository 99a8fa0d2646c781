"""recast.yaml(5): docs/settings.md and the pages that it names."""

import re

import markdown
from roff import Page, escape

SETTINGS = "docs/settings.md"
EXAMPLE = "config/packages/recast.yaml"


class Missing(Exception):
    """A part that the page should have isn't there."""


def settings_page(read, date, source):
    """The page's text; `read` gives the text of a file of the project."""
    bodies = chapters(read)
    titles = {name: title for name, (title, _) in bodies.items()}
    page = Page("recast.yaml", 5, date, source, "File formats", link=lambda text, target: linked(text, target, titles))
    page.section("Name")
    page.lines.append("recast.yaml \\- settings of the recast proxy")
    page.section("Synopsis")
    page.flow("\\fI/etc/recast/recast.yaml\\fR")
    page.section("Description")
    page.flow(page.markup("The settings of `recast(1)` are one file of YAML. The service reads `/etc/recast/recast.yaml`; "
                          "`recast check` finds what is wrong with a file, and the process reads it anew on SIGHUP."))
    page.paragraph("A file that has every key comes first. Each section behind it tells of some of them; where the text names "
                   "one of these files, its section is meant:")
    for name, title in titles.items():
        page.tagged(f"\\fB{escape(name, code=True)}\\fR", escape(title.upper()))
    for title, blocks in bodies.values():
        page.section(title)
        page.blocks(blocks, top=2)
    page.section("Example")
    page.flow("What the package installs:")
    page.code(read(EXAMPLE).split("\n"))
    page.section("Files")
    page.tagged("\\fI/etc/recast/recast.yaml\\fR", "What the service reads.")
    page.tagged("\\fI/usr/share/doc/recast\\fR", page.markup("Examples of settings for what is asked for most, and pages that go "
                                                             "further than this one; `/usr/local/share/doc/recast` where "
                                                             "`make install` put it there."))
    page.section("See also")
    page.flow("\\fBrecast\\fR(1)")
    return page.text()


def chapters(read):
    """docs/settings.md and the pages that it names, as {file: (title, blocks)}, in the order in which it names them."""
    text = read(SETTINGS)
    found = {"settings.md": body(text, SETTINGS)}
    for file in re.findall(r"(?<![\w./])[\w-]+\.md\b", text):
        # What runs the process is recast(1)'s.
        if file not in found and file != "operations.md":
            found[file] = body(read(f"docs/{file}"), f"docs/{file}")
    return found


def body(text, page):
    """The title of a page, and what is below it."""
    first, *rest = markdown.blocks(text, page)
    if not isinstance(first, markdown.Heading) or first.level != 1:
        raise Missing(f"{page} doesn't begin with a title")
    return markdown.plain(first.text), rest


def linked(text, target, titles):
    """What the text of a link reads as. A page that is a section here is called that; another address stands behind the text."""
    file = re.sub(r"^(\.\./)?(docs/)?", "", target.split("#")[0])
    if file in titles and re.fullmatch(r"`?(docs/)?[\w.-]+\.md`?", text):
        return f"**{titles[file].upper()}**"
    if re.match(r"[a-z]+:", target) and target != text:
        return f"{text} ({target})"
    return text
