import EventLoop
import Glibc
import Testing

private let milliseconds: UInt64 = 1_000_000

@Suite struct Timers {
    @Test func `timers fire in the order of their deadlines, never early`() throws {
        try withLoop { loop in
            var fired: [Int] = []
            var timers: [Timer] = []
            let start = loop.now
            let delays: [UInt64] = [300, 50, 200, 1, 120]
            for (index, delay) in delays.enumerated() {
                let timer = Timer(loop: loop) {
                    #expect(loop.now >= start + delay * milliseconds)
                    fired.append(index)
                    if fired.count == delays.count { loop.stop() }
                }
                timer.set(after: delay * milliseconds)
                timers.append(timer)
            }
            loop.run()
            #expect(fired == [3, 1, 4, 2, 0])
            #expect(timers.allSatisfy { !$0.isSet })
        }
    }

    @Test func `a timer set again fires once, at the later time`() throws {
        try withLoop { loop in
            var fired = 0
            let start = loop.now
            let pushed = Timer(loop: loop) {
                fired += 1
                #expect(loop.now >= start + 150 * milliseconds)
            }
            pushed.set(after: 10 * milliseconds)
            pushed.set(after: 60 * milliseconds)
            pushed.set(after: 150 * milliseconds)
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: 300 * milliseconds)
            loop.run()
            #expect(fired == 1)
        }
    }

    @Test func `a timer set to an earlier time fires at that time`() throws {
        try withLoop { loop in
            let timer = Timer(loop: loop) { loop.stop() }
            timer.set(after: 3600 * second)
            timer.set(after: 20 * milliseconds)
            loop.run()
            #expect(!timer.isSet)
        }
    }

    /// Milliseconds that the timer is set to, if at all, and those that it is hastened to.
    @Test(arguments: [[20, 3_600_000], [3_600_000, 20], [0, 20]] as [[UInt64]])
    func `a timer that is hastened fires at the earlier time of both`(_ times: [UInt64]) throws {
        try withLoop { loop in
            let start = loop.now
            let timer = Timer(loop: loop) { loop.stop() }
            if times[0] > 0 { timer.set(after: times[0] * milliseconds) }
            timer.hasten(to: times[1] * milliseconds)
            timer.hasten(to: 3600 * second)
            loop.run()
            #expect(!timer.isSet)
            #expect(loop.now - start >= 20 * milliseconds)
        }
    }

    @Test func `a cancelled timer doesn't fire, and can be set again`() throws {
        try withLoop { loop in
            var fired = 0
            let timer = Timer(loop: loop) { fired += 1 }
            timer.set(after: 10 * milliseconds)
            timer.cancel()
            #expect(!timer.isSet)
            var round = 0
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: 100 * milliseconds)
            loop.run()
            #expect(fired == 0)
            timer.set(after: 10 * milliseconds)
            #expect(timer.isSet)
            end.set(after: 100 * milliseconds)
            loop.run()
            #expect(fired == 1)
            round += 1
        }
    }

    @Test func `a timer that is dropped doesn't fire, also when dropped by another of the same tick`() throws {
        try withLoop { loop in
            var victims: [Timer] = []
            var fired = 0
            // All in one tick; whichever fires first drops them all.
            for _ in 0..<5 {
                let timer = Timer(loop: loop) {
                    fired += 1
                    victims.removeAll()
                }
                timer.set(after: 1)
                victims.append(timer)
            }
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: 100 * milliseconds)
            loop.run()
            #expect(fired == 1)
            #expect(victims.isEmpty)
        }
    }

    @Test func `a timer may set itself again in its action`() throws {
        try withLoop { loop in
            var count = 0
            var timer: Timer?
            timer = Timer(loop: loop) {
                count += 1
                if count == 3 { loop.stop() } else { timer?.set(after: 0) }
            }
            timer?.set(after: 0)
            loop.run()
            #expect(count == 3)
            timer = nil
        }
    }

    @Test func `a deadline beyond one round of the wheel waits, and the longest delay doesn't overflow`() throws {
        try withLoop { loop in
            var fired = false
            let far = Timer(loop: loop) { fired = true }
            far.set(after: .max)
            let hour = Timer(loop: loop) { fired = true }
            hour.set(after: 3600 * second)
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: 100 * milliseconds)
            loop.run()
            #expect(!fired)
            #expect(far.isSet && hour.isSet)
        }
    }

    @Test func `an idle loop sleeps: ten thousand set and cancelled timers wake it a few times only`() throws {
        try withLoop { loop in
            let timers = (0..<10_000).map { index in
                let timer = Timer(loop: loop) {}
                timer.set(after: 20 * second + UInt64(index) * milliseconds)
                if index.isMultiple(of: 2) { timer.cancel() }
                return timer
            }
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: 200 * milliseconds)
            loop.run()
            #expect(loop.tickCount < 10)
            #expect(timers.count == 10_000)
        }
    }
}
