/// How many requests may be sent once more, so that an upstream in trouble doesn't get its load doubled: a fifth of the
/// requests, and three a second besides.
package struct RetryBudget {
    /// Fifths of a retry.
    private var saved = Self.start
    /// Retries of this second's own that are left.
    private var free = Self.perSecond
    private var second: UInt64 = 0

    /// What a request brings is a fifth of what a retry costs.
    private static let cost = 5
    private static let start = 10 * cost
    /// What 500 requests bring: what may come at once after a long good time.
    private static let most = 100 * cost
    private static let perSecond = 3

    package init() {}

    /// A request was made.
    package mutating func earn() {
        if saved < Self.most { saved += 1 }
    }

    /// Takes one retry at `now` nanoseconds. Returns false when there is none.
    package mutating func spend(_ now: UInt64) -> Bool {
        let current = now / 1_000_000_000
        if current != second {
            second = current
            free = Self.perSecond
        }
        if free > 0 {
            free -= 1
            return true
        }
        guard saved >= Self.cost else { return false }
        saved -= Self.cost
        return true
    }
}
