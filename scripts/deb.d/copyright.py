"""Writes the package's copyright file and its NOTICE: Recast's own terms, and those of all that is linked into the binary, read
from where it was compiled from. A package that has no licence there stops the build.

Usage: copyright.py COPYRIGHT NOTICE
"""

import glob
import json
import os
import re
import subprocess
import sys

LINKED_PACKAGES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "linked-packages")
LIBSTDCXX = """Files: libstdc++/*
Copyright: Free Software Foundation, Inc.
License: GPL-3+ with GCC Runtime Library Exception 3.1
 This library is free software; you can redistribute it and/or modify it under the terms of the GNU General Public License
 as published by the Free Software Foundation, version 3 or later. On Debian systems its text is in
 /usr/share/common-licenses/GPL-3.
 .
 Under Section 7 of GPL version 3 you are granted additional permissions described in the GCC Runtime Library Exception,
 version 3.1: a program that such a library is part of may be conveyed under terms of one's choice.
"""
APACHE = """ Licensed under the Apache License, Version 2.0. You may not use these files except in compliance with it. On Debian
 systems its text is in /usr/share/common-licenses/Apache-2.0.
 .
 Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an "AS
 IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific
 language governing permissions and limitations under the License."""
HEAD = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: recast
Comment:
 Everything in this package is Recast's own, but /usr/bin/recast has more in it: the Swift packages named below, which it was
 compiled from, the runtime of Swift with its Foundation, and GCC's libstdc++, which that uses. The folder in front of each
 stands for its sources. The C libraries that it uses are loaded from the system and are not in this package.

Files: *
Copyright: the Recast authors
License: Apache-2.0
"""


def linked_packages():
    """The Swift packages that are compiled into the binary, as (name, folder)."""
    lines = subprocess.run([LINKED_PACKAGES], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [(name, folder) for name, _, _, folder in (line.split("\t") for line in lines)]


def toolchain():
    """The folder with the licence of the Swift toolchain, whose runtime is linked in."""
    place = json.loads(subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout)
    return os.path.join(os.path.dirname(os.path.dirname(place["paths"]["runtimeResourcePath"])), "share", "swift")


def text_of(folder, pattern):
    paths = sorted(glob.glob(os.path.join(folder, pattern)))
    if not paths:
        return None
    with open(paths[0], encoding="utf-8") as file:
        return file.read().strip()


def paragraph(name, folder):
    """What the copyright file says of a package: its licence, shortened where Debian has the text, and who has the rights."""
    licence = text_of(folder, "LICEN[SC]E*")
    if licence is None:
        raise SystemExit(f"deb: {name} has no licence in {folder}")
    said = licence + "\n" + (text_of(folder, "NOTICE*") or "")
    holders = re.findall(r"^[ \t]*Copyright (?:\(c\) )?(\d[^\n]*)", said, re.M | re.I)
    holders = [holder.strip().rstrip(".") for holder in holders] or [f"the authors of {name}"]
    lines = [f"Files: {name}/*", "Copyright: " + "\n ".join(dict.fromkeys(holders))]
    if re.search(r"Apache License\s+Version 2\.0", licence):
        exception = re.search(r"As an exception, (?:if you use|when using).*", licence, re.S)
        lines.append("License: Apache-2.0" + (" with runtime library exception" if exception else ""))
        if exception:
            lines += [APACHE, " .", indented(exception[0])]
    else:
        lines += [f"License: {name}", indented(licence)]
    return "\n".join(lines) + "\n"


def indented(text):
    return "\n".join(f" {line.strip()}" if line.strip() else " ." for line in text.strip().split("\n"))


def main():
    parts = [("swift", toolchain()), *linked_packages()]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD + "\n" + "\n".join([*(paragraph(*part) for part in parts), LIBSTDCXX]) + "\nLicense: Apache-2.0\n" + APACHE + "\n")
    notices = [(name, text_of(folder, "NOTICE*")) for name, folder in parts]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("What the packages that are linked into /usr/bin/recast want to be said with it.\n")
        for name, notice in notices:
            if notice:
                file.write(f"\n== {name}\n\n{notice}\n")


if __name__ == "__main__":
    main()
