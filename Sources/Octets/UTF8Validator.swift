/// Checks that bytes are UTF-8 (RFC 3629) wherever they are cut: no overlong forms, no surrogates, nothing above U+10FFFF.
public struct UTF8Validator: Sendable {
    /// Continuation bytes that are still owed.
    @usableFromInline internal var owed: UInt8 = 0
    /// The range that the next continuation byte must lie in.
    @usableFromInline internal var low: UInt8 = 0x80
    @usableFromInline internal var high: UInt8 = 0xBF

    @inlinable public init() {}

    /// Whether the bytes so far end between two characters.
    @inlinable public var isComplete: Bool { owed == 0 }

    /// Takes the next bytes. Returns nil when they are fine, else the index of the first byte that can't be part of UTF-8.
    @inlinable
    public mutating func check(_ bytes: Span<UInt8>) -> Int? {
        if owed == 0, Self.isASCII(bytes) { return nil }
        return checkEach(bytes)
    }

    /// Takes what was begun byte by byte, then whole characters at the speed of words, and the rest byte by byte again: so
    /// that rest, which is where a fault stands or the bytes end, is what the index comes from.
    @usableFromInline
    internal mutating func checkEach(_ bytes: Span<UInt8>) -> Int? {
        var at = 0
        while owed > 0, at < bytes.count {
            guard step(bytes[at]) else { return at }
            at &+= 1
        }
        at = Self.skipCharacters(bytes, from: at)
        while at < bytes.count {
            guard step(bytes[at]) else { return at }
            at &+= 1
        }
        return nil
    }

    /// Takes one byte. Returns whether it goes on with UTF-8.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        if owed > 0 {
            guard byte >= low && byte <= high else { return false }
            low = 0x80
            high = 0xBF
            owed &-= 1
            return true
        }
        switch byte {
        case 0x00...0x7F: break
        case 0xC2...0xDF: owed = 1
        case 0xE0: (owed, low) = (2, 0xA0)
        case 0xE1...0xEC, 0xEE, 0xEF: owed = 2
        case 0xED: (owed, high) = (2, 0x9F)
        case 0xF0: (owed, low) = (3, 0x90)
        case 0xF1...0xF3: owed = 3
        case 0xF4: (owed, high) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Whether no byte is above 0x7F. Long runs are left at the first sixteen bytes that hold such a one.
    @inlinable
    internal static func isASCII(_ bytes: Span<UInt8>) -> Bool {
        // SAFETY: words are loaded only where they lie inside 0..<count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            let high: UInt64 = 0x8080_8080_8080_8080
            guard count >= 8 else {
                var seen: UInt8 = 0
                for index in 0..<count { seen |= unsafe raw[index] }
                return seen < 0x80
            }
            var at = 0
            while at &+ 16 <= count {
                let first = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let second = unsafe raw.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self)
                if (first | second) & high != 0 { return false }
                at &+= 16
            }
            if at &+ 8 < count, unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self) & high != 0 {
                return false
            }
            return unsafe raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self) & high == 0
        }
    }

    /// The first index at or after `start` whose byte is not ASCII, or the count.
    public static func skipASCII(_ bytes: Span<UInt8>, from start: Int) -> Int {
        // SAFETY: eight bytes are loaded only while at + 8 <= count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while at &+ 8 <= raw.count {
                let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let marks = word & 0x8080_8080_8080_8080
                if marks != 0 { return at &+ marks.trailingZeroBitCount / 8 }
                at &+= 8
            }
            while at < raw.count, unsafe raw[at] < 0x80 { at &+= 1 }
            return at
        }
    }

    /// Whether `bytes` as a whole are UTF-8.
    @inlinable
    public static func isValid(_ bytes: Span<UInt8>) -> Bool {
        var validator = UTF8Validator()
        return validator.check(bytes) == nil && validator.isComplete
    }
}

