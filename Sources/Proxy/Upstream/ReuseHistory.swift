/// What is learnt of an address about reusing its connections: some servers close after each answer, or after a few, and don't say
/// so. A request that is written to such a connection is lost, and one that isn't idempotent can't be sent again.
///
/// Each connection that ends so costs points, each answer on a reused one brings one back. Too many points, and connections to the
/// address serve one request each for a while: a second, then up to five minutes, twice as long each time. Many good answers in a
/// row let all of it be forgotten.
struct ReuseHistory {
    private var points = 0
    private var level: UInt64 = 0
    /// Answers on reused connections since the last end.
    private var answers = 0
    /// The nanosecond of the last end.
    private var lastEnd: UInt64 = 0
    /// The nanosecond from which connections are reused again; 0: they are.
    private var pausedUntil: UInt64 = 0
    /// How often reuse was paused.
    private(set) var pauses = 0

    /// Points of one end: what eight answers bring back.
    private static let cost = 8
    /// Three ends in a row are too many.
    private static let limit = 3 * cost
    /// The first pause, a second.
    private static let pause: UInt64 = 1_000_000_000
    private static let longestPause: UInt64 = 300 * pause
    /// Answers in a row after which nothing is held against the address.
    private static let proof = 1000
    /// An idle connection that ends within this time of its answer, a second, was closed for the answer and not for its rest.
    static let soon: UInt64 = pause

    /// Whether connections serve one request only.
    func isPaused(_ now: UInt64) -> Bool { pausedUntil > now }

    /// Whether connections have ended so lately: then it is worth a system call to see that one is still there.
    var isSuspect: Bool { points > 0 || level > 0 }

    /// A reused connection has answered.
    mutating func noteAnswer() {
        guard isSuspect else { return }
        if points > 0 { points -= 1 }
        answers += 1
        if answers >= Self.proof { (level, answers) = (0, 0) }
    }

    /// A reused connection ended before a byte of its answer, or an idle one soon after it. Returns whether a pause begins.
    ///
    /// - Parameter begun: the nanosecond in which it was given its last request.
    mutating func noteEnd(_ now: UInt64, begun: UInt64) -> Bool {
        // A server that goes takes all of its connections along: those that had their requests before the first of them ended say
        // nothing of their own.
        guard begun > lastEnd else { return false }
        lastEnd = now
        answers = 0
        // Connections of before the pause may end in it.
        guard !isPaused(now) else { return false }
        points += Self.cost
        // One that was let off goes back at the first sign.
        guard points >= Self.limit || level > 0 else { return false }
        pausedUntil = now + min(Self.pause << level, Self.longestPause)
        level = min(level + 1, 16)
        points = 0
        pauses += 1
        return true
    }
}
