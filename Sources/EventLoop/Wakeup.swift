internal import CEventShims
internal import Glibc

/// Wakes a thread that has no loop: it waits here until a signal. Signals before a wait are kept, as one.
public final class Wakeup: Sendable {
    private let descriptor: Int32

    /// - Throws: `LoopError.system` when no descriptor is left.
    public init() throws(LoopError) {
        descriptor = recast_wakeup_create()
        guard descriptor >= 0 else { throw .system(call: "eventfd", errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Wakes the thread that waits. Never blocks; from any thread.
    public func signal() {
        recast_wakeup_signal(descriptor)
    }

    /// Waits for a signal, at most for `milliseconds`; a negative number waits for ever. One thread waits at a time.
    public func wait(milliseconds: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: one element, read and written during the call. A signal's interruption is a wake-up for nothing.
        _ = unsafe poll(&request, 1, milliseconds)
        recast_wakeup_clear(descriptor)
    }
}
