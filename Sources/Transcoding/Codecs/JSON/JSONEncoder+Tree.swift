internal import Octets

extension JSON.Encoder {
    /// The bytes that a document may become where it is written at once.
    private static var mostAtOnce: Int { 16 * 1024 }
    /// The bytes that a node may become besides those of its name and its text, as in `,"":false`, with room to spare.
    private static var mostOfNode: Int { 24 }

    /// Writes the document that `tree` holds at once, as most are that come as a form: the same bytes that the events of a
    /// `TreeWalk` in the order of the input give. Returns false, with nothing written, where it may be long, or has bytes to
    /// write as base64; the walk is the general way.
    internal mutating func write(whole tree: borrowing Tree) -> Bool {
        let most = tree.bytes.count &* TextEncoding.longest &+ tree.records.count &* Self.mostOfNode
        guard tree.root != Tree.none, most <= Self.mostAtOnce, most < output.highWatermark - output.count, !hasBegun
        else { return false }
        return append(whole: tree, most: most + TextEncoding.overhang)
    }

    private mutating func append(whole tree: borrowing Tree, most: Int) -> Bool {
        var written: Int?
        // SAFETY: the writer writes only below `most`, and what it counts it has written.
        output.append(upTo: most) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, count in
                guard let target = buffer.baseAddress else { return }
                written = unsafe tree.bytes.withRoom { room in
                    unsafe Self.write(tree, text: room, to: UnsafeMutableRawPointer(target), most: most)
                }
                count = written ?? 0
            }
        }
        return written != nil
    }

    /// Writes all of `tree` to `target` and returns the number of bytes, or nil where it has more than `most`.
    @unsafe
    private static func write(
        _ tree: borrowing Tree, text: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer, most: Int
    ) -> Int? {
        let last = most - TextEncoding.overhang
        var to = 0
        var node = tree.root
        var isInObject = false
        var comma = 0
        while true {
            let record = tree.records[Int(node)]
            let length = Int(record.nameCount) &+ Int(record.valueCount)
            guard to &+ length &* TextEncoding.longest &+ mostOfNode <= last else { return nil }
            // SAFETY: there is room for what the node becomes, however much of it must be escaped. The tree's ranges lie in
            // its bytes.
            unsafe target.storeBytes(of: UInt8(ascii: ","), toByteOffset: to, as: UInt8.self)
            to &+= comma
            if isInObject {
                unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: to, as: UInt8.self)
                to &+= 1
                let start = Int(record.nameStart)
                to &+= unsafe TextEncoding.escape(
                    text, from: start, to: start &+ Int(record.nameCount), into: target + to)
                unsafe target.storeBytes(of: UInt16(littleEndian: 0x3A22), toByteOffset: to, as: UInt16.self)
                to &+= 2
            }
            comma = 1
            switch record.kind {
            case .string, .date:
                unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: to, as: UInt8.self)
                to &+= 1
                let start = Int(record.valueStart)
                to &+= unsafe TextEncoding.escape(
                    text, from: start, to: start &+ Int(record.valueCount), into: target + to)
                unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: to, as: UInt8.self)
                to &+= 1
            case .number:
                // No byte of a number needs an escape.
                let start = Int(record.valueStart)
                to &+= unsafe TextEncoding.escape(
                    text, from: start, to: start &+ Int(record.valueCount), into: target + to)
            case .yes, .no, .null:
                let word: UInt64 =
                    switch record.kind {
                    case .yes: 0x6575_7274
                    case .no: 0x65_736C_6166
                    default: 0x6C6C_756E
                    }
                unsafe target.storeBytes(of: word.littleEndian, toByteOffset: to, as: UInt64.self)
                to &+= record.kind == .no ? 5 : 4
            case .object, .keyed, .array, .collected:
                let hasNames = record.kind.hasNames
                let open = hasNames ? UInt8(ascii: "{") : UInt8(ascii: "[")
                unsafe target.storeBytes(of: open, toByteOffset: to, as: UInt8.self)
                to &+= 1
                if record.first != Tree.none {
                    (node, isInObject, comma) = (record.first, hasNames, 0)
                    continue
                }
                // `{` and `}`, `[` and `]` are two apart.
                unsafe target.storeBytes(of: open &+ 2, toByteOffset: to, as: UInt8.self)
                to &+= 1
            case .data: return nil
            }
            // What ends with this node, up to one that has a neighbour.
            var next = record.next
            while next == Tree.none, node != tree.root {
                node = tree.records[Int(node)].parent
                let parent = tree.records[Int(node)]
                guard to < last else { return nil }
                let close = parent.kind.hasNames ? UInt8(ascii: "}") : UInt8(ascii: "]")
                unsafe target.storeBytes(of: close, toByteOffset: to, as: UInt8.self)
                to &+= 1
                next = node == tree.root ? Tree.none : parent.next
            }
            guard next != Tree.none, node != tree.root else { return to }
            node = next
            isInObject = tree.kind(tree.parent(node)).hasNames
        }
    }
}
