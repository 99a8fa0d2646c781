internal import Octets

/// Finds `"--" boundary` byte by byte, wherever it begins: in the preamble, and behind a final boundary without parts.
/// Knuth, Morris and Pratt's search, so that work is linear whatever the boundary repeats of itself.
internal struct BoundarySearch {
    private var pattern: [UInt8] = []
    /// For each length of a match, the longest shorter one that its end also is.
    private var fallback: [Int] = []
    /// How many bytes of the pattern the input so far ends with.
    private(set) var matched = 0

    init(boundary: Multipart.Boundary) {
        setBoundary(boundary)
    }

    /// The length of what is searched for.
    var count: Int { pattern.count }

    mutating func setBoundary(_ boundary: Multipart.Boundary) {
        pattern.removeAll(keepingCapacity: true)
        pattern += [UInt8(ascii: "-"), UInt8(ascii: "-")]
        pattern += boundary.bytes
        fallback.removeAll(keepingCapacity: true)
        fallback += [0, 0]
        for index in 1..<pattern.count {
            var length = fallback[index]
            while length > 0, pattern[length] != pattern[index] { length = fallback[length] }
            fallback.append(pattern[length] == pattern[index] ? length + 1 : 0)
        }
        matched = 0
    }

    mutating func restart() { matched = 0 }

    /// Takes the next byte. Returns whether the pattern ends with it; `restart` must follow then.
    mutating func advance(_ byte: UInt8) -> Bool {
        while matched > 0, pattern[matched] != byte { matched = fallback[matched] }
        if pattern[matched] == byte { matched += 1 }
        return matched == pattern.count
    }
}
