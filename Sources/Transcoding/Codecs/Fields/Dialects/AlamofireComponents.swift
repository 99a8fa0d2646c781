internal import COctets
internal import Octets

/// The components that Alamofire's URLEncodedFormEncoder makes of a document, and the order it writes them in.
///
/// It doesn't keep containers but sets each value at its path, which shows in three places (`URLEncodedFormComponent.set`):
/// - An object whose keys are integers is an array, in the order of these. Where other keys stand beside them it depends on
///   Swift's random order of dictionaries what is lost, so that is refused; as are two keys for one place and negative ones,
///   at which the encoder traps.
/// - Elements that leave nothing, as a null that is dropped, close the gap: `[1,null,2]` is `a[0]=1&a[1]=2`.
/// - Behind a gap each value of an object or array becomes an element of its own, until their number has caught up.
///
/// Under `order: sorted` the children of every object and array are sorted by their encoded text, array elements too.
internal struct AlamofireComponents: ~Copyable {
    /// The components. After `take` the elements of arrays that are written with an index have it as their name.
    internal var tree: Tree
    internal private(set) var removedCount = 0
    /// Hears which component a value becomes.
    internal var observer: (any FlattenerObserver)?

    private let options: FieldEncodingOptions
    private let limits: Limits
    /// The nodes of the document from below the root to the value at hand, with the position of each that has one.
    private var path: [(node: Tree.Node, index: Int?)] = []

    init(options: FieldEncodingOptions, limits: Limits) {
        self.options = options
        self.limits = limits
        tree = Tree(limits: limits)
    }

    /// Makes the components of `document`. Where nothing is left the tree is an empty object.
    mutating func take(_ document: inout Tree) throws(ConversionError) {
        if document.notes.hasGaps, !document.notes.hasNumbers, options.empties == .omit {
            removedCount += document.closeGaps()
        }
        if document.standsForItself(keyLimit: limits.key) {
            swap(&tree, &document)
        } else {
            try set(document: &document)
        }
        numberElements()
        if options.order == .sorted { sort() }
    }

    /// Sets each value of `document` at its path.
    private mutating func set(document: inout Tree) throws(ConversionError) {
        tree.root = try tree.makeNode(.object)
        path.removeAll(keepingCapacity: true)
        var node = document.root
        while node != Tree.none {
            if try enter(node, of: &document) {
                let first = document.firstChild(node)
                path.append((first, try index(of: first, in: document, after: nil)))
                node = first
                continue
            }
            while node != Tree.none {
                guard node != document.root, let last = path.popLast() else {
                    node = Tree.none
                    break
                }
                let next = document.nextSibling(node)
                if next != Tree.none {
                    path.append((next, try index(of: next, in: document, after: last.index)))
                    node = next
                    break
                }
                node = document.parent(node)
            }
        }
    }

    /// Sets a value, or says that there are values below.
    private mutating func enter(_ node: Tree.Node, of document: inout Tree) throws(ConversionError) -> Bool {
        guard document.kind(node).isContainer else {
            if !document.records[Int(node)].isSpliced {
                let value: Tree.Node
                if document.kind(node) == .null {
                    value = try tree.makeNode(.null)
                } else {
                    value = try tree.makeText(.string, document.text(node))
                    if document.hasHeads { try tree.keepLines(of: document.heads[node], for: value) }
                }
                try set(value, document)
                observer?.moves(node, to: value)
            }
            return false
        }
        if document.childCount(node) > 0 {
            try document.orderNumberedMembers(node)
            return true
        }
        guard node != document.root else { return false }
        switch options.empties {
        case .omit: removedCount += 1
        case .reject: throw FieldFault.empty.error(field: document.path(node))
        case .marker:
            if document.kind(node).isArray { path.append((Tree.none, 0)) }
            let value = try tree.makeText(.string, Span())
            try set(value, document)
            observer?.moves(node, to: value)
            if document.kind(node).isArray { path.removeLast() }
        }
        return false
    }

