internal import Octets

extension XML {
    /// Reads an XML document in UTF-8, and emits its events when it has ended, since only then it is known which
    /// elements are arrays.
    ///
    /// libxml2 checks that the document is well-formed; see `TokenScan` for what is looked at before. A DOCTYPE,
    /// entities besides the five, and other encodings are refused. Comments and processing instructions are left out,
    /// by this rule.
    ///
    /// Errors are `XML.Fault`s and the limits `depth` (open elements), `field` (an element's text, an attribute's
    /// value), `key`, `number`, `tree` (the document as a tree, and one tag, comment or CDATA section in its bytes),
    /// and the options' `attributeLimit` and `nameLimit`. Each has the offset from the start of the body and the path
    /// of the element. After an error the decoder takes nothing until `reset()`.
    ///
    /// Time is linear in the bytes. Memory is the tree, and a block of 4 KiB or one token.
    public struct Decoder: EventDecoder, ~Copyable {
        private enum State {
            /// Next: `reading`.
            case start
            /// Next: `ended`, `failed`.
            case reading
            /// The tree is whole.
            case ended
            /// An error was thrown.
            case failed
        }

        /// Bytes that are gathered before they are parsed. It makes the blocks the same however the body is cut.
        private static var blockSize: Int { 4096 }
        /// Bytes of one token that libxml2 takes without asking for XML_PARSE_HUGE; its own limit is 10,000,000.
        private static var tokenLimit: Int { 8 * 1024 * 1024 }

        private let options: DecodingOptions
        private let limits: Limits
        private var state = State.start
        private var parser: Parser?
        private var scan: TokenScan
        private var validator = UTF8Validator()
        /// What libxml2 hasn't got yet.
        private var block = ByteStore()
        /// Where `block` begins in the body.
        private var blockOffset = 0
        /// The bytes of `block` that were scanned.
        private var scanned = 0
        /// The number of bytes in `block` at which it is parsed.
        private var target = Decoder.blockSize
        /// The bytes of a byte order mark.
        private var documentStart = 0
        private var knowsEncoding = false
        private var mustBeASCII = false
        /// Whether only white space has come.
        private var isBlank = true

        private var elements: ElementBuilder
        private var lossless: LosslessBuilder
        /// The document, whole after `close()`.
        private var tree: Tree

        public init(options: DecodingOptions = .init(), limits: Limits) {
            self.options = options
            self.limits = limits
            scan = TokenScan(attributeLimit: options.attributeLimit, tokenLimit: min(limits.tree, Self.tokenLimit))
            elements = ElementBuilder(options: options, limits: limits)
            lossless = LosslessBuilder(limits: limits)
            tree = Tree(limits: limits)
        }

        /// Makes the decoder ready for another body. Allocations of ordinary size are kept, libxml2's are given back.
        public mutating func reset() {
            state = .start
            parser = nil
            scan = TokenScan(attributeLimit: scan.attributeLimit, tokenLimit: scan.tokenLimit)
            validator = UTF8Validator()
            block.removeAll(keepingUpTo: 64 * 1024)
            blockOffset = 0
            scanned = 0
            target = Self.blockSize
            documentStart = 0
            knowsEncoding = false
            mustBeASCII = false
            isBlank = true
            elements.reset()
            lossless.reset()
            tree.removeAll()
        }

        /// Takes all of `input`; events come in `finish` only.
        public mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            try take(input)
            return input.count
        }

