import EventLoop
import Testing

@testable import Proxy

/// What is learnt about reuse, and ejection's length, without sockets.
@Suite struct ReuseHistoryTests {
    private let second: UInt64 = 1_000_000_000

    @Test("three ends without answers between them pause reuse, not two")
    func three() {
        var history = ReuseHistory()
        func end(_ now: UInt64) -> Bool { history.noteEnd(now, begun: now) }
        #expect(!history.isSuspect)
        #expect(!end(1) && !end(2))
        #expect(history.isSuspect && !history.isPaused(2))
        #expect(end(3))
        #expect(history.isPaused(second + 2) && !history.isPaused(second + 3))
        #expect(history.pauses == 1)
    }

    @Test("of connections that a server takes along when it goes one counts, whether the ends come at once or not")
    func together() {
        var history = ReuseHistory()
        func end(_ now: UInt64, begun: UInt64) -> Bool { history.noteEnd(now, begun: begun) }
        for now: UInt64 in [1000, 1000, 1000, 2000, 5000] { #expect(!end(now, begun: now % 1000 + 999)) }
        #expect(!end(6000, begun: 1001), "one more")
        #expect(!end(7000, begun: 6000), "in the tick of another's end")
        #expect(end(8000, begun: 6001))
    }

    @Test("answers make up for ends: eight for one", arguments: [7, 8])
    func answers(_ count: Int) {
        var history = ReuseHistory()
        func end(_ now: UInt64) -> Bool { history.noteEnd(now, begun: now) }
        var now: UInt64 = 0
        for _ in 0..<200 where history.pauses == 0 {
            now += 1
            _ = end(now)
            for _ in 0..<count { history.noteAnswer() }
        }
        #expect(history.pauses == (count < 8 ? 1 : 0))
    }

    @Test("a pause is twice as long each time, up to five minutes; a thousand answers in a row make it forgotten")
    func pauses() {
        var history = ReuseHistory()
        func end(_ now: UInt64) -> Bool { history.noteEnd(now, begun: now) }
        var now: UInt64 = 0
        for _ in 0..<3 {
            now += 1
            _ = end(now)
        }
        var expected = second
        for _ in 0..<20 {
            #expect(history.isPaused(now + expected - 1) && !history.isPaused(now + expected))
            // What ends meanwhile was begun before.
            #expect(!end(now + expected - 1))
            now += expected
            for _ in 0..<999 { history.noteAnswer() }
            #expect(end(now), "at the first sign")
            expected = min(expected * 2, 300 * second)
        }
        now += expected
        for _ in 0..<1000 { history.noteAnswer() }
        #expect(!history.isSuspect)
        #expect(!end(now))
    }

    @Test("H6: an ejection is up to a tenth longer by chance, and never more", arguments: [1, 30, 300])
    func jitter(seconds: UInt64) {
        let times = EjectionTimes(shortest: seconds * second, longest: 300 * second)
        let name = EndpointName(address: .init(ipv4: 0x7F00_0001, port: 1), host: "a")
        let ends = (0...255).map { (jitter: UInt64) in
            let endpoint = Endpoint(name)
            endpoint.eject(0, times: times, jitter: jitter)
            return endpoint.ejectedUntil
        }
        #expect(ends.first == seconds * second)
        #expect(Set(ends).count == 256, "each differs")
        #expect(ends == ends.sorted())
        #expect((ends.last ?? 0) > seconds * second * 109 / 100 && (ends.last ?? 0) <= seconds * second * 11 / 10)
    }
}
