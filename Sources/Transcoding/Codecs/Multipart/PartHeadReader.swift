internal import Octets

/// Makes the head of a part from its header lines.
///
/// Content-Disposition gives name and filename, and of other parameters no more than their names; Content-Type the media type;
/// Content-Length is dropped (RFC 7578 §4.8);
/// a Content-Transfer-Encoding must be 7bit, 8bit or binary, or one that is decoded; all others are kept as they came.
internal struct PartHeadReader {
    private var disposition = PartDisposition()
    /// Whether text in another charset than UTF-8 passes, as bytes that are not read.
    var passesCharsets = false
    var decodesTransfer = false
    var mixed = MixedPolicy.opaque
    var filenames = FilenamePolicy.keep
    /// The types of which a part is a file, with a filename or without.
    var fileTypes: [MediaPattern] = []
    /// Whether such a file goes on without a filename. Where names are spelled anew it has one, since servers take a part without one
    /// for a field, and may number these with it, while files are numbered apart here.
    var passesUnnamed = false
    /// Reads names in another charset than UTF-8.
    var transcoder: Transcoder?
    /// Whether the part read last is such a text.
    private(set) var isOpaqueText = false
    /// The charset that the part read last names, where it is text that is read.
    private(set) var charset: Charset?
    private(set) var transfer = TransferDecoder.Encoding.identity
    /// Whether nothing was said of how the content of the part read last is to be read.
    private(set) var isPlain = true
    /// Whether the part read last is a multipart/mixed body whose parts are wanted.
    private(set) var isMixed = false
    /// The name of the part that the parts at hand stand in; each of them is a file then.
    var outerName: ByteStore?
    private var mediaType = ByteStore()
    /// How names were spelled that could have been spelled in another way.
    private var names = WrittenNames()
    /// How names and filenames are read.
    var quoting: NameQuoting {
        get { disposition.quoting }
        set { disposition.quoting = newValue }
    }

    /// Forgets the names of the body before.
    mutating func forgetNames() { names.removeAll() }

