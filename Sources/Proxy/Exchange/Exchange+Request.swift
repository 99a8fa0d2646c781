internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

// The request half, up to the output of its conversion: the head, the route and what it demands, and then content as it comes:
// unframed, decoded, converted. What comes out goes upstream in Exchange+Upstream.swift.
extension Exchange {
    // MARK: The head

    /// Parses the head; returns the bytes used, or nil when more are needed.
    func parseHead(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        try parser.parse(bytes, into: &request)
    }

    /// Serves the request whose head has been parsed.
    func begin(on downstream: DownstreamConnection) {
        self.downstream = downstream
        let now = worker.loop.now
        record.startedAt = now
        record.headTime = now &- record.headStartedAt
        if !request.copyValue(of: .xRequestID, limit: 128, to: &requestID) { worker.nextRequestID(into: &requestID) }
        let framing = request.framing
        requestDecoder = BodyDecoder(framing: framing, limits: worker.wireLimits, isResponse: false)
        catchingRefusal { () throws(Refusal) in
            try handle(
                .headRead(
                    persists: request.isKeepAlive && request.capabilities.contains(.persistence) && !downstream.isSpent)
            )
            try countIn()
            let generation = worker.current
            self.generation = generation
            switch try findRoute(generation) {
            case .route(let route): try begin(route, generation, framing: framing)
            case .options(let methods): answerOptions(methods, status: 204)
            }
        }
    }

    /// Sees that the route takes the request, and begins with it.
    private func begin(_ route: Route, _ generation: Generation, framing: BodyFraming) throws(Refusal) {
        downstream?.setRates(times.rates)
        if route.hasPace { setPace(route) }
        switch framing {
        case .length(let count) where count > route.limits.body: throw .bodyTooLarge(route.limits.body)
        case .chunked:
            // A chunk that passes the limit is refused by its size line, before its data has to come.
            var limits = worker.wireLimits
            limits.body = route.limits.body
            requestDecoder = BodyDecoder(framing: framing, limits: limits, isResponse: false)
            if route.forwarding.passesTrailers { requestDecoder.keepsTrailers = true }
        case .none, .length, .untilClose: break
        }
        try checkForwardingRules(route, generation, framing: framing)
        if endsHere { return answerOptions(methods(of: route), status: 200) }
        let hasContent = !framing.isEmpty
        try chooseConversion(route, hasBody: hasContent)
        if let rules = route.responseRules, rules.hasSources {
            // Before the request goes up: the values are the request's.
            for rule in rules.rules { _ = try values(of: rule.conversion?.sources ?? []) }
        }
        if readsQuery { try convertQuery() }
        var plan = ExchangeMachine.Plan()
        plan.hasContent = hasContent
        plan.isConverted = conversion != nil
        plan.isSpooled =
            generation.framings[route.upstream].mode == .length && (conversion != nil || framing == .chunked)
        plan.expectsContinue = request.expectsContinue
        plan.relaysExpectation = route.forwarding.forwardsExpect
        plan.takesInterim = request.capabilities.contains(.interimResponses)
        plan.hasMemory = !hasContent || hasMemory(for: framing)
        if !hasContent { noteContentEnd() }
        try handle(.began(plan))
    }

    /// Counts the exchange among those of the process.
    private func countIn() throws(Refusal) {
        let cap = worker.current.admission.inFlight
        guard cap > 0 else { return }
        guard worker.shared.beginRequest(cap: cap) else {
            worker.counters.admission.overloaded += 1
            throw .overloaded
        }
        isCounted = true
    }

    private enum Destination {
        case route(Route)
        /// `OPTIONS *`, and the methods that are taken.
        case options([String])
    }

