internal import Octets

/// JSON to anything, value by value: memory is the path of the value at hand.
///
/// Its methods are reached through `Conversion`'s table, where the compiler puts generic code unless it is told for which
/// types to make code: without `@_specialize` a small body costs three times as much.
internal final class StreamLane<Encoder>: Conversion
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    private var decoder: JSON.Decoder
    private var mapper: EventMapper<Encoder>

    init(
        plan: ConversionPlan, inputEncoding: BodyEncoding, sources: [[UInt8]], decoder: consuming JSON.Decoder,
        encoder: consuming Encoder
    ) {
        self.decoder = decoder
        mapper = EventMapper(encoder, plan: plan, map: plan.map)
        mapper.reset(sources: sources)
        super.init(plan: plan, inputEncoding: inputEncoding, sources: sources)
    }

    @_specialize(where Encoder == JSON.Encoder)
    @_specialize(where Encoder == FlatEncoder<Form.Encoder>)
    @_specialize(where Encoder == FlatEncoder<Multipart.Encoder>)
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &mapper)
    }

    @_specialize(where Encoder == JSON.Encoder)
    @_specialize(where Encoder == FlatEncoder<Form.Encoder>)
    @_specialize(where Encoder == FlatEncoder<Multipart.Encoder>)
    override func end() throws(ConversionError) -> Bool {
        try decoder.finish(into: &mapper)
        try mapper.finish()
        return true
    }

    @_specialize(where Encoder == JSON.Encoder)
    @_specialize(where Encoder == FlatEncoder<Form.Encoder>)
    @_specialize(where Encoder == FlatEncoder<Multipart.Encoder>)
    override func reset(contentType: Span<UInt8>) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: plan.limits)
        mapper.reset(sources: sources)
        mapper.encoder.restart()
    }

    override var contentType: [UInt8] { mapper.encoder.contentType }
    override var accounting: Accounting { mapper.accounting }
    override var outputCount: Int { mapper.encoder.output.count }
    override var isFull: Bool { mapper.encoder.output.isFull }
    @_specialize(where Encoder == JSON.Encoder)
    @_specialize(where Encoder == FlatEncoder<Form.Encoder>)
    @_specialize(where Encoder == FlatEncoder<Multipart.Encoder>)
    override func swapOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}
