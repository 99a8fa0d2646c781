"""What scripts/package-test does with the package, step by step. A step is a method whose first line says what it shows."""

import filecmp
import os
import re
import shutil

from containers import Failed, copy, in_root, run

SETTINGS = "/etc/recast/recast.yaml"
DROP_IN = "/etc/systemd/system/recast.service.d/"
# Bits of a process's sets of capabilities.
CAP_NET_BIND_SERVICE = 1 << 10

# What lintian may say, all of it below its warnings, and why.
EXPLAINED = {
    "hardening-no-fortify-functions": "the calls are those of the Swift runtime, which comes compiled with its toolchain",
    "spelling-error-in-binary": "it takes pieces of machine code and of tables for words",
    "package-supports-alternative-init-but-no-init.d-script": "who has another init than systemd starts `recast serve` by it",
}


def expect(condition, text):
    if not condition:
        raise Failed(text)


def expect_in(part, text, what=""):
    expect(part in text, f"{what}: '{part}' isn't in:\n{text}")


class Package:
    """The file itself, in two versions, of which the second has other settings."""

    def __init__(self, root, folder, binary):
        self.root, self.folder, self.binary = root, folder, binary
        self.steps = [self.same_bytes, self.second_version, self.lint, self.contents, self.shells]
        self.first = self.second = None

    def build(self, name, *options):
        binary = ["--binary", self.binary[0]] if self.binary else []
        said = run(os.path.join(self.root, "scripts", "deb"), *binary, *options, "--output", os.path.join(self.folder, name),
                   limit=3600, cwd=self.root)
        return said.strip().split("\n")[-1]

    def same_bytes(self):
        """Two builds of a commit are the same bytes."""
        self.first = self.build("first")
        again = self.build("again", "--version", run("dpkg-deb", "--field", self.first, "Version").strip())
        expect(filecmp.cmp(self.first, again, shallow=False), f"{self.first} and {again} differ")

    def second_version(self):
        """A later version of other settings can be made of it, and is later to dpkg."""
        version = run("dpkg-deb", "--field", self.first, "Version").strip()
        run("dpkg", "--compare-versions", version + ".1", "gt", version)
        tree = os.path.join(self.folder, "tree")
        run("dpkg-deb", "--raw-extract", self.first, tree)
        with open(tree + "/DEBIAN/control") as file:
            control = file.read()
        with open(tree + "/DEBIAN/control", "w") as file:
            file.write(control.replace(f"\nVersion: {version}\n", f"\nVersion: {version}.1\n"))
        with open(tree + SETTINGS, "a") as file:
            file.write("# of the second version\n")
        self.second = os.path.join(self.folder, "second.deb")
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, self.second)

    def lint(self):
        """lintian has no complaint beyond those that are explained."""
        said = run("lintian", "--allow-root", "--no-cfg", "--display-info", "--suppress-tags", ",".join(EXPLAINED), self.first,
                   limit=600, status=(0, 2), env={**os.environ, "TMPDIR": self.folder})
        expect(not said.strip(), f"lintian: {said}")

    def contents(self):
        """The libraries that it needs, its settings and the licences of what is linked in are named."""
        tree = os.path.join(self.folder, "contents")
        run("dpkg-deb", "--raw-extract", self.first, tree)
        depends = run("dpkg-deb", "--field", self.first, "Depends")
        for library in ("libc6", "libevent-core-2.1-7", "libssl3", "libc-ares2", "libyaml-0-2", "libnghttp2-14", "zlib1g",
                        "libbrotli1", "libzstd1"):
            expect(re.search(rf"(^|, ){re.escape(library)}\b", depends), f"{library} isn't in: {depends}")
        # It is linked in, too.
        expect("libstdc++" not in depends, f"libstdc++ is in: {depends}")
        copyright_file = os.path.join(tree, "usr/share/doc/recast/copyright")
        with open(copyright_file) as file:
            text = file.read()
        # swift-http-types and swift-nio, which the library and the tests have, aren't linked in.
        parts = re.findall(r"^Files: (.*)$", text, re.M)
        expect(parts == ["*", "swift/*", "swift-argument-parser/*", "swift-log/*", "libstdc++/*"],
               f"{copyright_file} is of {parts}")
        expect_in("runtime library exception", text, copyright_file)
        with open(os.path.join(tree, "DEBIAN/conffiles")) as file:
            expect(file.read() == SETTINGS + "\n", "the settings aren't the only configuration file")

    def shells(self):
        """fish and zsh read their completions, and complete subcommands."""
        tree = os.path.join(self.folder, "contents")
        fish = run("fish", "--no-config", "-c", "source $argv[1]; complete --do-complete 'recast ch'",
                   os.path.join(tree, "usr/share/fish/vendor_completions.d/recast.fish"),
                   env={**os.environ, "HOME": self.folder})
        expect(re.match(r"check\b", fish), f"fish completes 'recast ch' by: {fish}")
        zsh = run("zsh", "-f", "-c", "fpath=($1 $fpath); autoload -Uz compinit; compinit -D -u; print -r -- $_comps[recast]; "
                  "autoload +X _recast; whence -w _recast", "zsh", os.path.join(tree, "usr/share/zsh/vendor-completions"))
        expect(zsh == "_recast\n_recast: function\n", f"zsh completes recast by: {zsh}")


