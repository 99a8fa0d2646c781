#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Random numbers of the system, fit for secrets.
public enum Entropy {
    /// Numbers that one question to the system can give: it answers with at most 256 bytes.
    public static let greatestCount = 32

    /// `count` random numbers, at most `greatestCount`, for the price of one question.
    public static func words(_ count: Int) -> [UInt64] {
        precondition(count <= greatestCount, "one question gives 32 numbers")
        var words = [UInt64](repeating: 0, count: count)
        let size = count * MemoryLayout<UInt64>.size
        // SAFETY: the array holds `size` bytes.
        let failed = unsafe words.withUnsafeMutableBytes { unsafe getentropy($0.baseAddress!, size) } != 0
        guard failed else { return words }
        // A kernel without that call: the standard library knows other ways, and stops where there is none.
        var generator = SystemRandomNumberGenerator()
        for index in words.indices { words[index] = generator.next() }
        return words
    }
}
