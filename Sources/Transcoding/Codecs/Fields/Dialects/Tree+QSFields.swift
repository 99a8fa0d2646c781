internal import COctets
internal import Octets

/// Fields put together as qs has them: first by whole names, then by what the names say, one after the other.
///
/// - A repeated name makes an array of its values. Whatever comes together at one place is merged and not overwritten:
///   `a=1&a[b]=2` is `[1,{b:2}]`, `a[]=1&a[b]=2` is `{0:1,b:2}`; see `mergeQS(_:into:)`.
/// - `a[3]` is an index below 20, else a key. An array that grows beyond 20 becomes an object that goes on counting.
///   Places of an array that nothing was put at vanish in the end.
/// - Where objects have keys that are numbers, these come first and in their order, as JavaScript has it.
///
/// While fields come, an array's element has its index in `nameStart`, and the record of an object that was an array says
/// so in `isTyped` and has its largest index in the unused value range.
extension Tree {
    /// The most elements an array has, and the least number that is a key (`arrayLimit`).
    private static let qsArrayLimit = Int(recast_qs_array_limit)

    // MARK: Gathering

    /// Adds a field to `pairs` under its whole name; a repeated one goes by `duplicates`, and always makes an array where
    /// the name ends with `[]`.
    internal mutating func gatherQS(
        _ value: Node, in pairs: Node, at name: borrowing FieldName, hasValue: Bool, duplicates: DuplicatePolicy
    ) throws(ConversionError) {
        let key = name.wholeName
        let isPush =
            hasValue && key.count > 1 && key[key.count - 1] == UInt8(ascii: "]")
            && key[key.count - 2] == UInt8(ascii: "[")
        var value = value
        if isPush, isQSArray(value) {
            let array = try makeNode(.array)
            pushQS(value, to: array)
            value = array
        }
        try limitQS(value)
        let existing = child(of: pairs, named: key)
        guard existing != Tree.none else { return try append(value, to: pairs, named: key) }
        switch duplicates {
        case _ where isPush, .array, .keep: try combineQS(value, with: existing)
        case .first: removedCount += leafCount(value)
        case .last:
            removedCount += leafCount(existing)
            replace(existing, by: value)
        case .reject: throw Self.duplicate(name.spelling)
        }
    }

    /// The value of a field under `arrays: comma`: an array where the text has commas of its own. A decoder of forms gives
    /// those that came as `%2C`, which are text, as the byte FF.
    internal mutating func makeQSValue(_ text: ByteStore, isTyped: Bool) throws(ConversionError) -> Node {
        let array =
            Scan.firstIndex(of: UInt8(ascii: ","), in: text.span) == nil ? Tree.none : try makeNode(.array)
        var element = ByteStore()
        for at in 0...text.count {
            if at < text.count, array == Tree.none || text[at] != UInt8(ascii: ",") {
                element.append(text[at] == QSPair.textComma ? UInt8(ascii: ",") : text[at])
                continue
            }
            let node = try makeScalar(element, 0..<element.count, isTyped: isTyped)
            guard array != Tree.none else { return node }
            pushQS(node, to: array)
            element.removeAll()
        }
        return array
    }

    /// `utils.combine`: `existing` becomes an array of what it has and `value`'s elements.
    private mutating func combineQS(_ value: Node, with existing: Node) throws(ConversionError) {
        if isOverflowQS(existing) { return try appendOverflowQS(value, to: existing) }
        var array = existing
        if !isQSArray(existing) {
            array = try makeNode(.array)
            replace(existing, by: array)
            pushQS(existing, to: array)
        }
        concatQS(value, to: array)
        try limitQS(array)
    }

    // MARK: Merging

    /// Puts all of `pairs` where their names say. `loop` does so with those whose place is plain; `name` is for parsing the others.
    internal mutating func mergeQS(
        _ pairs: Node, name: inout FieldName, loop: inout PairLoop, options: FieldDecodingOptions, limits: Limits
    ) throws(ConversionError) {
        if loop.hasNumberNames { orderQS(pairs) }
        var pair = records[Int(pairs)].first
        loop.restart()
        if childCount(root) == 0, loop.areKeys(pair, in: &self) {
            // Each stands where its name says: they have the root's place.
            root = pairs
            return
        }
        while true {
            pair = loop.move(pair, of: childCount(pairs), in: &self)
            if pair == Tree.none { return }
            let next = records[Int(pair)].next
            // What merging makes may take the place of anything, and count on under numbers.
            loop.restart()
            loop.hasNumberNames = true
            try name.parse(self.name(pair), options: options, limits: limits)
            detachQS(pair)
            try mergeQS(pair, at: name, indices: options.readsQSIndices)
            pair = next
        }
    }

