internal import Gateway
internal import HTTPWire
internal import Transcoding

/// What one worker counts of the requests of one route: plain integers, no label is made before it is asked for.
final class RouteCounters {
    private let route: String
    /// By method and status.
    private var requests = SlotCounts()
    /// Responses that had begun and weren't whole, by why.
    private var cuts: [EndReason: UInt64] = [:]
    private var durations = Histogram()
    private var upstreamDurations = Histogram()
    /// By encodings and outcome.
    private var conversions = SlotCounts()
    private var conversionTimes = Histogram()
    private var dropped: UInt64 = 0
    /// By finding and both statuses, ten bits each.
    private var statuses = SlotCounts()
    /// By finding.
    private var problems = SlotCounts()
    /// By the code that the client saw; codes are those of the program, a closed set.
    private var errors: [String: UInt64] = [:]

    /// How a conversion ended.
    private enum Outcome: UInt32, CaseIterable {
        /// It ran to its end.
        case ok
        /// The body, or a limit, was the reason to refuse it.
        case refused
        /// The exchange ended for another reason before it did.
        case aborted

        var name: String {
            switch self {
            case .ok: "ok"
            case .refused: "refused"
            case .aborted: "aborted"
            }
        }
    }

    init(route: String) {
        self.route = route
    }

    // MARK: Counting

    /// An exchange has ended.
    func count(_ record: ExchangeRecord, method: Method, duration: UInt64) {
        requests.add(UInt32(method.rawValue) << 16 | UInt32(truncatingIfNeeded: record.status))
        if record.isCut, let flag = record.flag { cuts[flag, default: 0] &+= 1 }
        durations.count(duration)
        if record.upstreamTime > 0 { upstreamDurations.count(record.upstreamTime) }
        guard let input = record.input, let output = record.output else { return }
        let outcome: Outcome =
            record.accounting != nil ? .ok : record.refusesBody ? .refused : .aborted
        conversions.add(input.slot << 8 | output.slot << 4 | outcome.rawValue)
        conversionTimes.count(record.transcodeTime, scale: Histogram.fine)
        if let accounting = record.accounting {
            dropped &+= UInt64(accounting.removed)
        }
    }

    /// A response was looked at, and the client got `status`.
    func count(_ response: LookedResponse, status: Int) {
        if let finding = response.look.statusFinding {
            let upstream = UInt32(truncatingIfNeeded: response.upstreamStatus) & 0x3FF
            let client = UInt32(truncatingIfNeeded: status) & 0x3FF
            statuses.add(finding.rawValue << 20 | upstream << 10 | client)
        }
        if let finding = response.look.problemFinding { problems.add(finding.rawValue) }
    }

    /// A response was converted, or should have been.
    func count(response input: BodyEncoding, to output: BodyEncoding, isWhole: Bool, wasRefused: Bool) {
        let outcome: Outcome = isWhole ? .ok : wasRefused ? .refused : .aborted
        conversions.add(input.slot << 8 | output.slot << 4 | outcome.rawValue)
    }

    func countError(_ code: String) {
        errors[code, default: 0] &+= 1
    }

    /// What the console shows of it.
    var totals: RouteTotals {
        var totals = RouteTotals()
        requests.forEach { key, count in totals.add(count, status: Int(key & 0xFFFF)) }
        if requests.others > 0 { totals.add(requests.others, status: 0) }
        return totals
    }

    // MARK: Samples

    func visit(_ samples: inout MetricSamples) {
        let route = MetricSamples.Label("route", self.route)
        requests.forEach { key, count in
            samples.requests(route, method: Int(key >> 16), code: String(key & 0xFFFF), count)
        }
        if requests.others > 0 { samples.requests(route, method: nil, code: "other", requests.others) }
        for (flag, count) in cuts {
            samples.counter(
                "recast_responses_cut_total", "Responses that had begun and weren't whole, by why.",
                labels: [route, .init("flag", flag.rawValue)], count)
        }
        // One without a count has nothing to say, in nineteen rows.
        if !durations.isEmpty {
            samples.histogram(
                "recast_request_duration_seconds", "Time from the end of a request's head to the end of its exchange.",
                labels: [route], bounds: Histogram.bounds, durations.sample)
        }
        if !upstreamDurations.isEmpty {
            samples.histogram(
                "recast_upstream_duration_seconds",
                "Time from asking for an upstream connection to the end of the upstream's response.",
                labels: [route], bounds: Histogram.bounds, upstreamDurations.sample)
        }
        visitConversions(&samples, route)
        visitLooks(&samples, route)
    }

