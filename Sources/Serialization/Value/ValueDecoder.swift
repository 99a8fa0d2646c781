internal import Octets

/// Makes a program's own types of a `Value`, whatever format it was read from.
///
/// ```swift
/// struct Reply: Decodable { var id: Int; var tags: [String] }
/// let reply = try ValueDecoder().decode(Reply.self, from: value)
/// ```
///
/// Numbers must fit the type that is asked for; nothing is rounded to an integer. Bytes are read from base64 and times from
/// the text of RFC 3339, which is what JSON, forms and XML have of them. With `readsText`, a string that is a number or a
/// boolean is read as one, which forms need because all they have is text:
///
/// ```swift
/// let decoder = ValueDecoder(reading: .php)
/// ```
public struct ValueDecoder: Sendable {
    /// Makes an instance of a type that knows no better, as `Foundation.Date`; nil where the type's own way is right.
    ///
    /// ```swift
    /// let times = decoder
    /// decoder.transform = { value, type in
    ///     guard type == Date.self, let time = try? times.decode(Timestamp.self, from: value) else { return nil }
    ///     return Date(timeIntervalSince1970: time.secondsSince1970)
    /// }
    /// ```
    public var transform: @Sendable (Value, any Decodable.Type) -> (any Decodable)? = { _, _ in nil }
    /// Whether numbers, booleans and nulls are read from text, as `spelling` writes them. False at first.
    public var readsText = false
    /// How a form or a multipart body was written whose texts are read:
    ///
    /// - `booleans`: under `numeric`, `1` and `0` are booleans besides `true` and `false`.
    /// - `nulls`: under `empty` a text without characters is a nil, under `literal` the text `null`. Where a string is asked
    ///   for, the text stays: nothing tells the two apart.
    /// - `dialect`: the texts of times that `afnetworking` and `alamofire` have.
    public var spelling = FieldEncodingOptions()

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
        try ValueReader(value: value, settings: self, codingPath: []).decode(type)
    }
}

extension Value {
    /// An instance of `type` made of this value. See `ValueDecoder`.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try ValueDecoder().decode(type, from: self)
    }
}

private struct ValueReader: Decoder {
    let value: Value
    let settings: ValueDecoder
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(KeyedReader(reader: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch value {
        case .array(let elements): UnkeyedReader(reader: self, elements: elements)
        case .set(let elements): UnkeyedReader(reader: self, elements: Array(elements))
        default: throw mismatch([Any].self)
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleReader(reader: self) }

    func child(_ value: Value, _ key: any CodingKey) -> ValueReader {
        ValueReader(value: value, settings: settings, codingPath: codingPath + [key])
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // Two steps: no value at all, cast to an optional type, would be a nil of it.
        if let transformed = settings.transform(value, type), let made = transformed as? T { return made }
        if type == Value.self, let made = value as? T { return made }
        if type == Timestamp.self, let made = try time() as? T { return made }
        if type == [UInt8].self, let made = try bytes() as? T { return made }
        // A text that may stand for nil is itself where a text is asked for.
        if case .string(let text) = value {
            if type == String?.self, let made = text as? T { return made }
            if type == Value?.self, let made = value as? T { return made }
        }
        return try T(from: self)
    }

    /// Whether the value is null, or the text that was written for one.
    var isNull: Bool {
        guard settings.readsText, case .string(let text) = value else { return value.isNull }
        switch settings.spelling.nulls {
        case .empty: return text.isEmpty
        case .literal: return text == "null"
        case .key, .omit, .reject: return false
        }
    }

    /// The point in time; nil where the value is none and no text.
    private func time() throws -> Timestamp? {
        if case .date(let time) = value { return time }
        guard let text = scalarText else { return nil }
        guard let time = Timestamp(text, as: settings.spelling.dialect) else { throw mismatch(Timestamp.self) }
        return time
    }

    /// The bytes; nil where the value is neither bytes nor a text.
    private func bytes() throws -> [UInt8]? {
        switch value {
        case .data(let bytes): return bytes
        case .string(let text):
            guard let bytes = Value.bytes(base64: text) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: codingPath, debugDescription: "the text is not base64 (RFC 4648 §4)"))
            }
            return bytes
        default: return nil
        }
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "found \(kind)")
        return isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// What the value is, for messages, which never quote it.
    private var kind: String {
        switch value {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number that doesn't fit"
        case .string: "a string"
        case .data: "bytes"
        case .date: "a date"
        case .array, .set: "an array"
        case .object: "an object"
        }
    }

    /// The text of a number, where the value is one or may be read as one.
    private var numberText: String? {
        switch value {
        case .number(let number): number.text
        case .string(let text) where settings.readsText: Value.Number(text)?.text
        default: nil
        }
    }

    func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        guard let text = numberText else { throw mismatch(type) }
        if let exact = T(text) { return exact }
        // 5.0 and 5e2 are integers too, as far as a Double is exact.
        guard let double = Double(text), abs(double) < 0x1p53, let exact = T(exactly: double) else {
            throw mismatch(type)
        }
        return exact
    }

    func floating<T: BinaryFloatingPoint & LosslessStringConvertible>(_ type: T.Type) throws -> T {
        guard let text = numberText, let number = T(text) else { throw mismatch(type) }
        return number
    }

    func boolean() throws -> Bool {
        if case .bool(let value) = value { return value }
        let isNumeric = settings.spelling.booleans == .numeric
        switch scalarText {
        case "true": return true
        case "false": return false
        case "1" where isNumeric: return true
        case "0" where isNumeric: return false
        default: throw mismatch(Bool.self)
        }
    }

    /// The text of a form's field, also where reading the form has made a number of it.
    private var scalarText: String? {
        switch value {
        case .string(let text) where settings.readsText: text
        case .number(let number) where settings.readsText: number.text
        default: nil
        }
    }

    func text() throws -> String {
        switch value {
        case .string(let text): return text
        case .date(let time): return time.description
        default: throw mismatch(String.self)
        }
    }
}

private struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: ValueReader
    let members: Value.Object
    /// Where each name stands first, so that reading all members is linear in them.
    private let places: [[UInt8]: Int]

    init(reader: ValueReader, members: Value.Object) {
        self.reader = reader
        self.members = members
        places = Dictionary(
            members.enumerated().map { (Array($0.element.key.utf8), $0.offset) },
            uniquingKeysWith: { first, _ in first })
    }

    var codingPath: [any CodingKey] { reader.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    private func find(_ key: any CodingKey) -> Value? {
        places[Array(key.stringValue.utf8)].map { members[$0].value }
    }

    private func child(_ key: any CodingKey) throws -> ValueReader {
        guard let value = find(key) else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "the object has no such member"))
        }
        return reader.child(value, key)
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try child(key).isNull }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try child(key).decode(type) }

    /// What synthesized code calls for an optional property: a text that may stand for nil is itself where a text is asked for.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        guard let value = find(key), !value.isNull else { return nil }
        return try reader.child(value, key).text()
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let value = find(key) else { return nil }
        let child = reader.child(value, key)
        guard type == Value.self ? !value.isNull : !child.isNull else { return nil }
        return try child.decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try child(ValueKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }
}

private struct UnkeyedReader: UnkeyedDecodingContainer {
    let reader: ValueReader
    let elements: [Value]
    var currentIndex = 0

    init(reader: ValueReader, elements: [Value]) {
        self.reader = reader
        self.elements = elements
    }

    var codingPath: [any CodingKey] { reader.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    /// The element at hand; the index moves on only when it has been read.
    private func current(_ type: Any.Type) throws -> ValueReader {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: codingPath + [ValueKey(currentIndex)], debugDescription: "the array has ended"))
        }
        return reader.child(elements[currentIndex], ValueKey(currentIndex))
    }

    mutating func decodeNil() throws -> Bool {
        guard try current(Any?.self).isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let made = try current(type).decode(type)
        currentIndex += 1
        return made
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        let container = try current(type).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current([Any].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try current((any Decoder).self)
        currentIndex += 1
        return decoder
    }
}

private struct SingleReader: SingleValueDecodingContainer {
    let reader: ValueReader
    var codingPath: [any CodingKey] { reader.codingPath }

    func decodeNil() -> Bool { reader.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try reader.boolean() }
    func decode(_ type: String.Type) throws -> String { try reader.text() }
    func decode(_ type: Double.Type) throws -> Double { try reader.floating(type) }
    func decode(_ type: Float.Type) throws -> Float { try reader.floating(type) }
    func decode(_ type: Int.Type) throws -> Int { try reader.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try reader.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try reader.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try reader.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try reader.integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try reader.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try reader.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try reader.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try reader.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try reader.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try reader.integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try reader.integer(type) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try reader.decode(type) }
}

extension Value: Decodable {
    /// Reads a value with another decoder. A number that is no 64-bit integer goes through `Double`, because that is all a
    /// foreign decoder gives.
    public init(from decoder: any Decoder) throws {
        if let reader = decoder as? ValueReader {
            self = reader.value
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
