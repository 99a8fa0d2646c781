internal import CEvent
internal import CEventShims
internal import Glibc

/// Notices that the peer of a stream is gone while nothing is read from it.
///
/// libevent's own way, an event with `EV_CLOSED` alone, is not enough: its epoll back end reports `EPOLLERR` as
/// `EV_READ | EV_WRITE`, which such an event doesn't ask for, so that a reset is never told and the loop spins at 100 %
/// (tried with 2.1.12). Hence a second epoll descriptor with `EPOLLRDHUP | EPOLLONESHOT`, which libevent watches in turn.
@safe
final class PeerWatch {
    /// Peers looked at in one tick.
    private static let perTick = 64

    private let descriptor: Int32
    private let event: OpaquePointer

    /// nil when the system gives no descriptor: then peers of paused streams are noticed when reading resumes.
    init?(on loop: EventLoop) {
        descriptor = recast_watch_create()
        guard descriptor >= 0 else { return nil }
        unsafe event = loop.pool.take()
        // SAFETY: the loop keeps self until it has called `remove()`.
        unsafe event_assign(
            event, loop.base, descriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<PeerWatch>.fromOpaque(context!).takeUnretainedValue().fired()
            }, Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
    }

    func remove(from loop: EventLoop) {
        // SAFETY: assigned in init and removed once, by the loop's deinit.
        unsafe event_del(event)
        close(descriptor)
    }

    /// Watches `socket` until `forget`; `stream` must be alive until then. `peerGone` comes at most once.
    /// - Parameter onlyErrors: leaves out the FIN, which has been seen already.
    func watch(_ socket: Int32, for stream: Stream, onlyErrors: Bool) -> Bool {
        // SAFETY: the stream takes its socket out before it closes; see `Stream.unwatch`.
        unsafe recast_watch_add(descriptor, socket, onlyErrors, Unmanaged.passUnretained(stream).toOpaque())
    }

    func forget(_ socket: Int32) {
        recast_watch_remove(descriptor, socket)
    }

    private func fired() {
        // One at a time: what a handler does may take other streams out, and then they must not be in hand.
        for _ in 0..<Self.perTick {
            // SAFETY: the owner is a stream that is watched, so alive.
            guard let owner = unsafe recast_watch_next(descriptor) else { return }
            unsafe Unmanaged<Stream>.fromOpaque(owner).takeUnretainedValue().peerWatchFired()
        }
    }
}
