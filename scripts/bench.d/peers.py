"""The proxies that are measured, each with its configuration beside this file."""

import os
import shutil
import subprocess

from processes import BenchError, Server, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
CONNECTIONS = 12000


def render(template, values):
    """Fills the template in and writes it into the run's folder."""
    with open(os.path.join(HERE, template)) as file:
        text = file.read()
    for name, value in values.items():
        text = text.replace(f"@{name.upper()}@", str(value))
    path = os.path.join(values["folder"], template)
    with open(path, "w") as file:
        file.write(text)
    return path


def make_certificate(folder):
    """A key on P-256 and a certificate for it, in one file that all peers read."""
    path = os.path.join(folder, "server.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt"],
        check=True, stdin=subprocess.DEVNULL, capture_output=True)
    with open(path, "w") as file:
        for part in (".crt", ".key"):
            with open(path + part) as text:
                file.write(text.read())


def binary(name, hint):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not path:
        raise BenchError(f"there is no {name}; {hint}")
    return path


class Peer:
    """A way to start one proxy. `name` is its word on the command line."""

    def __init__(self, name, version_arguments):
        self.name, self.version_arguments = name, version_arguments

    def command(self, values):
        raise NotImplementedError

    def program(self):
        return binary(self.name, "run: scripts/dependencies bench")

    def start(self, folder, upstream, core, files):
        port, secure_port = free_port(), free_port()
        command = self.command({
            "listen": port, "secure": secure_port, "upstream": upstream, "connections": CONNECTIONS, "files": files,
            "folder": folder})
        server = Server(self.name, command, port, core, os.path.join(folder, f"{self.name}.log"))
        server.secure_port = secure_port
        return server

    def version(self):
        if not self.version_arguments:
            return "this checkout"
        result = subprocess.run([self.program(), *self.version_arguments], capture_output=True, text=True)
        return (result.stdout + result.stderr).splitlines()[0]


class NGINX(Peer):
    def __init__(self):
        super().__init__("nginx", ["-v"])

    def command(self, values):
        path = render("nginx.conf", values)
        # As root, nginx gives its worker to another user, who may not enter the folder of the temporary files.
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        return [self.program(), "-p", values["folder"], "-e", "stderr", "-c", path, *user]


class HAProxy(Peer):
    def __init__(self):
        super().__init__("haproxy", ["-v"])

    def command(self, values):
        return [self.program(), "-db", "-f", render("haproxy.cfg", values)]


class Recast(Peer):
    def __init__(self, path):
        super().__init__("recast", None)
        self.path = path

    def program(self):
        if not os.access(self.path, os.X_OK):
            raise BenchError(f"there is no {self.path}; run: make build, or choose --peers nginx,haproxy")
        return self.path

    def command(self, values):
        return [self.program(), "serve", render("recast.yaml", values)]
