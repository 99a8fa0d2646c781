import Testing

@testable import Proxy

/// The arithmetic of minimum rates, without a clock.
@Suite struct MinimumRateTests {
    private let second: UInt64 = 1_000_000_000

    private func rate(_ rate: UInt64 = 500) -> MinimumRate {
        var watch = MinimumRate()
        watch.start(rate: rate, grace: 10 * second, pause: 30 * second, count: 100)
        watch.want(second)
        return watch
    }

    @Test("500 bytes a second are enough for ever, 499 are not", arguments: [(499, false), (500, true), (501, true)])
    func atTheRate(rate bytes: UInt64, holds: Bool) {
        var watch = rate()
        // 499 a second lose 2 ms of credit in each: 10 s of it last for 5000 s.
        let seconds: UInt64 = 6000
        var isFast = true
        for passed in 1...seconds where isFast {
            isFast = watch.check(second + passed * second, count: 100 + passed * bytes)
        }
        #expect(isFast == holds)
    }

    @Test("nothing at all is borne for the grace time")
    func grace() {
        var watch = rate()
        #expect(watch.wait(second) == 10 * second)
        let borne = watch.check(11 * second - 1, count: 100)
        let tooLong = watch.check(11 * second, count: 100)
        #expect(borne && !tooLong)
    }

    @Test("time in which no bytes are wanted doesn't count")
    func rest() {
        var watch = rate()
        watch.rest(6 * second)
        watch.want(100 * second)
        #expect(watch.wait(100 * second) == 5 * second)
        let borne = watch.check(105 * second - 1, count: 100)
        let tooLong = watch.check(105 * second, count: 100)
        #expect(borne && !tooLong)
    }

    @Test("a fast start earns a pause as long as the phase allows, and no more")
    func bound() {
        var watch = rate()
        let start = watch.check(2 * second, count: 1 << 50)
        let pause = watch.check(42 * second - 1, count: 1 << 50)
        let tooLong = watch.check(42 * second, count: 1 << 50)
        #expect(start && pause && !tooLong)
    }

    @Test("without a rate nothing is looked at")
    func off() {
        #expect(!rate(0).isOn && rate(1).isOn)
    }
}
