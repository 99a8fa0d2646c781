internal import Octets

extension JSON {
    /// The names of the members seen so far in every open object.
    ///
    /// One stack of names for all objects, since the names of an inner object go before its outer one gets another, and one
    /// table of chains over it. A name that leaves is always the first of its chain, so nothing needs to be searched or
    /// marked as deleted. A look-up is O(bytes of the name).
    struct MemberNames {
        enum Outcome: Hashable {
            case new, known
            /// The names of the open objects would pass the limit.
            case full
        }

        private struct Entry {
            var start: Int32
            /// The next entry of the same chain, or -1.
            var next: Int32
            var hash: UInt32
            var depth: Int32
        }

        /// What one name counts besides its bytes.
        static let overhead = 16
        /// Allocations above this many bytes are given back between two bodies.
        private static let kept = 64 * 1024

        private let hash = ByteHash()
        private var bytes: [UInt8] = []
        private var entries: [Entry] = []
        /// The first entry of each chain, or -1; a power of two of them.
        private var chains: [Int32] = []
        private let limit: Int

        /// A table whose names take at most `limit` bytes, each counted with `overhead`.
        init(limit: Int) {
            self.limit = min(limit, Int(Int32.max))
        }

        /// The number of names that are held: the mark to `close(to:)` later.
        var count: Int { entries.count }

        /// Adds `name` to the open object at `depth`, unless it is there.
        mutating func insert(_ name: Span<UInt8>, depth: Int) -> Outcome {
            let hash = UInt32(truncatingIfNeeded: self.hash(name, salt: depth))
            if entries.count >= chains.count { grow() }
            let chain = Int(hash) & (chains.count - 1)
            var at = Int(chains[chain])
            while at >= 0 {
                let entry = entries[at]
                if entry.hash == hash, entry.depth == depth, isName(at, equalTo: name) { return .known }
                at = Int(entry.next)
            }
            guard bytes.count + name.count + (entries.count + 1) * Self.overhead <= limit else { return .full }
            entries.append(
                Entry(
                    start: Int32(bytes.count), next: chains[chain], hash: hash, depth: Int32(truncatingIfNeeded: depth))
            )
            chains[chain] = Int32(entries.count - 1)
            bytes.append(contentsOf: name)
            return .new
        }

        /// Forgets the names beyond the first `mark`: the object that they belong to has ended.
        mutating func close(to mark: Int) {
            while entries.count > mark {
                let entry = entries.removeLast()
                chains[Int(entry.hash) & (chains.count - 1)] = entry.next
                if entries.count == mark { bytes.removeSubrange(Int(entry.start)...) }
            }
        }

        /// Forgets all names and keeps allocations of ordinary size.
        mutating func removeAll() {
            if chains.count * 4 + entries.capacity * 16 + bytes.capacity > Self.kept {
                bytes = []
                entries = []
                chains = []
            } else {
                close(to: 0)
            }
        }

        private func isName(_ index: Int, equalTo name: Span<UInt8>) -> Bool {
            let start = Int(entries[index].start)
            let end = index + 1 < entries.count ? Int(entries[index + 1].start) : bytes.count
            return bytes.span.extracting(start..<end).isEqual(to: name)
        }

        private mutating func grow() {
            chains = Array(repeating: -1, count: max(64, chains.count * 2))
            for index in entries.indices {
                let chain = Int(entries[index].hash) & (chains.count - 1)
                entries[index].next = chains[chain]
                chains[chain] = Int32(index)
            }
        }
    }
}
