package import Octets

/// One body on its way from one encoding to another.
///
/// `make` picks the pipeline; then the input is fed as it arrives, output is taken whenever there is some, and `finish` says
/// that the input has ended. Whatever way the input is cut and the output is taken, the bytes are the same.
///
/// After an error the conversion is over: it throws the same error again, and what it has written lacks its end, so nobody
/// can take it for a whole body.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a conversion, and what it calls doesn't come back to it (docs/decisions/0007).
public final class Conversion {
    private enum Stage {
        /// Taking input; goes to `ending` and `failed`.
        case reading
        /// The input has ended and output is left; goes to `done` and `failed`.
        case ending
        case done
        case failed(ConversionError)
    }

    internal let plan: ConversionPlan
    /// `plan.passesParts` of the input.
    internal let passesParts: Bool
    private let pipeline: RunningPipeline
    /// The encoding of the input.
    public let inputEncoding: BodyEncoding
    @safe @exclusivity(unchecked) internal private(set) var sources: [[UInt8]]
    /// Those that the plan uses.
    private let usedSources: Range<Int>
    @safe @exclusivity(unchecked) private var stage = Stage.reading
    /// The Content-Type of the last body that was begun with `restart`.
    @safe @exclusivity(unchecked) private var acceptedType = ByteStore()
    @safe @exclusivity(unchecked) private var hasAccepted = false
    /// Bytes that this body may have: `limits.body`, unless what arrives is counted before it gets here. `restart` sets it back.
    public var bodyLimit: Int {
        get { limit }
        set { limit = newValue }
    }
    @safe @exclusivity(unchecked) private var limit: Int
    /// Whether what `outputBound` has said is the length of the output, and not only a bound.
    package var hasExactLength: Bool { isExact }
    @safe @exclusivity(unchecked) internal var isExact = false
    /// Bytes taken so far.
    public var consumedCount: Int { consumed }
    @safe @exclusivity(unchecked) private var consumed = 0

