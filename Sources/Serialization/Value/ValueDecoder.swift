internal import Octets
public import Transcoding

/// Makes a program's own types of a document in any format of this module, or of a `Value`.
///
/// ```swift
/// struct Reply: Decodable { var id: Int; var tags: [String] }
/// let reply = try ValueDecoder().decode(Reply.self, from: body, as: .json)
/// ```
///
/// Numbers must fit the type that is asked for, or it is a `typeMismatch`; nothing is rounded to an integer. Bytes are read from base64
/// and times from the text of RFC 3339, which is what JSON, forms and XML have of them. A document has at most `Limits.depth` levels, 128;
/// types are made in 512 at most, whatever that says, since each takes room on the stack. With `readsText`, a string that is a number or a
/// boolean is read as one, which forms need because all they have is text:
///
/// ```swift
/// let decoder = ValueDecoder(reading: .php)
/// ```
public struct ValueDecoder: Sendable {
    /// Makes an instance of a type that knows no better, as `Foundation.Date`; nil where the type's own way is right; an
    /// error ends the decoding, and so does an instance of another type than the one that is asked for. It is asked for every
    /// value, so a document is decoded faster without one.
    ///
    /// ```swift
    /// let times = decoder
    /// decoder.transform = { value, type in
    ///     guard type == Date.self, let time = try? times.decode(Timestamp.self, from: value) else { return nil }
    ///     return Date(timeIntervalSince1970: time.secondsSince1970)
    /// }
    /// ```
    public var transform: @Sendable (Value, any Decodable.Type) throws -> (any Decodable)? {
        get { chosenTransform ?? { _, _ in nil } }
        set { chosenTransform = newValue }
    }
    fileprivate var chosenTransform: (@Sendable (Value, any Decodable.Type) throws -> (any Decodable)?)?
    /// Whether numbers, booleans and nulls are read from text, as `spelling` writes them. False at first.
    public var readsText = false
    /// How a form or a multipart body was written whose texts are read:
    ///
    /// - `booleans`: under `numeric`, `1` and `0` are booleans besides `true` and `false`.
    /// - `nulls`: under `empty` a text without characters is a nil, under `literal` the text `null`. Where a string is asked
    ///   for, the text stays: nothing tells the two apart.
    /// - `dialect`: the texts of times that `afnetworking` and `alamofire` have.
    /// - `arrays`: under `repeated` and `comma` nothing tells an array of one element from that element, so the lone value is an array
    ///   where one is asked for, a nil too. In XML it is one under any. What `empties: .marker` writes for an array without elements is
    ///   read as an array of one empty text or nil, which an array of numbers doesn't take.
    ///
    /// A form that is decoded without a `Value` in between, and of which `DocumentOptions.formDecoding` says nothing, is read by
    /// `nulls`, where that is `key`, by `arrays`, where that is `comma` or `json`, and by `nesting`, where that is `dots`, or `json`
    /// without arrays in brackets.
    public var spelling = FieldEncodingOptions()

    /// What types that decode themselves find in `userInfo` of their decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// A decoder without a transform, which reads no text as numbers.
    public init() {}

    /// A decoder for the texts of a form or a multipart body that was written in this dialect.
    public init(reading dialect: Dialect) { self.init(reading: FieldEncodingOptions(dialect: dialect)) }

    /// A decoder for the texts of a form or a multipart body that was written with these options.
    public init(reading spelling: FieldEncodingOptions) {
        readsText = true
        self.spelling = spelling
    }

    /// An instance of `type` made of `value`. Throws DecodingError with the path of what doesn't fit.
    public func decode<T: Decodable>(_ type: T.Type, from value: Value) throws -> T {
        let document = DecodedDocument(Limits(), .keep, self, setsAreCollected: true)
        try EncodedDocument(of: value).swapTree(with: &document.tree)
        return try document.decode(type)
    }