    /// Reads `headers` into `head`. Limit: `limits.key`, for the name.
    mutating func read(
        _ headers: PartHeaders, repair: UTF8Repair?, limits: Limits, into head: inout PartHead
    ) throws(ConversionError) {
        let text = headers.bytes.span
        begin()
        try readDisposition(headers, repair: repair, limits: limits)
        if let outerName {
            head.setName(outerName.span)
            head.isFile = true
        } else {
            try setName(of: &head, headers, limits: limits)
        }
        if disposition.hasFilename { head.setFilename(disposition.filename.span) }
        head.isNameEscaped = disposition.isNameEscaped
        head.isFilenameEscaped = disposition.isFilenameEscaped
        head.isFilenamePlain = disposition.isFilenamePlain
        if !disposition.others.isEmpty { head.setLostParameters(disposition.others.span) }
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
                if !head.isFile, isFileType(value) { (head.isFile, head.isUnnamed) = (true, passesUnnamed) }
                guard !head.isFile else { continue }
                do throws(Multipart.Fault) {
                    try readTextType(value, of: &head)
                } catch {
                    throw error.error(offset: field.offset, field: head.name.lossyString())
                }
            case .transferEncoding:
                guard let encoding = TransferDecoder.Encoding(value), encoding == .identity || decodesTransfer else {
                    throw Multipart.Fault.transferEncoding.error(offset: field.offset, field: head.name.lossyString())
                }
                transfer = encoding
                if encoding != .identity { isPlain = false }
                if encoding == .identity { head.addField(name: text.extracting(field.name), value: value) }
            case .other: head.addField(name: text.extracting(field.name), value: value)
            }
        }
        head.isUntyped = head.isFile && !head.hasMediaType
    }

    /// Gives the head its name, which for an empty one may be another.
    private func setName(
        of head: inout PartHead, _ headers: PartHeaders, limits: Limits
    ) throws(ConversionError) {
        guard disposition.name.isEmpty, quoting.emptyName != .kept else { return head.setName(disposition.name.span) }
        guard quoting.emptyName == .replaced else {
            throw Multipart.Fault.nameMissing.error(offset: headers.offset)
        }
        var name = ByteStore()
        let text = headers.bytes.span
        if disposition.lacksName {
            // Rack asks for this one alone where there is no name, not where it is empty.
            for field in headers.fields where text.extracting(field.name).isEqualIgnoringCase(to: "content-id") {
                if name.isEmpty { name.append(contentsOf: text.extracting(field.value)) }
            }
        }
        if !name.isEmpty {
            // It is the name.
        } else if disposition.hasFilename {
            let filename = disposition.filename.span
            name.append(contentsOf: FilenamePolicy.lastPart(of: filename))
            // Rack takes folders alone for no filename, and the file for a text.
            guard !name.isEmpty || filename.isEmpty else {
                throw Multipart.Fault.nameMissing.error(offset: headers.offset)
            }
        } else {
            var isTyped = false
            for field in headers.fields where Self.kind(of: text.extracting(field.name)) == .contentType {
                if !isTyped { name.append(contentsOf: text.extracting(field.value)) }
                isTyped = true
            }
            name.append(isTyped ? "[]" : "text/plain[]")
        }
        guard UTF8Validator.isValid(name.span) else {
            throw Multipart.Fault.invalidUTF8.error(offset: headers.offset)
        }
        guard name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a part's name", offset: headers.offset)
        }
        head.setName(name.span)
    }

    private mutating func begin() {
        isOpaqueText = false
        guard !isPlain else { return }
        charset = nil
        transfer = .identity
        isMixed = false
        isPlain = true
    }

    /// What browsers and most libraries write before the name of a field.
    private static let usualStart = Array("Content-Disposition: form-data; name=\"".utf8)

    /// Reads headers that begin at `start` where they are those of most fields, letter by letter: a Content-Disposition with a
    /// name in ASCII that has nothing to decode, and the empty line. Returns where they end; nil, with nothing done, for any
    /// other headers and where not all of them lie here: then `PartHeaders` and `read` are the way.
    mutating func readUsual(
        _ input: Span<UInt8>, from start: Int, limits: Limits, into head: inout PartHead
    ) -> Int? {
        guard outerName == nil, transcoder == nil, limits.partHeaders > 0,
            input.count - start > Self.usualStart.count,
            input.extracting(start..<start + Self.usualStart.count).isEqual(to: Self.usualStart.span)
        else { return nil }
        let nameStart = start + Self.usualStart.count
        let run = Scan.textRun(in: input, from: nameStart)
        let end = run.end
        guard run.isASCII, end + 5 <= input.count, input[end] == UInt8(ascii: "\""),
            input.extracting((end + 1)..<(end + 5)).isEqual(to: "\r\n\r\n")
        else { return nil }
        let name = input.extracting(nameStart..<end)
        guard !name.isEmpty || quoting.emptyName == .kept else { return nil }
        let length = end + 1 - start
        guard name.count <= limits.key, length <= min(limits.partHeaderLine, limits.partHeaderBytes),
            Scan.firstIndex(ofAny: UInt8(ascii: "%"), 0x7F, 0x7F, 0x7F, in: name, from: 0) == name.count
        else { return nil }
        begin()
        head.setName(name)
        return end + 5
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
        guard let found else {
            guard outerName == nil else { return disposition.clear() }
            throw Multipart.Fault.dispositionMissing.error(offset: headers.offset)
        }
        do throws(Multipart.Fault) {
            try disposition.read(
                text.extracting(found.value), repair: repair, transcoder: transcoder, filenames: filenames,
                isNested: outerName != nil)
        } catch {
            throw error.error(offset: found.offset)
        }
        guard disposition.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a part's name", offset: found.offset)
        }
        guard quoting.joinsSpellings, outerName == nil else { return }
        let name = disposition.name
        let spelling = text.extracting(found.value).extracting(disposition.spelledName)
        if let fault = names.fault(in: name.span, spelled: spelling) {
            throw fault.error(offset: found.offset, field: name.span.lossyString())
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

    /// Whether a part of that Content-Type is a file where it has no filename. Libraries leave it out for bytes that they were given
    /// without one.
    private func isFileType(_ value: Span<UInt8>) -> Bool {
        guard !fileTypes.isEmpty else { return false }
        for pattern in fileTypes where pattern.matches(value) { return true }
        return false
    }

    /// Finds out how the content of a part without filename is read, from its media type; empty and usual ones say nothing.
    private mutating func readTextType(_ value: Span<UInt8>, of head: inout PartHead) throws(Multipart.Fault) {
        guard !value.isEmpty else { return }
        guard let end = ContentType.endOfMediaType(in: value) else { throw .partContentType }
        if mixed != .opaque, value.extracting(0..<end).isEqualIgnoringCase(to: "multipart/mixed") {
            guard mixed == .flatten else { throw .mixed }
            (isMixed, isPlain) = (true, false)
            return
        }
        var parameters = HeaderParameters(from: end, grammar: .contentType)
        while let parameter = try parameters.next(in: value, or: Multipart.Fault.partContentType) {
            guard value.extracting(parameter.name).isEqualIgnoringCase(to: "charset") else { continue }
            let label = value.extracting(parameter.value)
            isPlain = false
            if ContentType.isUTF8(label) {
                charset = .utf8
            } else if passesCharsets {
                isOpaqueText = true
            } else if let known = Charset(label: label), charset == nil {
                charset = known
                // The text goes on in UTF-8.
                mediaType.removeAll()
                mediaType.append(contentsOf: value.extracting(0..<parameter.value.lowerBound))
                mediaType.append("utf-8")
                mediaType.append(contentsOf: value.extracting(parameter.value.upperBound..<value.count))
                head.setMediaType(mediaType.span)
            } else {
                throw .charset
            }
        }
    }
}
