"""Rows 50 to 57: TLS."""

import os
import shutil
import signal
import socket
import subprocess
import threading

import harness
from harness import DEADLINE, Client
from rig import (FORM, FORM_BODY, ROUTES, SharedTLSClient, check, equal, hold_answer, problem, raises_closed, reload,
                 rewrite, row, wait_until)


@row(50, "a handshake that stalls, HTTP on the TLS port, TLS on the plain port", modes=("tls",))
def stalled_handshake(fault):
    stack = fault.stack(timeouts="header: 600ms, body_gap: 600ms, write: 900ms, handshake: 600ms")
    stalled = socket.create_connection(("127.0.0.1", stack.port), timeout=DEADLINE)
    fault.cleanups.callback(stalled.close)
    stalled.sendall(b"\x16\x03\x01\x02\x00\x01")
    equal(harness.Reader(stalled).rest(), b"", "bytes for a handshake that stalls")
    with Client(stack.port) as plain:
        plain.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = plain.reader.rest()
        check(answer == b"" or answer.startswith(b"HTTP/1.1 400"), f"{answer[:100]!r}")
    with Client(stack.path) as over_unix:
        over_unix.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100))
        answer = over_unix.reader.rest()
        check(answer.startswith(b"HTTP/1.1 400"), f"{answer[:100]!r}")
    stack.lines_before = None


@row(51, "an upstream's FIN without close_notify: fine behind a whole body, cut where the end is the end", modes=("tls",))
def no_close_notify(fault):
    stack = fault.stack()

    def script(with_length):
        def run(exchange):
            exchange.read_body()
            length = "Content-Length: 5\r\n" if with_length else ""
            exchange.send(f"HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\nhello")
            # The FIN of the socket itself, without a word of TLS.
            os.dup(exchange.connection.fileno())
            raw = socket.socket(fileno=os.dup(exchange.connection.fileno()))
            raw.shutdown(socket.SHUT_WR)
            raw.close()
            exchange.upstream.over.wait(2)
        return run

    fault.upstream.over = threading.Event()
    fault.cleanups.callback(fault.upstream.over.set)
    fault.upstream.script = script(True)
    response = stack.send(target="/plain", body=b"x")
    equal((response.status, response.body), (200, b"hello"))
    fault.upstream.script = script(False)
    raises_closed(lambda: stack.send(target="/plain", body=b"x"))


@row(52, "a reset in place of close_notify: an error, never an end", modes=("tls",))
def reset_without_notify(fault):
    stack = fault.stack()
    go = threading.Event()
    fault.cleanups.callback(go.set)

    def script(exchange):
        exchange.read_body()
        exchange.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
        go.wait(DEADLINE)
        exchange.reset()

    fault.upstream.script = script
    client = fault.keep(stack.client())
    client.request("POST", "/plain", b"x")
    # The reset follows when the client has its first bytes: one that comes before is a 502.
    _, fields = client.reader.head()
    go.set()
    raises_closed(lambda: b"".join(client.reader.body_pieces(fields)))


