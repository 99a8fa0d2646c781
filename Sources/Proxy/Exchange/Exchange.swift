internal import ContentCoding
internal import EventLoop
internal import ExtProc
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Signatures
internal import Transcoding

/// One request and its response: the driver of an `ExchangeMachine`, between a client's connection and an upstream's.
///
/// The machine holds the state and decides; this class holds the bytes and performs what the machine returns. Whatever happens
/// comes in by one of the functions under "What happens", or by those of the two halves, becomes an event, and ends in actions.
/// A refusal is thrown up to there, so no function is left in the middle of an exchange that is over.
///
/// The request's way is in `Exchange+Request.swift` and, behind the conversion, in `Exchange+Upstream.swift`; the response's
/// way in `Exchange+Response.swift`.
///
/// Exchanges are reused; `reset` keeps allocations of ordinary size.
///
/// SAFETY of `@exclusivity(unchecked)`, for what each request touches many times: one thread uses an exchange, and nothing that
/// is called while such a property is changed or lent comes back to it (docs/decisions/0007).
final class Exchange {
    /// Held strongly, because counting an unowned reference costs more; the worker lets go of them all when it ends.
    let worker: Worker
    @safe @exclusivity(unchecked) var machine = ExchangeMachine()
    /// The client's side; set from `begin` until the exchange is recycled, which ends the cycle of references.
    var downstream: (any Downstream)?
    var upstream: UpstreamSide?
    /// Where the request goes on if not to an upstream of the route's: what brought it forwards it.
    @safe @exclusivity(unchecked) var forwarder: UpstreamSide?
    /// The way to a connection, as long as there is none.
    var attempt: UpstreamWait?

    // The request.
    /// Its head; the client's side reads it in.
    @safe @exclusivity(unchecked) var request = MessageHead()
    @safe @exclusivity(unchecked) var requestEncoder = BodyEncoder(framing: .none)
    /// The settings when the request began; set with the route.
    var snapshot: ConfigurationSnapshot?
    var route: Route?
    @safe @exclusivity(unchecked) var captures = PathCaptures()
    /// Whether a field of the request may have decided on the route.
    @safe @exclusivity(unchecked) var mayBeByFields = false
    @safe @exclusivity(unchecked) var times = RouteTimes()
    /// The conversion of the content, where it has one.
    @safe @exclusivity(unchecked) var requestTranscoder = RequestTranscoder()
    /// Whether the rest of what was decoded is converted in the next tick.
    var awaitsTick = false
    /// Content that waits for the upstream: that of a plain forward, or what a conversion that has come to its end has left.
    @safe @exclusivity(unchecked) var buffered = OutputBuffer()
    /// The request's head and chunk framing that go out in front of the next content.
    @safe @exclusivity(unchecked) var framed = OutputBuffer()
    /// Slow the content down, on routes that ask for it.
    @safe @exclusivity(unchecked) var requestThrottle: Throttle?
    @safe @exclusivity(unchecked) var responseThrottle: Throttle?
    /// Ends the exchange when it takes too long, on routes that have such a time.
    var deadline: Timer?
    /// Whether the exchange counts among the requests in flight of the process.
    var isCounted = false
    @safe @exclusivity(unchecked) var requestID: [UInt8] = []
    /// Whether the client's peer is one whose word about the client is believed.
    var trustsPeer = false
    /// The client that a trusted peer speaks for; nil: the peer itself.
    var realClient: SocketAddress?
    /// Whether it is a call of gRPC's: neither converted nor held, and all trailers of both its messages pass.
    @safe @exclusivity(unchecked) var isCall = false
    /// Whether trailers can tell the call's client how it went: behind content that has no length, and that is gRPC's.
    @safe @exclusivity(unchecked) var endsByStatus = false
    /// Whether trailers pass: those of calls, and those that the route names.
    @safe @exclusivity(unchecked) var passesTrailers = false
    /// Protocols that the upstream was offered to switch to.
    @safe @exclusivity(unchecked) var offeredUpgrades: [[UInt8]] = []
    /// The lines that header rules write where a value is the request's: those of the request, then from
    /// `responseHeaderLines` on those of the response. They hold while `hasHeaderLines`.
    @safe @exclusivity(unchecked) var headerLines: [UInt8] = []
    var responseHeaderLines = 0
    var hasHeaderLines = false
    /// What a response says of the route's rate limit, as lines; of this request on routes that tell it.
    @safe @exclusivity(unchecked) var rateFields = OutputBuffer()
    /// Both connections once they have left HTTP.
    var tunnel: Tunnel?
    /// The content, where it is held until its length is known; until the response begins.
    var spool: Spool?
    /// What the route says of whose requests it takes.
    @safe @exclusivity(unchecked) var sender: RequestVerification?
    /// What the request's credentials were worth, on routes that want some.
    @safe @exclusivity(unchecked) var authorization: RequestAuthorization.Result?
    /// The content, where it is held until it is known whose it is.
    var verification: PendingVerification?
    /// The picture that the request waits for.
    var picture: PendingPicture?
    /// What is remembered of the request so that it isn't taken twice, until it is known what came of it.
    var remembered: ReplayMemory.Key?
    /// What its sender calls the request, where that is signed.
    var verifiedID: [UInt8] = []
    /// Takes fields of the head away that its sender's signature doesn't cover, though others may read them as what it covers.
    var uncheckedFields: HeaderEditor?
    /// The request's signature for its upstream, once its content is whole.
    var signature: PendingSignature?
    /// Path and query as they came, on routes that verify.
    var signedTarget: [UInt8] = []
    /// What the request and the response hold of the worker's memory.
    @safe @exclusivity(unchecked) var requestCharge = MemoryCharge(.request)
    @safe @exclusivity(unchecked) var responseCharge = MemoryCharge(.response)
    /// Whether the request waits for memory before it takes content.
    var isQueuedForMemory = false
    @safe @exclusivity(unchecked) var retryBuffer = RetryBuffer()
    /// The copy of the request that another upstream, or a conversion, is to get.
    @safe @exclusivity(unchecked) var shadow: ShadowCopy?
    /// Whether the last bytes went from the client's stream to the upstream's as they are.
    var passesContent = false

