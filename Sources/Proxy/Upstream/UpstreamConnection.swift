internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// One connection to an upstream: sends what its exchange writes, reads the response, and may serve another one after.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a connection, and what the parser and the decoder do calls nothing of ours,
/// and all else is read and replaced as a whole.
final class UpstreamConnection: UpstreamSide, StreamHandler {
    private enum Phase {
        /// In the pool. → head, closed
        case idle
        /// The response's head is awaited. → body, switched, closed
        case head
        /// → done, closed
        case body
        /// The upstream has left HTTP; its stream is a tunnel's, which closes it. → closed
        case switched
        /// The response is whole; the exchange decides when its request is, too. → idle, closed
        case done
        case closed
    }

    private let pool: UpstreamPool
    let endpoint: Endpoint
    let stream: Stream
    private let timer: Timer
    private let tally: UpstreamTally
    @safe @exclusivity(unchecked) private var exchange: Exchange?
    @safe @exclusivity(unchecked) private var phase = Phase.idle
    @safe @exclusivity(unchecked) private var parser: ResponseParser
    @safe @exclusivity(unchecked) private var decoder: BodyDecoder
    /// The nanosecond in which it was given its request.
    @safe @exclusivity(unchecked) private var begunAt: UInt64 = 0
    @safe @exclusivity(unchecked) private var isBlocked = false
    @safe @exclusivity(unchecked) private var mayReuse = true
    /// Whether some of the request may lie unread behind an error. A server of Node whose parser gave up in the middle leaves the rest
    /// in the system's buffers, and closes seconds later: the next request would lie behind it, and nobody can tell from here what was
    /// read. This one goes on.
    @safe @exclusivity(unchecked) private var mayBeUnread = false
    /// Whether only the end of the connection ends the body.
    @safe @exclusivity(unchecked) private var isUntilClose = false
    /// Whether bytes came since the request began.
    @safe @exclusivity(unchecked) private var isAnswered = false
    /// Requests that it has carried, the present one included.
    @safe @exclusivity(unchecked) private var requests = 0
    private let life: (until: UInt64, requests: Int)
    @safe @exclusivity(unchecked) private var gap: UInt64 = 0
    /// What the upstream had taken of the request when it was last looked at; `.max` while it isn't waited for.
    @safe @exclusivity(unchecked) private var takenBefore = UInt64.max
    /// When the connection was given back, by the loop's clock.
    @safe @exclusivity(unchecked) private var idleSince: UInt64 = 0

    /// For how long the loop's own knowledge of an idle connection will do, 10 ms: under load connections rest for less, and
    /// without load the system call costs nothing.
    static let freshTime: UInt64 = 10_000_000
    /// Content that a server which reads it has in its hands as a rule, 64 KiB: what Node reads at once.
    static let readAtOnce = 64 * 1024

    init(_ connection: ReadyConnection, pool: UpstreamPool) {
        self.pool = pool
        self.endpoint = connection.endpoint
        self.life = pool.lifeOfConnection()
        self.parser = ResponseParser(limits: pool.wireLimits)
        self.decoder = BodyDecoder(framing: .none, limits: pool.wireLimits, isResponse: true)
        self.tally = pool.tally
        stream = connection.makeStream(loop: pool.loop)
        timer = Timer(loop: pool.loop)
        super.init(to: connection.endpoint, over: stream)
        stream.handler = self
        timer.action = { [unowned self] in timedOut() }
    }

    // MARK: Life

    /// Serves `exchange` from here on.
    override func begin(_ exchange: Exchange) {
        self.exchange = exchange
        phase = .head
        isAnswered = false
        requests += 1
        isReused = requests > 1
        begunAt = pool.loop.now
        pool.began(on: endpoint)
        isBlocked = false
        mayReuse = true
        mayBeUnread = false
        gap = exchange.times.gap
        takenBefore = .max
        timer.cancel()
    }

    /// The request is sent: the response must begin within `time` nanoseconds.
    override func expectResponse(within time: UInt64) {
        takenBefore = .max
        if phase == .head { timer.set(after: time) }
    }

