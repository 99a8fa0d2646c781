internal import Octets
public import Transcoding

/// Writes a program's own types in every format of this module, or turns them into a `Value`.
///
/// ```swift
/// struct Order: Encodable { var sku: String; var quantity: Int; var note: String? }
/// let body = try ValueEncoder().encode(Order(sku: "A", quantity: 2, note: nil), as: .json)
/// ```
///
/// Members come in the order in which the type first names them. A name that is encoded twice has its last value, and
/// containers that are asked for twice under one name are one, as with Foundation's `JSONEncoder`: a class and its superclass
/// may both write into the same object. `Value`, `Timestamp` and `[UInt8]` go in as they are: null, dates and bytes.
///
/// Integers of every width are written with all their digits, a `Double` or `Float` with the shortest text that reads back the
/// same: 5 is `5.0`. Property lists have a `Double` in the place of a `Float`, exactly the same number. What is encoded is held in memory
/// until it is complete, at most 2 GiB. Readers have limits of their own for a document, see `DocumentOptions.limits`.
public struct ValueEncoder: Sendable {
    /// What becomes of an optional property that is nil, which Swift's synthesized `encode(to:)` says without a value.
    public enum NilStrategy: Hashable, Sendable, CaseIterable {
        /// The member is left out.
        case omit
        /// The member is null. Of that JSON makes `null`, and a form or a multipart body what `FieldEncodingOptions.nulls`
        /// says: `a=`, `a`, `a=null`, nothing, or an error.
        case null
    }

    /// Gives the value for types that know no better: `Foundation.Date`, for one, which encodes itself as a bare number. Nil
    /// where the type's own way is right; an error ends the encoding. It is asked for every value, so a document is encoded
    /// faster without one.
    ///
    /// ```swift
    /// encoder.transform = { value in
    ///     guard let date = value as? Date else { return nil }
    ///     guard let time = Timestamp(secondsSince1970: date.timeIntervalSince1970) else { throw DateBeyondYear9999() }
    ///     return .date(time)
    /// }
    /// ```
    public var transform: @Sendable (any Encodable) throws -> Value? {
        get { chosenTransform ?? { _ in nil } }
        set { chosenTransform = newValue }
    }
    fileprivate var chosenTransform: (@Sendable (any Encodable) throws -> Value?)?
    /// What becomes of optional properties that are nil: they are left out at first. A nil in an array is a null either way.
    public var nils = NilStrategy.omit
    /// What types that encode themselves find in `userInfo` of their encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// An encoder without a transform, which leaves nil out.
    public init() {}

    /// The value that `source` encodes itself as.
    ///
    /// Throws what the type's `encode(to:)` throws, and EncodingError for a type that encodes nothing, for one that encodes two
    /// values in one place, as an object and an array, or two numbers, and for more than 128 nested containers, those of a `Value`
    /// included.
    public func encode(_ source: some Encodable) throws -> Value {
        let document = try document(of: source)
        return document.tree.value(of: document.tree.root, setsAreCollected: true)
    }

    /// The document that `source` encodes itself as, without a `Value` in between.
    ///
    /// - Parameters:
    ///   - source: an object or an array for a form, a property list and XML; JSON takes any value.
    ///   - format: the format of the document.
    ///   - options: the options of the format; `limits.depth` bounds the nesting, besides the 128 that no type may pass.
    /// - Throws: what `encode(_:)` throws, and a `ConversionError` whose `field` is the JSON Pointer to a value that the format
    ///   can't carry: `value_number` for a number that is not finite, `value_set`, `limit_depth`; and what
    ///   `Value.encoded(as:options:)` throws.
    public func encode(
        _ source: some Encodable, as format: DocumentFormat, options: DocumentOptions = DocumentOptions()
    ) throws -> [UInt8] {
        let document = EncodedDocument(self, ValueSpelling(for: format, options))
        try document.take(source)
        return try document.tree.document(as: format, options: options)
    }

