internal import Octets

// The names of fields: brackets for elements, and what must be remembered of the names that a reader regroups.
extension Flattener where Target: ~Copyable {
    /// Whether a name with brackets or dots doesn't follow their grammar, so that it is one literal key to a reader.
    internal mutating func readsAsOneKey(_ name: Span<UInt8>) -> Bool {
        var decoding = FieldDecodingOptions()
        decoding.nesting = options.nesting
        guard (try? literal.parse(name, options: decoding, limits: limits)) != nil else { return false }
        return literal.segmentCount == 1
    }

    /// Begins a file whose name is given, whatever its place is called.
    internal mutating func beginNamedFile(_ file: borrowing PartHead) throws(ConversionError) {
        guard !containers.isEmpty else { throw FieldFault.rootNotObject.error(field: nil) }
        let top = containers.count - 1
        if !containers[top].isObject {
            if containers[top].style == .comma { throw fault(.comma) }
            if containers[top].style == .auto { containers[top].style = .brackets }
            containers[top].inObject = false
        }
        guard file.name.count <= limits.key else {
            throw .limit("key", of: limits.key, what: "the length of a field's name")
        }
        try target.beginPart(file)
    }

    /// Appends `[index]`, or `[]` for nil.
    internal mutating func appendBrackets(index: Int?) throws(ConversionError) {
        // `[]` without a root, or behind one that is no name of the grammar, is a flat name.
        guard !name.isEmpty, !isRootLiteral else { throw fault(.name) }
        name.append(UInt8(ascii: "["))
        if let index { name.append(decimal: index) }
        name.append(UInt8(ascii: "]"))
    }

    /// Checks the name of a part that is about to be written, and remembers it where a later object may be joined with it.
    internal mutating func noteName() throws(ConversionError) {
        guard name.count <= limits.key else {
            // The name's beginning tells which one it is; all of it would be as long as nobody wants it.
            throw .limit(
                "key", of: limits.key, what: "the length of a field's name",
                field: name.slice(0..<min(name.count, 64)).lossyString() + "…")
        }
        guard valueDepth <= limits.keyDepth else {
            throw .limit(
                "key_depth", of: limits.keyDepth, what: "the nesting of a field's name", field: name.span.lossyString())
        }
        if awaitsFirstField {
            awaitsFirstField = false
            for index in 0..<containers.count where containers[index].awaitsFirstField {
                containers[index].awaitsFirstField = false
                try beginGroupedObject(in: index)
            }
        }
        if groupedArrays > 0 && !seen.append(name, limit: limits.tree) {
            throw .limit(
                "tree", of: limits.tree, what: "the size of the names in an array's element",
                field: name.span.lossyString())
        }
    }

    /// Takes the first name of an object in a `brackets` array. A parser begins a new element with it only if the element
    /// before is not an object or has that path already, and the path has no `[]` of its own (Rack's rule).
    private mutating func beginGroupedObject(in index: Int) throws(ConversionError) {
        let array = containers[index]
        guard array.seenStart >= 0 else {
            containers[index].seenStart = seen.count
            groupedArrays += 1
            return
        }
        if array.lastWasObject {
            guard !hasPush(from: array.nameEnd + 2), seen.holds(name, from: array.seenStart) else {
                throw fault(.regrouped)
            }
        }
        // Outer arrays lose nothing they need: to them a path counts up to its first `[]` only, and the name that follows
        // has the same beginning.
        seen.truncate(to: array.seenStart)
    }

    private func hasPush(from start: Int) -> Bool {
        var at = start
        while at + 1 < name.count {
            if name[at] == UInt8(ascii: "["), name[at + 1] == UInt8(ascii: "]") { return true }
            at += 1
        }
        return false
    }
}
