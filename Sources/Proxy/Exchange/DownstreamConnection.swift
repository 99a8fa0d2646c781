internal import EventLoop
internal import HTTPWire
internal import Octets

/// One client connection: reads heads, hands bodies to the exchange, keeps the phase timers, closes with care.
///
/// While it is idle it owns nothing but its stream and its timer.
final class DownstreamConnection: StreamHandler {
    private enum Phase {
        /// Between requests, nothing received. → head, closed
        case idle
        /// Part of a head has arrived. → exchange, lingering, closed
        case head
        /// A request is being served. → idle, lingering, closed
        case exchange
        /// Our last answer is out; what still comes is thrown away so that the answer isn't lost to a reset. → closed
        case lingering
        case closed
    }

    /// What the timer means when it fires.
    private enum Wait {
        case nothing, handshake, request, head, body, write, linger
    }

    /// Held strongly, because counting an unowned reference costs more; the worker lets go of them all when it ends.
    let worker: Worker
    let peer: SocketAddress
    private(set) var stream: Stream!
    private var timer: Timer!
    private var exchange: Exchange?
    private var phase = Phase.idle
    private var wait = Wait.nothing
    private var lingered = 0
    /// What the TLS handshake agreed on; nil before its end, and without TLS.
    private(set) var tlsFacts: TLSFacts?
    /// The place in the worker's list.
    var listIndex = 0

    /// Bytes thrown away at most before a connection with an unread request is closed (docs/rules.md F13). Clients send
    /// megabytes before they look for an answer, and a reset would take it from them; the time bounds the rest.
    private static let lingerBytes = 16 * 1024 * 1024
    /// Time for that: long enough for the client to read the answer, short enough not to be held.
    private static let lingerTime: UInt64 = 2_000_000_000

    /// - Parameter tls: what the connection begins TLS with; nil: it speaks without.
    init(_ descriptor: Int32, peer: SocketAddress, tls: TLSServerContext?, worker: Worker) {
        self.worker = worker
        self.peer = peer
        self.stream = Stream(
            loop: worker.loop, descriptor: descriptor, tls: tls.map(TLSRole.server), handler: self)
        self.timer = Timer(loop: worker.loop) { [unowned self] in timedOut() }
        // A connection that never sends a byte is held to the time for a head, not to the longer one between requests.
        if tls == nil {
            arm(.head, worker.clientTimes.head)
        } else {
            arm(.handshake, worker.clientTimes.handshake)
        }
    }

    // MARK: TLS

    func secured(_ stream: Stream) {
        let facts = stream.tlsFacts
        tlsFacts = facts
        worker.counters.tls.succeeded(.client, isResumed: facts?.isResumed == true)
        arm(.head, worker.clientTimes.head)
    }

