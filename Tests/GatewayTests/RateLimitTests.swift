import Octets
import Testing

@testable import Gateway

/// How requests are counted: the algorithm, and the table of keys.
@Suite struct RateLimitTests {
    private static let second: UInt64 = 1_000_000_000
    private static let hour = 3600 * second

    private func lines(_ fields: RateFields) -> String {
        var output = OutputBuffer()
        fields.append(to: &output)
        return output.span.lossyString()
    }

    // MARK: The algorithm

    @Test(
        "an interval is a period by the count, rounded up, and a quota the burst or the count",
        arguments: [
            (1, Duration.seconds(1), Int?.none, second, 1), (100, .seconds(1), 200, 10_000_000, 200),
            (3, .seconds(1), nil, 333_333_334, 3), (1, .seconds(3600), 20, hour, 20),
            (1_000_000, .seconds(1), 1, 1000, 1), (7, .milliseconds(250), nil, 35_714_286, 7),
            (1, .seconds(86_400), nil, 24 * hour, 1),
        ] as [(Int, Duration, Int?, UInt64, Int)])
    func intervals(count: Int, period: Duration, burst: Int?, interval: UInt64, quota: Int) {
        let limit = RateLimit(count: count, per: period, burst: burst)
        #expect(limit.interval == interval && limit.quota == quota)
        #expect(CellRate(limit) == CellRate(interval: interval, quota: quota))
        #expect(UInt64(count) * interval >= UInt64(period / .nanoseconds(1)))
    }

    @Test("so many pass at once as the burst says, not one more: n - 1, n, n + 1", arguments: [1, 2, 3, 200])
    func bursts(quota: Int) {
        let rate = CellRate(interval: 10, quota: quota)
        var whole: UInt64 = 0
        for number in 1...quota {
            let outcome = rate.take(&whole, now: 1000)
            #expect(outcome == .init(isPassed: true, remaining: quota - number, wait: UInt64(10 * number)))
        }
        let before = whole
        for _ in 0..<3 {
            #expect(rate.take(&whole, now: 1000) == .init(isPassed: false, remaining: 0, wait: 10))
            #expect(whole == before)
        }
    }

    @Test("one comes back after each interval: a nanosecond before, then, and after")
    func intervalsPass() {
        let rate = CellRate(interval: 100, quota: 2)
        var whole: UInt64 = 0
        #expect(rate.take(&whole, now: 1000).isPassed && rate.take(&whole, now: 1000).isPassed)
        #expect(rate.take(&whole, now: 1099) == .init(isPassed: false, remaining: 0, wait: 1))
        #expect(rate.take(&whole, now: 1100) == .init(isPassed: true, remaining: 0, wait: 200))
        #expect(rate.take(&whole, now: 1101) == .init(isPassed: false, remaining: 0, wait: 99))
        // After a long time it is whole, and no fuller.
        #expect(rate.take(&whole, now: 1_000_000) == .init(isPassed: true, remaining: 1, wait: 100))
        #expect(rate.take(&whole, now: 1_000_000).isPassed)
        #expect(!rate.take(&whole, now: 1_000_000).isPassed)
    }

    @Test("a clock that is behind another one lets none pass that the other one wouldn't")
    func clocks() {
        let rate = CellRate(interval: 100, quota: 3)
        var whole: UInt64 = 0
        #expect(rate.take(&whole, now: 1000).isPassed)
        #expect(rate.take(&whole, now: 990) == .init(isPassed: true, remaining: 0, wait: 210))
        #expect(rate.take(&whole, now: 0) == .init(isPassed: false, remaining: 0, wait: 1000))
        #expect(rate.take(&whole, now: 1000).isPassed)
        #expect(!rate.take(&whole, now: 1000).isPassed)
    }

    @Test("the longest window and the latest time overflow nothing")
    func extremes() {
        let interval = UInt64(RateLimit.longestWindow / .nanoseconds(1)) / UInt64(RateLimit.greatestCount)
        let rate = CellRate(interval: interval, quota: RateLimit.greatestCount)
        // A machine that has run for 300 years.
        let now: UInt64 = 9_460_800_000 * Self.second
        var whole: UInt64 = 0
        for _ in 0..<RateLimit.greatestCount where !rate.take(&whole, now: now).isPassed {
            Issue.record("one was refused before its time")
            return
        }
        #expect(rate.take(&whole, now: now) == .init(isPassed: false, remaining: 0, wait: interval))
        #expect(rate.take(&whole, now: 0).wait > now)
    }

