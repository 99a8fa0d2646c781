internal import Proxy

/// Reads `upstreams`.
struct UpstreamReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// The upstreams that could be read; the names of all that are there, to check the routes against.
    func read(_ node: SettingsNode) -> (upstreams: [UpstreamSettings], names: [String]) {
        guard let section = SectionReader(node, "\"upstreams\"", context) else { return ([], []) }
        var upstreams: [UpstreamSettings] = []
        var names: [String] = []
        for member in section.remaining {
            let name = member.key
            if !SettingsName.isValid(name) {
                context.report(member.position, "the upstream's name \"\(name)\" \(SettingsName.rule)")
            }
            // One that can't be read keeps its place, so that the routes' numbers are right.
            names.append(name)
            upstreams.append(upstream(member) ?? UpstreamSettings(name: name, addresses: []))
        }
        if names.isEmpty {
            context.report(node.position, "\"upstreams\" is empty: name one, as in app: 127.0.0.1:3000")
        }
        return (upstreams, names)
    }

    private func upstream(_ member: SettingsNode.Member) -> UpstreamSettings? {
        let what = "the upstream \"\(member.key)\""
        let path = "upstreams.\(member.key)"
        let short: Bool
        if case .mapping = member.value.content { short = false } else { short = true }
        let optional =
            short ? .absent(what, path: path, context) : SectionReader(member.value, what, path: path, context)
        guard let section = optional else { return nil }
        var addresses: [UpstreamAddress] = []
        if let node = short ? member.value : section.required("address", example: "127.0.0.1:3000") {
            addresses = self.addresses(node, what)
            section.record(
                "address", addresses.map(\.description).joined(separator: ", "), .line(node.position.line))
        }
        var upstream = UpstreamSettings(name: member.key, addresses: addresses)
        let hasName = addresses.allSatisfy { if case .unix = $0 { false } else { true } }
        upstream.tls = UpstreamTLSReader(context).read(section, hasName: hasName)
        upstream.idle = section.time("idle", standard: Sourced(upstream.idle)).value
        upstream.connect = section.time("connect", standard: Sourced(upstream.connect)).value
        let maxIdle = Sourced(upstream.maxIdlePerLoop)
        upstream.maxIdlePerLoop = section.count("max_idle", standard: maxIdle, in: 0...65535).value
        UpstreamFramingReader(context).read(section, into: &upstream)
        section.notYet("max_connections", "health", "balance")
        section.finish()
        return upstream
    }

    private func addresses(_ node: SettingsNode, _ what: String) -> [UpstreamAddress] {
        guard let elements = context.elements(node, "the address of \(what)") else { return [] }
        if elements.count > 1 {
            context.report(elements[1].position, "\(what) has several addresses, which is not available yet: name one")
        }
        return elements.compactMap { element -> UpstreamAddress? in
            guard let text = context.text(element, "the address of \(what)") else { return nil }
            do throws(AddressFault) {
                return try AddressText.upstream(text)
            } catch {
                context.report(element.position, error.reason)
                return nil
            }
        }
    }
}

/// The names of routes and upstreams, which stand in logs and metrics.
enum SettingsName {
    static let rule = "has 1 to 64 letters, digits and the characters - _ . only"

    static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_.".unicodeScalars.contains($0))
            }
    }
}
