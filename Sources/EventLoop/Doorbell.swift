internal import CEventShims
internal import Glibc

/// Wakes a thread that has no loop: it waits here until somebody rings. Rings before a wait are kept, as one.
public final class Doorbell: Sendable {
    private let descriptor: Int32

    /// - Throws: `LoopError.system` when no descriptor is left.
    public init() throws(LoopError) {
        descriptor = recast_bell_create()
        guard descriptor >= 0 else { throw .system(call: "eventfd", errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Wakes who waits. Never blocks; from any thread.
    public func ring() {
        recast_bell_ring(descriptor)
    }

    /// Waits until it rings, at most for `milliseconds`; a negative number waits for ever. One thread waits at a time.
    public func wait(milliseconds: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: one element, read and written during the call. A signal's interruption is a wake-up for nothing.
        _ = unsafe poll(&request, 1, milliseconds)
        recast_bell_hush(descriptor)
    }
}
