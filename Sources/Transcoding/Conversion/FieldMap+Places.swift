internal import Octets

// Where a field stands that rules are written about, and what rules write there: asked when a plan is made, checked or explained.
extension FieldMap {
    /// Where `rename` takes what stands at `path`, or below it: there types are declared for it.
    public func place(of path: FieldPath) -> FieldPath {
        var segments = path.segments[...]
        for rename in rename where !rename.from.segments.isEmpty && !rename.to.segments.isEmpty {
            let from = rename.from.segments
            guard segments.count >= from.count, zip(from, segments).allSatisfy({ $0 == $1 || $0 == .any }) else {
                continue
            }
            let shared = rename.sharedPrefix
            segments = segments.prefix(shared) + rename.to.segments[shared...] + segments.dropFirst(from.count)
        }
        return FieldPath(Array(segments))
    }

    /// What `set` writes at `path`, which has no wildcard: null where it is something else than a value, nil where no rule concerns it.
    internal func assigned(at path: FieldPath) -> AssignedValue? {
        guard !path.hasWildcard, let rule = set.last(where: { $0.path.overlaps(path) }) else { return nil }
        // What it writes below the path makes that an object or array.
        guard rule.path.segments.count <= path.segments.count else { return .literal(.null) }
        return rule.value.value(at: path.segments[rule.path.segments.count...])
    }
}

extension AssignedValue {
    /// The value that those steps lead to; null where they lead to none.
    fileprivate func value(at steps: ArraySlice<FieldPath.Segment>) -> AssignedValue {
        guard let step = steps.first else { return self }
        guard case .literal(.object(let members)) = self,
            let member = members.last(where: { step.matches(key: Array($0.name.utf8).span) })
        else { return .literal(.null) }
        return AssignedValue.literal(member.value).value(at: steps.dropFirst())
    }

    /// The text that it is in a flat body; nil for what none is made of, and where `sources` hasn't what it is from.
    internal func text(_ sources: [[UInt8]]) -> [UInt8]? {
        switch self {
        case .source(let index): sources.indices.contains(index) ? sources[index] : nil
        case .literal(.string(let text)), .literal(.number(let text)): Array(text.utf8)
        case .literal: nil
        }
    }
}

extension FieldPath {
    /// The path without the elements of an array at its end: the array.
    public var withoutElements: FieldPath {
        FieldPath(Array(segments.reversed().drop { $0 == .any }.reversed()))
    }

    /// The path in a field's name, in which a number is one of an array's elements.
    internal init(general name: borrowing FieldName) {
        var segments: [Segment] = []
        for index in 0..<name.segmentCount {
            let bytes = name.segment(index).copied()
            let isElement = name.kind(index) == .push || index > 0 && !bytes.isEmpty && bytes.allSatisfy(Self.isDigit)
            segments.append(isElement ? .any : .key(bytes))
        }
        self.init(segments)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
