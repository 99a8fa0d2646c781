/// Scans and comparisons for names and values of header fields: HTTP/1.1 heads, trailers, the heads of multipart parts.
extension Scan {
    /// The first index at or after `start` whose byte may not stand in a field value: a control other than HTAB, or DEL
    /// (RFC 9110 §5.5). The count when there is none. A CR or LF is such a byte, so this also finds where a line ends.
    @inlinable
    public static func firstControl(in bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        guard start < end else { return end }
        // SAFETY: eight bytes are loaded only while at + 8 <= count, single bytes only while at < count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while true {
                while at &+ 8 <= end {
                    let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    let deletes = word ^ 0x7F7F_7F7F_7F7F_7F7F
                    // A byte's high mark is set where it is below 0x20, or equal to 0x7F. A borrow can only reach a byte
                    // above a marked one, so the lowest mark is exact.
                    let marks =
                        ((word &- 0x2020_2020_2020_2020) & ~word | (deletes &- 0x0101_0101_0101_0101) & ~deletes)
                        & 0x8080_8080_8080_8080
                    if marks == 0 {
                        at &+= 8
                        continue
                    }
                    at &+= marks.trailingZeroBitCount / 8
                    break
                }
                while at < end {
                    let byte = unsafe raw[at]
                    if byte == ASCII.tab {
                        at &+= 1
                        break
                    }
                    if byte < 0x20 || byte == 0x7F { return at }
                    at &+= 1
                }
                if at >= end { return end }
            }
        }
    }

    /// The first index at or after `start` whose byte is not a token byte (RFC 9110 §5.6.2), or the count.
    @inlinable
    public static func endOfToken(in bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        guard start < end else { return end }
        // SAFETY: bytes are read only while at < count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            var at = start
            while at < end, unsafe ASCII.isTokenByte(buffer[at]) { at &+= 1 }
            return at
        }
    }
}

extension ASCII {
    /// The same question as `isToken`, as two constant words and no branch on which of them.
    @inlinable
    internal static func isTokenByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte & 0x40 == 0 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return (word >> UInt64(byte & 63)) & UInt64(1 &- byte >> 7) != 0
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are the field name or other word `text`, where letters match in either case.
    ///
    /// Both must consist of token bytes, and `text` of letters, digits and hyphens only: the comparison sets bit 5 of every
    /// byte, which maps no other token byte onto one of those.
    @inlinable
    public func isSameWord(as text: StaticString) -> Bool {
        let length = count
        guard length == text.utf8CodeUnitCount else { return false }
        // SAFETY: both hold `length` bytes; eight are loaded only while at + 8 <= length.
        return unsafe withUnsafeBufferPointer { buffer in
            let left = UnsafeRawBufferPointer(buffer)
            let right = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: length)
            var at = 0
            while at &+ 8 <= length {
                let word = unsafe left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let other = unsafe right.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                if (word ^ other) & ~0x2020_2020_2020_2020 != 0 { return false }
                at &+= 8
            }
            while at < length {
                if unsafe (left[at] ^ right[at]) & ~0x20 != 0 { return false }
                at &+= 1
            }
            return true
        }
    }

    /// Whether both hold the same bytes, where ASCII letters match in either case.
    @inlinable
    public func isEqualIgnoringCase(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where ASCII.lowercased(self[index]) != ASCII.lowercased(other[index]) { return false }
        return true
    }
}