    /// What `source` encodes itself as, for a writer of its own, with all that a `Value` has; `widensFloats` as in `ValueSpelling`.
    internal func document(of source: some Encodable, widensFloats: Bool = false) throws -> EncodedDocument {
        let document = EncodedDocument(self, nil, widensFloats: widensFloats)
        try document.take(source)
        return document
    }
}

/// The document that a type encodes itself into: a `Tree`, which every codec writes.
///
/// Containers are a reference to the document and the node that they fill, so it doesn't matter in which order they are written
/// to. A node that nothing has been encoded into is `keyed`, which is written as an object without members, as Foundation has
/// it; `object` and `array` are what a container was asked for. Without a spelling, which is on the way to a `Value`, a set is
/// `collected`.
internal final class EncodedDocument {
    // SAFETY: one call of `encode` uses the document, and no function of the tree runs the code of a type while it has the
    // tree. The checks at run time were a twentieth of the time.
    @safe @exclusivity(unchecked) var tree: Tree
    /// What a container could not throw where it was asked for.
    private var fault: (any Error)?
    /// The same, until the value is known whose type asked for it.
    private var refusal: EncodingError.Context?
    private let transform: (@Sendable (any Encodable) throws -> Value?)?
    fileprivate let writesNil: Bool
    fileprivate let userInfo: [CodingUserInfoKey: any Sendable]
    /// How dates, sets and numbers are written; nil on the way to a `Value`, which has them all.
    fileprivate let spelling: ValueSpelling?
    /// As `ValueSpelling.widensFloats`, which is known without a spelling, too.
    private let widensFloats: Bool
    private var steps = CodingSteps()

    fileprivate static var depthLimit: Int { 128 }
    /// The containers that may be open at a time.
    private var depthBound = depthLimit
    /// Whether an object of a value has two members of one name, which is known without a spelling.
    private(set) var hasRepeated = false
    /// Whether a value was refused for `depthBound`.
    private var isTooDeep = false

    fileprivate init(_ settings: ValueEncoder, _ spelling: ValueSpelling?, widensFloats: Bool = false) {
        var limits = Limits()
        limits.tree = .max
        tree = Tree(limits: limits)
        transform = settings.chosenTransform
        writesNil = settings.nils == .null
        userInfo = settings.userInfo
        self.spelling = spelling
        self.widensFloats = spelling?.widensFloats ?? widensFloats
    }

    fileprivate func take<Source: Encodable>(_ source: Source) throws {
        let root = try tree.makeNode(.keyed)
        tree.root = root
        try encode(source, into: root, at: CodingSteps.none)
        if let fault { throw fault }
        guard tree.kind(root) != .keyed else {
            throw EncodingError.invalidValue(
                source, .init(codingPath: [], debugDescription: "the type encodes no value"))
        }
    }

    /// The document that a value is.
    internal convenience init(of value: Value) throws {
        self.init(ValueEncoder(), nil)
        // It is there already, and is only to be read.
        depthBound = .max
        try take(value)
    }

    internal func swapTree(with other: inout Tree) { swap(&tree, &other) }

    // MARK: Paths

    fileprivate func depth(of step: Int32) -> Int { steps.depth(of: step) }
    fileprivate func path(of step: Int32) -> [any CodingKey] { steps.path(of: step, in: tree) }
    fileprivate func step(from parent: Int32, _ name: TextRange, _ keyType: (any CodingKey.Type)?) -> Int32 {
        steps.add(below: parent, name, keyType)
    }

    // MARK: Values

    /// Whether values of the type go into a node by `put`, and nothing else has to be asked about them.
    @inline(__always)
    fileprivate func takes<T>(_ type: T.Type) -> Bool { transform == nil && Scalar.holds(type) }

    /// Encodes a value under a key, in a node of its own that is not seen before it is complete.
    fileprivate func node<T: Encodable>(
        for value: T, from parent: Int32, _ name: TextRange, _ keyType: (any CodingKey.Type)?
    ) throws -> Tree.Node {
        let node = try tree.makeNode(.keyed)
        try encode(value, into: node, at: step(from: parent, name, keyType))
        return node
    }

