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
        case _ where context.saysOff(node, "\"authorize\""):
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

    /// The digests of tokens or keys.
    private func keys(_ node: SettingsNode, _ what: String) -> [[UInt8]]? {
        context.elements(node, what)?.compactMap { digest($0, what, isField: true) }
    }

    /// The digest of a secret, which is written as it is, or as `{SHA256}` and its digest.
    ///
    /// - Parameter isField: whether it is the value of a field, which has no blanks at its ends; a password may have some.
    private func digest(_ node: SettingsNode, _ what: String, isField: Bool = false) -> [UInt8]? {
        guard let written = context.text(node, what) else { return nil }
        let text = SecretText.alone(written)
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            context.report(node.position, "\(what) \(text.isEmpty ? "is empty" : "has a control character")")
            return nil
        }
        guard !SecretText.hasBlankEnd(text) else {
            let reason =
                isField
                ? "begins or ends with white space, which no value of a field does (RFC 9110 section 5.5)"
                : "\(SecretText.blankEnd): remove that; where it is the password's own, write {SHA256} and its digest"
            context.report(node.position, "\(what) \(reason)")
            return nil
        }
        let plain = RequestAuthorization.digest(Array(text.utf8))
        // What a placeholder stands for isn't known.
        if context.isUnresolved(node) { return plain }
        switch HashedSecret(text) {
        case .plain:
            context.noteSecret(what, bytes: text.utf8.count, node)
            return plain
        case .digest(let digest): return digest
        case .malformed:
            context.report(node.position, "\(what) is {SHA256} and 64 digits of hex, or the base64 of 32 bytes")
        case .foreign(let form):
            context.report(
                node.position,
                "\(what) is a hash of the form \(form), which isn't read: write the secret itself, or {SHA256} and its "
                    + "SHA-256 in hex or base64; a secret that only looks so is written in the latter way")
        }
        return nil
    }

    private func users(_ node: SettingsNode) -> [RequestAuthorization.User]? {
        guard case .mapping(let members) = node.content, !members.isEmpty else {
            context.report(node.position, "\"basic\" is a mapping of users to passwords, as { ada: \"${env:ADA}\" }")
            return nil
        }
        func named(_ names: [String]) -> SettingsNode.Member? {
            members.first { member in names.contains(member.key.lowercased().filter { $0 != "_" && $0 != "-" }) }
        }
        // As other programs write one user: here that would be two, and the user's name a password.
        if let user = named(["user", "username", "userid", "name", "login", "id"]),
            let password = named(["password", "passwd", "pass", "pwd", "passphrase", "secret"])
        {
            context.report(
                user.position,
                "\"basic\" is a mapping of users to passwords, so that these are two users, \"\(user.key)\" and "
                    + "\"\(password.key)\": write the user's name in front of the password, "
                    + "as basic: { ada: \"${env:ADA}\" }")
            return nil
        }
        return members.compactMap { member in
            guard !member.key.isEmpty, !member.key.contains(":") else {
                context.report(member.position, "a user's name is not empty and has no colon")
                return nil
            }
            let password = digest(member.value, "the password of \"\(member.key)\"")
            return password.map { .init(name: member.key, password: $0) }
        }
    }
}

/// How a secret of `authorize` is written: as it is, or hashed.
private enum HashedSecret {
    case plain
    /// SHA-256 of it: 32 bytes.
    case digest([UInt8])
    /// `{SHA256}`, and no digest behind it.
    case malformed
    /// As other programs hash passwords, by the mark in front of it: `{SSHA}` (RFC 2307), `$2y$` (crypt).
    case foreign(String)

    init(_ text: String) {
        if text.hasPrefix("{"), let end = text.firstIndex(of: "}") {
            let scheme = text[text.index(after: text.startIndex)..<end].lowercased()
            let rest = Array(text[end...].utf8.dropFirst())
            guard scheme != "sha256" else {
                let digest =
                    rest.count == 64 ? BinaryEncoding.hex.decode(rest.span) : BinaryEncoding.base64.decode(rest.span)
                self = if let digest, digest.count == 32 { .digest(digest) } else { .malformed }
                return
            }
            // Their lengths and how they are written stand behind the names: {SSHA512.b64}, {PBKDF2-SHA256}.
            let name = scheme.prefix { $0 != "." }.filter { $0.isLetter && $0.isASCII }
            self = Self.schemes.contains(name) ? .foreign("{\(scheme.uppercased())}") : .plain
            return
        }
        self = .plain
        guard text.hasPrefix("$"), text.utf8.count >= Self.shortestCrypt else { return }
        let id = text.dropFirst().prefix { $0 != "$" }
        if text.dropFirst(1 + id.count).hasPrefix("$"), Self.identifiers.contains(id.lowercased()) {
            self = .foreign("$\(id)$")
        }
    }

    /// Letters of the names of schemes, as LDAP servers, Dovecot and htpasswd write them.
    private static let schemes: Set<String> = [
        "sha", "ssha", "md", "smd", "crypt", "shacrypt", "mdcrypt", "descrypt", "blfcrypt", "bcrypt", "argon", "argoni",
        "argonid", "pbkdf", "pbkdfsha", "scrypt", "scramsha", "crammd", "digestmd", "plainmd", "ldapmd", "lanman",
        "ntlm", "plain", "cleartext",
    ]

    /// What stands between the first dollars of crypt(3) and its like.
    private static let identifiers: Set<String> = [
        "1", "2", "2a", "2b", "2x", "2y", "3", "5", "6", "7", "y", "gy", "sm3", "md5", "sha1", "apr1", "argon2i",
        "argon2d", "argon2id", "scrypt", "pbkdf2", "pbkdf2-sha1", "pbkdf2-sha256", "pbkdf2-sha512", "bcrypt-sha256",
        "p", "h", "s",
    ]

    /// Bytes of the shortest text that crypt(3) writes with a mark: 20, below which such a text is a password with dollars.
    private static let shortestCrypt = 20
}
