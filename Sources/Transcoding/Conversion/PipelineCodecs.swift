internal import Octets

// What pipelines need of codecs beside their events: to be made from a plan, to begin another body, and to say what they write.
// A new encoding conforms to these protocols here and gets its rows in `PipelineTable.swift`.

// MARK: Decoders

/// A decoder in a pipeline.
internal protocol PipelineDecoder: ~Copyable {
    /// Makes the decoder as new for a body of that Content-Type.
    mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError)
    /// Bytes of the body, or of what is made of it, that are held here until more of it, or its end, has come; 0 where that is one
    /// field at most.
    var heldCount: Int { get }
    /// Bytes of memory that they take, and what else grows with the body. What a pipeline takes is paid for.
    var allocatedCount: Int { get }
}

extension PipelineDecoder where Self: ~Copyable {
    internal var allocatedCount: Int { heldCount }
}

/// A decoder of documents in a pipeline.
internal protocol DocumentDecoder: EventDecoder, PipelineDecoder, ~Copyable {
    /// Whether the decoder has a tree of its own, which it looks members up in, and hands over in exchange for the one given.
    static var exchangesTree: Bool { get }
    /// As `feed(_:into:)`, for a decoder that builds a tree by itself.
    mutating func feed(_ input: Span<UInt8>, building tree: inout Tree) throws(ConversionError) -> Int
    /// As `finish(into:)`, behind `feed(_:building:)`.
    mutating func finish(building tree: inout Tree) throws(ConversionError)
}

extension DocumentDecoder where Self: ~Copyable {
    internal static var exchangesTree: Bool { false }

    internal mutating func feed(_ input: Span<UInt8>, building tree: inout Tree) throws(ConversionError) -> Int {
        try feed(input, into: &tree)
    }

    internal mutating func finish(building tree: inout Tree) throws(ConversionError) { try finish(into: &tree) }
}

/// A decoder of fields in a pipeline.
internal protocol PartDecoder: FieldDecoder, PipelineDecoder, ~Copyable {
    /// As `feed(_:into:)`, for a decoder that can give whole fields.
    mutating func feed<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, wholeInto sink: inout Sink
    ) throws(ConversionError) -> Int
    /// As `finish(into:)`, behind `feed(_:wholeInto:)`.
    mutating func finish<Sink: WholeFieldSink & ~Copyable>(
        wholeInto sink: inout Sink
    ) throws(ConversionError)
    /// The length of the boundary, where there is one; else 0.
    var boundaryLength: Int { get }
    /// How many bytes of the input have been handed on, or passed over; nil where that can't be told.
    var handedCount: Int? { get }
}

extension PartDecoder where Self: ~Copyable {
    internal var boundaryLength: Int { 0 }
    internal var handedCount: Int? { nil }

    internal mutating func feed<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, wholeInto sink: inout Sink
    ) throws(ConversionError) -> Int {
        try feed(input, into: &sink)
    }

    internal mutating func finish<Sink: WholeFieldSink & ~Copyable>(
        wholeInto sink: inout Sink
    ) throws(ConversionError) {
        try finish(into: &sink)
    }
}

// MARK: Encoders

/// What may hold some of a document back until its end.
internal protocol HoldingEncoder: OutputEncoder, ~Copyable {
    /// Writes what was held back until the document's end, before `finish`. Returns false when the output is full, to be called again.
    mutating func drain() throws(ConversionError) -> Bool
}

/// An encoder in a pipeline.
internal protocol PipelineEncoder: HoldingEncoder, ~Copyable {
    /// Makes the encoder as new for another body.
    mutating func restart()
    /// The Content-Type of the body.
    var contentType: [UInt8] { get }
    /// What rules of the encoder have left out of the body.
    var removedCount: Int { get }
    /// Bytes by which filenames have grown so far; 0 where they don't.
    var filenameGrowth: Int { get }
    /// Bytes that are held apart from the output, as `PipelineDecoder` has it.
    var heldCount: Int { get }
    /// Bytes of memory that they take, as of a decoder.
    var allocatedCount: Int { get }
}

/// An encoder that writes every event at once. One that wraps another encoder is none: it passes the questions on.
internal protocol DirectEncoder: PipelineEncoder, ~Copyable {}

