internal import Octets

/// A field's name, split into the path it spells.
///
/// - `nesting: brackets`: `root 1*("[" segment "]")`, where the root is not empty and no bracket stands inside a root or a
///   segment. `[]` is a push: the next element of an array.
/// - `nesting: dots`: as qs' `allowDots` writes it, `.` and a segment that is not empty, mixed with brackets:
///   `a[0].b`, `a.b[]`.
/// - `nesting: flat` and `json`: the name is one key, whatever is in it.
///
/// A name that doesn't follow the grammar is one literal key, so no structure is invented and it can be written back;
/// under `malformed_key: reject` it is an error. The dialects `qs`, `php` and `rack` read names with brackets as their
/// library does: see `FieldName+PHP.swift` and its neighbours. One value is reused for all names and keeps its allocations.
package struct FieldName: Sendable {
    /// What a segment of a path is.
    package enum SegmentKind: Hashable, Sendable {
        /// A member's name, or an index: which of them is known only when all names are.
        case key
        /// `[]`
        case push
    }

    internal struct Segment {
        var start: Int
        var end: Int
        var kind: SegmentKind
        /// The key stands in brackets: qs takes no other for an index.
        var isBracketed = false
        /// What Rack calls the child key of a push: the rest of the name that the array's element is looked up by.
        var rest = 0..<0
    }

    /// The name as it came; a dialect puts what it rewrites behind.
    internal var bytes = ByteStore()
    private var nameCount = 0
    /// The segments of a structured name; empty while the name is one plain key, as most are.
    internal var segments: [Segment] = []
    /// How `segments` were made: `nesting`, or nil where a dialect made them.
    private var grammar: NestingStyle?
    /// How many segments this name and the one marked last as placed have in common at their start.
    internal private(set) var sharedCount = 0
    /// The dialect's library has no place for a field with this name and leaves it out.
    internal var isDropped = false

    package init() {}

    /// The number of segments, the root included; at least one once a name was parsed.
    package var segmentCount: Int { max(1, segments.count) }

    package func kind(_ index: Int) -> SegmentKind { segments.isEmpty ? .key : segments[index].kind }

    /// The bytes of a segment: a key as it is written, nothing for a push.
    @_lifetime(borrow self)
    package func segment(_ index: Int) -> Span<UInt8> {
        let range = segments.isEmpty ? 0..<nameCount : segments[index].start..<segments[index].end
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        return unsafe _overrideLifetime(bytes.slice(range), borrowing: self)
    }

    /// Where a segment stands in the whole name; nil where the dialect has rewritten it.
    internal func place(_ index: Int) -> Range<Int>? {
        if segments.isEmpty { return 0..<nameCount }
        return segments[index].end <= nameCount ? segments[index].start..<segments[index].end : nil
    }

    /// The whole name as it came.
    internal var wholeName: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
            return unsafe _overrideLifetime(bytes.slice(0..<nameCount), borrowing: self)
        }
    }

    /// Whether the name as it came begins with these bytes.
    internal func begins(with prefix: Span<UInt8>) -> Bool {
        prefix.count <= nameCount && bytes.slice(0..<prefix.count).isEqual(to: prefix)
    }

    /// The bytes before the bracket of the last segment, where brackets alone part the name.
    internal var prefixCount: Int { segments.isEmpty ? 0 : segments[segments.count - 1].start - 1 }

    /// The whole name as it came, for messages.
    internal var spelling: String { bytes.slice(0..<nameCount).lossyString() }

    /// Splits `name`, which replaces the name before.
    ///
    /// Throws `field_malformed_key` under `malformed_key: reject`, and `limit_key_depth` when more than `limits.keyDepth`
    /// segments follow the root; see `Limits.keyDepth(for:)`.
    package mutating func parse(
        _ name: Span<UInt8>, options: FieldDecodingOptions, limits: Limits
    ) throws(ConversionError) {
        let isOwn = options.dialect.hasOwnNames && options.readsNamesAsLibrary
        if options.nesting == .brackets, !isOwn, takePlain(name) { return }
        let grammar = isOwn ? nil : options.nesting
        let kept = isOwn || grammar != self.grammar ? 0 : sharedSegments(with: name)
        self.grammar = grammar
        take(name, keeping: kept)
        if isOwn {
            return try parse(as: options.dialect, dots: options.nesting == .dots, options: options, limits: limits)
        }
        let isStructured =
            switch options.nesting {
            case .brackets: split(name, dots: false, keeping: kept)
            case .dots: split(name, dots: true, keeping: kept)
            case .flat, .json: true
            }
        if !isStructured {
            sharedCount = 0
            if options.malformedKey == .reject { throw FieldFault.malformedKey.error(field: name.lossyString()) }
            segments.removeAll(keepingCapacity: true)
        }
        guard segments.count - 1 <= limits.keyDepth else {
            throw .limit(
                "key_depth", of: limits.keyDepth, what: "the nesting of a field's name", field: name.lossyString())
        }
    }

    /// Takes a name that is short and has no brackets, as most are. Returns false, with nothing changed, for any other.
    @inline(__always)
    internal mutating func takePlain(_ name: Span<UInt8>) -> Bool {
        guard name.count <= 16, !Scan.holds(UInt8(ascii: "["), or: UInt8(ascii: "]"), in: name) else { return false }
        take(name)
        return true
    }

    @inline(__always)
    private mutating func take(_ name: Span<UInt8>, keeping kept: Int = 0) {
        bytes.removeAll()
        bytes.append(contentsOf: name)
        nameCount = name.count
        if segments.count > kept { segments.removeLast(segments.count - kept) }
        sharedCount = min(sharedCount, kept)
    }

    /// The number of segments that `name` begins with as the name before did: whole ones, with what ends them. The grammar
    /// is read from the left, so they are segments of `name` too.
    private func sharedSegments(with name: Span<UInt8>) -> Int {
        guard !segments.isEmpty else { return 0 }
        let common = name.commonPrefix(with: bytes.slice(0..<nameCount))
        var count = 0
        while count < segments.count, segments[count].end < common { count += 1 }
        return count
    }

    /// Says that the field of this name stands at its place, so that the next name is compared with this one.
    internal mutating func markPlaced() { sharedCount = segments.count }

    /// Fills `segments`, of which the first `kept` are there; leaves them empty where the name is one plain key. Returns
    /// false when the name breaks the grammar.
    internal mutating func split(_ name: Span<UInt8>, dots: Bool, keeping kept: Int = 0) -> Bool {
        let end = name.count
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]"), dot = UInt8(ascii: ".")
        var at: Int
        if kept > 0 {
            at = segments[kept - 1].end
            if name[at] == close { at += 1 }
        } else {
            at = Scan.firstIndex(ofAny: open, close, dots ? dot : open, close, in: name, from: 0)
            guard at < end else { return true }
            guard at > 0, name[at] != close else { return false }
            segments.append(Segment(start: 0, end: at, kind: .key))
        }
        while at < end {
            let start = at + 1
            switch name[at] {
            case open:
                at = Scan.firstIndex(ofAny: open, close, close, close, in: name, from: start)
                guard at < end, name[at] == close else { return false }
                segments.append(Segment(start: start, end: at, kind: at == start ? .push : .key))
                at += 1
            case dot where dots:
                at = Scan.firstIndex(ofAny: open, close, dot, dot, in: name, from: start)
                guard at > start, at == end || name[at] != close else { return false }
                segments.append(Segment(start: start, end: at, kind: .key))
            default: return false
            }
        }
        return true
    }
}
