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

    /// Appends `bytes` between two words, with one look at the capacity.
    @inlinable
    public mutating func append(_ before: Word, _ bytes: Span<UInt8>, _ after: Word) {
        let length = bytes.count
        // SAFETY: there is room for both words at their full size and the bytes between them.
        unsafe storage.write(upTo: length &+ 16) { target in
            unsafe UnsafeMutableRawPointer(target).storeBytes(of: before.bits, as: UInt64.self)
            let start = unsafe target + before.count
            unsafe bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: start, count: length) }
            }
            unsafe UnsafeMutableRawPointer(start + length).storeBytes(of: after.bits, as: UInt64.self)
            return before.count &+ length &+ after.count
        }
    }
}
