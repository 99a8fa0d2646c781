internal import Octets

// The ways of a body from a decoder through the rules of a plan to an encoder. `PipelineTable` says which pair of encodings
// takes which, and with which codecs; here a pipeline knows of codecs only what `PipelineCodecs.swift` asks of them.

/// One body on its way. `Conversion` has the contract that these functions stand behind.
internal protocol Pipeline: ~Copyable {
    mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int
    /// Leaves long content in the input where it can: see `Conversion.feed(_:passing:)`.
    mutating func feed(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int
    mutating func finish() throws(ConversionError) -> Bool
    /// Makes the pipeline as new for another body.
    mutating func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError)
    var output: OutputBuffer { get set }
    var contentType: [UInt8] { get }
    var accounting: Accounting { get }
    /// See `Conversion.heldCount`; what is held of a file counts besides.
    var heldCount: Int { get }
    /// See `Conversion.allocatedCount`.
    var allocatedCount: Int { get }
    /// Bytes by which filenames have grown so far.
    var filenameGrowth: Int { get }
    /// Whether the document is whole and being written, in the middle of which bytes of it wait.
    var isWritingDocument: Bool { get }
    /// Where the document is whole, how many bytes are still to be written of it behind those that wait, none of which was taken: all of
    /// it is written once more, and counted. Nil where that can't be told.
    mutating func countRest() -> Int?
    /// Holds the output to the length that it has if the rest of a body of `length` bytes becomes as long as it is, and returns how many
    /// bytes follow what has been written; nil where that can't be.
    mutating func fit(length: Int) -> Int?
    /// The length of the boundary that the body came with; 0 where it has none.
    var boundaryLength: Int { get }
    /// The file that is held until other bytes of it were made.
    var hold: FileHold { get set }
}

extension Pipeline where Self: ~Copyable {
    internal mutating func feed(
        _ input: Span<UInt8>, passing passed: inout Range<Int>
    ) throws(ConversionError) -> Int {
        try feed(input)
    }
    internal var isWritingDocument: Bool { false }
    internal mutating func countRest() -> Int? { nil }
    internal mutating func fit(length: Int) -> Int? { nil }
    internal var boundaryLength: Int { 0 }
}

/// A pipeline as functions, whatever its codecs are.
///
/// The compiler specialises closures with the types of their pipeline where that is made, in the rows of the table. Methods of
/// a generic class, or of a generic type behind `any`, are called through tables that it doesn't specialise, which costs a
/// multiple for each event.
internal struct RunningPipeline {
    let feed: (Span<UInt8>) throws(ConversionError) -> Int
    let feedPassing: (Span<UInt8>, inout Range<Int>) throws(ConversionError) -> Int
    let finish: () throws(ConversionError) -> Bool
    let restart: (Span<UInt8>, [[UInt8]]) throws(ConversionError) -> Void
    let swapOutput: (inout OutputBuffer) -> Void
    let outputCount: () -> Int
    let isFull: () -> Bool
    let contentType: () -> [UInt8]
    let accounting: () -> Accounting
    let heldCount: () -> Int
    let allocatedCount: () -> Int
    let filenameGrowth: () -> Int
    let isWritingDocument: () -> Bool
    let countRest: () -> Int?
    let fit: (_ length: Int) -> Int?
    let boundaryLength: () -> Int
    let holdsFile: () -> Bool
    let takeFile: () -> HeldFile?
    let settleFile: (SettledFile) -> Void

    init<Stages: Pipeline & ~Copyable>(_ pipeline: consuming Stages) {
        // A closure that captures nothing but this reference needs no allocation of its own.
        let box = PipelineBox(pipeline)
        feed = { input throws(ConversionError) in try box.pipeline.feed(input) }
        feedPassing = { input, passed throws(ConversionError) in try box.pipeline.feed(input, passing: &passed) }
        finish = { () throws(ConversionError) in try box.pipeline.finish() }
        restart = { type, sources throws(ConversionError) in
            try box.pipeline.restart(contentType: type, sources: sources)
        }
        swapOutput = { buffer in swap(&box.pipeline.output, &buffer) }
        outputCount = { box.pipeline.output.count }
        isFull = { box.pipeline.output.isFull || box.pipeline.hold.isFull }
        contentType = { box.pipeline.contentType }
        accounting = { box.pipeline.accounting }
        heldCount = { box.pipeline.heldCount + box.pipeline.hold.count }
        allocatedCount = { box.pipeline.allocatedCount + box.pipeline.hold.count }
        filenameGrowth = { box.pipeline.filenameGrowth }
        isWritingDocument = { box.pipeline.isWritingDocument }
        countRest = { box.pipeline.countRest() }
        fit = { length in box.pipeline.fit(length: length) }
        boundaryLength = { box.pipeline.boundaryLength }
        holdsFile = { box.pipeline.hold.isWaiting }
        takeFile = { box.pipeline.hold.take() }
        settleFile = { file in box.pipeline.hold.settle(file) }
    }
}

