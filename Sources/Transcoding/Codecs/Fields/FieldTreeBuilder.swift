internal import Octets

/// Puts fields into a tree by the names they have: the reading of forms and multipart bodies.
///
/// - `a[b]` is a member, `a[]` pushes on an array, `a[][k]` goes on with the array's last object unless that has the whole
///   rest of the path already (Rack's rule).
/// - Keys that are exactly 0…n-1 make an array in their order, under `arrays: auto` and `indices`; nothing is ever allocated
///   by index. Under the other styles, keys stay keys.
/// - `arrays: repeat` changes nothing else: repeating a name makes an array by `duplicates: array`, and `[]` still pushes.
/// - `arrays: comma` splits a value with commas into an array. `arrays: json` and `nesting: json` read a value that begins
///   with `[` or `{` and is JSON as a whole as that array or object; other values stay strings.
/// - A repeated scalar goes by `duplicates`. What wants an object or array where a value stands, or the other way round, is
///   refused with 400 `form_conflict` in either order.
/// - `types: safe` reads text that prints back identically as a number or boolean; see `Span.isSafeNumber`.
///
/// That is `dialect: recast`; `qs`, `php` and `rack` put fields together as their library does: `Tree+PHPFields.swift` and
/// its neighbours. What that drops or overwrites is counted in the tree's `removedCount`.
///
/// Limits: `field` for each value, `tree` for all, `keyDepth`; a decoder has counted the fields.
package struct FieldTreeBuilder: WholeFieldSink, ~Copyable {
    /// What the fields so far are. It is the body's once they have been settled.
    package var tree: Tree
    private let options: FieldDecodingOptions
    private let limits: Limits
    private var name = FieldName()
    /// The containers that the last field's name led through; see `Tree.put(_:at:along:duplicates:)`.
    private var trail: [Tree.Node] = []
    /// The container of the field placed last, where keys alone lead to it, and the bytes of its name before its last segment:
    /// fields that differ in that only follow each other.
    private var lastParent = Tree.none
    private var lastPrefix = 0
    /// The containers that the name led through which `place` has placed last, the root first.
    private var path = OwnedArray<Tree.Node>()
    /// Takes many pairs of a form at once.
    private var pairLoop: PairLoop
    /// The pieces of a value that came in more than one.
    private var value = ByteStore()
    /// Whether a value may become anything but a string as it stands.
    private let readsValues: Bool
    /// Whose rules put the fields together; nil: ours.
    private let library: Dialect?
    /// Whether a name without brackets is one key, so that nothing else has to be looked at.
    private let plainNamesAreKeys: Bool
    /// Whether a value that lies in one piece goes into the tree at once.
    private let isDirect: Bool
    /// Whether `field` may be called. It can't where the value of a field isn't always one string or scalar.
    package let takesFields: Bool
    /// See `WholeFieldSink`.
    package let takesPaths: Bool
    /// The fields under qs, by their whole names; see `Tree+QSFields.swift`.
    private var pairs = Tree.none
    /// The field at hand has no value, not even an empty one.
    private var isBare = false
    private var splicer: JSONSplicer
    /// Whether the part at hand is a JSON text that is wanted as its value.
    private var isJSON = false
    /// Whether what heads say besides names is kept, and what that of the part at hand says.
    private let keepsHeads: Bool
    private var head = PartHead()
    private var hasHead = false
    /// See `WholeFieldSink`.
    package var isAwaiting = false

    /// - Parameters:
    ///   - duplicates: what happens to repeated members of JSON texts in fields.
    ///   - keepsHeads: whether texts go out as parts, which can have a Content-Type and other headers again.
    package init(
        options: FieldDecodingOptions, limits: Limits, duplicates: DuplicatePolicy = .reject, keepsHeads: Bool = false
    ) {
        // From locals only: reading a stored property before all are set made the optimised build release what was no
        // splicer yet (Swift 6.3.1).
        let readsValues = options.arrays == .json || options.nesting == .json || options.arrays == .comma
        let library = options.libraryOfNames
        self.options = options
        self.limits = limits
        self.readsValues = readsValues
        self.keepsHeads = keepsHeads
        self.library = library
        plainNamesAreKeys = library == nil && options.nesting == .brackets
        isDirect = !readsValues && library == nil && options.nulls != .key
        let takesFields = !readsValues && (library == nil || options.nesting == .brackets)
        self.takesFields = takesFields
        let takesPaths = takesFields && options.nesting == .brackets && library != .qs
        self.takesPaths = takesPaths
        pairLoop = PairLoop(
            options, limits, library: library, takesPairs: takesFields, takesPaths: takesPaths)
        tree = Tree(limits: limits, duplicates: duplicates)
        splicer = JSONSplicer(duplicates: duplicates, limits: limits)
    }

    /// Leaves what loops in C do to the rest, which comes to the same: for tests of that.
    package mutating func restLoops() { pairLoop.rest() }

    /// A tree is never full: it refuses.
    package var isFull: Bool { false }

    /// Empties the tree for another body and keeps the allocations.
    package mutating func reset() {
        tree.removeAll()
        if !trail.isEmpty { trail.removeAll(keepingCapacity: true) }
        lastParent = Tree.none
        pairs = Tree.none
        isAwaiting = false
        pairLoop.restart()
        pairLoop.hasNumberNames = false
        value.removeAll(keepingUpTo: 128 * 1024)
    }

    /// The root's member that the field at hand belongs to.
    internal var rootKey: Span<UInt8> {
        @_lifetime(borrow self)
        get { name.segment(0) }
    }

    /// Whether some field so far belongs to that member of the root.
    internal func hasRootMember(_ key: Span<UInt8>) -> Bool {
        tree.root != Tree.none && tree.child(of: tree.root, named: key) != Tree.none
    }

    /// Whether the dialect leaves the field at hand out; then it has no place, and no member of the root.
    internal var isDropping: Bool { name.isDropped }

    /// See `FieldSink`.
    package mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        isJSON = options.jsonParts == .parse && head.hasMediaType && ContentType.isJSON(head.mediaType)
        if !plainNamesAreKeys || !name.takePlain(head.name) {
            try name.parse(head.name, options: options, limits: limits)
        }
        value.removeAll()
        isBare = !head.hasValue
        hasHead = keepsHeads && head.hasLines
        if hasHead {
            self.head.removeAll()
            self.head.copyLines(of: head)
        }
    }

    /// See `FieldSink`.
    package mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard value.count + piece.count <= limits.field else { throw valueTooLong }
        if isLast, isDirect, value.isEmpty, !isJSON {
            // The usual case: the whole value lies here and is copied into the tree only.
            try tree.makeRootObject()
            let node = try tree.makeScalar(piece, isTyped: options.types == .safe)
            if hasHead { try keepHead(for: node) }
            return try put(node)
        }
        value.append(contentsOf: piece)
        if isLast { try putValue() }
    }

    /// See `WholeFieldSink`.
    package var takesPlainNames: Bool { plainNamesAreKeys || library != nil }

    /// Takes a field that lies before us with its whole value, and has a `=`: what `beginPart` and `content` do, in one go.
    /// `isPlain` says that the name has no brackets.
    @inline(__always)
    package mutating func field(
        _ name: Span<UInt8>, _ value: Span<UInt8>, isPlain: Bool
    ) throws(ConversionError) {
        // The usual cases: a name without structure that no other field has, and one with a pair of brackets.
        if isString(value), value.count <= limits.field {
            if library == .qs {
                if isPlain ? isKey(name) : FieldName.isQSPath(name), tree.append(value, to: pairs, named: name) {
                    if Self.isNumbered(name) { pairLoop.hasNumberNames = true }
                    return
                }
            } else if isPlain {
                if plainNamesAreKeys || isKey(name), tree.append(value, to: tree.root, named: name) { return }
            } else if plainNamesAreKeys {
                if appendNeighbour(name, value) || limits.keyDepth > 0 && appendMember(name, value) { return }
            }
        }
        try generalField(name, value)
    }

    /// Whether a value stays a string for sure.
    @inline(__always)
    private func isString(_ value: Span<UInt8>) -> Bool { options.types == .strings || !value.mayBeScalar }

    /// Whether the library takes a name without brackets for one key, as it stands.
    private func isKey(_ name: Span<UInt8>) -> Bool {
        switch library {
        case .php: name.isPHPKey
        case .rack: !name.isEmpty
        case .qs: !name.isEmpty && !FieldName.isProto(name)
        case nil:
            options.nesting == .flat
                || options.nesting == .dots && Scan.firstIndex(of: UInt8(ascii: "."), in: name) == nil
        default: false
        }
    }

    /// See `WholeFieldSink`.
    package mutating func place(
        _ value: Span<UInt8>, at name: Span<UInt8>, _ steps: Span<NameStep>, from level: Int
    ) -> Bool {
        let last = steps.count - 1
        let isPHP = library == .php
        // What comes of it is at most the bytes of all, a number, and a node for each step.
        guard isString(value), value.count <= limits.field, tree.root != Tree.none,
            tree.cost + steps[last].end + value.count + 20 + steps.count * Tree.nodeCost <= tree.limit,
            !isPHP || arePHPKeys(name, steps, from: level)
        else { return false }
        if level == 0 {
            path.removeAll()
            path.append(tree.root)
        } else {
            path.truncate(to: level + 1)
        }
        var parent = path[level]
        for step in level..<last {
            let key = name.extracting(steps[step].range)
            parent =
                isPHP
                ? tree.tablePHP(in: parent, named: key)
                : tree.container(steps[step + 1].isEmpty ? .array : .keyed, in: parent, named: key)
            if parent == Tree.none { return false }
            path.append(parent)
        }
        if isPHP { return tree.appendPHP(value, to: parent, named: name.extracting(steps[last].range)) }
        if steps[last].isEmpty { return tree.append(value, to: parent) }
        return tree.kind(parent) == .keyed && tree.append(value, to: parent, named: name.extracting(steps[last].range))
    }

    /// See `WholeFieldSink`.
    package mutating func takePairs(
        _ input: Span<UInt8>, _ at: inout Int, most: Int, behind prefix: Range<Int>, beyond: Bool
    ) -> Int {
        guard pairLoop.takesPairs, most > 0, tree.root != Tree.none || (try? tree.makeRootObject()) != nil else {
            return 0
        }
        if library == .qs {
            if pairs == Tree.none { pairs = (try? tree.makeNode(.object)) ?? Tree.none }
            return pairs == Tree.none ? 0 : pairLoop.take(input, &at, most: most, beyond: beyond, into: &tree, pairs)
        }
        if !prefix.isEmpty, path.count > 1 { pairLoop.learn(input.extracting(prefix), path[path.count - 1]) }
        return pairLoop.take(input, &at, most: most, beyond: beyond, into: &tree, tree.root)
    }

    /// Whether PHP takes each of the new steps for a key as it stands, or for a push.
    private func arePHPKeys(_ name: Span<UInt8>, _ steps: Span<NameStep>, from level: Int) -> Bool {
        for step in level..<steps.count where !steps[step].isEmpty && !name.extracting(steps[step].range).isPHPKey {
            return false
        }
        return true
    }

    /// Takes a field whose name differs from that of the field placed last in nothing but its last segment. Returns false, with
    /// nothing changed, where that isn't so, or not all that is to be done.
    private mutating func appendNeighbour(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        let prefix = lastPrefix, end = name.count - 1
        guard lastParent != Tree.none, end > prefix, name[end] == close, name[prefix] == open,
            self.name.begins(with: name.extracting(0..<prefix))
        else { return false }
        let segment = name.extracting((prefix + 1)..<end)
        if segment.isEmpty { return tree.append(value, to: lastParent) }
        return Scan.firstIndex(ofAny: open, close, open, close, in: segment, from: 0) == segment.count
            && tree.kind(lastParent) == .keyed && tree.append(value, to: lastParent, named: segment)
    }

    /// Takes a field `a[b]`. Returns false, with nothing changed, where that isn't its name, or not all that is to be done.
    private mutating func appendMember(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
        let middle = Scan.firstIndex(ofAny: open, close, open, close, in: name, from: 0)
        let end = name.count - 1
        guard middle > 0, middle + 1 < end, name[middle] == open, name[end] == close,
            Scan.firstIndex(ofAny: open, close, open, close, in: name, from: middle + 1) == end
        else { return false }
        let object = tree.keyedObject(name.extracting(0..<middle))
        return object != Tree.none && tree.append(value, to: object, named: name.extracting((middle + 1)..<end))
    }

    @inline(never)
    private mutating func generalField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(ConversionError) {
        if !plainNamesAreKeys || !self.name.takePlain(name) {
            try self.name.parse(name, options: options, limits: limits)
        }
        guard value.count <= limits.field else { throw valueTooLong }
        isBare = false
        guard !dropsField() else { return }
        try tree.makeRootObject()
        try put(tree.makeScalar(value, isTyped: options.types == .safe))
    }

    private var valueTooLong: ConversionError {
        .limit("field", of: limits.field, what: "a value", field: name.spelling)
    }

    /// Puts the value that was gathered into the tree.
    @inline(never)
    private mutating func putValue() throws(ConversionError) {
        guard !dropsField() else { return }
        try tree.makeRootObject()
        let node = try makeValue()
        if hasHead { try keepHead(for: node) }
        try put(node)
    }

    /// Keeps the head of the part at hand for its value. A text of JSON that has been read as a scalar is none any more.
    private mutating func keepHead(for node: Tree.Node) throws(ConversionError) {
        if isJSON, !tree.kind(node).isContainer { return }
        try tree.keepLines(of: head, for: node)
    }

    /// Whether the library leaves the field at hand out; it is counted then.
    private mutating func dropsField() -> Bool {
        guard name.isDropped else { return false }
        tree.removedCount += 1
        return true
    }

    /// Puts the value of the field at hand where its name says, by the rules of the library or by ours.
    private mutating func put(_ node: Tree.Node) throws(ConversionError) {
        // It may take the place of an object, which stands nowhere then.
        pairLoop.restart()
        switch library {
        case .php: try tree.putPHP(node, at: name, duplicates: options.duplicates)
        case .rack: try tree.putRack(node, at: name, duplicates: options.duplicates)
        case .qs: try gatherQS(node)
        default: try place(node)
        }
    }

    /// Puts the value of the field at hand where its name says.
    private mutating func place(_ node: Tree.Node) throws(ConversionError) {
        try tree.put(node, at: name, along: &trail, duplicates: options.duplicates)
        name.markPlaced()
        let last = name.segmentCount - 1
        lastParent = plainNamesAreKeys && last > 0 && trail.count == last ? trail[last - 1] : Tree.none
        lastPrefix = lastParent == Tree.none ? 0 : name.prefixCount
    }

    /// Ends the body: decides which containers are arrays. The root is an object, also of no fields at all, until `settleRoot`.
    package mutating func settle() throws(ConversionError) {
        try tree.makeRootObject()
        let numbersMakeArrays = options.arrays == .auto || options.arrays == .indices
        switch library {
        case .php: tree.settlePHP(numbersMakeArrays: numbersMakeArrays)
        case .qs:
            if pairs != Tree.none {
                try tree.mergeQS(pairs, name: &name, loop: &pairLoop, options: options, limits: limits)
            }
            pairs = Tree.none
            tree.settleQS(hasNumberNames: pairLoop.hasNumberNames)
        default: tree.settle(numbersMakeArrays: numbersMakeArrays)
        }
    }

    /// Makes an array of the root where PHP's `json_encode` makes one of `$_POST`: its names are 0…n-1 in that order. It comes
    /// behind what changes members by their names, and not before an output whose root has to be an object.
    package mutating func settleRoot() {
        if library == .php, options.arrays == .auto || options.arrays == .indices { tree.settlePHPRoot() }
    }

    /// Keeps a field for `settle`: qs looks at names only when it has all of them.
    private mutating func gatherQS(_ node: Tree.Node) throws(ConversionError) {
        if pairs == Tree.none { pairs = try tree.makeNode(.object) }
        try tree.gatherQS(node, in: pairs, at: name, hasValue: !isBare, duplicates: options.duplicates)
        if Self.isNumbered(name.wholeName) { pairLoop.hasNumberNames = true }
    }

    /// Whether a name begins with a digit.
    private static func isNumbered(_ name: Span<UInt8>) -> Bool { name.count > 0 && ASCII.isDigit(name[0]) }

    /// The value of a part whose media type says that it is JSON.
    private mutating func makeJSON() throws(ConversionError) -> Tree.Node {
        switch try splicer.splice(value, into: &tree) {
        case .value(let node):
            tree.records[Int(node)].isSpliced = true
            return node
        case .malformed(var error):
            (error.offset, error.field, error.setting) = (nil, name.spelling, "json_parts")
            throw error
        }
    }

    private mutating func makeValue() throws(ConversionError) -> Tree.Node {
        if isJSON { return try makeJSON() }
        if isBare, options.nulls == .key { return try tree.makeNode(.null) }
        switch value.isEmpty ? 0 : value[0] {
        case UInt8(ascii: "[") where options.arrays == .json || options.nesting == .json,
            UInt8(ascii: "{") where options.arrays == .json || options.nesting == .json:
            if case .value(let node) = try splicer.splice(value, into: &tree) {
                tree.records[Int(node)].isSpliced = true
                return node
            }
        default: break
        }
        if options.arrays == .comma, library == .qs {
            return try tree.makeQSValue(value, isTyped: options.types == .safe)
        }
        if options.arrays == .comma, Scan.firstIndex(of: UInt8(ascii: ","), in: value.span) != nil {
            let array = try tree.makeNode(.collected)
            var start = 0
            for end in 0...value.count where end == value.count || value[end] == UInt8(ascii: ",") {
                tree.append(try makeScalar(start..<end), to: array)
                start = end + 1
            }
            return array
        }
        return try makeScalar(0..<value.count)
    }

    private mutating func makeScalar(_ range: Range<Int>) throws(ConversionError) -> Tree.Node {
        try tree.makeScalar(value, range, isTyped: options.types == .safe)
    }
}

