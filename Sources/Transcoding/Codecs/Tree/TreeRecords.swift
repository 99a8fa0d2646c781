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
