import Testing

@testable import Proxy

/// When an upstream that takes no copies gets none for a while.
@Suite struct ShadowPauseTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("where it can't be reached there is a pause at once, each twice as long as the one before, up to the longest")
    func unreachable() {
        var pause = ShadowPause()
        var now: UInt64 = 1000
        var pauses: [UInt64] = []
        for _ in 0..<7 {
            let isOver = pause.isOver(now)
            #expect(isOver)
            guard let time = pause.failed(now, isUnreachable: true) else { break }
            pauses.append(time / Self.second)
            let (before, at) = (pause.isOver(now + time - 1), pause.isOver(now + time))
            #expect(!before && at)
            now += time
        }
        #expect(pauses == [1, 2, 4, 8, 16, 30, 30])
    }

    @Test("where it only doesn't answer it takes so many in a row: n - 1, n")
    func unanswered() {
        var pause = ShadowPause()
        for _ in 1..<ShadowPause.failures {
            let time = pause.failed(1000, isUnreachable: false)
            #expect(time == nil)
        }
        let isOver = pause.isOver(1000)
        let time = pause.failed(1000, isUnreachable: false)
        #expect(isOver && time == Self.second)
    }

    @Test("an answer ends it all")
    func answered() {
        var pause = ShadowPause()
        let wasFine = pause.answered()
        _ = pause.failed(1000, isUnreachable: true)
        _ = pause.failed(2 * Self.second, isUnreachable: true)
        let wasFailing = pause.answered()
        #expect(!wasFine && wasFailing)
        let again = pause.failed(100 * Self.second, isUnreachable: true)
        #expect(again == Self.second)
        // Those that were on their way when it began change nothing.
        let late = pause.failed(100 * Self.second + 1, isUnreachable: true)
        #expect(late == nil)
    }
}
