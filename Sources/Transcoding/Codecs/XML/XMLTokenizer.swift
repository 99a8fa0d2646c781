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
            /// What stands between `<!DOCTYPE` and `>`, in `held`.
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
            /// After `<`, in `held`, while it isn't known what it begins.
            case markup
            /// In these, which are in `held` so far.
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
        internal var held = ByteStore()
        /// Whether `tag` is in `held` and not in the slice.
        internal var isHeld = false
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
            held.removeAll(keepingUpTo: 64 * 1024)
            isHeld = false
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
            try checkHeld()
            throw unreadable.stop
        }

        /// Leaves the rest of the slice for another time.
        internal mutating func leave(_ count: Int) { offset += count }

        /// Says that the body has ended.
        internal mutating func finish() throws(Stop) {
            try checkHeld()
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

        private mutating func makeUnreadable(from at: Int, _ fault: Fault, at place: Int) {
            if let unreadable, unreadable.at <= at { return }
            unreadable = (at, Stop(reason: .fault(fault), at: place))
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
                case .tag, .target, .declaration, .documentType: token = try readHeld(bytes, &at)
                case .reference: token = try readHeldReference(bytes, &at)
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
