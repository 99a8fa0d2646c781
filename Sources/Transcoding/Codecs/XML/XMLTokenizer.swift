internal import Octets

extension XML {
    /// Reads XML 1.0 (fifth edition) with namespaces, without a document type, in UTF-8, as tokens: tags, text, line ends and
    /// references that stand for other bytes. It is what the decoders of XML and of XML property lists have in common.
    ///
    /// The bytes come in slices that are cut anywhere: `begin` checks one, `next` gives its tokens, `endSlice` says what is
    /// wrong behind the last one, `finish` what is missing at the end. A token is given when it is whole, and text as far as
    /// it has come. Whatever is well-formed or not is decided here; what it means, by who asks.
    ///
    /// Each byte is looked at a bounded number of times, whatever the names are. Memory is the names of the open elements, the
    /// namespaces that they declare, and one tag or instruction that lies in more than one slice.
    ///
    /// What is called for each token is `mutating`, and takes it `inout`, also where nothing is changed: a value of this size is
    /// copied to be borrowed.
    internal struct Tokenizer: ~Copyable {
        internal enum Token {
            /// Text as it stands in the slice at `textRange`.
            case text
            /// `replacement` stands for the bytes up to `eventOffset`: a character for its reference, a line feed for another
            /// line end, brackets that turned out not to end a CDATA section.
            case replacement
            /// A CDATA section begins, whose text follows.
            case section
            /// A start tag: `name` and `attributes` of `tag`. An empty element's end follows as a token of its own.
            case start
            case end
            case declaration
            /// What stands between `<!DOCTYPE` and `>`, in `buffered`.
            case documentType
        }

        /// What differs between the formats, and what bounds them.
        internal struct Rules {
            /// Line ends are text like any other, against XML 1.0 §2.11.
            internal var keepsLineEnds = false
            /// A document type without declarations is given to the caller.
            internal var takesDocumentType = false
            /// Comments may have `--` in them, and text `]]>`.
            internal var takesStrayEnds = false
            /// White space may stand before the declaration.
            internal var takesSpaceFirst = false
            /// Bytes of a tag, or of an instruction's target.
            internal var tagLimit: Int
            /// Bytes of a comment, an instruction or a CDATA section.
            internal var runLimit: Int
            internal var attributeLimit: Int
            internal var instructionLimit: Int
            /// Bytes of the namespaces that are declared at a time.
            internal var namespaceLimit: Int
        }

        /// Why reading stops, at an offset of the body.
        internal struct Stop: Error {
            internal enum Reason {
                case fault(Fault)
                /// A fault in a reference.
                case reference(Fault)
                /// A fault in the XML declaration, or a declaration in the wrong place.
                case declaration(Fault)
                case attributes, instructions, namespaces
                /// What must be held, or a comment or CDATA section, is too long.
                case length(limit: Int)
            }
            internal var reason: Reason
            internal var at: Int
        }

        /// What the next byte belongs to.
        internal enum State: UInt8 {
            /// Nothing has come, or part of a byte order mark; next: `content`.
            case start
            /// Text, or white space outside of the root element.
            case content
            /// After `<`, in `buffered`, while it isn't known what it begins.
            case markup
            /// In these, which are in `buffered` so far.
            case tag, target, declaration, documentType, reference
            /// In these, which aren't held: an instruction behind its target, a comment, a CDATA section.
            case instruction, comment, section
            /// Before the `>` of an empty element whose start was given.
            case emptyEnd
        }

        internal struct Attribute {
            internal var nameStart: Int
            internal var nameEnd: Int
            /// The index of the colon in the name, or -1.
            internal var colon: Int
            internal var valueStart: Int
            internal var valueEnd: Int
            /// The index behind the value's quotation mark.
            internal var end: Int
            /// Whether the value must be normalised, and then whether it lies in `values`.
            internal var isChanged: Bool
            internal var isDeclaration: Bool
        }

