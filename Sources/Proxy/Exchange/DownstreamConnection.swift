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
        case nothing, request, head, body, write, linger
    }

    unowned let worker: Worker
    let peer: SocketAddress
    private(set) var stream: Stream!
    private var timer: Timer!
    private var exchange: Exchange?
    private var phase = Phase.idle
    private var wait = Wait.nothing
    /// Whether `received` runs: the end of an exchange then returns to its loop instead of asking for a new delivery.
    private var isReceiving = false
    private var lingered = 0
    /// The place in the worker's list.
    var listIndex = 0

    /// Bytes thrown away at most before a connection with an unread request is closed (reliability F13).
    private static let lingerBytes = 256 * 1024
    /// Time for that: long enough for the client to read the answer, short enough not to be held.
    private static let lingerTime: UInt64 = 2_000_000_000

    init(_ descriptor: Int32, peer: SocketAddress, worker: Worker) {
        self.worker = worker
        self.peer = peer
        self.stream = Stream(loop: worker.loop, descriptor: descriptor, handler: self)
        self.timer = Timer(loop: worker.loop) { [unowned self] in timedOut() }
        // A connection that never sends a byte is held to the time for a head, not to the longer one between requests.
        arm(.head, worker.clientTimes.head)
    }

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        isReceiving = true
        defer { isReceiving = false }
        var at = 0
        while at < bytes.count {
            let rest = bytes.extracting(at..<bytes.count)
            switch phase {
            case .idle, .head:
                if stream.isAboveHighWatermark {
                    // A client that pipelines and doesn't read must not gather its answers here.
                    stream.pauseReading()
                    expectDrain()
                    return at
                }
                guard let used = parseHead(rest) else { return at }
                at += used
            case .exchange:
                guard let exchange, exchange.takesBody else {
                    // The next request waits its turn, and no third one is read before that (reliability R38).
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
    func expectBody(within time: UInt64) { arm(.body, time) }

    /// Says that no more of the request is expected for now: it is complete, or we hold it back ourselves.
    func expectNothing() {
        if wait == .body { disarm() }
    }

    // MARK: Endings

    /// The exchange is over. `keepAlive`: the request was read to its end and both sides may go on.
    func exchangeEnded(keepAlive: Bool, requestComplete: Bool) {
        guard let exchange, phase == .exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
        disarm()
        if keepAlive, !worker.isDraining {
            phase = .idle
            arm(.request, worker.clientTimes.keepAlive)
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
        if phase == .idle { close() }
    }

    func ended(_ stream: Stream) {
        switch phase {
        case .idle, .head, .lingering, .closed: close()
        case .exchange:
            // A FIN after a whole request is no abort: the answer can still be read (reliability F17).
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
        close()
    }

    // MARK: Writing

    func drained(_ stream: Stream) {
        if wait == .write { disarm() }
        switch phase {
        case .exchange: exchange?.downstreamDrained()
        case .lingering:
            if stream.queued == 0 { arm(.linger, Self.lingerTime) } else { expectDrain() }
        case .idle:
            if wait == .nothing { arm(.request, worker.clientTimes.keepAlive) }
            stream.resumeReading()
        case .head:
            if wait == .nothing { arm(.head, worker.clientTimes.head) }
            stream.resumeReading()
        case .closed: break
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