    // The response.
    /// The response that is converted, while `isActive`; made when a route of the worker's first needs it.
    var responseTranscoder: ResponseTranscoder?
    /// What is looked for in the response's body before its head goes out, and then what was found.
    var look: LookedResponse?
    /// Why the response is refused with its first byte; nil: it isn't.
    var misfit: MisfitResponse?
    /// The connection that has brought the whole body of `responseTranscoder`: its head goes out at the end. It may be closed by then.
    var bufferedSource: UpstreamSide?
    /// Whether `bufferedSource` may serve another exchange.
    var bufferedSourceIsReusable = false
    /// The content coding that a streamed response gets on its way to the client.
    var responseCoding: ResponseCoding?
    /// Its place in a trace, where the worker makes spans.
    @safe @exclusivity(unchecked) var trace = ExchangeTrace()
    /// Which of `trace`, `tap` and `shadow` are the present exchange's: the data path asks once for all of them.
    @safe @exclusivity(unchecked) var watchers = ExchangeWatchers()
    /// What the console keeps of the exchange, where there is a console; until the exchange has ended.
    @safe @exclusivity(unchecked) var tap: HeldTap?
    /// What is answered in the upstream's place.
    private var answer = Answer.refusal(.overloaded)

    @safe @exclusivity(unchecked) var record = ExchangeRecord()
    /// Where the request went, or should have gone when the last connection was tried.
    @safe @exclusivity(unchecked) var endpoint: Endpoint?
    /// What the log shows of the upstream's response besides.
    var loggedResponse: [(member: String, value: [UInt8])] = []

    /// Bytes of a buffer that a reused exchange may keep: enough for ordinary requests, little enough for a free list.
    static var keptCapacity: Int { WorkBounds.keptCapacity }
    /// Bytes of a buffer that hold an ordinary head.
    static let ordinaryCapacity = 4 * 1024
    /// Bytes of content handed to a conversion in one piece: bounds what one call can add to the output. Where content passes,
    /// it is all of a read (`longestSlice`).
    static var sliceSize: Int { WorkBounds.slice }
    /// Bytes of unread content that are read and dropped so that the client's connection can go on behind an answer.
    private static let discardLimit = 64 * 1024

    init(worker: Worker) {
        self.worker = worker
    }

