internal import Octets

/// Names of fields in the order they were written, in one buffer.
internal struct NameLog: Sendable {
    private var bytes = ByteStore()
    private var ends: [Int] = []

    internal var count: Int { ends.count }

    internal mutating func removeAll() {
        truncate(to: 0)
    }

    /// Forgets all names but the first `count`.
    internal mutating func truncate(to count: Int) {
        guard count < ends.count else { return }
        ends.removeSubrange(count...)
        bytes.truncate(to: ends.last ?? 0)
    }

    /// Adds `name`, unless it is the latest already. Returns false, with nothing changed, when the bytes pass `limit`.
    internal mutating func append(_ name: ByteStore, limit: Int) -> Bool {
        if !ends.isEmpty && bytes.slice(start(of: ends.count - 1)..<bytes.count).isEqual(to: name.span) {
            return true
        }
        guard name.count <= limit - bytes.count else { return false }
        bytes.append(contentsOf: name.span)
        ends.append(bytes.count)
        return true
    }

    /// Whether a name from the index `first` on is `name`, or a place below it.
    internal func holds(_ name: ByteStore, from first: Int) -> Bool {
        for index in first..<ends.count {
            let start = start(of: index)
            guard ends[index] - start >= name.count else { continue }
            let rest = start + name.count
            let isBelow =
                rest == ends[index] || bytes[rest] == UInt8(ascii: "[") || bytes[rest] == UInt8(ascii: ".")
            if isBelow && bytes.slice(start..<rest).isEqual(to: name.span) { return true }
        }
        return false
    }

    private func start(of index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }
}
