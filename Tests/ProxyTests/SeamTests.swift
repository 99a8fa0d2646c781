import EventLoop
import Gateway
import Octets
import Testing
import Transcoding

@testable import Proxy

/// What one part of the proxy must know of another: tunnels and pools, reloads and parsers, the end and the log.
@Suite struct SeamTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private let ask =
        "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n"
    private let switched =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"

    private func tunnel(_ rig: ProxyRig) throws -> (client: RigPeer, upstream: RigPeer) {
        let client = try rig.connect(sending: ask)
        _ = try rig.request()
        rig.upstreams[0].send(switched)
        #expect(try rig.response(to: client).status == 101)
        return (client, rig.upstreams[0])
    }

    // MARK: Tunnels

    @Test(
        "F23 a tunnel holds its place among the upstream's connections and requests, and gives it back",
        arguments: 0..<4)
    func tunnelsPlace(ending: Int) throws {
        try withRig { settings in
            settings.upstreams[0].maxConnections = 1
        } _: { rig in
            let (client, upstream) = try tunnel(rig)
            #expect(rig.worker.upstreams[0].connections == 1 && rig.worker.upstreams[0].inFlight == 1)
            #expect(rig.worker.upstreams[0].endpoints[0].connections == 1)
            switch ending {
            case 0: client.reset()
            case 1: upstream.reset()
            case 2: client.close()
            default:
                client.halfClose()
                upstream.halfClose()
            }
            if ending == 2 {
                try rig.until("its end") { upstream.hasEnded }
                upstream.close()
            }
            try rig.until("the tunnel's end") { rig.worker.connections.isEmpty }
            #expect(rig.worker.upstreams[0].connections == 0 && rig.worker.upstreams[0].inFlight == 0)
            #expect(rig.worker.upstreams[0].endpoints[0].inFlight == 0)
            #expect(rig.worker.counters.forwarding.openTunnels == 0)
            // The only connection that may be is to be had again.
            let next = try rig.connect(sending: get)
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: next).status == 200)
        }
    }

    @Test("F23 the time for an exchange ends with the 101: a tunnel has its own")
    func tunnelAndDeadline() throws {
        let route = forward(timeouts: { $0.request = .milliseconds(200) })
        try withRig([route]) { rig in
            let (client, upstream) = try tunnel(rig)
            try rig.pass(400)
            client.send("up")
            try rig.until("it goes on") { upstream.rest.count == 2 }
            client.close()
            upstream.close()
            let lines = try rig.logLines()
            #expect(lines.count == 1 && lines[0]["flags"] == nil && lines[0]["bytes_in"] as? Int == 2)
        }
    }

    // MARK: Reloads

    @Test("an exchange that a reload has met doesn't bring the old limits on heads to the next one")
    func reloadedLimits() throws {
        try withRig { rig in
            let first = try rig.connect(sending: get)
            _ = try rig.request()
            var settings = rig.settings
            settings.admission.head.requestLine = 300
            try rig.worker.adopt(settings)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: first).status == 200)
            first.send("GET /\(String(repeating: "x", count: 400)) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.response(to: first).status == 414)
        }
    }

    @Test("a reload that allows more connections lets those in that wait")
    func reloadedCap() throws {
        try withRig { settings in
            settings.admission.connections = 2
        } _: { rig in
            for _ in 0..<2 { _ = try rig.connect(sending: get) }
            try rig.until("two are served") { rig.upstreams.count == 2 }
            _ = try rig.connect(sending: get)
            rig.settle()
            #expect(rig.upstreams.count == 2)
            var settings = rig.settings
            settings.admission.connections = 100
            try rig.worker.adopt(settings)
            try rig.until("the third is served") { rig.upstreams.count == 3 }
        }
    }

    // MARK: The end

    @Test("what is cut when the grace time is over is logged, and never looks complete", arguments: [0, 200_000])
    func grace(filler: Int) throws {
        // Other times that a slow machine isn't late for: the grace time is what ends both.
        let route = forward { ($0.firstByte, $0.gap) = (.seconds(600), .seconds(600)) }
        try withRig([route]) { settings in
            settings.grace = .milliseconds(200)
            settings.client.write = .seconds(600)
        } _: { rig in
            let waiting = try rig.connect(sending: get)
            _ = try rig.request()
            // Without a length its end is that of the connection: HTTP/1.0 knows no other.
            let old = try rig.connect(sending: "GET /old HTTP/1.0\r\nHost: a\r\n\r\n")
            _ = try rig.request(on: 1)
            rig.upstreams[1].send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            try rig.until("its beginning") { old.text.contains("first") }
            if filler > 0 {
                // Whole at the upstream, but not at the client.
                old.pause()
                let piece = String(repeating: "x", count: 20_000_000)
                rig.upstreams[1].send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n0\r\n\r\n")
                rig.settle()
            }
            var isDrained = false
            rig.drain { isDrained = true }
            try rig.until("the end") { isDrained }
            old.resume()
            try rig.until("both ends") { waiting.isOver && old.isOver }
            #expect(old.failure != nil, "a FIN would be the end of the body")
            let lines = try rig.logLines()
            #expect(lines.count == 2)
            #expect(lines.allSatisfy { $0["flags"] as? String == "GT" })
        }
    }

    // MARK: Memory and the upstream's head

    @Test("a body that has waited for memory doesn't keep its head back", arguments: [false, true])
    func headAfterWait(expects: Bool) throws {
        var options = RouteOptions()
        if expects { options.forwarding.expectContinue = .forward }
        try withRig([forward(options: options)]) { settings in
            settings.memory.bodies = 8 * 1024 * 1024
            settings.memory.wait = .seconds(30)
        } _: { rig in
            let (_, _, client) = try rig.exchange(get)
            rig.settle()
            let budget = rig.worker.memory.budget
            budget.force(budget.limit)
            client.send(
                "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                    + (expects ? "Expect: 100-continue\r\n\r\n" : "\r\n"))
            try rig.pass(100)
            #expect(rig.worker.memory.counters.waited == 1)
            #expect(rig.upstreams[0].rest.isEmpty)
            budget.giveBack(budget.limit)
            let start = rig.loop.now
            try rig.until("the head") {
                rig.upstreams.contains { String(decoding: $0.rest, as: UTF8.self).contains("PUT /") }
                    || rig.loop.now - start > 600_000_000
            }
            #expect(rig.loop.now - start < 600_000_000, "it waited for the body, or for the time of a 100")
            client.close()
        }
    }
}
