"""A plain HTTP/1.1 client, for the requests that are looked at rather than measured."""

import socket
import ssl

from processes import BenchError


def read_response(connection):
    """One response: its status, Content-Type and body."""
    data = b""

    def more():
        received = connection.recv(65536)
        if not received:
            raise BenchError(f"the connection was closed before the response was whole; it began with {data[:200]!r}")
        return received

    while b"\r\n\r\n" not in data:
        data += more()
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "content-length" in fields:
        while len(body) < int(fields["content-length"]):
            body += more()
    elif fields.get("transfer-encoding") == "chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += more()
        body = b"".join(chunks(body))
    return int(lines[0].split()[1]), fields.get("content-type", ""), body


def chunks(body):
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size.split(b";")[0], 16)
        if count == 0:
            return
        yield body[:count]
        body = body[count + 2:]


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    # Else a request after a handshake waits for the peer's delayed acknowledgement.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(port, path, body, content_type, *, closes=False):
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n{'Connection: close' + chr(13) + chr(10) if closes else ''}\r\n").encode() + body


def post(connection, port, path, body, content_type):
    connection.sendall(request(port, path, body, content_type))
    return read_response(connection)


def check(server, case):
    """One request that the upstream sends back: the peer must really do what is to be measured."""
    with connect(server.port) as connection:
        exchange_one(connection, server.port, case)


def exchange_one(connection, port, case):
    case.exchange.check(*post(connection, port, f"{case.folder}/echo", case.exchange.sent, case.exchange.content_type))


def tls_context():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def check_secured(server, case):
    """The same over TLS; returns what was agreed on, so that peers that differ aren't compared."""
    port = server.secure_port
    with connect(port) as plain, tls_context().wrap_socket(plain) as connection:
        exchange_one(connection, port, case)
        return f"{connection.version()} {connection.cipher()[0]}"