    private init(
        plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], used: Range<Int>, pipeline: RunningPipeline
    ) {
        self.plan = plan
        passesParts = plan.passesParts(from: input)
        usedSources = used
        self.pipeline = pipeline
        self.sources = sources
        inputEncoding = input
        limit = plan.limits.body
    }

    /// A conversion of one body by `plan`.
    ///
    /// - Parameters:
    ///   - contentType: The input's Content-Type, which chooses among the plan's inputs; for multipart it holds the boundary.
    ///     See `ConversionPlan.inputEncoding(for:)`.
    ///   - sources: The texts for the values that the plan takes from the request's head, by their indices.
    ///
    /// Throws 415 for a type or a charset that the plan doesn't take, 400 for a boundary that can't be one, `plan_source` for a value
    /// of the request's head that `sources` lacks, and `plan_wildcard` for a rename that leaves no name. What else
    /// `ConversionPlan.validate()` finds in the plan shows when the body does, or not at all.
    public static func make(
        plan: ConversionPlan, contentType: Span<UInt8>, sources: [[UInt8]] = []
    ) throws(ConversionError) -> Conversion {
        let input = try plan.inputEncoding(for: contentType)
        let plan = plan.decided(for: input)
        let used = plan.map.usedSources
        try Self.check(sources, for: used)
        if let fault = plan.map.rename.lazy.compactMap(\.fault).first { throw fault }
        let pipeline = try PipelineTable(plan, input: input, sources: sources).pipeline(contentType: contentType)
        return Conversion(plan: plan, input: input, sources: sources, used: used, pipeline: pipeline)
    }

    /// Sees that there is a text for each value that the plan takes from the request's head.
    private static func check(_ sources: [[UInt8]], for used: Range<Int>) throws(ConversionError) {
        guard used.lowerBound < 0 || used.upperBound > sources.count else { return }
        throw ConversionError(
            .unrepresentable, code: "plan_source",
            reason:
                "the plan takes value \(used.lowerBound < 0 ? used.lowerBound : used.upperBound - 1) of the request's head, and \(sources.count) are given",
            setting: "map")
    }

    // MARK: The body

    /// Takes the next bytes of the input and returns how many it consumed: all, unless the output is full. The caller then
    /// takes output and feeds the rest again.
    ///
    /// Throws what is wrong with the input, `limit_body` beyond `limits.body` bytes, and `conversion_ended` for bytes behind `finish`.
    public func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        guard try takes(input.count) else { return 0 }
        do throws(ConversionError) {
            return try count(pipeline.feed(allowed(input)), of: input)
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// As above, but long content that passes unchanged may be left where it is: behind the bytes that wait, the output then
    /// has those of `input` in `passed`, which lie in what was consumed. The caller takes both before anything else. Where
    /// there is nothing of that kind, `passed` is empty.
    ///
    /// Content is left in the input where multipart goes out field by field, in pieces from 16 KiB on.
    package func feed(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int {
        passed = 0..<0
        guard try takes(input.count) else { return 0 }
        do throws(ConversionError) {
            return try count(pipeline.feedPassing(allowed(input), &passed), of: input)
        } catch {
            passed = 0..<0
            stage = .failed(error)
            throw error
        }
    }

    /// Whether so many bytes of input are taken.
    private func takes(_ count: Int) throws(ConversionError) -> Bool {
        switch stage {
        case .failed(let error): throw error
        case .reading: break
        case .ending, .done:
            guard count > 0 else { return false }
            throw ConversionError(
                .malformed, code: "conversion_ended", reason: "bytes came behind the end of the input", offset: consumed
            )
        }
        return true
    }

    /// The bytes of `input` that the body may have. Those beyond are refused behind what is wrong with these, as when they come apart.
    @_lifetime(copy input)
    private func allowed(_ input: Span<UInt8>) -> Span<UInt8> {
        input.extracting(0..<min(input.count, max(0, limit - consumed)))
    }

    /// Counts the bytes that were consumed, and throws where others of `input` are beyond the limit.
    private func count(_ count: Int, of input: Span<UInt8>) throws(ConversionError) -> Int {
        consumed += count
        if count < input.count, consumed >= limit {
            throw ConversionError.limit("body", of: bodyLimit, what: "the body", offset: bodyLimit)
        }
        return count
    }

    /// Says that the input has ended. Returns true when the output is complete; false when it is full, and then output is
    /// to be taken and `finish` called again.
    ///
    /// Throws when the input is incomplete, and what can be seen only at its end.
    public func finish() throws(ConversionError) -> Bool {
        switch stage {
        case .failed(let error): throw error
        case .reading: stage = .ending
        case .ending: break
        case .done: return true
        }
        do throws(ConversionError) {
            guard try pipeline.finish() else { return false }
            stage = .done
            return true
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// Makes the conversion as new for another body of the same plan and the same input encoding, with its allocations
    /// kept. Output that was not taken is gone.
    ///
    /// Throws as `make` does, and `unsupported_media_type` for another encoding than this conversion's.
    public func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        // Most bodies of a route have the same type, letter by letter.
        if !hasAccepted || !acceptedType.holds(contentType) {
            guard try plan.inputEncoding(for: contentType) == inputEncoding else {
                throw ConversionPlan.unsupported("the body is not \(inputEncoding.mediaType)")
            }
            acceptedType.removeAll()
            acceptedType.append(contentsOf: contentType)
            hasAccepted = true
        }
        do throws(ConversionError) {
            try Self.check(sources, for: usedSources)
            self.sources = sources
            consumed = 0
            isExact = false
            limit = plan.limits.body
            stage = .reading
            try pipeline.restart(contentType, sources)
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    // MARK: What has come out

    /// The Content-Type of the output, with its boundary where there is one. Where the plan's output is `auto`, it is known
    /// when there is output, or `finish` has returned true, and empty before.
    public var contentType: [UInt8] { pipeline.contentType() }
    /// What became of the fields and files so far.
    public var accounting: Accounting { pipeline.accounting() }
    /// Bytes that wait to be taken.
    public var outputCount: Int { pipeline.outputCount() }
    /// Bytes that are held apart from the output: a document, by the decoder, as a tree or by the encoder. 0 for conversions that stream.
    public var heldCount: Int { pipeline.heldCount() }
    /// Bytes of memory that they take, and with them the names of a document's open objects, which are kept to find repeated ones.
    public var allocatedCount: Int { pipeline.allocatedCount() }
    /// Bytes by which filenames have grown in the output so far, because those that aren't ASCII are written twice.
    internal var filenameGrowth: Int { pipeline.filenameGrowth() }
    /// See `Pipeline`.
    internal var isWritingDocument: Bool { pipeline.isWritingDocument() }
    internal func countRest() -> Int? { pipeline.countRest() }
    internal func fit(length: Int) -> Int? { pipeline.fit(length) }
    internal var boundaryLength: Int { pipeline.boundaryLength() }
    /// Whether output should be taken before more input is fed.
    public var isFull: Bool { pipeline.isFull() }

    // MARK: Files of which other bytes are made

    /// Whether a file is held, whole, and nothing goes on until it is settled: `feed` takes nothing then, and `finish` returns false.
    package var holdsFile: Bool { pipeline.holdsFile() }
    /// Gives the held file away, once; nil where none is held. `settleFile` follows.
    package func takeFile() -> HeldFile? { pipeline.takeFile() }
    /// Takes what goes out in the place of the held file.
    package func settleFile(_ file: SettledFile) { pipeline.settleFile(file) }

    // MARK: The buffer

    /// Exchanges the output buffer, with what waits in it, for another one.
    package func swapOutput(_ buffer: inout OutputBuffer) { pipeline.swapOutput(&buffer) }

    /// Calls `body` with the output, to take bytes from it.
    package func withOutput<Result>(_ body: (inout OutputBuffer) -> Result) -> Result {
        var output = OutputBuffer()
        swapOutput(&output)
        defer { swapOutput(&output) }
        return body(&output)
    }

    /// The encoding of the output; nil while that isn't known, see `contentType`.
    public var outputEncoding: BodyEncoding? {
        guard let plain = plan.outputWithoutFiles else { return plan.output }
        guard let first = contentType.first else { return nil }
        return first == UInt8(ascii: "m") ? .multipart : plain
    }
}

// MARK: Arrays of bytes

/// For programs that have arrays of bytes and no buffers of their own.
extension Conversion {
    /// A conversion of one body by `plan`; see `make(plan:contentType:sources:)` with bytes.
    public static func make(
        plan: ConversionPlan, contentType: String, sources: [[UInt8]] = []
    ) throws(ConversionError) -> Conversion {
        try make(plan: plan, contentType: contentType.utf8Span.span, sources: sources)
    }

    /// Takes a piece of the input, all of it, and returns the output that there is now, perhaps none.
    ///
    /// Memory grows with what the piece becomes: a piece of 64 KiB is a good size. Throws as `feed` does.
    public func convert(_ piece: [UInt8]) throws(ConversionError) -> [UInt8] {
        var output: [UInt8] = []
        var at = 0
        while at < piece.count {
            at += try feed(piece.span.extracting(at..<piece.count))
            output += takeOutput()
        }
        return output
    }

    /// Says that the input has ended and returns the rest of the output. Throws as `finish` does.
    public func convertEnd() throws(ConversionError) -> [UInt8] {
        var output: [UInt8] = []
        while try !finish() { output += takeOutput() }
        return output + takeOutput()
    }

    /// Takes the output that waits, all of it.
    public func takeOutput() -> [UInt8] {
        withOutput { buffer in
            let bytes = buffer.span.copied()
            buffer.removeAll()
            return bytes
        }
    }
}

extension ConversionPlan {
    /// Converts a body that lies in memory, for programs that have no stream to convert. The bytes are those that a
    /// `Conversion` gives piece by piece.
    ///
    /// - Parameters:
    ///   - body: the whole input.
    ///   - contentType: the input's Content-Type, which chooses among `inputs`; for multipart it holds the boundary.
    ///   - sources: the texts for the values that the plan takes from the request's head, by their indices.
    /// - Returns: the output with its Content-Type.
    /// - Throws: the first of what `validate()` finds wrong with the plan, what is wrong with the input, or what the output can't carry.
    public func convert(
        _ body: [UInt8], contentType: String, sources: [[UInt8]] = []
    ) throws(ConversionError) -> (contentType: String, body: [UInt8]) {
        if let fault = validate().first { throw fault }
        let conversion = try Conversion.make(plan: self, contentType: contentType, sources: sources)
        let output = try conversion.convert(body) + conversion.convertEnd()
        return (String(decoding: conversion.contentType, as: UTF8.self), output)
    }
}

extension FieldMap {
    /// The values of the request's head that rules take, from the lowest index to behind the highest; empty where none does.
    fileprivate var usedSources: Range<Int> {
        var used = 0..<0
        for assignment in set + append {
            guard case .source(let index) = assignment.value else { continue }
            used = min(used.lowerBound, index)..<max(used.upperBound, index == .max ? .max : index + 1)
        }
        return used
    }
}

extension ByteStore {
    /// Whether the bytes are those of `text`. A span of a stored property can't leave the access to its owner.
    fileprivate func holds(_ text: Span<UInt8>) -> Bool { span.isEqual(to: text) }
}
