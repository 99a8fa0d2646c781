/// What the heads of parts say besides names, by the nodes of their texts: parts that have no more than a name, as nearly all texts
/// are, cost nothing.
internal struct TreeHeads {
    private var heads: [Tree.Node: PartHead] = [:]
    /// What they count against `limits.tree`.
    private(set) var cost = 0

    private static let none = PartHead()

    mutating func removeAll() {
        guard cost > 0 else { return }
        heads.removeAll()
        cost = 0
    }

    mutating func set(_ head: PartHead, of node: Tree.Node) {
        heads[node] = head
        cost += head.storedCount + Tree.nodeCost
    }

    /// The lines of the node's head; empty where it has none.
    subscript(node: Tree.Node) -> PartHead { heads[node] ?? Self.none }

    /// What has been read from the text of a node stands for it from here on.
    mutating func move(from node: Tree.Node, to value: Tree.Node) {
        if let head = heads.removeValue(forKey: node) { heads[value] = head }
    }
}

extension Tree {
    /// Whether some node came as a part with more of a head than a name.
    @inline(__always)
    internal var hasHeads: Bool { heads.cost > 0 }

    /// Keeps the lines of `head` for the text part that the node was.
    @inline(never)
    internal mutating func keepLines(of head: borrowing PartHead, for node: Node) throws(ConversionError) {
        guard head.hasLines else { return }
        var lines = PartHead()
        lines.copyLines(of: head)
        try charge(bytes: lines.storedCount, nodes: 1)
        heads.set(lines, of: node)
    }
}
