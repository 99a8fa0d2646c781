internal import Gateway
internal import HTTPWire
internal import Octets
internal import Signatures

/// Reads `authorize` of a route: the credentials that let a request in.
struct AuthorizeReader {
    let context: ReadingContext

    /// Takes `authorize` of a route; nil where it isn't there, or is wrong.
    func read(_ route: SectionReader) -> RequestAuthorization? {
        guard let node = route.take("authorize") else {
            route.record("authorize", "off", .standard)
            return nil
        }
        let elements: [SettingsNode]
        switch node.content {
        case .sequence(let nodes) where !nodes.isEmpty: elements = nodes
        case .mapping: elements = [node]
        case _ where node.saysOff:
            route.record("authorize", "off", .line(node.position.line))
            return nil
        default:
            context.report(
                node.position,
                "\"authorize\" is a list of ways in, as - bearer: \"${env:TOKEN}\", - basic: { ada: \"${env:ADA}\" } or "
                    + "- { header: X-Api-Key, keys: [\"${env:KEY}\"] }")
            return nil
        }
        let failures = context.failures
        let ways = elements.compactMap(way)
        guard context.failures == failures, !ways.isEmpty else { return nil }
        route.record("authorize", ways.map(describe).joined(separator: ", "), .line(node.position.line))
        return RequestAuthorization(ways)
    }

    private func describe(_ way: RequestAuthorization.Way) -> String {
        switch way {
        case .bearer(let tokens): "bearer (\(tokens.count))"
        case .basic(let users): "basic (\(users.map(\.name).joined(separator: ", ")))"
        case .key(let field, let keys): "\(field) (\(keys.count))"
        }
    }

    private func way(_ node: SettingsNode) -> RequestAuthorization.Way? {
        guard let section = SectionReader(node, "a way of \"authorize\"", path: "authorize", context) else {
            return nil
        }
        let bearer = section.take("bearer")
        let basic = section.take("basic")
        let header = section.take("header")
        let keys = section.take("keys") ?? section.take("key")
        section.finish()
        switch (bearer, basic, header, keys) {
        case (let tokens?, nil, nil, nil): return self.keys(tokens, "a token of \"bearer\"").map { .bearer($0) }
        case (nil, let users?, nil, nil): return self.users(users).map { .basic($0) }
        case (nil, nil, let header?, let keys?):
            guard let name = context.text(header, "\"header\"") else { return nil }
            guard HeaderName.isValid(name) else {
                context.report(header.position, "\"header\" is the name of a field, not \"\(name)\"")
                return nil
            }
            context.noteCredential(name, of: "authorize", header.position)
            return self.keys(keys, "a key of \"\(name)\"").map { .key(field: name, $0) }
        default:
            context.report(
                node.position, "a way of \"authorize\" has one of \"bearer\", \"basic\", and \"header\" with \"keys\"")
            return nil
        }
    }

    private func keys(_ node: SettingsNode, _ what: String) -> [[UInt8]]? {
        guard let elements = context.elements(node, what) else { return nil }
        return elements.compactMap { element in
            guard let text = secret(element, what) else { return nil }
            guard text.first != " ", text.last != " " else {
                context.report(
                    element.position,
                    "\(what) begins or ends with a space, which no value of a field does (RFC 9110 section 5.5)")
                return nil
            }
            return RequestAuthorization.digest(Array(text.utf8))
        }
    }

    /// A text that is no empty one; a file's last line end is none of it.
    private func secret(_ node: SettingsNode, _ what: String) -> String? {
        guard var text = context.text(node, what) else { return nil }
        if text.hasSuffix("\n") { text.removeLast() }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            context.report(node.position, "\(what) \(text.isEmpty ? "is empty" : "has a control character")")
            return nil
        }
        return text
    }

    private func users(_ node: SettingsNode) -> [RequestAuthorization.User]? {
        guard case .mapping(let members) = node.content, !members.isEmpty else {
            context.report(node.position, "\"basic\" is a mapping of users to passwords, as { ada: \"${env:ADA}\" }")
            return nil
        }
        return members.compactMap { member in
            let what = "the password of \"\(member.key)\""
            guard !member.key.isEmpty, !member.key.contains(":") else {
                context.report(member.position, "a user's name is not empty and has no colon")
                return nil
            }
            guard let text = secret(member.value, what) else { return nil }
            guard text.hasPrefix("{SHA256}") else {
                return .init(name: member.key, password: RequestAuthorization.digest(Array(text.utf8)))
            }
            let written = Array(text.utf8.dropFirst(8))
            let digest =
                written.count == 64
                ? BinaryEncoding.hex.decode(written.span) : BinaryEncoding.base64.decode(written.span)
            guard let digest, digest.count == 32 else {
                context.report(
                    member.value.position, "\(what) is {SHA256} and 64 digits of hex, or the base64 of 32 bytes")
                return nil
            }
            return .init(name: member.key, password: digest)
        }
    }
}
