internal import Octets

/// Files and a document into JSON or another format of documents: a file is a base64 string, or an object with one, at its place,
/// written while it comes.
///
/// The places of the files so far are kept as a tree of names, without content. A file goes on in the objects and arrays
/// that the one before it left open; one that would have to go back into a closed one is refused. Keys make an array when
/// the first one is `0` and the others follow in order. Names that are read as PHP's have its numbers for `[]`.
internal struct DocumentOutlet<Encoder: FileValueEncoder & ~Copyable>: FileOutlet, UniformSink, ~Copyable {
    private struct Level {
        var node: Tree.Node
        var isArray: Bool
    }

    private var encoder: Encoder
    private let numericBooleans: Bool
    private let namesNest: Bool
    private let nulls: NullRemoval
    /// Whether the format has a null: property lists have none.
    private let hasNulls: Bool
    /// Files that nobody chose, of which nothing is said.
    private var leftOut = 0
    private let numbersMakeArrays: Bool
    /// Whether PHP's rules say what `[]` in a name is.
    private let isPHP: Bool
    /// Where the route has declared arrays: a file there is an element, also the only one.
    private let arrays: [FieldPath]
    private var places: Tree
    /// The containers that are open, below the root.
    private var open: [Level] = []
    /// The containers of the file at hand, below the root.
    private var path: [Tree.Node] = []
    private var field: [UInt8] = []
    private(set) var isRootOpen = false

    init(_ encoder: consuming Encoder, plan: ConversionPlan) {
        self.encoder = encoder
        numericBooleans = plan.fieldEncoding.booleans == .numeric
        nulls = plan.removeNulls
        hasNulls = plan.output != .plist && plan.output != .bplist
        namesNest = plan.fieldDecoding.nesting == .brackets
        arrays = plan.types.filter { $0.type == .array }.map(\.path)
        numbersMakeArrays = plan.fieldDecoding.arrays == .auto || plan.fieldDecoding.arrays == .indices
        isPHP = plan.fieldDecoding.libraryOfNames == .php
        places = Tree(limits: plan.limits)
    }

    // MARK: Files