    /// Makes the exchange ready for another request. Called when nothing refers to the old one any more.
    func reset() {
        if watchers.lookAtMessages { endWatching() }
        watchers = []
        machine = ExchangeMachine()
        request.removeAll()
        request.shrink(to: Exchange.keptCapacity)
        snapshot = nil
        route = nil
        clear(&buffered)
        buffered.highWatermark = OutputBuffer.defaultHighWatermark
        clear(&framed)
        if requestThrottle != nil { requestThrottle = nil }
        if responseThrottle != nil { responseThrottle = nil }
        deadline?.cancel()
        isCounted = false
        trustsPeer = false
        if realClient != nil { realClient = nil }
        isCall = false
        endsByStatus = false
        passesTrailers = false
        if !offeredUpgrades.isEmpty { offeredUpgrades.removeAll() }
        hasHeaderLines = false
        if retryBuffer.isUsed { dropRetryBuffer() }
        retryBuffer.heedsStatus = false
        passesContent = false
        if upstream != nil { upstream = nil }
        if forwarder != nil { forwarder = nil }
        if attempt != nil { attempt = nil }
        recycleCoders()
        if requestTranscoder.isBegun { requestTranscoder.reset() }
        awaitsTick = false
        responseTranscoder?.reset()
        if bufferedSource != nil { bufferedSource = nil }
        bufferedSourceIsReusable = false
        if look != nil { look = nil }
        if misfit != nil { misfit = nil }
        if spool != nil { endSpool() }
        if sender != nil { dropHeld() }
        if authorization != nil { authorization = nil }
        if picture != nil { dropPicture() }
        if signature != nil { signature = nil }
        if requestCharge.bytes + responseCharge.bytes > 0 { endCharges() }
        if isQueuedForMemory { leaveQueue() }
        record = ExchangeRecord()
        if endpoint != nil { endpoint = nil }
        if !loggedResponse.isEmpty { loggedResponse = [] }
        captures = PathCaptures()
        mayBeByFields = false
        downstream = nil
    }

    /// Gives back what many free exchanges should not hold; after `reset`.
    func shrink() {
        request.shrink(to: Exchange.ordinaryCapacity)
        buffered.shrink(to: Exchange.ordinaryCapacity)
        framed.shrink(to: Exchange.ordinaryCapacity)
    }

    /// Empties a buffer; the loop gets memory that is too much to keep for each exchange.
    func clear(_ buffer: inout OutputBuffer) {
        buffer.removeAll()
        if buffer.capacity > Exchange.keptCapacity { worker.loop.recycle(&buffer) }
    }

    // MARK: What happens

    /// Runs what one call from outside leads to. A refusal on the way ends here, as an answer or a cut; `work` has nothing left
    /// to do then.
    func catchingRefusal(_ work: () throws(Refusal) -> Void) {
        do throws(Refusal) {
            try work()
        } catch {
            refuse(error)
        }
    }

    /// Hands an event to the machine and performs what it returns. `cutFlag` is what the log shows where that is a cut.
    func handle(_ event: ExchangeMachine.Event, cutFlag: EndReason = .upstreamGone) throws(Refusal) {
        let actions = try machine.handle(event)
        if actions.rawValue != 0 { try perform(actions, cutFlag: cutFlag) }
    }

    // What it calls is not inlined: each event would set up the frame of all of it.
    private func perform(_ actions: ExchangeMachine.Actions, cutFlag: EndReason) throws(Refusal) {
        for action in actions.inOrder {
            switch action {
            case .connect: try connect(framing: request.framing)
            case .finishRequest: try finishRequest()
            case .releaseOutput: releaseOutput()
            case .dropRetryBuffer: if retryBuffer.isUsed { dropRetryBuffer() }
            case .releaseRequest: if spool != nil || requestCharge.bytes > 0 { releaseRequest() }
            case .startResponseTimer: upstream?.expectResponse(within: times.firstByte)
            case .startContentTimer: expectContent()
            case .stopContentTimer: downstream?.expectNothing()
            case .finishResponse: finishResponse()
            case .returnUpstream: releaseUpstream(reusable: true)
            case .endAndKeepAlive: end(.keepAlive)
            case .queueForMemory, .beginSpool, .sendRetryBuffer, .sendBuffered, .sendHead, .resumeFinish,
                .resumeContent,
                .startContinueTimer, .startProgressTimer, .stopUpstreamTimer, .awaitEmpty, .forbidReuse, .sendInterim,
                .sendContinue, .pauseReading, .resumeReading, .resumeUpstream, .answer, .closeUpstream, .beginTunnel,
                .awaitDiscard, .cut, .endAndClose, .endAndLinger:
                try performRare(action, cutFlag: cutFlag)
            }
        }
    }

