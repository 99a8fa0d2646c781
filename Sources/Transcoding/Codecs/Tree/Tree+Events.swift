internal import Octets

/// Building from a document's events. A decoder has checked their order and the depth.
extension Tree: EventSink {
    /// A tree is never full: it refuses.
    package var isFull: Bool { false }

    /// See `EventSink`.
    package mutating func beginObject() throws(ConversionError) { open = try beginValue(.object) }
    /// See `EventSink`.
    package mutating func endObject() throws(ConversionError) { open = records[Int(open)].parent }
    /// See `EventSink`.
    package mutating func beginArray() throws(ConversionError) { open = try beginValue(.array) }
    /// See `EventSink`.
    package mutating func endArray() throws(ConversionError) { open = records[Int(open)].parent }

    /// See `EventSink`.
    package mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        pendingNameStart = try store(name)
        pendingNameCount = Int32(name.count)
    }

    /// See `EventSink`.
    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if openString == Tree.none {
            openString = try beginValue(.string)
            records[Int(openString)].valueStart = Int32(bytes.count)
            records[Int(openString)].valueCount = 0
            scalarCount += 1
        }
        _ = try store(piece)
        records[Int(openString)].valueCount += Int32(piece.count)
        if isLast { openString = Tree.none }
    }

    /// See `EventSink`.
    package mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        let node = try beginValue(.number)
        try setText(node, .number, text)
        scalarCount += 1
    }

    /// See `EventSink`.
    package mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        let node = try beginValue(.date)
        try setText(node, .date, text)
        scalarCount += 1
    }

    /// See `EventSink`.
    package mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        let node = try beginValue(.data)
        try setText(node, .data, bytes)
        scalarCount += 1
    }

    /// See `EventSink`.
    package mutating func bool(_ value: Bool) throws(ConversionError) {
        _ = try beginValue(value ? .yes : .no)
        scalarCount += 1
    }

    /// See `EventSink`.
    package mutating func null() throws(ConversionError) {
        _ = try beginValue(.null)
        scalarCount += 1
    }

    /// Files never enter a tree; a pipeline takes them out before.
    package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        throw ConversionError(
            .unrepresentable, code: "files_rejected", reason: "a file can't be held in memory",
            field: head.name.lossyString(), setting: "files")
    }

    /// See `EventSink`.
    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}

    /// The node of a value that begins: below what is open, or a new root.
    private mutating func beginValue(_ kind: Kind) throws(ConversionError) -> Node {
        guard open != Tree.none else {
            let node = try makeNode(kind)
            if root == Tree.none { root = node }
            return node
        }
        guard records[Int(open)].kind.hasNames else {
            let node = try makeNode(kind)
            append(node, to: open)
            return node
        }
        if duplicates != .keep, duplicates != .reject {
            let earlier = child(of: open, named: slice(pendingNameStart, pendingNameCount))
            if earlier != Tree.none {
                if duplicates == .last {
                    // The last value stands where the first one stood.
                    observer?.removes(earlier, of: self, by: "duplicates: last")
                    removedCount += leafCount(earlier)
                    clearChildren(earlier)
                    records[Int(earlier)].kind = kind
                    return earlier
                }
                // The later value is built beside the document, where nobody finds it.
                observer?.skips(valueAfter: earlier, of: self, by: "duplicates: first")
                let node = try makeNode(kind)
                records[Int(node)].parent = open
                removedCount += 1
                return node
            }
        }
        let node = try makeNode(kind)
        link(node, to: open, nameStart: pendingNameStart, nameCount: pendingNameCount)
        return node
    }

    // MARK: A value beside the document

    /// What `beginDetached` saved, for going back to it.
    internal struct Mark {
        var nodes: Int
        var bytes: Int
        var open: Node
        var scalars: Int
    }

    /// From now on events build a value that stands nowhere: the node with index `mark.nodes`.
    internal mutating func beginDetached() -> Mark {
        let mark = Mark(nodes: records.count, bytes: bytes.count, open: open, scalars: scalarCount)
        open = Tree.none
        openString = Tree.none
        return mark
    }

    /// Ends `beginDetached` and returns the value's node.
    internal mutating func endDetached(_ mark: Mark) -> Node {
        open = mark.open
        scalarCount = mark.scalars
        return Node(mark.nodes)
    }

    /// Forgets all that was built since `mark`.
    internal mutating func rollBack(_ mark: Mark) {
        records.truncate(to: mark.nodes)
        bytes.truncate(to: mark.bytes)
        open = mark.open
        openString = Tree.none
        scalarCount = mark.scalars
    }
}
