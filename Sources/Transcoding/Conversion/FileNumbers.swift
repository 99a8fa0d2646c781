internal import Octets

/// The numbers of files in whose names `[]` stands, where numbers go out.
///
/// A file goes out as it comes, so it has the number that the files before it leave, as the library counts by whose rules names are
/// read. Their places are kept, without content, within `limits.tree`; fields, which servers keep apart, are none of them.
///
/// - PHP: one above the greatest of its array, or 0; each `[]` is a new element, and what overwrites an array ends its count.
/// - qs: an `[]` at the end has the number of those before it at that place, where nothing stands there, else one above the greatest; any
///   other `[]` is 0. What finds something else at its number is put behind the last. As qs has it, as far as that can be told before
///   all names are there.
/// - Rack and ours: `[]` is the next element, and `a[][b]` goes on with the last one until that has a `b`. Numbers and keys beside
///   `[]` are another kind of thing: 400 `form_conflict`.
internal struct FileNumbers: ~Copyable {
    /// Whose rules count; nil: ours.
    private let library: Dialect?
    /// Whether the server that reads the output keeps one of several files of one name.
    private let serverOverwrites: Bool
    private var places: Tree

    init(_ plan: ConversionPlan) {
        library = plan.fieldDecoding.libraryOfNames
        serverOverwrites = plan.fieldEncoding.dialect == .php || plan.fieldEncoding.dialect == .rack
        places = Tree(limits: plan.limits)
    }

    /// Counts by the rules of that library; nil: by ours.
    init(library: Dialect?, limits: Limits) {
        self.library = library
        serverOverwrites = false
        places = Tree(limits: limits)
    }

    /// Bytes that are held.
    var count: Int { places.cost }

    mutating func removeAll() { places.removeAll() }

    /// Puts numbers in the places of the pushes in `name`, which is that of the next file; `field` is what it came as. Throws 400
    /// `form_conflict`, and 422 `files_order` where there is no number.
    mutating func assign(to name: inout MappedName, field: Span<UInt8>) throws(ConversionError) {
        try places.makeRootObject()
        switch library {
        case .php: try assignPHP(to: &name, field: field)
        case .qs: try assignQS(to: &name, field: field)
        default: try assignGrouped(to: &name, field: field)
        }
    }

    private mutating func assignPHP(to name: inout MappedName, field: Span<UInt8>) throws(ConversionError) {
        var node = try places.makeNode(.null)
        try places.putPHP(node, at: name, duplicates: .last)
        guard places.parent(node) != Tree.none else { throw Self.usedUp(field) }
        for index in (0..<name.segmentCount).reversed() {
            if name.kind(index) == .push { name.replace(index, by: places.name(node)) }
            node = places.parent(node)
        }
    }

    private mutating func assignGrouped(to name: inout MappedName, field: Span<UInt8>) throws(ConversionError) {
        var node = try places.makeNode(.null)
        try places.put(
            node, at: name, duplicates: .array, field: name.segmentCount > 1 ? field.copied() : nil)
        guard name.hasPush else { return }
        for index in (1..<max(1, name.segmentCount)).reversed() {
            let parent = places.parent(node)
            if name.kind(index) == .push { name.replace(index, by: places.childCount(parent) - 1) }
            node = parent
        }
    }

    /// While files come, a place's record has in its unused value range the number behind its greatest and how many `[]` at the end of a
    /// name it has had, and says in `isTyped` that a file has its number from here.
    private mutating func assignQS(to name: inout MappedName, field: Span<UInt8>) throws(ConversionError) {
        var parent = places.root
        var hasPush = false
        let last = name.segmentCount - 1
        for depth in 0...last {
            let isPush = name.kind(depth) == .push
            if isPush {
                hasPush = true
                name.replace(depth, by: depth == last ? Int(places.records[Int(parent)].valueCount) : 0)
                if depth == last { places.records[Int(parent)].valueCount &+= 1 }
            }
            var number = isPush || depth > 0 ? name.segment(depth).canonicalIndex : nil
            var node = places.child(of: parent, named: name.segment(depth))
            var isMoved = false
            if node != Tree.none, number != nil {
                let isContainer = places.kind(node) == .keyed
                isMoved =
                    depth < last ? !isContainer : isPush || isContainer || places.records[Int(node)].isTyped
                if isMoved {
                    // A key that is no number here may stand there, as one of ten digits, or one of the root.
                    var next = Int(places.records[Int(parent)].valueStart)
                    name.replace(depth, by: next)
                    while places.child(of: parent, named: name.segment(depth)) != Tree.none {
                        next += 1
                        name.replace(depth, by: next)
                    }
                    number = next
                    node = Tree.none
                }
            }
            if node == Tree.none {
                node = try places.makeNode(depth < last ? .keyed : .null)
                places.records[Int(node)].isTyped = depth == last && (isPush || isMoved)
                try places.append(node, to: parent, named: name.segment(depth))
                if let number { raiseNext(above: number, in: parent) }
            } else if depth < last, places.kind(node) != .keyed {
                let container = try places.makeNode(.keyed)
                places.replace(node, by: container)
                node = container
            } else if depth == last, hasPush, serverOverwrites {
                throw Self.overwritten(field)
            }
            parent = node
        }
    }

    private mutating func raiseNext(above number: Int, in place: Tree.Node) {
        let next = Int32(clamping: number) &+ 1
        if next > places.records[Int(place)].valueStart { places.records[Int(place)].valueStart = next }
    }

    /// The error of a file in an array of which the greatest number that PHP has is used.
    static func usedUp(_ field: Span<UInt8>) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "files_order",
            reason: "the array has no number left for the file, so PHP would leave it out",
            field: field.lossyString(), setting: "map.rename")
    }

    /// The error of a file whose name, with the numbers that it gets, is another file's already.
    private static func overwritten(_ field: Span<UInt8>) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "files_order",
            reason: "two files would have one name, of which the server keeps the last; give them names of their own",
            field: field.lossyString(), setting: "map.rename")
    }
}
