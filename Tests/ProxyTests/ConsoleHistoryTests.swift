import Octets
import Testing

@testable import Proxy

/// What a worker keeps of exchanges for the console: how many, and how much of each.
@Suite struct ConsoleHistoryTests {
    @Test("of a body its first bytes are kept, and all are counted", arguments: [7, 8, 9, 20])
    func bodies(count: Int) {
        let body = Array((0..<UInt8(count)))
        for size in 1...count {
            var message = KeptMessage()
            var at = 0
            while at < count {
                let end = min(at + size, count)
                message.keep(body.span.extracting(at..<end), limit: 8)
                at = end
            }
            #expect(message.count == count)
            #expect(message.body.span.copied() == Array(body.prefix(8)))
        }
    }

    @Test("content that is brought again, since it wasn't taken, is kept once", arguments: [0, 1, 8, 19, 20, 21])
    func broughtAgain(limit: Int) {
        let body = Array((0..<UInt8(20)))
        // How much is taken of each piece that is brought; the last number goes on.
        for takings in [[0, 6], [1], [3, 0, 6], [6], [0, 0, 2, 5, 1]] {
            var message = KeptMessage()
            var at = 0
            var turn = 0
            while at < body.count {
                let end = min(at + 6, body.count)
                message.look(at: body.span.extracting(at..<end), limit: limit)
                let taken = min(takings[min(turn, takings.count - 1)], end - at)
                message.take(taken)
                at += taken
                turn += 1
            }
            #expect(message.count == 20)
            #expect(message.body.span.copied() == Array(body.prefix(limit)))
        }
    }

    @Test("of a head as much is kept as an ordinary one has")
    func heads() {
        for count in [KeptMessage.headLimit - 1, KeptMessage.headLimit, KeptMessage.headLimit + 1] {
            var message = KeptMessage()
            let text = [UInt8](repeating: 0x61, count: count)
            message.keep(head: text.span)
            message.keep(head: text.span)
            #expect(message.head.count == KeptMessage.headLimit)
        }
    }

    @Test("as many that run are kept as have ended, and not one more")
    func running() {
        var settings = ConsoleSettings()
        settings.entries = 3
        let history = ExchangeHistory(settings)
        let taps = (0..<3).map { _ in history.begin() }
        #expect(taps.allSatisfy { $0 != nil })
        #expect(history.begin() == nil)
        if let tap = taps[0] { history.drop(tap) }
        #expect(history.begin() != nil)
        #expect(history.begin() == nil)
    }

    @Test("a tap of earlier settings is no one of the history's")
    func generations() {
        var settings = ConsoleSettings()
        settings.entries = 1
        let old = ExchangeHistory(settings, generation: 0)
        let new = ExchangeHistory(settings, generation: 1)
        guard let tap = old.begin() else {
            Issue.record("there is room")
            return
        }
        new.drop(tap)
        #expect(new.begin() != nil)
        #expect(new.begin() == nil)
    }

    @Test("exchanges of several workers are shown newest first, and what is too much is counted")
    func merging() {
        var news = ExchangeNews()
        var other = ExchangeNews()
        other.next = [1: 5]
        other.missed = 2
        news.next = [0: 3]
        news.merge(other, limit: 10)
        #expect(news.next == [0: 3, 1: 5])
        #expect(news.missed == 2)
    }
}