    /// The position of a value: in an array, or by a key that is an integer.
    private func index(
        of node: Tree.Node, in document: borrowing Tree, after earlier: Int?
    ) throws(ConversionError) -> Int? {
        guard document.kind(document.parent(node)).hasNames else { return earlier.map { $0 + 1 } ?? 0 }
        return document.name(node).swiftInteger
    }

    private mutating func set(_ value: Tree.Node, _ document: borrowing Tree) throws(ConversionError) {
        var context = tree.root
        guard !path.isEmpty else { throw FieldFault.rootNotObject.error(field: nil) }
        try checkName(document)
        for (depth, step) in path.enumerated() {
            let isLast = depth == path.count - 1
            // What was made for the other kind is still empty: its first value decides.
            if tree.childCount(context) == 0 { tree.records[Int(context)].kind = step.index == nil ? .object : .array }
            var child = Tree.none
            if let index = step.index {
                child = tree.element(of: context, at: index)
                if child == Tree.none {
                    child = isLast ? value : try tree.makeNode(.array)
                    tree.append(child, to: context)
                }
            } else {
                child = tree.child(of: context, named: document.name(step.node))
                // A dictionary has no repeated keys; what comes with some keeps all of them.
                if child == Tree.none || isLast || !tree.kind(child).isContainer {
                    child = isLast ? value : try tree.makeNode(.object)
                    try tree.append(child, to: context, named: document.name(step.node))
                }
            }
            context = child
        }
    }

    /// Refuses a name that will be too long when it is written, before names are compared with each other: for every value
    /// below two siblings the whole name is, and the nesting bounds it only by `depth` times `key`.
    private func checkName(_ document: borrowing Tree) throws(ConversionError) {
        var length = 0
        for step in path where step.index == nil { length += document.name(step.node).count }
        guard length > limits.key else { return }
        let root = document.name(path[0].node)
        throw .limit(
            "key", of: limits.key, what: "the length of a field's name",
            field: root.extracting(0..<min(root.count, 64)).lossyString() + "…")
    }

    /// Gives the elements of arrays their positions as names, where these are written.
    private mutating func numberElements() {
        guard isNumbered else { return }
        for parent in tree.records.indices where tree.records[parent].kind == .array {
            var child = tree.records[parent].first
            var position = 0
            while child != Tree.none {
                // The limit is on what comes in; these few digits follow from it.
                let start = tree.bytes.count
                tree.bytes.append(decimal: position)
                tree.records[Int(child)].nameStart = Int32(start)
                tree.records[Int(child)].nameCount = Int32(tree.bytes.count - start)
                position += 1
                child = tree.records[Int(child)].next
            }
        }
    }

    /// Sorts the children of everything by their encoded text. A node is made after its parent, so children come first.
    private mutating func sort() {
        let table = FieldStyle.of(options.dialect).escaping(options.spaces).table
        var order = ComponentOrder(options: options)
        var end = tree.records.count
        while end > 0 {
            var parent = Tree.Node(end - 1)
            // Under `auto` an array may have elements with an index beside such without.
            if options.nesting == .brackets, options.arrays != .auto {
                parent = tree.sortComponents(before: end, table, areNumbered: isNumbered)
                guard parent != Tree.none else { return }
            }
            tree.sortChildren(of: parent) { tree, first, second in order.isBefore(first, second, in: tree) }
            end = Int(parent)
        }
    }

    /// Whether elements have their position as a name.
    private var isNumbered: Bool { options.arrays == .indices || options.arrays == .auto }
}

/// Compares components by their encoded text.
private struct ComponentOrder {
    let options: FieldEncodingOptions
    private var left = EncodedFields()
    private var right = EncodedFields()

    init(options: FieldEncodingOptions) { self.options = options }

