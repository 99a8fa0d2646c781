/// What became of one worker's copies of requests, by route.
final class ShadowCounters {
    private struct Key: Hashable {
        let route: String
        /// What became of it: one of a closed set.
        let result: String
    }

    private var requests: [Key: UInt64] = [:]
    private var conversions: [Key: UInt64] = [:]
    private var comparisons: [Key: UInt64] = [:]
    private var differences: [Key: UInt64] = [:]
    /// Copies that wait or are on their way.
    var inFlight = 0

    /// A copy for an upstream has had its end.
    func count(request result: String, of route: String) {
        requests[Key(route: route, result: result), default: 0] += 1
    }
    /// A copy was converted, or not.
    func count(conversion result: String, of route: String) {
        conversions[Key(route: route, result: result), default: 0] += 1
    }
    /// Two answers were compared, or not.
    func count(comparison result: String, of route: String) {
        comparisons[Key(route: route, result: result), default: 0] += 1
    }
    /// Two answers differ in one place.
    func count(difference kind: String, of route: String) {
        differences[Key(route: route, result: kind), default: 0] += 1
    }

    func visit(_ samples: inout MetricSamples) {
        func visit(_ counts: [Key: UInt64], _ name: String, _ help: String, _ label: String) {
            for (key, count) in counts.sorted(by: { ($0.key.route, $0.key.result) < ($1.key.route, $1.key.result) }) {
                samples.counter(name, help, labels: [.init("route", key.route), .init(label, key.result)], count)
            }
        }
        visit(
            requests, "recast_shadow_requests_total",
            "Copies of requests for a second upstream, by what became of them.",
            "result")
        visit(
            conversions, "recast_shadow_conversions_total",
            "Copies of requests that were to be converted to see whether they can be, by what came of it.", "result")
        visit(
            comparisons, "recast_shadow_comparisons_total",
            "Answers to copies that were to be compared with those to the requests, by what came of it.", "result")
        visit(
            differences, "recast_shadow_differences_total", "Places in which compared answers differed, by how.", "kind"
        )
        samples.gauge(
            "recast_shadow_in_flight", "Copies of requests that wait or are on their way.", Double(inFlight))
    }
}
