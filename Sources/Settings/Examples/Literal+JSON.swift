internal import Octets
public import Transcoding

extension Literal {
    /// The value as JSON text, members in their order, numbers as they are written down.
    public var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[\(elements.map(\.json).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(Self.quoted($0.name)):\($0.value.json)" }.joined(separator: ","))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// The value with its members in one order. `isText`: numbers and booleans are their texts.
    func normalized(isText: Bool) -> Literal {
        switch self {
        case .null, .string: self
        case .bool(let value): isText ? .string(value ? "true" : "false") : self
        case .number(let text): isText ? .string(text) : self
        case .array(let elements): .array(elements.map { $0.normalized(isText: isText) })
        case .object(let members):
            .object(
                members.map { Member(name: $0.name, value: $0.value.normalized(isText: isText)) }
                    .sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) })
        }
    }
}

/// Makes a value of a document's events.
struct LiteralBuilder: EventSink {
    private enum Level {
        case array([Literal])
        case object([Literal.Member], name: String)
    }

    private(set) var value = Literal.null
    private var levels: [Level] = []
    private var text: [UInt8] = []

    var isFull: Bool { false }

    private mutating func put(_ value: Literal) {
        switch levels.popLast() {
        case nil: self.value = value
        case .array(let elements)?: levels.append(.array(elements + [value]))
        case .object(let members, let name)?:
            levels.append(.object(members + [Literal.Member(name: name, value: value)], name: ""))
        }
    }

    private mutating func end() {
        switch levels.popLast() {
        case nil: break
        case .array(let elements)?: put(.array(elements))
        case .object(let members, _)?: put(.object(members))
        }
    }

    mutating func beginObject() throws(ConversionError) { levels.append(.object([], name: "")) }
    mutating func endObject() throws(ConversionError) { end() }
    mutating func beginArray() throws(ConversionError) { levels.append(.array([])) }
    mutating func endArray() throws(ConversionError) { end() }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        guard case .object(let members, _)? = levels.popLast() else { return }
        levels.append(.object(members, name: name.lossyString()))
    }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        text.append(contentsOf: piece)
        guard isLast else { return }
        put(.string(String(decoding: text, as: UTF8.self)))
        text = []
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { put(.number(text.lossyString())) }
    mutating func bool(_ value: Bool) throws(ConversionError) { put(.bool(value)) }
    mutating func null() throws(ConversionError) { put(.null) }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { text = [] }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try string(piece, isLast: isLast)
    }
}