    fileprivate func encode<T: Encodable>(_ value: T, into node: Tree.Node, at step: Int32) throws {
        if let transform, let value = try transform(value) { return try put(value, into: node, at: step) }
        if Scalar.holds(T.self) {
            return try orPlaced(step) { () throws(ConversionError) in try put(scalar: value, into: node) }
        }
        if T.self == [UInt8].self, let bytes = value as? [UInt8] { return try tree.setText(node, .data, bytes.span) }
        if T.self == Timestamp.self, let time = value as? Timestamp {
            return try put(.date(time), into: node, at: step)
        }
        if T.self == Value.self, let value = value as? Value {
            return try put(value, into: node, at: step)
        }
        guard depth(of: step) <= Self.depthLimit else { throw EncodingError.invalidValue(value, tooDeep(step)) }
        try value.encode(to: NodeEncoder(document: self, node: node, step: step))
        if let context = refusal {
            refusal = nil
            refuse(EncodingError.invalidValue(value, context))
        }
    }

    /// Writes a boolean, a text or a number of Swift's into a node.
    @inline(__always)
    fileprivate func put<T>(scalar value: T, into node: Tree.Node) throws(ConversionError) {
        if T.self == String.self { return try tree.setText(node, .string, utf8: own(value)) }
        if T.self == Int.self { return try tree.setNumber(node, own(value) as Int) }
        if T.self == Bool.self { return tree.setKind(node, own(value) ? .yes : .no) }
        if T.self == Double.self {
            let number: Double = own(value)
            return try put(number: number.description, isFinite: number.isFinite, into: node)
        }
        if T.self == Float.self {
            let number: Float = own(value)
            let text = widensFloats ? Double(number).description : number.description
            return try put(number: text, isFinite: number.isFinite, into: node)
        }
        if T.self == Int64.self { return try tree.setNumber(node, own(value) as Int64) }
        if T.self == Int32.self { return try tree.setNumber(node, own(value) as Int32) }
        if T.self == Int16.self { return try tree.setNumber(node, own(value) as Int16) }
        if T.self == Int8.self { return try tree.setNumber(node, own(value) as Int8) }
        if T.self == UInt.self { return try tree.setNumber(node, own(value) as UInt) }
        if T.self == UInt64.self { return try tree.setNumber(node, own(value) as UInt64) }
        if T.self == UInt32.self { return try tree.setNumber(node, own(value) as UInt32) }
        if T.self == UInt16.self { return try tree.setNumber(node, own(value) as UInt16) }
        if T.self == UInt8.self { return try tree.setNumber(node, own(value) as UInt8) }
        if T.self == Int128.self { return try tree.setNumber(node, own(value) as Int128) }
        if T.self == UInt128.self { return try tree.setNumber(node, own(value) as UInt128) }
    }

    /// Whether a scalar can be written: what can't is refused before there is a node for it, since a type may go on without it.
    @inline(__always)
    fileprivate func carries<T>(_ value: T) -> Bool {
        if T.self == Double.self { return (own(value) as Double).isFinite || spelling == nil }
        if T.self == Float.self { return (own(value) as Float).isFinite || spelling == nil }
        return true
    }

    /// A value as what the caller knows it to be.
    @inline(__always)
    private func own<T, Own>(_ value: T) -> Own {
        // SAFETY: the cast is from a type to itself.
        unsafe unsafeBitCast(value, to: Own.self)
    }

    private func put(number text: String, isFinite: Bool, into node: Tree.Node) throws(ConversionError) {
        guard isFinite || spelling == nil else { throw ValueFault.number.error() }
        try tree.setText(node, .number, utf8: text)
    }