    private mutating func mergeQS(
        _ value: Node, at name: borrowing FieldName, indices: Bool
    ) throws(ConversionError) {
        var target = root
        var depth = 0
        let last = name.segmentCount - 1
        let start = records[Int(value)].nameStart
        // Down to where name and tree part. What is left is made as qs makes it, and merged.
        while !isOverflowQS(target), isQSObject(target), name.qsIndex(depth, indices) == nil, name.kind(depth) == .key {
            let key = name.segment(depth)
            let existing = child(of: target, named: key)
            if existing == Tree.none {
                let node = try makeQS(value, at: name, of: start, from: depth + 1, indices: indices)
                return try append(node, to: target, named: name, depth, of: start)
            }
            depth += 1
            target = existing
            if depth > last { break }
        }
        try mergeQS(try makeQS(value, at: name, of: start, from: depth, indices: indices), into: target)
    }

    /// Puts a node last into an object, under a segment of a whole name that begins at `start` in the pool and stays there.
    private mutating func append(
        _ node: Node, to object: Node, named name: borrowing FieldName, _ depth: Int, of start: Int32
    ) throws(ConversionError) {
        guard let place = name.place(depth) else { return try append(node, to: object, named: name.segment(depth)) }
        link(node, to: object, nameStart: start + Int32(place.lowerBound), nameCount: Int32(place.count))
    }

    /// `parseObject`: what the segments from `first` on make of a value, whose whole name begins at `start` in the pool.
    private mutating func makeQS(
        _ value: Node, at name: borrowing FieldName, of start: Int32, from first: Int, indices: Bool
    ) throws(ConversionError) -> Node {
        var leaf = value
        for depth in (min(first, name.segmentCount)..<name.segmentCount).reversed() {
            if name.kind(depth) == .push {
                if isOverflowQS(leaf) { continue }
                let array = try makeNode(.array)
                concatQS(leaf, to: array)
                try limitQS(array)
                leaf = array
            } else if let index = name.qsIndex(depth, indices), index < Self.qsArrayLimit {
                let array = try makeNode(.array)
                link(leaf, to: array, nameStart: Int32(index), nameCount: 0)
                leaf = array
            } else {
                let object = try makeNode(.keyed)
                try append(leaf, to: object, named: name, depth, of: start)
                if let index = name.qsIndex(depth, indices) { markOverflowQS(object, index) }
                leaf = object
            }
        }
        return leaf
    }

    /// `utils.merge`. `source` stands nowhere; what it has moves over. An empty value or a null that comes where something
    /// stands already gets lost in qs, by this rule.
    private mutating func mergeQS(_ source: Node, into target: Node) throws(ConversionError) {
        guard !isFalsyQS(source) else {
            removedCount += 1
            return
        }
        guard isQSArray(source) || isQSObject(source) else {
            if isQSArray(target) {
                pushQS(source, to: target)
                return try limitQS(target)
            }
            if isOverflowQS(target) { return try appendOverflowQS(source, to: target) }
            return try pairQS(target, with: source)
        }
        guard isQSArray(target) || isQSObject(target) else {
            guard isOverflowQS(source) else { return try pairQS(target, with: source) }
            let object = try makeNode(.keyed)
            replace(target, by: object)
            try appendQS(target, to: object, number: 0)
            for child in takeChildrenQS(source) {
                try appendQS(child, to: object, number: (name(child).qsNumber ?? 0) + 1)
            }
            return markOverflowQS(object, largestQSIndex(source) + 1)
        }
        guard isQSArray(target), isQSArray(source) else {
            if isQSArray(target) { try makeObjectQS(target) }
            return try mergeMembersQS(of: source, into: target)
        }
        for item in takeChildrenQS(source) {
            let index = Int(records[Int(item)].nameStart)
            let existing = elementQS(target, index)
            if existing == Tree.none {
                insertQS(item, in: target, at: index)
            } else if isQSArray(existing) || isQSObject(existing), isQSArray(item) || isQSObject(item) {
                try mergeQS(item, into: existing)
            } else {
                pushQS(item, to: target)
            }
        }
        try limitQS(target)
    }

