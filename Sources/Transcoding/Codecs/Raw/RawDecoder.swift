internal import Octets

extension Raw {
    /// Reads a body of any type as one file, with the body's Content-Type as its media type. Nothing is held.
    package struct Decoder: FieldDecoder, ~Copyable {
        /// The name of the file's field when nothing else is said.
        package static let standardField = "file"

        private let field: [UInt8]
        private var head = PartHead()
        private var hasBegun = false

        /// - Parameters:
        ///   - field: the name of the file's field.
        ///   - contentType: the body's Content-Type; empty when it has none.
        package init(field: String = Self.standardField, contentType: Span<UInt8> = Span()) {
            self.field = Array(field.utf8)
            reset(contentType: contentType)
        }

        /// Makes the decoder as new for a body of that type.
        package mutating func reset(contentType: Span<UInt8>) {
            hasBegun = false
            let name = field
            head.setName(name.span)
            head.isFile = true
            if !contentType.isEmpty { head.setMediaType(contentType) }
        }

        package mutating func feed<Sink: FieldSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            try begin(into: &sink)
            if !input.isEmpty { try sink.content(input, isLast: false) }
            return input.count
        }

        package mutating func finish<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            try begin(into: &sink)
            try sink.content(Span(), isLast: true)
        }

        private mutating func begin<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            guard !hasBegun else { return }
            hasBegun = true
            try sink.beginPart(head)
        }
    }
}
