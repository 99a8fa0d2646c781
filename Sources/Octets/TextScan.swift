/// A run of text that ends before a byte that its syntax gives a meaning, or before a control byte.
@frozen
public struct TextRun: Sendable {
    /// The index after its last byte.
    public var end: Int
    /// Whether the run, decoded where it was encoded, has no byte above 0x7F, so that it needs no look at its UTF-8.
    public var isASCII: Bool

    @inlinable
    public init(end: Int, isASCII: Bool) {
        self.end = end
        self.isASCII = isASCII
    }
}

extension Scan {
    /// The longest run from `start` without `"`, `\` and bytes below 0x20: what a JSON string holds unescaped.
    ///
    /// Sixteen bytes at a time, as of all runs here; `start` may be the count.
    @inlinable
    public static func textRun(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        run(in: bytes, from: start, to: 0x22, 0x5C, 0x5C)
    }

    /// The longest run from `start` without `<`, `>`, `&` and bytes below 0x20 other than tab and line feed: what passes
    /// between XML and plain text as it is.
    @inlinable
    public static func markupTextRun(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        var run = markupLineRun(in: bytes, from: start)
        while run.end < bytes.count, bytes[run.end] == ASCII.tab || bytes[run.end] == ASCII.lineFeed {
            let next = markupLineRun(in: bytes, from: run.end &+ 1)
            run = TextRun(end: next.end, isASCII: run.isASCII && next.isASCII)
        }
        return run
    }

    /// The run that every byte below 0x20 ends as well.
    @inlinable
    internal static func markupLineRun(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        run(in: bytes, from: start, to: 0x3C, 0x3E, 0x26)
    }

    /// The longest run from `start` without `stop` and bytes below 0x20.
    @inlinable
    public static func lineRun(in bytes: Span<UInt8>, from start: Int, to stop: UInt8) -> TextRun {
        run(in: bytes, from: start, to: stop, stop, stop)
    }

    /// The index where the run from `start` ends that has no `quote`, `<`, `&` and no byte below 0x20: what stands as it is in
    /// the value of an attribute.
    @inlinable
    public static func attributeRun(in bytes: Span<UInt8>, from start: Int, to quote: UInt8) -> Int {
        run(in: bytes, from: start, to: quote, 0x3C, 0x26).end
    }