class Bare:
    """A clean Debian without systemd: what the package depends on is enough."""

    def __init__(self, package, roots, container):
        self.package, self.roots, self.container = package, roots, container
        self.steps = [self.install, self.command, self.serve, self.purge]
        self.root = None

    def install(self):
        """apt installs it into a clean Debian with its dependencies alone."""
        self.root = os.path.join(self.package.folder, "bare")
        copy(self.roots.clean(), self.root)
        shutil.copy(self.package.first, self.root + "/srv/recast.deb")
        in_root(self.root, "apt-get", "install", "--yes", "--no-install-recommends", "/srv/recast.deb", limit=600)
        said = in_root(self.root, "dpkg", "--verify", "recast", network=False)
        expect(not said.strip(), f"dpkg --verify: {said}")

    def command(self):
        """The command runs, and finds its settings without a mistake."""
        expect_in("recast ", in_root(self.root, "recast", "--version", network=False))
        in_root(self.root, "recast", "check", SETTINGS, network=False)

    def serve(self):
        """It serves as a user of its own without any capability."""
        up = self.container(self.root, "setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", "--bounding-set=-all",
                            "--inh-caps=-all", "--no-new-privs", "recast", "serve", SETTINGS, until=" serving ")
        up.beside("curl", "--silent", "--fail", "http://127.0.0.1:9902/ready")
        up.start("recast", "echo", "127.0.0.1:3000")
        answer = up.beside("curl", "--silent", "--fail", "http://127.0.0.1:8080/a?b=1")
        expect_in('"target":"/a?b=1"', answer)
        with open(f"/proc/{up.leader}/status") as file:
            status = file.read()
        expect(re.search(r"^CapEff:\s0+$", status, re.M) and re.search(r"^Uid:\s64999\s", status, re.M), status)
        up.close()

    def purge(self):
        """A purge leaves nothing of it."""
        in_root(self.root, "apt-get", "purge", "--yes", "recast", network=False)
        os.remove(self.root + "/srv/recast.deb")
        expect_nothing_left(self.root)


def expect_nothing_left(root):
    """No file of a system has the program's name, but logs of apt and dpkg and the journal speak of it."""
    left = [os.path.join(folder, name) for folder, folders, files in os.walk(root) for name in folders + files
            if "recast" in name and not os.path.join(folder, name).startswith(root + "/var/cache/apt/")
            and not os.path.join(folder, name).startswith((root + "/proc", root + "/sys"))]
    expect(not left, f"a purge has left: {left}")