/// SAFETY of `@exclusivity(unchecked)`: one thread uses a pipeline, which calls nobody who could come back to it (docs/decisions/0007).
private final class PipelineBox<Stages: Pipeline & ~Copyable> {
    @safe @exclusivity(unchecked) var pipeline: Stages

    init(_ pipeline: consuming Stages) { self.pipeline = pipeline }
}

// MARK: Documents value by value

/// JSON to anything, value by value: memory is the path of the value at hand.
internal struct DocumentPipeline<Encoder: DocumentEncoder & ~Copyable>: Pipeline, ~Copyable {
    private var decoder: JSON.Decoder
    private var mapper: EventMapper<Encoder>
    private let limits: Limits
    private var isDraining = false

    init(_ decoder: consuming JSON.Decoder, _ encoder: consuming Encoder, plan: ConversionPlan, sources: [[UInt8]]) {
        self.decoder = decoder
        mapper = EventMapper(
            encoder, plan: plan, map: plan.map, leavesOutNullMembers: plan.leavesOutNullMembers)
        mapper.reset(sources: sources)
        limits = plan.limits
    }

    mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        guard try mapper.release() else { return 0 }
        return try Encoder.feed(input, from: &decoder, into: &mapper)
    }

    mutating func finish() throws(ConversionError) -> Bool {
        guard try mapper.release() else { return false }
        if !isDraining {
            try decoder.finish(into: &mapper)
            isDraining = true
        }
        guard try mapper.release(), try mapper.encoder.drain() else { return false }
        try mapper.finish()
        return true
    }

    mutating func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        isDraining = false
        try decoder.restart(contentType: contentType, limits: limits)
        mapper.reset(sources: sources)
        mapper.encoder.restart()
    }

    var output: OutputBuffer {
        _read { yield mapper.encoder.output }
        _modify { yield &mapper.encoder.output }
    }
    var contentType: [UInt8] { mapper.encoder.contentType }
    var accounting: Accounting {
        var accounting = mapper.accounting
        accounting.removed += mapper.encoder.removedCount
        return accounting
    }
    var heldCount: Int { decoder.heldCount + mapper.encoder.heldCount }
    var allocatedCount: Int { decoder.allocatedCount + mapper.encoder.allocatedCount }
    var filenameGrowth: Int { mapper.encoder.filenameGrowth }
    var hold: FileHold {
        _read { yield mapper.gate.hold }
        _modify { yield &mapper.gate.hold }
    }
}

// MARK: Fields one by one

/// Fields to fields, one by one: nothing is held but the field's head.
///
/// Fields pass in the order they come, repeated ones as often as they come, under the names they came with or that the map
/// gives them. What `set` gives goes out first, before any file.
internal struct FieldPipeline<Decoder: PartDecoder & ~Copyable, Encoder: PartEncoder & ~Copyable>: Pipeline, ~Copyable {
    private var decoder: Decoder
    private var mapper: FieldMapper<Encoder>
    private let limits: Limits
    /// Whether what follows a moment is as long in the output as in the input, or can be made so.
    private let keepsLengths: Bool
    private var sources: [[UInt8]]
    private var isEnding = false

    init(
        _ decoder: consuming Decoder, _ encoder: consuming Encoder, input: BodyEncoding, plan: ConversionPlan,
        sources: [[UInt8]], observer: ConversionObserver?
    ) {
        keepsLengths = plan.keepsLengths(from: input)
        self.sources = sources
        mapper = FieldMapper(encoder, plan: plan, input: input, observer: observer)
        mapper.encoder.restart(boundaryLength: decoder.boundaryLength)
        self.decoder = decoder
        limits = plan.limits
    }

    mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        guard try mapper.release() else { return 0 }
        return try decoder.feed(input, into: &mapper)
    }

    mutating func feed(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int {
        mapper.encoder.beginPassing(input)
        do throws(ConversionError) {
            let count = try feed(input)
            passed = mapper.encoder.endPassing()
            return count
        } catch {
            _ = mapper.encoder.endPassing()
            throw error
        }
    }

    mutating func finish() throws(ConversionError) -> Bool {
        if !mapper.hasBegun { try mapper.begin(sources: sources) }
        guard try mapper.release() else { return false }
        if !isEnding {
            try decoder.finish(into: &mapper)
            isEnding = true
        }
        guard try mapper.release() else { return false }
        try mapper.encoder.finish()
        return true
    }

    mutating func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        self.sources = sources
        isEnding = false
        try decoder.restart(contentType: contentType, limits: limits)
        mapper.reset()
        mapper.encoder.restart(boundaryLength: decoder.boundaryLength)
    }

    mutating func fit(length: Int) -> Int? {
        guard keepsLengths, let handed = decoder.handedCount else { return nil }
        return mapper.encoder.fit(length: length, handed: handed)
    }
    var boundaryLength: Int { decoder.boundaryLength }

    var output: OutputBuffer {
        _read { yield mapper.encoder.output }
        _modify { yield &mapper.encoder.output }
    }
    var contentType: [UInt8] { mapper.encoder.contentType }
    var accounting: Accounting { mapper.accounting }
    var heldCount: Int { decoder.heldCount + mapper.encoder.heldCount }
    var allocatedCount: Int { decoder.allocatedCount + mapper.encoder.allocatedCount + mapper.heldCount }
    var filenameGrowth: Int { mapper.encoder.filenameGrowth }
    var hold: FileHold {
        _read { yield mapper.hold }
        _modify { yield &mapper.hold }
    }
}

// MARK: Fields by way of a tree

/// Fields to anything by way of a tree. Files never enter it: they go to the outlet as they come, and one that cannot be put
/// in its place any more is refused by name.
internal struct GatheringPipeline<Decoder: PartDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable>: Pipeline,
    ~Copyable
{
    private var decoder: Decoder
    private var gatherer: FieldGatherer<Outlet>
    private var splicer: JSONSplicer
    private let plan: ConversionPlan
    private var sources: [[UInt8]]
    private var isEnding = false
    private var isSending = false
    private let makeOutlet: () -> Outlet
    /// The output that waited when the fields began to go out.
    private var before = 0

    /// - Parameter makeOutlet: makes one more of the outlets that files and fields go to.
    init(
        _ decoder: consuming Decoder, _ makeOutlet: @escaping () -> Outlet, input: BodyEncoding, plan: ConversionPlan,
        sources: [[UInt8]], observer: ConversionObserver?
    ) {
        self.decoder = decoder
        self.plan = plan
        self.sources = sources
        self.makeOutlet = makeOutlet
        gatherer = FieldGatherer(makeOutlet(), plan: plan, input: input, observer: observer)
        splicer = JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits)
        gatherer.begin(sources: sources)
    }

    mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        guard try gatherer.release() else { return 0 }
        return try decoder.feed(input, wholeInto: &gatherer)
    }

    mutating func finish() throws(ConversionError) -> Bool {
        guard try gatherer.release() else { return false }
        if !isEnding {
            try decoder.finish(wholeInto: &gatherer)
            isEnding = true
            guard try gatherer.release() else { return false }
        }
        if !isSending {
            try gatherer.settle(plan, sources: sources, splicer: &splicer)
            before = gatherer.outlet.output.count
            isSending = true
        }
        guard try gatherer.send(), try gatherer.outlet.drain() else { return false }
        try gatherer.outlet.finish()
        return true
    }

    mutating func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        self.sources = sources
        isEnding = false
        isSending = false
        try decoder.restart(contentType: contentType, limits: plan.limits)
        gatherer.reset()
        gatherer.begin(sources: sources)
        gatherer.outlet.restart()
    }

    var output: OutputBuffer {
        _read { yield gatherer.outlet.output }
        _modify { yield &gatherer.outlet.output }
    }
    var contentType: [UInt8] { gatherer.outlet.contentType }
    var accounting: Accounting { gatherer.accounting }
    var heldCount: Int { decoder.heldCount + gatherer.fields.tree.cost + gatherer.outlet.heldCount }
    var allocatedCount: Int {
        decoder.allocatedCount + gatherer.fields.tree.allocatedCount + gatherer.outlet.allocatedCount
            + gatherer.heldCount
    }
    var filenameGrowth: Int { gatherer.outlet.filenameGrowth }
    var isWritingDocument: Bool { isSending }

    mutating func countRest() -> Int? {
        var outlet = makeOutlet()
        guard isSending, let count = gatherer.countFields(into: &outlet, order: plan.walkOrder) else { return nil }
        return max(0, count - (gatherer.outlet.output.count - before))
    }

    var hold: FileHold {
        _read { yield gatherer.hold }
        _modify { yield &gatherer.hold }
    }
}

