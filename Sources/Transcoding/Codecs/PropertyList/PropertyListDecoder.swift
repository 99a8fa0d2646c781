internal import Octets

extension PropertyList {
    /// Reads a property list, XML or binary, and emits its events.
    ///
    /// XML is read as it arrives: strings come in pieces, names, numbers, dates and `data` whole. Member order is kept. An
    /// integer is a `number` in decimal without fraction and exponent; a real is a `number` with one of them, so that
    /// `<real>1</real>` gives `1.0`. Line ends are not changed. A binary property list is held until it is complete, at most
    /// `limits.tree` bytes, and then emitted by `finish`, whether the sink is full or not; what it stands for, with shared
    /// objects counted as often as they stand somewhere, must fit into `limits.tree` too.
    ///
    /// Errors are `PropertyList.Fault`s and the limits `depth`, `key`, `number` and `tree`. Each has the offset from the
    /// start of the body and, below the root, the JSON Pointer (RFC 6901) of the place. After an error the decoder must not
    /// be fed before `reset()`.
    public struct Decoder: EventDecoder, ~Copyable {
        private enum Reader {
            case undecided, xml, binary
        }

        private let options: DecodingOptions
        private var reader = Reader.undecided
        private var xml: XMLReader
        private var binary: BinaryReader

        /// A decoder for a first body.
        ///
        /// - Parameter limits: `depth`, `key`, `number` and `tree` hold.
        public init(options: DecodingOptions = .init(), limits: Limits) {
            self.options = options
            xml = XMLReader(options: options, limits: limits)
            binary = BinaryReader(options: options, limits: limits)
        }

        /// Makes the decoder ready for another body. Allocations are kept unless they are large.
        public mutating func reset() {
            reader = .undecided
            xml.reset()
            binary.reset()
        }

        /// Bytes of a binary property list.
        internal var heldCount: Int { binary.heldCount }
        internal var allocatedCount: Int { binary.allocatedCount }

        /// Takes the next bytes; see `EventDecoder`. A binary property list gives its events at the end only.
        public mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            if reader == .undecided, input.count > 0 {
                switch options.format {
                case .any: reader = input[0] == UInt8(ascii: "b") ? .binary : .xml
                case .xml: reader = .xml
                case .binary: reader = .binary
                }
            }
            guard reader == .binary else { return try xml.feed(input, into: &sink) }
            try binary.feed(input)
            return input.count
        }

        /// Says that the body has ended; see `EventDecoder`. Throws when it is incomplete.
        public mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            guard reader == .binary else { return try xml.finish(into: &sink) }
            try binary.finish(into: &sink)
        }
    }
}
