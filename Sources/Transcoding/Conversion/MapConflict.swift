/// Why a document has no place for what a rule of the map says. The code is always `map_conflict`.
internal enum MapConflict: String {
    /// A field stands where a rule puts another one.
    case occupied = "the field is there already"
    case renamesSeveral = "the field to rename is there more than once"
    case appendsToSeveral = "the field to append to is there more than once"
    case appendsToObject = "the field to append to is an object"
    case parentIsScalar = "a parent of the field is no object"
    case parentIsArray = "a parent of the field is an array"
    case gap = "the array has no element before that index"
    case everyPlace = "a rule can't put a field at every place"

    /// The error of the rule whose path that is.
    func error(at path: FieldPath) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "map_conflict", reason: rawValue, field: path.description, setting: "map")
    }

    /// The error of a rule of files, whose field is still to be named.
    var ofFiles: ConversionError {
        ConversionError(.unrepresentable, code: "map_conflict", reason: rawValue, setting: "files")
    }
}

/// The renames of a map for mappers that meet one value after the other: whether a field has been moved by each, and whether one
/// has been met where it moves fields to. A tree sees both at once.
internal struct RenameProgress {
    let renames: [FieldMap.Rename]
    private var hasMoved: [Bool]
    private var hasMet: [Bool]

    init(_ map: FieldMap) {
        renames = map.rename
        hasMoved = Array(repeating: false, count: renames.count)
        hasMet = hasMoved
    }

    mutating func reset() {
        for rule in renames.indices { forget(rule) }
    }

    /// Begins anew for a rule, in another object.
    mutating func forget(_ rule: Int) { (hasMoved[rule], hasMet[rule]) = (false, false) }

    /// The rule moves a field. `isOnly`: it may move no further one.
    mutating func move(_ rule: Int, isOnly: Bool) throws(ConversionError) {
        if isOnly, hasMoved[rule] { throw MapConflict.renamesSeveral.error(at: renames[rule].from) }
        if hasMet[rule] { throw MapConflict.occupied.error(at: renames[rule].to) }
        hasMoved[rule] = true
    }

    /// A field stands where the rule moves fields to.
    mutating func meet(_ rule: Int) throws(ConversionError) {
        if hasMoved[rule] { throw MapConflict.occupied.error(at: renames[rule].to) }
        hasMet[rule] = true
    }
}