    private func put(_ value: Value, into node: Tree.Node, at step: Int32) throws {
        do throws(ConversionError) {
            try orPlaced(step) { () throws(ConversionError) in try put(value, into: node, depth: depth(of: step)) }
        } catch {
            throw isTooDeep ? EncodingError.invalidValue(value, tooDeep(step)) : error
        }
    }

    /// Does what can fail within the value at `step`, and puts the way to that in front of the error's.
    fileprivate func orPlaced(
        _ step: Int32, _ body: () throws(ConversionError) -> Void
    ) throws(ConversionError) {
        do throws(ConversionError) { try body() } catch { throw placed(error, at: step) }
    }

    private func placed(_ error: ConversionError, at step: Int32) -> ConversionError {
        error.below(path(of: step).map(\.stringValue))
    }

    /// The error of a scalar that is a member or an element of the value at `step`.
    @inline(never)
    fileprivate func placed(_ error: ConversionError, at step: Int32, _ name: TextRange) -> ConversionError {
        placed(error.below([tree.key(name, ValueKey.self).stringValue]), at: step)
    }

    /// Writes a value into a node, as the spelling has it. An error's field is the way from that value to the one at fault.
    private func put(_ value: Value, into node: Tree.Node, depth: Int) throws(ConversionError) {
        guard let opened = try begin(value, node, depth) else { return }
        try fill(node, with: opened, depth: depth + 1)
    }

    /// Writes a scalar into a node, or makes it a container, which is returned with what it is to hold.
    private func begin(_ value: Value, _ node: Tree.Node, _ depth: Int) throws(ConversionError) -> OpenedValue? {
        switch value {
        case .null: tree.setKind(node, .null)
        case .bool(let value): tree.setKind(node, value ? .yes : .no)
        case .number(let number): try put(number: number.text, isFinite: number.isFinite, into: node)
        case .string(let text): try tree.setText(node, .string, utf8: text)
        case .data(let bytes): try tree.setText(node, .data, bytes.span)
        case .date(let time):
            switch spelling?.dates ?? .events {
            case .events: try tree.setText(node, .date, utf8: time.description)
            case .afnetworking: try tree.setText(node, .string, utf8: time.afnetworkingText)
            case .secondsSince2001:
                try tree.setText(node, .number, utf8: Value.Number(time.secondsSince2001).text)
            }
        case .array(let elements):
            try open(node, .array, depth)
            return OpenedValue(elements)
        case .set(let elements):
            guard let spelling else {
                try open(node, .collected, depth)
                return OpenedValue(Array(elements))
            }
            guard spelling.sets != .refused else { throw ValueFault.set.error() }
            // Only the root comes here where the elements are spread.
            try open(node, spelling.sets == .spread ? .object : .array, depth)
            return spelling.sets == .spread ? OpenedValue(rootOf: elements) : OpenedValue(Value.sorted(elements))
        case .object(let members):
            if spelling?.refusesRepeated ?? true, members.repeatedName != nil {
                guard spelling == nil else { throw ValueFault.repeated.error() }
                hasRepeated = true
            }
            try open(node, .object, depth)
            return OpenedValue(members)
        }
        return nil
    }

    private func open(_ node: Tree.Node, _ kind: Tree.Kind, _ depth: Int) throws(ConversionError) {
        if let spelling, depth >= spelling.depth { throw Self.depthPassed(spelling) }
        guard depth < depthBound else {
            isTooDeep = true
            throw .limit("depth", of: depthBound, what: "the nesting of the value")
        }
        tree.setKind(node, kind)
    }