    /// Performs what most exchanges don't come to; apart from the others, whose function would have a large frame else.
    @inline(never)
    private func performRare(_ action: ExchangeMachine.Action, cutFlag: EndReason) throws(Refusal) {
        switch action {
        case .queueForMemory: queueForMemory()
        case .beginSpool: beginSpool()
        case .sendRetryBuffer: try sendRetryBuffer()
        case .sendBuffered: try sendBuffered()
        case .sendHead: flushFramed()
        case .resumeFinish: if upstreamIsFull { upstream?.expectProgress() } else { try finishRequest() }
        case .resumeContent: try resumeContent()
        case .startContinueTimer: upstream?.expectResponse(within: Self.continueTime)
        case .startProgressTimer: upstream?.expectProgress()
        case .stopUpstreamTimer: upstream?.expectNothing()
        case .awaitEmpty: upstream?.awaitEmpty()
        case .forbidReuse: upstream?.refuseReuse()
        case .sendInterim: sendInterim()
        case .sendContinue: sendContinue()
        case .pauseReading: downstream?.pauseReading()
        case .resumeReading: downstream?.resumeReading()
        case .resumeUpstream: upstream?.resume()
        case .answer: writeAnswer()
        case .closeUpstream: releaseUpstream(reusable: false)
        case .beginTunnel: beginTunnel()
        case .awaitDiscard: downstream?.expectDiscard()
        case .cut: cut(cutFlag)
        case .endAndClose: end(.close)
        case .endAndLinger: end(.linger)
        case .connect, .finishRequest, .releaseOutput, .dropRetryBuffer, .releaseRequest, .startResponseTimer,
            .startContentTimer, .stopContentTimer, .finishResponse, .returnUpstream, .endAndKeepAlive:
            preconditionFailure("an action that every exchange comes to")
        }
    }

    /// Hands in an event from outside; a refusal on the way is answered.
    func tell(_ event: ExchangeMachine.Event, cutFlag: EndReason = .upstreamGone) {
        catchingRefusal { () throws(Refusal) in try handle(event, cutFlag: cutFlag) }
    }

    /// The request's content stopped arriving, or comes too slowly. A response that is on its way goes on without it.
    func bodyTimedOut(_ refusal: Refusal) {
        tell(.lastRequest)
        guard machine.response == .streaming else { return refuse(refusal) }
        record.flag = refusal.flag
        tell(.contentGivenUp)
    }

    /// The exchange took longer than its route allows.
    func requestTimedOut() {
        guard machine.request != .discarding else { return }
        worker.counters.admission.count(.request)
        let refusal = Refusal.requestTimeout(isRead: machine.isRequestRead)
        // A client that takes less than comes is the reason, not the upstream that waits for it.
        let isHeldBack = machine.response == .streaming && downstream?.isFull == true
        if machine.isRequestRead { if !isHeldBack { noteOverdue() } } else { tell(.lastRequest) }
        // A response that has begun is cut: log, metrics and trailers of a call say why.
        if isHeldBack { fail(.clientStalled) } else { refuse(refusal) }
    }

    /// The client has room again.
    func downstreamDrained() {
        if responseCharge.bytes > 0, let downstream { chargeResponse(queued: downstream.queued) }
        tell(.downstreamDrained)
    }

    /// The client left before its request was whole, or its connection failed: nothing can be answered any more.
    func clientGone() {
        // What ended the exchange before, as a drain does, is why.
        if record.flag == nil { record.flag = .clientGone }
        if record.status == 0 { record.status = 499 }
    }

    /// The client takes no bytes of the response any more.
    func clientStalled() {
        record.flag = .clientStalled
    }

    /// Whether a client that has half-closed after a whole request is still owed its answer; of one that hasn't, whether what waits
    /// here may still make its request whole.
    var answersHalfClosed: Bool { route?.forwarding.abortsOnHalfClose != true }

    /// The client has half-closed after a whole request: it gets its answer, and then the connection ends.
    func clientHalfClosed() { tell(.clientHalfClosed) }

    /// The grace time of a drain is over. A client that got no head of a response got none of an answer: 503, since no one else
    /// was at fault.
    func cutByDrain() {
        withdrawHead()
        if machine.awaitsResponse { record.status = 503 }
        if record.flag == nil { record.flag = .graceTime }
    }

    /// Goes on with what one tick was too short for.
    func tickEnded() {
        catchingRefusal { () throws(Refusal) in
            if holdsInput || machine.response == .buffered { try continueBuffered() }
            if awaitsTick { return try transcodeAfterTick() }
            // What was held is on its way, and the content behind it waits.
            if spool != nil, machine.request == .content, machine.upstream == .open {
                return try handle(.upstreamDrained(isEmpty: false))
            }
            let hasMore = spool != nil || requestTranscoder.conversion != nil || requestTranscoder.isPadded
            guard hasMore, machine.request == .ending, machine.upstream == .open else { return }
            // The conversion may have more to write: a response that is converted has ticks of its own, while the request waits.
            try finishRequest()
        }
    }

    // MARK: Early ends

    /// What is sent in the upstream's place.
    private enum Answer {
        case refusal(Refusal)
        /// The methods that are taken, to OPTIONS.
        case options([String], status: Int)
        /// What a sender wants to hear that looks for its endpoint.
        case challenge(EndpointChallenge.Answer)
    }

