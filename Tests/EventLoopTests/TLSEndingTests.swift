import EventLoop
import Glibc
import Octets
import Testing

@Suite struct TLSEndings {
    @Test func `F17 each side ends by itself`() throws {
        try withSecurePair { pair in
            pair.client.write("request")
            pair.client.shutdownWrite()
            pair.until { pair.atServer.probe.ends == 1 }
            #expect(pair.atServer.probe.bytes.text == "request")
            #expect(pair.server.isEnded)
            #expect(!pair.server.isTruncated)
            pair.server.write("answer")
            pair.server.close()
            pair.until { pair.atClient.probe.ends == 1 }
            #expect(pair.atClient.probe.bytes.text == "answer")
            #expect(!pair.client.isTruncated)
        }
    }

    @Test(arguments: [1, 3], [false, true])
    func `an ending comes behind what the tick has written`(_ writes: Int, _ closes: Bool) throws {
        try withSecurePair { pair in
            pair.until { pair.isSecured }
            pair.loop.afterTick(
                AtTickEnd {
                    for number in 0..<writes { pair.server.write("answer \(number), ") }
                    if closes { pair.server.close() } else { pair.server.shutdownWrite() }
                })
            pair.until { pair.atClient.probe.ends == 1 }
            #expect(pair.atClient.probe.bytes.text == (0..<writes).map { "answer \($0), " }.joined())
            #expect(!pair.client.isTruncated)
            #expect(pair.atClient.probe.failures.isEmpty)
        }
    }

    @Test(arguments: [false, true]) func `an end that may be a cut is told by no close_notify`(_ closes: Bool) throws {
        try withSecurePair(tcp: true) { pair in
            pair.server.write("a part")
            pair.server.shutdownWrite(cut: true)
            if closes { pair.server.close() }
            pair.until { pair.atClient.probe.ends == 1 }
            #expect(pair.atClient.probe.bytes.text == "a part")
            #expect(pair.client.isTruncated)
            #expect(pair.atClient.probe.failures.isEmpty)
        }
    }

    @Test func `a reset comes behind what the tick has written, and is no clean end`() throws {
        try withSecurePair(tcp: true) { pair in
            pair.loop.afterTick(
                AtTickEnd {
                    pair.server.write("a part")
                    pair.server.abort()
                })
            pair.until { !pair.atClient.probe.failures.isEmpty }
            #expect(pair.atClient.probe.bytes.text == "a part")
            #expect(pair.atClient.probe.ends == 0)
        }
    }

    @Test func `row 51 a FIN without close_notify is an end that somebody may have made`() throws {
        try withRelayedPair { pair, relay in
            pair.server.write("a part")
            pair.until { pair.atClient.probe.bytes.count == 6 }
            relay.cutClient(reset: false)
            pair.until { pair.atClient.probe.ends == 1 }
            #expect(pair.client.isTruncated)
            #expect(pair.atClient.probe.failures.isEmpty)
            #expect(pair.atClient.probe.bytes.text == "a part")
        }
    }

    /// Another connection's bytes let it read on, in the tick in which the end is there, too; as in `StreamEnding`.
    @Test(arguments: [false, true]) func `no end comes before what an owner has left who reads on`(_ isReset: Bool)
        throws
    {
        try withRelayedPair { pair, relay in
            let (near, far) = try tcpPair()
            let (probe, other) = (pair.atClient.probe, Probe())
            let otherStream = Stream(loop: pair.loop, descriptor: near, handler: other)
            var events: [String] = []
            probe.onReceived = { bytes, stream in
                events.append("received \(bytes.count)")
                // Once more it isn't ready, and then it takes all.
                guard events.count <= 2 else { return bytes.count }
                stream.pauseReading()
                put("x", to: far)
                guard events.count == 1 else { return 0 }
                relay.cutClient(reset: isReset)
                return 2
            }
            other.onReceived = { bytes, _ in
                pair.client.resumeReading()
                return bytes.count
            }
            probe.onEnded = { _ in events.append("ended") }
            probe.onFailed = { _ in events.append("failed") }
            pair.server.write("a part")
            pair.until { events.contains("ended") || events.contains("failed") }
            #expect(events == ["received 6", "received 4", "received 4", isReset ? "failed" : "ended"])
            #expect(probe.bytes.text == "a part")
            #expect(isReset || pair.client.isTruncated)
            otherStream.close()
            close(far)
            other.forget()
        }
    }

    @Test func `row 52 a reset is an error`() throws {
        try withRelayedPair { pair, relay in
            relay.cutClient(reset: true)
            pair.until { !pair.atClient.probe.failures.isEmpty }
            #expect(pair.atClient.probe.failures == [ECONNRESET])
            #expect(pair.atClient.probe.ends == 0)
        }
    }

