/// Turns any `Encodable` into a `Value`: the way from a program's own types to every format of this module.
///
/// ```swift
/// struct Order: Encodable { var sku: String; var quantity: Int; var note: String? }
/// let parameters = try ValueEncoder().encode(Order(sku: "A", quantity: 2, note: nil))
/// ```
///
/// Members come in the order in which the type first names them. A name that is encoded twice has its last value, and
/// containers that are asked for twice under one name are one, as with Foundation's `JSONEncoder`: a class and its superclass
/// may both write into the same object. `Value`, `Timestamp` and `[UInt8]` go in as they are: null, dates and bytes.
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
    /// where the type's own way is right.
    ///
    /// ```swift
    /// encoder.transform = { ($0 as? Date).flatMap { Timestamp(secondsSince1970: $0.timeIntervalSince1970) }.map(Value.date) }
    /// ```
    public var transform: @Sendable (any Encodable) -> Value? = { _ in nil }
    /// What becomes of optional properties that are nil: they are left out at first. A nil in an array is a null either way.
    public var nils = NilStrategy.omit

    /// An encoder without a transform, which leaves nil out.
    public init() {}

    /// The value that `source` encodes itself as.
    ///
    /// Throws what the type's `encode(to:)` throws, and EncodingError for a type that encodes nothing, for one that encodes two
    /// kinds of value in one place, as an object and an array, and for more than 128 nested containers.
    public func encode(_ source: some Encodable) throws -> Value {
        let encoding = Encoding(self)
        let node = try encoding.node(for: source, path: [])
        if let fault = encoding.fault { throw fault }
        guard !node.isNothing else {
            throw EncodingError.invalidValue(
                source, .init(codingPath: [], debugDescription: "the type encodes no value"))
        }
        return node.value
    }
}

/// One call of `encode`: the settings, and the fault of a container that could not throw.
private final class Encoding {
    let settings: ValueEncoder
    private(set) var fault: EncodingError?

    init(_ settings: ValueEncoder) { self.settings = settings }

    func node(for source: any Encodable, path: [any CodingKey]) throws -> Node {
        let node = Node()
        if let value = settings.transform(source) {
            node.content = .value(value)
            return node
        }
        switch source {
        case let value as Value: node.content = .value(value)
        case let time as Timestamp: node.content = .value(.date(time))
        // An empty array of anything can be cast to one of bytes.
        case let bytes as [UInt8] where type(of: source) == [UInt8].self: node.content = .value(.data(bytes))
        default:
            guard path.count <= Limits().depth else {
                throw EncodingError.invalidValue(
                    source, .init(codingPath: path, debugDescription: "more than \(Limits().depth) nested containers"))
            }
            try source.encode(to: NodeEncoder(node: node, encoding: self, codingPath: path))
        }
        return node
    }

    /// The first place where a type asks for a second kind of value; `encode` throws it, since a container can't.
    func refuse(_ path: [any CodingKey]) {
        guard fault == nil else { return }
        fault = Self.conflict(path)
    }

    static func conflict(_ path: [any CodingKey]) -> EncodingError {
        .invalidValue((), .init(codingPath: path, debugDescription: "a second kind of value is encoded in one place"))
    }
}

/// A value that is being made. Containers share it with those they come from.
private final class Node {
    enum Content {
        case nothing
        case value(Value)
        case elements([Node])
        case members(Members)
    }

    var content = Content.nothing

    var value: Value {
        switch content {
        // Within a document, what encodes nothing is an object without members, as Foundation has it.
        case .nothing: .object([:])
        case .value(let value): value
        case .elements(let nodes): .array(nodes.map(\.value))
        case .members(let members):
            .object(Value.Object(members.list.map { Value.Object.Member(key: $0.key, value: $0.node.value) }))
        }
    }

    var isNothing: Bool {
        if case .nothing = content { true } else { false }
    }

    var count: Int {
        if case .elements(let nodes) = content { nodes.count } else { 0 }
    }

    /// Makes the node an array, or leaves the one it is. False where it is something else.
    func beginElements() -> Bool {
        switch content {
        case .elements: return true
        case .nothing:
            content = .elements([])
            return true
        case .value, .members: return false
        }
    }

    /// Makes the node an object, or leaves the one it is. False where it is something else.
    func beginMembers() -> Bool {
        switch content {
        case .members: return true
        case .nothing:
            content = .members(Members())
            return true
        case .value, .elements: return false
        }
    }

    func append(_ node: Node) {
        guard case .elements(var nodes) = content else { return }
        content = .nothing
        nodes.append(node)
        content = .elements(nodes)
    }