    mutating func beginFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError) {
        try enter(begin(name, of: head))
        try encoder.beginFile(head, as: policy)
    }

    mutating func noFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming
    ) throws(ConversionError) {
        let node = try begin(name, of: head)
        let isElement = open.last?.isArray ?? false
        guard hasNulls, nulls == .off || nulls == .keys && isElement else {
            leftOut += 1
            return
        }
        try enter(node)
        try encoder.null()
    }

    /// Begins the objects and arrays around the value at `name`, that of the part with `head`, and returns the place of it.
    private mutating func begin(
        _ name: borrowing MappedName, of head: borrowing PartHead
    ) throws(ConversionError) -> Tree.Node {
        field.removeAll(keepingCapacity: true)
        field.append(contentsOf: head.name)
        guard !arrays.isEmpty, arrays.contains(where: { name.isAt($0) }) else { return try begin(name) }
        var element = copy name
        element.push()
        return try begin(element)
    }

    private mutating func begin(_ name: borrowing MappedName) throws(ConversionError) -> Tree.Node {
        if !isRootOpen {
            isRootOpen = true
            try places.makeRootObject()
            try encoder.beginObject()
        }
        let known = Tree.Node(places.records.count)
        let node = try places.makeNode(.null)
        do throws(ConversionError) {
            if isPHP, numbersMakeArrays {
                try places.putPHP(node, at: name, duplicates: .reject)
                guard places.parent(node) != Tree.none else { throw FileNumbers.usedUp(field.span) }
            } else {
                try places.put(node, at: name, duplicates: .reject, groups: !isPHP, field: field)
            }
        } catch {
            var error = error
            guard error.code == "form_duplicate" else {
                if error.code == "form_conflict" { error.field = field.span.lossyString() }
                throw error
            }
            throw refusal(
                "two files of one name can't become one value while they stream; "
                    + (namesNest ? "name them with [] at the end, or " : "") + "declare an array in fields")
        }
        path.removeAll(keepingCapacity: true)
        var at = places.parent(node)
        while at != places.root {
            path.append(at)
            at = places.parent(at)
        }
        path.reverse()
        var shared = 0
        while shared < min(open.count, path.count), open[shared].node == path[shared] { shared += 1 }
        for level in path[shared...] where level < known {
            throw refusal("the object or array it belongs to has been written already; send its files together")
        }
        while open.count > shared { try close() }
        for index in shared..<path.count {
            let container = path[index]
            try enter(container)
            let child = index + 1 < path.count ? path[index + 1] : node
            let isArray =
                places.kind(container) == .array || numbersMakeArrays && places.name(child).isEqual(to: "0")
            open.append(Level(node: container, isArray: isArray))
            if isArray { try encoder.beginArray() } else { try encoder.beginObject() }
        }
        return node
    }

    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try encoder.fileContent(piece, isLast: isLast)
    }

    mutating func endFiles() throws(ConversionError) {
        while !open.isEmpty { try close() }
    }

    var sharesNoRoots: Bool { true }

    func claims(rootKey: Span<UInt8>) -> Bool {
        isRootOpen && places.child(of: places.root, named: rootKey) != Tree.none
    }

    mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError) {
        if !numericBooleans { try encoder.write(&tree, &walk) }
    }

    /// Writes what stands before the value of `node` in the innermost open container.
    private mutating func enter(_ node: Tree.Node) throws(ConversionError) {
        guard let level = open.last, level.isArray else { return try Self.sendName(of: node, in: places, to: &encoder) }
        guard places.kind(level.node) == .keyed else { return }
        guard places.name(node).canonicalIndex == places.childCount(level.node) - 1 else {
            throw refusal("its array has been begun; files with numbers must come in the order 0, 1, 2")
        }
    }

    private static func sendName(
        of node: Tree.Node, in places: borrowing Tree, to encoder: inout Encoder
    ) throws(ConversionError) {
        try encoder.key(places.name(node))
    }

    private mutating func close() throws(ConversionError) {
        let level = open.removeLast()
        if level.isArray { return try encoder.endArray() }
        try encoder.endObject()
        if numbersMakeArrays, places.kind(level.node) == .keyed, places.numbersItsMembers(level.node) {
            throw refusal("its array was begun as an object; files with numbers must come in the order 0, 1, 2")
        }
    }

    private func refusal(_ reason: String) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "files_order", reason: reason, field: field.span.lossyString(), setting: "files")
    }

    // MARK: The document

    var output: OutputBuffer {
        _read { yield encoder.output }
        _modify { yield &encoder.output }
    }

    var isFull: Bool { encoder.isFull }
    var contentType: [UInt8] { encoder.contentType }

    var removedCount: Int { encoder.removedCount + leftOut }
    var heldCount: Int { encoder.heldCount }
    var allocatedCount: Int { encoder.allocatedCount }
    mutating func drain() throws(ConversionError) -> Bool { try encoder.drain() }

    mutating func restart() {
        encoder.restart()
        leftOut = 0
        places.removeAll()
        if !open.isEmpty { open.removeAll(keepingCapacity: true) }
        isRootOpen = false
    }

    @inline(__always)
    mutating func take(_ event: DocumentEvent) throws(ConversionError) { try event.send(to: &encoder) }
    mutating func bool(_ value: Bool) throws(ConversionError) {
        guard numericBooleans else { return try encoder.bool(value) }
        let digit: InlineArray<1, UInt8> = [UInt8(ascii: value ? "1" : "0")]
        try encoder.number(digit.span)
    }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try encoder.beginFile(head) }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try encoder.fileContent(piece, isLast: isLast)
    }
    mutating func finish() throws(ConversionError) { try encoder.finish() }
}
