internal import Octets

extension XML {
    /// Reads an XML document in UTF-8, and emits its events when it has ended, since only then it is known which
    /// elements are arrays.
    ///
    /// A document that isn't well-formed is refused, and so are a DOCTYPE, entities besides the five, and other encodings.
    /// Comments and processing instructions are left out, by this rule.
    ///
    /// Errors are `XML.Fault`s and the limits `depth` (open elements), `field` (an element's text, an attribute's
    /// value), `key`, `number`, `tree` (the document as a tree, and one tag, comment or CDATA section in its bytes),
    /// and the options' `attributeLimit`, `instructionLimit` and `nameLimit`. Each has the offset from the start of the
    /// body and the path of the element. After an error the decoder takes nothing until `reset()`: it throws the
    /// same again, and `xml_ended` behind the document's end.
    ///
    /// Time is linear in the bytes. Memory is the tree, and a block of 4 KiB or one token.
    public struct Decoder: EventDecoder, ~Copyable {
        /// Bytes that are gathered before they are read. It makes the pieces of text the same however the body is cut.
        private static var blockSize: Int { 4096 }

        private var tokenizer: Tokenizer
        private var block = ByteStore()
        private var document: Document
        /// Whether the document has ended, or an error was thrown.
        private var isDone = false
        /// What is thrown from there on.
        private var fault = ended
        private static var ended: ConversionError {
            ConversionError(
                .malformed, code: "xml_ended", reason: "bytes, or another end, came behind the document's end")
        }

        /// A decoder for a first body.
        ///
        /// - Parameter limits: `depth`, `field`, `key`, `number` and `tree` hold.
        public init(options: DecodingOptions = .init(), limits: Limits) {
            tokenizer = Tokenizer(
                rules: .init(
                    tagLimit: limits.tree, runLimit: limits.tree, attributeLimit: options.attributeLimit,
                    instructionLimit: options.instructionLimit, namespaceLimit: limits.tree))
            document = Document(options: options, limits: limits)
        }

        /// Makes the decoder ready for another body. Allocations of ordinary size are kept.
        public mutating func reset() {
            tokenizer.reset()
            block.removeAll()
            document.reset()
            if isDone { fault = Self.ended }
            isDone = false
        }

        /// Bytes of the document as far as it has come.
        internal var heldCount: Int { document.tree.cost + block.count }
        internal var allocatedCount: Int { document.tree.allocatedCount + block.count }

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
            walk.start(&document.tree, order: .input)
            _ = try walk.advance(&document.tree, into: &sink, pauses: false)
        }

        /// Says that the body has ended and puts the document where `tree` was, which must be empty. It has the same limit and observer.
        internal mutating func finish(exchanging tree: inout Tree) throws(ConversionError) {
            try close()
            swap(&document.tree.duplicates, &tree.duplicates)
            swap(&document.tree.observer, &tree.observer)
            swap(&document.tree, &tree)
        }

        /// Takes all of `input`.
        internal mutating func take(_ input: Span<UInt8>) throws(ConversionError) {
            var at = 0
            while at < input.count {
                let count = min(Self.blockSize - block.count, input.count - at)
                block.append(contentsOf: input.extracting(at..<at + count))
                at += count
                if block.count == Self.blockSize { try readBlock() }
            }
        }

        /// Says that the body has ended. The tree is whole then.
        private mutating func close() throws(ConversionError) {
            try readBlock()
            isDone = true
            do throws(Tokenizer.Stop) {
                try tokenizer.finish()
            } catch {
                fault = document.failure(error)
                throw fault
            }
        }

        private mutating func readBlock() throws(ConversionError) {
            if isDone { throw fault }
            isDone = true
            // What a span points into stands in a local variable: a span of a property would borrow all of self.
            var block = ByteStore()
            swap(&block, &self.block)
            do throws(ConversionError) {
                try document.read(block.span, with: &tokenizer)
            } catch {
                fault = error
                throw error
            }
            block.removeAll()
            swap(&block, &self.block)
            isDone = false
        }
    }
}
