internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// One client connection of HTTP/1: reads heads, hands bodies to the exchange, keeps the phase timers, closes with care. How it
/// writes responses is in `DownstreamConnection+Response.swift`.
///
/// While it is idle it owns nothing but its stream and its timer.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a connection, and what writes into `output`, and what asks `pace`, calls nothing
/// that comes back to it (docs/decisions/0007).
///
/// A client that turns out to speak HTTP/2 is handed over to an `HTTP2Connection`: with TLS by ALPN, without it by its preface.
final class DownstreamConnection: StreamHandler, ClientConnection {
    private enum Phase {
        /// Between requests, nothing received. → head, handedOver, closed
        case idle
        /// Part of a head has arrived. → exchange, lingering, handedOver, closed
        case head
        /// A request is being served. → idle, tunnel, lingering, closed
        case exchange
        /// The connection has left HTTP; its bytes go to a `Tunnel`. → closed
        case tunnel
        /// Our last answer is out; what still comes is thrown away so that the answer isn't lost to a reset. → closed
        case lingering
        /// The stream is an `HTTP2Connection`'s.
        case handedOver
        case closed
    }

    /// What the timer means when it fires.
    enum Wait {
        case nothing, handshake, request, head, body, write, linger, halfClosed
    }

    /// Held strongly, because counting an unowned reference costs more; the worker lets go of them all when it ends.
    let worker: Worker
    let peer: SocketAddress
    /// Where the connection was accepted.
    let listener: ListenerInfo
    /// Whether the client's connection is secured.
    var isSecure: Bool { stream.isSecured }
    let stream: Stream
    private let timer: Timer
    private(set) var exchange: Exchange?
    /// There is one as long as there is an exchange.
    private(set) var reader: RequestReader?
    /// The framing of the response's content.
    @safe @exclusivity(unchecked) var encoder = BodyEncoder(framing: .none)
    /// The response's head and what frames its content, until the next content takes them along; in memory that the reader lends.
    @safe @exclusivity(unchecked) var output = OutputBuffer()
    private var phase = Phase.idle
    private(set) var wait = Wait.nothing
    private var lingered = 0
    /// Whether what has come may be the beginning of HTTP/2's preface.
    private var mayBeHTTP2 = false
    /// What the last answer, not read yet, holds of the worker's memory.
    private var charge = MemoryCharge(.response)
    /// What the TLS handshake agreed on; nil before its end, and without TLS.
    private(set) var tlsFacts: TLSFacts?
    /// The place in the worker's list.
    var listIndex = 0
    /// Whom the connection counts for, where connections of one client are counted.
    var client: ClientKey?

    private let openedAt: UInt64
    /// When the phase began, for idle connections and heads.
    private var since: UInt64
    /// By when the head that comes must be whole, as `activeNow` counts: what the process stood still for is nobody's slowness.
    private var headEnd: UInt64 = 0
    /// Requests whose heads were read.
    private var requests = 0
    /// How the request's body comes, or how the client takes what waits for it, as `wait` says.
    @safe @exclusivity(unchecked) var pace = ClientPace()

    /// Requests that one delivery of bytes may begin. What one read holds may be thousands, and other connections wait.
    private static let requestsPerDelivery = 64
    /// Time for the first byte of the answer to a client that has ended its side.
    private static let halfClosedTime: UInt64 = 30_000_000_000

    /// - Parameter tls: what the connection begins TLS with; nil: it speaks without.
    init(_ descriptor: Int32, peer: SocketAddress, listener: ListenerInfo, tls: TLSServerContext?, worker: Worker) {
        self.worker = worker
        self.peer = peer
        openedAt = worker.loop.now
        since = openedAt
        self.listener = listener
        stream = Stream(loop: worker.loop, descriptor: descriptor, isAccepted: true, tls: tls.map(TLSRole.server))
        timer = Timer(loop: worker.loop)
        stream.handler = self
        timer.action = { [unowned self] in timedOut() }
        if tls == nil { expectFirstHead() } else { arm(.handshake, worker.clientTimes.handshake) }
    }

    /// A connection that never sends a byte is held to the time for a head, not to the longer one between requests.
    private func expectFirstHead() {
        arm(.head, worker.isClosingIdle ? worker.drainIdleTime : worker.clientTimes.head)
    }

    // MARK: TLS

    func secured(_ stream: Stream) {
        let facts = stream.tlsFacts
        tlsFacts = facts
        worker.counters.tls.succeeded(.client, isResumed: facts?.isResumed == true)
        // A client that names no protocol may begin with the preface all the same.
        if facts?.isHTTP2 == true { handOver() } else { expectFirstHead() }
    }

