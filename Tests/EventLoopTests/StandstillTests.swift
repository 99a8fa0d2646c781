import EventLoop
import Glibc
import Octets
import Testing

/// What a loop does first after its thread has stood still (fault 69).
@Suite struct StandstillTests {
    /// A connection whose timeout is pushed back by bytes.
    private final class Peer: StreamHandler {
        var stream: Stream?
        var timer: Timer?
        private(set) var hasReceived = false
        private(set) var isTimedOut = false

        init(_ descriptor: Int32, on loop: EventLoop) {
            stream = Stream(loop: loop, descriptor: descriptor, handler: self)
            let timer = Timer(loop: loop) { [unowned self] in isTimedOut = true }
            timer.set(after: second / 10)
            self.timer = timer
        }

        func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
            hasReceived = true
            timer?.set(after: 20 * second)
            return bytes.count
        }
        func ended(_ stream: Stream) {}
        func drained(_ stream: Stream) {}
        func failed(_ stream: Stream, _ errno: Int32) {}
    }

    @Test func `who has sent is not timed out, and who has not is, on more sockets than one wait tells of`() throws {
        try withLoop { loop in
            var peers: [Peer] = []
            var others: [Int32] = []
            for _ in 0..<200 {
                let (ours, other) = socketPair()
                peers.append(Peer(ours, on: loop))
                others.append(other)
            }
            for other in others.dropLast() { put("x", to: other) }
            // The standstill: every timeout is over long before the loop turns.
            usleep(900_000)
            let end = Timer(loop: loop) { loop.stop() }
            end.set(after: second / 2)
            loop.run()
            #expect(peers.filter(\.isTimedOut).count == 1)
            #expect(peers.filter(\.hasReceived).count == peers.count - 1)
            #expect(peers.last?.isTimedOut == true)
            for peer in peers {
                peer.stream?.close()
                peer.timer = nil
            }
            for other in others { close(other) }
        }
    }

    @Test(arguments: [true, false])
    func `a standstill that the pulse shows is no active time, and without a pulse all time is`(pulses: Bool) throws {
        try withLoop { loop in
            var (before, after, real, taken) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
            let end = Timer(loop: loop) {
                (after, real) = (loop.activeNow, loop.now - real)
                taken = loop.now - after
                loop.stop()
            }
            let stop = Timer(loop: loop) {
                (before, real) = (loop.activeNow, loop.now)
                usleep(900_000)
                end.set(after: second / 10)
            }
            if pulses {
                // Its time ends in the standstill.
                loop.inbox.perform { $0.pulse(next: second / 10) }
            }
            stop.set(after: second / 20)
            loop.run()
            #expect(real >= 900_000_000)
            #expect(pulses ? after - before < second / 2 : after - before == real)
            // Nothing but this one standstill was taken.
            #expect(taken == real - (after - before))
            #expect(loop.activeNow > after)
        }
    }

    @Test(arguments: [true, false])
    func `a standstill that the pulse shows counts in no timer, and is told once`(pulses: Bool) throws {
        try withLoop { loop in
            var (fired, told) = (UInt64(0), 0)
            loop.onStandstill = { told += 1 }
            let start = loop.now
            let timer = Timer(loop: loop) {
                fired = loop.now - start
                loop.stop()
            }
            // In front of the standstill a later time is forgotten, and in it nothing is hastened.
            timer.set(after: 100 * second)
            timer.hasten(to: second / 2)
            let stop = Timer(loop: loop) { usleep(900_000) }
            if pulses { loop.inbox.perform { $0.pulse(next: second / 10) } }
            stop.set(after: second / 20)
            loop.run()
            #expect(fired >= (pulses ? 1_350_000_000 : 900_000_000))
            #expect(told == (pulses ? 1 : 0))
        }
    }

    @Test func `pulses that come in time take nothing of it`() throws {
        try withLoop { loop in
            let start = loop.activeNow
            var count = 0
            var timer: Timer?
            timer = Timer(loop: loop) {
                loop.pulse(next: second / 100)
                count += 1
                if count < 5 { timer?.set(after: second / 20) } else { loop.stop() }
            }
            timer?.set(after: second / 20)
            loop.run()
            timer = nil
            // Each came later than it was announced, and by less than a standstill is.
            #expect(loop.activeNow - start >= second / 4)
        }
    }
}