// MARK: Documents by way of a tree

/// A document to anything by way of a tree: for formats that need the whole document, and for declared types, sorted
/// members, removed nulls but for those that `leavesOutNullMembers` says, and maps that aren't local.
internal struct TreePipeline<Decoder: DocumentDecoder & ~Copyable, Encoder: DocumentEncoder & ~Copyable>: Pipeline,
    ~Copyable
{
    private var decoder: Decoder
    private var tree: Tree
    private var splicer: JSONSplicer
    private var walk = TreeWalk()
    /// Declares files; the map is the tree's.
    private var mapper: EventMapper<Encoder>
    private let plan: ConversionPlan
    private var sources: [[UInt8]]
    private var isWriting = false
    private let makeEncoder: () -> Encoder

    /// - Parameter makeEncoder: makes one more of the encoders that the document goes to.
    init(
        _ decoder: consuming Decoder, _ makeEncoder: @escaping () -> Encoder, plan: ConversionPlan, sources: [[UInt8]],
        observer: ConversionObserver?
    ) {
        self.makeEncoder = makeEncoder
        self.decoder = decoder
        self.plan = plan
        self.sources = sources
        let duplicates = plan.effectiveJSONDuplicates
        // Nobody else looks up a member of a document: rules go through all of them. To ask the tree's own property here makes the
        // compiler (6.3.1) destroy what isn't there yet.
        let isLookedUp = plan.document != nil || duplicates != .keep && duplicates != .reject
        tree = Tree(limits: plan.limits, duplicates: duplicates)
        tree.keepsIndex = isLookedUp || Decoder.exchangesTree
        tree.observer = observer
        splicer = JSONSplicer(duplicates: plan.effectiveJSONDuplicates, limits: plan.limits)
        mapper = EventMapper(makeEncoder(), plan: plan, map: FieldMap(), observer: observer)
        mapper.reset(sources: sources)
    }

    mutating func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        try decoder.feed(input, building: &tree)
    }

    mutating func finish() throws(ConversionError) -> Bool {
        if !isWriting {
            try decoder.finish(building: &tree)
            try tree.apply(plan, sources: sources, splicer: &splicer)
            walk.start(&tree, order: plan.walkOrder)
            isWriting = true
        }
        guard try mapper.release() else { return false }
        guard try walk.send(&tree, into: &mapper), try mapper.release(), try mapper.drain() else { return false }
        try mapper.finish()
        return true
    }

    mutating func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        self.sources = sources
        isWriting = false
        tree.removeAll()
        mapper.reset(sources: sources)
        mapper.encoder.restart()
        try decoder.restart(contentType: contentType, limits: plan.limits)
    }

    var output: OutputBuffer {
        _read { yield mapper.encoder.output }
        _modify { yield &mapper.encoder.output }
    }
    var contentType: [UInt8] { mapper.encoder.contentType }
    var accounting: Accounting {
        var accounting = mapper.accounting
        accounting.fields = tree.scalarCount - accounting.files - mapper.absorbed
        accounting.removed += mapper.encoder.removedCount + tree.removedCount
        return accounting
    }
    var heldCount: Int { decoder.heldCount + tree.cost + mapper.encoder.heldCount }
    var allocatedCount: Int {
        decoder.allocatedCount + tree.allocatedCount + mapper.encoder.allocatedCount
    }
    var filenameGrowth: Int { mapper.encoder.filenameGrowth }
    var isWritingDocument: Bool { isWriting }

    mutating func countRest() -> Int? {
        guard isWriting, !tree.isObserved else { return nil }
        var counter = EventMapper(makeEncoder(), plan: plan, map: FieldMap())
        counter.reset(sources: sources)
        guard let count = TreeWalk.count(&tree, into: &counter, order: plan.walkOrder) else { return nil }
        return max(0, count - mapper.encoder.output.count)
    }

    var hold: FileHold {
        _read { yield mapper.gate.hold }
        _modify { yield &mapper.gate.hold }
    }
}
