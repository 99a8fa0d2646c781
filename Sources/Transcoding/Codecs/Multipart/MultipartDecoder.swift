internal import Octets

extension Multipart {
    /// Reads multipart/form-data into fields and files, as the bytes arrive.
    ///
    /// The grammar is that of RFC 2046 §5.1.1 and RFC 7578, read strictly so that no other parser can read the same
    /// bytes in another way: a line that begins with the boundary and goes on with anything but spaces, or two hyphens and behind
    /// them anything but spaces, is refused, and so is a boundary in the preamble's middle or one that shares the line end of
    /// the headers. Preamble and epilogue are discarded. A part with a filename, or of one of `options.fileTypes`, is a file; the others
    /// are text, which is handed on in UTF-8: read in the charset that the part declares, or else that of `options.charsets`
    /// (`invalidUTF8`).
    /// `charsetHint`, `transferEncoding` and `mixed` say what else is read of a content.
    ///
    /// Content of any size passes in pieces, on the place where it lies in the input; nothing of it is held but whether
    /// the last slice ended with the start of a delimiter. What is held of a part are its headers. Limits: `parts`,
    /// `fields`, `key`, `partHeaders`, `partHeaderLine`, `partHeaderBytes`, `preamble`, and 16 parameters of a
    /// Content-Disposition.
    ///
    /// Errors carry the offset of the byte at fault, of the header line where that is at fault, or of the end of a body
    /// that is cut off; and the name of the part once it is known. After an error every call throws it again until
    /// `reset`.
    public struct Decoder: FieldDecoder, ~Copyable {
        private enum State {
            /// Before the first boundary; goes to `delimiterEnd`.
            case preamble
            /// Behind a boundary; goes to `headers` or `epilogue`.
            case delimiterEnd(DelimiterEnd)
            /// In the header lines of a part; goes to `content`.
            case headers
            /// In the content of a part; goes to `delimiterEnd`.
            case content
            /// Behind the final boundary; the body may end.
            case epilogue
        }

        private enum DelimiterEnd {
            /// Right behind the boundary: a hyphen, a space or a carriage return.
            case start
            /// Behind the second hyphen: a space or a line end, also a bare line feed, or nothing more.
            case hyphens
            /// Behind that many spaces and tabs: another one or a carriage return.
            case padding(Int)
            case carriageReturn
            case hyphen
        }

        /// Spaces and tabs that may stand between a boundary and its line end: what the most lenient peers allow.
        private static let maximumPadding = 16

        let options: FieldDecodingOptions
        let limits: Limits
        private var state = State.preamble
        private var failure: ConversionError?
        /// Bytes taken in earlier calls, and before this body where it stands in a part of another one.
        private var consumed = 0
        private var start = 0
        /// Where the delimiter begins that was read last, behind the line end in front of it.
        private var delimiterStart = 0
        private(set) var parts = 0
        private var partsBefore = 0
        private var fields = 0

        private var search: BoundarySearch
        /// Where the preamble's current line begins, and how far the body consists of empty lines only.
        private var lineStart = 0
        private var emptyLinesEnd = 0
        private var followsCarriageReturn = false
        private var hasPreamble = false

        private var scanner: ContentScanner
        private(set) var headers: PartHeaders
        var headReader = PartHeadReader()
        var head = PartHead()
        var validator = UTF8Validator()
        var repair: UTF8Repair?
        var mended: [UInt8] = []
        /// The charset that the Content-Type of the body names.
        private(set) var declaredCharset: Charset?
        /// Whether text that names no charset is in another one than UTF-8.
        var hasTextCharset = false
        /// The charset that a field `_charset_` names.
        private(set) var hintedCharset: Charset?
        /// How the content of the part at hand is read where it isn't handed on as it comes.
        var reading: ContentReading?
        /// Whether the part at hand, which has an empty filename, hasn't begun for the sink: it says whether there is content.
        private var waitsForContent = false
        var unused: ContentReading?

