internal import Octets

extension PlainText {
    /// Reads a text as a document: one string, or an object with the text as its only member.
    ///
    /// The text must be UTF-8; every byte of it counts, a line break at its end too. An empty body is an empty string.
    package struct Decoder: EventDecoder, ~Copyable {
        private let field: [UInt8]?
        private var validator = UTF8Validator()
        private var offset = 0
        private var hasBegun = false

        /// - Parameter field: the name of the member that the text becomes; nil: the document is the string itself.
        package init(field: String? = nil) {
            self.field = field.map { Array($0.utf8) }
        }

        /// Makes the decoder as new for another body.
        package mutating func reset() {
            validator = UTF8Validator()
            offset = 0
            hasBegun = false
        }

        package mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            try begin(into: &sink)
            if let fault = validator.check(input) {
                // What the sink refuses of the text in front of it comes first, however they are cut.
                if fault > 0 { try sink.string(input.extracting(0..<fault), isLast: false) }
                throw Fault.invalidUTF8.error(offset: offset + fault)
            }
            offset += input.count
            if !input.isEmpty { try sink.string(input, isLast: false) }
            return input.count
        }

        package mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            try begin(into: &sink)
            guard validator.isComplete else { throw Fault.invalidUTF8.error(offset: offset) }
            try sink.string(Span(), isLast: true)
            if field != nil { try sink.endObject() }
        }

        private mutating func begin<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            guard !hasBegun else { return }
            hasBegun = true
            guard let field else { return }
            try sink.beginObject()
            try sink.key(field.span)
        }
    }
}
