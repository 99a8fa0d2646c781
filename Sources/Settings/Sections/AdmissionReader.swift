internal import Proxy

/// Reads how much is taken at once, at the top of the file: `limits`, `connections` and `requests`.
struct AdmissionReader {
    let context: ReadingContext

    /// Takes what the top of the file says.
    func read(_ file: SectionReader) -> AdmissionSettings {
        var settings = AdmissionSettings()
        settings.head = head(file.part("limits"))
        connections(file.part("connections"), into: &settings)
        let requests = file.part("requests")
        settings.inFlight = cap("in_flight", in: requests, standard: nil, upTo: 1_000_000)
        requests.finish()
        return settings
    }

    private func head(_ section: SectionReader) -> AdmissionSettings.Head {
        var head = AdmissionSettings.Head()
        let largest = AdmissionSettings.Head.largest
        head.bytes = size("head", section, standard: head.bytes, in: 1024...largest)
        // A line that no head has room for bounds nothing: it follows a head that is made smaller.
        let line = 256...head.bytes
        head.requestLine = size("request_line", section, standard: min(head.requestLine, head.bytes), in: line)
        head.fieldLine = size("field_line", section, standard: min(head.fieldLine, head.bytes), in: line)
        head.fields = section.count("header_fields", standard: Sourced(head.fields), in: 1...10_000).value
        for key in LimitSettings.routeKeys {
            section.refuse(key, "is a route's: write it under \"defaults: {limits: …}\" or in a route")
        }
        section.finish()
        return head
    }

    private func size(_ key: String, _ section: SectionReader, standard: Int, in range: ClosedRange<Int>) -> Int {
        section.value(key, standard: Sourced(standard), describe: Units.describe(bytes:)) { node, what in
            guard let size = context.size(node, what, from: range.lowerBound) else { return nil }
            if size <= range.upperBound { return size }
            context.report(node.position, "\(what) is at most \(Units.describe(bytes: range.upperBound)) here")
            return nil
        }.value
    }

    private func connections(_ section: SectionReader, into settings: inout AdmissionSettings) {
        let failures = context.failures
        settings.connections =
            section.value("total", standard: Sourced(settings.connections), describe: { $0.map(String.init) ?? "auto" })
        { node, what in
            guard let text = context.text(node, what) else { return nil }
            if text == "auto" { return .some(nil) }
            return context.count(node, what, in: 1...1_000_000, or: "auto")
        }.value
        // With `auto` it is the system's to say, on each machine another one.
        let total = settings.connections.flatMap { section.bound("total", $0, since: failures) }
        settings.perClient =
            section.value("per_client", standard: Sourced(settings.perClient), describe: Self.describe) { node, what in
                switch context.text(node, what) {
                case nil: nil
                case "auto": .standard
                case "off": .some(.none)
                default:
                    context.count(node, what, in: 1...1_000_000, or: "auto, off")
                        .flatMap { section.bounded($0, node, what, by: total, describe: String.init) }
                        .map { .count($0) }
                }
            }.value
        settings.requestsPerConnection =
            cap("requests", in: section, standard: settings.requestsPerConnection, upTo: 1_000_000_000) ?? 0
        settings.connectionAge = section.timeOrOff("age", standard: Sourced(settings.connectionAge)).value
        section.finish()
    }

    private static func describe(_ cap: AdmissionSettings.ClientCap) -> String {
        switch cap {
        case .standard: "auto"
        case .none: "off"
        case .count(let count): "\(count)"
        }
    }

    /// A count from 1, or off.
    private func cap(_ key: String, in section: SectionReader, standard: Int?, upTo largest: Int) -> Int? {
        section.value(key, standard: Sourced(standard), describe: { $0.map(String.init) ?? "off" }) { node, what in
            if context.text(node, what) == "off" { return .some(nil) }
            return context.count(node, what, in: 1...largest, or: "off")
        }.value
    }
}

extension SectionReader {
    /// A time, or `off`.
    func timeOrOff(_ key: String, standard: Sourced<Duration?>) -> Sourced<Duration?> {
        value(key, standard: standard, describe: { $0.map(Units.describe(_:)) ?? "off" }) { node, what in
            if context.text(node, what) == "off" { return .some(nil) }
            return context.time(node, what, or: "off")
        }
    }
}
