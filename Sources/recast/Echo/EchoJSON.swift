internal import Octets
internal import Transcoding

// Members of the answer's object, by name.
extension JSON.Encoder {
    mutating func key(_ name: String) {
        key(name.utf8Span.span)
    }

    mutating func string(_ value: String) {
        string(value.utf8Span.span, isLast: true)
    }

    mutating func member(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    mutating func member(_ name: String, number value: Int) {
        key(name)
        number(String(value).utf8Span.span)
    }

    /// A member whose value is JSON text already.
    mutating func member(_ name: String, document: Span<UInt8>) {
        key(name)
        number(document)
    }
}
