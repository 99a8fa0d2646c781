internal import Octets

extension EventSink where Self: ~Copyable {
    /// `string` for bytes in a buffer: a span of a stored property would hold all of its owner.
    internal mutating func send(string buffer: OutputBuffer, isLast: Bool) throws(ConversionError) {
        try string(buffer.span, isLast: isLast)
    }

    /// As above, `fileContent`.
    internal mutating func send(fileContent buffer: OutputBuffer, isLast: Bool) throws(ConversionError) {
        try fileContent(buffer.span, isLast: isLast)
    }

    /// Sends a value that is written down in the settings.
    package mutating func send(_ literal: Literal) throws(ConversionError) {
        switch literal {
        case .null: try null()
        case .bool(let value): try bool(value)
        case .number(let text): try number(Array(text.utf8).span)
        case .string(let text): try string(Array(text.utf8).span, isLast: true)
        case .array(let elements):
            try beginArray()
            for element in elements { try send(element) }
            try endArray()
        case .object(let members):
            try beginObject()
            for member in members {
                try key(Array(member.name.utf8).span)
                try send(member.value)
            }
            try endObject()
        }
    }
}

extension FieldMap {
    /// The same map, which sets 1 for true and 0 for false.
    internal var withNumericBooleans: FieldMap {
        var map = self
        for index in map.set.indices {
            guard case .literal(let literal) = map.set[index].value else { continue }
            map.set[index].value = .literal(literal.withNumericBooleans)
        }
        return map
    }
}

extension Literal {
    fileprivate var withNumericBooleans: Literal {
        switch self {
        case .bool(let value): .number(value ? "1" : "0")
        case .array(let elements): .array(elements.map(\.withNumericBooleans))
        case .object(let members):
            .object(members.map { Member(name: $0.name, value: $0.value.withNumericBooleans) })
        case .null, .number, .string: self
        }
    }
}

/// Makes a value of a document's events. A file is a text.
package struct LiteralBuilder: EventSink {
    private struct Level {
        let isObject: Bool
        var members: [Literal.Member] = []
        var elements: [Literal] = []
        /// The name of the member that comes next.
        var name = ""
    }

    package private(set) var value = Literal.null
    private var levels: [Level] = []
    private var text: [UInt8] = []

    package init() {}

    package var isFull: Bool { false }

    private mutating func put(_ value: Literal) {
        guard let last = levels.indices.last else { return self.value = value }
        if levels[last].isObject {
            levels[last].members.append(Literal.Member(name: levels[last].name, value: value))
        } else {
            levels[last].elements.append(value)
        }
    }

    package mutating func beginObject() { levels.append(Level(isObject: true)) }
    package mutating func endObject() { put(.object(levels.removeLast().members)) }
    package mutating func beginArray() { levels.append(Level(isObject: false)) }
    package mutating func endArray() { put(.array(levels.removeLast().elements)) }
    package mutating func key(_ name: Span<UInt8>) { levels[levels.count - 1].name = name.lossyString() }
    package mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        text.append(contentsOf: piece)
        guard isLast else { return }
        put(.string(String(decoding: text, as: UTF8.self)))
        text.removeAll(keepingCapacity: true)
    }
    package mutating func number(_ text: Span<UInt8>) { put(.number(text.lossyString())) }
    package mutating func bool(_ value: Bool) { put(.bool(value)) }
    package mutating func null() { put(.null) }
    package mutating func beginFile(_ head: borrowing PartHead) {}
    package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) { string(piece, isLast: isLast) }
}
