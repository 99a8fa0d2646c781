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
    internal mutating func send(_ literal: Literal) throws(ConversionError) {
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
