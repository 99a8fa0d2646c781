internal import Octets

/// JSON to anything, value by value: memory is the path of the value at hand.
internal class StreamLane<Encoder>: Conversion
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    private var decoder: JSON.Decoder
    private var mapper: EventMapper<Encoder>

    init(plan: ConversionPlan, sources: [[UInt8]], encoder: consuming Encoder) {
        decoder = JSON.Decoder(plan)
        mapper = EventMapper(encoder, plan: plan, map: plan.map)
        mapper.reset(sources: sources)
        super.init(plan: plan, inputEncoding: .json, sources: sources)
    }

    final func decodeInput(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &mapper)
    }

    final func endInput() throws(ConversionError) -> Bool {
        try decoder.finish(into: &mapper)
        try mapper.finish()
        return true
    }

    final func resetCodecs(contentType: Span<UInt8>) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: plan.limits)
        mapper.reset(sources: sources)
        mapper.encoder.restart()
    }

    final override var contentType: [UInt8] { mapper.encoder.contentType }
    final override var accounting: Accounting { mapper.accounting }
    final var waitingCount: Int { mapper.encoder.output.count }
    final var isOutputFull: Bool { mapper.encoder.output.isFull }
    final func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}
