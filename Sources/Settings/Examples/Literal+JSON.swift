internal import Octets
public import Transcoding

extension Literal {
    /// The value as JSON text, members in their order, numbers as they are written down.
    public var json: String {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        // Nothing but a file is refused.
        try? encoder.send(self)
        return encoder.output.span.lossyString()
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