    /// The member of that name, where there is one.
    func member(_ key: String) -> Node? {
        if case .members(let members) = content { members[key] } else { nil }
    }

    /// Puts a member at the end, or in the place of the one that has its name.
    func put(_ key: String, _ node: Node) {
        guard case .members(let members) = content else { return }
        members.put(key, node)
    }
}

/// The members of an object by their names, which are compared byte by byte.
private final class Members {
    private(set) var list: [(key: String, node: Node)] = []
    /// Where each name stands, from the number on where looking through all of them is dearer.
    private var places: [[UInt8]: Int] = [:]
    private static let few = 16

    subscript(key: String) -> Node? { place(of: key).map { list[$0].node } }

    func put(_ key: String, _ node: Node) {
        if let place = place(of: key) {
            list[place].node = node
            return
        }
        list.append((key, node))
        if list.count == Self.few {
            for (place, member) in list.enumerated() { places[Array(member.key.utf8)] = place }
        } else if list.count > Self.few {
            places[Array(key.utf8)] = list.count - 1
        }
    }

    private func place(of key: String) -> Int? {
        guard list.count < Self.few else { return places[Array(key.utf8)] }
        return list.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
    }
}

private struct NodeEncoder: Encoder {
    let node: Node
    let encoding: Encoding
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if !node.beginMembers() { encoding.refuse(codingPath) }
        return KeyedEncodingContainer(KeyedNode(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if !node.beginElements() { encoding.refuse(codingPath) }
        return UnkeyedNode(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleNode(encoder: self) }

    func child(_ node: Node, _ key: any CodingKey) -> NodeEncoder {
        NodeEncoder(node: node, encoding: encoding, codingPath: codingPath + [key])
    }
}

/// What the three containers of the protocol have in common: each value goes through `Encoding`.
private struct KeyedNode<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    mutating func encodeNil(forKey key: Key) throws { add(key).content = .value(.null) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let node = try encoder.encoding.node(for: value, path: codingPath + [key])
        encoder.node.put(key.stringValue, node)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.child(encoder.node.member(key.stringValue) ?? add(key), key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.child(encoder.node.member(key.stringValue) ?? add(key), key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { encoder.child(add(ValueKey("super")), ValueKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { encoder.child(add(key), key) }

    /// A new value under the name, whatever stood there.
    private func add(_ key: any CodingKey) -> Node {
        let node = Node()
        encoder.node.put(key.stringValue, node)
        return node
    }

    // What synthesized code calls for optional properties.

    private mutating func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
        if let value {
            try encode(value, forKey: key)
        } else if encoder.encoding.settings.nils == .null {
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
    var count: Int { encoder.node.count }

    mutating func encodeNil() throws { add().content = .value(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let path = codingPath + [ValueKey(count)]
        encoder.node.append(try encoder.encoding.node(for: value, path: path))
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        let key = ValueKey(count)
        return encoder.child(add(), key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let key = ValueKey(count)
        return encoder.child(add(), key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        let key = ValueKey(count)
        return encoder.child(add(), key)
    }

    private func add() -> Node {
        let node = Node()
        encoder.node.append(node)
        return node
    }
}

private struct SingleNode: SingleValueEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    /// A place has one value: a second one would take the first away unseen.
    private func set(_ value: Value) throws {
        guard encoder.node.isNothing else { throw Encoding.conflict(codingPath) }
        encoder.node.content = .value(value)
    }

    mutating func encodeNil() throws { try set(.null) }
    mutating func encode(_ value: Bool) throws { try set(.bool(value)) }
    mutating func encode(_ value: String) throws { try set(.string(value)) }
    mutating func encode(_ value: Double) throws { try set(Value(value)) }
    mutating func encode(_ value: Float) throws { try set(.number(Value.Number(unchecked: value.description))) }
    mutating func encode(_ value: Int) throws { try set(Value(value)) }
    mutating func encode(_ value: Int8) throws { try set(Value(value)) }
    mutating func encode(_ value: Int16) throws { try set(Value(value)) }
    mutating func encode(_ value: Int32) throws { try set(Value(value)) }
    mutating func encode(_ value: Int64) throws { try set(Value(value)) }
    mutating func encode(_ value: Int128) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt8) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt16) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt32) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt64) throws { try set(Value(value)) }
    mutating func encode(_ value: UInt128) throws { try set(Value(value)) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        guard encoder.node.isNothing else { throw Encoding.conflict(codingPath) }
        let made = try encoder.encoding.node(for: value, path: codingPath)
        encoder.node.content = made.isNothing ? .value(made.value) : made.content
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
