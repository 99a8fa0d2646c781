internal import Octets

/// A document to anything by way of a tree: for formats that need the whole document, and for declared types, sorted
/// members, removed nulls, and maps that aren't local.
internal final class TreeLane: Conversion {
    private let source: TreeSource
    private let target: TreeTarget
    private var tree: Tree
    private var splicer: JSONSplicer
    private var isWriting = false

    init(plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], from source: TreeSource, to target: TreeTarget)
    {
        self.source = source
        self.target = target
        tree = Tree(limits: plan.limits, duplicates: plan.effectiveJSONDuplicates)
        splicer = JSONSplicer(duplicates: plan.effectiveJSONDuplicates, limits: plan.limits)
        super.init(plan: plan, inputEncoding: input, sources: sources)
    }

    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try source.feed(input, into: &tree)
    }

    override func end() throws(ConversionError) -> Bool {
        if !isWriting {
            try source.finish(into: &tree)
            try tree.apply(plan.map, sources: sources)
            try tree.apply(plan.types, splicer: &splicer)
            tree.remove(plan.removeNulls)
            target.start(&tree)
            isWriting = true
        }
        return try target.advance(&tree)
    }

    override func reset(contentType: Span<UInt8>) throws(ConversionError) {
        isWriting = false
        tree.removeAll()
        target.restart()
        try source.restart(contentType: contentType, limits: plan.limits)
    }

    override var contentType: [UInt8] { target.contentType }
    override var accounting: Accounting {
        var accounting = target.accounting
        accounting.fields = tree.scalarCount - accounting.files - target.absorbedCount
        accounting.removed += tree.removedCount
        return accounting
    }
    override var outputCount: Int { target.outputCount }
    /// A binary property list is kept as it is until it is whole.
    override var heldCount: Int { tree.cost + (inputEncoding == .bplist ? consumedCount : 0) }
    override var isFull: Bool { target.isFull }
    override func swapOutput(_ buffer: inout OutputBuffer) { target.exchangeOutput(&buffer) }
}