    /// Appends to a node what is in `opened`, and all that stands below. The elements of a set that go out one by one become elements
    /// or members of what is around it, also under a name that another member has.
    private func fill(_ node: Tree.Node, with opened: OpenedValue, depth: Int) throws(ConversionError) {
        var open = [(value: opened, node: node)]
        var depth = depth
        do throws(ConversionError) {
            while let last = open.indices.last {
                guard let (name, value) = open[last].value.next() else {
                    if open.removeLast().value.end != .nothing { depth -= 1 }
                    continue
                }
                let parent = open[last].node
                if case .set(let elements) = value, spelling?.sets == .spread {
                    open.append((OpenedValue(spreading: elements, under: name), parent))
                    continue
                }
                let node = try tree.makeNode(.keyed)
                if let name {
                    try tree.append(node, to: parent, named: name)
                } else {
                    tree.append(node, to: parent)
                }
                guard let opened = try begin(value, node, depth) else { continue }
                open.append((opened, node))
                depth += 1
            }
        } catch {
            throw error.below(path(of: open))
        }
    }

    /// Where the value that was taken last stands, by what the tree has of it.
    private func path(of open: [(value: OpenedValue, node: Tree.Node)]) -> [String] {
        var path: [String] = []
        for (index, level) in open.enumerated() where index + 1 == open.count || open[index + 1].value.end != .nothing {
            if case .elements = level.value.content {
                path.append(String(tree.childCount(level.node) - 1))
            } else {
                path.append(level.value.step)
            }
        }
        return path
    }

    /// Appends the elements of a set that go out one by one, to an array or, each under the set's name, to an object.
    fileprivate func append(
        _ set: Set<Value>, named name: String? = nil, to parent: Tree.Node, depth: Int
    ) throws(ConversionError) {
        try fill(parent, with: OpenedValue(spreading: set, under: name), depth: depth + 1)
    }

    /// The elements of a value that is a set, where they become members or elements of its parent.
    fileprivate func spreads<T: Encodable>(_ value: T) throws -> Set<Value>? {
        guard spelling?.sets == .spread else { return nil }
        let made = try transform.flatMap { try $0(value) } ?? (T.self == Value.self ? value as? Value : nil)
        if case .set(let elements)? = made { return elements }
        return nil
    }

    // MARK: Containers

    /// Makes a node that nothing is in a container, or leaves the one that it is. What it can't become is a fault.
    fileprivate func begin(_ kind: Tree.Kind, _ node: Tree.Node, at step: Int32) {
        let depth = depth(of: step)
        if let spelling, depth >= spelling.depth { refuse(placed(Self.depthPassed(spelling), at: step)) }
        let found = tree.kind(node)
        if found == .keyed { tree.setKind(node, kind) }
        guard refusal == nil else { return }
        if depth >= Self.depthLimit {
            refusal = tooDeep(step)
        } else if found != .keyed, found != kind {
            refusal = occupied(step, by: found == .object ? "an object" : found == .array ? "an array" : "a value")
        }
    }

    private func refuse(_ error: any Error) {
        if fault == nil { fault = error }
    }

    /// Why nothing more can be encoded where something stands.
    fileprivate func occupied(_ step: Int32, by what: String = "a value") -> EncodingError.Context {
        .init(codingPath: path(of: step), debugDescription: "\(what) is encoded in this place already")
    }

    private func tooDeep(_ step: Int32) -> EncodingError.Context {
        .init(codingPath: path(of: step), debugDescription: "more than \(Self.depthLimit) nested containers")
    }

    private static func depthPassed(_ spelling: ValueSpelling) -> ConversionError {
        .limit("depth", of: spelling.depth, what: "the nesting of the value")
    }
}

/// Swift's types of one value, which a document holds without asking them how.
internal enum Scalar {
    @inline(__always)
    static func holds<T>(_ type: T.Type) -> Bool {
        T.self == String.self || T.self == Int.self || T.self == Bool.self || T.self == Double.self
            || T.self == Float.self || T.self == Int64.self || T.self == Int32.self || T.self == Int16.self
            || T.self == Int8.self || T.self == UInt.self || T.self == UInt64.self || T.self == UInt32.self
            || T.self == UInt16.self || T.self == UInt8.self || T.self == Int128.self || T.self == UInt128.self
    }
}

/// A node to encode into: the encoder of a type, and its container for one value.
private struct NodeEncoder: Encoder, SingleValueEncodingContainer {
    let document: EncodedDocument
    let node: Tree.Node
    let step: Int32

