"""An upstream of HTTP/2 that makes its frames by hand: it reads what Recast sends strictly, and does what a test tells it.

It has the interface of `harness.Upstream`, so that tests which are written for an upstream of HTTP/1 run against it: what a script
sends as text of HTTP/1 goes out as frames. A script may send frames of its own as well. Whatever Recast sends against a rule of
RFC 9113 is kept in `violations`, and ends the connection."""

import errno
import select
import socket
import ssl
import struct
import threading
import time

import hpack

from harness import DEADLINE, Closed, Exchange, ProxyTestCase, Received, Upstream
from http2_client import (ACK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, LAST_OF_ALL,
                          MAX_CONCURRENT_STREAMS, NO_ERROR, PADDED, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, RST_STREAM, SETTINGS,
                          WINDOW_UPDATE, block, frame, ping, reset, settings, window_update)
from raw_client import Fields, Reader

FORBIDDEN = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings", "host")
WINDOW = 65_535


class Violation(Exception):
    """Recast broke a rule."""


class HTTP2Received(Received):
    """One request. Fields of HTTP/1 that HTTP/2 says in another way are there as tests look for them: `host`."""

    def __init__(self, connection, stream, pseudo, fields, ends):
        host = [("host", pseudo[":authority"])] if ":authority" in pseudo else []
        super().__init__(connection.number, f"{pseudo[':method']} {pseudo[':path']} HTTP/2", Fields([*host, *fields]))
        self.connection, self.stream, self.pseudo = connection, stream, pseudo
        self.ends_with_head = ends
        self.data_frames = 0
        self.trailers = None


class ServerStream:
    """A request's stream: what has come and is not taken yet, and the windows of both directions."""

    def __init__(self, connection, number, ends):
        self.connection, self.number = connection, number
        self.content = bytearray()
        self.count = 0
        self.is_complete = ends  # END_STREAM came
        self.is_answered = False  # END_STREAM was sent
        self.code = None  # of RST_STREAM, whoever sent it
        self.window = connection.peer_initial_window  # what may be sent
        self.room = connection.initial_window  # what the peer may send
        self.received = None
        self.epoch = connection.server.epoch
        self.reader = StreamReader(self)

    @property
    def is_over(self):
        return self.code is not None or self.connection.is_closed or self.is_complete and self.is_answered

    def take(self, most=1 << 20):
        """What has come of the content; b"" at its end. Gives the window back."""
        with self.connection.changed:
            if not self.connection.changed.wait_for(lambda: self.content or self.is_complete or self.is_cut, DEADLINE * 2):
                raise Closed(f"no content came on stream {self.number}")
            if not self.content and not self.is_complete:
                raise Closed(f"stream {self.number} was cut: {self.code}")
            data = bytes(self.content[:most])
            del self.content[:most]
            gives = bool(data) and self.connection.server.gives and not self.is_complete and self.code is None
        if gives:
            self.give(len(data))
        return data

    def give(self, count):
        with self.connection.changed:
            self.room += count
        self.connection.send(window_update(self.number, count))

    @property
    def is_cut(self):
        return self.code is not None or self.connection.is_closed

    def wait_for_cut(self, seconds=DEADLINE):
        """Waits until the peer gives the stream up; returns the code, None where the connection has ended."""
        with self.connection.changed:
            if not self.connection.changed.wait_for(lambda: self.is_cut, seconds):
                raise AssertionError(f"nobody gave stream {self.number} up")
            return self.code


class StreamReader(Reader):
    """Reads a request's content as `Reader` reads a connection."""

    def __init__(self, stream):
        super().__init__(None)
        self.stream = stream

    def _more(self):
        data = self.stream.take()
        if not data:
            # As behind a request on a connection of HTTP/1: what ends the wait is that the other side gives up.
            self.stream.wait_for_cut(DEADLINE * 2)
            raise Closed(f"stream {self.stream.number} was cut: {self.stream.code}")
        self.received += len(data)
        self.buffer += data

    def body_pieces(self, fields):
        """The content as it comes, up to END_STREAM."""
        while True:
            data, self.buffer = self.buffer or self.stream.take(), b""
            if not data:
                return
            yield data

    def chunked(self):
        return b"".join(self.body_pieces(()))


