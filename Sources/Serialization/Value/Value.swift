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
/// What goes through a value, as `==`, `description`, `removingNulls` and its end, takes room on the stack for each level of nesting: a
/// thousand are safe on any thread. A document that is read has at most `Limits.depth` of them.
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
    public var isNull: Bool { self == .null }

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
    /// setting a member of a value that is no object makes it one.
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

extension Value: CustomStringConvertible {
    /// The value as a compact JSON text, for people: sets are arrays here, and a number that isn't finite is its word.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): value.text
        case .string(let value): Self.quoted(value)
        case .data(let bytes): Self.quoted(Self.base64(bytes))
        case .date(let value): Self.quoted(value.description)
        case .array(let elements): "[" + elements.map(\.description).joined(separator: ",") + "]"
        case .set(let elements): "[" + elements.map(\.description).sorted().joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.key) + ":" + $0.value.description }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        encoder.string(text)
        return encoder.output.span.lossyString()
    }
}

extension Value {
    /// The value without its nulls, by the rule of `removal`. Containers that lose all stay, empty; a null that is the whole
    /// value stays too.
    public func removingNulls(_ removal: NullRemoval = .deep) -> Value {
        switch self {
        case _ where removal == .off: return self
        case .object(let members):
            return .object(
                Object(
                    members.lazy.filter { !$0.value.isNull }
                        .map { Object.Member(key: $0.key, value: $0.value.removingNulls(removal)) }))
        case .array(let elements):
            let kept = removal == .deep ? elements.filter { !$0.isNull } : elements
            return .array(kept.map { $0.removingNulls(removal) })
        case .set(let elements): return .set(removal == .deep ? elements.filter { !$0.isNull } : elements)
        default: return self
        }
    }
}

/// How the cases that not every format knows become events.
internal struct ValueSpelling {
    internal enum Sets {
        /// As an array.
        case array
        /// As its elements, one after the other, each under the name of the set; within an array, as further elements.
        case spread
        case refused
    }

    internal enum Dates {
        case events
        /// As `NSDate` prints them.
        case afnetworking
        /// As a number of seconds since 2001-01-01T00:00:00Z, which is how `Foundation.Date` encodes itself.
        case secondsSince2001
    }

    internal var order = MemberOrder.input
    internal var sets = Sets.array
    internal var dates = Dates.events
    /// Whether bytes go out as a file without a filename, so that they stay as they are.
    internal var sendsDataAsFiles = false
    /// Whether an object with two members of one name is refused, as it is by those who read it.
    internal var refusesRepeated = false
    /// Open arrays and objects.
    internal var depth = Limits().depth
}