    var codingPath: [any CodingKey] { document.path(of: step) }
    var userInfo: [CodingUserInfoKey: Any] { document.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        document.begin(.object, node, at: step)
        return KeyedEncodingContainer(KeyedNode(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        document.begin(.array, node, at: step)
        return UnkeyedNode(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// The encoder of a member or an element of this node.
    func child(_ node: Tree.Node, _ name: TextRange, _ keyType: (any CodingKey.Type)?) -> NodeEncoder {
        NodeEncoder(document: document, node: node, step: document.step(from: step, name, keyType))
    }

    /// A place has one value: a second one would take the first away unseen.
    @inline(__always)
    private func checkEmpty(for value: @autoclosure () -> Any) throws {
        guard document.tree.kind(node) == .keyed else {
            throw EncodingError.invalidValue(value(), document.occupied(step))
        }
    }

    mutating func encodeNil() throws {
        try checkEmpty(for: Any?.none as Any)
        document.tree.setKind(node, .null)
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try checkEmpty(for: value)
        if document.takes(T.self) {
            return try document.orPlaced(step) { () throws(ConversionError) in
                try document.put(scalar: value, into: node)
            }
        }
        do {
            try document.encode(value, into: node, at: step)
        } catch {
            document.tree.clear(node)
            throw error
        }
        if document.tree.kind(node) == .keyed { document.tree.setKind(node, .object) }
    }

    // The library has functions of its own for these two, which refuse.
    mutating func encode(_ value: Int128) throws { try encodeWide(value) }
    mutating func encode(_ value: UInt128) throws { try encodeWide(value) }
    private mutating func encodeWide<T: Encodable>(_ value: T) throws { try encode(value) }
}

private struct KeyedNode<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    mutating func encodeNil(forKey key: Key) throws {
        let node = try encoder.document.tree.makeMember(key.stringValue, of: encoder.node)
        encoder.document.tree.setKind(node, .null)
    }

    @inline(__always)
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let document = encoder.document
        if document.takes(T.self) {
            guard document.carries(value) else {
                let name = try document.tree.store(utf8: key.stringValue)
                throw document.placed(ValueFault.number.error(), at: encoder.step, name)
            }
            let node = try document.tree.makeMember(key.stringValue, of: encoder.node)
            do throws(ConversionError) { return try document.put(scalar: value, into: node) } catch {
                throw document.placed(error, at: encoder.step, document.tree.nameRange(node))
            }
        }
        try encodeGeneral(value, forKey: key)
    }

    // The library has functions of its own for these two, which refuse.
    mutating func encode(_ value: Int128, forKey key: Key) throws { try encodeWide(value, key) }
    mutating func encode(_ value: UInt128, forKey key: Key) throws { try encodeWide(value, key) }
    private mutating func encodeWide<T: Encodable>(_ value: T, _ key: Key) throws { try encode(value, forKey: key) }

    @inline(never)
    private func encodeGeneral<T: Encodable>(_ value: T, forKey key: Key) throws {
        let document = encoder.document
        if let set = try document.spreads(value) {
            return try document.orPlaced(encoder.step) { () throws(ConversionError) in
                let depth = document.depth(of: encoder.step)
                try document.append(set, named: key.stringValue, to: encoder.node, depth: depth)
            }
        }
        let name = try document.tree.store(utf8: key.stringValue)
        let node = try document.node(for: value, from: encoder.step, name, Key.self)
        document.tree.put(node, named: name, below: encoder.node)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        child(key, isNew: false).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(key, isNew: false).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { child(ValueKey("super"), isNew: true) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { child(key, isNew: true) }

    /// The encoder of the member under a key, or of a new one, whatever stood there.
    private func child<MemberKey: CodingKey>(_ key: MemberKey, isNew: Bool) -> NodeEncoder {
        let node = encoder.document.member(key.stringValue, of: encoder.node, isNew: isNew)
        return encoder.child(node, encoder.document.tree.nameRange(node), MemberKey.self)
    }

    // What synthesized code calls for optional properties.

    @inline(__always)
    private mutating func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
        if let value {
            try encode(value, forKey: key)
        } else if encoder.document.writesNil {
            try encodeNil(forKey: key)
        }
    }

    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, key) }
}

private struct UnkeyedNode: UnkeyedEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.document.tree.childCount(encoder.node) }

    mutating func encodeNil() throws {
        let node = try encoder.document.tree.makeElement(of: encoder.node)
        encoder.document.tree.setKind(node, .null)
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let document = encoder.document
        if document.takes(T.self) {
            guard document.carries(value) else {
                throw document.placed(ValueFault.number.error(), at: encoder.step, TextRange(index: count))
            }
            let node = try document.tree.makeElement(of: encoder.node)
            do throws(ConversionError) { return try document.put(scalar: value, into: node) } catch {
                throw document.placed(error, at: encoder.step, TextRange(index: count - 1))
            }
        }
        if let set = try document.spreads(value) {
            return try document.orPlaced(encoder.step) { () throws(ConversionError) in
                try document.append(set, to: encoder.node, depth: document.depth(of: encoder.step))
            }
        }
        let node = try document.node(for: value, from: encoder.step, TextRange(index: count), nil)
        document.tree.append(node, to: encoder.node)
    }

    // The library has functions of its own for these two, which refuse.
    mutating func encode(_ value: Int128) throws { try encodeWide(value) }
    mutating func encode(_ value: UInt128) throws { try encodeWide(value) }
    private mutating func encodeWide<T: Encodable>(_ value: T) throws { try encode(value) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        child().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { child() }

    private func child() -> NodeEncoder {
        let index = TextRange(index: count)
        return encoder.child(encoder.document.element(of: encoder.node), index, nil)
    }
}