    /// The route of this request.
    private func findRoute(_ generation: Generation) throws(Refusal) -> Destination {
        generation.routes.normalize(&request)
        switch generation.routes.find(request) {
        case .found(let found):
            route = found.route
            captures = found.captures
            times = generation.times(of: found.route)
            return .route(found.route)
        case .noRoute where request.path.isEqual(to: "*"): return .options(try methodsOfHost(generation.routes))
        case .noRoute: throw .noRoute
        case .methodNotAllowed(let methods):
            // A method that nothing here knows is one that isn't implemented (RFC 9110 §9.1).
            throw request.methodKind == .other ? .methodNotImplemented : .methodNotAllowed(methods)
        case .typeNotAccepted(let types): throw .typeNotAccepted(types)
        case .malformedPath(let offset): throw .malformedPath(offset)
        case .dotSegment(let offset): throw .dotSegment(offset)
        case .emptySegment(let offset): throw .emptySegment(offset)
        }
    }

    /// Starts what the route has of throttles and deadlines.
    private func setPace(_ route: Route) {
        let rate = route.options.rate
        if rate.request > 0 {
            requestThrottle = Throttle(loop: worker.loop, rate: rate.request) { [unowned self] in
                tell(.resumed(.rate))
            }
        }
        if rate.response > 0 {
            responseThrottle = Throttle(loop: worker.loop, rate: rate.response) { [unowned self] in
                // A client that is full says itself when it has room.
                if downstream?.stream.isAboveHighWatermark != true, !holdsInput { upstream?.resume() }
            }
        }
        guard times.request > 0 else { return }
        let timer = deadline ?? Timer(loop: worker.loop) { [unowned self] in requestTimedOut() }
        deadline = timer
        timer.set(after: times.request)
    }

    // MARK: What forwarding demands

    /// Sees that the request may go on by its route.
    private func checkForwardingRules(_ route: Route, _ generation: Generation, framing: BodyFraming) throws(Refusal) {
        let rule = route.forwarding
        if generation.forwarding.hasTrusted { try findClient(generation, route) }
        if let editors = route.headers, editors.hasSources { try takeHeaderValues(editors) }
        // What the path holds must not lead out of what the route rewrites to, whatever `paths` says.
        if let rewrite = route.variableRewrite,
            rewrite.makesDotSegment(of: request, captures: captures, scratch: &framed)
        {
            throw .rewrittenDotSegment
        }
        if rule.requiresLength, !announcesLength(framing) { throw .lengthRequired }
        if rule.underscores == .reject, request.hasUnderscores { throw .underscoreName }
        // One look at the head for what few requests have: each one costs a check of exclusive access.
        guard request.asksForChecks else { return }
        if request.isSecureTarget, let downstream, !downstream.isSecure, !trustsPeer {
            // RFC 9110 §7.4: an https resource must not be served over a connection that isn't secured.
            throw .misdirected
        }
        if request.contains(.via), generation.forwarding.via != nil {
            let pseudonym = generation.forwarding.pseudonym
            let count = request.viaCount(of: pseudonym.span)
            if count >= generation.forwarding.loopLimit {
                worker.counters.forwarding.loops += 1
                throw .loopDetected(count)
            }
        }
        if request.contains(.maxForwards), request.methodKind == .options, request.maxForwards == nil {
            throw .badMaxForwards
        }
        if request.wantsUpgrade, !rule.upgrades.isEmpty { chooseUpgrade(among: rule.upgrades) }
    }

    /// Content without a length, or a method that usually has content without saying that it has none (RFC 9110 §15.5.12).
    private func announcesLength(_ framing: BodyFraming) -> Bool {
        switch framing {
        case .length: true
        case .chunked, .untilClose: false
        case .none: !request.methodKind.mayHaveBody
        }
    }

    /// Offers the upstream those protocols that the client asks for and the route allows. A request that has a body, or came
    /// by HTTP/1.0, or asks for h2c wants no upgrade in the first place (R33).
    private func chooseUpgrade(among allowed: [[UInt8]]) {
        guard request.methodKind == .get else { return }
        offeredUpgrades.removeAll(keepingCapacity: true)
        for name in allowed where request.lists(member: name.span, in: .upgrade) { offeredUpgrades.append(name) }
    }

