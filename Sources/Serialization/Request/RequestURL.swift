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

    /// Takes `text` apart. What may not stand in a URL but is what people write, as spaces in the middle and letters beyond
    /// ASCII, becomes percent escapes; a control, an empty text and an empty host are refused.
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
            guard !authority.isEmpty, authority.utf8.allSatisfy(Self.isAuthority) else {
                throw Self.fault("the URL's host can't be read; write names beyond ASCII in their xn-- form")
            }
            guard !authority.utf8.contains(UInt8(ascii: "@")) else {
                throw Self.fault("a URL of a request carries no user name; use the Authorization field")
            }
            self.authority = String(authority)
            rest = rest[end...]
            target = Self.escaped(rest)
            if !target.hasPrefix("/") { target = "/" + target }
        } else {
            target = Self.escaped(rest)
        }
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

    private static func isAuthority(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !refused.contains(byte) || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
    }

    /// What RFC 3986 lets stand nowhere in a path, a query or a fragment.
    private static let refused = ByteSet { byte in
        byte <= 0x20 || byte >= 0x7F || Array("\"<>[]\\^`{|}".utf8).contains(byte)
    }

    private static func escaped(_ text: Substring) -> String {
        guard text.utf8.contains(where: refused.contains) else { return String(text) }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if refused.contains(byte) {
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
