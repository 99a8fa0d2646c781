package import Octets

extension PlainText {
    /// Writes a document that is one value as text: a string as it is, a number by its source text.
    ///
    /// With a `field`, the document is an object of which that member becomes the text; a further member is refused, since it
    /// would be lost. What text can't hold is refused with 422.
    package struct Encoder: EventSink, OutputEncoder, ~Copyable {
        private let field: [UInt8]?
        private let nulls: NullStyle
        private let booleans: BooleanStyle
        private var isInRoot = false
        private var isField = false
        private var hasValue = false
        package var output = OutputBuffer()

        /// - Parameters:
        ///   - field: the name of the member that becomes the text; nil: the document itself is the value.
        ///   - options: `nulls` and `booleans` hold; `nulls: omit` and `key` write nothing, as `empty` does.
        package init(field: String? = nil, options: FieldEncodingOptions = FieldEncodingOptions()) {
            self.field = field.map { Array($0.utf8) }
            nulls = options.nulls
            booleans = options.booleans
        }

        /// Makes the encoder as new for another document; output that waits is gone.
        package mutating func reset() {
            output.removeAll()
            isInRoot = false
            isField = false
            hasValue = false
        }

        package var isFull: Bool { output.isFull }

        package mutating func beginObject() throws(ConversionError) {
            guard field != nil, !isInRoot else { throw fault(.container) }
            isInRoot = true
        }

        package mutating func endObject() throws(ConversionError) {
            guard hasValue else { throw fault(.missingField) }
        }

        package mutating func beginArray() throws(ConversionError) { throw fault(.container) }
        package mutating func endArray() throws(ConversionError) {}

        package mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
            guard let field, !hasValue, name.isEqual(to: field.span) else {
                throw Fault.otherField.error(field: name.lossyString())
            }
            isField = true
        }

        package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            try begin()
            output.append(piece)
            if isLast { end() }
        }

        package mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try string(text, isLast: true) }

        package mutating func bool(_ value: Bool) throws(ConversionError) {
            try begin()
            switch booleans {
            case .literal: value ? output.append("true") : output.append("false")
            case .numeric: output.append(UInt8(ascii: value ? "1" : "0"))
            }
            end()
        }

        package mutating func null() throws(ConversionError) {
            try begin()
            switch nulls {
            case .empty, .key, .omit: break
            case .literal: output.append("null")
            case .reject: throw fault(.null)
            }
            end()
        }

        package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
            throw Fault.file.error(field: head.name.lossyString())
        }

        package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}

        package mutating func finish() throws(ConversionError) {}

        private func begin() throws(ConversionError) {
            guard field == nil || isField else { throw fault(.missingField) }
        }

        private mutating func end() {
            hasValue = true
            isField = false
        }

        private func fault(_ fault: Fault) -> ConversionError {
            fault.error(field: field.map { $0.span.lossyString() })
        }
    }
}