extension PipelineEncoder where Self: ~Copyable {
    internal var filenameGrowth: Int { 0 }
}

extension DirectEncoder where Self: ~Copyable {
    internal var removedCount: Int { 0 }
    internal var heldCount: Int { 0 }
    internal var allocatedCount: Int { 0 }
    internal mutating func drain() throws(ConversionError) -> Bool { true }
}

/// What a document goes to that is held as a tree.
internal protocol TreeSink: EventSink, HoldingEncoder, ~Copyable {
    /// Writes as much of the document that `tree` holds as it can without its events, and moves `walk` behind that.
    mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError)
}

extension TreeSink where Self: ~Copyable {
    internal mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError) {}
}

extension TreeWalk {
    /// Writes as much of the document as the sink has room for. Returns whether that is all.
    internal mutating func send<Sink: TreeSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        try sink.write(&tree, &self)
        return try advance(&tree, into: &sink)
    }

    /// Writes the whole document to a sink of its own, with the end of the body, and returns how many bytes that are; nil where
    /// it is refused.
    internal static func count<Sink: TreeSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink, order: MemberOrder
    ) -> Int? {
        var walk = TreeWalk()
        walk.start(&tree, order: order)
        var count = 0
        do throws(ConversionError) {
            while try !walk.send(&tree, into: &sink) { count += sink.takeCount() }
            while try !sink.drain() { count += sink.takeCount() }
            try sink.finish()
        } catch {
            return nil
        }
        return count + sink.takeCount()
    }
}

extension OutputEncoder where Self: ~Copyable {
    /// Drops what has been written, and returns how many bytes that was.
    fileprivate mutating func takeCount() -> Int {
        defer { output.removeAll() }
        return output.count
    }
}

/// An encoder of documents in a pipeline.
internal protocol DocumentEncoder: TreeSink, PipelineEncoder, ~Copyable {
    /// Feeds a decoder of JSON. An encoder that can take more than events from it says so here.
    static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<Self>
    ) throws(ConversionError) -> Int
}

extension DocumentEncoder where Self: ~Copyable {
    internal static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<Self>
    ) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &mapper)
    }
}

/// An encoder of fields in a pipeline.
internal protocol PartEncoder: FieldSink, PipelineEncoder, ~Copyable {
    /// As `DocumentEncoder.feed`, where documents become fields in front of this encoder.
    static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<FlatEncoder<Self>>
    ) throws(ConversionError) -> Int
    /// As `PipelineEncoder.drain`, where documents become fields in front of this encoder.
    static func drain(_ flattener: inout Flattener<Self>) throws(ConversionError) -> Bool
    /// As `TreeSink.write`, where documents become fields in front of this encoder.
    static func write(
        _ tree: inout Tree, _ walk: inout TreeWalk, to flattener: inout Flattener<Self>
    ) throws(ConversionError)
    /// Lets long content stay in `input` until `endPassing`: see `Conversion.feed(_:passing:)`.
    mutating func beginPassing(_ input: Span<UInt8>)
    /// Returns what of the input was left there.
    mutating func endPassing() -> Range<Int>
    /// As `restart`, where parts of a multipart body with a boundary of that length are copied.
    mutating func restart(boundaryLength: Int)
    /// Holds the output to the length that it has if the rest of the input becomes as long as it is: how many bytes follow what has been
    /// written. Nil where that can't be. `handed` of the `length` bytes of the input stand in that.
    mutating func fit(length: Int, handed: Int) -> Int?
}

extension PartEncoder where Self: ~Copyable {
    internal static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<FlatEncoder<Self>>
    ) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &mapper)
    }

    internal static func drain(_ flattener: inout Flattener<Self>) throws(ConversionError) -> Bool {
        try flattener.drain()
    }

    internal static func write(
        _ tree: inout Tree, _ walk: inout TreeWalk, to flattener: inout Flattener<Self>
    ) throws(ConversionError) {}

    internal mutating func restart(boundaryLength: Int) { restart() }
    internal mutating func fit(length: Int, handed: Int) -> Int? { nil }
    internal mutating func beginPassing(_ input: Span<UInt8>) {}
    internal mutating func endPassing() -> Range<Int> { 0..<0 }
}

