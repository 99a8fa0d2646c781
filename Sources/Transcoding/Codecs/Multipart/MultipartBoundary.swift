internal import Octets

extension Multipart {
    /// The line that separates the parts of a body: 1 to 70 characters (RFC 2046 §5.1.1).
    public struct Boundary: Hashable, Sendable {
        /// The characters, without the hyphens that precede them in the body. Never empty.
        public let bytes: [UInt8]

        private init(unchecked bytes: [UInt8]) {
            self.bytes = bytes
        }

        /// The boundary that the value of a Content-Type declares.
        ///
        /// The type must be multipart/form-data, in any case. The boundary must stand there once, of at least one and
        /// at most `limits.boundary` legal characters, the last no space; quoted, or unquoted without spaces and
        /// commas. A charset that is not UTF-8 is refused.
        public init(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
            var declared: Charset?
            try self.init(
                contentType: contentType, mediaType: "multipart/form-data", limits: limits, charsets: [],
                declared: &declared)
        }

        /// As above, for a body of `mediaType` whose texts may also be in one of `charsets`; `declared` is the one named.
        internal init(
            contentType: Span<UInt8>, mediaType: StaticString, limits: Limits, charsets: [Charset],
            declared: inout Charset?
        ) throws(ConversionError) {
            let value = contentType.withoutBlanks
            guard let end = ContentType.endOfMediaType(in: value),
                value.extracting(0..<end).isEqualIgnoringCase(to: mediaType)
            else { throw Fault.mediaType.error() }
            var parameters = HeaderParameters(from: end, grammar: .contentType)
            var count = 0
            var found: Range<Int>?
            while let parameter = try parameters.next(in: value, or: Fault.contentType.error()) {
                count += 1
                guard count <= HeaderParameters.maximumCount else { throw Fault.contentType.error() }
                let name = value.extracting(parameter.name)
                if name.isEqualIgnoringCase(to: "boundary") {
                    guard found == nil else { throw Fault.boundaryRepeated.error() }
                    found = parameter.value
                } else if name.isEqualIgnoringCase(to: "charset") {
                    declared = .utf8
                    if ContentType.isUTF8(value.extracting(parameter.value)) { continue }
                    declared = Charset(label: value.extracting(parameter.value))
                    guard let declared, charsets.contains(declared) else { throw Fault.charset.error() }
                }
            }
            guard let found else { throw Fault.boundaryMissing.error() }
            guard found.count <= limits.boundary else {
                throw .limit("boundary", of: limits.boundary, what: "the length of the boundary")
            }
            let bytes = value.extracting(found).copied()
            guard let last = bytes.last, last != ASCII.space, bytes.allSatisfy(Self.isLegal) else {
                throw Fault.boundaryIllegal.error()
            }
            self.bytes = bytes
        }

        /// A boundary that can't be foreseen, so that no sender can put it into a body: 132 bits of the system's
        /// random numbers in 22 characters of 64, none of which needs quotes. It says nothing else, because it stands in front of
        /// each part.
        public static func random() -> Boundary {
            var generator = SystemRandomNumberGenerator()
            return Boundary(from: [generator.next(), generator.next(), generator.next()])
        }

        /// A boundary of three words of the system's random numbers, of which it uses 132 bits.
        ///
        /// - Parameter length: how long it is, if that is more than 22 and at most 70: behind as many hyphens as that takes.
        internal init(from words: InlineArray<3, UInt64>, length: Int = 0) {
            let hyphens = max(0, min(length, Self.longest) - Self.randomCount)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(hyphens + Self.randomCount)
            for _ in 0..<hyphens { bytes.append(UInt8(ascii: "-")) }
            for index in 0..<Self.randomCount {
                let bits = words[index / 8] >> UInt64(index % 8 * 6)
                bytes.append(Self.alphabet[Int(bits & 63)])
            }
            self.init(unchecked: bytes)
        }

        /// The characters of a random one: 128 bits are what it takes.
        private static let randomCount = 22
        /// RFC 2046 §5.1.1.
        private static let longest = 70

        /// The value for Content-Type: `multipart/form-data; boundary=…`, in quotes where a character asks for them.
        public func contentType() -> [UInt8] {
            let isToken = bytes.allSatisfy(ASCII.isToken)
            var value = Array("multipart/form-data; boundary=".utf8)
            if !isToken { value.append(UInt8(ascii: "\"")) }
            value += bytes
            if !isToken { value.append(UInt8(ascii: "\"")) }
            return value
        }

        private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

        /// `bchars` of RFC 2046 §5.1.1.
        private static func isLegal(_ byte: UInt8) -> Bool {
            if ASCII.isAlpha(byte) || ASCII.isDigit(byte) { return true }
            return switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "+"), UInt8(ascii: "_"),
                UInt8(ascii: ","), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"),
                UInt8(ascii: "="), UInt8(ascii: "?"), ASCII.space:
                true
            default: false
            }
        }
    }
}
