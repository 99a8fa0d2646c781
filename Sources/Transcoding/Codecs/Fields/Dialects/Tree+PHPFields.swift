internal import Octets

/// Fields put together as PHP's `$_POST` has them.
///
/// Each container is an ordered table from keys to values. A push takes the number after the largest one so far, and 0 at
/// first. A later value overwrites what stands at its place, a container or not, and a name that goes further down
/// overwrites a value. At the end a table whose keys are 0…n-1 in that order is an array (`array_is_list`).
///
/// While fields come, a table's record says in its unused value range which number comes next, and in `isTyped` that a key
/// was written.
extension Tree {
    /// Puts a new value at the place that a field's name gives it. `duplicates: reject` refuses to overwrite, `array` and
    /// `first` are for two plain values at one place; a container and a value stay as PHP has them.
    internal mutating func putPHP(
        _ value: Node, at name: borrowing some FieldSegments, duplicates: DuplicatePolicy
    ) throws(ConversionError) {
        var parent = root
        let last = name.segmentCount - 1
        for depth in 0..<last {
            guard let child = try descendPHP(from: parent, name, depth, duplicates) else {
                removedCount += leafCount(value)
                return
            }
            parent = child
        }
        if name.kind(last) == .push {
            if !(try pushPHP(value, to: parent)) { removedCount += leafCount(value) }
            return
        }
        notePHPKey(name.segment(last), in: parent)
        try set(value, named: name.segment(last), in: parent, at: name, duplicates: duplicates)
    }

    /// Sets a member to the latest value, or to what `duplicates` says where both are plain.
    internal mutating func set(
        _ value: Node, named key: Span<UInt8>, in parent: Node, at name: borrowing some FieldSegments,
        duplicates: DuplicatePolicy
    ) throws(ConversionError) {
        let existing = child(of: parent, named: key)
        guard existing != Tree.none else { return try append(value, to: parent, named: key) }
        let record = records[Int(existing)]
        let isContainer = record.kind.isContainer && record.kind != .collected && !record.isSpliced
        switch duplicates {
        case .reject where isContainer: throw conflict(nil, name)
        case .reject: throw Self.duplicate(name.spelling)
        case .array where !isContainer, .keep where !isContainer: try collect(value, with: existing)
        case .first where !isContainer: removedCount += leafCount(value)
        case .array, .keep, .first, .last:
            removedCount += leafCount(existing)
            replace(existing, by: value)
        }
    }

    /// The table one segment down, which is made where there is none; nil when the numbers are used up.
    private mutating func descendPHP(
        from parent: Node, _ name: borrowing some FieldSegments, _ depth: Int, _ duplicates: DuplicatePolicy
    ) throws(ConversionError) -> Node? {
        if name.kind(depth) == .push {
            let node = try makeNode(.keyed)
            return try pushPHP(node, to: parent) ? node : nil
        }
        let key = name.segment(depth)
        let existing = child(of: parent, named: key)
        if existing != Tree.none, records[Int(existing)].kind == .keyed, !records[Int(existing)].isSpliced {
            return existing
        }
        let node = try makeNode(.keyed)
        notePHPKey(key, in: parent)
        if existing == Tree.none {
            try append(node, to: parent, named: key)
        } else {
            guard duplicates != .reject else { throw conflict(nil, name) }
            removedCount += leafCount(existing)
            replace(existing, by: node)
        }
        return node
    }

    /// The table under a key, which is made where nothing stands: there is room for it. `none` where a value stands.
    internal mutating func tablePHP(in parent: Node, named key: Span<UInt8>) -> Node {
        let count = records.count
        let table = container(.keyed, in: parent, named: key)
        if records.count > count { notePHPKey(key, in: parent) }
        return table
    }

    /// Puts a string under a key that nothing stands under, or without one under the next number. Returns false, with nothing
    /// changed, where something does, or where that is no table: `putPHP` is the general way.
    internal mutating func appendPHP(_ value: Span<UInt8>, to table: Node, named key: Span<UInt8>) -> Bool {
        guard kind(table) == .keyed else { return false }
        guard key.isEmpty else {
            guard append(value, to: table, named: key) else { return false }
            notePHPKey(key, in: table)
            return true
        }
        let (number, key) = nextPHPKey(table)
        guard append(value, to: table, named: key.span) else { return false }
        setNextPHPNumber(after: number, in: table)
        return true
    }

    /// Puts `node` under the next number. Returns false when that is taken: the largest one has been used.
    private mutating func pushPHP(_ node: Node, to parent: Node) throws(ConversionError) -> Bool {
        let (number, key) = nextPHPKey(parent)
        guard child(of: parent, named: key.span) == Tree.none else { return false }
        try append(node, to: parent, named: key.span)
        setNextPHPNumber(after: number, in: parent)
        return true
    }

    /// The number that a push takes, and its text.
    private func nextPHPKey(_ table: Node) -> (number: Int, text: ByteStore) {
        let number = nextPHPNumber(table)
        var text = ByteStore()
        text.append(decimal: number)
        return (number, text)
    }

    /// Takes note of a key that was written.
    private mutating func notePHPKey(_ key: Span<UInt8>, in parent: Node) {
        guard parent != root else { return }
        let number = key.phpInteger
        if let number { setNextPHPNumber(after: number, in: parent) }
        records[Int(parent)].isTyped = true
    }

    /// The number comes as an offset from `Int.min`, so that a new table has none.
    private func nextPHPNumber(_ table: Node) -> Int {
        let record = records[Int(table)]
        let offset = UInt(UInt32(bitPattern: record.valueStart)) | UInt(UInt32(bitPattern: record.valueCount)) << 32
        return offset == 0 ? 0 : Int(bitPattern: offset ^ (1 << 63))
    }

    private mutating func setNextPHPNumber(after number: Int, in table: Node) {
        let record = records[Int(table)]
        let old = UInt(UInt32(bitPattern: record.valueStart)) | UInt(UInt32(bitPattern: record.valueCount)) << 32
        let next = UInt(bitPattern: number == .max ? number : number + 1) ^ (1 << 63)
        guard next > old else { return }
        records[Int(table)].valueStart = Int32(bitPattern: UInt32(truncatingIfNeeded: next))
        records[Int(table)].valueCount = Int32(bitPattern: UInt32(truncatingIfNeeded: next >> 32))
    }

    /// Makes arrays of the tables that are lists; of those only where no key was written, unless `numbersMakeArrays`.
    internal mutating func settlePHP(numbersMakeArrays: Bool) {
        for at in records.indices where records[at].kind == .keyed {
            let isArray = (numbersMakeArrays || !records[at].isTyped) && isPHPList(Node(at))
            records[at].kind = isArray ? .array : .object
            records[at].isTyped = false
            records[at].valueStart = 0
            records[at].valueCount = 0
        }
    }

    /// Makes an array of a root that is a list. Of no members, where PHP knows no difference, it stays an object.
    internal mutating func settlePHPRoot() {
        if records[Int(root)].kind == .object, isPHPList(root) { records[Int(root)].kind = .array }
    }

    private func isPHPList(_ node: Node) -> Bool {
        var child = records[Int(node)].first
        var index = 0
        while child != Tree.none {
            guard name(child).canonicalIndex == index else { return false }
            index += 1
            child = records[Int(child)].next
        }
        return index > 0
    }
}

extension Span<UInt8> {
    /// The integer that PHP makes of a key: decimal digits without needless zeros, perhaps negative, of 64 bits.
    fileprivate var phpInteger: Int? {
        let first = count > 0 && self[0] == UInt8(ascii: "-") ? 1 : 0
        guard count > first, ASCII.isDigit(self[first]), self[first] != UInt8(ascii: "0") || count == 1 else {
            return nil
        }
        return swiftInteger
    }
}
