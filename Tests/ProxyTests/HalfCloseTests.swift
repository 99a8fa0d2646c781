import Gateway
import Proxy
import Testing

/// F17, F18: ends of one direction.
@Suite struct HalfCloseTests {
    @Test(
        "F17 a client that ends its side gets its answer, or is given up by setting", arguments: HalfCloseRule.allCases)
    func client(rule: HalfCloseRule) throws {
        try withRig([plain { $0.halfClose = rule }]) { rig throws in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.halfClose()
            let peer = try rig.upstream()
            switch rule {
            case .answer:
                _ = try rig.request()
                rig.settle()
                peer.send(ok)
                #expect(try rig.response(to: client).status == 200)
                try rig.until("the end") { client.hasEnded }
            case .abort:
                try rig.until("both connections end") { peer.isOver && client.isOver }
                #expect(client.received.isEmpty)
                let line = try #require(try rig.logLines().first)
                #expect(line["status"] as? Int == 499 && line["flags"] as? String == "CD")
            }
        }
    }

    @Test(
        "F17 where it is given up by setting, also while its content waits here and nothing is read",
        arguments: HalfCloseRule.allCases)
    func paused(rule: HalfCloseRule) throws {
        var options = RouteOptions()
        options.forwarding.halfClose = rule
        // A second for all of it: the end is told in the first pause.
        options.rate.request = 10_000
        let count = 11_000
        try withRig([forward(options: options)]) { rig in
            let client = try rig.connect(
                sending: post("/", "text/plain", String(repeating: "b", count: count)))
            client.halfClose()
            let upstream = try rig.upstream()
            switch rule {
            case .answer:
                #expect(try rig.request().body.count == count)
                upstream.send(ok)
                #expect(try rig.response(to: client).status == 200)
            case .abort:
                try rig.until("both connections end") { upstream.isOver && client.isOver }
                #expect(client.received.isEmpty)
                #expect(upstream.received.count < count, "what the upstream gets is no whole request")
                let line = try #require(try rig.logLines().first)
                #expect(line["status"] as? Int == 499 && line["flags"] as? String == "CD")
            }
        }
    }

    @Test("F18 an upstream that ends its side before it has answered is a 502, while it is still sent to, too")
    func upstream() throws {
        try withRig { rig throws in
            let client = try rig.connect(sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
            let peer = try rig.upstream()
            try rig.until("the head") { peer.text.hasSuffix("abc") }
            peer.halfClose()
            #expect(try rig.response(to: client).status == 502)
        }
        // After a whole answer it only means that nothing more is sent there.
        try withRig { rig throws in
            let (_, first, client) = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(first.status == 200)
            rig.upstreams[0].halfClose()
            rig.settle()
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }
}
