"""What the pages of the documentation say, for tests that compare it with what runs."""

import os
import re

from harness import ROOT

# Labels whose values are words of the program.
CLOSED_LABELS = {"side", "state", "reason", "kind", "result", "direction", "mode", "operation"}


def read_page(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


def pages():
    """The texts of all pages by their names."""
    names = ["README.md", *(f"docs/{name}" for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))]
    return {name: read_page(name) for name in names}


def documented_rows():
    """The labels of each metric in docs/metrics.md, and the words in its meaning."""
    rows = {}
    for name, _, labels, meaning in re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\| (.*) \|$", read_page("docs/metrics.md"), re.M):
        rows[name] = ({label for label in labels.replace(" ", "").split(",") if label}, set(re.findall(r"`(\w+)`", meaning)))
    return rows
