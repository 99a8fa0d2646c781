"""gRPC over the client of HTTP/2 that makes its frames by hand, so that a call can be broken in any way."""

import struct

from harness import Closed
from http2_client import END_STREAM, DATA, frame

OK, CANCELLED, INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 0, 1, 3, 5, 8, 12, 13, 14
FAILED_PRECONDITION = 9


def framed(message, flag=0, length=None):
    """A message behind its five bytes; `length` says another one than is true."""
    return struct.pack("!BI", flag, len(message) if length is None else length) + message


class Call:
    """One call on a stream of its own. What is sent and when is up to the test; nothing but reading advances it."""

    def __init__(self, client, path, metadata=(), method="POST", content_type="application/grpc", te="trailers"):
        self.client = client
        fields = [(":method", method), (":scheme", client.scheme), (":path", path), (":authority", "recast"),
                  *([("content-type", content_type)] if content_type else []), *([("te", te)] if te else []), *metadata]
        self.stream = client.open(fields, end=False)
        self.offset = 0

    @property
    def record(self):
        return self.client.streams[self.stream]

    def send(self, message, end=False, **options):
        self.send_raw(framed(message, **options), end)

    def send_raw(self, data, end=False):
        """Sends, unless the server has ended the call meanwhile: what it said is there to be read."""
        try:
            self.client.content(self.stream, data, end)
        except Closed:
            if not self.record.is_over:
                raise

    def half_close(self):
        self.client.send(frame(DATA, END_STREAM, self.stream))

    def buffered(self):
        """The next message if it has come as a whole."""
        body = self.record.body
        if len(body) - self.offset < 5:
            return None
        flag, length = struct.unpack_from("!BI", body, self.offset)
        if flag:
            raise AssertionError(f"a message with the flag {flag}: nobody asked for compression")
        if len(body) - self.offset < 5 + length:
            return None
        start = self.offset + 5
        self.offset = start + length
        return bytes(body[start:self.offset])

    def next(self):
        """The next message, or None at the end of the call."""
        while True:
            message = self.buffered()
            if message is not None:
                return message
            if self.record.is_over:
                if len(self.record.body) != self.offset:
                    raise AssertionError("the call ends inside a message")
                return None
            if not self.client.read():
                raise Closed(f"the connection ends inside a call: {self.client.goaways}")

    def status(self):
        """(code, message) that the call ends with; what comes before is skipped. Every way in which it may end is gRPC's."""
        while self.next() is not None:
            pass
        record = self.record
        if record.reset is not None and record.trailers is None:
            raise AssertionError(f"the stream is reset with {record.reset}, without a status")
        if record.status != 200 or record.fields.get("content-type", "").split(";")[0] != "application/grpc":
            raise AssertionError(f"no answer of gRPC: {record.status} {record.fields}")
        fields = record.fields if record.trailers is None else record.trailers
        if fields.get("grpc-status") is None:
            raise AssertionError(f"no grpc-status: {record.fields} {record.trailers}")
        return int(fields.get("grpc-status")), fields.get("grpc-message", "")
