extension Tree {
    /// Leaves out the nulls that `removal` names, and counts them. One pass over the nodes; the root stays.
    internal mutating func remove(_ removal: NullRemoval) {
        guard removal != .off, root != Tree.none else { return }
        var node = firstChild(root)
        while node != Tree.none {
            let record = records[Int(node)]
            if record.kind.isContainer, record.first != Tree.none {
                node = record.first
                continue
            }
            let next = following(node, below: root)
            if record.kind == .null, removal == .deep || kind(record.parent).hasNames {
                leaveOut(node, by: "remove_nulls: \(removal.rawValue)")
            }
            node = next
        }
    }

    /// Leaves out a node and what is below it, by a rule, and counts that as one.
    internal mutating func leaveOut(_ node: Node, by rule: @autoclosure () -> String) {
        observer?.removes(node, of: self, by: rule())
        removedCount += 1
        unlink(node)
    }
}
