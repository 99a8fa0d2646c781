package import ContentCoding
package import HTTPWire
package import Octets
package import Transcoding

/// Re-encodes the body of one request: undoes its content codings, converts it, and says how what comes out is framed.
///
/// It has no I/O. A caller asks `Route.converts`, and calls `begin`, `feed` with each piece of the body as it comes, or `feedQuery`
/// once, and `finish`, which goes on with what is left of a query, until that says `done`. In between it takes output
/// (`swapOutput`) whenever it likes, and has to where a call says `full`; where one says `tick`, it calls `beginSlice` and goes on
/// in the next tick of its loop, so that other bodies are served in between. Whatever way the body is cut and the output is taken,
/// the bytes are the same.
///
/// The length of the output is exact where the caller waits for the end: `wholeCount`. A caller that gives output away before says
/// so by `beginStreaming` and gets the framing that can be announced: a length where the body has one and a bound can be told, of
/// which the rest is padding (docs/decisions/0011), else chunks. What was announced is told by `announce`, and held: output that
/// would pass it is a refusal.
///
/// Everything that is wrong with the body is thrown as a `Refusal`; after one the transcoder can only be `reset`. An instance serves
/// one body after the other, with conversions that it borrows from the worker's pools.
package struct RequestTranscoder: ~Copyable {
    /// What a call ended with.
    package enum Outcome: Sendable {
        /// All that could be done was done.
        case done
        /// Output has to be taken before the rest of the input is.
        case full
        /// The slice of work is over.
        case tick
        /// A picture is to become another one, which is made elsewhere: `takeFile` gives it away, and nothing goes on before
        /// `settleFile`.
        case held
    }

    /// What `feed` has done.
    package struct Step: Sendable {
        /// Bytes of the input that were taken.
        package var consumed = 0
        /// Bytes among these that stand behind the output as they are (docs/decisions/0010). The caller takes both before
        /// anything else.
        package var passed = 0..<0
        package var outcome = Outcome.done
    }

    /// The conversion, from `begin` to `end` or `reset`.
    package private(set) var conversion: Conversion?
    /// Whether this request has had a body to convert.
    package private(set) var isBegun = false
    /// Whether the query is what is converted, and whether it is what the body becomes.
    package private(set) var readsQuery = false
    package private(set) var writesQuery = false
    /// The query that the body has become.
    package private(set) var query: [UInt8] = []
    /// Whether padding follows the output up to the length that was announced, if any is left of that.
    package private(set) var isPadded = false
    /// Whether the length that was announced is a bound, so that padding is expected.
    package private(set) var isBound = false
    /// Whether the codings, if there were any, have come to their end: the decoder then has nothing more to do.
    package private(set) var isDecoderSpent = false
    /// The coding that was applied to the body first; nil where there is none.
    package private(set) var coding: Coding?

    /// Undoes the body's codings; nil when it has none.
    private var decoder: ContentDecoder?
    /// What was decoded, or stands in the query, and is not converted yet. While bytes are here the decoder gets no input.
    private var decoded = OutputBuffer()
    /// Bytes that may still be decoded in this slice.
    private var decodedLeft = 0
    /// Bytes of a coded body, and how many there may be. Those of others are counted by the conversion.
    private var codedCount = 0
    private var codedLimit = 0
    /// Bytes of the body as it comes, in all; nil where it came without a length.
    package private(set) var length: Int?
    /// Where the output counts as full.
    private var highWatermark = OutputBuffer.defaultHighWatermark
    private var isStreaming = false
    private var isWhole = false
    /// The length that was announced for the output; nil for chunks, and before.
    private var announced: Int?
    private var padding: OutputPadding?
    /// Bytes of output that were taken, padding included.
    private var takenCount = 0
    /// The upstream whose framing makes a length necessary, for a refusal.
    private var upstream = ""
    /// How long a request line may be, and what the query may have of it.
    private var requestLine = 0
    private var queryRoom = 0
    /// Bytes that each byte of the body may become, from some output on.
    private var growthLimit = 1
    private var hasCodingFault = false

    package init() {}

    /// Bytes of input that one slice of work handles, about: 64 KiB.
    package static var sliceSize: Int { WorkBounds.slice }

    // MARK: The beginning

    /// Begins with the body of the request that `head` belongs to, or with its query. Returns false where `rule` passes on what it
    /// doesn't convert; then nothing has happened.
    ///
    /// - Parameters:
    ///   - rule: that of `route`.
    ///   - framing: of the body as it comes.
    ///   - sources: the values of `rule.sources`.
    ///   - requestLine: the bytes that a request line may have, of which a query that is written takes some.
    package mutating func begin(
        _ head: borrowing MessageHead, by rule: RequestConversion, of route: Route, framing: BodyFraming,
        sources: [[UInt8]], conversions: ConversionPool, coders: CoderPool, requestLine: Int
    ) throws(Refusal) -> Bool {
        // A call of gRPC's passes on every route, also one of HTTP/1 that is told from others by its type alone (docs/http2.md).
        if rule.readsGRPC, head.methodKind == .post, head.carriesGRPC { return false }
        do throws(ConversionError) {
            if rule.readsQuery {
                conversion = try conversions.take(contentType: Self.formType.span, sources: sources)
            } else {
                conversion = try take(for: head, by: rule, framing, conversions, sources: sources)
            }
        } catch {
            if error.kind == .unsupported, rule.otherTypes == .pass || head.carriesGRPC { return false }
            throw .conversion(error, accepted: rule.takenTypes)
        }
        isBegun = true
        growthLimit = route.growthLimit
        readsQuery = rule.readsQuery
        writesQuery = rule.writesQuery
        length =
            switch framing {
            case .length(let count): count
            case .none: readsQuery ? head.query?.count ?? 0 : 0
            case .chunked, .untilClose: nil
            }
        if writesQuery {
            self.requestLine = requestLine
            // Beside it stand the method, two spaces, the mark and the version.
            queryRoom = requestLine - head.method.count - head.target.count - " ? HTTP/1.1".utf8.count
        }
        // A part of a body converts into no part of another, and without the field the upstream would take it for the whole
        // (RFC 9110 §14.5).
        if !readsQuery, head.contains(.contentRange) { throw .partialContent }
        if !readsQuery, head.contains(.contentEncoding) { try undoCodings(of: head, route, framing, coders) }
        setHighWatermark(Self.bufferLimit(ofBody: length))
        return true
    }

    /// A conversion for the type of the body. The type decides, so a body without one is not guessed at (docs/rules.md R36), but where
    /// it is taken as it is, whatever that is.
    private func take(
        for head: borrowing MessageHead, by rule: RequestConversion, _ framing: BodyFraming,
        _ conversions: ConversionPool,
        sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        if let index = head.contentTypeLine {
            return try conversions.take(for: head, typeAt: index, sources: sources)
        }
        guard framing != .none, rule.takesAnyType else {
            throw ConversionError(.unsupported, code: "unsupported_media_type", reason: "the body has no Content-Type")
        }
        return try conversions.take(contentType: Span(), sources: sources)
    }

    /// Puts a decoder in front of the conversion, where the body has codings.
    private mutating func undoCodings(
        of head: borrowing MessageHead, _ route: Route, _ framing: BodyFraming, _ coders: CoderPool
    ) throws(Refusal) {
        let options = route.options.coding
        guard let codings = head.appliedCodings(among: options.undone) else {
            hasCodingFault = true
            throw .contentCoding(options.undone)
        }
        guard let first = codings.first else { return }
        // Nothing at all is no coded body, not even an empty one.
        guard !framing.isEmpty else { throw codingRefusal(.malformed(first, .truncated)) }
        // What comes is counted here; what comes out is the decoder's to count.
        conversion?.bodyLimit = .max
        codedLimit = route.limits.body
        let decoder = coders.takeDecoder(codings)
        decoder.begin(codings, limits: options.limits)
        self.decoder = decoder
        coding = first
        beginSlice()
    }

    // MARK: The body

    /// Begins a slice of work: so many bytes may be decoded until a call says `tick`. A few bytes may be decoded to a hundred times
    /// as many, so these are bounded as the input is.
    package mutating func beginSlice() { decodedLeft = Self.sliceSize }

    /// Takes the next bytes of the body, perhaps none: with none it goes on with what an earlier call has left.
    ///
    /// `mayPass`: long content that doesn't change may be left where it is in `input` (`Step.passed`). That of a coded body never
    /// is: the caller doesn't have it.
    package mutating func feed(_ input: Span<UInt8>, mayPass: Bool = false) throws(Refusal) -> Step {
        var step = Step()
        guard let conversion else {
            step.consumed = input.count
            return step
        }
        if decoder != nil { return try feedCoded(input, to: conversion) }
        do throws(ConversionError) {
            if mayPass {
                step.consumed = try conversion.feed(input, passing: &step.passed)
            } else {
                step.consumed = try conversion.feed(input)
            }
        } catch {
            throw .conversion(error, accepted: [])
        }
        try checkLength(conversion, passing: step.passed.count)
        takenCount += step.passed.count
        if step.consumed < input.count || conversion.isFull { step.outcome = try full(conversion) }
        return step
    }

    /// Undoes the codings of `input` and converts what comes out, as far as the slice and the output have room.
    @inline(never)
    private mutating func feedCoded(_ input: Span<UInt8>, to conversion: Conversion) throws(Refusal) -> Step {
        var step = Step()
        guard let decoder else { return step }
        guard input.count <= codedLimit - codedCount else { throw .bodyTooLarge(codedLimit) }
        defer { codedCount += step.consumed }
        while true {
            if !decoded.isEmpty, try !convertDecoded(by: conversion) {
                step.outcome = try full(conversion)
                return step
            }
            guard step.consumed < input.count || decoder.hasMore else { return step }
            guard decodedLeft > 0 else {
                step.outcome = .tick
                return step
            }
            do throws(CodingError) {
                step.consumed += try decoder.feed(input.extracting(step.consumed..<input.count), into: &decoded)
            } catch {
                throw codingRefusal(error)
            }
        }
    }

    /// Converts what waits in `decoded`. Returns false where the conversion takes no more before its output was taken.
    private mutating func convertDecoded(by conversion: Conversion) throws(Refusal) -> Bool {
        do throws(ConversionError) {
            let used = try conversion.feed(decoded.span)
            decoded.drop(used)
            decodedLeft -= used
        } catch {
            throw .conversion(error, accepted: [])
        }
        try checkLength(conversion, passing: 0)
        return decoded.isEmpty && !conversion.isFull
    }

    /// The body is whole: brings its conversion to its end. Says `done` when all of the output is there.
    package mutating func finish() throws(Refusal) -> Outcome {
        guard let conversion, !isWhole else { return .done }
        if decoder != nil, !isDecoderSpent {
            let step = try feedCoded(Span(), to: conversion)
            if case .done = step.outcome { try endCodings() } else { return step.outcome }
        }
        if !decoded.isEmpty, try !convertDecoded(by: conversion) { return try full(conversion) }
        do throws(ConversionError) {
            isWhole = try conversion.finish()
        } catch {
            throw .conversion(error, accepted: [])
        }
        try checkLength(conversion, passing: 0)
        guard isWhole else { return try full(conversion) }
        if writesQuery { try takeQuery() }
        return .done
    }

    /// Sees that the codings have ended with the body.
    private mutating func endCodings() throws(Refusal) {
        do throws(CodingError) {
            try decoder?.finish()
        } catch {
            throw codingRefusal(error)
        }
        isDecoderSpent = true
    }

    /// There is no room for more output, or a picture is awaited. The output of a query can't be taken before it is whole.
    private func full(_ conversion: Conversion) throws(Refusal) -> Outcome {
        if conversion.holdsFile { return .held }
        if writesQuery { throw queryTooLong }
        return .full
    }

    private mutating func codingRefusal(_ error: CodingError) -> Refusal {
        hasCodingFault = true
        return .conversion(ConversionError(error), accepted: [])
    }

    /// Whether the last refusal was for the body's codings; asked once.
    package mutating func takeCodingFault() -> Bool {
        defer { hasCodingFault = false }
        return hasCodingFault
    }

    // MARK: The query

    // `query -> json` and `json -> query`, for upstreams that take their parameters at the other place than their clients
    // send them.

    private static let formType = Array(BodyEncoding.form.mediaType.utf8)

    /// Takes the query of `head` as if it were a body that has come whole. What the conversion takes no more of, since its output is
    /// full or a picture is awaited, is kept for `finish`: a request line bounds it.
    package mutating func feedQuery(of head: borrowing MessageHead) throws(Refusal) {
        guard let query = head.query else { return }
        let step = try feed(query)
        if step.consumed < query.count { decoded.append(query.extracting(step.consumed..<query.count)) }
    }

    /// Takes the converted body for the query that the upstream gets.
    private mutating func takeQuery() throws(Refusal) {
        var output = OutputBuffer()
        swapOutput(&output)
        query.removeAll(keepingCapacity: true)
        query.append(contentsOf: output.span)
        output.removeAll()
        swapOutput(&output)
        guard query.count <= queryRoom else { throw queryTooLong }
    }

    /// A target has a bound, ours as everybody's (RFC 9112 §3).
    private var queryTooLong: Refusal {
        let error = ConversionError(
            .unrepresentable, code: "query_too_long",
            reason: "the body makes a query with which the request line is longer than \(requestLine) bytes",
            setting: "limits.request_line")
        return .conversion(error, accepted: [])
    }

    // MARK: Pictures

    /// Gives the picture away that is held, behind the outcome `held`; nil where it was given away.
    package func takeFile() -> HeldFile? { conversion?.takeFile() }

    /// Takes what goes out in the place of the picture.
    package func settleFile(_ file: SettledFile) { conversion?.settleFile(file) }

    // MARK: What has come out

    /// Exchanges the output, with what waits in it, for `buffer`, which is empty. What `buffer` then holds counts as taken; given
    /// back empty, it serves again.
    package mutating func swapOutput(_ buffer: inout OutputBuffer) {
        guard let conversion else { return }
        buffer.highWatermark = highWatermark
        conversion.swapOutput(&buffer)
        takenCount += buffer.count
    }

    /// Gives output back that `swapOutput` has taken, in the place of the empty buffer that it left: it counts as waiting again.
    package mutating func putBack(_ buffer: inout OutputBuffer) {
        guard let conversion else { return }
        takenCount -= buffer.count
        conversion.swapOutput(&buffer)
    }

    /// Drops the output: it is wanted no more, nor counted.
    package func dropOutput() { conversion?.withOutput { $0.removeAll() } }

    /// Bytes of output that wait to be taken: after `done`, when none were taken before, the length of all of it.
    package var outputCount: Int { conversion?.outputCount ?? 0 }

    /// Bytes of memory that are taken: by output, by what a document holds, by what the decoders do.
    package var bufferedCount: Int {
        guard let conversion else { return 0 }
        return conversion.outputCount + conversion.allocatedCount + decoded.count + (decoder?.heldCount ?? 0)
    }

    /// Bytes of memory that each body has room for without asking, and bytes of one that can't make more: a tree has some thirty for
    /// each byte of small members.
    private static let freeMemory = 2 * WorkBounds.slice
    private static let freeInput = 4096

    /// Whether so much is buffered, or may be, that it has to be paid for: a document that grows with the body, the window of a
    /// decoder, output that is held back. `bufferedCount` says how much.
    package var needsMemory: Bool {
        guard let conversion else { return false }
        if let decoder, decoder.heldCount >= WorkBounds.slice { return true }
        let consumed = conversion.consumedCount
        return consumed >= WorkBounds.slice && conversion.heldCount > 0
            || consumed >= Self.freeInput && conversion.allocatedCount >= Self.freeMemory
            || !isStreaming && conversion.outputCount > 2 * WorkBounds.slice
    }

    // MARK: How much is buffered, and the length

    /// A body of at most so many bytes is taken while memory is short. 16 KiB.
    package static var shortBody: Int { 16 * 1024 }
    /// What is buffered of the output of a body that came with a length of at most twice that: 256 KiB.
    private static var bufferOfKnownLength: Int { 256 * 1024 }
    /// What is buffered of a document that is whole, and of which only writing it out is left: 8 MiB.
    private static var bufferOfWholeDocument: Int { 8 * 1024 * 1024 }

    /// How much of the output of a body of `length` bytes is buffered, so that it goes out with its exact length, in one write, and an
    /// error in it is found before the upstream sees a byte (docs/decisions/0004, 0011). Where the length isn't known, and for
    /// longer bodies, that is 64 KiB.
    package static func bufferLimit(ofBody length: Int?) -> Int {
        // What is longer seldom comes out so short, and would be copied for nothing.
        guard let length, length <= 2 * bufferOfKnownLength else { return OutputBuffer.defaultHighWatermark }
        return bufferOfKnownLength
    }

    private mutating func setHighWatermark(_ count: Int) {
        highWatermark = count
        conversion?.withOutput { $0.highWatermark = count }
    }

    /// Makes more room for the output, since its exact length is known once it is there: where the input is whole and only its output
    /// is left, or comes with a length from which the output's can't be told. Returns false where there is no more room to be had.
    ///
    /// - Parameter isWhole: whether all of the input has come.
    package mutating func bufferMore(isWhole: Bool) -> Bool {
        guard let conversion, !isStreaming, !writesQuery, decoder == nil || isDecoderSpent else { return false }
        guard
            isWhole
                || length.map({ conversion.mayOutgrowBound(ofBody: $0, short: 2 * Self.bufferOfKnownLength) }) ?? false
        else { return false }
        let count = conversion.outputCount
        guard count < Self.bufferOfWholeDocument else { return false }
        setHighWatermark(min(2 * count, Self.bufferOfWholeDocument))
        return true
    }

    /// Whether the output has no bound that is close, though the body came with its length.
    package var isLooselyBound: Bool {
        guard let conversion, !isStreaming, !writesQuery, coding == nil, let length else { return false }
        return conversion.hasLooseBound(ofBody: length)
    }

    /// From here on output is taken before all of it is there, and the usual watermark pauses the client. Returns the framing that
    /// it can have: a length where the client gave one and a bound can be told, else chunks.
    ///
    /// `upstream` is whose framing a refusal names.
    package mutating func beginStreaming(to upstream: String) -> BodyFraming {
        guard let conversion else { return .chunked }
        self.upstream = upstream
        isStreaming = true
        setHighWatermark(OutputBuffer.defaultHighWatermark)
        // What a content coding hides can have any length, until it has come to its end.
        guard let length, decoder == nil || isDecoderSpent,
            let bound = conversion.outputBound(
                ofBody: coding == nil ? length : conversion.consumedCount, taken: takenCount)
        else { return .chunked }
        padding = conversion.padding
        isBound = !conversion.hasExactLength
        return .length(takenCount + conversion.outputCount + bound)
    }

    /// Says how the output was announced. A length is held from here on.
    package mutating func announce(_ framing: BodyFraming) {
        guard case .length(let count) = framing else { return }
        announced = count
        isPadded = isStreaming && padding != nil
    }

    /// Sees that the output, and `passing` bytes behind it, fit the length that was announced. Escapes can have used up what a bound
    /// allows them, and behind a long beginning with few so can fields of a document, of which there is no limit, and filenames that are
    /// written twice.
    private func checkLength(_ conversion: Conversion, passing: Int) throws(Refusal) {
        let count = takenCount + conversion.outputCount + passing
        if count > Self.freeOutput, count / growthLimit > conversion.consumedCount { throw outgrown }
        guard let announced, count > announced else { return }
        let error = ConversionError(
            .unrepresentable, code: "length_outgrown",
            reason:
                "the converted body is longer than the length that was announced for it: its texts grow too much by escapes, or it goes on with many more fields, or many more or longer filenames that aren't ASCII, than it began with",
            setting: "upstreams.\(upstream).framing")
        throw .conversion(error, accepted: [])
    }

    /// A long name before an array of digits is written once for each of them: a body of a MiB could become 1.5 GiB.
    private var outgrown: Refusal {
        let error = ConversionError(
            .limit, code: "limit_ratio",
            reason: "the conversion makes more than \(growthLimit) bytes of each that came (limits.ratio)",
            setting: "limits.ratio")
        return .conversion(error, accepted: [])
    }

    /// Bytes of output up to which nothing is refused for how much it grows.
    private static let freeOutput = 1024 * 1024

    /// The next bytes of padding behind the output, once all of that was taken; none where there is none left. What is returned
    /// counts as taken.
    package mutating func takePadding() -> ArraySlice<UInt8> {
        guard isPadded, let padding, let announced else { return [] }
        let count = min(announced - takenCount, Self.sliceSize)
        takenCount += count
        return padding.piece[..<count]
    }

    // MARK: The end

    /// Gives the decoder away, at the body's end or when the request is over.
    package mutating func takeDecoder() -> ContentDecoder? {
        guard let decoder else { return nil }
        isDecoderSpent = false
        self.decoder = nil
        decoded.removeAll()
        return decoder
    }

    /// Gives the conversion away, with the output in it that wasn't taken, which counts as taken then. Padding can be taken on.
    package mutating func end() -> Conversion? {
        guard let conversion else { return nil }
        self.conversion = nil
        if isPadded { takenCount += conversion.outputCount }
        return conversion
    }

    /// Makes it ready for another request. A conversion that it still has did not come to its end, and serves no other body.
    package mutating func reset() {
        conversion = nil
        isBegun = false
        readsQuery = false
        writesQuery = false
        isPadded = false
        isBound = false
        isDecoderSpent = false
        coding = nil
        decoder = nil
        decoded.removeAll()
        decoded.shrink(to: WorkBounds.keptCapacity)
        codedCount = 0
        length = nil
        isStreaming = false
        isWhole = false
        announced = nil
        padding = nil
        takenCount = 0
        hasCodingFault = false
    }
}

