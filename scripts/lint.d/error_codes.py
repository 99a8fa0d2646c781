#!/usr/bin/env python3
"""Compares docs/errors.md with the sources: every code that a client can get has a row there, with the status and the flag that the
sources give it, and every code of the page is one of the sources.

Codes are read from where they are made. What is made in a way that isn't known here is a complaint, and so are fewer codes than there
must be: a form that has changed would otherwise hide them.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

PAGE = Path("docs/errors.md")
STATUSES = {"malformed": "400", "limit": "413", "unsupported": "415", "unrepresentable": "422"}
FLAGS = {"malformed": "BD", "limit": "BL", "unsupported": "BT", "unrepresentable": "BC"}
KINDS = "|".join(STATUSES)

# Codes of the sources that no client of the proxy gets, each with the reason; a star stands for any rest.
NOT_ANSWERED = {
    # Of HTTP.
    "http_bad_status_line": "of a response: upstream_bad_response says it in its detail",
    "http_bad_status": "of a response: upstream_bad_response says it in its detail",
    "http_too_many_interim": "of a response: upstream_bad_response says it in its detail",
    "http_body_too_large": "is answered as limit_body, which names the route's limit",
    "http_body_cut": "a client that ends its side inside its body has left, and hears nothing",
    "http_length_exceeded": "of what is written: a mistake of ours, which stops the process",
    "http_length_short": "of what is written: a mistake of ours, which stops the process",
    "http_body_without_framing": "of what is written: a mistake of ours, which stops the process",
    # Of signatures.
    "challenge": "no refusal: the answer that a sender waits for, with 200",
    "signature_too_long": "is answered as limit_signed",
    # A pipeline answers for a file before the encoder sees it: files_rejected, files_unrepresentable.
    "form_file": "of an encoder that a program calls",
    "multipart_file": "of an encoder that a program calls",
    "plist_file": "of an encoder that a program calls",
    "text_file": "of an encoder that a program calls",
    "xml_file": "of an encoder that a program calls",
    # Of the library.
    "conversion_ended": "of a program that feeds bytes behind the end",
    "event_order": "of a program that sends events out of their order",
    "field_path": "of a path in settings, which `check` refuses",
    "json_root": "of a program's parameters",
    "multipart_media_type": "the Content-Type has chosen the decoder: unsupported_media_type",
    "plan_*": "of a plan that a program makes; settings are refused by `check`",
    "xml_ended": "of a program that feeds bytes behind the end",
    # Of the admin port.
    "limit_sample": "of a body that is tried on the console",
    "trial": "of a body that is tried on the console",
}
# Codes whose error is a body's in the sources, and which are answered in another way: status and flag.
ANSWERED_AS = {
    "limit_response": ("502", "RL"),  # Refusal.code keeps it where any other limit becomes upstream_body_limit
}
# What stands for a code where none is written out, by the file that may have it, and why nothing is missed.
INDIRECT = {
    ("Refusal.swift", "code"),  # the refusal's own
    ("FileGate.swift", "error.code"),  # of FileText.Fault, read below
    ("BodyCodings.swift", "error.code"),  # of CodingError, read below
    ("Value+Traversal.swift", "code"),  # value_number and value_set of a program's values, no body's
}
# Limits whose name is another function's: how many, by file. Each is of `limits`, and so one of those that are asked for below.
HANDED_ON = {"JSONDecoder+Faults.swift": 1, "PropertyListXMLElements.swift": 2, "PropertyListXMLReader.swift": 1}
# At least so many codes, or places that make some, must be found in each way.
LEAST = {"rows of tables": 160, "limits by name": 55, "errors where they occur": 38, "codes of HTTP": 54, "limits of conversions": 14,
         "refusals": 70, "faults of signatures": 11, "codes of codings": 3, "codes of files in texts": 5, "rows of the page": 300,
         "codes with a status in other pages": 80}


class Codes:
    """What was found: by code the statuses and the flags that it goes out with."""

    def __init__(self):
        self.statuses, self.flags = defaultdict(set), defaultdict(set)
        self.found, self.complaints = defaultdict(int), []

    def add(self, way, code, statuses, flags):
        self.found[way] += 1
        self.statuses[code] |= set(statuses)
        self.flags[code] |= set(flags)

    def add_kind(self, way, code, kind):
        status, flag = ANSWERED_AS.get(code, (STATUSES[kind], FLAGS[kind]))
        self.add(way, code, [status], [flag])

    def complain(self, text):
        self.complaints.append(text)


def without_comments(text):
    return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*', lambda found: found[1] or "", text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def braced(text, start):
    """From the brace behind `start` to the one that closes it."""
    at = begin = text.index("{", start)
    depth = 0
    for found in re.finditer(r'"(?:\\.|[^"\\\n])*"|[{}]', text[begin:]):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        at = begin + found.end()
        if depth == 0:
            return text[begin:at]
    raise ValueError("a brace isn't closed")


def arms(body):
    """The arms of the first `switch` of `body`, as patterns and what stands behind the colon; a switch inside of one is flattened."""
    found = re.search(r"^( *)switch [^\n]*\{$", body, re.MULTILINE)
    indent = found[1]
    for arm in re.split(rf"^{indent}(?=case |default:)", body[found.end():], flags=re.MULTILINE)[1:]:
        depth = 0
        for at, character in enumerate(arm):
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == ":" and depth == 0:
                break
        patterns = re.findall(r"\.(\w+)(?:\((?:\.(\w+))?(?:[^()]|\([^()]*\))*\))?", arm[:at])
        rest = arm[at + 1:]
        if re.match(r"\s*switch ", rest):
            for inner, behind in arms(rest):
                yield [(patterns[0][0], name) for name, _ in inner], behind
        else:
            yield patterns, rest


def table(text, name):
    """What a property's switch says for each pattern, the first that holds."""
    said = {}
    for patterns, behind in arms(braced(text, text.index(f"var {name}: "))):
        for pattern in patterns:
            said.setdefault(pattern, behind)
    return said


