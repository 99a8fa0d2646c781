import EventLoop
import Glibc
import Octets
import Testing

/// Sockets that are accepted together and bring all that their handlers need: libevent hears of them later, or never.
@Suite struct PatienceTests {
    /// A handler that wants a certain number of bytes, and then nothing for now.
    private final class Sated: StreamHandler {
        let wanted: Int
        var bytes: [UInt8] = []
        var onReceived: ((Stream) -> Void)?
        var onEnded: ((Stream) -> Void)?
        /// What it was asked when it had so many bytes.
        var asked: [Int] = []

        init(wanted: Int) { self.wanted = wanted }

        func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
            self.bytes.append(contentsOf: bytes)
            onReceived?(stream)
            return bytes.count
        }

        func ended(_ stream: Stream) { onEnded?(stream) }
        func drained(_ stream: Stream) {}
        func failed(_ stream: Stream, _ errno: Int32) { onEnded?(stream) }

        func awaitsBytes(_ stream: Stream) -> Bool {
            asked.append(bytes.count)
            return bytes.count < wanted
        }
    }

    /// Runs a loop in whose first tick sockets are accepted as a burst, one for each handler; each has sent "abc" before.
    private func burst(
        _ handlers: [Sated], _ loop: EventLoop, then: @escaping ([Stream]) -> Void = { _ in }
    ) -> (peers: [Int32], streams: () -> [Stream]) {
        let pairs = handlers.map { _ in socketPair() }
        for (_, far) in pairs { put("abc", to: far) }
        let (near, far) = socketPair()
        let start = Probe()
        var streams: [Stream] = []
        start.onReceived = { bytes, stream in
            streams = zip(pairs, handlers).map {
                Stream(loop: loop, descriptor: $0.0.0, isAccepted: true, handler: $0.1)
            }
            stream.close()
            close(far)
            start.forget()
            then(streams)
            return bytes.count
        }
        _ = Stream(loop: loop, descriptor: near, handler: start)
        put("!", to: far)
        return (pairs.map(\.1), { streams })
    }

    @Test func `the end of a peer that isn't waited for is told all the same`() throws {
        try withLoop { loop in
            let handlers = (0..<5).map { _ in Sated(wanted: 3) }
            let (peers, streams) = burst(handlers, loop)
            var ends = 0
            for (handler, peer) in zip(handlers, peers) {
                // All bytes are there: the peer leaves while the handler is busy.
                handler.onReceived = { _ in close(peer) }
                handler.onEnded = { stream in
                    stream.close()
                    ends += 1
                    if ends == handlers.count { loop.stop() }
                }
            }
            loop.run()
            #expect(ends == 5)
            for handler in handlers { #expect(handler.bytes.text == "abc" && handler.asked == [3]) }
            for stream in streams() { #expect(stream.isClosed) }
        }
    }

    @Test(arguments: [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2]])
    func `streams that are closed before are forgotten, and the others are not`(_ order: [Int]) throws {
        try withLoop { loop in
            let handlers = (0..<5).map { _ in Sated(wanted: 3) }
            let (peers, streams) = burst(handlers, loop)
            var came = 0
            for handler in handlers {
                handler.onReceived = { _ in
                    came += 1
                    guard came == handlers.count else { return }
                    // The last one's turn: the loop is patient with the four before it.
                    for index in order { streams()[index].close() }
                }
            }
            var ends: [Int] = []
            for index in handlers.indices {
                handlers[index].onEnded = { stream in
                    ends.append(index)
                    stream.close()
                    if ends.count == handlers.count - order.count { loop.stop() }
                }
                close(peers[index])
            }
            loop.run()
            let others = handlers.indices.filter { !order.contains($0) }
            #expect(ends.sorted() == others)
        }
    }

    @Test func `who wants more gets it at once, and so does who goes on to read`() throws {
        try withLoop { loop in
            let hungry = Sated(wanted: 6)
            let sated = Sated(wanted: 3)
            let (peers, streams) = burst([hungry, sated], loop)
            var later: UInt64 = 0
            hungry.onReceived = { stream in
                if hungry.bytes.count == 3 { return put("def", to: peers[0]) }
                // The answer is out: the next request is waited for.
                streams()[1].resumeReading()
                put("next", to: peers[1])
                later = EventLoop.preciseNow
            }
            sated.onReceived = { stream in if sated.bytes.count > 3 { loop.stop() } }
            loop.run()
            #expect(hungry.bytes.text == "abcdef" && sated.bytes.text == "abcnext" && later > 0)
            #expect(hungry.asked == [3] && sated.asked == [3])
            for stream in streams() { stream.close() }
            for peer in peers { close(peer) }
            hungry.onReceived = nil
            sated.onReceived = nil
        }
    }

    @Test func `a socket that is accepted alone, and one that has brought nothing, are watched from the start`() throws
    {
        try withLoop { loop in
            let alone = Sated(wanted: 3)
            alone.onReceived = { _ in loop.stop() }
            let (peers, streams) = burst([alone], loop)
            loop.run()
            #expect(alone.bytes.text == "abc" && alone.asked.isEmpty)
            for stream in streams() { stream.close() }
            for peer in peers { close(peer) }

            let silent = Sated(wanted: 0)
            let other = Sated(wanted: 3)
            let (near, far) = socketPair()
            silent.onReceived = { _ in loop.stop() }
            var first: Stream?
            let (others, rest) = burst([other], loop) { _ in
                first = Stream(loop: loop, descriptor: near, isAccepted: true, handler: silent)
            }
            other.onReceived = { _ in loop.afterTick(AtTickEnd { put("x", to: far) }) }
            loop.run()
            #expect(silent.bytes.text == "x" && silent.asked.isEmpty && other.asked == [3])
            for stream in rest() { stream.close() }
            first?.close()
            for peer in others + [far] { close(peer) }
            other.onReceived = nil
        }
    }
}
