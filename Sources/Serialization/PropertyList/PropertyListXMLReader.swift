internal import Octets

extension PropertyList {
    /// Reads an XML property list as it arrives: the small grammar of Apple's PropertyList-1.0 DTD and no more of XML than
    /// it needs. No document type is read, no entity is expanded but the five, nothing is fetched.
    ///
    /// Memory is the names on the path, one name, number, date or `data`, and 1 KiB of text.
    struct XMLReader: ~Copyable {
        /// What the next byte belongs to.
        enum State: UInt8 {
            /// Nothing has come; next: `content`, through `byteOrderMark` or not.
            case start
            case byteOrderMark
            /// Text, or white space between elements; next: `tag`, `reference`.
            case content
            /// After `<`; next: `content`, `bang`, `instruction`, `emptyContainer`.
            case tag
            /// Before the `>` of `<dict/>`, whose begin was sent.
            case emptyContainer
            /// After `<!`; next: `comment`, `characters`, `documentType`.
            case bang
            /// In these until their ends; next: `content`.
            case comment, characters, documentType, instruction, reference
        }

        /// The elements of a property list.
        enum Element: UInt8 {
            case plist, dict, array, key, string, integer, real, date, data, yes, no

            var isContainer: Bool { self == .dict || self == .array }
        }

        /// Where in the document the markup stands.
        enum Position: UInt8 {
            /// Before `<plist>`; next: `root`.
            case prolog
            /// Before the value; next: `inside`, `rootEnd`.
            case root
            /// In the value's containers; next: `rootEnd`.
            case inside
            /// Before `</plist>`; next: `epilog`.
            case rootEnd
            case epilog
        }

        /// Bytes of a tag, a document type or a declaration.
        static var tokenLimit: Int { 512 }
        /// Bytes between `&` and `;`.
        static var referenceLimit: Int { 16 }
        /// Text gathers up to this many bytes before it goes out as a piece.
        static var batch: Int { 1024 }
        /// A run of at least this many bytes goes out as a piece of the slice.
        static var longRun: Int { 128 }
        /// Bytes of the text of a date.
        static var dateLimit: Int { 64 }

        let options: DecodingOptions
        let limits: Limits

        var state = State.start
        var position = Position.prolog
        /// Bytes of the body before the slice that is being fed.
        var offset = 0
        /// Whether anything but white space has come.
        var hasMarkup = false
        var hasDocumentType = false
        var path = Path()
        /// The element whose text is being read.
        var leaf: Element?
        /// Where the `<` or `&` of what is being read stands in the body.
        var markupOffset = 0
        /// Where the `<` of the open leaf, or of the key before a value, stands.
        var elementOffset = 0

        /// The markup that is being read, from behind its `<`, `<!` or `&`.
        var token: [UInt8] = []
        /// Bytes of an end sign, a literal or a byte order mark that have come.
        var matched = 0

        /// The text of a name, number or date, or of a string that has not gone out.
        var held: [UInt8] = []
        var validator = UTF8Validator()
        /// Bytes of EF BF, which U+FFFE and U+FFFF begin with, that have come.
        var noncharacterBytes = 0
        var base64 = Base64Decoder()
        var base64Count = 0
        var bytes = OutputBuffer()
        /// The text of a number as it goes out.
        var number: [UInt8] = []

        /// The names of the open dictionaries, when they are looked at.
        var memberNames: JSON.MemberNames?
        /// The number of open containers around the member that is being left out, or -1.
        var mutedDepth = -1

        init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            if options.duplicates == .reject || options.duplicates == .first {
                memberNames = JSON.MemberNames(limit: limits.tree)
            }
        }

        mutating func reset() {
            state = .start
            position = .prolog
            offset = 0
            hasMarkup = false
            hasDocumentType = false
            path.removeAll()
            leaf = nil
            token.removeAll(keepingCapacity: true)
            matched = 0
            held.removeAll(keepingCapacity: true)
            validator = UTF8Validator()
            noncharacterBytes = 0
            base64 = Base64Decoder()
            bytes.removeAll()
            bytes.shrink(to: 64 * 1024)
            memberNames?.removeAll()
            mutedDepth = -1
        }

        var isMuted: Bool { mutedDepth >= 0 }

        mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            var at = 0
            while at < input.count {
                let stops: Bool
                switch state {
                case .start, .byteOrderMark: stops = try readByteOrderMark(input, at: &at)
                case .content: stops = try readContent(input, at: &at, into: &sink)
                case .tag: stops = try readTag(input, at: &at, into: &sink)
                case .emptyContainer:
                    at += 1
                    state = .content
                    stops = try closeContainer(into: &sink)
                case .bang: stops = try readBang(input, at: &at)
                case .comment: stops = readComment(input, at: &at)
                case .characters: stops = try readCharacters(input, at: &at, into: &sink)
                case .documentType: stops = try readDocumentType(input, at: &at)
                case .instruction: stops = try readInstruction(input, at: &at)
                case .reference: stops = try readReference(input, at: &at, into: &sink)
                }
                if stops { break }
            }
            offset += at
            return at
        }

        func finish() throws(ConversionError) {
            if position == .epilog, state == .content { return }
            let isEmpty = !hasMarkup && (state == .start || state == .content)
            throw failure(isEmpty ? .emptyBody : .unexpectedEnd, at: 0)
        }

        /// The error `fault` at index `at` of the slice.
        func failure(_ fault: Fault, at: Int) -> ConversionError {
            ConversionError(plist: fault, offset: offset + at, field: path.pointer)
        }

        /// The error `fault` in the markup or the text that began at `offset` of the body.
        func failure(_ fault: Fault, from offset: Int) -> ConversionError {
            ConversionError(plist: fault, offset: offset, field: path.pointer)
        }

        func limitFailure(_ name: String, of value: Int, what: String, offset: Int) -> ConversionError {
            .limit(name, of: value, what: what, offset: offset, field: path.pointer)
        }

        private mutating func readByteOrderMark(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) -> Bool {
            let byte = input[at]
            if matched == 0, byte == 0xFE || byte == 0xFF || byte == 0 { throw failure(.unsupportedCharset, at: at) }
            let expected: UInt8 = matched == 0 ? 0xEF : matched == 1 ? 0xBB : 0xBF
            if byte == expected {
                at += 1
                matched += 1
                state = matched == 3 ? .content : .byteOrderMark
            } else if matched == 0 {
                state = .content
            } else {
                throw failure(.unknownFormat, from: 0)
            }
            return false
        }

        private mutating func readContent<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            if leaf != nil { return try readText(input, at: &at, into: &sink) }
            at = Scan.endOfWhitespace(in: input, from: at)
            guard at < input.count else { return true }
            guard input[at] == UInt8(ascii: "<") else {
                guard hasMarkup else { throw failure(.unknownFormat, at: at) }
                throw failure(position == .epilog ? .trailingData : .unexpectedText, at: at)
            }
            return try beginMarkup(input, at: &at, into: &sink)
        }

        /// Takes the `<` at `at`, and the whole tag where the slice has it.
        @inline(__always)
        mutating func beginMarkup<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            markupOffset = offset + at
            let start = at + 1
            if start < input.count, input[start] == UInt8(ascii: "/") || ASCII.isAlpha(input[start]) {
                var end = start
                let bound = min(input.count, start + 32)
                while end < bound, input[end] != UInt8(ascii: ">"), input[end] != UInt8(ascii: "<") { end += 1 }
                if end < bound, input[end] == UInt8(ascii: ">") {
                    at = end
                    return try endTag(input.extracting(start..<end), at: &at, into: &sink)
                }
            }
            at = start
            state = .tag
            token.removeAll(keepingCapacity: true)
            return false
        }

        /// Goes on in a tag that the slice before ended in, or finds out that it is none.
        private mutating func readTag<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            if token.isEmpty {
                let byte = input[at]
                if byte == UInt8(ascii: "!") || byte == UInt8(ascii: "?") {
                    at += 1
                    state = byte == UInt8(ascii: "!") ? .bang : .instruction
                    matched = 0
                    return false
                }
                // The NUL behind the first `<` of UTF-16.
                if byte == 0, !hasMarkup { throw failure(.unsupportedCharset, at: at) }
                guard byte == UInt8(ascii: "/") || ASCII.isAlpha(byte) else { throw failure(.invalidMarkup, at: at) }
            }
            while at < input.count {
                let byte = input[at]
                if byte == UInt8(ascii: ">") {
                    // Taken out so that the span doesn't borrow the reader while it changes.
                    var text: [UInt8] = []
                    swap(&text, &token)
                    defer { swap(&text, &token) }
                    return try endTag(text.span, at: &at, into: &sink)
                }
                guard byte != UInt8(ascii: "<"), token.count < Self.tokenLimit else {
                    throw failure(.invalidMarkup, at: at)
                }
                token.append(byte)
                at += 1
            }
            return false
        }

        /// Takes a whole tag, whose `>` stands at `at`.
        @inline(__always)
        private mutating func endTag<Sink: EventSink & ~Copyable>(
            _ text: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            let tag: Tag
            switch Tag.read(text) {
            case .tag(let found): tag = found
            case .fault(let fault): throw failure(fault, from: markupOffset)
            }
            hasMarkup = true
            state = .content
            if tag.isEnd {
                at += 1
                return try endElement(tag.element, into: &sink)
            }
            let begins = try beginElement(tag.element, into: &sink)
            guard tag.isEmpty else {
                at += 1
                return begins
            }
            if tag.element.isContainer {
                // Two events: the `>` is left, so that the reader is asked again.
                state = .emptyContainer
                return begins
            }
            at += 1
            return try endElement(tag.element, into: &sink)
        }
    }
}