def said_for(said, pattern):
    return said.get(pattern) or said.get((pattern[0], ""))


def literals(text):
    return re.findall(r'"([a-z0-9_]+)"', text)


def read_conversions(path, text, codes):
    """Errors of bodies: rows of tables, limits by their names, and errors that are made where they occur."""
    named = 0
    for found in re.finditer(rf'(?:\.({KINDS})|\blimitFailure)\(\s*"(\w+)"\s*,\s*(of:)?', text):
        if found[3]:
            named += 1
            codes.add_kind("limits by name", f"limit_{found[2]}", "limit")
        else:
            codes.add_kind("rows of tables", found[2], found[1])
    # Nothing that is a limit escapes the form above, but where its name is handed on.
    limits = len(re.findall(r"\bof: [^,()]+(?:\([^()]*\))?[^,()]*,\s*what:", text))
    if limits != named + HANDED_ON.get(path.name, 0):
        codes.complain(f"{path}: {limits} limits are made, and the names of {named} can be read")
    # Each case of a format's table has a row with a code.
    for found in re.finditer(r"var row: ConversionError \{(?! get )", text):
        for patterns, behind in arms(braced(text, found.start())):
            if not re.match(rf'\s*\.(?:{KINDS})\(\s*"\w+"', behind) and not re.match(r"\s*\w+\.Fault\.\w+\.row\b", behind):
                codes.complain(f"{path}: the row of {patterns[0][0]} has no code that can be read")
    for found in re.finditer(rf"(?:\.({KINDS})|\bkind),\s*code:\s*([^,]+),", text):
        kind, value = found[1], found[2].strip()
        if re.fullmatch(r'"[a-z0-9_]+"', value) and kind:
            codes.add_kind("errors where they occur", value.strip('"'), kind)
        elif path.name == "ConversionError.swift":
            continue
        elif re.fullmatch(r'"[a-z]+_\\\(\w+\)"', value) and kind:
            codes.add_kind("errors where they occur", re.sub(r"\\\(\w+\)", "*", value.strip('"')), kind)
        elif (path.name, value) not in INDIRECT and path.name != "ConversionFault.swift":
            codes.complain(f"{path}:{line_of(text, found.start())}: no code can be read from {value}")
    # Nor an error.
    for found in re.finditer(r"\b(?:ConversionError|ConversionFault)\((?!\s*error\))", text):
        if not re.match(rf"\s*\.(?:{KINDS}),\s*code:", text[found.end():]):
            codes.complain(f"{path}:{line_of(text, found.start())}: an error is made in a form that isn't known")


def read_limits(codes):
    """Each limit of a conversion has a code of its own, by its name in the settings."""
    text = Path("Sources/Transcoding/Codecs/Events/Limits.swift").read_text(encoding="utf-8")
    for name in re.findall(r"^    public var (\w+)(?: =|: Int)", text, re.MULTILINE):
        codes.found["limits of conversions"] += 1
        if f"limit_{re.sub('([A-Z])', lambda found: '_' + found[1].lower(), name)}" not in codes.statuses:
            codes.complain(f"Limits.swift: where is the code of {name}?")


