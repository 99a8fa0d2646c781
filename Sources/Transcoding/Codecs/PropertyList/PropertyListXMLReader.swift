internal import Octets

extension PropertyList {
    /// Reads an XML property list as it arrives: `XML.Tokenizer`'s tokens as the small grammar of Apple's PropertyList-1.0 DTD.
    /// No document type is read, no entity is expanded but the five, nothing is fetched.
    ///
    /// Memory is the names on the path, one name, number, date or `data`, and 1 KiB of text.
    struct XMLReader: ~Copyable {
        /// Bytes of a tag, a document type or an instruction.
        static var tagLimit: Int { 512 }

        private var tokenizer = XML.Tokenizer(
            rules: .init(
                keepsLineEnds: true, takesDocumentType: true, takesStrayEnds: true, takesSpaceFirst: true,
                tagLimit: tagLimit, runLimit: .max, attributeLimit: XML.attributeLimit,
                instructionLimit: XML.instructionLimit, namespaceLimit: tagLimit))
        private var elements: XMLElements

        init(options: DecodingOptions, limits: Limits) {
            elements = XMLElements(options: options, limits: limits)
        }

        mutating func reset() {
            tokenizer.reset()
            elements.reset()
        }

        mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            do throws(ConversionError) { return try read(input, into: &sink) } catch {
                try elements.sendBeforeFault(into: &sink)
                throw error
            }
        }

