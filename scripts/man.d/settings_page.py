"""recast.yaml(5): docs/settings.md, and of the pages and of README.md what it refers to."""

import re

import markdown
from roff import Page, escape

# The pages, in the order in which somebody who writes settings meets what they are about. Their titles are the sections.
PAGES = ["conversions", "examples", "tls", "upstreams", "forwarding", "framing", "memory", "limits", "codings", "access-log", "admin",
         "dialects", "xml", "property-lists"]
README_PARTS = ["A first route"]


class Missing(Exception):
    """A part that the page should have isn't there."""


def settings_page(read, date, source):
    """The page's text; `read` gives the text of a file of the project."""
    bodies = {name: body(read(f"docs/{name}.md"), f"docs/{name}.md") for name in PAGES}
    titles = {f"{name}.md": title for name, (title, _) in bodies.items()} | {"settings.md": "Settings"}
    page = Page("recast.yaml", 5, date, source, "File formats", link=lambda text, target: linked(text, target, titles))
    page.section("Name")
    page.lines.append("recast.yaml \\- settings of the recast proxy")
    page.section("Synopsis")
    page.flow("\\fI/etc/recast/recast.yaml\\fR")
    page.section("Description")
    page.flow(page.markup("The settings of `recast(1)` are one file of YAML. The service reads `/etc/recast/recast.yaml`; "
                          "`recast check` finds what is wrong with a file, and the process reads it anew on SIGHUP."))
    page.paragraph("First comes a file that has every key. Each section behind it tells of some of them; where the text names one of "
                   "these files, its section is meant:")
    for name, title in titles.items():
        page.tagged(f"\\fB{escape(name, code=True)}\\fR", escape(title).upper())

    readme = parts_of(read("README.md"))
    page.section("A first route")
    page.blocks(readme["A first route"], top=3)
    page.section("Settings")
    page.blocks(body(read("docs/settings.md"), "docs/settings.md")[1], top=2)
    for title, blocks in bodies.values():
        page.section(markdown.plain(title))
        page.blocks(blocks, top=2)
    page.section("Files")
    page.tagged("\\fI/etc/recast/recast.yaml\\fR", "What the service reads.")
    page.tagged("\\fI/usr/share/doc/recast\\fR", page.markup("Examples of settings for what is asked for most, and pages that go "
                                                             "further than this one; `/usr/local/share/doc/recast` where "
                                                             "`make install` put it there."))
    page.section("See also")
    page.flow("\\fBrecast\\fR(1)")
    return page.text()


def body(text, page):
    """The title of a page, and what is below it."""
    first, *rest = markdown.blocks(text, page)
    if not isinstance(first, markdown.Heading) or first.level != 1:
        raise Missing(f"{page} doesn't begin with a title")
    return markdown.plain(first.text), rest


def parts_of(readme):
    """The parts of README.md that belong here, by their names. Only these are read: the rest may have images."""
    parts = {}
    for name in README_PARTS:
        found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", readme, re.M | re.S)
        if not found:
            raise Missing(f"README.md has no part '{name}'")
        parts[name] = markdown.blocks(found[1], "README.md")
    return parts


def linked(text, target, titles):
    """What the text of a link reads as. A page that is a section here is called that; another address stands behind the text."""
    file = re.sub(r"^(\.\./)?(docs/)?", "", target.split("#")[0])
    if file in titles and re.fullmatch(r"`?(docs/)?[\w.-]+\.md`?", text):
        return f"**{titles[file].upper()}**"
    if re.match(r"[a-z]+:", target) and target != text:
        return f"{text} ({target})"
    return text
