"""A client of HTTP/2 by prior knowledge: one connection, and requests on streams of it, one or several at a time."""

import struct

from processes import BenchError

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, _, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 5, 6, 7, 8
END_STREAM, ACKNOWLEDGES, END_HEADERS = 1, 1, 4
WINDOW = 1 << 30
# Of the table of fields that both sides have from the beginning (RFC 7541 appendix A), and the first of those that are added.
POST, HTTP, OK = b"\x83", b"\x86", b"\x88"
AUTHORITY, PATH, CONTENT_LENGTH, CONTENT_TYPE, NEWEST = 1, 4, 28, 31, 62


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def text(value):
    """A text without Huffman codes, shorter than 127 bytes."""
    return bytes([len(value)]) + value


def literal(name, value):
    """A field without indexing."""
    return b"\x00" + text(name) + text(value)


class Connection:
    """One connection, whose frames are looked at by those who ask."""

    def __init__(self, connection):
        self.connection, self.stream, self.buffer = connection, -1, b""
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack("!HI", 4, WINDOW))
                           + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", WINDOW)))

    def close(self):
        self.connection.close()

    def next(self):
        """The next frame that isn't of the connection's own."""
        while True:
            head = self.exactly(9)
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            payload = self.exactly(int.from_bytes(head[:3], "big"))
            if kind in (SETTINGS, PING) and not flags & ACKNOWLEDGES:
                self.connection.sendall(frame(kind, ACKNOWLEDGES, 0, payload if kind == PING else b""))
            elif kind not in (SETTINGS, PING, WINDOW_UPDATE):
                return kind, flags, stream, payload

    def exactly(self, count):
        while len(self.buffer) < count:
            data = self.connection.recv(1 << 16)
            if not data:
                raise BenchError("the connection ended")
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data


class Requester(Connection):
    """Sends requests as clients do: what all of them have is in the table of fields from the first one on, the path never is."""

    fields = None

    def head(self, path, media_type, length):
        fields = [(AUTHORITY, b"127.0.0.1"), (CONTENT_TYPE, media_type), (CONTENT_LENGTH, b"%d" % length)]
        if self.fields == fields:
            shared = b"".join(bytes([0x80 | NEWEST + at]) for at in reversed(range(len(fields))))
        else:
            self.fields = fields
            # With the index of their names, into the table.
            shared = b"".join(bytes([0x40 | name]) + text(value) for name, value in fields)
        return POST + HTTP + bytes([PATH]) + text(path) + shared

    def send(self, count, path, media_type, body):
        """Sends so many requests at once, of which each has its body in one frame, and remembers their streams."""
        sent = b""
        self.answers = {}
        for _ in range(count):
            self.stream += 2
            self.answers[self.stream] = b""
            head = self.head(path.encode(), media_type.encode(), len(body))
            sent += frame(HEADERS, END_HEADERS, self.stream, head) + frame(DATA, END_STREAM, self.stream, body)
        self.connection.sendall(sent)

    def receive(self):
        """The bodies of the answers to what was sent last."""
        left = len(self.answers)
        while left:
            kind, flags, stream, payload = self.next()
            if kind in (RESET, GOAWAY) or stream not in self.answers or kind == HEADERS and not payload.startswith(OK):
                raise BenchError(f"a request was answered by a frame of type {kind} on stream {stream}: {payload!r}")
            if kind == DATA:
                self.answers[stream] += payload
            left -= bool(flags & END_STREAM)
        return list(self.answers.values())
