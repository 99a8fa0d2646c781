internal import COctets
internal import Octets

// Documents that are held until their end: their members or fields are sorted, so none can be written before the last one is
// known. They come by events or by the decoder's loop, are put in order, and go out by C's loop, or by events again.
extension Flattener where Target: ~Copyable {
    /// Leaves a document that is held in memory to `drain`, which can pause; else all of it is written at its end.
    internal mutating func drainLater() { drainsLater = true }

    /// Whether documents are held.
    internal var holdsDocuments: Bool { style.holdsDocument(options.order) }

    /// Decides at the root whether the document is held.
    internal mutating func beginHolding() {
        if !isEmitting { isGathering = holdsDocuments }
    }

    internal mutating func endHolding() throws(ConversionError) {
        guard isGathering else { return }
        isGathering = false
        isHolding = true
        walkNode = Tree.none
        if !drainsLater { _ = try drain(pauses: false) { _, _ in false } }
    }

    /// Keeps the index of an element that isn't in the tree: a file that has passed, or a null that is left out.
    internal mutating func holdPlace(isFile: Bool) throws(ConversionError) {
        try document.null()
        let last = document.records.count - 1
        document.records[last].isSpliced = true
        document.records[last].isTyped = isFile
        document.notes.hasGaps = true
        observer?.holds(Tree.none)
    }

    /// Puts the name of a member into the document.
    internal mutating func holdKey(_ name: Span<UInt8>) throws(ConversionError) {
        try document.key(name)
        document.notes.add(name, depth: containers.count)
    }

    /// Looks whether the object or array that ends is empty.
    internal mutating func noteHeldEnd() {
        if document.childCount(document.open) == 0 { document.notes.hasGaps = true }
    }

    /// Says that the values which have come since the last call are in the latest node.
    internal func tellHeld() { if isGathering { observer?.holds(Tree.Node(document.records.count - 1)) } }

    /// Writes a document that is held. Returns false when the target is full, to be called again.
    internal mutating func drain() throws(ConversionError) -> Bool { try drain { _, _ in false } }

    /// As `drain`, where `write` is asked first whether it writes something from the walk's node on, and goes on with the walk.
    @inline(__always)
    internal mutating func drain(
        pauses: Bool = true, _ write: (inout Self, inout Tree) -> Bool
    ) throws(ConversionError) -> Bool {
        guard isHolding else { return true }
        // The walk calls methods of self, so the tree is taken out meanwhile.
        var tree = Tree(limits: limits)
        swap(&tree, &document)
        defer { swap(&tree, &document) }
        if !isEmitting {
            if style.sorting == .components { try arrangeComponents(&tree) }
            isEmitting = true
            walkNode = tree.root
            walkLeaves = false
        }
        let isDone = try walk(&tree, pauses: pauses, write)
        if isDone {
            isHolding = false
            isEmitting = false
            if !isLent { tree.removeAll() }
            isLent = false
        }
        return isDone
    }

    private mutating func arrangeComponents(_ tree: inout Tree) throws(ConversionError) {
        var components = AlamofireComponents(options: options, limits: limits)
        components.observer = observer
        try components.take(&tree)
        removedCount += components.removedCount
        swap(&tree, &components.tree)
        guard tree.root != Tree.none, tree.kind(tree.root) == .object else {
            throw FieldFault.rootNotObject.error(field: nil)
        }
    }

