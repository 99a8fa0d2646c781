import EventLoop
import Glibc
import Octets
import Testing

@Suite struct StreamReading {
    @Test func `bytes arrive, then the FIN`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            probe.onEnded = { stream in
                stream.close()
                loop.stop()
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            put("hello", to: far)
            close(far)
            loop.run()
            #expect(probe.bytes.text == "hello")
            #expect(probe.ends == 1)
            #expect(stream.bytesRead == 5)
            #expect(stream.isClosed)
            #expect(probe.failures.isEmpty)
            probe.forget()
        }
    }

    @Test func `the end behind bytes is known with them`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            probe.onReceived = { bytes, stream in
                // What is sent in between is not behind the end.
                #expect(!stream.isEnded)
                #expect(stream.isEnding == (probe.bytes.count == 1))
                if probe.bytes.isEmpty {
                    put("b", to: far)
                    close(far)
                }
                return bytes.count
            }
            probe.onEnded = { stream in
                #expect(stream.isEnded && stream.isEnding)
                stream.close()
                loop.stop()
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            #expect(!stream.isEnding)
            put("a", to: far)
            loop.run()
            #expect(probe.bytes.text == "ab")
            probe.forget()
        }
    }

    /// How much the handler takes of what it is given.
    enum Appetite: CaseIterable { case nothingUntilTheEnd, oneByte, half, allButOne }

    @Test(arguments: Appetite.allCases)
    func `what the handler leaves is handed over again with what follows`(_ appetite: Appetite) throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            let words = ["alpha ", "beta ", "gamma ", "delta ", "end"]
            var sent = 0
            func sendNext() {
                if sent < words.count { put(words[sent], to: far) }
                // What is left comes again behind the end too.
                if sent == words.count { close(far) }
                sent += 1
            }
            probe.onReceived = { bytes, stream in
                sendNext()
                return switch appetite {
                case .nothingUntilTheEnd: 0
                case .oneByte: 1
                case .half: bytes.count / 2
                case .allButOne: bytes.count - 1
                }
            }
            probe.onEnded = { stream in
                // The end: leftovers come once more on resumeReading.
                probe.onReceived = { bytes, stream in
                    loop.stop()
                    return bytes.count
                }
                #expect(stream.pendingCount == words.joined().utf8.count - probe.bytes.count)
                stream.resumeReading()
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            sendNext()
            loop.run()
            #expect(probe.bytes.text == words.joined())
            #expect(stream.pendingCount == 0)
            stream.close()
            probe.forget()
        }
    }

    @Test func `leftovers are delivered from the loop after resumeReading, not inside it`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            var isInside = false
            var rounds = 0
            probe.onReceived = { bytes, stream in
                #expect(!isInside)
                rounds += 1
                stream.pauseReading()
                if rounds == 5 {
                    loop.stop()
                    return bytes.count
                }
                isInside = true
                stream.resumeReading()
                isInside = false
                return 1
            }
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            put("abcdefgh", to: far)
            loop.run()
            #expect(probe.deliveries == [8, 7, 6, 5, 4])
            #expect(probe.bytes.text == "abcdefgh")
            stream.close()
            close(far)
            probe.forget()
        }
    }

    @Test func `a handler that leaves a full read buffer stalls the peer and goes on when it consumes`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let size = EventLoop.readBufferSize + 100_000
            let writer = Probe()
            let reader = Probe()
            var isHungry = false
            let payload = [UInt8](repeating: 7, count: size)
            reader.onReceived = { bytes, stream in
                if isHungry { return bytes.count }
                if bytes.count == EventLoop.readBufferSize {
                    // Nothing more may come now: let some ticks pass.
                    let quiet = loop.tickCount
                    var timer: Timer?
                    timer = Timer(loop: loop) {
                        #expect(loop.tickCount - quiet < 20)
                        #expect(stream.pendingCount == EventLoop.readBufferSize)
                        isHungry = true
                        stream.resumeReading()
                        timer = nil
                    }
                    timer?.set(after: 1)
                }
                return 0
            }
            reader.onEnded = { stream in
                stream.close()
                loop.stop()
            }
            let input = Stream(loop: loop, descriptor: near, handler: reader)
            let output = Stream(loop: loop, descriptor: far, handler: writer)
            output.write(payload.span)
            output.shutdownWrite()
            loop.run()
            #expect(reader.bytes.count == size)
            #expect(input.isClosed)
            output.close()
            reader.forget()
        }
    }

    @Test func `a paused stream gets nothing, and everything after resuming`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            stream.pauseReading()
            #expect(!stream.isReading)
            put("waiting", to: far)
            let timer = Timer(loop: loop) {
                #expect(probe.bytes.isEmpty)
                #expect(loop.tickCount < 20)
                stream.resumeReading()
            }
            timer.set(after: 1)
            probe.onReceived = { bytes, _ in
                loop.stop()
                return bytes.count
            }
            loop.run()
            #expect(probe.bytes.text == "waiting")
            stream.close()
            close(far)
            probe.forget()
        }
    }

    @Test func `one read a tick: a busy stream lets others have theirs`() throws {
        try withLoop { loop in
            let (busy, busyFar) = socketPair()
            let (calm, calmFar) = socketPair()
            let loud = Probe()
            let quiet = Probe()
            let filler = Probe()
            quiet.onReceived = { bytes, _ in
                loop.stop()
                return bytes.count
            }
            let streams = [
                Stream(loop: loop, descriptor: busy, handler: loud),
                Stream(loop: loop, descriptor: calm, handler: quiet),
                Stream(loop: loop, descriptor: busyFar, handler: filler),
            ]
            let payload = [UInt8](repeating: 1, count: 4 * 1024 * 1024)
            streams[2].write(payload.span)
            put("x", to: calmFar)
            loop.run()
            #expect(loud.deliveries.count <= 1)
            #expect(quiet.bytes.text == "x")
            for stream in streams { stream.close() }
            close(calmFar)
            quiet.forget()
        }
    }

    @Test func `a new handler gets what follows`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let first = Probe()
            let second = Probe()
            first.onReceived = { bytes, stream in
                stream.handler = second
                put("two", to: far)
                return bytes.count
            }
            second.onReceived = { bytes, _ in
                loop.stop()
                return bytes.count
            }
            let stream = Stream(loop: loop, descriptor: near, handler: first)
            put("one", to: far)
            loop.run()
            #expect(first.bytes.text == "one")
            #expect(second.bytes.text == "two")
            stream.close()
            close(far)
            first.forget()
            second.forget()
        }
    }

    @Test func `a stream knows what its loop has seen, and asks the system for the rest`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let (otherNear, otherFar) = socketPair()
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            let other = Stream(loop: loop, descriptor: otherNear, handler: probe)
            // Nothing was read yet, so nothing is known.
            #expect(!stream.wasQuiet)
            #expect(stream.isQuiet)
            probe.onReceived = { bytes, told in
                if probe.bytes.isEmpty {
                    // Both were found in the same wait; the second one is still to be told.
                    let next = told === stream ? other : stream
                    #expect(told.wasQuiet)
                    #expect(!next.wasQuiet)
                    #expect(!next.isQuiet)
                } else if probe.bytes.count == 1 {
                    #expect(stream.wasQuiet && other.wasQuiet)
                    #expect(stream.isQuiet && other.isQuiet)
                    // What comes from now on only the system knows.
                    put("c", to: otherFar)
                    #expect(other.wasQuiet)
                    #expect(!other.isQuiet)
                } else {
                    #expect(told === other)
                    close(otherFar)
                    #expect(other.wasQuiet)
                    #expect(!other.isQuiet)
                }
                return bytes.count
            }
            probe.onEnded = { told in
                #expect(told === other)
                #expect(!other.wasQuiet)
                #expect(stream.wasQuiet)
                loop.stop()
            }
            put("a", to: far)
            put("b", to: otherFar)
            loop.run()
            #expect(probe.bytes.count == 3)
            stream.close()
            other.close()
            #expect(!stream.wasQuiet)
            close(far)
            probe.forget()
        }
    }

    @Test(arguments: [65_535, 65_536])
    func `after a read that took all it asked for nobody knows whether more is there`(_ count: Int) throws {
        try withLoop { loop in
            let (near, far) = socketPair(buffer: 1 << 18)
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            probe.onReceived = { bytes, _ in
                let isFirst = probe.bytes.isEmpty
                #expect(bytes.count == (isFirst ? count : 1))
                #expect(stream.wasQuiet == (!isFirst || count < 65_536))
                #expect(stream.isQuiet)
                if isFirst { put("x", to: far) } else { loop.stop() }
                return bytes.count
            }
            put(String(repeating: "y", count: count), to: far)
            loop.run()
            #expect(probe.bytes.count == count + 1)
            stream.close()
            close(far)
            probe.forget()
        }
    }

    @Test func `a stream that pauses and reads again has to ask the system`() throws {
        try withLoop { loop in
            let (near, far) = socketPair()
            let probe = Probe()
            let stream = Stream(loop: loop, descriptor: near, handler: probe)
            // The next tick finds "b", and the event is taken back.
            let resume = AtTickEnd {
                stream.resumeReading()
                #expect(!stream.wasQuiet)
                #expect(!stream.isQuiet)
            }
            probe.onReceived = { bytes, _ in
                if probe.bytes.isEmpty {
                    stream.pauseReading()
                    put("b", to: far)
                    loop.afterTick(AtTickEnd { loop.afterTick(resume) })
                } else {
                    loop.stop()
                }
                return bytes.count
            }
            put("a", to: far)
            loop.run()
            #expect(probe.bytes.text == "ab")
            stream.close()
            close(far)
            probe.forget()
        }
    }
}
