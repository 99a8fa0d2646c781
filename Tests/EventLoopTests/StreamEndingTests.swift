import EventLoop
import Glibc
import Octets
import Testing

@Suite struct StreamEnding {
    /// Each callback that a handler may close in.
    enum Place: CaseIterable { case received, leftovers, ended, drained, peerGone }

    @Test(arguments: Place.allCases, [false, true])
    func `closing inside any callback is safe and ends all callbacks`(_ place: Place, aborts: Bool) throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 4096)
            let probe = Probe()
            var callsAfter = 0
            var isOver = false
            func end(_ stream: Stream) {
                aborts ? stream.abort() : stream.close()
                isOver = true
                #expect(stream.isClosed)
                // Everything is without effect now.
                stream.write("nothing")
                stream.resumeReading()
                stream.pauseReading()
                stream.shutdownWrite()
                stream.close()
                let timer = Timer(loop: loop) { loop.stop() }
                timer.set(after: 1)
                timers.append(timer)
            }
            var timers: [Timer] = []
            probe.onReceived = { bytes, stream in
                if isOver { callsAfter += 1 }
                if place == .received || place == .leftovers && probe.deliveries.count == 2 { end(stream) }
                if place == .leftovers { stream.resumeReading() }
                return place == .leftovers ? 0 : bytes.count
            }
            probe.onEnded = { stream in
                if isOver { callsAfter += 1 }
                if place == .ended { end(stream) }
            }
            probe.onDrained = { stream in
                if isOver { callsAfter += 1 }
                if place == .drained { end(stream) }
            }
            probe.onPeerGone = { stream in
                if isOver { callsAfter += 1 }
                if place == .peerGone { end(stream) }
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            var other: Stream?
            switch place {
            case .received, .leftovers: put("bytes", to: far)
            case .ended: shutdown(far, Int32(SHUT_WR))
            case .drained:
                stream.write([UInt8](repeating: 1, count: 300_000).span)
                other = Stream(loop: loop, descriptor: far, handler: Probe())
            case .peerGone:
                stream.pauseReading()
                shutdown(far, Int32(SHUT_WR))
            }
            loop.run()
            #expect(isOver)
            #expect(callsAfter == 0)
            #expect(probe.failures.isEmpty)
            if let other { other.close() } else { close(far) }
            probe.forget()
        }
    }

    @Test func `a stream and its handler go away after close`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            weak var seen: Stream?
            weak var seenProbe: Probe?
            do {
                let probe = Probe()
                let stream = Stream(loop: loop, descriptor: near, handler: probe)
                seen = stream
                seenProbe = probe
                probe.onReceived = { bytes, stream in
                    stream.close()
                    loop.stop()
                    return bytes.count
                }
            }
            #expect(seen != nil)
            put("x", to: far)
            loop.run()
            #expect(seen == nil)
            #expect(seenProbe == nil)
            close(far)
        }
    }

    @Test func `a reset is told as failed`() throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let probe = Probe()
            probe.onFailed = { _ in loop.stop() }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            reset(far)
            loop.run()
            #expect(probe.failures == [ECONNRESET])
            #expect(probe.ends == 0)
            #expect(stream.isClosed)
            probe.forget()
        }
    }

    @Test func `abort sends a reset`() throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let probe = Probe()
            probe.onFailed = { _ in loop.stop() }
            let victim = Stream(loop: loop, descriptor: far, handler: probe)
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            stream.abort()
            loop.run()
            #expect(probe.failures == [ECONNRESET])
            #expect(victim.isClosed)
            probe.forget()
        }
    }

    @Test func `what the peer sent before it broke the connection is handed over before failed`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            probe.onFailed = { _ in loop.stop() }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            put("early answer", to: far)
            close(far)
            // EPIPE, while the answer has not been read yet.
            stream.write("late")
            #expect(!stream.isClosed)
            #expect(!stream.isWritable)
            loop.run()
            #expect(probe.bytes.text == "early answer")
            #expect(probe.failures == [EPIPE])
            #expect(probe.ends == 0)
            probe.forget()
        }
    }

    /// Another connection's bytes let it read on, in the tick in which the end is there, too.
    @Test(arguments: [false, true], [0, 2, 4, 5])
    func `no end comes before what an owner has left who reads on`(isReset: Bool, taken: Int) throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let (otherNear, otherFar) = try tcpPair()
            let (probe, other) = (Probe(), Probe())
            var events: [String] = []
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            let otherStream = Stream(loop: loop, descriptor: otherNear, handler: other)
            probe.onReceived = { bytes, stream in
                events.append("received \(bytes.count)")
                guard events.count == 1 else {
                    // Once more it isn't ready, and then it takes all.
                    if events.count > 2 { return bytes.count }
                    stream.pauseReading()
                    #expect(stream.pendingCount == 0)
                    put("y", to: otherFar)
                    return 0
                }
                stream.pauseReading()
                put("x", to: otherFar)
                if isReset { reset(far) } else { close(far) }
                return taken
            }
            other.onReceived = { bytes, _ in
                stream.resumeReading()
                return bytes.count
            }
            probe.onEnded = { _ in
                events.append("ended")
                loop.stop()
            }
            probe.onFailed = { _ in
                events.append("failed")
                loop.stop()
            }
            put("alpha", to: far)
            loop.run()
            let end = isReset ? "failed" : "ended"
            let rest = 5 - taken
            #expect(
                events
                    == (rest == 0 ? ["received 5", end] : ["received 5", "received \(rest)", "received \(rest)", end]))
            #expect(probe.bytes.text == "alpha")
            if !stream.isClosed { stream.close() }
            otherStream.close()
            close(otherFar)
            probe.forget()
            other.forget()
        }
    }

    @Test func `a write that breaks after the FIN was read is told as failed`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            probe.onEnded = { stream in
                stream.write("to nobody")
                #expect(!stream.isClosed)
            }
            probe.onFailed = { _ in loop.stop() }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            close(far)
            loop.run()
            #expect(probe.ends == 1)
            #expect(probe.failures == [EPIPE])
            #expect(stream.isClosed)
            probe.forget()
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a peer that leaves a paused stream is noticed once, without spinning`(byReset: Bool, withBytes: Bool) throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            stream.pauseReading()
            if withBytes { put("unread", to: far) }
            let timer = Timer(loop: loop) { if byReset { reset(far) } else { close(far) } }
            let later = Timer(loop: loop) { loop.stop() }
            timer.set(after: 1)
            probe.onPeerGone = { stream in
                #expect(stream.peerError == (byReset ? ECONNRESET : 0))
                later.set(after: 150_000_000)
            }
            loop.run()
            #expect(probe.peerGones == 1)
            #expect(loop.tickCount < 50)
            #expect(probe.bytes.isEmpty)
            // What was sent before is still there, and the end is told.
            probe.onEnded = { _ in loop.stop() }
            probe.onFailed = { _ in loop.stop() }
            stream.resumeReading()
            loop.run()
            #expect(probe.bytes.text == (withBytes ? "unread" : ""))
            #expect(probe.failures == (byReset ? [ECONNRESET] : []))
            #expect(probe.ends == (byReset ? 0 : 1))
            stream.close()
            probe.forget()
        }
    }

    @Test func `a reset after the FIN is noticed`() throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let probe = Probe()
            probe.onEnded = { _ in reset(far) }
            probe.onFailed = { _ in loop.stop() }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            shutdown(far, Int32(SHUT_WR))
            loop.run()
            #expect(probe.ends == 1)
            #expect(probe.failures.count == 1)
            #expect(stream.isClosed)
            probe.forget()
        }
    }

    @Test func `a descriptor that can't be watched is told as failed from the loop`() throws {
        try withLoop { loop in
            let file = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
            let plain = unsafe open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
            _ = plain
            close(file)
            let probe = Probe()
            probe.onFailed = { _ in loop.stop() }
            let stream = Stream(loop: loop, descriptor: plain, handler: probe)
            loop.run()
            #expect(probe.failures.count == 1)
            #expect(stream.isClosed)
            probe.forget()
        }
    }

    @Test func `a TCP stream sends at once what it is given`() throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            var on: Int32 = 0
            var size: socklen_t = 4
            _ = unsafe getsockopt(near, Int32(IPPROTO_TCP), TCP_NODELAY, &on, &size)
            #expect(on == 1)
            stream.close()
            close(far)
        }
    }

    @Test(arguments: [(30, 30, 10), (1, 1, 1), (100_000, 32767, 32767)])
    func `the system asks a silent peer's system in its time`(seconds: UInt64, first: Int32, next: Int32) throws {
        try withLoop { loop in
            let (near, far) = try tcpPair()
            let stream = Stream(loop: loop, descriptor: near, handler: Probe())
            func option(_ level: Int32, _ name: Int32) -> Int32 {
                var value: Int32 = -1
                var size: socklen_t = 4
                _ = unsafe getsockopt(near, level, name, &value, &size)
                return value
            }
            #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 0)
            stream.probe(after: seconds * second)
            #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
            #expect(option(Int32(IPPROTO_TCP), TCP_KEEPIDLE) == first)
            #expect(option(Int32(IPPROTO_TCP), TCP_KEEPINTVL) == next)
            #expect(option(Int32(IPPROTO_TCP), TCP_KEEPCNT) == 3)
            stream.close()
            stream.probe(after: second)
            close(far)
        }
    }
}
