internal import Octets

/// The texts of numbers, as libraries print them.
internal enum DialectNumber {
    /// Appends the number as the library of `dialect` prints it once it has read the JSON: `1e-7` is `1.0E-7` to PHP.
    ///
    /// A number that the library would round keeps its text, so that no digit is lost: `9007199254740993` for JavaScript, more
    /// than 14 digits behind PHP's point, `1e400` for all.
    static func append(_ source: Span<UInt8>, as dialect: Dialect, to text: inout ByteStore) {
        if dialect == .recast { return text.append(contentsOf: source) }
        var isInteger = true
        for index in source.indices where !ASCII.isDigit(source[index]) {
            if index > 0 || source[0] != UInt8(ascii: "-") { isInteger = false }
        }
        if isInteger, source.count < 16 || !roundsIntegers(source, dialect) {
            // -0 is the integer 0.
            let isZero = source.count == 2 && source[0] == UInt8(ascii: "-") && source[1] == UInt8(ascii: "0")
            return isZero ? text.append(UInt8(ascii: "0")) : text.append(contentsOf: source)
        }
        guard let number = Decimal(source), number.digits.count <= precision(dialect), number.isExact(source) else {
            return text.append(contentsOf: source)
        }
        // Alamofire prints as Swift does.
        if dialect == .alamofire, let value = Double(String(decoding: source.copied(), as: UTF8.self)) {
            return text.append(contentsOf: Array(value.description.utf8))
        }
        number.print(as: dialect, to: &text)
    }

    /// Whether the library reads an integer of that many digits as a floating-point number.
    private static func roundsIntegers(_ source: Span<UInt8>, _ dialect: Dialect) -> Bool {
        switch dialect {
        case .recast, .rack, .afnetworking, .alamofire: return false
        case .qs, .whatwg: return true
        case .php: return Int(String(decoding: source.copied(), as: UTF8.self)) == nil
        }
    }

    /// The digits that a floating-point number is printed with.
    private static func precision(_ dialect: Dialect) -> Int { dialect == .php ? 14 : 17 }

    /// A decimal number without leading and trailing zeros: 0.`digits` × 10^`point`.
    private struct Decimal {
        var isNegative = false
        var digits: [UInt8] = []
        var point = 0

        /// Reads a number of JSON's grammar; nil when its exponent is beyond any that is printed.
        init?(_ source: Span<UInt8>) {
            var at = 0
            if source[0] == UInt8(ascii: "-") {
                isNegative = true
                at = 1
            }
            var isFraction = false
            while at < source.count, source[at] | 0x20 != UInt8(ascii: "e") {
                if source[at] == UInt8(ascii: ".") {
                    isFraction = true
                } else if !digits.isEmpty || source[at] != UInt8(ascii: "0") {
                    digits.append(source[at])
                    if !isFraction { point += 1 }
                } else if isFraction {
                    point -= 1
                }
                at += 1
            }
            if at < source.count {
                at += 1
                let isDown = at < source.count && source[at] == UInt8(ascii: "-")
                if at < source.count, !ASCII.isDigit(source[at]) { at += 1 }
                var exponent = 0
                while at < source.count {
                    exponent = exponent * 10 + Int(source[at] &- 0x30)
                    guard exponent < 10_000 else { return nil }
                    at += 1
                }
                point += isDown ? -exponent : exponent
            }
            while digits.last == UInt8(ascii: "0") { digits.removeLast() }
            if digits.isEmpty { point = 1 }
        }

        /// Whether a Double is printed with just these digits.
        func isExact(_ source: Span<UInt8>) -> Bool {
            // Up to 15 digits all are, but for the smallest and the largest.
            if digits.count <= 15, abs(point) < 290 { return true }
            guard let value = Double(String(decoding: source.copied(), as: UTF8.self)), value.isFinite,
                let other = Decimal(Array(value.description.utf8).span)
            else { return false }
            return other.digits == digits && other.point == point
        }

        func print(as dialect: Dialect, to text: inout ByteStore) {
            let isZero = digits.isEmpty
            if isNegative, !isZero || (dialect != .qs && dialect != .whatwg) { text.append(UInt8(ascii: "-")) }
            if isZero { return text.append(dialect == .rack ? "0.0" : "0") }
            switch dialect {
            case .recast, .alamofire, .qs, .whatwg:
                // ECMA-262, Number::toString.
                if -6 < point, point <= 21 { plain(to: &text) } else { scientific(to: &text, "e", fraction: false, 1) }
            case .rack:
                // A point between the digits stays there: of 17 digits, 16 may stand before it.
                if -4 < point, point <= max(15, digits.count - 1) {
                    plain(to: &text, fraction: true)
                } else {
                    scientific(to: &text, "e", fraction: true, 2)
                }
            case .php:
                if -4 < point, point <= 14 { plain(to: &text) } else { scientific(to: &text, "E", fraction: true, 1) }
            case .afnetworking:
                if -4 < point, point <= 16 { plain(to: &text) } else { scientific(to: &text, "e", fraction: false, 2) }
            }
        }

        /// `123`, `1.5`, `0.001`; with `.0` behind a whole one where `fraction` says so.
        private func plain(to text: inout ByteStore, fraction: Bool = false) {
            if point <= 0 {
                text.append("0.")
                for _ in point..<0 { text.append(UInt8(ascii: "0")) }
                return text.append(contentsOf: digits)
            }
            for index in 0..<max(point, digits.count) {
                if index == point { text.append(UInt8(ascii: ".")) }
                text.append(index < digits.count ? digits[index] : UInt8(ascii: "0"))
            }
            if fraction, digits.count <= point { text.append(".0") }
        }

        /// `1.5e+20` with at least `places` digits of exponent; `1.0e+20` where `fraction` says so.
        private func scientific(to text: inout ByteStore, _ letter: StaticString, fraction: Bool, _ places: Int) {
            text.append(digits[0])
            if digits.count > 1 || fraction { text.append(UInt8(ascii: ".")) }
            text.append(contentsOf: digits.span.extracting(1..<digits.count))
            if digits.count == 1, fraction { text.append(UInt8(ascii: "0")) }
            text.append(letter)
            text.append(point > 0 ? "+" : "-")
            let exponent = abs(point - 1)
            if places > 1, exponent < 10 { text.append(UInt8(ascii: "0")) }
            text.append(decimal: exponent)
        }
    }
}