    /// Answers in the upstream's place, or cuts the response when its head has gone out already. The upstream request, if one
    /// has started, is aborted so that it can't be taken for complete.
    func refuse(_ refusal: Refusal) {
        guard downstream != nil, !machine.isOver else { return }
        if case .challenge(let answer) = refusal { return give(.challenge(answer), flag: nil) }
        tellRefusal(refusal)
        if requestTranscoder.takeCodingFault() { worker.counters.coding.countError(refusal.code, .requestDecoded) }
        let isFraming = if case .wire = refusal { true } else { false }
        give(.refusal(refusal), flag: refusal.flag, isFraming: isFraming)
    }

    /// What brought the request answers `refusal` itself, in the place of a response that it has begun to make and can take back: sees
    /// that logs, metrics and spans tell of that as of any other refusal.
    func noteRefused(_ refusal: Refusal) {
        tellRefusal(refusal)
        answer = .refusal(refusal)
        record.isRefused = true
        record.status = refusal.status
        record.flag = refusal.flag
    }

    private func tellRefusal(_ refusal: Refusal) {
        guard worker.isMeasuring else { return }
        record.refusesBody = worker.requests.noteRefusal(refusal, of: route)
        if worker.isTracing {
            beginTrace()
            trace.refusal = refusal.code
        }
        if tap != nil { tapRefused(refusal.code) }
    }

    /// Answers OPTIONS as its last recipient (RFC 9110 §7.6.2).
    func answerOptions(_ methods: [String], status: Int) { give(.options(methods, status: status), flag: nil) }

    /// Why we answered ourselves, or cut the response, or the rest of the upload behind it; nil where none was so.
    var refusal: Refusal? {
        guard record.isRefused, case .refusal(let refusal) = answer else { return nil }
        return refusal
    }

    private func give(_ answer: Answer, flag: EndReason?, isFraming: Bool = false) {
        self.answer = answer
        record.isRefused = flag != nil
        if picture != nil { dropPicture() }
        if machine.response != .streaming { record.flag = flag }
        catchingRefusal { () throws(Refusal) in
            if worker.isDraining { try handle(.lastRequest) }
            try handle(.refused(rest: rest, isFraming: isFraming), cutFlag: flag ?? .upstreamGone)
        }
    }

    /// What is left of the request's content.
    private var rest: ExchangeMachine.Rest {
        let left = downstream?.contentLeft ?? .max
        guard !request.expectsContinue, left <= Self.discardLimit else { return .long }
        return left == 0 ? .nothing : .short
    }

    private func writeAnswer() {
        guard let downstream else { return }
        framed.removeAll()
        let requestID = requestID
        switch answer {
        case .refusal(let refusal):
            record.status = refusal.status
            if isCall || !request.framing.isEmpty && request.methodKind == .post && request.carriesGRPC,
                forwarder == nil
            {
                return answerCall(refusal, on: downstream)
            }
            let problem = Problem(refusal, requestID: requestID)
            let body = problem.body()
            write(refusal.status, body.span, to: downstream) { problem.appendFields(length: body.count, to: &$0) }
        case .options(let methods, let status):
            record.status = status
            write(status, Span(), to: downstream) { output in
                HeadWriter.clean("Allow", Array(methods.joined(separator: ", ").utf8).span, into: &output)
                // RFC 9110 §8.6: a 204 has none.
                if status != 204 { HeadWriter.field("Content-Length", decimal: 0, into: &output) }
                HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
            }
        case .challenge(let answer):
            record.status = 200
            write(200, answer.content.span, to: downstream) { output in
                HeadWriter.clean("Content-Type", Array(answer.contentType.rawValue.utf8).span, into: &output)
                HeadWriter.field("Content-Length", decimal: answer.content.count, into: &output)
                // Some of it came from outside.
                output.append("X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n")
                HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
            }
        }
    }

    /// Writes an answer: Date, the fields that `appendFields` gives, those of the route's rules, and content, of which that to HEAD
    /// has none (RFC 9110 §9.3.2).
    private func write(
        _ status: Int, _ content: Span<UInt8>, to downstream: any Downstream,
        _ appendFields: (inout OutputBuffer) -> Void
    ) {
        let content = request.methodKind == .head ? Span() : content
        record.bytesBack = downstream.answer(status, isLast: !machine.persists, content: content) { output in
            let fields = output.count
            HeadWriter.clean("Date", worker.clock.date.span, into: &output)
            appendFields(&output)
            appendRuledFields(to: &output, from: fields)
            if tap != nil { tapAnswer(output, from: fields) }
        }
        record.headBack = record.bytesBack - content.count
        if tap != nil { tapAnswered(content) }
    }

