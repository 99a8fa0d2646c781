import EventLoop
import Glibc
import Octets
import Testing

/// Sends back what it gets, and pauses while it can't.
final class Echo: StreamHandler {
    var pauses = 0
    var onPause: (() -> Void)?
    var largestQueue = 0

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        stream.write(bytes)
        largestQueue = max(largestQueue, stream.queued)
        if stream.isAboveHighWatermark {
            pauses += 1
            stream.pauseReading()
            onPause?()
        }
        return bytes.count
    }

    func ended(_ stream: Stream) { stream.shutdownWrite() }

    func drained(_ stream: Stream) {
        #expect(stream.queued <= Stream.lowWatermark)
        #expect(!stream.isAboveHighWatermark)
        stream.resumeReading()
    }

    func failed(_ stream: Stream, _ errno: Int32) { Issue.record("echo failed: \(systemErrorText(errno))") }
}

@Suite struct StreamWriting {
    /// The forms of `write`.
    enum Form: CaseIterable { case one, two, three, buffer, taking }

    @Test(arguments: Form.allCases)
    func `16 MiB come back through small socket buffers, with bounded queues`(_ form: Form) throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 8192)
            let total = 16 * 1024 * 1024
            let echo = Echo()
            let probe = Probe()
            var sent = 0
            var checked = 0
            var isRight = true
            var largestQueue = 0
            var piece = OutputBuffer()
            let pattern = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            func feed(_ stream: Stream) {
                while sent < total, !stream.isAboveHighWatermark {
                    piece.append(pattern.span.extracting(0..<min(pattern.count, total - sent)))
                    sent += piece.count
                    switch form {
                    case .one: stream.write(piece.span)
                    case .two: stream.write(piece.span.extracting(0..<100), piece.span.extracting(100..<piece.count))
                    case .three:
                        let end = piece.count - min(2, piece.count - 100)
                        stream.write(
                            piece.span.extracting(0..<100), piece.span.extracting(100..<end),
                            piece.span.extracting(end..<piece.count))
                    case .buffer: stream.write(&piece)
                    case .taking:
                        let head = piece.span.extracting(0..<100).copied()
                        piece.drop(100)
                        stream.write(head.span, taking: &piece)
                        #expect(piece.isEmpty)
                    }
                    piece.removeAll()
                    largestQueue = max(largestQueue, stream.queued)
                }
                if sent == total { stream.shutdownWrite() }
            }
            probe.onReceived = { bytes, _ in
                var at = 0
                while at < bytes.count {
                    let start = checked % pattern.count
                    let length = min(bytes.count - at, pattern.count - start)
                    let expected = pattern.span.extracting(start..<start + length)
                    if !bytes.extracting(at..<at + length).isEqual(to: expected) { isRight = false }
                    at += length
                    checked += length
                }
                return bytes.count
            }
            probe.onDrained = { feed($0) }
            probe.onEnded = { stream in
                stream.close()
                loop.stop()
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            let back = Stream(loop: loop, descriptor: far, handler: echo)
            // Nothing is taken back until the echo had to pause, so both queues fill up.
            stream.pauseReading()
            echo.onPause = { stream.resumeReading() }
            feed(stream)
            #expect(stream.queued > 0)
            loop.run()
            #expect(checked == total)
            #expect(isRight)
            #expect(echo.pauses > 0)
            #expect(probe.drains > 0)
            #expect(largestQueue <= Stream.highWatermark + 40_000)
            #expect(echo.largestQueue <= Stream.highWatermark + EventLoop.readBufferSize)
            #expect(stream.bytesWritten == UInt64(total))
            #expect(back.bytesRead == UInt64(total))
            back.close()
            echo.onPause = nil
            probe.forget()
        }
    }

    /// What arrives first of what `write` writes, which is so many bytes.
    private func firstDelivery(_ count: Int, write: (Stream) -> Void) throws -> [UInt8] {
        var delivered: [UInt8] = []
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            probe.onReceived = { bytes, _ in
                loop.stop()
                return bytes.count
            }
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let other = Stream(loop: loop, descriptor: far, handler: probe)
            write(stream)
            #expect(stream.queued == 0)
            #expect(stream.bytesWritten == UInt64(count))
            loop.run()
            delivered = probe.bytes
            stream.close()
            other.close()
            probe.forget()
        }
        return delivered
    }

    private func pattern(_ count: Int, _ factor: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* factor &+ 3) }
    }

    /// On both sides of the size up to which two pieces are put together before they are sent.
    @Test(arguments: [
        (1, 1), (300, 3795), (300, 3796), (300, 3797), (4096, 1), (1, 4096), (5000, 5000), (0, 7), (7, 0),
    ])
    func `two pieces arrive as one, whether they are put together or not`(_ first: Int, _ second: Int) throws {
        let (head, body) = (pattern(first, 7), pattern(second, 11))
        let delivered = try firstDelivery(first + second) { $0.write(head.span, body.span) }
        #expect(delivered == head + body)
    }

    @Test(arguments: [
        (0, 1, 2), (1, 0, 2), (1, 1, 0), (9, 4085, 2), (9, 4086, 2), (9, 4087, 2), (0, 4094, 2), (0, 4095, 2),
        (9, 4096, 2), (9, 4097, 2), (9, 50_000, 2), (0, 50_000, 2), (9, 50_000, 0), (5000, 5000, 5000), (2, 0, 5000),
    ])
    func `three pieces arrive in order, and none of them alone`(_ first: Int, _ second: Int, _ third: Int) throws {
        let (head, body, end) = (pattern(first, 7), pattern(second, 11), pattern(third, 13))
        let delivered = try firstDelivery(first + second + third) { $0.write(head.span, body.span, end.span) }
        #expect(delivered == head + body + end)
    }

    @Test func `two short pieces that the socket takes in part are sent whole`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let other = Stream(loop: loop, descriptor: far, handler: probe)
            let head = [UInt8](repeating: 1, count: 1300)
            let body = [UInt8](repeating: 2, count: 1700)
            var count = 0
            // Until it is full, and some behind that.
            while stream.queued < 10_000 {
                stream.write(head.span, body.span)
                count += 1
            }
            probe.onReceived = { bytes, _ in
                if probe.bytes.count + bytes.count == count * 3000 { loop.stop() }
                return bytes.count
            }
            loop.run()
            #expect(probe.bytes == (0..<count).flatMap { _ in head + body })
            stream.close()
            other.close()
            probe.forget()
        }
    }

    @Test func `write with a full socket takes the buffer's memory and leaves it empty`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            var buffer = OutputBuffer(highWatermark: 77)
            buffer.append([UInt8](repeating: 5, count: 200_000))
            stream.write(&buffer)
            #expect(buffer.isEmpty)
            #expect(buffer.capacity < 200_000)
            #expect(buffer.highWatermark == 77)
            #expect(stream.queued > 100_000)
            #expect(stream.bytesWritten + UInt64(stream.queued) == 200_000)
            buffer.append("more")
            stream.write(&buffer)
            #expect(buffer.isEmpty)
            #expect(stream.bytesWritten + UInt64(stream.queued) == 200_004)
            stream.close()
            #expect(stream.queued == 0)
            close(far)
        }
    }

    @Test(arguments: [100, 65_536, 65_537, 300_000, 5_000_000])
    func `long content that waits goes along with its memory, behind its head and before what comes next`(_ count: Int)
        throws
    {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let other = Stream(loop: loop, descriptor: far, handler: probe)
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            var content = OutputBuffer()
            content.reserve(count)
            content.append(body)
            stream.write("before, ")
            stream.write(Array("head:".utf8).span, taking: &content)
            #expect(content.isEmpty)
            if count > Stream.highWatermark { #expect(content.capacity == 0) }
            if count > 2 * Stream.highWatermark { #expect(stream.isAboveHighWatermark) }
            // Behind something that waits it is copied.
            content.append(body)
            stream.write(Array(", head:".utf8).span, taking: &content)
            stream.write(", after")
            let expected = Array("before, head:".utf8) + body + Array(", head:".utf8) + body + Array(", after".utf8)
            probe.onReceived = { bytes, _ in
                if probe.bytes.count + bytes.count == expected.count { loop.stop() }
                return bytes.count
            }
            loop.run()
            #expect(probe.bytes == expected)
            #expect(stream.queued == 0)
            stream.close()
            other.close()
            probe.forget()
        }
    }

    @Test func `tellEmpty asks for drained once, when the queue has run empty`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            let sink = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            let other = Stream(loop: loop, descriptor: far, handler: sink)
            stream.write([UInt8](repeating: 5, count: 40_000).span)
            #expect(stream.queued > 0)
            #expect(!stream.isAboveHighWatermark)
            stream.tellEmpty()
            probe.onDrained = { stream in
                #expect(stream.queued == 0)
                loop.stop()
            }
            loop.run()
            #expect(probe.drains == 1)
            stream.close()
            other.close()
            probe.forget()
        }
    }

    @Test func `the high watermark holds until the low one is reached`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            let sink = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            stream.write([UInt8](repeating: 5, count: Stream.highWatermark + 60_000).span)
            #expect(stream.isAboveHighWatermark)
            let other = Stream(loop: loop, descriptor: far, handler: sink)
            sink.onReceived = { bytes, _ in
                if stream.isAboveHighWatermark { #expect(probe.drains == 0) }
                return bytes.count
            }
            probe.onDrained = { stream in
                #expect(stream.queued <= Stream.lowWatermark)
                #expect(!stream.isAboveHighWatermark)
                loop.stop()
            }
            loop.run()
            #expect(probe.drains == 1)
            stream.close()
            other.close()
            probe.forget()
            sink.forget()
        }
    }

    @Test func `the FIN follows what is queued, and later writes are dropped`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            stream.write([UInt8](repeating: 9, count: 100_000).span)
            stream.shutdownWrite()
            #expect(!stream.isWritable)
            stream.write("dropped")
            let sink = Probe()
            let other = Stream(loop: loop, descriptor: far, handler: sink)
            sink.onEnded = { _ in loop.stop() }
            loop.run()
            #expect(sink.bytes.count == 100_000)
            stream.close()
            other.close()
            sink.forget()
        }
    }
}
