/// Where a run of bytes lies in a head.
@usableFromInline
internal struct ByteRange: Hashable, Sendable, BitwiseCopyable {
    @usableFromInline var start: UInt32
    @usableFromInline var end: UInt32

    init(_ start: UInt32, _ end: UInt32) {
        self.start = start
        self.end = end
    }

    init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }

    static var empty: ByteRange { ByteRange(0, 0) }
    @inlinable var range: Range<Int> { Int(start)..<Int(end) }
    @inlinable var isEmpty: Bool { start == end }
}

/// One field line of a head, 20 bytes: where its name and value lie and what is known about it.
@usableFromInline
internal struct FieldLine: Hashable, Sendable, BitwiseCopyable {
    @usableFromInline var name: ByteRange
    @usableFromInline var value: ByteRange
    @usableFromInline var known: KnownField
    /// Removed before forwarding: a hop-by-hop field, or one that Connection lists.
    @usableFromInline var isHopByHop: Bool
    @usableFromInline var hasUnderscore: Bool
    /// Whether the line came as we would write it: one space behind the colon, and none before its CRLF.
    @usableFromInline var isVerbatim: Bool
}
