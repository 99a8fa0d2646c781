internal import EventLoop
internal import ExtProc
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Logging
internal import Octets
internal import Transcoding

/// One `Process` call of a data plane (Envoy's external processing): the request and the response of one exchange, which the data plane
/// forwards itself and asks us about.
///
/// It is both sides of an exchange. As the source and the sink it brings the request that the data plane has, and takes what becomes
/// of the response; as the upstream's side (`ProcessSide`) it takes what becomes of the request, and brings the response. Routes,
/// header rules, verification, conversions and limits are the exchange's, as for every request. Time limits for clients and upstreams
/// are the data plane's, which knows both.
///
/// The data plane ends the call, behind the response or before: it may not want responses processed. Here it ends with an immediate
/// response, or an error.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a call, and nobody who is handed a part of its memory comes back to that part
/// (docs/decisions/0007).
final class ProcessCall: Downstream, StreamSource, HTTP2Call {
    static let path: StaticString = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"

    private let connection: HTTP2Connection
    private let stream: HTTP2Stream
    private(set) var exchange: Exchange?
    private let side = ProcessSide()
    private var worker: Worker { connection.worker }

    @safe @exclusivity(unchecked) private var reader: MessageReader
    @safe @exclusivity(unchecked) var request: ProcessingFlow
    @safe @exclusivity(unchecked) var response: ProcessingFlow
    /// Messages that are not handed to the stream yet.
    @safe @exclusivity(unchecked) private var output: OutputBuffer
    private var names: LowercaseName
    private(set) var routeName: [UInt8]?
    private(set) var isSecure = false

    private var isReading = false
    /// Whether nothing that comes is looked at for now: not what waits with the stream, and not the rest of what the reader has.
    private var isPaused = false
    private var isTouched = false
    /// Whether an immediate response was given.
    private var isAnswered = false
    /// Whether all was said: what still comes is dropped.
    private var isOver = false
    /// Whether the response passes as it is: it is the data plane's own, in the place of one that was asked for.
    private var passesResponse = false
    /// The head of the request has come.
    private var hasRequestHead = false
    /// The request has no content.
    private var isRequestAlone = false
    private var requestLength: Int?
    private(set) var contentLimit = Int.max
    var arrived = 0
    private var trailers = TrailerLines()
    var responseTrailers = TrailerLines()
    /// Whether the exchange takes no more of the response for now.
    private var isResponseBlocked = false
    /// The response's head, until its first content takes it along.
    private var responseHead: HeaderMutation?
    /// Whether the response's head says its coding when there is content: trailers may come in the place of that, with nothing in front
    /// of them that could be coded.
    private var saysCodingLater = false
    /// All lines of a response that trailers have ended before any content, and which so has no message to be changed by.
    private var wholeHead: OutputBuffer?
    /// Why what goes on of the request can't be held any longer until its end.
    private var shortage: Refusal?
    /// More of a response was to be sent in one message than may be.
    private var isResponseTooLarge = false
    /// What the memory of a long message costs.
    @safe @exclusivity(unchecked) private var charge = MemoryCharge(.request)
    /// Whether the data plane said its modes in the message that began the call.
    private var knowsModes = false
    /// Whether each message with content has an answer of its own, in a direction at least (STREAMED).
    private var answersEach = false
    /// Whether nothing is read until the data plane has taken what waits.
    private var waitsForRoom = false

    /// Bytes that wait for the last of them, to go on in one message (BUFFERED), at most: 16 MiB, or what the listener has as `buffer`.
    private var heldLimit: Int { max(16 * 1024 * 1024, listener.settings.buffer) }

    init(_ stream: HTTP2Stream, on connection: HTTP2Connection) {
        self.stream = stream
        self.connection = connection
        let memory = connection.worker.takeProcessMemory()
        reader = memory.reader
        request = memory.request
        response = memory.response
        output = memory.output
        names = memory.names
        stream.handler = self
    }

    private static let routeField = Array("recast-route".utf8)

