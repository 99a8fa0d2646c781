internal import Octets

/// Reads a part's Content-Disposition: form-data, with its name and filename as they are meant (RFC 7578 §4.2).
///
/// What stands in quotes is read as `quoting` says. Where `filename*` or `name*` stands beside or instead of the plain one, it is what
/// is meant, wherever it stands (RFC 8187, RFC 6266 §4.3).
internal struct PartDisposition {
    private(set) var name: [UInt8] = []
    /// Whether there was neither `name` nor `name*`.
    private(set) var lacksName = false
    /// The filename, with its folders unless they are not wanted; only where `hasFilename`.
    private(set) var filename: [UInt8] = []
    private(set) var hasFilename = false
    /// Whether the name and the filename had `\"`.
    private(set) var isNameEscaped = false
    private(set) var isFilenameEscaped = false
    /// Whether there was no `filename*`.
    private(set) var isFilenamePlain = true
    /// Where in the value the name stands as it was spelled.
    private(set) var spelledName = 0..<0
    /// How names and filenames are read.
    var quoting = NameQuoting(.recast)
    /// The names of the parameters that RFC 7578 doesn't know, with a comma between them.
    ///
    /// They go no further. Readers that look for `name="` or `filename=` wherever it stands would find it in another parameter's
    /// name or value, and take the part for another one than it was taken for here.
    private(set) var others: [UInt8] = []
    /// What `name*` and `filename*` say, where they stand.
    private var extendedName: [UInt8] = []
    private var extendedFilename: [UInt8] = []
    private var scratch: [UInt8] = []

    /// Forgets what was read.
    mutating func clear() {
        name.removeAll(keepingCapacity: true)
        if !filename.isEmpty { filename.removeAll(keepingCapacity: true) }
        if !others.isEmpty { others.removeAll(keepingCapacity: true) }
        (hasFilename, lacksName) = (false, false)
        (isNameEscaped, isFilenameEscaped, isFilenamePlain) = (false, false, true)
        spelledName = 0..<0
    }

    /// Reads the value of the header. In a body that stands in a part of another one, `isNested`, the disposition may be any,
    /// and there need be no name (RFC 2388 §4.2: `file` or `attachment`).
    ///
    /// `transcoder` reads names and filenames of another charset than UTF-8. Otherwise `repair` mends one that is not UTF-8;
    /// nil: it is refused.
    mutating func read(
        _ value: Span<UInt8>, repair: UTF8Repair?, transcoder: Transcoder? = nil, filenames: FilenamePolicy = .keep,
        isNested: Bool = false
    ) throws(Multipart.Fault) {
        clear()
        let at = Scan.endOfToken(in: value, from: 0)
        // Senders of mail's making say `attachment`; with a name it means the same.
        guard at > 0,
            isNested || value.extracting(0..<at).isSameWord(as: "form-data")
                || value.extracting(0..<at).isSameWord(as: "attachment")
        else { throw .dispositionType }
        var hasName = false
        var hasExtendedName = false
        var hasExtendedFilename = false
        var count = 0
        let grammar: HeaderParameters.Grammar = quoting.backslash == .literal ? .html : .disposition
        var parameters = HeaderParameters(from: at, grammar: grammar)
        while let parameter = try parameters.next(in: value, or: Multipart.Fault.parameters) {
            count += 1
            guard count <= HeaderParameters.maximumCount else { throw .parameterCount }
            let label = value.extracting(parameter.name)
            if label.isEqualIgnoringCase(to: "name") {
                guard !hasName else { throw .parameterRepeated }
                hasName = true
                isNameEscaped = parameter.hasEscapedQuote
                if !hasExtendedName { spelledName = parameter.value }
                try quoting.read(parameter, of: value, as: .name, isOtherCharset: transcoder != nil, into: &name)
                try Self.mend(&name, repair, transcoder, &scratch)
            } else if label.isEqualIgnoringCase(to: "filename") {
                guard !hasFilename else { throw .parameterRepeated }
                hasFilename = true
                isFilenameEscaped = parameter.hasEscapedQuote
                try quoting.read(
                    parameter, of: value, as: .filename, isOtherCharset: transcoder != nil, into: &filename)
                try Self.mend(&filename, repair, transcoder, &scratch)
            } else if label.isEqualIgnoringCase(to: "filename*") {
                guard !hasExtendedFilename else { throw .parameterRepeated }
                hasExtendedFilename = true
                try Self.decodeExtended(parameter, of: value, into: &extendedFilename)
            } else if label.isEqualIgnoringCase(to: "name*") {
                guard !hasExtendedName else { throw .parameterRepeated }
                hasExtendedName = true
                spelledName = parameter.value
                try Self.decodeExtended(parameter, of: value, into: &extendedName)
            } else if Self.isContinuation(label) {
                throw .parameterExtended
            } else {
                if !others.isEmpty { others.append(contentsOf: [UInt8(ascii: ","), ASCII.space]) }
                others.append(contentsOf: label)
            }
        }
        lacksName = !hasName && !hasExtendedName
        guard !lacksName || isNested || quoting.emptyName == .replaced else { throw .nameMissing }
        if hasExtendedName {
            swap(&name, &extendedName)
            isNameEscaped = false
        }
        if hasExtendedFilename {
            swap(&filename, &extendedFilename)
            hasFilename = true
            (isFilenameEscaped, isFilenamePlain) = (false, false)
        }
        guard hasFilename, filenames == .base else { return }
        guard let range = filenames.range(in: filename.span) else { throw .filenameEmpty }
        filename.removeSubrange(range.upperBound...)
        filename.removeSubrange(..<range.lowerBound)
    }

