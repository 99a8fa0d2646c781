internal import Octets

extension XML.Tokenizer {
    /// Takes the `<` at `at`, and the whole of what it begins where the slice has it.
    mutating func beginMarkup(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        tokenStart = offset + at
        isFirstMarkup = !hasMarkup
        hasMarkup = true
        if at + 1 < bytes.count {
            let byte = bytes[at + 1]
            if byte == UInt8(ascii: "/") {
                if let end = try readEndTag(bytes, from: at, base: offset) {
                    at = end
                    return endElement(at)
                }
                return hold(&at, .tag)
            }
            if byte != UInt8(ascii: "!"), byte != UInt8(ascii: "?") {
                isBuffered = false
                if let end = try readStartTag(bytes, from: at, base: offset) {
                    at = end
                    return .start
                }
                return hold(&at, .tag)
            }
            if byte == UInt8(ascii: "?") { return try beginInstruction(bytes, &at) }
        }
        buffered.removeAll()
        buffered.append(UInt8(ascii: "<"))
        at += 1
        state = .markup
        return nil
    }

    /// Goes on while it isn't known what `<` begins.
    mutating func readMarkup(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        buffered.append(bytes[at])
        at += 1
        matched = 0
        quote = 0
        guard let next = Self.state(after: buffered.span) else {
            throw Stop(reason: .fault(.syntax), at: tokenStart)
        }
        state = next
        switch next {
        case .documentType:
            guard rules.takesDocumentType, !hasRoot, !hasDocumentType else { throw doctypeStop }
        case .section:
            guard depth > 0 else { throw Stop(reason: .fault(hasRoot ? .trailingData : .noRoot), at: tokenStart) }
            eventOffset = offset + at
            return .section
        case .tag:
            // Nothing of it was read, so its first byte is taken with the rest.
            at -= 1
            buffered.truncate(to: 1)
        default: break
        }
        return nil
    }

    /// What the first bytes of markup begin: `markup` while that isn't known, nil where they begin nothing.
    private static func state(after start: Span<UInt8>) -> State? {
        switch start[1] {
        case UInt8(ascii: "?"): return .target
        case UInt8(ascii: "!"): break
        default: return .tag
        }
        if start.count > 2, start[2] | 0x20 == UInt8(ascii: "d") { return .documentType }
        if start.isEqual(to: "<!--") { return .comment }
        if start.isEqual(to: "<![CDATA[") { return .section }
        return start.begins("<!--") || start.begins("<![CDATA[") ? .markup : nil
    }

    var doctypeStop: Stop { Stop(reason: .fault(.doctype), at: tokenStart) }

    /// Holds the markup from `at` on, of which the slice has no end.
    mutating func hold(_ at: inout Int, _ state: State) -> Token? {
        buffered.removeAll()
        buffered.append(UInt8(ascii: "<"))
        at += 1
        self.state = state
        matched = 0
        quote = 0
        return nil
    }

    /// Goes on in markup that is held, up to its end in the slice.
    mutating func readBuffered(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        let found = endOfBuffered(bytes, from: at)
        let end = found.map { $0 + 1 } ?? bytes.count
        if buffered.count + end - at > rules.tagLimit {
            buffered.append(contentsOf: bytes.extracting(at..<at + max(0, rules.tagLimit - buffered.count)))
            try checkBuffered()
            throw tagLengthStop
        }
        buffered.append(contentsOf: bytes.extracting(at..<end))
        at = end
        guard found != nil else { return nil }
        // Taken out so that its span doesn't borrow the reader while it changes.
        var markup = ByteStore()
        swap(&markup, &buffered)
        defer { swap(&markup, &buffered) }
        let kind = state
        state = .content
        if kind == .documentType {
            guard markup.slice(0..<min(9, markup.count)).isEqual(to: "<!DOCTYPE") else { throw doctypeStop }
            hasDocumentType = true
            return .documentType
        }
        if kind == .target {
            guard let end = try readTarget(markup.span, from: 0, base: tokenStart) else { throw incomplete }
            // The byte behind the target is read again, with what follows it.
            at -= 1
            markup.truncate(to: end)
            return nil
        }
        if kind == .declaration {
            guard try readDeclaration(markup.span, from: 5, base: tokenStart) != nil else { throw incomplete }
            return endDeclaration(bytes, at)
        }
        if markup[1] == UInt8(ascii: "/") {
            guard try readEndTag(markup.span, from: 0, base: tokenStart) != nil else { throw incomplete }
            return endElement(at)
        }
        isBuffered = true
        guard try readStartTag(markup.span, from: 0, base: tokenStart) != nil else { throw incomplete }
        // The `>` of an empty element is left for its end.
        if state == .emptyEnd { at -= 1 }
        return .start
    }

