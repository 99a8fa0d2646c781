internal import Gateway

/// How many requests were verified and authorized, and what came of it.
struct VerificationCounters {
    private struct Key: Hashable {
        /// The sender, or the route.
        let whose: String
        let result: String
    }

    private var verified: [Key: UInt64] = [:]
    private var authorized: [Key: UInt64] = [:]

    mutating func count(_ sender: String, _ result: VerificationResult) {
        verified[Key(whose: sender, result: result.name), default: 0] += 1
    }

    mutating func count(authorized route: String, _ result: RequestAuthorization.Result) {
        authorized[Key(whose: route, result: result.name), default: 0] += 1
    }

    func visit(_ samples: inout MetricSamples) {
        for (key, count) in Self.sorted(verified) {
            samples.counter(
                "recast_verifications_total", "Requests of routes with `verify`, by sender and result.",
                labels: [.init("sender", key.whose), .init("result", key.result)], count)
        }
        for (key, count) in Self.sorted(authorized) {
            samples.counter(
                "recast_authorizations_total", "Requests of routes with `authorize`, by route and result.",
                labels: [.init("route", key.whose), .init("result", key.result)], count)
        }
    }

    private static func sorted(_ counts: [Key: UInt64]) -> [(key: Key, value: UInt64)] {
        counts.sorted { ($0.key.whose, $0.key.result) < ($1.key.whose, $1.key.result) }
    }
}
