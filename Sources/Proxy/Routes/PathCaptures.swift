/// What the free segments of a route's path stand for in a request: ranges of bytes of the path as received.
public struct PathCaptures: Sendable {
    private var ranges: [8 of Range<Int>] = InlineArray(repeating: 0..<0)
    /// The number of ranges.
    public private(set) var count = 0

    public init() {}

    /// The range of the variable at `index` of the pattern's variables.
    public subscript(index: Int) -> Range<Int> {
        precondition(index < count, "the path has no such variable")
        return ranges[index]
    }

    mutating func push(_ range: Range<Int>) {
        ranges[count] = range
        count += 1
    }

    mutating func pop() { count -= 1 }
}
