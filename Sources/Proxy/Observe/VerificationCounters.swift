internal import Signatures

/// How many requests were verified, by their sender and what came of it.
struct VerificationCounters {
    private struct Key: Hashable {
        let sender: String
        let fault: SignatureFault?
    }

    private var counts: [Key: UInt64] = [:]

    mutating func count(_ sender: String, _ fault: SignatureFault?) {
        counts[Key(sender: sender, fault: fault), default: 0] += 1
    }

    func visit(_ samples: inout MetricSamples) {
        for (key, count) in counts.sorted(by: {
            ($0.key.sender, $0.key.fault?.rawValue ?? "") < ($1.key.sender, $1.key.fault?.rawValue ?? "")
        }) {
            samples.counter(
                "recast_verifications_total", "Requests of routes with `verify`, by sender and result.",
                labels: [.init("sender", key.sender), .init("result", key.fault?.rawValue ?? "verified")], count)
        }
    }
}
