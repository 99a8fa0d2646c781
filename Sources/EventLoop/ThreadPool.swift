internal import CEventShims
internal import Glibc
internal import Synchronization

/// Threads for work that takes long, apart from those of the loops, which they let go first: their nice value is higher by 10.
///
/// A thread is started when there is work and none is free, and ends when it has had nothing to do for 10 s.
public final class ThreadPool: Sendable {
    private struct State {
        /// Mostly a few. Nothing of what was taken stays among them: it may hold a lot, and there may always be something that waits.
        var waiting: [@Sendable () -> Void] = []
        /// Threads that run, and those of them that wait for work.
        var threads = 0
        var free = 0
    }

    /// Starts a thread with that name and body.
    internal typealias Starter = @Sendable (String, @escaping @Sendable () -> Void) throws(LoopError) -> Void

    private let name: String
    private let start: Starter
    private let state = Mutex(State())
    /// Counts the work that waits; threads sleep on it.
    private let work: WorkSemaphore

    /// Seconds that a thread waits for work before it ends.
    private static let idle = 10

    /// - Parameter name: of each thread, as `top` shows it.
    public convenience init(name: String) {
        self.init(name: name) { name, body throws(LoopError) in _ = try startThread(name: name, body) }
    }

    /// - Parameter start: what gives threads instead of the system.
    internal init(name: String, start: @escaping Starter) {
        self.name = name
        self.start = start
        work = WorkSemaphore()
    }

    /// Runs `body` on a thread of the pool, behind what was given before. Safe from any thread.
    ///
    /// - Parameter threads: so many run at once at most.
    /// - Throws: `LoopError.system` where the pool has no thread and the system gives none; `body` isn't run then.
    public func run(onOneOf threads: Int, _ body: @escaping @Sendable () -> Void) throws(LoopError) {
        // A thread is started under the lock, so that work waits only while some thread runs: it could be another loop's that is taken
        // back otherwise, or stay for ever. It takes the system as long as a small allocation, and is seldom.
        try state.withLock { state throws(LoopError) in
            if state.waiting.count >= state.free, state.threads < threads {
                do throws(LoopError) {
                    try start(name) { [self] in serve() }
                    state.threads += 1
                } catch {
                    // Where there is another thread, it comes to it.
                    if state.threads == 0 { throw error }
                }
            }
            state.waiting.append(body)
        }
        work.signal()
    }

    private func serve() {
        recast_thread_yield()
        while true {
            state.withLock { $0.free += 1 }
            let hasWork = work.wait(seconds: Self.idle)
            let body: (@Sendable () -> Void)? = state.withLock { state in
                state.free -= 1
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                if !hasWork { state.threads -= 1 }
                return nil
            }
            if let body { body() } else if !hasWork { return }
        }
    }
}

/// A semaphore of the system.
@safe
private final class WorkSemaphore: Sendable {
    // SAFETY: made before and destroyed after any use; sem_post and sem_wait are for all threads.
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        // SAFETY: the memory is the semaphore's.
        _ = unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        // SAFETY: nobody can wait any more: the pool, whose threads hold it, is gone.
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func signal() {
        // SAFETY: made in init.
        _ = unsafe sem_post(semaphore)
    }

    /// Returns false when nothing came.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        // SAFETY: written, and then read, during the calls.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while true {
            if unsafe sem_timedwait(semaphore, &end) == 0 { return true }
            if errno != EINTR { return false }
        }
    }
}