        /// A decoder of one body under `options` (`invalidUTF8`) and `limits`.
        public init(boundary: Boundary, options: FieldDecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            self.search = BoundarySearch(boundary: boundary)
            self.scanner = ContentScanner(boundary: boundary)
            self.headers = PartHeaders(limits: limits)
            self.repair = options.repair
            headReader.decodesTransfer = options.transferEncoding == .decode
            headReader.mixed = options.mixed
            headReader.filenames = options.filenames
            headReader.fileTypes = options.fileTypes
            headReader.quoting = NameQuoting(options.dialect)
            updateCharset()
        }

        /// A decoder of a body that stands in a part of another one, from the byte `start` of that on; every part of it is a
        /// file under `name`. `parts` have come before.
        internal init(
            nested boundary: Boundary, named name: ByteStore, from start: Int, after parts: Int,
            options: FieldDecodingOptions, limits: Limits
        ) {
            self.init(boundary: boundary, options: options, limits: limits)
            self.start = start
            self.parts = parts
            partsBefore = parts
            (consumed, lineStart, emptyLinesEnd) = (start, start, start)
            headReader.outerName = name
        }

        /// Whether the content of a part that declares another charset passes as it is, for a sink that does nothing with
        /// content but write it into a part with the same Content-Type.
        internal var passesCharsets: Bool {
            get { headReader.passesCharsets }
            set { headReader.passesCharsets = newValue }
        }

        /// Whether a file that came without a filename goes on without one: for a sink that writes names as they came.
        internal var passesUnnamed: Bool {
            get { headReader.passesUnnamed }
            set { headReader.passesUnnamed = newValue }
        }

        /// Makes the decoder as new for another body, with its allocations kept.
        public mutating func reset(boundary: Boundary) {
            state = .preamble
            failure = nil
            consumed = 0
            delimiterStart = 0
            parts = 0
            fields = 0
            search.setBoundary(boundary)
            lineStart = 0
            emptyLinesEnd = 0
            followsCarriageReturn = false
            hasPreamble = false
            scanner.setBoundary(boundary)
            headers.begin(at: 0)
            headReader.forgetNames()
            head.removeAll()
            waitsForContent = false
            validator = UTF8Validator()
            repair = options.repair
            if declaredCharset != nil || hintedCharset != nil { setCharsets(declared: nil, hinted: nil) }
            endReading()
        }

        /// Says in which charset the texts are that name none.
        internal mutating func setCharsets(declared: Charset?, hinted: Charset?) {
            declaredCharset = declared
            hintedCharset = hinted
            updateCharset()
        }

        /// Takes the next bytes; see `EventDecoder`. Content goes on as it arrives.
        public mutating func feed<Sink: FieldSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            if let failure { throw failure }
            var at = 0
            do throws(ConversionError) {
                while at < input.count {
                    var sentEvent = false
                    switch state {
                    case .preamble: try readPreamble(input, &at)
                    case .delimiterEnd(let end): try readDelimiterEnd(end, input[at], &at)
                    case .headers: sentEvent = try readHeaders(input, &at, into: &sink)
                    case .content: sentEvent = try readContent(input, &at, into: &sink)
                    case .epilogue: try readEpilogue(input, &at)
                    }
                    if sentEvent && sink.isFull { break }
                }
            } catch {
                failure = error
                throw error
            }
            consumed += at
            return at
        }

        /// Says that the body has ended. Sends no event; throws unless the final boundary has come.
        public mutating func finish<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            if let failure { throw failure }
            switch state {
            case .epilogue, .delimiterEnd(.hyphens): return
            case .preamble: throw Fault.boundaryNotFound.error(offset: consumed)
            case .delimiterEnd, .headers, .content: throw fault(.truncated, at: consumed)
            }
        }
    }
}

// MARK: Delimiters

extension Multipart.Decoder {
    /// Reads up to the end of the first boundary, which must begin a line.
    private mutating func readPreamble(_ input: Span<UInt8>, _ at: inout Int) throws(ConversionError) {
        while at < input.count {
            let byte = input[at]
            at += 1
            let offset = consumed + at
            if search.advance(byte) {
                let start = offset - search.count
                guard start == lineStart else { throw Multipart.Fault.boundaryInLine.error(offset: start) }
                hasPreamble = start != emptyLinesEnd
                delimiterStart = start
                search.restart()
                state = .delimiterEnd(.start)
                return
            }
            guard offset - start - search.matched <= limits.preamble else {
                throw .limit(
                    "preamble", of: limits.preamble, what: "the length of the preamble",
                    offset: start + limits.preamble)
            }
            if byte == ASCII.lineFeed, followsCarriageReturn {
                if lineStart == emptyLinesEnd, offset == lineStart + 2 { emptyLinesEnd = offset }
                lineStart = offset
            }
            followsCarriageReturn = byte == ASCII.carriageReturn
        }
    }