/// A field's name as a path: what `FieldName` parsed, or what a map made of it.
internal protocol FieldSegments {
    var segmentCount: Int { get }
    func kind(_ index: Int) -> FieldName.SegmentKind
    @_lifetime(borrow self)
    func segment(_ index: Int) -> Span<UInt8>
    /// The name as text, for messages.
    var spelling: String { get }
}

extension FieldName: FieldSegments {}

extension Tree {
    /// Makes the root an object, when there is no root yet.
    internal mutating func makeRootObject() throws(ConversionError) {
        if root == Tree.none { root = try makeNode(.object) }
    }

    /// The root's member with that name where it is an object that field names have made, else `none`.
    internal func keyedObject(_ name: Span<UInt8>) -> Node {
        guard root != Tree.none else { return Tree.none }
        let member = child(of: root, named: name)
        return member != Tree.none && kind(member) == .keyed ? member : Tree.none
    }

    /// Puts a string last into an object under a name that no member has. Returns false, with nothing changed, where that
    /// can't be told at once, or where there is no such object: `put` is the general way.
    internal mutating func append(_ value: Span<UInt8>, to object: Node, named name: Span<UInt8>) -> Bool {
        let length = name.count &+ value.count
        guard object != Tree.none, cost &+ length &+ Tree.nodeCost <= limit else { return false }
        let (member, hash) = look(for: name, in: object)
        guard member == Tree.none else { return false }
        var record = Record(kind: .string)
        // The limit keeps both below what 32 bits hold.
        record.nameStart = Int32(truncatingIfNeeded: bytes.count)
        record.nameCount = Int32(truncatingIfNeeded: name.count)
        record.valueStart = record.nameStart &+ record.nameCount
        record.valueCount = Int32(truncatingIfNeeded: value.count)
        bytes.append(name, value)
        records.append(record, lastBelow: Int(object))
        enterLast(of: object, hash)
        return true
    }

