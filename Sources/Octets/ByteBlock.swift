/// The bytes of a block of sixteen before the first marked one; 16 where none is marked. A mark is a byte of ones.
@inlinable
@inline(__always)
internal func markedLength(_ marks: SIMD2<UInt64>) -> Int {
    let low = marks[0].trailingZeroBitCount
    let high = marks[1].trailingZeroBitCount
    return (marks[0] != 0 ? low : 64 &+ high) &>> 3
}

/// The bits of the first `length` bytes of a block, at most sixteen, joined: a high bit is set when one of them has it.
@inlinable
@inline(__always)
internal func joinedBits(_ words: SIMD2<UInt64>, _ length: Int) -> UInt64 {
    if length >= 8 {
        let rest = UInt64(truncatingIfNeeded: length &- 8)
        return words[0] | (rest == 8 ? words[1] : words[1] & ((1 &<< (rest &* 8)) &- 1))
    }
    return words[0] & ((1 &<< UInt64(truncatingIfNeeded: length &* 8)) &- 1)
}

extension ASCII {
    /// The value of a hexadecimal digit in either case; what is none gives a number with bit 16 set and the four lowest.
    @inline(__always)
    internal static func hexDigit(_ byte: UInt8) -> UInt64 {
        let digit = byte &- 0x30
        let letter = (byte | 0x20) &- 0x61
        return digit < 10 ? UInt64(digit) : letter < 6 ? UInt64(letter &+ 10) : 0x1_000F
    }
}
