/// Turns any `Encodable` into a `Value`: the way from a program's own types to every format of this module.
///
/// ```swift
/// struct Order: Encodable { var sku: String; var quantity: Int; var note: String? }
/// let parameters = try ValueEncoder().encode(Order(sku: "A", quantity: 2, note: nil))
/// ```
///
/// Members come in the order in which the type encodes them. An optional property that is nil is left out, as Swift's
/// synthesized `encode(to:)` does. `Value`, `Timestamp` and `[UInt8]` go in as they are: null, dates and bytes.
public struct ValueEncoder: Sendable {
    /// Gives the value for types that know no better: `Foundation.Date`, for one, which encodes itself as a bare number. Nil
    /// where the type's own way is right.
    ///
    /// ```swift
    /// encoder.transform = { ($0 as? Date).flatMap { Timestamp(secondsSince1970: $0.timeIntervalSince1970) }.map(Value.date) }
    /// ```
    public var transform: @Sendable (any Encodable) -> Value? = { _ in nil }

    /// An encoder without a transform.
    public init() {}

    /// The value that `source` encodes itself as; null where it encodes nothing.
    ///
    /// Throws what the type's `encode(to:)` throws, and EncodingError for more than 128 nested containers.
    public func encode(_ source: some Encodable) throws -> Value {
        try Node.encoding(source, transform: transform, path: []).value
    }
}

/// A value that is being made. Containers share it with those they come from.
private final class Node {
    private enum Content {
        case nothing
        case value(Value)
        case elements([Node])
        case members([(key: String, node: Node)])
    }

    private var content = Content.nothing

    var value: Value {
        switch content {
        case .nothing: .null
        case .value(let value): value
        case .elements(let nodes): .array(nodes.map(\.value))
        case .members(let members):
            .object(Value.Object(members.map { Value.Object.Member(key: $0.key, value: $0.node.value) }))
        }
    }

    var isNothing: Bool {
        if case .nothing = content { true } else { false }
    }

    var count: Int {
        if case .elements(let nodes) = content { nodes.count } else { 0 }
    }

    func set(_ value: Value) { content = .value(value) }

    func beginElements() {
        if case .elements = content { return }
        content = .elements([])
    }

    func beginMembers() {
        if case .members = content { return }
        content = .members([])
    }

    func append(_ node: Node) {
        guard case .elements(var nodes) = content else { return }
        content = .nothing
        nodes.append(node)
        content = .elements(nodes)
    }

    /// Puts a member at the end. A class and its superclass may each have one container of the same node.
    func append(_ key: String, _ node: Node) {
        guard case .members(var members) = content else { return }
        content = .nothing
        members.append((key, node))
        content = .members(members)
    }

    static func encoding(
        _ source: any Encodable, transform: @escaping @Sendable (any Encodable) -> Value?, path: [any CodingKey]
    ) throws -> Node {
        let node = Node()
        if let value = transform(source) {
            node.set(value)
            return node
        }
        switch source {
        case let value as Value: node.set(value)
        case let time as Timestamp: node.set(.date(time))
        case let bytes as [UInt8]: node.set(.data(bytes))
        default:
            guard path.count <= Limits().depth else {
                throw EncodingError.invalidValue(
                    source, .init(codingPath: path, debugDescription: "more than \(Limits().depth) nested containers"))
            }
            try source.encode(to: NodeEncoder(node: node, transform: transform, codingPath: path))
        }
        return node
    }
}

private struct NodeEncoder: Encoder {
    let node: Node
    let transform: @Sendable (any Encodable) -> Value?
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginMembers()
        return KeyedEncodingContainer(KeyedNode(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginElements()
        return UnkeyedNode(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleNode(encoder: self) }

    func child(_ node: Node, _ key: any CodingKey) -> NodeEncoder {
        NodeEncoder(node: node, transform: transform, codingPath: codingPath + [key])
    }
}

/// What the three containers of the protocol have in common: each value goes through `put`.
private struct KeyedNode<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    mutating func encodeNil(forKey key: Key) throws { add(key).set(.null) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        encoder.node.append(
            key.stringValue, try Node.encoding(value, transform: encoder.transform, path: codingPath + [key]))
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.child(add(key), key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.child(add(key), key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { superEncoder(under: ValueKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { superEncoder(under: key) }

    private func superEncoder(under key: any CodingKey) -> any Encoder {
        let node = Node()
        encoder.node.append(key.stringValue, node)
        return encoder.child(node, key)
    }

    private func add(_ key: Key) -> Node {
        let node = Node()
        encoder.node.append(key.stringValue, node)
        return node
    }
}

private struct UnkeyedNode: UnkeyedEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    mutating func encodeNil() throws { add().set(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let path = codingPath + [ValueKey(count)]
        encoder.node.append(try Node.encoding(value, transform: encoder.transform, path: path))
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

    mutating func encodeNil() throws { encoder.node.set(.null) }
    mutating func encode(_ value: Bool) throws { encoder.node.set(.bool(value)) }
    mutating func encode(_ value: String) throws { encoder.node.set(.string(value)) }
    mutating func encode(_ value: Double) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Float) throws {
        encoder.node.set(.number(Value.Number(unchecked: value.description)))
    }
    mutating func encode(_ value: Int) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Int8) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Int16) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Int32) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Int64) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: Int128) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt8) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt16) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt32) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt64) throws { encoder.node.set(Value(value)) }
    mutating func encode(_ value: UInt128) throws { encoder.node.set(Value(value)) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        encoder.node.set(try Node.encoding(value, transform: encoder.transform, path: codingPath).value)
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