    /// The member with that name, or `none`; and its hash, where the object's members are in the index.
    @inline(__always)
    private func look(for name: Span<UInt8>, in object: Node) -> (member: Node, hash: Int?) {
        guard kind(object).hasNames, childCount(object) > TreeIndex.threshold else {
            return (child(of: object, named: name), nil)
        }
        let hash = index.hash(object, name)
        return (find(name, in: object, hash: hash), hash)
    }

    /// Makes the last member of an object known to the index, in which `look` didn't find it.
    @inline(__always)
    private mutating func enterLast(of object: Node, _ hash: Int?) {
        if let hash {
            enterNew(records[Int(object)].last, hash: hash)
        } else {
            enterLast(of: object)
        }
    }

    /// The root's or another object's member with that name, an object or array that field names have made, or else a new one: there
    /// is room for it. `none` where something else has that name, or where there is no such object.
    internal mutating func container(_ kind: Kind, in object: Node, named name: Span<UInt8>) -> Node {
        guard object == root || self.kind(object) == .keyed else { return Tree.none }
        let (member, hash) = look(for: name, in: object)
        if member != Tree.none {
            return records[Int(member)].kind == kind && !records[Int(member)].isSpliced ? member : Tree.none
        }
        var record = Record(kind: kind)
        // The limit keeps both below what 32 bits hold.
        record.nameStart = Int32(truncatingIfNeeded: bytes.count)
        record.nameCount = Int32(truncatingIfNeeded: name.count)
        bytes.append(contentsOf: name)
        records.append(record, lastBelow: Int(object))
        enterLast(of: object, hash)
        return Node(records.count - 1)
    }