    private mutating func readDelimiterEnd(
        _ end: DelimiterEnd, _ byte: UInt8, _ at: inout Int
    ) throws(ConversionError) {
        switch (end, byte) {
        case (.start, ASCII.carriageReturn), (.padding, ASCII.carriageReturn): state = .delimiterEnd(.carriageReturn)
        case (.start, ASCII.space), (.start, ASCII.tab): state = .delimiterEnd(.padding(1))
        case (.padding(let count), ASCII.space) where count < Self.maximumPadding,
            (.padding(let count), ASCII.tab) where count < Self.maximumPadding:
            state = .delimiterEnd(.padding(count + 1))
        case (.start, UInt8(ascii: "-")): state = .delimiterEnd(.hyphen)
        case (.hyphen, UInt8(ascii: "-")):
            guard parts > partsBefore || !hasPreamble else { throw fault(.endAfterPreamble, at: consumed + at) }
            state = .delimiterEnd(.hyphens)
        case (.hyphens, ASCII.space), (.hyphens, ASCII.tab), (.hyphens, ASCII.carriageReturn),
            (.hyphens, ASCII.lineFeed):
            // The byte is the epilogue's first.
            state = .epilogue
            return
        case (.carriageReturn, ASCII.lineFeed): try beginHeaders(at: consumed + at + 1)
        default: throw fault(.delimiter, at: consumed + at)
        }
        at += 1
    }

    private mutating func beginHeaders(at offset: Int) throws(ConversionError) {
        guard parts < limits.parts else {
            throw .limit("parts", of: limits.parts, what: "the number of parts", offset: offset)
        }
        parts += 1
        head.removeAll()
        headers.begin(at: offset)
        state = .headers
    }

    /// Discards what follows the final boundary. Without a part before it, that must not be one.
    private mutating func readEpilogue(_ input: Span<UInt8>, _ at: inout Int) throws(ConversionError) {
        if parts == partsBefore {
            while at < input.count {
                let byte = input[at]
                at += 1
                if search.advance(byte) {
                    throw Multipart.Fault.partAfterEnd.error(offset: consumed + at - search.count)
                }
            }
        }
        at = input.count
    }

    /// How much of the body has been handed on, or passed over: up to where a head or a delimiter begins of which not all has come, or
    /// behind the content so far. Nil where that can't be told: before the first delimiter, and in a content that is decoded.
    internal var handedCount: Int? {
        switch state {
        case .preamble: nil
        case .delimiterEnd, .headers, .epilogue: delimiterStart
        // At its start the line end of the head counts as the beginning of a delimiter.
        case .content: reading != nil ? nil : waitsForContent ? delimiterStart : consumed - scanner.heldCount
        }
    }

    /// The length of the boundary.
    internal var boundaryLength: Int { search.count - 2 }

    /// An error with the name of the part at hand, or of the one just read.
    func fault(_ fault: Multipart.Fault, at offset: Int) -> ConversionError {
        fault.error(offset: offset, field: hasHead ? head.name.lossyString() : nil)
    }

    private var hasHead: Bool {
        switch state {
        case .content: true
        case .delimiterEnd: parts > partsBefore
        case .preamble, .headers, .epilogue: false
        }
    }
}

// MARK: Parts

extension Multipart.Decoder {
    /// Goes on counting where a body in a part has ended.
    mutating func count(partsSoFar count: Int) { parts = count }

