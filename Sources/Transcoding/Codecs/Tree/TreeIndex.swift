internal import Octets

/// Finds the members of large objects: one open-addressed table for a whole tree, from parent and name to node.
///
/// The hash is seeded for each tree, so that names that collide can't be chosen (CVE-2011-4885). Entries are never
/// taken out: an entry is only a hint, and the node it points to is compared.
package struct TreeIndex {
    /// Objects with up to this many members are scanned instead; C's loops know the number.
    package static let threshold = 16

    /// Nodes, or `Tree.none`; the count is a power of two.
    var slots: [Tree.Node] = []
    var used = 0

    /// Bytes of memory that it takes.
    var allocatedCount: Int { used == 0 ? 0 : slots.count &* MemoryLayout<Tree.Node>.stride }

    mutating func removeAll() {
        guard used > 0 else { return }
        used = 0
        if slots.count > 8192 {
            slots = []
        } else {
            var all = slots.mutableSpan
            for slot in all.indices { all[slot] = Tree.none }
        }
    }

    private let seeded = ByteHash()

    /// Calls `body` with the slots and what makes the hash another one for each tree.
    ///
    /// Unsafe: the slots are where `body` gets them only while it runs; what it takes of them is to be counted in `used`.
    @unsafe
    mutating func withSlots(_ body: (UnsafeMutableBufferPointer<Tree.Node>, UInt64, UInt64) -> Void) {
        let (seed, multiplier) = seeded.key
        // SAFETY: the buffer is the array's while `body` runs, for which alone the caller may use it.
        unsafe slots.withUnsafeMutableBufferPointer { slots in unsafe body(slots, seed, multiplier) }
    }

    func hash(_ parent: Tree.Node, _ name: Span<UInt8>) -> Int {
        Int(truncatingIfNeeded: seeded(name, salt: Int(parent)))
    }
}

extension Tree {
    /// The member of the indexed object `parent` with that name, or `none`.
    internal func find(_ name: Span<UInt8>, in parent: Node) -> Node {
        index.slots.isEmpty ? Tree.none : find(name, in: parent, hash: index.hash(parent, name))
    }

    /// As above, by the hash of both.
    internal func find(_ name: Span<UInt8>, in parent: Node, hash: Int) -> Node {
        guard !index.slots.isEmpty else { return Tree.none }
        let mask = index.slots.count - 1
        var slot = hash & mask
        while index.slots[slot] != Tree.none {
            let node = index.slots[slot]
            if Int(node) < records.count, records[Int(node)].parent == parent, self.name(node).isEqual(to: name) {
                return node
            }
            slot = (slot + 1) & mask
        }
        return Tree.none
    }

    /// Makes `node` known to the index, unless an earlier member has its name: the first one is found.
    internal mutating func enter(_ node: Node) {
        if (index.used + 1) * 2 > index.slots.count { growIndex() }
        enterWithoutGrowing(node)
    }

    /// As above, where the index has no member with its name, whose hash is known.
    internal mutating func enterNew(_ node: Node, hash: Int) {
        if (index.used + 1) * 2 > index.slots.count { growIndex() }
        let mask = index.slots.count - 1
        var slot = hash & mask
        while index.slots[slot] != Tree.none { slot = (slot + 1) & mask }
        index.slots[slot] = node
        index.used += 1
    }

    /// Makes `node` known to the index, which has taken the place and name of `old`. It takes that one's slot too, or each value of
    /// a name that comes again and again would leave one that all later look-ups of it step over.
    internal mutating func enter(_ node: Node, inPlaceOf old: Node) {
        let mask = index.slots.count - 1
        if mask > 0 {
            var slot = index.hash(records[Int(node)].parent, name(node)) & mask
            while index.slots[slot] != Tree.none {
                if index.slots[slot] == old {
                    index.slots[slot] = node
                    return
                }
                slot = (slot + 1) & mask
            }
        }
        enter(node)
    }

    /// Makes the members known to the index that C's loops have put behind the first `first` nodes: below others that they have put
    /// there, and below `parent`, which had `count` members before.
    internal mutating func enterMembers(from first: Int, below parent: Node, afterFirst count: Int) {
        if kind(parent).hasNames, count <= TreeIndex.threshold, childCount(parent) > TreeIndex.threshold {
            var child = firstChild(parent)
            while child != Tree.none, Int(child) < first {
                enter(child)
                child = nextSibling(child)
            }
        }
        for node in first..<records.count {
            let parent = records[node].parent
            if kind(parent).hasNames, childCount(parent) > TreeIndex.threshold { enter(Node(node)) }
        }
    }

    private mutating func enterWithoutGrowing(_ node: Node) {
        let parent = records[Int(node)].parent
        guard parent != Tree.none else { return }
        let mask = index.slots.count - 1
        var slot = index.hash(parent, name(node)) & mask
        while index.slots[slot] != Tree.none {
            let other = index.slots[slot]
            if Int(other) < records.count, records[Int(other)].parent == parent, name(other).isEqual(to: name(node)) {
                return
            }
            slot = (slot + 1) & mask
        }
        index.slots[slot] = node
        index.used += 1
    }

    /// Makes room for what C's loops enter for one more member, which may be the first one for the index of each object above it.
    internal mutating func growIndex(forNodes count: Int) {
        while (index.used + count * (TreeIndex.threshold + 1)) * 2 > index.slots.count { growIndex() }
    }

    private mutating func growIndex() {
        let old = index.slots
        index.slots = [Node](repeating: Tree.none, count: max(64, old.count * 2))
        index.used = 0
        for node in old where node != Tree.none && Int(node) < records.count { enterWithoutGrowing(node) }
    }
}
