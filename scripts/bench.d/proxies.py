"""The proxies that are measured, each with its configuration in peers/."""

import glob
import os
import re
import shlex
import shutil
import subprocess

from processes import BenchError, Server, free_port, server_environment

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(ROOT, ".build_bench")  # where scripts/dependencies puts what Debian has no package for
TEST_TOOLS = os.path.join(ROOT, ".build_test")  # where the tests have put theirs
CONNECTIONS = 12000
INSTALL = "run: scripts/dependencies bench"


class Missing(BenchError):
    """A peer that isn't installed here: it is named, and the others run."""


def make_certificate(folder):
    """A key on P-256 and a certificate for it, in one file that all peers read."""
    path = os.path.join(folder, "server.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt"],
        check=True, stdin=subprocess.DEVNULL, capture_output=True, env=server_environment({}))
    with open(path, "w") as file:
        for part in (".crt", ".key"):
            with open(path + part) as text:
                file.write(text.read())


def find_program(name, *others):
    """The program of that name in the path, where Debian puts servers, or one of `others`."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    for other in others:
        path = path or (other if os.access(other, os.X_OK) else None)
    if not path:
        raise Missing(f"there is no {name}; {INSTALL}")
    return path


class Peer:
    """A way to start one proxy. `name` is its word on the command line, `files` are its configuration: the first is what it is
    started with, and all are filled in and written into the run's folder."""

    name = ""
    files = ()
    version_arguments = ("-v",)
    environment = {}

    def program(self):
        return find_program(self.name)

    def command(self, path, folder):
        raise NotImplementedError

    def values(self):
        """What else the configuration has between @."""
        return {}

    def asks(self):
        """The program that it asks about each request."""
        return None

    def prepare(self, folder, upstream, files):
        """Writes the configuration; what is returned starts the proxy with it."""
        port, secure_port = free_port(), free_port()
        values = {"listen": port, "secure": secure_port, "upstream": upstream, "connections": CONNECTIONS, "files": files,
                  "folder": folder, **self.values()}
        for name in self.files:
            with open(os.path.join(HERE, "peers", name)) as file:
                text = file.read()
            for key, value in values.items():
                text = text.replace(f"@{key.upper()}@", str(value))
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        command = self.command(os.path.join(folder, self.files[0]), folder)
        environment = {key: value.replace("@FOLDER@", folder) for key, value in self.environment.items()}

        def launch(cores, waits=True):
            server = Server(self.name, command, port, cores, os.path.join(folder, f"{self.name}-{port}.log"),
                            asks=self.asks(), environment=environment, waits=waits)
            server.secure_port = secure_port
            return server

        return launch

    def version(self):
        result = subprocess.run([self.program(), *self.version_arguments], capture_output=True, text=True)
        line = next((line for line in (result.stdout + result.stderr).splitlines() if line.strip()), "unknown")
        return line.removeprefix("nginx version: ").split(" - ")[0].strip()


class Recast(Peer):
    name, files = "recast", ("recast.yaml",)

    def __init__(self, path):
        self.path = path

    def program(self):
        if not os.access(self.path, os.X_OK):
            raise BenchError(f"there is no {self.path}; run: make build")
        return self.path

    def command(self, path, folder):
        return [self.program(), "serve", path]

    def version(self):
        return "this checkout"


class RecastText(Recast):
    """Recast with a configuration that is made here; `routes` is the text below `routes:`."""

    files = ("recast-routes.yaml",)

    def __init__(self, path, routes, workers=1):
        super().__init__(path)
        self.routes, self.workers = routes, workers

    def values(self):
        return {"routes": self.routes, "workers": self.workers}


class NGINX(Peer):
    name, files = "nginx", ("nginx.conf",)

    def command(self, path, folder):
        # As root, nginx gives its worker to another user, who may not enter the folder of the temporary files.
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        return [self.program(), "-p", folder, "-e", "stderr", "-c", path, *user]

    def program(self):
        return find_program("nginx")


class NGINXModule(NGINX):
    """nginx with modules, from the folder that it was built to look in."""

    modules = ()

    def values(self):
        return {"modules": self.folder()}

    def folder(self):
        built = subprocess.run([super().program(), "-V"], capture_output=True, text=True).stderr
        found = re.search(r"--modules-path=(\S+)", built)
        return found.group(1) if found else "modules"

    def program(self):
        program = super().program()
        for module in self.modules:
            if not os.path.exists(os.path.join(self.folder(), module)):
                raise Missing(f"nginx has no {module}; {INSTALL}")
        return program


class NGINXLua(NGINXModule):
    name, files = "nginx-lua", ("nginx-lua.conf", "nginx-form-json.lua")
    modules = ("ndk_http_module.so", "ngx_http_lua_module.so")


class NGINXScript(NGINXModule):
    name, files = "nginx-njs", ("nginx-njs.conf", "nginx-form-json.js")
    modules = ("ngx_http_js_module.so",)


class HAProxy(Peer):
    name, files = "haproxy", ("haproxy.cfg",)

    def command(self, path, folder):
        return [self.program(), "-db", "-f", path]


class Envoy(Peer):
    name, files = "envoy", ("envoy.yaml",)
    version_arguments = ("--version",)

    def program(self):
        # The package's own command is a script around the program, whose memory would count.
        return find_program("envoy", *(path for folder in (TOOLS, TEST_TOOLS) for path in glob.glob(
            os.path.join(folder, "lib/python3*/site-packages/envoy/_bin/envoy"))))

    def command(self, path, folder):
        return [self.program(), "-c", path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]


    def version(self):
        # PATH  version: REVISION/VERSION/...
        fields = super().version().split("version: ")[-1].split("/")
        return f"Envoy {fields[1] if len(fields) > 1 else fields[0]}"


class EnvoyLua(Envoy):
    name, files = "envoy-lua", ("envoy-lua.yaml", "envoy-form-json.lua")


class EnvoyRecast(Envoy):
    """Envoy with Recast as its external processor: both are measured as one, on one core."""

    name, files = "envoy-recast", ("envoy-recast.yaml", "recast-ext-proc.yaml")

    def __init__(self):
        self.recast = None  # the path, which the run sets

    def program(self):
        if not self.recast:
            raise Missing("there is no Recast to ask: add recast to --peers")
        return super().program()

    def values(self):
        return {"processor": free_port()}

    def asks(self):
        return self.recast

    def command(self, path, folder):
        # A parent that ends both, so that what is measured is its children.
        asked = shlex.join([self.recast, "serve", os.path.join(folder, self.files[1])])
        return ["sh", "-c", f"{asked} & first=$!; {shlex.join(super().command(path, folder))} & second=$!; "
                "trap 'kill $first $second; wait; exit' TERM; wait"]


class Caddy(Peer):
    name, files = "caddy", ("Caddyfile",)
    version_arguments = ("version",)
    environment = {"GOMAXPROCS": "1", "XDG_DATA_HOME": "@FOLDER@/caddy", "XDG_CONFIG_HOME": "@FOLDER@/caddy"}

    def program(self):
        return find_program("caddy", os.path.join(TOOLS, "bin", "caddy"))

    def version(self):
        return "Caddy " + super().version().split()[0]

    def command(self, path, folder):
        return [self.program(), "run", "--adapter", "caddyfile", "--config", path]


PEERS = {peer.name: peer for peer in (NGINX, NGINXLua, NGINXScript, HAProxy, Envoy, EnvoyLua, EnvoyRecast, Caddy)}
