internal import Octets

// What types of a program do to a tree that they encode themselves into or decode themselves from. The records are reached from
// this module alone: from another one each look at them is a call that allocates.
extension Tree {
    // MARK: Encoding

    package mutating func setKind(_ node: Node, _ kind: Kind) { records[Int(node)].kind = kind }

    /// Makes the node a value of that kind, whose text stands in the pool.
    package mutating func setText(_ node: Node, _ kind: Kind, start: Int32, count: Int32) {
        records[Int(node)].kind = kind
        records[Int(node)].valueStart = start
        records[Int(node)].valueCount = count
    }

    package mutating func setNumber(_ node: Node, _ value: Int) throws(ConversionError) {
        try charge(bytes: 20)
        let start = bytes.count
        bytes.append(decimal: value)
        setText(node, .number, start: Int32(start), count: Int32(bytes.count - start))
    }

    /// A member that nothing is in, in the place of the one that had its name, which stands in the pool.
    package mutating func makeMember(
        nameStart: Int32, nameCount: Int32, of parent: Node
    ) throws(ConversionError) -> Node {
        guard records[Int(parent)].count < Int32(TreeIndex.threshold),
            child(of: parent, named: slice(nameStart, nameCount)) == Tree.none
        else {
            let node = try makeNode(.keyed)
            put(node, nameStart: nameStart, nameCount: nameCount, below: parent)
            return node
        }
        try charge(bytes: 0, nodes: 1)
        var record = Record(kind: .keyed)
        record.nameStart = nameStart
        record.nameCount = nameCount
        records.append(record, lastBelow: Int(parent))
        return Node(records.count - 1)
    }

    /// An element that nothing is in.
    package mutating func makeElement(of parent: Node) throws(ConversionError) -> Node {
        try charge(bytes: 0, nodes: 1)
        records.append(Record(kind: .keyed), lastBelow: Int(parent))
        return Node(records.count - 1)
    }

    /// Puts a node last below an object, or in the place of the one that had its name.
    package mutating func put(_ node: Node, nameStart: Int32, nameCount: Int32, below parent: Node) {
        let earlier = child(of: parent, named: slice(nameStart, nameCount))
        if earlier == Tree.none {
            link(node, to: parent, nameStart: nameStart, nameCount: nameCount)
        } else {
            replace(earlier, by: node)
        }
    }

    // MARK: Decoding

    /// Puts each object's first member where the search for its members begins. A container has no text of its own, so the
    /// place of one says where the search goes on.
    package mutating func beginReading() {
        for index in records.indices where records[index].kind.isContainer {
            records[index].valueStart = records[index].first
        }
    }

    /// An object without members, to be read.
    package mutating func makeEmptyObject() throws(ConversionError) -> Node {
        let node = try makeNode(.object)
        records[Int(node)].valueStart = Tree.none
        return node
    }

    /// The member of that name, and the first one where a name repeats; or `none`. The search goes on behind it next time.
    package mutating func next(named name: Span<UInt8>, below parent: Node) -> Node {
        let expected = records[Int(parent)].valueStart
        if expected != Tree.none, duplicates != .keep, duplicates != .array, self.name(expected).isEqual(to: name) {
            records[Int(parent)].valueStart = records[Int(expected)].next
            return expected
        }
        let found = child(of: parent, named: name)
        if found != Tree.none { records[Int(parent)].valueStart = records[Int(found)].next }
        return found
    }

    /// Where the name of a member stands in the pool.
    package func nameRange(of node: Node) -> (start: Int32, count: Int32) {
        (records[Int(node)].nameStart, records[Int(node)].nameCount)
    }
}
