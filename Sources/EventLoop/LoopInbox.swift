internal import CEventShims
internal import Glibc
internal import Synchronization

/// The one door of a loop that other threads may use: a queue behind a lock, and an eventfd that wakes the loop.
public final class LoopInbox: Sendable {
    /// The eventfd. It lives as long as the inbox, so posting to a loop that is gone is harmless.
    internal let descriptor: Int32
    private let queue = Mutex<[@Sendable (EventLoop) -> Void]>([])
    /// How often something was posted. The lock alone orders what one thread did before and the other does after; but
    /// ThreadSanitizer doesn't see into it where two threads meet, and sees this.
    private let posts = Atomic<UInt>(0)

    internal init() throws(LoopError) {
        descriptor = recast_wakeup_create()
        guard descriptor >= 0 else { throw .system(call: "eventfd", errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Runs `work` on the loop, after what was posted before. Safe from any thread, also when the loop is gone: then the
    /// work is dropped with the inbox.
    public func post(_ work: @escaping @Sendable () -> Void) {
        perform { _ in work() }
    }

    /// As `post`, handing the loop to `work`, which finds its objects through `EventLoop.context`.
    public func perform(_ work: @escaping @Sendable (EventLoop) -> Void) {
        let wasEmpty = queue.withLock { queue in
            queue.append(work)
            posts.wrappingAdd(1, ordering: .releasing)
            return queue.count == 1
        }
        if wasEmpty { recast_wakeup_signal(descriptor) }
    }

    /// Empties the inbox.
    internal func take() -> [@Sendable (EventLoop) -> Void] {
        // Before the queue is read, so that nothing is missed.
        recast_wakeup_clear(descriptor)
        return queue.withLock { queue in
            var taken: [@Sendable (EventLoop) -> Void] = []
            swap(&taken, &queue)
            _ = posts.load(ordering: .acquiring)
            return taken
        }
    }
}