    /// Whether the parameter would be a further form of name or filename (RFC 2231 §3, RFC 8187), which RFC 7578
    /// forbids.
    private static func isContinuation(_ label: Span<UInt8>) -> Bool {
        label.count > 4 && label.extracting(first: 5).isEqualIgnoringCase(to: "name*")
            || label.count > 8 && label.extracting(first: 9).isEqualIgnoringCase(to: "filename*")
    }

    /// Decodes an `ext-value` of RFC 8187 §3.2.1: `UTF-8''n%C3%A4me.txt`, or ISO-8859-1.
    private static func decodeExtended(
        _ parameter: HeaderParameters.Parameter, of text: Span<UInt8>, into output: inout [UInt8]
    ) throws(Multipart.Fault) {
        guard !parameter.isQuoted else { throw .parameterExtended }
        let value = text.extracting(parameter.value)
        let quote = UInt8(ascii: "'")
        guard let first = Scan.firstIndex(of: quote, in: value),
            let second = Scan.firstIndex(of: quote, in: value, from: first + 1)
        else { throw .parameterExtended }
        let charset = value.extracting(0..<first)
        let isLatin1 = charset.isEqualIgnoringCase(to: "iso-8859-1")
        guard isLatin1 || charset.isEqualIgnoringCase(to: "utf-8") else { throw .parameterExtended }
        for index in first + 1..<second {
            let byte = value[index]
            guard ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") else {
                throw .parameterExtended
            }
        }
        output.removeAll(keepingCapacity: true)
        var at = second + 1
        while at < value.count {
            var byte = value[at]
            if byte == UInt8(ascii: "%") {
                guard let escaped = value.percentEscape(at: at) else { throw .parameterExtended }
                byte = escaped
                at += 2
            } else if byte == UInt8(ascii: "*") || byte == quote {
                throw .parameterExtended
            }
            guard byte >= 0x20 || byte == ASCII.tab, byte != 0x7F else { throw .nameControl }
            if isLatin1 { output.append(UTF8Character(UInt32(byte))) } else { output.append(byte) }
            at += 1
        }
        guard UTF8Validator.isValid(output.span) else { throw .parameterExtended }
    }

    private static func mend(
        _ text: inout [UInt8], _ repair: UTF8Repair?, _ transcoder: Transcoder?, _ scratch: inout [UInt8]
    ) throws(Multipart.Fault) {
        if let transcoder {
            scratch.removeAll(keepingCapacity: true)
            do { try transcoder.convert(whole: text.span, to: &scratch) } catch { throw .invalidText }
            return swap(&text, &scratch)
        }
        guard !UTF8Validator.isValid(text.span) else { return }
        guard var repair else { throw .invalidUTF8 }
        scratch.removeAll(keepingCapacity: true)
        repair.append(text.span, to: &scratch)
        repair.finish(to: &scratch)
        swap(&text, &scratch)
    }
}
