internal import EventLoop

/// A body that can wait for memory.
protocol MemoryWaiter: AnyObject {
    /// There may be memory. Returns whether the wait is over.
    func memoryMayHaveCome() -> Bool
    /// The time for memory to come is over.
    func memoryDidNotCome()
}

/// Requests whose bodies wait for memory, in the order in which they came, and listeners that are stopped until there is
/// some. A body that waits holds nothing of the budget, so no other one waits for it.
///
/// Memory is given back by other workers too, which tell no one; so it is looked for every 20 ms while a body waits.
final class MemoryQueue {
    private let memory: MemoryAllowance
    private let loop: EventLoop
    private let wait: UInt64
    private let setAccepting: (Bool) -> Void
    private var waiting: [(waiter: any MemoryWaiter, deadline: UInt64)] = []
    private var acceptsNothing = false
    private var timer: Timer?
    private var trimTimer: Timer?

    private static let lookAgain: UInt64 = 20_000_000
    /// Nanoseconds after a burst before its memory goes back to the system: 1 s.
    private static let trimDelay: UInt64 = 1_000_000_000

    /// - Parameters:
    ///   - wait: nanoseconds that a body waits at most.
    ///   - setAccepting: stops the worker's listeners, and lets them go on.
    init(loop: EventLoop, memory: MemoryAllowance, wait: UInt64, setAccepting: @escaping (Bool) -> Void) {
        self.loop = loop
        self.memory = memory
        self.wait = wait
        self.setAccepting = setAccepting
        timer = Timer(loop: loop) { [unowned self] in look() }
        trimTimer = Timer(loop: loop) { if memory.held == 0 { Allocator.trim() } }
        memory.onEmpty = { [unowned self] in trimTimer?.set(after: Self.trimDelay) }
    }

    func add(_ waiter: any MemoryWaiter) {
        if waiting.isEmpty { timer?.set(after: Self.lookAgain) }
        waiting.append((waiter, loop.activeNow + wait))
        memory.counters.waited += 1
    }

    func remove(_ waiter: any MemoryWaiter) { waiting.removeAll { $0.waiter === waiter } }

    /// Lets new connections wait until memory is there again.
    func stopAccepting() {
        guard !acceptsNothing else { return }
        acceptsNothing = true
        setAccepting(false)
        timer?.set(after: Self.lookAgain)
    }

    private func look() {
        if acceptsNothing, memory.pressure < 3 {
            acceptsNothing = false
            setAccepting(true)
        }
        // What goes on may end at once, and that may end others: the list is looked at anew each time.
        while let first = waiting.first, first.waiter.memoryMayHaveCome() { remove(first.waiter) }
        while let first = waiting.first, first.deadline <= loop.activeNow {
            waiting.removeFirst()
            first.waiter.memoryDidNotCome()
        }
        if acceptsNothing || !waiting.isEmpty { timer?.set(after: Self.lookAgain) }
    }

    /// The worker ends: nothing is looked for any more.
    func end() {
        timer = nil
        trimTimer = nil
        waiting.removeAll()
        memory.onEmpty = nil
    }
}