    /// What has its end and yet isn't whole.
    private var incomplete: Stop { Stop(reason: .fault(.syntax), at: tokenStart + buffered.count) }

    private var tagLengthStop: Stop {
        state == .documentType
            ? doctypeStop : Stop(reason: .length(limit: rules.tagLimit), at: tokenStart + rules.tagLimit)
    }

    /// The index of the last byte of the markup that is held, or nil where the slice doesn't have it.
    mutating func endOfBuffered(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var at = start
        while at < bytes.count {
            if state == .target {
                let byte = bytes[at]
                // Held are `<`, or `<?` and the target so far.
                if buffered.count + at - start > 1, byte.isXMLSpace || byte == UInt8(ascii: "?") { return at }
                at += 1
            } else if state == .declaration {
                if matched == 1, bytes[at] == UInt8(ascii: ">") { return at }
                matched = 0
                guard let mark = Scan.firstIndex(of: UInt8(ascii: "?"), in: bytes, from: at) else { return nil }
                matched = 1
                at = mark + 1
            } else if quote != 0 {
                guard let mark = Scan.firstIndex(of: quote, in: bytes, from: at) else { return nil }
                quote = 0
                at = mark + 1
            } else {
                at = Scan.firstIndex(
                    ofAny: UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: ">"), in: bytes,
                    from: at)
                guard at < bytes.count else { return nil }
                if bytes[at] == UInt8(ascii: ">") { return at }
                quote = bytes[at]
                at += 1
            }
        }
        return nil
    }

    /// Throws what is wrong with markup that is held and will not go on.
    mutating func checkBuffered() throws(Stop) {
        let markup = buffered
        if state == .target {
            _ = try readTarget(markup.span, from: 0, base: tokenStart)
        } else if state == .declaration {
            _ = try readDeclaration(markup.span, from: 5, base: tokenStart)
        } else if state != .tag {
            return
        } else if markup.count > 1, markup[1] == UInt8(ascii: "/") {
            _ = try readEndTag(markup.span, from: 0, base: tokenStart)
        } else {
            _ = try readStartTag(markup.span, from: 0, base: tokenStart)
        }
    }

    @inline(__always)
    mutating func endElement(_ at: Int) -> Token {
        eventOffset = offset + at
        return .end
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

extension XML.Tokenizer {
    /// Takes the `<?` at `at`, and the target or the whole declaration where the slice has it.
    mutating func beginInstruction(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        guard let target = try readTarget(bytes, from: at, base: offset) else { return hold(&at, .target) }
        guard state == .declaration else {
            at = target
            return nil
        }
        guard let end = try readDeclaration(bytes, from: target, base: offset) else {
            return hold(&at, .declaration)
        }
        at = end
        return endDeclaration(bytes, at)
    }

    /// Reads `<?` and the target at `start` of bytes whose first one stands at `base` of the body, and says by `state` what it
    /// begins. Returns the index behind the target, or nil where the bytes end before it is known where that is.
    mutating func readTarget(_ bytes: Span<UInt8>, from start: Int, base: Int) throws(Stop) -> Int? {
        var at = start + 2
        guard at <= bytes.count else { return nil }
        guard let colon = try readName(bytes, &at, base: base) else { return nil }
        // Namespaces in XML 1.0 §7: the target has no colon.
        guard colon < 0 else { throw Stop(reason: .fault(.nameSyntax), at: base + colon) }
        let target = bytes.extracting(start + 2..<at)
        matched = 0
        if target.isEqual(to: "xml"), tokenStart == documentStart || rules.takesSpaceFirst && isFirstMarkup {
            // Looked at here, because what is held ends with the first white space, wherever the target does.
            guard bytes[at].isXMLSpace else { throw declarationStop(.syntax, base + at) }
            state = .declaration
            return at
        }
        guard !target.isEqualIgnoringCase(to: "xml") else {
            throw Stop(reason: .declaration(.syntax), at: tokenStart)
        }
        try checkLength(base + at)
        isBareInstruction = bytes[at] == UInt8(ascii: "?")
        guard isBareInstruction || bytes[at].isXMLSpace else { throw fault(.syntax, bytes, at, base) }
        instructions += 1
        guard instructions <= rules.instructionLimit else { throw Stop(reason: .instructions, at: tokenStart) }
        state = .instruction
        return at
    }

    /// Goes on in an instruction behind its target, whose text is left out.
    mutating func readInstruction(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) {
        while at < bytes.count {
            if matched == 0 {
                at = Scan.lineRun(in: bytes, from: at, to: UInt8(ascii: "?")).end
                guard at < bytes.count else { break }
            }
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: ">"), matched == 1 {
                try checkRun(at)
                state = .content
                return
            }
            // White space must stand between the target and what follows.
            if isBareInstruction, matched == 1 { throw stop(.syntax, at - 1) }
            matched = byte == UInt8(ascii: "?") ? 1 : 0
            if byte < 0x20, !byte.isXMLSpace { throw stop(.character, at - 1) }
        }
        try checkRun(at)
    }

    /// Ends the declaration that was read, up to index `at` of the slice.
    mutating func endDeclaration(_ input: Span<UInt8>, _ at: Int) -> Token {
        state = .content
        if declaresASCII { requireASCII(input, from: at) }
        eventOffset = offset + at
        return .declaration
    }

    /// Reads the declaration from behind its `<?xml` (XML 1.0 §2.8).
    mutating func readDeclaration(_ bytes: Span<UInt8>, from start: Int, base: Int) throws(Stop) -> Int? {
        var at = start
        var stage = 0
        while true {
            let before = at
            while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
            guard at < bytes.count else { return nil }
            if bytes[at] == UInt8(ascii: "?"), stage > 0 {
                guard at + 1 < bytes.count else { return nil }
                guard bytes[at + 1] == UInt8(ascii: ">") else { throw declarationStop(.syntax, base + at + 1) }
                try checkLength(base + at + 2)
                return at + 2
            }
            guard at > before, stage < 3 else { throw declarationStop(.syntax, base + at) }
            let nameStart = at
            at = XML.endOfName(bytes, from: at)
            guard at < bytes.count else { return nil }
            let name = bytes.extracting(nameStart..<at)
            let found =
                name.isEqual(to: "version")
                ? 1 : name.isEqual(to: "encoding") ? 2 : name.isEqual(to: "standalone") ? 3 : 0
            guard found > stage, stage > 0 || found == 1 else { throw declarationStop(.syntax, base + nameStart) }
            stage = found
            while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
            guard at < bytes.count else { return nil }
            guard bytes[at] == UInt8(ascii: "=") else { throw declarationStop(.syntax, base + at) }
            at += 1
            while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
            guard at < bytes.count else { return nil }
            let quote = bytes[at]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
                throw declarationStop(.syntax, base + at)
            }
            let valueStart = at + 1
            at = valueStart
            while at < bytes.count, isValueByte(bytes[at], stage: stage) { at += 1 }
            guard at < bytes.count else { return nil }
            guard bytes[at] == quote else { throw declarationStop(.syntax, base + at) }
            try takeDeclared(bytes.extracting(valueStart..<at), stage: stage, end: base + at + 1)
            at += 1
        }
    }

    /// Whether the byte may stand in the value of `version`, `encoding` or `standalone`.
    private func isValueByte(_ byte: UInt8, stage: Int) -> Bool {
        switch stage {
        case 1: ASCII.isDigit(byte) || byte == UInt8(ascii: ".")
        case 2: byte < 0x80 && XML.isNameByte(byte)
        default: ASCII.isAlpha(byte)
        }
    }

    private mutating func takeDeclared(_ value: Span<UInt8>, stage: Int, end: Int) throws(Stop) {
        switch stage {
        case 1:
            // VersionNum (XML 1.0 §2.8, production 26): any later one is read as 1.0.
            var digits = 2
            while digits < value.count, ASCII.isDigit(value[digits]) { digits += 1 }
            guard value.count > 2, value[0] == UInt8(ascii: "1"), value[1] == UInt8(ascii: "."), digits == value.count
            else { throw declarationStop(.syntax, end) }
            isVersion10 = value.isEqual(to: "1.0")
        case 2:
            guard value.count > 0, ASCII.isAlpha(value[0]) else { throw declarationStop(.syntax, end) }
            declaresASCII = value.isEqualIgnoringCase(to: "us-ascii") || value.isEqualIgnoringCase(to: "ascii")
            guard declaresASCII || value.isEqualIgnoringCase(to: "utf-8") || value.isEqualIgnoringCase(to: "utf8")
            else {
                throw Stop(reason: .fault(.encoding), at: tokenStart)
            }
        default:
            guard value.isEqual(to: "yes") || value.isEqual(to: "no") else { throw declarationStop(.syntax, end) }
        }
    }

    private func declarationStop(_ fault: XML.Fault, _ at: Int) -> Stop {
        Stop(reason: .declaration(fault), at: at)
    }

    // MARK: References

    /// Takes the `&` at `at`, and the whole reference where the slice has it.
    mutating func beginReference(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        tokenStart = offset + at
        guard let end = try endOfReference(bytes, from: at, base: offset) else {
            buffered.removeAll()
            buffered.append(UInt8(ascii: "&"))
            at += 1
            state = .reference
            return nil
        }
        let scalar = try scalar(bytes.extracting(at + 1..<end), start: tokenStart)
        at = end + 1
        return replace(at) { $0.append(UTF8Character(scalar)) }
    }

    /// Goes on in a reference that the slice before ended in.
    mutating func readBufferedReference(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        buffered.append(bytes[at])
        at += 1
        // A copy that shares the memory: a span of the property would borrow all of self.
        let reference = buffered
        guard let end = try endOfReference(reference.span, from: 0, base: tokenStart) else { return nil }
        let scalar = try scalar(reference.slice(1..<end), start: tokenStart)
        state = .content
        return replace(at) { $0.append(UTF8Character(scalar)) }
    }

    /// The index of the `;` of the reference at `start`, or nil where the bytes end before.
    mutating func endOfReference(_ bytes: Span<UInt8>, from start: Int, base: Int) throws(Stop) -> Int? {
        var at = start + 1
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: ";") where at > start + 1: return at
            case UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: "&"), UInt8(ascii: "\""), UInt8(ascii: "'"),
                0...0x20:
                throw Stop(reason: .reference(.entity), at: base + start)
            default:
                guard at - start <= Self.referenceLimit else {
                    throw Stop(reason: .reference(.entity), at: base + start)
                }
            }
            at += 1
        }
        return nil
    }

    /// The character that `&name;` stands for, where the `&` stands at `start` of the body.
    mutating func scalar(_ name: Span<UInt8>, start: Int) throws(Stop) -> UInt32 {
        let end = start + name.count + 2
        guard name[0] == UInt8(ascii: "#") else {
            if name.isEqual(to: "lt") { return 0x3C }
            if name.isEqual(to: "gt") { return 0x3E }
            if name.isEqual(to: "amp") { return 0x26 }
            if name.isEqual(to: "quot") { return 0x22 }
            if name.isEqual(to: "apos") { return 0x27 }
            throw Stop(reason: .reference(.entity), at: end)
        }
        let isHexadecimal = name.count > 1 && name[1] == UInt8(ascii: "x")
        var value: UInt32 = 0
        for index in (isHexadecimal ? 2 : 1)..<name.count {
            guard let digit = ASCII.hexValue(name[index]), isHexadecimal || digit < 10 else {
                throw Stop(reason: .reference(.entity), at: end)
            }
            // Beyond the last character any value will do.
            value = min(value * (isHexadecimal ? 16 : 10) + UInt32(digit), 0x11_0000)
        }
        // XML 1.0 §2.2, Char; no digits at all are a zero.
        let isControl = value < 0x20 && value != 0x09 && value != 0x0A && value != 0x0D
        let isSurrogate = value & ~0x7FF == 0xD800
        guard !isControl, !isSurrogate, value != 0xFFFE, value != 0xFFFF, value <= 0x10FFFF else {
            throw Stop(reason: .reference(.character), at: end)
        }
        return value
    }
}
