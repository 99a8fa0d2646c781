internal import CEvent

/// Room for libevent's `struct event` (128 bytes each), cut from slabs and used again, so that a connection that comes
/// and goes allocates nothing. The slabs are given back with the pool.
@safe
struct EventPool: ~Copyable {
    private static let perSlab = 64
    private let eventSize = (event_get_struct_event_size() + 15) & ~15
    private var slabs: [UnsafeMutableRawPointer]
    private var free: [OpaquePointer]

    init() {
        // SAFETY: both lists are empty: no memory is touched.
        unsafe slabs = []
        unsafe free = []
    }

    deinit {
        // SAFETY: only the slabs made in `grow` are in the list; all that had events of them end before the loop does.
        unsafe slabs.forEach { unsafe $0.deallocate() }
    }

    /// An event that is not assigned to anything yet.
    mutating func take() -> OpaquePointer {
        // SAFETY: what is on the list lies in a slab of ours and is assigned to nothing.
        if unsafe free.isEmpty { grow() }
        return unsafe free.removeLast()
    }

    /// Takes back an event that was removed from its base.
    mutating func put(_ event: OpaquePointer) {
        // SAFETY: the event came from `take`, and libevent doesn't know it any more.
        unsafe free.append(event)
    }

    private mutating func grow() {
        let slab = UnsafeMutableRawPointer.allocate(byteCount: eventSize * Self.perSlab, alignment: 16)
        unsafe slabs.append(slab)
        for index in 0..<Self.perSlab {
            // SAFETY: index < perSlab, so the offset lies in the slab.
            unsafe free.append(OpaquePointer(slab + index * eventSize))
        }
    }
}