extension UTF8Validator {
    /// The first index at or after `start` where no whole and valid character begins, or the count. `start` must be where
    /// a character begins.
    ///
    /// A character is a few tests of one word: the bits that say its length in all its bytes, and the bits that tell an
    /// overlong form, a surrogate or what lies above U+10FFFF. Four characters of three bytes, as Chinese, Japanese and
    /// Korean text has them in a row, are tested at once, and four of two bytes.
    internal static func skipCharacters(_ bytes: Span<UInt8>, from start: Int) -> Int {
        // SAFETY: eight bytes are loaded at `at` only while at + 8 <= count, at `at + 6` only while at + 14 <= count, and
        // at count - 8 only where the count is at least 8; single bytes only below the count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            var at = start
            while at &+ 8 <= count {
                let word = unsafe load(raw, at)
                let marks = word & 0x8080_8080_8080_8080
                guard marks & 0xFF != 0 else {
                    at &+= marks == 0 ? 8 : marks.trailingZeroBitCount / 8
                    continue
                }
                let length = lengthOfCharacter(word)
                guard length > 0 else { return at }
                at &+= length
                if length == 3 {
                    while at &+ 14 <= count {
                        let first = unsafe load(raw, at)
                        let second = unsafe load(raw, at &+ 6)
                        guard isThreeByteFormTwice(first), isThreeByteFormTwice(second) else { break }
                        at &+= 12
                    }
                } else if length == 2 {
                    while at &+ 8 <= count {
                        let next = unsafe load(raw, at)
                        guard isTwoByteFormFourTimes(next) else { break }
                        at &+= 8
                    }
                }
            }
            guard at < count else { return at }
            // The last bytes, with zeros behind them: a character that they cut is none.
            var word: UInt64 = 0
            if count >= 8 {
                word = unsafe load(raw, count &- 8) &>> UInt64(truncatingIfNeeded: (8 &- (count &- at)) &* 8)
            } else {
                for index in (at..<count).reversed() { word = unsafe word &<< 8 | UInt64(raw[index]) }
            }
            while at < count {
                let length = word & 0x80 == 0 ? 1 : lengthOfCharacter(word)
                guard length > 0 else { return at }
                at &+= length
                word &>>= UInt64(truncatingIfNeeded: length &* 8)
            }
            return at
        }
    }

    /// The length of the character above ASCII that the word begins with, or 0 where it is not valid.
    @inline(__always)
    private static func lengthOfCharacter(_ word: UInt64) -> Int {
        if word & 0xC0_C0F0 == 0x80_80E0 { return isThreeByteForm(word) ? 3 : 0 }
        // C0 and C1 would be overlong.
        if word & 0xC0E0 == 0x80C0 { return word & 0x1E != 0 ? 2 : 0 }
        guard word & 0xC0C0_C0F8 == 0x8080_80F0 else { return 0 }
        // The plane, from three bits of the first and two of the second byte: 1 to 16.
        let plane = (word & 0x07) &<< 2 | (word &>> 12) & 0x03
        return plane &- 1 < 16 ? 4 : 0
    }

    @inline(__always)
    @unsafe
    private static func load(_ raw: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
        // SAFETY: the caller has eight bytes from `at` on.
        unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
    }

    /// Whether a character whose bytes are known to be `1110xxxx 10xxxxxx 10xxxxxx` is neither overlong nor a surrogate:
    /// of 32 blocks of 2048, which five bits tell, the first one and that of D800 are none.
    @inline(__always)
    private static func isThreeByteForm(_ word: UInt64) -> Bool {
        let block = (word & 0x0F) &<< 1 | (word &>> 13) & 0x01
        return (0xF7FF_FFFE as UInt64) &>> block & 1 != 0
    }

    /// Whether the low six bytes are two characters of three bytes.
    @inline(__always)
    private static func isThreeByteFormTwice(_ word: UInt64) -> Bool {
        word & 0xC0C0_F0C0_C0F0 == 0x8080_E080_80E0 && isThreeByteForm(word) && isThreeByteForm(word &>> 24)
    }

    /// Whether the eight bytes are four characters of two bytes, none of them overlong: a lead byte above C1 has one of
    /// four bits, and adding all of them passes one of these on to the bit above.
    @inline(__always)
    private static func isTwoByteFormFourTimes(_ word: UInt64) -> Bool {
        word & 0xC0E0_C0E0_C0E0_C0E0 == 0x80C0_80C0_80C0_80C0
            && ((word & 0x001E_001E_001E_001E) &+ 0x001E_001E_001E_001E) & 0x0020_0020_0020_0020
                == 0x0020_0020_0020_0020
    }
}
