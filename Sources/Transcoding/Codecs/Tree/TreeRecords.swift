internal import COctets

/// The nodes of a tree, in one run of memory that it alone owns: no access has to ask who else holds it, as each change of an
/// array does.
@safe
package struct TreeRecords: ~Copyable {
    private var base: UnsafeMutablePointer<Tree.Record>?
    internal private(set) var capacity = 0
    package private(set) var count = 0

    /// No nodes, without memory.
    init() {}

    deinit { unsafe base?.deallocate() }

    package var indices: Range<Int> { 0..<count }

    /// Where the nodes lie; there must be one.
    @unsafe
    var start: UnsafeMutableRawPointer { UnsafeMutableRawPointer(unsafe base.unsafelyUnwrapped) }

    package subscript(index: Int) -> Tree.Record {
        @inline(__always)
        _read {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "there is no such node")
            // SAFETY: the index is below the count, so there is memory, and a node in it.
            yield unsafe base.unsafelyUnwrapped[index]
        }
        @inline(__always)
        _modify {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "there is no such node")
            // SAFETY: the index is below the count, so there is memory, and a node in it.
            yield unsafe &base.unsafelyUnwrapped[index]
        }
    }

    @inline(__always)
    mutating func append(_ record: Tree.Record) {
        if count == capacity { grow() }
        // SAFETY: the count is below the capacity, so there is memory for one more.
        unsafe (base.unsafelyUnwrapped + count).initialize(to: record)
        count &+= 1
    }

    /// Appends a node as the last child of `parent`.
    @inline(__always)
    package mutating func append(_ record: Tree.Record, lastBelow parent: Int) {
        precondition(UInt(bitPattern: parent) < UInt(bitPattern: count), "there is no such node")
        if count == capacity { grow() }
        // SAFETY: the parent and its last child, where it has one, are nodes below the count, which is below the capacity.
        let all = unsafe base.unsafelyUnwrapped
        let node = Int32(truncatingIfNeeded: count)
        let last = unsafe all[parent].last
        unsafe (all + count).initialize(to: record)
        unsafe all[count].parent = Int32(truncatingIfNeeded: parent)
        unsafe all[count].previous = last
        unsafe all[parent].last = node
        unsafe all[parent].count &+= 1
        if last == Tree.none { unsafe all[parent].first = node } else { unsafe all[Int(last)].next = node }
        count &+= 1
    }

    /// Makes room for `more` nodes at least, and returns where the nodes lie.
    ///
    /// Unsafe: the memory is this one's, until it next grows; nodes that are written behind the others count once `commit` says so.
    @unsafe
    mutating func reserve(_ more: Int) -> UnsafeMutableRawPointer {
        while capacity - count < more { grow() }
        // SAFETY: there is memory for a node at least, where any were asked for.
        return unsafe start
    }

    /// Counts the nodes up to `newCount`, which were written where `reserve` said.
    ///
    /// Unsafe: they must have been written, and there must have been room for them.
    @unsafe
    mutating func commit(_ newCount: Int) { count = newCount }

    /// Takes away what follows the first `length` nodes.
    mutating func truncate(to length: Int) {
        precondition(length >= 0 && length <= count, "truncated to more nodes than there are")
        count = length
    }

    /// Takes all nodes away, and gives the memory back where it holds more than `limit` of them.
    mutating func removeAll(keepingUpTo limit: Int) {
        count = 0
        guard capacity > limit else { return }
        // SAFETY: nothing else has the address, and the nodes have nothing to release.
        unsafe base?.deallocate()
        unsafe base = nil
        capacity = 0
    }

    /// It doubles, so that each node is moved a bounded number of times.
    @inline(never)
    private mutating func grow() {
        let size = max(16, capacity * 2)
        let new = UnsafeMutablePointer<Tree.Record>.allocate(capacity: size)
        // SAFETY: both hold `count` nodes, which have nothing to release, and don't overlap.
        if let old = unsafe base {
            unsafe new.moveInitialize(from: old, count: count)
            unsafe old.deallocate()
        }
        unsafe base = new
        capacity = size
    }
}

extension Tree.Record {
    /// Whether records are laid out as C's loops declare them, which Swift doesn't promise.
    static let isLaidOutAsInC =
        MemoryLayout<Self>.stride == MemoryLayout<recast_node>.stride
        && MemoryLayout<Self>.alignment == MemoryLayout<recast_node>.alignment
        && MemoryLayout<Self>.offset(of: \.parent) == MemoryLayout<recast_node>.offset(of: \.parent)
        && MemoryLayout<Self>.offset(of: \.first) == MemoryLayout<recast_node>.offset(of: \.first)
        && MemoryLayout<Self>.offset(of: \.last) == MemoryLayout<recast_node>.offset(of: \.last)
        && MemoryLayout<Self>.offset(of: \.next) == MemoryLayout<recast_node>.offset(of: \.next)
        && MemoryLayout<Self>.offset(of: \.previous) == MemoryLayout<recast_node>.offset(of: \.previous)
        && MemoryLayout<Self>.offset(of: \.count) == MemoryLayout<recast_node>.offset(of: \.count)
        && MemoryLayout<Self>.offset(of: \.nameStart) == MemoryLayout<recast_node>.offset(of: \.name_start)
        && MemoryLayout<Self>.offset(of: \.nameCount) == MemoryLayout<recast_node>.offset(of: \.name_count)
        && MemoryLayout<Self>.offset(of: \.valueStart) == MemoryLayout<recast_node>.offset(of: \.text_start)
        && MemoryLayout<Self>.offset(of: \.valueCount) == MemoryLayout<recast_node>.offset(of: \.text_count)
        && MemoryLayout<Self>.offset(of: \.kind) == MemoryLayout<recast_node>.offset(of: \.kind)
        && MemoryLayout<Self>.offset(of: \.isSpliced) == MemoryLayout<recast_node>.offset(of: \.is_spliced)
        && MemoryLayout<Self>.offset(of: \.isTyped) == MemoryLayout<recast_node>.offset(of: \.is_typed)
        && MemoryLayout<Self>.offset(of: \.plain) == MemoryLayout<recast_node>.offset(of: \.plain)
        && Tree.Kind.isNumberedAsInC
}

extension Tree.Kind {
    /// Whether kinds lie in memory as the numbers that C's loops know them by.
    fileprivate static var isNumberedAsInC: Bool {
        let kinds: [(Self, recast_node_kind)] = [
            (.object, recast_node_object), (.keyed, recast_node_keyed), (.array, recast_node_array),
            (.collected, recast_node_collected), (.string, recast_node_string), (.number, recast_node_number),
            (.date, recast_node_date), (.data, recast_node_data), (.yes, recast_node_yes), (.no, recast_node_no),
            (.null, recast_node_null),
        ]
        return kinds.allSatisfy { kind, number in
            // SAFETY: a kind is one byte, which any byte may be read from.
            unsafe MemoryLayout<Self>.size == 1 && UInt32(unsafeBitCast(kind, to: UInt8.self)) == number.rawValue
        }
    }
}