extension EncodedDocument {
    /// The member of that name for a container, which can't throw: beyond the bound of memory it is the parent itself, and
    /// the fault ends the encoding.
    fileprivate func member(_ name: String, of parent: Tree.Node, isNew: Bool) -> Tree.Node {
        orFault(parent) { () throws(ConversionError) in
            if !isNew {
                let member = tree.child(of: parent, named: Array(name.utf8).span)
                if member != Tree.none { return member }
            }
            return try tree.makeMember(name, of: parent)
        }
    }

    fileprivate func element(of parent: Tree.Node) -> Tree.Node {
        orFault(parent) { () throws(ConversionError) in try tree.makeElement(of: parent) }
    }

    private func orFault(
        _ parent: Tree.Node, _ body: () throws(ConversionError) -> Tree.Node
    ) -> Tree.Node {
        do throws(ConversionError) { return try body() } catch {
            refuse(error)
            return parent
        }
    }
}

// What the encoder does to its tree.
extension Tree {
    /// Appends the UTF-8 of a text to the pool.
    internal mutating func store(utf8 text: String) throws(ConversionError) -> TextRange {
        let count = text.utf8.count
        try charge(bytes: count)
        let start = Int32(bytes.count)
        // SAFETY: the buffer is used only inside the closure, which copies.
        let isStored: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
            unsafe bytes.append(contentsOf: Span(_unsafeElements: $0))
        }
        if isStored == nil { bytes.append(contentsOf: Array(text.utf8)) }
        return TextRange(start: start, count: Int32(count))
    }

    fileprivate mutating func setText(_ node: Node, _ kind: Kind, utf8 text: String) throws(ConversionError) {
        let range = try store(utf8: text)
        setText(node, kind, start: range.start, count: range.count)
    }

    @inline(__always)
    fileprivate mutating func setNumber(_ node: Node, _ value: some FixedWidthInteger) throws(ConversionError) {
        guard let small = Int(exactly: value) else { return try setText(node, .number, utf8: String(value)) }
        try setNumber(node, small)
    }

    /// A member that nothing is in, in the place of the one that had its name.
    fileprivate mutating func makeMember(_ name: String, of parent: Node) throws(ConversionError) -> Node {
        let name = try store(utf8: name)
        return try makeMember(nameStart: name.start, nameCount: name.count, of: parent)
    }

    fileprivate mutating func put(_ node: Node, named name: TextRange, below parent: Node) {
        put(node, nameStart: name.start, nameCount: name.count, below: parent)
    }

    fileprivate mutating func append(
        _ node: Node, to parent: Node, named name: String
    ) throws(ConversionError) {
        let range = try store(utf8: name)
        link(node, to: parent, nameStart: range.start, nameCount: range.count)
    }

    /// Takes away what was encoded into a node.
    fileprivate mutating func clear(_ node: Node) {
        clearChildren(node)
        setKind(node, .keyed)
    }
}