        /// Bytes of a reference between `&` and `;`. `&#x10FFFF;` needs eight; leading zeros are allowed.
        internal static var referenceLimit: Int { 32 }

        internal let rules: Rules
        internal var state = State.start
        /// Bytes of the body before the slice at hand.
        internal private(set) var offset = 0
        /// The bytes of the slice at hand that may be read.
        internal var readable = 0
        /// The offset behind the byte order mark.
        internal var documentStart = 0
        /// Whether anything but white space has come.
        internal var hasMarkup = false
        /// Whether no other markup came before what is being read.
        internal var isFirstMarkup = false
        internal var hasRoot = false
        internal var hasDocumentType = false
        internal var instructions = 0
        /// Whether nothing but the end may follow the instruction's target.
        internal var isBareInstruction = false
        /// What the declaration says.
        internal var isVersion10 = true
        internal var declaresASCII = false

        /// Where the markup or the reference at hand begins in the body.
        internal var tokenStart = 0
        /// Where in the body the reader stands with the token that was given: for a start tag before its `>` or `/>`.
        internal var eventOffset = 0
        internal var textRange = 0..<0
        /// Whether the text is known to be white space only, as indentation is; false says nothing.
        internal var isSpace = false
        internal var replacement = ByteStore()
        /// Markup that isn't whole yet.
        internal var buffered = ByteStore()
        /// Whether `tag` is in `buffered` and not in the slice.
        internal var isBuffered = false
        /// Within a tag that is held: the quotation mark of the value at hand, or 0.
        internal var quote: UInt8 = 0
        /// Bytes of an end sign or a byte order mark that have come.
        internal var matched = 0
        /// The number of `]`, up to two, that the text ends with.
        internal var brackets = 0
        /// Whether a carriage return was the last byte of the slice before.
        internal var skipsLineFeed = false

        /// The names of the open elements as they are written.
        internal var names = ByteStore()
        internal var nameStarts: [Int] = []

        internal var name = 0..<0
        internal var attributes: [Attribute] = []
        /// Values of attributes that don't stand in the tag as they are.
        internal var values = ByteStore()
        internal var uniqueNames = JSON.MemberNames(limit: Int(Int32.max))
        internal var expandedName = ByteStore()
        internal var namespaces = Namespaces()

        private var validator = UTF8Validator()
        /// Bytes of the body that were checked.
        private var checked = 0
        /// Bytes of EF BF, which U+FFFE and U+FFFF begin with, that ended what was checked.
        private var noncharacterBytes = 0
        internal var mustBeASCII = false
        /// What ends the bytes that may be read, and what is said of it.
        private var unreadable: (at: Int, stop: Stop)?

        internal init(rules: Rules) {
            self.rules = rules
        }

        /// The number of open elements.
        internal var depth: Int { nameStarts.count }

        /// Makes it ready for another document. Allocations of ordinary size are kept.
        internal mutating func reset() {
            state = .start
            offset = 0
            readable = 0
            documentStart = 0
            hasMarkup = false
            isFirstMarkup = false
            hasRoot = false
            hasDocumentType = false
            instructions = 0
            isVersion10 = true
            declaresASCII = false
            tokenStart = 0
            eventOffset = 0
            buffered.removeAll(keepingUpTo: 64 * 1024)
            isBuffered = false
            quote = 0
            matched = 0
            brackets = 0
            skipsLineFeed = false
            names.removeAll(keepingUpTo: 64 * 1024)
            nameStarts.removeAll(keepingCapacity: nameStarts.capacity <= 1024)
            attributes.removeAll(keepingCapacity: attributes.capacity <= 256)
            values.removeAll(keepingUpTo: 64 * 1024)
            uniqueNames.removeAll()
            namespaces.removeAll()
            validator = UTF8Validator()
            checked = 0
            noncharacterBytes = 0
            mustBeASCII = false
            unreadable = nil
        }

        // MARK: Slices

