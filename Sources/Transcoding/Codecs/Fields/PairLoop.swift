internal import COctets
internal import Octets

/// Puts pairs of a form into a tree by a loop in C: names that are keys or hold one pair of brackets, neighbours of what
/// `FieldTreeBuilder.place` has placed, and texts in UTF-8. Under qs, which looks at names when all have come, members have whole names.
///
/// What it makes is what `FieldTreeBuilder.field` and `place` make of the same pairs, one by one; it leaves to them what isn't so plain,
/// and where the processor lacks what the loop needs, all.
@safe
internal struct PairLoop {
    /// The bytes of a slice at most for which room is made at a time.
    private static let slice = 16 << 10
    /// The bytes of a slice for each node that room is made for; where more are needed, the loop stops for it.
    private static let bytesOfNode = 16

    /// What the loop is told, and how far it came.
    private var loop = unsafe recast_pairs()
    /// Whether it takes any.
    let takesPairs: Bool

    /// - Parameters:
    ///   - library: whose rules put the fields together; nil: ours.
    ///   - takesPairs: whether a field's value is always one string.
    ///   - takesPaths: whether names in brackets are paths.
    init(_ options: FieldDecodingOptions, _ limits: Limits, library: Dialect?, takesPairs: Bool, takesPaths: Bool) {
        // SAFETY: only numbers are filled in; the pointers are `take`'s.
        self.takesPairs = takesPairs && Tree.Record.isLaidOutAsInC && recast_has_blocks()
        unsafe loop.longest_name = limits.key
        unsafe loop.longest_text = limits.field
        unsafe loop.node_cost = Tree.nodeCost
        unsafe loop.has_members = takesPaths && limits.keyDepth(for: options.dialect) > 0
        unsafe loop.is_flat = library == nil && options.nesting == .flat
        unsafe loop.leaves_dots = library == .php || library == nil && options.nesting == .dots
        unsafe loop.leaves_spaces = library == .php
        unsafe loop.leaves_empty = library != nil
        unsafe loop.leaves_beyond = options.repair != nil
        unsafe loop.notes_keys = library == .php
        unsafe loop.keeps_names = library == .qs
        // A decoder of forms reads them so whatever becomes of the names.
        unsafe loop.ends_at_bracket = options.dialect == .qs
        unsafe recast_pairs_prepare(&loop)
    }

    /// Forgets which object names stand in: the tree has been emptied, or an object may have been taken out of it.
    mutating func restart() {
        // SAFETY: these are numbers.
        unsafe loop.prefix_count = 0
        unsafe loop.root_count = 0
        unsafe loop.root_bits = 0
    }

    /// Lets the loop know in which object of the tree names stand that begin so, up to their last bracket.
    mutating func learn(_ prefix: Span<UInt8>, _ object: Tree.Node) {
        unsafe loop.prefix_node = object
        unsafe loop.prefix_count = 0
        let room = unsafe MemoryLayout.size(ofValue: loop.prefix)
        guard prefix.count <= room else { return }
        unsafe loop.prefix_count = prefix.count
        // SAFETY: as many bytes are copied as there is room for.
        unsafe withUnsafeMutableBytes(of: &loop.prefix) { bytes in
            unsafe prefix.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
        }
    }

    /// Puts pairs that begin at `at` into `tree`, at most `most`, with names that begin in the object `root`, and returns their number;
    /// `at` is behind them then.
    mutating func take(
        _ input: Span<UInt8>, _ at: inout Int, most: Int, into tree: inout Tree, _ root: Tree.Node
    ) -> Int {
        let length = min(input.count &- at, Self.slice)
        unsafe loop.pairs_left = most
        unsafe loop.bytes_left = max(0, tree.limit &- tree.cost)
        unsafe loop.root = root
        unsafe loop.pool_start = Int32(truncatingIfNeeded: tree.bytes.count)
        unsafe loop.nodes_count = tree.records.count
        unsafe loop.slots_used = tree.index.used
        unsafe loop.at = 0
        unsafe loop.to = 0
        // SAFETY: the loop reads the slice up to its end, and writes names and texts below what there is room for here, and nodes, laid
        // out as records are, below the room that there is for those; both count once it says so. The index stays where it is while
        // it runs.
        unsafe input.extracting(at..<(at &+ length)).withUnsafeBufferPointer { source in
            unsafe loop.source = source.baseAddress
            unsafe loop.end = length
            let nodes = unsafe tree.records.reserve(max(2, length / Self.bytesOfNode))
            unsafe loop.nodes = nodes.assumingMemoryBound(to: recast_node.self)
            unsafe loop.nodes_room = tree.records.capacity
            let room = length &+ Int(recast_pairs_room)
            unsafe tree.bytes.write(upTo: room) { target in
                unsafe loop.target = target
                unsafe tree.index.withSlots { slots, seed, multiplier in
                    unsafe loop.slots = slots.baseAddress
                    unsafe loop.slots_count = slots.count
                    unsafe loop.seed = seed
                    unsafe loop.multiplier = multiplier
                    unsafe recast_pairs_take(&loop)
                }
                return unsafe loop.to
            }
            unsafe tree.records.commit(loop.nodes_count)
        }
        tree.index.used = unsafe loop.slots_used
        at &+= unsafe loop.at
        return most &- (unsafe loop.pairs_left)
    }
}
