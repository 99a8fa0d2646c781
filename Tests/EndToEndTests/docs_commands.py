"""Commands of the documentation: run on the built binary, or looked at where a test can't run them."""

import functools
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from docs_settings import Unfit
from harness import DEADLINE, RECAST, ROOT, free_port, select_nothing
from pages import read_page
from real_servers import PATH

# What is run. The servers among the commands of Recast are started, the others are waited for.
RUN = {"recast", "curl", "echo", "printf", "cat", "head", "grep", "sed", "jq", "openssl", "base64", "mkdir", "mv"}
SERVERS = {"serve", "echo"}
# Servers of others that a page may start: they listen where an address in the command, or PORT before it, says.
OTHER_SERVERS = {"php", "puma", "python3", "node"}
# Addresses of pages stand for free ones of this machine; those of other machines are left alone.
LOCAL = re.compile(r"(?<![\w.])(127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]|\[::\]):(\d{2,5})(?!\d)")
SECONDS = 3 * DEADLINE


@functools.cache
def help_of(command):
    result = subprocess.run([RECAST, "help", *([command] if command else [])], capture_output=True, text=True, timeout=DEADLINE)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout


@functools.cache
def commands_of_recast():
    return set(re.findall(r"^  ([a-z]+)  ", help_of("").split("SUBCOMMANDS:")[1], re.M))


def look_at_recast(words):
    """The command exists, its options do, and there aren't more arguments than it takes."""
    rest = [word for word in words[1:] if not re.fullmatch(r"…|\.\.\.", word)]
    if not rest or rest[0] in ("--version", "--help", "-h"):
        return
    command, arguments = rest[0], rest[1:]
    if command == "help":
        arguments, command = [], arguments[0] if arguments else "COMMAND"
        if command == "COMMAND":
            return
    if command not in commands_of_recast():
        raise Unfit(f"recast has no command {command}")
    text = help_of(command)
    usage = re.search(r"USAGE: (.*?)\n\n", text, re.S)[1]
    taken, most, skip = 0, re.sub(r"\[-[^\]]*\]", "", usage).count("<"), False
    for word in arguments:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            option = re.search(rf"(?m)^  (?:-\w, )?{re.escape(name)}(?: (<[^>]+>))?(?:,|\s|$)", text)
            if not option:
                raise Unfit(f"recast {command} has no option {name}")
            skip = bool(option[1]) and not value
        else:
            taken += 1
    if taken > most:
        raise Unfit(f"recast {command} takes {most} arguments, not {taken}")


def look_at_make(words):
    makefile = read_page("Makefile")
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        if equals:
            if f"$({name})" not in makefile:
                raise Unfit(f"the Makefile knows no {name}")
        elif not name.startswith("-") and not re.search(rf"(?m)^{re.escape(name)}:", makefile):
            raise Unfit(f"make has no target {name}")


def look_at_script(words):
    path = os.path.join(ROOT, words[0])
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise Unfit(f"there is no program {words[0]}")
    texts = [read_page(words[0])]
    folder = path + ".d"
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".py"):
            texts.append(read_page(os.path.relpath(os.path.join(folder, name), ROOT)))
    for word in words[1:]:
        name = word.partition("=")[0]
        # What scripts/e2e doesn't know itself is unittest's.
        option = rf"(?<![\w-])(?:{re.escape(name)}|(?<=\"){re.escape(name.lstrip('-'))}(?=\"))(?![\w-])"
        if name.startswith("-") and not any(re.search(option, text) for text in texts):
            if words[0] != "scripts/e2e" or name not in ("-k", "-v", "-f"):
                raise Unfit(f"{words[0]} has no option {name}")


def look_at_docker(words):
    if "build" in words[1:2] and not {"-f", "--file"} & set(words):
        for before, word in zip(words, words[1:]):
            name = word.partition("=")[0]
            if before == "--build-arg" and not re.search(rf"(?m)^ARG {re.escape(name)}\b", read_page("Dockerfile")):
                raise Unfit(f"the Dockerfile has no ARG {name}")


def look_at_nothing(_):
    """Programs of others, which the suite can't check beyond the files they name."""


