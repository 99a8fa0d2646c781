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
        private var bytes = ByteStore()
        /// Kept at its full size; the first `count` are in use, so that taking some away is one store.
        private var entries: [Entry] = []
        /// The number of names that are held: the mark to `close(to:)` later.
        private(set) var count = 0
        /// The first entry of each chain, or -1; a power of two of them, as many as `entries`.
        private var chains: [Int32] = []
        private let limit: Int

        /// A table whose names take at most `limit` bytes, each counted with `overhead`.
        init(limit: Int) {
            self.limit = min(limit, Int(Int32.max))
        }

        /// Adds `name` to the open object at `depth`, unless it is there.
        mutating func insert(_ name: Span<UInt8>, depth: Int) -> Outcome {
            let hash = UInt32(truncatingIfNeeded: self.hash(name, salt: depth))
            if count == chains.count { grow() }
            let chain = Int(hash) & (chains.count &- 1)
            let first = chains[chain]
            if first >= 0, holds(name, hash: hash, depth: depth, from: first) { return .known }
            guard bytes.count &+ name.count &+ (count &+ 1) &* Self.overhead <= limit else { return .full }
            // The limit keeps the bytes, and with them the number of names, below what 32 bits hold.
            entries[count] = Entry(
                start: Int32(truncatingIfNeeded: bytes.count), next: first, hash: hash,
                depth: Int32(truncatingIfNeeded: depth))
            chains[chain] = Int32(truncatingIfNeeded: count)
            count &+= 1
            bytes.append(contentsOf: name)
            return .new
        }

        /// Whether the chain that begins with the entry `first` has that name.
        @inline(never)
        private func holds(_ name: Span<UInt8>, hash: UInt32, depth: Int, from first: Int32) -> Bool {
            var at = Int(first)
            while at >= 0 {
                let entry = entries[at]
                if entry.hash == hash, entry.depth == depth, isName(at, equalTo: name) { return true }
                at = Int(entry.next)
            }
            return false
        }

        /// Forgets the names beyond the first `mark`: the object that they belong to has ended.
        mutating func close(to mark: Int) {
            guard count > mark else { return }
            Self.unchain(mark..<count, of: entries, from: &chains)
            bytes.truncate(to: Int(entries[mark].start))
            count = mark
        }

        /// Takes the last entries out of their chains: each is the first of its own.
        private static func unchain(_ range: Range<Int>, of entries: [Entry], from chains: inout [Int32]) {
            let all = entries.span
            var heads = chains.mutableSpan
            let mask = heads.count &- 1
            var at = range.upperBound
            while at > range.lowerBound {
                at &-= 1
                heads[Int(all[at].hash) & mask] = all[at].next
            }
        }

        /// Forgets all names and keeps allocations of ordinary size.
        mutating func removeAll() {
            if chains.count * 4 + entries.count * 16 + bytes.capacity > Self.kept {
                bytes = ByteStore()
                entries = []
                chains = []
                count = 0
            } else {
                close(to: 0)
            }
        }

        private func isName(_ index: Int, equalTo name: Span<UInt8>) -> Bool {
            let start = Int(entries[index].start)
            let end = index + 1 < count ? Int(entries[index + 1].start) : bytes.count
            return bytes.slice(start..<end).isEqual(to: name)
        }

        private mutating func grow() {
            let size = max(64, chains.count * 2)
            entries += Array(repeating: Entry(start: 0, next: -1, hash: 0, depth: 0), count: size - entries.count)
            chains = Array(repeating: -1, count: size)
            for index in 0..<count {
                let chain = Int(entries[index].hash) & (size - 1)
                entries[index].next = chains[chain]
                chains[chain] = Int32(index)
            }
        }
    }
}
