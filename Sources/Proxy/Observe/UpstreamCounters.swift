internal import Gateway

/// What is counted of the upstreams, by their names: a reload that changes an upstream goes on where the last one stood.
struct UpstreamCounters {
    private final class Table {
        var tallies = CountersByName<UpstreamTally>()
    }

    private let table = Table()

    /// What is counted of the upstream called `name`.
    func tally(of name: String) -> UpstreamTally { table.tallies[name, first: UpstreamTally()] }

    /// New settings have those upstreams alone.
    func keep(_ names: Set<String>) { table.tallies.keep(names) }

    /// Connections to all of them, those that still serve what began before a reload included.
    var connections: (idle: Int, active: Int) {
        table.tallies.sorted.reduce((0, 0)) { sum, row in
            let (idle, active) = row.counters.connections
            return (sum.0 + idle, sum.1 + active)
        }
    }

    func visit(_ samples: inout MetricSamples) {
        for (name, tally) in table.tallies.sorted { tally.visit(name, &samples) }
    }
}

/// What one worker counts of one upstream.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread counts, and counting calls nobody (docs/decisions/0007).
final class UpstreamTally {
    /// Why a request got no connection, or a connection was not made.
    enum ConnectReason: String, CaseIterable {
        case unreachable, tls
        case otherProtocol = "protocol"
        case timeout, unresolved, unavailable, overloaded, resources
        case localPort = "local_port"
    }

    /// Why a response whose head had come wasn't whole.
    enum CutReason: String, CaseIterable {
        case closed, timeout
        case malformed = "bad_response"
    }

    /// Final responses that came, those among them that count as failures of the server, and requests that failed before.
    @safe @exclusivity(unchecked) var responses: UInt64 = 0
    var gatewayErrors: UInt64 = 0
    var failures: UInt64 = 0
    var closed: UInt64 = 0
    var timeouts: UInt64 = 0
    var malformed: UInt64 = 0
    var connects: UInt64 = 0
    var ejections: UInt64 = 0
    /// Final responses by the first digit of their status, 1 to 5: of 1xx there is 101.
    @safe @exclusivity(unchecked) private var statuses = [UInt64](repeating: 0, count: 5)
    @safe @exclusivity(unchecked) private var times = Histogram()
    /// Times that connections to an address were no longer reused.
    var reusePauses: UInt64 = 0
    private var connectFailures = [UInt64](repeating: 0, count: ConnectReason.allCases.count)
    private var refusals = [UInt64](repeating: 0, count: ConnectReason.allCases.count)
    private var cuts = [UInt64](repeating: 0, count: CutReason.allCases.count)
    private var checks: (passed: UInt64, failed: UInt64) = (0, 0)
    private var retries: [RetryResult: UInt64] = [:]
    private var skippedRetries: [RetrySkip: UInt64] = [:]

    private struct WeakPool {
        weak var pool: UpstreamPool?
    }
    /// That of the settings in effect, and those of settings before that serve what they began with.
    private var pools: [WeakPool] = []

    func add(_ pool: UpstreamPool) {
        pools.removeAll { $0.pool == nil }
        pools.append(WeakPool(pool: pool))
    }

    var connections: (idle: Int, active: Int) {
        pools.reduce((0, 0)) { sum, entry in
            guard let pool = entry.pool else { return sum }
            let idle = pool.idleCount
            return (sum.0 + idle, sum.1 + pool.connections - idle)
        }
    }

    private static func index(_ reason: ConnectReason) -> Int { ConnectReason.allCases.firstIndex(of: reason) ?? 0 }

    /// A final response has come, so many nanoseconds after its request was given to a connection.
    func count(status: Int, after nanoseconds: UInt64) {
        // No parser takes a status below 100; what is above 599 is a failure of the server as those of 5xx are.
        statuses[min(max(status / 100, 1), 5) - 1] &+= 1
        times.count(nanoseconds)
    }

    /// A connection was not made.
    func count(connect failure: UpstreamFailure) { connectFailures[Self.index(failure.reason)] &+= 1 }

    /// A request got no connection.
    func count(_ failure: UpstreamFailure) { refusals[Self.index(failure.reason)] &+= 1 }

    /// A response wasn't whole. Its head was counted when it came: what a counter has said can't be taken back.
    func count(cut reason: CutReason) {
        for (index, known) in CutReason.allCases.enumerated() where known == reason { cuts[index] &+= 1 }
    }

    func count(checkPassed passed: Bool) {
        if passed { checks.passed &+= 1 } else { checks.failed &+= 1 }
    }

    func count(_ result: RetryResult) { retries[result, default: 0] &+= 1 }
    func count(_ skip: RetrySkip) { skippedRetries[skip, default: 0] &+= 1 }

    func skipped(_ reason: RetrySkip) -> UInt64 { skippedRetries[reason] ?? 0 }
    func retried(_ result: RetryResult) -> UInt64 { retries[result] ?? 0 }

