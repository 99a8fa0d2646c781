internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// The upstream's side of one exchange as a stream of a connection of HTTP/2.
///
/// The exchange writes a request as it does for HTTP/1, so that all that it knows of requests, and of sending them again, holds here,
/// too: a head first, whose lines become fields, and then content, which frames of HTTP/2 carry in place of chunks.
final class HTTP2Upstream: UpstreamSide, HTTP2StreamHandler, TickTask {
    private enum Phase {
        /// No exchange has it. → head
        case free
        /// The response's head is awaited. → body, free
        case head
        /// → done, free
        case body
        /// The response is whole; the exchange decides when its request is, too. → free
        case done
    }

    private let connection: HTTP2ClientConnection
    private var pool: UpstreamPool { connection.pool }
    private var endpoint: Endpoint { connection.endpoint }
    private var exchange: Exchange?
    private var phase = Phase.free

    // The request.
    /// Whether the connection keeps room for it: until it has a stream.
    var isReserved = false
    /// Its head, from when it was written until it is sent.
    private var requestHead = OutputBuffer()
    private var isHeadWritten = false
    /// From when the head is sent until the exchange lets go or the stream is over.
    private var stream: HTTP2Stream?
    /// Whether the connection took no request any more when the head was to be sent.
    private var isRefused = false
    /// Whether all of it was given to the stream.
    private var isRequestEnded = false

    private var timer: Timer?
    private var begunAt: UInt64 = 0
    private var gap: UInt64 = 0
    /// What had been sent of the request when it was last looked at; `.max` while it isn't waited for, before the response has begun.
    private var takenBefore = UInt64.max
    /// Whether the connection had served no other exchange before.
    private var isFirst = false

    // The response.
    /// Those that came behind it.
    private var responseTrailers = TrailerLines()
    /// Whether some of it came.
    private var isAnswered = false
    /// Whether it is whole with its head, whatever that says and whatever comes behind: it answers HEAD, or its status allows no content.
    private var endsWithHead = false
    private var isBlocked = false
    private var isTouched = false
    private var awaitsTick = false

    init(on connection: HTTP2ClientConnection) {
        self.connection = connection
        super.init(to: connection.endpoint)
        mayRefuse = true
        // Each request is kept as those are that go over a connection which may be over.
        isReused = true
    }

    // MARK: Life

    override func begin(_ exchange: Exchange) {
        self.exchange = exchange
        phase = .head
        isFirst = connection.session.requests == 0
        begunAt = pool.loop.now
        gap = exchange.times.gap
        takenBefore = .max
        isHeadWritten = false
        isRefused = false
        isRequestEnded = false
        isAnswered = false
        isBlocked = false
        pool.began(on: endpoint)
    }

    /// The exchange lets go of a request that has gone out and of its whole response, where it is `reusable`; else of what is of no
    /// use any more. A stream is used once, so a response that began before the request was whole spoils nothing here: what both
    /// sides have said is whole, and only the last frame of the request, which needs no window, may still be on its way.
    override func release(reusable: Bool) {
        guard exchange != nil else { return }
        let stream = self.stream
        let isWhole = reusable || phase == .done && isRequestEnded && held == 0
        letGo()
        if let stream {
            stream.handler = nil
            if !isWhole { stream.reset(.cancel) }
            stream.drop()
        }
        guard isWhole else { return connection.schedule() }
        head.removeAll()
        head.shrink(to: Exchange.keptCapacity)
        responseTrailers = TrailerLines()
        connection.recycle(self)
    }

    private func letGo() {
        exchange = nil
        stream = nil
        isRefused = false
        phase = .free
        timer?.cancel()
        requestHead.removeAll()
        endReservation()
        pool.ended(on: endpoint)
    }

    private func endReservation() {
        guard isReserved else { return }
        isReserved = false
        connection.noteBegun()
    }

    // MARK: The request

    /// Bytes of it that wait to be sent.
    override var held: Int { stream?.queued ?? 0 }
    override var holdsMuch: Bool { stream?.isFull ?? false }
    override func tellEmpty() { stream?.tellEmpty() }

    override func take(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        let content = isHeadWritten ? first : first.extracting(takeHead(first)..<first.count)
        guard !content.isEmpty || !second.isEmpty else { return }
        sendHead(hasContent: true)
        // Without one the request is refused, and whoever sends it again has it.
        guard let stream else { return }
        if !content.isEmpty { _ = stream.write(content) }
        if !second.isEmpty { _ = stream.write(second) }
        // Both sides of a call speak in turn.
        if phase == .body, !isBlocked { arm(gap) }
        connection.schedule()
    }

    /// Takes the head, which comes whole and ends with an empty line. Returns its length.
    private func takeHead(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        while let end = Scan.firstIndex(of: ASCII.carriageReturn, in: bytes, from: at), end > at { at = end + 2 }
        requestHead.append(bytes.extracting(0..<at))
        isHeadWritten = true
        connection.noteHead(of: self)
        return at + 2
    }

