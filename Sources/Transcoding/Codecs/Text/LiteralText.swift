internal import Octets

/// What a text is as a number of RFC 8259 §6.
package enum NumberText {
    case integer, fraction

    /// Nil when the text is no JSON number.
    package init?(_ text: Span<UInt8>) {
        var at = 0
        func digits() -> Int {
            let start = at
            while at < text.count, ASCII.isDigit(text[at]) { at += 1 }
            return at - start
        }
        if at < text.count, text[at] == UInt8(ascii: "-") { at += 1 }
        let first = at
        let whole = digits()
        guard whole > 0, whole == 1 || text[first] != UInt8(ascii: "0") else { return nil }
        var isInteger = true
        if at < text.count, text[at] == UInt8(ascii: ".") {
            at += 1
            isInteger = false
            guard digits() > 0 else { return nil }
        }
        if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            isInteger = false
            if at < text.count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") { at += 1 }
            guard digits() > 0 else { return nil }
        }
        guard at == text.count else { return nil }
        self = isInteger ? .integer : .fraction
    }
}

extension Span where Element == UInt8 {
    /// Whether the text may be `true`, `false` or a safe number, as far as its length and its first byte tell.
    internal var mayBeScalar: Bool {
        guard count > 0, count <= 20 else { return false }
        switch self[0] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): return true
        case UInt8(ascii: "t"): return count == 4
        case UInt8(ascii: "f"): return count == 5
        default: return false
        }
    }

    /// Whether the text is a number that every common parser reads and prints back byte by byte: at most 15 significant
    /// digits, no exponent, no minus zero, no zero at a fraction's end, and no more than three zeros at its beginning
    /// when nothing but a zero stands before the point (smaller ones are printed with an exponent).
    internal var isSafeNumber: Bool {
        guard count <= 20, let kind = NumberText(self) else { return false }
        var digits = 0
        var isNegative = false
        var point = -1
        var firstNonZero = -1
        for at in indices {
            switch self[at] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): point = at
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if firstNonZero < 0, self[at] != UInt8(ascii: "0") { firstNonZero = at }
                if firstNonZero >= 0 { digits += 1 }
            default: return false
            }
        }
        guard digits <= 15 else { return false }
        if kind == .integer { return !(isNegative && firstNonZero < 0) }
        return firstNonZero >= 0 && self[count - 1] != UInt8(ascii: "0") && firstNonZero - point <= 4
    }
}

extension Span where Element == UInt8 {
    /// The byte that an escape `%7E` at `index` stands for; nil where there is none.
    package func percentEscape(at index: Int) -> UInt8? {
        guard index + 2 < count, self[index] == UInt8(ascii: "%"), let high = ASCII.hexValue(self[index + 1]),
            let low = ASCII.hexValue(self[index + 2])
        else { return nil }
        return high << 4 | low
    }

    /// Whether the bytes are `value` in decimal as one writes it.
    package func isDecimal(_ value: Int) -> Bool { canonicalIndex == value }

    /// The value of a decimal number without sign, leading zeros or more than nine digits, or nil.
    package var canonicalIndex: Int? {
        guard count > 0, count < 10, count == 1 || self[0] != UInt8(ascii: "0") else { return nil }
        var value = 0
        for at in indices {
            guard ASCII.isDigit(self[at]) else { return nil }
            value = value * 10 + Int(self[at] &- 0x30)
        }
        return value
    }

    /// The number that Swift's `Int(_:)` reads from the text: `7`, `007`, `+7`, `-7`.
    internal var swiftInteger: Int? {
        guard !isEmpty, count <= 64 else { return nil }
        let hasSign = self[0] == UInt8(ascii: "-") || self[0] == UInt8(ascii: "+")
        let first = hasSign ? 1 : 0
        guard first < count else { return nil }
        var value = 0
        for index in first..<count {
            guard ASCII.isDigit(self[index]) else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, passes) = product.subtractingReportingOverflow(Int(self[index] &- 0x30))
            if overflows || passes { return nil }
            value = sum
        }
        // It counted down, where there is room for one number more.
        if self[0] == UInt8(ascii: "-") { return value }
        return value == .min ? nil : -value
    }
}