    /// Reads on in the headers. Returns whether it has sent an event, which is their end.
    private mutating func readHeaders<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if headers.isUntouched, let end = headReader.readUsual(input, from: at, limits: limits, into: &head) {
            at = end
        } else {
            guard try headers.read(input, &at, base: consumed) else { return false }
            for field in headers.fields where headers.begins(field, with: scanner.delimiter, from: 2) {
                throw Multipart.Fault.delimiterInHeaders.error(offset: field.offset)
            }
            try headReader.read(headers, repair: repair, limits: limits, into: &head)
        }
        if !head.isFile {
            guard fields < limits.fields else {
                throw .limit(
                    "fields", of: limits.fields, what: "the number of fields", offset: headers.offset,
                    field: head.name.lossyString())
            }
            fields += 1
        }
        scanner.begin()
        state = .content
        head.place = delimiterStart..<consumed + at
        guard try beginReading(at: consumed + at) else { return false }
        waitsForContent = head.hasFilename && head.filename.isEmpty && reading == nil
        if waitsForContent { return false }
        try sink.beginPart(head)
        return true
    }

    /// Reads on in the content. Returns whether it has sent an event.
    private mutating func readContent<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if waitsForContent, let isEmpty = isContentEmpty(input, at) {
            waitsForContent = false
            head.isUnchosen = isEmpty
            try sink.beginPart(head)
            return true
        }
        let start = consumed + at - scanner.matched
        switch scanner.next(in: input, from: &at) {
        case .content(let range):
            return try send(
                input.extracting(range), offset: consumed + range.lowerBound, isLast: false, into: &sink)
        case .held(let range):
            // The array moves out for the call: a method of self can't be given a span into self.
            let delimiter = scanner.delimiter
            return try send(
                delimiter.span.extracting(range), offset: start + range.lowerBound, isLast: false, into: &sink)
        case .delimiter(let range):
            state = .delimiterEnd(.start)
            delimiterStart = consumed + at - (scanner.delimiter.count - 2)
            let offset = consumed + at - scanner.delimiter.count - range.count
            return try send(input.extracting(range), offset: offset, isLast: true, into: &sink)
        case .glued: throw fault(.delimiterGlued, at: consumed + at - scanner.delimiter.count + 2)
        }
    }

    /// Whether the content at hand is empty, of which nothing was handed on; nil while all that came may begin the delimiter.
    private func isContentEmpty(_ input: Span<UInt8>, _ at: Int) -> Bool? {
        let delimiter = scanner.delimiter
        let matched = consumed + at - head.place.upperBound
        for position in matched..<delimiter.count {
            let index = at + position - matched
            guard index < input.count else { return nil }
            guard input[index] == delimiter[position] else { return false }
        }
        return true
    }

    /// Hands a piece of content on; `offset` is where it stands in the body. Returns whether that was an event: an
    /// empty piece is none, unless it is the last.
    private mutating func send<Sink: FieldSink & ~Copyable>(
        _ piece: Span<UInt8>, offset: Int, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        guard isLast || !piece.isEmpty else { return false }
        if reading != nil { return try sendRead(piece, offset: offset, isLast: isLast, into: &sink) }
        return try hand(on: piece, offset: offset, isLast: isLast, into: &sink)
    }

    /// Text that isn't UTF-8. What a part's type calls no text isn't to be mended as one.
    private func invalidText(at offset: Int) -> ConversionError {
        var error = Multipart.Fault.invalidUTF8.error(offset: offset, field: head.name.lossyString())
        if head.hasMediaType, !ContentType.isText(head.mediaType) { error.setting = "file_types" }
        return error
    }

    /// Hands on bytes as they are, where that is text.
    mutating func hand<Sink: FieldSink & ~Copyable>(
        on piece: Span<UInt8>, offset: Int, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if head.isFile || headReader.isOpaqueText {
            try sink.content(piece, isLast: isLast)
            return true
        }
        if repair == nil {
            if let index = validator.firstFault(in: piece, isLast: isLast) {
                // What the sink refuses of the text in front of it comes first, however they are cut.
                if index > 0 { try sink.content(piece.extracting(0..<index), isLast: false) }
                throw invalidText(at: place(offset, index))
            }
            try sink.content(piece, isLast: isLast)
            return true
        }
        mended.removeAll(keepingCapacity: true)
        repair?.append(piece, to: &mended)
        if isLast { repair?.finish(to: &mended) }
        guard isLast || !mended.isEmpty else { return false }
        try sink.content(mended.span, isLast: isLast)
        return true
    }
}
