internal import EventLoop

/// What one worker counts of TLS. The worker's upstream pools count here themselves, hence a class.
final class TLSCounters {
    enum Side: String {
        case client, upstream
    }

    private struct Handshake: Hashable {
        let side: Side
        /// `ok`, or why it failed (`TLSError.word`): a bounded set of words.
        let result: String
        let isResumed: Bool
    }

    private var handshakes: [Handshake: UInt64] = [:]
    /// Files that were loaded anew since the start, and times that failed. The main worker's only.
    var reloads: UInt64 = 0
    var failedReloads: UInt64 = 0

    func succeeded(_ side: Side, isResumed: Bool) {
        handshakes[Handshake(side: side, result: "ok", isResumed: isResumed), default: 0] += 1
    }

    func failed(_ side: Side, _ error: TLSError) {
        handshakes[Handshake(side: side, result: error.word, isResumed: false), default: 0] += 1
    }

    func visit(_ samples: inout MetricSamples) {
        for (handshake, count) in handshakes {
            samples.counter(
                "recast_tls_handshakes_total",
                "TLS handshakes that ended, by result and whether a session was taken up.",
                labels: [
                    .init("side", handshake.side.rawValue), .init("result", handshake.result),
                    .init("resumed", handshake.isResumed ? "true" : "false"),
                ], count)
        }
        for (result, count) in [("ok", reloads), ("failed", failedReloads)] {
            samples.counter(
                "recast_tls_reloads_total", "Times that changed certificate files were loaded anew.",
                labels: [.init("result", result)], count)
        }
    }
}

extension ProxySettings {
    /// When the certificates, authorities and revocation lists in use run out. Once for the process, not for each worker: gauges of
    /// workers add up.
    func visitCertificates(_ samples: inout MetricSamples) {
        let lives =
            listeners.values.compactMap(\.tls).flatMap(\.context.lives)
            + upstreams.compactMap(\.tls).flatMap(\.context.lives)
        var told: Set<String> = []
        var toldLists: Set<String> = []
        for life in lives where life.role != .revocations && told.insert(life.path).inserted {
            samples.gauge(
                "recast_tls_cert_not_after_seconds",
                "When the certificate in use, or the last of the authorities, runs out, in seconds since 1970.",
                labels: [.init("name", life.path)], Double(life.notAfter))
        }
        for life in lives where life.role == .revocations && toldLists.insert(life.path).inserted {
            samples.gauge(
                "recast_tls_crl_next_update_seconds",
                "When the revocation list in use runs out, from when on its certificates are refused, in seconds since 1970.",
                labels: [.init("name", life.path)], Double(life.notAfter))
        }
    }
}
