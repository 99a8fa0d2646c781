internal import Octets

/// Goes through a tree and emits its events, in as many goes as the sink wants.
internal struct TreeWalk {
    private enum Step {
        case enter, text, leave, next, done
    }

    /// Bytes of one piece of a string.
    private static let pieceSize = 16 * 1024

    private var step = Step.done
    private var node = Tree.none
    private var offset = 0
    private var order = MemberOrder.input

    /// Starts anew at the root. Where `isOpen`, the root object has been begun already and only its members follow.
    mutating func start(_ tree: inout Tree, order: MemberOrder, isOpen: Bool = false) {
        self.order = order
        node = tree.root
        offset = 0
        step = .enter
        guard isOpen else { return }
        if order == .sorted { tree.sortMembers(node) }
        step = .leave
        let first = tree.firstChild(node)
        if first != Tree.none { (node, step) = (first, .enter) }
    }

    /// Emits events until the sink is full, false, or all of them are out, true.
    mutating func advance<Sink: EventSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        while step != .done {
            if sink.isFull { return false }
            switch step {
            case .enter:
                let parent = tree.parent(node)
                if parent != Tree.none, tree.kind(parent).hasNames { try sink.key(tree.name(node)) }
                step = .next
                switch tree.kind(node) {
                case .object, .keyed:
                    if order == .sorted { tree.sortMembers(node) }
                    try sink.beginObject()
                    descend(tree)
                case .array, .collected:
                    try sink.beginArray()
                    descend(tree)
                case .string:
                    offset = 0
                    step = .text
                case .number: try sink.number(tree.text(node))
                case .yes: try sink.bool(true)
                case .no: try sink.bool(false)
                case .null: try sink.null()
                }
            case .text:
                let text = tree.text(node)
                let end = min(text.count, offset + Self.pieceSize)
                let isLast = end == text.count
                try sink.string(text.extracting(offset..<end), isLast: isLast)
                offset = end
                if isLast { step = .next }
            case .leave:
                if tree.kind(node).hasNames { try sink.endObject() } else { try sink.endArray() }
                step = .next
            case .next:
                if node == tree.root {
                    step = .done
                } else if tree.nextSibling(node) != Tree.none {
                    (node, step) = (tree.nextSibling(node), .enter)
                } else {
                    (node, step) = (tree.parent(node), .leave)
                }
            case .done: break
            }
        }
        return true
    }

    private mutating func descend(_ tree: borrowing Tree) {
        let first = tree.firstChild(node)
        if first == Tree.none { step = .leave } else { (node, step) = (first, .enter) }
    }
}

extension Tree {
    /// Puts the members of an object in the order of their names' bytes; equal names keep their order.
    internal mutating func sortMembers(_ parent: Node) {
        guard records[Int(parent)].count > 1 else { return }
        scratch.removeAll(keepingCapacity: true)
        var child = records[Int(parent)].first
        while child != Tree.none {
            scratch.append(child)
            child = records[Int(child)].next
        }
        var order = scratch
        order.sort { left, right in
            let (a, b) = (name(left), name(right))
            var at = 0
            while at < a.count, at < b.count {
                if a[at] != b[at] { return a[at] < b[at] }
                at += 1
            }
            return a.count == b.count ? left < right : a.count < b.count
        }
        scratch = order
        relinkScratch(below: parent)
    }
}
