internal import Octets

/// Goes through a tree and emits its events, in as many goes as the sink wants.
package struct TreeWalk {
    private enum Step {
        case enter, text, leave, done
    }

    /// Bytes of one piece of a string.
    private static let pieceSize = 16 * 1024

    private var step = Step.done
    private var node = Tree.none
    private var offset = 0
    private var order = MemberOrder.input

    /// A walk that has nowhere to go until `start`.
    package init() {}

    /// Starts anew at the root. Where `isOpen`, the root object has been begun already and only its members follow.
    package mutating func start(_ tree: inout Tree, order: MemberOrder, isOpen: Bool = false) {
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

    /// Emits events until the sink is full, false, or all of them are out, true. An end that can't be called again doesn't pause.
    package mutating func advance<Sink: EventSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink, pauses: Bool = true
    ) throws(ConversionError) -> Bool {
        while step != .done {
            if pauses, sink.isFull { return false }
            switch step {
            case .enter:
                if tree.isObserved { tree.observer?.sends(node, of: tree) }
                if tree.hasHeads { sink.partHead(tree.heads[node]) }
                let record = tree.records[Int(node)]
                if record.parent != Tree.none, tree.kind(record.parent).hasNames {
                    try sink.key(tree.slice(record.nameStart, record.nameCount))
                }
                switch record.kind {
                case .object, .keyed:
                    if order == .sorted { tree.sortMembers(node) }
                    try sink.beginObject()
                    descend(tree)
                    continue
                case .array, .collected:
                    try sink.beginArray()
                    descend(tree)
                    continue
                case .string where record.valueCount <= Self.pieceSize:
                    try sink.string(tree.slice(record.valueStart, record.valueCount), isLast: true)
                case .string:
                    offset = 0
                    step = .text
                    continue
                case .number: try sink.number(tree.slice(record.valueStart, record.valueCount))
                case .date: try sink.date(tree.slice(record.valueStart, record.valueCount))
                case .data: try sink.data(tree.slice(record.valueStart, record.valueCount))
                case .yes: try sink.bool(true)
                case .no: try sink.bool(false)
                case .null: try sink.null()
                }
                leave(record, tree.root)
            case .text:
                let text = tree.text(node)
                let end = min(text.count, offset + Self.pieceSize)
                let isLast = end == text.count
                try sink.string(text.extracting(offset..<end), isLast: isLast)
                offset = end
                if isLast { leave(tree.records[Int(node)], tree.root) }
            case .leave:
                if tree.isObserved { tree.observer?.sendsEnd() }
                if tree.kind(node).hasNames { try sink.endObject() } else { try sink.endArray() }
                leave(tree.records[Int(node)], tree.root)
            case .done: break
            }
        }
        return true
    }

    /// Where a walk stands that may be gone on with in another way: the next node, and whether what stands below it is out. nil in the
    /// middle of a text, behind the last node, and where members are sorted or somebody hears of each node.
    package func place(in tree: borrowing Tree) -> (node: Tree.Node, isLeaving: Bool)? {
        guard order == .input, !tree.isObserved, step == .enter || step == .leave else { return nil }
        return (node, step == .leave)
    }

    /// The order in which members are to go out, where nothing of the document has; nil behind that, and where somebody hears of each
    /// node.
    package func orderAtStart(of tree: borrowing Tree) -> MemberOrder? {
        step == .enter && node == tree.root && node != Tree.none && !tree.isObserved ? order : nil
    }

    /// Goes on from such a place; `none` is behind the last node.
    package mutating func go(to node: Tree.Node, isLeaving: Bool) {
        self.node = node
        step = node == Tree.none ? .done : isLeaving ? .leave : .enter
    }

    /// Goes on behind the node at hand.
    private mutating func leave(_ record: Tree.Record, _ root: Tree.Node) {
        if node == root {
            step = .done
        } else if record.next != Tree.none {
            (node, step) = (record.next, .enter)
        } else {
            (node, step) = (record.parent, .leave)
        }
    }

    private mutating func descend(_ tree: borrowing Tree) {
        let first = tree.firstChild(node)
        if first == Tree.none { step = .leave } else { (node, step) = (first, .enter) }
    }
}
