internal import Octets

extension PropertyList.XMLReader {
    /// Finds out what `<!` begins.
    mutating func readBang(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) -> Bool {
        while at < input.count {
            token.append(input[at])
            at += 1
            if token.span.isEqual(to: "--") {
                state = .comment
            } else if token.span.isEqual(to: "[CDATA[") {
                guard leaf != nil, leaf != .yes, leaf != .no else {
                    throw failure(.unexpectedText, from: markupOffset)
                }
                state = .characters
            } else if token.span.isEqual(to: "DOCTYPE") {
                guard position == .prolog, !hasDocumentType else { throw failure(.doctype, from: markupOffset) }
                hasDocumentType = true
                token.removeAll(keepingCapacity: true)
                state = .documentType
            } else {
                let isBegun =
                    token.span.begins("--") || token.span.begins("[CDATA[") || token.span.begins("DOCTYPE")
                guard isBegun else { throw failure(.invalidMarkup, from: markupOffset) }
                continue
            }
            hasMarkup = true
            matched = 0
            return false
        }
        return false
    }

    /// Goes on in a comment, whose text is left out.
    mutating func readComment(_ input: Span<UInt8>, at: inout Int) -> Bool {
        while at < input.count {
            if matched == 0 {
                guard let dash = Scan.firstIndex(of: UInt8(ascii: "-"), in: input, from: at) else {
                    at = input.count
                    return false
                }
                at = dash
            }
            let byte = input[at]
            at += 1
            if byte == UInt8(ascii: "-") {
                matched = min(2, matched + 1)
            } else if byte == UInt8(ascii: ">"), matched == 2 {
                matched = 0
                state = .content
                return false
            } else {
                matched = 0
            }
        }
        return false
    }

