internal import Octets
internal import Transcoding

/// Writes one flat JSON object through the library's own encoder: the problems that clients are told.
struct JSONObjectWriter: ~Copyable {
    private var encoder = JSON.Encoder(options: JSON.EncodingOptions())

    init() {
        encoder.beginObject()
    }

    mutating func member(_ name: StaticString, _ value: String) {
        encoder.key(name)
        encoder.string(value.utf8Span.span, isLast: true)
    }

    /// Bytes that are not UTF-8 are shown as U+FFFD.
    mutating func member(_ name: StaticString, bytes value: Span<UInt8>) {
        guard UTF8Validator.isValid(value) else { return member(name, value.lossyString()) }
        encoder.key(name)
        encoder.string(value, isLast: true)
    }

    mutating func member(_ name: StaticString, number value: Int) {
        encoder.key(name)
        var text = OutputBuffer()
        text.append(decimal: value)
        encoder.number(text.span)
    }

    mutating func end() -> OutputBuffer {
        encoder.endObject()
        encoder.finish()
        return encoder.output
    }
}

extension JSON.Encoder {
    /// A member's name that is a constant of the program.
    fileprivate mutating func key(_ name: StaticString) {
        name.withUTF8Buffer { bytes in
            // SAFETY: the span is used only inside the closure.
            unsafe key(Span(_unsafeElements: bytes))
        }
    }
}