    /// Sends the head, if nothing has.
    func sendHead(hasContent: Bool) {
        guard isHeadWritten, stream == nil, !isRefused, exchange != nil else { return }
        endReservation()
        stream = connection.begin(requestHead.span, hasContent: hasContent, of: self)
        requestHead.removeAll()
        guard stream == nil else { return }
        // The exchange is in the middle of something.
        isRefused = true
        pool.loop.afterTick(self)
    }

    override func requestEnded() {
        guard let exchange else { return }
        var trailers = OutputBuffer()
        exchange.appendRequestTrailers(to: &trailers)
        sendHead(hasContent: !trailers.isEmpty)
        stream?.end(trailers: &trailers)
        isRequestEnded = true
        connection.schedule()
    }

    func drained(_ stream: HTTP2Stream) {
        guard let exchange else { return }
        // Once the request is sent, or the response has begun, the timer stands for the response, and goes on.
        if phase == .done || phase == .head && exchange.machine.request != .sent { timer?.cancel() }
        exchange.upstreamDrained()
    }

    // MARK: The response

    override var trailers: TrailerLines { responseTrailers }

    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {
        guard let exchange else { return }
        touch()
        isAnswered = true
        swap(&self.head, &head)
        if self.head.status < 200 { return exchange.interim(self.head) }
        var framing: BodyFraming
        do throws(WireError) {
            framing = try Framing.response(self.head, toHead: exchange.request.methodKind == .head)
        } catch {
            return giveUp(stream, .wire(error))
        }
        // The stream's end says it where no field does; to a client of HTTP/1 a field must.
        if isComplete, framing == .untilClose {
            framing = exchange.request.capabilities.contains(.framedEnds) ? .none : .length(0)
        }
        endsWithHead = framing == .none || self.head.status == 205
        phase = .body
        takenBefore = stream.taken
        pool.tally.count(status: self.head.status, after: pool.loop.now &- begunAt)
        pool.noteResponse(self.head.status, from: endpoint)
        exchange.respond(self.head, framing: framing)
    }

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        guard let exchange, phase == .body else { return content.count }
        // nghttp2 sees to it where the request was HEAD, or the status 204 or 304, and where a length was told. To a 205 content may
        // come that it mustn't have (RFC 9110 §15.3.6), and which the client's framing has no place for.
        guard !endsWithHead else {
            giveUp(stream, .malformed)
            return content.count
        }
        touch()
        var count = content.count
        if let throttle = exchange.responseThrottle {
            count = throttle.take(count)
            if count < content.count { isBlocked = true }
        }
        if count > 0, !exchange.respond(content.extracting(0..<count)) { isBlocked = true }
        if isBlocked, self.exchange != nil { stream.pause() }
        return count
    }

    /// What waits while the client takes no more counts as the exchange's.
    func held(_ count: Int, on stream: HTTP2Stream) { exchange?.responseHeld(count) }

    func contentEnded(_ stream: HTTP2Stream) {
        guard let exchange, phase == .body else { return }
        phase = .done
        timer?.cancel()
        responseTrailers = stream.trailers
        exchange.responseEnded(reusable: true)
    }

    /// Has `settle` called when all that was read has been looked at.
    private func touch() {
        guard !isTouched else { return }
        isTouched = true
        connection.noteTouched(self)
    }

    /// All that was read has been looked at: the client gets what has come.
    func settle() {
        isTouched = false
        guard phase == .body, let exchange else { return }
        exchange.settleResponse()
        guard phase == .body else { return }
        if isBlocked { timer?.cancel() } else { arm(gap) }
    }

    override func resume() {
        guard isBlocked else { return }
        isBlocked = false
        if phase == .body { arm(gap) }
        guard !awaitsTick else { return }
        awaitsTick = true
        pool.loop.afterTick(self)
    }

    func tickEnded() {
        awaitsTick = false
        if isRefused { return fail(.refusedStream, of: nil, nil) }
        guard !isBlocked, let stream else { return }
        stream.resume()
        // The window that is free again is to be told: the server may be waiting for nothing else.
        connection.schedule()
        settle()
    }

    // MARK: Failures

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        guard let exchange, stream === self.stream else { return }
        // All was said on both sides. Where the response was there before the request's end had gone out, that is what is waited for.
        if phase == .done, code == .noError {
            self.stream = nil
            return exchange.upstreamDrained()
        }
        // What ends the connection is no fault of an answer to a request of which the server has seen nothing, or which it left out.
        guard code != .refusedStream else { return fail(code, of: stream, nil) }
        fail(code, of: stream, stream.isMalformed ? .malformed : connection.fault.map { .connection($0) })
    }

    /// The response has a fault that nghttp2 doesn't see.
    private func giveUp(_ stream: HTTP2Stream, _ fault: ResponseFault) {
        stream.handler = nil
        stream.reset(.protocolError)
        misread(fault)
    }

    func misread(_ error: WireError, on stream: HTTP2Stream) {
        if let name = connection.session.faultyField { return misread(.field(error, name)) }
        misread(.wire(error))
    }

    private func misread(_ fault: ResponseFault) {
        if endBehindHead() { return }
        let (phase, exchange) = (phase, exchange)
        letGo()
        if phase == .head {
            pool.tally.malformed &+= 1
            if case .connection = fault { connection.noteFault() } else { pool.noteFailure(of: endpoint, .malformed) }
        } else if phase == .body {
            pool.tally.count(cut: .malformed)
        }
        exchange?.upstreamMisread(fault)
    }

    /// The stream is over before the response was whole, or before the request had gone out; `fault`: because of what the server sent.
    private func fail(_ code: HTTP2ErrorCode, of stream: HTTP2Stream?, _ fault: ResponseFault?) {
        if let fault, phase != .done { return misread(fault) }
        if endBehindHead() { return }
        let (phase, exchange) = (phase, exchange)
        letGo()
        guard let exchange else { return }
        // The server's own word for it.
        let told = (stream?.codeAsTold ?? code).name
        guard phase == .head else {
            if phase == .body {
                pool.tally.count(cut: .closed)
                exchange.noteAnswered(.reset)
            }
            return connection.isOver ? exchange.upstreamFailed() : exchange.upstreamGaveUp(.upstreamReset(told))
        }
        let refusal = isAnswered ? nil : connection.alert.map { UpstreamFailure.insecure($0.word) }
        if let refusal { pool.tally.count(refusal) } else { pool.tally.closed &+= 1 }
        let cause: RetryCause
        if code == .refusedStream {
            // It says nothing of the server but that it has enough, or is about to go.
            cause = connection.session.hasLeftOut(stream) ? .leftOut : .refused
        } else if connection.isOver, !isFirst, !isAnswered {
            // As of HTTP/1's: the end of a connection that has served others says nothing of the server.
            cause = .staleConnection
        } else {
            cause = .reset
            pool.noteFailure(of: endpoint, connection.alert.map { EndpointFailure.tls($0) } ?? .closed)
        }
        if isAnswered { exchange.noteAnswered(cause) } else if exchange.sendAgain(cause, avoiding: endpoint) { return }
        if cause.isUntouched {
            exchange.upstreamGaveUp(.upstreamRefused)
        } else if let refusal {
            exchange.upstreamGaveUp(.upstream(refusal))
        } else if connection.isOver {
            exchange.upstreamFailed()
        } else {
            exchange.upstreamGaveUp(.upstreamReset(told))
        }
    }

    /// Ends a response that was whole with its head where its stream fails, or stays open. To a client of HTTP/1 it has been whole since
    /// then, and its next request may be on its way: as of an upstream of HTTP/1 that sends more than it may, only what comes behind is
    /// lost. Returns false where the response wasn't whole.
    private func endBehindHead() -> Bool {
        guard phase == .body, endsWithHead, let exchange else { return false }
        phase = .done
        timer?.cancel()
        exchange.responseEnded(reusable: false)
        return true
    }

    // MARK: Time

    override func expectResponse(within time: UInt64) {
        takenBefore = .max
        if phase == .head { arm(time) }
    }

    override func expectProgress() {
        guard phase == .head || phase == .done else { return }
        takenBefore = stream?.taken ?? 0
        arm(gap)
    }

    override func expectNothing() {
        if phase == .head { timer?.cancel() }
    }

    private func arm(_ nanoseconds: UInt64) {
        let timer = self.timer ?? Timer(loop: pool.loop) { [unowned self] in timedOut() }
        self.timer = timer
        timer.set(after: nanoseconds)
    }

    private func timedOut() {
        guard let exchange else { return }
        if phase == .body {
            // Behind its response's head it may take the request first.
            if let stream, stream.taken > takenBefore {
                takenBefore = stream.taken
                return arm(gap)
            }
            guard endsWithHead, let stream else {
                pool.tally.count(cut: .timeout)
                exchange.noteAnswered(.timeout)
                return exchange.upstreamTimedOut(.upstreamGap)
            }
            stream.handler = nil
            stream.reset(.cancel)
            connection.schedule()
            _ = endBehindHead()
            return
        }
        // All that was awaited so far is a 100, which is advice.
        if exchange.machine.expectation == .asked { return exchange.continueRelayed() }
        let taken = stream?.taken ?? 0
        if takenBefore != .max, taken > takenBefore {
            takenBefore = taken
            return arm(gap)
        }
        connection.noteTimeout(since: begunAt, sending: takenBefore != .max)
        pool.timeOut(
            exchange, at: endpoint, awaitsHead: phase == .head, isAnswered: isAnswered, isSending: takenBefore != .max)
    }
}