        private mutating func read<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            var at = 0
            tokenizer.begin(input)
            elements.offset = tokenizer.offset
            while let token = try nextToken(input, &at) {
                elements.markupOffset = tokenizer.tokenStart
                if try elements.take(token, input, &at, &tokenizer, into: &sink) {
                    tokenizer.leave(at)
                    return at
                }
            }
            do throws(XML.Tokenizer.Stop) {
                try tokenizer.end(at)
            } catch {
                throw elements.failure(error, tokenizer)
            }
            return at
        }

        mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            do throws(XML.Tokenizer.Stop) {
                try tokenizer.finish()
            } catch {
                try elements.sendBeforeFault(into: &sink)
                throw elements.failure(error, tokenizer)
            }
        }

        @inline(__always)
        private mutating func nextToken(
            _ input: Span<UInt8>, _ at: inout Int
        ) throws(ConversionError) -> XML.Tokenizer.Token? {
            do throws(XML.Tokenizer.Stop) {
                return try tokenizer.next(input, &at)
            } catch {
                throw elements.failure(error, tokenizer)
            }
        }
    }

    /// What the tokens of an XML property list mean: one value, its containers and its leaves.
    struct XMLElements: ~Copyable {
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

        /// Text gathers up to this many bytes before it goes out as a piece.
        static var batch: Int { 1024 }
        /// A run of at least this many bytes goes out as a piece of the slice.
        static var longRun: Int { 128 }
        /// Bytes of the text of a date.
        static var dateLimit: Int { 64 }

        let options: DecodingOptions
        let limits: Limits

        var position = Position.prolog
        /// Bytes of the body before the slice that is being fed.
        var offset = 0
        var path: ReadingPath
        /// The element whose text is being read.
        var leaf: Element?
        /// Where the `<` or `&` of what is being read stands in the body.
        var markupOffset = 0
        /// Where the `<` of the open leaf, or of the key before a value, stands.
        var elementOffset = 0

        /// The text of a name, number or date, or of a string that has not gone out.
        var buffered = ByteStore()
        var base64 = Base64Decoder()
        var base64Count = 0
        var bytes = OutputBuffer()
        /// The text of a number as it goes out.
        var number: [UInt8] = []

        init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            path = ReadingPath(options.duplicates, limits: limits)
        }

        mutating func reset() {
            position = .prolog
            offset = 0
            path.removeAll()
            leaf = nil
            buffered.removeAll(keepingUpTo: 64 * 1024)
            base64 = Base64Decoder()
            bytes.removeAll()
            bytes.shrink(to: 64 * 1024)
        }

        /// Takes a token. Returns whether to return from `feed`; text that wasn't taken is then left at `at`.
        @inline(__always)
        mutating func take<Sink: EventSink & ~Copyable>(
            _ token: XML.Tokenizer.Token, _ input: Span<UInt8>, _ at: inout Int,
            _ tokenizer: inout XML.Tokenizer, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            switch token {
            case .text:
                at = tokenizer.textRange.lowerBound
                let end = tokenizer.textRange.upperBound
                if leaf == nil, tokenizer.isSpace {
                    at = end
                    return false
                }
                return try takeRun(to: end, input, at: &at, into: &sink)
            case .start:
                guard tokenizer.isBuffered else { return try start(input, &tokenizer, into: &sink) }
                // A copy that shares the memory: a span of the property would borrow all of the tokenizer.
                let buffered = tokenizer.buffered
                return try start(buffered.span, &tokenizer, into: &sink)
            case .end: return try endElement(into: &sink)
            case .replacement:
                guard takesText else { throw failure(.unexpectedText, from: markupOffset) }
                return try takeText(tokenizer.replacement.span, into: &sink)
            case .section:
                guard takesText else { throw failure(.unexpectedText, from: markupOffset) }
            case .declaration:
                guard tokenizer.isVersion10 else { throw failure(.invalidDeclaration, from: markupOffset) }
            case .documentType:
                let text = tokenizer.buffered.slice(9..<tokenizer.buffered.count - 1)
                guard Self.isAppleDocumentType(text) else { throw failure(.doctype, from: markupOffset) }
            }
            return false
        }

        /// Whether text stands in the open element that is more than white space.
        private var takesText: Bool { leaf != nil && leaf != .yes && leaf != .no }

        private mutating func start<Sink: EventSink & ~Copyable>(
            _ tag: Span<UInt8>, _ tokenizer: inout XML.Tokenizer, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            guard let element = Element(tag.extracting(tokenizer.name)) else {
                throw failure(.unknownElement, from: markupOffset)
            }
            if let attribute = tokenizer.attributes.first {
                let isVersion =
                    element == .plist && tokenizer.attributes.count == 1 && !attribute.isChanged
                    && tag.extracting(attribute.nameStart..<attribute.nameEnd).isEqual(to: "version")
                    && tag.extracting(attribute.valueStart..<attribute.valueEnd).isEqual(to: "1.0")
                guard isVersion else { throw failure(.attribute, from: markupOffset) }
            }
            return try beginElement(element, into: &sink)
        }

        // MARK: Errors

        /// The error `fault` at index `at` of the slice.
        func failure(_ fault: Fault, at: Int) -> ConversionError { failure(fault, from: offset + at) }

        /// The error `fault` in the markup or the text that began at `offset` of the body.
        func failure(_ fault: Fault, from offset: Int) -> ConversionError {
            fault.error(offset: offset, pointer: path.pointer)
        }

        func limitFailure(_ name: String, of value: Int, what: String, offset: Int) -> ConversionError {
            ConversionError.limit(name, of: value, what: what, offset: offset).at(pointer: path.pointer)
        }

        /// The error that stands for what is wrong with the XML.
        func failure(_ stop: XML.Tokenizer.Stop, _ tokenizer: borrowing XML.Tokenizer) -> ConversionError {
            let start = tokenizer.tokenStart
            switch stop.reason {
            case .reference: return failure(.invalidReference, from: start)
            case .declaration: return failure(.invalidDeclaration, from: start)
            case .attributes, .namespaces, .fault(.repeatedAttribute): return failure(.attribute, from: start)
            case .instructions:
                return .xmlInstructions(tokenizer.rules.instructionLimit, offset: stop.at, pointer: path.pointer)
            case .length: return failure(.invalidMarkup, from: stop.at)
            case .fault(.mismatch): return failure(.mismatchedTag, from: start)
            case .fault(.doctype): return failure(.doctype, from: start)
            case .fault(.emptyBody): return failure(.emptyBody, from: stop.at)
            case .fault(.unexpectedEnd): return failure(.unexpectedEnd, from: stop.at)
            case .fault(.trailingData): return failure(.trailingData, from: stop.at)
            case .fault(.noRoot):
                return failure(tokenizer.hasMarkup ? .unexpectedText : .unknownFormat, from: stop.at)
            case .fault(.invalidUTF8): return failure(.invalidUTF8, from: stop.at)
            case .fault(.character): return failure(.invalidCharacter, from: stop.at)
            case .fault(.encoding), .fault(.encodingMismatch): return failure(.unsupportedCharset, from: stop.at)
            case .fault: return failure(.invalidMarkup, from: stop.at)
            }
        }
    }
}

extension PropertyList.XMLElements.Element {
    @inline(__always)
    init?(_ name: Span<UInt8>) {
        switch name.count {
        case 3 where name.isEqual(to: "key"): self = .key
        case 4:
            if name.isEqual(to: "dict") {
                self = .dict
            } else if name.isEqual(to: "true") {
                self = .yes
            } else if name.isEqual(to: "real") {
                self = .real
            } else if name.isEqual(to: "date") {
                self = .date
            } else if name.isEqual(to: "data") {
                self = .data
            } else {
                return nil
            }
        case 5:
            if name.isEqual(to: "array") {
                self = .array
            } else if name.isEqual(to: "false") {
                self = .no
            } else if name.isEqual(to: "plist") {
                self = .plist
            } else {
                return nil
            }
        case 6 where name.isEqual(to: "string"): self = .string
        case 7 where name.isEqual(to: "integer"): self = .integer
        default: return nil
        }
    }
}
