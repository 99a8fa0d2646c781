/// Lets lines of several kinds into the operational log, each kind as `LineLimit` says: how many weren't written of one is told with that
/// alone. The kinds are a bounded set.
struct LineLimits<Kind: Hashable> {
    private var limits: [Kind: LineLimit] = [:]

    /// As `LineLimit.next`, of one kind.
    mutating func next(_ kind: Kind, _ now: UInt64) -> String? { limits[kind, default: LineLimit()].next(now) }
}

/// Lets a line of a kind into the operational log once in ten seconds at most: for what anybody can bring about as often as they like.
struct LineLimit {
    private var nextTime: UInt64 = 0
    private var untold = 0

    private static let interval: UInt64 = 10_000_000_000

    /// What stands behind a line that may be written now: how many weren't since the last one, if any. Nil: none may be.
    mutating func next(_ now: UInt64) -> String? {
        guard now >= nextTime else {
            untold += 1
            return nil
        }
        defer { untold = 0 }
        nextTime = now + Self.interval
        return untold == 0 ? "" : "; \(untold) more since the last such line"
    }
}
