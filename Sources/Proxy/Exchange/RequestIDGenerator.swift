internal import Gateway

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

    init(_ word: UInt64) { digits = HexDigits.sixteen(of: word) }

    /// Replaces the sixteen bytes from `start` on.
    func write(to output: inout [UInt8], at start: Int) {
        var span = output.mutableSpan
        // SAFETY: any byte is a value of the elements.
        var bytes = unsafe span.mutableBytes
        bytes.storeBytes(of: digits.0.littleEndian, toByteOffset: start, as: UInt64.self)
        bytes.storeBytes(of: digits.1.littleEndian, toByteOffset: start + 8, as: UInt64.self)
    }
}