    /// The upstream doesn't take the request as fast as it comes: it must take some within the time between two reads.
    override func expectProgress() {
        guard phase == .head || phase == .done else { return }
        takenBefore = stream.bytesTaken
        timer.set(after: gap)
    }

    /// The upstream need not say anything for now.
    override func expectNothing() {
        if phase == .head { timer.cancel() }
    }

    /// What the exchange did leaves the connection in an unknown state.
    override func refuseReuse() { mayReuse = false }

    /// The trailer fields of the response, once it is whole.
    override var trailers: TrailerLines { decoder.trailers }

    /// The exchange lets go. `reusable`: it is over and left the connection clean.
    override func release(reusable: Bool) {
        exchange = nil
        guard phase != .closed else { return }
        if reusable, phase == .done, mayReuse, !mayBeUnread, stream.queued == 0, requests < life.requests,
            pool.loop.now < life.until
        {
            phase = .idle
            pool.ended(on: endpoint)
            parser.reset()
            head.removeAll()
            head.shrink(to: Exchange.keptCapacity)
            pool.put(self)
        } else {
            close()
        }
    }

    /// Whether an idle connection can serve a request: nothing may have arrived on it, neither bytes that would pass for
    /// the answer nor the end.
    ///
    /// The loop has looked at all idle connections in its last wait, and knows what had come by then. What has come since,
    /// the system has to be asked for. A connection that was given back less than `freshTime` ago isn't worth that call: no
    /// server finds it idle for too long so soon, and one that closes right after its response does so as likely a moment
    /// after the call as in the part of this tick that is over. It is worth it where the address is known for that.
    var isUsable: Bool {
        pool.loop.now &- idleSince < Self.freshTime && !endpoint.reuse.isSuspect && stream.wasQuiet || stream.isQuiet
    }

    func becomeIdle(for time: UInt64) {
        idleSince = pool.loop.now
        timer.set(after: time)
        if !stream.isReading { stream.resumeReading() }
    }

    /// Whether it has been idle for longer than it may, as servers and what lies between count: our timer stands still with the process.
    var isOverdue: Bool { phase == .idle && pool.loop.now &- idleSince > pool.idleTime }

    func close() {
        guard phase != .closed else { return }
        if phase != .idle { pool.ended(on: endpoint) }
        phase = .closed
        timer.cancel()
        stream.close()
        pool.closed(endpoint)
    }

