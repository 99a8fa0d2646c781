extension Scan {
    /// The longest run from `start` without `<`, `>`, `&` and bytes below 0x20 other than tab and line feed: what passes
    /// between XML and plain text as it is.
    ///
    /// Sixteen bytes at a time; `start` may be the count.
    @inlinable
    public static func markupTextRun(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        // SAFETY: sixteen bytes are loaded only while at + 16 <= count, single ones only while at < count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let end = raw.count
            var at = start
            var seen: UInt64 = 0
            let high: UInt64 = 0x8080_8080_8080_8080
            while at &+ 16 <= end {
                let block = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                let controls =
                    (block .< SIMD16(repeating: 0x20)) .& (block .!= SIMD16(repeating: 0x09))
                    .& (block .!= SIMD16(repeating: 0x0A))
                let signs =
                    (block .== SIMD16(repeating: 0x3C)) .| (block .== SIMD16(repeating: 0x3E))
                    .| (block .== SIMD16(repeating: 0x26))
                let marks = unsafe unsafeBitCast(controls .| signs, to: SIMD2<UInt64>.self)
                let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
                // The bytes below the first mark: of both words where there is none.
                if marks[0] != 0 { break }
                seen |= words[0]
                if marks[1] != 0 {
                    at &+= 8
                    break
                }
                seen |= words[1]
                at &+= 16
            }
            while at < end {
                let byte = unsafe raw[at]
                if byte < 0x20 ? byte != 0x09 && byte != 0x0A : byte == 0x3C || byte == 0x3E || byte == 0x26 { break }
                seen |= UInt64(byte)
                at &+= 1
            }
            return TextRun(end: at, isASCII: seen & high == 0)
        }
    }
}