def read_wire(codes):
    text = without_comments(Path("Sources/HTTPWire/WireFault.swift").read_text(encoding="utf-8"))
    status, default = table(text, "status"), re.search(r"default: (\d+)", text)[1]
    for (name, _), behind in table(text, "texts").items():
        code = re.match(r'\s*\("(\w+)",', behind)
        if code:
            codes.add("codes of HTTP", code[1], [status.get((name, ""), default).strip()[:3]], ["BR"])
        else:
            codes.complain(f"WireFault.swift: the row of {name} has no code that can be read")


def read_refusals(codes):
    text = without_comments(Path("Sources/Gateway/Refusals/Refusal.swift").read_text(encoding="utf-8"))
    reasons = Path("Sources/Gateway/Refusals/EndReason.swift").read_text(encoding="utf-8")
    letters = dict(re.findall(r'case (\w+) = "([A-Z]{2})"', reasons))
    faults = signature_faults(codes)
    status, flag = table(text, "status"), table(text, "flag")
    for pattern, behind in table(text, "code").items():
        if pattern[0] in ("wire", "conversion"):  # what they have in them is read where it is made
            continue
        names = literals(behind)
        patterns = [(name, pattern) for name in names]
        if "\\(fault.rawValue)" in behind:
            patterns = [(f"signature_{value}", (pattern[0], name)) for name, value in faults.items()]
        if not patterns:
            codes.complain(f"Refusal.swift: the code of {'.'.join(pattern)} can't be read")
        for name, pattern in patterns:
            statuses = said_for(status, pattern)
            flags = said_for(flag, pattern)
            if not statuses or not flags:
                codes.complain(f"Refusal.swift: {name} has no status or no flag that can be read")
                continue
            numbers = re.findall(r"\b[1-5]\d\d\b", statuses) or ["on_failure"]
            codes.add("refusals", name, numbers, {letters[word] for word in re.findall(r"\.(\w+)", flags) if word in letters})


def signature_faults(codes):
    text = without_comments(Path("Sources/Signatures/SignatureFault.swift").read_text(encoding="utf-8"))
    body = braced(text, text.index("enum SignatureFault"))
    faults = {name: value or name for name, value in re.findall(r'^    case (\w+)(?: = "(\w+)")?$', body, re.MULTILINE)}
    codes.found["faults of signatures"] = len(faults)
    return faults


def read_codings(codes):
    text = without_comments(Path("Sources/ContentCoding/CodingError.swift").read_text(encoding="utf-8"))
    for code in literals(" ".join(table(text, "code").values())):
        codes.add_kind("codes of codings", code, "limit" if code.startswith("limit_") else "malformed")


def read_file_texts(codes):
    text = without_comments(Path("Sources/Transcoding/Conversion/FileText.swift").read_text(encoding="utf-8"))
    for made in re.findall(r"\bFault\(\s*code:(.*?),\s*reason:", text, re.DOTALL):
        for code in literals(made):
            codes.add_kind("codes of files in texts", code, "malformed")


def from_sources():
    codes = Codes()
    texts = {}
    for path in sorted(Path("Sources").rglob("*.swift")):
        texts[path] = without_comments(path.read_text(encoding="utf-8"))
        read_conversions(path, texts[path], codes)
    read_wire(codes)
    read_refusals(codes)
    read_codings(codes)
    read_file_texts(codes)
    read_limits(codes)
    # What begins as codes do and was found in none of these ways.
    begins = {code.split("_")[0] for code in codes.statuses if code.split("_")[0] in PREFIXES}
    if begins != PREFIXES:
        codes.complain(f"no code begins with {', '.join(sorted(PREFIXES - begins))}: scripts/lint.d/error_codes.py has that wrong")
    for path, text in texts.items():
        if path.parts[1] not in TARGETS or "Notes" in path.parts:
            continue
        for found in re.finditer(r'"([a-z]+)_[a-z0-9_]+"', text):
            code = found[0].strip('"')
            if found[1] in PREFIXES and code not in codes.statuses and code not in NO_CODES:
                codes.complain(f"{path}:{line_of(text, found.start())}: is {code} a code? It is made in a form that isn't known")
    return codes


# Where codes are made, and how those begin of which there are many.
TARGETS = {"HTTPWire", "ContentCoding", "Transcoding", "Signatures", "Images", "Gateway", "ExtProc"}
PREFIXES = {"http", "json", "xml", "plist", "multipart", "form", "field", "text", "raw", "document", "files", "file", "limit",
            "upstream", "signature", "spool", "charset", "coding", "image", "header", "ext"}
