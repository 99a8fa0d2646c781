#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Searches over spans of bytes. They go to the C library, whose `memchr` is vectorised.
public enum Scan {
    /// The first index at or after `start` that holds `byte`, or nil.
    public static func firstIndex(of byte: UInt8, in bytes: Span<UInt8>, from start: Int = 0) -> Int? {
        guard start < bytes.count else { return nil }
        // SAFETY: start < count, and memchr reads only count - start bytes from there.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            guard let hit = unsafe memchr(base + start, Int32(byte), buffer.count - start) else { return nil }
            return unsafe base.distance(to: hit.assumingMemoryBound(to: UInt8.self))
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are those of `text`. For a literal the compiler makes it a few comparisons with numbers.
    @inlinable
    @inline(__always)
    public func isEqual(to text: StaticString) -> Bool {
        // SAFETY: the literal's bytes live for ever, and are as many as it says.
        unsafe holdsSame(as: Span(_unsafeStart: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the bytes are those of `text`, where ASCII letters match in either case. `text` must be in lower case.
    @inlinable
    @inline(__always)
    public func isEqualIgnoringCase(to text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard count == length else { return false }
        if length <= 16 {
            // SAFETY: the literal's bytes live for ever, and are as many as it says.
            let wanted = unsafe Scan.edges(of: Span(_unsafeStart: text.utf8Start, count: length))
            let words = Scan.edges(of: self)
            return words.0 | Scan.caseBits(wanted.0) == wanted.0 && words.1 | Scan.caseBits(wanted.1) == wanted.1
        }
        // SAFETY: index < count, which is the literal's own length.
        for index in indices where unsafe ASCII.lowercased(self[index]) != text.utf8Start[index] { return false }
        return true
    }

    /// Whether both hold the same bytes.
    @inlinable
    public func isEqual(to other: Span<UInt8>) -> Bool { holdsSame(as: other) }

    @inlinable
    @inline(__always)
    internal func holdsSame(as other: Span<UInt8>) -> Bool {
        let length = count
        guard length == other.count else { return false }
        // SAFETY: both hold `length` bytes. Two words that may overlap cover from one word's size to twice that.
        return unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                let (one, two) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
                if length > 16 { return unsafe Self.compare(one, two) }
                if length >= 8 {
                    let first = unsafe one.loadUnaligned(as: UInt64.self) ^ two.loadUnaligned(as: UInt64.self)
                    let last =
                        unsafe one.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
                        ^ two.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
                    return first | last == 0
                }
                if length >= 4 {
                    let first = unsafe one.loadUnaligned(as: UInt32.self) ^ two.loadUnaligned(as: UInt32.self)
                    let last =
                        unsafe one.loadUnaligned(fromByteOffset: length &- 4, as: UInt32.self)
                        ^ two.loadUnaligned(fromByteOffset: length &- 4, as: UInt32.self)
                    return first | last == 0
                }
                guard length > 0 else { return true }
                let middle = length &>> 1
                return unsafe one[0] == two[0] && one[middle] == two[middle] && one[length &- 1] == two[length &- 1]
            }
        }
    }

    /// The number of bytes that both begin with.
    public func commonPrefix(with other: Span<UInt8>) -> Int {
        let length = Swift.min(count, other.count)
        // SAFETY: eight bytes are loaded only while at + 8 <= length, single ones only while at < length.
        return unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                let (one, two) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
                var at = 0
                while at &+ 8 <= length {
                    let first = unsafe UInt64(littleEndian: one.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                    let second = unsafe UInt64(littleEndian: two.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                    let difference = first ^ second
                    if difference != 0 { return at &+ difference.trailingZeroBitCount / 8 }
                    at &+= 8
                }
                while at < length, unsafe one[at] == two[at] { at &+= 1 }
                return at
            }
        }
    }

    @usableFromInline
    internal static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        // SAFETY: the caller has compared the counts, which are not zero.
        unsafe memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0
    }

    /// A copy of the bytes.
    public func copied() -> [UInt8] {
        // SAFETY: the pointer is used only inside the closure, which copies.
        unsafe withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }

    /// The bytes as text for logs, errors and settings; what is not UTF-8 becomes U+FFFD.
    public func lossyString() -> String {
        // SAFETY: the pointer is used only inside the closure, which copies.
        unsafe withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}

extension Array where Element == UInt8 {
    /// Appends the bytes of `bytes`.
    @inlinable
    public mutating func append(contentsOf bytes: Span<UInt8>) {
        // SAFETY: the pointer is used only inside the closure, which copies.
        unsafe bytes.withUnsafeBufferPointer { unsafe self.append(contentsOf: $0) }
    }
}
