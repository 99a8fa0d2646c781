import EventLoop
import Glibc
import Octets
import Testing

/// What holds of plain streams holds of those that speak TLS.
@Suite struct TLSStreams {
    private static func pattern(_ count: Int) -> [UInt8] {
        var state: UInt32 = 12345
        return (0..<count).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [4096, nil] as [Int32?])
    func `much goes both ways at once, within the watermarks`(_ version: TLSVersion, _ buffer: Int32?) throws {
        let content = Self.pattern(600_000)
        var options = serverOptions("server")
        options.maximum = version
        try withSecurePair(server: options, buffer: buffer) { pair in
            var highest = 0
            func pump(_ stream: Stream, _ at: inout Int) {
                while at < content.count, !stream.isAboveHighWatermark {
                    let end = min(at + 40_000, content.count)
                    stream.write(content.span.extracting(at..<end))
                    highest = max(highest, stream.queued)
                    at = end
                }
            }
            var up = 0
            var down = 0
            pair.atClient.probe.onDrained = { pump($0, &up) }
            pair.atServer.probe.onDrained = { pump($0, &down) }
            pump(pair.client, &up)
            pump(pair.server, &down)
            pair.until {
                pair.atServer.probe.bytes.count == content.count && pair.atClient.probe.bytes.count == content.count
            }
            #expect(pair.atServer.probe.bytes == content)
            #expect(pair.atClient.probe.bytes == content)
            // One write more than the mark, and what TLS adds to it.
            #expect(highest < Stream.highWatermark + 42_000)
            if buffer != nil { #expect(pair.atClient.probe.drains > 0) }
        }
    }

    @Test(arguments: [1, 7, 1000]) func `records that come in slices`(_ slice: Int) throws {
        let content = Self.pattern(slice == 1 ? 3000 : 100_000)
        try withRelayedPair(prepare: { $0.slice = slice }) { pair, _ in
            pair.server.write(content.span)
            pair.until { pair.atClient.probe.bytes.count == content.count }
            #expect(pair.atClient.probe.bytes == content)
        }
    }

    @Test func `a paused stream hands over nothing, and everything afterwards`() throws {
        let content = Self.pattern(700_000)
        try withSecurePair { pair in
            pair.client.pauseReading()
            var at = 0
            func pump(_ stream: Stream) {
                while at < content.count, !stream.isAboveHighWatermark {
                    let end = min(at + 10_000, content.count)
                    stream.write(content.span.extracting(at..<end))
                    at = end
                }
            }
            pair.atServer.probe.onDrained = { pump($0) }
            pump(pair.server)
            pair.until { pair.server.isAboveHighWatermark }
            #expect(pair.atClient.probe.bytes.isEmpty)
            pair.client.resumeReading()
            pair.until { pair.atClient.probe.bytes.count == content.count }
            #expect(pair.atClient.probe.bytes == content)
        }
    }

    @Test(arguments: [1, 100, 16_384, 60_000]) func `what the handler leaves comes again, also when nothing follows`(
        _ appetite: Int
    ) throws {
        let content = Self.pattern(appetite == 1 ? 5000 : 300_000)
        try withSecurePair { pair in
            pair.atClient.probe.onReceived = { bytes, stream in
                let used = min(appetite, bytes.count)
                // Paused with bytes of the same record left: nobody but the stream knows of them.
                stream.pauseReading()
                stream.loop.afterTick(AtTickEnd { stream.resumeReading() })
                return used
            }
            pair.server.write(content.span)
            pair.server.shutdownWrite()
            pair.until { pair.atClient.probe.ends == 1 }
            pair.until { pair.atClient.probe.bytes.count == content.count }
            #expect(pair.atClient.probe.bytes == content)
            #expect(!pair.client.isTruncated)
        }
    }

    @Test func `two small pieces are one record, and larger ones fill their records`() throws {
        try withSecurePair { pair in
            let head = Self.pattern(300)
            for size in [1, 16_083, 16_084, 16_085, 40_000] {
                let before = pair.atClient.probe.bytes.count
                let body = Self.pattern(size)
                let sent = pair.server.bytesWritten
                pair.server.write(head.span, body.span)
                pair.until { pair.atClient.probe.bytes.count == before + head.count + size }
                #expect(Array(pair.atClient.probe.bytes[before...]) == head + body)
                // 22 bytes for each record of TLS 1.3 with AES-GCM.
                let records = (head.count + size + 16_383) / 16_384
                #expect(Int(pair.server.bytesWritten - sent) == head.count + size + 22 * records, "\(size)")
            }
        }
    }

    @Test(arguments: [100_000, 262_144, 262_145, 3_000_000])
    func `more than is made into records at a time comes whole, and its memory stays`(_ size: Int) throws {
        try withSecurePair(buffer: 4096) { pair in
            let head = Self.pattern(300)
            let body = Self.pattern(size)
            var content = OutputBuffer()
            content.append(body.span)
            pair.server.write(head.span, taking: &content)
            #expect(content.isEmpty)
            #expect(pair.server.queued > 50_000)
            pair.server.write("after")
            pair.until { pair.atClient.probe.bytes.count == head.count + size + 5 }
            #expect(pair.atClient.probe.bytes == head + body + Array("after".utf8))
        }
    }

    @Test func `a queue that runs empty tells so`() throws {
        try withSecurePair(buffer: 4096) { pair in
            pair.client.pauseReading()
            var buffer = OutputBuffer()
            buffer.append(Self.pattern(50_000).span)
            pair.server.write(&buffer)
            #expect(buffer.isEmpty)
            #expect(pair.server.queued > 0)
            pair.server.tellEmpty()
            pair.client.resumeReading()
            pair.until { pair.atServer.probe.drains == 1 }
            #expect(pair.server.queued == 0)
        }
    }

    @Test func `tickets don't disturb the quiet, bytes do`() throws {
        try withSecurePair(waits: false) { pair in
            // The client isn't told by its loop what came: it has to look itself.
            pair.until { pair.atClient.facts != nil }
            pair.client.pauseReading()
            pair.until { pair.atServer.facts != nil }
            #expect(pair.client.isQuiet)
            #expect(pair.client.bytesRead > 1000)
            pair.server.write("uninvited")
            #expect(!pair.client.isQuiet)
            #expect(pair.client.pendingCount == 9)
            pair.client.resumeReading()
            pair.until { pair.atClient.probe.bytes.text == "uninvited" }
            pair.server.close()
            #expect(!pair.client.isQuiet)
            pair.until { pair.atClient.probe.ends == 1 }
            #expect(!pair.client.isTruncated)
        }
    }

    @Test func `the peer of a paused stream is seen to leave`() throws {
        try withSecurePair(tcp: true) { pair in
            pair.client.pauseReading()
            pair.server.close()
            pair.until { pair.atClient.probe.peerGones == 1 }
            #expect(pair.atClient.probe.ends == 0)
            pair.client.resumeReading()
            pair.until { pair.atClient.probe.ends == 1 }
        }
    }

    @Test func `F16 plain text on the port of TLS reads its answer, however much it has sent by then`() throws {
        try withLoop { loop in
            var options = serverOptions("server")
            options.plainTextAnswer = Array("speak up".utf8)
            let context = try TLSServerContext(options)
            let (near, far) = try tcpPair()
            let server = SecureProbe()
            server.lingers = true
            let client = Probe()
            client.onEnded = { $0.close() }
            server.probe.onEnded = { _ in loop.stop() }
            let accepted = Stream(loop: loop, descriptor: near, tls: .server(context), handler: server)
            let stream = Stream(loop: loop, descriptor: far, handler: client)
            let head = Array("POST / HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n".utf8)
            let content = head + [UInt8](repeating: 7, count: 4 << 20)
            stream.write(content.span)
            loop.run()
            #expect(client.bytes.text == "speak up")
            #expect(client.failures.isEmpty)
            #expect(accepted.tlsError?.word == "plain_text")
            #expect(server.probe.failures.isEmpty)
            accepted.close()
            server.probe.forget()
            client.forget()
        }
    }

    @Test func `plain text on the port of TLS is answered`() throws {
        try withLoop { loop in
            var options = serverOptions("server")
            options.plainTextAnswer = Array("speak up".utf8)
            let context = try TLSServerContext(options)
            let (near, far) = try tcpPair()
            let server = SecureProbe()
            let client = Probe()
            server.probe.onFailed = { stream in
                #expect(stream.tlsError?.word == "plain_text")
            }
            client.onEnded = { _ in loop.stop() }
            _ = Stream(loop: loop, descriptor: near, tls: .server(context), handler: server)
            let stream = Stream(loop: loop, descriptor: far, handler: client)
            stream.write("GET / HTTP/1.1\r\n\r\n")
            loop.run()
            #expect(client.bytes.text == "speak up")
            #expect(server.probe.failures == [EPROTO])
            stream.close()
            server.probe.forget()
            client.forget()
        }
    }

    @Test(
        arguments: [
            ("get / HTTP/1.1\r\n\r\n", "plain_text", "speak up"),
            ("\r\nPOST / HTTP/1.1\r\n\r\n", "plain_text", "speak up"),
            ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "proxy_header", "no header"),
            ("\r\n\r\n\0\r\nQUIT\n!\u{11}\0\u{c}123456789012", "proxy_header", "no header"),
        ], [false, true])
    func `what is spoken in the place of TLS is told and answered`(
        _ row: (text: String, word: String, answer: String), _ isSlow: Bool
    ) throws {
        try withLoop { loop in
            var options = serverOptions("server")
            options.plainTextAnswer = Array("speak up".utf8)
            options.proxyHeaderAnswer = Array("no header".utf8)
            let (near, far) = try tcpPair()
            let server = SecureProbe()
            let client = Probe()
            client.onEnded = { _ in loop.stop() }
            let accepted = Stream(
                loop: loop, descriptor: near, tls: .server(try TLSServerContext(options)), handler: server)
            let stream = Stream(loop: loop, descriptor: far, handler: client)
            let bytes = Array(row.text.utf8)
            stream.write(bytes.span.extracting(0..<(isSlow ? 3 : bytes.count)))
            while isSlow, accepted.bytesRead < 3 {
                loop.afterTick(AtTickEnd {})
                loop.stop()
                loop.run()
            }
            if isSlow { stream.write(bytes.span.extracting(3..<bytes.count)) }
            loop.run()
            // No alert stands in front of it.
            #expect(client.bytes.text == row.answer)
            #expect(accepted.tlsError?.word == row.word)
            stream.close()
            server.probe.forget()
            client.forget()
        }
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.example\r\n", "SSH-2.0-x\r\n", "\0\0\u{12}\u{4}\0\0\0\0\0",
    ])
    func `a server that answers without TLS is told as one`(_ answer: String) throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let server = Probe()
            server.onReceived = { bytes, stream in
                stream.write(Array(answer.utf8).span)
                return bytes.count
            }
            let client = SecureProbe()
            client.probe.onFailed = { _ in loop.stop() }
            let listening = Stream(loop: loop, descriptor: near, handler: server)
            let context = try TLSClientContext(clientOptions())
            let stream = Stream(
                loop: loop, descriptor: far, tls: .client(context, endpoint: "a.example"), handler: client)
            loop.run()
            #expect(stream.tlsError?.word == "plain_text")
            #expect(client.facts == nil)
            listening.close()
            server.forget()
            client.probe.forget()
        }
    }
}
