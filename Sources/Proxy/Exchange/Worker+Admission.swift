internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Logging
internal import Octets

/// What a worker remembers for admission.
struct AdmissionState {
    /// Looks again whether there is room, while the listeners wait because of the cap.
    var timer: Timer?
    /// No look for connections to evict before this: the last one found none.
    var nextRelief: UInt64 = 0
    var shortageNotice = Notice()
    var clientNotice = Notice()
    var capNotice = Notice()
}

/// Lets one line of a kind into the operational log for each episode: what comes within a minute of the last time is the
/// same episode, and a long one says so again each minute.
struct Notice {
    private var quietUntil: UInt64 = 0
    private static let pause: UInt64 = 60_000_000_000

    mutating func isDue(_ now: UInt64) -> Bool {
        guard now >= quietUntil else { return false }
        quietUntil = now &+ Self.pause
        return true
    }
}

// Which connections are taken, and which ones go when there are too many.
extension Worker {
    enum Admission {
        /// With whom it counts for.
        case admitted(ClientKey?)
        /// It is answered and closed already.
        case refused
    }

    /// Nanoseconds between two looks while the listeners wait because of the cap, and after one that found nothing.
    private static let lookTime: UInt64 = 100_000_000
    /// A head, or a new connection without one, isn't evicted before it has had this time, or a quarter of the time for
    /// heads where that is shorter.
    private static let youngHead: UInt64 = 1_000_000_000

    /// Decides about a connection that was accepted.
    func admit(_ descriptor: Int32, from peer: SocketAddress, speaksTLS: Bool) -> Admission {
        counters.admission.accepted += 1
        let limits = current.admission
        guard limits.perClient > 0, let client = ClientKey(peer), limits.capsLoopback || !client.isLoopback else {
            return .admitted(nil)
        }
        if shared.enter(client, cap: limits.perClient) { return .admitted(client) }
        counters.admission.refusedPerClient += 1
        if admission.clientNotice.isDue(loop.now) {
            logger.warning(
                "\(peer) has \(counted(limits.perClient, "connection")): it gets no more (connections.per_client)")
        }
        // Before a handshake nothing can be said in TLS: the connection just ends.
        guard !speaksTLS else {
            RefusedConnection.close(descriptor, answer: Span())
            return .refused
        }
        var answer = OutputBuffer()
        var requestID: [UInt8] = []
        nextRequestID(into: &requestID)
        let problem = Problem(.tooManyConnections, requestID: requestID)
        let body = problem.body()
        AnswerWriter.write(problem.refusal.status, isLast: true, content: body.span, into: &answer) { output in
            HeadWriter.clean("Date", clock.date.span, into: &output)
            problem.appendFields(length: body.count, to: &output)
        }
        RefusedConnection.close(descriptor, answer: answer.span)
        return .refused
    }

    /// Whether idle connections get a quarter of their time only.
    var isUnderPressure: Bool { connections.count > current.admission.relief }

    /// Nanoseconds that a client has between two requests.
    var keepAliveTime: UInt64 { isUnderPressure ? clientTimes.keepAlive / 4 : clientTimes.keepAlive }

    /// More connections than there should be: those go that are idle for longest, then those that are slowest with their
    /// heads. At the cap the listeners wait.
    func relieve(keeping newest: (any ClientConnection)? = nil) {
        let limits = current.admission
        if loop.now >= admission.nextRelief {
            // Some at once: looking for them costs a walk over all.
            let excess = connections.count - limits.relief + limits.connections / 128
            if excess > 0, evict(excess, keeping: newest) == 0 { admission.nextRelief = loop.now + Self.lookTime }
        }
        guard connections.count >= limits.connections, !isClosingIdle else { return }
        if gate.pause(.connections) {
            counters.admission.pauses += 1
            if admission.capNotice.isDue(loop.now) {
                logger.warning("\(limits.capNote)")
            }
        }
        let timer = admission.timer ?? Timer(loop: loop) { [unowned self] in lookForRoom() }
        admission.timer = timer
        timer.set(after: Self.lookTime)
    }

    private func lookForRoom() {
        guard gate.reasons.contains(.connections) else { return }
        relieve()
    }

    /// After a connection has gone.
    func resumeIfRoom() {
        guard connections.count <= current.admission.resume else { return }
        admission.timer?.cancel()
        gate.resume(.connections)
    }

    /// Closes up to `count` connections that serve no request, and returns how many.
    @discardableResult
    func evict(_ count: Int, keeping newest: (any ClientConnection)? = nil) -> Int {
        var idle: [(since: UInt64, connection: any ClientConnection)] = []
        var heads: [(since: UInt64, connection: any ClientConnection)] = []
        let now = loop.now
        let young = min(Self.youngHead, clientTimes.head / 4)
        for connection in connections where connection !== newest {
            switch connection.rest {
            case .idle(let since): idle.append((since, connection))
            case .head(let since) where now > since + young: heads.append((since, connection))
            case .head, .none: break
            }
        }
        idle.sort { $0.since < $1.since }
        var evicted = 0
        for (_, connection) in idle {
            guard evicted < count else { break }
            if connection.closeIfQuiet() { evicted += 1 }
        }
        counters.admission.evictedIdle += UInt64(evicted)
        guard evicted < count, !heads.isEmpty else { return evicted }
        heads.sort { $0.since < $1.since }
        var evictedHeads = 0
        for (_, connection) in heads {
            guard evicted + evictedHeads < count else { break }
            if connection.evictHead() { evictedHeads += 1 }
        }
        counters.admission.evictedHeads += UInt64(evictedHeads)
        return evicted + evictedHeads
    }

    /// The system had no descriptor for a connection. Idle ones make room.
    func ranShort() {
        counters.admission.refusedShortage += 1
        let evicted = evict(max(8, connections.count / 32))
        if admission.shortageNotice.isDue(loop.now) {
            logger.error(
                "no descriptors for new connections: \(connections.count) are open, \(evicted) were closed to make room"
            )
        }
    }
}
