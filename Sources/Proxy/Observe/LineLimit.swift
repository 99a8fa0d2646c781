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
