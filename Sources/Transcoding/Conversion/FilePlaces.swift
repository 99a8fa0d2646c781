internal import Octets

/// The places of the files of a flat body, which go out as they come, before the fields that a tree holds until the body's end.
///
/// A reader that puts both into one document reads the same one as long as each has a key of its own there. It would read another one
/// where a file and fields have parts of the elements of one array, which are told apart by how they follow each other; where the
/// fields of an array are numbered in another way than the file that stands in it; and under Rack's rules, where a file and a field
/// have one name, or one has a name below the other's, of which the last one stays. Such a body is refused. Servers of PHP, Node and
/// browsers' own rules keep files apart from fields, unless the files are texts.
internal struct FilePlaces {
    private let arrays: ArrayStyle
    private let keepsApart: Bool
    private let dialect: Dialect
    /// Whether a name that comes again is refused.
    private let rejectsRepeated: Bool
    private let limit: Int
    /// The places, those that follow each other at one place once.
    private var names: [MappedName] = []
    private var known: Set<[UInt8]> = []
    /// Whether files have become texts.
    private var areTexts = false
    /// Whether the server keeps files apart from fields.
    var areApart: Bool { keepsApart && !areTexts }
    /// Bytes that are held.
    private(set) var count = 0

    init(_ plan: ConversionPlan) {
        arrays = plan.fieldEncoding.arrays
        dialect = plan.fieldEncoding.dialect
        keepsApart = [.php, .qs, .whatwg].contains(dialect)
        rejectsRepeated = plan.fieldDecoding.duplicates == .reject
        limit = plan.limits.tree
    }

    mutating func removeAll() {
        guard count > 0 else { return }
        names = []
        known = []
        areTexts = false
        count = 0
    }

    /// A file goes out at `name`, as a text where `isText`; `field` is what it came as.
    mutating func add(_ name: borrowing MappedName, field: Span<UInt8>, isText: Bool) throws(ConversionError) {
        areTexts = areTexts || isText
        if rejectsRepeated, !known.insert(field.copied()).inserted { throw Tree.duplicate(field.lossyString()) }
        if let last = names.last, last.isEqual(to: name) { return }
        count += name.storedCount
        guard count <= limit else { throw .limit("tree", of: limit, what: "the names of files") }
        names.append(copy name)
    }

    /// Sees that the fields can follow the files.
    func check(_ fields: borrowing Tree) throws(ConversionError) {
        guard !names.isEmpty, fields.root != Tree.none else { return }
        let joinsNames = dialect == .rack || dialect == .php && areTexts
        for name in names {
            switch Self.place(of: name, among: fields, arrays) {
            case .ofItsOwn: continue
            case .atField:
                if rejectsRepeated { throw Tree.duplicate(name.spelling) }
                guard joinsNames else { continue }
            case .belowField: guard joinsNames else { continue }
            case .inArray: if areApart { continue }
            }
            throw ConversionError(
                .unrepresentable, code: "files_shared_root",
                reason: "a file and fields stand in one array, under one name or one below the other, and files go out "
                    + "before fields: it would be another document; give them names of their own, or rename one",
                field: name.spelling, setting: "map.rename")
        }
    }

    /// How a file stands to the fields.
    private enum Place {
        case ofItsOwn
        /// A field stands at the same place, or below it.
        case atField
        /// A field has a value where the file's name leads on.
        case belowField
        /// It has a part of an array that fields have parts of, too.
        case inArray
    }

    private static func place(
        of name: borrowing MappedName, among fields: borrowing Tree, _ arrays: ArrayStyle
    ) -> Place {
        var node = fields.root
        for index in 0..<name.segmentCount {
            let kind = fields.kind(node)
            guard kind.isContainer else { return index > 0 ? .belowField : .ofItsOwn }
            if kind.hasNames, name.kind(index) == .key {
                node = fields.child(of: node, named: name.segment(index))
                guard node != Tree.none else { return .ofItsOwn }
                continue
            }
            let element = fields.firstChild(node)
            guard element != Tree.none else { return .ofItsOwn }
            let areRows = fields.kind(element).isContainer
            // Plain elements have no more than another order.
            guard name.kind(index) == .key else {
                return areRows || index + 1 < name.segmentCount || kind.hasNames ? .inArray : .ofItsOwn
            }
            // The numbers of names have become an array.
            guard let number = name.segment(index).canonicalIndex, arrays == .indices || arrays == .auto && areRows
            else { return .inArray }
            node = element
            for _ in 0..<number {
                node = fields.nextSibling(node)
                guard node != Tree.none else { return .ofItsOwn }
            }
        }
        return .atField
    }
}
