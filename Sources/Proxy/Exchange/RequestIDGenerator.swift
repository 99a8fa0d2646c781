/// Makes request ids of 32 lower-case hexadecimal digits: 64 random bits of the worker, then a counter that starts at
/// random and is scrambled, so that ids are unique in a process and can't collide by chance between processes.
struct RequestIDGenerator {
    private let prefix = HexWord(UInt64.random(in: .min ... .max))
    private var counter = UInt64.random(in: .min ... .max)

    /// Replaces `output` by the next id.
    mutating func next(into output: inout [UInt8]) {
        counter &+= 1
        // An odd multiplier maps 64-bit numbers one to one: no two counters give the same text.
        let suffix = HexWord(counter &* 0x9E37_79B9_7F4A_7C15)
        if output.count != 32 { output = [UInt8](repeating: 0, count: 32) }
        prefix.write(to: &output, at: 0)
        suffix.write(to: &output, at: 16)
    }
}

/// The sixteen hexadecimal digits of a number.
struct HexWord {
    /// The first eight digits and the last ones, each the first one lowest.
    private let digits: (UInt64, UInt64)

    init(_ word: UInt64) {
        digits = (
            Self.digits(of: UInt32(truncatingIfNeeded: word &>> 32)), Self.digits(of: UInt32(truncatingIfNeeded: word))
        )
    }

    /// Replaces the sixteen bytes from `start` on.
    func write(to output: inout [UInt8], at start: Int) {
        var span = output.mutableSpan
        // SAFETY: any byte is a value of the elements.
        var bytes = unsafe span.mutableBytes
        bytes.storeBytes(of: digits.0.littleEndian, toByteOffset: start, as: UInt64.self)
        bytes.storeBytes(of: digits.1.littleEndian, toByteOffset: start + 8, as: UInt64.self)
    }

    /// Eight digits at once: the four bits of each move to a byte of their own.
    private static func digits(of number: UInt32) -> UInt64 {
        var word = UInt64(number.byteSwapped)
        word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word &<< 8) & 0x00FF_00FF_00FF_00FF
        word = (word &>> 4 | word &<< 8) & 0x0F0F_0F0F_0F0F_0F0F
        // What is above 9 gets bit 4 by adding 6; from there it is 39 more to the letters.
        let letters = (word &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
        return word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}
