internal import Octets

extension XML {
    /// Whether bytes may be the name of an element or an attribute: a QName of Namespaces in XML 1.0 §4, that is, one
    /// or two names of XML 1.0 §2.3 without colons, joined by one.
    internal static func isName(_ bytes: Span<UInt8>) -> Bool {
        var at = 0
        var colons = 0
        var isStart = true
        while at < bytes.count {
            let byte = bytes[at]
            if byte < 0x80 {
                at += 1
                if byte == UInt8(ascii: ":") {
                    guard !isStart, colons == 0 else { return false }
                    colons = 1
                    isStart = true
                    continue
                }
                let isStarter = ASCII.isAlpha(byte) || byte == UInt8(ascii: "_")
                guard isStarter || !isStart && (ASCII.isDigit(byte) || byte == 0x2D || byte == 0x2E) else {
                    return false
                }
            } else {
                guard let scalar = scalar(bytes, at: &at), isNameStart(scalar) || !isStart && isNameRest(scalar) else {
                    return false
                }
            }
            isStart = false
        }
        return !isStart
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
