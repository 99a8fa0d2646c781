internal import Octets

/// Form or multipart to anything by way of a tree. Files never enter it: they go to the outlet as they come, and what
/// cannot be placed any more is refused by name.
internal class FieldTreeLane<Decoder, Outlet>: Conversion
where Decoder: FieldDecoder & LaneDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable {
    private var decoder: Decoder
    private var gatherer: FieldGatherer<Outlet>
    private var splicer: JSONSplicer
    private var isSending = false

    init(
        plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], decoder: consuming Decoder,
        outlet: consuming Outlet
    ) {
        self.decoder = decoder
        gatherer = FieldGatherer(outlet, plan: plan)
        splicer = JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits)
        super.init(plan: plan, inputEncoding: input, sources: sources)
    }

    final func decodeInput(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &gatherer)
    }

    final func endInput() throws(ConversionError) -> Bool {
        if !isSending {
            try decoder.finish(into: &gatherer)
            try gatherer.settle(plan, sources: sources, splicer: &splicer)
            isSending = true
        }
        guard try gatherer.send() else { return false }
        try gatherer.outlet.finish()
        return true
    }

    final override func reset(contentType: Span<UInt8>) throws(ConversionError) {
        isSending = false
        try decoder.restart(contentType: contentType, limits: plan.limits)
        gatherer.reset()
        gatherer.outlet.restart()
    }

    final override var contentType: [UInt8] { gatherer.outlet.contentType }
    final override var accounting: Accounting { gatherer.accounting }
    final override var outputCount: Int { gatherer.outlet.output.count }
    final override var isFull: Bool { gatherer.outlet.output.isFull }
    final override func swapOutput(_ buffer: inout OutputBuffer) { swap(&gatherer.outlet.output, &buffer) }
}
