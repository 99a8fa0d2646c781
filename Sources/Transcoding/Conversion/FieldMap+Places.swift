internal import Octets

// Where a field stands that rules are written about: only who explains a conversion asks.
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
