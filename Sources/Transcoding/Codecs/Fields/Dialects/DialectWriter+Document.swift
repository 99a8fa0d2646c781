internal import Octets

// Documents that must be held until their end, because their members or fields are sorted.
extension DialectWriter {
    /// Decides at the root whether the document is held.
    internal mutating func beginHolding() {
        guard levels.isEmpty, !isEmitting else { return }
        isGathering = holdsDocuments
    }

    /// Keeps the place of an element that isn't in the tree: a file that has passed, or a null that is left out.
    internal mutating func holdPlace(isFile: Bool) throws(ConversionError) {
        try document.null()
        let last = document.records.count - 1
        document.records[last].isSpliced = true
        document.records[last].isTyped = isFile
    }

    internal mutating func endRoot<Target: FieldSink & ~Copyable>(to target: inout Target) throws(ConversionError) {
        guard isGathering else { return }
        isGathering = false
        isHolding = true
        walkNode = Tree.none
        if !drainsLater { _ = try drain(to: &target, pauses: false) }
    }

    /// Writes the document that is held. Returns false when the target is full, to be called again.
    internal mutating func drain<Target: FieldSink & ~Copyable>(
        to target: inout Target, pauses: Bool = true
    ) throws(ConversionError) -> Bool {
        guard isHolding else { return true }
        // The walk calls methods of self, so the tree is taken out meanwhile.
        var tree = Tree(limits: limits)
        swap(&tree, &document)
        if !isEmitting {
            if options.dialect == .alamofire { try arrangeComponents(&tree) }
            isEmitting = true
            walkNode = tree.root
            walkLeaves = false
        }
        let isDone = try walk(&tree, to: &target, pauses: pauses)
        swap(&tree, &document)
        if isDone {
            isHolding = false
            isEmitting = false
            document.removeAll()
        }
        return isDone
    }

    private mutating func walk<Target: FieldSink & ~Copyable>(
        _ tree: inout Tree, to target: inout Target, pauses: Bool
    ) throws(ConversionError) -> Bool {
        while walkNode != Tree.none {
            if pauses, target.isFull { return false }
            let node = walkNode
            if walkLeaves {
                if tree.kind(node).hasNames { try endObject(to: &target) } else { try endArray(to: &target) }
            } else if try enter(node, of: &tree, to: &target) {
                let first = tree.firstChild(node)
                if first != Tree.none { walkNode = first } else { walkLeaves = true }
                continue
            }
            let next = tree.nextSibling(node)
            walkLeaves = node != tree.root && next == Tree.none
            walkNode = node == tree.root ? Tree.none : next == Tree.none ? tree.parent(node) : next
        }
        return true
    }

    /// Writes a value, or begins it: true for an object or array.
    private mutating func enter<Target: FieldSink & ~Copyable>(
        _ node: Tree.Node, of tree: inout Tree, to target: inout Target
    ) throws(ConversionError) -> Bool {
        let parent = tree.parent(node)
        if parent != Tree.none {
            if tree.kind(parent).hasNames {
                try key(tree.name(node), to: &target)
            } else if options.dialect == .alamofire, let position = tree.name(node).canonicalIndex {
                levels[levels.count - 1].position = position
            }
        }
        switch tree.kind(node) {
        case .object, .keyed:
            if options.dialect != .alamofire { tree.sortMembers(node) }
            try beginObject(to: &target)
            return true
        case .array, .collected:
            try beginArray(to: &target)
            return true
        case .null where tree.records[Int(node)].isSpliced:
            try beginElement(isContainer: false, to: &target)
            if tree.records[Int(node)].isTyped { noteWritten() }
        case .null:
            try beginElement(isContainer: false, to: &target)
            try sendBare(to: &target)
        case .string, .number, .date, .data, .yes, .no:
            // All scalars were gathered as the texts that they are written as.
            try string(tree.text(node), isLast: true, to: &target)
        }
        return false
    }

    private mutating func arrangeComponents(_ tree: inout Tree) throws(ConversionError) {
        var components = AlamofireComponents(options: options, limits: limits)
        try components.take(&tree)
        removedCount += components.removedCount
        swap(&tree, &components.tree)
        guard tree.root != Tree.none, tree.kind(tree.root) == .object else {
            throw FieldFault.rootNotObject.error(field: nil)
        }
    }
}
