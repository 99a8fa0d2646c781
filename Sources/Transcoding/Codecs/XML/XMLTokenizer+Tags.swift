internal import Octets

extension XML.Tokenizer {
    /// Reads the start tag at `start` of bytes whose first one stands at `base` of the body, and opens its element. Returns
    /// the index behind it, or for an empty element that of its `>`; nil where the bytes end before the tag does.
    mutating func readStartTag(_ bytes: Span<UInt8>, from start: Int, base: Int) throws(Stop) -> Int? {
        var at = start + 1
        guard let colon = try readName(bytes, &at, base: base) else { return nil }
        name = start + 1..<at
        if colon == start + 6, bytes.extracting(start + 1..<colon).isEqual(to: "xmlns") {
            throw Stop(reason: .fault(.nameSyntax), at: base + start + 1)
        }
        if !attributes.isEmpty { attributes.removeAll(keepingCapacity: true) }
        var prefixed = 0
        var hasDeclarations = false
        while true {
            let nameEnd = at
            while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
            guard at < bytes.count else { return nil }
            let byte = bytes[at]
            if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") { break }
            guard at > nameEnd else { throw fault(.syntax, bytes, at, base) }
            let attribute = attributes.count
            guard try readAttribute(bytes, &at, base: base) else { return nil }
            if attributes[attribute].isDeclaration {
                hasDeclarations = true
            } else if attributes[attribute].colon >= 0 {
                prefixed += 1
            }
        }
        let isEmpty = bytes[at] == UInt8(ascii: "/")
        let end = at
        if isEmpty {
            at += 1
            guard at < bytes.count else { return nil }
            guard bytes[at] == UInt8(ascii: ">") else { throw fault(.syntax, bytes, at, base) }
        }
        try checkLength(base + at + 1)
        if attributes.count > 0 {
            try checkRepetition(bytes, base: base)
            try changeValues(bytes)
            if hasDeclarations { try declareNamespaces(bytes, base: base) }
            if prefixed > 1 { try checkExpandedNames(bytes, base: base, end: end) }
        }
        guard depth > 0 || !hasRoot else { throw Stop(reason: .fault(.trailingData), at: tokenStart) }
        hasRoot = true
        eventOffset = base + end
        nameStarts.append(names.count)
        names.append(contentsOf: bytes.extracting(name))
        state = isEmpty ? .emptyEnd : .content
        return isEmpty ? at : at + 1
    }

    /// Reads the end tag at `start` and closes the element. Returns the index behind it, or nil as above.
    mutating func readEndTag(_ bytes: Span<UInt8>, from start: Int, base: Int) throws(Stop) -> Int? {
        guard let last = nameStarts.last else {
            throw Stop(reason: .fault(hasRoot ? .trailingData : .mismatch), at: tokenStart)
        }
        var at = start + 2 + names.count - last
        var isSame = at < bytes.count && isOpen(bytes.extracting(start + 2..<at))
        if !isSame || bytes[at] != UInt8(ascii: ">") {
            at = start + 2
            guard try readName(bytes, &at, base: base) != nil else { return nil }
            isSame = isOpen(bytes.extracting(start + 2..<at))
            while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
            guard at < bytes.count else { return nil }
            guard bytes[at] == UInt8(ascii: ">") else { throw fault(.syntax, bytes, at, base) }
        }
        try checkLength(base + at + 1)
        guard isSame else { throw Stop(reason: .fault(.mismatch), at: base + at + 1) }
        closeElement()
        return at + 1
    }

    /// Whether the innermost element has that name.
    @inline(__always)
    private mutating func isOpen(_ name: Span<UInt8>) -> Bool {
        guard let last = nameStarts.last else { return false }
        return names.slice(last..<names.count).isEqual(to: name)
    }

    /// Closes the innermost element.
    @inline(__always)
    mutating func closeElement() {
        let last = nameStarts.removeLast()
        names.truncate(to: last)
        if namespaces.depth > depth { namespaces.close(to: depth) }
        state = .content
    }

    /// Checks the length of the tag or instruction that ends before `end` of the body.
    mutating func checkLength(_ end: Int) throws(Stop) {
        guard end - tokenStart > rules.tagLimit else { return }
        throw Stop(reason: .length(limit: rules.tagLimit), at: tokenStart + rules.tagLimit)
    }

