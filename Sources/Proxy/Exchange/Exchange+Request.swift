internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The request half: from the client's bytes to the upstream's.
extension Exchange {
    /// Whether bytes that arrive belong to this exchange's request.
    var takesBody: Bool { (requestPhase == .body || requestPhase == .discarding) && !isHeldBack }

    /// Whether the client has sent its whole request.
    var isRequestRead: Bool { requestPhase == .ending || requestPhase == .sent || requestPhase == .discarded }

    /// Parses the head; returns the bytes used, or nil when more are needed.
    func parseHead(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        try parser.parse(bytes, into: &request)
    }

    /// Serves the request whose head has been parsed: framing, route, limits, and then the body or the upstream.
    func begin(on downstream: DownstreamConnection) {
        self.downstream = downstream
        let now = worker.loop.now
        record.startedAt = now
        record.headTime = now &- record.headStartedAt
        keepsAlive = request.isKeepAlive && request.minorVersion == 1 && !downstream.isSpent
        takeRequestID()
        let framing = request.framing
        requestDecoder = BodyDecoder(framing: framing, limits: worker.wireLimits, isResponse: false)
        requestPhase = .body
        let hasBody = !framing.isEmpty
        guard hasCapacity(), let route = findRoute() else { return }
        downstream.setRates(times.rates)
        if route.hasPace { setPace(route) }
        switch framing {
        case .length(let count) where count > route.limits.body: return refuse(.bodyTooLarge(route.limits.body))
        case .chunked:
            // A chunk that passes the limit is refused by its size line, before its data has to come.
            var limits = worker.wireLimits
            limits.body = route.limits.body
            requestDecoder = BodyDecoder(framing: framing, limits: limits, isResponse: false)
            if route.forwarding.passesTrailers { requestDecoder.keepsTrailers = true }
        case .none, .length, .untilClose: break
        }
        guard let generation, passesForwardingRules(route, generation, framing: framing),
            chooseConversion(route, hasBody: hasBody)
        else { return }
        if let rules = route.responseRules, rules.hasSources, !checkResponseSources(rules) { return }
        if hasBody {
            guard hasMemory(for: framing) else { return waitForMemory(framing) }
            startBody(framing)
        } else if !readsQuery || convertQuery() {
            bodyEnded()
        }
    }

    /// Begins to take the body.
    func startBody(_ framing: BodyFraming) {
        let expectsContinue = request.expectsContinue
        if conversion == nil {
            // A body that is spooled is taken before the upstream hears of it.
            let isSpooled = framing == .chunked && needsLength
            if expectsContinue, !isSpooled, route?.forwarding.forwardsExpect == true { continueState = .asked }
            startForward(framing)
        }
        // Refused on the way, perhaps to its end: then this exchange is no longer ours to go on with.
        guard requestPhase == .body else { return }
        if continueState == .asked {
            if upstreamPhase == .open { awaitContinue() }
            return
        }
        if expectsContinue { sendContinue() }
        downstream?.expectBody(within: times.bodyGap)
    }

    /// The route of this request; nil when it was answered here.
    private func findRoute() -> Route? {
        let generation = worker.current
        self.generation = generation
        generation.routes.normalize(&request)
        switch generation.routes.find(request) {
        case .found(let found):
            route = found.route
            captures = found.captures
            times = generation.times(of: found.route)
            return found.route
        case .noRoute where request.path.isEqual(to: "*"): answerAsterisk(generation.routes)
        case .noRoute: refuse(.noRoute)
        case .methodNotAllowed(let methods):
            // A method that nobody here knows is one that isn't implemented (RFC 9110 §9.1).
            refuse(request.methodKind == .other ? .methodNotImplemented : .methodNotAllowed(methods))
        case .typeNotAccepted(let types): refuse(.typeNotAccepted(types))
        case .malformedPath(let offset): refuse(.malformedPath(offset))
        case .dotSegment(let offset): refuse(.dotSegment(offset))
        case .emptySegment(let offset): refuse(.emptySegment(offset))
        }
        return nil
    }

