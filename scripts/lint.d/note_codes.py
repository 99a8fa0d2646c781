#!/usr/bin/env python3
"""Compares docs/operations.md with the sources: every code of a warning or a note of `recast check` that is about settings stands on that
page. Those of conversions' notes are what `recast explain --json` prints, and no list has them.

Codes are read from where they are made, and fewer than there must be are a complaint: a form that has changed would otherwise hide them."""
import re
import sys
from pathlib import Path

PAGE = Path("docs/operations.md")
LEAST = 55
# Notes are made by functions of these names, each with the code in front or behind the severity; `status_from` and `problem` share a few.
MADE = re.compile(r'(?:\b(?:note|warning)\((?:\s*ofUpstream: \w+,)?\s*|\.(?:warning|note),\s*(?:ofUpstream: \w+,\s*)?|\bcode: )"((?:\\\(setting\))?[a-z0-9_]+)"')
TLS = re.compile(r'case [^:]*: "(tls_[a-z0-9_]+)"')


def from_sources():
    codes = set()
    for path in sorted(Path("Sources/Settings").glob("SettingsNote*.swift")):
        for code in MADE.findall(path.read_text(encoding="utf-8")):
            if code.startswith("\\("):
                codes |= {code.replace("\\(setting)", setting) for setting in ("status_from", "problem")}
            else:
                codes.add(code)
    # What is seen as files of certificates are loaded; a list whose signature is another's is a mistake.
    text = Path("Sources/Proxy/TLS/TLSFileFinding+Text.swift").read_text(encoding="utf-8")
    return codes | set(TLS.findall(text)) - {"tls_list_signature"}


def main():
    codes = from_sources()
    known = set(re.findall(r"`([a-z0-9_]+)`", PAGE.read_text(encoding="utf-8")))
    complaints = [f"{PAGE}: no word of the note {code}" for code in sorted(codes - known)]
    if len(codes) < LEAST:
        complaints.append(f"scripts/lint.d/note_codes.py: {len(codes)} codes of notes are found, and there are {LEAST} at least")
    print("\n".join(complaints), end="\n" if complaints else "")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