    @Test func `row 54 a record that is cut is a truncated end, one that is changed an error`() throws {
        for changes in [false, true] {
            try withRelayedPair { pair, relay in
                let content = [UInt8](repeating: 7, count: 16_384)
                var isDone = false
                relay.changeAnswers { bytes, relay in
                    guard !isDone else { return changes ? bytes : [] }
                    isDone = true
                    var bytes = bytes
                    if changes {
                        bytes[bytes.count / 2] ^= 1
                    } else {
                        bytes.removeLast(100)
                        pair.loop.afterTick(AtTickEnd { relay.cutClient(reset: false) })
                    }
                    return bytes
                }
                pair.server.write(content.span)
                pair.until { pair.atClient.probe.ends == 1 || !pair.atClient.probe.failures.isEmpty }
                // Nothing of a record that isn't whole and sound.
                #expect(pair.atClient.probe.bytes.isEmpty)
                #expect(pair.client.isTruncated == !changes)
                #expect(pair.atClient.probe.failures == (changes ? [EPROTO] : []))
                if changes { #expect(pair.client.tlsError?.word == "protocol") }
                pair.atClient.probe.forget()
                relay.changeAnswers { bytes, _ in bytes }
            }
        }
    }

    @Test(arguments: [false, true]) func `a connection that ends in the handshake failed`(_ reset: Bool) throws {
        try withRelayedPair(waits: false) { pair, relay in
            relay.changeAnswers { _, relay in
                relay.cutClient(reset: reset)
                return []
            }
            pair.until { !pair.atClient.probe.failures.isEmpty }
            #expect(pair.client.tlsError?.word == (reset ? "reset" : "closed"))
            #expect(pair.atClient.probe.ends == 0)
            relay.changeAnswers { bytes, _ in bytes }
        }
    }

    @Test func `an abort resets`() throws {
        try withSecurePair(tcp: true) { pair in
            pair.server.abort()
            pair.until { !pair.atClient.probe.failures.isEmpty }
            #expect(pair.atClient.probe.failures == [ECONNRESET])
        }
    }

    /// Each callback that a handler may close in.
    enum Place: CaseIterable { case secured, received, ended, drained }

    @Test(arguments: Place.allCases, [false, true])
    func `closing inside any callback is safe`(_ place: Place, aborts: Bool) throws {
        try withSecurePair(buffer: 4096, waits: false) { pair in
            func end(_ stream: Stream) {
                aborts ? stream.abort() : stream.close()
                stream.write("nothing")
                stream.resumeReading()
                stream.shutdownWrite()
            }
            if place == .secured { pair.atClient.onSecured = end }
            pair.atClient.probe.onReceived = { bytes, stream in
                if place == .received { end(stream) }
                return bytes.count
            }
            pair.atClient.probe.onEnded = { stream in if place == .ended { end(stream) } }
            pair.atClient.probe.onDrained = { stream in if place == .drained { end(stream) } }
            switch place {
            case .secured: break
            case .received, .ended:
                pair.server.write("bytes")
                pair.server.shutdownWrite()
            case .drained: pair.client.write([UInt8](repeating: 1, count: 300_000).span)
            }
            pair.until { pair.client.isClosed }
            pair.until { pair.atServer.probe.ends == 1 || !pair.atServer.probe.failures.isEmpty }
            #expect(pair.atClient.probe.failures.isEmpty)
        }
    }

    @Test func `a handshake as a step of its own`() throws {
        try withLoop { loop in
            let context = try TLSClientContext(clientOptions())
            let server = try TLSServerContext(serverOptions("server"))
            for (endpoint, word) in [("a.example", nil), ("c.example", "wrong_name")] as [(String, String?)] {
                let (near, far) = socketPair()
                let peer = Stream(loop: loop, descriptor: near, tls: .server(server), handler: SecureProbe())
                let handshake = TLSHandshake(
                    loop: loop, descriptor: far, context: context, endpoint: endpoint, timeout: 5 * second
                ) { result in
                    switch result {
                    case .success(let stream):
                        #expect(word == nil)
                        #expect(stream.tlsFacts != nil)
                        stream.close()
                    case .failure(let error): #expect(error.word == word)
                    }
                    loop.stop()
                }
                loop.run()
                peer.close()
                handshake.cancel()
            }
        }
    }

    @Test func `row 50 a handshake that stalls has a deadline`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let handshake = TLSHandshake(
                loop: loop, descriptor: far, context: try TLSClientContext(clientOptions()), endpoint: "a.example",
                timeout: second / 10
            ) { result in
                if case .failure(let error) = result {
                    #expect(error.word == "handshake_timeout")
                } else {
                    Issue.record("it succeeded")
                }
                loop.stop()
            }
            loop.run()
            handshake.cancel()
            close(near)
        }
    }
}
