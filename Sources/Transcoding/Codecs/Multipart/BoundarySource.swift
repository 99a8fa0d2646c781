internal import Octets

/// Random boundaries, one for each body: the system is asked for the random numbers of ten at once, because each question
/// costs as much as a small body. A number is used once, so a boundary can't be foreseen from those before.
internal struct BoundarySource {
    private var words: [UInt64] = []

    /// - Parameter length: see `Boundary`.
    mutating func next(length: Int) -> Multipart.Boundary {
        if words.isEmpty { words = Entropy.words(30) }
        return Multipart.Boundary(
            from: [words.removeLast(), words.removeLast(), words.removeLast()], length: length)
    }
}
