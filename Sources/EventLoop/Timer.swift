/// A deadline with an action that is made once and used many times.
///
/// Deadlines are kept by `EventLoop.activeNow`: what the process stood still for counts in none, so a deadline of one's own beside a timer
/// is read from there too. Timers are coarse: the action comes never before the deadline and about 35 ms, at most 50 ms, after it in a
/// loop that isn't overloaded. Timers due in the same tick of 33.6 ms fire in no particular order.
/// The timer belongs to its holder; one that is dropped never fires.
@safe
public final class Timer {
    private let loop: EventLoop
    /// What is done at the deadline. It lives as long as the timer; it should hold the timer's owner unowned.
    public var action: () -> Void
    /// The nanosecond of `EventLoop.activeNow` from which the action is due, 0 if the timer is not set.
    internal private(set) var deadline: UInt64 = 0
    /// The tick whose slot the timer sits in, 0 if in none. The wheel's.
    internal var tick: UInt64 = 0
    internal var next: Unmanaged<Timer>?
    internal var previous: Unmanaged<Timer>?

    /// - Parameter action: may be set later, by an owner that isn't whole yet.
    public init(loop: EventLoop, action: @escaping () -> Void = {}) {
        self.loop = loop
        self.action = action
    }

    deinit {
        if tick != 0 { loop.wheel.remove(self) }
    }

    /// Whether the action is still to come.
    public var isSet: Bool { deadline != 0 }

    /// Lets the action be called once in `nanoseconds` from the start of this tick; an earlier setting is forgotten.
    /// Pushing a deadline back is one store.
    public func set(after nanoseconds: UInt64) {
        let now = loop.activeNow
        // A deadline beyond the clock's end is kept within it; 1 << 62 ns are 146 years.
        deadline = max(1, now &+ min(nanoseconds, 1 << 62))
        if tick != 0 {
            if deadline > (tick - 1) << TimerWheel.tickBits { return }
            loop.wheel.remove(self)
        }
        if loop.wheel.insert(self, now: now) { loop.armWheel() }
    }

    /// As `set`, unless the action comes earlier than that already.
    public func hasten(to nanoseconds: UInt64) {
        let now = loop.activeNow
        if isSet, deadline <= now || deadline - now <= nanoseconds { return }
        set(after: nanoseconds)
    }

    /// Forgets the deadline. Costs one store.
    public func cancel() {
        deadline = 0
    }

    /// Called by the wheel when the deadline has passed.
    internal func fire() {
        deadline = 0
        action()
    }
}
