internal import EventLoop
internal import Gateway
internal import Octets
internal import Synchronization

/// How a route's rate limit stands, for all workers of the process. Another process counts for itself, and so does this one started
/// again.
final class RateLimiter: Sendable {
    /// A part of the table, with a lock that is held for a look at sixteen slots. A count that all workers share can't do without
    /// (principle 8): only routes with a limit come here, and shards keep the workers out of each other's way.
    private final class Shard: Sendable {
        let table: Mutex<RateShard>

        init(_ shape: RateTableShape) { table = Mutex(RateShard(shape)) }
    }

    let limit: RateLimit
    let rate: CellRate
    private let hash = RateKeyHash()
    private let shards: [Shard]
    fileprivate let counts: RateLimitCounts

    init(_ limit: RateLimit, counts: RateLimitCounts = RateLimitCounts()) {
        self.limit = limit
        self.counts = counts
        rate = CellRate(limit)
        let shape = RateTableShape(entries: limit.entries)
        shards = (0..<shape.shards).map { _ in Shard(shape) }
    }

    /// Counts a request of the client. Those without an address are one.
    func take(_ client: ClientKey?, now: UInt64) -> CellRate.Outcome {
        guard let client else { return take(value: Span(), now: now) }
        return take(hashed: hash(client.number), now: now)
    }

    /// Counts a request that has this value.
    func take(value: Span<UInt8>, now: UInt64) -> CellRate.Outcome { take(hashed: hash(value), now: now) }

    /// - Parameter now: nanoseconds of the clock that all workers share.
    private func take(hashed key: UInt64, now: UInt64) -> CellRate.Outcome {
        // Buckets go by the first bits.
        let shard = shards[Int(key & UInt64(shards.count - 1))]
        let outcome = shard.table.withLock { $0.take(key, by: rate, now: now) }
        counts.count(outcome.isPassed)
        return outcome
    }

    /// Keys that have a place, and those that lost it before their time.
    var held: (entries: Int, evicted: UInt64) {
        shards.reduce((0, 0)) { sum, shard in
            shard.table.withLock { (sum.0 + $0.count, sum.1 + $0.evicted) }
        }
    }
}

/// What a route's limit has done. It goes on when the limit becomes another one.
final class RateLimitCounts: Sendable {
    private let passed = Atomic<UInt64>(0)
    private let limited = Atomic<UInt64>(0)
    /// Of limits that the route had before.
    private let evictedBefore = Atomic<UInt64>(0)

    func count(_ isPassed: Bool) {
        if isPassed {
            passed.wrappingAdd(1, ordering: .relaxed)
        } else {
            limited.wrappingAdd(1, ordering: .relaxed)
        }
    }

    fileprivate func takeOver(evicted: UInt64) { evictedBefore.wrappingAdd(evicted, ordering: .relaxed) }

    fileprivate var values: (passed: UInt64, limited: UInt64, evicted: UInt64) {
        (passed.load(ordering: .relaxed), limited.load(ordering: .relaxed), evictedBefore.load(ordering: .relaxed))
    }
}

/// The rate limits of a process' routes, by their names. A reload keeps what is counted where the route keeps its name and its limit.
final class RateLimiters: Sendable {
    private let limiters = Mutex<[String: RateLimiter]>([:])

    /// What counts requests of a route by `limit`.
    func limiter(of route: String, _ limit: RateLimit) -> RateLimiter {
        limiters.withLock { limiters in
            let old = limiters[route]
            if let old, old.limit.countsLike(limit) { return old }
            let limiter = RateLimiter(limit, counts: old?.counts ?? RateLimitCounts())
            if let old { old.counts.takeOver(evicted: old.held.evicted) }
            limiters[route] = limiter
            return limiter
        }
    }

    /// The routes that have a limit are those.
    func keep(_ routes: Set<String>) { limiters.withLock { $0 = $0.filter { routes.contains($0.key) } } }

    func visit(_ samples: inout MetricSamples) {
        let limiters = limiters.withLock { $0.sorted { $0.key < $1.key } }
        for (route, limiter) in limiters {
            let values = limiter.counts.values
            let held = limiter.held
            for (result, count) in [("passed", values.passed), ("limited", values.limited)] {
                samples.counter(
                    "recast_rate_limit_requests_total", "Requests of routes with `rate_limit`, by route and result.",
                    labels: [.init("route", route), .init("result", result)], count)
            }
            samples.gauge(
                "recast_rate_limit_entries", "Keys that a route's rate limit remembers.",
                labels: [.init("route", route)], Double(held.entries))
            samples.counter(
                "recast_rate_limit_evictions_total",
                "Keys that a route's rate limit forgot before their time, for want of room.",
                labels: [.init("route", route)], values.evicted + held.evicted)
        }
    }
}