    /// The client has room again.
    override func resume() {
        guard isBlocked else { return }
        isBlocked = false
        if stream.isEnded, stream.pendingCount == 0 { return ended(stream) }
        timer.set(after: gap)
        stream.resumeReading()
    }

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        if phase == .idle {
            // Bytes that no request asked for: whatever they are, they must not become the next request's answer.
            pool.remove(self)
            close()
            return bytes.count
        }
        if phase == .done {
            // As above, but the request is still on its way and may reach its end.
            mayReuse = false
            return bytes.count
        }
        isAnswered = true
        var at = 0
        do throws(ResponseFault) {
            while phase == .head || phase == .body, !isBlocked {
                let rest = bytes.extracting(at..<bytes.count)
                if phase == .head {
                    guard !rest.isEmpty, let used = try parseHead(rest) else { return at }
                    at += used
                    try headReceived(head, for: exchange)
                    continue
                }
                let step = try nextStep(rest)
                at += step.skipped
                if step.available > 0 {
                    var count = step.available
                    if let exchange {
                        if let throttle = exchange.responseThrottle {
                            count = throttle.take(count)
                            if count < step.available { isBlocked = true }
                            if count == 0 { break }
                        }
                        if !exchange.respond(rest.extracting(step.skipped..<step.skipped + count)) { isBlocked = true }
                    }
                    decoder.took(count)
                    at += count
                    // Also when the client can't take more: no byte follows that would bring us here again.
                    if decoder.isComplete, phase == .body {
                        return responseEnded(leaving: bytes.count - at, of: bytes.count)
                    }
                } else if step.isEnd {
                    return responseEnded(leaving: bytes.count - at, of: bytes.count)
                } else {
                    break
                }
            }
        } catch {
            misread(error)
            return bytes.count
        }
        if phase == .switched {
            // The place in the pool stays taken until the tunnel closes the connection.
            timer.cancel()
            noteResponse(head.status)
            let exchange = exchange
            self.exchange = nil
            exchange?.switched(head, self, bytes.extracting(at..<bytes.count))
            return bytes.count
        }
        if phase == .body { exchange?.settleResponse() }
        if isBlocked {
            timer.cancel()
            stream.pauseReading()
        } else if phase == .body {
            timer.set(after: gap)
            // The FIN was read while bytes before it waited here: now they are read, too.
            if stream.isEnded, at == bytes.count { ended(stream) }
        }
        return at
    }

    private func parseHead(_ bytes: Span<UInt8>) throws(ResponseFault) -> Int? {
        do throws(WireError) {
            return try parser.parse(bytes, into: &head)
        } catch {
            if let name = error.fieldName(in: bytes) { throw .field(error, name) }
            throw .wire(requests == 1 ? error.explained(by: bytes) : error)
        }
    }

    private func nextStep(_ bytes: Span<UInt8>) throws(ResponseFault) -> BodyDecoder.Step {
        do throws(WireError) {
            return try decoder.next(bytes)
        } catch {
            throw .wire(error)
        }
    }

    private func headReceived(_ head: borrowing MessageHead, for exchange: Exchange?) throws(ResponseFault) {
        let status = head.status
        if status < 200 {
            if status == 101 {
                // The upstream may switch to a protocol that was offered, and to no other.
                guard let exchange, exchange.acceptsSwitch(head) else {
                    throw exchange?.offeredUpgrades.isEmpty == false ? .otherUpgrade : .unexpectedUpgrade
                }
                phase = .switched
                return
            }
            exchange?.interim(head)
            return
        }
        let framing = try readFraming(of: head, toHead: exchange?.request.methodKind == .head)
        if let exchange {
            if exchange.passesResponseTrailers { decoder.keepsTrailers = true }
            // An upstream that was offered another protocol may have begun to speak it.
            if !exchange.offeredUpgrades.isEmpty { mayReuse = false }
            if status >= 400, exchange.record.bytesOut > Self.readAtOnce { mayBeUnread = true }
        }
        phase = .body
        // To ask what it has taken is a system call.
        takenBefore = exchange == nil || exchange?.machine.request == .sent ? .max : stream.bytesTaken
        noteResponse(status)
        if isReused { endpoint.reuse.noteAnswer() }
        exchange?.respond(head, framing: framing)
    }

    /// Begins with the content behind `head`, and takes from it whether another response may follow.
    private func readFraming(of head: borrowing MessageHead, toHead: Bool) throws(ResponseFault) -> BodyFraming {
        let framing: BodyFraming
        do throws(WireError) {
            framing = try Framing.response(head, toHead: toHead)
        } catch {
            throw .wire(error)
        }
        decoder.begin(framing)
        isUntilClose = framing == .untilClose
        // What frames the content that a 204 or a 205 mustn't have may still come, and would pass for the next answer.
        if head.status == 205, !Framing.declaresEmpty(head) { mayReuse = false }
        if head.status == 204, Framing.declaresFraming(head), !Framing.declaresEmpty(head) { mayReuse = false }
        mayReuse = mayReuse && head.isKeepAlive && !isUntilClose
        return framing
    }

    /// A final response has come, or the upstream switches protocols.
    private func noteResponse(_ status: Int) {
        tally.count(status: status, after: pool.loop.now &- begunAt)
        pool.noteResponse(status, from: endpoint)
    }

    private func responseEnded(leaving extra: Int, of count: Int) -> Int {
        phase = .done
        timer.cancel()
        // More bytes than the response has: the connection's state is unknown from here on.
        exchange?.responseEnded(reusable: extra == 0 && mayReuse)
        return count
    }

    func ended(_ stream: Stream) {
        switch phase {
        case .idle: idleEnded()
        case .switched, .closed: break
        case .head, .done: fail()
        case .body where isBlocked && stream.pendingCount > 0: break
        case .body:
            // Without close_notify anybody on the way may have cut it (RFC 8446 §6.1).
            if isUntilClose, stream.isTruncated { return fail() }
            do throws(WireError) {
                try decoder.endOfInput()
            } catch {
                return fail()
            }
            mayReuse = false
            _ = responseEnded(leaving: 0, of: 0)
        }
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        if phase == .idle { idleEnded() } else { fail() }
    }

    /// The upstream closed while the connection was idle. A server that does so at once has closed for its answer, which it
    /// should have said there.
    private func idleEnded() {
        pool.remove(self)
        close()
        if let alert = stream.tlsAlert { pool.noteAlert(alert, of: endpoint, isFirst: requests == 0) }
        if requests > 0, pool.loop.now &- idleSince < ReuseHistory.soon {
            pool.noteUnannouncedEnd(of: endpoint, begun: begunAt)
        }
    }

    func drained(_ stream: Stream) {
        guard let exchange else { return }
        // Once the request is sent, or the response has begun, the timer stands for the response, and goes on.
        if phase == .done || phase == .head && exchange.machine.request != .sent { timer.cancel() }
        exchange.upstreamDrained()
    }

    private func fail() {
        let (phase, exchange) = (phase, exchange)
        self.exchange = nil
        close()
        // A server of TLS 1.3 that refuses our certificate says so when the request is on its way.
        let alert = stream.tlsAlert
        guard let exchange else { return }
        if phase == .head {
            // The end of a connection that has served others says nothing of the server: it may have been idle too long.
            if !isReused || isAnswered {
                pool.noteFailure(of: endpoint, alert.map { EndpointFailure.tls($0) } ?? .closed)
            } else {
                pool.noteUnannouncedEnd(of: endpoint, begun: begunAt)
            }
        }
        if let alert { pool.noteAlert(alert, of: endpoint, isFirst: !isReused && !isAnswered) }
        let refusal = isAnswered ? nil : alert.map { UpstreamFailure.insecure($0.word) }
        if phase == .head {
            if let refusal { tally.count(refusal) } else { tally.closed &+= 1 }
            if !isAnswered, exchange.sendAgain(isReused ? .staleConnection : .reset, avoiding: endpoint) { return }
        } else if phase == .body {
            tally.count(cut: .closed)
        }
        if isAnswered, phase != .done { exchange.noteAnswered(.reset) }
        if let refusal { exchange.upstreamGaveUp(.upstream(refusal)) } else { exchange.upstreamFailed() }
    }

    private func misread(_ fault: ResponseFault) {
        let exchange = exchange
        if phase == .head {
            tally.malformed &+= 1
            pool.noteFailure(of: endpoint, .malformed)
        } else {
            tally.count(cut: .malformed)
        }
        exchange?.upstreamMisread(fault)
        self.exchange = nil
        close()
    }

    private func timedOut() {
        if phase == .idle {
            pool.remove(self)
            close()
        } else {
            guard let exchange else { return }
            if phase == .body {
                // Behind its response's head it may take the request first.
                guard takenBefore != .max, stream.bytesTaken > takenBefore else {
                    tally.count(cut: .timeout)
                    exchange.noteAnswered(.timeout)
                    return exchange.upstreamTimedOut(.upstreamGap)
                }
                takenBefore = stream.bytesTaken
                return timer.set(after: gap)
            }
            // All that was awaited so far is a 100, which is advice.
            if exchange.machine.expectation == .asked { return exchange.continueRelayed() }
            if takenBefore != .max {
                // It may have taken bytes from the system's buffer here, too few to be told that there is room.
                let taken = stream.bytesTaken
                if taken > takenBefore {
                    takenBefore = taken
                    return timer.set(after: gap)
                }
            }
            pool.timeOut(
                exchange, at: endpoint, awaitsHead: phase == .head, isAnswered: isAnswered,
                isSending: takenBefore != .max)
        }
    }
}
