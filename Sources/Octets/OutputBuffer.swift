/// Bytes on their way out: appended at the end by encoders, taken from the front by those that send them.
///
/// The buffer keeps its allocation when it runs empty, so a buffer that is reused costs no allocation in the steady state.
/// `highWatermark` is advice, not a bound: a producer that sees `isFull` finishes its event and asks to be called again.
public struct OutputBuffer: Sendable {
    /// Bytes that count as full, 64 KiB: the watermark at which the other side is told to pause.
    public static let defaultHighWatermark = 64 * 1024

    @usableFromInline internal var storage: ByteStore
    @usableFromInline internal var head: Int

    /// The number of waiting bytes from which `isFull` holds.
    public var highWatermark: Int

    @inlinable
    public init(highWatermark: Int = OutputBuffer.defaultHighWatermark) {
        self.storage = ByteStore()
        self.head = 0
        self.highWatermark = highWatermark
    }

    /// The number of bytes that wait to be taken.
    @inlinable public var count: Int { storage.count - head }
    @inlinable public var isEmpty: Bool { storage.count == head }
    /// Whether the producer should pause until bytes have been taken.
    @inlinable public var isFull: Bool { count >= highWatermark }
    /// The bytes the buffer can hold before it allocates again.
    @inlinable public var capacity: Int { storage.capacity }

    /// The bytes that wait, in order.
    ///
    /// SAFETY: the span points into `storage`, which self owns; the borrow keeps self unchanged while the span lives.
    @inlinable public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(storage.slice(head..<storage.count), borrowing: self) }
    }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        storage.append(byte)
    }

    @inlinable
    public mutating func append(_ bytes: Span<UInt8>) {
        storage.append(contentsOf: bytes)
    }

    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        storage.append(text)
    }

    @inlinable
    public mutating func append(_ bytes: [UInt8]) {
        storage.append(contentsOf: bytes)
    }

    @inlinable
    public mutating func append(_ bytes: ByteStore) {
        storage.append(contentsOf: bytes)
    }

    /// Appends the UTF-8 bytes of `text`. For values made at start-up and for tests; the data path has bytes.
    ///
    /// It has a label because a literal would take it otherwise, at many times the cost of the `StaticString` it can be.
    public mutating func append(text: String) {
        storage.append(contentsOf: Array(text.utf8).span)
    }

    /// Appends `value` in decimal.
    @inlinable
    public mutating func append(decimal value: Int) {
        storage.append(decimal: value)
    }

    /// Appends `value` in lower-case hexadecimal without a prefix, as the chunked coding wants it.
    @inlinable
    public mutating func append(hexadecimal value: Int) {
        storage.append(hexadecimal: value)
    }

    /// Appends what `body` writes, at most `count` bytes, with room made for them once and nothing zeroed before.
    @inlinable
    public mutating func append(upTo count: Int, writing body: (inout OutputSpan<UInt8>) -> Void) {
        // SAFETY: the span covers the room for `count` bytes; it counts what it has written from the front.
        unsafe storage.write(upTo: count) { target in
            let buffer = unsafe UnsafeMutableBufferPointer(start: target, count: count)
            var span = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            body(&span)
            return unsafe span.finalize(for: buffer)
        }
    }

    /// Makes room for `count` more bytes in one allocation.
    @inlinable
    public mutating func reserve(_ count: Int) {
        storage.reserve(count)
    }

    /// Takes the first `count` bytes away. The allocation is kept.
    @inlinable
    public mutating func drop(_ count: Int) {
        precondition(count <= self.count, "dropped more bytes than wait")
        head += count
        if head == storage.count {
            storage.removeAll()
            head = 0
        } else if head >= 256 * 1024, head >= self.count {
            // No more bytes are moved than were taken since the last time, so work stays linear however much waits.
            storage.removeFirst(head)
            head = 0
        }
    }

    /// Takes the waiting bytes at `range` away and moves those behind them up. The allocation is kept.
    public mutating func remove(_ range: Range<Int>) {
        storage.remove(head + range.lowerBound..<head + range.upperBound)
    }

    /// Takes all bytes away and keeps the allocation.
    @inlinable
    public mutating func removeAll() {
        storage.removeAll()
        head = 0
    }

    /// Gives the allocation back when it is larger than `limit` bytes. Call it only when the buffer is empty.
    public mutating func shrink(to limit: Int) {
        if storage.capacity > limit, isEmpty {
            storage = ByteStore()
            head = 0
        }
    }
}
