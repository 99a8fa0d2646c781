/// Scans of forms, sixteen bytes at a time.
extension Scan {
    /// The run from `start` to before the first byte that ends a name in a form, or says that there is more to do than to take
    /// it as it stands: `=`, `&`, `%`, `+`, `[` and `]`.
    @inlinable
    @inline(__always)
    public static func formName(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        formRun(in: bytes, from: start, isName: true)
    }

    /// The run from `start` to before the first byte that ends a value in a form, or has to be decoded: `&`, `%` and `+`.
    @inlinable
    @inline(__always)
    public static func formValue(in bytes: Span<UInt8>, from start: Int) -> TextRun {
        formRun(in: bytes, from: start, isName: false)
    }

    @inlinable
    @inline(__always)
    internal static func formRun(in bytes: Span<UInt8>, from start: Int, isName: Bool) -> TextRun {
        // SAFETY: sixteen bytes are loaded only while at + 16 <= count, one only while at < count. A mask has the size of
        // its vector.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let high: UInt64 = 0x8080_8080_8080_8080
            var at = start
            var seen: UInt64 = 0
            while at &+ 16 <= raw.count {
                let block = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                // Each comparison has its types written down: inferred ones choose the generic operators, which are loops.
                let separators = block .== SIMD16<UInt8>(repeating: 0x26)
                let escapes = block .== SIMD16<UInt8>(repeating: 0x25)
                let pluses = block .== SIMD16<UInt8>(repeating: 0x2B)
                var stops = separators .| escapes .| pluses
                if isName {
                    let ends = block .== SIMD16<UInt8>(repeating: 0x3D)
                    let opens = block .== SIMD16<UInt8>(repeating: 0x5B)
                    let closes = block .== SIMD16<UInt8>(repeating: 0x5D)
                    let others = ends .| opens .| closes
                    stops = stops .| others
                }
                let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
                let length = unsafe markedLength(unsafeBitCast(stops, to: SIMD2<UInt64>.self))
                seen |= joinedBits(words, length)
                at &+= length
                if length < 16 { return TextRun(end: at, isASCII: seen & high == 0) }
            }
            while at < raw.count {
                let byte = unsafe raw[at]
                if byte == 0x26 || byte == 0x25 || byte == 0x2B { break }
                if isName, byte == 0x3D || byte == 0x5B || byte == 0x5D { break }
                seen |= UInt64(byte)
                at &+= 1
            }
            return TextRun(end: at, isASCII: seen & high == 0)
        }
    }
}