    @Test("over any time no more pass than the rate and the burst allow, whatever comes")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let interval = UInt64.random(in: 1...50, using: &generator)
            let quota = Int.random(in: 1...20, using: &generator)
            let rate = CellRate(interval: interval, quota: quota)
            var whole: UInt64 = 0
            var passed: [UInt64] = []
            var now: UInt64 = 5
            for _ in 0..<500 {
                now += UInt64.random(in: 0...interval, using: &generator)
                let outcome = rate.take(&whole, now: now)
                if outcome.isPassed {
                    passed.append(now)
                } else {
                    // Whoever waits as long as is said passes, and a moment before not yet.
                    var (early, late) = (whole, whole)
                    #expect(!rate.take(&early, now: now + outcome.wait - 1).isPassed)
                    #expect(rate.take(&late, now: now + outcome.wait).isPassed)
                }
            }
            for first in passed.indices {
                let last = passed.count - 1
                #expect(UInt64(last - first + 1) <= UInt64(quota) + (passed[last] - passed[first]) / interval)
            }
        }
    }

    @Test("the fields count whole seconds, rounded up, one at least")
    func fields() {
        let rate = CellRate(RateLimit(count: 100, per: .seconds(1), burst: 200))
        let passed = RateFields(rate, .init(isPassed: true, remaining: 199, wait: 10_000_000))
        #expect(lines(passed) == "RateLimit-Policy: \"default\";q=200;w=2\r\nRateLimit: \"default\";r=199;t=1\r\n")
        for (wait, seconds) in [(1, 1), (Self.second, 1), (Self.second + 1, 2), (2 * Self.second, 2)] as [(UInt64, Int)]
        {
            let fields = RateFields(rate, .init(isPassed: false, remaining: 0, wait: wait))
            #expect(fields.reset == seconds && fields.remaining == 0)
        }
        let slow = CellRate(RateLimit(count: 1, per: .seconds(3600), burst: 20))
        var whole: UInt64 = 0
        #expect(
            lines(RateFields(slow, slow.take(&whole, now: 5)))
                == "RateLimit-Policy: \"default\";q=20;w=72000\r\nRateLimit: \"default\";r=19;t=3600\r\n")
    }

    // MARK: The table

    private func table(_ entries: Int) -> RateShard { RateShard(RateTableShape(entries: entries)) }

    private let once = CellRate(interval: 1000, quota: 1)

    @Test("each key has its own count")
    func keys() {
        var table = table(1000)
        for key in 0..<100 as Range<UInt64> { #expect(table.take(key << 57 | key, by: once, now: 10).isPassed) }
        for key in 0..<100 as Range<UInt64> { #expect(!table.take(key << 57 | key, by: once, now: 1009).isPassed) }
        // 0 stands for an empty slot, so this key is another one's.
        #expect(!table.take(1, by: once, now: 1009).isPassed || table.count == 100)
        #expect(table.evicted == 0)
        for key in 0..<100 as Range<UInt64> { #expect(table.take(key << 57 | key, by: once, now: 1010).isPassed) }
    }

    @Test(
        "a table has room for as many as it says, and for no more",
        arguments: [
            (8, 8), (15, 8), (16, 16), (100, 96), (127, 120), (128, 128), (1000, 960), (2047, 1920), (2048, 2048),
        ])
    func shapes(entries: Int, room: Int) {
        let shape = RateTableShape(entries: entries)
        #expect(shape.entries == room && room <= entries)
    }

    @Test(
        "a large table is divided, and has seven eighths of its room or more",
        arguments: [2048, 4096, 16_384, 100_000, 10_000_000])
    func largeShapes(entries: Int) {
        let shape = RateTableShape(entries: entries)
        #expect(shape.entries <= entries && shape.entries * 8 >= entries * 7)
        #expect([1, 2, 4, 8, 16].contains(shape.shards) && (8..<16).contains(shape.firstBuckets))
    }

    @Test("it grows as keys come, and knows them all: half, nine tenths of its room")
    func growth() {
        let hash = RateKeyHash()
        for entries in [960 / 2, 960 * 9 / 10] {
            var table = table(1000)
            for number in 0..<UInt64(entries) { #expect(table.take(hash(number), by: once, now: 10).isPassed) }
            #expect(table.count == entries && table.evicted == 0)
            for number in 0..<UInt64(entries) { #expect(!table.take(hash(number), by: once, now: 10).isPassed) }
        }
    }

    @Test("the place of a key whose bucket is whole again goes to another, and that is no eviction")
    func reuse() {
        let hash = RateKeyHash()
        var table = table(96)
        for round in 0..<50 as Range<UInt64> {
            let now = 1 + round * 1000
            for number in 0..<48 as Range<UInt64> {
                #expect(table.take(hash(round << 32 | number), by: once, now: now).isPassed)
            }
        }
        #expect(table.count <= 96 && table.evicted == 0)
    }

    @Test("a full table forgets who would be forgotten first, counts it, and refuses nobody for it: n - 1, n, n + 1")
    func full() {
        let rate = CellRate(interval: 1000, quota: 1)
        // One bucket of eight, in which all keys are.
        var table = table(8)
        for key in 1...7 as ClosedRange<UInt64> { #expect(table.take(key, by: rate, now: 10 * key).isPassed) }
        #expect(table.count == 7 && table.evicted == 0)
        #expect(table.take(8, by: rate, now: 80).isPassed)
        #expect(table.count == 8 && table.evicted == 0)
        #expect(table.take(9, by: rate, now: 90).isPassed)
        #expect(table.count == 8 && table.evicted == 1)
        for key in 2...9 as ClosedRange<UInt64> { #expect(!table.take(key, by: rate, now: 91).isPassed) }
        // The first one had to go, and comes back as one that is not known.
        #expect(table.take(1, by: rate, now: 92).isPassed)
        #expect(table.count == 8 && table.evicted == 2)
        #expect(!table.take(1, by: rate, now: 93).isPassed && !table.take(3, by: rate, now: 93).isPassed)
    }

    @Test(
        "whoever makes up keys without end is never refused for it, takes no more memory, and drives out none who owes more"
    )
    func flood() {
        let hash = RateKeyHash()
        let rate = CellRate(interval: 1000, quota: 10)
        var table = table(1000)
        let heavy = hash(UInt64.max)
        for _ in 0..<10 { #expect(table.take(heavy, by: rate, now: 1).isPassed) }
        for number in 0..<20_000 as Range<UInt64> { #expect(table.take(hash(number), by: rate, now: 2).isPassed) }
        #expect(table.count <= 960 && table.evicted > 19_000)
        #expect(!table.take(heavy, by: rate, now: 3).isPassed)
    }

    @Test("random requests agree with a list of all that came")
    func model() {
        var generator = SystemRandomNumberGenerator()
        let hash = RateKeyHash()
        let rate = CellRate(interval: 40, quota: 3)
        var table = table(1000)
        var known: [UInt64: UInt64] = [:]
        var now: UInt64 = 1
        for _ in 0..<30_000 {
            now += UInt64.random(in: 0...3, using: &generator)
            let key = hash(UInt64.random(in: 0..<200, using: &generator))
            #expect(table.take(key, by: rate, now: now) == rate.take(&known[key, default: 0], now: now))
        }
        #expect(table.evicted == 0)
    }

    @Test("a hash is one for the same value, another for another value, and another in another table")
    func hashes() {
        let (hash, other) = (RateKeyHash(), RateKeyHash())
        func of(_ text: String, _ hash: RateKeyHash) -> UInt64 { hash(Array(text.utf8).span) }
        let long = String(repeating: "x", count: 10_000)
        for text in ["", "a", "client-1", long] {
            #expect(of(text, hash) == of(text, hash) && of(text, hash) != of(text, other))
        }
        #expect(Set(["", "a", "b", "ab", long, long + "x"].map { of($0, hash) }).count == 6)
        #expect(hash(1) == hash(1) && hash(1) != hash(2) && hash(1) != other(1))
    }
}
