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
        func visit(_ counts: CountersByName<[String: UInt64]>, _ name: String, _ help: String, _ label: String) {
            for (whose, results) in counts.sorted {
                for (result, count) in results.sorted(by: { $0.key < $1.key }) {
                    samples.counter(name, help, labels: [.init(label, whose), .init("result", result)], count)
                }
            }
        }
        visit(
            senders, "recast_verifications_total", "Requests of routes with `verify`, by sender and result.", "sender")
        visit(
            routes, "recast_authorizations_total", "Requests of routes with `authorize`, by route and result.", "route")
    }
}
