internal import Octets

extension PropertyList.Encoder {
    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
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

    package mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        let value = PropertyList.Number.value(text)
        if value == .large || value == .real {
            if value == .large, options.largeIntegers == .reject { throw failure(.largeInteger) }
            if options.largeIntegers == .string, value == .large || !PropertyList.Number.isFinite(text) {
                return try string(text, isLast: true)
            }
            guard PropertyList.Number.isFinite(text) else { throw failure(.largeReal) }
        }
        try beginValue()
        if isBinary {
            try tree.number(text)
        } else if value == .real || value == .large {
            output.append("<real>")
            output.append(text)
            output.append("</real>\n")
        } else {
            output.append("<integer>")
            output.append(text)
            output.append("</integer>\n")
        }
        path.endValue()
    }

    package mutating func bool(_ value: Bool) throws(ConversionError) {
        try beginValue()
        if isBinary { try tree.bool(value) } else { output.append(value ? "<true/>\n" : "<false/>\n") }
        path.endValue()
    }

    package mutating func null() throws(ConversionError) {
        switch options.nulls {
        case .omit:
            guard path.isInObject else { throw failure(.nullElement) }
            path.endValue()
        case .empty: try string(Span(), isLast: true)
        case .key, .literal, .reject: throw failure(path.isInObject ? .null : .nullElement)
        }
    }

    package mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
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

    package mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
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
    package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
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
            try openFileObject(head)
        }
        try beginValue()
        if isBinary { file.removeAll() } else { beginData() }
    }

    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
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