        /// Begins a slice, which may have bytes that were not taken before.
        internal mutating func begin(_ input: Span<UInt8>) {
            readable = input.count
            check(input)
        }

        /// Says that the slice ends after `count` bytes, which are taken, and throws what makes the next one unreadable.
        internal mutating func end(_ count: Int) throws(Stop) {
            offset += count
            guard let unreadable, offset == unreadable.at else { return }
            try checkBuffered()
            throw unreadable.stop
        }

        /// Leaves the rest of the slice for another time.
        internal mutating func leave(_ count: Int) { offset += count }

        /// Says that the body has ended.
        internal mutating func finish() throws(Stop) {
            try checkBuffered()
            if state == .content, hasRoot, depth == 0, validator.isComplete { return }
            let isEmpty = !hasMarkup && (state == .content || state == .start && matched == 0)
            throw Stop(reason: .fault(isEmpty ? .emptyBody : .unexpectedEnd), at: offset)
        }

        /// Checks the bytes of the slice that weren't: what XML has no character for, apart from controls, ends what may be
        /// read.
        internal mutating func check(_ input: Span<UInt8>) {
            if unreadable == nil, checked < offset + input.count {
                let new = input.extracting(checked - offset..<input.count)
                // UTF-16 and UTF-32 begin so (XML 1.0 Appendix F), or with a NUL.
                if checked == 0, new[0] >= 0xFE { unreadable = (0, Stop(reason: .fault(.encoding), at: 0)) }
                if unreadable == nil, let fault = validator.check(new) {
                    let at = checked + fault
                    unreadable = (at, Stop(reason: .fault(.invalidUTF8), at: at))
                }
                checkNoncharacters(new)
                if mustBeASCII { checkASCII(new) }
                checked = offset + input.count
            }
            if let unreadable { readable = min(readable, max(0, unreadable.at - offset)) }
        }

        private mutating func checkNoncharacters(_ new: Span<UInt8>) {
            var at = 0
            while at < new.count {
                if noncharacterBytes == 0 {
                    guard let hit = Scan.firstIndex(of: 0xEF, in: new, from: at) else { return }
                    (at, noncharacterBytes) = (hit + 1, 1)
                } else if noncharacterBytes == 1 {
                    noncharacterBytes = new[at] == 0xBF ? 2 : 0
                    at += noncharacterBytes / 2
                } else {
                    noncharacterBytes = 0
                    guard new[at] >= 0xBE else { continue }
                    makeUnreadable(from: checked + at, .character, at: checked + at - 2)
                    return
                }
            }
        }

        /// Looks for what isn't ASCII in bytes of the slice, the first of which stands at `checked`.
        private mutating func checkASCII(_ new: Span<UInt8>) {
            for at in new.indices where new[at] >= 0x80 {
                makeUnreadable(from: checked + at, .encodingMismatch, at: checked + at)
                return
            }
        }

        /// The declaration says that what follows index `at` of the slice is ASCII.
        internal mutating func requireASCII(_ input: Span<UInt8>, from at: Int) {
            mustBeASCII = true
            let end = checked
            checked = offset + at
            checkASCII(input.extracting(at..<input.count))
            checked = end
            if let unreadable { readable = min(readable, max(0, unreadable.at - offset)) }
        }

        private mutating func makeUnreadable(from at: Int, _ fault: Fault, at faultOffset: Int) {
            if let unreadable, unreadable.at <= at { return }
            unreadable = (at, Stop(reason: .fault(fault), at: faultOffset))
        }

        // MARK: Tokens

