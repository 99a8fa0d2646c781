internal import Octets

/// Form or multipart to anything by way of a tree. Files never enter it: they go to the outlet as they come, and what
/// cannot be placed any more is refused by name.
internal class FieldTreeLane<Decoder, Outlet>: Conversion
where Decoder: FieldLaneDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable {
    /// All that changes, as one property: each access to one of a class is checked for overlaps while it runs.
    private struct Work: ~Copyable {
        var decoder: Decoder
        var gatherer: FieldGatherer<Outlet>
        var splicer: JSONSplicer
        var isSending = false

        mutating func end(_ plan: ConversionPlan, sources: [[UInt8]]) throws(ConversionError) -> Bool {
            if !isSending {
                try decoder.finish(gathering: &gatherer)
                try gatherer.settle(plan, sources: sources, splicer: &splicer)
                isSending = true
            }
            guard try gatherer.send(), try gatherer.outlet.drain() else { return false }
            try gatherer.outlet.finish()
            return true
        }

        mutating func reset(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
            isSending = false
            try decoder.restart(contentType: contentType, limits: limits)
            gatherer.reset()
            gatherer.outlet.restart()
        }

        mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
            try decoder.feed(input, gathering: &gatherer)
        }
    }

    private var work: Work

    init(
        plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], decoder: consuming Decoder,
        outlet: consuming Outlet
    ) {
        work = Work(
            decoder: decoder, gatherer: FieldGatherer(outlet, plan: plan, input: input),
            splicer: JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits))
        super.init(plan: plan, inputEncoding: input, sources: sources)
    }

    final func decodeInput(_ input: Span<UInt8>) throws(ConversionError) -> Int { try work.feed(input) }

    final func endInput() throws(ConversionError) -> Bool { try work.end(plan, sources: sources) }

    final func resetCodecs(contentType: Span<UInt8>) throws(ConversionError) {
        try work.reset(contentType: contentType, limits: plan.limits)
    }

    final override var contentType: [UInt8] { work.gatherer.outlet.contentType }
    final override var accounting: Accounting { work.gatherer.accounting }
    final override var heldCount: Int { work.gatherer.heldCount }
    final var waitingCount: Int { work.gatherer.outlet.output.count }
    final var isOutputFull: Bool { work.gatherer.outlet.output.isFull }
    final func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&work.gatherer.outlet.output, &buffer) }
}
