internal import Octets

extension ContentType {
    /// Whether a media type is one of JSON.
    internal static func isJSON(_ value: Span<UInt8>) -> Bool { MediaTypeText(value)?.encoding == .json }

    /// Whether the media type of a Content-Type is one of text, `text/…`.
    internal static func isText(_ value: Span<UInt8>) -> Bool {
        guard let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: value) else { return false }
        return value.extracting(0..<slash).isEqualIgnoringCase(to: "text")
    }

    /// Whether the media type of a Content-Type is `type`, in lower case, whatever parameters stand behind it.
    package static func isType(_ value: Span<UInt8>, _ type: StaticString) -> Bool {
        let value = value.withoutBlanks
        guard let end = endOfMediaType(in: value), value.extracting(0..<end).isEqualIgnoringCase(to: type) else {
            return false
        }
        return end == value.count || value[end] == UInt8(ascii: ";") || value[end] == ASCII.space
            || value[end] == ASCII.tab
    }
}

extension Charset {
    /// The charset that a Content-Type names.
    internal static func named(in contentType: Span<UInt8>) -> Charset? { MediaTypeText(contentType)?.charset }
}

/// What a Content-Type says: the encoding and whether the charset is one that can be read.
package struct MediaTypeText {
    var encoding: BodyEncoding?
    var isUTF8 = true
    /// The charset that is named, where there is one of that name.
    var charset: Charset?
    private var charsetCount = 0

    /// Nil when `value` isn't `type "/" subtype` with parameters as RFC 9110 §8.3.1 and §5.6.6 have them.
    init?(_ value: Span<UInt8>) {
        var at = 0
        func skipSpace() { at = Scan.endOfBlanks(in: value, from: at) }
        func token() -> Range<Int>? {
            let start = at
            at = Scan.endOfToken(in: value, from: at)
            return at > start ? start..<at : nil
        }
        skipSpace()
        guard let type = token(), at < value.count, value[at] == UInt8(ascii: "/") else { return nil }
        at += 1
        guard let subtype = token() else { return nil }
        encoding = BodyEncoding(type: value.extracting(type), subtype: value.extracting(subtype))
        while true {
            skipSpace()
            guard at < value.count else { return }
            guard value[at] == UInt8(ascii: ";") else { return nil }
            at += 1
            skipSpace()
            guard at < value.count, value[at] != UInt8(ascii: ";") else { continue }
            // A boundary is read again, by its own rules; here only its end matters.
            guard let name = token(), at < value.count, value[at] == UInt8(ascii: "=") else { return nil }
            at += 1
            var range = at..<at
            if at < value.count, value[at] == UInt8(ascii: "\"") {
                at += 1
                let start = at
                while at < value.count, value[at] != UInt8(ascii: "\"") {
                    at += value[at] == UInt8(ascii: "\\") ? 2 : 1
                }
                guard at < value.count else { return nil }
                range = start..<at
                at += 1
            } else {
                let start = at
                while at < value.count, value[at] != UInt8(ascii: ";") { at += 1 }
                var end = at
                while end > start, value[end - 1] == ASCII.space || value[end - 1] == ASCII.tab { end -= 1 }
                range = start..<end
            }
            guard value.extracting(name).isEqualIgnoringCase(to: "charset") else { continue }
            let charset = value.extracting(range)
            charsetCount += 1
            isUTF8 = isUTF8 && ContentType.isUTF8(charset)
            self.charset = isUTF8 ? .utf8 : Charset(label: charset)
        }
    }

    /// Whether one charset is named, of those.
    func hasCharset(of charsets: [Charset]) -> Bool {
        guard charsetCount == 1, let charset else { return false }
        return charsets.contains(charset)
    }
}