    /// Goes on in a document type, which must be Apple's and is left out.
    mutating func readDocumentType(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            at += 1
            if byte == UInt8(ascii: ">") {
                guard isAppleDocumentType(token.span) else { throw failure(.doctype, from: markupOffset) }
                state = .content
                return false
            }
            guard byte != UInt8(ascii: "["), token.count < Self.tokenLimit else {
                throw failure(.doctype, from: markupOffset)
            }
            token.append(byte)
        }
        return false
    }

    /// Whether it is `plist PUBLIC` with Apple's public identifier of either spelling, and Apple's address.
    private func isAppleDocumentType(_ text: Span<UInt8>) -> Bool {
        var words = Words(text)
        guard let name = words.next(), words.value(name).isEqual(to: "plist"), let kind = words.next(),
            words.value(kind).isEqual(to: "PUBLIC"), let identifier = words.nextQuoted(),
            let address = words.nextQuoted(), words.isAtEnd
        else { return false }
        return
            (words.value(identifier).isEqual(to: "-//Apple//DTD PLIST 1.0//EN")
            || words.value(identifier).isEqual(to: "-//Apple Computer//DTD PLIST 1.0//EN"))
            && (words.value(address).isEqual(to: "http://www.apple.com/DTDs/PropertyList-1.0.dtd")
                || words.value(address).isEqual(to: "https://www.apple.com/DTDs/PropertyList-1.0.dtd"))
    }

    /// Goes through words that white space separates.
    private struct Words: ~Escapable {
        private let text: Span<UInt8>
        private var at = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) { self.text = text }

        var isAtEnd: Bool { text.extracting(at..<text.count).trimmedOfXMLSpace().isEmpty }

        @_lifetime(copy self)
        func value(_ range: Range<Int>) -> Span<UInt8> { text.extracting(range) }

        @_lifetime(self: copy self)
        private mutating func skipSpace() -> Bool {
            let start = at
            while at < text.count, text[at].isXMLSpace { at += 1 }
            return at > start
        }

        @_lifetime(self: copy self)
        mutating func next() -> Range<Int>? {
            guard skipSpace() else { return nil }
            let start = at
            while at < text.count, !text[at].isXMLSpace { at += 1 }
            return start..<at
        }

        @_lifetime(self: copy self)
        mutating func nextQuoted() -> Range<Int>? {
            guard skipSpace(), at < text.count, text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'"),
                let end = Scan.firstIndex(of: text[at], in: text, from: at + 1)
            else { return nil }
            defer { at = end + 1 }
            return at + 1..<end
        }
    }

    /// Goes on between `<?` and `?>`: the XML declaration, which is checked, or an instruction, which is left out.
    mutating func readInstruction(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            at += 1
            if byte == UInt8(ascii: ">"), matched == 1 {
                try endInstruction()
                matched = 0
                hasMarkup = true
                state = .content
                return false
            }
            matched = byte == UInt8(ascii: "?") ? 1 : 0
            if token.count < Self.tokenLimit { token.append(byte) }
        }
        return false
    }

    private func endInstruction() throws(ConversionError) {
        let text = token.span
        var end = 0
        while end < text.count, !text[end].isXMLSpace, text[end] != UInt8(ascii: "?") { end += 1 }
        guard end > 0 else { throw failure(.invalidMarkup, from: markupOffset) }
        let target = text.extracting(0..<end)
        guard target.isEqualIgnoringCase(to: "xml") else { return }
        guard !hasMarkup, target.isEqual(to: "xml"), text.count < Self.tokenLimit else {
            throw failure(.invalidDeclaration, from: markupOffset)
        }
        var attributes = Attributes(text.extracting(end..<text.count - 1).trimmedOfXMLSpace())
        guard attributes.takes("version", value: "1.0") else {
            throw failure(.invalidDeclaration, from: markupOffset)
        }
        if let encoding = attributes.takeValue(of: "encoding"),
            !attributes.value(encoding).isEqualIgnoringCase(to: "utf-8")
        {
            throw failure(.unsupportedCharset, from: markupOffset)
        }
        if !attributes.isAtEnd, attributes.takeValue(of: "standalone") == nil || !attributes.isAtEnd {
            throw failure(.invalidDeclaration, from: markupOffset)
        }
    }

    /// Goes on between `&` and `;`. Returns whether to return from `feed`.
    mutating func readReference<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            at += 1
            if byte == UInt8(ascii: ";") {
                guard let scalar = Self.scalar(token.span) else {
                    throw failure(.invalidReference, from: markupOffset)
                }
                state = .content
                // Taken out so that the span doesn't borrow the reader while it changes.
                var character: [UInt8] = []
                swap(&character, &token)
                defer { swap(&character, &token) }
                character.removeAll(keepingCapacity: true)
                character.append(utf8: scalar)
                return try takeText(character.span, into: &sink)
            }
            guard byte == UInt8(ascii: "#") || ASCII.isDigit(byte) || ASCII.isAlpha(byte),
                token.count < Self.referenceLimit
            else { throw failure(.invalidReference, from: markupOffset) }
            token.append(byte)
        }
        return false
    }

    /// The character that `&name;` stands for.
    private static func scalar(_ name: Span<UInt8>) -> UInt32? {
        if name.isEqual(to: "lt") { return 0x3C }
        if name.isEqual(to: "gt") { return 0x3E }
        if name.isEqual(to: "amp") { return 0x26 }
        if name.isEqual(to: "quot") { return 0x22 }
        if name.isEqual(to: "apos") { return 0x27 }
        guard name.count > 1, name[0] == UInt8(ascii: "#") else { return nil }
        let isHexadecimal = name[1] == UInt8(ascii: "x")
        guard name.count > (isHexadecimal ? 2 : 1) else { return nil }
        var value: UInt32 = 0
        for index in (isHexadecimal ? 2 : 1)..<name.count {
            guard let digit = ASCII.hexValue(name[index]), isHexadecimal || digit < 10 else { return nil }
            value = value * (isHexadecimal ? 16 : 10) + UInt32(digit)
            guard value <= 0x10FFFF else { return nil }
        }
        // XML 1.0 §2.2, Char.
        let isControl = value < 0x20 && value != 0x09 && value != 0x0A && value != 0x0D
        let isSurrogate = value & ~0x7FF == 0xD800
        return isControl || isSurrogate || value == 0xFFFE || value == 0xFFFF ? nil : value
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are the first ones of `text`.
    fileprivate func begins(_ text: StaticString) -> Bool {
        guard count <= text.utf8CodeUnitCount else { return false }
        // SAFETY: index < count, which is at most the literal's own length.
        for index in indices where unsafe self[index] != text.utf8Start[index] { return false }
        return true
    }
}