        /// The next token of the slice from index `at` on; nil where none is whole.
        internal mutating func next(_ input: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
            while at < readable {
                let bytes = input.extracting(0..<readable)
                let token: Token?
                switch state {
                case .content:
                    token =
                        depth > 0 ? try readText(bytes, &at) : try readOutside(bytes, &at)
                case .start:
                    try readStart(bytes, &at)
                    continue
                case .markup: token = try readMarkup(bytes, &at)
                case .tag, .target, .declaration, .documentType: token = try readBuffered(bytes, &at)
                case .reference: token = try readBufferedReference(bytes, &at)
                case .comment:
                    try readComment(bytes, &at)
                    continue
                case .instruction:
                    try readInstruction(bytes, &at)
                    continue
                case .section: token = try readSection(bytes, &at)
                case .emptyEnd:
                    at += 1
                    closeElement()
                    token = endElement(at)
                }
                if let token { return token }
            }
            return nil
        }

        internal func stop(_ fault: Fault, _ at: Int) -> Stop { Stop(reason: .fault(fault), at: offset + at) }

        private mutating func readStart(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) {
            let byte = bytes[at]
            if matched == 0, byte == 0 { throw stop(.encoding, at) }
            if matched == 0, byte != 0xEF {
                state = .content
                return
            }
            let expected: UInt8 = matched == 0 ? 0xEF : matched == 1 ? 0xBB : 0xBF
            guard byte == expected else { throw Stop(reason: .fault(.noRoot), at: 0) }
            at += 1
            matched += 1
            guard matched == 3 else { return }
            matched = 0
            documentStart = offset + at
            state = .content
        }

        /// Goes on before or behind the root element.
        private mutating func readOutside(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
            at = Scan.endOfWhitespace(in: bytes, from: at)
            guard at < bytes.count else { return nil }
            guard bytes[at] == UInt8(ascii: "<") else { throw stop(hasRoot ? .trailingData : .noRoot, at) }
            return try beginMarkup(bytes, &at)
        }
    }
}

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
                    values.append(UTF8Character(try scalar(bytes.extracting(at + 1..<reference), start: 0)))
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

extension XML.Tokenizer {
    /// Goes on in the root element, outside of markup.
    mutating func readText(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        if skipsLineFeed, skipLineFeed(bytes, &at) { return nil }
        var start = at
        // Most calls find markup here: it stands behind text that was given, or behind indentation. A scan looks at sixteen bytes
        // to find that out, and ends at each tab and line feed.
        while at < bytes.count, bytes[at] == ASCII.space || bytes[at] == ASCII.lineFeed || bytes[at] == ASCII.tab {
            at &+= 1
        }
        if at < bytes.count, bytes[at] == UInt8(ascii: "<") {
            brackets = 0
            if at == start { return try beginMarkup(bytes, &at) }
            let token = text(start, at)
            isSpace = true
            return token
        }
        while true {
            let end = Scan.markupTextRun(in: bytes, from: at).end
            at = end
            let byte = end < bytes.count ? bytes[end] : UInt8(ascii: ">")
            switch byte {
            case UInt8(ascii: "<"):
                brackets = 0
                if end > start { return text(start, end) }
                return try beginMarkup(bytes, &at)
            case UInt8(ascii: "&"):
                brackets = 0
                if end > start { return text(start, end) }
                return try beginReference(bytes, &at)
            case UInt8(ascii: ">"):
                countBrackets(bytes.extracting(start..<end))
                guard end < bytes.count else { return end > start ? text(start, end) : nil }
                if brackets == 2, !rules.takesStrayEnds {
                    if end > start { return text(start, end) }
                    throw Stop(reason: .fault(.syntax), at: offset + end - 2)
                }
                brackets = 0
                at = end + 1
            case ASCII.carriageReturn:
                brackets = 0
                if rules.keepsLineEnds {
                    at = end + 1
                    continue
                }
                if end > start { return text(start, end) }
                if let token = readLineEnd(bytes, &at) { return token }
                start = at
            default:
                if end > start { return text(start, end) }
                throw stop(.character, end)
            }
        }
    }

