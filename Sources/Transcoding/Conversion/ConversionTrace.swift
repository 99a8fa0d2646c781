internal import Octets

/// Where each field and file of one body went, by which rules, and what was left out: a conversion, explained.
///
/// For a person who looks at one sample. `make` converts the body for its bytes, or for the error with which it is refused, and
/// then sends it once more through the same pipelines with recorders in the encoders' place, which costs many times that.
/// Encoders that write and record at once would be a second copy of every row of the table.
public struct ConversionTrace: Hashable, Sendable {
    /// One field or file.
    public struct Entry: Hashable, Sendable {
        /// Whether it is a file.
        public var isFile: Bool
        /// The name it came with, or its path in the document; nil: the route made it.
        public var source: String?
        /// The name it went out with, or its path in the document; nil: it was left out.
        public var target: String?
        /// What decided about it, in the order it did, as settings write it: `map.rename a to b`, `arrays: indices`.
        public var rules: [String]
        /// Where it stood in the document before the map, each element of an array as `[*]`: what a rule of the map would name it by.
        /// Nil where nothing stood, and where none is known.
        public var path: FieldPath?

        /// An entry of those names.
        public init(
            isFile: Bool = false, source: String?, target: String?, rules: [String] = [], path: FieldPath? = nil
        ) {
            self.isFile = isFile
            self.source = source
            self.target = target
            self.rules = rules
            self.path = path
        }
    }

    /// What a sample may cost where nobody waits for it alone: beyond it the body is refused as `limit_sample`.
    public struct Bound: Hashable, Sendable {
        /// Bytes of output.
        public var output: Int
        /// Fields and files, and half as many as the nodes of a document.
        public var entries: Int

        /// A bound of those numbers.
        public init(output: Int, entries: Int) {
            self.output = output
            self.entries = entries
        }

        fileprivate var tooMany: ConversionError { refusal("the number of its fields", of: entries) }

        fileprivate func refusal(_ what: String, of limit: Int) -> ConversionError {
            ConversionError(
                .limit, code: "limit_sample",
                reason: "the sample is too large to be shown: \(what) passes \(limit); try a shorter body")
        }
    }

    /// What went out, in the order it did. Several fields may have one target, as in `a=1,2` or a JSON text.
    public private(set) var sent: [Entry] = []
    /// What was left out, in the order of the rules.
    public private(set) var removed: [Entry] = []
    /// The whole output.
    public private(set) var output: [UInt8] = []
    /// The Content-Type of the output.
    public private(set) var contentType: [UInt8] = []
    /// The conversion's own count.
    public private(set) var accounting = Accounting()
    /// What `Conversion.outputBound` and the output said together when more than `holding` bytes had come out and the body
    /// wasn't at its end: the length that is announced then. Nil for shorter output, and where there was no bound, or none that is close.
    public private(set) var announcedLength: Int?
    /// Whether more than `holding` bytes came out before the body was at its end.
    public private(set) var outgrewHolding = false

    internal init() {}

    /// Converts `body` by `plan` and says how. Parameters and errors are those of `Conversion.make`, and the errors of
    /// the conversion itself; `holding` is the number of bytes of output that are held for their exact length. With a `bound`, a
    /// body that passes it is refused, too.
    public static func make(
        plan: ConversionPlan, contentType: Span<UInt8>, sources: [[UInt8]] = [], body: Span<UInt8>, holding: Int = .max,
        bound: Bound? = nil
    ) throws(ConversionError) -> ConversionTrace {
        let conversion = try Conversion.make(plan: plan.passingFiles, contentType: contentType, sources: sources)
        var output: [UInt8] = []
        var outgrew = false
        var announced: Int?
        func take() throws(ConversionError) {
            output += conversion.takeOutput()
            if let bound, output.count > bound.output { throw bound.refusal("its output", of: bound.output) }
        }
        var fed = 0
        while fed < body.count {
            fed += try conversion.feed(body.extracting(fed..<body.count))
            try take()
            if !outgrew, output.count >= holding {
                outgrew = true
                // Where the bound is a loose one, the body is held until it is whole.
                let isLoose = conversion.hasLooseBound(ofBody: body.count)
                announced = isLoose ? nil : conversion.outputBound(ofBody: body.count).map { $0 + output.count }
            }
        }
        while try !conversion.finish() { try take() }
        try take()
        if let bound, conversion.accounting.parts > bound.entries { throw bound.tooMany }
        var trace = try explain(conversion, contentType: contentType, body: body, bound: bound)
        trace.output = output
        trace.outgrewHolding = outgrew
        trace.announcedLength = announced
        trace.contentType = conversion.contentType
        trace.accounting = conversion.accounting
        return trace
    }

    /// Sends the body through the pipelines again, with an observer and with recorders as their encoders.
    private static func explain(
        _ conversion: Conversion, contentType: Span<UInt8>, body: Span<UInt8>, bound: Bound?
    ) throws(ConversionError) -> ConversionTrace {
        let input = conversion.inputEncoding
        var plan = conversion.plan
        let streams = plan.streams(from: input)
        // An output `auto` has been decided.
        if let output = conversion.outputEncoding { plan.output = output }
        // What streams needs no tree; here it does.
        plan.limits.tree = Int(Int32.max)
        let observer = ConversionObserver(plan: plan, input: input, streams: streams)
        if let bound { observer.nodeLimit = 2 * bound.entries }
        let table = PipelineTable(plan, input: input, sources: conversion.sources, observer: observer)
        let pipeline = try table.pipeline(contentType: contentType)
        // Recorders are never full.
        var fed = 0
        while fed < body.count { fed += try pipeline.feed(body.extracting(fed..<body.count)) }
        while try !pipeline.finish() {}
        if let bound, observer.passedNodeLimit { throw bound.tooMany }
        var trace = ConversionTrace()
        (trace.sent, trace.removed) = observer.finish()
        return trace
    }
}
