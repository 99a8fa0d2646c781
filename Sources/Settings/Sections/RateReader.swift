internal import Gateway
internal import Proxy

/// Reads what a route says of the speed of bodies, in the route or in "defaults": `rate`, at most, and `min_rate`, at least.
struct RateReader {
    let context: ReadingContext

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RateOptions) {
        // One number is that of requests: what is slowed down are uploads. `off` is off both ways.
        if let pair = pair("rate", section, standard: (options.request, options.response), alone: false) {
            (options.request, options.response) = pair
        }
        let minima = (options.minimumRequest, options.minimumResponse)
        if let pair = pair("min_rate", section, standard: minima, alone: true, grace: &options.grace) {
            (options.minimumRequest, options.minimumResponse) = pair
        }
    }

    private func pair(
        _ key: String, _ section: SectionReader, standard: (Int, Int), alone both: Bool
    ) -> (Int, Int)? {
        var none = Duration.zero
        return pair(key, section, standard: standard, alone: both, grace: &none)
    }

    /// Reads `KEY: 1MiB/s`, `KEY: off` or `KEY: {request: …, response: …}`. `both`: one number is for both ways.
    private func pair(
        _ key: String, _ section: SectionReader, standard: (Int, Int), alone both: Bool, grace: inout Duration
    ) -> (Int, Int)? {
        let node = section.take(key)
        var pair = standard
        var origin = EffectiveValue.Origin.standard
        var originOfResponse = origin
        if let node, case .scalar = node.content {
            guard let rate = rate(node, "\"\(key)\"") else { return nil }
            origin = .line(node.position.line)
            pair.0 = rate
            if both || rate == 0 { (pair.1, originOfResponse) = (rate, origin) }
        }
        let absent = SectionReader.absent("\"\(key)\"", path: key, context)
        var part = absent
        if let node, case .scalar = node.content {
        } else if let node {
            guard let mapping = SectionReader(node, "\"\(key)\"", path: key, context) else { return nil }
            part = mapping
        }
        pair.0 = value("request", part, Sourced(pair.0, origin))
        pair.1 = value("response", part, Sourced(pair.1, originOfResponse))
        if both { grace = part.time("grace", standard: Sourced(grace)).value }
        part.finish()
        return pair
    }

    private func value(_ key: String, _ section: SectionReader, _ standard: Sourced<Int>) -> Int {
        section.value(key, standard: standard, describe: Self.describe, read: rate).value
    }

    private static func describe(_ rate: Int) -> String {
        rate == 0 ? "off" : Units.describe(bytes: rate) + "/s"
    }

    /// Bytes in a second, as `512KiB/s`; 0 for `off`.
    private func rate(_ node: SettingsNode, _ what: String) -> Int? {
        guard let text = context.text(node, what) else { return nil }
        if text == "off" { return 0 }
        guard text.hasSuffix("/s") else {
            context.report(node.position, "\(what) is a size in a second or off, as in 512KiB/s, not \"\(text)\"")
            return nil
        }
        do {
            let rate = try Units.size(String(text.dropLast(2)))
            if rate >= 1 { return rate }
            context.report(node.position, "\(what) is at least 1B/s; write off for none")
        } catch {
            context.report(node.position, "\(what): \(error.reason)")
        }
        return nil
    }
}
