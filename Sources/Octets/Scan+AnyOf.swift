extension Scan {
    /// The first index at or after `start` that holds one of four bytes, or the count. Give a byte twice to search for fewer.
    ///
    /// Eight bytes are looked at in one step; the runs between the separators of a form are usually shorter than what
    /// makes a `memchr` for each byte pay.
    @inlinable
    public static func firstIndex(
        ofAny first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8, in bytes: Span<UInt8>, from start: Int
    ) -> Int {
        // SAFETY: eight bytes are loaded only while at + 8 <= count, one only while at < count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let ones: UInt64 = 0x0101_0101_0101_0101
            let (a, b) = (ones &* UInt64(first), ones &* UInt64(second))
            let (c, d) = (ones &* UInt64(third), ones &* UInt64(fourth))
            var at = start
            while at &+ 8 <= raw.count {
                let word = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let hits = zeroBytes(word ^ a) | zeroBytes(word ^ b) | zeroBytes(word ^ c) | zeroBytes(word ^ d)
                // The lowest mark is exact; a borrow can only add marks above a true one.
                if hits != 0 { return at &+ hits.trailingZeroBitCount / 8 }
                at &+= 8
            }
            while at < raw.count {
                let byte = unsafe raw[at]
                if byte == first || byte == second || byte == third || byte == fourth { return at }
                at &+= 1
            }
            return raw.count
        }
    }

    /// Whether `byte` is among the bytes.
    @inlinable
    @inline(__always)
    public static func holds(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        firstIndex(ofAny: byte, byte, byte, byte, in: bytes, from: 0) < bytes.count
    }

    /// This search, which also says whether the bytes before that index are all ASCII.
    @inlinable
    public static func run(
        to first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8, in bytes: Span<UInt8>, from start: Int
    ) -> TextRun {
        // SAFETY: eight bytes are loaded only while at + 8 <= count, one only while at < count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let ones: UInt64 = 0x0101_0101_0101_0101
            let high: UInt64 = 0x8080_8080_8080_8080
            let (a, b) = (ones &* UInt64(first), ones &* UInt64(second))
            let (c, d) = (ones &* UInt64(third), ones &* UInt64(fourth))
            var at = start
            var seen: UInt64 = 0
            while at &+ 8 <= raw.count {
                let word = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let hits = zeroBytes(word ^ a) | zeroBytes(word ^ b) | zeroBytes(word ^ c) | zeroBytes(word ^ d)
                if hits != 0 {
                    // Only what stands below the first mark belongs to the run.
                    seen |= word & ((hits & (0 &- hits)) &- 1)
                    return TextRun(end: at &+ hits.trailingZeroBitCount / 8, isASCII: seen & high == 0)
                }
                seen |= word
                at &+= 8
            }
            while at < raw.count {
                let byte = unsafe raw[at]
                if byte == first || byte == second || byte == third || byte == fourth { break }
                seen |= UInt64(byte)
                at &+= 1
            }
            return TextRun(end: at, isASCII: seen & high == 0)
        }
    }

    /// The high bit of each byte that is zero, exact up to the lowest such byte.
    @inlinable
    internal static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }
}
