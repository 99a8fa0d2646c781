internal import Octets
internal import Serialization

/// Writes one flat JSON object through the library's own encoder: problems and log lines.
///
/// The encoder can refuse files only, and none is sent here, so its errors are faults of ours.
struct JSONObjectWriter: ~Copyable {
    private var encoder = JSON.Encoder(options: JSON.EncodingOptions())

    init() {
        must { encoder throws(ConversionError) in try encoder.beginObject() }
    }

    /// Starts over with `output`, whose allocation is kept.
    init(into output: consuming OutputBuffer) {
        encoder.output = output
        must { encoder throws(ConversionError) in try encoder.beginObject() }
    }

    mutating func member(_ name: StaticString, _ value: String) {
        key(name)
        var value = value
        let bytes = value.withUTF8 { unsafe [UInt8]($0) }
        must { encoder throws(ConversionError) in try encoder.string(bytes.span, isLast: true) }
    }

    /// Bytes that are not UTF-8 are shown as U+FFFD.
    mutating func member(_ name: StaticString, bytes value: Span<UInt8>) {
        guard UTF8Validator.isValid(value) else { return member(name, value.lossyString()) }
        key(name)
        do throws(ConversionError) {
            try encoder.string(value, isLast: true)
        } catch {
            preconditionFailure("the JSON encoder refused a string: \(error)")
        }
    }

    mutating func member(_ name: StaticString, number value: Int) {
        key(name)
        var text = OutputBuffer()
        text.append(decimal: value)
        must { encoder throws(ConversionError) in try encoder.number(text.span) }
    }

    mutating func end() -> OutputBuffer {
        must { encoder throws(ConversionError) in
            try encoder.endObject()
            try encoder.finish()
        }
        return encoder.output
    }

    private mutating func key(_ name: StaticString) {
        let bytes = unsafe [UInt8](UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        must { encoder throws(ConversionError) in try encoder.key(bytes.span) }
    }

    private mutating func must(_ body: (inout JSON.Encoder) throws(ConversionError) -> Void) {
        do throws(ConversionError) {
            try body(&encoder)
        } catch {
            preconditionFailure("the JSON encoder refused its own object: \(error)")
        }
    }
}