    /// An instance of `type` made of a whole document, without a `Value` in between.
    ///
    /// - Parameters:
    ///   - type: the type to make.
    ///   - bytes: the document: UTF-8 for JSON and forms, what the format says for the others.
    ///   - format: the format of the document. For a form, say `ValueDecoder(reading:)`: all it has is text. So has XML, and its
    ///     document is an object with the root element as its one member, which the type must have. An element without content is nil,
    ///     and an empty text, no bytes or an object without members where one of those is asked for.
    ///   - options: the options of the format; `limits.tree` bounds the memory. While it isn't set, it grows with the document, see
    ///     `Limits.tree(forBody:)`. `limits.fields`, 1000, and `limits.key`, 1 KiB, don't grow, see `DocumentOptions.limits`.
    /// - Throws: a `ConversionError` where the bytes are no document, as `Value.init(decoding:as:options:)` does, and a
    ///   DecodingError with the path of what doesn't fit the type.
    public func decode<T: Decodable>(
        _ type: T.Type, from bytes: Span<UInt8>, as format: DocumentFormat, options: DocumentOptions = DocumentOptions()
    ) throws -> T {
        var options = options.reading(bytes.count)
        if readsText, options.formDecoding == FieldDecodingOptions() { options.formDecoding.read(spelling) }
        let document = DecodedDocument(options.limits, options.duplicates, self, setsAreCollected: false)
        if format == .xml {
            document.takesLoneValues = readsText
            document.hasEmptyElements = options.xmlDecoding.saysNullOfEmptyElementsOnly
        }
        try document.tree.read(bytes, as: format, options: options)
        return try document.decode(type)
    }

    /// An instance of `type` made of a whole document in an array.
    public func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], as format: DocumentFormat, options: DocumentOptions = DocumentOptions()
    ) throws -> T {
        try decode(type, from: bytes.span, as: format, options: options)
    }

    /// An instance of `type` made of the UTF-8 of a text.
    public func decode<T: Decodable>(
        _ type: T.Type, from text: String, as format: DocumentFormat, options: DocumentOptions = DocumentOptions()
    ) throws -> T {
        try decode(type, from: Array(text.utf8).span, as: format, options: options)
    }
}

extension XML.DecodingOptions {
    /// Whether each null is an element without content, and none is one that says it is null.
    fileprivate var saysNullOfEmptyElementsOnly: Bool { convention == .attributes && !recognize.contains(.nulls) }
}

extension FieldDecodingOptions {
    /// Reads what was written so where reading it otherwise would make something else of it.
    fileprivate mutating func read(_ spelling: FieldEncodingOptions) {
        if spelling.nulls == .key { nulls = .key }
        if spelling.arrays == .comma || spelling.arrays == .json { arrays = spelling.arrays }
        // Names are literal under `json`, and those of arrays in brackets would be, too.
        let hasBrackets = spelling.arrays == .brackets || spelling.arrays == .indices
        if spelling.nesting == .dots || spelling.nesting == .json && !hasBrackets { nesting = spelling.nesting }
    }
}

extension Value {
    /// An instance of `type` made of this value. See `ValueDecoder`.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try ValueDecoder().decode(type, from: self)
    }
}

/// A document that a type decodes itself from: a `Tree`, which every codec builds.
///
/// Decoders and containers are a reference to the document and a node. The members of an object are looked for from the one
/// behind the last that was found, so that reading them in their order, as most types do, compares each name once.
private final class DecodedDocument {
    // SAFETY: one call of `decode` uses the document, and no function of the tree runs the code of a type while it has the
    // tree. The checks at run time were a twentieth of the time.
    @safe @exclusivity(unchecked) fileprivate var tree: Tree
    fileprivate let readsText: Bool
    fileprivate let spelling: FieldEncodingOptions
    private let transform: (@Sendable (Value, any Decodable.Type) throws -> (any Decodable)?)?
    fileprivate let userInfo: [CodingUserInfoKey: any Sendable]
    /// Whether there is a transform: looking at it counts references.
    fileprivate let hasTransform: Bool
    /// Whether a value that is no array is one of one element where an array is asked for.
    fileprivate var takesLoneValues: Bool
    /// Whether a null is an element of XML without content, which is an empty text, no bytes, or an object without members where one
    /// is asked for.
    fileprivate var hasEmptyElements = false
    /// Whether what is `collected` was a set of a `Value`; in a form it is an array.
    private let setsAreCollected: Bool
    private var steps = CodingSteps()