    private mutating func mergeMembersQS(of source: Node, into target: Node) throws(ConversionError) {
        let isArray = isQSArray(source)
        var key = ByteStore()
        for member in takeChildrenQS(source) {
            key.removeAll()
            if isArray {
                key.append(decimal: Int(records[Int(member)].nameStart))
            } else {
                key.append(contentsOf: name(member))
            }
            let existing = child(of: target, named: key.span)
            if existing != Tree.none {
                try mergeQS(member, into: existing)
            } else if isArray {
                try append(member, to: target, named: key.span)
            } else {
                let record = records[Int(member)]
                link(member, to: target, nameStart: record.nameStart, nameCount: record.nameCount)
            }
            if isOverflowQS(source), !isOverflowQS(target) { markOverflowQS(target, largestQSIndex(source)) }
            if isOverflowQS(target), let number = key.span.qsNumber, number > largestQSIndex(target) {
                markOverflowQS(target, number)
            }
        }
    }

    /// `[target].concat(source)` in the place of `target`.
    private mutating func pairQS(_ target: Node, with source: Node) throws(ConversionError) {
        let array = try makeNode(.array)
        replace(target, by: array)
        pushQS(target, to: array)
        concatQS(source, to: array)
        try limitQS(array)
    }

    // MARK: What a node is

    private func isQSArray(_ node: Node) -> Bool {
        records[Int(node)].kind == .array && !records[Int(node)].isSpliced
    }

    private func isQSObject(_ node: Node) -> Bool { records[Int(node)].kind == .keyed || node == root }

    private func isOverflowQS(_ node: Node) -> Bool { records[Int(node)].kind == .keyed && records[Int(node)].isTyped }

    private func isFalsyQS(_ node: Node) -> Bool {
        switch records[Int(node)].kind {
        case .null: true
        case .string: records[Int(node)].valueCount == 0
        default: false
        }
    }

    // MARK: Arrays

    private func lengthQS(_ array: Node) -> Int {
        let last = records[Int(array)].last
        return last == Tree.none ? 0 : Int(records[Int(last)].nameStart) + 1
    }

    private mutating func pushQS(_ node: Node, to array: Node) {
        link(node, to: array, nameStart: Int32(lengthQS(array)), nameCount: 0)
    }

    /// Puts an array's elements, or anything else as one, behind the last one.
    private mutating func concatQS(_ node: Node, to array: Node) {
        guard isQSArray(node) else { return pushQS(node, to: array) }
        let start = lengthQS(array)
        for element in takeChildrenQS(node) {
            link(element, to: array, nameStart: Int32(start) + records[Int(element)].nameStart, nameCount: 0)
        }
    }

    private func elementQS(_ array: Node, _ index: Int) -> Node {
        var child = records[Int(array)].first
        while child != Tree.none, Int(records[Int(child)].nameStart) < index { child = records[Int(child)].next }
        return child != Tree.none && Int(records[Int(child)].nameStart) == index ? child : Tree.none
    }

    private mutating func insertQS(_ node: Node, in array: Node, at index: Int) {
        let isLast = index >= lengthQS(array)
        link(node, to: array, nameStart: Int32(index), nameCount: 0)
        guard !isLast else { return }
        scratch.removeAll(keepingCapacity: true)
        var child = records[Int(array)].first
        while child != Tree.none {
            scratch.append(child)
            child = records[Int(child)].next
        }
        scratch.sort { records[Int($0)].nameStart < records[Int($1)].nameStart }
        relinkScratch(below: array)
    }

    /// Makes an object of an array that has grown too long.
    private mutating func limitQS(_ node: Node) throws(ConversionError) {
        guard isQSArray(node), lengthQS(node) > Self.qsArrayLimit else { return }
        let largest = lengthQS(node) - 1
        try makeObjectQS(node)
        markOverflowQS(node, largest)
    }

    private mutating func makeObjectQS(_ array: Node) throws(ConversionError) {
        let elements = takeChildrenQS(array)
        records[Int(array)].kind = .keyed
        for element in elements { try appendQS(element, to: array, number: Int(records[Int(element)].nameStart)) }
    }

    private mutating func appendQS(_ node: Node, to object: Node, number: Int) throws(ConversionError) {
        var key = ByteStore()
        key.append(decimal: number)
        try append(node, to: object, named: key.span)
    }

    // MARK: Objects that go on counting

