import EventLoop
import Glibc
import Proxy
import Testing
import Transcoding

/// What the client gets when the upstream fails, phase by phase.
@Suite struct UpstreamEndingTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func expectProblem(
        _ response: RigMessage, _ status: Int, _ code: String, location: SourceLocation = #_sourceLocation
    ) {
        #expect(response.status == status, sourceLocation: location)
        #expect(response.text.contains(#""code":"\#(code)""#), "\(response.text)", sourceLocation: location)
    }

    @Test("nobody listens: 502, and the client's connection goes on")
    func unreachable() throws {
        try withRig { settings in
            settings.upstreams[0].addresses = [.unix(path: "/nonexistent/socket")]
        } _: { rig in
            let client = try rig.connect(sending: get)
            expectProblem(try rig.response(to: client), 502, "upstream_unreachable")
            client.send(post("/", "text/plain", "body") + get)
            expectProblem(try rig.response(to: client), 502, "upstream_unreachable")
            expectProblem(try rig.response(to: client), 502, "upstream_unreachable")
            let lines = try rig.logLines()
            #expect(lines.count == 3)
            for line in lines { #expect(line["flags"] as? String == "UF") }
        }
    }

    @Test("no connection within its time: 504")
    func connectTimeout() throws {
        let path = "/tmp/recast-full-\(UInt32.random(in: 0 ... .max))"
        try withRig { settings in
            settings.upstreams[0].addresses = [.unix(path: path)]
            settings.upstreams[0].connect = .milliseconds(60)
        } _: { rig in
            // A listener that accepts nobody, with its backlog filled.
            let full = try Listener(loop: rig.loop, address: SocketAddress(unixPath: path), backlog: 0) {
                descriptor, _ in
                close(descriptor)
            }
            full.pause()
            var filling: [Int32] = []
            Connect.start(loop: rig.loop, address: full.address, timeout: second) { result in
                if case .success(let descriptor) = result { filling.append(descriptor) }
            }
            try rig.until("the backlog is full") { filling.count == 1 }
            let client = try rig.connect(sending: get)
            expectProblem(try rig.response(to: client), 504, "upstream_connect_timeout")
            close(filling[0])
            full.close()
            #expect(try rig.logLines().first?["flags"] as? String == "UT")
        }
    }

    @Test(
        "the connection ends without an answer, or in its head: 502",
        arguments: ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nA: b\r\n"])
    func closedBeforeHead(sent: String) throws {
        for reset in [false, true] {
            try withRig { rig in
                let client = try rig.connect(sending: get)
                _ = try rig.request()
                rig.upstreams[0].send(sent)
                rig.settle()
                if reset { rig.upstreams[0].reset() } else { rig.upstreams[0].close() }
                expectProblem(try rig.response(to: client), 502, "upstream_closed")
                client.send(get)
                _ = try rig.request(on: 1)
                rig.upstreams[1].send(ok)
                #expect(try rig.response(to: client).text == "ok")
                #expect(try rig.logLines().first?["flags"] as? String == "UR")
            }
        }
    }

    @Test("F18 the connection ends while the request is still sent: 502", arguments: [true, false])
    func closedInRequest(reset: Bool) throws {
        try withRig { rig in
            let request = post("/", "text/plain", String(repeating: "b", count: 400_000))
            let client = try rig.connect(sending: String(request.dropLast(200_000)))
            let upstream = try rig.upstream()
            try rig.until("part of the body") { upstream.received.count > 10_000 }
            if reset { upstream.reset() } else { upstream.close() }
            expectProblem(try rig.response(to: client), 502, "upstream_closed")
            try rig.until("the end") { client.isOver }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test(
        "what can't be read as a response: 502",
        arguments: [
            "hello\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 40),
        ])
    func unreadable(answer: String) throws {
        try withRig { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.0\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(answer)
            expectProblem(try rig.response(to: client), 502, "upstream_bad_response")
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
            #expect(try rig.logLines().first?["flags"] as? String == "UB")
        }
    }

    enum Framing: String, Sendable, CaseIterable {
        case length, chunked, untilClose

        var head: String {
            switch self {
            case .length: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
            case .chunked: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
            case .untilClose: "HTTP/1.1 200 OK\r\n\r\nhalf"
            }
        }
    }

    @Test(
        "the connection breaks in the response's body: the client's is cut so that it sees that",
        arguments: Framing.allCases)
    func cut(framing: Framing) throws {
        for version in ["1.1", "1.0"] {
            try withRig { rig in
                let client = try rig.connect(sending: "GET / HTTP/\(version)\r\nHost: a\r\n\r\n")
                _ = try rig.request()
                rig.upstreams[0].send(framing.head)
                try rig.until("half of it") { client.text.contains("half") }
                rig.upstreams[0].reset()
                try rig.until("the end") { client.isOver }
                #expect(!client.text.contains("0\r\n\r\n"))
                if framing == .length || version == "1.1" {
                    // The framing shows the cut.
                    #expect(!client.has())
                } else {
                    #expect(client.failure == ECONNRESET)
                }
                let line = try #require(try rig.logLines().first)
                #expect(line["flags"] as? String == "UR")
                #expect(line["status"] as? Int == 200)
            }
        }
    }

    @Test("F14 a FIN in a framed body is a cut", arguments: [Framing.length, .chunked])
    func shortBody(framing: Framing) throws {
        try withRig { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send(framing.head)
            rig.upstreams[0].close()
            try rig.until("the end") { client.isOver }
            #expect(client.text.contains("half"))
            #expect(!client.has())
        }
    }

    @Test("F14 a chunk that can't be read in the middle of a body is a cut")
    func badChunk() throws {
        try withRig { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nxyz\r\n")
            try rig.until("the end") { client.isOver }
            #expect(!client.has())
            #expect(!client.text.contains("0\r\n\r\n"))
            #expect(try rig.logLines().first?["flags"] as? String == "UB")
        }
    }
}

let second: UInt64 = 1_000_000_000
