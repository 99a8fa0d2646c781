internal import COctets
internal import Octets

// Trees put in order: the members of objects by their names, or all children by what they become.
extension Tree {
    /// The bytes behind the pool's own that C's loops may read.
    internal static let overhang = 96

    /// Whether C's loops may have the nodes: their records are laid out as it declares them.
    internal var isLaidOutAsInC: Bool { Record.isLaidOutAsInC }

    /// Calls `body` with the nodes and the bytes as C's loops know them. The bytes must have the overhang.
    @inline(__always)
    @unsafe
    internal mutating func withNodes<Result>(
        _ body: (UnsafeMutablePointer<recast_node>, UnsafePointer<UInt8>) -> Result
    ) -> Result {
        precondition(bytes.capacity - bytes.count >= Self.overhang, "what C reads behind the bytes isn't there")
        // SAFETY: neither moves while `body` runs, for which alone the pointers are made; there are nodes and bytes.
        let nodes = unsafe records.start.assumingMemoryBound(to: recast_node.self)
        return unsafe bytes.withRoom { room in
            unsafe body(nodes, room.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Makes room for sorting the children of `parent`, where these aren't few. Returns it, and how many children twice it holds.
    ///
    /// Unsafe: the memory is the tree's, until more is asked for.
    @unsafe
    internal mutating func reserveMembers(for parent: Node) -> (UnsafeMutablePointer<recast_member>?, room: Int) {
        let count = childCount(parent)
        // SAFETY: only the room is wanted; the caller uses it while the tree stays as it is.
        if count > TreeIndex.threshold { _ = unsafe members.reserve(2 * count) }
        return unsafe membersRoom
    }

    /// The room for sorting children that there is.
    ///
    /// Unsafe: as above.
    @unsafe
    internal var membersRoom: (UnsafeMutablePointer<recast_member>?, room: Int) {
        // SAFETY: as above; nothing is ever counted as used, so all that there is can be asked for.
        mutating get { unsafe members.capacity > 0 ? (members.reserve(members.capacity), members.capacity) : (nil, 0) }
    }

    /// Puts the members of an object in the order of their names' bytes; equal names keep their order.
    internal mutating func sortMembers(_ parent: Node) {
        guard records[Int(parent)].count > 1 else { return }
        if isLaidOutAsInC {
            bytes.reserve(Self.overhang)
            let (scratch, room) = unsafe reserveMembers(for: parent)
            // SAFETY: the parent is a node with children, and there is the room for so many that is said.
            let isSorted = unsafe withNodes { nodes, pool in
                unsafe recast_sort_members(nodes, pool, parent, scratch, room)
            }
            if isSorted { return }
        }
        sortChildren(of: parent) { tree, left, right in tree.name(left).precedes(tree.name(right)) }
    }

    /// Puts the children of `parent` in an order; those that are equal in it stay as they came.
    @inline(__always)
    internal mutating func sortChildren(of parent: Node, by precedes: (borrowing Tree, Node, Node) -> Bool) {
        guard records[Int(parent)].count > 1 else { return }
        scratch.removeAll(keepingCapacity: true)
        var child = records[Int(parent)].first
        var isSorted = true
        while child != Tree.none {
            if let last = scratch.last, isSorted { isSorted = !precedes(self, child, last) }
            scratch.append(child)
            child = records[Int(child)].next
        }
        if isSorted { return }
        var order: [Node] = []
        swap(&order, &scratch)
        if order.count <= 16 {
            // Nearly all objects have few members.
            for index in 1..<order.count {
                let node = order[index]
                var at = index
                while at > 0, precedes(self, node, order[at - 1]) {
                    order[at] = order[at - 1]
                    at -= 1
                }
                order[at] = node
            }
        } else {
            order.sort { precedes(self, $0, $1) }
        }
        swap(&order, &scratch)
        relinkScratch(below: parent)
    }
}

extension Span<UInt8> {
    /// Whether the bytes come before the others.
    internal func precedes(_ other: Span<UInt8>) -> Bool {
        let least = Swift.min(count, other.count)
        var at = 0
        while at < least {
            if self[at] != other[at] { return self[at] < other[at] }
            at += 1
        }
        return count < other.count
    }
}
