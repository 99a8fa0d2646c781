internal import Octets
internal import Transcoding

/// A value of an answer in JSON; members keep their order.
indirect enum AdminValue: Sendable {
    case text(String)
    case number(Int)
    /// Seconds, of nanoseconds.
    case seconds(UInt64)
    case bool(Bool)
    case none
    case list([AdminValue])
    case object([(name: String, value: AdminValue)])
    /// A value that is a text of JSON already.
    case document([UInt8])

    /// The value as a document of its own.
    var document: OutputBuffer {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        write(into: &encoder)
        encoder.finish()
        encoder.output.append(ASCII.lineFeed)
        return encoder.output
    }

    private func write(into encoder: inout JSON.Encoder) {
        switch self {
        case .text(let text): encoder.string(text)
        case .number(let number): encoder.number(number)
        case .seconds(let nanoseconds):
            encoder.number(String(Double(nanoseconds / 1000) / 1_000_000).utf8Span.span)
        case .bool(let value): encoder.bool(value)
        case .none: encoder.null()
        // Written as it is, as numbers are.
        case .document(let text): encoder.number(text.span)
        case .list(let values):
            encoder.beginArray()
            for value in values { value.write(into: &encoder) }
            encoder.endArray()
        case .object(let members):
            encoder.beginObject()
            for member in members {
                encoder.key(member.name)
                member.value.write(into: &encoder)
            }
            encoder.endObject()
        }
    }
}
