internal import Gateway
internal import HTTPWire
internal import Proxy

/// Reads `health` of an upstream.
struct UpstreamHealthReader {
    let context: ReadingContext

    func read(_ upstream: SectionReader, _ standard: UpstreamHealthSettings) -> UpstreamHealthSettings {
        var health = standard
        let section = upstream.part("health")
        passive(section.part("passive"), &health.passive)
        if let node = section.take("active"),
            let active = SectionReader(node, "\"active\"", path: "\(section.path).active", context)
        {
            health.active = self.active(active)
        } else {
            section.record("active", "off", .standard)
        }
        section.finish()
        return health
    }

    private func passive(_ section: SectionReader, _ passive: inout PassiveHealthSettings) {
        passive.failures = section.count("failures", standard: Sourced(passive.failures), in: 0...1000).value
        passive.statuses = statuses(section, passive.statuses, within: 500...599, mayBeOff: true)
        let failures = context.failures
        passive.ejection = section.time("ejection", standard: Sourced(passive.ejection)).value
        passive.maximumEjection = section.time("max_ejection", standard: Sourced(passive.maximumEjection)).value
        if passive.maximumEjection < passive.ejection, context.failures == failures {
            // It may be one that nobody has written.
            context.report(
                section.position,
                "\"max_ejection\", which is \(Units.describe(passive.maximumEjection)) here, is shorter than \"ejection\""
            )
        }
        section.finish()
    }

    private func active(_ section: SectionReader) -> ActiveHealthSettings? {
        let path = section.required("path", example: "/healthz").flatMap { target($0) }
        var active = ActiveHealthSettings(path: path?.text ?? "/")
        if let path { section.record("path", path.text, .line(path.line)) }
        if let node = section.take("host"), let host = context.text(node, "\"host\"") {
            // A server answers any other with a 400, by which it would be taken out of use.
            if host.utf8.count <= 255, MessageHead.authority(in: host.utf8Span.span) != nil {
                active.host = host
                section.record("host", host, .line(node.position.line))
            } else {
                context.report(
                    node.position, "\"host\" is what a Host field says: a name or an address, as in app.internal:8080")
            }
        }
        active.interval = section.time("interval", standard: Sourced(active.interval)).value
        active.timeout = section.time("timeout", standard: Sourced(active.timeout)).value
        active.fall = section.count("fall", standard: Sourced(active.fall), in: 1...1000).value
        active.rise = section.count("rise", standard: Sourced(active.rise), in: 1...1000).value
        active.statuses = statuses(section, active.statuses, within: 200...599)
        section.finish()
        return active
    }

    private func target(_ node: SettingsNode) -> (text: String, line: Int)? {
        guard let text = context.text(node, "\"path\"") else { return nil }
        guard text.hasPrefix("/"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            context.report(node.position, "\"path\" begins with a slash and has visible ASCII characters only")
            return nil
        }
        return (text, node.position.line)
    }

    /// - Parameter mayBeOff: whether there may be none.
    private func statuses(
        _ section: SectionReader, _ standard: [StatusRange], within range: ClosedRange<Int>, mayBeOff: Bool = false
    ) -> [StatusRange] {
        section.value(
            "status", standard: Sourced(standard),
            describe: { $0.isEmpty ? "off" : $0.map(\.description).joined(separator: ", ") }
        ) { node, what in
            if mayBeOff, context.saysOff(node, what) { return [] }
            guard let elements = context.elements(node, what) else { return nil }
            let read = elements.compactMap { element -> StatusRange? in
                guard let text = context.text(element, what) else { return nil }
                do throws(PatternFault) {
                    let status = try StatusRange(parsing: text)
                    if range.contains(status.range.lowerBound), range.contains(status.range.upperBound) {
                        return status
                    }
                    context.report(element.position, "\(what) is from \(range.lowerBound) to \(range.upperBound)")
                } catch {
                    context.report(element.position, error.reason)
                }
                return nil
            }
            return read.count == elements.count ? read : nil
        }.value
    }
}
