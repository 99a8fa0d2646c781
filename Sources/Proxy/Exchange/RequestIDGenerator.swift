internal import Octets

/// Makes request ids of 32 lower-case hexadecimal digits: 64 random bits of the worker, then a counter that starts at
/// random and is scrambled, so that ids are unique in a process and can't collide by chance between processes.
struct RequestIDGenerator {
    private let prefix = UInt64.random(in: .min ... .max)
    private var counter = UInt64.random(in: .min ... .max)

    /// Replaces `output` by the next id.
    mutating func next(into output: inout [UInt8]) {
        counter &+= 1
        // An odd multiplier maps 64-bit numbers one to one: no two counters give the same text.
        let scrambled = counter &* 0x9E37_79B9_7F4A_7C15
        output.removeAll(keepingCapacity: true)
        append(prefix, to: &output)
        append(scrambled, to: &output)
    }

    private func append(_ word: UInt64, to output: inout [UInt8]) {
        var rest = word
        for _ in 0..<16 {
            rest = rest << 4 | rest >> 60
            output.append(ASCII.lowerHexDigit(UInt8(truncatingIfNeeded: rest & 15)))
        }
    }
}
