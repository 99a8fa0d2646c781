"""An upstream that closes its connections after each answer and doesn't say so, as some servers do."""

import socket
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class SilentCloser:
    """Closes `delay` seconds after an answer; `delay` None: when the next request has come, which is reset."""

    def __init__(self, delay):
        self.delay = delay
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self._read(connection)
                connection.sendall(ANSWER)
                if self.delay is None:
                    # Closed with the request unread: a reset.
                    connection.recv(1, socket.MSG_PEEK)
                elif self.delay:
                    # The delay is the server's own, that of a busy one; nobody waits for it to pass.
                    time.sleep(self.delay)
            except OSError:
                pass

    def _read(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                raise OSError("closed")
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(body) < length:
            body += connection.recv(65536)

    def stop(self):
        self.listener.close()


def load(port, method, clients=8, requests=150):
    """Sends requests over `clients` pooled connections at once. Returns the share that had another answer than 200."""
    body = b"x" if method == "POST" else b""
    length = b"Content-Length: 1\r\n" if body else b""
    request = method.encode() + b" / HTTP/1.1\r\nHost: a\r\n" + length + b"\r\n" + body
    failures = []

    def run():
        connection, reader = None, None
        for _ in range(requests):
            if connection is None:
                connection = socket.create_connection(("127.0.0.1", port), timeout=30)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reader = connection.makefile("rb")
            connection.sendall(request)
            status = reader.readline()
            length, closes = 0, False
            while (line := reader.readline().lower()) not in (b"\r\n", b""):
                length = int(line.split(b":")[1]) if line.startswith(b"content-length") else length
                closes = closes or line.startswith(b"connection: close")
            reader.read(length)
            if b" 200 " not in status:
                failures.append(status)
            if closes or not status:
                connection.close()
                connection = None
        if connection:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(failures) / (clients * requests)
