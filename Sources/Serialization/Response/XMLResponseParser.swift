public import Transcoding

/// The XML body of a response, not read yet: what `XMLParserResponseSerializer` gives.
public struct XMLResponseParser: Hashable, Sendable {
    /// The body.
    public let bytes: [UInt8]
    /// How the elements become events. See `XML.DecodingOptions`.
    public var options = XML.DecodingOptions()
    /// What bounds the document. See `Limits`; while `tree` isn't set, it is what `Limits.tree(forBody:)` says.
    public var limits = Limits()

    /// A parser of these bytes, which are not looked at yet.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the body and sends its events to `sink`. Throws where the body is not well-formed.
    public func parse<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
        var decoder = XML.Decoder(options: options, limits: limits.forBody(of: bytes.count))
        var at = 0
        // A sink may want a rest between two events; a reader of a whole body at once gives it none.
        while at < bytes.count {
            let count = try decoder.feed(bytes.span.extracting(at..<bytes.count), into: &sink)
            guard count > 0 else { break }
            at += count
        }
        try decoder.finish(into: &sink)
    }

    /// Reads the body into a value.
    public func document() throws(ConversionError) -> Value {
        var builder = ValueBuilder(limits: limits.forBody(of: bytes.count))
        try parse(into: &builder)
        return builder.value ?? .null
    }
}
