internal import Octets

/// Form or multipart to anything by way of a tree. Files never enter it: they go to the outlet as they come, and what
/// cannot be placed any more is refused by name.
///
/// Its methods are reached through `Conversion`'s table, where the compiler puts generic code unless it is told for which
/// types to make code: without `@_specialize` a small body costs three times as much.
internal final class FieldTreeLane<Decoder, Outlet>: Conversion
where Decoder: FieldDecoder & LaneDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable {
    private var decoder: Decoder
    private var gatherer: FieldGatherer<Outlet>
    private var splicer: JSONSplicer
    private var isSending = false

    init(
        plan: ConversionPlan, inputEncoding: BodyEncoding, sources: [[UInt8]], decoder: consuming Decoder,
        outlet: consuming Outlet
    ) {
        self.decoder = decoder
        gatherer = FieldGatherer(outlet, plan: plan)
        splicer = JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits)
        super.init(plan: plan, inputEncoding: inputEncoding, sources: sources)
    }

    @_specialize(where Decoder == Form.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &gatherer)
    }

    @_specialize(where Decoder == Form.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    override func end() throws(ConversionError) -> Bool {
        if !isSending {
            try decoder.finish(into: &gatherer)
            try gatherer.settle(plan, sources: sources, splicer: &splicer)
            isSending = true
        }
        guard try gatherer.send() else { return false }
        try gatherer.outlet.finish()
        return true
    }

    @_specialize(where Decoder == Form.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    override func reset(contentType: Span<UInt8>) throws(ConversionError) {
        isSending = false
        try decoder.restart(contentType: contentType, limits: plan.limits)
        gatherer.reset()
        gatherer.outlet.restart()
    }

    override var contentType: [UInt8] { gatherer.outlet.contentType }
    override var accounting: Accounting { gatherer.accounting }
    override var outputCount: Int { gatherer.outlet.output.count }
    override var isFull: Bool { gatherer.outlet.output.isFull }
    @_specialize(where Decoder == Form.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Form.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == JSONOutlet)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Form.Encoder>)
    @_specialize(where Decoder == Multipart.Decoder, Outlet == FlatOutlet<Multipart.Encoder>)
    override func swapOutput(_ buffer: inout OutputBuffer) { swap(&gatherer.outlet.output, &buffer) }
}
