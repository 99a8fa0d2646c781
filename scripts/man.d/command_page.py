"""recast(1): from what the program says of itself, and from docs/operations.md."""

import re

import markdown
from roff import Page, escape

# What a part of docs/operations.md is called here; the other parts are for whoever runs containers or reads the page there.
OPERATIONS = {
    "Signals": "Signals",
    "Checking settings": "Checking settings",
    "New settings without a restart": "New settings without a restart",
    "The end": "The end",
    "Restart without a gap": "Restart without a gap",
    "systemd": "systemd",
    "When a worker hangs": "When a worker hangs",
}

ENVIRONMENT = [
    ("RECAST_TOKEN", "The token of a running proxy's console, for `recast learn --admin`; arguments stand in the list of processes."),
    ("TMPDIR", "Where bodies are held on disk, for upstreams that name no folder of their own; `/tmp` without it."),
    ("NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
     "Where and how often a service manager wants to hear that the process is ready and alive: `sd_notify(3)`."),
    ("LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES",
     "Sockets that a service manager has opened: `sd_listen_fds(3)`. They are used where `listen` names their address, or "
     "`systemd:NAME`."),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "The authorities that upstreams' certificates are checked against, instead of the system's."),
    ("OPENSSL_CONF", "OpenSSL's configuration, instead of the system's."),
]

FILES = [
    ("/etc/recast/recast.yaml", "The settings that the service reads: `recast.yaml(5)`."),
    ("config/recast.yaml", "The settings that are read where none are named: those of a checkout of the sources."),
    ("/etc/resolv.conf, /etc/hosts", "How names of upstreams are looked up."),
    ("/etc/ssl/certs", "The authorities that upstreams' certificates are checked against."),
]

EXAMPLES = [
    ("Convert a body:", ["echo -n 'a[b]=1&c=2' | recast convert 'form -> json'"]),
    ("Look for mistakes, then serve:", ["recast check /etc/recast/recast.yaml && recast serve /etc/recast/recast.yaml"]),
    ("Ask whether a proxy on this machine takes requests:", ["recast probe 127.0.0.1:9902 /ready"]),
]


class Missing(Exception):
    """What the page should tell isn't in the program, or in the pages."""


def command_page(help, operations, date, source):
    """The page's text. `help` is the program's own account of its commands, `operations` the text of docs/operations.md."""
    command = help["command"]
    page = Page(command["commandName"], 1, date, source, "User commands", link=link)
    page.section("Name")
    page.flow(f"{escape(command['commandName'])} \\- {escape(sentence(command['abstract']))}")
    page.section("Synopsis")
    shown = [sub for sub in command["subcommands"] if sub["shouldDisplay"]]
    for index, sub in enumerate(shown):
        if index:
            page.lines.append(".br")
        page.flow(synopsis(command["commandName"], sub))
    for option in own_options(command):
        page.lines.append(".br")
        page.flow(f"\\fB{command['commandName']}\\fR {usage(option, required=True)}")

    page.section("Description")
    page.flow(page.markup("Recast is an HTTP/1.1 forwarding proxy that re-encodes bodies. A client posts one encoding, the "
                          "upstream expects another; Recast runs beside the upstream and translates, route by route, requests and "
                          "responses. Its settings are those of `recast.yaml(5)`."))
    page.section("Commands")
    for sub in shown:
        page.lines.append(f".SS {escape(sub['commandName'])}")
        page.flow(synopsis(command["commandName"], sub))
        page.paragraph(protected(sub["abstract"]))
        if sub.get("discussion"):
            page.paragraph(protected(sub["discussion"]))
        for argument in own_options(sub, besides=command):
            page.tagged(usage(argument, required=True), page.markup(protected(explained(argument))))
    page.section("Options")
    page.flow("All commands take these:")
    for option in own_options(command):
        page.tagged(usage(option, required=True), page.markup(protected(explained(option))))

    page.section("Exit status")
    for code, meaning in exit_codes(command):
        page.tagged(f"\\fB{code}\\fR", escape(meaning))
    for title, blocks in chapters(operations):
        page.section(title)
        page.blocks(blocks, top=3)
    page.section("Environment")
    for name, meaning in ENVIRONMENT:
        page.tagged(f"\\fB{escape(name, code=True)}\\fR", page.markup(meaning))
    page.paragraph("The settings may name others, by `${env:NAME}`.")
    page.section("Files")
    for name, meaning in FILES:
        page.tagged(f"\\fI{escape(name, code=True)}\\fR", page.markup(meaning))
    page.section("Examples")
    for title, lines in EXAMPLES:
        page.paragraph(title)
        page.code(lines)
    page.section("See also")
    page.flow("\\fBrecast.yaml\\fR(5), \\fBsystemd.service\\fR(5), \\fBsystemd.socket\\fR(5), \\fBcurl\\fR(1)")
    return page.text()


