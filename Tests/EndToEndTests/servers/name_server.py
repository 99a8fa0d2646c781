"""A name server on loopback for tests: one port for UDP and TCP, one answer to every question, changed at will."""

import socket
import struct
import threading


class NameServer:
    """`addresses`: those of every name that `named` has none for; a name that has None there doesn't exist. `manner`: answers, nxdomain, servfail, silent. Long answers are cut over UDP."""

    def __init__(self, addresses=(), manner="answers", ttl=1):
        self.addresses, self.manner, self.ttl = list(addresses), manner, ttl
        self.named = {}
        self.alias_ttl = None  # of a CNAME that every name has, to one whose addresses live for `ttl`
        self.short = set()  # kinds whose answers count more records than they have, as 28 for AAAA
        self.ignored = set()  # questions that are never answered: kinds, as 28 for AAAA, or (name, kind)
        self.asked = set()
        self.questions = 0
        self.questions_over_tcp = 0
        while True:
            self.tcp = socket.socket()
            self.tcp.bind(("127.0.0.1", 0))
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                self.udp.bind(self.tcp.getsockname())
                break
            except OSError:
                self.tcp.close()
                self.udp.close()
        self.tcp.listen(16)
        self.port = self.tcp.getsockname()[1]
        threading.Thread(target=self._serve_udp, daemon=True).start()
        threading.Thread(target=self._serve_tcp, daemon=True).start()

    def stop(self):
        for one in (self.udp, self.tcp):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def _answer(self, question, limit):
        end, labels = 12, []
        while question[end]:
            labels.append(question[end + 1:end + 1 + question[end]].decode())
            end += question[end] + 1
        name = ".".join(labels).lower()
        self.asked.add(name)
        kind = struct.unpack("!H", question[end + 1:end + 3])[0]
        end += 5
        if kind in self.ignored or (name, kind) in self.ignored:
            return b""
        families = {1: socket.AF_INET, 28: socket.AF_INET6}
        named = self.named.get(name, self.addresses)
        addresses = named or [] if kind in families and self.manner == "answers" else []
        addresses = [address for address in addresses if (":" in address) == (kind == 28)]
        code = {"nxdomain": 3, "servfail": 2}.get(self.manner, 3 if named is None else 0)
        flags = 0x8180 | code
        packed = [socket.inet_pton(families[kind], address) for address in addresses]
        owner, records, count = b"\xc0\x0c", b"", len(addresses)
        if self.alias_ttl is not None and addresses:
            owner = b"\x05alias\x04test\x00"
            records, count = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, self.alias_ttl, len(owner)) + owner, count + 1
        records += b"".join(owner + struct.pack("!HHIH", kind, 1, self.ttl, len(one)) + one for one in packed)
        count += 2 if kind in self.short else 0
        if limit and len(records) > limit:
            flags, records, count = flags | 0x0200, b"", 0
        return question[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + question[12:end] + records

    def _serve_udp(self):
        while True:
            try:
                question, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            self.questions += 1
            if self.manner != "silent" and question and (answer := self._answer(question, 450)):
                self.udp.sendto(answer, peer)

    def _serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_connection, args=(connection,), daemon=True).start()

    def _serve_connection(self, connection):
        with connection, connection.makefile("rb") as stream:
            while len(size := stream.read(2)) == 2:
                question = stream.read(struct.unpack("!H", size)[0])
                self.questions_over_tcp += 1
                answer = self._answer(question, None)
                connection.sendall(struct.pack("!H", len(answer)) + answer)
