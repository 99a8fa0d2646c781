"""TLS for tests: the certificates that Tests/Certificates/make makes, and a client and an upstream that use them."""

import atexit
import functools
import os
import shutil
import socket
import ssl
import subprocess
import tempfile

from harness import DEADLINE, ROOT, Client, Reader, Upstream


class Certificates:
    """What Tests/Certificates/make says, in a folder of this run."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="recast-certificates-")
        subprocess.run([os.path.join(ROOT, "Tests", "Certificates", "make"), self.folder], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def pair(self, name):
        """The paths of a certificate and its key."""
        return self.path(name + ".pem"), self.path(name + ".key")

    def client_context(self, certificate=None, **options):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if certificate:
            context.load_cert_chain(*self.pair(certificate))
        for name, value in options.items():
            setattr(context, name, value)
        return context

    def server_context(self, certificate="server", client_ca=None, version=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.pair(certificate))
        if client_ca:
            context.load_verify_locations(self.path(client_ca + ".pem"))
            context.verify_mode = ssl.CERT_REQUIRED
        if version:
            context.maximum_version = version
        return context

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def certificates():
    """Those of this process, made when the first test asks for them."""
    made = Certificates()
    atexit.register(made.remove)
    return made


def path(name):
    return certificates().path(name)


def pair(name):
    """A certificate and its key as settings name them."""
    return "certificate: %s, key: %s" % certificates().pair(name)


def pin(name):
    with open(path(name + ".pin")) as file:
        return "sha256/" + file.read().strip()


class TLSClient(Client):
    def __init__(self, port, context, name="a.example", receive_buffer=None):
        super().__init__(port, receive_buffer)
        self.socket = context.wrap_socket(self.socket, server_hostname=name)
        self.reader = Reader(self.socket)


class TLSUpstream(Upstream):
    """The scripted upstream behind TLS; the handshake runs in the connection's thread. As Python does, it closes without
    close_notify unless a script unwraps."""

    def __init__(self, context, receive_buffer=None):
        self.context = context
        self.sessions = []  # for each connection, whether it took up an earlier session
        super().__init__(receive_buffer)

    def _serve(self, connection):
        connection.settimeout(DEADLINE)
        # The tickets of the handshake are on their way: an answer that waited for their ACK would be lost to a reset.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            secured = self.context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            return
        self.sessions.append(secured.session_reused)
        super()._serve(secured)
