/// What the free segments of a route's path stand for in a request: ranges of bytes of the path as received.
public struct PathCaptures: Sendable {
    /// Of 32 bits each, as captures are copied several times for each request; a path is never longer than a head.
    @usableFromInline internal var ranges: [8 of Range<UInt32>] = InlineArray(repeating: 0..<0)
    /// The number of ranges.
    public private(set) var count = 0

    @inlinable
    public init() {}

    /// The range of the variable at `index` of the pattern's variables.
    public subscript(index: Int) -> Range<Int> {
        precondition(index < count, "the path has no such variable")
        return Int(ranges[index].lowerBound)..<Int(ranges[index].upperBound)
    }

    mutating func push(_ range: Range<Int>) {
        ranges[count] = UInt32(range.lowerBound)..<UInt32(range.upperBound)
        count += 1
    }

    mutating func pop() { count -= 1 }

    /// Leaves out the slashes that the last variable begins with.
    mutating func dropSlashes(of path: Span<UInt8>) {
        var range = self[count - 1]
        while !range.isEmpty, path[range.lowerBound] == UInt8(ascii: "/") {
            range = range.lowerBound + 1..<range.upperBound
        }
        pop()
        push(range)
    }
}