    /// The client reads why its handshake was refused, as it reads any other last answer (docs/rules.md F16).
    func refused(_ stream: Stream) -> Bool {
        if let error = stream.tlsError { noteHandshake(error) }
        linger()
        return true
    }

    /// Counts and tells of a handshake that came to nothing.
    private func noteHandshake(_ error: TLSError) {
        worker.counters.tls.failed(.client, error)
        listener.tell(error, peer: peer, now: worker.loop.now)
    }

    /// Whether it waits for a request, of which nothing has come.
    var isIdle: Bool { phase == .idle }

    // MARK: HTTP/2

    private func handOver() {
        phase = .handedOver
        disarm()
        if let exchange { recycle(exchange) }
        let connection = HTTP2Connection(
            stream, peer: peer, listener: listener, tlsFacts: tlsFacts, worker: worker, openedAt: openedAt)
        stream.handler = connection
        worker.replace(self, by: connection)
        stream.resumeReading()
    }

    /// Looks at how the client begins. Returns whether its bytes are HTTP/1's.
    private func beginsHTTP1(_ bytes: Span<UInt8>) -> Bool {
        let versions = listener.settings.versions
        guard !versions.contains(.http1) || bytes[0] == UInt8(ascii: "P"), versions.contains(.http2) else {
            return true
        }
        // Over TLS both sides have agreed on what is spoken (RFC 9113 §3.2): where that is HTTP/1, the preface is a version that isn't.
        if tlsFacts?.isHTTP1 == true { return true }
        switch Preface.look(at: bytes) {
        case .http2:
            mayBeHTTP2 = false
            handOver()
        case .http1 where versions.contains(.http1) || isOtherProtocol(bytes):
            mayBeHTTP2 = false
            return true
        case .http1:
            mayBeHTTP2 = false
            if let exchange { recycle(exchange) }
            stream.write(Self.http2Only.span)
            linger()
        case .undecided:
            // Either way it is the beginning of a head, which must come to its end in time.
            mayBeHTTP2 = true
            if exchange == nil { takeExchange() }
            if let exchange { beginHead(exchange) }
        }
        return false
    }

    /// Whether the parser of HTTP/1 refuses the bytes for what they are.
    private func isOtherProtocol(_ bytes: Span<UInt8>) -> Bool {
        let spoken = SpokenProtocol.look(at: bytes)
        return spoken == .tls || spoken == .proxyHeader
    }