class ResponseText:
    """Takes a response as HTTP/1 writes it, in any pieces, and sends it as frames."""

    def __init__(self, stream, method):
        self.stream, self.method = stream, method
        self.buffer = b""
        self.left = None  # bytes up to the end of the content, or of a chunk
        self.next = self.head
        self.held = b""

    def take(self, data):
        self.buffer += data
        while self.next and self.next():
            pass
        # What can go now does, so that whoever waits for a part of the response gets it.
        self.flush()

    def flush(self, end=False):
        data, self.held = self.held, b""
        if data or end:
            self.stream.connection.send_content(self.stream, data, end)

    def line(self):
        if b"\r\n" not in self.buffer:
            return None
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def head(self):
        if b"\r\n\r\n" not in self.buffer:
            return False
        text, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = text.decode("latin-1").split("\r\n")
        if not first.startswith("HTTP/1."):
            # What is no HTTP/1 comes as what is no HTTP/2.
            self.stream.connection.send(text + b"\r\n\r\n")
            raise Closed("by the script")
        status = int(first.split()[1])
        fields = Fields(tuple(part.strip() for part in line.split(":", 1)) for line in lines)
        dropped = {*FORBIDDEN, *(name.strip().lower() for value in fields.all("connection") for name in value.split(","))}
        kept = [(name.lower(), value) for name, value in fields if name.lower() not in dropped]
        if 100 <= status < 200:
            self.stream.connection.send_head(self.stream, status, kept)
            return True
        chunked = fields.get("transfer-encoding", "").lower() == "chunked"
        length = fields.get("content-length")
        is_empty = self.method == "HEAD" or status in (204, 304) or length == "0" and not chunked
        self.stream.connection.send_head(self.stream, status, kept, end=is_empty)
        if is_empty:
            self.next = None
        elif chunked:
            self.next = self.chunk
        else:
            self.left = None if length is None else int(length)
            self.next = self.content
        return self.next is not None

    def content(self):
        if not self.buffer:
            return False
        data, self.buffer = (self.buffer, b"") if self.left is None else (self.buffer[:self.left], self.buffer[self.left:])
        self.held += data
        if self.left is not None:
            self.left -= len(data)
            if self.left == 0:
                self.next = None
                self.flush(end=True)
        return False

    def chunk(self):
        line = self.line()
        if line is None:
            return False
        self.left = int(line.split(b";")[0], 16)
        self.next = self.chunk_content if self.left else self.trailers
        self.fields = []
        return True

    def chunk_content(self):
        if self.left:
            data, self.buffer = self.buffer[:self.left], self.buffer[self.left:]
            self.held += data
            self.left -= len(data)
        if self.left or len(self.buffer) < 2:
            return False
        self.buffer = self.buffer[2:]
        self.next = self.chunk
        return True

    def trailers(self):
        line = self.line()
        if line is None:
            return False
        if line:
            name, value = line.decode("latin-1").split(":", 1)
            self.fields.append((name.strip().lower(), value.strip()))
            return True
        self.next = None
        if self.fields:
            self.flush()
            self.stream.connection.send_trailers(self.stream, self.fields)
        else:
            self.flush(end=True)
        return False

    def end(self):
        """The script has said all: what lasts to the connection's end is whole."""
        if self.next == self.content and self.left is None:
            self.next = None
            self.flush(end=True)


class HTTP2Exchange(Exchange):
    """What a script works with. Beside what HTTP/1's has: frames of the stream, and those of the connection."""

    def __init__(self, connection, stream, received):
        super().__init__(connection.server, connection, stream.reader, received)
        self.stream = stream
        self.text = ResponseText(stream, received.method)

    def read_body(self):
        if "expect" in self.received.fields and not self.stream.is_complete and not self.stream.content:
            self.send("HTTP/1.1 100 Continue\r\n\r\n")
        self.received.body = b"".join(self.reader.body_pieces(()))
        self.received.is_complete = True
        self.received.ended.set()

    def send(self, data):
        self.text.take(data if isinstance(data, bytes) else data.encode("latin-1"))

    def respond(self, status=200, fields=(), end=False):
        self.connection.send_head(self.stream, status, fields, end)

    def content(self, data, end=False):
        self.connection.send_content(self.stream, data, end)

    def trailers(self, fields):
        self.connection.send_trailers(self.stream, fields)

    def abort(self, code=CANCEL):
        """RST_STREAM."""
        self.connection.send_reset(self.stream, code)

    def frames(self, data):
        """Any octets, in one piece."""
        self.connection.send(data)

    def leave(self):
        """Ends the connection, whatever was said."""
        self.connection.close()
        raise Closed("by the script")

    def reset(self):
        self.connection.close(with_reset=True)
        raise Closed("by the script")


class ServerConnection:
    """One connection: a thread reads it, each request has a thread that runs its script."""

    def __init__(self, server, connection, number):
        self.server, self.connection, self.number = server, connection, number
        self.changed = threading.Condition(threading.RLock())
        self.sending = threading.Lock()  # so that frames stay whole
        self.io = threading.Lock()  # OpenSSL reads or writes, not both
        self.buffer = b""
        self.received = 0  # bytes of heads and of content
        self.streams = {}
        self.last = 0  # the highest stream
        self.peer_settings = {}
        self.peer_initial_window = WINDOW
        self.initial_window = server.window
        self.limits = []  # MAX_CONCURRENT_STREAMS as told and not acknowledged yet
        self.limit = None  # acknowledged
        self.window = WINDOW  # what may be sent
        self.room = WINDOW  # what the peer may send
        self.pings = []
        self.goaway = None  # the last stream that a GOAWAY of ours named
        self.peer_goaway = None  # (last stream, code)
        self.unacknowledged = 0
        self.is_closed = False
        self.ended = threading.Event()
        self.decoder = hpack.Decoder(max_header_list_size=1 << 24)
        self.events = []  # (kind, flags, stream) of all that came

    # Bytes.

    def _io(self, operation, writes):
        """One operation of the socket, which may wait for it; -1 as descriptor means that it is closed."""
        deadline = time.monotonic() + DEADLINE * 4
        while not self.is_closed:
            try:
                with self.io:
                    return operation()
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                reads = isinstance(error, ssl.SSLWantReadError) or not writes and not isinstance(error, ssl.SSLWantWriteError)
            try:
                # Short, since an answer to the handshake may be taken by the other direction's thread.
                select.select([self.connection] if reads else [], [] if reads else [self.connection], [], 0.5)
            except (ValueError, OSError):
                break
            if time.monotonic() > deadline and writes:
                break
        raise Closed("the connection has ended")

    def send(self, data):
        """Frames, in one piece as far as anybody else sends."""
        with self.sending:
            view = memoryview(data)
            while view:
                try:
                    count = self._io(lambda: self.connection.send(view[:1 << 16]), True)
                except OSError as error:
                    if error.errno != errno.EBADF:
                        self.note_end()
                    raise Closed(str(error)) from None
                view = view[count:]

    def _exactly(self, count):
        while len(self.buffer) < count:
            try:
                data = self._io(lambda: self.connection.recv(1 << 16), False)
            except OSError:
                data = b""
            if not data:
                raise Closed("the connection has ended")
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def close(self, with_reset=False):
        """Ends the connection, with what was sent in front of it."""
        with self.sending:
            if with_reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # The thread that reads has the descriptor, too: only when nobody uses it the system sends the RST.
                self.note_end()
                with self.io:
                    self.connection.close()
                return
            try:
                self.connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            self.note_end()

    def note_end(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    # What is sent.

    def greet(self):
        values = list(self.server.settings)
        if self.initial_window != WINDOW:
            values.append((INITIAL_WINDOW_SIZE, self.initial_window))
        self.tell(values)
        if self.server.connection_window > WINDOW:
            self.give(self.server.connection_window - WINDOW)

    def tell(self, values):
        """SETTINGS; they hold once Recast has acknowledged them."""
        self.expect_acknowledgements(1, dict(values).get(MAX_CONCURRENT_STREAMS))
        self.send(settings(values))

    def expect_acknowledgements(self, count, limit=None):
        with self.changed:
            self.unacknowledged += count
            self.limits += [limit] * count

    def give(self, count):
        with self.changed:
            self.room += count
        self.send(window_update(0, count))

    def send_head(self, stream, status, fields=(), end=False):
        self.send_block(stream, [(":status", str(status)), *fields], end)

    def send_trailers(self, stream, fields):
        self.send_block(stream, fields, True)

    def send_block(self, stream, fields, end):
        self.check_open(stream)
        data = block(fields)
        first, rest = data[:16_384], data[16_384:]
        text = frame(HEADERS, (END_STREAM if end else 0) | (0 if rest else END_HEADERS), stream.number, first)
        while rest:
            piece, rest = rest[:16_384], rest[16_384:]
            text += frame(CONTINUATION, 0 if rest else END_HEADERS, stream.number, piece)
        self.note_answer(stream, end)
        self.send(text)

    def check_open(self, stream):
        with self.changed:
            if stream.is_cut:
                raise Closed(f"stream {stream.number} was cut: {stream.code}")

    def note_answer(self, stream, end):
        if end:
            with self.changed:
                stream.is_answered = True
                self.changed.notify_all()

    def send_content(self, stream, data, end=False):
        """Content, as the windows allow."""
        view = memoryview(data)
        while True:
            with self.changed:
                def may_go():
                    return stream.is_cut or not view or min(self.window, stream.window) > 0
                if not self.changed.wait_for(may_go, DEADLINE * 2):
                    raise Closed(f"no window came for stream {stream.number}")
                self.check_open(stream)
                count = max(0, min(len(view), 16_384, self.window, stream.window))
                self.window -= count
                stream.window -= count
            is_last = count == len(view)
            if is_last:
                self.note_answer(stream, end)
            self.send(frame(DATA, END_STREAM if end and is_last else 0, stream.number, bytes(view[:count])))
            view = view[count:]
            if is_last:
                return

    def send_reset(self, stream, code):
        with self.changed:
            stream.code = code
            self.changed.notify_all()
        self.send(reset(stream.number, code))

    def send_goaway(self, last=LAST_OF_ALL, code=NO_ERROR):
        with self.changed:
            self.goaway = last
        self.send(frame(GOAWAY, payload=struct.pack("!II", last, code)))

    def send_goaway_behind_all(self):
        """Names the stream that came last: what has begun is ended, what comes later isn't looked at."""
        with self.changed:
            last = self.goaway = self.last
        self.send_goaway(last)

    # What is read.

    def run(self):
        try:
            if self.server.greeting:
                self.server.greeting(self)
            self.check(self._exactly(len(PREFACE)) == PREFACE, "no preface")
            if not self.server.greeting:
                self.greet()
            self.read_frame(is_first=True)
            while True:
                self.read_frame()
        except (Closed, OSError):
            pass
        except (Violation, struct.error, hpack.HPACKError) as error:
            self.server.violations.append(f"{type(error).__name__}: {error}")
            try:
                self.send(frame(GOAWAY, payload=struct.pack("!II", self.last, PROTOCOL_ERROR)))
            except (Closed, OSError):
                pass
        finally:
            self.note_end()
            with self.io:
                self.connection.close()
            self.ended.set()

    def check(self, holds, text):
        if not holds:
            raise Violation(f"{text} (connection {self.number})")

    def read_frame(self, is_first=False):
        head = self._exactly(9)
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        number = int.from_bytes(head[5:], "big")
        self.check(not is_first or kind == SETTINGS and not flags & ACK, "the first frame is no SETTINGS")
        self.check(size <= 16_384, f"a frame of {size} bytes")
        self.check(number < 1 << 31, "a reserved bit")
        payload = self._exactly(size)
        with self.changed:
            self.events.append((kind, flags, number))
            # Not what an earlier test's stream still brings.
            stream = self.streams.get(number)
            if kind == HEADERS or kind == DATA and stream and stream.epoch == self.server.epoch:
                self.received += size
            request = self.take_frame(kind, flags, number, payload)
            self.changed.notify_all()
        if request:
            self.begin(*request)
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.send(ping(payload, ACK))
        elif kind == DATA and payload and self.server.gives_connection:
            self.give(len(payload))

    def take_frame(self, kind, flags, number, payload):
        if kind == HEADERS:
            return self.take_fields(flags, number, payload)
        if kind == DATA:
            self.take_content(flags, number, payload)
        elif kind == SETTINGS:
            self.check(number == 0 and len(payload) % 6 == 0, "SETTINGS")
            self.take_settings(flags, payload)
        elif kind == WINDOW_UPDATE:
            count, = struct.unpack("!I", payload)
            self.check(count > 0, "WINDOW_UPDATE of nothing")
            if number == 0:
                self.window += count
            elif number in self.streams:
                self.streams[number].window += count
            else:
                self.check(number <= self.last, f"WINDOW_UPDATE for stream {number}, which nobody opened")
        elif kind == RST_STREAM:
            code, = struct.unpack("!I", payload)
            self.check(0 < number <= self.last, f"RST_STREAM for stream {number}, which nobody opened")
            if number in self.streams and self.streams[number].code is None:
                self.streams[number].code = code
        elif kind == PING:
            self.check(number == 0 and len(payload) == 8, "PING")
            if flags & ACK:
                self.pings.append(payload)
        elif kind == GOAWAY:
            self.peer_goaway = struct.unpack("!II", payload[:8])
        elif kind == PRIORITY:
            self.check(False, "PRIORITY, which RFC 9113 has no use for")
        else:
            self.check(False, f"a frame of type {kind}")
        return None

    def take_settings(self, flags, payload):
        if flags & ACK:
            self.check(self.unacknowledged > 0 and not payload, "an ACK of no SETTINGS")
            self.unacknowledged -= 1
            limit = self.limits.pop(0)
            self.limit = self.limit if limit is None else limit
            return
        for at in range(0, len(payload), 6):
            key, value = struct.unpack("!HI", payload[at:at + 6])
            self.peer_settings[key] = value
        window = self.peer_settings.get(INITIAL_WINDOW_SIZE, WINDOW)
        for stream in self.streams.values():
            stream.window += window - self.peer_initial_window
        self.peer_initial_window = window

    def take_fields(self, flags, number, payload):
        self.check(not flags & PADDED, "padding")
        while not flags & END_HEADERS:
            head = self._exactly(9)
            self.check(head[3] == CONTINUATION and int.from_bytes(head[5:], "big") == number, "HEADERS without an end")
            payload += self._exactly(int.from_bytes(head[:3], "big"))
            flags |= head[4] & END_HEADERS
        if flags & 0x20:
            payload = payload[5:]
        fields = Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in self.decoder.decode(payload, raw=True))
        names = [name for name, _ in fields]
        self.check(all(name == name.lower() for name in names), f"names in upper case: {names}")
        self.check(not any(name in FORBIDDEN for name in names), f"fields that HTTP/2 has no use for: {fields}")
        self.check(all(value.lower() == "trailers" for value in fields.all("te")), f"te: {fields.all('te')}")
        ends = bool(flags & END_STREAM)
        stream = self.streams.get(number)
        if stream:
            self.check(not any(name.startswith(":") for name in names) and ends, f"these are no trailers: {fields}")
            self.check(not stream.is_complete and stream.code in (None, NO_ERROR), f"trailers on stream {number}, which is over")
            stream.received.trailers = fields
            self.complete(stream)
            return None
        self.check(number % 2 == 1 and number > self.last, f"stream {number} behind {self.last}")
        self.last = number
        count = sum(1 for name in names if name.startswith(":"))
        pseudo = dict(fields[:count])
        self.check(all(name.startswith(":") for name in names[:count]) and len(pseudo) == count, f"pseudo-header fields: {names}")
        self.check(set(pseudo) in ({":method", ":scheme", ":path", ":authority"}, {":method", ":scheme", ":path"}),
                   f"pseudo-header fields: {names}")
        self.check(pseudo[":path"].startswith("/") or pseudo[":path"] == "*" and pseudo[":method"] == "OPTIONS", f"{pseudo}")
        self.check(pseudo[":scheme"] == ("https" if isinstance(self.connection, ssl.SSLSocket) else "http"), f"{pseudo}")
        open_streams = sum(1 for one in self.streams.values() if not one.is_over)
        self.check(self.limit is None or open_streams < self.limit, f"stream {number} beyond the {self.limit} that are allowed")
        stream = ServerStream(self, number, ends)
        self.streams[number] = stream
        received = HTTP2Received(self, stream, pseudo, fields[count:], ends)
        stream.received = received
        self.check_length(stream, is_end=ends)
        if self.goaway is not None and number > self.goaway:
            # As a server that has gone away: it does nothing with it, and says nothing.
            stream.code = NO_ERROR
            received.ended.set()
            return None
        return stream, received

    def take_content(self, flags, number, payload):
        self.check(not flags & PADDED, "padding")
        stream = self.streams.get(number)
        self.check(stream is not None, f"DATA on stream {number}, which nobody opened")
        self.check(not stream.is_complete, f"DATA behind the end of stream {number}")
        self.room -= len(payload)
        stream.room -= len(payload)
        self.check(self.room >= 0, "content beyond the connection's window")
        self.check(stream.room >= 0, f"content beyond the window of stream {number}")
        stream.count += len(payload)
        stream.received.data_frames += 1
        if stream.code is None and not self.server.discards:
            stream.content += payload
        self.check_length(stream, is_end=bool(flags & END_STREAM))
        if flags & END_STREAM:
            self.complete(stream)

    def check_length(self, stream, is_end):
        length = stream.received.fields.get("content-length")
        if length is not None:
            self.check(stream.count <= int(length), f"{stream.count} bytes of content of {length}")
            self.check(not is_end or stream.count == int(length), f"{stream.count} bytes of content, not {length}")

    def complete(self, stream):
        stream.is_complete = True

    def begin(self, stream, received):
        with self.server.changed:
            self.server.requests.append(received)
            self.server.changed.notify_all()
            script = self.server.script
        threading.Thread(target=self.serve, args=(script, stream, received), daemon=True).start()

    def serve(self, script, stream, received):
        exchange = HTTP2Exchange(self, stream, received)
        try:
            script(exchange)
            exchange.text.end()
            # What the script left of the request is let come, and thrown away.
            while not stream.is_complete and not stream.is_cut:
                stream.take()
        except (Closed, OSError):
            self.leave(exchange)
        except BaseException:
            self.leave(exchange)
            raise
        finally:
            received.ended.set()

    def leave(self, exchange):
        """A script has left: what lasts to the end of the connection is whole with it, anything else is cut by it."""
        if exchange.stream.is_cut:
            return
        try:
            exchange.text.end()
        except (Closed, OSError):
            return
        if not exchange.stream.is_answered or not exchange.stream.is_complete:
            self.close()


