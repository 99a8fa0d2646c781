internal import EventLoop

/// Work that may take long, as masking what strangers have sent: done by threads of its own, which let the loops go first, so that no
/// worker is held by it.
final class AsideWork {
    private let loop: EventLoop
    private let pool: ThreadPool
    private let way = WayBack()
    /// What waits for each piece of work, by its number, and the last number.
    private var waiting: [Int: (any Sendable) -> Void] = [:]
    private var number = 0

    /// One more reader isn't held by another one's exchange.
    private static let threads = 2

    /// - Parameter name: of each thread, 15 bytes at most.
    init(loop: EventLoop, name: String) {
        self.loop = loop
        pool = ThreadPool(name: name)
        // SAFETY: on the loop's thread, before any work.
        unsafe way.work = self
    }

    /// Has `work` done, and hands what it gives to `done` on the loop; where the system gives no thread, it is done at once.
    func run<Answer: Sendable>(_ work: @escaping @Sendable () -> Answer, _ done: @escaping (Answer) -> Void) {
        number += 1
        let number = number
        waiting[number] = { answer in
            if let answer = answer as? Answer { done(answer) }
        }
        let inbox = loop.inbox
        let way = way
        do throws(LoopError) {
            try pool.run(onOneOf: Self.threads) {
                let answer = work()
                // SAFETY: this runs on the loop.
                inbox.post { unsafe way.work?.finish(number, answer) }
            }
        } catch {
            finish(number, work())
        }
    }

    private func finish(_ number: Int, _ answer: any Sendable) { waiting.removeValue(forKey: number)?(answer) }
}

/// Leads back to what waits: other threads carry it, and only its loop follows it.
private final class WayBack: Sendable {
    // SAFETY: read and written by the loop's thread alone.
    nonisolated(unsafe) weak var work: AsideWork?
}
