internal import Octets

/// A field's name as a path that a map can change. Reused for all fields; keeps its allocations.
internal struct MappedName: FieldSegments {
    private struct Segment {
        var start: Int
        var end: Int
        var kind: FieldName.SegmentKind
    }

    private var bytes = ByteStore()
    private var segments: [Segment] = []
    private var moved: [Segment] = []

    var segmentCount: Int { segments.count }
    func kind(_ index: Int) -> FieldName.SegmentKind { segments[index].kind }

    @_lifetime(borrow self)
    func segment(_ index: Int) -> Span<UInt8> {
        let segment = segments[index]
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        return unsafe _overrideLifetime(bytes.slice(segment.start..<segment.end), borrowing: self)
    }

    /// Bytes that a copy of it takes, about.
    var storedCount: Int { bytes.count + segments.count * MemoryLayout<Segment>.stride + 64 }

    func isEqual(to other: borrowing MappedName) -> Bool {
        guard segmentCount == other.segmentCount else { return false }
        for index in 0..<segmentCount {
            guard kind(index) == other.kind(index), segment(index).isEqual(to: other.segment(index)) else {
                return false
            }
        }
        return true
    }

    /// Whether `[]` stands in it.
    var hasPush: Bool { segments.contains { $0.kind == .push } }

    /// Puts a key in the place of one of the segments.
    mutating func replace(_ index: Int, by key: Span<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: key)
        segments[index] = Segment(start: start, end: bytes.count, kind: .key)
    }

    /// As above, where the key is a number.
    mutating func replace(_ index: Int, by number: Int) {
        let start = bytes.count
        bytes.append(decimal: number)
        segments[index] = Segment(start: start, end: bytes.count, kind: .key)
    }

    /// Makes the field an element of the array at its place.
    mutating func push() { append(Span(), .push) }

    mutating func set(_ name: borrowing FieldName) {
        bytes.removeAll()
        segments.removeAll(keepingCapacity: true)
        for index in 0..<name.segmentCount { append(name.segment(index), name.kind(index)) }
    }

    private mutating func append(_ segment: Span<UInt8>, _ kind: FieldName.SegmentKind) {
        let start = bytes.count
        bytes.append(contentsOf: segment)
        segments.append(Segment(start: start, end: bytes.count, kind: kind))
    }

    var spelling: String {
        var text = ByteStore()
        spell(.brackets, to: &text)
        return text.span.lossyString()
    }

    /// Whether the first `count` segments are those of `path`.
    private func begins(with path: FieldPath, count: Int) -> Bool {
        for index in 0..<count {
            switch path.segments[index] {
            case .any: break
            case let own where segments[index].kind == .key:
                guard own.matches(key: segment(index)) else { return false }
            default: return false
            }
        }
        return true
    }

    /// Whether the field stands at `path` or anywhere below.
    func isAtOrBelow(_ path: FieldPath) -> Bool {
        segmentCount >= path.segments.count && begins(with: path, count: path.segments.count)
    }

    func isAt(_ path: FieldPath) -> Bool {
        segmentCount == path.segments.count && begins(with: path, count: segmentCount)
    }

    /// Whether `path` leads through this field, which has a value where `path` needs an object or array.
    func isAbove(_ path: FieldPath) -> Bool {
        segmentCount < path.segments.count && begins(with: path, count: segmentCount)
    }

    /// Whether the field is pushed into an array that `path` leads through as through an object.
    func isPushedBeside(_ path: FieldPath) -> Bool {
        guard let at = (0..<segmentCount).first(where: { kind($0) == .push }), at > 0, at < path.segments.count,
            case .key = path.segments[at]
        else { return false }
        return begins(with: path, count: at)
    }

    /// Puts the place that `rename` names for the one that it stands at.
    mutating func move(_ rename: FieldMap.Rename) {
        let shared = rename.sharedPrefix
        moved.removeAll(keepingCapacity: true)
        moved.append(contentsOf: segments[..<shared])
        for segment in rename.to.segments[shared...] {
            let start = bytes.count
            switch segment {
            case .key(let key): bytes.append(contentsOf: key.span)
            case .index(let index): bytes.append(decimal: index)
            case .any: continue
            }
            moved.append(Segment(start: start, end: bytes.count, kind: .key))
        }
        moved.append(contentsOf: segments[rename.from.segments.count...])
        swap(&segments, &moved)
    }

    /// Appends the name in the spelling of `nesting`.
    func spell(_ nesting: NestingStyle, to name: inout ByteStore) {
        name.append(contentsOf: segment(0))
        for index in 1..<max(1, segmentCount) { spell(segment: index, nesting, to: &name) }
    }

    /// Appends one of the segments behind the first. Elements of arrays stand in brackets with dots, too, as qs' `allowDots` has it.
    func spell(segment index: Int, _ nesting: NestingStyle, to name: inout ByteStore) {
        let text = segment(index)
        let isDotted = nesting == .dots && kind(index) == .key && text.canonicalIndex == nil
        name.append(isDotted ? UInt8(ascii: ".") : UInt8(ascii: "["))
        name.append(contentsOf: text)
        if !isDotted { name.append(UInt8(ascii: "]")) }
    }
}
