"""A client of HTTP/2 that makes its frames by hand, so that it can send what no library would, and reads what comes strictly.

Fields are written as literals without indexing and without Huffman codes: any octets may stand in them. What the server sends is
decoded by the hpack package. Nothing but reading advances a client: it reads when it is asked for something."""

import contextlib
import json
import os
import socket
import ssl
import struct
import threading

import hpack

from harness import DEADLINE, Client, Closed, ProxyTestCase, free_port
from raw_client import Fields
from tls_support import pair

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 0x1, 0x1, 0x4, 0x8, 0x20
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, \
    CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(12)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
LAST_OF_ALL = (1 << 31) - 1  # what a first GOAWAY names, so that requests on their way are still served


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def octets(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def integer(value, prefix, first=0):
    """An integer of HPACK (RFC 7541 section 5.1)."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    result, value = bytes([first | most]), value - most
    while value >= 128:
        result, value = result + bytes([value % 128 + 128]), value // 128
    return result + bytes([value])


def literal(name, value, first=0x00):
    """A literal field with a new name; 0x40 as `first` puts it into the table."""
    name, value = octets(name), octets(value)
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


def settings(values=()):
    return frame(SETTINGS, payload=b"".join(struct.pack("!HI", key, value) for key, value in values))


def window_update(stream, count):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", count))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack("!I", code))


def ping(data=b"12345678", flags=0):
    return frame(PING, flags, 0, data)


def pseudo(method="GET", path="/plain", scheme="http", authority="client.example"):
    """The fields that a request begins with; those that are None are left out."""
    fields = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    return [(name, value) for name, value in fields if value is not None]


class StreamRecord:
    """What has come on one stream."""

    def __init__(self, window):
        self.interim = []  # (status, fields)
        self.status = None
        self.fields = Fields()
        self.body = bytearray()
        self.count = 0  # bytes of the body
        self.trailers = None
        self.ended = False
        self.reset = None  # the code of RST_STREAM
        self.window = window  # what may still be sent

    @property
    def is_over(self):
        return self.ended or self.reset is not None

    @property
    def json(self):
        return json.loads(bytes(self.body))


class HTTP2Client:
    """`window` is what the server may send at first on each stream; `gives` says whether content is given back at once, on the
    stream and on the connection. `keeps` is whether content is kept."""

    def __init__(self, port, context=None, window=65_535, gives=True, keeps=True, receive_buffer=None, hello=True, name="a.example",
                 protocols=("h2",)):
        client = Client(port, receive_buffer)
        self.socket = client.socket
        if isinstance(port, int):
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.scheme = "http"
        if context:
            context.set_alpn_protocols(list(protocols))
            self.socket = context.wrap_socket(self.socket, server_hostname=name)
            self.scheme = "https"
        self.gives, self.keeps = gives, keeps
        self.buffer = b""
        self.held = None
        self.blind = False  # whether responses aren't looked at: for floods, and for streams that nobody opened by `open`
        self.decoder = hpack.Decoder(max_header_list_size=1 << 24)
        self.streams = {}
        self.next_stream = 1
        self.server_settings = {}
        self.server_initial_window = 65_535
        self.window = 65_535  # what may still be sent on the connection
        self.goaways = []  # (last stream, code)
        self.pings = []  # what was acknowledged
        self.settings_acknowledged = 0
        self.closed = False
        self.frames = []  # (kind, flags, stream) of all that came
        if hello:
            self.hello(window)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # What is sent.

    def hello(self, window=65_535, further=()):
        self.send(PREFACE + settings([(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, window), *further]))

    def send(self, data):
        if self.held is not None:
            self.held += data
        else:
            self.socket.sendall(data)

    @contextlib.contextmanager
    def at_once(self):
        """What is sent in here goes out in one piece, and is read so, as far as anybody can tell."""
        self.held = b""
        yield
        data, self.held = self.held, None
        self.socket.sendall(data)

    def send_all(self, pieces):
        """Sends as much as the server takes before it closes; returns whether that was all."""
        try:
            for piece in pieces:
                self.socket.sendall(piece)
        except (OSError, ssl.SSLError):
            return False
        return True

    def open(self, fields, end=True, block_=None):
        """Begins a stream with these fields, or with a block of HPACK; returns its number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.streams[stream] = StreamRecord(self.server_initial_window)
        data = block(fields) if block_ is None else block_
        first, rest = data[:16_384], data[16_384:]
        text = frame(HEADERS, (END_STREAM if end else 0) | (0 if rest else END_HEADERS), stream, first)
        while rest:
            piece, rest = rest[:16_384], rest[16_384:]
            text += frame(CONTINUATION, 0 if rest else END_HEADERS, stream, piece)
        self.send(text)
        return stream

    def request(self, method="GET", path="/plain", fields=(), body=None, end=None, authority="client.example"):
        """A request; with a body, that is sent as the windows allow. Without `end` it is whole."""
        begins = pseudo(method, path, self.scheme, authority)
        stream = self.open([*begins, *fields], end=body is None if end is None else end and body is None)
        if body is not None:
            self.content(stream, body, end is not False)
        return stream

    def content(self, stream, data, end=True, size=16_384):
        """Content, in frames of `size`, as the windows allow; what comes meanwhile is read."""
        view = memoryview(data)
        while True:
            record = self.streams[stream]
            count = min(len(view), size, self.window, record.window)
            if count > 0 or not len(view):
                is_last = end and count == len(view)
                self.window -= count
                record.window -= count
                self.send(frame(DATA, END_STREAM if is_last else 0, stream, bytes(view[:count])))
                view = view[count:]
                if not len(view):
                    return
            elif record.is_over or not self.read():
                raise Closed(f"stream {stream} ended while {len(view)} bytes were to be sent: {record.status} {record.reset}")

    def fill(self, stream, piece=b"x" * 16_384, most=1 << 30, quiet=0.5):
        """Sends content until the window is empty and stays so for `quiet` seconds; returns how many bytes went."""
        sent = 0
        while sent < most:
            record = self.streams[stream]
            count = min(len(piece), self.window, record.window, most - sent)
            if count > 0:
                self.window -= count
                record.window -= count
                self.send(frame(DATA, 0, stream, piece[:count]))
                sent += count
            else:
                self.pause()
                if record.reset is not None or min(self.window, record.window) <= 0 and not self.more(quiet):
                    break
        return sent

    # What is read.

    def more(self, seconds):
        """Reads a frame if one comes in this time."""
        if self.buffer:
            return self.read()
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1 << 16)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError:
            data = b""
        finally:
            self.socket.settimeout(DEADLINE)
        if not data:
            self.closed = True
            return False
        self.buffer += data
        return self.read()

    def pause(self):
        """Waits until the server has read what was sent: it acknowledges a PING."""
        mark = os.urandom(8)
        self.send(ping(mark))
        self.until(lambda: mark in self.pings)

    def _exactly(self, count):
        while len(self.buffer) < count:
            try:
                data = self.socket.recv(1 << 18)
            except ConnectionError:
                data = b""
            if not data:
                self.closed = True
                return None
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read(self):
        """Reads one frame and notes what it says; false at the end of the connection."""
        head = self._exactly(9)
        if head is None:
            return False
        size = int.from_bytes(head[:3], "big")
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        if size > 16_384:
            raise AssertionError(f"a frame of {size} bytes, which nobody allowed")
        payload = self._exactly(size)
        if payload is None:
            raise AssertionError(f"the connection ends inside a frame of type {kind}")
        self.frames.append((kind, flags, stream))
        if self.blind and kind in (HEADERS, CONTINUATION, DATA):
            return True
        if kind == HEADERS:
            while not flags & END_HEADERS:
                head = self._exactly(9)
                if head is None or head[3] != CONTINUATION or int.from_bytes(head[5:], "big") != stream:
                    raise AssertionError("what follows HEADERS is no CONTINUATION of it")
                payload += self._exactly(int.from_bytes(head[:3], "big"))
                flags |= head[4] & END_HEADERS
            self._take_fields(stream, flags, payload)
        elif kind == DATA:
            self._take_content(stream, flags, payload)
        elif kind == RST_STREAM:
            if stream in self.streams:
                self.streams[stream].reset, = struct.unpack("!I", payload)
        elif kind == SETTINGS:
            if flags & ACK:
                self.settings_acknowledged += 1
            else:
                self._take_settings(payload)
        elif kind == PING:
            if flags & ACK:
                self.pings.append(payload)
            else:
                self._answer(ping(payload, ACK))
        elif kind == GOAWAY:
            self.goaways.append(struct.unpack("!II", payload[:8]))
        elif kind == WINDOW_UPDATE:
            count, = struct.unpack("!I", payload)
            if stream == 0:
                self.window += count
            elif stream in self.streams:
                self.streams[stream].window += count
        else:
            raise AssertionError(f"a frame of type {kind}")
        return True

    def _answer(self, data):
        try:
            self.send(data)
        except OSError:
            pass  # what came before the end is still read

    def _take_settings(self, payload):
        for at in range(0, len(payload), 6):
            key, value = struct.unpack("!HI", payload[at:at + 6])
            self.server_settings[key] = value
        initial = self.server_settings.get(INITIAL_WINDOW_SIZE, 65_535)
        for record in self.streams.values():
            record.window += initial - self.server_initial_window
        self.server_initial_window = initial
        self._answer(frame(SETTINGS, ACK))

    def _take_fields(self, stream, flags, payload):
        fields = Fields(self.decoder.decode(payload))
        record = self.streams.get(stream)
        if record is None or record.is_over:
            raise AssertionError(f"HEADERS on stream {stream}, which isn't open: {fields}")
        for name, _ in fields:
            if name != name.lower() or name in ("connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"):
                raise AssertionError(f"a field that HTTP/2 forbids: {name}")
        if record.status is not None:
            if not flags & END_STREAM or any(name.startswith(":") for name, _ in fields):
                raise AssertionError(f"these are no trailers: {fields}")
            record.trailers = fields
        else:
            if [name for name, _ in fields if name.startswith(":")] != [":status"] or fields[0][0] != ":status":
                raise AssertionError(f"not one status, first: {fields}")
            status = int(fields[0][1])
            fields = Fields(fields[1:])
            if status < 200:
                if flags & END_STREAM:
                    raise AssertionError("an interim response ends the stream")
                record.interim.append((status, fields))
            else:
                record.status, record.fields = status, fields
        if flags & END_STREAM:
            record.ended = True

    def _take_content(self, stream, flags, payload):
        record = self.streams.get(stream)
        if record is None or record.is_over or record.status is None:
            raise AssertionError(f"DATA on stream {stream}, which isn't open or has no head yet")
        record.count += len(payload)
        if self.keeps:
            record.body += payload
        if flags & END_STREAM:
            record.ended = True
        if self.gives and payload:
            self._answer(window_update(0, len(payload)) + (b"" if record.ended else window_update(stream, len(payload))))

    def until(self, condition):
        """Reads until the condition holds; raises Closed at the end of the connection."""
        while not condition():
            if not self.read():
                raise Closed(f"GOAWAY: {self.goaways}, resets: {[one.reset for one in self.streams.values()][:20]}")

    def response(self, stream):
        """The whole response of a stream; raises Closed when it is cut."""
        record = self.streams[stream]
        self.until(lambda: record.is_over)
        if not record.ended:
            raise Closed(f"stream {stream} was reset with {record.reset}")
        return record

    def exchange(self, *arguments, **options):
        return self.response(self.request(*arguments, **options))

    def over(self, stream):
        """How a stream ends: its record; also where the connection does."""
        record = self.streams[stream]
        while not record.is_over and self.read():
            pass
        return record

    def rest(self):
        """Reads to the end of the connection; returns the code of the last GOAWAY, None without one."""
        while self.read():
            pass
        return self.goaways[-1][1] if self.goaways else None

    def start_reading(self):
        """Reads in a thread of its own from now on: for floods, whose answers would fill all buffers."""
        def run():
            try:
                while self.read():
                    pass
            except (OSError, ValueError, Closed):
                self.closed = True
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class HTTP2TestCase(ProxyTestCase):
    def http2(self, **options):
        client = HTTP2Client(self.recast.port, **options)
        self.addCleanup(client.socket.close)
        return client

    def assert_alive(self):
        """The process serves others."""
        self.assertIsNone(self.recast.process.poll(), self.recast.error_text())
        with HTTP2Client(self.recast.port) as client:
            self.assertEqual(client.exchange(path="/plain/alive").status, 200)


class SecuredTestCase(HTTP2TestCase):
    """With a listener that has TLS besides, at the port `tls`."""

    @classmethod
    def setUpClass(cls):
        cls.tls = free_port()
        cls.listeners = (f"{{address: '127.0.0.1:{cls.tls}', tls: {{{pair('server')}}}}}",)
        super().setUpClass()
