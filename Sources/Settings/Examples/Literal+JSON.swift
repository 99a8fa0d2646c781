internal import Octets
public import Transcoding

extension Literal {
    /// The value as JSON text, members in their order, numbers as they are written down.
    public var json: String {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        write(to: &encoder)
        return encoder.output.span.lossyString()
    }

    private func write(to encoder: inout JSON.Encoder) {
        switch self {
        case .null: encoder.null()
        case .bool(let value): encoder.bool(value)
        case .number(let text): encoder.number(text.utf8Span.span)
        case .string(let text): encoder.string(text)
        case .array(let elements):
            encoder.beginArray()
            for element in elements { element.write(to: &encoder) }
            encoder.endArray()
        case .object(let members):
            encoder.beginObject()
            for member in members {
                encoder.key(member.name)
                member.value.write(to: &encoder)
            }
            encoder.endObject()
        }
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
