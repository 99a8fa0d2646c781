internal import Octets

/// How PHP 8.2 reads a variable's name (`php_register_variable_ex`).
extension FieldName {
    /// Splits the name at `range`, of which PHP sees what stands before the first NUL.
    ///
    /// - Spaces in front are dropped. Up to the first `[` a space and a dot become `_`; nothing left, and the field is
    ///   dropped. So is a name that only this makes begin with `__Host-` or `__Secure-`, which stand for safe cookies.
    /// - `[x]` is a key that ends at the first `]`; `[]`, and `[ ]` with one white space, push. Anything between a `]`
    ///   and the end ends the name: `a[b]c` is `a[b]`.
    /// - A `[` without a `]` behind it, right after the root, makes the whole name one key, with `_` for spaces, dots and
    ///   brackets; further on it ends the name.
    internal mutating func splitPHP(_ name: Range<Int>, depth: Int) throws(ConversionError) {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        let end = firstIndex(of: 0, in: name) ?? name.upperBound
        var start = name.lowerBound
        while start < end, bytes[start] == ASCII.space { start += 1 }
        let rootEnd = firstIndex(of: open, in: start..<end) ?? end
        guard rootEnd > start else {
            isDropped = true
            return
        }
        let root = appendRoot(start..<rootEnd)
        let written = start..<end
        if begins(root, with: "__Host-") && !begins(written, with: "__Host-")
            || begins(root, with: "__Secure-") && !begins(written, with: "__Secure-")
        {
            isDropped = true
            return
        }
        segments.append(Segment(start: root.lowerBound, end: root.upperBound, kind: .key))
        var at = rootEnd
        while at < end, bytes[at] == open {
            guard segments.count <= depth else { throw tooDeep(depth) }
            let key = at + 1
            var probe = key
            if probe < end, Self.isSpace(bytes[probe]) { probe += 1 }
            guard let stop = firstIndex(of: close, in: probe..<end) else {
                if segments.count == 1 { segments[0].end = appendRoot(at..<end).upperBound }
                return
            }
            segments.append(
                stop == probe
                    ? Segment(start: key, end: key, kind: .push) : Segment(start: key, end: stop, kind: .key))
            at = stop + 1
        }
    }

    /// Appends what stands at `range`, as far as a root may hold it, and returns where.
    private mutating func appendRoot(_ range: Range<Int>) -> Range<Int> {
        let start = bytes.count
        for at in range {
            switch bytes[at] {
            case ASCII.space, UInt8(ascii: "."), UInt8(ascii: "["): bytes.append(UInt8(ascii: "_"))
            case let byte: bytes.append(byte)
            }
        }
        return start..<bytes.count
    }

    private func begins(_ range: Range<Int>, with prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return range.count >= count
            && bytes.slice(range.lowerBound..<range.lowerBound + count).isEqual(to: prefix)
    }

    /// What C's `isspace` takes.
    private static func isSpace(_ byte: UInt8) -> Bool { byte == ASCII.space || (9...13).contains(byte) }
}

extension Span<UInt8> {
    /// Whether PHP takes a file of that name (`rfc1867_post_handler`), as far as it sees it, up to the first NUL: each bracket is closed,
    /// and behind a closing one another begins, or nothing is. Of fields it takes other names, too.
    internal var isPHPFileName: Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        var level = 0
        for at in indices {
            let byte = self[at]
            if byte == 0 { break }
            if byte == open { level += 1 }
            guard byte == close else { continue }
            level -= 1
            let isEnd = at + 1 == count || self[at + 1] == 0 || self[at + 1] == open
            guard level >= 0, isEnd else { return false }
        }
        return level == 0
    }

    /// Whether PHP takes the name, or what stands in its brackets, for a key as it stands. May say false where it does.
    internal var isPHPKey: Bool {
        for at in indices where self[at] <= ASCII.space || self[at] == UInt8(ascii: ".") { return false }
        return !isEmpty
    }
}