extension Value {
    /// Sends the value to a codec or a tree, as the events of one document. A set is sent as an array, sorted by the text of
    /// its elements.
    ///
    /// Throws `value_number` for a number that is not finite, `limit_depth` for more than `limits.depth` nested arrays and
    /// objects, and what the sink throws. The error's `field` is the JSON Pointer to the value at fault where the sink names none.
    /// Each level takes room on the stack: a thousand are safe on any thread.
    public func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, order: MemberOrder = .input, limits: Limits = Limits()
    ) throws(ConversionError) {
        var spelling = ValueSpelling()
        spelling.order = order
        spelling.depth = limits.depth
        try emit(into: &sink, as: spelling)
    }

    internal func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, as spelling: ValueSpelling
    ) throws(ConversionError) {
        var place: [String]?
        do throws(ConversionError) {
            try emit(into: &sink, as: spelling, level: 0, place: &place)
        } catch {
            throw error.below((place ?? []).reversed())
        }
    }

    /// - Parameter place: what an error that is found here leaves of its way out, innermost first: names and indices. A sink names the
    ///   fields of its own errors.
    private func emit<Sink: EventSink & ~Copyable>(
        into sink: inout Sink, as spelling: ValueSpelling, level: Int, place: inout [String]?
    ) throws(ConversionError) {
        switch self {
        case .null: try sink.null()
        case .bool(let value): try sink.bool(value)
        case .number(let number):
            guard number.isFinite else { throw Self.fault(.number, &place) }
            try sink.number(Array(number.text.utf8).span)
        case .string(let text): try sink.string(Array(text.utf8).span, isLast: true)
        case .data(let bytes):
            guard spelling.sendsDataAsFiles else { return try sink.data(bytes.span) }
            var head = PartHead()
            head.isFile = true
            try sink.beginFile(head)
            try sink.fileContent(bytes.span, isLast: true)
        case .date(let date): try Self.emit(date, into: &sink, as: spelling.dates)
        case .array(let elements):
            try Self.check(level, spelling, &place)
            try sink.beginArray()
            try Self.emit(elements, into: &sink, as: spelling, level: level + 1, place: &place)
            try sink.endArray()
        case .set(let elements):
            guard spelling.sets != .refused else { throw Self.fault(.set, &place) }
            try Self.check(level, spelling, &place)
            if spelling.sets == .spread {
                // Only the root comes here: fields under the name that it has not.
                try sink.beginObject()
                let member = Object.Member(key: "", value: self)
                try Self.emit(member, into: &sink, as: spelling, level: level, place: &place)
                return try sink.endObject()
            }
            try sink.beginArray()
            try Self.emit(Self.sorted(elements), into: &sink, as: spelling, level: level + 1, place: &place)
            try sink.endArray()
        case .object(let members):
            try Self.check(level, spelling, &place)
            if spelling.refusesRepeated, members.repeatedName != nil { throw Self.fault(.repeated, &place) }
            try sink.beginObject()
            if spelling.order == .sorted {
                for member in members.sorted() {
                    try Self.emit(member, into: &sink, as: spelling, level: level + 1, place: &place)
                }
            } else {
                for member in members {
                    try Self.emit(member, into: &sink, as: spelling, level: level + 1, place: &place)
                }
            }
            try sink.endObject()
        }
    }

    private static func emit<Sink: EventSink & ~Copyable>(
        _ member: Object.Member, into sink: inout Sink, as spelling: ValueSpelling, level: Int, place: inout [String]?
    ) throws(ConversionError) {
        if case .set(let elements) = member.value, spelling.sets == .spread {
            try check(level, spelling, &place)
            for element in sorted(elements) {
                let one = Object.Member(key: member.key, value: element)
                try emit(one, into: &sink, as: spelling, level: level + 1, place: &place)
            }
            return
        }
        do throws(ConversionError) {
            try sink.key(Array(member.key.utf8).span)
            try member.value.emit(into: &sink, as: spelling, level: level, place: &place)
        } catch {
            place?.append(member.key)
            throw error
        }
    }

    /// Emits the elements of an array, or of a set whose elements are an array's.
    private static func emit<Sink: EventSink & ~Copyable>(
        _ elements: [Value], into sink: inout Sink, as spelling: ValueSpelling, level: Int, place: inout [String]?
    ) throws(ConversionError) {
        for (index, element) in elements.enumerated() {
            do throws(ConversionError) {
                if case .set(let further) = element, spelling.sets == .spread {
                    try check(level, spelling, &place)
                    try emit(sorted(further), into: &sink, as: spelling, level: level + 1, place: &place)
                } else {
                    try element.emit(into: &sink, as: spelling, level: level, place: &place)
                }
            } catch {
                place?.append(String(index))
                throw error
            }
        }
    }

    private static func emit<Sink: EventSink & ~Copyable>(
        _ date: Timestamp, into sink: inout Sink, as style: ValueSpelling.Dates
    ) throws(ConversionError) {
        switch style {
        case .events: try sink.date(Array(date.description.utf8).span)
        case .afnetworking: try sink.string(Array(date.afnetworkingText.utf8).span, isLast: true)
        case .secondsSince2001:
            try sink.number(Array(Number(date.secondsSince2001).text.utf8).span)
        }
    }

    private static func fault(_ fault: ValueFault, _ place: inout [String]?) -> ConversionError {
        place = []
        return fault.error()
    }

    private static func check(
        _ level: Int, _ spelling: ValueSpelling, _ place: inout [String]?
    ) throws(ConversionError) {
        guard level < spelling.depth else {
            place = []
            throw .limit("depth", of: spelling.depth, what: "the nesting of the value")
        }
    }

    /// The elements of a set by their text: 10 comes before 9.
    internal static func sorted(_ elements: Set<Value>) -> [Value] {
        elements.map { (text: $0.string ?? $0.description, value: $0) }
            .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            .map(\.value)
    }
}

/// What a `Value` can hold and a format can't carry.
internal enum ValueFault {
    case number, set, text, repeated

    internal func error() -> ConversionError {
        switch self {
        case .number: Self.error("value_number", "a number that is not finite can't be written")
        case .set: Self.error("value_set", "a set has no form here; make it an array")
        case .repeated:
            Self.error(
                "value_duplicate",
                "an object has two members of one name, which its readers refuse; make them one, or set duplicates: keep"
            )
        case .text: Self.error("value_number", "a number's text is none of JSON's")
        }
    }

    private static func error(_ code: String, _ reason: String) -> ConversionError {
        ConversionError(.unrepresentable, code: code, reason: reason)
    }
}

extension ConversionError {
    /// The error with the JSON Pointer (RFC 6901 §3) of `path`, names and indices from the outside in, in front of the one that it
    /// has. The root's is none.
    internal func below(_ path: some Sequence<String>) -> ConversionError {
        var pointer: [UInt8] = []
        for step in path { JSONPointer.append(Array(step.utf8).span, to: &pointer) }
        var error = self
        if !pointer.isEmpty { error.field = String(decoding: pointer, as: UTF8.self) + (field ?? "") }
        return error
    }
}
