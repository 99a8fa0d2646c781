internal import Octets

extension XML {
    /// Builds the tree of a document from its tokens, and says where and why it can't.
    internal struct Document: ~Copyable {
        private let options: DecodingOptions
        private let limits: Limits
        // Copies of what is asked for each token: reading one part of the options may copy all of them.
        private let isLossless: Bool
        private let depthLimit: Int
        private let nameLimit: Int
        private var elements: ElementBuilder
        private var lossless: LosslessBuilder
        /// The document, whole after the last token.
        internal var tree: Tree

        internal init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            isLossless = options.convention == .lossless
            depthLimit = limits.depth
            nameLimit = min(limits.key, options.nameLimit)
            elements = ElementBuilder(options: options, limits: limits)
            lossless = LosslessBuilder(limits: limits)
            tree = Tree(limits: limits)
        }

        internal mutating func reset() {
            elements.reset()
            lossless.reset()
            tree.removeAll()
        }

        /// Takes the tokens of the next bytes, all of which are read.
        internal mutating func read(
            _ bytes: Span<UInt8>, with tokenizer: inout Tokenizer
        ) throws(ConversionError) {
            tokenizer.begin(bytes)
            var at = 0
            while let token = try next(bytes, &at, with: &tokenizer) {
                do throws(ConversionError) {
                    try take(token, bytes, &tokenizer)
                } catch {
                    var error = error
                    if error.offset == nil { error.offset = tokenizer.eventOffset }
                    if error.field == nil { error = error.at(pointer: place) }
                    throw error
                }
            }
            do throws(Tokenizer.Stop) {
                try tokenizer.end(at)
            } catch {
                throw failure(error)
            }
        }

        @inline(__always)
        private mutating func next(
            _ bytes: Span<UInt8>, _ at: inout Int, with tokenizer: inout Tokenizer
        ) throws(ConversionError) -> Tokenizer.Token? {
            do throws(Tokenizer.Stop) {
                return try tokenizer.next(bytes, &at)
            } catch {
                throw failure(error)
            }
        }

        private mutating func take(
            _ token: Tokenizer.Token, _ bytes: Span<UInt8>, _ tokenizer: inout Tokenizer
        ) throws(ConversionError) {
            switch token {
            case .start:
                guard tokenizer.isBuffered else { return try start(bytes, &tokenizer) }
                // A copy that shares the memory: a span of the property would borrow all of the tokenizer.
                let buffered = tokenizer.buffered
                try start(buffered.span, &tokenizer)
            case .end: try end()
            case .text: try text(bytes.extracting(tokenizer.textRange))
            case .replacement: try text(tokenizer.replacement.span)
            case .section, .declaration, .documentType: break
            }
        }

        /// Takes a start tag: declarations of namespaces come before other attributes.
        private mutating func start(
            _ tag: Span<UInt8>, _ tokenizer: inout Tokenizer
        ) throws(ConversionError) {
            let name = tag.extracting(tokenizer.name)
            guard tokenizer.depth <= depthLimit else {
                throw .limit("depth", of: limits.depth, what: "the nesting of the document")
            }
            try checkLength(name)
            if isLossless { try lossless.begin(name, tree: &tree) } else { try elements.begin(name, tree: &tree) }
            guard tokenizer.attributes.count > 0 else { return }
            for declares in [true, false] {
                for attribute in tokenizer.attributes where attribute.isDeclaration == declares {
                    let name = tag.extracting(attribute.nameStart..<attribute.nameEnd)
                    try checkLength(name)
                    let range = attribute.valueStart..<attribute.valueEnd
                    if attribute.isChanged {
                        let values = tokenizer.values
                        try take(name, values.slice(range))
                    } else {
                        try take(name, tag.extracting(range))
                    }
                }
            }
        }

        private mutating func take(_ attribute: Span<UInt8>, _ value: Span<UInt8>) throws(ConversionError) {
            if isLossless { return try lossless.attribute(attribute, value) }
            try elements.attribute(attribute, value, tree: &tree)
        }

        private mutating func end() throws(ConversionError) {
            if isLossless { try lossless.end(tree: &tree) } else { try elements.end(tree: &tree) }
        }

        private mutating func text(_ piece: Span<UInt8>) throws(ConversionError) {
            if isLossless { try lossless.addText(piece, tree: &tree) } else { try elements.addText(piece, tree: tree) }
        }

        private mutating func checkLength(_ name: Span<UInt8>) throws(ConversionError) {
            guard name.count > nameLimit else { return }
            guard name.count <= limits.key else { throw .limit("key", of: limits.key, what: "a name") }
            throw .xmlName(options.nameLimit)
        }

        /// The error that stands for what is wrong with the document itself.
        internal func failure(_ stop: Tokenizer.Stop) -> ConversionError {
            switch stop.reason {
            case .fault(let fault), .reference(let fault), .declaration(let fault):
                return fault.error(offset: stop.at, pointer: place)
            case .attributes:
                return ConversionError(
                    .limit, code: "limit_xml_attributes",
                    reason: "an element has more than \(options.attributeLimit) attributes", offset: stop.at
                ).at(pointer: place)
            case .instructions:
                return .xmlInstructions(options.instructionLimit, offset: stop.at, pointer: place)
            case .namespaces:
                return ConversionError.limit(
                    "tree", of: limits.tree, what: "the namespaces that are declared at a time", offset: stop.at
                ).at(pointer: place)
            case .length(let limit):
                return ConversionError.limit(
                    "tree", of: limit, what: "one tag, comment or CDATA section", offset: stop.at
                ).at(pointer: place)
            }
        }

        /// The open elements' names.
        private var place: String? { isLossless ? lossless.path.text() : elements.path.text() }
    }
}

extension ConversionError {
    /// The name of an element or an attribute that comes in, or would go out, has more than `limit` bytes.
    internal static func xmlName(_ limit: Int, pointer: String? = nil) -> ConversionError {
        ConversionError(
            .limit, code: "limit_xml_name", reason: "the name of an element or attribute passes \(limit) bytes"
        ).at(pointer: pointer)
    }

    /// A document has more than `limit` processing instructions.
    internal static func xmlInstructions(_ limit: Int, offset: Int, pointer: String?) -> ConversionError {
        ConversionError(
            .limit, code: "limit_xml_instructions",
            reason: "the document has more than \(limit) processing instructions", offset: offset
        ).at(pointer: pointer)
    }
}
