internal import HTTPTypes
internal import Octets
internal import Transcoding

/// A URL taken apart as far as a request needs it (RFC 3986 §3): where it goes, its target, its fragment.
internal struct RequestURL {
    internal var scheme: String?
    internal var authority: String?
    /// The path with the query: `/p?a=1`. `/` where a URL with an authority has no path (RFC 9110 §4.2.3).
    internal var target: String
    internal var fragment: String?

    /// Takes `text` apart. What may not stand in a URL but is what people write, as spaces in the middle, letters beyond ASCII
    /// and a `%` that begins no escape, becomes percent escapes. A control, an empty text, a host or port that is none (§3.2) and
    /// a scheme without a host, `mailto:a`, are refused.
    internal init(_ text: String) throws(SerializationError) {
        guard !text.isEmpty else { throw Self.fault("the URL is empty") }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Self.fault("the URL has a control in it")
        }
        var rest = Substring(text)
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = Self.escaped(rest[rest.utf8.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let scheme = Self.scheme(of: rest) {
            self.scheme = scheme.lowercased()
            rest = rest.dropFirst(scheme.utf8.count + 3)
            let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            let authority = rest[..<end]
            guard !authority.utf8.contains(UInt8(ascii: "@")) else {
                throw Self.fault("a URL of a request carries no user name; use the Authorization field")
            }
            try Self.check(authority: authority)
            self.authority = String(authority)
            rest = rest[end...]
            target = Self.escaped(rest)
            if !target.hasPrefix("/") { target = "/" + target }
        } else {
            // A colon in the first segment would end a scheme (RFC 3986 §4.2).
            let segment = rest.prefix { $0 != "/" && $0 != "?" }
            guard !segment.utf8.contains(UInt8(ascii: ":")) else {
                throw Self.fault("the URL has no // with a host behind its scheme; a path with a colon begins with /")
            }
            target = Self.escaped(rest)
        }
    }

    /// The target that a request's path is, with its query, and what stood behind a `#`, which is never sent: with escapes as above. A
    /// control is refused.
    internal static func target(
        ofPath path: String
    ) throws(SerializationError) -> (target: String, fragment: String?) {
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw fault("the request's path has a control in it")
        }
        guard let mark = path.utf8.firstIndex(of: UInt8(ascii: "#")) else { return (escaped(path), nil) }
        return (escaped(path[..<mark]), escaped(path[path.utf8.index(after: mark)...]))
    }

    /// Throws unless `authority` is a host and, where there is a colon, a port of at most 65,535 or none (RFC 3986 §3.2.2 and
    /// §3.2.3).
    private static func check(authority: Substring) throws(SerializationError) {
        var port = authority[authority.endIndex...]
        if authority.utf8.first == UInt8(ascii: "[") {
            guard let end = authority.utf8.firstIndex(of: UInt8(ascii: "]")),
                isAddress(authority[..<end].dropFirst())
            else { throw fault("the URL's host is no IPv6 address in its brackets") }
            port = authority[authority.utf8.index(after: end)...]
        } else {
            let end = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            guard end > authority.startIndex, isName(authority[..<end]) else {
                throw fault("the URL's host can't be read; write names beyond ASCII in their xn-- form")
            }
            port = authority[end...]
        }
        guard !port.isEmpty else { return }
        let digits = port.dropFirst()
        guard port.utf8.first == UInt8(ascii: ":"), digits.utf8.allSatisfy(ASCII.isDigit),
            digits.isEmpty || UInt16(digits) != nil
        else { throw fault("the URL's port is no number up to 65535") }
    }

    /// Whether a text is what may stand between brackets: an IPv6 address, or one of a later version (RFC 3986 §3.2.2).
    private static func isAddress(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, ASCII.lowercased(first) == UInt8(ascii: "v") else {
            return isIPv6(text)
        }
        let parts = text.dropFirst().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 && !parts[0].isEmpty && parts[0].utf8.allSatisfy { ASCII.hexValue($0) != nil }
            && !parts[1].isEmpty && parts[1].utf8.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: ":") }
    }

    /// Whether a text is an IPv6 address (RFC 4291 §2.2): eight groups, or fewer around one `::`.
    private static func isIPv6(_ text: Substring) -> Bool {
        guard let gap = text.firstRange(of: "::") else { return groups(of: text, isEnd: true) == 8 }
        guard let before = groups(of: text[..<gap.lowerBound], isEnd: false),
            let after = groups(of: text[gap.upperBound...], isEnd: true)
        else { return false }
        return before + after < 8
    }

    /// How many groups of up to four digits there are, where an IPv4 address at the end of all stands for two; nil for anything else.
    private static func groups(of text: Substring, isEnd: Bool) -> Int? {
        guard !text.isEmpty else { return 0 }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var count = parts.count
        for (index, part) in parts.enumerated() {
            if isEnd, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard isIPv4(part) else { return nil }
                count += 1
            } else if !(1...4).contains(part.utf8.count) || !part.utf8.allSatisfy({ ASCII.hexValue($0) != nil }) {
                return nil
            }
        }
        return count
    }

    private static func isIPv4(_ text: Substring) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { $0.utf8.count <= 3 && $0.utf8.allSatisfy(ASCII.isDigit) && UInt8($0) != nil }
    }

    /// Whether a text is a registered name, which an IPv4 address is, too: letters, digits and a few marks, and escapes.
    private static func isName(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.allSatisfy { isNameByte(bytes[$0]) || bytes.span.percentEscape(at: $0) != nil }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || Array("-._~!$&'()*+,;=".utf8).contains(byte)
    }

    /// The scheme of `scheme://…`.
    private static func scheme(of text: Substring) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        guard let first = scheme.utf8.first, ASCII.isAlpha(first), text[colon...].hasPrefix("://"),
            scheme.utf8.allSatisfy({
                ASCII.isAlpha($0) || ASCII.isDigit($0)
                    || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains($0)
            })
        else { return nil }
        return String(scheme)
    }

    private static func fault(_ reason: String) -> SerializationError {
        SerializationError(.invalidURL, reason: reason)
    }

    /// What RFC 3986 lets stand nowhere in a path, a query or a fragment.
    private static let refused = ByteSet { byte in
        byte <= 0x20 || byte >= 0x7F || Array("\"<>[]\\^`{|}".utf8).contains(byte)
    }

    /// The text with escapes for what stands nowhere in a URL, and `%25` for a `%` that begins none.
    internal static func escaped(_ text: some StringProtocol) -> String {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        for (index, byte) in source.enumerated() {
            if refused.contains(byte) || byte == UInt8(ascii: "%") && source.span.percentEscape(at: index) == nil {
                bytes += [UInt8(ascii: "%"), ASCII.upperHexDigit(byte >> 4), ASCII.upperHexDigit(byte & 15)]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `target` with `query` behind what query it has, and in front of a fragment where one was left in it.
    ///
    /// - Parameter keepsEmpty: whether the `&` is written after an empty query too, `/p?&b=2`, as AFNetworking does.
    internal static func appending(_ query: String, to target: String, keepsEmpty: Bool) -> String {
        guard !query.isEmpty else { return target }
        let end = target.utf8.firstIndex(of: UInt8(ascii: "#")) ?? target.endIndex
        var text = String(target[..<end])
        if let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) {
            let isEmpty = text.utf8.index(after: mark) == text.endIndex
            if keepsEmpty || !isEmpty && text.utf8.last != UInt8(ascii: "&") { text += "&" }
        } else {
            text += "?"
        }
        return text + query + target[end...]
    }
}
