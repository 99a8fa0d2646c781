/// All timers of a loop: 1024 slots of 2^25 ns (33.6 ms), a round of 34 s, driven by one timer of libevent. What it is told as `now` is
/// the loop's `activeNow`.
///
/// A timer sits in the slot of the tick at which it is looked at next. Setting it to a later time only stores the new
/// deadline; when the slot comes up the timer is moved on. So a timeout that is pushed back with every request costs one
/// store, and a cancelled timer costs nothing more until its slot comes up.
@safe
final class TimerWheel {
    /// The bits of one tick in nanoseconds.
    static let tickBits: UInt64 = 25
    private static let slotCount: UInt64 = 1024

    /// The first timer of each slot. The lists run through the timers themselves.
    private var heads: [Unmanaged<Timer>?]
    /// One bit a slot: whether it holds a timer.
    private var occupied = [UInt64](repeating: 0, count: Int(slotCount / 64))
    private var count = 0
    /// The last tick whose slot has been emptied.
    private var processed: UInt64 = 0
    /// The tick for which libevent's timer is set, `.max` if for none.
    private var armedTick = UInt64.max
    /// Whether slots are being worked off: `processed` then goes through them one by one, and nothing else may move it.
    private var isAdvancing = false

    init() {
        // SAFETY: all slots are empty; a timer that is linked removes itself before it goes away.
        unsafe heads = .init(repeating: nil, count: Int(Self.slotCount))
    }

    /// Puts `timer` into the slot for its deadline. Returns whether libevent's timer has to be set anew.
    func insert(_ timer: Timer, now: UInt64) -> Bool {
        if count == 0 && !isAdvancing { processed = now >> Self.tickBits }
        let due = (timer.deadline &+ (1 << Self.tickBits) &- 1) >> Self.tickBits
        let tick = min(max(due, processed + 1), processed + Self.slotCount - 1)
        link(timer, tick: tick)
        return tick < armedTick
    }

    /// Takes `timer` out of its slot.
    func remove(_ timer: Timer) {
        let slot = Int(timer.tick & (Self.slotCount - 1))
        // SAFETY: the neighbours are linked, and a timer unlinks itself before it goes away.
        if let next = unsafe timer.next {
            unsafe next._withUnsafeGuaranteedRef { unsafe $0.previous = timer.previous }
        }
        if let previous = unsafe timer.previous {
            unsafe previous._withUnsafeGuaranteedRef { unsafe $0.next = timer.next }
        } else {
            unsafe heads[slot] = timer.next
            if unsafe heads[slot] == nil { occupied[slot >> 6] &= ~(1 << UInt64(slot & 63)) }
        }
        unsafe timer.next = nil
        unsafe timer.previous = nil
        timer.tick = 0
        count -= 1
    }

    /// Fires what is due at `now`. An action may set, cancel and drop any timer.
    func advance(to now: UInt64) {
        armedTick = .max
        let target = now >> Self.tickBits
        guard target > processed else { return }
        if target - processed > Self.slotCount { processed = target - Self.slotCount }
        isAdvancing = true
        defer { isAdvancing = false }
        while processed < target {
            processed += 1
            let slot = Int(processed & (Self.slotCount - 1))
            // What is linked while this slot is worked off goes to another one: between processed + 1 and + 1023.
            while let first = unsafe heads[slot] {
                // SAFETY: a linked timer is alive; the strong reference keeps it so through its own action.
                let timer = unsafe first.takeUnretainedValue()
                remove(timer)
                guard timer.isSet else { continue }
                if timer.deadline <= now {
                    timer.fire()
                } else {
                    _ = insert(timer, now: now)
                }
            }
        }
    }

    /// Nanoseconds from `now` until the next slot that holds a timer, or nil when libevent's timer needn't change.
    func nextWait(now: UInt64) -> UInt64? {
        guard count > 0 else { return nil }
        var tick = processed + 1
        while true {
            let slot = Int(tick & (Self.slotCount - 1))
            let word = occupied[slot >> 6] >> UInt64(slot & 63)
            if word != 0 {
                tick += UInt64(word.trailingZeroBitCount)
                break
            }
            tick += 64 - UInt64(slot & 63)
        }
        guard tick < armedTick else { return nil }
        armedTick = tick
        let due = tick << Self.tickBits
        return due > now ? due - now : 0
    }

    /// Nanoseconds by which `now` is past the tick for which libevent's timer was set.
    func lateness(now: UInt64) -> UInt64 {
        guard armedTick != .max else { return 0 }
        let due = armedTick << Self.tickBits
        return now > due ? now - due : 0
    }

    private func link(_ timer: Timer, tick: UInt64) {
        let slot = Int(tick & (Self.slotCount - 1))
        timer.tick = tick
        // SAFETY: unretained links: `Timer.deinit` takes itself out.
        let node = unsafe Unmanaged.passUnretained(timer)
        if let first = unsafe heads[slot] {
            unsafe first._withUnsafeGuaranteedRef { unsafe $0.previous = node }
            unsafe timer.next = first
        }
        unsafe heads[slot] = node
        occupied[slot >> 6] |= 1 << UInt64(slot & 63)
        count += 1
    }
}
