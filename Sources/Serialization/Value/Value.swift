internal import Octets
public import Transcoding

/// A document in memory as a Swift program writes and reads it: the parameters of a request, the object of a response.
///
/// It is written with literals, `["name": "Ada", "age": 36, "tags": ["x", "y"], "note": nil]`, made from any `Encodable` with
/// `ValueEncoder`, or read from bytes with `init(decoding:as:options:)`. An object keeps the order of its members and a
/// number its source text. Every codec of this module writes it: see `encoded(as:)` and `emit(into:order:limits:)`.
///
/// Two values are equal when they have the same case and content; numbers when they have the same text, objects when they
/// have the same members in the same order.
///
/// Reading, writing, comparing and describing a value need no room on the stack for the depth of its nesting. Its end does, which is
/// Swift's, some 150 bytes a level: a thousand levels are safe on a stack of 512 KiB, as Foundation's threads have, and 500 on Musl's
/// 128 KiB. Sets within sets, and the coders of others, as Foundation's `JSONEncoder`, need more. A document that is read has at most
/// `Limits.depth` levels.
public enum Value: Hashable, Sendable {
    /// No value. As a parameter of a request: the member is there, and null.
    case null
    /// True or false.
    case bool(Bool)
    /// A number by its text, so that nothing of it is lost.
    case number(Number)
    /// A text.
    case string(String)
    /// Bytes. JSON, forms and XML carry them as base64 (RFC 4648 §4), property lists and multipart bodies as they are.
    case data([UInt8])
    /// A point in time. Property lists carry it as a date, everything else as the text of RFC 3339.
    case date(Timestamp)
    /// Values in their order.
    case array([Value])
    /// Values without an order. AFNetworking's forms and multipart bodies repeat the name, `s=a&s=b`, sorted by their text;
    /// everything else writes them as an array, sorted so, but property lists and the bodies of `JSONRequestSerializer`, which
    /// refuse a set.
    case set(Set<Value>)
    /// Members with names, in their order.
    case object(Object)
}

// MARK: Literals

extension Value: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Null.
    public init(nilLiteral: ()) { self = .null }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .number(Number(value)) }
    /// A number with the shortest text that reads back the same.
    public init(floatLiteral value: Double) { self = .number(Number(value)) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    /// An object with the members in the order they are written. A key may stand there twice: both members are kept, for forms, in which
    /// a name may repeat. JSON and property lists are refused of such an object, see `DocumentOptions.duplicates`.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Object(elements.map { Object.Member(key: $0.0, value: $0.1) }))
    }
}

// MARK: Making

extension Value {
    /// A boolean.
    public init(_ value: Bool) { self = .bool(value) }
    /// A number with the digits of an integer.
    public init(_ value: some BinaryInteger) { self = .number(Number(value)) }
    /// A number with the shortest text that reads back as `value`. One that is not finite is a value all the same; JSON and
    /// forms can't carry it.
    public init(_ value: Double) { self = .number(Number(value)) }
    /// A number with the shortest text that reads back as `value`, where a `Float` is read: `0.1`, and not the digits of the `Double`
    /// of the same value.
    public init(_ value: Float) { self = .number(Number(value)) }
    /// A string.
    public init(_ value: some StringProtocol) { self = .string(String(value)) }
    /// An array.
    public init(_ elements: [Value]) { self = .array(elements) }
    /// An object.
    public init(_ members: Object) { self = .object(members) }
    /// An object with the members of a dictionary, which has no order, sorted by the bytes of their keys.
    public init(_ dictionary: [String: Value]) {
        let members = dictionary.map { Object.Member(key: $0.key, value: $0.value) }
        self = .object(Object(members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }))
    }
}

// MARK: Reading

extension Value {
    /// Whether this is null.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean, where this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The text, where this is a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The number, where this is one.
    public var number: Number? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an integer, where it is one that fits.
    public var int: Int? { number?.int }
    /// The number as the nearest `Double`.
    public var double: Double? { number?.double }

    /// The bytes, where this is data.
    public var data: [UInt8]? {
        if case .data(let value) = self { value } else { nil }
    }

    /// The point in time, where this is one.
    public var date: Timestamp? {
        if case .date(let value) = self { value } else { nil }
    }

    /// The elements, where this is an array.
    public var array: [Value]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, where this is an object.
    public var object: Object? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member of that name: nil where there is none, or where this is no object. Setting nil removes the member;
    /// setting a member of a value that is no object makes it one. Linear in the number of members: an object of many is made with
    /// `Object.append(_:_:)` or of a dictionary.
    public subscript(key: String) -> Value? {
        get { object?[key] }
        set {
            var members = takeMembers() ?? Object()
            members[key] = newValue
            self = .object(members)
        }
        _modify {
            guard var members = takeMembers() else {
                var member: Value?
                defer { if let member { self[key] = member } }
                yield &member
                return
            }
            defer { self = .object(members) }
            yield &members[key]
        }
    }

    /// The element at `index`: nil where there is none, or where this is no array. Setting one that is there replaces it, nil removes it,
    /// and setting the one behind the last appends it; where there can be no such element, nothing changes.
    public subscript(index: Int) -> Value? {
        get {
            guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
            return elements[index]
        }
        set {
            guard case .array(var elements) = self, index >= 0, index <= elements.count else { return }
            // Not two arrays while one of them changes.
            self = .null
            defer { self = .array(elements) }
            guard index < elements.count else { return elements += newValue.map { [$0] } ?? [] }
            if let newValue { elements[index] = newValue } else { elements.remove(at: index) }
        }
        _modify {
            var element = takeElement(index)
            defer { self[index] = element }
            yield &element
        }
    }

    /// The members, of which self keeps no copy: what changes is not two objects then. Nil, and self as it is, where this is no object.
    private mutating func takeMembers() -> Object? {
        guard case .object(let members) = self else { return nil }
        self = .null
        return members
    }

    /// The element at `index`, in the place of which there is a null. Nil where there is none.
    private mutating func takeElement(_ index: Int) -> Value? {
        guard case .array(var elements) = self, elements.indices.contains(index) else { return nil }
        self = .null
        defer { self = .array(elements) }
        let element = elements[index]
        elements[index] = .null
        return element
    }
}
