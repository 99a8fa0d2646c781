#!/usr/bin/env python3
"""Checks that each target of Package.swift names the targets that its sources import: a build that happens to have made a module
before finds it without that, and another one doesn't."""
import json
import re
import subprocess
import sys
from pathlib import Path

IMPORT = re.compile(r"^(?:@\w+ )?(?:\w+ )?import (\w+)$", re.MULTILINE)


def main():
    shown = subprocess.run(["swift", "package", "dump-package"], check=True, capture_output=True, text=True)
    targets = [target for target in json.loads(shown.stdout)["targets"] if target["type"] != "system"]
    # A module's name has underscores where its target's has hyphens.
    modules = {target["name"].replace("-", "_"): target["name"] for target in targets}
    found = checked = 0
    for target in targets:
        home = "Tests" if target["type"] == "test" else "Sources"
        folder = Path(target.get("path") or f"{home}/{target['name']}")
        named = {value[0] for dependency in target["dependencies"] for value in dependency.values()}
        for path in sorted(folder.rglob("*.swift")):
            for module in IMPORT.findall(path.read_text(encoding="utf-8")):
                checked += 1
                if module in modules and modules[module] not in named:
                    print(f"lint: {path}: {target['name']} imports {module}, which Package.swift doesn't give it", file=sys.stderr)
                    found += 1
    if checked < 1000:
        print(f"lint: only {checked} imports were found", file=sys.stderr)
    return 1 if found or checked < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
