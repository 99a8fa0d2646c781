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
        // Children of what was emptied keep no parent; a value beside the document has one and isn't among its children.
        var at = node
        while parent(at) != Tree.none {
            guard child(of: parent(at), behind: records[Int(at)].previous) == at else { return false }
            at = parent(at)
        }
        return at == root
    }

    /// The child behind another one; the first one behind none.
    internal borrowing func child(of parent: Node, behind previous: Node) -> Node {
        previous == Tree.none ? firstChild(parent) : nextSibling(previous)
    }

    /// Calls `body` with every node and its path for a person, in document order.
    internal borrowing func visitWithPaths(_ body: (Node, String) -> Void) {
        guard root != Tree.none else { return }
        body(root, Self.tracedRoot)
        visitMembers(of: root, at: "", body)
    }

    private borrowing func visitMembers(of node: Node, at path: String, _ body: (Node, String) -> Void) {
        let isArray = kind(node).isArray
        var (child, position) = (firstChild(node), 0)
        while child != Tree.none {
            var place = path
            if isArray {
                place += "[\(position)]"
            } else {
                if node != root { place += "." }
                place += name(child).lossyString()
            }
            body(child, place)
            visitMembers(of: child, at: place, body)
            child = nextSibling(child)
            position += 1
        }
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