    /// Puts a string last into an array that field names have made. Returns false, with nothing changed, where it is none, or
    /// the limit is reached.
    internal mutating func append(_ value: Span<UInt8>, to array: Node) -> Bool {
        guard kind(array) == .array, cost &+ value.count &+ Tree.nodeCost <= limit else { return false }
        var record = Record(kind: .string)
        // The limit keeps both below what 32 bits hold.
        record.valueStart = Int32(truncatingIfNeeded: bytes.count)
        record.valueCount = Int32(truncatingIfNeeded: value.count)
        bytes.append(contentsOf: value)
        records.append(record, lastBelow: Int(array))
        return true
    }

    /// The node of a text field, or of what it says where types are wanted.
    internal mutating func makeScalar(
        _ text: Span<UInt8>, isTyped: Bool
    ) throws(ConversionError) -> Node {
        if isTyped {
            if text.isEqual(to: "true") { return try makeNode(.yes) }
            if text.isEqual(to: "false") { return try makeNode(.no) }
            if text.isSafeNumber { return try makeText(.number, text) }
        }
        return try makeText(.string, text)
    }

    /// As above, for bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func makeScalar(
        _ bytes: ByteStore, _ range: Range<Int>, isTyped: Bool
    ) throws(ConversionError) -> Node {
        try makeScalar(bytes.slice(range), isTyped: isTyped)
    }

    /// Puts a new value at the place that a field's name gives it. Errors name `field`, or else what `name` spells.
    ///
    /// - Parameter groups: whether `a[][b]` may go on with the last element of the array; false: each `[]` begins one.
    internal mutating func put(
        _ value: Node, at name: borrowing some FieldSegments, duplicates: DuplicatePolicy, groups: Bool = true,
        field: [UInt8]? = nil
    ) throws(ConversionError) {
        var parent = root
        let last = name.segmentCount - 1
        for depth in 0..<last { parent = try descend(from: parent, name, depth, groups: groups, field: field) }
        try put(value, at: name, in: parent, duplicates: duplicates, field: field)
    }

    /// As above, for a field of a body, whose neighbours often have the first segments of its name. `trail` has the
    /// containers that the name placed last led through, as far as keys alone name them: no field moves those.
    internal mutating func put(
        _ value: Node, at name: borrowing FieldName, along trail: inout [Node], duplicates: DuplicatePolicy
    ) throws(ConversionError) {
        let last = name.segmentCount - 1
        var depth = min(name.sharedCount, trail.count, last)
        // The segment after it says what a container is; where that differs, the way down says what is wrong.
        if depth > 0, records[Int(trail[depth - 1])].kind != (name.kind(depth) == .push ? .array : .keyed) { depth = 0 }
        var parent = depth > 0 ? trail[depth - 1] : root
        if trail.count > depth { trail.removeLast(trail.count - depth) }
        while depth < last {
            parent = try descend(from: parent, name, depth, groups: true, field: nil)
            if trail.count == depth, name.kind(depth) == .key { trail.append(parent) }
            depth += 1
        }
        try put(value, at: name, in: parent, duplicates: duplicates, field: nil)
    }

    /// Puts a new value into the container of its name's last segment.
    private mutating func put(
        _ value: Node, at name: borrowing some FieldSegments, in parent: Node, duplicates: DuplicatePolicy,
        field: [UInt8]?
    ) throws(ConversionError) {
        let last = name.segmentCount - 1
        guard name.kind(last) == .key else { return append(value, to: parent) }
        let key = name.segment(last)
        let existing = child(of: parent, named: key)
        guard existing != Tree.none else { return try append(value, to: parent, named: key) }
        let record = records[Int(existing)]
        guard !record.kind.isContainer || record.kind == .collected || record.isSpliced else {
            throw conflict(field, name)
        }
        switch duplicates {
        case .array, .keep: try collect(value, with: existing)
        case .first: removedCount += leafCount(value)
        case .last:
            removedCount += leafCount(existing)
            replace(existing, by: value)
        case .reject: throw Self.duplicate(Self.text(field, name))
        }
    }

    @inline(never)
    internal static func duplicate(_ field: String) -> ConversionError {
        ConversionError(
            .malformed, code: "form_duplicate", reason: "the field is there more than once", field: field,
            setting: "duplicates")
    }

    /// Makes an array of all values that one name has.
    internal mutating func collect(_ value: Node, with existing: Node) throws(ConversionError) {
        var array = existing
        if records[Int(existing)].kind != .collected {
            array = try makeNode(.collected)
            replace(existing, by: array)
            append(existing, to: array)
        }
        guard records[Int(value)].kind == .collected else { return append(value, to: array) }
        var child = records[Int(value)].first
        while child != Tree.none {
            let next = records[Int(child)].next
            append(child, to: array)
            child = next
        }
    }

    /// Goes one segment down, to the container for the segment after it.
    private mutating func descend(
        from parent: Node, _ name: borrowing some FieldSegments, _ depth: Int, groups: Bool, field: [UInt8]?
    ) throws(ConversionError) -> Node {
        let kind: Kind = name.kind(depth + 1) == .push ? .array : .keyed
        if name.kind(depth) == .push {
            let last = records[Int(parent)].last
            if groups, kind == .keyed, last != Tree.none, records[Int(last)].kind == .keyed,
                !has(name, from: depth + 1, in: last)
            {
                return last
            }
            let node = try makeNode(kind)
            append(node, to: parent)
            return node
        }
        let existing = child(of: parent, named: name.segment(depth))
        guard existing == Tree.none else {
            guard records[Int(existing)].kind == kind, !records[Int(existing)].isSpliced else {
                throw conflict(field, name)
            }
            return existing
        }
        let node = try makeNode(kind)
        try append(node, to: parent, named: name.segment(depth))
        return node
    }

    /// Whether `node` has the whole rest of a path already, so that the next object of an array must begin. A rest with a
    /// push goes on with the object that is there.
    private func has(_ name: borrowing some FieldSegments, from start: Int, in node: Node) -> Bool {
        for depth in start..<name.segmentCount where name.kind(depth) == .push { return false }
        var at = node
        for depth in start..<name.segmentCount {
            at = child(of: at, named: name.segment(depth))
            if at == Tree.none { return false }
        }
        return true
    }

    private static func text(_ field: [UInt8]?, _ name: borrowing some FieldSegments) -> String {
        if let field { return field.span.lossyString() }
        return name.spelling
    }

    @inline(never)
    internal func conflict(_ field: [UInt8]?, _ name: borrowing some FieldSegments) -> ConversionError {
        ConversionError(
            .malformed, code: "form_conflict",
            reason: "the name wants an object, an array or a value where another field has put something else",
            field: Self.text(field, name))
    }

    /// Decides what the containers made by names are: an array where the keys are exactly 0…n-1, else an object.
    internal mutating func settle(numbersMakeArrays: Bool) {
        for at in records.indices where records[at].kind == .keyed {
            records[at].kind = .object
            if numbersMakeArrays, orderByIndex(Node(at)) { records[at].kind = .array }
        }
    }

    /// Whether the members' names are exactly 0…n-1.
    internal func numbersItsMembers(_ node: Node) -> Bool {
        let count = Int(records[Int(node)].count)
        var child = records[Int(node)].first
        while child != Tree.none {
            guard let index = name(child).canonicalIndex, index < count else { return false }
            child = records[Int(child)].next
        }
        return count > 0
    }

    /// Orders the members by their keys and returns true, when these are exactly 0…n-1.
    private mutating func orderByIndex(_ node: Node) -> Bool {
        guard numbersItsMembers(node) else { return false }
        let count = Int(records[Int(node)].count)
        scratch.removeAll(keepingCapacity: true)
        var child = records[Int(node)].first
        while child != Tree.none {
            scratch.append(child)
            child = records[Int(child)].next
        }
        // The names are distinct, so each place is taken once. Cycles are followed in place.
        for start in 0..<count {
            var wanted = name(scratch[start]).canonicalIndex ?? start
            while wanted != start {
                scratch.swapAt(start, wanted)
                wanted = name(scratch[start]).canonicalIndex ?? start
            }
        }
        relinkScratch(below: node)
        return true
    }
}
