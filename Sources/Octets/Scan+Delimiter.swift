internal import COctets

extension Scan {
    /// The first index at or after `start` where a delimiter of multipart can begin: a carriage return, and two bytes
    /// behind it a hyphen or the end of the bytes. The count where there is none. `start` may be the count.
    ///
    /// Both bytes are looked for at once, 64 or 128 places at a time: so neither a file in which each 256th byte is a
    /// carriage return nor one whose every line ends with one stops it.
    public static func delimiterStart(in bytes: Span<UInt8>, from start: Int) -> Int {
        // SAFETY: C's loop reads what there is from `start` on. Sixteen bytes are loaded at `at` and at `at + 2` only while
        // at + 18 <= count, four times that only while at + 66 <= count, and single bytes only below the count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            var at = start
            if count &- start >= 256, let base = buffer.baseAddress {
                at &+= unsafe recast_skip_to_delimiter(base + start, count &- start)
            }
            while at &+ 66 <= count {
                let first = unsafe delimiterMarks(raw, at)
                let second = unsafe delimiterMarks(raw, at &+ 16)
                let third = unsafe delimiterMarks(raw, at &+ 32)
                let fourth = unsafe delimiterMarks(raw, at &+ 48)
                let marks = (first | second) | (third | fourth)
                if marks[0] | marks[1] != 0 { break }
                at &+= 64
            }
            while at &+ 18 <= count {
                let marks = unsafe delimiterMarks(raw, at)
                if marks[0] != 0 { return at &+ marks[0].trailingZeroBitCount / 8 }
                if marks[1] != 0 { return at &+ 8 &+ marks[1].trailingZeroBitCount / 8 }
                at &+= 16
            }
            while at < count {
                if unsafe raw[at] == ASCII.carriageReturn,
                    unsafe at &+ 2 >= count || raw[at &+ 2] == UInt8(ascii: "-")
                {
                    return at
                }
                at &+= 1
            }
            return count
        }
    }

    /// Sixteen bytes that are not zero where a carriage return stands at `at` and a hyphen two bytes on.
    @inline(__always)
    @unsafe
    private static func delimiterMarks(_ raw: UnsafeRawBufferPointer, _ at: Int) -> SIMD2<UInt64> {
        // SAFETY: the caller has eighteen bytes from `at` on; a mask has the size of its vector.
        let returns = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
        let hyphens = unsafe raw.loadUnaligned(fromByteOffset: at &+ 2, as: SIMD16<UInt8>.self)
        let ends = returns .== SIMD16<UInt8>(repeating: 0x0D)
        let lines = hyphens .== SIMD16<UInt8>(repeating: 0x2D)
        let marks = ends .& lines
        return unsafe unsafeBitCast(marks, to: SIMD2<UInt64>.self)
    }
}
