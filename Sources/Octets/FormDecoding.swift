internal import COctets

extension ByteStore {
    /// Appends what the bytes from `start` to before `bound` decode to as application/x-www-form-urlencoded: a `+` is a
    /// space, and `%` with two hexadecimal digits the byte that they say.
    ///
    /// It ends at a `&`, at `end` where that is another byte, at a `%` that begins no escape before the bound, or at the
    /// bound, which is at most the count. Thirty-two bytes are copied in a step by C's loop, and sixteen behind it, in which
    /// each `+` becomes a space, so that only escapes stop it.
    public mutating func append(
        formDecoding bytes: Span<UInt8>, from start: Int, to bound: Int, endingAt end: UInt8 = UInt8(ascii: "&")
    ) -> TextRun {
        precondition(start >= 0 && start <= bound && bound <= bytes.count, "the bounds pass the bytes")
        var run = TextRun(end: start, isASCII: true)
        // SAFETY: no more bytes are written than read, but for a last block of sixteen, for which there is room. Blocks
        // are loaded only while at + 16 <= bound, digits only while at + 2 < bound, single bytes only below the bound.
        unsafe write(upTo: bound &- start &+ 16) { target in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                let raw = UnsafeRawBufferPointer(buffer)
                let out = UnsafeMutableRawPointer(target)
                var to = 0
                var isASCII = true
                // It reads below the bound, and writes no more than it reads.
                var at =
                    unsafe start
                    &+ recast_form_decode(
                        buffer.baseAddress.map { unsafe $0 + start }, bound &- start, end, target, &to, &isASCII)
                var seen: UInt64 = isASCII ? 0 : 0x80
                decoding: while at < bound, unsafe raw[at] != UInt8(ascii: "&"), unsafe raw[at] != end {
                    var stop = false
                    while at &+ 16 <= bound {
                        let block = unsafe FormBlock(raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self), end)
                        unsafe out.storeBytes(of: block.decoded, toByteOffset: to, as: SIMD16<UInt8>.self)
                        let length = block.length
                        seen |= block.seen(length)
                        at &+= length
                        to &+= length
                        if length < 16 {
                            stop = true
                            break
                        }
                    }
                    while !stop, at < bound {
                        let byte = unsafe raw[at]
                        if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "&") || byte == end { break }
                        seen |= UInt64(byte)
                        unsafe target[to] = byte == UInt8(ascii: "+") ? ASCII.space : byte
                        at &+= 1
                        to &+= 1
                    }
                    // Escapes often stand in a row: a character above ASCII is two to four of them.
                    let first = at
                    while at &+ 2 < bound, unsafe raw[at] == UInt8(ascii: "%") {
                        let high = unsafe ASCII.hexDigit(raw[at &+ 1])
                        let low = unsafe ASCII.hexDigit(raw[at &+ 2])
                        guard high | low < 16 else { break decoding }
                        let byte = UInt8(truncatingIfNeeded: high &<< 4 | low)
                        seen |= UInt64(byte)
                        unsafe target[to] = byte
                        at &+= 3
                        to &+= 1
                    }
                    if at == first { break }
                }
                run = TextRun(end: at, isASCII: seen & 0x8080_8080_8080_8080 == 0)
                return to
            }
        }
        return run
    }
}

/// Sixteen bytes of form text.
private struct FormBlock {
    /// The bytes with a space for each `+`.
    var decoded: SIMD16<UInt8>
    /// Not zero where a byte ends the run.
    var marks: SIMD2<UInt64>
    var words: SIMD2<UInt64>

    @inline(__always)
    init(_ block: SIMD16<UInt8>, _ end: UInt8) {
        // Each comparison has its types written down: inferred ones choose the generic operators, which are loops.
        let pluses = block .== SIMD16<UInt8>(repeating: 0x2B)
        let separators = block .== SIMD16<UInt8>(repeating: 0x26)
        let escapes = block .== SIMD16<UInt8>(repeating: 0x25)
        let ends = block .== SIMD16<UInt8>(repeating: end)
        let stops = separators .| escapes .| ends
        // SAFETY: a mask has the size of its vector, and all its bits are set or none.
        marks = unsafe unsafeBitCast(stops, to: SIMD2<UInt64>.self)
        words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
        let difference = unsafe unsafeBitCast(pluses, to: SIMD2<UInt64>.self) & 0x0B0B_0B0B_0B0B_0B0B
        let spaced = words ^ difference
        decoded = unsafe unsafeBitCast(spaced, to: SIMD16<UInt8>.self)
    }

    /// The bytes before the first that ends the run; 16 where none does.
    @inline(__always)
    var length: Int { markedLength(marks) }

    /// All bits of the first `length` bytes, joined.
    @inline(__always)
    func seen(_ length: Int) -> UInt64 { joinedBits(words, length) }
}
