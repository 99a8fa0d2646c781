internal import COctets
internal import Octets

extension JSON.Encoder {
    /// What a node becomes besides its name and its text, most often: quotation marks, a colon and a comma.
    private static var mostOfNode: Int { 6 }

    /// Writes what comes of a tree by a loop in C, up to where the output is full, and moves `walk` behind that: the same bytes that the
    /// walk's events give. It leaves bytes, which become base64, to them, and a text that has no room.
    internal mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) {
        guard !isInText, Tree.Record.isLaidOutAsInC, walk.place(in: tree) != nil else { return }
        // The loop reads a block behind each text.
        tree.bytes.reserve(Int(recast_json_room))
        var loop = unsafe recast_json()
        unsafe loop.root = tree.root
        // Texts may be JSON themselves, with many quotation marks: room is made for twice as many bytes.
        while let place = walk.place(in: tree) {
            let whole = 2 &* tree.bytes.count &+ tree.records.count &* Self.mostOfNode &+ Int(recast_json_room)
            let room = min(whole, output.highWatermark &- output.count)
            guard room >= Int(recast_json_room) else { return }
            unsafe loop.node = place.node
            unsafe loop.is_leaving = place.isLeaving
            unsafe loop.needs_comma = needsComma
            // SAFETY: there is room for what the loop writes, and for what it reads behind the tree's bytes, in which the ranges of all
            // names and texts lie. It knows how records are laid out.
            output.append(upTo: room) { span in
                unsafe span.withUnsafeMutableBufferPointer { buffer, count in
                    unsafe loop.target = buffer.baseAddress
                    unsafe loop.room = room
                    unsafe loop.nodes = UnsafePointer(tree.records.start.assumingMemoryBound(to: recast_node.self))
                    unsafe tree.bytes.withRoom { pool in
                        unsafe loop.pool = pool.baseAddress?.assumingMemoryBound(to: UInt8.self)
                        unsafe recast_json_write(&loop)
                    }
                    count = unsafe loop.to
                }
            }
            guard unsafe loop.to > 0 else { return }
            needsComma = unsafe loop.needs_comma
            unsafe walk.go(to: loop.node, isLeaving: loop.is_leaving)
        }
    }
}