/// Bytes in the pool of a tree, or the index of an element in their place.
internal struct TextRange {
    var start: Int32
    var count: Int32

    init(start: Int32, count: Int32) { (self.start, self.count) = (start, count) }
    init(index: Int) { self.init(start: Int32(truncatingIfNeeded: index), count: -1) }
}

extension Tree {
    internal func nameRange(_ node: Node) -> TextRange {
        let range = nameRange(of: node)
        return TextRange(start: range.start, count: range.count)
    }

    /// The key of a coding path: of its own type, where that has one of the name.
    internal func key(_ name: TextRange, _ type: (any CodingKey.Type)?) -> any CodingKey {
        guard name.count >= 0, let type else { return ValueKey(Int(name.start)) }
        let text = slice(name.start, name.count).lossyString()
        return type.init(stringValue: text) ?? ValueKey(text)
    }
}

/// The steps of all coding paths of a document, of which keys are made only where something asks for a path. They stay: a type may keep
/// its encoder or decoder, and use it when there have been others since.
internal struct CodingSteps {
    private struct Step {
        var parent: Int32
        var depth: Int32
        /// The bytes of the key's name in the tree's pool, or the index of an element.
        var name: TextRange
        /// The type of the key; nil for an element.
        var keyType: (any CodingKey.Type)?
    }

    /// The path of the document's root.
    static var none: Int32 { -1 }

    private var steps: [Step] = []

    func depth(of step: Int32) -> Int { step < 0 ? 0 : Int(steps[Int(step)].depth) }

    mutating func add(below parent: Int32, _ name: TextRange, _ keyType: (any CodingKey.Type)?) -> Int32 {
        steps.append(Step(parent: parent, depth: Int32(depth(of: parent)) + 1, name: name, keyType: keyType))
        return Int32(steps.count - 1)
    }

    func path(of step: Int32, in tree: borrowing Tree) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var at = step
        while at >= 0, Int(at) < steps.count {
            let step = steps[Int(at)]
            path.append(tree.key(step.name, step.keyType))
            at = step.parent
        }
        return path.reversed()
    }
}

/// A key made of a name or an index, where the type has none.
internal struct ValueKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) { (stringValue, intValue) = (name, nil) }
    init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

extension Value: Encodable {
    /// Encodes the value with another encoder. Bytes are an array of numbers, a date is its text.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: ValueKey.self)
            for member in members { try container.encode(member.value, forKey: ValueKey(member.key)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .set(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .data(let bytes):
            var container = encoder.singleValueContainer()
            try container.encode(bytes)
        case .date(let time):
            var container = encoder.singleValueContainer()
            try container.encode(time.description)
        case .number(let number):
            var container = encoder.singleValueContainer()
            if let int = Int64(number.text) {
                try container.encode(int)
            } else if let int = UInt64(number.text) {
                try container.encode(int)
            } else {
                try container.encode(number.double)
            }
        }
    }
}

extension Timestamp: Codable {
    /// Encodes the time as the text of RFC 3339.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Reads the text of RFC 3339.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let time = Timestamp(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time of RFC 3339")
        }
        self = time
    }
}
