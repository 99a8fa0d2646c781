import ContentCoding
import HTTPWire
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
                message.keep(body.span.extracting(at..<end), limit: limit)
                let taken = min(takings[min(turn, takings.count - 1)], end - at)
                message.putBack(end - at - taken)
                at += taken
                turn += 1
                #expect(message.count == at)
                #expect(message.body.span.copied() == Array(body.prefix(min(limit, at))))
            }
        }
    }

    @Test(
        "a coded body is shown up to a limit, and is whole where its coding ends within it", arguments: [99, 100, 101])
    func codings(limit: Int) {
        let body = [UInt8](repeating: 0x61, count: 100)
        let encoder = ContentEncoder(.gzip, level: CodingLevel(nil))
        var coded = OutputBuffer()
        #expect(encoder.encode(body.span, into: &coded) && encoder.finish(into: &coded))
        let bytes = coded.span.copied()
        // Whole, without the last byte of the sum, and with a wrong one.
        for (bytes, isFine) in [
            (bytes, true), (Array(bytes.dropLast()), false), (bytes.dropLast(5) + [bytes[bytes.count - 5] ^ 1], false),
        ] {
            var message = KeptMessage()
            message.keep(head: Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8).span)
            message.keep(bytes.span, limit: 1000)
            let shown = KeptCopy(message).decoded(limit: limit)
            #expect(shown?.bytes == Array(body.prefix(limit)))
            #expect(shown?.isWhole == (isFine && limit >= body.count))
        }
    }

    /// What is shown of a message whose first `passed` bytes are those of a source, and the bytes behind them its own.
    private func shown(_ source: [UInt8], passed: Int, own: [UInt8], limit: Int) -> KeptCopy {
        var from = KeptMessage()
        from.keep(source.span, limit: limit)
        var message = KeptMessage()
        message.pass(passed)
        message.keep(own.span, limit: limit)
        return KeptCopy(message, of: KeptCopy(from), limit: limit)
    }

    @Test(
        "a message's content that passed is shown from the one that brought it", arguments: [0, 1, 7, 8, 9, 12, 13, 40])
    func passing(limit: Int) {
        let source = Array((0..<UInt8(8)))
        let own = Array((100..<UInt8(105)))
        for passed in 0...8 {
            let whole = Array(source.prefix(passed)) + own
            let copy = shown(source, passed: passed, own: own, limit: limit)
            #expect(copy.count == whole.count)
            #expect(copy.body == Array(whole.prefix(limit)))
            #expect(copy.isWhole == (whole.count <= limit))
        }
        // What was sent again passed twice.
        let again = shown(source, passed: 16, own: [], limit: limit)
        #expect(again.count == 8 && again.body == Array(source.prefix(limit)))
    }

    @Test("what is measured of an exchange is plain values, which are copied without a look at each")
    func plainRecord() {
        #expect(_isPOD(ExchangeRecord.self))
        #expect(_isPOD(ExchangeTap.Facts.self))
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
        var history = ExchangeHistory(settings)
        let taps = (0..<3).map { _ in history.begin(at: 0) }
        #expect(taps.allSatisfy { $0 != nil })
        #expect(history.begin(at: 0) == nil)
        if let tap = taps[0] { history.drop(tap) }
        #expect(history.begin(at: 0) != nil)
        #expect(history.begin(at: 0) == nil)
    }

    private func identity(_ tap: HeldTap) -> ObjectIdentifier { tap.with { ObjectIdentifier($0) } }

    /// Begins `count` exchanges, each of which ends before the next one. Returns how many are kept.
    private func keep(_ count: Int, at now: UInt64, in history: inout ExchangeHistory) -> Int {
        var kept = 0
        for _ in 0..<count {
            guard let tap = history.begin(at: now) else { continue }
            kept += 1
            history.drop(tap)
        }
        return kept
    }

    @Test(
        "of a second's exchanges 2,000 are kept, or as many as there are entries",
        arguments: [(1, 2_000), (200, 2_000), (2_000, 2_000), (2_001, 2_001), (10_000, 10_000)])
    func pace(entries: Int, pace: Int) {
        var settings = ConsoleSettings()
        settings.entries = entries
        let second: UInt64 = 1_000_000_000
        let start = 77 * second
        for count in [pace - 1, pace, pace + 1] {
            var history = ExchangeHistory(settings)
            #expect(keep(count, at: start, in: &history) == min(count, pace))
        }
        // What was used comes back evenly, and never more than a second's.
        var history = ExchangeHistory(settings)
        #expect(keep(pace + 1, at: start, in: &history) == pace)
        let interval = second / UInt64(pace)
        #expect(keep(1, at: start + interval - 1, in: &history) == 0)
        #expect(keep(2, at: start + interval, in: &history) == 1)
        #expect(keep(11, at: start + 11 * interval, in: &history) == 10)
        #expect(keep(pace + 1, at: start + 9 * second, in: &history) == pace)
    }

    @Test("what somebody waits for is kept whatever else there is")
    func asked() {
        var settings = ConsoleSettings()
        settings.entries = 1
        var history = ExchangeHistory(settings)
        let first = history.begin(at: 0)
        #expect(first != nil)
        #expect(history.begin(at: 0) == nil)
        let asked = history.begin()
        #expect(identity(asked) != first.map(identity))
    }

    @Test("a tap that is used again has nothing of the exchange before")
    func again() {
        var history = ExchangeHistory(ConsoleSettings())
        let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        guard let tap = history.begin(at: 0) else {
            Issue.record("there is room")
            return
        }
        tap.with {
            $0.fromClient.keep(head: text.span)
            $0.answered(text.span)
            $0.toUpstream.pass(7)
            $0.upstreamStatus = 200
            $0.code = "body_too_large"
        }
        history.drop(tap)
        let next = history.begin(at: 0)
        #expect(next.map(identity) == identity(tap))
        tap.with {
            #expect($0.fromClient.head.isEmpty && $0.toClient.body.isEmpty && $0.toClient.count == 0)
            #expect($0.toUpstream.passed == 0)
            #expect($0.upstreamStatus == 0 && $0.code == nil)
        }
    }

    @Test("a tap of earlier settings is no one of the history's")
    func generations() {
        var settings = ConsoleSettings()
        settings.entries = 1
        var old = ExchangeHistory(settings, generation: 0)
        var new = ExchangeHistory(settings, generation: 1)
        guard let tap = old.begin(at: 0) else {
            Issue.record("there is room")
            return
        }
        new.drop(tap)
        #expect(new.begin(at: 0) != nil)
        #expect(new.begin(at: 0) == nil)
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

    private func selection(_ query: String) throws -> ExchangeSelection {
        var head = MessageHead()
        var parser = RequestParser()
        let text = Array("GET /console/exchanges\(query) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        _ = try parser.parse(text.span, into: &head)
        var fault = ""
        return try #require(ExchangeSelection(AdminRequest(head, body: []), fault: &fault))
    }

    /// Has one request of a path answered.
    private func serve(_ rig: ProxyRig, number: Int, answer: String) throws {
        let client = try rig.connect(sending: "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        _ = try rig.request(on: number)
        rig.upstreams[number].send(answer)
        #expect(try rig.response(to: client).status == 200)
        rig.settle()
    }

    private static let whole = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"

    @Test("numbers go on where those of the history before end: none stands for two exchanges")
    func numbersGoOn() throws {
        let console: (inout ProxySettings) -> Void = { $0.admin.console = ConsoleSettings() }
        try withRig([forward("/a")], configure: console) { rig in
            try serve(rig, number: 0, answer: Self.whole)
            try rig.until("it is kept") { rig.worker.history.next == 2 }
            var settings = rig.settings
            settings.admin.console?.entries = 7
            try rig.worker.adopt(settings)
            let forgotten = rig.worker.history.find(1)
            #expect(forgotten == nil)
            try serve(rig, number: 1, answer: Self.whole)
            try rig.until("it is kept") { rig.worker.history.next == 3 }
            let found = rig.worker.history.find(2)
            #expect(found?.facts.number == 2)
            // Also where there was none for a while.
            settings.admin.console = nil
            try rig.worker.adopt(settings)
            settings.admin.console = ConsoleSettings()
            try rig.worker.adopt(settings)
            let next = rig.worker.history.next
            #expect(next == 3)
        }
    }

    @Test(
        "exchanges are picked by method and by a part of a code, in whatever case",
        arguments: [
            ("", true), ("?method=GET", true), ("?method=get", true), ("?method=GE", false), ("?method=GETS", false),
            ("?method=POST", false), ("?code=upstream_timeout", true), ("?code=TIMEOUT", true), ("?code=m_t", true),
            ("?code=U", true), ("?code=upstream_timeouts", false), ("?code=none", false),
            ("?code=none&method=GET", false), ("?code=timeout&method=get", true), ("?code=timeout&method=put", false),
        ])
    func picking(query: String, isPicked: Bool) throws {
        let tap = ExchangeTap(limit: 100, generation: 0)
        let head = Array("GET /a HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        tap.fromClient.keep(head: head.span)
        tap.code = "upstream_timeout"
        #expect(try selection(query).holds(tap) == isPicked)
    }

    @Test("F30 statuses that none is for are among 5xx", arguments: [499, 500, 600, 999])
    func pickingByStatus(status: Int) throws {
        let console: (inout ProxySettings) -> Void = { $0.admin.console = ConsoleSettings() }
        try withRig([forward("/a")], configure: console) { rig in
            let client = try rig.connect(sending: "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 \(status) A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            #expect(try rig.response(to: client).status == status)
            rig.settle()
            try rig.until("it is kept") { rig.worker.history.next == 2 }
            func isPicked(_ query: String) throws -> Bool {
                let asked = try selection(query)
                return rig.worker.exchanges(asked, since: [rig.worker.share.number: 1], limit: 2).exchanges.count == 1
            }
            #expect(try isPicked("?status=4xx") == (status < 500))
            #expect(try isPicked("?status=5xx") == (status >= 500))
            #expect(try isPicked("?status=6xx") == (status == 600))
            #expect(try isPicked("?status=\(status)"))
        }
        var totals = RouteTotals()
        totals.add(2, status: status)
        #expect(totals.classes == [min(status / 100, 5): 2])
    }

    @Test("what ended since the last look and is more than is shown is counted", arguments: [1, 3, 4, 5, 9])
    func beyondLimit(limit: Int) throws {
        let console: (inout ProxySettings) -> Void = { $0.admin.console = ConsoleSettings() }
        try withRig([forward("/a")], configure: console) { rig in
            for served in 0..<5 {
                let client = try rig.connect(sending: "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                _ = try rig.request(on: served)
                rig.upstreams[served].send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                #expect(try rig.response(to: client).status == 200)
            }
            rig.settle()
            try rig.until("they are kept") { rig.worker.history.next == 6 }
            let all = try selection("")
            let number = rig.worker.share.number
            // Known up to the first: four are new.
            let news = rig.worker.exchanges(all, since: [number: 2], limit: limit)
            #expect(news.exchanges.count == min(4, limit))
            #expect(news.missed == max(0, 4 - limit))
            #expect(news.next == [number: 6])
        }
    }

    @Test("settings that nobody is served by, and no exchange that is kept, are let go of", arguments: [1, 2])
    func oldSettings(entries: Int) throws {
        let console: (inout ProxySettings) -> Void = { settings in
            settings.admin.console = ConsoleSettings()
            settings.admin.console?.entries = entries
        }
        try withRig([forward("/a")], configure: console) { rig in
            weak let old = rig.worker.current
            var served = 0
            func exchange(atOnce count: Int = 1) throws {
                let clients = try (0..<count).map { index in
                    let client = try rig.connect(sending: "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    _ = try rig.request(on: served + index)
                    return client
                }
                for client in clients {
                    rig.upstreams[served].send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                    #expect(try rig.response(to: client).status == 200)
                    served += 1
                }
                rig.settle()
            }
            // As many are kept as may be, and as many wait.
            for _ in 0..<2 { try exchange(atOnce: entries) }
            var settings = rig.settings
            settings.client.write += .seconds(1)
            try rig.worker.adopt(settings)
            for left in (0..<entries).reversed() {
                #expect(old != nil)
                try exchange()
                #expect((old == nil) == (left == 0))
            }
        }
    }
}
