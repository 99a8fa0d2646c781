internal import Octets

/// What of a text a line of a log never holds as it is: a reader's terminal, and what splits a file into lines, must see one
/// line of plain text whatever a client has sent. What commands print of a file is held to the same.
package enum LogText {
    /// The character that begins at `at` where it is such a one, with its length in bytes; nil for others. `text` is UTF-8.
    ///
    /// They are the controls of C0 and C1 and DEL, which terminals obey; U+2028 and U+2029, which end lines for some readers; and
    /// marks that can't be seen, or turn the direction of what is written around them.
    package static func unprintable(_ text: Span<UInt8>, at: Int) -> (scalar: UInt32, count: Int)? {
        let first = text[at]
        if first < 0x80 { return first < 0x20 || first == 0x7F ? (UInt32(first), 1) : nil }
        guard at + 1 < text.count else { return nil }
        let second = text[at + 1]
        switch first {
        case 0xC2: return second < 0xA0 ? (UInt32(second), 2) : nil
        case 0xD8: return second == 0x9C ? (0x061C, 2) : nil
        case 0xE2, 0xEF: break
        default: return nil
        }
        guard at + 2 < text.count else { return nil }
        let scalar = UInt32(first & 0x0F) << 12 | UInt32(second & 0x3F) << 6 | UInt32(text[at + 2] & 0x3F)
        switch scalar {
        case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: return (scalar, 3)
        default: return nil
        }
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