class HTTP2Upstream(Upstream):
    """`harness.Upstream` for HTTP/2.

    Parameters beside its own: `settings` are told at the beginning; `window` is the initial one of each stream and
    `connection_window` the connection's; `gives` says whether a stream's is given back as a script takes content, and
    `gives_connection` whether the connection's is as content comes. `context` has TLS spoken. `greeting` takes the place of all that
    is said at the beginning: a function of the connection."""

    def __init__(self, receive_buffer=None, path=None, address=("127.0.0.1", 0), settings=(), window=WINDOW, connection_window=WINDOW,
                 gives=True, gives_connection=True, context=None, greeting=None, discards=False):
        self.settings, self.window, self.connection_window = list(settings), window, connection_window
        self.gives, self.gives_connection = gives, gives_connection
        self.context, self.greeting, self.discards = context, greeting, discards
        self.violations = []
        self.connections = []
        self.epoch = 0  # a test's
        super().__init__(receive_buffer, path, address)

    def reset(self):
        with self.changed:
            self.epoch += 1
            super().reset()

    def _serve(self, connection):
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(DEADLINE)
        if self.context:
            try:
                connection = self.context.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
        connection.settimeout(0)
        with self.changed:
            self.connection_count += 1
            served = ServerConnection(self, connection, self.connection_count)
            self.connections.append(served)
            self.readers[served] = 0
            self.changed.notify_all()
        try:
            served.run()
        finally:
            with self.changed:
                self.closed_bytes += served.received - self.readers.pop(served)
                self.changed.notify_all()

    def settle(self):
        """Waits until all scripts have come to their end, and the connections that they have ended are closed: what the script of a
        test before still ends is a connection that others share."""
        for connection in list(self.connections):
            for stream in list(connection.streams.values()):
                stream.received.ended.wait(DEADLINE)
            if connection.is_closed:
                connection.ended.wait(DEADLINE)

    @property
    def open_connections(self):
        with self.changed:
            return list(self.readers)

    def wait_until(self, condition, what="what was waited for"):
        """`condition` is asked whenever a connection or a request has come or gone."""
        with self.changed:
            if not self.changed.wait_for(condition, DEADLINE):
                raise AssertionError(f"never came: {what}")

    def stop(self):
        super().stop()
        for connection in self.open_connections:
            connection.note_end()


def over_http2(text, further=""):
    """The settings of an upstream, short or long, as those of one that is spoken to by HTTP/2."""
    text = text.strip()
    further = f", {further}" if further else ""
    return f"{{ http: 2{further}, {text[1:].lstrip()}" if text.startswith("{") else f"{{ http: 2{further}, address: \"{text}\" }}"


class OverHTTP2:
    """Has the tests of a `ProxyTestCase` run with an upstream of HTTP/2; stands in front of the class in the list of bases."""

    upstream_type = HTTP2Upstream

    @classmethod
    def upstream_settings(cls, text):
        return over_http2(text)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.upstream.violations, [])


class HTTP2UpstreamTestCase(OverHTTP2, ProxyTestCase):
    """Tests of what is HTTP/2's own."""
