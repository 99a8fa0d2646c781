internal import Octets

/// Follows the place of a document's values and knows which of a set of paths lead there: a bit for each path, a row of
/// bits for each level. A place that no path leads to costs a test for zero.
internal struct PathMatcher {
    private let paths: [FieldPath]
    private let words: Int
    private var rows: [UInt64] = []
    private(set) var depth = 0

    init(_ paths: [FieldPath]) {
        self.paths = paths
        words = (paths.count + 63) / 64
        reset()
    }

    mutating func reset() {
        depth = 0
        rows.removeAll(keepingCapacity: true)
        for _ in 0..<words { rows.append(.max) }
    }

    mutating func enter(key: Span<UInt8>) {
        pushRow()
        for path in paths.indices where isOpen(path) && paths[path].segments[depth - 1].matches(key: key) { set(path) }
    }

    mutating func enter(index: Int) {
        pushRow()
        for path in paths.indices where isOpen(path) && paths[path].segments[depth - 1].matches(index: index) {
            set(path)
        }
    }

    /// Goes to a value that no path leads to.
    mutating func enterNothing() { pushRow() }

    mutating func leave() {
        depth -= 1
        rows.removeLast(words)
    }

    /// Whether the path leads to the value at hand.
    func isHere(_ path: Int) -> Bool { paths[path].segments.count == depth && bit(path, row: depth) }

    /// Whether any of the paths leads to the value at hand.
    var isAnyHere: Bool { paths.indices.contains(where: isHere) }

    /// Whether the path leads through the value at hand, to what is in it.
    func leads(to path: Int) -> Bool { paths[path].segments.count > depth && bit(path, row: depth) }

    /// Whether any of the paths does.
    var leadsOn: Bool { paths.indices.contains { leads(to: $0) } }

    /// The bits, as `JSON.MemberNames.Key` has them, of the names in the value at hand that paths lead to or through; nil where that may
    /// be any name.
    var nextNames: UInt64? {
        var bits: UInt64 = 0
        for path in paths.indices where leads(to: path) {
            guard case .key(let key) = paths[path].segments[depth] else { return nil }
            bits |= JSON.MemberNames.Key(key.span).bit
        }
        return bits
    }

    /// Whether the path leads to a child of the value at hand.
    func isBelow(_ path: Int) -> Bool { paths[path].segments.count == depth + 1 && bit(path, row: depth) }

    private mutating func pushRow() {
        depth += 1
        for _ in 0..<words { rows.append(0) }
    }

    /// Whether the path led to the parent and goes on.
    private func isOpen(_ path: Int) -> Bool { paths[path].segments.count >= depth && bit(path, row: depth - 1) }

    private func bit(_ path: Int, row: Int) -> Bool { rows[row * words + path / 64] >> UInt64(path & 63) & 1 != 0 }

    private mutating func set(_ path: Int) { rows[depth * words + path / 64] |= 1 << UInt64(path & 63) }
}