extension Route {
    /// Whether the body of a request with that head, or its query, is converted, as far as its type doesn't matter.
    package func converts(_ head: borrowing MessageHead, hasBody: Bool) throws(Refusal) -> Bool {
        guard let rule = conversion else { return false }
        if rule.readsQuery {
            guard !hasBody else { throw Self.queryWithBody }
            return true
        }
        // A request without a body has nothing to convert, unless it names the type of an empty one.
        if !hasBody, head.contentTypeLine == nil || !head.methodKind.mayHaveBody { return false }
        if head.contains(.cacheControl), forwarding.noTransform != .convert, head.forbidsTransform {
            if forwarding.noTransform == .pass { return false }
            throw .noTransform(rule.plan.output)
        }
        return true
    }

    /// The body that such a request has would be lost.
    private static var queryWithBody: Refusal {
        let error = ConversionError(
            .unrepresentable, code: "query_with_body",
            reason: "the route makes the body from the query, and the request has a body already")
        return .conversion(error, accepted: [])
    }
}

extension OutputPadding {
    /// A piece of it, of which any beginning is padding as well, but for half a line end, which then stands alone.
    fileprivate var piece: [UInt8] {
        switch self {
        case .lines: Self.emptyLines
        case .spaces: Self.lineFeeds
        }
    }

    private static let emptyLines = Array(
        repeating: [ASCII.carriageReturn, ASCII.lineFeed], count: RequestTranscoder.sliceSize / 2
    ).flatMap(\.self)
    private static let lineFeeds = Array(repeating: ASCII.lineFeed, count: RequestTranscoder.sliceSize)
}
