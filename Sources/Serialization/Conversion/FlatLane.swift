internal import Octets

/// Form or multipart to form or multipart, field by field: nothing is held but the field's head.
///
/// Fields pass in the order they come, repeated ones as often as they come, under the names they came with or that the map
/// gives them. What `set` gives goes out first, before any file.
///
/// Its methods are reached through `Conversion`'s table, where the compiler puts generic code unless it is told for which
/// types to make code: without `@_specialize` a small body costs three times as much.
internal final class FlatLane<Decoder, Encoder>: Conversion
where
    Decoder: FieldDecoder & LaneDecoder & ~Copyable, Encoder: FieldSink & OutputEncoder & LaneEncoder & ~Copyable
{
    private var decoder: Decoder
    private var mapper: FieldMapper<Encoder>

    init(
        plan: ConversionPlan, inputEncoding: BodyEncoding, sources: [[UInt8]], decoder: consuming Decoder,
        encoder: consuming Encoder
    ) {
        self.decoder = decoder
        mapper = FieldMapper(encoder, plan: plan)
        super.init(plan: plan, inputEncoding: inputEncoding, sources: sources)
    }

    @_specialize(where Decoder == Form.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Form.Decoder, Encoder == Multipart.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Multipart.Encoder)
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        return try decoder.feed(input, into: &mapper)
    }

    @_specialize(where Decoder == Form.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Form.Decoder, Encoder == Multipart.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Multipart.Encoder)
    override func end() throws(ConversionError) -> Bool {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        try decoder.finish(into: &mapper)
        try mapper.encoder.finish()
        return true
    }

    @_specialize(where Decoder == Form.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Form.Decoder, Encoder == Multipart.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Multipart.Encoder)
    override func reset(contentType: Span<UInt8>) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: plan.limits)
        mapper.reset()
        mapper.encoder.restart()
    }

    override var contentType: [UInt8] { mapper.encoder.contentType }
    override var accounting: Accounting { mapper.accounting }
    override var outputCount: Int { mapper.encoder.output.count }
    override var isFull: Bool { mapper.encoder.output.isFull }
    @_specialize(where Decoder == Form.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Form.Decoder, Encoder == Multipart.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Form.Encoder)
    @_specialize(where Decoder == Multipart.Decoder, Encoder == Multipart.Encoder)
    override func swapOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}
