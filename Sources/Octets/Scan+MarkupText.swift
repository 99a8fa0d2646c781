extension Scan {
    /// The longest run from `start` without `<`, `>`, `&` and bytes below 0x20 other than tab and line feed: what passes
    /// between XML and plain text as it is.
    ///
    /// Sixteen bytes at a time; `start` may be the count.
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
}
