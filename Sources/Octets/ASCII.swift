/// Questions about single ASCII bytes. All of them are one table look-up or a comparison; none depends on a locale.
public enum ASCII {
    public static let tab: UInt8 = 0x09
    public static let lineFeed: UInt8 = 0x0A
    public static let carriageReturn: UInt8 = 0x0D
    public static let space: UInt8 = 0x20

    @inlinable public static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    @inlinable public static func isAlpha(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    /// The value of a hexadecimal digit in either case, or nil.
    @inlinable
    public static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- 0x30 }
        let lower = byte | 0x20
        return lower &- 0x61 < 6 ? lower &- 0x61 &+ 10 : nil
    }

    /// The digit for a value below 16: `0`…`9`, `a`…`f`.
    @inlinable
    public static func lowerHexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x57 &+ value }
    /// The digit for a value below 16: `0`…`9`, `A`…`F`.
    @inlinable
    public static func upperHexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x37 &+ value }

    /// The number that `text` is, one digit to `most`, 18 at most; nil for all else, as signs and blanks.
    public static func decimal(_ text: Span<UInt8>, most: Int) -> Int? {
        guard (1...most).contains(text.count) else { return nil }
        var number = 0
        for index in text.indices {
            guard isDigit(text[index]) else { return nil }
            number = number * 10 + Int(text[index] &- 0x30)
        }
        return number
    }

    @inlinable
    public static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

    /// Whether the byte may stand in a token: RFC 9110 §5.6.2 `tchar`.
    @inlinable
    public static func isToken(_ byte: UInt8) -> Bool { ByteSet.token.contains(byte) }
}

/// A set of byte values as four 64-bit words.
public struct ByteSet: Sendable {
    @usableFromInline internal let words: (UInt64, UInt64, UInt64, UInt64)

    /// The set of the bytes for which `member` holds.
    public init(where member: (UInt8) -> Bool) {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for byte in UInt8.min...UInt8.max where member(byte) {
            let bit = UInt64(1) << UInt64(byte & 63)
            switch byte >> 6 {
            case 0: words.0 |= bit
            case 1: words.1 |= bit
            case 2: words.2 |= bit
            default: words.3 |= bit
            }
        }
        self.words = words
    }

    @inlinable
    internal init(_ first: UInt64, _ second: UInt64) { words = (first, second, 0, 0) }

    @inlinable
    public func contains(_ byte: UInt8) -> Bool {
        let word =
            switch byte >> 6 {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            default: words.3
            }
        return (word >> UInt64(byte & 63)) & 1 != 0
    }

    /// `tchar` of RFC 9110 §5.6.2: ``!#$%&'*+-.^_`|~``, digits and letters.
    @inlinable public static var token: ByteSet { ByteSet(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }
    /// What the WHATWG URL standard leaves alone in a form: letters, digits and `*-._`.
    @inlinable public static var formUnescaped: ByteSet { ByteSet(0x03FF_6400_0000_0000, 0x07FF_FFFE_87FF_FFFE) }
    /// RFC 3986 §2.3 `unreserved`: letters, digits and `-._~`.
    @inlinable public static var unreserved: ByteSet { ByteSet(0x03FF_6000_0000_0000, 0x47FF_FFFE_87FF_FFFE) }
}
