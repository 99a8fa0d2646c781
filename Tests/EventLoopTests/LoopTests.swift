import EventLoop
import Glibc
import Octets
import Synchronization
import Testing

@Suite struct Loop {
    @Test func `work for the end of the tick runs once, outside of callbacks, and may add more`() throws {
        try withLoop { loop in
            var order: [String] = []
            let third = AtTickEnd {
                order.append("third")
                loop.stop()
            }
            let second = AtTickEnd {
                order.append("second")
                loop.afterTick(third)
                order.append("added")
            }
            let timer = Timer(loop: loop) {
                loop.afterTick(second)
                order.append("first")
            }
            timer.set(after: 0)
            loop.run()
            #expect(order == ["first", "second", "added", "third"])
        }
    }

    @Test func `memory that is lent brings nothing of who used it before`() throws {
        try withLoop { loop in
            var used = OutputBuffer(highWatermark: 4 << 20)
            used.append([UInt8](repeating: 1, count: 20_000))
            let capacity = used.capacity
            loop.recycle(&used)
            #expect(used.capacity == 0 && used.isEmpty && used.highWatermark == OutputBuffer.defaultHighWatermark)
            var next = OutputBuffer(highWatermark: 100)
            loop.lendSpare(to: &next)
            #expect(next.capacity == capacity && next.isEmpty && next.highWatermark == 100)
            // Where there is nothing to lend, it keeps what it has.
            loop.lendSpare(to: &next)
            #expect(next.capacity == capacity && next.highWatermark == 100)
        }
    }

    @Test func `a loop that was stopped can run again`() throws {
        try withLoop { loop in
            for _ in 0..<3 {
                loop.afterTick(AtTickEnd { loop.stop() })
                loop.run()
            }
            loop.stop()
            loop.run()
            #expect(loop.tickCount >= 4)
        }
    }

    @Test func `the clock stands still within a tick and moves between ticks`() throws {
        try withLoop { loop in
            var first: UInt64 = 0
            let timer = Timer(loop: loop) {
                if first == 0 {
                    first = loop.now
                    while clock() == clock() {}
                    #expect(loop.now == first)
                } else {
                    #expect(loop.now > first)
                    loop.stop()
                }
                #expect(loop.wallClockSeconds > 1_700_000_000)
            }
            timer.set(after: 0)
            let other = Timer(loop: loop) { timer.set(after: 0) }
            other.set(after: 50_000_000)
            loop.run()
        }
    }

    @Test func `work posted from other threads runs on the loop, each thread's in order`() throws {
        try withLoop { loop in
            final class Seen { var values: [[Int]] = [[], [], []] }
            let seen = Seen()
            loop.context = seen
            let inbox = loop.inbox
            let handles = try (0..<3).map { thread in
                try startThread(name: "poster-\(thread)") {
                    for value in 0..<1000 {
                        inbox.perform { loop in
                            let seen = loop.context as! Seen
                            seen.values[thread].append(value)
                            if seen.values.allSatisfy({ $0.count == 1000 }) { loop.stop() }
                        }
                    }
                }
            }
            loop.run()
            for handle in handles { handle.join() }
            for values in seen.values { #expect(values == Array(0..<1000)) }
        }
    }

    @Test func `an inbox outlives its loop`() throws {
        let inbox: LoopInbox
        do {
            let loop = try EventLoop()
            inbox = loop.inbox
        }
        inbox.post { Issue.record("there is no loop any more") }
    }

    @Test func `a loop per thread: each thread makes and runs its own`() throws {
        let total = Atomic<Int>(0)
        let box = Box(total: total)
        let handles = try (0..<4).map { index in
            try startThread(name: "worker with a long name \(index)") {
                guard let loop = try? EventLoop() else { return }
                let timer = Timer(loop: loop) { [unowned loop] in
                    box.total.add(1, ordering: .relaxed)
                    loop.stop()
                }
                timer.set(after: 0)
                loop.run()
            }
        }
        for handle in handles {
            handle.join()
            handle.join()
        }
        #expect(box.total.load(ordering: .relaxed) == 4)
    }

    private final class Box: Sendable {
        let total: Atomic<Int>
        init(total: consuming Atomic<Int>) { self.total = total }
    }

    @Test func `signals arrive on the loop, in the order in which they came`() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var seen: [Int32] = []
            loop.onSignal(SIGUSR1) {
                seen.append(SIGUSR1)
                kill(getpid(), SIGUSR2)
            }
            loop.onSignal(SIGUSR2) { [unowned loop] in
                seen.append(SIGUSR2)
                if seen.count == 4 { loop.stop() } else { kill(getpid(), SIGUSR1) }
            }
            kill(getpid(), SIGUSR1)
            loop.run()
            exit(seen == [SIGUSR1, SIGUSR2, SIGUSR1, SIGUSR2] ? 0 : 1)
        }
    }

    @Test func `after ignoreSignalsOfWrites a write to a closed pipe fails instead of ending the process`() async {
        await #expect(processExitsWith: .success) {
            ignoreSignalsOfWrites()
            var pair: [Int32] = [0, 0]
            guard unsafe pipe(&pair) == 0 else { exit(2) }
            close(pair[0])
            exit(unsafe write(pair[1], "x", 1) == -1 && errno == EPIPE ? 0 : 1)
        }
    }

    @Test func `raiseDescriptorLimit raises the soft limit to the hard one`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let hard = limit.rlim_max
            limit.rlim_cur = 64
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            exit(raiseDescriptorLimit() == Int(clamping: hard) ? 0 : 1)
        }
    }
}
