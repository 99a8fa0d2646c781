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
    /// The bytes that can be appended before it does.
    @inlinable public var room: Int { storage.capacity - storage.count }

    /// Bytes of memory that it takes: of a large block, whose pages aren't there before they are written to, what has been.
    @inlinable public var memory: Int { storage.capacity < ByteStore.largeSize ? storage.capacity : storage.count }

    /// The bytes that wait, in order.
    ///
    /// SAFETY: the span points into `storage`, which self owns; the borrow keeps self unchanged while the span lives.
    @inlinable public var span: Span<UInt8> {
        @_lifetime(borrow self)
        @inline(__always)
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

    /// Takes the first `count` bytes away. The allocation is kept, unless it is large and less than half of it is still needed.
    @inlinable
    public mutating func drop(_ count: Int) {
        precondition(count <= self.count, "dropped more bytes than wait")
        head += count
        if head == storage.count {
            storage.removeAll()
            head = 0
        } else if head >= 256 * 1024, head >= self.count {
            // No more bytes are moved than were taken since the last time, so work stays linear however much waits.
            compact()
        }
    }

    /// Bytes of memory from which on it goes back as what waits gets less: above what a queue has of one read and its watermark.
    private static let largeCapacity = 384 * 1024

    /// Moves the waiting bytes to the front. Large memory goes back but for as much as they take: who counts what waits, as a peer takes
    /// all but its last byte, would else count nothing of the rest.
    @usableFromInline
    @inline(never)
    internal mutating func compact() {
        if storage.capacity > Self.largeCapacity {
            storage = ByteStore(copying: span)
        } else {
            storage.removeFirst(head)
        }
        head = 0
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

extension OutputBuffer {
    /// Up to eight bytes in one word, the first one lowest: punctuation that goes out in one store.
    @frozen
    public struct Word: Sendable {
        @usableFromInline internal var bits: UInt64
        @usableFromInline internal var count: Int

        /// No bytes.
        @inlinable
        public init() {
            bits = 0
            count = 0
        }

        /// The bytes of `text`, of which there are at most eight.
        @inlinable
        public init(_ text: StaticString) {
            precondition(text.utf8CodeUnitCount <= 8, "a word has at most eight bytes")
            bits = 0
            count = text.utf8CodeUnitCount
            // SAFETY: index < count, which is the literal's own length.
            for index in 0..<count { unsafe bits |= UInt64(text.utf8Start[index]) &<< UInt64(index &* 8) }
        }

        /// `bytes`' lowest `count` bytes, at most eight.
        @inlinable
        public init(bits: UInt64, count: Int) {
            precondition(count <= 8, "a word has at most eight bytes")
            self.bits = bits
            self.count = count
        }

        /// The word with `byte` behind it. The word must have fewer than eight bytes.
        @inlinable
        public func followed(by byte: UInt8) -> Word {
            Word(bits: bits | UInt64(byte) &<< UInt64(count &* 8), count: count &+ 1)
        }

        /// The word with `other` behind it. Both together must have at most eight bytes.
        @inlinable
        public func followed(by other: Word) -> Word {
            Word(bits: bits | other.bits &<< UInt64(count &* 8), count: count &+ other.count)
        }

        /// The word with `byte` before it. The word must have fewer than eight bytes.
        @inlinable
        public func preceded(by byte: UInt8) -> Word {
            Word(bits: bits &<< 8 | UInt64(byte), count: count &+ 1)
        }
    }

    /// Appends a word of bytes.
    @inlinable
    public mutating func append(_ word: Word) {
        // SAFETY: there is room for eight bytes; those beyond the word's count are not counted as in use.
        unsafe storage.write(upTo: 8) { target in
            unsafe UnsafeMutableRawPointer(target).storeBytes(of: word.bits, as: UInt64.self)
            return word.count
        }
    }

    /// Appends the first `count` bytes of whole words, the first byte of each lowest, with one look at the capacity.
    @inlinable
    @inline(__always)
    public mutating func append<let length: Int>(_ words: InlineArray<length, UInt64>, count: Int) {
        precondition(count <= length &* 8, "the words have fewer bytes")
        // SAFETY: there is room for all words; what is beyond `count` is not counted as in use.
        unsafe storage.write(upTo: length &* 8) { target in
            for index in words.indices {
                unsafe UnsafeMutableRawPointer(target).storeBytes(
                    of: words[index], toByteOffset: index &* 8, as: UInt64.self)
            }
            return count
        }
    }

    /// Appends `text` between two words, with one look at the capacity.
    @inlinable
    public mutating func append(_ before: Word, _ text: StaticString, _ after: Word) {
        // SAFETY: the text is as long as it says.
        unsafe append(before, text.utf8Start, text.utf8CodeUnitCount, after)
    }

    /// Appends `bytes` between two words, with one look at the capacity.
    @inlinable
    public mutating func append(_ before: Word, _ bytes: Span<UInt8>, _ after: Word) {
        // SAFETY: the bytes are there during the call.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(before, $0.baseAddress, $0.count, after) }
    }

    /// Appends `length` bytes at `source`, which may be nil for none, between two words.
    @inlinable
    @inline(__always)
    @unsafe
    internal mutating func append(_ before: Word, _ source: UnsafePointer<UInt8>?, _ length: Int, _ after: Word) {
        // SAFETY: there is room for both words at their full size and the bytes between them.
        unsafe storage.write(upTo: length &+ 16) { target in
            unsafe UnsafeMutableRawPointer(target).storeBytes(of: before.bits, as: UInt64.self)
            let start = unsafe target + before.count
            if let source = unsafe source { unsafe ByteStore.copy(source, to: start, count: length) }
            unsafe UnsafeMutableRawPointer(start + length).storeBytes(of: after.bits, as: UInt64.self)
            return before.count &+ length &+ after.count
        }
    }
}

// The lines of heads, `name: value` and CRLF, each with one look at the room. The names are literals: where these functions
// are inlined, the compiler makes a few stores of each.
extension OutputBuffer {
    /// Appends `bytes` between two texts.
    @inlinable
    @inline(__always)
    public mutating func append(_ before: StaticString, _ bytes: Span<UInt8>, _ after: StaticString) {
        let length = bytes.count
        let (first, last) = (before.utf8CodeUnitCount, after.utf8CodeUnitCount)
        // SAFETY: there is room for all three, and each literal is as long as it says.
        unsafe storage.write(upTo: first &+ length &+ last) { target in
            unsafe ByteStore.copy(before.utf8Start, to: target, count: first)
            unsafe bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: target + first, count: length) }
            }
            unsafe ByteStore.copy(after.utf8Start, to: target + first + length, count: last)
            return first &+ length &+ last
        }
    }

    /// Appends the line of a field. The value must hold no line end.
    @inlinable
    @inline(__always)
    public mutating func append(line name: StaticString, _ value: Span<UInt8>) {
        let length = value.count
        let first = name.utf8CodeUnitCount
        // SAFETY: there is room for the name, the value and four bytes, and the name is as long as it says.
        unsafe storage.write(upTo: first &+ length &+ 4) { target in
            unsafe ByteStore.copy(name.utf8Start, to: target, count: first)
            var at = unsafe target + first
            unsafe ByteStore.store(": ", at: at)
            unsafe at += 2
            unsafe value.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: at, count: length) }
            }
            unsafe ByteStore.store("\r\n", at: at + length)
            return first &+ length &+ 4
        }
    }

    /// Appends the line of a field whose value is a number.
    @inlinable
    @inline(__always)
    public mutating func append(line name: StaticString, decimal value: Int) {
        let first = name.utf8CodeUnitCount
        // SAFETY: there is room for the name, a sign, the digits of any number and four bytes.
        unsafe storage.write(upTo: first &+ 25) { target in
            unsafe ByteStore.copy(name.utf8Start, to: target, count: first)
            var at = unsafe target + first
            unsafe ByteStore.store(": ", at: at)
            unsafe at += 2
            if value < 0 {
                unsafe at[0] = UInt8(ascii: "-")
                unsafe at += 1
            }
            unsafe at += ByteStore.writeDigits(value.magnitude, radix: 10, to: at)
            unsafe ByteStore.store("\r\n", at: at)
            return unsafe target.distance(to: at) &+ 2
        }
    }
}

extension ByteStore {
    /// Stores the two bytes of `text`.
    @inlinable
    @inline(__always)
    @unsafe
    internal static func store(_ text: StaticString, at target: UnsafeMutablePointer<UInt8>) {
        // SAFETY: the caller has room for two bytes, and gives a literal of two.
        unsafe copy(text.utf8Start, to: target, count: 2)
    }
}
