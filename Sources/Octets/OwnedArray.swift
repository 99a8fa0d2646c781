/// A growable array of plain values that one owner has for ever.
///
/// It can't be copied, so no access counts a reference and no change asks first whether the memory is shared, which is what
/// an `Array` costs its users each time. Emptying it keeps the memory.
@safe
@frozen
public struct OwnedArray<Element: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    /// SAFETY: the memory of `room` elements, the first `used` of them initialized, which no other code knows; nil for none.
    /// So the array's owner has the memory: it may pass from one thread to another with it.
    @usableFromInline internal var start: UnsafeMutablePointer<Element>?
    @usableFromInline internal var room: Int
    @usableFromInline internal var used: Int

    /// An empty array without memory.
    @inlinable
    public init() {
        unsafe start = nil
        room = 0
        used = 0
    }

    deinit { unsafe start?.deallocate() }

    /// The number of elements.
    @inlinable public var count: Int { used }
    /// The elements it can hold before it allocates again.
    @inlinable public var capacity: Int { room }
    @inlinable public var isEmpty: Bool { used == 0 }
    /// The index of the last element; nil where there is none.
    @inlinable public var lastIndex: Int? { used == 0 ? nil : used &- 1 }
    /// The last element; nil where there is none.
    @inlinable public var last: Element? { used == 0 ? nil : self[used &- 1] }

    @inlinable
    public subscript(index: Int) -> Element {
        @inline(__always)
        get {
            precondition(index >= 0 && index < used, "the index passes the elements")
            // SAFETY: the index is below the count, so there is memory and an element in it.
            return unsafe start.unsafelyUnwrapped[index]
        }
        @inline(__always)
        set {
            precondition(index >= 0 && index < used, "the index passes the elements")
            // SAFETY: as above.
            unsafe start.unsafelyUnwrapped[index] = newValue
        }
    }

    /// The elements at `range`, which must lie within those that there are.
    @inlinable
    @inline(__always)
    @_lifetime(borrow self)
    public func slice(_ range: Range<Int>) -> Span<Element> {
        precondition(range.lowerBound >= 0 && range.upperBound <= used, "the range passes the elements")
        guard let start = unsafe start else { return Span() }
        // SAFETY: the span's elements are initialized, and the borrow keeps self and so the memory while the span lives.
        let all = unsafe Span(_unsafeStart: start + range.lowerBound, count: range.count)
        return unsafe _overrideLifetime(all, borrowing: self)
    }

    /// All elements.
    @inlinable public var span: Span<Element> {
        @_lifetime(borrow self)
        get { slice(0..<used) }
    }

    @inlinable
    @inline(__always)
    public mutating func append(_ element: Element) {
        let at = used
        if at == room { grow(by: 1) }
        // SAFETY: there is room for one more.
        unsafe (start.unsafelyUnwrapped + at).initialize(to: element)
        used = at &+ 1
    }

    @inlinable
    @inline(__always)
    public mutating func append(contentsOf elements: Span<Element>) {
        let count = elements.count
        guard count > 0 else { return }
        if count > room &- used { grow(by: count) }
        // SAFETY: there is room for `count` elements behind those in use, and no other span can point there.
        unsafe elements.withUnsafeBufferPointer { source in
            unsafe (start.unsafelyUnwrapped + used).initialize(from: source.baseAddress.unsafelyUnwrapped, count: count)
        }
        used &+= count
    }

    /// Appends `elements` where there is memory for all of them, and no more than `limit` elements are there then; says whether it did.
    @inlinable
    @inline(__always)
    public mutating func appendIfRoom(_ elements: Span<Element>, limit: Int) -> Bool {
        let count = elements.count
        // Without memory there is no room, so that what follows has a place.
        guard count <= min(room, limit) &- used, room > 0 else { return false }
        guard count > 0 else { return true }
        // SAFETY: as in `append(contentsOf:)`.
        unsafe elements.withUnsafeBufferPointer { source in
            unsafe (start.unsafelyUnwrapped + used).initialize(from: source.baseAddress.unsafelyUnwrapped, count: count)
        }
        used &+= count
        return true
    }

    /// Makes room for `count` more elements, and returns where they go.
    ///
    /// Unsafe: the memory is the array's, until it next grows; what is written there counts once `commit` says so.
    @inlinable
    @inline(__always)
    @unsafe
    public mutating func reserve(_ count: Int) -> UnsafeMutablePointer<Element> {
        if count > room &- used || room == 0 { grow(by: count) }
        // SAFETY: there is memory, and `used` is at most its room.
        return unsafe start.unsafelyUnwrapped + used
    }

    /// Counts `count` elements that were written where `reserve` said.
    ///
    /// Unsafe: they must have been written, and there must have been room for them.
    @inlinable
    @inline(__always)
    @unsafe
    public mutating func commit(_ count: Int) {
        used &+= count
    }

    /// Takes the last element away and returns it. There must be one.
    @inlinable
    @inline(__always)
    public mutating func removeLast() -> Element {
        precondition(used > 0, "there is no element to take away")
        used &-= 1
        // SAFETY: what was the last element is initialized, and a plain value.
        return unsafe start.unsafelyUnwrapped[used]
    }

    /// Takes away what follows the first `count` elements.
    @inlinable
    public mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= used, "truncated to more elements than there are")
        used = count
    }

    /// Takes all elements away and keeps the memory.
    @inlinable
    public mutating func removeAll() { used = 0 }

    /// Gives the memory back, and the elements with it.
    public mutating func free() {
        // SAFETY: elements are plain values, so there is nothing to end before their memory goes; no pointer to it is left.
        unsafe start?.deallocate()
        unsafe start = nil
        room = 0
        used = 0
    }

    /// It at least doubles, so that many small appends copy each element a bounded number of times.
    @usableFromInline
    @inline(never)
    internal mutating func grow(by count: Int) {
        let size = max(used + count, 2 * room, 16)
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: size)
        if let old = unsafe start {
            // SAFETY: `used` elements are initialized in the old memory and fit into the new one.
            unsafe memory.initialize(from: old, count: used)
            unsafe old.deallocate()
        }
        unsafe start = memory
        room = size
    }
}

extension OwnedArray<UInt8> {
    /// Appends the line of a field, `name: value` and CRLF, with one look at the room. Neither may hold a line end.
    public mutating func append(line name: Span<UInt8>, _ value: Span<UInt8>) {
        let (first, last) = (name.count, value.count)
        // SAFETY: there is room for both and four bytes, all of which are written, and no other span can point there.
        var at = unsafe reserve(first + last + 4)
        unsafe name.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { unsafe ByteStore.copy(base, to: at, count: first) }
        }
        unsafe at += first
        unsafe ByteStore.store(": ", at: at)
        unsafe at += 2
        unsafe value.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { unsafe ByteStore.copy(base, to: at, count: last) }
        }
        unsafe ByteStore.store("\r\n", at: at + last)
        unsafe commit(first + last + 4)
    }
}
