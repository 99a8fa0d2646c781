internal import Octets

extension PropertyList.Encoder {
    public mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if !isInText {
            try beginValue()
            isInText = true
            if !isBinary { output.append("<string>") }
            characters = PropertyList.CharacterCheck()
        }
        if isBinary {
            try tree.string(piece, isLast: isLast)
        } else {
            guard characters.append(piece, to: &output) else { throw failure(.unwritableCharacter) }
            if isLast { output.append("</string>\n") }
        }
        guard isLast else { return }
        isInText = false
        path.endValue()
    }

    public mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        let value = PropertyList.Number.value(text)
        var isString = false
        switch value {
        case .large(let nearest):
            switch options.largeIntegers {
            case .reject: throw failure(.largeInteger)
            case .real: guard nearest.isFinite else { throw failure(.largeReal) }
            case .string: isString = true
            }
        case .real(let nearest) where !nearest.isFinite:
            guard options.largeIntegers == .string else { throw failure(.largeReal) }
            isString = true
        default: break
        }
        if isString { return try string(text, isLast: true) }
        try beginValue()
        if isBinary {
            try tree.number(text)
        } else {
            let isInteger =
                switch value {
                case .integer, .negative: true
                // An integer's text stays one: -0.
                case .real: text.isInteger
                case .large: false
                }
            output.append(isInteger ? "<integer>" : "<real>")
            output.append(text)
            output.append(isInteger ? "</integer>\n" : "</real>\n")
        }
        path.endValue()
    }

    public mutating func bool(_ value: Bool) throws(ConversionError) {
        try beginValue()
        if isBinary { try tree.bool(value) } else { output.append(value ? "<true/>\n" : "<false/>\n") }
        path.endValue()
    }

    public mutating func null() throws(ConversionError) {
        switch options.nulls {
        case .omit:
            guard path.isInObject else { throw failure(.nullElement) }
            path.endValue()
        case .empty: try string(Span(), isLast: true)
        case .key, .literal, .reject: throw failure(.null)
        }
    }

    public mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        let date: PropertyList.Date
        do throws(PropertyList.Date.Reading) {
            date = try PropertyList.Date(rfc3339: text)
        } catch {
            throw failure(error.fault)
        }
        if !isBinary, !date.fraction.isEmpty, options.dateFractions == .reject { throw failure(.dateFraction) }
        try beginValue()
        var text: [UInt8] = []
        swap(&text, &scratch)
        defer { swap(&text, &scratch) }
        text.removeAll(keepingCapacity: true)
        date.append(to: &text, withFraction: isBinary)
        if isBinary {
            try tree.date(text.span)
        } else {
            output.append("<date>")
            output.append(text)
            output.append("</date>\n")
        }
        path.endValue()
    }

    public mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        try beginValue()
        if isBinary {
            try tree.data(bytes)
        } else {
            beginData()
            dataLines.append(bytes, to: &output)
            endData()
        }
        path.endValue()
    }

    // MARK: Files

    /// Begins a file. Throws `PropertyList.Fault.file` unless the options say `base64` or `object`.
    public mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        try beginFile(head, as: options.files)
    }

    /// The same by a policy of the file's own.
    internal mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {
        guard policy == .base64 || policy == .object else {
            throw ConversionError(plist: .file, field: head.name.lossyString())
        }
        isInFileObject = policy == .object
        if isInFileObject {
            guard UTF8Validator.isValid(head.mediaType) else {
                throw ConversionError(plist: .fileType, field: head.name.lossyString())
            }
            try beginObject()
            if head.hasFilename { try member("filename", head.filename) }
            if head.hasMediaType { try member("content_type", head.mediaType) }
            key(Array("data".utf8).span)
        }
        try beginValue()
        if isBinary { file.removeAll() } else { beginData() }
    }

    private mutating func member(_ name: String, _ value: Span<UInt8>) throws(ConversionError) {
        key(Array(name.utf8).span)
        try string(value, isLast: true)
    }

    public mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isBinary {
            try tree.charge(bytes: file.count + piece.count)
            file.append(piece)
        } else {
            dataLines.append(piece, to: &output)
        }
        guard isLast else { return }
        if isBinary {
            var bytes = OutputBuffer()
            swap(&bytes, &file)
            defer { swap(&bytes, &file) }
            try tree.data(bytes.span)
            bytes.removeAll()
        } else {
            endData()
        }
        path.endValue()
        if isInFileObject { try endObject() }
        isInFileObject = false
    }

    // MARK: XML text

    private mutating func beginData() {
        output.append("<data>\n")
        dataLines = PropertyList.DataLines(depth: path.depth)
    }

    private mutating func endData() {
        dataLines.finish(to: &output)
        appendTabs(path.depth)
        output.append("</data>\n")
    }
}

extension Span where Element == UInt8 {
    /// Whether a number in JSON's grammar has neither fraction nor exponent.
    fileprivate var isInteger: Bool {
        for index in indices where !ASCII.isDigit(self[index]) && self[index] != UInt8(ascii: "-") { return false }
        return true
    }
}