    /// Counts and tells of a handshake that came to nothing.
    private func noteHandshake(_ error: TLSError) {
        worker.counters.tls.failed(.client, error)
        worker.handshakeFailures.tell(error, peer: peer, worker)
    }

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        while at < bytes.count {
            let rest = bytes.extracting(at..<bytes.count)
            switch phase {
            case .idle where stream.isAboveHighWatermark:
                // Answers wait that the client doesn't read: it gets no further ones before it has.
                stream.pauseReading()
                return at
            case .idle, .head:
                guard let used = parseHead(rest) else { return at }
                at += used
            case .exchange:
                guard let exchange, exchange.takesBody else {
                    // The next request waits its turn, and no third one is read before that (docs/rules.md R38).
                    stream.pauseReading()
                    return at
                }
                let used = exchange.receive(rest)
                at += used
                // Nothing taken means that the body waits for the upstream, or is complete and a next request follows.
                if used == 0, phase == .exchange { return at }
            case .lingering:
                lingered += rest.count
                if lingered > Self.lingerBytes { close() }
                return bytes.count
            case .closed:
                return bytes.count
            }
        }
        exchange?.settle()
        return at
    }

    /// Parses one head and starts its exchange. Returns the bytes used, or nil when more are needed or all is over.
    private func parseHead(_ bytes: Span<UInt8>) -> Int? {
        let exchange = self.exchange ?? worker.takeExchange()
        self.exchange = exchange
        if phase == .idle {
            phase = .head
            arm(.head, worker.clientTimes.head)
        }
        do throws(WireError) {
            guard let used = try exchange.parseHead(bytes) else { return nil }
            phase = .exchange
            disarm()
            exchange.begin(on: self)
            return used
        } catch {
            phase = .exchange
            disarm()
            exchange.refuseHead(.wire(error), on: self)
            return bytes.count
        }
    }

    /// Says that the exchange reads the body now: from here on the client must keep sending.
    ///
    /// A client that has an answer to read is held to that first: bytes that it sends are no sign that it reads.
    func expectBody(within time: UInt64) {
        if wait != .write { arm(.body, time) }
    }

    /// Says that no more of the request is expected for now: it is complete, or we hold it back ourselves.
    func expectNothing() {
        if wait == .body { disarm() }
    }

    /// Says that the answer is out and the rest of the request is thrown away: a client that doesn't send it is let go.
    func expectDiscard() { arm(.linger, Self.lingerTime) }

    // MARK: Endings

    /// The exchange is over. `keepAlive`: the request was read to its end and both sides may go on.
    func exchangeEnded(keepAlive: Bool, requestComplete: Bool) {
        guard let exchange, phase == .exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
        disarm()
        if keepAlive, !worker.isDraining {
            phase = .idle
            if stream.queued > 0 {
                // The time between requests begins when the client has the answer.
                stream.wantsEmpty = true
                expectDrain()
            } else {
                arm(.request, worker.clientTimes.keepAlive)
            }
            stream.resumeReading()
            return
        }
        if requestComplete, stream.queued == 0, stream.pendingCount == 0 {
            close()
        } else {
            linger()
        }
    }

    /// Half-closes and throws away what still arrives, within bounds, so that the answer reaches the client.
    private func linger() {
        phase = .lingering
        lingered = 0
        if stream.queued > 0 {
            // A slow client still gets what waits for it, as long as it takes some.
            stream.wantsEmpty = true
            expectDrain()
        } else {
            arm(.linger, Self.lingerTime)
        }
        stream.shutdownWrite()
        stream.resumeReading()
    }

    /// Closes as soon as what waits is sent.
    private func closeWhenSent() {
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
            worker.recycle(exchange)
        }
        if reset { stream.abort() } else { stream.close() }
        worker.remove(self)
    }

    /// For draining: closes a connection that serves no request.
    func closeIfIdle() {
        if phase == .idle { closeWhenSent() }
    }

    func ended(_ stream: Stream) {
        switch phase {
        case .idle, .lingering: closeWhenSent()
        case .head, .closed: close()
        case .exchange:
            // A FIN after a whole request is no abort: the answer can still be read (docs/rules.md F17).
            if exchange?.isRequestRead == true {
                exchange?.clientHalfClosed()
            } else {
                exchange?.clientGone()
                close()
            }
        }
    }

    /// The client may be gone while we don't read from it: a reset is the end; a FIN is told again when reading resumes.
    func peerGone(_ stream: Stream) {
        guard stream.peerError != 0 else { return }
        if phase == .exchange { exchange?.clientGone() }
        close()
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        if phase == .exchange { exchange?.clientGone() }
        if tlsFacts == nil, let error = stream.tlsError { noteHandshake(error) }
        close()
    }

    // MARK: Writing

    func drained(_ stream: Stream) {
        if wait == .write { disarm() }
        switch phase {
        case .exchange: exchange?.downstreamDrained()
        case .lingering:
            if stream.queued > 0 {
                stream.wantsEmpty = true
                expectDrain()
            } else if stream.isEnded {
                close()
            } else {
                arm(.linger, Self.lingerTime)
            }
        case .idle:
            if stream.queued > 0 {
                stream.wantsEmpty = true
                expectDrain()
            } else {
                arm(.request, worker.clientTimes.keepAlive)
            }
            stream.resumeReading()
        case .head, .closed: break
        }
    }

    /// Starts the time in which a client that takes no bytes must take some.
    func expectDrain() {
        if wait != .write { arm(.write, worker.clientTimes.write) }
    }

    // MARK: Time

    private func arm(_ wait: Wait, _ nanoseconds: UInt64) {
        self.wait = wait
        timer.set(after: nanoseconds)
    }

    private func disarm() {
        guard wait != .nothing else { return }
        wait = .nothing
        timer.cancel()
    }

    private func timedOut() {
        let wait = self.wait
        self.wait = .nothing
        switch wait {
        case .nothing: break
        case .request, .linger: close()
        case .handshake:
            noteHandshake(TLSError(.handshakeTimeout))
            close()
        case .head:
            guard phase == .head, let exchange else { return close() }
            phase = .exchange
            exchange.refuseHead(.headTimeout, on: self)
        case .body: exchange?.bodyTimedOut()
        case .write:
            exchange?.clientStalled()
            close(reset: true)
        }
    }
}
