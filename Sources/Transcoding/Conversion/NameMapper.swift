/// The map of a route on the names of fields that pass one by one.
///
/// Gives what `Tree.apply` gives on the whole document, and refuses what that refuses, from a few bits for each rule. What
/// can't be told from a name alone, wildcards in renames and at the end of what is removed, and indices, the plan sends to a tree
/// instead.
internal struct NameMapper {
    enum Verdict {
        case unchanged, renamed
        /// Left out: removed, or replaced by what `set` gives.
        case removed
    }

    private let map: FieldMap
    /// Hears which rules concern a part, where a conversion is explained.
    private let observer: ConversionObserver?
    private var renames: RenameProgress

    init(_ map: FieldMap, observer: ConversionObserver?) {
        self.map = map
        self.observer = observer
        renames = RenameProgress(map)
    }

    mutating func reset() { renames.reset() }

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
                try renames.move(index, isOnly: false)
                name.move(rename)
                observer?.concerns("map.rename \(rename.from) to \(rename.to)")
                verdict = .renamed
            } else if name.isAtOrBelow(rename.to) || name.isAbove(rename.to) || name.isPushedBeside(rename.to) {
                try renames.meet(index)
            }
        }
        for assignment in map.set {
            if name.isAtOrBelow(assignment.path) {
                observer?.concerns("map.set \(assignment.path)")
                return .removed
            }
            if name.isAbove(assignment.path) {
                throw MapConflict.parentIsScalar.error(at: assignment.path)
            }
            if name.isPushedBeside(assignment.path) {
                throw MapConflict.parentIsArray.error(at: assignment.path)
            }
        }
        return verdict
    }
}