    /// Whether the fields of a node, joined with `&`, come before those of its sibling. What the names of both begin with is left
    /// aside.
    mutating func isBefore(
        _ first: Tree.Node, _ second: Tree.Node, in tree: borrowing Tree
    ) -> Bool {
        left.start(first)
        right.start(second)
        while true {
            switch (left.next(tree, options), right.next(tree, options)) {
            case (true, true): break
            case (false, let isLonger): return isLonger
            case (true, false): return false
            }
            let count = min(left.text.count, right.text.count)
            for at in 0..<count where left.text.span[at] != right.text.span[at] {
                return left.text.span[at] < right.text.span[at]
            }
            // One field begins like the other: the shorter one goes on with an ampersand or ends.
            if left.text.count < right.text.count {
                return !left.hasMore(tree) || UInt8(ascii: "&") < right.text.span[count]
            }
            if right.text.count < left.text.count {
                return right.hasMore(tree) && left.text.span[count] < UInt8(ascii: "&")
            }
        }
    }
}

/// The fields below a node, one after the other, as they are encoded: for comparing.
private struct EncodedFields {
    private(set) var text = OutputBuffer()
    private var top = Tree.none
    /// The field at hand; none before the first.
    private var leaf = Tree.none
    private var path: [Tree.Node] = []

    mutating func start(_ node: Tree.Node) {
        top = node
        leaf = Tree.none
    }

    /// Whether a field follows the one at hand.
    func hasMore(_ tree: borrowing Tree) -> Bool { tree.following(leaf, below: top) != Tree.none }

    /// Goes to the next field and puts its text into `text`; false when there is none.
    mutating func next(_ tree: borrowing Tree, _ options: FieldEncodingOptions) -> Bool {
        var at = leaf == Tree.none ? top : tree.following(leaf, below: top)
        guard at != Tree.none else { return false }
        while tree.firstChild(at) != Tree.none { at = tree.firstChild(at) }
        leaf = at
        path.removeAll(keepingCapacity: true)
        while true {
            path.append(at)
            guard at != top else { break }
            at = tree.parent(at)
        }
        text.removeAll()
        for node in path.reversed() { appendSegment(node, tree, options) }
        if tree.kind(leaf) != .null {
            text.append(UInt8(ascii: "="))
            append(tree.text(leaf), options)
        }
        return true
    }

    private mutating func appendSegment(
        _ node: Tree.Node, _ tree: borrowing Tree, _ options: FieldEncodingOptions
    ) {
        let parent = tree.parent(node)
        let isElement = tree.kind(parent).isArray
        if isElement, options.arrays == .repeated { return }
        if parent == tree.root { return append(tree.name(node), options) }
        if !isElement, options.nesting == .dots {
            text.append(UInt8(ascii: "."))
            return append(tree.name(node), options)
        }
        text.append("%5B")
        let hasName = !isElement || options.arrays == .indices || tree.kind(node).isContainer
        if hasName { append(tree.name(node), options) }
        text.append("%5D")
    }

    private mutating func append(_ bytes: Span<UInt8>, _ options: FieldEncodingOptions) {
        text.append(percentEncoding: bytes, keeping: .queryUnescaped, plusForSpace: options.spaces == .plus)
    }
}

extension Tree {
    /// Whether the components of the document are its own nodes: no key is an integer or repeated, no array has an element that
    /// leaves nothing, and no name passes the limit.
    fileprivate mutating func standsForItself(keyLimit: Int) -> Bool {
        guard root != Tree.none, kind(root) == .object else { return false }
        if hasDistinctNames, !notes.hasNumbers, !notes.hasGaps, notes.areShort(keyLimit) { return true }
        // The bytes of the names down to each node; a node is made after its parent.
        scratch.removeAll(keepingCapacity: true)
        for index in records.indices {
            let node = Node(index)
            let record = records[index]
            var length = 0
            if record.parent != Tree.none {
                guard !record.isSpliced, record.count > 0 || !record.kind.isContainer else { return false }
                length = Int(scratch[Int(record.parent)])
                if kind(record.parent).hasNames {
                    length += Int(record.nameCount)
                    let name = name(node)
                    guard name.swiftInteger == nil, child(of: record.parent, named: name) == node else { return false }
                }
            }
            guard length <= keyLimit, let short = Node(exactly: length) else { return false }
            scratch.append(short)
        }
        return true
    }