    /// For a client that speaks HTTP/1 where only HTTP/2 is spoken.
    private static let http2Only = Array(
        """
        HTTP/1.1 505 HTTP Version Not Supported\r
        Content-Type: text/plain\r
        Content-Length: 33\r
        Cache-Control: no-store\r
        Connection: close\r
        \r
        This address speaks HTTP/2 only.\n
        """.utf8)

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        var begun = 0
        while at < bytes.count {
            let rest = bytes.extracting(at..<bytes.count)
            switch phase {
            case .idle where stream.isAboveHighWatermark:
                // Answers wait that the client doesn't read: it gets no further ones before it has.
                stream.pauseReading()
                return at
            case .idle where requests == 0 && !beginsHTTP1(rest), .head where mayBeHTTP2 && !beginsHTTP1(rest):
                return phase == .lingering ? bytes.count : at
            case .idle, .head:
                guard begun < Self.requestsPerDelivery else {
                    // The others first: the rest comes again in a later tick.
                    stream.resumeReading()
                    return at
                }
                guard let used = parseHead(rest) else { return at }
                begun += 1
                at += used
            case .exchange:
                guard let exchange, exchange.machine.takesContent else {
                    // The next request waits its turn, and no third one is read before that (docs/rules.md R38).
                    stream.pauseReading()
                    return at
                }
                let used = readContent(rest, for: exchange)
                at += used
                // Nothing taken means that the body waits for the upstream, or is complete and a next request follows.
                if used == 0, phase == .exchange { return at }
            case .lingering:
                lingered += rest.count
                if lingered > Linger.bytes { endReading() }
                return bytes.count
            case .tunnel, .handedOver, .closed:
                return bytes.count
            }
        }
        exchange?.settle()
        // The FIN was read while bytes before it waited here: now they are read, too.
        if stream.isEnded, at == bytes.count { ended(stream) }
        return at
    }

    /// A whole request is being served: what may come is the next one, or the client's end.
    func awaitsBytes(_ stream: Stream) -> Bool {
        guard phase == .exchange, let exchange else { return true }
        return !exchange.machine.isRequestRead
    }

    private func beginHead(_ exchange: Exchange) {
        guard phase == .idle else { return }
        phase = .head
        let now = worker.loop.now
        since = now
        exchange.record.headStartedAt = now
        headEnd = worker.loop.activeNow &+ worker.clientTimes.head
        arm(.head, worker.clientTimes.head)
        reader?.parser.rules = worker.current.requestRules
    }

    /// Parses one head and starts its exchange. Returns the bytes used, or nil when more are needed or all is over.
    private func parseHead(_ bytes: Span<UInt8>) -> Int? {
        if exchange == nil { takeExchange() }
        guard let exchange, let reader else { return nil }
        if phase == .idle { beginHead(exchange) }
        do throws(WireError) {
            guard let used = try reader.parser.parse(bytes, into: &exchange.request) else { return nil }
            phase = .exchange
            requests += 1
            pace.begin()
            disarm()
            reader.beginContent(exchange.request.framing)
            exchange.begin(on: self)
            return used
        } catch {
            phase = .exchange
            disarm()
            exchange.refuseHead(.wire(requests == 0 ? explained(error, bytes) : error), on: self)
            return bytes.count
        }
    }

    /// Why the first head can't be read, whose connection begins with `bytes`; tells the operator of a client that doesn't speak HTTP.
    private func explained(_ error: WireError, _ bytes: Span<UInt8>) -> WireError {
        let error = error.explained(by: bytes)
        if error.isOtherProtocol { listener.tell(error, peer: peer, now: worker.loop.now) }
        return error
    }

    /// Takes the bytes behind a head: finds the content among them and hands it to the exchange. Returns how many were used: fewer
    /// where the exchange takes no more for now, or where the content has ended before them.
    private func readContent(_ bytes: Span<UInt8>, for exchange: Exchange) -> Int {
        guard let reader else { return 0 }
        var at = 0
        exchange.contentArrived()
        while exchange.machine.takesContent {
            let step: BodyDecoder.Step
            do throws(WireError) {
                step = try reader.decoder.next(bytes.extracting(at..<bytes.count))
            } catch {
                let limit = reader.decoder.limits.body
                exchange.refuse(error.isBodyTooLarge ? .bodyTooLarge(limit) : .wire(error))
                return error.isBodyTooLarge ? at : bytes.count
            }
            at += step.skipped
            if step.available > 0 {
                let count = min(step.available, exchange.longestSlice)
                let isLast = reader.decoder.remaining == count
                let taken: Int
                do throws(Refusal) {
                    taken = try exchange.receive(bytes.extracting(at..<at + count), isLast: isLast)
                } catch {
                    // What was refused has been read; what is behind it may be thrown away.
                    reader.decoder.took(count)
                    exchange.refuse(error)
                    return at + count
                }
                reader.decoder.took(taken)
                at += taken
                if taken < count { break }
                // Also when these bytes had to wait: nothing follows that would bring us here again.
                if reader.decoder.isComplete, exchange.readsContent {
                    exchange.contentEnded()
                    return at
                }
            } else if step.isEnd {
                exchange.contentEnded()
                return at
            } else {
                break
            }
        }
        exchange.contentRead(leftover: bytes.count - at)
        return at
    }

    func limitContent(to count: Int) {
        guard let exchange else { return }
        reader?.limitContent(to: count, framing: exchange.request.framing)
    }

    func keepTrailers() { reader?.decoder.keepsTrailers = true }

    var contentLeft: Int? { reader?.decoder.remaining }

    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer) {
        reader?.decoder.trailers.write(named: names, into: &output)
    }

    private func takeExchange() {
        let reader = worker.takeReader()
        exchange = worker.takeExchange()
        self.reader = reader
        swap(&output, &reader.lentOutput)
    }

    /// Gives the exchange and the reader back, with their memory.
    private func recycle(_ exchange: Exchange) {
        self.exchange = nil
        worker.recycle(exchange)
        guard let reader else { return }
        self.reader = nil
        output.removeAll()
        swap(&output, &reader.lentOutput)
        worker.recycle(reader)
    }

    /// Whether the request that has begun is the last one here: as many were served as may be, or for as long.
    var isSpent: Bool {
        let (most, age) = (worker.current.admission.requests, worker.current.admission.age)
        return requests >= most || worker.loop.now &- openedAt > age
    }

    // MARK: Endings

    func exchangeEnded(_ end: ExchangeEnd) {
        guard let exchange, phase == .exchange else { return }
        recycle(exchange)
        if stream.queued >= MemoryCharge.step { charge.force(stream.queued, from: worker.memory) }
        disarm()
        // Also while draining, where the answer went out before and promised more: the next one says that it is the last.
        if end == .keepAlive {
            phase = .idle
            since = worker.loop.now
            return awaitRequest()
        }
        stream.flush()
        if end == .close, stream.queued == 0, stream.pendingCount == 0 {
            close()
        } else {
            linger()
        }
    }

    /// Half-closes and throws away what still arrives, within bounds, so that the answer reaches the client.
    private func linger() {
        phase = .lingering
        lingered = 0
        stream.flush()
        if stream.queued > 0 {
            // A slow client still gets what waits for it, as long as it takes some.
            stream.tellEmpty()
            expectDrain()
        } else {
            arm(.linger, Linger.time)
        }
        stream.shutdownWrite()
        stream.resumeReading()
    }

    /// Enough was thrown away. Closing now would reset a client that sends on, and those that meet an error as they write don't look
    /// for an answer any more: it is held back for a moment instead, in which it can do nothing else than read.
    private func endReading() {
        stream.pauseReading()
        // While something waits for the client it has the time in which it must take some.
        if wait == .linger { arm(.linger, Linger.lastTime) }
    }

    /// Ends a response that can't be finished: a slow client gets what waits of it first, as long as it takes some. So it does where it
    /// has sent, or still sends, what nobody reads any more: the kernel's reset would take from it what is on its way (docs/rules.md F16).
    func closeShort() {
        stream.flush()
        guard phase == .exchange, let exchange, stream.peerError == 0 else { return close() }
        let sendsMore = !stream.isEnded && (!exchange.machine.isRequestRead || !stream.wasQuiet)
        guard stream.queued > 0 || sendsMore else { return close() }
        self.exchange = nil
        exchange.abandon()
        recycle(exchange)
        if stream.queued >= MemoryCharge.step { charge.force(stream.queued, from: worker.memory) }
        disarm()
        linger()
    }

    /// Closes as soon as what waits is sent.
    private func closeWhenSent() {
        stream.flush()
        if stream.queued == 0 { close() } else if phase != .lingering { linger() }
    }

    /// Closes at once. With `reset` the client can't take what it has for complete.
    func close(reset: Bool = false) {
        guard phase != .closed else { return }
        phase = .closed
        disarm()
        if let exchange {
            self.exchange = nil
            exchange.abandon()
            recycle(exchange)
        }
        charge.end(worker.memory)
        if reset { stream.abort() } else { stream.close() }
        worker.remove(self)
    }

    func endByDrain() {
        if phase == .exchange || phase == .tunnel { exchange?.cutByDrain() }
        stream.flush()
        close(reset: stream.queued > 0 || endsByClose)
    }

    /// Whether nothing but the end of the connection would end the response that has begun.
    var endsByClose: Bool { exchange?.machine.isUntilClose == true }

    /// Waits for the next request. The time for it begins when the client has the answer.
    private func awaitRequest() {
        if stream.queued > 0 {
            stream.tellEmpty()
            expectDrain()
        } else {
            becomeIdle()
        }
        stream.resumeReading()
    }

    private func becomeIdle() {
        since = worker.loop.now
        arm(.request, worker.isClosingIdle ? worker.drainIdleTime : worker.keepAliveTime)
    }

    /// Both connections leave HTTP: what comes is no business of this one's any more.
    func leaveHTTP() {
        phase = .tunnel
        disarm()
    }

    /// The tunnel is over. `flag` says why, where something went wrong.
    func tunnelEnded(_ flag: EndReason?, reset: Bool) {
        guard phase == .tunnel else { return }
        exchange?.record.flag = flag
        stream.flush()
        close(reset: reset || stream.queued > 0)
    }

    /// For draining: closes a connection that serves no request, at once or when it has been idle for a short while.
    func closeIfIdle() {
        guard phase == .idle else { return }
        // One whose answer still waits becomes idle when it is out.
        stream.flush()
        guard stream.queued == 0 else { return backedUp(stream) }
        let passed = worker.loop.now &- since
        let rest = worker.drainIdleTime > passed ? worker.drainIdleTime - passed : 0
        if rest > 0 || !stream.isQuiet { arm(.request, rest) } else { close() }
    }

    func ended(_ stream: Stream) {
        switch phase {
        case .idle, .lingering: closeWhenSent()
        case .head, .tunnel, .handedOver, .closed: close()
        case .exchange:
            // A FIN after a whole request is no abort: the answer can still be read (docs/rules.md F17).
            if let exchange, exchange.machine.isRequestRead, exchange.answersHalfClosed {
                exchange.clientHalfClosed()
                // Whether it still wants the answer is not known, so that it isn't waited for without end.
                if exchange.machine.awaitsResponse, wait == .nothing { arm(.halfClosed, Self.halfClosedTime) }
            } else if exchange?.machine.isPaused != true || stream.pendingCount == 0 || endsByFIN {
                exchange?.clientGone()
                close()
            }
        }
    }

    /// Whether the client is taken to have left when it ends its side, however much of its request waits here.
    private var endsByFIN: Bool { phase == .exchange && exchange?.answersHalfClosed == false }

    /// The client may be gone while we don't read from it: a reset is the end; a FIN is told again when reading resumes, unless it is
    /// the end on this route.
    func peerGone(_ stream: Stream) {
        guard stream.peerError != 0 || endsByFIN else { return }
        if phase == .exchange { exchange?.clientGone() }
        close()
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        if phase == .exchange { exchange?.clientGone() }
        // Of a handshake that was refused all is told already.
        if tlsFacts == nil, phase != .lingering, let error = stream.tlsError { noteHandshake(error) }
        close()
    }

    // MARK: Writing

    func backedUp(_ stream: Stream) {
        // The answer that ended an exchange in this tick isn't out yet.
        guard phase == .idle else { return }
        stream.tellEmpty()
        expectDrain()
    }

    func drained(_ stream: Stream) {
        if wait == .write { disarm() }
        if charge.bytes > 0 { charge.force(stream.queued, from: worker.memory) }
        switch phase {
        case .exchange: exchange?.downstreamDrained()
        case .lingering:
            if stream.queued > 0 {
                stream.tellEmpty()
                expectDrain()
            } else if stream.isEnded {
                close()
            } else {
                arm(.linger, Linger.time)
            }
        case .idle: awaitRequest()
        case .head, .tunnel, .handedOver, .closed: break
        }
    }

    // MARK: Time

    func arm(_ wait: Wait, _ nanoseconds: UInt64) {
        self.wait = wait
        timer.set(after: nanoseconds)
    }

    func disarm() {
        guard wait != .nothing else { return }
        wait = .nothing
        timer.cancel()
    }

    /// Closes an idle connection, unless a request, or the end, has arrived that we haven't looked at yet.
    private func closeUnlessAsked(_ kind: AdmissionCounters.Timeout = .keepAlive) {
        guard stream.isQuiet else { return arm(.request, 0) }
        if !worker.isClosingIdle { worker.counters.admission.count(kind) }
        close()
    }

    private func timedOut() {
        let wait = self.wait
        self.wait = .nothing
        switch wait {
        case .nothing: break
        case .handshake:
            noteHandshake(TLSError(.handshakeTimeout))
            close()
        case .linger:
            worker.counters.admission.count(.linger)
            close()
        case .request: closeUnlessAsked()
        case .head:
            guard phase == .head, let exchange else { return closeUnlessAsked(.firstByte) }
            let now = worker.loop.activeNow
            guard headEnd <= now else { return arm(.head, headEnd - now) }
            worker.counters.admission.count(.head)
            phase = .exchange
            exchange.refuseHead(.headTimeout, on: self)
        case .body: lookAtBody()
        case .halfClosed:
            guard let exchange, exchange.machine.awaitsResponse else { return }
            exchange.clientGone()
            close()
        case .write: lookAtClient()
        }
    }

    // MARK: Making room

    func forEachExchange(_ body: (Exchange) -> Void) {
        if let exchange { body(exchange) }
    }

    var rest: ConnectionRest {
        switch phase {
        case .idle where requests == 0: .head(since: since)
        case .idle where !stream.holdsOutput: .idle(since: since)
        case .head: .head(since: since)
        case .idle, .exchange, .lingering, .tunnel, .handedOver, .closed: .none
        }
    }

    /// Gives the place of an idle connection to others, unless a request has just come on it, which closing would reset.
    /// Returns whether it did.
    func closeIfQuiet() -> Bool {
        guard stream.isQuiet else { return false }
        close()
        return true
    }

    /// Gives the place of a slow head to others: with an answer where part of it has come. Returns whether it did.
    func evictHead() -> Bool {
        guard phase == .head, let exchange else {
            guard wait == .handshake else { return closeIfQuiet() }
            close()
            return true
        }
        phase = .exchange
        disarm()
        exchange.refuseHead(.overloaded, on: self)
        return true
    }
}
