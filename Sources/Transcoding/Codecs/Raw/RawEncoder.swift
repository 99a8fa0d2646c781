package import Octets

extension Raw {
    /// Writes the content of one field or file as a whole body. A second one is refused, since it would be lost.
    package struct Encoder: FieldSink, OutputEncoder, ~Copyable {
        private let field: [UInt8]?
        private var hasPart = false
        private var type: [UInt8] = []
        package var output = OutputBuffer()

        /// - Parameter field: the name that the field must have; nil: any.
        package init(field: String? = nil) {
            self.field = field.map { Array($0.utf8) }
        }

        /// Makes the encoder as new for another body; output that waits is gone.
        package mutating func reset() {
            output.removeAll()
            hasPart = false
            type.removeAll(keepingCapacity: true)
        }

        package var isFull: Bool { output.isFull }

        /// The body's Content-Type: the file's own, or `application/octet-stream`. Known once the part has begun.
        package var contentType: [UInt8] { type.isEmpty ? Self.octets : type }

        private static let octets = Array("application/octet-stream".utf8)

        package mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
            guard !hasPart, field.map({ head.name.isEqual(to: $0.span) }) ?? true else {
                throw Fault.otherField.error(field: head.name.lossyString())
            }
            hasPart = true
            type.append(contentsOf: head.mediaType.copied())
        }

        package mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            output.append(piece)
        }

        package mutating func finish() throws(ConversionError) {
            guard hasPart else { throw Fault.missingField.error(field: field.map { $0.span.lossyString() }) }
        }
    }
}