extension PartEncoder where Self: DirectFieldEncoder & ~Copyable {
    /// Takes whole fields without their events where the plan leaves them as they are, and single events in between. To the
    /// decoder, it is as if the slice were cut where the one way of reading ends and the other begins.
    internal static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<FlatEncoder<Self>>
    ) throws(ConversionError) -> Int {
        guard !mapper.encoder.hasParts, mapper.rules.isEmpty,
            decoder.usesBlocks || !mapper.encoder.flattener.holdsDocuments
        else {
            return try decoder.feed(input, into: &mapper)
        }
        var at = 0
        while at < input.count {
            if !mapper.encoder.flattener.isFull, let passing = mapper.passing {
                let slice = input.extracting(at...), depth = mapper.encoder.flattener.containers.count
                at += decoder.feed(
                    slice, into: &mapper.encoder.flattener, ending: passing.ending, watching: passing.watched,
                    count: &mapper.accounting.fields)
                mapper.passed(opened: mapper.encoder.flattener.containers.count - depth)
                if at == input.count || mapper.encoder.flattener.isFull { return at }
            }
            mapper.encoder.isStepping = input.count - at > JSON.Decoder.shortSlice
            defer { mapper.encoder.isStepping = false }
            at += try decoder.feed(input.extracting(at...), into: &mapper)
            if mapper.encoder.flattener.isFull { return at }
        }
        return at
    }
}

extension PartEncoder where Self: DirectFieldEncoder & ~Copyable {
    internal static func drain(_ flattener: inout Flattener<Self>) throws(ConversionError) -> Bool {
        try flattener.drainDirectly()
    }

    internal static func write(
        _ tree: inout Tree, _ walk: inout TreeWalk, to flattener: inout Flattener<Self>
    ) throws(ConversionError) {
        guard let order = walk.orderAtStart(of: tree) else { return }
        if try flattener.write(held: &tree, order: order) { walk.go(to: Tree.none, isLeaving: false) }
    }
}

extension FlatEncoder: DocumentEncoder, TreeSink, PipelineEncoder, HoldingEncoder
where Target: PartEncoder & ~Copyable {
    internal static func feed(
        _ input: Span<UInt8>, from decoder: inout JSON.Decoder, into mapper: inout EventMapper<Self>
    ) throws(ConversionError) -> Int {
        try Target.feed(input, from: &decoder, into: &mapper)
    }

    internal mutating func restart() {
        reset()
        flattener.target.restart()
    }
    internal var contentType: [UInt8] { flattener.target.contentType }
    internal mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError) {
        if !hasParts { try Target.write(&tree, &walk, to: &flattener) }
    }

    internal var removedCount: Int { flattener.removedCount }
    internal var heldCount: Int { flattener.document.cost }
    internal var allocatedCount: Int { flattener.document.allocatedCount }
    internal var filenameGrowth: Int { flattener.target.filenameGrowth }
    internal mutating func drain() throws(ConversionError) -> Bool { try Target.drain(&flattener) }
}

// MARK: JSON

extension JSON.Decoder: DocumentDecoder {
    internal init(_ plan: ConversionPlan) {
        var options = JSON.DecodingOptions()
        options.usesBlocks = plan.usesBlocks
        // `first` and `last` are the tree's, which counts what they leave out.
        options.duplicates = plan.effectiveJSONDuplicates == .reject ? .reject : .keep
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
    internal var heldCount: Int { 0 }
    /// The names of the open objects' members, by which repeated ones are found.
    internal var allocatedCount: Int { memberNames.allocatedCount }
}

extension JSON.Encoder: FileValueEncoder, DirectEncoder {
    /// What becomes of files is decided before one arrives here, as for the other encoders below.
    internal init(_ plan: ConversionPlan) {
        var options = JSON.EncodingOptions()
        options.files = .base64
        self.init(options: options)
    }

    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("application/json".utf8)
}

// MARK: Form

extension Form.Decoder: PartDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) {
        self.init(options: plan.fieldDecoding, limits: plan.limits)
        declare(contentType)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        reset()
        declare(contentType)
    }
    internal var heldCount: Int { 0 }
}

