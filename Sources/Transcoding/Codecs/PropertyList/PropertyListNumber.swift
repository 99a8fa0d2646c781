internal import Octets

extension PropertyList {
    /// The numbers of property lists, between their own text and JSON's grammar (RFC 8259 §6).
    enum Number {
        enum Outcome {
            case number
            /// An infinity or not a number.
            case nonFinite
            case fault(Fault)
        }

        /// Appends the text of an `integer` element in JSON's grammar: hexadecimal becomes decimal, a plus sign and leading
        /// zeros go.
        static func appendInteger(_ text: Span<UInt8>, to output: inout [UInt8]) -> Fault? {
            var digits = text.trimmedOfXMLSpace()
            let isNegative = digits.count > 0 && digits[0] == UInt8(ascii: "-")
            if digits.count > 0, isNegative || digits[0] == UInt8(ascii: "+") {
                digits = digits.extracting(droppingFirst: 1)
            }
            let isHexadecimal =
                digits.count > 2 && digits[0] == UInt8(ascii: "0") && digits[1] | 0x20 == UInt8(ascii: "x")
            if isHexadecimal { digits = digits.extracting(droppingFirst: 2) }
            guard digits.count > 0 else { return .invalidInteger }
            var magnitude: UInt64 = 0
            var overflows = false
            for index in digits.indices {
                guard let digit = ASCII.hexValue(digits[index]), isHexadecimal || digit < 10 else {
                    return .invalidInteger
                }
                let (product, isOver) = magnitude.multipliedReportingOverflow(by: isHexadecimal ? 16 : 10)
                let (sum, isFar) = product.addingReportingOverflow(UInt64(digit))
                overflows = overflows || isOver || isFar
                magnitude = sum
            }
            guard !overflows, !isNegative || magnitude <= UInt64(1) << 63 else { return .integerRange }
            if isNegative { output.append(UInt8(ascii: "-")) }
            append(magnitude, to: &output)
            return nil
        }

        static func append(_ value: some FixedWidthInteger, to output: inout [UInt8]) {
            output.append(contentsOf: String(value).utf8)
        }

        /// Appends the text of a `real` element in JSON's grammar, with a fraction or an exponent so that it stays a real.
        static func appendReal(_ text: Span<UInt8>, to output: inout [UInt8]) -> Outcome {
            let text = text.trimmedOfXMLSpace()
            let count = text.count
            var at = 0
            if at < count, text[at] == UInt8(ascii: "-") || text[at] == UInt8(ascii: "+") {
                if text[at] == UInt8(ascii: "-") { output.append(text[at]) }
                at += 1
            }
            let name = text.extracting(at..<count)
            if name.isEqualIgnoringCase(to: "inf") || name.isEqualIgnoringCase(to: "infinity")
                || name.isEqualIgnoringCase(to: "nan")
            {
                return .nonFinite
            }
            let integer = at
            while at < count, ASCII.isDigit(text[at]) { at += 1 }
            let integerEnd = at
            var fractionEnd = at
            if at < count, text[at] == UInt8(ascii: ".") {
                at += 1
                while at < count, ASCII.isDigit(text[at]) { at += 1 }
                fractionEnd = at
            }
            let fraction = min(integerEnd + 1, fractionEnd)
            guard integerEnd > integer || fractionEnd > fraction else { return .fault(.invalidReal) }
            let exponent = at
            if at < count, text[at] | 0x20 == UInt8(ascii: "e") {
                at += 1
                if at < count, text[at] == UInt8(ascii: "-") || text[at] == UInt8(ascii: "+") { at += 1 }
                guard at < count else { return .fault(.invalidReal) }
                while at < count, ASCII.isDigit(text[at]) { at += 1 }
                guard ASCII.isDigit(text[at - 1]) else { return .fault(.invalidReal) }
            }
            guard at == count else { return .fault(.invalidReal) }
            var first = integer
            while first + 1 < integerEnd, text[first] == UInt8(ascii: "0") { first += 1 }
            if first == integerEnd { output.append(UInt8(ascii: "0")) }
            output.append(contentsOf: text.extracting(first..<integerEnd))
            if fractionEnd > fraction {
                output.append(UInt8(ascii: "."))
                output.append(contentsOf: text.extracting(fraction..<fractionEnd))
            } else if exponent == count {
                output.append(contentsOf: ".0".utf8)
            }
            output.append(contentsOf: text.extracting(exponent..<count))
            // Only a long text can pass the range.
            if exponent < count || integerEnd - first > 300, double(text)?.isFinite != true { return .nonFinite }
            return .number
        }

        /// Appends the shortest text that reads as `value` again, with a fraction or an exponent. `value` is finite.
        static func append(_ value: Double, to output: inout [UInt8]) {
            output.append(contentsOf: value.description.utf8)
        }

        /// The double nearest to a decimal text.
        static func double(_ text: Span<UInt8>) -> Double? { Double(text.lossyString()) }

        /// A number of JSON's grammar as a property list holds it.
        enum Value: Hashable {
            case integer(UInt64)
            /// Less than zero.
            case negative(Int64)
            case negativeZero
            /// With a fraction or an exponent.
            case real
            /// An integer outside of −2⁶³…2⁶⁴−1.
            case large
        }

        /// Reads a number in JSON's grammar.
        static func value(_ text: Span<UInt8>) -> Value {
            var magnitude: UInt64 = 0
            let isNegative = text.count > 0 && text[0] == UInt8(ascii: "-")
            var overflows = false
            for index in (isNegative ? 1 : 0)..<text.count {
                guard ASCII.isDigit(text[index]) else { return .real }
                let (product, isOver) = magnitude.multipliedReportingOverflow(by: 10)
                let (sum, isFar) = product.addingReportingOverflow(UInt64(text[index] &- 0x30))
                overflows = overflows || isOver || isFar
                magnitude = sum
            }
            if overflows || isNegative && magnitude > UInt64(1) << 63 { return .large }
            guard isNegative else { return .integer(magnitude) }
            return magnitude == 0 ? .negativeZero : .negative(Int64(truncatingIfNeeded: 0 &- magnitude))
        }

        /// Whether a number in JSON's grammar lies within the range of a double.
        static func isFinite(_ text: Span<UInt8>) -> Bool {
            // 10³⁰⁸ is the power of ten that a double has; only an exponent or more digits than that lead beyond it.
            var hasExponent = false
            for index in text.indices where text[index] | 0x20 == UInt8(ascii: "e") { hasExponent = true }
            return !hasExponent && text.count <= 308 || double(text)?.isFinite == true
        }
    }
}
