internal import CEventShims
internal import Glibc
internal import Synchronization

/// A thread that was started and can be waited for.
public final class JoinHandle: Sendable {
    private let thread: Mutex<pthread_t?>

    fileprivate init(_ thread: pthread_t) {
        self.thread = Mutex(thread)
    }

    deinit {
        if let thread = thread.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Waits until the thread's body has returned. Later calls return at once.
    public func join() {
        let taken = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        // Once: the handle has forgotten it.
        if let taken { pthread_join(taken, nil) }
    }
}

/// What a new thread needs; it owns this and lets it go when the body has returned.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// Runs `body` on a new thread. A handle that is dropped leaves the thread running.
/// - Parameter name: what `top` and `perf` show; the system keeps 15 bytes.
/// - Throws: `LoopError.system` when the system gives no thread.
public func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(LoopError) -> JoinHandle {
    let start = unsafe Unmanaged.passRetained(ThreadStart(name: String(name.prefix(15)), body: body))
    var thread = pthread_t()
    // SAFETY: the new thread takes over the one reference; if there is no thread, it is released here.
    let outcome = unsafe pthread_create(
        &thread, nil,
        { context in
            let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context!).takeRetainedValue()
            // Those of the process are the main thread's: what waits there must not come here by another way.
            recast_signals_leave()
            unsafe recast_name_thread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    guard outcome == 0 else {
        unsafe start.release()
        throw .system(call: "pthread_create", errno: outcome)
    }
    return JoinHandle(thread)
}

/// A thread that runs, by which another one can ask it where it is.
public struct ThreadReference: Sendable {
    private let number: UInt

    /// The calling thread.
    public static var current: ThreadReference { ThreadReference(number: recast_thread_current()) }

    /// Lets the thread, which must not have ended, note its stack at once, whatever it is doing, for `writeStacks()`. Needs
    /// `prepareStacks()`.
    public func showStack() { recast_thread_show_stack(number) }
}

/// Lets a thread write to standard error what stacks threads have noted since the last time. Waits for nothing, and neither do they: a
/// thread that hung and goes on must not hang for good because nobody reads of it.
public func writeStacks() {
    guard recast_stacks_wait() else { return }
    // Without a thread they wait for the next time.
    _ = try? startThread(name: "stacks") { recast_stacks_write() }
}

/// Takes a real-time signal (`SIGRTMIN+1`) for `ThreadReference.showStack`.
public func prepareStacks() { recast_stack_prepare() }

/// Lets the calling thread sleep, whatever signals come meanwhile. Never on a loop's thread.
public func pauseThread(microseconds: UInt64) {
    let end = EventLoop.preciseNow + microseconds * 1000
    var time = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
    // Till a time, not for one: what signals take away would not be slept, and a burst of them be taken for seconds.
    // SAFETY: read during the call.
    while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