    /// Answers a call as gRPC's clients read it: by a head alone, whose trailers are among its fields.
    private func answerCall(_ refusal: Refusal, on downstream: any Downstream) {
        record.bytesBack = downstream.answer(200, isLast: !machine.persists, content: Span()) { output in
            let fields = output.count
            HeadWriter.clean("Date", worker.clock.date.span, into: &output)
            // Caches take a 200 for an answer.
            HeadWriter.field("Cache-Control", "no-store", into: &output)
            if let line = request.first(.contentType) {
                HeadWriter.clean("Content-Type", request.value(line), into: &output)
            }
            var status = GRPC.Status(ofHTTP: refusal.status)
            if case .rateLimited(let fields) = refusal {
                status = .resourceExhausted
                fields.append(to: &output)
            }
            GRPC.appendStatus(status, "\(refusal.code): \(refusal.detail)", to: &output)
            if !request.capabilities.contains(.framedEnds) {
                HeadWriter.field("Content-Length", decimal: 0, into: &output)
            }
            HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
            appendRuledFields(to: &output, from: fields)
            if tap != nil { tapAnswer(output, from: fields) }
        }
        record.headBack = record.bytesBack
    }

    /// A head that can't be read, or that didn't come in time: answered, and the connection ends. One that `isWhole` is refused for want of
    /// room alone, and has the name that its client gave it.
    func refuseHead(_ refusal: Refusal, isWhole: Bool = false, on downstream: any Downstream) {
        beginWithoutHead(on: downstream, isWhole: isWhole)
        isCall = request.capabilities.contains(.framedEnds) && request.carriesGRPC
        refuse(refusal)
    }

    /// A head that its protocol answers by itself, with a reset: what is left is to log it.
    func noteMalformedHead(on downstream: any Downstream) {
        beginWithoutHead(on: downstream)
        record.status = 400
        record.flag = .badRequest
    }

    /// A response to a request that never came here, as a filter of a data plane gives it: what is left is to log it.
    func noteForeignResponse(_ status: Int, on downstream: any Downstream) {
        beginWithoutHead(on: downstream)
        record.status = status
        processed()
    }

    private func beginWithoutHead(on downstream: any Downstream, isWhole: Bool = false) {
        self.downstream = downstream
        request.settleTarget()
        if record.startedAt == 0 { record.startedAt = worker.loop.now }
        if !isWhole || !request.copyValue(of: .xRequestID, limit: 128, to: &requestID) {
            worker.nextRequestID(into: &requestID)
        }
        if worker.keepsExchanges { beginTap(of: downstream) }
    }

    /// A response that has begun can't go on: `flag` says why.
    func fail(_ flag: EndReason) {
        guard machine.response == .streaming else { return }
        tell(.responseFailed, cutFlag: flag)
    }

    /// Cuts a response that has begun, in a way that can't be taken for its end (docs/rules.md F14).
    private func cut(_ flag: EndReason) {
        guard let downstream else { return }
        bringCompressed()
        let callEnd = endsByStatus ? callEnd(flag) : nil
        record.flag = flag
        record.isCut = true
        logEnd()
        guard let callEnd, let sink = downstream as? any CallSink else { return downstream.cut() }
        sink.cut { GRPC.appendStatus(callEnd.status, callEnd.reason, to: &$0) }
    }

    /// How a call went whose response can't go on; nil where its server has reset it, or broken a rule: so does the client's stream end.
    private func callEnd(_ flag: EndReason) -> (status: GRPC.Status, reason: String)? {
        if let refusal { return (GRPC.Status(ofHTTP: refusal.status), "\(refusal.code): \(refusal.detail)") }
        switch flag {
        case .upstreamGone:
            return (.unavailable, "upstream_closed: the upstream's connection ended before the call did")
        case .upstreamTime: return (.unavailable, "upstream_timeout: nothing was said in the call for too long")
        default: return nil
        }
    }

    /// Takes back a response's head that waits for the first bytes of its content, so that an answer of ours can go in its place. Where
    /// content has come the response has begun, and what its coding still keeps of it goes out first (docs/rules.md F14).
    func withdrawHead() {
        guard machine.response == .streaming else { return }
        bringCompressed()
        guard machine.response == .streaming, record.bytesBack == 0, downstream?.withdraw() == true else { return }
        if let responseCoding { recycle(responseCoding.encoder) }
        if tap != nil { tapWithdrawn() }
        responseCoding = nil
        record.responseCoding = nil
        tell(.responseWithdrawn)
    }

    // MARK: The end

    @inline(never)
    private func end(_ end: ExchangeEnd) {
        guard let downstream else { return }
        logEnd()
        recycleResponseTranscoder()
        downstream.exchangeEnded(end)
    }

    /// Lets go of everything: what the request went on by forwards it, and nothing will be heard of the response. So a webhook counts
    /// as taken: forgotten, anybody could send its bytes again.
    func processed() {
        remembered = nil
        logEnd()
        releaseUpstream(reusable: false)
        downstream = nil
    }

