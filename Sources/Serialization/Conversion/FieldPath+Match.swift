internal import Octets

extension FieldPath {
    /// Whether an element's number is part of the path.
    internal var hasIndex: Bool {
        segments.contains { if case .index = $0 { true } else { false } }
    }

    internal var hasWildcard: Bool { segments.contains(.any) }

    /// The key, when the path is one member of the root object.
    internal var rootKey: [UInt8]? {
        if segments.count == 1, case .key(let key) = segments[0] { return key }
        return nil
    }

    /// Whether some field can be at or below both paths.
    internal func overlaps(_ other: FieldPath) -> Bool {
        for (left, right) in zip(segments, other.segments) where left != right && left != .any && right != .any {
            return false
        }
        return true
    }
}

extension FieldPath.Segment {
    /// Whether the member with that name is meant.
    internal func matches(key name: Span<UInt8>) -> Bool {
        switch self {
        case .any: true
        case .key(let key): key.span.isEqual(to: name)
        case .index(let index): name.isDecimal(index)
        }
    }

    /// Whether the element with that number is meant.
    internal func matches(index: Int) -> Bool {
        switch self {
        case .any: true
        case .key: false
        case .index(let own): own == index
        }
    }
}
