internal import Gateway

/// Reads `rate_limit`, in a route or in "defaults": how often a client, or whatever else a key tells apart, may come.
struct RateLimitReader {
    private let context: ReadingContext
    private let values: RequestValueReader

    /// Keys that may be remembered.
    private static let entries = 100...10_000_000
    /// What requests may be counted by, as the settings write it.
    private static let keys = ["client", "header.NAME", "path.NAME", "query.NAME"]

    /// - Parameter variables: those of the route's path; nil where that can't be read.
    init(_ context: ReadingContext, variables: [String?]?, isDefault: Bool = false) {
        self.context = context
        values = RequestValueReader(context, variables: variables, isDefault: isDefault)
    }

    /// Takes what `section` says and keeps the rest of `limit`.
    func read(_ section: SectionReader, into limit: inout RateLimit?) {
        let node = section.take("rate_limit")
        var rate: SettingsNode?
        var part = SectionReader.absent("\"rate_limit\"", path: "rate_limit", context)
        if let node, case .scalar = node.content {
            if context.saysOff(node, "\"rate_limit\"") {
                limit = nil
                return section.record("rate_limit", "off", .line(node.position.line))
            }
            rate = node
        } else if let node {
            guard let mapping = SectionReader(node, "\"rate_limit\"", path: "rate_limit", context) else { return }
            part = mapping
        } else if limit == nil {
            return section.record("rate_limit", "off", .standard)
        }
        let failures = context.failures
        rate = part.take("rate") ?? rate
        var read = limit ?? RateLimit(count: 1, per: .seconds(1))
        if let rate {
            if let value = self.rate(rate, "\"rate\" of \"rate_limit\"") { (read.count, read.period) = value }
        } else if limit == nil {
            context.report(part.position, "\"rate_limit\" needs \"rate\", as in rate: 100/s")
        }
        part.record("rate", Self.describe(read), rate.map { .line($0.position.line) } ?? .standard)
        key(part, &read)
        burst(part, &read, at: rate?.position ?? node?.position ?? section.position)
        read.entries = part.count("entries", standard: Sourced(read.entries), in: Self.entries).value
        read.tells = part.bool("fields", standard: read.tells)
        part.finish()
        if context.failures == failures { limit = read }
    }

    private static func describe(_ limit: RateLimit) -> String {
        let period = Units.describe(limit.period)
        let isUnit = Units.times.contains { period == "1\($0.unit)" }
        return "\(limit.count)/\(isUnit ? String(period.dropFirst()) : period)"
    }

    // MARK: How often

    /// Requests in a time, as `100/s`, `5/10s`.
    private func rate(_ node: SettingsNode, _ what: String) -> (Int, Duration)? {
        guard let text = context.text(node, what) else { return nil }
        // As others write more than the rate in one value: `100/s burst=5`.
        let words = text.split { $0.isWhitespace || $0 == "," }
        if words.count > 1, words[0].contains("/") {
            let burst = words.last?.drop { !$0.isNumber } ?? ""
            context.report(
                node.position,
                "\(what) is the rate alone, as in 100/s, not \"\(text)\": write rate_limit: { rate: \(words[0]), burst: "
                    + "\(burst.isEmpty || !burst.allSatisfy(\.isNumber) ? "…" : burst) }")
            return nil
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty,
            parts[0].utf8.allSatisfy({ (48...57).contains($0) })
        else {
            context.report(
                node.position, "\(what) is a number of requests in a time, as in 100/s or 5/10s, not \"\(text)\"")
            return nil
        }
        guard let count = Int(parts[0]), (1...RateLimit.greatestCount).contains(count) else {
            context.report(
                node.position,
                "\(what) is from 1 to \(RateLimit.greatestCount) requests, not \(parts[0]); off limits nothing")
            return nil
        }
        let isUnit = parts[1].first?.isNumber == false
        if isUnit, !Units.times.contains(where: { $0.unit == parts[1] }) {
            let known = Units.times.map(\.unit)
            let hint = Units.nearest(to: parts[1], among: known).map { "did you mean \"\(count)/\($0)\"?" }
            context.report(
                node.position,
                "\(what): the unit \"\(parts[1])\" is not known for a time: "
                    + (hint ?? "known are \(known.joined(separator: ", "))"))
            return nil
        }
        do {
            let period = try Units.time(isUnit ? "1\(parts[1])" : String(parts[1]))
            guard period >= .nanoseconds(count * RateLimit.shortestInterval) else {
                context.report(node.position, "\(what) is at most \(RateLimit.greatestCount)/s, not \"\(text)\"")
                return nil
            }
            return (count, period)
        } catch {
            context.report(node.position, "\(what): \(error.reason)")
            return nil
        }
    }

    /// - Parameter position: where the rate stands, which a burst that isn't written goes by.
    private func burst(_ section: SectionReader, _ limit: inout RateLimit, at position: SettingsNode.Position) {
        var position = position
        if let node = section.take("burst") {
            position = node.position
            guard let burst = context.count(node, "\"burst\"", in: 1...RateLimit.greatestCount) else { return }
            limit.burst = burst
            section.record("burst", String(burst), .line(node.position.line))
        } else {
            section.record("burst", String(limit.quota), .standard)
        }
        let longest = UInt64(RateLimit.longestWindow.components.seconds) * 1_000_000_000
        if UInt64(limit.quota) > longest / limit.interval {
            context.report(
                position, "a burst of \(limit.quota) takes longer than a year to come back at \(Self.describe(limit))")
        }
    }

    // MARK: By what

    private func key(_ section: SectionReader, _ limit: inout RateLimit) {
        guard let node = section.take("key") else {
            return section.record("key", describe(limit.key), .standard)
        }
        guard let text = context.text(node, "\"key\""), let key = key(text, node) else { return }
        limit.key = key
        section.record("key", text, .line(node.position.line))
    }

    private func key(_ text: String, _ node: SettingsNode) -> RateLimit.Key? {
        if text == "client" { return .client }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let kind = parts[0]
        guard parts.count == 2, ["header", "path", "query"].contains(kind) else {
            let hint = NearestWord.of(kind, among: Self.keys.map { String($0.prefix { $0 != "." }) })
            let meant = Self.keys.first { key in hint.map { key == $0 || key.hasPrefix("\($0).") } ?? false }
            context.report(
                node.position,
                "\"key\" is no \"\(text)\": "
                    + (meant.map { "did you mean \"\($0)\"?" } ?? "known are \(Self.keys.joined(separator: ", "))"))
            return nil
        }
        let name = parts[1]
        switch kind {
        case "path": return values.variable(name, node.position).map { .value(.path($0, name)) }
        case "query":
            if !name.isEmpty { return .value(.query(name)) }
            context.report(node.position, "\"key\" has no name behind query., as in query.user")
        default:
            if HeaderName.isValid(name) { return .value(.header(name.lowercased())) }
            context.report(node.position, "\"\(name)\" is no name of a header", isCertain: true)
        }
        return nil
    }

    /// What is inherited has no path in it.
    private func describe(_ key: RateLimit.Key) -> String {
        switch key {
        case .value(.header(let name)): "header.\(name)"
        case .value(.query(let name)): "query.\(name)"
        case .client, .value: "client"
        }
    }
}
