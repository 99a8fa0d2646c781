internal import COctets
package import Octets

/// A whole document in memory: a flat arena of nodes and one pool of bytes, both kept when the tree is emptied.
///
/// The tree is bounded: every byte of a name or a value costs one, every node `nodeCost`, and what passes `limits.tree`
/// is refused with `limit_tree`. What has been replaced or removed stays paid for until `removeAll`. Building is linear
/// in the input, also for objects with thousands of members: beyond `TreeIndex.threshold` members a seeded hash finds them.
package struct Tree: ~Copyable {
    /// A node, good until `removeAll`.
    package typealias Node = Int32

    /// No node.
    package static let none: Node = -1
    /// What a node counts against `limits.tree`, in bytes, besides its name and value.
    package static let nodeCost = 48

    /// What a node is.
    package enum Kind: UInt8, Sendable {
        /// Members with names.
        case object
        /// An object made from field names, which becomes an array in `settle` when its keys are 0…n-1.
        case keyed
        /// Elements without names.
        case array
        /// An array made of the values of one repeated field.
        case collected
        /// A text, and a number by its text.
        case string, number
        /// A point in time, as the text of RFC 3339.
        case date
        /// Bytes.
        case data
        /// True, false, and no value.
        case yes, no, null

        /// Whether members with names stand below.
        package var hasNames: Bool { self == .object || self == .keyed }
        package var isArray: Bool { self == .array || self == .collected }
        package var isContainer: Bool { rawValue <= Kind.collected.rawValue }
    }

    package struct Record {
        var parent = Tree.none
        package var first = Tree.none
        var last = Tree.none
        package var next = Tree.none
        var previous = Tree.none
        /// The number of children.
        package var count: Int32 = 0
        package var nameStart: Int32 = 0
        package var nameCount: Int32 = 0
        package var valueStart: Int32 = 0
        package var valueCount: Int32 = 0
        package var kind: Kind
        /// A whole value that came as JSON text in one field: what stands below belongs to it alone.
        var isSpliced = false
        /// A type rule has decided about this value.
        package var isTyped = false
        /// Bits of what surely stands for itself in a form: C's loops, which know them, set and use them.
        var plain: UInt8 = 0

        /// A node of its own, without name or value.
        package init(kind: Kind) { self.kind = kind }
    }

    package var records = TreeRecords()
    package var bytes = ByteStore()
    internal var index = TreeIndex()
    internal let limit: Int

    // What building from events has open.
    internal var open = Tree.none
    internal var openString = Tree.none
    internal var pendingNameStart: Int32 = 0
    internal var pendingNameCount: Int32 = 0
    /// What happens to a repeated member: under `keep` it stays, under `first` and `last` one of both; a decoder has refused it
    /// under `reject`.
    package var duplicates: DuplicatePolicy
    /// Fields that a rule left out: values of repeated members, members that the map removed.
    package internal(set) var removedCount = 0
    /// Scalars that came in as events.
    package internal(set) var scalarCount = 0

    /// The top of the document, or `none`.
    package var root = Tree.none

    /// What came with text parts besides their names.
    internal var heads = TreeHeads()

    internal var scratch: [Node] = []
    /// Where C's loops sort the children of what has many.
    internal var members = OwnedArray<recast_member>()
    /// Whether the decoder has refused repeated members, so that no object has two of one name.
    internal var hasDistinctNames = false
    /// Whether members of large objects are entered in the index. Where nobody looks one up, they needn't be; one that is looked up
    /// all the same is searched for.
    internal var keepsIndex = true
    /// Whether all scalars are texts by now, and the elements of arrays have names, as `Flattener.write(held:order:)` wants them.
    internal var isMadeOfTexts = false
    /// What was noted of a document that is held while it came in.
    internal var notes = TreeNotes()

    /// Hears what rules do with the values, where a conversion is explained.
    package var observer: (any TreeObserver)? {
        didSet { isObserved = observer != nil }
    }
    /// Whether there is one. To look at the observer itself is to copy it, which costs some 150 instructions.
    package private(set) var isObserved = false

    /// - Parameter limits: `tree` holds.
    package init(limits: Limits, duplicates: DuplicatePolicy = .keep) {
        limit = min(limits.tree, Int(Int32.max))
        self.duplicates = duplicates
    }

    /// What the tree counts against `limits.tree`, in bytes.
    package var cost: Int { bytes.count &+ records.count &* Tree.nodeCost &+ heads.cost }

    /// Bytes of memory that the document takes. What holds it doubles as it grows, and may be left from a larger one: so it counts as
    /// much as there is room for, and at most twice what is in it.
    package var allocatedCount: Int {
        let nodes = min(records.capacity, 2 &* records.count) &* MemoryLayout<Record>.stride
        let sorting = min(members.capacity, 2 &* records.count) &* MemoryLayout<recast_member>.stride
        return nodes &+ sorting &+ bytes.allocatedCount &+ index.allocatedCount &+ heads.cost
    }

    /// Empties the tree. It keeps its allocations unless they are large for what a request usually needs.
    package mutating func removeAll() {
        bytes.removeAll(keepingUpTo: 128 * 1024)
        records.removeAll(keepingUpTo: 4096)
        if scratch.capacity > 4096 { scratch = [] }
        if members.capacity > 4096 { members = OwnedArray() }
        hasDistinctNames = false
        isMadeOfTexts = false
        notes = TreeNotes()
        heads.removeAll()
        index.removeAll()
        open = Tree.none
        openString = Tree.none
        root = Tree.none
        removedCount = 0
        scalarCount = 0
    }

    // MARK: Reading

    /// What the node is.
    package func kind(_ node: Node) -> Kind { records[Int(node)].kind }
    /// The number of its members or elements; 0 for a scalar.
    package func childCount(_ node: Node) -> Int { Int(records[Int(node)].count) }
    /// Its first member or element, or `none`.
    package func firstChild(_ node: Node) -> Node { records[Int(node)].first }
    /// The member or element behind it, or `none`.
    package func nextSibling(_ node: Node) -> Node { records[Int(node)].next }
    /// The object or array that it stands in, or `none`.
    package func parent(_ node: Node) -> Node { records[Int(node)].parent }

    /// The member's name; empty for what stands in an array.
    @_lifetime(borrow self)
    package func name(_ node: Node) -> Span<UInt8> {
        slice(records[Int(node)].nameStart, records[Int(node)].nameCount)
    }

    /// The text of a string, a number or a date; the bytes of data.
    @_lifetime(borrow self)
    package func text(_ node: Node) -> Span<UInt8> {
        slice(records[Int(node)].valueStart, records[Int(node)].valueCount)
    }

    @_lifetime(borrow self)
    package func slice(_ start: Int32, _ count: Int32) -> Span<UInt8> {
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        return unsafe _overrideLifetime(bytes.slice(Int(start)..<Int(start) + Int(count)), borrowing: self)
    }

    /// The member of `parent` with that name, or `none`; the first one where a name repeats.
    package func child(of parent: Node, named name: Span<UInt8>) -> Node {
        guard records[Int(parent)].kind.hasNames else { return Tree.none }
        if keepsIndex, Int(records[Int(parent)].count) > TreeIndex.threshold { return find(name, in: parent) }
        var child = records[Int(parent)].first
        while child != Tree.none {
            let at = Int(child)
            if Int(records[at].nameCount) == name.count, self.name(child).isEqual(to: name) { return child }
            child = records[at].next
        }
        return Tree.none
    }

    // MARK: Changing

    /// Makes `count` bytes and a number of nodes part of the cost, or refuses.
    @inline(__always)
    package func charge(bytes count: Int, nodes: Int = 0) throws(ConversionError) {
        // None of these comes near to an overflow: what is held is at most 2 GiB, and what comes fits into memory.
        guard cost &+ count &+ nodes &* Tree.nodeCost <= limit else { throw limitPassed }
    }

    private var limitPassed: ConversionError { .limit("tree", of: limit, what: "what must be held in memory") }

    /// Puts bytes into the pool and returns where they start.
    @inline(__always)
    internal mutating func store(_ text: Span<UInt8>) throws(ConversionError) -> Int32 {
        try charge(bytes: text.count)
        let start = Int32(bytes.count)
        bytes.append(contentsOf: text)
        return start
    }

    /// A node that stands nowhere yet.
    @inline(__always)
    package mutating func makeNode(_ kind: Kind) throws(ConversionError) -> Node {
        try charge(bytes: 0, nodes: 1)
        records.append(Record(kind: kind))
        return Node(records.count - 1)
    }

    internal mutating func makeText(_ kind: Kind, _ text: Span<UInt8>) throws(ConversionError) -> Node {
        try charge(bytes: text.count, nodes: 1)
        var record = Record(kind: kind)
        record.valueStart = Int32(bytes.count)
        record.valueCount = Int32(text.count)
        bytes.append(contentsOf: text)
        records.append(record)
        return Node(records.count - 1)
    }

    package mutating func setText(_ node: Node, _ kind: Kind, _ text: Span<UInt8>) throws(ConversionError) {
        let start = try store(text)
        records[Int(node)].kind = kind
        records[Int(node)].valueStart = start
        records[Int(node)].valueCount = Int32(text.count)
        records[Int(node)].plain = 0
    }

    /// Puts `node` last below `parent`, under `name` when that is an object.
    package mutating func append(
        _ node: Node, to parent: Node, named name: Span<UInt8>
    ) throws(ConversionError) {
        let start = try store(name)
        link(node, to: parent, nameStart: start, nameCount: Int32(name.count))
    }

    /// Puts `node` last below the array `parent`.
    package mutating func append(_ node: Node, to parent: Node) {
        link(node, to: parent, nameStart: 0, nameCount: 0)
    }

    package mutating func link(_ node: Node, to parent: Node, nameStart: Int32, nameCount: Int32) {
        let last = records[Int(parent)].last
        records[Int(node)].parent = parent
        records[Int(node)].previous = last
        records[Int(node)].next = Tree.none
        records[Int(node)].nameStart = nameStart
        records[Int(node)].nameCount = nameCount
        records[Int(node)].plain = 0
        if last == Tree.none { records[Int(parent)].first = node } else { records[Int(last)].next = node }
        records[Int(parent)].last = node
        records[Int(parent)].count &+= 1
        if records[Int(parent)].kind.hasNames { enterLast(of: parent) }
    }

    /// Makes the last member of an object known to the index, or all of them when there are many now.
    @inline(__always)
    internal mutating func enterLast(of parent: Node) {
        if Int(records[Int(parent)].count) > TreeIndex.threshold, keepsIndex { enterLastOfMany(parent) }
    }

    @inline(never)
    private mutating func enterLastOfMany(_ parent: Node) {
        guard Int(records[Int(parent)].count) == TreeIndex.threshold + 1 else {
            return enter(records[Int(parent)].last)
        }
        var child = records[Int(parent)].first
        while child != Tree.none {
            enter(child)
            child = records[Int(child)].next
        }
    }

    /// Takes `node` from where it stands. Objects are searched by scanning from then on: see `Tree+Map.swift`.
    internal mutating func unlink(_ node: Node) {
        let record = records[Int(node)]
        if record.previous != Tree.none { records[Int(record.previous)].next = record.next }
        if record.next != Tree.none { records[Int(record.next)].previous = record.previous }
        if record.parent != Tree.none {
            let parent = Int(record.parent)
            if records[parent].first == node { records[parent].first = record.next }
            if records[parent].last == node { records[parent].last = record.previous }
            records[parent].count &-= 1
        }
        records[Int(node)].parent = Tree.none
        records[Int(node)].next = Tree.none
        records[Int(node)].previous = Tree.none
    }

    /// Puts `new` where `old` stands, under its name; `old` then stands nowhere.
    package mutating func replace(_ old: Node, by new: Node) {
        let record = records[Int(old)]
        records[Int(new)].parent = record.parent
        records[Int(new)].previous = record.previous
        records[Int(new)].next = record.next
        records[Int(new)].nameStart = record.nameStart
        records[Int(new)].nameCount = record.nameCount
        records[Int(new)].plain = 0
        if record.previous != Tree.none { records[Int(record.previous)].next = new }
        if record.next != Tree.none { records[Int(record.next)].previous = new }
        if record.parent != Tree.none {
            let parent = Int(record.parent)
            if records[parent].first == old { records[parent].first = new }
            if records[parent].last == old { records[parent].last = new }
        }
        records[Int(old)].parent = Tree.none
        records[Int(old)].next = Tree.none
        records[Int(old)].previous = Tree.none
        // Only now: the index must not find the old node under this name any more.
        if keepsIndex, record.parent != Tree.none, records[Int(record.parent)].kind.hasNames,
            Int(records[Int(record.parent)].count) > TreeIndex.threshold
        {
            enter(new, inPlaceOf: old)
        }
        if root == old { root = new }
    }

    /// Takes all children away from `node`.
    package mutating func clearChildren(_ node: Node) {
        var child = records[Int(node)].first
        while child != Tree.none {
            records[Int(child)].parent = Tree.none
            child = records[Int(child)].next
        }
        records[Int(node)].first = Tree.none
        records[Int(node)].last = Tree.none
        records[Int(node)].count = 0
    }

    /// Puts the children of `parent` in the order of `scratch`, which holds all of them.
    internal mutating func relinkScratch(below parent: Node) {
        var previous = Tree.none
        for child in scratch {
            records[Int(child)].previous = previous
            records[Int(child)].next = Tree.none
            if previous == Tree.none {
                records[Int(parent)].first = child
            } else {
                records[Int(previous)].next = child
            }
            previous = child
        }
        records[Int(parent)].last = previous
    }

    /// The number of fields in the subtree of `node`: scalars, and empty containers.
    internal func leafCount(_ node: Node) -> Int {
        var count = 0
        var at = node
        while at != Tree.none {
            let first = records[Int(at)].first
            if first == Tree.none { count += 1 }
            at = first == Tree.none ? following(at, below: node) : first
        }
        return count
    }

    /// The node behind all that `node` holds, in document order; `none` where there is none below `top`.
    internal func following(_ node: Node, below top: Node) -> Node {
        var at = node
        while at != top {
            let next = records[Int(at)].next
            if next != Tree.none { return next }
            at = records[Int(at)].parent
        }
        return Tree.none
    }

    /// Where `node` stands, as settings write it: `user.id`, `items[0].qty`. For messages.
    package func path(_ node: Node) -> String {
        var parts: [String] = []
        var at = node
        while at != Tree.none, records[Int(at)].parent != Tree.none {
            let parent = records[Int(at)].parent
            if records[Int(parent)].kind.isArray {
                var position = 0
                var sibling = records[Int(at)].previous
                while sibling != Tree.none {
                    position += 1
                    sibling = records[Int(sibling)].previous
                }
                parts.append("[\(position)]")
            } else {
                parts.append("." + name(at).lossyString())
            }
            at = parent
        }
        let joined = parts.reversed().joined()
        return joined.hasPrefix(".") ? String(joined.dropFirst()) : joined
    }
}

