/// The JSON format, RFC 8259: an incremental decoder and an encoder.
public enum JSON {}

extension JSON {
    /// How a JSON body is read.
    public struct DecodingOptions: Hashable, Sendable {
        /// What happens to the second member of one name in an object.
        ///
        /// The decoder does `reject` and `first`; under `first` the later member is checked and left out. For `last` and
        /// `array` it passes every member on as `keep` does: only who holds the whole object can replace.
        public var duplicates = DuplicatePolicy.reject
        /// Whether C's loops for wide instructions are used, where the processor has those: the bytes are the same.
        package var usesBlocks = true

        /// The defaults.
        public init() {}
    }

    /// How a JSON body is written.
    public struct EncodingOptions: Hashable, Sendable {
        /// What happens to a file: `base64` writes it as a string, `object` as an object with its filename and media
        /// type. Under any other policy a file that arrives here is refused; those that `drop` leaves out never arrive.
        public var files = FilePolicy.base64

        /// The defaults.
        public init() {}
    }
}
