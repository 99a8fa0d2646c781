internal import Transcoding

/// Questions about the text of a file's path.
internal enum FilePath {
    /// What follows the last slash; slashes at the end don't count.
    internal static func lastComponent(of path: String) -> String {
        let trimmed = path.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
        let last = trimmed.prefix { $0 != UInt8(ascii: "/") }
        return String(decoding: last.reversed(), as: UTF8.self)
    }

    /// The path of a `file` URL on this machine (RFC 8089), nil for another URL, another host or an escape that is none.
    internal static func path(ofURL url: String) -> String? {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[..<colon].lowercased() == "file" else {
            return nil
        }
        var rest = url[url.utf8.index(after: colon)...]
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            if rest.hasPrefix("localhost/") { rest = rest.dropFirst("localhost".count) }
        }
        guard rest.hasPrefix("/") else { return nil }
        var bytes: [UInt8] = []
        let text = Array(rest.utf8)
        var at = 0
        while at < text.count {
            var byte = text[at]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return nil }
            if byte == UInt8(ascii: "%") {
                guard let escaped = text.span.percentEscape(at: at) else { return nil }
                byte = escaped
                at += 2
            }
            guard byte != 0 else { return nil }
            bytes.append(byte)
            at += 1
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