# What can't run in the suite: it takes minutes, root, another machine or a service that isn't here.
LOOKED_AT = {
    "make": look_at_make, "docker": look_at_docker, "podman": look_at_docker,
    **dict.fromkeys([
        # Packages and images, clusters and services, and what goes with releases.
        "apt-get", "apt", "dpkg", "lintian", "rpm", "dnf", "pip", "npm", "buildah", "kubectl", "helm", "kind", "systemctl", "journalctl",
        "systemd-creds", "logrotate", "git", "gh", "gpg", "cosign", "sha256sum", "tar", "swift",
        # Servers of others and their tools.
        "nginx", "envoy", "caddy", "ruby", "promtool", "amtool",
        # What changes the machine, or asks it for what a test's doesn't have.
        "sudo", "install", "cp", "ln", "rm", "adduser", "useradd", "chown", "chmod", "kill", "pidof", "ss", "sysctl", "ulimit", "getcap",
        "xargs", "sleep", "wait", "test", "date", "man", "less", "source", "awk", "tail"], look_at_nothing),
}


def words_of(text):
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;()<>")
    lexer.whitespace_split = True
    return list(lexer)


def simple_commands(text):
    """The words of each simple command of a line, those of $(…) too."""
    inner = []

    def set_aside(match):
        if match[1] is None:
            return match[0]  # in single quotes nothing is replaced
        inner.append(match[1])
        return "_"

    text = re.sub(r"'[^']*'|\$\(([^()]*)\)", set_aside, text)
    for one in inner:
        yield from simple_commands(one)
    try:
        words = words_of(text)
    except ValueError as error:
        raise Unfit(f"no shell: {error}: {text}") from None
    commands, redirects = [[]], False
    for word in words:
        if re.fullmatch(r"[|&;()]+", word):
            commands.append([])
        elif re.fullmatch(r"\d?[<>]+&?", word) or word == "<<<":
            redirects = True
        elif redirects:
            redirects = False
        elif commands[-1] or not re.fullmatch(r"[A-Za-z_]\w*=.*", word, re.S):
            if word != "$":
                commands[-1].append(word)
    yield from (words for words in commands if words)


def program_of(words):
    name = words[0]
    if name in ("sudo", "exec", "time", "env") and len(words) > 1:
        return program_of([word for word in words[1:] if not word.startswith("-") and "=" not in word] or [name])
    return name if name.startswith("scripts/") else name.rsplit("/", 1)[-1]


def is_known(program):
    return program in RUN or program in OTHER_SERVERS or program in LOOKED_AT or program.startswith("scripts/")


def look_at(words):
    """What can be said of a simple command without running it."""
    program = program_of(words)
    if program == "recast" or "recast" in words and program in ("sudo", "docker", "podman", "kubectl"):
        at = next(place for place, word in enumerate(words) if word.rsplit("/", 1)[-1] == "recast")
        if program == "recast" or len(words) > at + 1 and words[at + 1] in commands_of_recast():
            look_at_recast(words[at:])
    elif program.startswith("scripts/"):
        look_at_script(words[next(place for place, word in enumerate(words) if word == program):])
    elif program in LOOKED_AT:
        LOOKED_AT[program](words[next(place for place, word in enumerate(words) if word.rsplit("/", 1)[-1] == program):])
    for word in words:
        look_at_path(word)


def look_at_path(word):
    """A path that begins with a folder of the project leads to something; a star stands for anything."""
    folders = [name for name in os.listdir(ROOT) if os.path.isdir(os.path.join(ROOT, name)) and name != ".git"]
    if re.fullmatch(rf"(?:\./)?(?:{'|'.join(map(re.escape, folders))})/[\w./*+-]*", word):
        if word.startswith(".build") or word.startswith("bench/out"):
            return  # made by what the page tells of
        pattern = os.path.join(ROOT, word.removeprefix("./").rstrip("."))
        if not glob.glob(pattern) and not glob.glob(pattern + "*"):
            raise Unfit(f"there is no {word}")


def logical_lines(lines):
    """Lines of a shell block with what they go on with: a backslash, an open quote, a here-document."""
    pending, end = [], None
    for line in lines:
        pending.append(line)
        text = "\n".join(pending)
        if end is not None:
            if line.strip() == end:
                end = None
            else:
                continue
        elif here := re.search(r"<<-?\s*(['\"]?)(\w+)\1", line):
            end = here[2]
            continue
        if line.endswith("\\") or not is_closed(text):
            continue
        yield text
        pending = []
    if pending:
        raise Unfit(f"a command has no end: {pending[0]}")