    /// The longest run from `start` without three bytes and those below 0x20.
    @inlinable
    @inline(__always)
    internal static func run(
        in bytes: Span<UInt8>, from start: Int, to first: UInt8, _ second: UInt8, _ third: UInt8
    ) -> TextRun {
        // SAFETY: sixteen bytes are loaded only while at + 16 <= count, single ones only while at < count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let end = raw.count
            var at = start
            var seen: UInt64 = 0
            let one = SIMD16<UInt8>(repeating: first)
            let two = SIMD16<UInt8>(repeating: second)
            let three = SIMD16<UInt8>(repeating: third)
            let space = SIMD16<UInt8>(repeating: 0x20)
            while at &+ 16 <= end {
                let block = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                let stops = (block .== one) .| (block .== two) .| (block .== three) .| (block .< space)
                let marks = unsafe unsafeBitCast(stops, to: SIMD2<UInt64>.self)
                let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
                if marks[0] != 0 {
                    // Only what stands below the first mark belongs to the run.
                    let bit = UInt64(truncatingIfNeeded: marks[0].trailingZeroBitCount)
                    seen |= words[0] & ((1 &<< bit) &- 1)
                    return TextRun(end: at &+ Int(bit &>> 3), isASCII: seen & 0x8080_8080_8080_8080 == 0)
                }
                seen |= words[0]
                if marks[1] != 0 {
                    let bit = UInt64(truncatingIfNeeded: marks[1].trailingZeroBitCount)
                    seen |= words[1] & ((1 &<< bit) &- 1)
                    return TextRun(end: at &+ 8 &+ Int(bit &>> 3), isASCII: seen & 0x8080_8080_8080_8080 == 0)
                }
                seen |= words[1]
                at &+= 16
            }
            while at < end {
                let byte = unsafe raw[at]
                if byte < 0x20 || byte == first || byte == second || byte == third { break }
                seen |= UInt64(byte)
                at &+= 1
            }
            return TextRun(end: at, isASCII: seen & 0x8080_8080_8080_8080 == 0)
        }
    }

    /// Whether JSON holds all the bytes unescaped: none is `"`, `\` or below 0x20.
    ///
    /// Names and values are short, so two words that may overlap cover most of them.
    @inlinable
    public static func isPlainText(_ bytes: Span<UInt8>) -> Bool {
        let count = bytes.count
        if count > 16 { return textRun(in: bytes, from: 0).end == count }
        let words = edges(of: bytes)
        return marksOfEscapes(words.0) | marksOfEscapes(words.1) == 0
    }

    /// Whether one of at most sixteen bytes is `first` or `second`, neither of which is a space.
    @inlinable
    @inline(__always)
    public static func holds(_ first: UInt8, or second: UInt8, in bytes: Span<UInt8>) -> Bool {
        precondition(bytes.count <= 16, "two words hold sixteen bytes")
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (a, b) = (ones &* UInt64(first), ones &* UInt64(second))
        let words = edges(of: bytes)
        return zeroBytes(words.0 ^ a) | zeroBytes(words.0 ^ b) | zeroBytes(words.1 ^ a) | zeroBytes(words.1 ^ b) != 0
    }

    /// Two words that together hold each of at most sixteen bytes, and spaces besides.
    @inlinable
    @inline(__always)
    internal static func edges(of bytes: Span<UInt8>) -> (UInt64, UInt64) {
        // SAFETY: words are loaded at 0 and so that they end at the count, where that is at least their size; two or
        // three bytes are its first, its middle and its last one.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            if count >= 8 {
                return unsafe (
                    raw.loadUnaligned(as: UInt64.self), raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
                )
            }
            let spaces: UInt64 = 0x2020_2020_2020_2020
            if count >= 4 {
                let first = unsafe UInt64(raw.loadUnaligned(as: UInt32.self))
                let last = unsafe UInt64(raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
                return (first | last &<< 32, spaces)
            }
            guard count > 0 else { return (spaces, spaces) }
            let edges = unsafe UInt64(raw[0]) | UInt64(raw[count &>> 1]) &<< 8 | UInt64(raw[count &- 1]) &<< 16
            return (edges | spaces & ~0xFF_FFFF, spaces)
        }
    }

    /// Two words that tell at most sixteen bytes from all others of their number: the bytes, lowest first, with zeros behind
    /// them. Of more bytes the first eight and the last eight.
    @inlinable
    @inline(__always)
    public static func ends(of bytes: Span<UInt8>) -> (UInt64, UInt64) {
        // SAFETY: words are loaded at 0 and so that they end at the count, where that is at least their size; two or
        // three bytes are its first, its middle and its last one.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            if count >= 8 {
                let first = unsafe UInt64(littleEndian: raw.loadUnaligned(as: UInt64.self))
                let last = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
                if count >= 16 { return (first, last) }
                // Seven bytes at most are left of the last word: two shifts, since one by 64 would be none.
                return (first, (last &>> 8) &>> UInt64(truncatingIfNeeded: (15 &- count) &* 8))
            }
            if count >= 4 {
                let first = unsafe UInt64(UInt32(littleEndian: raw.loadUnaligned(as: UInt32.self)))
                let last = unsafe UInt64(
                    UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)))
                return (first | last &<< UInt64(truncatingIfNeeded: (count &- 4) &* 8), 0)
            }
            guard count > 0 else { return (0, 0) }
            let middle = count &>> 1
            let edges = unsafe UInt64(raw[0]) | UInt64(raw[middle]) &<< UInt64(truncatingIfNeeded: middle &* 8)
            return unsafe (edges | UInt64(raw[count &- 1]) &<< UInt64(truncatingIfNeeded: (count &- 1) &* 8), 0)
        }
    }

    /// Bit 5 of each byte of the word that is a lower-case ASCII letter: the bit that tells it from the capital. All bytes of the
    /// word are ASCII.
    @inlinable
    @inline(__always)
    internal static func caseBits(_ word: UInt64) -> UInt64 {
        // Seven bits and a sum that sets the eighth from a bound on: the sums differ between both bounds.
        let letters = (word &+ 0x1F1F_1F1F_1F1F_1F1F) ^ (word &+ 0x0505_0505_0505_0505)
        return (letters & 0x8080_8080_8080_8080) &>> 2
    }

    /// Not zero where a byte of the word is `"`, `\` or below 0x20.
    @inlinable
    @inline(__always)
    internal static func marksOfEscapes(_ word: UInt64) -> UInt64 {
        let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
        return controls | zeroBytes(word ^ 0x2222_2222_2222_2222) | zeroBytes(word ^ 0x5C5C_5C5C_5C5C_5C5C)
    }

    /// The first index at or after `start` and before `bound` that holds no ASCII digit, or `bound`, which is at most the
    /// count.
    @inlinable
    public static func endOfDigits(in bytes: Span<UInt8>, from start: Int, to bound: Int) -> Int {
        precondition(bound <= bytes.count, "the bound lies beyond the bytes")
        // SAFETY: eight bytes are loaded only while at + 8 <= bound, single ones only while at < bound <= count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while at &+ 8 <= bound {
                let word = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                // A digit's byte is now its value. Adding 0x76 sets the high bit of what is above 9.
                let values = word ^ 0x3030_3030_3030_3030
                let sums = (values & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7676_7676_7676_7676
                let marks = (sums | values) & 0x8080_8080_8080_8080
                if marks != 0 { return at &+ marks.trailingZeroBitCount / 8 }
                at &+= 8
            }
            while at < bound, unsafe ASCII.isDigit(raw[at]) { at &+= 1 }
            return at
        }
    }

    /// The first index at or after `start` that is not a space, a tab, a line feed or a carriage return, or the count.
    @inlinable
    public static func endOfWhitespace(in bytes: Span<UInt8>, from start: Int) -> Int {
        // SAFETY: eight bytes are loaded only while at + 8 <= count, single ones only while at < count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while at < raw.count {
                let byte = unsafe raw[at]
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
                at &+= 1
                // Indentation is a long row of spaces.
                while at &+ 8 <= raw.count,
                    unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self) == 0x2020_2020_2020_2020
                {
                    at &+= 8
                }
            }
            return at
        }
    }
}
