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
        record.startedAt = worker.loop.now
        keepsAlive = request.isKeepAlive && request.minorVersion == 1
        takeRequestID()
        let framing: BodyFraming
        do throws(WireError) {
            framing = try Framing.request(request)
        } catch {
            return refuse(.wire(error))
        }
        requestDecoder = BodyDecoder(framing: framing, limits: worker.wireLimits, isResponse: false)
        requestPhase = .body
        let hasBody = !framing.isEmpty
        guard let route = findRoute() else { return }
        switch framing {
        case .length(let count) where count > route.limits.body: return refuse(.bodyTooLarge(route.limits.body))
        case .chunked:
            // A chunk that passes the limit is refused by its size line, before its data has to come.
            var limits = worker.wireLimits
            limits.body = route.limits.body
            requestDecoder = BodyDecoder(framing: framing, limits: limits, isResponse: false)
        case .none, .length, .untilClose: break
        }
        guard chooseConversion(route, hasBody: hasBody) else { return }
        if let rules = route.responseRules, rules.hasSources, !checkResponseSources(rules) { return }
        if hasBody {
            if conversion == nil { startUpstream(framing: framing) }
            // Refused on the way, perhaps to its end: then this exchange is no longer ours to go on with.
            guard requestPhase == .body else { return }
            if request.expectsContinue { sendContinue() }
            downstream.expectBody(within: times.bodyGap)
        } else if !readsQuery || convertQuery() {
            bodyEnded()
        }
    }

    /// The route of this request; nil when it was refused.
    private func findRoute() -> Route? {
        let generation = worker.current
        self.generation = generation
        switch generation.routes.find(request) {
        case .found(let found):
            route = found.route
            captures = found.captures
            times = generation.times(of: found.route)
            return found.route
        case .noRoute: refuse(.noRoute)
        case .methodNotAllowed(let methods): refuse(.methodNotAllowed(methods))
        case .typeNotAccepted(let types): refuse(.typeNotAccepted(types))
        case .malformedPath(let offset): refuse(.malformedPath(offset))
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
        if request.hasContentCoding {
            refuse(.contentCoding)
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

    /// The client's address without a port, as text; empty on a unix socket.
    var clientAddress: [UInt8] {
        guard let downstream, !downstream.peer.isUnix else { return [] }
        var text = OutputBuffer()
        downstream.peer.appendIP(to: &text)
        return text.span.copied()
    }

    /// Tells the client to send its body: route, method, type and length have been checked.
    private func sendContinue() {
        guard request.minorVersion == 1, let downstream else { return }
        responseFramed.append("HTTP/1.1 100 Continue\r\n\r\n")
        downstream.stream.write(responseFramed.span)
        responseFramed.removeAll()
    }

    // MARK: Body

    /// Takes bytes of the request's body. Returns how many were used: fewer when the upstream can't keep up, or when the
    /// body ended before them.
    func receive(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        do throws(WireError) {
            while requestPhase == .body || requestPhase == .discarding, !isHeldBack {
                let step = try requestDecoder.next(bytes.extracting(at..<bytes.count))
                at += step.skipped
                if step.available > 0 {
                    let slice = bytes.extracting(at..<at + min(step.available, Exchange.sliceSize))
                    let taken = requestPhase == .discarding ? slice.count : takeBody(slice)
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
        if requestPhase == .body, !isHeldBack { downstream?.expectBody(within: times.bodyGap) }
        return at
    }

    private func takeBody(_ slice: Span<UInt8>) -> Int {
        // Counted before: a refusal may end this exchange, and then the record is the next one's.
        record.bytesIn += slice.count
        let taken = conversion == nil ? forward(slice) : convert(slice)
        if taken < slice.count { record.bytesIn -= slice.count - taken }
        return taken
    }

    private func convert(_ slice: Span<UInt8>) -> Int {
        guard let conversion else { return slice.count }
        var at = 0
        do throws(ConversionError) {
            while at < slice.count {
                at += try conversion.feed(slice.extracting(at..<slice.count))
                if at < slice.count || conversion.isFull || upstreamPhase == .open, !pushConverted() {
                    // The upstream has enough: the rest of the slice waits with the client's stream.
                    if conversion.isFull || at < slice.count { holdBack() }
                    if at < slice.count { return at }
                }
            }
        } catch {
            refuse(.conversion(error, accepted: []))
            return slice.count
        }
        if upstreamIsFull { holdBack() }
        return slice.count
    }

    /// Sends what the conversion has written on its way. Returns false when the upstream can't take it now.
    private func pushConverted() -> Bool {
        switch upstreamPhase {
        case .unassigned:
            if writesQuery {
                refuseLongQuery()
                return false
            }
            startUpstream(framing: .chunked)
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
        switch upstreamPhase {
        case .open:
            send(slice)
            if upstreamIsFull { holdBack() }
            return slice.count
        case .gone:
            return slice.count
        case .unassigned, .connecting:
            let room = waiting.highWatermark - waiting.count
            let taken = min(room, slice.count)
            waiting.append(slice.extracting(0..<taken))
            if taken == room { holdBack() }
            return taken
        }
    }

    /// Stops reading from the client until the upstream has room.
    private func holdBack() {
        guard !isHeldBack, requestPhase == .body else { return }
        isHeldBack = true
        downstream?.expectNothing()
        downstream?.stream.pauseReading()
        upstream?.expectProgress()
    }

    private var upstreamIsFull: Bool { upstream?.stream.isAboveHighWatermark ?? false }

    private func bodyEnded() {
        isHeldBack = false
        downstream?.expectNothing()
        if requestPhase == .discarding {
            requestPhase = .discarded
            finishIfOver()
            return
        }
        requestPhase = .ending
        endRequest()
    }

    /// Brings the request to its end: the rest of the conversion, then the last bytes of the framing.
    private func endRequest() {
        if let conversion {
            do throws(ConversionError) {
                while try !conversion.finish() {
                    guard pushConverted() else {
                        upstream?.expectProgress()
                        return
                    }
                }
            } catch {
                return refuse(.conversion(error, accepted: []))
            }
            record.accounting = conversion.accounting
            if upstreamPhase == .unassigned {
                guard !writesQuery else {
                    if takeQuery(from: conversion) { startUpstream(framing: .none) }
                    return endIfOpen()
                }
                startUpstream(framing: .length(conversion.outputCount))
            }
        } else if upstreamPhase == .unassigned {
            startUpstream(framing: .none)
        }
        endIfOpen()
    }

    private func endIfOpen() {
        if upstreamPhase == .open { completeRequest() }
    }

    /// Everything of the request is at hand and the connection is open: sends the rest.
    private func completeRequest() {
        sendWaiting()
        guard upstreamPhase == .open else { return }
        do throws(WireError) {
            try requestEncoder.finish(into: &framed)
        } catch {
            return refuse(.wire(error))
        }
        flushFramed()
        requestPhase = .sent
        if responsePhase == .complete { return finishUpload() }
        upstream?.expectResponse(within: times.firstByte)
    }

    // MARK: To the upstream

    /// Writes the upstream head and finds a connection for it.
    private func startUpstream(framing: BodyFraming) {
        guard let route, let generation else { return }
        requestEncoder = BodyEncoder(framing: framing)
        do throws(ConversionError) {
            try writeRequestHead(framing: framing, route: route)
        } catch {
            return refuse(.conversion(error, accepted: []))
        }
        record.framing = framing.logName
        let pool = generation.pools[route.upstream]
        if let connection = pool.takeIdle() {
            open(connection)
        } else {
            upstreamPhase = .connecting
            attempt = pool.wait(for: self)
        }
    }

    private func open(_ connection: UpstreamConnection) {
        upstreamPhase = .open
        upstream = connection
        hasWritten = false
        holdsReplay = false
        connection.begin(self)
        if let route, connection.isReused ? route.repeatsRequests : route.repeatsOnConditions { holdReplay(route) }
    }

    /// The attempt succeeded: what has waited is sent, and the client may go on.
    func connected(_ connection: UpstreamConnection) {
        attempt = nil
        open(connection)
        if !replay.isEmpty { sendReplay() }
        if requestPhase == .sent {
            upstream?.expectResponse(within: times.firstByte)
        } else {
            continueRequest()
        }
    }

    /// The attempt failed.
    func connectFailed(_ failure: UpstreamFailure) {
        attempt = nil
        upstreamPhase = .gone
        refuse(.upstream(failure))
    }

    /// The upstream has room again.
    func upstreamDrained() {
        if responsePhase == .complete, requestPhase == .sent { finishUpload() } else { continueRequest() }
    }

    private func continueRequest() {
        guard upstreamPhase == .open else { return }
        if requestPhase == .ending {
            sendWaiting()
            if upstreamIsFull { upstream?.expectProgress() } else { endRequest() }
            return
        }
        guard requestPhase == .body else { return }
        sendWaiting()
        flushFramed()
        if isHeldBack {
            guard !upstreamIsFull else {
                upstream?.expectProgress()
                return
            }
            isHeldBack = false
            downstream?.expectBody(within: times.bodyGap)
            downstream?.stream.resumeReading()
        }
    }

    /// Sends the head when nothing else has taken it along, once the bytes of one read have been seen.
    func settle() {
        if upstreamPhase == .open, !framed.isEmpty, requestPhase == .body { flushFramed() }
    }

    /// Sends the bytes that wait, as one chunk where the framing is chunked, with the head in front when it is still here.
    private func sendWaiting() {
        guard upstreamPhase == .open else { return }
        if let conversion {
            conversion.swapOutput(&waiting)
            defer { conversion.swapOutput(&waiting) }
            send(waiting.span)
            waiting.removeAll()
        } else if !waiting.isEmpty {
            send(waiting.span)
            waiting.removeAll()
        }
    }

    private func send(_ body: Span<UInt8>) {
        guard let upstream, !body.isEmpty else { return }
        do throws(WireError) {
            try requestEncoder.begin(body.count, into: &framed)
        } catch {
            return refuse(.wire(error))
        }
        record.bytesOut += body.count
        hasWritten = true
        if holdsReplay { holdForReplay(body) }
        upstream.stream.write(framed.span, body)
        framed.removeAll()
        requestEncoder.end(into: &framed)
    }

    private func flushFramed() {
        guard let upstream, !framed.isEmpty else { return }
        hasWritten = true
        upstream.stream.write(framed.span)
        if holdsReplay { holdFramedForReplay() } else { framed.removeAll() }
    }
}

extension BodyFraming {
    var logName: StaticString {
        switch self {
        case .none: "none"
        case .length: "length"
        case .chunked: "chunked"
        case .untilClose: "close"
        }
    }
}
