/// A growable run of bytes that is filled and emptied over and over: names, values, output.
///
/// It lies in an array that is kept at its full size, with the number of bytes in use beside it. So emptying it is one
/// store, and appending is one look at the room and one copy, where an array of that length goes through its general
/// replacement of ranges. A copy shares the memory until one of both is changed.
@frozen
public struct ByteStore: Sendable {
    @usableFromInline internal var room: [UInt8]
    @usableFromInline internal var used: Int

    /// The number of bytes in use.
    @inlinable public var count: Int { used }

    /// An empty store without memory.
    @inlinable
    public init() {
        room = []
        used = 0
    }

    /// A store that holds a copy of `bytes`.
    @inlinable
    public init(copying bytes: Span<UInt8>) {
        self.init()
        append(contentsOf: bytes)
    }

    @inlinable public var isEmpty: Bool { used == 0 }
    /// The bytes it can hold before it allocates again.
    @inlinable public var capacity: Int { room.count }
    /// Bytes of memory that what it holds takes: its capacity, of which one that was left from more counts with twice what is in it.
    @inlinable public var allocatedCount: Int { min(room.count, 2 &* used) }

    /// The bytes in use.
    @inlinable public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get { slice(0..<count) }
    }

    /// The bytes at `range`, which must lie within those in use.
    @inlinable
    @inline(__always)
    @_lifetime(borrow self)
    public func slice(_ range: Range<Int>) -> Span<UInt8> {
        precondition(range.upperBound <= count, "the range passes the bytes in use")
        let all = room.span
        // SAFETY: the span points into `room`, which self owns; the borrow keeps self unchanged while the span lives.
        return unsafe _overrideLifetime(all.extracting(range), borrowing: self)
    }

    @inlinable
    public subscript(index: Int) -> UInt8 {
        precondition(index < count, "the index passes the bytes in use")
        return room[index]
    }

    /// Calls `body` with the bytes in use and the room behind them, in which anything may stand.
    @inlinable
    @inline(__always)
    public func withRoom<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // SAFETY: the bytes stay where they are while `body` runs, for which alone the buffer is made.
        unsafe room.withUnsafeBytes { room in unsafe body(room) }
    }

    // MARK: Changing

    @inlinable
    public mutating func append(_ byte: UInt8) {
        let at = used
        if at == room.count { grow(by: 1) }
        room[at] = byte
        used = at &+ 1
    }

    @inlinable
    @inline(__always)
    public mutating func append(contentsOf bytes: Span<UInt8>) {
        let length = bytes.count
        // SAFETY: there is room for `length` bytes, and `bytes` holds them. The store is borrowed for changing, so they
        // lie outside of it.
        unsafe write(upTo: length) { target in
            unsafe bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: target, count: length) }
            }
            return length
        }
    }

    /// Appends two runs of bytes with one look at the room.
    @inlinable
    @inline(__always)
    public mutating func append(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        let length = first.count
        let total = length &+ second.count
        // SAFETY: there is room for both, and the spans hold their bytes, which lie outside of the store.
        unsafe write(upTo: total) { target in
            unsafe first.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: target, count: length) }
            }
            unsafe second.withUnsafeBufferPointer { source in
                if let base = source.baseAddress {
                    unsafe ByteStore.copy(base, to: target + length, count: total &- length)
                }
            }
            return total
        }
    }

    @inlinable
    public mutating func append(contentsOf bytes: [UInt8]) { append(contentsOf: bytes.span) }

    @inlinable
    public mutating func append(contentsOf other: ByteStore) { append(contentsOf: other.span) }

    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        // SAFETY: a StaticString made from a literal with a pointer representation lives for ever; there is room for it.
        unsafe write(upTo: length) { target in
            unsafe ByteStore.copy(text.utf8Start, to: target, count: length)
            return length
        }
    }

    /// Appends what `body` writes and returns the number of bytes of, at most `count`.
    ///
    /// Unsafe: `body` gets the address of `count` bytes, and may write nowhere else.
    @inlinable
    @inline(__always)
    @unsafe
    public mutating func write(upTo count: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
        let start = used
        if count > room.count &- start { grow(by: count) }
        // SAFETY: `grow` has made room for count bytes behind start, and the body promises to write no more.
        let written = unsafe room.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe body(base + start)
        }
        precondition(written >= 0 && written <= count, "more bytes were written than there was room for")
        used = start &+ written
    }

    /// Appends `value` in decimal.
    @inlinable
    public mutating func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude, radix: 10)
    }

    /// Appends `value` in lower-case hexadecimal without a prefix.
    @inlinable
    public mutating func append(hexadecimal value: Int) {
        appendDigits(value.magnitude, radix: 16)
    }

    @inlinable
    @inline(__always)
    internal mutating func appendDigits(_ value: UInt, radix: UInt) {
        // SAFETY: there is room for the digits of any number, in any radix from 10 on.
        unsafe write(upTo: 20) { target in unsafe ByteStore.writeDigits(value, radix: radix, to: target) }
    }

    /// Writes the digits of `value`, 20 at most, and returns how many they are. Inlined, so that the radix is a constant.
    ///
    /// Unsafe: there must be room for them.
    @inlinable
    @inline(__always)
    @unsafe
    public static func writeDigits(_ value: UInt, radix: UInt, to target: UnsafeMutablePointer<UInt8>) -> Int {
        var length = 1
        var rest = value / radix
        while rest != 0 {
            length &+= 1
            rest /= radix
        }
        rest = value
        // SAFETY: the caller has room for 20 digits; `length` of them are written, from the last one back to the first.
        var at = length
        while at > 0 {
            at &-= 1
            unsafe target[at] = ASCII.lowerHexDigit(UInt8(truncatingIfNeeded: rest % radix))
            rest /= radix
        }
        return length
    }

    /// Takes all bytes away and keeps the memory.
    @inlinable
    public mutating func removeAll() { used = 0 }

    /// Takes all bytes away, and gives the memory back where it is larger than `limit` bytes.
    @inlinable
    public mutating func removeAll(keepingUpTo limit: Int) {
        used = 0
        if room.count > limit { room = [] }
    }

    /// Takes away what follows the first `length` bytes.
    @inlinable
    public mutating func truncate(to length: Int) {
        precondition(length >= 0 && length <= count, "truncated to more bytes than there are")
        used = length
    }

    /// Takes the first `length` bytes away and moves the others to the front.
    public mutating func removeFirst(_ length: Int) {
        precondition(length >= 0 && length <= count, "removed more bytes than there are")
        let rest = count - length
        // SAFETY: both runs of `rest` bytes lie within those in use; they may overlap, as `update` allows.
        unsafe room.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe base.update(from: base + length, count: rest)
        }
        used = rest
    }

    /// Takes the bytes at `range` away and moves those behind them up.
    public mutating func remove(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "removed bytes that aren't there")
        let rest = count - range.upperBound
        // SAFETY: both runs of `rest` bytes lie within those in use; they may overlap, as `update` allows.
        unsafe room.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + range.lowerBound).update(from: base + range.upperBound, count: rest)
        }
        used = range.lowerBound + rest
    }

    /// Makes room for `length` more bytes in one allocation.
    @inlinable
    public mutating func reserve(_ length: Int) {
        if length > room.count &- count { grow(by: length) }
    }

    /// Blocks of that size, 1 MiB, are mapped by themselves (EventLoop's `Allocator`), and have no pages before they are written to.
    @usableFromInline internal static let largeSize = 1 << 20

    /// It at least doubles, so that many small appends copy each byte a bounded number of times.
    @usableFromInline
    @inline(never)
    internal mutating func grow(by length: Int) {
        let size = max(count + length, 2 * room.count, 64)
        let used = self.used
        let old = room
        room = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            // SAFETY: `used` is at most `old.count`, and less than `size`.
            unsafe old.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe buffer.baseAddress!.initialize(from: base, count: used) }
            }
            // SAFETY: the rest of a large block is left alone: bytes need no initialization, and none of them is read before it was
            // written. Its pages would else be there before there is anything in them, twice as many as whoever counts bytes pays for.
            if size < Self.largeSize {
                unsafe (buffer.baseAddress! + used).initialize(repeating: 0, count: size - used)
            }
            initialized = size
        }
    }

    /// Copies `count` bytes between runs that don't overlap. Short ones, as names and values are, need no call.
    @inlinable
    @inline(__always)
    @unsafe
    internal static func copy(_ source: UnsafePointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, count: Int) {
        // SAFETY: two words that may overlap cover from one word's size to twice that.
        let from = unsafe UnsafeRawPointer(source)
        let to = UnsafeMutableRawPointer(target)
        if count > 32 {
            unsafe to.copyMemory(from: from, byteCount: count)
        } else if count >= 16 {
            let first = unsafe from.loadUnaligned(as: SIMD16<UInt8>.self)
            let last = unsafe from.loadUnaligned(fromByteOffset: count &- 16, as: SIMD16<UInt8>.self)
            unsafe to.storeBytes(of: first, as: SIMD16<UInt8>.self)
            unsafe to.storeBytes(of: last, toByteOffset: count &- 16, as: SIMD16<UInt8>.self)
        } else if count >= 8 {
            let first = unsafe from.loadUnaligned(as: UInt64.self)
            let last = unsafe from.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            unsafe to.storeBytes(of: first, as: UInt64.self)
            unsafe to.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            let first = unsafe from.loadUnaligned(as: UInt32.self)
            let last = unsafe from.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
            unsafe to.storeBytes(of: first, as: UInt32.self)
            unsafe to.storeBytes(of: last, toByteOffset: count &- 4, as: UInt32.self)
        } else if count > 0 {
            unsafe target[0] = source[0]
            unsafe target[count &>> 1] = source[count &>> 1]
            unsafe target[count &- 1] = source[count &- 1]
        }
    }
}
