internal import EventLoop
internal import HTTP2
internal import Logging

/// Connections and streams of HTTP/2, and how they ended before their time.
struct HTTP2Counters {
    var connections: UInt64 = 0
    private var failures: [HTTP2Error.Kind: UInt64] = [:]
    /// Streams that their client reset, and that were reset here.
    var resetByClient: UInt64 = 0
    var resetHere: UInt64 = 0
    private var limit = LineLimit()

    /// Counts and tells of a connection that was ended because of what its client did.
    mutating func failed(_ error: HTTP2Error, peer: SocketAddress, _ worker: Worker) {
        failures[error.kind, default: 0] += 1
        guard let others = limit.next(worker.loop.now) else { return }
        worker.logger.warning("a connection of HTTP/2 with \(peer) was ended: \(error.reason)\(others)")
    }

    func visit(_ samples: inout MetricSamples) {
        samples.counter("recast_http2_connections_total", "Connections of clients that spoke HTTP/2.", connections)
        for kind in HTTP2Error.Kind.allCases {
            samples.counter(
                "recast_http2_connections_failed_total",
                "Connections of HTTP/2 ended because of what their client did.",
                labels: [.init("reason", kind.rawValue)], failures[kind] ?? 0)
        }
        for (side, count) in [("client", resetByClient), ("recast", resetHere)] {
            samples.counter(
                "recast_http2_resets_total", "Streams of HTTP/2 that were reset, by whom.",
                labels: [.init("by", side)], count)
        }
    }
}
