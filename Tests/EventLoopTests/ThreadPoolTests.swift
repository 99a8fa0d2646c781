import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import EventLoop

/// Work on threads beside the loops', also where the system gives none.
@Suite("Thread pools")
struct ThreadPoolTests {
    private static let noThread = LoopError.system(call: "pthread_create", errno: 11)

    /// What was done, in the order it was.
    private final class Log: Sendable {
        private let entries = Mutex<[Int]>([])
        var all: [Int] { entries.withLock { $0 } }
        func add(_ entry: Int) { entries.withLock { $0.append(entry) } }
    }

    private final class Counter: Sendable {
        private let count: Mutex<Int>
        init(_ count: Int = 0) { self.count = Mutex(count) }
        /// The count behind it.
        func add(_ number: Int) -> Int {
            count.withLock {
                $0 += number
                return $0
            }
        }
        func raise(to number: Int) { count.withLock { $0 = max($0, number) } }
    }

    /// Waits for as many as pass.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        func pass() { semaphore.signal() }
        /// Returns false where fewer came.
        func wait(for count: Int) -> Bool {
            (0..<count).allSatisfy { _ in semaphore.wait(timeout: .now() + .seconds(Int(patience))) == .success }
        }
    }

    @Test("work is begun in the order in which it came, by as many threads as there may be", arguments: [1, 2, 3])
    func order(threads: Int) throws {
        let pool = ThreadPool(name: "test")
        let (log, gate) = (Log(), Gate())
        let (running, most) = (Counter(), Counter())
        for number in 0..<40 {
            try pool.run(onOneOf: threads) {
                most.raise(to: running.add(1))
                log.add(number)
                pauseThread(microseconds: 10)
                _ = running.add(-1)
                gate.pass()
            }
        }
        #expect(gate.wait(for: 40))
        #expect(most.add(0) <= threads)
        #expect(log.all.sorted() == Array(0..<40))
        if threads == 1 { #expect(log.all == Array(0..<40)) }
    }

    @Test("where the system gives no thread, the work is refused and never done")
    func none() throws {
        let given = Counter()
        let pool = Self.pool { given.add(0) > 0 }
        let log = Log()
        for number in 0..<3 {
            #expect(throws: Self.noThread) { try pool.run(onOneOf: 4) { log.add(number) } }
        }
        _ = given.add(1)
        let gate = Gate()
        try pool.run(onOneOf: 4) {
            log.add(3)
            gate.pass()
        }
        #expect(gate.wait(for: 1))
        #expect(log.all == [3])
    }

    @Test("where there is one thread and the system gives no more, that one does all")
    func one() throws {
        let left = Counter(2)
        let pool = Self.pool { left.add(-1) > 0 }
        let (log, gate) = (Log(), Gate())
        for number in 0..<20 {
            try pool.run(onOneOf: 8) {
                log.add(number)
                gate.pass()
            }
        }
        #expect(gate.wait(for: 20))
        #expect(log.all == Array(0..<20))
    }

    @Test("what is done is let go, also where some other work always waits")
    func release() throws {
        final class Load: Sendable {}
        let pool = ThreadPool(name: "test")
        let (gate, step, log) = (Gate(), Gate(), Log())
        weak var first: Load?
        func give(_ number: Int, holding load: Load?) throws {
            try pool.run(onOneOf: 1) {
                withExtendedLifetime(load) { log.add(number) }
                gate.pass()
                _ = step.wait(for: 1)
            }
        }
        do {
            let load = Load()
            first = load
            try give(0, holding: load)
        }
        // Two wait behind the one that is done, however much was done.
        for number in 1...2 { try give(number, holding: nil) }
        for number in 3..<20 {
            #expect(gate.wait(for: 1))
            try give(number, holding: nil)
            step.pass()
        }
        #expect(gate.wait(for: 1))
        #expect(first == nil)
        for _ in 0..<3 { step.pass() }
        #expect(gate.wait(for: 2))
        #expect(log.all == Array(0..<20))
    }

    @Test("what one loop gave is never taken back for another: it is done, or its own giver is told")
    func race() throws {
        for round in 0..<tries(200) {
            // The first thread that is asked for is refused, while other loops give work.
            let asked = Counter()
            let pool = Self.pool {
                for _ in 0..<50 { pauseThread(microseconds: 1) }
                return asked.add(1) > 1 && round % 3 > 0
            }
            let (accepted, done, gate) = (Log(), Log(), Gate())
            let givers = try (0..<4).map { giver in
                try startThread(name: "giver") {
                    for number in 0..<3 {
                        let mine = giver * 3 + number
                        do throws(LoopError) {
                            try pool.run(onOneOf: 1 + round % 2) {
                                done.add(mine)
                                gate.pass()
                            }
                            accepted.add(mine)
                        } catch {}
                    }
                }
            }
            for giver in givers { giver.join() }
            let wanted = accepted.all.sorted()
            #expect(gate.wait(for: wanted.count), "round \(round)")
            #expect(done.all.sorted() == wanted, "round \(round)")
            if done.all.sorted() != wanted { return }
        }
    }

    /// A pool that gets a thread where `gives` says so.
    private static func pool(_ gives: @escaping @Sendable () -> Bool) -> ThreadPool {
        ThreadPool(name: "test") { name, body throws(LoopError) in
            guard gives() else { throw noThread }
            _ = try startThread(name: name, body)
        }
    }
}
