"""A raw HTTP/1.1 client: what it sends is up to the test, what it reads is read strictly."""

import json
import os
import socket
import struct
import threading
import time

# Seconds. A hang is what it finds, and that alone: a debug build on a machine that is busy and slow takes its time.
DEADLINE = int(os.environ.get("E2E_DEADLINE", "60"))


class Fields(list):
    """Header fields in order, looked up by name without regard to case."""

    def all(self, name):
        return [value for key, value in self if key.lower() == name.lower()]

    def get(self, name, otherwise=None):
        found = self.all(name)
        return found[0] if found else otherwise

    def __contains__(self, name):
        return bool(self.all(name))


class Closed(Exception):
    """The other side closed, or reset, before the message was complete."""


class Reader:
    """Reads messages from a socket, with the framing rules written down once more and plainly."""

    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""
        self.received = 0

    def _more(self):
        try:
            data = self.connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise Closed(f"closed after {self.received} bytes, with {self.buffer[:200]!r} unread")
        self.received += len(data)
        self.buffer += data

    def exactly(self, count):
        return b"".join(self.pieces(count))

    def until(self, mark):
        while mark not in self.buffer:
            self._more()
        text, self.buffer = self.buffer.split(mark, 1)
        return text

    def rest(self):
        """Everything up to the end of the connection."""
        try:
            while True:
                self._more()
        except Closed:
            data, self.buffer = self.buffer, b""
            return data

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        return lines[0], Fields(tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:])

    def pieces(self, count):
        """`count` bytes as they come."""
        while count:
            if not self.buffer:
                self._more()
            piece, self.buffer = self.buffer[:count], self.buffer[count:]
            count -= len(piece)
            yield piece

    def chunked_pieces(self):
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                while self.until(b"\r\n"):
                    pass
                return
            yield from self.pieces(size)
            if self.exactly(2) != b"\r\n":
                raise Closed("a chunk doesn't end in CRLF")

    def chunked(self):
        return b"".join(self.chunked_pieces())

    def body_pieces(self, fields):
        """A body as it comes, without holding it; its framing is read from the fields."""
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return self.chunked_pieces()
        return self.pieces(int(fields.get("content-length", "0")))


class Response:
    def __init__(self, status, fields, body, framing):
        self.status, self.fields, self.body, self.framing = status, fields, body, framing

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """A raw client: sends what it is told, reads responses strictly. `port` may be the path of a unix socket, or (host, port)."""

    def __init__(self, port, receive_buffer=None):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(port, str) else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE)
        try:
            self.socket.connect(("127.0.0.1", port) if isinstance(port, int) else port)
        except OSError:
            self.socket.close()
            raise
        self.reader = Reader(self.socket)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def wait_until_read(self):
        """Waits until the other side, on this machine and by TCP over IPv4, has read all that was sent."""
        own, peer = (f"{host_port[1]:04X}" for host_port in (self.socket.getsockname(), self.socket.getpeername()))
        deadline = time.monotonic() + DEADLINE
        while True:
            with open("/proc/net/tcp") as table:
                rows = [line.split() for line in table]
            # Local and remote address, state, and the queues, of which the second one is what waits to be read.
            waiting = [int(row[4].split(":")[1], 16) for row in rows if row[1].endswith(":" + peer) and row[2].endswith(":" + own)]
            if waiting == [0]:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the other side leaves {waiting} bytes unread")
            threading.Event().wait(0.02)

    def request(self, method, target, body=None, media_type=None, fields=(), host="client.example"):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
        if media_type:
            lines.append(f"Content-Type: {media_type}")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join([*lines, *fields]) + "\r\n\r\n")
        if body:
            self.send(body)

    def response(self, method="GET"):
        """The next response, interim ones included; raises Closed when it is cut."""
        line, fields = self.reader.head()
        status = int(line.split()[1])
        if method == "HEAD" or status < 200 or status in (204, 304):
            return Response(status, fields, b"", "none")
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return Response(status, fields, self.reader.chunked(), "chunked")
        if "content-length" in fields:
            return Response(status, fields, self.reader.exactly(int(fields.get("content-length"))), "length")
        return Response(status, fields, self.reader.rest(), "close")

    def finish_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def is_closed(self):
        """Waits for the end of the connection; whatever still comes is returned by `rest`."""
        return self.reader.rest() == b""
