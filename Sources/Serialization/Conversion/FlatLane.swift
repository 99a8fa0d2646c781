internal import Octets

/// Form or multipart to form or multipart, field by field: nothing is held but the field's head.
///
/// Fields pass in the order they come, repeated ones as often as they come, under the names they came with or that the map
/// gives them. What `set` gives goes out first, before any file.
internal class FlatLane<Decoder, Encoder>: Conversion
where
    Decoder: FieldDecoder & LaneDecoder & ~Copyable, Encoder: FieldSink & OutputEncoder & LaneEncoder & ~Copyable
{
    private var decoder: Decoder
    private var mapper: FieldMapper<Encoder>

    init(
        plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], decoder: consuming Decoder,
        encoder: consuming Encoder
    ) {
        self.decoder = decoder
        mapper = FieldMapper(encoder, plan: plan, input: input)
        super.init(plan: plan, inputEncoding: input, sources: sources)
    }

    final func decodeInput(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        return try decoder.feed(input, into: &mapper)
    }

    final func endInput() throws(ConversionError) -> Bool {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        try decoder.finish(into: &mapper)
        try mapper.encoder.finish()
        return true
    }

    final func resetCodecs(contentType: Span<UInt8>) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: plan.limits)
        mapper.reset()
        mapper.encoder.restart()
    }

    final override var contentType: [UInt8] { mapper.encoder.contentType }
    final override var accounting: Accounting { mapper.accounting }
    final var waitingCount: Int { mapper.encoder.output.count }
    final var isOutputFull: Bool { mapper.encoder.output.isFull }
    final func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}

extension FlatLane where Decoder: ~Copyable, Encoder == Multipart.Encoder {
    /// Leaves long content in the input: see `Conversion.feed(_:passing:)`.
    final func passInput(_ input: Span<UInt8>, _ passed: inout Range<Int>) throws(ConversionError) -> Int {
        mapper.encoder.beginPassing(input)
        do throws(ConversionError) {
            let count = try decodeInput(input)
            passed = mapper.encoder.endPassing()
            return count
        } catch {
            _ = mapper.encoder.endPassing()
            throw error
        }
    }
}
