"""YAML of the documentation: whole settings, and fragments in the frame that their keys ask for."""

import functools
import json
import re
import subprocess

from docs_blocks import taken_apart
from harness import DEADLINE, RECAST

REQUEST = {"decode", "map", "fields", "encode"}
# What programs beside Recast read, by the keys that tell it.
FOREIGN = ({"apiVersion", "kind"}, {"groups"}, {"scrape_configs"}, {"lifecycle"},
           {"images"}, {"components"}, {"resources"}, {"patches"})


class Unfit(Exception):
    """A block that is nothing the documentation may show."""


def read_yaml(text):
    """The documents of a YAML text. Ruby reads it: the suite has it anyway."""
    script = "require 'json'; require 'yaml'; puts JSON.generate(YAML.load_stream(STDIN.read))"
    result = subprocess.run(["ruby", "-e", script], input=text, capture_output=True, text=True, timeout=DEADLINE)
    if result.returncode != 0:
        raise Unfit(f"no YAML: {result.stderr.strip().splitlines()[0]}")
    return json.loads(result.stdout)


@functools.cache
def known_keys():
    """The keys of a file, of an upstream and of a route: docs/settings.md has all of them, which a unit test compares."""
    block = next(block for block in taken_apart("docs/settings.md")[0] if block.kind == "yaml")
    whole, = read_yaml(block.text)
    return set(whole), set(whole["upstreams"]["app"]), set(whole["routes"][0]) | set(whole["defaults"]), whole


def indented(text, first, rest):
    lines = text.splitlines()
    return "".join((first if number == 0 else rest) + line + "\n" if line.strip() else "\n" for number, line in enumerate(lines))


def without_margin(text):
    margin = min(len(line) - len(line.lstrip()) for line in text.splitlines() if line.strip())
    return "".join(line[margin:] + "\n" for line in text.splitlines())


def file_with(text, keys, upstreams=()):
    """A file of what a fragment has at the top, and of what any file needs."""
    named = sorted(set(re.findall(r"\bupstream: *\"?([\w-]+)", text)) | set(upstreams)) or ["app"]
    lines = []
    if "version" not in keys:
        lines.append("version: 1\n")
    if "listen" not in keys:
        lines.append("listen: 127.0.0.1:8080\n")
    if "upstreams" not in keys:
        lines += ["upstreams:\n", *(f"  {name}: 127.0.0.1:{3000 + place}\n" for place, name in enumerate(named))]
    if "routes" not in keys:
        lines += ["routes:\n", *(f'  - {{ name: {name}, match: "/{name}/*", upstream: {name} }}\n' for name in named)]
    return "".join(lines) + text


def framed(text):
    """The settings files that a block stands for: as it is, or in each frame that has its keys. One of them must be right."""
    text = without_margin(text)
    documents = read_yaml(text)
    if len(documents) != 1:
        raise Unfit("settings are one document")
    document, = documents
    top, upstream, route, _ = known_keys()
    if isinstance(document, list):
        if all(isinstance(one, dict) and set(one) <= route for one in document):
            return [file_with("routes:\n" + indented(text, "  ", "  "), {"routes"})]
        raise Unfit("a list, and not of routes")
    if not isinstance(document, dict):
        raise Unfit("neither a mapping nor a list")
    keys, found = set(document), []
    if keys <= top:
        names = document.get("upstreams")
        found.append(file_with(text, keys, names if isinstance(names, dict) else ()))
    if keys <= REQUEST:
        text, keys = "request:\n" + indented(text, "  ", "  "), {"request"}
    if keys <= route:
        # Paths and values of a route may name what its pattern takes.
        names = "".join("/{%s}" % name for name in sorted(set(re.findall(r"\$\{path\.(\w+)\}", text))))
        needed = {"name": "example", "match": f'"/example{names}"', "upstream": "app"}
        lines = "".join(f"{key}: {value}\n" for key, value in needed.items() if key not in keys)
        found.append(file_with("routes:\n" + indented(lines + text, "  - ", "    "), {"routes"}))
    if keys <= upstream:
        address = "" if "address" in keys else "address: 127.0.0.1:3000\n"
        found.append(file_with("upstreams:\n  app:\n" + indented(address + text, "    ", "    "), {"upstreams"}))
    if not found:
        raise Unfit(f"no frame has the keys {', '.join(sorted(keys))}")
    return found


def mistakes(settings, folder):
    """What `recast check --strict` finds in a settings file for another machine: files and variables may be missing. Only a frame
    has an upstream that no route names."""
    result = subprocess.run([RECAST, "check", "--no-secrets", "--json", "-"], input=settings, capture_output=True, text=True,
                            cwd=folder, timeout=DEADLINE)
    report = json.loads(result.stdout)
    if report["ok"] != (result.returncode == 0):
        raise AssertionError(f"check says {result.returncode}: {result.stdout}")
    return [f"{one['line']}:{one['column']}: {one['message']}" for one in report["findings"]
            if one["severity"] == "error" or one["severity"] == "warning" and one["code"] != "upstream_unused"]


def check_settings(text, folder):
    """Raises Unfit unless one of the frames passes."""
    tried = [(mistakes(settings, folder), settings) for settings in framed(text)]
    wrong, settings = min(tried, key=lambda one: len(one[0]))
    if wrong:
        raise Unfit("\n".join([*wrong, settings]))


def is_foreign(document):
    # Recast's own `images` are a mapping, Kustomize's a list.
    return (isinstance(document, dict) and not isinstance(document.get("images"), dict)
            and any(keys <= set(document) for keys in FOREIGN))


def check_foreign(text, folder):
    """YAML of another program: what it has of Recast's settings, as a ConfigMap does, must pass. Returns its commands."""
    commands = []

    def visit(value):
        if isinstance(value, dict):
            for key, member in value.items():
                if isinstance(member, str) and "\n" in member and re.search(r"^routes:", member, re.M):
                    check_settings(member, folder)
                elif key == "command" and isinstance(member, list) and str(member[0]).rsplit("/", 1)[-1] == "recast":
                    commands.append(["recast", *map(str, member[1:])])
                else:
                    visit(member)
        elif isinstance(value, list):
            for one in value:
                visit(one)

    documents = read_yaml(text)
    if not any(isinstance(document, (dict, list)) for document in documents):
        raise Unfit("neither a mapping nor a list")
    visit(documents)
    return commands


@functools.cache
def setting_paths():
    """All settings by their paths, and by each end of one: `limits.body` and `body`, as a table about `limits` has it."""
    paths = set()

    def visit(value, path):
        for start in range(len(path)):
            paths.add(".".join(path[start:]))
        if isinstance(value, dict):
            for key, member in value.items():
                visit(member, [*path, "on" if key == "true" else key])  # what YAML 1.1 makes of the key `on`

    whole = known_keys()[3]
    visit({**whole, "routes": whole["routes"][0], "upstreams": {"NAME": whole["upstreams"]["app"]}}, [])
    return paths