extension Form.Encoder: PartEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.fieldEncoding) }
    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { hasCharset ? Self.mediaTypeWithCharset : Self.mediaType }
    private static let mediaType = Array("application/x-www-form-urlencoded".utf8)
    /// As Alamofire sends it.
    private static let mediaTypeWithCharset = Array("application/x-www-form-urlencoded; charset=utf-8".utf8)
}

// MARK: Multipart

extension Multipart.Decoder: PartDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) throws(ConversionError) {
        var declared: Charset?
        let boundary = try Multipart.Boundary(
            contentType: contentType, mediaType: "multipart/form-data", limits: plan.limits,
            charsets: plan.fieldDecoding.charsets, declared: &declared)
        self.init(boundary: boundary, options: plan.fieldDecoding, limits: plan.limits)
        setCharsets(declared: declared, hinted: nil)
        // Where parts are copied their text is not read, unless a file takes its name from it.
        passesCharsets =
            plan.output == .multipart && plan.outputWithoutFiles == nil && plan.streamsFields
            && !FileGate(plan).wantsTexts
        passesUnnamed = !plan.fieldDecoding.fileTypes.isEmpty && plan.passesParts(from: .multipart)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        var declared: Charset?
        reset(
            boundary: try Multipart.Boundary(
                contentType: contentType, mediaType: "multipart/form-data", limits: limits, charsets: options.charsets,
                declared: &declared))
        if declared != nil { setCharsets(declared: declared, hinted: nil) }
    }
    internal var heldCount: Int { 0 }
}

/// Every body gets a boundary of its own, also where multipart comes in: the client's may stand in what a map adds.
extension Multipart.Encoder: PartEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) {
        var options = plan.fieldEncoding
        options.files = .stream
        self.init(boundary: .random(), options: options)
        hold(to: plan.limits)
        given = GivenNames(
            plan.files.compactMap(\.name?.pattern), options.nesting, refusal: MapConflict.occupied.ofFiles)
    }

    internal mutating func restart() { resetWithRandomBoundary() }
    internal mutating func restart(boundaryLength: Int) { resetWithRandomBoundary(length: boundaryLength) }
    internal var contentType: [UInt8] { boundary.contentType() }
}

// MARK: Property lists

extension PropertyList.Decoder: DocumentDecoder {
    /// - Parameter input: `plist` takes both formats, `bplist` the binary one only.
    internal init(_ plan: ConversionPlan, input: BodyEncoding) {
        var options = plan.propertyListDecoding
        options.format = input == .bplist ? .binary : .any
        // `first`, `last` and `keep` are the tree's, which counts what they leave out.
        options.duplicates = plan.spliceDuplicates == .reject ? .reject : .keep
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
}

extension PropertyList.Encoder: FileValueEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) {
        var options = plan.propertyListEncoding
        options.format = plan.output == .bplist ? .binary : .xml
        options.files = .base64
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array(BodyEncoding.plist.mediaType.utf8)
}

// MARK: XML

/// XML makes a tree in any case, which is handed over instead of its events.
extension XML.Decoder: DocumentDecoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.xmlDecoding, limits: plan.limits) }
    internal static var exchangesTree: Bool { true }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }

    internal mutating func feed(_ input: Span<UInt8>, building tree: inout Tree) throws(ConversionError) -> Int {
        try take(input)
        return input.count
    }
    internal mutating func finish(building tree: inout Tree) throws(ConversionError) { try finish(exchanging: &tree) }
}

extension XML.Encoder: FileValueEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) {
        var options = plan.xmlEncoding
        options.booleans = plan.fieldEncoding.booleans
        options.files = .base64
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("application/xml; charset=utf-8".utf8)
}

// MARK: Text and raw bodies

extension PlainText.Decoder: DocumentDecoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.inputField) }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
    internal var heldCount: Int { 0 }
}

extension PlainText.Encoder: DocumentEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.outputField, options: plan.fieldEncoding) }
    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("text/plain; charset=utf-8".utf8)
}

extension Raw.Decoder: PartDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) {
        self.init(field: plan.inputField ?? Self.standardField, contentType: contentType)
    }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        reset(contentType: contentType)
    }
    internal var heldCount: Int { 0 }
}

extension Raw.Encoder: PartEncoder, DirectEncoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.outputField) }
    internal mutating func restart() { reset() }
}