    /// Takes out what leaves nothing, places without a node and containers that are empty or hold only such, and returns how many
    /// containers were empty. Does nothing where what follows would not just move up: see above of values behind a gap.
    fileprivate mutating func closeGaps() -> Int {
        // The values that each node holds, two for all that are more. A node is made after its parent.
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: repeatElement(0, count: records.count))
        for index in records.indices.reversed() {
            let record = records[index]
            guard record.kind.isContainer else {
                scratch[index] = record.isSpliced ? 0 : 1
                continue
            }
            var values: Node = 0
            var hasMany = false
            var child = record.last
            while child != Tree.none {
                let count = scratch[Int(child)]
                if count == 0, hasMany, record.kind.isArray { return 0 }
                values += count
                hasMany = hasMany || count > 1
                child = records[Int(child)].previous
            }
            scratch[index] = min(values, 2)
        }
        var emptyCount = 0
        for index in records.indices where scratch[index] == 0 && records[index].parent != Tree.none {
            if records[index].kind.isContainer, records[index].count == 0 { emptyCount += 1 }
            unlink(Node(index))
        }
        notes.hasGaps = false
        return emptyCount
    }

    /// Sorts the children of all containers before the node `end` by their encoded fields, the last one's first. Returns the node,
    /// if any, of which two children can't be told apart by C's loop: what stands before it and its own are still to be sorted.
    fileprivate mutating func sortComponents(before end: Int, _ table: [UInt32], areNumbered: Bool) -> Node {
        guard isLaidOutAsInC else { return Node(end - 1) }
        bytes.reserve(Self.overhang)
        var parent = Node(end)
        var isRoomy = true
        repeat {
            let (scratch, room) = unsafe membersRoom
            var components = unsafe recast_components()
            unsafe components.root = root
            unsafe components.are_numbered = areNumbered
            unsafe components.scratch = scratch
            unsafe components.scratch_room = room
            let last = isRoomy ? parent : parent + 1
            // SAFETY: there are nodes up to `end`, and as much room for children as is said.
            parent = unsafe table.withUnsafeBufferPointer { table in
                unsafe withNodes { nodes, pool in
                    unsafe components.nodes = nodes
                    unsafe components.pool = pool
                    unsafe components.table = table.baseAddress
                    return unsafe recast_sort_components(&components, last)
                }
            }
            guard parent != Tree.none else { return parent }
            isRoomy = childCount(parent) <= TreeIndex.threshold || 2 * childCount(parent) <= room
            if !isRoomy { _ = unsafe reserveMembers(for: parent) }
        } while !isRoomy
        return parent
    }

    /// The element of an array at `index`, or `none`.
    fileprivate func element(of array: Node, at index: Int) -> Node {
        let count = childCount(array)
        guard index < count else { return Tree.none }
        // Nearly always the last one.
        var at = records[Int(array)].last
        for _ in index..<count - 1 { at = records[Int(at)].previous }
        return at
    }

    /// Puts the members of an object whose keys are integers in the order of these.
    fileprivate mutating func orderNumberedMembers(_ parent: Node) throws(ConversionError) {
        guard kind(parent).hasNames else { return }
        var numbered: [(number: Int, node: Node)] = []
        var child = firstChild(parent)
        while child != Tree.none {
            if let number = name(child).swiftInteger { numbered.append((number, child)) }
            child = nextSibling(child)
        }
        guard !numbered.isEmpty else { return }
        numbered.sort { $0.number < $1.number }
        guard numbered.count == childCount(parent), numbered[0].number >= 0,
            zip(numbered, numbered.dropFirst()).allSatisfy({ $0.number < $1.number })
        else { throw FieldFault.digitKeys.error(field: path(numbered[0].node)) }
        scratch = numbered.map(\.node)
        relinkScratch(below: parent)
    }
}