    /// A document whose tree is still to be read.
    init(_ limits: Limits, _ duplicates: DuplicatePolicy, _ settings: ValueDecoder, setsAreCollected: Bool) {
        tree = Tree(limits: limits, duplicates: duplicates)
        readsText = settings.readsText
        spelling = settings.spelling
        transform = settings.chosenTransform
        hasTransform = settings.chosenTransform != nil
        userInfo = settings.userInfo
        self.setsAreCollected = setsAreCollected
        takesLoneValues =
            settings.readsText && (settings.spelling.arrays == .repeated || settings.spelling.arrays == .comma)
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        tree.beginReading()
        return try decode(type, of: NodeDecoder(document: self, node: tree.root, step: CodingSteps.none))
    }

    // MARK: Paths

    fileprivate func path(of step: Int32) -> [any CodingKey] { steps.path(of: step, in: tree) }
    fileprivate func step(from parent: Int32, _ name: TextRange, _ keyType: (any CodingKey.Type)?) -> Int32 {
        steps.add(below: parent, name, keyType)
    }

    // MARK: Values

    fileprivate func value(of node: Tree.Node) -> Value { tree.value(of: node, setsAreCollected: setsAreCollected) }

    /// Decodes a member or an element of the value that `parent` decodes.
    @inline(__always)
    fileprivate func decode<T: Decodable>(
        _ type: T.Type, _ node: Tree.Node, below parent: NodeDecoder,
        _ name: @autoclosure () -> TextRange, _ keyType: (any CodingKey.Type)?
    ) throws -> T {
        if !hasTransform, Scalar.holds(T.self) {
            return try scalar(type, node) { parent.child(node, name(), keyType) }
        }
        return try decode(type, of: parent.child(node, name(), keyType))
    }

    /// Decodes one value: what the document holds for itself, or else what the type makes of it.
    @inline(never)
    fileprivate func decode<T: Decodable>(_ type: T.Type, of decoder: NodeDecoder) throws -> T {
        if hasTransform { return try decodeTransformed(type, of: decoder) }
        return try decodeOwn(type, of: decoder)
    }