    private mutating func appendOverflowQS(_ node: Node, to object: Node) throws(ConversionError) {
        let number = largestQSIndex(object) + 1
        try appendQS(node, to: object, number: number)
        markOverflowQS(object, number)
    }

    private func largestQSIndex(_ object: Node) -> Int {
        let record = records[Int(object)]
        return Int(UInt32(bitPattern: record.valueStart)) | Int(UInt32(bitPattern: record.valueCount)) << 32
    }

    private mutating func markOverflowQS(_ object: Node, _ largest: Int) {
        guard object != root else { return }
        records[Int(object)].isTyped = true
        records[Int(object)].valueStart = Int32(bitPattern: UInt32(truncatingIfNeeded: largest))
        records[Int(object)].valueCount = Int32(bitPattern: UInt32(truncatingIfNeeded: largest >> 32))
    }

    // MARK: Links

    /// Takes a member out of `pairs`, which is not searched any more.
    private mutating func detachQS(_ node: Node) {
        records[Int(node)].parent = Tree.none
        records[Int(node)].previous = Tree.none
        records[Int(node)].next = Tree.none
    }

    /// The children of `node`, which loses them; their names and indices stay with them.
    private mutating func takeChildrenQS(_ node: Node) -> [Node] {
        var children: [Node] = []
        children.reserveCapacity(Int(records[Int(node)].count))
        var child = records[Int(node)].first
        while child != Tree.none {
            children.append(child)
            child = records[Int(child)].next
        }
        clearChildren(node)
        return children
    }

    // MARK: The end

    /// Closes the gaps of arrays and orders the members of objects, if some may have names that begin with a digit.
    internal mutating func settleQS(hasNumberNames: Bool) {
        for at in records.indices {
            let kind = records[at].kind
            guard kind == .array || kind == .keyed, !records[at].isSpliced else { continue }
            if kind == .array {
                var child = records[at].first
                while child != Tree.none {
                    records[Int(child)].nameStart = 0
                    child = records[Int(child)].next
                }
                continue
            }
            records[at].kind = .object
            records[at].isTyped = false
            records[at].valueStart = 0
            records[at].valueCount = 0
            if hasNumberNames { orderQS(Node(at)) }
        }
        if hasNumberNames { orderQS(root) }
    }

    /// Puts members whose names are indices of JavaScript (below 2³² - 1) first, in their order.
    private mutating func orderQS(_ object: Node) {
        var child = records[Int(object)].first
        while child != Tree.none, indexQS(child) == nil { child = records[Int(child)].next }
        guard child != Tree.none else { return }
        var numbered: [(index: Int, node: Node)] = []
        var others: [Node] = []
        var isOrdered = true
        child = records[Int(object)].first
        while child != Tree.none {
            if let index = indexQS(child) {
                if !others.isEmpty || index < numbered.last?.index ?? 0 { isOrdered = false }
                numbered.append((index, child))
            } else {
                others.append(child)
            }
            child = records[Int(child)].next
        }
        guard !isOrdered else { return }
        numbered.sort { $0.index < $1.index }
        scratch.removeAll(keepingCapacity: true)
        for member in numbered { scratch.append(member.node) }
        scratch.append(contentsOf: others)
        relinkScratch(below: object)
    }

    private func indexQS(_ member: Node) -> Int? {
        let record = records[Int(member)]
        // Most names begin with a letter.
        guard record.nameCount > 0, ASCII.isDigit(bytes[Int(record.nameStart)]) else { return nil }
        guard let number = name(member).qsNumber, number < Int(UInt32.max) else { return nil }
        return number
    }
}

extension FieldName {
    /// The index that a segment is, of any size; nil where it is a key or a push.
    fileprivate func qsIndex(_ index: Int, _ areRead: Bool) -> Int? {
        guard areRead, segments[index].kind == .key, segments[index].isBracketed else { return nil }
        return segment(index).qsNumber
    }
}

extension FieldDecodingOptions {
    /// Whether `a[0]` is an index; under the other styles keys stay keys (`parseArrays: false`).
    internal var readsQSIndices: Bool { arrays == .auto || arrays == .indices || arrays == .comma }
}

extension Span<UInt8> {
    /// The number that a key is to JavaScript: decimal digits without needless zeros, up to 2⁵³.
    fileprivate var qsNumber: Int? {
        guard count > 0, ASCII.isDigit(self[0]), count == 1 || self[0] != UInt8(ascii: "0"), let value = swiftInteger
        else { return nil }
        return value <= 1 << 53 ? value : nil
    }
}
