internal import Octets
internal import Transcoding

extension Value {
    /// A number by its text. `1.10`, `1e2` and an integer of forty digits stay what they are.
    public struct Number: Hashable, Sendable {
        /// The text: in JSON's grammar (RFC 8259 §6), or `nan`, `inf`, `-inf` for a `Double` that is not finite.
        public let text: String

        /// A number with this text, or nil where it is not in JSON's grammar.
        public init?(_ text: String) {
            guard NumberText(Array(text.utf8).span) != nil else { return nil }
            self.text = text
        }

        /// A number with the digits of an integer.
        public init(_ value: some BinaryInteger) { text = String(value) }

        /// The shortest text that reads back as `value`, with a fraction or an exponent: `1.5`, `0.1`, `9.0`, `1e+21`.
        public init(_ value: Double) { text = value.description }

        /// The shortest text that reads back as `value`, where a `Float` is read.
        public init(_ value: Float) { text = value.description }

        internal init(unchecked text: String) { self.text = text }

        /// Whether the text stands for a number that JSON, forms and XML can carry.
        public var isFinite: Bool {
            guard let last = text.utf8.last else { return false }
            return ASCII.isDigit(last)
        }

        /// The integer of the same value, where there is one that fits: of `5`, and of `5.0` and `5e2` as well.
        public var int: Int? {
            Int(text) ?? Int(wholeNumber: text)
        }

        /// The nearest `Double`; infinite where the number is beyond all.
        public var double: Double { Double(text) ?? .nan }
    }
}

extension Value.Number: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, CustomStringConvertible {
    /// A number.
    public init(integerLiteral value: Int) { self.init(value) }
    /// A number with the shortest text that reads back the same.
    public init(floatLiteral value: Double) { self.init(value) }
    /// The number's text.
    public var description: String { text }
}

extension FixedWidthInteger {
    /// The integer that a number of JSON's grammar is, exactly: of `5.0` and `1e18`, too. Nil where it has a fraction or doesn't fit.
    internal init?(wholeNumber text: String) {
        var digits: [UInt8] = []
        // How many digits of those stand behind the point, less the exponent.
        var places = 0
        var isFraction = false
        var exponent: Substring.UTF8View?
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        for (at, byte) in zip(rest.indices, rest) {
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = rest[rest.index(after: at)...]
            case _ where ASCII.isDigit(byte):
                digits.append(byte - UInt8(ascii: "0"))
                if isFraction { places += 1 }
            default: return nil
            }
            if exponent != nil { break }
        }
        while digits.last == 0 {
            digits.removeLast()
            places -= 1
        }
        guard !digits.isEmpty else {
            self = 0
            return
        }
        if let exponent {
            // One beyond all integers has too many digits, whichever way.
            guard let shift = Int(String(decoding: exponent, as: UTF8.self)) else { return nil }
            let (difference, isTooMuch) = places.subtractingReportingOverflow(shift)
            guard !isTooMuch else { return nil }
            places = difference
        }
        // A number of 128 bits has 39 digits.
        guard places <= 0, places >= -40 else { return nil }
        digits += Array(repeating: 0, count: -places)
        var value: Self = 0
        for digit in digits.drop(while: { $0 == 0 }) {
            let (tens, isLarge) = value.multipliedReportingOverflow(by: 10)
            guard !isLarge, let digit = Self(exactly: digit) else { return nil }
            let (sum, isLarger) =
                isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            guard !isLarger else { return nil }
            value = sum
        }
        self = value
    }
}
