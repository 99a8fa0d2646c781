internal import Octets

/// Makes the head of a part from its header lines.
///
/// Content-Disposition gives name and filename, Content-Type the media type; Content-Length is dropped (RFC 7578 §4.8);
/// a Content-Transfer-Encoding must be 7bit, 8bit or binary; all others are kept as they came.
internal struct PartHeadReader {
    private var disposition = PartDisposition()

    /// Reads `headers` into `head`. Limit: `limits.key`, for the name.
    mutating func read(
        _ headers: PartHeaders, repair: UTF8Repair?, limits: Limits, into head: inout PartHead
    ) throws(ConversionError) {
        let text = headers.bytes.span
        try readDisposition(headers, repair: repair, limits: limits)
        head.setName(disposition.name.span)
        if disposition.hasFilename { head.setFilename(disposition.filename.span) }
        var hasContentType = false
        for field in headers.fields {
            let value = text.extracting(field.value)
            switch Self.kind(of: text.extracting(field.name)) {
            case .disposition, .contentLength: break
            case .contentType:
                guard !hasContentType else {
                    throw Multipart.Fault.headerRepeated.error(offset: field.offset, field: head.name.lossyString())
                }
                hasContentType = true
                if !value.isEmpty { head.setMediaType(value) }
                if !head.isFile, let fault = Self.fault(ofTextType: value) {
                    throw fault.error(offset: field.offset, field: head.name.lossyString())
                }
            case .transferEncoding:
                guard Self.isIdentity(value) else {
                    throw Multipart.Fault.transferEncoding.error(offset: field.offset, field: head.name.lossyString())
                }
                head.addField(name: text.extracting(field.name), value: value)
            case .other: head.addField(name: text.extracting(field.name), value: value)
            }
        }
    }

    private mutating func readDisposition(
        _ headers: PartHeaders, repair: UTF8Repair?, limits: Limits
    ) throws(ConversionError) {
        let text = headers.bytes.span
        var found: PartHeaders.Field?
        for field in headers.fields where Self.kind(of: text.extracting(field.name)) == .disposition {
            guard found == nil else { throw Multipart.Fault.headerRepeated.error(offset: field.offset) }
            found = field
        }
        guard let found else { throw Multipart.Fault.dispositionMissing.error(offset: headers.offset) }
        do throws(Multipart.Fault) {
            try disposition.read(text.extracting(found.value), repair: repair)
        } catch {
            throw error.error(offset: found.offset)
        }
        guard disposition.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a part's name", offset: found.offset)
        }
    }

    enum Kind {
        case disposition, contentType, contentLength, transferEncoding, other
    }

    static func kind(of name: Span<UInt8>) -> Kind {
        guard name.count > 11, ASCII.lowercased(name[0]) == UInt8(ascii: "c") else { return .other }
        if name.isSameWord(as: "content-disposition") { return .disposition }
        if name.isSameWord(as: "content-type") { return .contentType }
        if name.isSameWord(as: "content-length") { return .contentLength }
        if name.isSameWord(as: "content-transfer-encoding") { return .transferEncoding }
        return .other
    }

    /// Whether a Content-Transfer-Encoding leaves the content as it is (RFC 2045 §6.2).
    static func isIdentity(_ token: Span<UInt8>) -> Bool {
        token.isEqualIgnoringCase(to: "7bit") || token.isEqualIgnoringCase(to: "8bit")
            || token.isEqualIgnoringCase(to: "binary")
    }

    /// What keeps the content of a part without filename from being read as UTF-8; nil for an empty or usual media
    /// type.
    private static func fault(ofTextType value: Span<UInt8>) -> Multipart.Fault? {
        guard !value.isEmpty else { return nil }
        guard let end = ContentType.endOfMediaType(in: value) else { return .partContentType }
        var parameters = HeaderParameters(from: end, grammar: .contentType)
        do {
            while let parameter = try parameters.next(in: value) {
                guard value.extracting(parameter.name).isEqualIgnoringCase(to: "charset") else { continue }
                guard ContentType.isUTF8(value.extracting(parameter.value)) else { return .charset }
            }
        } catch {
            return .partContentType
        }
        return nil
    }
}
