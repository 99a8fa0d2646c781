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
                return hold(bytes, &at, .tag)
            }
            if byte != UInt8(ascii: "!"), byte != UInt8(ascii: "?") {
                isHeld = false
                if let end = try readStartTag(bytes, from: at, base: offset) {
                    at = end
                    return .start
                }
                return hold(bytes, &at, .tag)
            }
            if byte == UInt8(ascii: "?") { return try beginInstruction(bytes, &at) }
        }
        held.removeAll()
        held.append(UInt8(ascii: "<"))
        at += 1
        state = .markup
        return nil
    }

    /// Goes on while it isn't known what `<` begins.
    mutating func readMarkup(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        held.append(bytes[at])
        at += 1
        matched = 0
        quote = 0
        guard let next = Self.state(after: held.span) else {
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
            held.truncate(to: 1)
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
    mutating func hold(_ bytes: Span<UInt8>, _ at: inout Int, _ state: State) -> Token? {
        held.removeAll()
        held.append(UInt8(ascii: "<"))
        at += 1
        self.state = state
        matched = 0
        quote = 0
        return nil
    }

    /// Goes on in markup that is held, up to its end in the slice.
    mutating func readHeld(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        let found = endOfHeld(bytes, from: at)
        let end = found.map { $0 + 1 } ?? bytes.count
        if held.count + end - at > rules.tagLimit {
            held.append(contentsOf: bytes.extracting(at..<at + max(0, rules.tagLimit - held.count)))
            try checkHeld()
            throw tagLengthStop
        }
        held.append(contentsOf: bytes.extracting(at..<end))
        at = end
        guard found != nil else { return nil }
        // Taken out so that its span doesn't borrow the reader while it changes.
        var markup = ByteStore()
        swap(&markup, &held)
        defer { swap(&markup, &held) }
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
        isHeld = true
        guard try readStartTag(markup.span, from: 0, base: tokenStart) != nil else { throw incomplete }
        // The `>` of an empty element is left for its end.
        if state == .emptyEnd { at -= 1 }
        return .start
    }

    /// What has its end and yet isn't whole.
    private var incomplete: Stop { Stop(reason: .fault(.syntax), at: tokenStart + held.count) }

    private var tagLengthStop: Stop {
        state == .documentType
            ? doctypeStop : Stop(reason: .length(limit: rules.tagLimit), at: tokenStart + rules.tagLimit)
    }

    /// The index of the last byte of the markup that is held, or nil where the slice doesn't have it.
    mutating func endOfHeld(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var at = start
        while at < bytes.count {
            if state == .target {
                let byte = bytes[at]
                // Held are `<`, or `<?` and the target so far.
                if held.count + at - start > 1, byte.isXMLSpace || byte == UInt8(ascii: "?") { return at }
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
    mutating func checkHeld() throws(Stop) {
        let markup = held
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
