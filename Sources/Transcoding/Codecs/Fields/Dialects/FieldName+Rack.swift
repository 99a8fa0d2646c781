internal import Octets

/// How Rack 3 reads a parameter's name (`QueryParser#_normalize_params`).
extension FieldName {
    /// Splits the name at `range`.
    ///
    /// - The root runs up to the first `[` that isn't its first byte. An empty name drops the field.
    /// - `[x]` is a key that ends at the first `]`, `[]` pushes. Text that doesn't begin with a bracket is a key up to the
    ///   end: `a[b]c` is `a`, `b`, `c`. A `[` alone at the end belongs to the key before it.
    /// - Behind `[]` a single `[x]` up to the end is the key `x` of the array's element; anything else is read as the
    ///   name of the rest is. There `[]` pushes only when nothing follows, else it is a key of that spelling.
    ///
    /// Each object that must be gone down into counts as a level.
    internal mutating func splitRack(_ name: Range<Int>, depth limit: Int) throws(ConversionError) {
        guard !name.isEmpty else {
            isDropped = true
            return
        }
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        var start = name.lowerBound
        let end = name.upperBound
        var depth = 0
        while true {
            guard depth <= limit else { throw tooDeep(limit) }
            var key = start..<end
            var after = end
            if depth == 0 {
                if let bracket = firstIndex(of: open, in: start + 1..<end) {
                    key = start..<bracket
                    after = bracket
                }
            } else if isPush(at: start, end) {
                key = start..<start + 2
                after = key.upperBound
            } else if bytes[start] == open, let bracket = firstIndex(of: close, in: start + 1..<end) {
                key = start + 1..<bracket
                after = bracket + 1
            }
            if after == end {
                let isPush = depth > 0 && isPush(at: start, end)
                return segments.append(
                    Segment(start: key.lowerBound, end: key.upperBound, kind: isPush ? .push : .key))
            }
            if after + 1 == end, bytes[after] == open {
                return segments.append(Segment(start: start, end: end, kind: .key))
            }
            segments.append(Segment(start: key.lowerBound, end: key.upperBound, kind: .key))
            start = after
            depth += 1
            guard isPush(at: after, end) else { continue }
            start = after + 2
            guard start < end else { return segments.append(Segment(start: after, end: after, kind: .push)) }
            // `[][x]` up to the end: the element's key is x. Its closing bracket is no part of what is read further.
            if bytes[start] == open, bytes[end - 1] == close, end - 1 > start + 1,
                firstIndex(of: open, in: start + 1..<end - 1) == nil,
                firstIndex(of: close, in: start + 1..<end - 1) == nil
            {
                let child = start + 1..<end - 1
                segments.append(Segment(start: after, end: after, kind: .push, rest: child))
                guard depth <= limit else { throw tooDeep(limit) }
                return segments.append(Segment(start: child.lowerBound, end: child.upperBound, kind: .key))
            }
            segments.append(Segment(start: after, end: after, kind: .push, rest: start..<end))
        }
    }

    private func isPush(at start: Int, _ end: Int) -> Bool {
        start + 1 < end && bytes[start] == UInt8(ascii: "[") && bytes[start + 1] == UInt8(ascii: "]")
    }
}
