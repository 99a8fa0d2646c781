internal import Octets

/// How qs 6 reads a key (`splitKeyIntoSegments`) where it is called as Express does, with `allowPrototypes: true`.
extension FieldName {
    /// Splits the name at `range`.
    ///
    /// - What stands before the first `[` is the root; it may be missing. Groups of balanced brackets follow: `[]` pushes,
    ///   `[x]` is a key. Text between the groups and behind the last one is no part of the name: `a[b]c` is `a[b]`.
    /// - From a group that is never closed on, and beyond `depth` groups, the rest is one key, brackets included.
    /// - An empty name drops the field, and so does `__proto__` for a key. Without `allowPrototypes` all names that every object of
    ///   JavaScript has would, as `constructor`.
    internal mutating func splitQS(_ name: Range<Int>, depth: Int) {
        let open = UInt8(ascii: "[")
        let end = name.upperBound
        guard !name.isEmpty else {
            isDropped = true
            return
        }
        guard var at = firstIndex(of: open, in: name) else {
            isDropped = isProto(name)
            return segments.append(Segment(start: name.lowerBound, end: end, kind: .key))
        }
        if at > name.lowerBound {
            guard !isProto(name.lowerBound..<at) else {
                isDropped = true
                return
            }
            segments.append(Segment(start: name.lowerBound, end: at, kind: .key))
        }
        for _ in 0..<depth {
            guard let stop = closing(of: at, end) else { break }
            guard !isProto(at + 1..<stop) else {
                isDropped = true
                return
            }
            segments.append(
                Segment(start: at + 1, end: stop, kind: stop == at + 1 ? .push : .key, isBracketed: true))
            guard let next = firstIndex(of: open, in: stop + 1..<end) else { return }
            at = next
        }
        segments.append(Segment(start: at, end: end, kind: .key))
    }

    /// Where the bracket that closes the one at `start` stands.
    private func closing(of start: Int, _ end: Int) -> Int? {
        let key = bytes.slice(start + 1..<end)
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        let first = Scan.firstIndex(ofAny: open, close, open, close, in: key, from: 0)
        guard first < key.count else { return nil }
        // Most keys hold no bracket.
        if key[first] == close { return start + 1 + first }
        var level = 0
        for at in start..<end {
            switch bytes[at] {
            case UInt8(ascii: "["): level += 1
            case UInt8(ascii: "]"):
                level -= 1
                if level == 0 { return at }
            default: break
            }
        }
        return nil
    }

    private func isProto(_ range: Range<Int>) -> Bool { Self.isProto(bytes.slice(range)) }

    /// Whether a key is `__proto__`, which qs never sets.
    internal static func isProto(_ key: Span<UInt8>) -> Bool { key.isEqual(to: "__proto__") }

    /// Whether a name is a root and keys in brackets, or pushes, and none of these drops the field. May say false where it's so.
    internal static func isQSPath(_ name: Span<UInt8>) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        var at = Scan.firstIndex(ofAny: open, close, open, close, in: name, from: 0)
        guard at > 0, at < name.count, name[at] == open, !isProto(name.extracting(0..<at)) else { return false }
        while at < name.count {
            let end = Scan.firstIndex(ofAny: open, close, open, close, in: name, from: at + 1)
            guard name[at] == open, end < name.count, name[end] == close,
                !isProto(name.extracting(at + 1..<end))
            else { return false }
            at = end + 1
        }
        return true
    }
}