NO_CODES = {"json_parts", "file_types"}  # settings


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def rows_of_page(text):
    """The rows of the tables whose first column is `code`: line, codes, statuses, flags."""
    headings = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("|"):
            headings = None
        elif headings is None:
            headings = cells_of(line)
        elif headings[:3] == ["code", "status", "flag"] and not re.match(r"\|[-| :]+$", line):
            cells = cells_of(line)
            if len(cells) != len(headings):
                yield number, [], set(), set()
                continue
            statuses = set(re.findall(r"\b\d{3}\b", cells[1])) | ({"on_failure"} if "`on_failure`" in cells[1] else set())
            yield number, re.findall(r"`([^`]*)`", cells[0]), statuses, set(re.findall(r"`([A-Z]{2})`", cells[2]))


def compare(codes):
    text = PAGE.read_text(encoding="utf-8")
    hidden = set()
    for name in NOT_ANSWERED:
        if name not in codes.statuses:
            codes.complain(f"scripts/lint.d/error_codes.py says why nobody gets {name}, which is in no source")
        hidden |= {code for code in codes.statuses if code == name or name.endswith("*") and code.startswith(name[:-1])}
    expected = set(codes.statuses) - hidden
    seen = {}
    for number, names, statuses, flags in rows_of_page(text):
        codes.found["rows of the page"] += len(names)
        if not names:
            codes.complain(f"{PAGE}:{number}: a row without a code, or with other cells than its table has")
        for name in names:
            place = f"{PAGE}:{number}: {name}"
            if name in seen:
                codes.complain(f"{place} stands in line {seen[name]} already")
            seen[name] = number
            if name in hidden:
                codes.complain(f"{place} is none that a client gets, says scripts/lint.d/error_codes.py")
            elif name not in expected:
                codes.complain(f"{place} is in no source: misspelt, or gone")
            else:
                for what, has, should in (("status", statuses, codes.statuses[name]), ("flag", flags, codes.flags[name])):
                    if has != should:
                        codes.complain(f"{place}: the {what} is {', '.join(sorted(should))}, and not {', '.join(sorted(has)) or 'nothing'}")
    for name in sorted(expected - set(seen)):
        codes.complain(f"{PAGE} has no row for {name}, which the sources answer with")
    others = ""
    for path in sorted([*Path("docs").rglob("*.md"), Path("README.md"), Path("CHANGELOG.md")]):
        text = path.read_text(encoding="utf-8")
        others += text if path != PAGE else ""
        compare_mentions(path, text, codes)
    # What has an underscore in the page and is no code is a setting, or another word that a page explains.
    words = set(re.findall(WORD, others))
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").split("\n"), 1):
        for span in re.findall(r"`([^`]*)`", line):
            for word in re.findall(WORD, span):
                if word not in codes.statuses and word not in words:
                    codes.complain(f"{PAGE}:{number}: {word} is in no source, and no other page has it: misspelt, or gone")


# A word that could be a code.
WORD = r"\b[a-z]+(?:_[a-z0-9]+)+\b"


def compare_mentions(path, text, codes):
    """Codes that stand behind a status, as in 413 `limit_body`, or beside one in a table."""
    mentions = [(found.start(), found[1], [found[2]]) for found in re.finditer(rf"\b([1-5]\d\d):? `({WORD})`", text)]
    mentions += [(found.start(), found[1], re.findall(WORD, found[2]))
                 for found in re.finditer(rf"\| ([1-5]\d\d) \| (`{WORD}`(?:, `{WORD}`)*) \|", text)]
    for at, status, names in mentions:
        for name in names:
            codes.found["codes with a status in other pages"] += 1
            place = f"{path}:{line_of(text, at)}: {name}"
            if name not in codes.statuses:
                codes.complain(f"{place} is in no source: misspelt, or gone")
            elif status not in codes.statuses[name] and not ("on_failure" in codes.statuses[name] and status in ON_FAILURE):
                codes.complain(f"{place} has the status {', '.join(sorted(codes.statuses[name]))}, and not {status}")


# What `on_failure` may say.
ON_FAILURE = {"400", "401", "403"}


def main():
    codes = from_sources()
    compare(codes)
    for way, least in LEAST.items():
        if codes.found[way] < least:
            codes.complain(f"only {codes.found[way]} {way} were found, of at least {least}: scripts/lint.d/error_codes.py sees too little")
    for text in codes.complaints:
        print(f"lint: {text}", file=sys.stderr)
    if "--list" in sys.argv:
        for name in sorted(codes.statuses):
            print(name, ",".join(sorted(codes.statuses[name])), ",".join(sorted(codes.flags[name])))
        print(dict(codes.found))
    return 1 if codes.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
