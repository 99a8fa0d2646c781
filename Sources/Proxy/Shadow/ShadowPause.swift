/// When an upstream gets no copies because it has taken none lately: so one that is dead costs the requests nothing, not even the
/// attempts to reach it.
struct ShadowPause {
    /// Copies in a row that weren't answered, but could be sent, before there is a pause: 5.
    static let failures = 5
    /// The first pause, and the longest: each is twice the one before. 1 s, 30 s.
    static let shortest: UInt64 = 1_000_000_000
    static let longest: UInt64 = 30_000_000_000

    private var unanswered = 0
    private var next = ShadowPause.shortest
    private(set) var until: UInt64 = 0
    /// Whether the last pause was not followed by an answer.
    var isFailing: Bool { until > 0 }

    func isOver(_ now: UInt64) -> Bool { now >= until }

    /// A copy was answered. Returns whether there had been a pause.
    mutating func answered() -> Bool {
        defer { self = ShadowPause() }
        return isFailing
    }

    /// A copy wasn't answered. `isUnreachable`: there was not even a connection. Returns the nanoseconds of the pause that begins.
    mutating func failed(_ now: UInt64, isUnreachable: Bool) -> UInt64? {
        unanswered += 1
        guard isOver(now), isUnreachable || unanswered >= Self.failures else { return nil }
        let time = next
        unanswered = 0
        until = now + time
        next = min(2 * next, Self.longest)
        return time
    }
}
