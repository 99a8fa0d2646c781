internal import Gateway

/// How many requests were verified and authorized, and what came of it: one of a closed set.
struct VerificationCounters {
    private var senders = CountersByName<[String: UInt64]>()
    private var routes = CountersByName<[String: UInt64]>()

    mutating func count(_ sender: String, _ result: VerificationResult) {
        senders[sender, first: [:]][result.name, default: 0] += 1
    }

    mutating func count(authorized route: String, _ result: RequestAuthorization.Result) {
        routes[route, first: [:]][result.name, default: 0] += 1
    }

    /// New settings have those senders and routes alone.
    mutating func keep(senders: Set<String>, routes: Set<String>) {
        self.senders.keep(senders)
        self.routes.keep(routes)
    }

    func visit(_ samples: inout MetricSamples) {
        for (sender, results) in senders.sorted {
            for (result, count) in results.sorted(by: { $0.key < $1.key }) {
                samples.counter(
                    "recast_verifications_total", "Requests of routes with `verify`, by sender and result.",
                    labels: [.init("sender", sender), .init("result", result)], count)
            }
        }
        for (route, results) in routes.sorted {
            for (result, count) in results.sorted(by: { $0.key < $1.key }) {
                samples.counter(
                    "recast_authorizations_total", "Requests of routes with `authorize`, by route and result.",
                    labels: [.init("route", route), .init("result", result)], count)
            }
        }
    }
}
