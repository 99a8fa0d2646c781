import Gateway
import Proxy
import Testing
import Transcoding

/// One side that doesn't take bytes stops the other from sending: what waits is bounded, and nothing is lost.
///
/// Unix sockets, because their buffers don't grow: about 200 KiB each.
@Suite struct BackpressureTests {
    /// More than all buffers between the two ends, those of the system included.
    private let large = 6_000_000
    /// What may be on its way: two sockets' buffers, one read of the loop (384 KiB), the queue above its mark (64 KiB).
    private let bound = 1_500_000

    @Test("a client that doesn't read stops the upstream, and gets all when it reads again")
    func slowClient() throws {
        try withRig(unix: true) { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.pause()
            _ = try rig.request()
            let upstream = rig.upstreams[0]
            let body = (0..<large).map { UInt8(truncatingIfNeeded: $0 / 251) }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: \(large)\r\n\r\n")
            upstream.send(body)
            rig.settle()
            #expect(upstream.sent < bound)
            client.resume()
            #expect(try rig.response(to: client).body == body)
            // Nothing of the pause is left: both connections serve the next request.
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            upstream.send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test(
        "F14: a response that is cut waits for a client that doesn't read, and ends short behind all that came",
        arguments: [100, 180, 200, 220, 240, 260, 280, 320, 400, 700])
    func cutForSlowClient(kibibytes: Int) throws {
        try withRig(unix: true) { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.pause()
            _ = try rig.request()
            let upstream = rig.upstreams[0]
            let body = (0..<kibibytes * 1024).map { UInt8(truncatingIfNeeded: $0 / 251) }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count + 1)\r\n\r\n")
            upstream.send(body)
            // Behind what waits there.
            upstream.halfClose()
            rig.settle()
            client.resume()
            try rig.until("the client's connection has ended") { client.isOver }
            #expect(client.failure == nil)
            #expect(client.received.count > body.count && client.received.suffix(body.count) == body[...])
        }
    }

    /// By TCP, whose reset takes away what is on its way.
    @Test("F14, F16: so it does where the client still sends", arguments: [true, false])
    func cutForSendingClient(isPipelined: Bool) throws {
        try withRig { rig in
            let client = try rig.connect()
            client.pause()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(isPipelined ? 3 : 1000)\r\n\r\nabc")
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.text.hasSuffix("abc") }
            let body = (0..<400 * 1024).map { UInt8(truncatingIfNeeded: $0 / 251) }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count + 1)\r\n\r\n")
            upstream.send(body)
            if isPipelined {
                rig.settle()
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            rig.settle()
            upstream.halfClose()
            rig.settle()
            if !isPipelined { client.send("def") }
            rig.settle()
            client.resume()
            try rig.until("the client's connection has ended") { client.isOver }
            #expect(client.failure == nil)
            #expect(client.received.count > body.count && client.received.suffix(body.count) == body[...])
        }
    }

    @Test("an upstream that doesn't read stops the client, and gets all when it reads again", arguments: [true, false])
    func slowUpstream(chunked: Bool) throws {
        try withRig(unix: true) { rig in
            rig.upstreamIsPaused = true
            let body = (0..<large).map { UInt8(truncatingIfNeeded: $0 / 251) }
            let client = try rig.connect()
            if chunked {
                client.send(
                    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(String(large, radix: 16))\r\n")
                client.send(body)
                client.send("\r\n0\r\n\r\n")
            } else {
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(large)\r\n\r\n")
                client.send(body)
            }
            let upstream = try rig.upstream()
            rig.settle()
            #expect(client.sent < bound)
            upstream.resume()
            #expect(try rig.request().body == body)
            upstream.send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("a conversion waits for a slow upstream and goes on", arguments: [true, false])
    func slowUpstreamConverted(streams: Bool) throws {
        var limits = Limits()
        limits.tree = 10_000_000
        limits.field = 10_000_000
        let route = streams ? convert(.json, .form, limits: limits) : convert(.form, .json, limits: limits)
        try withRig([route], unix: true) { rig in
            rig.upstreamIsPaused = true
            let value = String(repeating: "v", count: 2_000_000)
            let document = #"{"a":"\#(value)"}"#
            // With a length it would be held until the upstream's is known.
            let chunked =
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(document.utf8.count, radix: 16))\r\n\(document)\r\n0\r\n\r\n"
            let client = try rig.connect(sending: streams ? chunked : post("/", formType, "a=\(value)"))
            let upstream = try rig.upstream()
            rig.settle()
            #expect(!client.has())
            if streams { #expect(client.sent < bound) }
            upstream.resume()
            #expect(try rig.request().text == (streams ? "a=\(value)" : #"{"a":"\#(value)"}"#))
            upstream.send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test(
        "a body whose last byte fills what may wait is complete all the same",
        arguments: [65_535, 65_536, 65_537, 131_072, 500_000])
    func lastByteFillsTheQueue(count: Int) throws {
        try withRig(unix: true) { rig in
            // While the connection is made, 64 KiB wait.
            let first = try rig.exchange(post("/", "text/plain", String(repeating: "b", count: count)))
            #expect(first.request.body.count == count)
            #expect(first.response.status == 200)
            // On an open one that takes nothing for now, what the socket doesn't take waits.
            rig.upstreams[0].pause()
            first.client.send(post("/", "text/plain", String(repeating: "c", count: count)))
            rig.settle()
            rig.upstreams[0].resume()
            #expect(try rig.request().body.count == count)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: first.client).status == 200)
        }
    }

    @Test("while the upstream isn't connected, no more than 64 KiB of a body wait")
    func connecting() throws {
        try withRig(unix: true) { rig in
            let body = String(repeating: "b", count: large)
            let client = try rig.connect(sending: post("/", "text/plain", body))
            #expect(try rig.request().body.count == large)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test("an upstream that takes no bytes of a request is given up", arguments: ["plain", "streamed", "tree"])
    func stuckUpstream(kind: String) throws {
        var limits = Limits()
        limits.tree = 10_000_000
        limits.field = 10_000_000
        let value = String(repeating: "v", count: 3_000_000)
        let (route, request) =
            switch kind {
            case "plain": (forward { $0.gap = .milliseconds(40) }, post("/", formType, value))
            case "streamed":
                (
                    convert(.json, .form, limits: limits) { $0.gap = .milliseconds(40) },
                    post("/", jsonType, #"{"a":"\#(value)"}"#)
                )
            default:
                (
                    convert(.form, .json, limits: limits) { $0.gap = .milliseconds(40) },
                    post("/", formType, "a=\(value)")
                )
            }
        try withRig([route], unix: true) { rig in
            rig.upstreamIsPaused = true
            let client = try rig.connect(sending: request)
            let response = try rig.response(to: client)
            #expect(response.status == 504)
            let upstream = try rig.upstream()
            upstream.resume()
            try rig.until("the upstream's connection ends") { upstream.isOver }
            #expect(!upstream.has())
        }
    }

    @Test("a client that takes no bytes of a response is cut with a reset, and the upstream let go")
    func stuckClient() throws {
        try withRig(unix: true) { settings in
            settings.client.write = .milliseconds(40)
        } _: { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.pause()
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: \(large)\r\n\r\n")
            rig.upstreams[0].send([UInt8](repeating: 1, count: large))
            try rig.until("the upstream is let go") { rig.upstreams[0].isOver }
            client.resume()
            try rig.until("the client's connection ends") { client.isOver }
            #expect(!client.has())
            let line = try #require(try rig.logLines().first)
            #expect(line["flags"] as? String == "CS")
        }
    }
}
