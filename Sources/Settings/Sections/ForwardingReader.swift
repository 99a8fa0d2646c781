internal import Gateway
internal import HTTPWire
internal import Octets
internal import Proxy

/// Reads what a route says of heads, in the route or in "defaults".
struct ForwardingReader {
    let context: ReadingContext

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout ForwardingOptions) {
        options.host = host(section, options.host)
        section.word("forwarded", into: &options.forwarded)
        options.realIP = section.bool("real_ip", standard: options.realIP)
        section.word("underscores", into: &options.underscores)
        options.requiresLength = section.bool("require_length", standard: options.requiresLength)
        section.word("expect_continue", into: &options.expectContinue)
        section.word("no_transform", into: &options.noTransform)
        section.word("half_close", into: &options.halfClose)
        section.word("addresses", into: &options.addresses)
        options.trailers = trailers(section, options.trailers)
        options.upgrade = upgrade(section, options.upgrade)
    }

    /// `preserve`, `upstream`, or a host and an optional port.
    private func host(_ section: SectionReader, _ standard: HostRule) -> HostRule {
        section.value("host", standard: Sourced(standard), describe: Self.describe) { node, what in
            let forms = "preserve, upstream, or a host as in api.example"
            guard let text = context.name(node, what, instead: forms) else { return nil }
            switch text {
            case "preserve": return .preserve
            case "upstream": return .upstream
            default:
                if let host = Self.hostField(text) { return .fixed(host) }
                context.report(
                    node.position,
                    "\(what) is \(forms) or api.example:8080, not \"\(text)\"")
                return nil
            }
        }.value
    }

    private static func describe(_ rule: HostRule) -> String {
        switch rule {
        case .preserve: "preserve"
        case .upstream: "upstream"
        case .fixed(let host): host
        }
    }

    /// The text as a Host field says it, read by what reads the clients' Host fields; nil when it is none.
    private static func hostField(_ text: String) -> String? {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        var head = MessageHead()
        var parser = RequestParser()
        let request = Array("GET / HTTP/1.1\r\nHost: \(text)\r\n\r\n".utf8)
        do throws(WireError) {
            guard try parser.parse(request.span, into: &head) == request.count else { return nil }
            return head.authority.lossyString()
        } catch {
            return nil
        }
    }

    private func trailers(_ section: SectionReader, _ standard: [String]) -> [String] {
        section.value("trailers", standard: Sourced(standard), describe: Self.list) { node, what in
            words(node, what, read: trailer)
        }.value
    }

    private func upgrade(_ section: SectionReader, _ standard: [String]?) -> [String]? {
        let effective = standard ?? ForwardingOptions.standardUpgrades
        let value = section.value("upgrade", standard: Sourced(effective), describe: Self.list) { node, what in
            words(node, what, read: `protocol`)
        }
        return value.origin == .standard ? standard : value.value
    }

    /// A list of words, or `off` for none.
    private func words(
        _ node: SettingsNode, _ what: String, read: (String, SettingsNode.Position) -> String?
    ) -> [String]? {
        if context.saysOff(node, what) { return [] }
        guard let elements = context.elements(node, what) else { return nil }
        var words: [String] = []
        for element in elements {
            guard let text = context.name(element, what, instead: "off or names"),
                let word = isNoPattern(text, element, what) ? read(text, element.position) : nil
            else { continue }
            words.append(word)
        }
        return words
    }

    /// A star is a sign that names may have, but nobody who writes one means it so.
    private func isNoPattern(_ text: String, _ node: SettingsNode, _ what: String) -> Bool {
        guard text.contains("*") else { return true }
        context.report(
            node.position, "\(what) takes no \"\(text)\": a star stands for nothing here, so write each name")
        return false
    }

    private func trailer(_ text: String, _ position: SettingsNode.Position) -> String? {
        let name = text.lowercased()
        guard let fault = TrailerName.fault(name) else { return name }
        context.report(position, "\"\(text)\" \(fault)")
        return nil
    }

    /// `name` or `name/version` (RFC 9110 §7.8).
    private func `protocol`(_ text: String, _ position: SettingsNode.Position) -> String? {
        let name = text.lowercased()
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if name == "h2c" {
            context.report(
                position, "\"h2c\" is never passed on: an upstream's \"http\" says by which version it is spoken to")
        } else if parts.count > 2 || !parts.allSatisfy(HeaderName.isValid) {
            context.report(position, "\"\(text)\" is no protocol, as websocket is one")
        } else {
            return name
        }
        return nil
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "off" : words.joined(separator: ", ")
    }
}

/// The names of trailer fields that may pass (RFC 9110 §6.5.1).
enum TrailerName {
    /// Why no trailer field of this name, in lower case, may pass; nil: it may.
    static func fault(_ name: String) -> String? {
        guard HeaderName.isValid(name), name.utf8.count <= WireLimits.fieldName else { return "is no name of a field" }
        if name.contains("_") { return "holds _, which servers read as -: no such trailer passes" }
        let bytes = Array(name.utf8)
        switch KnownField.find(bytes.span) {
        case .other: break
        case .contentDigest, .reprDigest, .digest, .etag: return nil
        default: return never
        }
        return others.contains(name) ? never : nil
    }

    private static let never =
        "is a field that frames, routes, authenticates or describes a message: no trailer may be one"

    /// Fields that act on a message and that the data path doesn't know.
    private static let others: Set<String> = [
        "age", "authentication-info", "content-language", "content-security-policy", "expires", "if-modified-since",
        "if-unmodified-since", "link", "pragma", "proxy-status", "refresh", "strict-transport-security", "cdn-loop",
    ]
}
