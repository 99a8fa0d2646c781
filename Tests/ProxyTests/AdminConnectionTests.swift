import EventLoop
import Gateway
import Glibc
import Octets
import Testing

@testable import Proxy

/// Bounds on what one connection of an operator can ask of the admin port.
@Suite struct AdminConnectionTests {
    /// An operator's end, with what the server answers to each request.
    private func operate(
        _ rig: ProxyRig, requestTime: UInt64 = AdminConnection.requestTime,
        _ handle: @escaping (AdminRequest, @escaping (AdminResponse) -> Void) -> Void
    ) throws -> (peer: RigPeer, connection: AdminConnection) {
        var pair: [Int32] = [0, 0]
        // SAFETY: two descriptors are written during the call.
        let outcome = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
        try #require(outcome == 0)
        let connection = AdminConnection(
            pair[0], loop: rig.loop, requestTime: requestTime, handle: handle, onEnd: { _ in })
        return (RigPeer(loop: rig.loop, descriptor: pair[1]), connection)
    }

    @Test("one who asks and doesn't read gets no further answers before it has")
    func pipelining() throws {
        try withRig { rig in
            var asked = 0
            let page = String(repeating: "x", count: 10_000)
            let (peer, connection) = try operate(rig) { _, respond in
                asked += 1
                respond(.text(page))
            }
            peer.pause()
            peer.send(String(repeating: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", count: 2000))
            try rig.until("some are answered") { asked > 0 }
            try rig.pass(100)
            #expect(asked < 200)
            peer.resume()
            try rig.until("all are answered") { asked == 2000 && peer.received.count > 2000 * 10_000 }
            peer.close()
            connection.close()
        }
    }

    @Test(
        "a request that comes byte by byte has the time of a whole one",
        arguments: ["GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n"])
    func slowRequest(start: String) throws {
        try withRig { rig in
            let (peer, connection) = try operate(rig, requestTime: 300_000_000) { _, _ in }
            peer.send(start)
            let begin = rig.loop.now
            while !peer.isOver, rig.loop.now - begin < 1_500_000_000 {
                try rig.pass(40)
                if !peer.isOver { peer.send("x") }
            }
            #expect(peer.isOver)
            peer.close()
            connection.close()
        }
    }

    @Test(
        "a query's escapes are two hexadecimal digits, no sign",
        arguments: [
            ("a=%2Fb", "a", "/b"), ("a=%+f", "a", "% f"), ("a=%-1", "a", "%-1"), ("%61=b+c", "a", "b c"),
            ("x&&a=1=2", "a", "1=2"), ("a", "a", ""), ("a=%2", "a", "%2"), ("a=1&a=2", "a", "1"),
        ])
    func query(query: String, name: String, value: String) throws {
        try withRig { rig in
            var asked: String??
            let (peer, connection) = try operate(rig) { request, respond in
                asked = .some(request.value(name))
                respond(.text(""))
            }
            peer.send("GET /?\(query) HTTP/1.1\r\nHost: a\r\n\r\n")
            try rig.until("it is asked") { asked != nil }
            #expect(asked == .some(value))
            peer.close()
            connection.close()
        }
    }

    private func request(_ rig: ProxyRig, _ head: String) throws -> AdminRequest {
        var asked: AdminRequest?
        let (peer, connection) = try operate(rig) { request, respond in
            asked = request
            respond(.text(""))
        }
        peer.send(head)
        try rig.until("it is asked") { asked != nil }
        peer.close()
        connection.close()
        return try #require(asked)
    }

    @Test("the port is called by an address, by localhost or by a name that is listed, not by one that leads here")
    func hosts() throws {
        let names = try ["recast.internal", "*.ops.example"].map { try HostPattern(parsing: $0) }
        try withRig { rig in
            for (host, isTaken) in [
                ("127.0.0.1", true), ("127.0.0.1:9901", true), ("[::1]:9901", true), ("[fe80::1]", true),
                ("10.1.2.3:80", true), ("localhost", true), ("LOCALHOST:9901", true), ("localhost.:9901", true),
                ("recast.internal", true), ("Recast.Internal.:9901", true), ("a.ops.example", true),
                ("ops.example", false), ("evil.example", false), ("evil.example:9901", false),
                ("127.0.0.1.evil.example", false), ("localhost.evil.example", false), ("evil-localhost", false),
                ("127.0.0.1.nip.io", false), ("2130706433", false), ("0x7f.1", false), ("recast.internal.evil", false),
            ] {
                let request = try request(rig, "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(request.calls(oneOf: names) == isTaken, "\(host)")
                // The target's host is the one that is meant.
                let absolute = try self.request(rig, "GET http://\(host)/ HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(absolute.calls(oneOf: names) == isTaken, "\(host)")
            }
            #expect(try request(rig, "GET / HTTP/1.0\r\n\r\n").calls(oneOf: []))
        }
    }

    @Test("a page of another site is told apart from a person, a tool and a page of the port's own")
    func sites() throws {
        try withRig { rig in
            for (field, isOther) in [
                ("", false), ("Sec-Fetch-Site: none\r\n", false), ("Sec-Fetch-Site: same-origin\r\n", false),
                ("Sec-Fetch-Site: cross-site\r\n", true), ("sec-fetch-site: same-site\r\n", true),
                ("Sec-Fetch-Site: \r\n", true), ("Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", true),
            ] {
                let request = try request(rig, "GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
                #expect(request.isFromOtherSite == isOther, "\(field)")
            }
        }
    }
}
