internal import COctets
internal import Octets

/// How a library prints the numbers of a JSON text.
///
/// A number that the library would round keeps its text, so that no digit is lost: `9007199254740993` for JavaScript, more
/// than 14 digits behind PHP's point, `1e400` for all.
internal struct NumberStyle {
    /// Which integers are read as floating-point numbers.
    enum Rounding {
        case none, all
        /// Those that don't fit in 64 bits.
        case wide
    }

    /// How one with an exponent is printed.
    struct Exponent {
        var letter: StaticString = "e"
        /// Whether there is a fraction in any case: `1.0e+20`.
        var hasFraction = false
        /// The digits at least.
        var digits = 1
    }

    var rounding = Rounding.none
    /// The digits that a floating-point number is printed with.
    var precision = 17
    /// Whether Swift's description of a Double is what is printed.
    var isSwift = false
    /// Whether zero keeps its minus sign, and its text.
    var keepsNegativeZero = true
    var zero: StaticString = "0"
    /// The exponents, of 0.digits × 10^point, between which a number is printed plainly: above `least`, up to `most`.
    var least = -4
    let most: Int
    /// Whether a whole number has `.0`, and so an exponent only where its digits don't reach to the point.
    var hasFraction = false
    var exponent = Exponent()

    /// Whether `5.00` is printed as `5.0`; else as `5`.
    var keepsZeroFractions: Bool { isSwift || hasFraction }

    /// ECMA-262, Number::toString.
    static let javaScript = NumberStyle(rounding: .all, keepsNegativeZero: false, least: -6, most: 21)
    static let php = NumberStyle(
        rounding: .wide, precision: 14, most: 14, exponent: Exponent(letter: "E", hasFraction: true))
    static let ruby = NumberStyle(
        zero: "0.0", most: 15, hasFraction: true, exponent: Exponent(hasFraction: true, digits: 2))
    /// The description of an `NSNumber`.
    static let objectiveC = NumberStyle(most: 16, exponent: Exponent(digits: 2))
    static let swift = NumberStyle(isSwift: true, least: -6, most: 21)

    /// Appends the number as the library prints it once it has read the JSON: `1e-7` is `1.0E-7` to PHP.
    func append(_ source: Span<UInt8>, to text: inout ByteStore) {
        var point = -1
        var isPlain = true
        for index in source.indices where !ASCII.isDigit(source[index]) {
            if source[index] == UInt8(ascii: "."), point < 0 {
                point = index
            } else if index > 0 || source[0] != UInt8(ascii: "-") {
                isPlain = false
            }
        }
        if isPlain, point < 0, source.count < 16 || !rounds(source) || rounding == .all && source.count <= most {
            // -0 is the integer 0.
            let isZero = source.count == 2 && source[0] == UInt8(ascii: "-") && source[1] == UInt8(ascii: "0")
            return isZero ? text.append(UInt8(ascii: "0")) : text.append(contentsOf: source)
        }
        if isPlain, point > 0, Self.isPrintedAlike(source) { return text.append(contentsOf: source) }
        guard let number = Decimal(source), number.count <= precision, number.isExact(source) else {
            return text.append(contentsOf: source)
        }
        if isSwift, let value = Double(String(decoding: source.copied(), as: UTF8.self)) {
            return text.append(contentsOf: Array(value.description.utf8))
        }
        number.print(as: self, to: &text)
    }

    /// Whether every style prints a fraction as it stands: see `recast_is_printed_alike`.
    private static func isPrintedAlike(_ source: Span<UInt8>) -> Bool {
        // SAFETY: the number has a point, so the bytes that are looked at beside its own are there.
        unsafe source.withUnsafeBufferPointer { unsafe recast_is_printed_alike($0.baseAddress, $0.count) }
    }

    /// Whether the library reads an integer of that many digits as a floating-point number.
    private func rounds(_ source: Span<UInt8>) -> Bool {
        switch rounding {
        case .none: false
        case .all: true
        case .wide: Int(String(decoding: source.copied(), as: UTF8.self)) == nil
        }
    }

    /// A decimal number without leading and trailing zeros: 0.`digits` × 10^`point`.
    private struct Decimal {
        var isNegative = false
        /// The digits, `count` of them; zeros behind.
        var digits = InlineArray<17, UInt8>(repeating: UInt8(ascii: "0"))
        var count = 0
        var point = 0

        /// Reads a number of JSON's grammar; nil when its exponent is beyond any that is printed, or its digits are more.
        init?(_ source: Span<UInt8>) {
            var at = 0
            if source[0] == UInt8(ascii: "-") {
                isNegative = true
                at = 1
            }
            var isFraction = false
            // Those that count if another digit follows.
            var zeros = 0
            while at < source.count, source[at] | 0x20 != UInt8(ascii: "e") {
                if source[at] == UInt8(ascii: ".") {
                    isFraction = true
                } else if count > 0 || source[at] != UInt8(ascii: "0") {
                    if source[at] == UInt8(ascii: "0") {
                        zeros += 1
                    } else {
                        guard zeros < digits.count - count else { return nil }
                        count += zeros
                        digits[count] = source[at]
                        count += 1
                        zeros = 0
                    }
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
            if count == 0 { point = 1 }
        }

        /// Whether a Double is printed with just these digits.
        func isExact(_ source: Span<UInt8>) -> Bool {
            // Up to 15 digits all are, but for the smallest and the largest.
            if count <= 15, abs(point) < 290 { return true }
            guard let value = Double(String(decoding: source.copied(), as: UTF8.self)), value.isFinite,
                let other = Decimal(Array(value.description.utf8).span)
            else { return false }
            return other.count == count && other.point == point
                && (0..<count).allSatisfy { other.digits[$0] == digits[$0] }
        }

        func print(as style: NumberStyle, to text: inout ByteStore) {
            let isZero = count == 0
            if isNegative, !isZero || style.keepsNegativeZero { text.append(UInt8(ascii: "-")) }
            if isZero { return text.append(style.zero) }
            // A point between the digits stays there: of 17 digits, 16 may stand before it.
            let most = style.hasFraction ? max(style.most, count - 1) : style.most
            if style.least < point, point <= most {
                plain(to: &text, fraction: style.hasFraction)
            } else {
                scientific(to: &text, style.exponent)
            }
        }

        /// `123`, `1.5`, `0.001`; with `.0` behind a whole one where `fraction` says so.
        private func plain(to text: inout ByteStore, fraction: Bool) {
            if point <= 0 {
                text.append("0.")
                for _ in point..<0 { text.append(UInt8(ascii: "0")) }
                return text.append(contentsOf: digits.span.extracting(0..<count))
            }
            let whole = min(point, count)
            text.append(contentsOf: digits.span.extracting(0..<whole))
            for _ in whole..<point { text.append(UInt8(ascii: "0")) }
            if count > point {
                text.append(UInt8(ascii: "."))
                text.append(contentsOf: digits.span.extracting(point..<count))
            } else if fraction {
                text.append(".0")
            }
        }

        /// `1.5e+20`
        private func scientific(to text: inout ByteStore, _ style: Exponent) {
            text.append(digits[0])
            if count > 1 || style.hasFraction { text.append(UInt8(ascii: ".")) }
            text.append(contentsOf: digits.span.extracting(1..<count))
            if count == 1, style.hasFraction { text.append(UInt8(ascii: "0")) }
            text.append(style.letter)
            text.append(point > 0 ? "+" : "-")
            let exponent = abs(point - 1)
            if style.digits > 1, exponent < 10 { text.append(UInt8(ascii: "0")) }
            text.append(decimal: exponent)
        }
    }
}

/// Prints numbers in a style, again and again.
internal final class NumberPrinter {
    let style: NumberStyle
    /// The number that was printed last.
    var text = ByteStore()

    init(_ style: NumberStyle) { self.style = style }

    func print(_ source: Span<UInt8>) {
        text.removeAll()
        style.append(source, to: &text)
    }

    /// The `recast_number_printer` of a printer, which `printer` is the address of.
    @unsafe static let inC: recast_number_printer = { printer, number, count, target in
        guard let printer = unsafe printer, let number = unsafe number, let target = unsafe target else { return 0 }
        // SAFETY: the flattener that has lent the printer to the loop keeps it meanwhile, and the number has `count` bytes, at most
        // `recast_longest_number`. There is room for those of any that is printed: 17 digits and what an exponent takes, 22 digits, or the
        // number as it stands.
        let lent = unsafe Unmanaged<NumberPrinter>.fromOpaque(printer).takeUnretainedValue()
        unsafe lent.print(UnsafeBufferPointer(start: number, count: count).span)
        let written = lent.text.count
        precondition(written <= Int(recast_printed_room), "a printed number fits")
        for index in 0..<written { unsafe target[index] = lent.text[index] }
        return written
    }
}
