import Testing

@testable import EventLoop

/// The wheel with a clock of the test's own.
@Suite struct TimerWheels {
    private let tick: UInt64 = 1 << TimerWheel.tickBits

    @Test func `deadlines of many rounds fire at the first tick after them, wherever the clock stops between`() throws {
        let loop = try EventLoop()
        var random = Seeded(state: 42)
        let start = loop.now
        var fired: [Int: UInt64] = [:]
        var clock = start
        var timers: [Timer] = []
        var deadlines: [UInt64] = []
        for index in 0..<2000 {
            let timer = Timer(loop: loop) { fired[index] = clock }
            // Up to 200 s, six rounds.
            let delay = random.next() % (200 * second)
            timer.set(after: delay)
            deadlines.append(timer.deadline)
            timers.append(timer)
        }
        while clock < start + 201 * second {
            let previous = clock
            // Mostly small steps, at times more than a round.
            clock += random.next() % (random.next() % 50 == 0 ? 60 * second : second / 5)
            loop.wheel.advance(to: clock)
            for (index, deadline) in deadlines.enumerated() {
                if let at = fired[index] {
                    if at == clock { #expect(deadline <= clock && deadline + tick > previous) }
                } else {
                    #expect(deadline + tick > clock)
                }
            }
        }
        #expect(fired.count == 2000)
    }

    @Test func `a deadline pushed back is looked at where it was and fires where it is`() throws {
        let loop = try EventLoop()
        var count = 0
        let timer = Timer(loop: loop) { count += 1 }
        timer.set(after: second)
        let first = timer.tick
        timer.set(after: 50 * second)
        #expect(timer.tick == first)
        let start = loop.now
        loop.wheel.advance(to: start + 2 * second)
        #expect(count == 0 && timer.isSet && timer.tick != first)
        loop.wheel.advance(to: start + 49 * second)
        #expect(count == 0)
        loop.wheel.advance(to: start + 51 * second)
        #expect(count == 1 && !timer.isSet)
    }

    @Test func `a cancelled timer leaves its slot when that comes up`() throws {
        let loop = try EventLoop()
        let timer = Timer(loop: loop) { Issue.record("cancelled") }
        timer.set(after: second)
        timer.cancel()
        #expect(timer.tick != 0)
        loop.wheel.advance(to: loop.now + 2 * second)
        #expect(timer.tick == 0)
        #expect(loop.wheel.nextWait(now: loop.now) == nil)
    }

    /// The only timer, whose deadline is further away than a round of the wheel, on a loop that is late by some ticks: that it
    /// is put back into an empty wheel must not move the wheel on, to where the timer's next slot is the one it came from.
    @Test func `the only timer of a loop that is late is put back before the slot that is worked off`() throws {
        // One tick last: with the wheel moved on, it would never end.
        for late: UInt64 in [3, 2, 0, 1] {
            let loop = try EventLoop()
            var count = 0
            let timer = Timer(loop: loop) { count += 1 }
            timer.set(after: 100 * second)
            let first = timer.tick
            loop.wheel.advance(to: (first + late) << TimerWheel.tickBits)
            try #require(timer.tick == first + 1023)
            loop.wheel.advance(to: timer.deadline - 1)
            #expect(count == 0)
            loop.wheel.advance(to: timer.deadline + tick)
            #expect(count == 1 && !timer.isSet)
        }
    }

    @Test func `the only timer sets itself again from its own action`() throws {
        let loop = try EventLoop()
        var (count, ticks): (Int, [UInt64]) = (0, [])
        var timer: Timer?
        timer = Timer(loop: loop) {
            count += 1
            timer?.set(after: 200 * second)
            ticks.append(timer?.tick ?? 0)
        }
        timer?.set(after: second)
        let first = try #require(timer?.tick)
        loop.wheel.advance(to: (first + 1) << TimerWheel.tickBits)
        #expect(count == 1)
        #expect(ticks == [first + 1023])
        timer = nil
    }

    /// xorshift64*, so that each run is the same.
    private struct Seeded {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state >> 12
            state ^= state << 25
            state ^= state >> 27
            return (state &* 2_685_821_657_736_338_717) >> 8
        }
    }
}
