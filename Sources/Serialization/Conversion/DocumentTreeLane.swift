internal import Octets

/// JSON to anything by way of a tree: for declared types, sorted members, and maps that need the whole document.
internal class DocumentTreeLane<Encoder>: Conversion
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    private var decoder: JSON.Decoder
    private var tree: Tree
    private var splicer: JSONSplicer
    private var walk = TreeWalk()
    private var isWalking = false
    /// Declares files; the map is the tree's.
    private var mapper: EventMapper<Encoder>

    init(plan: ConversionPlan, sources: [[UInt8]], encoder: consuming Encoder) {
        decoder = JSON.Decoder(plan)
        tree = Tree(limits: plan.limits, duplicates: plan.effectiveJSONDuplicates)
        splicer = JSONSplicer(duplicates: plan.effectiveJSONDuplicates, limits: plan.limits)
        mapper = EventMapper(encoder, plan: plan, map: FieldMap())
        super.init(plan: plan, inputEncoding: .json, sources: sources)
    }

    final func decodeInput(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &tree)
    }

    final func endInput() throws(ConversionError) -> Bool {
        if !isWalking {
            try decoder.finish(into: &tree)
            try tree.apply(plan.map, sources: sources)
            try tree.apply(plan.types, splicer: &splicer)
            tree.remove(plan.removeNulls)
            walk.start(&tree, order: plan.fieldEncoding.order)
            isWalking = true
        }
        guard try walk.advance(&tree, into: &mapper) else { return false }
        try mapper.finish()
        return true
    }

    final func resetCodecs(contentType: Span<UInt8>) throws(ConversionError) {
        isWalking = false
        try decoder.restart(contentType: contentType, limits: plan.limits)
        tree.removeAll()
        mapper.reset(sources: [])
        mapper.encoder.restart()
    }

    final override var contentType: [UInt8] { mapper.encoder.contentType }
    final override var accounting: Accounting {
        var accounting = mapper.accounting
        accounting.fields = tree.scalarCount - accounting.files
        accounting.removed += tree.removedCount
        return accounting
    }
    final var waitingCount: Int { mapper.encoder.output.count }
    final var isOutputFull: Bool { mapper.encoder.output.isFull }
    final func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}