    private func visitLooks(_ samples: inout MetricSamples, _ route: MetricSamples.Label) {
        statuses.forEach { key, count in
            let finding = ResponseLook.StatusFinding(rawValue: key >> 20) ?? .unmapped
            samples.counter(
                "recast_status_from_total", "Responses that were asked for their status, by what was found.",
                labels: [
                    route, .init("upstream_code", "\(key >> 10 & 0x3FF)"), .init("code", "\(key & 0x3FF)"),
                    .init("result", finding.name.description),
                ], count)
        }
        problems.forEach { key, count in
            let finding = ResponseLook.ProblemFinding(rawValue: key) ?? .malformed
            samples.counter(
                "recast_problems_total", "Errors whose envelope became a problem, or should have.",
                labels: [route, .init("result", finding.name.description)], count)
        }
    }

    private func visitConversions(_ samples: inout MetricSamples, _ route: MetricSamples.Label) {
        conversions.forEach { key, count in
            let outcome = Outcome(rawValue: key & 15) ?? .ok
            samples.counter(
                "recast_transcode_total", "Bodies that were converted, or should have been, by outcome.",
                labels: [
                    route, .init("from", BodyEncoding.name(ofSlot: key >> 8 & 15)),
                    .init("to", BodyEncoding.name(ofSlot: key >> 4 & 15)), .init("result", outcome.name),
                ], count)
        }
        // Conversions of responses have none.
        if !conversionTimes.isEmpty {
            samples.histogram(
                "recast_transcode_duration_seconds", "Time inside the conversion of a request's body.",
                labels: [route], bounds: Histogram.fineBounds, conversionTimes.sample)
        }
        for (code, count) in errors {
            samples.counter(
                "recast_transcode_errors_total", "Bodies that could not be converted, by the answer's code.",
                labels: [route, .init("code", code)], count)
        }
        if dropped > 0 {
            samples.counter(
                "recast_transcode_fields_dropped_total", "Fields and files that a rule left out or replaced.",
                labels: [route, .init("reason", "rule")], dropped)
        }
    }
}

/// How many requests of a route have ended, by the class of their status.
struct RouteTotals: Sendable {
    /// By the hundreds of the status; 0: those that were too many to be told apart.
    private(set) var classes: [Int: UInt64] = [:]

    /// Statuses that none is for count as 5xx (docs/rules.md F30).
    mutating func add(_ count: UInt64, status: Int) { classes[min(status / 100, 5), default: 0] &+= count }

    static func + (left: RouteTotals, right: RouteTotals) -> RouteTotals {
        var sum = left
        for (key, count) in right.classes { sum.classes[key, default: 0] &+= count }
        return sum
    }
}

extension MetricSamples {
    fileprivate mutating func requests(_ route: Label, method: Int?, code: String, _ count: UInt64) {
        let known = method.flatMap { Method(rawValue: UInt8(truncatingIfNeeded: $0)) } ?? .other
        counter(
            "recast_requests_total", "Exchanges that have ended, by the status that the client got.",
            labels: [route, Label("method", known.metricName), Label("code", code)], count)
    }
}

extension Method {
    /// A closed set: what a client makes up is `other`.
    fileprivate var metricName: String { self == .other ? "other" : "\(self)".uppercased() }
}

extension BodyEncoding {
    /// Four bits of the key.
    fileprivate var slot: UInt32 { UInt32(truncatingIfNeeded: number & 15) }

    fileprivate static func name(ofSlot slot: UInt32) -> String {
        allCases.first { $0.slot == slot }?.rawValue ?? "other"
    }
}