/// Building from a document's events. A decoder has checked their order and the depth.
extension Tree: EventSink {
    /// A tree is never full: it refuses.
    package var isFull: Bool { false }

    package mutating func beginObject() throws(ConversionError) { open = try add(.object) }
    package mutating func endObject() throws(ConversionError) { open = records[Int(open)].parent }
    package mutating func beginArray() throws(ConversionError) { open = try add(.array) }
    package mutating func endArray() throws(ConversionError) { open = records[Int(open)].parent }

    package mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        pendingNameStart = try store(name)
        pendingNameCount = Int32(name.count)
    }

    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if openString == Tree.none {
            let node = try add(.string, piece)
            scalarCount += 1
            if !isLast { openString = node }
            return
        }
        _ = try store(piece)
        records[Int(openString)].valueCount += Int32(piece.count)
        if isLast { openString = Tree.none }
    }

    package mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try scalar(.number, text) }
    package mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try scalar(.date, text) }
    package mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) { try scalar(.data, bytes) }

    @inline(__always)
    private mutating func scalar(_ kind: Kind, _ text: Span<UInt8> = Span()) throws(ConversionError) {
        _ = try add(kind, text)
        scalarCount += 1
    }

    package mutating func bool(_ value: Bool) throws(ConversionError) {
        try scalar(value ? .yes : .no)
    }

    package mutating func null() throws(ConversionError) {
        try scalar(.null)
    }

    /// Files never enter a tree; a pipeline takes them out before.
    package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        throw ConversionError(
            .unrepresentable, code: "files_rejected", reason: "a file can't be held in memory",
            field: head.name.lossyString(), setting: "files")
    }

    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}

    /// The node of a value that begins, with its text: below what is open, or a new root.
    @inline(__always)
    private mutating func add(_ kind: Kind, _ text: Span<UInt8> = Span()) throws(ConversionError) -> Node {
        let parent = open
        let isMember = parent != Tree.none && records[Int(parent)].kind.hasNames
        if isMember, duplicates == .first || duplicates == .last {
            let earlier = child(of: parent, named: slice(pendingNameStart, pendingNameCount))
            if earlier != Tree.none { return try add(kind, text, behind: earlier) }
        }
        try charge(bytes: text.count, nodes: 1)
        var record = Record(kind: kind)
        record.valueStart = Int32(truncatingIfNeeded: bytes.count)
        record.valueCount = Int32(truncatingIfNeeded: text.count)
        bytes.append(contentsOf: text)
        guard parent != Tree.none else {
            records.append(record)
            let node = Node(truncatingIfNeeded: records.count &- 1)
            if root == Tree.none { root = node }
            return node
        }
        if isMember {
            record.nameStart = pendingNameStart
            record.nameCount = pendingNameCount
        }
        records.append(record, lastBelow: Int(parent))
        if isMember { enterLast(of: parent) }
        return Node(truncatingIfNeeded: records.count &- 1)
    }

    /// As above, where the open object has a member of that name already.
    @inline(never)
    private mutating func add(
        _ kind: Kind, _ text: Span<UInt8>, behind earlier: Node
    ) throws(ConversionError) -> Node {
        guard duplicates == .last else {
            // The later value is built beside the document, where it is not found.
            if isObserved { observer?.skips(valueAfter: earlier, of: self, by: "duplicates: first") }
            let node = try makeText(kind, text)
            records[Int(node)].parent = open
            removedCount += 1
            return node
        }
        // The last value stands where the first one stood.
        if isObserved { observer?.removes(earlier, of: self, by: "duplicates: last") }
        removedCount += leafCount(earlier)
        clearChildren(earlier)
        try setText(earlier, kind, text)
        return earlier
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
