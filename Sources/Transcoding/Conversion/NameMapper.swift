/// The map of a route on the names of fields that pass one by one.
///
/// Gives what `Tree.apply` gives on the whole document, and refuses what that refuses, from a few bits for each rule. What
/// can't be told from a name alone, wildcards in renames and indices, the plan sends to a tree instead.
internal struct NameMapper {
    enum Verdict {
        case unchanged, renamed
        /// Left out: removed, or replaced by what `set` gives.
        case removed
    }

    private let map: FieldMap
    /// Hears which rules concern a part, where a conversion is explained.
    var observer: ConversionObserver?
    /// For each rename, whether a field has been moved by it and whether one has been met where it moves fields to.
    private var hasMoved: [Bool]
    private var hasMet: [Bool]

    init(_ map: FieldMap) {
        self.map = map
        hasMoved = Array(repeating: false, count: map.rename.count)
        hasMet = hasMoved
    }

    mutating func reset() {
        for index in hasMoved.indices {
            hasMoved[index] = false
            hasMet[index] = false
        }
    }

    var isEmpty: Bool { map.isEmpty }

    /// Applies the map to `name`. Throws 422 `map_conflict`.
    mutating func apply(to name: inout MappedName) throws(ConversionError) -> Verdict {
        for path in map.remove where name.isAtOrBelow(path) {
            observer?.concerns("map.remove \(path)")
            return .removed
        }
        var verdict = Verdict.unchanged
        for index in map.rename.indices {
            let rename = map.rename[index]
            if name.isAtOrBelow(rename.from) {
                hasMoved[index] = true
                if hasMet[index] { throw Self.conflict("the field is there already", rename.to) }
                name.move(rename)
                observer?.concerns("map.rename \(rename.from) to \(rename.to)")
                verdict = .renamed
            } else if name.isAtOrBelow(rename.to) || name.isAbove(rename.to) {
                hasMet[index] = true
                if hasMoved[index] { throw Self.conflict("the field is there already", rename.to) }
            }
        }
        for assignment in map.set {
            if name.isAtOrBelow(assignment.path) {
                observer?.concerns("map.set \(assignment.path)")
                return .removed
            }
            if name.isAbove(assignment.path) {
                throw Self.conflict("a parent of the field is no object", assignment.path)
            }
        }
        return verdict
    }

    private static func conflict(_ reason: String, _ path: FieldPath) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "map_conflict", reason: reason, field: path.description, setting: "map")
    }
}
