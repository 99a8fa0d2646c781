import EventLoop
import Gateway
import Proxy
import Testing

/// F23, R33: connections that leave HTTP.
@Suite struct UpgradeTests {
    private func ask(_ protocols: String = "websocket", _ fields: String = "", method: String = "GET") -> String {
        "\(method) /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: \(protocols)\r\n"
            + "Sec-WebSocket-Key: k\r\n\(fields)\r\n"
    }

    private let switched =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: s\r\n\r\n"

    /// A tunnel that has begun: its client and its upstream, with nothing unread.
    private func tunnel(_ rig: ProxyRig, behind: String = "") throws -> (client: RigPeer, upstream: RigPeer) {
        let client = try rig.connect(sending: ask())
        let request = try rig.request()
        #expect(request["Connection"] == "Upgrade" && request["Upgrade"] == "websocket")
        rig.upstreams[0].send(switched + behind)
        let response = try rig.response(to: client)
        #expect(response.status == 101)
        #expect(response["Connection"] == "Upgrade" && response["Upgrade"] == "WebSocket")
        #expect(response["Sec-WebSocket-Accept"] == "s")
        return (client, rig.upstreams[0])
    }

    @Test("F23 after 101 bytes go both ways as they are, until both sides have ended theirs")
    func bothWays() throws {
        try withRig { rig throws in
            let (client, upstream) = try tunnel(rig, behind: "first")
            try rig.until("what came with the 101") { String(decoding: client.rest, as: UTF8.self) == "first" }
            client.send([0x81, 0, 13, 10, 13, 10])
            try rig.until("the client's bytes") { upstream.rest == [0x81, 0, 13, 10, 13, 10] }
            upstream.send("GET / HTTP/1.1\r\n\r\n")
            try rig.until("the upstream's bytes") { client.rest.count == 5 + 18 }
            client.halfClose()
            try rig.until("the client's end") { upstream.hasEnded }
            #expect(!client.isOver)
            upstream.send("late")
            try rig.until("what the upstream still says") { client.rest.suffix(4) == Array("late".utf8)[...] }
            upstream.halfClose()
            try rig.until("the upstream's end") { client.hasEnded }
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 101 && line["flags"] == nil)
            #expect(line["bytes_in"] as? Int == 6)
            #expect(line["bytes_back"] as? Int == 5 + 18 + 4)
        }
    }

    @Test("F23 what the client sends behind its request waits for the 101; without one it is the next request")
    func nothingEarly() throws {
        try withRig { rig throws in
            let client = try rig.connect(sending: ask() + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            let upstream = rig.upstreams[0]
            rig.settle()
            #expect(upstream.rest.isEmpty)
            upstream.send(switched)
            try rig.until("it goes on in the tunnel") {
                upstream.rest.starts(with: Array("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            }
            client.close()
        }
        try withRig { rig throws in
            let client = try rig.connect(sending: ask() + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
            // The connection that was offered another protocol is not used again.
            #expect(try rig.request(on: 1).startLine == "GET /next HTTP/1.1")
            try rig.until("it is closed") { rig.upstreams[0].isOver }
        }
    }

    @Test("F23 a half-close before the 101 is passed on in the tunnel")
    func earlyEnd() throws {
        try withRig { rig throws in
            let client = try rig.connect(sending: ask() + "bye")
            client.halfClose()
            _ = try rig.request()
            rig.settle()
            let upstream = rig.upstreams[0]
            upstream.send(switched)
            try rig.until("the bytes and the end") {
                upstream.hasEnded && String(decoding: upstream.rest, as: UTF8.self) == "bye"
            }
            upstream.close()
        }
    }

    @Test(
        "R33 an upgrade that the route doesn't list, or that has a body, or is h2c, is left out",
        arguments: [
            ("h2c", "HTTP2-Settings: x\r\n", "GET"), ("TLS/1.2", "", "GET"), ("h2c, TLS/1.2", "", "GET"),
            ("websocket", "Content-Length: 0\r\nX-A: 1\r\n", "POST"), ("websocket", "", "OPTIONS"),
        ])
    func ignored(protocols: String, fields: String, method: String) throws {
        try withRig { rig throws in
            let seen = try rig.exchange(ask(protocols, fields, method: method)).request
            #expect(seen["Upgrade"] == nil && seen["Connection"] == nil && seen["HTTP2-Settings"] == nil)
        }
    }

    @Test(
        "R33 of a list goes on what the route allows",
        arguments: ["h2c, websocket", "websocket, h2c", "x,WebSocket ,h2c"])
    func filtered(protocols: String) throws {
        try withRig { rig throws in
            let seen = try rig.exchange(ask(protocols, "HTTP2-Settings: x\r\n", method: "GET")).request
            #expect(seen["Upgrade"] == "websocket" && seen["HTTP2-Settings"] == nil)
        }
    }

    @Test("F23 a route may list other protocols, or none; one that converts has none")
    func lists() throws {
        try withRig([plain { $0.upgrade = ["tls/1.2", "x"] }]) { rig throws in
            let seen = try rig.exchange(ask("websocket, X, tls/1.2")).request
            #expect(seen["Upgrade"] == "tls/1.2|x")
        }
        for route in [try plain { $0.upgrade = [] }, try formToJSON { $0.upgrade = ["websocket"] }] {
            try withRig([route]) { rig throws in
                #expect(try rig.exchange(ask()).request["Upgrade"] == nil)
            }
        }
    }

    @Test(
        "F23 only a 101 to what was offered is one",
        arguments: [
            "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
            "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket, other\r\n\r\n",
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n",
        ])
    func unexpected(answer: String) throws {
        try withRig { rig throws in
            let client = try rig.connect(sending: ask())
            _ = try rig.request()
            rig.upstreams[0].send(answer)
            let response = try rig.response(to: client)
            #expect(response.status == 502)
            #expect(response.text.contains("the upstream's 101 has no Connection: Upgrade, or its Upgrade names no"))
        }
        try withRig { rig throws in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(switched)
            #expect(try rig.response(to: client).status == 502)
        }
    }

    @Test("F23 a side that doesn't read stops the other, and gets all when it reads again", arguments: [true, false])
    func backpressure(clientIsSlow: Bool) throws {
        try withRig(unix: true) { rig throws in
            let (client, upstream) = try tunnel(rig)
            let (slow, fast) = clientIsSlow ? (client, upstream) : (upstream, client)
            slow.pause()
            let piece = [UInt8](repeating: 7, count: 8 * 1024 * 1024)
            fast.send(piece)
            rig.settle()
            #expect(fast.queued > 4 * 1024 * 1024)
            slow.resume()
            try rig.until("all of it") { slow.rest.count == piece.count }
        }
    }

    @Test("F23 when one side fails the other one is reset", arguments: [true, false])
    func failure(ofClient: Bool) throws {
        try withRig { rig throws in
            let (client, upstream) = try tunnel(rig)
            let (failing, other) = ofClient ? (client, upstream) : (upstream, client)
            failing.reset()
            try rig.until("the other one's end") { other.isOver }
            #expect(other.failure != nil)
            #expect(try rig.logLines().first?["flags"] as? String == (ofClient ? "CD" : "UR"))
        }
    }

    @Test("F23 a tunnel without a byte in either direction ends")
    func idle() throws {
        try withRig([plain(timeouts: { $0.tunnel = .milliseconds(300) }) { _ in }]) { rig throws in
            let (client, upstream) = try tunnel(rig)
            for _ in 0..<4 {
                let start = rig.loop.now
                try rig.until("some time passes") { rig.loop.now - start > 150_000_000 || client.isOver }
                upstream.send("x")
            }
            try rig.until("the bytes") { client.rest.count >= 4 }
            try rig.until("the end") { client.isOver && upstream.isOver }
            #expect(try rig.logLines().first?["flags"] as? String == "TI")
        }
    }

    @Test("F23 a tunnel is one of its upstream's connections, and no longer than it lasts", arguments: [true, false])
    func counted(clientEnds: Bool) throws {
        try withRig { rig throws in
            let (client, upstream) = try tunnel(rig)
            let before = rig.worker.upstreams[0]
            #expect(before.connections == 1 && before.inFlight == 1 && before.endpoints[0].inFlight == 1)
            let (ending, other) = clientEnds ? (client, upstream) : (upstream, client)
            ending.reset()
            try rig.until("the other one's end") { other.isOver }
            let after = rig.worker.upstreams[0]
            #expect(after.connections == 0 && after.inFlight == 0)
            #expect(after.endpoints[0].connections == 0 && after.endpoints[0].inFlight == 0)
        }
    }

    @Test("F23 draining ends a tunnel at the grace time")
    func drain() throws {
        try withRig(configure: { $0.grace = .milliseconds(200) }) { rig throws in
            let (client, upstream) = try tunnel(rig)
            var isDrained = false
            rig.drain { isDrained = true }
            rig.settle()
            #expect(!isDrained && !client.isOver)
            client.send("still")
            try rig.until("its bytes") { upstream.rest.count == 5 }
            try rig.until("the end") { isDrained && client.isOver && upstream.isOver }
        }
    }
}