    /// The fault at index `at`, or that the byte there is no character of XML.
    func fault(_ fault: XML.Fault, _ bytes: Span<UInt8>, _ at: Int, _ base: Int) -> Stop {
        let byte = bytes[at]
        let isCharacter = byte >= 0x20 || byte.isXMLSpace
        if byte == 0, at == 1, isFirstMarkup, tokenStart == documentStart {
            // The NUL behind the first `<` of UTF-16.
            return Stop(reason: .fault(.encoding), at: tokenStart)
        }
        return Stop(reason: .fault(isCharacter ? fault : .character), at: base + at)
    }

    /// Reads a name with at most one colon in it (Namespaces in XML 1.0 §4) and moves `at` behind it. Returns the index of
    /// the colon, or -1; nil where the bytes end before it is known where the name does.
    @inline(__always)
    mutating func readName(_ bytes: Span<UInt8>, _ at: inout Int, base: Int) throws(Stop) -> Int? {
        let start = at
        at = XML.endOfName(bytes, from: start)
        guard at < bytes.count else { return nil }
        guard at > start else { throw fault(.nameSyntax, bytes, at, base) }
        guard bytes[at] == UInt8(ascii: ":") else { return -1 }
        return try readLocalName(bytes, &at, base: base)
    }

    private mutating func readLocalName(_ bytes: Span<UInt8>, _ at: inout Int, base: Int) throws(Stop) -> Int? {
        let colon = at
        at = XML.endOfName(bytes, from: colon + 1)
        guard at < bytes.count else { return nil }
        guard at > colon + 1, bytes[at] != UInt8(ascii: ":") else { throw fault(.nameSyntax, bytes, at, base) }
        return colon
    }

    // MARK: Attributes