    /// Lets go of everything: the client's connection goes away.
    func abandon() {
        if machine.response != .complete || machine.request == .content {
            if record.flag == nil { record.flag = .clientGone }
            record.isCut = machine.response == .streaming
        }
        endTunnel()
        logEnd()
        recycleResponseTranscoder()
        releaseUpstream(reusable: false)
        downstream = nil
    }

    private func logEnd() {
        guard record.startedAt != 0 || record.status != 0 else { return }
        if remembered != nil { settleReplay() }
        if worker.isMeasuring { worker.ended(self) }
        record.startedAt = 0
        record.status = 0
    }

    // MARK: Memory

    // Waiting output and the streams' queues are bounded by their watermarks, so they are only counted; trees, decoders' windows,
    // converted responses and spools grow with the content, so they ask before they go on.

    /// What any content but a short one has from its beginning on: room for what waits on both sides of a pause.
    static let reserve = 2 * MemoryCharge.step

    /// Whether there is memory to take content; more of it has what it needs for a start then. Short content, which fits the
    /// loop's buffers, passes as long as a little is left.
    func hasMemory(for framing: BodyFraming) -> Bool {
        let pressure = worker.pressure
        if case .length(let count) = framing, count <= RequestTranscoder.shortBody { return pressure < 3 }
        return pressure < 2 && requestCharge.set(Self.reserve, from: worker.memory)
    }

    private func queueForMemory() {
        isQueuedForMemory = true
        worker.memoryQueue.add(self)
    }

    /// There may be memory. Returns whether the wait is over.
    func memoryMayHaveCome() -> Bool {
        guard isQueuedForMemory else { return true }
        guard machine.request == .content else {
            isQueuedForMemory = false
            return true
        }
        guard hasMemory(for: request.framing) else { return false }
        isQueuedForMemory = false
        tell(.memoryFreed)
        return true
    }

    /// The time for memory to come is over.
    func memoryDidNotCome() {
        isQueuedForMemory = false
        guard machine.request == .content else { return }
        worker.memory.counters.refusedAdmission += 1
        refuse(.memoryExhausted)
    }

    /// Something else has ended the wait.
    private func leaveQueue() {
        isQueuedForMemory = false
        worker.memoryQueue.remove(self)
    }

    /// Bytes that the request holds: content that waits, what its conversion buffers, the copy for another attempt.
    private var requestBytes: Int {
        let bytes = buffered.count + retryBuffer.bytes.count + (upstream?.queued ?? 0)
        return max(Self.reserve, bytes + requestTranscoder.bufferedCount)
    }

    /// Counts what waits for an upstream that takes no more, with `leftover` bytes that stay with the client's stream.
    func chargeRequest(leftover: Int) {
        requestCharge.force(requestBytes + leftover, from: worker.memory)
    }

    /// Pays for what grows with the content: a tree, the decoders' windows.
    func payForRequest() throws(Refusal) { try payForRequest(requestBytes) }

    /// Pays for so many bytes, all that the request holds then.
    func payForRequest(_ bytes: Int) throws(Refusal) {
        guard requestCharge.set(bytes, from: worker.memory) else {
            worker.memory.counters.refusedRequest += 1
            throw .memoryExhausted
        }
    }

    /// Pays for a copy that has become large. Returns false when there is no memory for it.
    func payForRetryBuffer() -> Bool {
        retryBuffer.bytes.count < MemoryCharge.step || requestCharge.set(requestBytes, from: worker.memory)
    }

    /// Pays for the bytes of a response that are held, where they have become many.
    func payForResponse(_ bytes: Int) throws(Refusal) {
        guard bytes >= MemoryCharge.step else { return }
        guard responseCharge.set(bytes, from: worker.memory) else {
            worker.memory.counters.refusedResponse += 1
            throw .memoryExhausted
        }
    }

    /// Whether there is memory to spare for an encoder of `coding`, which is paid for then.
    func payForEncoder(_ coding: Coding) -> Bool {
        worker.pressure == 0 && responseCharge.set(ContentEncoder.heldCount(for: coding), from: worker.memory)
    }

    /// Leaves the coding away of a response that has turned out to have no content. Returns whether it has.
    ///
    /// - Parameter isTold: whether the head says the coding; then it stays the one that it was.
    func dropUnusedCoding(isTold: Bool) -> Bool {
        guard let coding = responseCoding, coding.encoder.inputCount == 0 else { return false }
        responseCoding = nil
        worker.coders.recycle(coding.encoder)
        if !isTold { record.responseCoding = nil }
        return true
    }