    /// Begins the call: `head` is gRPC's, whose fields are its metadata.
    func begin(_ head: borrowing MessageHead) {
        side.call = self
        if let line = head.first(named: Self.routeField.span) { routeName = head.value(line).copied() }
        var lines = OutputBuffer()
        lines.append(GRPC.headLines)
        stream.respond(200, &lines, hasContent: true)
        connection.schedule()
    }

    // MARK: What comes

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        guard !isOver else { return content.count }
        isReading = true
        defer {
            isReading = false
            sendOutput()
        }
        touch()
        var at = 0
        do throws(CallError) {
            // A pause holds for what is of one read, too: behind the end of a request nobody would end it.
            reading: while !isOver, !isPaused {
                guard !answersEach || !stream.isFull else {
                    waitsForRoom = true
                    pauseReading()
                    break
                }
                switch try reader.next(content, at: &at) {
                case .needsMore: break reading
                case .head(.request, let ends): try beginRequest(endsStream: ends)
                case .head(.response, let ends): try beginResponse(endsStream: ends)
                case .content(let direction, let range, let isHeld):
                    let taken =
                        isHeld
                        ? try take(reader.held.span.extracting(range), direction)
                        : try take(content.extracting(range), direction)
                    reader.took(taken)
                    if !isHeld { at += taken }
                    guard taken == range.count else { break reading }
                case .contentEnded(let direction, let ends): try contentEnded(direction, endsStream: ends)
                case .trailers(let direction): try trailersCame(direction)
                case .nothing:
                    throw CallError(.invalidArgument, "a message is about nothing that is known")
                }
            }
            try payForMessage()
        } catch {
            fail(error)
        }
        guard isOver else { return at }
        dropMessage()
        return content.count
    }

    /// Gives back what a long message takes, of which nothing is asked any more. A client whose window is shut may have the call's end
    /// wait for as long as it likes.
    private func dropMessage() {
        guard reader.memory >= MemoryCharge.step || charge.bytes > 0 else { return }
        reader.reset(keeping: 0)
        charge.end(worker.memory)
    }

    /// Pays for a message that is held, where it is a long one.
    private func payForMessage() throws(CallError) {
        let count = reader.memory
        guard count >= MemoryCharge.step || charge.bytes > 0, !isOver else { return }
        guard charge.set(count, from: worker.memory) else {
            throw CallError(.resourceExhausted, "memory for messages is short")
        }
    }

    func held(_ count: Int, on stream: HTTP2Stream) {
        guard let exchange, count >= MemoryCharge.step else { return }
        exchange.contentRead(leftover: count)
    }

    /// The data plane has nothing more to say.
    func contentEnded(_ stream: HTTP2Stream) {
        guard !isOver else { return }
        // What a pause has kept from the reader may be the end of its message.
        if !isPaused, !reader.isBetweenMessages {
            return fail(CallError(.invalidArgument, "the call ends inside a message"))
        }
        endExchange()
        finish(.ok)
    }

    func takesRest(of stream: HTTP2Stream) -> Bool { !isOver }

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        isOver = true
        charge.end(worker.memory)
        endExchange()
        // What may still be asked of this call finds nothing to do.
        var memory = ProcessMemory()
        swap(&memory.reader, &reader)
        swap(&memory.request, &request)
        swap(&memory.response, &response)
        swap(&memory.output, &output)
        swap(&memory.names, &names)
        worker.recycle(&memory)
    }

    /// Ends an exchange of which nothing more comes: it is done with where its request went on, and nothing of its response has come.
    private func endExchange() {
        guard let exchange else { return }
        if request.isComplete, !response.hasBegun {
            self.exchange = nil
            exchange.processed()
            worker.recycle(exchange)
        } else {
            exchange.clientGone()
            abandon(exchange)
        }
    }

    /// Ends an exchange that hasn't come to its end.
    private func abandon(_ exchange: Exchange) {
        self.exchange = nil
        exchange.abandon()
        worker.recycle(exchange)
    }

    /// Sees that a head came in front of the body of a request. Without one it can't be processed: a response alone may be the data
    /// plane's own, content can't.
    private func checkHead(_ direction: Direction) throws(CallError) {
        guard direction == .request, !hasRequestHead else { return }
        throw CallError(
            .failedPrecondition, "the body of a request came whose head didn't (request_header_mode must be SEND)")
    }

    private func take(_ content: Span<UInt8>, _ direction: Direction) throws(CallError) -> Int {
        try checkHead(direction)
        let hasBegun = direction == .request ? request.hasBegun : response.hasBegun
        guard knowsModes || !hasBegun else {
            throw CallError(
                .failedPrecondition,
                "content came, and the first message doesn't say in which mode (protocol_config): Envoy 1.36 and later do"
            )
        }
        let isWanted = direction == .request ? try request.contentComes() : try response.contentComes()
        guard isWanted else { return content.count }
        if direction == .request {
            let count = takeRequest(content)
            try request.contentCame(count)
            return count
        }
        let count = takeResponse(content)
        try response.contentCame(count)
        return count
    }

    private func contentEnded(_ direction: Direction, endsStream: Bool) throws(CallError) {
        try checkHead(direction)
        switch direction {
        case .request:
            if try request.contentMessageEnded(endsStream: endsStream, to: &output) {
                if let exchange, exchange.readsContent { exchange.contentEnded() }
            } else {
                exchange?.settle()
                request.endTurn(to: &output)
            }
        case .response:
            if try response.contentMessageEnded(endsStream: endsStream, to: &output) {
                try endResponse()
            } else {
                exchange?.settleResponse()
                response.endTurn(to: &output)
            }
        }
    }

    private func trailersCame(_ direction: Direction) throws(CallError) {
        try checkHead(direction)
        var lines = TrailerLines()
        var removals = HeaderMutation()
        let passed = exchange?.route?.forwarding.trailers ?? []
        if direction == .response, exchange?.dropUnusedCoding(isTold: !saysCodingLater) == true {
            saysCodingLater = false
        }
        // Behind content that gets a coding, what tells of the bytes that came holds no longer.
        let isCoded = direction == .response && exchange?.record.responseCoding != nil
        var fault: WireError?
        reader.forEachField { (name, value) in
            do throws(WireError) { try lines.add(name, value, limits: worker.wireLimits) } catch { fault = error }
            let passes =
                isCoded
                ? !PassedFields.isOfBytes(name) : passed.contains { name.isEqualIgnoringCase(to: $0.span) }
            if !passes { removals.remove(name) }
        }
        if let fault { throw CallError(.invalidArgument, "trailers can't be taken: \(fault.reason)") }
        switch direction {
        case .request:
            trailers = lines
            // They speak of content that isn't what came.
            if exchange?.requestTranscoder.isBegun == true { request.trailers = removals }
            if try request.trailersCame(to: &output), let exchange, exchange.readsContent { exchange.contentEnded() }
        case .response:
            responseTrailers = lines
            if isCoded || exchange?.machine.response == .buffering { response.trailers = removals }
            if try response.trailersCame(to: &output) { try endResponse() }
        }
    }

    // MARK: The request

    /// Begins the exchange with the head that the data plane has of the request.
    private func beginRequest(endsStream: Bool) throws(CallError) {
        guard !request.hasBegun, !response.hasBegun else {
            throw CallError(.invalidArgument, "the head of a request came behind a head")
        }
        takeModes()
        hasRequestHead = true
        isRequestAlone = endsStream
        let exchange = worker.takeExchange()
        exchange.record.headStartedAt = worker.loop.now
        self.exchange = exchange
        do throws(WireError) {
            try readRequest(into: &exchange.request, hasContent: !endsStream)
            requestLength = Framing.announcedLength(exchange.request)
        } catch {
            try request.headCame(endsStream: true, length: nil)
            return exchange.refuseHead(.wire(error), on: self)
        }
        try request.headCame(endsStream: endsStream, length: requestLength)
        exchange.begin(on: self, forwarder: side)
        if request.owesHead { answerHead() }
    }

    /// Answers a head that waits for its content (BUFFERED). A refusal has been the answer already, so that nothing goes on without one.
    ///
    /// A data plane sends no content where none comes, and need not tell of trailers that do. Then the request goes on with this answer:
    /// so it has what a route does to the head whatever the content is, unless a length says that there is some.
    private func answerHead() {
        guard !isAnswered, !isOver else { return }
        var early = HeaderMutation()
        if !announcesContent, let exchange {
            var names = takeNames()
            defer { self.names = names }
            do throws(Refusal) {
                try exchange.forEachRequestChange(bringsResponse: response.mode != .none, isEarly: true) {
                    change, name, value in
                    names.set(name)
                    if names.bytes.span.isEqual(to: "content-length") { return }
                    // It would be there twice in the end. Nothing that is added keeps anything away.
                    if case .append = change { return }
                    early.make(change, names.bytes.span, value)
                }
            } catch {
                // What can't be said now is refused with the content.
            }
        }
        request.answerHead(early, to: &output)
    }

    /// Whether the request says that it has content.
    private var announcesContent: Bool { requestLength.map { $0 > 0 } ?? false }

    private func takeModes() {
        guard let modes = reader.modes else { return }
        knowsModes = true
        (request.mode, response.mode) = (modes.request, modes.response)
        answersEach = request.mode == .streamed || response.mode == .streamed
    }

    private func readRequest(into head: inout MessageHead, hasContent: Bool) throws(WireError) {
        var builder = HeadBuilder(limits: worker.wireLimits, rules: worker.current.requestRules)
        try reader.withRequestLine { (method, scheme, authority, path) throws(WireError) in
            isSecure = Scheme.isSecure(scheme) == true
            try builder.beginRequest(
                method: method, isSecure: isSecure, authority: authority, path: path, version: .http1_1, into: &head)
        }
        try reader.forEachField { (name, value) throws(WireError) in
            guard !ProcessedFields.arePseudo(name), !ProcessedFields.areOfHop(name) else { return }
            try builder.add(name, value, to: &head)
        }
        try builder.finish(&head, hasContent: hasContent)
    }

    private func takeRequest(_ content: Span<UInt8>) -> Int {
        guard let exchange, exchange.readsContent else { return content.count }
        return bring(content, isLast: false, to: exchange)
    }

    // MARK: The response

    private func beginResponse(endsStream: Bool) throws(CallError) {
        // A filter in front of the processor may answer, and the request never comes here.
        let isForeign = !request.hasBegun
        if isForeign { takeModes() }
        // What has come out of the request stands in front of what the response becomes, also where both came in one read.
        request.flush(to: &output)
        try response.headCame(endsStream: endsStream, length: nil)
        var status = 0
        reader.forEachField { name, value in
            if name.isEqual(to: ":status") { status = ProcessedFields.status(value) }
        }
        guard let exchange, exchange.machine.upstream == .open, exchange.upstream === side else {
            // The data plane has answered in the place of what the request would have gone to.
            if isForeign { noteForeign(status) } else if self.exchange != nil { endExchange() }
            passesResponse = true
            response.passesContent = true
            response.sendHead(HeaderMutation(), to: &output)
            if endsStream || response.mode == .none { try endResponse() }
            return
        }
        do throws(WireError) {
            var builder = HeadBuilder(limits: worker.wireLimits)
            try builder.beginResponse(status: status, into: &side.head)
            try reader.forEachField { (name, value) throws(WireError) in
                guard !ProcessedFields.arePseudo(name), !ProcessedFields.areOfHop(name) else { return }
                try builder.add(name, value, to: &side.head)
            }
            try builder.finish(&side.head)
        } catch {
            return exchange.upstreamMisread(.wire(error))
        }
        let isAlone = endsStream || response.mode == .none
        let length = Framing.announcedLength(side.head)
        let framing: BodyFraming = isAlone ? .none : length.map { .length($0) } ?? .chunked
        if let route = exchange.route, route.responseRules == nil,
            route.compression?.options.plain != true
        {
            response.passesContent = true
        }
        exchange.respond(side.head, framing: framing)
        // What no rule converts and nothing codes passes, so that all is known that becomes of the head.
        if let exchange = self.exchange, exchange.machine.response == .streaming, exchange.record.responseCoding == nil
        {
            response.passesContent = true
        }
        self.exchange?.settleResponse()
        if response.owesHead, !isAnswered { answerResponseHead() }
        if isAlone, self.exchange != nil { try endResponse() }
    }

    /// Answers a head that waits for its content (BUFFERED): with all that becomes of it, where that is known but for the coding.
    private func answerResponseHead() {
        var early = HeaderMutation()
        if saysCodingLater, let head = responseHead {
            early = head
            responseHead = HeaderMutation()
        }
        response.answerHead(early, to: &output)
    }

    /// Logs a response to a request that never came here.
    private func noteForeign(_ status: Int) {
        let exchange = worker.takeExchange()
        exchange.noteForeignResponse(status, on: self)
        worker.recycle(exchange)
        // Where no head of a request ever comes, nothing is converted, nor authorized, and nothing else tells.
        guard worker.spools.mayReport("ext_proc: a response alone", at: worker.loop.now) else { return }
        worker.logger.notice(
            "ext_proc: a response came alone: a filter in front gave it, or request_header_mode isn't SEND")
    }

    private func takeResponse(_ content: Span<UInt8>) -> Int {
        if passesResponse {
            guard !isFull else {
                pauseReading()
                return 0
            }
            response.send(content, to: &output)
            return content.count
        }
        guard let exchange else { return content.count }
        guard !isResponseBlocked else {
            pauseReading()
            return 0
        }
        var count = content.count
        if let throttle = exchange.responseThrottle {
            count = throttle.take(count)
            guard count > 0 else {
                blockResponse()
                return 0
            }
        }
        if !exchange.respond(content.extracting(0..<count)) || count < content.count { blockResponse() }
        return count
    }

    private func blockResponse() {
        isResponseBlocked = true
        pauseReading()
    }

    private func endResponse() throws(CallError) {
        if passesResponse {
            try response.end(to: &output)
        } else {
            exchange?.responseEnded(reusable: true)
        }
    }

    /// The memory for a name, which its user gives back.
    private func takeNames() -> LowercaseName {
        var names = LowercaseName()
        swap(&names, &self.names)
        return names
    }

    // MARK: What the exchange does to the request (ProcessSide)

    /// The head goes on, with what the exchange changes in it.
    func sendRequestHead(_ exchange: Exchange) throws(Refusal) {
        var mutation = request.beginMutation()
        var names = takeNames()
        defer { self.names = names }
        let keepsLength = !exchange.requestTranscoder.isBegun
        try exchange.forEachRequestChange(bringsResponse: response.mode != .none) { change, name, value in
            names.set(name)
            // Content that passes has the length that it came with, whatever rules say of fields like it.
            if keepsLength, names.bytes.span.isEqual(to: "content-length") { return }
            mutation.make(change, names.bytes.span, value)
        }
        request.passesContent = !exchange.requestTranscoder.isBegun
        request.sendHead(mutation, to: &output)
    }

    func sendRequest(_ content: Span<UInt8>) {
        guard shortage == nil else { return }
        guard request.pending.count + content.count <= heldLimit else {
            return shortage = .processing(.bodyTooLarge(heldLimit))
        }
        request.send(content, to: &output)
        if request.pending.count >= MemoryCharge.step, let exchange {
            do throws(Refusal) { try exchange.payForRequest() } catch { shortage = error }
        }
        flushLater()
    }

    func requestEnded() throws(Refusal) {
        if let shortage { throw shortage }
        let most = listener.settings.buffer
        if request.pending.count > most, let limit = request.excess(over: most, held: heldLimit) {
            throw .processing(.bodyTooLarge(limit))
        }
        do throws(CallError) {
            try request.end(to: &output)
        } catch {
            // A client did that, not the data plane's settings.
            throw .processing(.trailersAlone)
        }
        flushLater()
    }

    var isRequestFull: Bool {
        // Where content is one message, or has an answer each, it is wanted at once.
        request.mode == .fullDuplex && !request.holdsContent && stream.isFull
    }

    func resumeResponse() {
        guard isResponseBlocked else { return }
        isResponseBlocked = false
        connection.resume(self)
    }

    // MARK: RequestSource

    var peer: SocketAddress { connection.peer }
    var listener: ListenerInfo { connection.listener }
    var tlsFacts: TLSFacts? { connection.tlsFacts }
    var isSpent: Bool { false }

    func limitContent(to count: Int) { contentLimit = count }
    func keepTrailers() {}
    var contentLeft: Int? { request.takesContent ? nil : 0 }
    var hidesContent: Bool { request.mode == .none && !isRequestAlone }
    var mayHideContent: Bool { hidesContent || request.mode == .buffered && !isRequestAlone && !announcesContent }

    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer) {
        trailers.write(named: names, into: &output)
    }

    func pauseReading() {
        isPaused = true
        stream.pause()
    }
    func resumeReading() { connection.resume(self) }

    // The data plane sees to its clients' pace.
    func setRates(_ rates: MinimumRates) {}
    func expectBody(within time: UInt64) {}
    func expectNothing() {}
    func expectDiscard() {}

    /// Sees that the modes fit what the route does.
    func check(_ route: Route, _ plan: inout ExchangeMachine.Plan) throws(Refusal) {
        try Self.checkServed(request.mode, "request_body_mode")
        try Self.checkServed(response.mode, "response_body_mode")
        let whole = plan.isVerified || plan.isSpooled
        let isTouched = plan.isConverted || whole || route.conversion != nil && !isRequestAlone
        if isTouched, !isRequestAlone {
            let work: StaticString =
                plan.isConverted || route.conversion != nil ? "converts requests" : "looks at whole bodies of requests"
            guard knowsModes else {
                throw Self.misfit(work, "the data plane doesn't say its request_body_mode (protocol_config)")
            }
            switch request.mode {
            case .fullDuplex: break
            case .buffered:
                // Where only trailers came, of which we weren't told, it would have gone on before it was judged.
                guard !plan.isVerified || announcesContent else {
                    let reason =
                        "in BUFFERED nothing tells of the end of a body that has no content-length and is empty"
                    throw .processing(.mode("the route verifies requests, and \(reason): use FULL_DUPLEX_STREAMED"))
                }
            case .streamed:
                let conversion = route.conversion?.plan
                guard !whole, conversion?.writesQuery != true, conversion?.outputWithoutFiles == nil else {
                    throw Self.misfit(work, "in STREAMED its head goes on before all of the body is known")
                }
                guard requestLength != nil else {
                    throw Self.misfit(work, "in STREAMED the end of a body without content-length can't be known")
                }
                // The head is answered before content comes.
                plan.isConverted = false
            case .none, .bufferedPartial, .grpc:
                throw Self.misfit(work, "the data plane's request_body_mode is \(request.mode.name)")
            }
        }
        if route.compression?.options.plain == true, response.mode == .streamed {
            throw Self.misfit("compresses responses", "in STREAMED the end of a body with trailers can't be written")
        }
        guard route.responseRules != nil else { return }
        switch response.mode {
        case .fullDuplex, .buffered: break
        case .none, .streamed, .bufferedPartial, .grpc:
            throw Self.misfit("converts responses", "the data plane's response_body_mode is \(response.mode.name)")
        }
    }

    private static func checkServed(_ mode: BodyMode, _ name: StaticString) throws(Refusal) {
        guard mode == .bufferedPartial || mode == .grpc else { return }
        throw .processing(.mode("\(name) \(mode.name) isn't served: use FULL_DUPLEX_STREAMED or BUFFERED"))
    }

    private static func misfit(_ work: StaticString, _ reason: String) -> Refusal {
        .processing(.mode("the route \(work), and \(reason): use FULL_DUPLEX_STREAMED or BUFFERED"))
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        guard let exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
        // An immediate response is the last word. Else the data plane ends the call, perhaps behind trailers.
        if isAnswered { finish(.ok) }
    }

    // MARK: ResponseSink

    var isFull: Bool { response.mode == .fullDuplex && !response.holdsContent && stream.isFull }
    /// The connection pays for what waits in the stream.
    var queued: Int { response.pending.count }

    func sendInterim(_ head: borrowing MessageHead) {}
    func sendContinue() {}

    func begin(
        _ start: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) {
        var lines = OutputBuffer()
        if response.lacksPlace {
            let position = start.fields.write(head, into: &lines)
            addFields(&lines, position)
            exchange?.tapAnswer(lines, from: position.fields)
            return wholeHead = lines
        }
        addFields(&lines, .start)
        exchange?.tapAnswer(lines, from: 0)
        var mutation = response.beginMutation()
        var names = takeNames()
        defer { self.names = names }
        saysCodingLater = exchange?.responseCoding?.flushes == true && !head.beginsEvents
        start.fields.forEachChange(of: head, new: lines.span, rules: exchange?.route?.headers?.response) {
            change, name, value in
            names.set(name)
            // What is of the framing follows.
            if names.bytes.span.isEqual(to: "content-length") { return }
            if saysCodingLater, names.bytes.span.isEqual(to: "content-encoding") { return }
            mutation.make(change, names.bytes.span, value)
        }
        if let status = start.status { mutation.set(Self.statusName.span, Self.digits(status).span) }
        // Where there would be content, its length is another one: of HEAD, and of a 304 by a route that converts responses.
        let isOther = head.status == 304 && exchange?.route?.convertsResponses == true
        if start.length == .none, isOther || exchange?.request.methodKind == .head {
            mutation.remove(Self.contentLength.span)
        }
        responseHead = mutation
    }

    private static let statusName = Array(":status".utf8)
    private static let contentLength = Array("content-length".utf8)
    private static let contentEncoding = Array("content-encoding".utf8)
    private static func digits(_ number: Int) -> [UInt8] { Array(String(number).utf8) }

    func send(_ content: Span<UInt8>) -> Bool {
        sendResponseHead()
        guard response.pending.count + content.count <= heldLimit else {
            isResponseTooLarge = true
            return true
        }
        response.send(content, to: &output)
        if response.pending.count >= MemoryCharge.step { exchange?.chargeResponse(queued: queued) }
        flushLater()
        return !isFull
    }

    func flush() {
        if !saysCodingLater { sendResponseHead() }
        flushLater()
    }

    /// Hands the messages that wait to the stream.
    private func sendOutput() {
        // Behind an immediate response nothing is wanted of the messages.
        if !isAnswered {
            request.flush(to: &output)
            response.flush(to: &output)
        }
        guard !output.isEmpty else { return }
        _ = stream.write(output.span)
        output.removeAll()
        connection.schedule()
    }

    func end(adding addTrailers: (inout OutputBuffer) -> Void) {
        sendResponseHead()
        let most = listener.settings.buffer
        let excess = response.pending.count > most ? response.excess(over: most, held: heldLimit) : nil
        if let limit = isResponseTooLarge ? heldLimit : excess {
            return refuseResponse(.processing(.responseTooLarge(limit)))
        }
        if let wholeHead { return sendInPlace(wholeHead) }
        do throws(CallError) {
            try response.end(to: &output)
        } catch {
            finish(error.status, error.reason)
        }
        flushLater()
    }

    /// Sends a response as an immediate one, in the place of the one that the data plane has: nothing is lost with that, since its trailers
    /// speak of content that isn't what came, and it has no content.
    private func sendInPlace(_ lines: OutputBuffer) {
        wholeHead = nil
        guard let exchange else { return }
        let content = response.pending.span.copied()
        _ = answer(exchange.record.status, isLast: true, content: content.span) { $0.append(lines.span) }
    }

    /// Answers in the place of a response whose content is whole and can't go on.
    private func refuseResponse(_ refusal: Refusal) {
        guard let exchange else { return }
        exchange.noteRefused(refusal)
        let problem = Problem(refusal, requestID: exchange.requestID)
        let body = problem.body()
        exchange.record.bytesBack = answer(refusal.status, isLast: true, content: body.span) {
            problem.appendFields(length: body.count, to: &$0)
        }
    }

    private func sendResponseHead() {
        guard var head = responseHead else { return }
        responseHead = nil
        if saysCodingLater, let coding = exchange?.record.responseCoding {
            head.set(Self.contentEncoding.span, ProcessedFields.name(of: coding).span)
        }
        saysCodingLater = false
        response.sendHead(head, to: &output)
    }

    func withdraw() -> Bool {
        guard responseHead != nil || wholeHead != nil else { return false }
        (responseHead, wholeHead, saysCodingLater) = (nil, nil, false)
        return true
    }

    func cut() {
        finish(.internal, "the response can't be processed to its end")
        if let exchange { abandon(exchange) }
    }

    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int {
        var lines = OutputBuffer()
        addFields(&lines)
        var mutation = HeaderMutation()
        var names = LowercaseName()
        PassedFields(response: MessageHead()).forEachChange(of: MessageHead(), new: lines.span, rules: nil) {
            change, name, value in
            names.set(name)
            if names.bytes.span.isEqual(to: "content-length") || names.bytes.span.isEqual(to: "date") { return }
            mutation.make(change, names.bytes.span, value)
        }
        isAnswered = true
        let start = output.count
        ProcessingResponse.writeImmediate(status, mutation, content, to: &output)
        let count = output.count - start
        flushLater()
        return count
    }

    // MARK: The stream and the connection

    func drained(_ stream: HTTP2Stream) {
        if passesResponse || waitsForRoom { connection.resume(self) }
        waitsForRoom = false
        // The call is either side: it may have room for an answer where no request goes on, or none any more.
        if exchange?.machine.upstream == .open { exchange?.upstreamDrained() }
        exchange?.downstreamDrained()
    }

    func settle() {
        isTouched = false
        exchange?.settle()
        sendOutput()
    }

    func resumeContent() {
        isPaused = false
        // What the reader has comes before what waits with the stream.
        _ = received(Span(), on: stream)
        if !isPaused { stream.resume() }
        settle()
    }

    func clientHalfClosed() {
        guard !isOver else { return }
        isOver = true
        endExchange()
        stream.reset(.cancel)
    }

    func clientStalled() { exchange?.clientStalled() }
    func cutByDrain() { exchange?.cutByDrain() }

    private func touch() {
        guard !isTouched else { return }
        isTouched = true
        connection.noteTouched(self)
    }

    /// Hands messages to the stream, unless more of what is read may add to them.
    private func flushLater() {
        if !isReading { sendOutput() }
    }

    private func fail(_ error: CallError) {
        // The data plane is set up otherwise than it must be, and tells of that in no log of its own by default.
        if error.status == .failedPrecondition, worker.spools.mayReport(error.reason, at: worker.loop.now) {
            worker.logger.warning("ext_proc: \(error.reason)")
        }
        if let exchange {
            exchange.record.flag = .badRequest
            // What the data plane answers where it isn't told otherwise (status_on_error).
            if exchange.record.status == 0 { exchange.record.status = 500 }
            abandon(exchange)
        }
        finish(error.status, error.reason)
    }

    /// Ends the call.
    private func finish(_ status: GRPC.Status, _ reason: String = "") {
        guard !isOver else { return }
        sendOutput()
        isOver = true
        var lines = OutputBuffer()
        GRPC.appendStatus(status, reason, to: &lines)
        stream.end(trailers: &lines)
        stream.resetWhenSent()
        // What still comes is dropped, and its window given back.
        if !isReading { stream.drop() }
        connection.schedule()
    }
}