def is_closed(text):
    try:
        words_of(re.sub(r"<<-?\s*(['\"]?)(\w+)\1.*?\n.*\n\s*\2$", "", text, flags=re.S))
        return True
    except ValueError:
        return False


def transcript(lines):
    """Commands with the output that is shown of each, None where none is: `$ ` begins a command where any line has it."""
    if not any(line.startswith("$ ") for line in lines):
        return [(text, None) for text in logical_lines(lines) if text.strip() and not text.lstrip().startswith("#")]
    found, place = [], 0
    if not lines[0].startswith("$ "):
        raise Unfit("output before the first command")
    while place < len(lines):
        command = [lines[place][2:]]
        place += 1
        while place < len(lines) and (command[-1].endswith("\\") or not is_whole(command)):
            command.append(lines[place].removeprefix("> "))
            place += 1
        output = []
        while place < len(lines) and not lines[place].startswith("$ "):
            output.append(lines[place])
            place += 1
        found.append(("\n".join(command), "\n".join(output) + "\n" if output else None))
    return found


def is_whole(lines):
    try:
        return len(list(logical_lines(lines))) == 1
    except Unfit:
        return False


def segments(text):
    """A line cut at `&&`, `;` and `&` that stand in no quotes and no parentheses, if it has no `||`."""
    parts, start, quote, depth, place = [], 0, "", 0, 0
    while place < len(text):
        letter = text[place]
        if quote:
            if letter == "\\" and quote == '"':
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == "\\":
            place += 1
        elif letter == "#" and (place == 0 or text[place - 1].isspace()):
            break
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        elif depth == 0 and text.startswith("||", place):
            return [text]
        elif depth == 0 and letter in "&;" and (place == 0 or text[place - 1] not in "<>"):
            parts.append(text[start:place])
            place += text.startswith("&&", place)
            start = place + 1
        place += 1
    parts.append(text[start:place])
    return [part.strip() for part in parts if part.strip()]


def matches(shown, printed):
    """Whether an output is the one that a page shows, which may leave things out: `…` a part of a line, `...` whole lines."""
    if not re.search(r"\w", re.sub(r"…|^\.\.\.$", "", shown, flags=re.M)):
        raise Unfit("an output that leaves everything out shows nothing")
    pattern = ""
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


