/// What became of one worker's copies of requests, by route.
final class ShadowCounters {
    /// Of one route: how often by what became of it, one of a closed set.
    private struct Tally {
        var requests: [String: UInt64] = [:]
        var conversions: [String: UInt64] = [:]
        var comparisons: [String: UInt64] = [:]
        var differences: [String: UInt64] = [:]
    }

    private var routes = CountersByName<Tally>()
    /// Copies that wait or are on their way.
    var inFlight = 0

    /// A copy for an upstream has had its end.
    func count(request result: String, of route: String) {
        routes[route, first: Tally()].requests[result, default: 0] += 1
    }
    /// A copy was converted, or not.
    func count(conversion result: String, of route: String) {
        routes[route, first: Tally()].conversions[result, default: 0] += 1
    }
    /// Two answers were compared, or not.
    func count(comparison result: String, of route: String) {
        routes[route, first: Tally()].comparisons[result, default: 0] += 1
    }
    /// Two answers differ in one place.
    func count(difference kind: String, of route: String) {
        routes[route, first: Tally()].differences[kind, default: 0] += 1
    }

    /// New settings have those routes alone.
    func keep(_ names: Set<String>) { routes.keep(names) }

    func visit(_ samples: inout MetricSamples) {
        for (route, tally) in routes.sorted {
            func visit(_ counts: [String: UInt64], _ name: String, _ help: String, _ label: String) {
                for (result, count) in counts.sorted(by: { $0.key < $1.key }) {
                    samples.counter(name, help, labels: [.init("route", route), .init(label, result)], count)
                }
            }
            visit(
                tally.requests, "recast_shadow_requests_total",
                "Copies of requests for a second upstream, by what became of them.", "result")
            visit(
                tally.conversions, "recast_shadow_conversions_total",
                "Copies of requests that were to be converted to see whether they can be, by what came of it.", "result"
            )
            visit(
                tally.comparisons, "recast_shadow_comparisons_total",
                "Answers to copies that were to be compared with those to the requests, by what came of it.", "result")
            visit(
                tally.differences, "recast_shadow_differences_total",
                "Places in which compared answers differed, by how.", "kind")
        }
        samples.gauge(
            "recast_shadow_in_flight", "Copies of requests that wait or are on their way.", Double(inFlight))
    }
}