    /// Reads an attribute; false where the bytes end before it does.
    private mutating func readAttribute(_ bytes: Span<UInt8>, _ at: inout Int, base: Int) throws(Stop) -> Bool {
        let start = at
        if XML.endOfName(bytes, from: at) == at, bytes[at] != UInt8(ascii: ":") {
            throw fault(.syntax, bytes, at, base)
        }
        guard let colon = try readName(bytes, &at, base: base) else { return false }
        let nameEnd = at
        while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
        guard at < bytes.count else { return false }
        guard bytes[at] == UInt8(ascii: "=") else { throw fault(.syntax, bytes, at, base) }
        guard attributes.count < rules.attributeLimit else { throw Stop(reason: .attributes, at: base + at) }
        at += 1
        while at < bytes.count, bytes[at].isXMLSpace { at += 1 }
        guard at < bytes.count else { return false }
        let quote = bytes[at]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw fault(.syntax, bytes, at, base) }
        at += 1
        let valueStart = at
        guard let isChanged = try readValue(bytes, &at, quote: quote, base: base) else { return false }
        let prefix = bytes.extracting(start..<(colon < 0 ? nameEnd : colon))
        attributes.append(
            Attribute(
                nameStart: start, nameEnd: nameEnd, colon: colon, valueStart: valueStart, valueEnd: at - 1, end: at,
                isChanged: isChanged, isDeclaration: prefix.isEqual(to: "xmlns")))
        return true
    }

    /// Reads a value up to behind its `quote`, and says whether it must be normalised; nil where the bytes end before.
    private mutating func readValue(
        _ bytes: Span<UInt8>, _ at: inout Int, quote: UInt8, base: Int
    ) throws(Stop) -> Bool? {
        var isChanged = false
        while true {
            at = Scan.attributeRun(in: bytes, from: at, to: quote)
            guard at < bytes.count else { return nil }
            let byte = bytes[at]
            if byte == quote {
                at += 1
                return isChanged
            }
            isChanged = true
            if byte == UInt8(ascii: "&") {
                guard let end = try endOfReference(bytes, from: at, base: base) else { return nil }
                _ = try scalar(bytes.extracting(at + 1..<end), start: base + at)
                at = end + 1
            } else if byte.isXMLSpace {
                at += 1
            } else {
                throw fault(.syntax, bytes, at, base)
            }
        }
    }

    /// Normalises the values that need it (XML 1.0 §3.3.3): white space becomes spaces, references what they stand for.
    private mutating func changeValues(_ bytes: Span<UInt8>) throws(Stop) {
        values.removeAll()
        for index in attributes.indices where attributes[index].isChanged {
            let start = values.count
            var at = attributes[index].valueStart
            let end = attributes[index].valueEnd
            while at < end {
                let byte = bytes[at]
                if byte == UInt8(ascii: "&"),
                    let reference = Scan.firstIndex(of: UInt8(ascii: ";"), in: bytes, from: at)
                {
                    values.append(utf8: try scalar(bytes.extracting(at + 1..<reference), start: 0))
                    at = reference + 1
                } else if byte.isXMLSpace {
                    values.append(ASCII.space)
                    at += byte == ASCII.carriageReturn && bytes[at + 1] == ASCII.lineFeed ? 2 : 1
                } else {
                    let run = Scan.attributeRun(in: bytes, from: at, to: bytes[end])
                    values.append(contentsOf: bytes.extracting(at..<run))
                    at = run
                }
            }
            attributes[index].valueStart = start
            attributes[index].valueEnd = values.count
        }
    }

    /// Whether the tag has an attribute twice, as it is written.
    private mutating func checkRepetition(_ bytes: Span<UInt8>, base: Int) throws(Stop) {
        guard attributes.count > 1 else { return }
        if attributes.count <= 8 {
            for index in 1..<attributes.count {
                let name = bytes.extracting(attributes[index].nameStart..<attributes[index].nameEnd)
                for other in 0..<index
                where name.isEqual(to: bytes.extracting(attributes[other].nameStart..<attributes[other].nameEnd)) {
                    throw Stop(reason: .fault(.repeatedAttribute), at: base + attributes[index].end)
                }
            }
            return
        }
        uniqueNames.close(to: 0)
        for attribute in attributes {
            let name = bytes.extracting(attribute.nameStart..<attribute.nameEnd)
            guard uniqueNames.insert(name, depth: 0) == .new else {
                throw Stop(reason: .fault(.repeatedAttribute), at: base + attribute.end)
            }
        }
    }

    // MARK: Namespaces

    /// Declares what the tag declares, for its element. `attributes` have their values.
    private mutating func declareNamespaces(_ bytes: Span<UInt8>, base: Int) throws(Stop) {
        // A copy that shares the memory: a span of the property would borrow all of self.
        let values = values
        for attribute in attributes where attribute.isDeclaration {
            // A prefix of its own, or the one that isn't there.
            let prefix = attribute.colon < 0 ? Span() : bytes.extracting(attribute.colon + 1..<attribute.nameEnd)
            let range = attribute.valueStart..<attribute.valueEnd
            let isFine =
                attribute.isChanged
                ? XML.Namespaces.isFine(prefix: prefix, namespace: values.slice(range))
                : XML.Namespaces.isFine(prefix: prefix, namespace: bytes.extracting(range))
            guard isFine else { throw Stop(reason: .fault(.syntax), at: base + attribute.end) }
            guard prefix.count > 0 else { continue }
            let limit = rules.namespaceLimit
            let isDeclared =
                attribute.isChanged
                ? namespaces.declare(prefix, values.slice(range), depth: depth + 1, limit: limit)
                : namespaces.declare(prefix, bytes.extracting(range), depth: depth + 1, limit: limit)
            guard isDeclared else { throw Stop(reason: .namespaces, at: tokenStart) }
        }
    }

    /// Whether the tag has two attributes of one local name in one namespace (Namespaces in XML 1.0 §6.3).
    private mutating func checkExpandedNames(_ bytes: Span<UInt8>, base: Int, end: Int) throws(Stop) {
        uniqueNames.close(to: 0)
        for attribute in attributes where attribute.colon >= 0 && !attribute.isDeclaration {
            let written = bytes.extracting(attribute.nameStart..<attribute.nameEnd)
            let colon = attribute.colon - attribute.nameStart
            guard namespaces.expand(written, colon: colon, into: &expandedName) else { continue }
            let name = expandedName
            guard uniqueNames.insert(name.span, depth: 0) == .new else {
                throw Stop(reason: .fault(.repeatedAttribute), at: base + end)
            }
        }
    }
}