class Service:
    """A Debian that systemd has started, with a network of loopback alone."""

    def __init__(self, package, roots, container):
        self.package, self.roots, self.container = package, roots, container
        self.steps = [self.boot, self.install, self.confined, self.requests, self.exposure, self.everything, self.reload,
                      self.powerless, self.socket, self.upgrade, self.stays_disabled, self.remove, self.purge]
        self.root = self.up = None
        self.pid = None

    def boot(self):
        """systemd starts in a container, with the package and what it needs at hand."""
        self.root = os.path.join(self.package.folder, "service")
        copy(self.roots.with_systemd(), self.root)
        os.makedirs(self.root + "/srv/packages")
        shutil.copy(self.package.first, self.root + "/srv/packages/first.deb")
        shutil.copy(self.package.second, self.root + "/srv/packages/second.deb")
        in_root(self.root, "apt-get", "install", "--yes", "--download-only", "/srv/packages/first.deb", limit=600)
        self.up = self.container(self.root)
        expect_in("running", self.up.run("systemctl", "is-system-running", "--wait", status=(0, 1)))

    def show(self, name):
        return self.up.run("systemctl", "show", "--value", "--property", name, "recast.service").strip()

    def journal(self):
        return self.up.run("journalctl", "--no-pager", "--output=cat", "--unit=recast.service")

    def wait_for_line(self, part, command):
        """Reads what a command goes on printing until a line has `part`."""
        self.up.run("bash", "-c", f"grep --max-count=1 --fixed-strings '{part}' < <({command})")

    def ask(self, *arguments):
        return self.up.beside("curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "30", *arguments)

    def metric(self, line):
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.ask("http://127.0.0.1:9902/metrics"), re.M)
        return float(found[1]) if found else 0

    def install(self):
        """apt installs it, and the service is enabled and serves."""
        self.up.run("apt-get", "install", "--yes", "/srv/packages/first.deb")
        self.expect_serving()
        expect(self.up.run("systemctl", "is-enabled", "recast.service") == "enabled\n", "the service isn't enabled")

    def expect_serving(self):
        state = self.up.run("systemctl", "is-active", "recast.service", status=(0, 3))
        expect(state == "active\n", f"the service is {state}{self.journal()}")
        self.pid = self.show("MainPID")
        self.ask("http://127.0.0.1:9902/ready")

    def confined(self):
        """The process is a user of its own, has one capability and a filter of its system calls."""
        status = self.up.run("cat", f"/proc/{self.pid}/status")
        found = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.M))
        expect(found["Uid"].split()[0] != "0" and len(set(found["Uid"].split())) == 1, status)
        for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
            expect(int(found[name], 16) == CAP_NET_BIND_SERVICE, status)
        expect(found["Seccomp"] == "2" and found["NoNewPrivs"] == "1", status)
        expect(int(self.show("WatchdogTimestampMonotonic")) > 0, "systemd watches no watchdog")

    def requests(self):
        """Requests go to the upstream as the settings say."""
        self.up.start("recast", "echo", "127.0.0.1:3000")
        answer = self.ask("http://127.0.0.1:8080/a?b=1")
        expect_in('"target":"/a?b=1"', answer)
        self.wait_for_line('"path":"/a"', "journalctl --follow --no-tail --output=cat --unit=recast.service")

    def exposure(self):
        """systemd finds nothing wrong with the unit, and an exposure of 2.0 at most."""
        self.up.run("systemd-analyze", "verify", "--man=no", "recast.service")
        self.up.run("systemd-analyze", "security", "--threshold=20", "recast.service")

    def everything(self):
        """Port 443, keys from systemd, names, bodies on disk, a log and a socket work under all restrictions."""
        self.up.run("mkdir", "--parents", "/etc/recast/keys", DROP_IN)
        self.write("/etc/hosts", "127.0.0.1 localhost app.internal\n")
        key, certificate = self.root + "/etc/recast/keys/server.key", self.root + "/etc/recast/keys/server.pem"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost", "-days", "2", "-keyout", key, "-out", certificate)
        os.chmod(key, 0o600)
        with open(self.root + "/etc/recast/keys/api-key", "w") as file:
            file.write("a-secret\n")
        os.chmod(file.name, 0o600)
        self.write(DROP_IN + "keys.conf", self.shown("Keys and secrets"))
        self.write(SETTINGS, FULL)
        self.up.run("systemctl", "daemon-reload")
        self.up.run("systemctl", "restart", "recast.service", status=(0, 1))
        self.expect_serving()
        answer = self.ask("--cacert", certificate, "--data", "a[b]=1", "https://localhost/form")
        expect_in('"json":{"a":{"b":"1"}}', answer)
        expect_in("X-Key: a-secret", self.ask("http://127.0.0.1:8080/x"))
        body = os.path.join(self.package.folder, "body")
        with open(body, "wb") as file:
            file.truncate(3 << 20)
        answer = self.ask("--header", "Transfer-Encoding: chunked", "--data-binary", "@" + body, "http://127.0.0.1:8080/held")
        expect_in(f"Content-Length: {3 << 20}", answer)
        expect(self.metric('recast_transcode_framing_total{mode="spooled"}') == 1, self.ask("http://127.0.0.1:9902/metrics"))
        self.wait_for_line('"path":"/held"', "tail --follow --lines=+1 /var/log/recast/access.log")
        socket = self.root_of_process() + "/run/recast/admin.sock"
        expect_in('"version"', self.ask("--unix-socket", socket, "http://localhost/"))
        expect("EPERM" not in self.journal() and "not permitted" not in self.journal(), self.journal())

    def shown(self, heading):
        """The part of a unit that docs/operations.md shows under a heading."""
        with open(os.path.join(self.package.root, "docs", "operations.md")) as file:
            found = re.search(rf"^### {re.escape(heading)}\n(?:(?!^##).)*?^```ini\n(.*?)^```", file.read(), re.M | re.S)
        expect(found, f"docs/operations.md shows no unit under '{heading}'")
        return found[1]

    def powerless(self):
        """Without ports below 1024 it serves without its capability, as a user of its own namespace."""
        self.write(DROP_IN + "powerless.conf", self.shown("What the service may do"))
        self.write(SETTINGS, FULL.replace("127.0.0.1:443", "127.0.0.1:8443"))
        self.up.run("systemctl", "daemon-reload")
        self.up.run("systemctl", "restart", "recast.service", status=(0, 1))
        self.expect_serving()
        expect(re.search(r"^CapEff:\s0+$", self.up.run("cat", f"/proc/{self.pid}/status"), re.M), "it has a capability")
        expect_in('"target":"/x"', self.ask("--cacert", self.root + "/etc/recast/keys/server.pem", "https://localhost:8443/x"))
        os.remove(self.root + DROP_IN + "powerless.conf")
        self.write(SETTINGS, FULL)
        self.up.run("systemctl", "daemon-reload")
        self.up.run("systemctl", "restart", "recast.service", status=(0, 1))
        self.expect_serving()

    def root_of_process(self):
        return f"/proc/{self.up.leader}/root"

    def write(self, path, text):
        with open(self.root + path, "w") as file:
            file.write(text)

    def reload(self):
        """systemctl reload has it read its settings again, in the same process."""
        later = '  - { name: later, match: /later, upstream: app, headers: { request: { set: { X-Later: "1" } } } }\n'
        self.write(SETTINGS, FULL + later)
        before = self.metric('recast_config_reloads_total{result="success"}')
        self.up.run("systemctl", "reload", "recast.service")
        for _ in range(1000):  # each a request, so that no time is waited for
            if self.metric('recast_config_reloads_total{result="success"}') > before:
                break
        expect_in("X-Later: 1", self.ask("http://127.0.0.1:8080/later"))
        expect(self.show("MainPID") == self.pid, "a reload has made another process")

    def socket(self):
        """With the example's socket unit systemd listens, and starts a service that was stopped for who connects."""
        self.up.run("cp", "/usr/share/doc/recast/examples/recast.socket", "/etc/systemd/system/recast.socket")
        self.write(SETTINGS, FULL.replace("- 127.0.0.1:8080", "- systemd:web"))
        self.up.run("systemctl", "daemon-reload")
        self.up.run("systemctl", "stop", "recast.service")
        self.up.run("systemctl", "start", "recast.socket", "recast.service")
        self.expect_serving()
        before = self.pid
        expect_in('"target":"/x"', self.ask("http://127.0.0.1:8080/x"))
        self.up.run("systemctl", "stop", "recast.service")
        expect_in('"target":"/x"', self.ask("http://127.0.0.1:8080/x"))
        self.expect_serving()
        expect(self.pid != before, "the service wasn't stopped")
        self.write(SETTINGS, FULL)
        self.up.run("systemctl", "stop", "recast.service", "recast.socket")
        self.up.run("rm", "/etc/systemd/system/recast.socket")
        self.up.run("systemctl", "daemon-reload")
        self.up.run("systemctl", "start", "recast.service")
        self.expect_serving()

    def upgrade(self):
        """An upgrade keeps edited settings, and the new version serves."""
        before = self.pid
        self.up.run("apt-get", "install", "--yes", "--option", "Dpkg::Options::=--force-confold",
                    "/srv/packages/second.deb")
        expect_in(run("dpkg-deb", "--field", self.package.second, "Version").strip(),
                  self.up.run("dpkg-query", "--show", "--showformat=${Version}", "recast"))
        with open(self.root + SETTINGS) as file:
            expect(file.read() == FULL, "the upgrade has changed edited settings")
        expect(os.path.exists(self.root + SETTINGS + ".dpkg-dist"), "the new version's settings aren't beside the edited ones")
        self.expect_serving()
        expect(self.pid != before, "the old version still serves")
        expect_in('"target":"/x"', self.ask("http://127.0.0.1:8080/x"))

    def stays_disabled(self):
        """A service that was disabled and stopped stays so when the package is installed again."""
        self.up.run("systemctl", "disable", "--now", "recast.service")
        self.up.run("apt-get", "install", "--yes", "--reinstall", "--option", "Dpkg::Options::=--force-confold",
                    "/srv/packages/second.deb")
        expect(self.up.run("systemctl", "is-enabled", "recast.service", status=(1,)) == "disabled\n", "it is enabled again")
        expect(self.up.run("systemctl", "is-active", "recast.service", status=(3,)) == "inactive\n", "it is started again")
        self.up.run("systemctl", "enable", "--now", "recast.service")
        self.expect_serving()

    def remove(self):
        """A removal ends the service and keeps its settings."""
        self.up.run("apt-get", "remove", "--yes", "recast")
        expect(not os.path.exists(f"{self.root_of_process()}/proc/{self.pid}"), "the process is still there")
        expect(not os.path.exists(self.root + "/usr/bin/recast"), "the program is still there")
        with open(self.root + SETTINGS) as file:
            expect(file.read() == FULL, "the removal has changed the settings")

    def purge(self):
        """A purge takes what the service has written."""
        expect(os.path.exists(self.root + "/var/log/private/recast/access.log"), "there is no log that could be purged")
        self.up.run("apt-get", "purge", "--yes", "recast")
        self.up.run("rm", "-r", DROP_IN, "/etc/recast/keys", "/srv/packages")
        self.up.run("rmdir", "--ignore-fail-on-non-empty", "/etc/recast", status=(0, 1))
        self.up.close()
        expect_nothing_left(self.root)


FULL = """\
version: 1
listen:
  - 127.0.0.1:8080
  - address: 127.0.0.1:443
    tls: { certificate: "${env:CREDENTIALS_DIRECTORY}/server.pem", key: "${env:CREDENTIALS_DIRECTORY}/server.key" }
status: 127.0.0.1:9902
admin: "unix:/run/recast/admin.sock"
access_log: { to: /var/log/recast/access.log, format: json }
workers: auto
upstreams:
  app: app.internal:3000
  held: { address: 127.0.0.1:3000, framing: length, spool: { memory: 64KiB } }
routes:
  - { name: form, match: { method: POST, path: /form }, upstream: app, request: form -> json }
  - { name: held, match: /held, upstream: held }
  - name: key
    match: /x
    upstream: app
    headers: { request: { set: { X-Key: "${file:/run/credentials/recast.service/api-key}" } } }
"""
