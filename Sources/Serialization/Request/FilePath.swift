internal import Octets
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
        var at = rest.utf8.startIndex
        while at < rest.utf8.endIndex {
            var byte = rest.utf8[at]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return nil }
            if byte == UInt8(ascii: "%") {
                let digits = Array(rest.utf8[rest.utf8.index(after: at)...].prefix(2))
                guard digits.count == 2, let high = ASCII.hexValue(digits[0]), let low = ASCII.hexValue(digits[1])
                else {
                    return nil
                }
                byte = high << 4 | low
                at = rest.utf8.index(at, offsetBy: 2)
            }
            guard byte != 0 else { return nil }
            bytes.append(byte)
            at = rest.utf8.index(after: at)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
