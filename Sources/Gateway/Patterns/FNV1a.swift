/// The hash FNV-1a of 64 bits (Fowler, Noll and Vo), taken in unit by unit: the same in every process, and as quick as a multiplication.
/// It resists nobody who looks for collisions, so what has one hash is compared as well.
struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    @inline(__always)
    mutating func combine(_ unit: some UnsignedInteger & FixedWidthInteger) {
        value = (value ^ UInt64(truncatingIfNeeded: unit)) &* 0x0000_0100_0000_01B3
    }

    mutating func combine(_ bytes: Span<UInt8>) {
        for index in bytes.indices { combine(bytes[index]) }
    }
}
