internal import Octets

// Questions that only an observer asks of a tree; none of them is fast.
extension Tree {
    /// Calls `body` with every node from `node` on, in document order.
    internal borrowing func visit(_ node: Node, _ body: (Node, borrowing Tree) -> Void) {
        guard node != Tree.none else { return }
        body(node, self)
        var child = firstChild(node)
        while child != Tree.none {
            visit(child, body)
            child = nextSibling(child)
        }
    }

    /// The scalars and empty containers from `node` on, in document order.
    internal borrowing func leaves(below node: Node) -> [Node] {
        var leaves: [Node] = []
        visit(node) { node, tree in
            if tree.firstChild(node) == Tree.none { leaves.append(node) }
        }
        return leaves
    }

    /// Whether `node` still belongs to the document.
    internal borrowing func isPart(_ node: Node) -> Bool {
        var at = node
        while parent(at) != Tree.none { at = parent(at) }
        guard at == root else { return false }
        // Children of what was emptied keep no parent; a value beside the document has one and isn't among its children.
        let above = parent(node)
        guard above != Tree.none else { return true }
        return position(node) < childCount(above) && child(of: above, at: position(node)) == node && isPart(above)
    }

    /// The number of siblings before `node`.
    internal borrowing func position(_ node: Node) -> Int {
        var count = 0
        var sibling = records[Int(node)].previous
        while sibling != Tree.none {
            count += 1
            sibling = records[Int(sibling)].previous
        }
        return count
    }

    internal borrowing func child(of parent: Node, at position: Int) -> Node {
        var child = firstChild(parent)
        for _ in 0..<position where child != Tree.none { child = nextSibling(child) }
        return child
    }

    /// Gives the member another name.
    internal mutating func rename(_ node: Node, _ name: Span<UInt8>) throws(ConversionError) {
        records[Int(node)].nameStart = try store(name)
        records[Int(node)].nameCount = Int32(name.count)
        records[Int(node)].plain = 0
    }

    /// The path that rules name the node by, each element of an array as `[*]`.
    internal borrowing func generalPath(_ node: Node) -> FieldPath {
        var segments: [FieldPath.Segment] = []
        var at = node
        while parent(at) != Tree.none {
            segments.append(kind(parent(at)).isArray ? .any : .key(name(at).copied()))
            at = parent(at)
        }
        return FieldPath(segments.reversed())
    }

    /// The path for a person.
    internal borrowing func tracedPath(_ node: Node) -> String { node == root ? Self.tracedRoot : path(node) }
    internal static var tracedRoot: String { "the document" }
}
