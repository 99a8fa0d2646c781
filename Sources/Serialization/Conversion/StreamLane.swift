internal import Octets

/// JSON to anything, value by value: memory is the path of the value at hand.
internal class StreamLane<Encoder>: Conversion
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    fileprivate var decoder: JSON.Decoder
    fileprivate var mapper: EventMapper<Encoder>
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

extension StreamLane where Encoder: ~Copyable {
    /// Takes whole fields without their events where the plan leaves them as they are, and single events in between.
    final func decodeFields<Target>(_ input: Span<UInt8>) throws(ConversionError) -> Int
    where Encoder == FlatEncoder<Target>, Target: DirectFieldEncoder & LaneEncoder & ~Copyable {
        guard mapper.passesAll, !mapper.encoder.hasParts else { return try decodeInput(input) }
        return try mapper.feed(input, from: &decoder)
    }
}

extension EventMapper where Encoder: ~Copyable {
    /// Feeds the decoder: see `StreamLane.decodeFields`. To the decoder, it is as if the slice were cut where the one way of
    /// reading ends and the other begins.
    fileprivate mutating func feed<Target>(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder
    ) throws(ConversionError) -> Int
    where Encoder == FlatEncoder<Target>, Target: DirectFieldEncoder & LaneEncoder & ~Copyable {
        var at = 0
        while at < input.count {
            if !encoder.flattener.isFull {
                let slice = input.extracting(at...)
                at += decoder.feed(slice, into: &encoder.flattener, count: &accounting.fields)
                if at == input.count || encoder.flattener.isFull { return at }
            }
            encoder.isStepping = input.count - at > JSON.Decoder.shortSlice
            defer { encoder.isStepping = false }
            at += try decoder.feed(input.extracting(at...), into: &self)
            if encoder.flattener.isFull { return at }
        }
        return at
    }
}
