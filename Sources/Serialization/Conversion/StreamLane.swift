internal import Octets

/// JSON to anything, value by value: memory is the path of the value at hand.
internal class StreamLane<Encoder>: Conversion
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    private var decoder: JSON.Decoder
    private var mapper: EventMapper<Encoder>
    private var isDraining = false

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
        if !isDraining {
            try decoder.finish(into: &mapper)
            isDraining = true
        }
        guard try mapper.encoder.drain() else { return false }
        try mapper.finish()
        return true
    }

    final func resetCodecs(contentType: Span<UInt8>) throws(ConversionError) {
        isDraining = false
        try decoder.restart(contentType: contentType, limits: plan.limits)
        mapper.reset(sources: sources)
        mapper.encoder.restart()
    }

    final override var contentType: [UInt8] { mapper.encoder.contentType }
    final override var accounting: Accounting {
        var accounting = mapper.accounting
        accounting.removed += mapper.encoder.removedCount
        return accounting
    }
    final var waitingCount: Int { mapper.encoder.output.count }
    final var isOutputFull: Bool { mapper.encoder.output.isFull }
    final func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}