class Session:
    """What somebody has who reads a page from its beginning: a folder as the project's, and the servers that it has started."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="recast-docs-")
        self.ports, self.servers, self.last = {}, [], None
        os.mkdir(os.path.join(self.folder, ".bin"))
        os.symlink(RECAST, os.path.join(self.folder, ".bin", "recast"))
        for name in os.listdir(ROOT):
            if not name.startswith(".") and name != "config":
                os.symlink(os.path.join(ROOT, name), os.path.join(self.folder, name))
        os.mkdir(os.path.join(self.folder, "config"))
        for name in os.listdir(os.path.join(ROOT, "config")):
            if name.endswith(".yaml"):
                self.write(f"config/{name}", read_page(f"config/{name}"))

    def close(self):
        for _, process in self.servers:
            self.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def end(process):
        """Nobody reads on: there is nothing to drain."""
        try:
            os.killpg(process.pid, signal.SIGKILL)  # with the shell that may stand before a server
        except ProcessLookupError:
            pass
        process.wait()

    def local(self, text):
        """A text of the page with the ports and socket paths that this session has for those of the page."""
        def port(match):
            number = self.ports.setdefault(match[2], None) or free_port()
            self.ports[match[2]] = number
            return f"{'127.0.0.1' if match[1] == '0.0.0.0' else match[1]}:{number}"

        text = LOCAL.sub(port, re.sub(r"\bPORT=(\d+)", lambda match: "PORT=" + port(["", "", match[1]]).lstrip(":"), text))
        return re.sub(r"(unix:|--unix-socket )/run/", lambda match: f"{match[1]}{self.folder}/", text)

    def shown(self, text):
        """An output as the page shows it."""
        for shown, number in self.ports.items():
            text = re.sub(rf"(?<=:){number}(?!\d)", shown, text)
        return text.replace(self.folder + "/", "")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(self.local(text))

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    @property
    def environment(self):
        """Debian's interpreters with Debian's packages, whatever else is in the path."""
        path = ":".join([os.path.join(self.folder, ".bin"), PATH, os.environ["PATH"]])
        return {**os.environ, "PATH": path, "NODE_PATH": "/usr/share/nodejs", "PYTHONDONTWRITEBYTECODE": "1"}

    def bash(self, command, fails):
        """Runs a command; curl tells of nothing but the answer, and fails for an error's status when `fails`."""
        more = "--fail-with-body" if fails else ""
        script = f'curl() {{ command curl -sS --max-time {DEADLINE} {more} "$@"; }}\nset -o pipefail\n{command}'
        result = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode, self.shown(result.stdout.decode(errors="replace").replace("\r\n", "\n"))

    def serve(self, words, variables=None):
        """`recast serve FILE` or `recast echo`, in the background."""
        if words[0] == "echo":
            addresses = [self.local(words[1] if len(words) > 1 else "127.0.0.1:3000")]
            words = ["echo", addresses[0]]
        else:
            words = [*words, "config/recast.yaml"][:2]
            result = subprocess.run([RECAST, "routes", words[1]], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE,
                                    env={**self.environment, **(variables or {})})
            if result.returncode != 0:
                raise Unfit(result.stderr)
            addresses = re.findall(r"(?m)^ *(?:listen|admin|status)(?:\[\d+\])?(?:\.address)? +(\S*[:/]\S+)", result.stdout)
        self.start([RECAST, *words], addresses, variables)

    def start_other(self, command):
        """A server of somebody else."""
        command = self.local(command)
        ports = [match[2] for match in LOCAL.finditer(command)] + re.findall(r"\bPORT=(\d+)", command)
        self.start(["bash", "-c", command], [f"127.0.0.1:{port}" for port in ports])

    def start(self, words, addresses, variables=None):
        """Runs a server; what has one of its addresses before ends."""
        for held, process in self.servers:
            if set(held) & set(addresses):
                self.end(process)
        with open(os.path.join(self.folder, ".said"), "ab") as said:
            process = subprocess.Popen(words, cwd=self.folder, env={**self.environment, **(variables or {})}, stdin=subprocess.DEVNULL, stdout=said,
                                       stderr=said, start_new_session=True)
        self.servers.append((addresses, process))
        if not addresses:
            raise Unfit(f"no address to wait for: {words}")
        for address in addresses:
            self.wait_for(address, process)

    def wait_for(self, address, process):
        deadline = time.monotonic() + SECONDS  # interpreters on a busy machine
        while True:
            try:
                if address.startswith("unix:"):
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(address.removeprefix("unix:"))
                else:
                    host, _, port = address.rpartition(":")
                    socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
                return
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    with open(os.path.join(self.folder, ".said")) as said:
                        raise Unfit(f"nobody listens on {address}: {said.read()[-2000:]}") from None
                select_nothing()

    def run(self, command, expected=None, status=0):
        """Runs a line of a block, or looks at it; returns how many simple commands there were."""
        commands = list(simple_commands(command.split("\n")[0] if "<<" in command else command))
        for words in commands:
            if not is_known(program_of(words)):
                raise Unfit(f"what is {program_of(words)}? Name it in docs_commands.py")
        if not all(program_of(words) in RUN | OTHER_SERVERS for words in commands):
            for words in commands:
                look_at(words)
            if expected:
                raise Unfit(f"an output is shown of what isn't run: {command}")
            return len(commands)
        printed, code = "", 0
        for part in segments(command):
            words = next(simple_commands(part))
            if words[0] == "recast" and words[1:2] and words[1] in SERVERS and "|" not in part:
                look_at_recast(words)
                # What stands before a command is set for it, as in NAME=value recast serve FILE.
                before = words_of(part)[:words_of(part).index("recast")]
                self.serve(words[1:], dict(word.split("=", 1) for word in before))
            elif program_of(words) in OTHER_SERVERS:
                if expected:
                    raise Unfit(f"the output of a server isn't compared: {command}")
                self.start_other(part)
            else:
                code, more = self.bash(self.local(part), fails=expected is None)
                printed += more
                if code != 0:
                    break
                if words[:2] == ["recast", "init"] and len(words) == 3:
                    self.write(f"{words[2]}.yaml", self.read(f"{words[2]}.yaml"))
        self.last = printed
        if code != status:
            raise Unfit(f"{command}\nends with {code}, not {status}:\n{printed}")
        if expected and not matches(expected, printed):
            raise Unfit(f"{command}\nprints\n{printed}\nand not\n{expected}")
        return len(commands)