    /// As above, where what the transform makes comes first.
    @inline(never)
    private func decodeTransformed<T: Decodable>(_ type: T.Type, of decoder: NodeDecoder) throws -> T {
        // Two steps: no value at all, cast to an optional type, would be a nil of it.
        guard let transform, let transformed = try transform(value(of: decoder.node), type) else {
            return try decodeOwn(type, of: decoder)
        }
        guard let made = transformed as? T else {
            throw DecodingError.typeMismatch(
                type,
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "the transform made \(Swift.type(of: transformed)) of it, and not \(type)"))
        }
        return made
    }

    /// As above, without a transform. No cast makes an optional of T here: its metadata is looked up by each call that might need
    /// it, which costs more than many a value.
    @inline(__always)
    private func decodeOwn<T: Decodable>(_ type: T.Type, of decoder: NodeDecoder) throws -> T {
        let node = decoder.node
        if Scalar.holds(T.self) { return try scalar(type, node) { decoder } }
        if T.self == Value.self { return own(value(of: node)) }
        if T.self == Timestamp.self, let made = try time(decoder) { return own(made) }
        if T.self == [UInt8].self, let made = try bytes(decoder) { return own(made) }
        // A text that may stand for nil is itself where a text is asked for.
        if tree.kind(node) == .string {
            if T.self == String?.self { return own(String?.some(tree.string(node))) }
            if T.self == Value?.self { return own(Value?.some(value(of: node))) }
        } else if !hasTransform, tree.kind(node).isArray {
            // The library's arrays look their own metadata up for each element.
            if T.self == [String].self { return own(try elements(String.self, of: decoder)) }
            if T.self == [Int].self { return own(try elements(Int.self, of: decoder)) }
            if T.self == [Double].self { return own(try elements(Double.self, of: decoder)) }
            if T.self == [Bool].self { return own(try elements(Bool.self, of: decoder)) }
            if T.self == [Float].self { return own(try elements(Float.self, of: decoder)) }
            if T.self == [Int64].self { return own(try elements(Int64.self, of: decoder)) }
            if T.self == [Int32].self { return own(try elements(Int32.self, of: decoder)) }
            if T.self == [Int16].self { return own(try elements(Int16.self, of: decoder)) }
            if T.self == [Int8].self { return own(try elements(Int8.self, of: decoder)) }
            if T.self == [UInt].self { return own(try elements(UInt.self, of: decoder)) }
            if T.self == [UInt64].self { return own(try elements(UInt64.self, of: decoder)) }
            if T.self == [UInt32].self { return own(try elements(UInt32.self, of: decoder)) }
            if T.self == [UInt16].self { return own(try elements(UInt16.self, of: decoder)) }
            if T.self == [UInt8].self { return own(try elements(UInt8.self, of: decoder)) }
        }
        guard steps.depth(of: decoder.step) <= Self.depthLimit else { throw tooDeep(decoder) }
        return try T(from: decoder)
    }

    /// Types that may decode themselves within one another. Each is on the stack until those in it are made, so a program that raises
    /// `Limits.depth`, or has a `Value` that no document was, must not leave the number to who sends it. Foundation's is the same.
    private static var depthLimit: Int { 512 }

    @inline(never)
    private func tooDeep(_ decoder: NodeDecoder) -> DecodingError {
        .dataCorrupted(
            .init(
                codingPath: decoder.codingPath,
                debugDescription: "more than \(Self.depthLimit) nested containers, each with a type of its own"))
    }

    /// The elements of an array of booleans, texts or numbers of Swift's.
    private func elements<Element: Decodable>(_ type: Element.Type, of decoder: NodeDecoder) throws -> [Element] {
        var made: [Element] = []
        made.reserveCapacity(tree.childCount(decoder.node))
        var element = tree.firstChild(decoder.node)
        while element != Tree.none {
            made.append(
                try scalar(type, element) { decoder.child(element, TextRange(index: made.count), nil) })
            element = tree.nextSibling(element)
        }
        return made
    }

    /// A boolean, a text or a number of Swift's. `decoder` says where it stands when the node has none that fits.
    @inline(__always)
    fileprivate func scalar<T>(_ type: T.Type, _ node: Tree.Node, _ decoder: () -> NodeDecoder) throws -> T {
        if T.self == String.self, let made = text(node) { return own(made) }
        if T.self == Int.self, let made = integer(Int.self, node) { return own(made) }
        if T.self == Bool.self, let made = boolean(node) { return own(made) }
        if T.self == Double.self, let made = real(node) { return own(made) }
        if T.self == Float.self, let made = single(node) { return own(made) }
        if T.self == Int64.self, let made = integer(Int64.self, node) { return own(made) }
        if T.self == Int32.self, let made = integer(Int32.self, node) { return own(made) }
        if T.self == Int16.self, let made = integer(Int16.self, node) { return own(made) }
        if T.self == Int8.self, let made = integer(Int8.self, node) { return own(made) }
        if T.self == UInt.self, let made = integer(UInt.self, node) { return own(made) }
        if T.self == UInt64.self, let made = integer(UInt64.self, node) { return own(made) }
        if T.self == UInt32.self, let made = integer(UInt32.self, node) { return own(made) }
        if T.self == UInt16.self, let made = integer(UInt16.self, node) { return own(made) }
        if T.self == UInt8.self, let made = integer(UInt8.self, node) { return own(made) }
        if T.self == Int128.self, let made = integer(Int128.self, node) { return own(made) }
        if T.self == UInt128.self, let made = integer(UInt128.self, node) { return own(made) }
        throw mismatch(type, decoder())
    }

    /// What was found, as the type that the caller knows it to be.
    @inline(__always)
    private func own<Found, T>(_ found: Found) -> T {
        // SAFETY: the cast is from a type to itself.
        unsafe unsafeBitCast(found, to: T.self)
    }

    /// Whether the value is null, or the text that was written for one.
    fileprivate func isNull(_ node: Tree.Node) -> Bool {
        let kind = tree.kind(node)
        guard readsText, kind == .string else { return kind == .null }
        switch spelling.nulls {
        case .empty: return tree.isText(node, "")
        case .literal: return tree.isText(node, "null")
        case .key, .omit, .reject: return false
        }
    }

    private func text(_ node: Tree.Node) -> String? {
        switch tree.kind(node) {
        case .string, .date: tree.string(node)
        case .null where hasEmptyElements: ""
        default: nil
        }
    }

    private func boolean(_ node: Tree.Node) -> Bool? {
        switch tree.kind(node) {
        case .yes: return true
        case .no: return false
        default: break
        }
        guard hasFieldText(node) else { return nil }
        if tree.isText(node, "true") { return true }
        if tree.isText(node, "false") { return false }
        guard spelling.booleans == .numeric else { return nil }
        if tree.isText(node, "1") { return true }
        return tree.isText(node, "0") ? false : nil
    }

    /// Whether the node has the text of a form's field, also where reading the form has made a number of it.
    private func hasFieldText(_ node: Tree.Node) -> Bool {
        let kind = tree.kind(node)
        return readsText && (kind == .string || kind == .number)
    }

    /// Whether the node has the text of a number: it is one, or may be read as one.
    @inline(__always)
    private func hasNumber(_ node: Tree.Node) -> Bool {
        let kind = tree.kind(node)
        return kind == .number || readsText && kind == .string && tree.isNumber(node)
    }

    @inline(__always)
    private func integer<T: FixedWidthInteger>(_ type: T.Type, _ node: Tree.Node) -> T? {
        let kind = tree.kind(node)
        // It is a number of JSON's, too.
        if kind == .number || readsText && kind == .string {
            if let small = tree.smallInteger(node) { return T(exactly: small) }
            if let large = tree.largeInteger(node) { return T(exactly: large) }
        }
        guard hasNumber(node) else { return nil }
        let text = tree.string(node)
        // 5.0 and 5e2 are integers, too.
        return T(text) ?? T(wholeNumber: text)
    }

    private func real(_ node: Tree.Node) -> Double? {
        let kind = tree.kind(node)
        // It is a number of JSON's, too.
        if kind == .number || readsText && kind == .string, let short = tree.shortReal(node) { return short }
        return hasNumber(node) ? fitting(Double(tree.string(node)), node) : nil
    }

    private func single(_ node: Tree.Node) -> Float? {
        hasNumber(node) ? fitting(Float(tree.string(node)), node) : nil
    }

    /// The number that a node's text became; nil where the text is that of a finite one, and too large for its type.
    private func fitting<T: BinaryFloatingPoint>(_ number: T?, _ node: Tree.Node) -> T? {
        guard let number, !number.isFinite, let last = tree.string(node).utf8.last, ASCII.isDigit(last) else {
            return number
        }
        return nil
    }

    /// The point in time; nil where the value is none and no text.
    private func time(_ decoder: NodeDecoder) throws -> Timestamp? {
        let isDate = tree.kind(decoder.node) == .date
        guard isDate || hasFieldText(decoder.node) else { return nil }
        let text = tree.string(decoder.node)
        guard let time = isDate ? Timestamp(text) : Timestamp(text, as: spelling.dialect) else {
            throw mismatch(Timestamp.self, decoder)
        }
        return time
    }

    /// The bytes; nil where the value is neither bytes nor a text.
    private func bytes(_ decoder: NodeDecoder) throws -> [UInt8]? {
        switch tree.kind(decoder.node) {
        case .data: return tree.copiedText(decoder.node)
        case .string:
            guard let bytes = Value.bytes(base64: tree.string(decoder.node)) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "the text is not base64 (RFC 4648 §4)"))
            }
            return bytes
        case .null where hasEmptyElements: return []
        default: return nil
        }
    }

    /// The object that a node is, for a container of `decoder`.
    fileprivate func object(_ decoder: NodeDecoder) throws -> Tree.Node {
        let kind = tree.kind(decoder.node)
        if kind.hasNames { return decoder.node }
        guard kind == .null, hasEmptyElements else { throw mismatch([String: Any].self, decoder) }
        return try tree.makeEmptyObject()
    }

    /// The decoder of a member that isn't there, as that of null.
    fileprivate func absent<Key: CodingKey>(_ key: Key, below parent: NodeDecoder) throws -> NodeDecoder {
        let name = try tree.store(utf8: key.stringValue)
        return parent.child(try tree.makeNode(.null), name, Key.self)
    }

    fileprivate func mismatch(_ type: Any.Type, _ decoder: NodeDecoder) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: decoder.codingPath,
            debugDescription: "found \(Self.name(of: tree.kind(decoder.node), for: type))")
        return isNull(decoder.node) ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// What a value is, for messages, which never quote it.
    private static func name(of kind: Tree.Kind, for type: Any.Type) -> String {
        switch kind {
        case .null: "null"
        case .yes, .no: "a boolean"
        case .number: type is any Numeric.Type ? "a number that doesn't fit" : "a number"
        case .string: "a string"
        case .data: "bytes"
        case .date: "a date"
        case .array, .collected: "an array"
        case .object, .keyed: "an object"
        }
    }
}

