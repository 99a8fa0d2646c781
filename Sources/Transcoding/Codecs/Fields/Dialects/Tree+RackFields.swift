internal import Octets

/// Fields put together as Rack's parameters have them.
///
/// - Keys make hashes, numbers too; `[]` pushes on an array. `a[][x]` goes on with the array's last element when that is a
///   hash without the whole rest of the name, see `hasRackKey`.
/// - A later value overwrites what stands at its place, a container or not. A name that wants a hash or an array where
///   something else stands is refused, except in the place of a null.
extension Tree {
    /// Puts a new value at the place that a field's name gives it. `duplicates` is for two plain values at one place, and
    /// `reject` also refuses to overwrite a container. Throws 400 `form_conflict` where Rack raises `ParameterTypeError`.
    internal mutating func putRack(
        _ value: Node, at name: borrowing FieldName, duplicates: DuplicatePolicy
    ) throws(ConversionError) {
        var parent = root
        var depth = 0
        let last = name.segmentCount - 1
        while depth < last {
            guard name.kind(depth + 1) == .push else {
                parent = try rackContainer(.keyed, in: parent, name, depth)
                depth += 1
                continue
            }
            let array = try rackContainer(.array, in: parent, name, depth)
            guard depth + 1 < last else { return append(value, to: array) }
            let element = records[Int(array)].last
            let goesOn =
                element != Tree.none && records[Int(element)].kind == .keyed
                && !hasRackKey(name.rest(depth + 1), element)
            if name.kind(depth + 2) == .push {
                // `a[][]` makes an array of one; Rack hands that to the hash it would go on with, which ignores it.
                guard !goesOn else {
                    removedCount += leafCount(value)
                    return
                }
                let inner = try makeNode(.array)
                append(inner, to: array)
                return append(value, to: inner)
            }
            if goesOn {
                parent = element
            } else {
                parent = try makeNode(.keyed)
                append(parent, to: array)
            }
            depth += 2
        }
        try set(value, named: name.segment(last), in: parent, at: name, duplicates: duplicates)
    }

    /// The container under a key, which is made where nothing stands or a null.
    private mutating func rackContainer(
        _ kind: Kind, in parent: Node, _ name: borrowing FieldName, _ depth: Int
    ) throws(ConversionError) -> Node {
        let existing = child(of: parent, named: name.segment(depth))
        if existing == Tree.none {
            let node = try makeNode(kind)
            try append(node, to: parent, named: name.segment(depth))
            return node
        }
        let record = records[Int(existing)]
        if record.kind == .null {
            removedCount += 1
            let node = try makeNode(kind)
            replace(existing, by: node)
            return node
        }
        guard record.kind == kind, !record.isSpliced else { throw conflict(nil, name) }
        return existing
    }

    /// Whether all parts of `key`, cut at brackets, lie one below the other in `hash` (`params_hash_has_key?`). A key with
    /// `[]` in it never does.
    private func hasRackKey(_ key: Span<UInt8>, _ hash: Node) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        for at in key.indices where at > 0 && key[at] == close && key[at - 1] == open { return false }
        var node = hash
        var start = 0
        for at in 0...key.count where at == key.count || key[at] == open || key[at] == close {
            if at > start {
                guard records[Int(node)].kind == .keyed else { return false }
                node = child(of: node, named: key.extracting(start..<at))
                if node == Tree.none { return false }
            }
            start = at + 1
        }
        return true
    }
}

extension FieldName {
    /// What Rack looks an array's element up by: the name behind a push, without the brackets of a single key.
    @_lifetime(borrow self)
    fileprivate borrowing func rest(_ index: Int) -> Span<UInt8> {
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        unsafe _overrideLifetime(bytes.slice(segments[index].rest), borrowing: self)
    }
}
