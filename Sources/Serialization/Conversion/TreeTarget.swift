internal import Octets

/// What writes a tree. One for each format; see `TreeSource`.
internal class TreeTarget {
    /// Begins with the document that `tree` holds.
    func start(_ tree: inout Tree) { formatIsMissing() }
    /// Writes on; true when all is written, false when the output is full.
    func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { formatIsMissing() }
    func restart() { formatIsMissing() }
    var contentType: [UInt8] { formatIsMissing() }
    var accounting: Accounting { formatIsMissing() }
    /// Scalars that are part of a file.
    var absorbedCount: Int { formatIsMissing() }
    var outputCount: Int { formatIsMissing() }
    var isFull: Bool { formatIsMissing() }
    func exchangeOutput(_ buffer: inout OutputBuffer) { formatIsMissing() }

    private func formatIsMissing() -> Never { preconditionFailure("only targets of a format are made") }
}

/// A target by an encoder. The final classes below name theirs, so that the compiler specialises what they call.
internal class EncoderTarget<Encoder>: TreeTarget where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    /// Declares files; the map is the tree's.
    private var mapper: EventMapper<Encoder>
    private var walk = TreeWalk()
    private let order: MemberOrder

    init(_ encoder: consuming Encoder, plan: ConversionPlan) {
        mapper = EventMapper(encoder, plan: plan, map: FieldMap())
        order = plan.treeOrder
    }

    final override func start(_ tree: inout Tree) { walk.start(&tree, order: order) }

    final func advanceEncoder(_ tree: inout Tree) throws(ConversionError) -> Bool {
        guard try walk.advance(&tree, into: &mapper), try mapper.encoder.drain() else { return false }
        try mapper.finish()
        return true
    }

    final override func restart() {
        mapper.reset(sources: [])
        mapper.encoder.restart()
    }

    final override var contentType: [UInt8] { mapper.encoder.contentType }
    final override var accounting: Accounting {
        var accounting = mapper.accounting
        accounting.removed += mapper.encoder.removedCount
        return accounting
    }
    final override var absorbedCount: Int { mapper.absorbed }
    final override var outputCount: Int { mapper.encoder.output.count }
    final override var isFull: Bool { mapper.encoder.output.isFull }
    final override func exchangeOutput(_ buffer: inout OutputBuffer) { swap(&mapper.encoder.output, &buffer) }
}

internal final class JSONTarget: EncoderTarget<JSON.Encoder> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class FormTarget: EncoderTarget<FlatEncoder<Form.Encoder>> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class MultipartTarget: EncoderTarget<FlatEncoder<Multipart.Encoder>> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class PropertyListTarget: EncoderTarget<PropertyList.Encoder> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class XMLTarget: EncoderTarget<XML.Encoder> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class PlainTextTarget: EncoderTarget<PlainText.Encoder> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}

internal final class RawTarget: EncoderTarget<FlatEncoder<Raw.Encoder>> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}
