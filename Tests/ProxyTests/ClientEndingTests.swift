import Proxy
import Testing
import Transcoding

/// What happens when the client goes away.
@Suite struct ClientEndingTests {
    enum Leaving: String, Sendable, CaseIterable {
        case reset, close
    }

    private func leave(_ client: RigPeer, _ how: Leaving) {
        if how == .reset { client.reset() } else { client.close() }
    }

    /// Serves one more request, so that what was reused is seen to be clean.
    private func serveAnother(_ rig: ProxyRig) throws {
        let (request, response, _) = try rig.exchange(post("/", formType, "z=1"))
        #expect(request.text == "z=1")
        #expect(response.text == "ok")
    }

    @Test("in the head: nothing is asked of the upstream", arguments: Leaving.allCases)
    func inHead(how: Leaving) throws {
        try withRig { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHo")
            rig.settle()
            leave(client, how)
            rig.settle()
            #expect(rig.upstreams.isEmpty)
            try serveAnother(rig)
            #expect(try rig.logLines().count == 1)
        }
    }

    @Test(
        "in the body: the upstream's connection is closed before the request's end",
        arguments: Leaving.allCases, [true, false])
    func inBody(how: Leaving, chunked: Bool) throws {
        try withRig { rig in
            let framing = chunked ? "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n" : "Content-Length: 9\r\n\r\nbody"
            let client = try rig.connect(sending: "POST / HTTP/1.1\r\nHost: a\r\n\(framing)")
            let upstream = try rig.upstream()
            try rig.until("part of the body") { upstream.text.contains("body") }
            leave(client, how)
            try rig.until("the upstream's connection ends") { upstream.isOver }
            #expect(!upstream.has())
            try serveAnother(rig)
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 499)
            #expect(line["flags"] as? String == "CD")
        }
    }

    @Test("in a body that is converted: the upstream hears nothing", arguments: Leaving.allCases)
    func inConvertedBody(how: Leaving) throws {
        try withRig([convert(.form, .json, "/c"), forward(index: 1)]) { rig in
            let client = try rig.connect(sending: String(post("/c", formType, "a=1&b=2").dropLast()))
            rig.settle()
            leave(client, how)
            rig.settle()
            #expect(rig.upstreams.isEmpty)
            try serveAnother(rig)
        }
    }

    @Test("F15 while its body is held back: a reset ends the upstream's connection")
    func heldBack() throws {
        try withRig(unix: true) { rig in
            rig.upstreamIsPaused = true
            let client = try rig.connect(sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n")
            client.send([UInt8](repeating: 1, count: 3_000_000))
            let upstream = try rig.upstream()
            rig.settle()
            client.reset()
            rig.settle()
            upstream.resume()
            try rig.until("the upstream's connection ends") { upstream.isOver }
            #expect(!upstream.has())
        }
    }

    @Test("while the upstream is being connected: the attempt is given up")
    func whileConnecting() throws {
        try withRig { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.reset()
            rig.settle()
            for upstream in rig.upstreams { try rig.until("its end") { upstream.isOver } }
            try serveAnother(rig)
        }
    }

    @Test("F15 while the answer is awaited: a reset ends the upstream's connection")
    func awaited() throws {
        try withRig { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            client.reset()
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
            try serveAnother(rig)
            #expect(try rig.logLines().first?["flags"] as? String == "CD")
        }
    }

    @Test("F15 in the response: a reset ends the upstream's connection")
    func inResponse() throws {
        try withRig { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            try rig.until("half of it") { client.text.hasSuffix("half") }
            client.reset()
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
            try serveAnother(rig)
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 200)
            #expect(line["flags"] as? String == "CD")
        }
    }

    @Test("while it reads no response: a reset ends the upstream's connection")
    func inBlockedResponse() throws {
        try withRig(unix: true) { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.pause()
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n")
            rig.upstreams[0].send([UInt8](repeating: 1, count: 5_000_000))
            rig.settle()
            client.reset()
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
        }
    }

    @Test("F17 a FIN after a whole request is no abort: the answer comes, and then the end")
    func halfClosed() throws {
        try withRig([convert(.form, .json, "/c"), forward(index: 1)]) { rig in
            for request in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", post("/c", formType, "a=1")] {
                let client = try rig.connect(sending: request)
                client.halfClose()
                var upstream: RigPeer?
                try rig.until("the request") {
                    upstream = rig.upstreams.first { $0.take() != nil }
                    return upstream != nil
                }
                rig.settle()
                #expect(upstream?.isOver == false)
                upstream?.send(ok)
                #expect(try rig.response(to: client).text == "ok")
                try rig.until("the end") { client.isOver }
                #expect(client.failure == nil)
            }
        }
    }

    @Test("between requests: the connection is closed and nobody is told", arguments: Leaving.allCases)
    func idle(how: Leaving) throws {
        try withRig { rig in
            let (_, _, client) = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            leave(client, how)
            rig.settle()
            #expect(!rig.upstreams[0].isOver)
            try serveAnother(rig)
            #expect(rig.upstreams.count == 1)
        }
    }
}
