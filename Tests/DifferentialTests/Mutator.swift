/// Makes new inputs from old ones, the same for the same seed.
struct Mutator {
    private var state: UInt64
    private let seeds: [[UInt8]]

    /// Bytes that mean something to a parser of HTTP.
    private static let meaningful: [UInt8] =
        Array("\r\n\t :;,=\"\\/?#%0123456789aAfFxX-+_.".utf8) + [0, 0x0B, 0x7F, 0x80, 0x85, 0xA0, 0xFF]

    init(seed: UInt64, _ seeds: [[UInt8]]) {
        state = seed
        self.seeds = seeds
    }

    /// SplitMix64.
    private mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ word >> 31) % UInt64(bound))
    }

    mutating func input() -> [UInt8] {
        var bytes = seeds[next(seeds.count)]
        for _ in 0...next(3) { mutate(&bytes) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard bytes.count > 1 else { return bytes.append(13) }
        let at = next(bytes.count)
        let byte = Self.meaningful[next(Self.meaningful.count)]
        switch next(8) {
        case 0: bytes.remove(at: at)
        case 1: bytes[at] = byte
        case 2: bytes.insert(byte, at: at)
        case 3: bytes.insert(contentsOf: line(around: at, in: bytes), at: lineStart(at, in: bytes))
        case 4: bytes += seeds[next(seeds.count)]
        case 5: bytes = Array(bytes[at...] + bytes[..<at])
        case 6: bytes = Array(bytes[..<at]) + seeds[next(seeds.count)]
        default: bytes.removeSubrange(at..<min(bytes.count, at + 1 + next(6)))
        }
    }

    private func lineStart(_ at: Int, in bytes: [UInt8]) -> Int {
        (bytes[..<at].lastIndex(of: 10) ?? -1) + 1
    }

    private func line(around at: Int, in bytes: [UInt8]) -> [UInt8] {
        let start = lineStart(at, in: bytes)
        let end = bytes[start...].firstIndex(of: 10) ?? bytes.count - 1
        return Array(bytes[start...end])
    }
}
