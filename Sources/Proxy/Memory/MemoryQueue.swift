internal import EventLoop

/// Requests whose bodies wait for memory, in the order in which they came, and listeners that are stopped until there is
/// some. Those who wait hold nothing of the budget, so nobody waits for one of them.
///
/// Memory is given back by other workers too, which tell nobody; so it is looked for every 20 ms while somebody waits.
final class MemoryQueue {
    private unowned let worker: Worker
    private let wait: UInt64
    private var waiting: [(exchange: Exchange, deadline: UInt64)] = []
    private var acceptsNothing = false
    private var timer: Timer?
    private var trimTimer: Timer?

    private static let lookAgain: UInt64 = 20_000_000
    /// Nanoseconds after a burst before its memory goes back to the system: 1 s.
    private static let trimDelay: UInt64 = 1_000_000_000

    init(worker: Worker, wait: UInt64) {
        self.worker = worker
        self.wait = wait
        timer = Timer(loop: worker.loop) { [unowned self] in look() }
        trimTimer = Timer(loop: worker.loop) { [unowned self] in
            if self.worker.memory.held == 0 { Allocator.trim() }
        }
        worker.memory.onEmpty = { [unowned self] in trimTimer?.set(after: Self.trimDelay) }
    }

    func add(_ exchange: Exchange) {
        if waiting.isEmpty { timer?.set(after: Self.lookAgain) }
        waiting.append((exchange, worker.loop.now + wait))
        worker.memory.counters.waited += 1
    }

    func remove(_ exchange: Exchange) { waiting.removeAll { $0.exchange === exchange } }

    /// Lets new connections wait until memory is there again.
    func stopAccepting() {
        guard !acceptsNothing else { return }
        acceptsNothing = true
        worker.setAccepting(false)
        timer?.set(after: Self.lookAgain)
    }

    private func look() {
        if acceptsNothing, worker.pressure < 3 {
            acceptsNothing = false
            worker.setAccepting(true)
        }
        // What goes on may end at once, and that may end others: the list is looked at anew each time.
        while let first = waiting.first, first.exchange.memoryMayHaveCome() { remove(first.exchange) }
        while let first = waiting.first, first.deadline <= worker.loop.now {
            waiting.removeFirst()
            first.exchange.memoryDidNotCome()
        }
        if acceptsNothing || !waiting.isEmpty { timer?.set(after: Self.lookAgain) }
    }

    /// The worker ends: nothing is looked for any more.
    func end() {
        timer = nil
        trimTimer = nil
        waiting.removeAll()
        worker.memory.onEmpty = nil
    }
}
