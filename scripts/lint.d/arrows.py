#!/usr/bin/env python3
"""Checks which folders of a target name types of which others: the table below is all that is allowed, and all of it is so.

A folder names another one where its code, without comments and texts, has the name of a type that a file of the other declares at
its top. A member that an extension in another folder adds is not seen.
"""
import re
import sys
from pathlib import Path

# For each target its folders, and which of its other folders each may name. Gateway's arrows go one way. Those of Proxy still go
# both ways between an exchange and what serves it: a new one wants a reason, and one that is gone goes from here too.
ARROWS = {
    "Transcoding": {
        "Codecs": "",
        "Conversion": "Codecs",
    },
    "Gateway": {
        "Patterns": "",
        "Retry": "",
        "Coding": "Patterns",
        "Headers": "Patterns",
        "Limits": "Patterns",
        "Refusals": "Headers Limits",
        "Exchange": "Refusals",
        "Routing": "Coding Headers Limits Patterns Retry Verification",
        "Shadow": "",
        "Transcoding": "Coding Headers Refusals Routing",
        "Verification": "",
    },
    "Proxy": {
        "Admin": "Configuration Console Exchange Observe Resources Server Upstream",
        "Configuration": "Observe TLS",
        "Console": "Admin Configuration Downstream Exchange Observe Server Upstream",
        "Downstream": "Configuration Exchange Resources Upstream",
        "Exchange": "Configuration Console Downstream Observe Resources Shadow Tracing Upstream",
        "Observe": "Configuration Exchange Resources TLS Tracing Upstream",
        "Resources": "Configuration Observe",
        "Server": "Admin Configuration Exchange Observe Resources TLS Tracing",
        "Shadow": "Configuration Observe Resources Upstream",
        "TLS": "Configuration Exchange Observe",
        "Tracing": "Configuration Exchange Observe Upstream",
        "Upstream": "Configuration Exchange Observe Resources TLS",
    },
}

DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|final|indirect) )*"
    r"(?:struct|class|enum|protocol|actor|typealias) (\w+)", re.MULTILINE)
# A type inside of another one hides what another folder calls so.
ANY_DECLARATION = re.compile(r"\b(?:struct|class|enum|protocol|actor|typealias) (\w+)")


def code(text):
    """The text of a file without its comments and the insides of its texts."""
    text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
    return "\n".join(re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0] for line in text.split("\n"))


def complaints(target, allowed):
    root = Path("Sources") / target
    files = {path: code(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.swift"))}
    folder_of = {path: path.relative_to(root).parts[0] for path in files}
    homes = {name: folder_of[path] for path, text in files.items() for name in DECLARATION.findall(text)}
    nested = {(folder_of[path], name) for path, text in files.items() for name in ANY_DECLARATION.findall(text)}
    seen = set()
    for path, text in files.items():
        folder = folder_of[path]
        if folder not in allowed:
            yield f"{path}: the folder {folder} has no line in scripts/lint.d/arrows.py"
            continue
        for name in sorted(set(re.findall(r"\b[A-Z]\w*", text))):
            home = homes.get(name, folder)
            if home == folder or (folder, name) in nested:
                continue
            seen.add((folder, home))
            if home not in allowed[folder].split():
                may = allowed[folder] or "no other"
                yield f"{path}: {folder} must not name {name} of {home} (it may name: {may})"
    for folder, others in allowed.items():
        if folder not in folder_of.values():
            yield f"scripts/lint.d/arrows.py: {target} has no folder {folder}"
        for other in others.split():
            if (folder, other) not in seen:
                yield f"scripts/lint.d/arrows.py: {folder} of {target} names nothing of {other} any more: take it out"


def main():
    found = [text for target, allowed in ARROWS.items() for text in complaints(target, allowed)]
    for text in found:
        print(f"lint: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
