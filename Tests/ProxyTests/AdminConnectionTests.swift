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

    @Test("a connection on which a request has just come isn't idle, though nobody has read it yet")
    func justAsked() throws {
        try withRig { rig in
            var pair: [Int32] = [0, 0]
            // SAFETY: two descriptors are written during the call.
            let outcome = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
            try #require(outcome == 0)
            var asked = 0
            let connection = AdminConnection(
                pair[0], loop: rig.loop,
                handle: { _, respond in
                    asked += 1
                    respond(.text("live\n"))
                }, onEnd: { _ in })
            let request = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            // SAFETY: as many bytes are read as the array has.
            let count = unsafe write(pair[1], request, request.count)
            #expect(count == request.count)
            #expect(!connection.closeIfQuiet())
            try rig.until("it is answered") { asked == 1 }
            #expect(connection.closeIfQuiet())
            close(pair[1])
        }
    }

    @Test(
        "one more than there may be takes the place of who asks for nothing, or not for all yet, and of nobody who is being answered"
    )
    func places() throws {
        try withRig { rig in
            var asked = 0
            let door = try AdminDoor(
                loop: rig.loop, address: .tcp(host: "127.0.0.1", port: 0), mode: nil, lifecycle: LifecycleSettings(),
                surface: .status
            ) { _, _, _ in asked += 1 }
            func connect(sending text: String) throws -> RigPeer {
                var outcome: Result<Int32, ConnectError>?
                Connect.start(loop: rig.loop, address: door.address, timeout: 60_000_000_000) { outcome = $0 }
                try rig.until("it is connected") { outcome != nil }
                let peer = RigPeer(loop: rig.loop, descriptor: try #require(outcome).get())
                peer.send(text)
                return peer
            }
            let whole = "GET /live HTTP/1.1\r\nHost: a\r\n\r\n"
            let idle = try connect(sending: "")
            // They come and are read in their order.
            var coming: [RigPeer] = []
            for _ in 0..<2 {
                coming.append(try connect(sending: "GET /li"))
                try rig.pass(20)
            }
            var answered: [RigPeer] = []
            for number in 1...61 {
                answered.append(try connect(sending: whole))
                try rig.until("it is asked") { asked == number }
            }
            for (number, given) in ([idle] + coming).enumerated() {
                #expect(!given.isOver)
                answered.append(try connect(sending: whole))
                try rig.until("it has a place") { given.isOver && asked == 62 + number }
                #expect(door.refused == UInt64(number))
            }
            let further = try connect(sending: whole)
            try rig.until("it has none") { further.isOver }
            #expect(asked == 64 && door.refused == 3)
            #expect(!answered.contains { $0.isOver })
            door.close()
            for peer in answered + coming + [idle, further] { peer.close() }
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

    @Test("an answer may take longer than a request, and the next request has its time again")
    func lateAnswer() throws {
        try withRig { rig in
            var answers: [(AdminResponse) -> Void] = []
            let (peer, connection) = try operate(rig, requestTime: 100_000_000) { _, respond in answers.append(respond)
            }
            for number in 1...2 {
                peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                try rig.until("it is asked") { answers.count == number }
                let begin = rig.loop.now
                while rig.loop.now - begin < 300_000_000 { try rig.pass(40) }
                #expect(!peer.isOver)
                answers[number - 1](.text("late\(number)"))
                try rig.until("it is answered") { peer.text.hasSuffix("late\(number)") }
            }
            // One that doesn't come is not waited for.
            peer.send("GET")
            try rig.until("it is over") { peer.isOver }
            peer.close()
            connection.close()
        }
    }

    @Test("who has gone while the answer is being made is let go of in a request's time")
    func goneWhileAnswering() throws {
        try withRig { rig in
            var ends = 0
            var isAsked = false
            var pair: [Int32] = [0, 0]
            // SAFETY: two descriptors are written during the call.
            let outcome = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
            try #require(outcome == 0)
            let connection = AdminConnection(
                pair[0], loop: rig.loop, requestTime: 100_000_000, handle: { _, _ in isAsked = true },
                onEnd: { _ in ends += 1 })
            let peer = RigPeer(loop: rig.loop, descriptor: pair[1])
            peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            try rig.until("it is asked") { isAsked }
            peer.close()
            try rig.until("it is let go of") { ends == 1 }
            connection.close()
            #expect(ends == 1)
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

    // MARK: Events

    /// An operator's end that has asked for events, and what sends them.
    private func follow(_ rig: ProxyRig) throws -> (peer: RigPeer, connection: AdminConnection, events: AdminEvents) {
        var begun: AdminEvents?
        let (peer, connection) = try operate(rig) { _, respond in respond(.events { begun = $0 }) }
        peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try rig.until("they begin") { begun != nil }
        return (peer, connection, try #require(begun))
    }

    private func transfer(_ id: String, _ bytes: Int, age: UInt64 = 1) -> Transfer {
        Transfer(id: id, route: "r", age: age, bytesIn: bytes, bytesOut: bytes, total: 10)
    }

    @Test("an event is one document behind its name, and the connection ends behind the last")
    func events() throws {
        try withRig { rig in
            let (peer, connection, events) = try follow(rig)
            var ends = 0
            events.onEnd = { ends += 1 }
            #expect(events.hasRoom)
            events.send("a", .object([("text", .text("x\ny"))]))
            events.sendSign()
            events.end()
            events.send("late", .none)
            events.end()
            #expect(!events.hasRoom)
            try rig.until("it is over") { peer.isOver }
            let body = try #require(peer.text.split(separator: "\r\n\r\n", maxSplits: 1).last)
            #expect(body == "event: a\ndata: {\"text\":\"x\\ny\"}\n\n:\n\n")
            #expect(ends == 1)
            peer.close()
            connection.close()
            #expect(ends == 1)
        }
    }

    @Test("who has gone is sent nothing more")
    func goneReader() throws {
        try withRig { rig in
            let (peer, connection, events) = try follow(rig)
            var ends = 0
            events.onEnd = { ends += 1 }
            peer.close()
            try rig.until("it is seen") { ends == 1 }
            #expect(!events.hasRoom)
            events.send("a", .none)
            events.end()
            connection.close()
            #expect(ends == 1)
        }
    }

    @Test("a reader that takes nothing has no room, until it does")
    func slowReader() throws {
        try withRig { rig in
            let (peer, connection, events) = try follow(rig)
            peer.pause()
            let much = AdminValue.text(String(repeating: "x", count: 100_000))
            var sent = 0
            while events.hasRoom {
                events.send("a", much)
                sent += 1
                try #require(sent < 1000)
            }
            peer.resume()
            try rig.until("it has taken them") { events.hasRoom }
            events.send("b", .none)
            try rig.until("all have come") { peer.text.hasSuffix("event: b\ndata: null\n\n") }
            #expect(peer.received.count > sent * 100_000)
            peer.close()
            connection.close()
        }
    }

    @Test("uploads are told at once and when one has changed, not when they only get older")
    func feed() throws {
        try withRig { rig in
            let (peer, connection, events) = try follow(rig)
            var list = TransferList(transfers: [transfer("a", 1)])
            var looks = 0
            var age: UInt64 = 1
            let feed = TransferFollower.feed(
                events, of: TransferSelection(), every: 100_000_000, loop: rig.loop, signTime: 400_000_000
            ) {
                looks += 1
                age += 1
                for index in list.transfers.indices { list.transfers[index] = list.transfers[index].aged(age) }
                $0(list, 0)
            }
            func told(_ name: String) -> Int { peer.text.ranges(of: "event: \(name)\n").count }
            try rig.until("a sign comes") { peer.text.contains("\n:\n") }
            #expect(told("transfers") == 1)
            #expect(looks > 2)
            list.transfers = [transfer("a", 2)]
            try rig.until("the change is told") { told("transfers") == 2 }
            list.transfers = []
            try rig.until("the end is told") { told("transfers") == 3 }
            #expect(told("end") == 0)
            withExtendedLifetime(feed) {}
            peer.close()
            connection.close()
        }
    }

    @Test("a feed of one upload ends with it, and a worker that is silent ends none")
    func feedOfOne() throws {
        try withRig { rig in
            let (peer, connection, events) = try follow(rig)
            var answer: (transfers: [Transfer], missing: Int) = ([], 0)
            let feed = TransferFollower.feed(
                events, of: TransferSelection(id: "a"), every: 100_000_000, loop: rig.loop
            ) { $0(TransferList(transfers: answer.transfers), answer.missing) }
            answer = ([transfer("a", 1)], 0)
            try rig.until("it is told") { peer.text.contains("\"id\":\"a\"") }
            answer = ([], 1)
            try rig.until("that nothing is known of it is told") { peer.text.contains("\"workers_missing\":1") }
            #expect(!peer.isOver)
            answer = ([], 0)
            try rig.until("it is over") { peer.isOver }
            #expect(peer.text.hasSuffix("event: end\ndata: {\"id\":\"a\"}\n\n"))
            withExtendedLifetime(feed) {}
            peer.close()
            connection.close()
        }
    }
}

extension Transfer {
    /// The same, later.
    fileprivate func aged(_ age: UInt64) -> Transfer {
        Transfer(
            id: id, route: route, age: age, bytesIn: bytesIn, bytesOut: bytesOut, total: total, upstream: upstream,
            isHeldBack: isHeldBack)
    }
}