    /// Takes the carriage return at `at`: before a line feed it is left out, else it becomes one (XML 1.0 §2.11).
    mutating func readLineEnd(_ bytes: Span<UInt8>, _ at: inout Int) -> Token? {
        at += 1
        if at < bytes.count, bytes[at] == ASCII.lineFeed { return nil }
        skipsLineFeed = at == bytes.count
        tokenStart = offset + at - 1
        return replace(at) { $0.append(ASCII.lineFeed) }
    }

    mutating func countBrackets(_ run: Span<UInt8>) {
        var count = 0
        while count < run.count, count < 2, run[run.count - 1 - count] == UInt8(ascii: "]") { count += 1 }
        brackets = count == run.count ? min(2, brackets + count) : count
    }

    @inline(__always)
    mutating func text(_ start: Int, _ end: Int) -> Token {
        textRange = start..<end
        isSpace = false
        eventOffset = offset + start
        return .text
    }

    @inline(__always)
    mutating func replace(_ at: Int, _ write: (inout ByteStore) -> Void) -> Token {
        replacement.removeAll()
        write(&replacement)
        eventOffset = offset + at
        return .replacement
    }

    /// Passes the line feed behind a carriage return, which was the line's end; false where something else stands there.
    @inline(__always)
    private mutating func skipLineFeed(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        skipsLineFeed = false
        guard bytes[at] == ASCII.lineFeed else { return false }
        at += 1
        return true
    }

    /// Goes on between `<![CDATA[` and `]]>`.
    mutating func readSection(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        if skipsLineFeed, skipLineFeed(bytes, &at) { return nil }
        if matched > 0 {
            let byte = bytes[at]
            let isBracket = byte == UInt8(ascii: "]")
            if isBracket, matched == 1 {
                matched = 2
                at += 1
                return nil
            }
            if byte == UInt8(ascii: ">"), matched == 2 {
                at += 1
                try checkRun(at)
                matched = 0
                state = .content
                return nil
            }
            // They were text; a third one may still begin the end.
            let count = isBracket ? 1 : matched
            if isBracket { at += 1 } else { matched = 0 }
            return replace(at) { store in for _ in 0..<count { store.append(UInt8(ascii: "]")) } }
        }
        let start = at
        while true {
            at = Scan.lineRun(in: bytes, from: at, to: UInt8(ascii: "]")).end
            guard at < bytes.count else { break }
            let byte = bytes[at]
            if byte == ASCII.tab || byte == ASCII.lineFeed || byte == ASCII.carriageReturn && rules.keepsLineEnds {
                at += 1
            } else {
                break
            }
        }
        try checkRun(at)
        if at > start { return text(start, at) }
        switch bytes[at] {
        case UInt8(ascii: "]"):
            matched = 1
            at += 1
            return nil
        case ASCII.carriageReturn: return readLineEnd(bytes, &at)
        default: throw stop(.character, at)
        }
    }

    /// Goes on in a comment, whose text is left out.
    mutating func readComment(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) {
        while at < bytes.count {
            if matched == 0 {
                at = Scan.lineRun(in: bytes, from: at, to: UInt8(ascii: "-")).end
                guard at < bytes.count else { break }
            }
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: "-") {
                if matched == 2, !rules.takesStrayEnds { throw stop(.syntax, at - 3) }
                matched = min(2, matched + 1)
            } else if byte == UInt8(ascii: ">"), matched == 2 {
                try checkRun(at)
                matched = 0
                state = .content
                return
            } else {
                if matched == 2, !rules.takesStrayEnds { throw stop(.syntax, at - 3) }
                matched = 0
                if byte < 0x20, !byte.isXMLSpace { throw stop(.character, at - 1) }
            }
        }
        try checkRun(at)
    }

    /// Checks the length of the comment or section up to index `at`.
    mutating func checkRun(_ at: Int) throws(Stop) {
        guard offset + at - tokenStart > rules.runLimit else { return }
        throw Stop(reason: .length(limit: rules.runLimit), at: tokenStart + rules.runLimit)
    }
}
