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
        for word in [prefix, scrambled] {
            for shift in stride(from: 60, through: 0, by: -4) {
                output.append(ASCII.lowerHexDigit(UInt8(truncatingIfNeeded: (word >> UInt64(shift)) & 15)))
            }
        }
    }
}