def link(text, target):
    """A page that isn't here stands by its name."""
    return text


def chapters(operations):
    """The parts of docs/operations.md that belong here, in their order."""
    parts, title = {}, None
    for block in markdown.blocks(operations, "docs/operations.md"):
        if isinstance(block, markdown.Heading) and block.level == 2:
            title = markdown.plain(block.text)
            parts[title] = []
        elif title:
            parts[title].append(block)
    for name, here in OPERATIONS.items():
        if not parts.get(name):
            raise Missing(f"docs/operations.md has no part '{name}'")
        yield here, parts[name]


def exit_codes(command):
    """What the program says of its exit codes: `Exit codes: 0 done, 64 wrong usage, …`."""
    text = re.search(r"Exit codes: (.*)", command.get("discussion", ""), re.S)
    codes = re.findall(r"(\d+) ([^,]+?)(?=, \d|\.?\s*$)", text[1]) if text else []
    if not codes:
        raise Missing("the program says nothing of its exit codes")
    return codes


def own_options(command, besides=None):
    """The arguments that a command shows, without those that every command has."""
    common = [option.get("names") for option in besides["arguments"]] if besides else []
    return [option for option in command["arguments"]
            if option["shouldDisplay"] and not (option.get("names") and option["names"] in common)]


def names(argument):
    """How an option is written: the short way first, as `-h`, `--help`."""
    dashes = {"short": "-", "long": "--", "longWithSingleDash": "-"}
    return [dashes[name["kind"]] + name["name"] for name in argument.get("names", [])]


def usage(argument, required=False):
    """An argument in roff: as it must be written, what is to be replaced in italics."""
    value = f"\\fI{escape(argument['valueName'], code=True)}\\fR"
    if argument["kind"] == "positional":
        text = value
    else:
        written = names(argument)
        if not required:
            written = [next((name for name in written if name.startswith("--")), written[0])]
        text = ", ".join(f"\\fB{escape(name, code=True)}\\fR" for name in written)
        if argument["kind"] == "option":
            text += f" {value}"
    if argument.get("isRepeating") and not required:
        text += " \\&..."
    return text if required or not argument["isOptional"] else f"[{text}]"


def synopsis(program, sub):
    common = ("version", "help")
    parts = [usage(argument) for argument in own_options(sub)
             if not any(name["name"] in common for name in argument.get("names", []))]
    return " ".join([f"\\fB{program} {escape(sub['commandName'], code=True)}\\fR", *parts])


def explained(argument):
    text = argument.get("abstract", "The commands to tell of." if argument["valueName"] == "subcommands" else "")
    if not text:
        raise Missing(f"the program doesn't say what '{argument['valueName']}' is")
    if argument.get("defaultValue") and argument["kind"] != "flag":
        text += f" Without it: {argument['defaultValue']}."
    return text


def protected(text):
    """Text of the program, which is no Markdown: its marks are text."""
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text)


def sentence(text):
    """A line for `whatis`: no capital, no full stop."""
    return (text[0].lower() + text[1:]).rstrip(".")