    // MARK: OPTIONS

    /// Methods that a route takes that names none; it takes others, too.
    private static let commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private func methods(of route: Route) -> [String] {
        route.match.methods.isEmpty ? Self.commonMethods : route.match.methods
    }

    /// Whether this is the last recipient of an OPTIONS request (RFC 9110 §7.6.2).
    private var endsHere: Bool {
        request.asksForChecks && request.contains(.maxForwards) && request.methodKind == .options
            && request.maxForwards == 0
    }

    /// What `OPTIONS *` is told, which asks about the server as a whole (RFC 9110 §9.3.7) and so is at home here, whatever
    /// Max-Forwards and Via say: what the routes of the host take.
    private func methodsOfHost(_ routes: RouteTable) throws(Refusal) -> [String] {
        guard !request.contains(.maxForwards) || request.maxForwards != nil else { throw .badMaxForwards }
        var methods: [String] = []
        for route in routes.routes where route.takesHost(of: request) {
            for method in self.methods(of: route) where !methods.contains(method) { methods.append(method) }
        }
        if !methods.contains("OPTIONS") { methods.append("OPTIONS") }
        return methods
    }

    /// Writes an answer to OPTIONS.
    func writeOptions(_ methods: [String], status: Int, into output: inout OutputBuffer) {
        let allow = Array(methods.joined(separator: ", ").utf8)
        let date = worker.clock.date
        let requestID = requestID
        HeadWriter.statusLine(status, into: &output)
        let fields = output.count
        HeadWriter.clean("Date", date.span, into: &output)
        HeadWriter.clean("Allow", allow.span, into: &output)
        // RFC 9110 §8.6: a 204 has none.
        if status != 204 { HeadWriter.field("Content-Length", decimal: 0, into: &output) }
        HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
        appendRuledFields(to: &output, from: fields)
        if !machine.persists { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
    }

    // MARK: The conversion

    /// Starts the route's conversion where the request has something to convert.
    private func chooseConversion(_ route: Route, hasBody: Bool) throws(Refusal) {
        guard let rule = route.conversion, let generation else { return }
        if rule.readsQuery { return try chooseQueryConversion(rule, route: route, hasBody: hasBody) }
        let typeIndex = request.first(.contentType)
        // A request without a body has nothing to convert, unless it names the type of an empty one.
        if !hasBody, typeIndex == nil || !request.methodKind.mayHaveBody { return }
        if request.contains(.cacheControl), route.forwarding.noTransform != .convert, request.forbidsTransform {
            if route.forwarding.noTransform == .pass { return }
            throw .noTransform(rule.plan.output)
        }
        guard let conversion = try takeConversion(rule, route, generation, typeAt: typeIndex) else { return }
        if request.contains(.contentEncoding) { try startDecoding(route, conversion, hasBody: hasBody) }
        use(conversion, highWatermark: ConversionHold.limit(ofBody: requestDecoder.remaining))
    }

    /// A conversion for content of the type in the field at `index`; nil where the route passes what it doesn't convert.
    private func takeConversion(
        _ rule: ConversionRule, _ route: Route, _ generation: Generation, typeAt index: Int?
    ) throws(Refusal) -> Conversion? {
        do throws(ConversionError) {
            let sources = try sourceValues(rule.sources)
            // The type decides, so a body without one is not guessed at (docs/rules.md R36).
            guard let index else {
                throw ConversionError(
                    .unsupported, code: "unsupported_media_type", reason: "the body has no Content-Type")
            }
            return try generation.conversions(of: route).take(for: request, typeAt: index, sources: sources)
        } catch {
            if error.kind == .unsupported, rule.otherTypes == .pass { return nil }
            throw .conversion(error, accepted: rule.inputs)
        }
    }

    /// Converts the request's content by `conversion`, which counts as full from `highWatermark` bytes of output on.
    private func use(_ conversion: Conversion, highWatermark: Int) {
        // What is converted is seldom less than half as long; a short one grows memory of the conversion's, which stays there.
        let isLong = requestDecoder.remaining ?? .max > Exchange.keptCapacity / 2
        conversion.withOutput { output in
            if isLong, output.capacity <= Exchange.keptCapacity { worker.loop.lendSpare(to: &output) }
            output.highWatermark = highWatermark
        }
        self.conversion = conversion
        record.input = conversion.inputEncoding
        record.output = conversion.outputEncoding
    }

    /// The values that the route's rules take from the request's head.
    private func sourceValues(_ references: [SourceReference]) throws(ConversionError) -> [[UInt8]] {
        var values: [[UInt8]] = []
        if references.isEmpty { return values }
        let client = clientAddress
        for reference in references {
            var value: [UInt8] = []
            try reference.append(from: request, captures: captures, client: client.span, to: &value)
            values.append(value)
        }
        return values
    }

    /// As `sourceValues`, with a refusal for a value that can't be had.
    func values(of references: [SourceReference]) throws(Refusal) -> [[UInt8]] {
        do throws(ConversionError) {
            return try sourceValues(references)
        } catch {
            throw .conversion(error, accepted: [])
        }
    }

    /// The client's address without a port, as text; empty on a unix socket. Behind trusted peers it is what they say.
    var clientAddress: [UInt8] {
        guard let client, !client.isUnix else { return [] }
        var text = OutputBuffer()
        client.appendIP(to: &text)
        return text.span.copied()
    }

    // MARK: The query

    // `query -> json` and `json -> query`, for upstreams that take their parameters at the other place than their clients
    // send them.

    /// Bytes that a query may become before its conversion is whole. A request line is bounded (16 KiB) and its fields are
    /// (`limits.fields`), so this is never reached; it only says that a query is converted in one go.
    private static let queryOutput = 4 * 1024 * 1024

    private static let formType = Array(BodyEncoding.form.mediaType.utf8)

    var readsQuery: Bool { conversion != nil && route?.conversion?.plan.readsQuery == true }
    var writesQuery: Bool { conversion != nil && route?.conversion?.plan.writesQuery == true }

    /// Starts the conversion of the query. A request that has a body of its own is refused: that would be lost.
    private func chooseQueryConversion(_ rule: ConversionRule, route: Route, hasBody: Bool) throws(Refusal) {
        guard let generation else { return }
        do throws(ConversionError) {
            guard !hasBody else {
                throw ConversionError(
                    .unrepresentable, code: "query_with_body",
                    reason: "the route makes the body from the query, and the request has a body already")
            }
            let sources = try sourceValues(rule.sources)
            let conversion = try generation.conversions(of: route).take(
                contentType: Self.formType.span, sources: sources)
            use(conversion, highWatermark: Self.queryOutput)
        } catch {
            throw .conversion(error, accepted: [])
        }
    }

    /// Feeds the query to its conversion, as if it were a body that has come whole.
    private func convertQuery() throws(Refusal) {
        guard let conversion else { return }
        let query = request.copiedQuery
        do throws(ConversionError) {
            let fed = try conversion.feed(query.span)
            precondition(fed == query.count, "a query filled more than its bounds allow")
        } catch {
            throw .conversion(error, accepted: [])
        }
    }

    /// Takes the converted body for the query that the upstream gets.
    func takeQuery(from conversion: Conversion) throws(Refusal) {
        conversion.withOutput { output in
            writtenQuery.removeAll(keepingCapacity: true)
            writtenQuery.append(contentsOf: output.span)
            output.removeAll()
        }
        guard writtenQuery.count + request.target.count <= worker.wireLimits.requestLine else { throw queryTooLong }
    }

    /// A target has a bound, ours as everybody's (RFC 9112 §3).
    private var queryTooLong: Refusal {
        let error = ConversionError(
            .unrepresentable, code: "query_too_long",
            reason: "the body makes a query beyond \(worker.wireLimits.requestLine) bytes, which no target can carry")
        return .conversion(error, accepted: [])
    }

    // MARK: Content

    /// Takes bytes of the request's content. Returns how many were used: fewer when the upstream can't keep up, or when the
    /// content ended before them.
    func receive(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        // Bytes that are being taken: a refusal finds them read, and goes on with what is behind them.
        var taking = 0
        record.transcodeMark = 0
        do throws(Refusal) {
            if machine.expectation == .asked { try handle(.contentArrived) }
            while machine.takesContent {
                let step = try nextStep(bytes.extracting(at..<bytes.count))
                at += step.skipped
                if step.available > 0 {
                    taking = min(step.available, longestSlice)
                    let slice = bytes.extracting(at..<at + taking)
                    let taken =
                        if machine.request == .discarding { slice.count } else if let requestThrottle {
                            try takeContent(slice, requestThrottle)
                        } else { try takeContent(slice) }
                    taking = 0
                    requestDecoder.took(taken)
                    at += taken
                    if taken < slice.count { break }
                    // Also when these bytes had to wait: nothing follows that would bring us here again.
                    if requestDecoder.isComplete, machine.request == .content || machine.request == .discarding {
                        try endContent()
                        return at
                    }
                } else if step.isEnd {
                    try endContent()
                    return at
                } else {
                    break
                }
            }
            if machine.request == .content {
                if !machine.isPaused {
                    downstream?.expectBody(within: times.bodyGap)
                } else {
                    chargeRequest(leftover: bytes.count - at)
                }
            }
        } catch {
            if taking > 0 { requestDecoder.took(taking) }
            if case .wire = error { at = bytes.count } else { at += taking }
            refuse(error)
        }
        return at
    }

    private func nextStep(_ bytes: Span<UInt8>) throws(Refusal) -> BodyDecoder.Step {
        do throws(WireError) {
            return try requestDecoder.next(bytes)
        } catch {
            throw error.isBodyTooLarge ? .bodyTooLarge(requestDecoder.limits.body) : .wire(error)
        }
    }

    /// Bytes of one slice of the content at most: all of a read where it is sent on as it is, so that it takes one system call
    /// and wakes the upstream once.
    private var longestSlice: Int {
        let passes = machine.upstream == .open && (conversion == nil || passesContent)
        return passes ? EventLoop.readBufferSize : Exchange.sliceSize
    }

    /// Takes as many bytes as the route's rate allows.
    private func takeContent(_ slice: Span<UInt8>, _ throttle: Throttle) throws(Refusal) -> Int {
        let allowed = throttle.take(slice.count)
        let taken = allowed == 0 ? 0 : try takeContent(slice.extracting(0..<allowed))
        if taken < allowed { throttle.putBack(allowed - taken) }
        if allowed < slice.count { try handle(.paused(.rate)) }
        return taken
    }

    private func takeContent(_ slice: Span<UInt8>) throws(Refusal) -> Int {
        record.bytesIn += slice.count
        let taken =
            conversion == nil ? try forward(slice) : decoding == nil ? try convert(slice) : try decode(slice)
        if taken < slice.count { record.bytesIn -= slice.count - taken }
        return taken
    }

    private func endContent() throws(Refusal) {
        requestThrottle?.stop()
        noteContentEnd()
        try handle(.contentEnded)
    }

    private func noteContentEnd() { record.bodyTime = worker.loop.now &- record.startedAt }

    /// Sends the head when nothing else has taken it along, once the bytes of one read have been seen.
    func settle() {
        if machine.upstream == .open, !framed.isEmpty, machine.request == .content { flushFramed() }
    }

    // MARK: Plain content

    private func forward(_ slice: Span<UInt8>) throws(Refusal) -> Int {
        switch machine.destination {
        case .upstream:
            send(slice)
            if upstreamIsFull { try handle(.paused(.upstream)) }
        case .spool: try spool(slice)
        case .buffer, .connection:
            let room = waiting.highWatermark - waiting.count
            let taken = min(room, slice.count)
            waiting.append(slice.extracting(0..<taken))
            if taken == room { try handle(.paused(.upstream)) }
            return taken
        case .nowhere: break
        }
        return slice.count
    }

    // MARK: Converted content

    /// Feeds the conversion. Returns how many bytes it took: fewer when the upstream can't keep up.
    private func convert(_ slice: Span<UInt8>) throws(Refusal) -> Int {
        guard let conversion else { return slice.count }
        var at = 0
        // What the last bytes become goes out with what follows it, in one write.
        let isLast = decoding == nil && requestDecoder.remaining == slice.count
        while at < slice.count {
            let began = worker.isMeasuring ? EventLoop.preciseNow : 0
            let rest = slice.extracting(at..<slice.count)
            var passed = 0..<0
            do throws(ConversionError) {
                if machine.upstream == .open, !upstreamIsFull {
                    at += try conversion.feed(rest, passing: &passed)
                    passesContent = !passed.isEmpty && decoding == nil
                } else {
                    at += try conversion.feed(rest)
                }
            } catch {
                throw .conversion(error, accepted: [])
            }
            try checkLength(conversion, passing: passed.count)
            if !passed.isEmpty, !sendWaiting(passing: rest.extracting(passed)) { return slice.count }
            if began != 0 { noteTranscoding(since: began) }
            let isDue = at < slice.count || conversion.isFull || (machine.upstream == .open && !isLast)
            if isDue, try !pushConverted() {
                // The upstream has enough: the rest of the slice waits with the client's stream.
                if conversion.isFull || at < slice.count { try handle(.paused(.upstream)) }
                if at < slice.count { return at }
            }
        }
        let grows =
            conversion.consumedCount >= MemoryCharge.step && conversion.heldCount > 0
            || machine.upstream == .none && conversion.outputCount > Exchange.reserve
        if grows { try payForRequest() }
        if upstreamIsFull { try handle(.paused(.upstream)) }
        return slice.count
    }

    private func noteTranscoding(since began: UInt64) {
        let now = EventLoop.preciseNow
        record.transcodeTime &+= now &- began
        record.transcodeMark = now
    }

    /// Sends what the conversion has written on its way. Returns false when the upstream can't take it now.
    private func pushConverted() throws(Refusal) -> Bool {
        switch machine.destination {
        case .connection where writesQuery, .spool where writesQuery: throw queryTooLong
        case .spool:
            try spoolOutput()
            return true
        case .connection:
            if let conversion {
                // From here on the usual watermark pauses the client.
                conversion.withOutput { $0.highWatermark = OutputBuffer.defaultHighWatermark }
                try connect(framing: framing(ofRestOf: conversion))
            }
            guard machine.upstream == .open else { return false }
        case .buffer: return false
        case .upstream: break
        case .nowhere:
            // Left where it is, a full output would be asked for room for ever.
            conversion?.withOutput { $0.removeAll() }
            return true
        }
        guard !upstreamIsFull else { return false }
        sendWaiting()
        return true
    }

    /// Brings the request to its end as far as it goes: the rest of the conversion, a connection, the last bytes.
    func finishRequest() throws(Refusal) {
        if decoding != nil, try !endDecoding() { return }
        if let conversion {
            guard try finish(conversion) else { return }
            record.accounting = conversion.accounting
            if machine.upstream == .none {
                if writesQuery {
                    try takeQuery(from: conversion)
                    try connect(framing: .none)
                } else {
                    if spool != nil { try spoolOutput() }
                    try connect(framing: .length(spool?.count ?? conversion.outputCount))
                }
            }
        } else if machine.upstream == .none {
            try connect(framing: spool.map { .length($0.count) } ?? .none)
        }
        if machine.upstream == .open { return try sendRest() }
        // The output waits here for the connection, unless padding, which the conversion knows, follows it.
        if let conversion, requestEncoder.remaining ?? 0 <= conversion.outputCount { recycleConversion() }
    }

    /// Ends the conversion. Returns false where its output waits for room.
    private func finish(_ conversion: Conversion) throws(Refusal) -> Bool {
        // The end of the last piece was a moment ago: one look at the clock serves both.
        let mark = record.transcodeMark
        let began = mark != 0 ? mark : worker.isMeasuring ? EventLoop.preciseNow : 0
        while true {
            let isWhole: Bool
            do throws(ConversionError) {
                isWhole = try conversion.finish()
            } catch {
                throw .conversion(error, accepted: [])
            }
            try checkLength(conversion, passing: 0)
            if isWhole { break }
            if try bufferMore(conversion) { continue }
            guard try pushConverted() else {
                upstream?.expectProgress()
                return false
            }
        }
        if began != 0 { noteTranscoding(since: began) }
        return true
    }

    // MARK: Content codings

    // They are undone between the framing and the conversion. What the decoder has made and the conversion can't take waits,
    // and the client with it.

    /// Undoes the request's codings in front of `conversion`, where it has any.
    private func startDecoding(_ route: Route, _ conversion: Conversion, hasBody: Bool) throws(Refusal) {
        let options = route.options.coding
        guard let codings = request.appliedCodings(among: options.undone) else {
            worker.counters.coding.countError("unsupported_content_coding", .requestDecoded)
            throw .contentCoding(options.undone)
        }
        guard let first = codings.first else { return }
        // Nothing at all is no coded body, not even an empty one.
        guard hasBody else { throw refusal(of: .malformed(first, .truncated)) }
        // The framing counts the bytes on the wire; those that come out are the decoder's to count.
        conversion.bodyLimit = .max
        let decoding = worker.coders.takeDecoding(codings)
        decoding.begin(codings, limits: options.limits)
        self.decoding = decoding
        record.coding = first
    }

    /// Takes bytes of coded content. Returns how many were used, as `convert` does.
    ///
    /// A few bytes may be decoded to a hundred times as many, so these are bounded as the slice is: what is more waits for the
    /// next tick, and the client with it.
    private func decode(_ slice: Span<UInt8>) throws(Refusal) -> Int {
        guard let decoding else { return slice.count }
        decoding.left = Self.sliceSize
        var at = 0
        while true {
            let isClear = try convertDecoded(decoding)
            guard isClear, !machine.isPaused, at < slice.count || decoding.decoder.hasMore else { return at }
            guard decoding.left > 0 else {
                try handle(.paused(.tick))
                awaitTick(decoding)
                return at
            }
            at += try feed(slice.extracting(at..<slice.count), to: decoding)
        }
    }

    /// Goes on with what a tick was too short for.
    func decodeAfterTick() throws(Refusal) {
        guard let decoding, decoding.awaitsTick else { return }
        decoding.awaitsTick = false
        // The time since is others'.
        record.transcodeMark = 0
        if machine.request == .ending { return try finishRequest() }
        guard machine.request == .content, machine.pauses.contains(.tick), try decodeWaiting() else { return }
        chargeRequest(leftover: 0)
        try handle(.resumed(.tick))
    }

    private func awaitTick(_ decoding: RequestDecoding) {
        guard !decoding.awaitsTick else { return }
        decoding.awaitsTick = true
        worker.loop.afterTick(self)
    }

    /// The upstream has room again: content that waits in front of the conversion goes on, and then the client's.
    func resumeContent() throws(Refusal) {
        if decoding != nil, try !decodeWaiting() { return }
        guard !upstreamIsFull else {
            upstream?.expectProgress()
            return
        }
        chargeRequest(leftover: 0)
        try handle(.resumed(.upstream))
    }

    /// The upstream has room again, or a tick has begun: converts what waits. Returns whether the client's next bytes can be taken;
    /// else the reason to wait takes the place of the one that is gone.
    private func decodeWaiting() throws(Refusal) -> Bool {
        guard let decoding else { return true }
        decoding.left = Self.sliceSize
        while true {
            let isClear = try convertDecoded(decoding)
            guard isClear, !upstreamIsFull else {
                try handle(.paused(.upstream))
                try handle(.resumed(.tick))
                upstream?.expectProgress()
                return false
            }
            guard decoding.decoder.hasMore else { return true }
            guard decoding.left > 0 else {
                try handle(.paused(.tick))
                try handle(.resumed(.upstream))
                awaitTick(decoding)
                return false
            }
            _ = try feed(Span(), to: decoding)
        }
    }

    /// The client has sent all: converts what waits and sees that the coding has ended. Returns false when there is no room
    /// for all of it yet.
    private func endDecoding() throws(Refusal) -> Bool {
        guard let decoding else { return true }
        decoding.left = Self.sliceSize
        while true {
            guard try convertDecoded(decoding) else {
                upstream?.expectProgress()
                return false
            }
            guard decoding.decoder.hasMore else { break }
            guard decoding.left > 0 else {
                awaitTick(decoding)
                return false
            }
            _ = try feed(Span(), to: decoding)
        }
        do throws(CodingError) {
            try decoding.decoder.finish()
        } catch {
            throw refusal(of: error)
        }
        recycleDecoding()
        if requestCharge.bytes > 0 { chargeRequest(leftover: 0) }
        return true
    }

    /// Undoes some of the coding, and pays for what the decoders hold by then. Returns how many bytes were used.
    private func feed(_ bytes: Span<UInt8>, to decoding: RequestDecoding) throws(Refusal) -> Int {
        let used: Int
        do throws(CodingError) {
            used = try decoding.decoder.feed(bytes, into: &decoding.waiting)
        } catch {
            throw refusal(of: error)
        }
        if decoding.decoder.heldCount >= MemoryCharge.step { try payForRequest() }
        return used
    }

    /// Hands the conversion what was decoded. Returns false when some of it has to wait.
    private func convertDecoded(_ decoding: RequestDecoding) throws(Refusal) -> Bool {
        guard !decoding.waiting.isEmpty else { return true }
        // Taken out of the object: what is called on the way looks at it.
        var decoded = OutputBuffer()
        swap(&decoded, &decoding.waiting)
        let taken = try convert(decoded.span)
        decoded.drop(taken)
        decoding.left -= taken
        swap(&decoded, &decoding.waiting)
        return decoding.waiting.isEmpty
    }

    private func refusal(of error: CodingError) -> Refusal {
        worker.counters.coding.countError(error.code, .requestDecoded)
        return .conversion(ConversionError(error), accepted: [])
    }

    /// Gives the decoders of the request's codings back, which may be large: a slow answer must not keep them.
    func recycleDecoding() {
        guard let decoding else { return }
        self.decoding = nil
        count(decoding.decoder, .requestDecoded)
        worker.coders.recycle(decoding)
    }
}

extension MessageHead {
    /// Whether it has anything that `checkForwardingRules` looks at beyond framing and names.
    fileprivate var asksForChecks: Bool {
        isSecureTarget || wantsUpgrade || contains(.via) || contains(.maxForwards)
    }

    /// The query as it was written, empty where there is none.
    fileprivate var copiedQuery: [UInt8] {
        guard let query else { return [] }
        return query.copied()
    }

    /// Replaces `text` by the value of a field. Returns false, and changes nothing, when there is none, or when it is
    /// empty or longer than `limit`.
    fileprivate func copyValue(of field: KnownField, limit: Int, to text: inout [UInt8]) -> Bool {
        guard let index = first(field) else { return false }
        let value = value(index)
        guard !value.isEmpty, value.count <= limit else { return false }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: value)
        return true
    }
}
