internal import Octets

extension XML {
    /// Whether bytes may be the name of an element or an attribute: a QName of Namespaces in XML 1.0 §4, that is, one
    /// or two names of XML 1.0 §2.3 without colons, joined by one.
    internal static func isName(_ bytes: Span<UInt8>) -> Bool { colon(ofName: bytes) != nil }

    /// Where the colon of such a name stands, 0 for none; nil where the bytes are no name.
    internal static func colon(ofName bytes: Span<UInt8>) -> Int? {
        var end = endOfName(bytes, from: 0)
        var colon = 0
        guard end > 0 else { return nil }
        if end < bytes.count, bytes[end] == UInt8(ascii: ":") {
            colon = end
            end = endOfName(bytes, from: colon + 1)
            guard end > colon + 1 else { return nil }
        }
        // A character that is cut off, as text may end, is part of no name.
        guard end == bytes.count, bytes[end - 1] < 0x80 || UTF8Validator.isValid(bytes) else { return nil }
        return colon
    }

    /// Where the name of XML 1.0 §2.3 without colons ends that begins at `start`; `start` where none does. A name that goes
    /// on to the end of the bytes may go on behind them.
    @inline(__always)
    internal static func endOfName(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        guard at < bytes.count else { return at }
        let first = bytes[at]
        if first < 0x80 {
            guard ASCII.isAlpha(first) || first == UInt8(ascii: "_") else { return at }
            at &+= 1
        }
        while at < bytes.count, isNameByte(bytes[at]) { at &+= 1 }
        guard at < bytes.count, bytes[at] >= 0x80 else { return at }
        return endOfLongName(bytes, from: at, isStart: at == start)
    }

    /// As above, from a character above ASCII on.
    private static func endOfLongName(_ bytes: Span<UInt8>, from start: Int, isStart: Bool) -> Int {
        var at = start
        while at < bytes.count {
            if bytes[at] < 0x80 {
                guard isNameByte(bytes[at]) else { return at }
                at += 1
                continue
            }
            var next = at
            guard let scalar = scalar(bytes, at: &next) else { return bytes.count }
            guard isNameStart(scalar) || !(isStart && at == start) && isNameRest(scalar) else { return at }
            at = next
        }
        return at
    }

    /// Whether a name may go on with the ASCII character: a letter, a digit, `-`, `.` or `_`.
    @inline(__always)
    internal static func isNameByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte < 64 ? 0x03FF_6000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return byte < 0x80 && word &>> UInt64(byte & 63) & 1 != 0
    }

    /// The character of more than one byte at `at`, in what may be taken for UTF-8.
    private static func scalar(_ bytes: Span<UInt8>, at: inout Int) -> UInt32? {
        let lead = bytes[at]
        let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        guard at + length <= bytes.count else { return nil }
        var value = UInt32(lead) & (length == 4 ? 0x07 : length == 3 ? 0x0F : 0x1F)
        for index in at + 1..<at + length { value = value << 6 | UInt32(bytes[index] & 0x3F) }
        at += length
        return value
    }

    /// `NameStartChar` above ASCII.
    private static func isNameStart(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
            0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    /// What `NameChar` has besides, above ASCII.
    private static func isNameRest(_ scalar: UInt32) -> Bool {
        scalar == 0xB7 || (0x300...0x36F).contains(scalar) || scalar == 0x203F || scalar == 0x2040
    }
}

extension Span where Element == UInt8 {
    /// The bytes without the white space of XML at both ends.
    @_lifetime(copy self)
    func trimmedOfXMLSpace() -> Span<UInt8> {
        var start = 0
        var end = count
        while start < end, self[start].isXMLSpace { start += 1 }
        while end > start, self[end - 1].isXMLSpace { end -= 1 }
        return extracting(start..<end)
    }
}

extension UInt8 {
    /// Whether the byte is white space of XML 1.0 §2.3.
    @inline(__always)
    var isXMLSpace: Bool { self == 0x20 || self == 0x0A || self == 0x09 || self == 0x0D }
}
