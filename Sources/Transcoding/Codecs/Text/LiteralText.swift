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

    /// Whether the text is a full-date or a date-time of RFC 3339 §5.6, and the date one of the calendar.
    package var isRFC3339: Bool {
        func number(_ start: Int, _ length: Int) -> Int? {
            guard start + length <= count else { return nil }
            var value = 0
            for at in start..<start + length {
                guard ASCII.isDigit(self[at]) else { return nil }
                value = value * 10 + Int(self[at] &- 0x30)
            }
            return value
        }
        func has(_ character: UInt8, at index: Int) -> Bool { index < count && self[index] == character }
        let dash = UInt8(ascii: "-")
        let colon = UInt8(ascii: ":")
        guard let year = number(0, 4), has(dash, at: 4), let month = number(5, 2), has(dash, at: 7),
            let day = number(8, 2), month >= 1, month <= 12, day >= 1
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        guard day <= days else { return false }
        if count == 10 { return true }
        guard self[10] | 0x20 == UInt8(ascii: "t"), let hour = number(11, 2), has(colon, at: 13),
            let minute = number(14, 2), has(colon, at: 16), let second = number(17, 2), hour <= 23, minute <= 59,
            second <= 60
        else { return false }
        var at = 19
        if has(UInt8(ascii: "."), at: at) {
            at += 1
            let start = at
            while at < count, ASCII.isDigit(self[at]) { at += 1 }
            guard at > start else { return false }
        }
        guard at < count else { return false }
        if self[at] | 0x20 == UInt8(ascii: "z") { return at + 1 == count }
        guard self[at] == UInt8(ascii: "+") || self[at] == dash, let hours = number(at + 1, 2), has(colon, at: at + 3),
            let minutes = number(at + 4, 2), hours <= 23, minutes <= 59
        else { return false }
        return at + 6 == count
    }
}

extension Span where Element == UInt8 {
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
}
