internal import COctets
internal import Octets

/// Puts pairs of a form into a tree by a loop in C: names that are keys, or keys in brackets with perhaps a push behind them, also where
/// they come again, and texts in UTF-8, or what those say under `types: safe`. Under qs, which looks at names when all have come,
/// members have whole names, and another loop moves them to where those say.
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
    private(set) var takesPairs: Bool
    /// Whether it moves members.
    private var movesMembers: Bool

    /// - Parameters:
    ///   - library: whose rules put the fields together; nil: ours.
    ///   - takesPairs: whether a field's value is always one string, or under `types: safe` a scalar.
    ///   - takesPaths: whether names in brackets are paths.
    init(_ options: FieldDecodingOptions, _ limits: Limits, library: Dialect?, takesPairs: Bool, takesPaths: Bool) {
        // SAFETY: only numbers are filled in; the pointers are `take`'s.
        movesMembers = Tree.Record.isLaidOutAsInC
        self.takesPairs = takesPairs && movesMembers && recast_has_blocks()
        unsafe loop.longest_name = limits.key
        unsafe loop.longest_text = limits.field
        unsafe loop.node_cost = Tree.nodeCost
        unsafe loop.has_members = takesPaths && limits.keyDepth(for: options.dialect) > 0
        unsafe loop.is_flat = library == nil && options.nesting == .flat
        unsafe loop.leaves_dots = library == .php || (library == nil || library == .qs) && options.nesting == .dots
        unsafe loop.leaves_spaces = library == .php
        unsafe loop.leaves_empty = library != nil
        unsafe loop.reads_scalars = options.types == .safe
        unsafe loop.repeats = Self.repeats(options.duplicates)
        unsafe loop.leaves_hint = options.charsetHint == .use
        unsafe loop.notes_keys = library == .php
        unsafe loop.keeps_names = library == .qs
        unsafe loop.reads_indices = options.readsQSIndices
        unsafe loop.most_keys = max(0, limits.keyDepth(for: options.dialect))
        // A decoder of forms reads them so whatever becomes of the names.
        unsafe loop.ends_at_bracket = options.dialect == .qs
        unsafe recast_pairs_prepare(&loop)
    }

    private static func repeats(_ duplicates: DuplicatePolicy) -> recast_repeats {
        switch duplicates {
        case .array, .keep: recast_repeats_collected
        case .first: recast_repeats_first
        case .last: recast_repeats_last
        case .reject: recast_repeats_left
        }
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

    /// Leaves all to the rest of the library from now on.
    mutating func rest() {
        takesPairs = false
        movesMembers = false
    }

    /// Whether a whole name that was kept, or that of a member which `move` has moved, may begin with a digit.
    var hasNumberNames: Bool {
        // SAFETY: it is a flag.
        get { unsafe loop.has_number_names }
        set { unsafe loop.has_number_names = newValue }
    }

    /// Puts pairs that begin at `at` into `tree`, at most `most`, with names that begin in the object `root`, and returns their number;
    /// `at` is behind them then. Where `beyond` is false, they are of ASCII.
    mutating func take(
        _ input: Span<UInt8>, _ at: inout Int, most: Int, beyond: Bool, into tree: inout Tree, _ root: Tree.Node
    ) -> Int {
        let length = min(input.count &- at, Self.slice)
        unsafe loop.leaves_beyond = !beyond
        unsafe loop.pairs_left = most
        unsafe loop.root = root
        unsafe loop.at = 0
        // SAFETY: the loop reads the slice up to its end.
        unsafe input.extracting(at..<(at &+ length)).withUnsafeBufferPointer { source in
            unsafe loop.source = source.baseAddress
            unsafe loop.end = length
            unsafe run(
                recast_pairs_take, in: &tree, nodes: max(2, length / Self.bytesOfNode),
                bytes: length &+ Int(recast_pairs_room))
        }
        if unsafe loop.removed > 0 {
            tree.removedCount += unsafe loop.removed
            unsafe loop.removed = 0
        }
        at &+= unsafe loop.at
        return most &- (unsafe loop.pairs_left)
    }

    /// Whether members of `tree` with whole names, from `member` on, have names without structure.
    mutating func areKeys(_ member: Tree.Node, in tree: inout Tree) -> Bool {
        guard movesMembers else { return false }
        // SAFETY: these are numbers and a flag; `run` sees to memory.
        unsafe loop.member = member
        unsafe loop.root = tree.root
        unsafe run(recast_pairs_judge, in: &tree, nodes: 1, bytes: Int(recast_pairs_room))
        return unsafe loop.are_keys
    }

    /// Puts members of `tree` with whole names, from `member` on, where those say under qs, and returns the first that it leaves to
    /// `Tree.mergeQS`, or `none`. What it does is what that does with the same members.
    ///
    /// - Parameter count: how many there may be.
    mutating func move(_ member: Tree.Node, of count: Int, in tree: inout Tree) -> Tree.Node {
        guard movesMembers else { return member }
        let most = Int(recast_pairs_depth)
        // SAFETY: these are numbers and flags; `run` sees to memory.
        unsafe loop.member = member
        unsafe loop.root = tree.root
        repeat {
            unsafe run(
                recast_pairs_move, in: &tree, nodes: max(most, min(count, Self.slice / Self.bytesOfNode)),
                bytes: Int(recast_pairs_room))
            if unsafe loop.lacks_room { tree.growIndex(forNodes: most) }
        } while unsafe loop.lacks_room
        return unsafe loop.member
    }

    /// Runs one of the loops over `tree`, in which there is room for so many nodes and bytes more.
    private mutating func run(
        _ function: (UnsafeMutablePointer<recast_pairs>) -> Void, in tree: inout Tree, nodes: Int, bytes: Int
    ) {
        unsafe loop.bytes_left = max(0, tree.limit &- tree.cost)
        unsafe loop.pool_start = Int32(truncatingIfNeeded: tree.bytes.count)
        unsafe loop.nodes_count = tree.records.count
        unsafe loop.slots_used = tree.index.used
        // SAFETY: the loop writes names and texts below what there is room for here, and looks at most a block behind those that are
        // there; it writes nodes, laid out as records are, below the room that there is for those. Both count once it says so. The index
        // stays where it is while it runs.
        let first = unsafe tree.records.reserve(nodes)
        unsafe loop.nodes = first.assumingMemoryBound(to: recast_node.self)
        unsafe loop.nodes_room = tree.records.capacity
        unsafe tree.bytes.write(upTo: bytes) { target in
            unsafe loop.target = target
            unsafe loop.to = 0
            unsafe tree.index.withSlots { slots, seed, multiplier in
                unsafe loop.slots = slots.baseAddress
                unsafe loop.slots_count = slots.count
                unsafe loop.seed = seed
                unsafe loop.multiplier = multiplier
                unsafe function(&loop)
            }
            return unsafe loop.to
        }
        unsafe tree.records.commit(loop.nodes_count)
        tree.index.used = unsafe loop.slots_used
    }
}
