internal import Octets

extension ConversionPlan {
    /// The input encoding for a body of that Content-Type.
    ///
    /// The type decides among `inputs`, never the body. Where a single encoding other than multipart is declared, a body
    /// without a Content-Type is taken as that. `application/json`, `text/json` and what ends in `+json` (RFC 6839 §3.1) are
    /// JSON; `application/xml`, `text/xml` and what ends in `+xml` (RFC 7303 §8.1) are XML. Throws 415:
    /// `unsupported_media_type`, and `unsupported_charset` for a charset other than UTF-8 and its subset US-ASCII, or in
    /// forms and multipart bodies other than `fieldDecoding.charsets`.
    public func inputEncoding(for contentType: Span<UInt8>) throws(ConversionError) -> BodyEncoding {
        guard let type = MediaTypeText(contentType) else {
            if contentType.isEmpty, inputs.count == 1, let only = inputs.first, only != .multipart { return only }
            if contentType.isEmpty, inputs.contains(.raw) { return .raw }
            throw Self.unsupported(
                contentType.isEmpty ? "the body has no Content-Type" : "the Content-Type can't be read")
        }
        if inputs.contains(.raw), type.encoding.map({ !inputs.contains(declared($0)) }) ?? true { return .raw }
        guard let encoding = type.encoding.map(declared), inputs.contains(encoding) else {
            throw Self.unsupported("the body's type is none of \(inputs.map(\.mediaType).joined(separator: ", "))")
        }
        guard type.isUTF8 || encoding.isFlat && type.hasCharset(of: fieldDecoding.charsets) else {
            throw ConversionError(
                .unsupported, code: "unsupported_charset", reason: Self.charsetReason(fieldDecoding.charsets))
        }
        return encoding
    }

    private static func charsetReason(_ charsets: [Charset]) -> String {
        if charsets.isEmpty { return "the body's charset must be utf-8" }
        return "the body's charset is none of utf-8, \(charsets.map(\.name).joined(separator: ", "))"
    }

    /// The encoding that is declared for a type which several share: binary property lists have the type of those in XML,
    /// which also come as XML where no other XML is expected.
    private func declared(_ encoding: BodyEncoding) -> BodyEncoding {
        if encoding == .plist, inputs.contains(.bplist), !inputs.contains(.plist) { return .bplist }
        if encoding == .xml, inputs.contains(.plist), !inputs.contains(.xml) { return .plist }
        return encoding
    }

    internal static func unsupported(_ reason: String) -> ConversionError {
        ConversionError(.unsupported, code: "unsupported_media_type", reason: reason)
    }
}

extension ContentType {
    /// Whether a media type is one of JSON.
    internal static func isJSON(_ value: Span<UInt8>) -> Bool { MediaTypeText(value)?.encoding == .json }
}

extension Charset {
    /// The charset that a Content-Type names.
    internal static func named(in contentType: Span<UInt8>) -> Charset? { MediaTypeText(contentType)?.charset }
}

/// What a Content-Type says: the encoding and whether the charset is one that can be read.
private struct MediaTypeText {
    var encoding: BodyEncoding?
    var isUTF8 = true
    /// The charset that is named, where there is one of that name.
    var charset: Charset?
    private var charsetCount = 0

    /// Nil when `value` isn't `type "/" subtype` with parameters as RFC 9110 §8.3.1 and §5.6.6 have them.
    init?(_ value: Span<UInt8>) {
        var at = 0
        func skipSpace() {
            while at < value.count, value[at] == ASCII.space || value[at] == ASCII.tab { at += 1 }
        }
        func token() -> Range<Int>? {
            let start = at
            while at < value.count, ASCII.isToken(value[at]) { at += 1 }
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
            isUTF8 =
                isUTF8
                && (charset.isEqualIgnoringCase(to: "utf-8") || charset.isEqualIgnoringCase(to: "utf8")
                    || charset.isEqualIgnoringCase(to: "us-ascii"))
            self.charset = isUTF8 ? .utf8 : Charset(label: charset)
        }
    }

    /// Whether one charset is named, of those.
    func hasCharset(of charsets: [Charset]) -> Bool {
        guard charsetCount == 1, let charset else { return false }
        return charsets.contains(charset)
    }
}
