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