    private func takeRequestID() {
        if !request.copyValue(of: .xRequestID, limit: 128, to: &requestID) { worker.nextRequestID(into: &requestID) }
    }

    /// Starts the route's conversion where the request has something to convert. Returns false when it was refused.
    private func chooseConversion(_ route: Route, hasBody: Bool) -> Bool {
        guard let rule = route.conversion, let generation else { return true }
        if rule.readsQuery { return chooseQueryConversion(rule, route: route, hasBody: hasBody) }
        let typeIndex = request.first(.contentType)
        // A request without a body has nothing to convert, unless it names the type of an empty one.
        if !hasBody, typeIndex == nil || !request.methodKind.mayHaveBody { return true }
        if request.contains(.cacheControl), route.forwarding.noTransform != .convert, request.forbidsTransform {
            if route.forwarding.noTransform == .pass { return true }
            refuse(.noTransform(rule.plan.output))
            return false
        }
        do throws(ConversionError) {
            let sources = try values(of: rule.sources)
            let conversion =
                if let typeIndex {
                    try generation.takeConversion(
                        rule, route: route, contentType: request.value(typeIndex), sources: sources)
                } else {
                    // The type decides, so a body without one is not guessed at (docs/rules.md R36).
                    throw ConversionError(
                        .unsupported, code: "unsupported_media_type", reason: "the body has no Content-Type")
                }
            if request.contains(.contentEncoding), !startDecoding(route, conversion, hasBody: hasBody) { return false }
            waiting.highWatermark = ConversionHold.limit(ofBody: requestDecoder.remaining)
            use(conversion, of: rule)
            return true
        } catch {
            if error.kind == .unsupported, rule.otherTypes == .pass { return true }
            refuse(.conversion(error, accepted: rule.inputs))
            return false
        }
    }

    /// Lets `conversion` write into this exchange's buffer from here on.
    func use(_ conversion: Conversion, of rule: ConversionRule) {
        // What is converted is seldom less than half as long; a short one grows its own memory once, and keeps it.
        if requestDecoder.remaining ?? .max > Exchange.keptCapacity / 2, waiting.capacity <= Exchange.keptCapacity {
            worker.loop.lendSpare(to: &waiting)
        }
        conversion.swapOutput(&waiting)
        self.conversion = conversion
        record.input = conversion.inputEncoding
        record.output = conversion.outputEncoding
    }

