internal import EventLoop
internal import Logging
internal import Synchronization

/// Sees whether the workers still turn: a thread of its own asks each for a sign of life every second. One that gives none
/// for five seconds is stuck; that is logged and counted, and the service manager, where there is one with a watchdog, gets
/// no sign of life from us any more until all answer. Its questions are the pulse by which a loop knows that time has stood still.
final class Watchdog: Sendable {
    /// Questions without an answer, a second each, after which a worker is called stuck. Counted by this thread's own
    /// steps: when the whole process was stopped, no time has passed for anybody.
    private static let patience: UInt64 = 5

    /// The number of the last question that each worker has answered. The owner of the numbers outlives all workers.
    private final class Answers: Sendable {
        let last = Atomic<UInt64>(0)
        /// Whether the worker has come to its end: then it needn't answer.
        let hasEnded = Atomic<Bool>(false)
    }

    /// One that is watched.
    struct Worker: Sendable {
        /// What it is called, as its thread is.
        let name: String
        /// The thread itself, known from the start: a worker that is stuck before its first answer shows its stack too.
        let thread: ThreadReference
        /// The inbox of its loop.
        let inbox: LoopInbox
    }

    private let workers: [(worker: Worker, answers: Answers)]
    private let notifier: ServiceNotifier?
    private let isStopped = Atomic<Bool>(false)

    /// - Parameter workers: the main thread's first.
    init?(workers: [Worker], notifier: ServiceNotifier?) {
        self.workers = workers.map { ($0, Answers()) }
        self.notifier = notifier
        // Without a thread there is no watch; serving is possible all the same.
        guard (try? startThread(name: "watchdog") { [self] in run() }) != nil else { return nil }
    }

    /// The worker with this inbox has come to its end.
    func forget(_ inbox: LoopInbox) {
        for (worker, answers) in workers where worker.inbox === inbox {
            answers.hasEnded.store(true, ordering: .relaxed)
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// What the watch knows of one worker.
    private struct Sight {
        /// The number of the last question.
        var asked: UInt64 = 0
        /// Steps for which it has had no answer.
        var waited: UInt64 = 0
        var isStuck = false
    }

    private func run() {
        // Half of the time that the manager gives, at most a second.
        let step = max(1000, min(notifier?.watchdogTime.map { $0 / 2 } ?? .max, 1_000_000))
        let patience = max(2, Self.patience * 1_000_000 / step)
        var sights = [Sight](repeating: Sight(), count: workers.count)
        while !isStopped.load(ordering: .relaxed) {
            for (index, (worker, answers)) in workers.enumerated() where sights[index].waited == 0 {
                sights[index].asked += 1
                let number = sights[index].asked
                worker.inbox.perform { loop in
                    loop.pulse(next: step * 1000)
                    answers.last.store(number, ordering: .relaxed)
                }
            }
            pauseThread(microseconds: step)
            for (index, (_, answers)) in workers.enumerated() {
                let answered =
                    answers.last.load(ordering: .relaxed) == sights[index].asked
                    || answers.hasEnded.load(ordering: .relaxed)
                sights[index].waited = answered ? 0 : sights[index].waited + 1
                let isStuck = sights[index].waited >= patience
                if isStuck != sights[index].isStuck { tell(index, isStuck: isStuck) }
                sights[index].isStuck = isStuck
            }
            writeStacks()
            if sights.allSatisfy({ $0.waited == 0 }), notifier?.watchdogTime != nil { notifier?.alive() }
        }
    }

    private func tell(_ index: Int, isStuck: Bool) {
        let worker = workers[index].worker
        guard isStuck else { return OperationalLog.logger.warning("\(worker.name) answers again") }
        OperationalLog.logger.error(
            "\(worker.name) has not answered for \(Self.patience) s: what it serves stands still")
        worker.thread.showStack()
        // When it is the main thread that hangs, this is counted as soon as it goes on.
        workers[0].worker.inbox.perform { loop in ServerControl.of(loop).worker.counters.lifecycle.stalls += 1 }
    }
}
