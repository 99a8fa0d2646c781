import EventLoop
import Glibc
import Octets
import Testing

/// Short writes wait for the end of the tick, see `Outbox` in the sources.
@Suite struct OutboxTests {
    /// Bytes of one write that are held at most, and of all on a loop.
    static let longest = 4096
    static let capacity = 64 * 1024

    /// What can be read from a plain descriptor right now.
    private func take(_ descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return Array(bytes.prefix(max(0, count)))
    }

    /// Runs `body` as a callback of a tick, and then that tick to its end.
    private func inTick(_ loop: EventLoop, _ body: @escaping () -> Void) {
        let work = AtTickEnd {
            body()
            loop.stop()
        }
        loop.afterTick(work)
        loop.run()
    }

    @Test func `what is written in pieces leaves when the tick ends, in order`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let (other, otherFar) = socketPair()
            let first = Stream(loop: loop, descriptor: near, handler: Probe())
            let second = Stream(loop: loop, descriptor: other, handler: Probe())
            inTick(loop) {
                first.write("one, ")
                first.write("two, ")
                var buffer = OutputBuffer()
                buffer.append("three")
                first.write(&buffer)
                #expect(buffer.isEmpty)
                second.write("other")
                #expect(take(far) == [] && take(otherFar) == [])
                #expect(first.queued == 0)
                #expect(first.bytesWritten == 0)
            }
            #expect(take(far).text == "one, two, three")
            #expect(take(otherFar).text == "other")
            #expect(first.bytesWritten == 15)
            first.close()
            second.close()
            close(far)
            close(otherFar)
        }
    }

    @Test func `streams that write in turn keep their order each`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let (other, otherFar) = socketPair()
            let first = Stream(loop: loop, descriptor: near, handler: Probe())
            let second = Stream(loop: loop, descriptor: other, handler: Probe())
            inTick(loop) {
                for number in 0..<100 {
                    first.write("a\(number) ")
                    second.write("b\(number) ")
                }
            }
            #expect(take(far).text == (0..<100).map { "a\($0) " }.joined())
            #expect(take(otherFar).text == (0..<100).map { "b\($0) " }.joined())
            first.close()
            second.close()
            close(far)
            close(otherFar)
        }
    }

    @Test(arguments: [longest - 1, longest, longest + 1])
    func `a long write goes out at once, behind what is held`(_ count: Int) throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 13) }
            inTick(loop) {
                stream.write("head")
                stream.write(bytes.span)
                #expect(take(far) == (count > Self.longest ? Array("head".utf8) + bytes : []))
                stream.write("tail")
            }
            #expect(take(far) == (count > Self.longest ? [] : Array("head".utf8) + bytes) + Array("tail".utf8))
            stream.close()
            close(far)
        }
    }

    @Test(arguments: [longest - 1, longest, longest + 1])
    func `two pieces are held if both are short together`(_ count: Int) throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let head = [UInt8](repeating: 1, count: 100)
            let body = [UInt8](repeating: 2, count: count - 100)
            inTick(loop) {
                stream.write(head.span, body.span)
                #expect(take(far) == (count > Self.longest ? head + body : []))
            }
            #expect(take(far) == (count > Self.longest ? [] : head + body))
            stream.close()
            close(far)
        }
    }

    @Test func `a write that finds no room goes out at once`() throws {
        try withLoop { loop in
            let count = Self.capacity / Self.longest
            let pairs = (0...count).map { _ in socketPair() }
            let streams = pairs.map { Stream(loop: loop, descriptor: $0.0, handler: Probe()) }
            let bytes = [UInt8](repeating: 7, count: Self.longest)
            inTick(loop) {
                for stream in streams { stream.write(bytes.span) }
                for (index, pair) in pairs.enumerated() {
                    #expect(take(pair.1).count == (index < count ? 0 : Self.longest))
                }
            }
            for (index, pair) in pairs.enumerated() {
                #expect(take(pair.1).count == (index < count ? Self.longest : 0))
                streams[index].close()
                close(pair.1)
            }
        }
    }

    @Test func `flush sends what is held, and queued tells what the socket did not take`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let bytes = [UInt8](repeating: 7, count: 3000)
            inTick(loop) {
                stream.write(bytes.span)
                stream.flush()
                #expect(take(far) == bytes)
                var total = 3000
                while stream.queued == 0 {
                    stream.write(bytes.span)
                    stream.flush()
                    total += 3000
                }
                #expect(Int(stream.bytesWritten) + stream.queued == total)
            }
            stream.close()
            close(far)
        }
    }

    @Test func `what a full socket does not take at the end of the tick is queued, and told`() throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            let sink = Probe()
            let other = Stream(loop: loop, descriptor: far, handler: sink)
            other.pauseReading()
            var count: UInt8 = 0
            let bytes = { [UInt8](repeating: count, count: 4000) }
            while probe.backUps == 0, count < 100 {
                inTick(loop) { stream.write(bytes().span) }
                count += 1
            }
            #expect(probe.backUps == 1)
            #expect(stream.queued > 0)
            inTick(loop) { stream.write(bytes().span) }
            count += 1
            #expect(probe.backUps == 1, "it went behind the queue")
            stream.tellEmpty()
            sink.onReceived = { all, _ in
                if sink.bytes.count + all.count == Int(count) * 4000 { loop.stop() }
                return all.count
            }
            other.resumeReading()
            loop.run()
            #expect(sink.bytes == (0..<count).flatMap { [UInt8](repeating: $0, count: 4000) })
            #expect(probe.drains == 1)
            stream.close()
            other.close()
            probe.forget()
            sink.forget()
        }
    }

    /// What is held waits for about a millisecond of work at most, however many sockets the tick has to look at.
    @Test func `what is held goes out in the middle of a long tick`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let first = Stream(loop: loop, descriptor: near, handler: Probe())
            let peers = (0..<30).map { _ in socketPair() }
            var reads = 0
            var readsAtArrival: Int?
            let probes = peers.map { _ in Probe() }
            let streams = zip(peers, probes).map { peer, probe in
                probe.onReceived = { bytes, _ in
                    if reads == 0 { first.write("held") }
                    reads += 1
                    if readsAtArrival == nil, self.take(far) != [] { readsAtArrival = reads }
                    if reads == peers.count { loop.stop() }
                    return bytes.count
                }
                return Stream(loop: loop, descriptor: peer.0, handler: probe)
            }
            for peer in peers { put(String(repeating: "x", count: 8000), to: peer.1) }
            loop.run()
            // Seven times 8000 bytes and what a read costs are less than 64 KiB, eight times are more.
            #expect(readsAtArrival == 9)
            for stream in streams + [first] { stream.close() }
            for probe in probes { probe.forget() }
            for descriptor in peers.map(\.1) + [far] { close(descriptor) }
        }
    }

    enum Ending: CaseIterable { case close, abort, shutdown }

    @Test(arguments: Ending.allCases)
    func `an ending of the stream comes behind what is held`(_ ending: Ending) throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            let probe = Probe()
            let other = Stream(loop: loop, descriptor: far, handler: probe)
            probe.onEnded = { _ in loop.stop() }
            probe.onFailed = { _ in loop.stop() }
            loop.afterTick(
                AtTickEnd {
                    stream.write("held")
                    switch ending {
                    case .close: stream.close()
                    case .abort: stream.abort()
                    case .shutdown: stream.shutdownWrite()
                    }
                    stream.write("dropped")
                })
            loop.run()
            #expect(probe.bytes.text == "held")
            #expect(probe.ends == (ending == .abort ? 0 : 1))
            #expect(probe.failures.count == (ending == .abort ? 1 : 0))
            stream.close()
            other.close()
            probe.forget()
        }
    }

    @Test func `a peer that is gone is told by failed`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            probe.onFailed = { _ in loop.stop() }
            loop.afterTick(
                AtTickEnd {
                    stream.write("held")
                    close(far)
                    #expect(stream.isWritable)
                })
            probe.onEnded = { stream in
                stream.close()
                loop.stop()
            }
            loop.run()
            #expect(probe.failures.count == 1)
            #expect(stream.isClosed)
            probe.forget()
        }
    }

    @Test func `a stream that is let go while it holds something sends it, once`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let (other, otherFar) = socketPair()
            inTick(loop) {
                let stream = Stream(loop: loop, descriptor: near, handler: Probe())
                stream.write("first")
                stream.close()
                let next = Stream(loop: loop, descriptor: other, handler: Probe())
                next.write("second")
                next.close()
            }
            #expect(take(far).text == "first")
            #expect(take(otherFar).text == "second")
            close(far)
            close(otherFar)
        }
    }
}
