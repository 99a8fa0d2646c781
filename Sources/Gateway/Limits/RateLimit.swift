/// How often a client, or whatever else a key tells apart, may use a route: what `rate_limit` says in the settings.
///
/// It is counted by the generic cell rate algorithm: each key has a bucket of `burst` requests, which a request takes one from, and
/// one comes back every `interval`.
public struct RateLimit: Hashable, Sendable {
    /// What requests are counted by.
    public enum Key: Hashable, Sendable {
        /// The client's address as the log shows it: an IPv4 address, or a /64 network of IPv6. Clients without one, as on a unix
        /// socket, are counted together.
        case client
        /// A value of the request's head. Requests without it are counted together, so that nobody gets out by leaving it away.
        case value(SourceReference)
    }

    public var key: Key
    /// Requests in a `period`, 1 to 1,000,000.
    public var count: Int
    /// Longer than nothing, a day at most.
    public var period: Duration
    /// Requests that may come at once, 1 to 1,000,000; nil: `count`.
    public var burst: Int?
    /// Keys that are remembered at most, 16 bytes each; 100,000.
    public var entries: Int
    /// Whether responses that pass say how much is left; refusals always do.
    public var tells: Bool

    public static let standardEntries = 100_000
    /// Of `count` and of `burst`.
    public static let greatestCount = 1_000_000
    /// What a whole bucket may take to come back: a year. With it no sum of times overflows.
    public static let longestWindow = Duration.seconds(366 * 24 * 3600)
    /// Nanoseconds of the shortest `interval`, so that rounding it up changes the rate by less than a thousandth.
    public static let shortestInterval = 1000

    public init(
        key: Key = .client, count: Int, per period: Duration, burst: Int? = nil,
        entries: Int = RateLimit.standardEntries,
        tells: Bool = true
    ) {
        self.key = key
        self.count = count
        self.period = period
        self.burst = burst
        self.entries = entries
        self.tells = tells
    }

    /// Requests that may come at once.
    public var quota: Int { burst ?? count }

    /// Nanoseconds in which one request comes back, rounded up: a rate is never exceeded.
    public var interval: UInt64 {
        let (seconds, attoseconds) = period.components
        let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        return (nanoseconds + UInt64(count) - 1) / UInt64(count)
    }

    /// Whether what is counted by this can be counted on by `other`.
    package func countsLike(_ other: RateLimit) -> Bool {
        key == other.key && interval == other.interval && quota == other.quota && entries == other.entries
    }
}

/// The generic cell rate algorithm (ITU-T I.371): all that is known of a key is when its bucket is whole again.
package struct CellRate: Hashable, Sendable {
    /// Nanoseconds in which one request comes back.
    let interval: UInt64
    /// Requests that may come at once.
    package let quota: Int

    package init(_ limit: RateLimit) {
        self.init(interval: limit.interval, quota: limit.quota)
    }

    /// - Precondition: the product of the two is `RateLimit.longestWindow` at most, and both are 1 at least.
    package init(interval: UInt64, quota: Int) {
        self.interval = interval
        self.quota = quota
    }

    /// Nanoseconds in which an empty bucket is whole again.
    package var window: UInt64 { interval * UInt64(quota) }

    /// What became of a request.
    package struct Outcome: Hashable, Sendable {
        package let isPassed: Bool
        /// How many more may come at once.
        package let remaining: Int
        /// Nanoseconds: of a request that passed those until the bucket is whole, of another those until one passes again.
        package let wait: UInt64
    }

    /// Counts a request at `now`, in nanoseconds. One that doesn't pass takes nothing.
    ///
    /// - Parameter whole: when the key's bucket is whole again; any time that is past, where nothing is known of it.
    package func take(_ whole: inout UInt64, now: UInt64) -> Outcome {
        // Workers read their clocks once a tick: one may be a little behind another, and then counts more strictly, never less.
        let debt = whole > now ? whole - now : 0
        let next = debt + interval
        guard next <= window else {
            return Outcome(isPassed: false, remaining: 0, wait: next - window)
        }
        whole = now + next
        return Outcome(isPassed: true, remaining: Int((window - next) / interval), wait: next)
    }
}
