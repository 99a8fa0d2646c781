/// Whether bytes flow at least as fast as they must, looked at now and then instead of at each read.
///
/// A body starts with credit for the grace time. Wanting bytes spends it, one nanosecond for each; a byte earns what its
/// share of a second is worth. No credit: too slow. Credit is bounded, so that a fast start doesn't pay for hours of
/// dribbling, but leaves room for a pause as long as the phase's own time allows.
struct MinimumRate {
    /// Nanoseconds that one byte earns; 0: no minimum holds.
    private var worth: UInt64 = 0
    private var credit: UInt64 = 0
    private var bound: UInt64 = 0
    private var grace: UInt64 = 0
    /// The nanosecond up to which wanting is paid for; 0 while no bytes are wanted.
    private var paidUntil: UInt64 = 0
    /// What the peer had moved when it was last looked at.
    private var counted: UInt64 = 0

    /// The shortest time between two looks, 1 s, where the grace time isn't shorter.
    private static let shortest: UInt64 = 1_000_000_000

    /// Starts over: `count` bytes have moved so far, and none are wanted yet.
    /// - Parameters:
    ///   - rate: bytes in a second, 0 for no minimum.
    ///   - grace: nanoseconds in which nothing has to come.
    ///   - pause: nanoseconds of silence that the phase allows by itself.
    mutating func start(rate: UInt64, grace: UInt64, pause: UInt64, count: UInt64) {
        worth = rate == 0 ? 0 : max(1, 1_000_000_000 / rate)
        self.grace = grace
        credit = grace
        bound = grace &+ pause
        paidUntil = 0
        counted = count
    }

    /// Whether a minimum holds.
    var isOn: Bool { worth != 0 }

    /// Bytes are wanted from `now` on.
    mutating func want(_ now: UInt64) {
        if paidUntil == 0 { paidUntil = now }
    }

    /// No bytes are wanted: time doesn't count.
    mutating func rest(_ now: UInt64) {
        guard paidUntil != 0 else { return }
        spend(now)
        paidUntil = 0
    }

    /// Nanoseconds from `now` until it is time to look.
    func wait(_ now: UInt64) -> UInt64 {
        let end = paidUntil &+ max(credit, min(Self.shortest, grace))
        return end > now ? end - now : 0
    }

    /// Looks: `count` bytes have moved so far. Whether that is enough.
    mutating func check(_ now: UInt64, count: UInt64) -> Bool {
        let moved = count > counted ? min(count - counted, 1 << 40) : 0
        counted = max(count, counted)
        let (earned, isHuge) = moved.multipliedReportingOverflow(by: worth)
        let spent = paidUntil != 0 && now > paidUntil ? now - paidUntil : 0
        if paidUntil != 0 { paidUntil = max(now, paidUntil) }
        let total = isHuge ? bound : min(credit &+ earned, bound &+ spent)
        guard total > spent else { return false }
        credit = min(total - spent, bound)
        return true
    }

    private mutating func spend(_ now: UInt64) {
        let spent = now > paidUntil ? now - paidUntil : 0
        // A pause may find nothing left; whether that was too slow is said by the next look, which counts the bytes.
        credit = credit > spent ? credit - spent : 0
    }
}
