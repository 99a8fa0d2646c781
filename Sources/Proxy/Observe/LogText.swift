internal import Octets

/// What of a text a line of a log never holds as it is: a reader's terminal, and what splits a file into lines, must see one
/// line of plain text whatever a client has sent. What commands print of a file is held to the same.
package enum LogText {
    /// The character that begins at `at` where it is such a one, with its length in bytes; nil for others. `text` is UTF-8.
    ///
    /// They are the controls of C0 and C1 and DEL, which terminals obey; U+2028 and U+2029, which end lines for some readers; and
    /// marks that can't be seen, or turn the direction of what is written around them: `isUnseen`.
    package static func unprintable(_ text: Span<UInt8>, at: Int) -> (scalar: UInt32, count: Int)? {
        let first = text[at]
        if first < 0x80 { return first < 0x20 || first == 0x7F ? (UInt32(first), 1) : nil }
        // Most characters begin with a byte with which no such one does, and then are what they are.
        let count: Int
        switch first {
        case 0xC2, 0xCD, 0xD8, 0xDB, 0xDC: count = 2
        case 0xE0...0xE3, 0xEF: count = 3
        case 0xF0, 0xF3: count = 4
        default: return nil
        }
        guard at + count <= text.count else { return nil }
        // The first byte has as many ones as there are bytes, and a zero behind them.
        var scalar = UInt32(first) & (0x7F >> UInt32(count))
        for index in at + 1..<at + count { scalar = scalar << 6 | UInt32(text[index] & 0x3F) }
        return scalar < 0xA0 || isUnseen(scalar) ? (scalar, count) : nil
    }

    /// Whether Unicode says of a character beyond C1 that it is shown as nothing where it isn't known
    /// (`Default_Ignorable_Code_Point`), that it is there for the format of others (`Cf`), or that it ends a line or a paragraph.
    /// Joiners and variation selectors are among them, which emoji have: two names that differ in them alone look the same.
    private static func isUnseen(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x00AD, 0x034F, 0x0600...0x0605, 0x061C, 0x06DD, 0x070F, 0x0890...0x0891, 0x08E2: true
        case 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F: true
        case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0x3164: true
        case 0xFE00...0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0...0xFFFB: true
        case 0x110BD, 0x110CD, 0x13430...0x1343F, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A: true
        case 0xE0000...0xE0FFF: true
        default: false
        }
    }

    /// What a character is in UTF-16, as JSON's escapes write it: one number, and above U+FFFF the first of two.
    package static func units(of scalar: UInt32) -> (first: UInt32, second: UInt32?) {
        guard scalar > 0xFFFF else { return (scalar, nil) }
        let rest = scalar - 0x10000
        return (0xD800 | (rest >> 10), 0xDC00 | (rest & 0x3FF))
    }

    /// `text` with what `escape` makes of each such character in its place.
    package static func escaped(_ text: String, by escape: (UInt32) -> String) -> String {
        let bytes = Array(text.utf8)
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            if let found = unprintable(bytes.span, at: at) {
                escaped += escape(found.scalar).utf8
                at += found.count
            } else {
                escaped.append(bytes[at])
                at += 1
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The first bytes of `text`, at most `limit`, without a character that would be cut.
    static func cut(_ text: Span<UInt8>, to limit: Int) -> Int {
        guard text.count > limit else { return text.count }
        var end = limit
        // A character has three bytes more than its first one at most; more of them are no UTF-8.
        while end > 0, limit - end < 3, text[end] & 0xC0 == 0x80 { end -= 1 }
        return text[end] & 0xC0 == 0x80 ? limit : end
    }
}

/// So many of something, in words: "1 route", "2 routes".
package func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }
