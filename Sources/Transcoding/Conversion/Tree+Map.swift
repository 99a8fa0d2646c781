internal import Octets

/// The map of a route on a tree: remove, then rename, then set, then append.
///
/// Objects are scanned here, not looked up, so that repeated members are all met; a rule costs what it passes through.
extension Tree {
    /// Applies the rules of `plan` to a document that has been read: which field of it is the document, the map, the types, the
    /// removal of nulls.
    ///
    /// - Parameter isOfFields: whether the document was made of fields, which have no empty objects and arrays: one whose fields the map
    ///   takes all away goes with them, where fields go out.
    internal mutating func apply(
        _ plan: ConversionPlan, sources: [[UInt8]], splicer: inout JSONSplicer, isOfFields: Bool = false
    ) throws(ConversionError) {
        conversionObserver?.isRead(self)
        if plan.document != nil { try takeDocument(of: plan, splicer: &splicer) }
        conversionObserver?.willMap(self)
        if !plan.map.isEmpty {
            try apply(
                plan.map, sources: sources, dropsEmptied: isOfFields && plan.document == nil && plan.output.isFlat)
        }
        if !plan.types.isEmpty { try apply(plan.types, blanks: plan.blanks, splicer: &splicer) }
        remove(plan.removeNulls)
        if plan.putsAttributesFirst { putAttributesFirst(plan.xmlEncoding, isSorted: plan.treeOrder == .sorted) }
    }

    /// Puts members that XML writes as attributes in front of the others of their objects, which are sorted before where `isSorted`.
    private mutating func putAttributesFirst(_ options: XML.EncodingOptions, isSorted: Bool) {
        let prefix = Array(options.attributePrefix.utf8), textKey = Array(options.textKey.utf8)
        // Text stays where it is, also under a name that begins as those of attributes do.
        func isAttribute(_ name: Span<UInt8>) -> Bool { name.hasPrefix(prefix) && !name.isEqual(to: textKey.span) }
        for index in records.indices where records[index].kind.hasNames {
            if isSorted { sortMembers(Node(index)) }
            sortChildren(of: Node(index)) { tree, left, right in
                isAttribute(tree.name(left)) && !isAttribute(tree.name(right))
            }
        }
    }

    /// Applies `map`. Files that the tree doesn't hold are the pipeline's.
    ///
    /// Throws 422 `map_conflict` where a rule would overwrite what it doesn't name, or where a parent is no container.
    internal mutating func apply(
        _ map: FieldMap, sources: [[UInt8]], dropsEmptied: Bool = false
    ) throws(ConversionError) {
        guard root != Tree.none else { return }
        var found: [Node] = []
        var left: [Node] = []
        var numbered: [Node] = []
        // All are found before any goes, so that indices mean the places of the input.
        for path in map.remove {
            let start = found.count
            resolve(path.segments[...], below: root, into: &found)
            conversionObserver?.willRemove(found[start...], by: "map.remove \(path)")
            guard case .key? = path.segments.last else { continue }
            for node in found[start...] where kind(parent(node)).isArray { numbered.append(parent(node)) }
        }
        for node in found where node != root && stands(node) {
            conversionObserver?.removes(node, of: self)
            removedCount += leafCount(node)
            if dropsEmptied { left.append(parent(node)) }
            unlink(node)
        }
        for array in numbered { _ = try makeObject(ofElementsOf: array) }
        // `ConversionPlan.validate` has reported paths without segments; they lead nowhere.
        for rename in map.rename where !rename.from.segments.isEmpty && !rename.to.segments.isEmpty {
            let shared = rename.sharedPrefix
            var bases: [Node] = []
            resolve(rename.from.segments[..<shared], below: root, into: &bases)
            for base in bases {
                found.removeAll(keepingCapacity: true)
                resolve(rename.from.segments[shared...], below: base, into: &found)
                // What the map has emptied has no fields that could be moved.
                guard let node = found.first, !dropsEmptied || !isEmptied(node) else { continue }
                guard found.count == 1 else {
                    throw MapConflict.renamesSeveral.error(at: rename.from)
                }
                conversionObserver?.moves(node, of: self, by: "map.rename \(rename.from) to \(rename.to)")
                if let observer = conversionObserver, observer.renamesInPlace,
                    case .key(let key)? = rename.to.segments.last
                {
                    try self.rename(node, key.span)
                    continue
                }
                let parent = parent(node)
                if dropsEmptied { left.append(parent) }
                unlink(node)
                if case .key? = rename.from.segments.last, kind(parent).isArray {
                    _ = try makeObject(ofElementsOf: parent)
                }
                try place(node, at: rename.to, from: shared, below: base, dropsEmptied: dropsEmptied)
            }
        }
        for assignment in map.set where !assignment.path.segments.isEmpty {
            let node = try make(assignment.value, sources)
            try place(node, at: assignment.path, from: 0, below: root, mayReplace: true, dropsEmptied: dropsEmptied)
            conversionObserver?.made(self, by: "map.set \(assignment.path)")
        }
        for assignment in map.append where !assignment.path.segments.isEmpty {
            try append(make(assignment.value, sources), at: assignment.path, dropsEmptied: dropsEmptied)
            conversionObserver?.made(self, by: "map.append \(assignment.path)")
        }
        for node in left.reversed() { dropEmptied(node) }
    }

    /// Takes an object or array out that has no values any more, and what is empty without it. An element stays that others come after:
    /// they keep their index.
    private mutating func dropEmptied(_ node: Node) {
        var node = node
        while node != root, childCount(node) == 0, stands(node) {
            let above = parent(node)
            guard kind(above).hasNames || nextSibling(node) == Tree.none else { return }
            unlink(node)
            node = above
        }
    }

    private mutating func make(_ value: AssignedValue, _ sources: [[UInt8]]) throws(ConversionError) -> Node {
        switch value {
        case .literal(let literal): return try make(literal)
        case .source(let index):
            let source = sources[index]
            return try makeText(.string, source.span)
        }
    }

    /// Puts `node` last into the array at `path`.
    private mutating func append(_ node: Node, at path: FieldPath, dropsEmptied: Bool) throws(ConversionError) {
        var found: [Node] = []
        resolve(path.segments[...], below: root, into: &found)
        guard let existing = found.first else {
            let array = try makeNode(.array)
            append(node, to: array)
            return try place(array, at: path, from: 0, below: root, dropsEmptied: dropsEmptied)
        }
        guard found.count == 1 else {
            throw MapConflict.appendsToSeveral.error(at: path)
        }
        if kind(existing).isArray { return append(node, to: existing) }
        guard !kind(existing).isContainer else {
            throw MapConflict.appendsToObject.error(at: path)
        }
        let array = try makeNode(.array)
        replace(existing, by: array)
        append(existing, to: array)
        append(node, to: array)
    }

    /// Whether `node` is still part of the document.
    private func stands(_ node: Node) -> Bool {
        var at = node
        while records[Int(at)].parent != Tree.none { at = records[Int(at)].parent }
        return at == root
    }

    /// Whether the map has taken all values out of an object or array, which then counts for nothing where fields go out.
    private func isEmptied(_ node: Node) -> Bool {
        guard kind(node).isContainer, !records[Int(node)].isSpliced else { return false }
        var child = firstChild(node)
        while child != Tree.none {
            guard isEmptied(child) else { return false }
            child = nextSibling(child)
        }
        return true
    }

    /// Makes an object of an array that was made of fields with numbers in their names, `a[0]`: where a rule speaks of keys in it, they
    /// are keys as they are where fields pass. Returns false for every other array.
    private mutating func makeObject(ofElementsOf array: Node) throws(ConversionError) -> Bool {
        guard kind(array).isArray, childCount(array) > 0, !name(firstChild(array)).isEmpty else { return false }
        var child = firstChild(array)
        var position = 0
        while child != Tree.none {
            // What rules have put there has none.
            if records[Int(child)].nameCount == 0 {
                let number = Array(String(position).utf8)
                records[Int(child)].nameStart = try store(number.span)
                records[Int(child)].nameCount = Int32(number.count)
            }
            position += 1
            child = nextSibling(child)
        }
        records[Int(array)].kind = .object
        return true
    }

    /// The nodes that `segments` lead to from `node`, in document order. A key leads to the element of an array, too, that a field
    /// with that key in its name has made.
    internal func resolve(_ segments: ArraySlice<FieldPath.Segment>, below node: Node, into found: inout [Node]) {
        guard let segment = segments.first else {
            found.append(node)
            return
        }
        let record = records[Int(node)]
        guard record.kind.isContainer else { return }
        var child = record.first
        var position = 0
        while child != Tree.none {
            let matches =
                switch segment {
                case .any: true
                case .key(let key):
                    (record.kind.hasNames || records[Int(child)].nameCount > 0) && name(child).isEqual(to: key.span)
                case .index(let index):
                    record.kind.hasNames ? name(child).isDecimal(index) : position == index
                }
            if matches { resolve(segments.dropFirst(), below: child, into: &found) }
            position += 1
            child = records[Int(child)].next
        }
    }

    /// Puts `node` at `path`, of which the segments before `start` led to `base`, and makes the parents that are missing.
    private mutating func place(
        _ node: Node, at path: FieldPath, from start: Int, below base: Node, mayReplace: Bool = false,
        dropsEmptied: Bool
    ) throws(ConversionError) {
        var parent = base
        for depth in start..<path.segments.count {
            let isLast = depth == path.segments.count - 1
            let isArray = records[Int(parent)].kind.isArray
            guard records[Int(parent)].kind.isContainer else {
                throw MapConflict.parentIsScalar.error(at: path)
            }
            var found: [Node] = []
            resolve(path.segments[depth...depth], below: parent, into: &found)
            if let existing = found.first {
                guard isLast else {
                    parent = existing
                    continue
                }
                let isEmptied = dropsEmptied && isEmptied(existing)
                guard mayReplace || isEmptied else { throw MapConflict.occupied.error(at: path) }
                if !isEmptied {
                    for value in found { conversionObserver?.removes(value, of: self, by: "map.set \(path)") }
                    removedCount += leafCount(existing)
                }
                replace(existing, by: node)
                for further in found.dropFirst() { unlink(further) }
                return
            }
            let child = isLast ? node : try makeContainer(for: path.segments[depth + 1])
            switch path.segments[depth] {
            case .key(let key):
                if isArray, dropsEmptied, isEmptied(parent) {
                    clearChildren(parent)
                    records[Int(parent)].kind = .object
                } else if isArray, try !makeObject(ofElementsOf: parent) {
                    throw MapConflict.parentIsArray.error(at: path)
                }
                try append(child, to: parent, named: key.span)
            case .index(let index):
                if isArray {
                    guard index == childCount(parent) else {
                        throw MapConflict.gap.error(at: path)
                    }
                    append(child, to: parent)
                } else {
                    try append(child, to: parent, named: Array(String(index).utf8).span)
                }
            case .any: throw MapConflict.everyPlace.error(at: path)
            }
            parent = child
        }
    }

    private mutating func makeContainer(for segment: FieldPath.Segment) throws(ConversionError) -> Node {
        if case .index = segment { return try makeNode(.array) }
        return try makeNode(.object)
    }

    /// The node of a value that is written down in the settings.
    internal mutating func make(_ literal: Literal) throws(ConversionError) -> Node {
        switch literal {
        case .null: return try makeNode(.null)
        case .bool(let value): return try makeNode(value ? .yes : .no)
        case .number(let text): return try makeText(.number, Array(text.utf8).span)
        case .string(let text): return try makeText(.string, Array(text.utf8).span)
        case .array(let elements):
            let node = try makeNode(.array)
            for element in elements { append(try make(element), to: node) }
            return node
        case .object(let members):
            let node = try makeNode(.object)
            for member in members { try append(try make(member.value), to: node, named: Array(member.name.utf8).span) }
            return node
        }
    }
}

extension FieldMap.Rename {
    /// How many segments `from` and `to` share: a rename moves fields within what these lead to.
    internal var sharedPrefix: Int {
        var count = 0
        let most = min(from.segments.count, to.segments.count) - 1
        while count < most, from.segments[count] == to.segments[count] { count += 1 }
        return max(count, 0)
    }
}
