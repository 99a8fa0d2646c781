internal import CEvent

/// One signal that a loop watches.
@safe
final class SignalWatch {
    private let event: OpaquePointer
    private let action: () -> Void

    init(_ number: Int32, on loop: EventLoop, _ action: @escaping () -> Void) {
        unsafe self.event = loop.pool.take()
        self.action = action
        // SAFETY: the loop keeps self until it has called `remove()`.
        unsafe event_assign(
            event, loop.base, number, Int16(EV_SIGNAL | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<SignalWatch>.fromOpaque(context!).takeUnretainedValue().action()
            }, Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(event, nil)
    }

    func remove() {
        // SAFETY: assigned in init; removing twice does nothing.
        unsafe event_del(event)
    }
}