    /// What the route's rules take from the request's head.
    func values(of references: [SourceReference]) throws(ConversionError) -> [[UInt8]] {
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

    /// The client's address without a port, as text; empty on a unix socket. Behind trusted peers it is what they say.
    var clientAddress: [UInt8] {
        guard let client, !client.isUnix else { return [] }
        var text = OutputBuffer()
        client.appendIP(to: &text)
        return text.span.copied()
    }

    // MARK: Body

    /// Takes bytes of the request's body. Returns how many were used: fewer when the upstream can't keep up, or when the
    /// body ended before them.
    func receive(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        if continueState == .asked { clientGoesOn() }
        record.transcodeMark = 0
        do throws(WireError) {
            while requestPhase == .body || requestPhase == .discarding, !isHeldBack {
                let step = try requestDecoder.next(bytes.extracting(at..<bytes.count))
                at += step.skipped
                if step.available > 0 {
                    let slice = bytes.extracting(at..<at + min(step.available, longestSlice))
                    let taken =
                        if requestPhase == .discarding { slice.count } else if let throttle = requestThrottle {
                            takeBody(slice, throttle)
                        } else { takeBody(slice) }
                    requestDecoder.took(taken)
                    at += taken
                    if taken < slice.count { break }
                    // Also when these bytes had to wait: nothing follows that would bring us here again.
                    if requestDecoder.isComplete, requestPhase == .body || requestPhase == .discarding {
                        bodyEnded()
                        return at
                    }
                } else if step.isEnd {
                    bodyEnded()
                    return at
                } else {
                    break
                }
            }
        } catch {
            refuse(error.isBodyTooLarge ? .bodyTooLarge(requestDecoder.limits.body) : .wire(error))
            return bytes.count
        }
        if requestPhase == .body {
            if isHeldBack {
                chargeRequest(leftover: bytes.count - at)
            } else {
                downstream?.expectBody(within: times.bodyGap)
            }
        }
        return at
    }

    /// Bytes of one slice of the body at most: all of a read where it is sent on as it is, so that it takes one system call
    /// and wakes the upstream once.
    private var longestSlice: Int {
        let passes = upstreamPhase == .open && (conversion == nil || passesContent)
        return passes ? EventLoop.readBufferSize : Exchange.sliceSize
    }

    /// Takes as many bytes as the route's rate allows.
    private func takeBody(_ slice: Span<UInt8>, _ throttle: Throttle) -> Int {
        let allowed = throttle.take(slice.count)
        let taken = allowed == 0 ? 0 : takeBody(slice.extracting(0..<allowed))
        if taken < allowed { throttle.putBack(allowed - taken) }
        if allowed < slice.count, requestPhase == .body { holdBack(.rate) }
        return taken
    }

    private func takeBody(_ slice: Span<UInt8>) -> Int {
        // Counted before: a refusal may end this exchange, and then the record is the next one's.
        record.bytesIn += slice.count
        let taken = conversion == nil ? forward(slice) : decoding == nil ? convert(slice) : decode(slice)
        if taken < slice.count { record.bytesIn -= slice.count - taken }
        return taken
    }

    /// Feeds the conversion. Returns how many bytes it took: fewer when the upstream can't keep up.
    func convert(_ slice: Span<UInt8>) -> Int {
        guard let conversion else { return slice.count }
        var at = 0
        // What the last bytes become goes out with what follows it, in one write.
        let isLast = decoding == nil && requestDecoder.remaining == slice.count
        do throws(ConversionError) {
            while at < slice.count {
                let began = worker.isMeasuring ? EventLoop.preciseNow : 0
                let rest = slice.extracting(at..<slice.count)
                var passed = 0..<0
                if upstreamPhase == .open, !upstreamIsFull {
                    at += try conversion.feed(rest, passing: &passed)
                    passesContent = !passed.isEmpty && decoding == nil
                } else {
                    at += try conversion.feed(rest)
                }
                guard fits(conversion, passing: passed.count) else { return slice.count }
                if !passed.isEmpty, !sendWaiting(passing: rest.extracting(passed)) { return slice.count }
                if began != 0 { noteTranscoding(since: began) }
                let isDue = at < slice.count || conversion.isFull || (upstreamPhase == .open && !isLast)
                if isDue, !pushConverted() {
                    // Refused: there is no rest to take, and this exchange may be over.
                    guard self.conversion === conversion, upstreamPhase != .gone else { return slice.count }
                    // The upstream has enough: the rest of the slice waits with the client's stream.
                    if conversion.isFull || at < slice.count { holdBack(.upstream) }
                    if at < slice.count { return at }
                }
            }
        } catch {
            refuse(.conversion(error, accepted: []))
            return slice.count
        }
        let grows =
            conversion.consumedCount >= MemoryCharge.step && conversion.heldCount > 0
            || upstreamPhase == .unassigned && conversion.outputCount > Exchange.reserve
        if grows, !payForRequest() { return slice.count }
        if upstreamIsFull { holdBack(.upstream) }
        return slice.count
    }

    private func noteTranscoding(since began: UInt64) {
        let now = EventLoop.preciseNow
        record.transcodeTime &+= now &- began
        record.transcodeMark = now
    }

    /// Sends what the conversion has written on its way. Returns false when the upstream can't take it now.
    private func pushConverted() -> Bool {
        switch upstreamPhase {
        case .unassigned:
            if writesQuery {
                refuseLongQuery()
                return false
            }
            if needsLength { return spoolOutput() }
            if let conversion {
                // From here on the usual watermark pauses the client.
                conversion.withOutput { $0.highWatermark = OutputBuffer.defaultHighWatermark }
                startUpstream(framing: framing(ofRestOf: conversion))
            }
            guard upstreamPhase == .open else { return false }
        case .connecting: return false
        case .open: break
        case .gone:
            // Nobody wants it any more; left where it is, a full output would be asked for room for ever.
            conversion?.withOutput { $0.removeAll() }
            return true
        }
        guard !upstreamIsFull else { return false }
        sendWaiting()
        return true
    }

    private func forward(_ slice: Span<UInt8>) -> Int {
        if continueState == .refused { return slice.count }
        switch upstreamPhase {
        case .open:
            send(slice)
            if upstreamIsFull { holdBack(.upstream) }
            return slice.count
        case .gone:
            return slice.count
        case .unassigned where spool != nil:
            _ = spool(slice)
            return slice.count
        case .unassigned, .connecting:
            let room = waiting.highWatermark - waiting.count
            let taken = min(room, slice.count)
            waiting.append(slice.extracting(0..<taken))
            if taken == room { holdBack(.upstream) }
            return taken
        }
    }

    /// Stops reading from the client until `reason` is gone, and every other one.
    func holdBack(_ reason: HoldReasons) {
        guard !holds.contains(reason), requestPhase == .body else { return }
        holds.insert(reason)
        if reason == .upstream { upstream?.expectProgress() }
        downstream?.expectNothing()
        downstream?.stream.pauseReading()
    }

    /// Reads on from the client, unless there is another reason not to.
    func letGo(_ reason: HoldReasons) {
        guard holds.contains(reason) else { return }
        holds.remove(reason)
        guard holds.isEmpty, requestPhase == .body else { return }
        downstream?.expectBody(within: times.bodyGap)
        downstream?.stream.resumeReading()
    }

    var upstreamIsFull: Bool { upstream?.stream.isAboveHighWatermark ?? false }

    private func bodyEnded() {
        holds = []
        requestThrottle?.stop()
        record.bodyTime = worker.loop.now &- record.startedAt
        downstream?.expectNothing()
        if requestPhase == .discarding || continueState == .refused {
            requestPhase = .discarded
            finishIfOver()
            return
        }
        requestPhase = .ending
        endRequest()
    }

    /// Brings the request to its end: the rest of the conversion, then the last bytes of the framing.
    func endRequest() {
        if decoding != nil, !endDecoding() { return }
        if let conversion {
            // The end of the last piece was a moment ago: one look at the clock serves both.
            let mark = record.transcodeMark
            let began = mark != 0 ? mark : worker.isMeasuring ? EventLoop.preciseNow : 0
            do throws(ConversionError) {
                while true {
                    let isWhole = try conversion.finish()
                    guard fits(conversion, passing: 0) else { return }
                    if isWhole { break }
                    guard let holdsMore = holdMore(conversion) else { return }
                    guard holdsMore || pushConverted() else {
                        upstream?.expectProgress()
                        return
                    }
                }
            } catch {
                return refuse(.conversion(error, accepted: []))
            }
            if began != 0 { noteTranscoding(since: began) }
            record.accounting = conversion.accounting
            if upstreamPhase == .unassigned {
                guard !writesQuery else {
                    if takeQuery(from: conversion) { startUpstream(framing: .none) }
                    return endIfOpen()
                }
                if spool != nil, !spoolOutput() { return }
                startUpstream(framing: .length(spool?.count ?? conversion.outputCount))
            }
        } else if upstreamPhase == .unassigned {
            startUpstream(framing: spool.map { .length($0.count) } ?? .none)
        }
        endIfOpen()
    }

    private func endIfOpen() {
        if upstreamPhase == .open { completeRequest() }
    }

    /// Everything of the request is at hand and the connection is open: sends the rest.
    func completeRequest() {
        if let spool, !pump(spool) { return }
        if let conversion, !pad(conversion) { return }
        guard sendEnd() else { return }
        requestPhase = .sent
        giveOutputBack()
        if responsePhase == .complete { return finishUpload() }
        upstream?.expectResponse(within: times.firstByte)
    }
}