@row(53, "a client sends close_notify behind its request and waits: answered", modes=("tls",))
def notify_then_wait(fault):
    stack = fault.stack()
    go = hold_answer(fault, body=b"late answer")
    # openssl sends close_notify when its input ends, and goes on reading.
    client = subprocess.Popen(
        ["openssl", "s_client", "-quiet", "-no_ign_eof", "-connect", f"127.0.0.1:{stack.port}", "-servername", "localhost",
         "-CAfile", fault.certificates.path("ca.pem")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client.stdin.write(b"GET /plain HTTP/1.1\r\nHost: a\r\n\r\n")
    client.stdin.flush()
    fault.upstream.wait_for(1)
    go.set()
    answer = client.stdout.readline()
    check(answer.startswith(b"HTTP/1.1 200"), f"{answer!r}")
    client.stdin.close()
    client.wait(DEADLINE)
    client.stdout.close()
    stack.lines_before = None


class Slicer:
    """A relay between a client and a port that passes bytes on in pieces of `size` and cuts at `limit`, if given."""

    def __init__(self, fault, port, size, limit=None):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.size, self.limit = self.listener.getsockname()[1], port, size, limit
        fault.cleanups.callback(self.listener.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(near, far, self.limit), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, None), daemon=True).start()

    def _pass(self, source, sink, limit):
        passed = 0
        try:
            while data := source.recv(65536):
                for at in range(0, len(data), self.size):
                    piece = data[at:at + self.size]
                    if limit is not None and passed + len(piece) > limit:
                        sink.sendall(piece[:limit - passed])
                        raise OSError
                    sink.sendall(piece)
                    passed += len(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


@row(54, "TLS in pieces of a byte: right; a record that is cut: an error", modes=("tls",))
def sliced_records(fault):
    stack = fault.stack()
    slicer = Slicer(fault, stack.port, 1)
    with SharedTLSClient(slicer.port, fault.certificates.client_context()) as client:
        client.request("POST", "/json", FORM_BODY, FORM)
        equal(client.response().status, 200)
    fault.upstream.reset()
    cutter = Slicer(fault, stack.port, 4096, limit=100_000)
    with SharedTLSClient(cutter.port, fault.certificates.client_context()) as client:
        try:
            client.request("POST", "/patient", bytes(400_000), "application/octet-stream")
        except OSError:
            pass
        raises_closed(client.response)
    received = fault.upstream.one()
    check(not received.is_complete, "what was cut must not be complete")
    stack.lines_before = None


@row(55, "renegotiation is refused; a flood of key updates is bounded", modes=("tls",))
def renegotiation(fault):
    stack = fault.stack()
    client = subprocess.run(
        ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{stack.port}", "-servername", "localhost", "-CAfile",
         fault.certificates.path("ca.pem")], input=b"R\n", capture_output=True, timeout=DEADLINE)
    check(b"no renegotiation" in client.stderr.lower() or b"alert" in client.stderr or b"renegotiat" in client.stderr.lower(),
          lambda: client.stderr[-500:])
    flood = subprocess.Popen(
        ["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{stack.port}", "-servername", "localhost", "-CAfile",
         fault.certificates.path("ca.pem")], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used = stack.processor_seconds()
    try:
        for _ in range(2000):
            flood.stdin.write(b"K\n")
        flood.stdin.flush()
    except OSError:
        pass
    for _ in range(20):
        equal(stack.send().status, 200, "another client meanwhile")
    check(stack.processor_seconds() - used < 3, "the flood costs little")
    flood.kill()
    flood.wait()
    try:
        flood.stdin.close()
    except OSError:
        pass
    stack.lines_before = None


@row(56, "an upstream's certificate is expired, of another name, of an unknown CA: 502 with the reason, well again after", modes=("tls",))
def upstream_certificate(fault):
    routes, upstreams = "", {}
    for name, certificate, expected in (("expired", "expired", "a.example"), ("wrong", "exact", "z.w.example"),
                                        ("unknown", "self", "self.example"), ("app", "server", "localhost")):
        upstream = fault.make_upstream(certificate) if name != "app" else fault.upstream
        upstreams[name] = (f"{{ address: '127.0.0.1:{upstream.port}', idle: 400ms, "
                           f"tls: {{ ca: {fault.certificates.path('ca.pem')}, name: {expected} }} }}")
        if name != "app":
            routes += f"  - {{ name: {name}, match: /{name}, upstream: {name} }}\n"
    stack = fault.stack(routes=routes + ROUTES, upstreams=upstreams)
    for name, word in (("expired", "expired"), ("wrong", "wrong_name"), ("unknown", "self_signed")):
        response = stack.send("GET", f"/{name}", None, None)
        problem(response, 502, "upstream_tls")
        check(response.json["detail"].endswith(f": {word}"), response.json["detail"])
    equal(stack.send().status, 200, "the one that is right")
    # The name of one is mended, and the settings are read again.
    rewrite(stack, "z.w.example", "y.w.example")
    reload(stack)
    equal(stack.send("GET", "/wrong", None, None).status, 200, "after a reload")
    stack.lines_before = None


@row(57, "a certificate's file is replaced by garbage: the old one is kept, and said so; by a good one: taken", modes=("tls",))
def certificate_garbage(fault):
    stack = fault.stack()
    before = served_certificate(stack)
    with open(stack.certificate + ".new", "w") as file:
        file.write("garbage\n")
    os.rename(stack.certificate + ".new", stack.certificate)
    stack.process.send_signal(signal.SIGHUP)
    wait_until(lambda: stack.certificate in stack.error_text(), "the log names the file")
    equal(served_certificate(stack), before, "the certificate that is served")
    for source, target in zip(fault.certificates.pair("next"), (stack.certificate, stack.key)):
        shutil.copy(source, target + ".new")
    os.rename(stack.key + ".new", stack.key)
    os.rename(stack.certificate + ".new", stack.certificate)
    wait_until(lambda: served_certificate(stack) != before, "the new one is served, without a signal")
    stack.lines_before = None


def served_certificate(stack):
    with stack.client() as client:
        return client.socket.getpeercert(binary_form=True)