/// A node to decode from: the decoder of a type, and its container for one value.
private struct NodeDecoder: Decoder, SingleValueDecodingContainer {
    let document: DecodedDocument
    let node: Tree.Node
    let step: Int32
    /// Whether it is that of the one element of an array that the node isn't. Such an element is no array, whoever asks for one: a type
    /// that asks for arrays of itself would never end.
    var isLoneElement = false

    var codingPath: [any CodingKey] { document.path(of: step) }
    var userInfo: [CodingUserInfoKey: Any] { document.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let object = try document.object(self)
        return KeyedDecodingContainer(
            KeyedDecoder(decoder: object == node ? self : NodeDecoder(document: document, node: object, step: step)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if document.tree.kind(node).isArray { return UnkeyedDecoder(decoder: self, isLone: false) }
        // A null, too, is the one element: a type that may be without the array has asked for a nil before that.
        guard document.takesLoneValues, !isLoneElement else { throw document.mismatch([Any].self, self) }
        return UnkeyedDecoder(decoder: self, isLone: true)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// The decoder of a member or an element of this node.
    func child(_ node: Tree.Node, _ name: TextRange, _ keyType: (any CodingKey.Type)?) -> NodeDecoder {
        NodeDecoder(document: document, node: node, step: document.step(from: step, name, keyType))
    }

    func decodeNil() -> Bool { document.isNull(node) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try document.decode(type, of: self) }

    @inline(__always)
    private func own<T: Decodable>(_ type: T.Type) throws -> T {
        document.hasTransform ? try document.decode(type, of: self) : try document.scalar(type, node) { self }
    }

    // What the compiler knows the type of needs no look at it.
    func decode(_ type: Bool.Type) throws -> Bool { try own(type) }
    func decode(_ type: String.Type) throws -> String { try own(type) }
    func decode(_ type: Double.Type) throws -> Double { try own(type) }
    func decode(_ type: Float.Type) throws -> Float { try own(type) }
    func decode(_ type: Int.Type) throws -> Int { try own(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try own(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try own(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try own(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try own(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try own(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try own(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try own(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try own(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try own(type) }
    // The library has functions of its own for these two, which refuse.
    func decode(_ type: Int128.Type) throws -> Int128 { try own(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try own(type) }
}

private struct KeyedDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: NodeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] {
        var keys: [Key] = []
        var child = decoder.document.tree.firstChild(decoder.node)
        while child != Tree.none {
            if let key = Key(stringValue: decoder.document.tree.nameText(child)) { keys.append(key) }
            child = decoder.document.tree.nextSibling(child)
        }
        return keys
    }

    /// The member of that name, or `Tree.none`.
    @inline(__always)
    private func find<MemberKey: CodingKey>(_ key: MemberKey) -> Tree.Node {
        decoder.document.tree.next(named: key.stringValue, below: decoder.node)
    }

    @inline(__always)
    private func member<MemberKey: CodingKey>(_ key: MemberKey) throws -> Tree.Node {
        let node = find(key)
        if node == Tree.none { throw missing(key) }
        return node
    }

    private func missing(_ key: any CodingKey) -> DecodingError {
        .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "the object has no such member"))
    }

    @inline(__always)
    private func decode<T: Decodable>(_ type: T.Type, _ node: Tree.Node) throws -> T {
        try decoder.document.decode(type, node, below: decoder, decoder.document.tree.nameRange(node), Key.self)
    }

    func contains(_ key: Key) -> Bool { find(key) != Tree.none }
    func decodeNil(forKey key: Key) throws -> Bool { decoder.document.isNull(try member(key)) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try decode(type, member(key))
    }

    // What the compiler knows the type of needs no look at it.
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decode(type, member(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decode(type, member(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decode(type, member(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decode(type, member(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decode(type, member(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decode(type, member(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decode(type, member(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decode(type, member(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decode(type, member(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decode(type, member(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decode(type, member(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decode(type, member(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decode(type, member(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decode(type, member(key)) }
    // The library has functions of its own for these two, which refuse.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try decode(type, member(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try decode(type, member(key)) }

    /// What synthesized code calls for an optional property: a text that may stand for nil is itself where a text is asked for.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        let node = find(key)
        guard node != Tree.none, decoder.document.tree.kind(node) != .null else { return nil }
        return try decode(type, node)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? { try decodeOptional(type, key) }

    @inline(__always)
    private func decodeOptional<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
        let node = find(key)
        guard node != Tree.none else { return nil }
        let isNull = type == Value.self ? decoder.document.tree.kind(node) == .null : decoder.document.isNull(node)
        return isNull ? nil : try decode(type, node)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try decodeOptional(type, key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try decodeOptional(type, key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try superDecoder(ValueKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key) }

    /// As Foundation has it, a superclass without a member of its own decodes itself from null.
    private func superDecoder<MemberKey: CodingKey>(_ key: MemberKey) throws -> NodeDecoder {
        find(key) == Tree.none ? try decoder.document.absent(key, below: decoder) : try child(key)
    }

    private func child<MemberKey: CodingKey>(_ key: MemberKey) throws -> NodeDecoder {
        let node = try member(key)
        return decoder.child(node, decoder.document.tree.nameRange(node), MemberKey.self)
    }
}

private struct UnkeyedDecoder: UnkeyedDecodingContainer {
    let decoder: NodeDecoder
    private(set) var currentIndex = 0
    /// The element at hand, or `Tree.none` behind the last one.
    private var node: Tree.Node
    /// Whether the decoder's value is the one element itself.
    private let isLone: Bool

    init(decoder: NodeDecoder, isLone: Bool) {
        self.decoder = decoder
        self.isLone = isLone
        node = isLone ? decoder.node : decoder.document.tree.firstChild(decoder.node)
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { isLone ? 1 : decoder.document.tree.childCount(decoder.node) }
    var isAtEnd: Bool { node == Tree.none }

    @inline(__always)
    private func checkEnd(_ type: Any.Type) throws {
        guard isAtEnd else { return }
        throw DecodingError.valueNotFound(
            type, .init(codingPath: codingPath + [ValueKey(currentIndex)], debugDescription: "the array has ended"))
    }

    /// Moves on to the next element, once the one at hand has been read.
    @inline(__always)
    private mutating func advance() {
        node = isLone ? Tree.none : decoder.document.tree.nextSibling(node)
        currentIndex += 1
    }

    /// The decoder of the element at hand.
    private func current(_ type: Any.Type) throws -> NodeDecoder {
        try checkEnd(type)
        var element = decoder.child(node, TextRange(index: currentIndex), nil)
        element.isLoneElement = isLone
        return element
    }

    mutating func decodeNil() throws -> Bool {
        try checkEnd(Any?.self)
        guard decoder.document.isNull(node) else { return false }
        advance()
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try checkEnd(type)
        let made =
            isLone
            ? try decoder.document.decode(type, of: current(type))
            : try decoder.document.decode(type, node, below: decoder, TextRange(index: currentIndex), nil)
        advance()
        return made
    }

    // The library has functions of its own for these two, which refuse.
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try decodeWide(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try decodeWide(type) }
    private mutating func decodeWide<T: Decodable>(_ type: T.Type) throws -> T { try decode(type) }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        let container = try current(type).container(keyedBy: type)
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current([Any].self).unkeyedContainer()
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try current((any Decoder).self)
        advance()
        return decoder
    }
}

// What the decoder asks of its tree.
extension Tree {
    /// The member of that name, and the first one where a name repeats; or `none`. The search goes on behind it next time.
    fileprivate mutating func next(named name: String, below parent: Node) -> Node {
        var name = name
        // SAFETY: the buffer is used only inside the closure.
        return name.withUTF8 { unsafe next(named: Span(_unsafeElements: $0), below: parent) }
    }

    fileprivate func nameText(_ node: Node) -> String { name(node).lossyString() }
    fileprivate func string(_ node: Node) -> String { text(node).lossyString() }
    fileprivate func copiedText(_ node: Node) -> [UInt8] { text(node).copied() }
    fileprivate func isText(_ node: Node, _ other: StaticString) -> Bool { text(node).isEqual(to: other) }
    fileprivate func isNumber(_ node: Node) -> Bool { NumberText(text(node)) != nil }
    fileprivate func smallInteger(_ node: Node) -> Int? { text(node).smallInteger }
    fileprivate func largeInteger(_ node: Node) -> UInt64? { text(node).largeInteger }
    fileprivate func shortReal(_ node: Node) -> Double? { text(node).shortReal }
}

extension Span where Element == UInt8 {
    /// The integer that up to 18 digits say, the first of them no zero but where it is alone; nil for what has more of them, or
    /// anything else.
    fileprivate var smallInteger: Int? {
        guard count > 0, count <= 19 else { return nil }
        let isNegative = self[0] == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard count > start, count < start + 19, count == start + 1 || self[start] != UInt8(ascii: "0") else {
            return nil
        }
        var value = 0
        for index in start..<count {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int(digit)
        }
        return isNegative ? -value : value
    }

    /// The integer that 19 or 20 digits say, the first of them no zero; nil for what has others, or no room.
    fileprivate var largeInteger: UInt64? {
        guard count == 19 || count == 20, self[0] != UInt8(ascii: "0") else { return nil }
        var value: UInt64 = 0
        for index in 0..<count {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            let (tenfold, passes) = value.multipliedReportingOverflow(by: 10)
            let (sum, passesToo) = tenfold.addingReportingOverflow(UInt64(digit))
            guard !passes, !passesToo else { return nil }
            value = sum
        }
        return value
    }

    /// The nearest number to what a text of JSON's grammar says that has no exponent, up to 19 digits, and no more of them behind its
    /// point; nil for all others.
    fileprivate var shortReal: Double? {
        let isNegative = count > 0 && self[0] == UInt8(ascii: "-")
        let first = isNegative ? 1 : 0
        var at = first
        var digits: UInt64 = 0
        passDigits(&at, &digits)
        let whole = at - first
        guard whole > 0, whole == 1 || self[first] != UInt8(ascii: "0") else { return nil }
        var fraction = 0
        if at < count {
            guard self[at] == UInt8(ascii: ".") else { return nil }
            at += 1
            let point = at
            passDigits(&at, &digits)
            fraction = at - point
            guard fraction > 0, at == count else { return nil }
        }
        // A zero before the point is no digit that counts.
        guard fraction <= 19, whole + fraction <= (self[first] == UInt8(ascii: "0") ? 20 : 19) else { return nil }
        let value =
            digits <= 1 << 53 ? Double(digits) / exactPowers[fraction] : Self.quotient(digits, wholePowers[fraction])
        return isNegative ? -value : value
    }

    /// Passes the digits that begin at `at`, which stand behind those of `value`.
    @inline(__always)
    private func passDigits(_ at: inout Int, _ value: inout UInt64) {
        while at < count {
            let digit = self[at] &- UInt8(ascii: "0")
            guard digit <= 9 else { return }
            value = value &* 10 &+ UInt64(digit)
            at &+= 1
        }
    }

    /// The nearest `Double` to the quotient of two numbers, neither of them 0: of its first 63 bits or 64, and of whether any are behind
    /// them.
    private static func quotient(_ dividend: UInt64, _ divisor: UInt64) -> Double {
        let left = dividend.leadingZeroBitCount, right = divisor.leadingZeroBitCount
        let high = dividend << left
        let (bits, rest) = (divisor << right).dividingFullWidth((high >> 1, high << 63))
        // A power of two, by which nothing is rounded.
        let power = Double(bitPattern: UInt64(1023 - 63 + right - left) << 52)
        return Double(rest == 0 ? bits : bits | 1) * power
    }
}

/// 10 to the powers from 0 to 19, as integers.
private let wholePowers: [UInt64] = (0...19).map { (0..<$0).reduce(1) { power, _ in power * 10 } }

/// 10 to the powers from 0 to 22, which a `Double` holds exactly.
private let exactPowers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
]

extension Value: Decodable {
    /// Reads a value with another decoder. A number that is no 64-bit integer goes through `Double`, because that is all a
    /// foreign decoder gives.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? NodeDecoder {
            self = decoder.document.value(of: decoder.node)
            return
        }
        if let container = try? decoder.container(keyedBy: ValueKey.self) {
            self = .object(
                Object(
                    try container.allKeys.map {
                        Object.Member(key: $0.stringValue, value: try container.decode(Value.self, forKey: $0))
                    }))
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [Value] = []
            while !container.isAtEnd { elements.append(try container.decode(Value.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = Value(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = Value(value)
        } else if let value = try? container.decode(Double.self) {
            self = Value(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }
}
