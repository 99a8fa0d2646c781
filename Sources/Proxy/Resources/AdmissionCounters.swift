/// What limits and timeouts have done.
struct AdmissionCounters {
    /// A phase that ended by time, as `recast_timeouts_total{kind}` names it.
    enum Timeout: String, CaseIterable {
        /// Nothing came on a new connection.
        case firstByte = "first_byte"
        case head
        case keepAlive = "keep_alive"
        case bodyGap = "body_gap"
        case bodyRate = "body_rate"
        case write
        /// A client of HTTP/2 gave no sign of life when it was asked for one.
        case ping
        case responseRate = "response_rate"
        case linger, request, connect
        case upstreamWrite = "upstream_write"
        case upstreamFirstByte = "upstream_first_byte"
        case upstreamGap = "upstream_gap"
    }

    private var timeouts: [Timeout: UInt64] = [:]
    var accepted: UInt64 = 0
    /// Refused because the client has its share.
    var refusedPerClient: UInt64 = 0
    /// The system was out of descriptors or memory.
    var refusedShortage: UInt64 = 0
    var evictedIdle: UInt64 = 0
    var evictedHeads: UInt64 = 0
    /// How often the listeners stopped accepting because of the cap.
    var pauses: UInt64 = 0
    /// Requests answered with 503 because as many as may be are in flight.
    var overloaded: UInt64 = 0

    mutating func count(_ timeout: Timeout) { timeouts[timeout, default: 0] += 1 }

    func count(of timeout: Timeout) -> UInt64 { timeouts[timeout] ?? 0 }

    func visit(_ samples: inout MetricSamples) {
        for kind in Timeout.allCases {
            samples.counter(
                "recast_timeouts_total", "Phases that ended by time.", labels: [.init("kind", kind.rawValue)],
                count(of: kind))
        }
        samples.counter(
            "recast_connections_accepted_total", "Connections accepted from clients.",
            labels: [.init("side", "client")], accepted)
        for (reason, count) in [("per_client", refusedPerClient), ("descriptors", refusedShortage)] {
            samples.counter(
                "recast_connections_refused_total", "Connections of clients that were closed when they were accepted.",
                labels: [.init("reason", reason)], count)
        }
        for (state, count) in [("idle", evictedIdle), ("head", evictedHeads)] {
            samples.counter(
                "recast_connections_evicted_total", "Connections closed to make room for others.",
                labels: [.init("state", state)], count)
        }
        samples.counter(
            "recast_accept_pauses_total", "Times that accepting stopped because of the cap on connections.", pauses)
        samples.counter(
            "recast_requests_overloaded_total", "Requests answered with 503 because too many were in flight.",
            overloaded)
    }
}
