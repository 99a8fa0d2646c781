import Proxy
import Testing
import Transcoding

/// Upstreams that close connections after answers without saying so.
@Suite struct ReuseTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"

    private func endpoint(_ rig: ProxyRig) -> EndpointSnapshot { rig.worker.upstreams[0].endpoints[0] }

    /// Serves one request on whatever connection it comes, and returns which one.
    private func serve(_ rig: ProxyRig) throws -> RigPeer {
        var asked: RigPeer?
        try rig.until("a request at the upstream") {
            asked = rig.upstreams.first { !$0.isOver && $0.has() }
            return asked != nil
        }
        let peer = try #require(asked)
        _ = peer.take()
        peer.send(ok)
        return peer
    }

    @Test("H4: repeats of a reused connection's end spend no budget, however many there are at once")
    func repeatsAreFree() throws {
        let count = 60
        try withRig { settings in
            settings.upstreams[0].maxIdlePerLoop = count
        } _: { rig in
            let clients = try (0..<count).map { _ in try rig.connect(sending: get) }
            try rig.until("a connection each") { rig.upstreams.count == count && rig.upstreams.allSatisfy { $0.has() } }
            for peer in rig.upstreams {
                _ = peer.take()
                peer.send(ok)
            }
            for client in clients { #expect(try rig.response(to: client).text == "ok") }
            for client in clients { client.send(get) }
            try rig.until("each is used again") { rig.upstreams.allSatisfy { $0.has() } }
            let first = rig.upstreams
            for peer in first { peer.reset() }
            try rig.until("all are sent again") {
                rig.upstreams.count == 2 * count && rig.upstreams[count...].allSatisfy { $0.has() }
            }
            for peer in rig.upstreams[count...] { peer.send(ok) }
            for client in clients { #expect(try rig.response(to: client).text == "ok") }
            #expect(rig.worker.upstreams[0].retries["stale_connection"] == UInt64(count))
            #expect(rig.worker.upstreams[0].skippedRetries["budget"] == 0)
        }
    }

    @Test(
        "H4: an address whose idle connections end right after their answers is used without reuse, from the third on")
    func silentClose() throws {
        try withRig { rig in
            let client = try rig.connect()
            for number in 1...3 {
                #expect(!endpoint(rig).isReusePaused)
                client.send(post)
                let peer = try serve(rig)
                #expect(try rig.response(to: client).text == "ok")
                peer.halfClose()
                try rig.until("the connection is closed") { peer.isOver }
                #expect(endpoint(rig).isReusePaused == (number == 3))
            }
            #expect(endpoint(rig).reusePauses == 1)
            // Now each request has a connection of its own, closed by us when its answer is whole.
            for _ in 0..<5 {
                client.send(post)
                let peer = try serve(rig)
                #expect(try rig.response(to: client).text == "ok")
                guard endpoint(rig).isReusePaused else { return }
                try rig.until("it isn't kept") { peer.hasEnded }
                #expect(endpoint(rig).idle == 0)
            }
        }
    }

    @Test("H4: a request that dies on a reused connection counts, and few do before connections are no longer reused")
    func deaths() throws {
        try withRig { rig in
            let client = try rig.connect()
            var failures = 0
            for _ in 0..<40 {
                client.send(post)
                var asked: RigPeer?
                try rig.until("a request") {
                    asked = rig.upstreams.first { !$0.isOver && $0.has() }
                    return asked != nil
                }
                let peer = try #require(asked)
                let isSecond = peer.rest.count < peer.received.count
                _ = peer.take()
                // Each connection answers once and ends when something comes after.
                if isSecond { peer.reset() } else { peer.send(ok) }
                let status = try rig.response(to: client).status
                #expect(status == (isSecond ? 502 : 200))
                if isSecond { failures += 1 }
            }
            // Three, and one for each pause that came to its end meanwhile.
            #expect(failures < 10 && endpoint(rig).reusePauses == failures - 2)
        }
    }

    @Test("H4: reuse comes back after the pause, and goes at the first sign")
    func pauseEnds() throws {
        try withRig { rig in
            let client = try rig.connect()
            func once(closing: Bool) throws {
                client.send(get)
                let peer = try serve(rig)
                #expect(try rig.response(to: client).text == "ok")
                if closing {
                    peer.halfClose()
                    try rig.until("the connection is closed") { peer.isOver }
                }
            }
            for _ in 0..<3 { try once(closing: true) }
            #expect(endpoint(rig).isReusePaused)
            try rig.until("the pause is over") { !endpoint(rig).isReusePaused }
            try once(closing: true)
            #expect(endpoint(rig).isReusePaused && endpoint(rig).reusePauses == 2)
        }
    }

    @Test("an upstream that closes after some answers, or after a rest, is reused on")
    func ordinary() throws {
        try withRig { rig in
            let client = try rig.connect()
            for _ in 0..<12 {
                var last: RigPeer?
                for _ in 0..<10 {
                    client.send(get)
                    last = try serve(rig)
                    #expect(try rig.response(to: client).text == "ok")
                }
                last?.halfClose()
                try rig.until("the connection is closed") { last?.isOver == true }
            }
            #expect(endpoint(rig).reusePauses == 0 && rig.upstreams.count == 12)
        }
    }
}
