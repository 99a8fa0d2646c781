"""What Envoy is to its external processor: a client of gRPC that brings a request on a stream of one connection, in
FULL_DUPLEX_STREAMED, and takes what becomes of it. As Envoy does, it sends head and body at once where it has both, and ends its
side when it has all of the request back."""

import struct

import http2
from http2 import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RESET, frame, literal
from processes import BenchError

FULL_DUPLEX_STREAMED = 4
LENGTH_DELIMITED = 2


def varint(value):
    data = b""
    while value > 0x7F:
        data, value = data + bytes([value & 0x7F | 0x80]), value >> 7
    return data + bytes([value])


def field(number, value):
    """A field of a message: bytes, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(value)) + value


def fields(message):
    """The fields of a message whose fields are all numbers and bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return value

    while at < len(message):
        tag, value = number(), number()
        if tag & 7 == LENGTH_DELIMITED:
            at += value
            value = message[at - value:at]
        yield tag >> 3, value


def message(content):
    return struct.pack("!BI", 0, len(content)) + content


HEAD = b"".join(literal(*pair) for pair in (
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/envoy.service.ext_proc.v3.ExternalProcessor/Process"),
    (b":authority", b"recast"), (b"te", b"trailers"), (b"content-type", b"application/grpc")))


class Caller(http2.Connection):
    """One connection, on which requests are processed one after the other."""

    def process(self, path, media_type, body):
        """What becomes of the body."""
        self.stream += 2
        head = [(":authority", "127.0.0.1"), (":path", path), (":method", "POST"), (":scheme", "http"), ("content-type", media_type),
                ("content-length", str(len(body)))]
        headers = b"".join(field(1, field(1, name.encode()) + field(3, value.encode())) for name, value in head)
        modes = field(1, FULL_DUPLEX_STREAMED)
        sent = message(field(2, field(1, headers)) + field(11, modes)) + message(field(4, field(1, body) + field(2, 1)))
        self.connection.sendall(frame(HEADERS, END_HEADERS, self.stream, HEAD)
                                + b"".join(frame(DATA, 0, self.stream, sent[at:at + 16384]) for at in range(0, len(sent), 16384)))
        said, content = b"", b""
        is_whole = is_over = False
        while not is_over:
            kind, flags, stream, payload = self.next()
            if kind in (RESET, GOAWAY):
                raise BenchError(f"the call was ended by a frame of type {kind}: {payload!r}")
            if stream != self.stream or kind not in (DATA, HEADERS):
                continue
            is_over = bool(flags & END_STREAM)
            if kind != DATA:
                continue
            said += payload
            while not is_whole and len(said) >= 5 and len(said) >= 5 + (length := struct.unpack_from("!I", said, 1)[0]):
                piece, is_whole = self.streamed(said[5:5 + length])
                content, said = content + piece, said[5 + length:]
                if is_whole:
                    self.connection.sendall(frame(DATA, END_STREAM, self.stream))
        if not is_whole:
            raise BenchError("the call ended before the request was whole")
        return content

    @staticmethod
    def streamed(answer):
        """The content in an answer, and whether it ends there (ProcessingResponse: 3 request_body, 1 response, 3 body_mutation, 3
        streamed_response, 1 body, 2 end_of_stream)."""
        for number in (3, 1, 3, 3):
            answer = dict(fields(answer)).get(number, b"")
        found = dict(fields(answer))
        return found.get(1, b""), bool(found.get(2, 0))
