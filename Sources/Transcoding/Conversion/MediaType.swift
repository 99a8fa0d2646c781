internal import Octets

extension ConversionPlan {
    /// The input encoding for a body of that Content-Type.
    ///
    /// The type decides among `inputs`, never the body. Where a single encoding other than multipart is declared, a body
    /// without a Content-Type is taken as that. `application/json`, `text/json` and what ends in `+json` (RFC 6839 §3.1) are
    /// JSON; `application/xml`, `text/xml` and what ends in `+xml` (RFC 7303 §8.1) are XML; `acceptedTypes` are the only encoding,
    /// where no declared one has that type. Throws 415:
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
        let own = type.encoding.map(declared)
        let accepted = own.map(inputs.contains) ?? false ? own : encoding(ofAccepted: contentType)
        guard let encoding = accepted else {
            throw Self.unsupported("the body's type is none of \(takenTypes.joined(separator: ", "))")
        }
        guard type.isUTF8 || encoding.isFlat && type.hasCharset(of: fieldDecoding.charsets) else {
            throw ConversionError(
                .unsupported, code: "unsupported_charset", reason: Self.charsetReason(fieldDecoding.charsets))
        }
        return encoding
    }

    /// The media types of bodies that are taken.
    package var takenTypes: [String] { inputs.map(\.mediaType) + acceptedTypes.map(\.text) }

    /// The encoding of a type that is called by another name than its own.
    private func encoding(ofAccepted contentType: Span<UInt8>) -> BodyEncoding? {
        for pattern in acceptedTypes where pattern.matches(contentType) { return inputs.first }
        return nil
    }

    private static func charsetReason(_ charsets: [Charset]) -> String {
        if charsets.isEmpty { return "the body's charset must be utf-8" }
        let others = charsets.map(\.name).filter { $0 != "utf-8" }
        return others.isEmpty
            ? "the body's charset must be utf-8"
            : "the body's charset is none of utf-8, \(others.joined(separator: ", "))"
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

extension ConversionError {
    /// Whether the type is one that is taken, and its charset isn't.
    package var isOfCharset: Bool { kind == .unsupported && code == "unsupported_charset" }
}
