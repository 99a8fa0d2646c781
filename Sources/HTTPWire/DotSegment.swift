internal import Octets

/// Dot segments of paths (RFC 3986 §3.3): `.` and `..` between slashes, which a peer that resolves them reads as another path.
///
/// Upstreams resolve more than the RFC names, so these are dot segments too: dots as `%2e`; between `%2f`, `\` or `%5c`; with
/// parameters, as in `..;x`, that Java's servers cut off; and before `%00`. Escapes are decoded once, so `%252e` is none.
public enum DotSegment {
    /// The offset of the first dot segment of `path` in any spelling, or nil.
    public static func first(in path: Span<UInt8>) -> Int? {
        var at = 0
        while at < path.count {
            // At the start of a segment.
            let start = at
            var dots = 0
            while case (UInt8(ascii: "."), let next)? = byte(path, at) {
                dots &+= 1
                at = next
            }
            if dots == 1 || dots == 2, ends(path, at) { return start }
            // To the next segment.
            while let (byte, next) = byte(path, at) {
                at = next
                if isSeparator(byte) { break }
            }
        }
        return nil
    }

    /// The dots of a segment between slashes that has nothing but one or two of them; else 0.
    static func dots(in segment: Span<UInt8>) -> Int {
        var dots = 0
        var at = 0
        while case (UInt8(ascii: "."), let next)? = byte(segment, at) {
            dots &+= 1
            at = next
        }
        return at == segment.count && dots <= 2 ? dots : 0
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

    private static func ends(_ path: Span<UInt8>, _ at: Int) -> Bool {
        guard let (byte, _) = byte(path, at) else { return true }
        return isSeparator(byte) || byte == UInt8(ascii: ";") || byte == 0
    }

    /// The byte at `at` with its escape decoded, and where the next one is; nil at the end.
    @inline(__always)
    private static func byte(_ path: Span<UInt8>, _ at: Int) -> (UInt8, Int)? {
        guard at < path.count else { return nil }
        let byte = path[at]
        if byte == UInt8(ascii: "%"), at + 2 < path.count, let high = ASCII.hexValue(path[at + 1]),
            let low = ASCII.hexValue(path[at + 2])
        {
            return (high << 4 | low, at + 3)
        }
        return (byte, at + 1)
    }
}

extension MessageHead {
    /// Resolves the dot segments of the request's path between slashes, `%2e` for a dot or not, as RFC 3986 §5.2.4 does it, and
    /// makes one slash of several, as asked for. What else `DotSegment` knows stays: it has no one meaning.
    ///
    /// The query and all else stays. The path gets no longer, and keeps the slash at its front.
    public mutating func normalizePath(resolvingDots: Bool, mergingSlashes: Bool) {
        let (start, end) = (Int(pathRange.start), Int(pathRange.end))
        guard end - start > 1, bytes[start] == UInt8(ascii: "/") else { return }
        // Behind the last slash that was written.
        var write = start + 1
        var read = start + 1
        while read <= end {
            var next = read
            while next < end, bytes[next] != UInt8(ascii: "/") { next += 1 }
            let isLast = next == end
            let dots = resolvingDots ? DotSegment.dots(in: bytes.slice(read..<next)) : 0
            if dots == 2 {
                // To behind the slash before the last one.
                if write > start + 1 {
                    write -= 1
                    while bytes[write - 1] != UInt8(ascii: "/") { write -= 1 }
                }
            } else if dots == 0, !(mergingSlashes && next == read && !isLast) {
                for index in read..<next {
                    bytes[write] = bytes[index]
                    write += 1
                }
                if !isLast {
                    bytes[write] = UInt8(ascii: "/")
                    write += 1
                }
            }
            read = next + 1
        }
        let shift = end - write
        guard shift > 0 else { return }
        let targetEnd = Int(targetRange.end)
        for index in end..<max(end, targetEnd) { bytes[index - shift] = bytes[index] }
        pathRange = ByteRange(start, write)
        targetRange = ByteRange(Int(targetRange.start), targetEnd - shift)
        if let range = queryRange { queryRange = ByteRange(Int(range.start) - shift, Int(range.end) - shift) }
        queryMark = queryMark.map { $0 - shift }
    }
}