    @inline(__always)
    private mutating func walk(
        _ tree: inout Tree, pauses: Bool, _ write: (inout Self, inout Tree) -> Bool
    ) throws(ConversionError) -> Bool {
        while walkNode != Tree.none {
            if pauses, target.isFull { return false }
            if !walkLeaves, write(&self, &tree) { continue }
            let node = walkNode
            if style.sorting == .components, !walkLeaves { enterComponent(node, of: tree) }
            if isLent, !walkLeaves { settleStyle(for: node, of: tree) }
            if walkLeaves {
                observer?.writes(node)
                if tree.kind(node).hasNames { try endObject() } else { try endArray() }
            } else if try enter(node, of: &tree) {
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

    /// Goes to the element that is sorted here, which keeps its index.
    private mutating func enterComponent(_ node: Tree.Node, of tree: borrowing Tree) {
        guard options.arrays != .brackets, tree.parent(node) != Tree.none, !tree.kind(tree.parent(node)).hasNames,
            let position = tree.name(node).canonicalIndex
        else { return }
        containers[containers.count - 1].position = position
    }

    /// Settles how elements are named, of which the loop may have written some: all of an array are values, or none is.
    private mutating func settleStyle(for node: Tree.Node, of tree: borrowing Tree) {
        guard options.arrays == .auto, let top = containers.lastIndex, containers[top].kind == .array else { return }
        containers[top].style = tree.kind(node).isContainer ? .indices : .brackets
    }

    /// Whether the members of each object are sorted here.
    private var sortsMembers: Bool { isLent ? sortsLent : style.sorting == .members }

    /// Writes a value, or begins it: true for an object or array.
    private mutating func enter(_ node: Tree.Node, of tree: inout Tree) throws(ConversionError) -> Bool {
        let parent = tree.parent(node)
        if tree.hasHeads { partHead(tree.heads[node]) }
        if parent != Tree.none, tree.kind(parent).hasNames { try key(tree.name(node)) }
        observer?.writes(node)
        switch tree.kind(node) {
        case .object, .keyed:
            if sortsMembers { tree.sortMembers(node) }
            try beginObject()
            return true
        case .array, .collected:
            try beginArray()
            return true
        case .null where tree.records[Int(node)].isSpliced:
            try beginValue(.scalar)
            if tree.records[Int(node)].isTyped { noteWritten() }
        case .null:
            try beginValue(.scalar)
            try sendBare()
        case .string, .number, .date, .data, .yes, .no:
            // All scalars were gathered as the texts that they are written as.
            try string(tree.text(node), isLast: true)
        }
        return false
    }
}

// MARK: Without events

extension Flattener where Target: DirectFieldEncoder & ~Copyable {
    /// Whether the decoder may put into the document that is held what it reads of a slice, without the events: so much surely
    /// passes no limit.
    internal mutating func holdsDirectly(_ count: Int) -> Bool {
        guard isBetweenGatheredValues, let top = containers.last, isReady(top) else { return false }
        name.truncate(to: top.nameEnd)
        // An item takes two bytes, but for objects and arrays that the slice doesn't end, of which there are so many as may be open.
        let nodes = (count + min(count, limits.depth)) / 2 + 1
        return document.cost + count + nodes * Tree.nodeCost <= document.limit
    }

    internal mutating func exchangeHeld(_ records: inout TreeRecords, _ bytes: inout ByteStore) {
        swap(&records, &document.records)
        swap(&bytes, &document.bytes)
    }

    /// Takes over that C's loop has put nodes into the document, `scalars` of them, behind `count` others and below at most
    /// `deepest` containers: now the `open` one is.
    internal mutating func hold(
        after count: Int, scalars: Int, open: Tree.Node, hasMany: Bool, childrenBefore: Int, deepest: Int,
        longest: Int, hasNumbers: Bool, hasGaps: Bool
    ) {
        if hasMany { document.enterMembers(from: count, below: document.open, afterFirst: childrenBefore) }
        document.notes.add(longest: longest, deepest: deepest, hasNumbers: hasNumbers)
        if hasGaps { document.notes.hasGaps = true }
        document.scalarCount += scalars
        document.open = open
    }

    /// As `drain`, with the fields of most texts written past the encoder's own way, which alone writes what the heads of parts said
    /// besides a name.
    internal mutating func drainDirectly() throws(ConversionError) -> Bool {
        guard options.nesting == .brackets, options.arrays == .brackets || options.arrays == .indices || isLent,
            Target.encodesText || !document.hasHeads, observer == nil, let fields = target.directFields(options)
        else { return try drain() }
        return try drain { flattener, tree in flattener.write(&tree, fields) }
    }

    /// The objects and arrays that C's loop may have open.
    private static var mostLevels: Int { 32 }
    /// The room for what stands before names, beside what does already.
    private static var prefixRoom: Int { 1024 }
    /// The room for fields at least.
    private static var room: Int { 1024 }

    /// Writes fields by C's loop from the walk's node on, and opens here what the loop leaves open. Returns false where that is
    /// nothing: the node is for its event.
    private mutating func write(_ tree: inout Tree, _ fields: DirectFields) -> Bool {
        let record = tree.records[Int(walkNode)]
        let mayPass = record.kind == .null || record.kind.isContainer && options.empties == .omit
        guard record.kind == .string || record.count > 0 || mayPass, tree.isLaidOutAsInC,
            let top = containers.lastIndex,
            containers[top].isObject || containers[top].kind == .array && top > 0 && !containers[top].lastIsEmpty,
            top == 0 || containers[top].nameEnd > 0, directNameRoom >= 0
        else { return false }
        name.truncate(to: containers[top].nameEnd)
        guard containers[top].prefixEnd >= 0 || makePrefix(fields) else { return false }
        tree.bytes.reserve(Tree.overhang)
        var output = OutputBuffer()
        target.exchangeOutput(&output)
        var held = unsafe makeHeld(fields)
        let first = unsafe held.levels[0]
        let (scratch, scratchRoom) = unsafe tree.membersRoom
        unsafe held.scratch = scratch
        unsafe held.scratch_room = scratchRoom
        // SAFETY: the nodes, the pool with the overhang, the scratch, the table, the prefix and the levels stay where they are while
        // the loop runs, and the room is what the output says.
        unsafe fields.table.withUnsafeBufferPointer { table in
            unsafe tree.withNodes { nodes, pool in
                unsafe held.nodes = nodes
                unsafe held.pool = pool
                unsafe held.table = Target.encodesText ? table.baseAddress : nil
                var least = Self.room
                repeat {
                    let left = max(0, output.highWatermark - output.count)
                    unsafe output.fill(atLeast: least) { target, room in
                        unsafe held.target = target
                        unsafe held.room = room
                        unsafe held.left = left
                        unsafe recast_held_write(&held)
                        return unsafe held.to
                    }
                    least = unsafe held.needed
                } while least > 0
            }
        }
        target.exchangeOutput(&output)
        guard unsafe held.node != walkNode else { return false }
        if unsafe held.fields > 0 { target.hasFields = true }
        removedCount += unsafe held.removed
        unsafe takeLevels(held, first, tree)
        return true
    }

    /// What C's loop needs to know of what is open.
    @unsafe
    private mutating func makeHeld(_ fields: DirectFields) -> recast_held {
        let top = containers.count - 1
        let container = containers[top]
        var level = recast_held_level()
        level.prefix_count = container.prefixEnd
        level.name_end = container.nameEnd
        level.name_room = directNameRoom
        level.position = container.position
        level.is_object = container.isObject
        _ = unsafe prefix.reserve(container.prefixEnd + Self.prefixRoom)
        // SAFETY: the prefix and the levels are this flattener's, and stay while the loop runs. There is room for the first level.
        var held = unsafe recast_held()
        unsafe held.levels = heldLevels.reserve(Self.mostLevels)
        unsafe held.levels[0] = level
        // No level may be open that has no place for a scalar.
        let more = limits.keyDepth &- container.depth &- 1
        unsafe held.levels_room = 1 + max(0, min(Self.mostLevels - 1, more))
        unsafe held.prefix = prefix.start.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
        unsafe held.prefix_room = prefix.room
        unsafe held.root_mark = fields.endOfRootName.inC
        unsafe held.text_mark = fields.endOfText.inC
        // Those of objects and arrays are the same here.
        unsafe held.brackets = fields.object.inC
        unsafe held.longest_text = JSON.Decoder.longestText
        unsafe held.longest_name = limits.key
        unsafe held.is_root = top == 0
        unsafe held.sorts_members = sortsMembers
        unsafe held.has_indices = options.arrays == .indices
        unsafe held.elements_are_named = hasNamedElements
        unsafe held.has_bare_nulls = !isLent && outcome(of: .null, isMember: false).outcome == recast_outcome_bare
        unsafe held.omits_empties = options.empties == .omit
        unsafe held.omits_empty_elements = held.omits_empties && !style.leavesGaps
        // Of a document that was lent, all names have been looked at.
        unsafe held.takes_plain_alone = !Target.encodesText && !isLent
        unsafe held.node = walkNode
        unsafe held.skip = target.hasFields ? 0 : 1
        return unsafe held
    }

    /// Whether elements have their index as a name, as components are numbered.
    private var hasNamedElements: Bool {
        isLent ? options.arrays == .auto : style.sorting == .components && options.arrays == .indices
    }

    /// Brings the walk and the open containers to where the loop has come, which was at `first` in the innermost one.
    @unsafe
    private mutating func takeLevels(_ held: recast_held, _ first: recast_held_level, _ tree: borrowing Tree) {
        // SAFETY: the loop has filled in the levels up to that of its depth.
        for number in 0...(unsafe held.depth) {
            let level = unsafe held.levels[number]
            if number > 0 {
                appendName(of: level.node, tree)
                openDirectly(isObject: level.is_object, prefixEnd: level.prefix_count)
            }
            let top = containers.count - 1
            let passed = number > 0 ? level.position : level.position - first.position
            containers[top].position += passed
            containers[top].written += passed - level.omitted
        }
        walkLeaves = unsafe held.node == Tree.none
        walkNode = walkLeaves ? tree.parent(walkNode) : unsafe held.node
    }

    /// Appends to the name what a member or an element of the innermost container has of its own.
    private mutating func appendName(of node: Tree.Node, _ tree: borrowing Tree) {
        let top = containers.count - 1
        if top > 0 { name.append(UInt8(ascii: "[")) }
        if containers[top].isObject || hasNamedElements {
            name.append(contentsOf: tree.name(node))
        } else if options.arrays == .indices {
            name.append(decimal: containers[top].position)
        }
        if top > 0 { name.append(UInt8(ascii: "]")) }
    }
}

// MARK: Documents that are held elsewhere

extension Flattener where Target: DirectFieldEncoder & ~Copyable {
    /// Writes a document that somebody else holds as one that is held here, its members in that order. Returns false when the target is
    /// full, to be called again, and where the document is one for events: then nothing has been written.
    internal mutating func write(held tree: inout Tree, order: MemberOrder) throws(ConversionError) -> Bool {
        if !isHolding {
            guard containers.isEmpty, takesLent, tree.isMadeOfTexts || makeTexts(&tree) else { return false }
            isHolding = true
            isLent = true
            sortsLent = order == .sorted
        }
        swap(&tree, &document)
        defer { swap(&tree, &document) }
        return try drainDirectly()
    }

    /// Whether the options name all fields as the loop does, and nothing but an error depends on how a value came.
    private var takesLent: Bool {
        options.dialect == .recast && options.nesting == .brackets && observer == nil
            && (options.arrays == .auto || options.arrays == .indices) && target.directFields(options) != nil
    }

    /// Makes all scalars of a document the texts that they are written as, and gives elements that `auto` numbers their numbers as names.
    /// Returns false, with nothing done, where a value or a name may be refused or left out, or is written in another way.
    private mutating func makeTexts(_ tree: inout Tree) -> Bool {
        guard tree.kind(tree.root).hasNames, !tree.hasHeads else { return false }
        var most = 0
        for at in tree.records.indices {
            let record = tree.records[at]
            switch record.kind {
            case .date, .data: return false
            case .null: guard options.nulls == .empty || options.nulls == .literal else { return false }
            case .object, .keyed, .array, .collected, .string, .number, .yes, .no: break
            }
            guard record.parent != Tree.none else { continue }
            let parent = tree.records[Int(record.parent)]
            if parent.kind.hasNames {
                let name = tree.slice(record.nameStart, record.nameCount)
                guard record.nameCount > 0, !Self.hasMarks(name, isDotted: false), Target.takesDirectly(name) else {
                    return false
                }
            } else if options.arrays == .auto {
                let isContainer = record.kind.isContainer
                guard parent.first != Tree.none, tree.kind(parent.first).isContainer == isContainer else {
                    return false
                }
                if isContainer { most = max(most, Int(parent.count)) }
            }
        }
        tree.makeTexts(options)
        if options.arrays == .auto { tree.numberElements(most) }
        tree.isMadeOfTexts = true
        return true
    }
}

extension Tree {
    /// Makes numbers, booleans and nulls texts.
    fileprivate mutating func makeTexts(_ options: FieldEncodingOptions) {
        let isNumeric = options.booleans == .numeric
        let yes = place(of: isNumeric ? "1" : "true"), no = place(of: isNumeric ? "0" : "false")
        let null = options.nulls == .literal ? place(of: "null") : (start: 0, count: 0)
        for at in records.indices {
            switch records[at].kind {
            case .number: records[at].kind = .string
            case .yes: setText(Node(at), .string, start: yes.start, count: yes.count)
            case .no: setText(Node(at), .string, start: no.start, count: no.count)
            case .null: setText(Node(at), .string, start: null.start, count: null.count)
            case .object, .keyed, .array, .collected, .string, .date, .data: break
            }
        }
    }

    private mutating func place(of text: StaticString) -> (start: Int32, count: Int32) {
        let start = bytes.count
        bytes.append(text)
        return (Int32(start), Int32(bytes.count - start))
    }

    /// Names the elements of arrays of objects and arrays by their numbers, which `most` of one array have.
    fileprivate mutating func numberElements(_ most: Int) {
        scratch.removeAll(keepingCapacity: true)
        for number in 0..<most {
            scratch.append(Int32(bytes.count))
            bytes.append(decimal: number)
        }
        scratch.append(Int32(bytes.count))
        for at in records.indices where records[at].kind.isArray {
            var child = records[at].first
            guard child != Tree.none, records[Int(child)].kind.isContainer else { continue }
            var number = 0
            while child != Tree.none {
                records[Int(child)].nameStart = scratch[number]
                records[Int(child)].nameCount = scratch[number + 1] - scratch[number]
                number += 1
                child = records[Int(child)].next
            }
        }
    }
}

/// What is known of a document that is held by looking at each name and each end of a container as it comes, so that nothing has to
/// be looked at again.
internal struct TreeNotes {
    /// A name is a number's. To a library that sets values at their paths it is the place in an array.
    internal private(set) var hasNumbers = false
    /// A container is empty, or something isn't in the tree but keeps its place. To such a library both may be nothing at all.
    internal var hasGaps = false
    /// The bytes of a name, and the names that lead to a value, at most.
    private var longest = 0
    private var deepest = 0

    /// A name in the last one of `depth` containers.
    internal mutating func add(_ name: Span<UInt8>, depth: Int) {
        longest = max(longest, name.count)
        deepest = max(deepest, depth)
        if name.swiftInteger != nil { hasNumbers = true }
    }

    /// The names that C's loop has taken, of so many bytes at most.
    internal mutating func add(longest count: Int, deepest depth: Int, hasNumbers: Bool) {
        longest = max(longest, count)
        deepest = max(deepest, depth)
        if hasNumbers { self.hasNumbers = true }
    }

    /// Whether all names that lead to a value surely have at most so many bytes together.
    internal func areShort(_ limit: Int) -> Bool {
        // Both are bounded by the document's size.
        longest * deepest <= limit
    }
}