        /// Emits the document, whether the sink is full or not.
        public mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            try close()
            var walk = TreeWalk()
            walk.start(&tree, order: .input)
            var unpaused = UnpausedSink(sink)
            do throws(ConversionError) {
                _ = try walk.advance(&tree, into: &unpaused)
                sink = unpaused.sink
            } catch {
                sink = unpaused.sink
                throw error
            }
        }

        /// Says that the body has ended and puts the document where `tree` was, which must be empty. It has the same limit.
        internal mutating func finish(exchanging tree: inout Tree) throws(ConversionError) {
            try close()
            swap(&self.tree.duplicates, &tree.duplicates)
            swap(&self.tree, &tree)
        }

        /// Takes all of `input`.
        internal mutating func take(_ input: Span<UInt8>) throws(ConversionError) {
            var at = 0
            while at < input.count {
                let count = min(target - block.count, input.count - at)
                block.append(contentsOf: input.extracting(at..<at + count))
                at += count
                if block.count == target { try attempt(isLast: false) }
            }
        }

        /// Says that the body has ended. The tree is whole then.
        private mutating func close() throws(ConversionError) {
            try attempt(isLast: true)
            parser = nil
            state = .ended
        }

        private mutating func attempt(isLast: Bool) throws(ConversionError) {
            do throws(ConversionError) {
                if state == .start { try start() }
                precondition(state == .reading, "a decoder that has ended or failed was fed before its reset")
                try parseBlock(isLast: isLast)
                if isLast { try endDocument() }
            } catch {
                // libxml2's memory isn't kept for a document that nobody goes on with.
                parser = nil
                state = .failed
                throw error
            }
        }

        private mutating func start() throws(ConversionError) {
            if Declaration.isWide(block.span) { throw ConversionError(xml: .encoding, offset: 0) }
            if block.count >= 3, block.slice(0..<3).isEqual(to: "\u{FEFF}") {
                block.removeFirst(3)
                documentStart = 3
                blockOffset = 3
            }
            parser = Parser()
            guard parser != nil else { throw ConversionError(xml: .memory) }
            state = .reading
        }

        /// Gives libxml2 what is complete of the block.
        private mutating func parseBlock(isLast: Bool) throws(ConversionError) {
            // What a span points into stands in a local variable: a span of a property would borrow all of self.
            var block = ByteStore()
            swap(&block, &self.block)
            var end = block.count
            var failure: ConversionError?
            if let fault = validator.check(block.slice(scanned..<end)) {
                end = scanned + fault
                failure = ConversionError(xml: .invalidUTF8, offset: blockOffset + end)
            }
            do throws(TokenScan.Stop) {
                try scan.scan(block.span, from: scanned, to: end)
            } catch {
                failure = failureOf(error)
                end = error.at
            }
            let isWhole = isLast && failure == nil && scan.state == .text
            let cut = isWhole ? end : min(scan.complete(block.span, to: end), end)
            if isBlank {
                let first = Scan.endOfWhitespace(in: block.slice(0..<end), from: 0)
                isBlank = first == end
                guard isBlank || block[first] == UInt8(ascii: "<") else {
                    throw ConversionError(xml: .noRoot, offset: blockOffset + first)
                }
            }
            if cut > 0 {
                try checkEncoding(block.slice(0..<cut))
                try parse(block.slice(0..<cut), isLast: false)
            }
            if var failure {
                // Only now it is known which elements are open.
                failure.field = field
                throw failure
            }
            block.removeFirst(cut)
            scan.forget(cut)
            blockOffset += cut
            scanned = block.count
            target = block.count + Self.blockSize
            swap(&block, &self.block)
        }

        private mutating func checkEncoding(_ bytes: Span<UInt8>) throws(ConversionError) {
            if !knowsEncoding {
                knowsEncoding = true
                switch Declaration.encoding(bytes) {
                case .utf8: break
                case .ascii: mustBeASCII = true
                case .other: throw ConversionError(xml: .encoding, offset: documentStart)
                }
            }
            guard mustBeASCII else { return }
            for at in bytes.indices where bytes[at] >= 0x80 {
                throw ConversionError(xml: .encodingMismatch, offset: blockOffset + at, field: field)
            }
        }

        /// Gives libxml2 the first bytes of the block, or the end, and builds what it says.
        private mutating func parse(_ bytes: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            // An error leaves the decoder without its parser, whose memory is given back at once.
            guard var parser = self.parser.take() else { preconditionFailure("a decoder without a parser") }
            let fault = parser.parse(bytes, isLast: isLast)
            try build(parser.records)
            if let fault {
                throw ConversionError(xml: fault, offset: documentStart + parser.faultOffset, field: field)
            }
            self.parser = consume parser
        }

        private mutating func endDocument() throws(ConversionError) {
            let length = blockOffset + block.count
            if isBlank, scan.state == .text { throw ConversionError(xml: .emptyBody, offset: length) }
            guard scan.state == .text, validator.isComplete, !isOpen else {
                throw ConversionError(xml: .unexpectedEnd, offset: length, field: field)
            }
            do throws(ConversionError) {
                try parse(Span(), isLast: true)
            } catch {
                // libxml2 has one code for too much and for too little.
                let isShort = error.code == Fault.trailingData.code && tree.root == Tree.none
                throw isShort ? ConversionError(xml: .unexpectedEnd, offset: length) : error
            }
            guard tree.root != Tree.none, !isOpen else { throw ConversionError(xml: .unexpectedEnd, offset: length) }
        }

        /// Takes libxml2's records into the tree.
        private mutating func build(_ records: Span<UInt8>) throws(ConversionError) {
            var at = 0
            while at < records.count {
                let record = Parser.record(records, at: at)
                at = record.end
                do throws(ConversionError) {
                    try build(record.kind, records.extracting(record.start..<record.end))
                } catch {
                    var error = error
                    error.offset = blockOffset + record.offset
                    if error.field == nil { error.field = field }
                    throw error
                }
            }
        }

        private mutating func build(_ kind: Parser.Kind, _ bytes: Span<UInt8>) throws(ConversionError) {
            if kind == .start || kind == .attribute { try checkName(bytes, kind) }
            if options.convention == .lossless {
                switch kind {
                case .start: try lossless.begin(bytes, tree: &tree)
                case .attribute: lossless.beginAttribute(bytes)
                case .value: try lossless.endAttribute(bytes)
                case .text: try lossless.addText(bytes, tree: &tree)
                case .end: try lossless.end(tree: &tree)
                }
            } else {
                switch kind {
                case .start: try elements.begin(bytes, tree: &tree)
                case .attribute: elements.beginAttribute(bytes)
                case .value: try elements.endAttribute(bytes, tree: &tree)
                case .text: try elements.addText(bytes, tree: tree)
                case .end: try elements.end(tree: &tree)
                }
            }
        }

        /// Whether an element is open.
        private var isOpen: Bool { options.convention == .lossless ? lossless.isOpen : elements.isOpen }

        private func checkName(_ name: Span<UInt8>, _ kind: Parser.Kind) throws(ConversionError) {
            if kind == .start {
                guard elements.path.count < limits.depth, lossless.path.count < limits.depth else {
                    throw .limit("depth", of: limits.depth, what: "the nesting of the document")
                }
            }
            guard name.count <= limits.key else { throw .limit("key", of: limits.key, what: "a name") }
            guard name.count <= options.nameLimit else {
                throw ConversionError(
                    .limit, code: "limit_xml_name",
                    reason: "the name of an element or attribute passes \(options.nameLimit) bytes")
            }
        }

        private func failureOf(_ stop: TokenScan.Stop) -> ConversionError {
            let offset = blockOffset + stop.at
            switch stop.reason {
            case .fault(let fault): return ConversionError(xml: fault, offset: offset)
            case .attributes:
                return ConversionError(
                    .limit, code: "limit_xml_attributes",
                    reason: "an element has more than \(options.attributeLimit) attributes", offset: offset)
            case .token:
                return .limit("tree", of: scan.tokenLimit, what: "one tag, comment or CDATA section", offset: offset)
            }
        }

        /// The open elements' names.
        private var field: String? { options.convention == .lossless ? lossless.path.text() : elements.path.text() }
    }
}