    /// So many bytes of the response wait with the upstream's stream, since the client takes no more.
    func responseHeld(_ count: Int) {
        if count >= MemoryCharge.step, let downstream { chargeResponse(queued: downstream.queued + count) }
    }

    /// Counts what waits for a client that doesn't read, and the encoder that it keeps.
    func chargeResponse(queued: Int) {
        let encoder = responseCoding.map { ContentEncoder.heldCount(for: $0.encoder.coding) } ?? 0
        responseCharge.force(queued + encoder, from: worker.memory)
    }

    /// Sends the whole content of a response that was held, whose memory goes along where the client takes it slowly.
    func write(owned body: inout OutputBuffer) {
        if tap != nil { tapAnswered(body.span) }
        guard let downstream else { return }
        record.bytesBack += body.count
        if !downstream.send(owned: &body) { chargeResponse(queued: downstream.queued) }
    }

    /// The request is sent and will not be sent again.
    @inline(never)
    private func releaseRequest() {
        endSpool()
        requestCharge.end(worker.memory)
    }

    private func endCharges() {
        requestCharge.end(worker.memory)
        responseCharge.end(worker.memory)
    }
}

extension Exchange: TickTask, MemoryWaiter {}

/// What is measured of one exchange, for the log: plain values, which are copied and cleared without a look at each.
struct ExchangeRecord {
    var startedAt: UInt64 = 0
    var status = 0
    /// Why we answered ourselves or cut the exchange; nil when the upstream's answer went through whole.
    var flag: EndReason?
    /// Whether the client got `status`. One that left before, one that the process' end left without an answer, and one that broke a
    /// rule for which its protocol ended the request, as by a reset, did not: their statuses are for counting.
    var isStatusSent: Bool {
        guard status > 0 else { return false }
        let standsForNone =
            switch flag {
            case .clientGone: status == 499
            case .graceTime: status == 503
            case .badRequest: !isRefused
            default: false
            }
        return !standsForNone || isCut || bytesBack > 0
    }
    /// Whether a response had begun, whose status `status` is, and didn't come to its end.
    var isCut = false
    /// Whether we answered ourselves because of what a body that was to be converted is.
    var refusesBody = false
    /// Whether we answered ourselves, or cut the exchange, for what `Exchange.refusal` says.
    var isRefused = false
    var bytesIn = 0
    var bytesOut = 0
    var bytesBack = 0
    /// Those of `bytesBack` that are the head of an answer of ours.
    var headBack = 0
    /// Bytes of the content alone that the client got.
    var contentBack: Int { bytesBack - headBack }
    /// Nanoseconds from the request's head to the upstream's first byte; 0 when there was none.
    var firstByteTime: UInt64 = 0
    /// Body bytes of the upstream's response.
    var bytesUpstream = 0
    /// When the head's first byte was seen, and the nanoseconds from there to its end.
    var headStartedAt: UInt64 = 0
    var headTime: UInt64 = 0
    /// Nanoseconds from the head's end to that of the body.
    var bodyTime: UInt64 = 0
    /// Nanoseconds inside the conversion of the request; measured where it is asked for (`Worker.isMeasuring`).
    var transcodeTime: UInt64 = 0
    /// The clock as it was read last, while that is still the present.
    var transcodeMark: UInt64 = 0
    /// When an upstream was first asked for, and the nanoseconds until its response was whole.
    var upstreamStartedAt: UInt64 = 0
    var upstreamTime: UInt64 = 0
    /// Nanoseconds that making the last connection took, where it was made for this exchange.
    var connectTime: UInt64 = 0
    /// How often the request was sent again after a connection that it had been given to failed.
    var retries = 0
    /// Those of them that no route has to ask for.
    var freeRetries = FreeRetries()
    /// Whether what brought the request forwards it itself: no upstream is asked.
    var isForwardedThere = false
    /// How often the request was handed to an upstream connection, or was to be.
    var attempts: Int { upstreamStartedAt == 0 || isForwardedThere ? 0 : retries + 1 }
    /// Why it was not sent once more, when that would have been asked for (docs/rules.md F20, F21).
    var retrySkip: RetrySkip?
    var framing: StaticString = ""
    var input: BodyEncoding?
    var output: BodyEncoding?
    var accounting: Accounting?
    /// What was undone of the request's body, and applied to the response's; of two codings the last one.
    var coding: Coding?
    var responseCoding: Coding?
    /// Whether the client gets other bytes than the upstream sent: what tells of those, in trailers too, doesn't hold.
    var hasOtherBytes = false
    /// What header rules did to the head that went upstream, and to the response's.
    var headers = HeaderEditCount()
    /// What came of the verification, on routes that take one sender's requests alone.
    var verificationResult: VerificationResult?
    var responseHeaders = HeaderEditCount()
}
