internal import Glibc

/// Random boundaries, one for each body: the system is asked for the random numbers of ten at once, because each question
/// costs as much as a small body. A number is used once, so nobody can foresee a boundary from those before.
internal struct BoundarySource {
    private static let count = 30

    private var words: [UInt64] = []

    mutating func next() -> Multipart.Boundary {
        if words.isEmpty { refill() }
        return Multipart.Boundary(from: [words.removeLast(), words.removeLast(), words.removeLast()])
    }

    private mutating func refill() {
        words = Array(repeating: 0, count: Self.count)
        let size = Self.count * MemoryLayout<UInt64>.size
        // SAFETY: the array holds `size` bytes, fewer than the 256 that one call gives.
        let failed = unsafe words.withUnsafeMutableBytes { unsafe getentropy($0.baseAddress!, size) } != 0
        guard failed else { return }
        // A kernel without that call: the standard library knows other ways, and stops where there is none.
        var generator = SystemRandomNumberGenerator()
        for index in words.indices { words[index] = generator.next() }
    }
}