    func visit(_ name: String, _ samples: inout MetricSamples) {
        let upstream = MetricSamples.Label("upstream", name)
        for (index, reason) in ConnectReason.allCases.enumerated() where reason != .unavailable && reason != .overloaded
        {
            samples.counter(
                "recast_upstream_connect_failures_total", "Connections to upstreams that were not made, by reason.",
                labels: [upstream, .init("reason", reason.rawValue)],
                reason == .unresolved ? refusals[index] : connectFailures[index])
        }
        let results: [(String, UInt64)] = [
            ("response", responses &- gatewayErrors), ("gateway_error", gatewayErrors), ("closed", closed),
            ("timeout", timeouts), ("bad_response", malformed),
            (
                "connect_failed",
                refusals[Self.index(.unreachable)] &+ refusals[Self.index(.tls)] &+ refusals[Self.index(.timeout)]
                    &+ refusals[Self.index(.otherProtocol)]
            ),
            ("unresolved", refusals[Self.index(.unresolved)]), ("unavailable", refusals[Self.index(.unavailable)]),
            ("overloaded", refusals[Self.index(.overloaded)]),
            ("no_resources", refusals[Self.index(.resources)] &+ refusals[Self.index(.localPort)]),
        ]
        for (result, value) in results {
            samples.counter(
                "recast_upstream_requests_total", "Attempts to have a request answered by an upstream, by outcome.",
                labels: [upstream, .init("result", result)], value)
        }
        for (index, count) in statuses.enumerated() {
            samples.counter(
                "recast_upstream_responses_total", "Final responses of upstreams, by the class of their status.",
                labels: [upstream, .init("code", "\(index + 1)xx")], count)
        }
        for (index, reason) in CutReason.allCases.enumerated() {
            samples.counter(
                "recast_upstream_responses_cut_total", "Final responses of upstreams that weren't whole, by reason.",
                labels: [upstream, .init("reason", reason.rawValue)], cuts[index])
        }
        if !times.isEmpty {
            samples.histogram(
                "recast_upstream_response_seconds",
                "Time from giving a request to an upstream's connection to the head of the response.",
                labels: [upstream], bounds: Histogram.bounds, times.sample)
        }
        samples.counter(
            "recast_upstream_connects_total", "Connections to upstreams that were made.", labels: [upstream], connects)
        samples.counter(
            "recast_upstream_ejections_total", "Times that an address of an upstream was taken out of use.",
            labels: [upstream], ejections)
        samples.counter(
            "recast_upstream_reuse_pauses_total",
            "Times that an address' connections were not reused for a while, because it closes them without saying so.",
            labels: [upstream], reusePauses)
        for (result, value) in [("passed", checks.passed), ("failed", checks.failed)] where value > 0 {
            samples.counter(
                "recast_upstream_checks_total", "Active checks of upstreams' addresses.",
                labels: [upstream, .init("result", result)], value)
        }
        for result in RetryResult.allCases {
            samples.counter(
                "recast_retries_total", "Requests that were sent once more, by why.",
                labels: [upstream, .init("result", result.rawValue)], retried(result))
        }
        for reason in RetrySkip.allCases {
            samples.counter(
                "recast_retry_skipped_total", "Requests that were not sent once more, by why not.",
                labels: [upstream, .init("reason", reason.rawValue)], skipped(reason))
        }
        visitPools(upstream, &samples)
    }

    private func visitPools(_ upstream: MetricSamples.Label, _ samples: inout MetricSamples) {
        for pool in pools.compactMap(\.pool) {
            let idle = pool.idleCount
            for (state, value) in [("idle", idle), ("active", pool.connections - idle)] {
                samples.gauge(
                    "recast_upstream_connections", "Connections to upstreams.",
                    labels: [upstream, .init("state", state)], Double(value))
            }
            samples.gauge(
                "recast_upstream_queue_length", "Requests that wait because an upstream's limits are reached.",
                labels: [upstream], Double(pool.queue.count))
            samples.gauge(
                "recast_upstream_inflight_requests",
                "Requests on their way to upstreams, and connections made for them.",
                labels: [upstream], Double(pool.inFlight))
            // Those of settings before only end what they began.
            guard !pool.isRetired else { continue }
            visitLimits(of: pool, upstream, &samples)
            for endpoint in pool.endpoints {
                samples.gauge(
                    "recast_upstream_endpoint_healthy", "Workers that hold an address of an upstream fit for requests.",
                    labels: [upstream, .init("endpoint", endpoint.label)], endpoint.isHealthy ? 1 : 0)
            }
        }
    }

    private func visitLimits(
        of pool: UpstreamPool, _ upstream: MetricSamples.Label, _ samples: inout MetricSamples
    ) {
        samples.gauge(
            "recast_upstream_connections_max", "Connections to upstreams that there may be.", labels: [upstream],
            Double(pool.maxConnections))
        samples.gauge(
            "recast_upstream_inflight_requests_max", "Requests to upstreams that may be on their way.",
            labels: [upstream], Double(pool.mostRequests))
        samples.gauge(
            "recast_upstream_queue_max", "Requests that may wait when an upstream's limits are reached.",
            labels: [upstream], Double(pool.settings.queue.size))
    }
}
