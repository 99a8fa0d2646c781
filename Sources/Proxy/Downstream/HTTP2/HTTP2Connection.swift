internal import EventLoop
internal import ExtProc
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// What a stream of a connection serves, whatever that is.
protocol HTTP2Call: HTTP2StreamHandler {
    /// What it serves; nil when that is over, or was never there.
    var exchange: Exchange? { get }
    /// All that was read has been looked at.
    func settle()
    /// Content is brought again.
    func resumeContent()
    /// The client has ended its side of the connection.
    func clientHalfClosed()
    /// The client takes no bytes of the connection any more.
    func clientStalled()
    /// The grace time of a drain is over.
    func cutByDrain()
}

/// One client connection of HTTP/2: hands bytes to a `ServerSession` and takes those that are to be sent, gives each request a
/// `HTTP2Downstream`, and ends with care.
///
/// What streams say is sent when the tick ends, so that the frames of one batch of events go out together.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a connection, and none of these is changed while somebody else is called
/// (docs/decisions/0007).
final class HTTP2Connection: StreamHandler, ServerSessionOwner, ClientConnection, TickTask {
    private enum Phase {
        /// Serves requests, or waits for some. → ending, closed
        case open
        /// No stream will be served any more; what waits is sent, and the client reads it. → closed
        case ending
        case closed
    }

    /// What the timer means when it fires.
    private enum Wait {
        case nothing
        /// No request is served: the first, or another one, is waited for.
        case request
        /// Part of a head has come.
        case head
        /// Requests are served, and nothing has come for a while.
        case sign
        /// The client was asked for a sign of life.
        case ping
        /// The client has been told that the connection ends, and requests may be on their way.
        case notice
        /// The client takes no bytes.
        case write
        /// All is said, and the client has not ended its side.
        case linger
    }

    let worker: Worker
    let peer: SocketAddress
    let listener: ListenerInfo
    let tlsFacts: TLSFacts?
    var isSecure: Bool { stream.isSecured }
    private let stream: Stream
    @safe @exclusivity(unchecked) private var limits: HTTP2Limits
    /// The worker's settings that these are of, by their number, and the limit of heads that the client was told.
    @safe @exclusivity(unchecked) private var settingsNumber: Int
    private let toldHead: Int
    /// Whether the client was told of other limits, as the connection began, than hold now.
    @safe @exclusivity(unchecked) private var isOutdated = false
    @safe @exclusivity(unchecked) private var session: ServerSession!
    private var timer: Timer!
    @safe @exclusivity(unchecked) private var phase = Phase.open
    private var wait = Wait.nothing
    /// Whether the connection ends because a head has not come whole.
    private var hasLateHead = false
    /// Bytes that came behind the connection's end.
    private var dropped = 0
    /// How many requests there had been when another one was last waited for.
    private var awaitedBehind = 0
    /// Which of the session's heads came in pieces last, when its first bytes came, and by when it must be whole, as `activeNow` counts.
    @safe @exclusivity(unchecked) private var awaitedHead = 0
    @safe @exclusivity(unchecked) private var awaitedHeadBegan: UInt64 = 0
    @safe @exclusivity(unchecked) private var awaitedHeadEnd: UInt64 = 0
    @safe @exclusivity(unchecked) private var isScheduled = false
    private var hasToldFailure = false
    /// Those whose content is to be brought again, and those that got some in this tick.
    @safe @exclusivity(unchecked) private var resuming: [any HTTP2Call] = []
    @safe @exclusivity(unchecked) private var touched: [any HTTP2Call] = []
    /// Those whose response was whole in this tick, and some of it not sent yet.
    @safe @exclusivity(unchecked) private var ending: [HTTP2Downstream] = []
    /// Those whose stream is over, with all said on both sides, while the upstream still gets some of the request. The client may have
    /// left: the connection stays the worker's until they are done.
    @safe @exclusivity(unchecked) private var unfinished: [HTTP2Downstream] = []
    /// For what waits in the streams: exchanges are over when they have handed their responses on.
    @safe @exclusivity(unchecked) private var charge = MemoryCharge(.response)
    /// For the heads of requests that are on their way, and bytes that they take.
    @safe @exclusivity(unchecked) private var headCharge = MemoryCharge(.request)
    @safe @exclusivity(unchecked) private var headBytes = 0
    var listIndex = 0
    var client: ClientKey?

    private let openedAt: UInt64
    /// When bytes last came, when the client was last asked for a sign of life, and how many bytes it had taken then.
    @safe @exclusivity(unchecked) private var readAt: UInt64
    private var askedAt: UInt64 = 0
    private var takenBefore: UInt64 = 0
    @safe @exclusivity(unchecked) private var pingTime: UInt64
    /// When the present time without a request began.
    private var since: UInt64
    /// Time for a request that is left when the timer fires.
    private var timeLeft: UInt64 = 0
    /// How the client takes what waits for it. How fast is the matter of each stream.
    @safe @exclusivity(unchecked) private var pace = ClientPace()

    /// Calls of external processing that a connection may have at once, where the settings don't allow it more streams.
    private static let leastCalls = 1000
    /// Time between the two GOAWAY frames, in which requests that are on their way come.
    private static let noticeTime: UInt64 = 1_000_000_000
    /// Time without a request until pages of memory go back to the system: under load none do, since that is a system call, and another
    /// request fetches them again.
    private static let restTime: UInt64 = 1_000_000_000
    /// Bytes that the system may still have for a client that has read all responses: a last GOAWAY, a record of TLS around it.
    private static let fewBytes: UInt64 = 64

    /// Takes a connection over, of which the client's preface is the next that is read.
    init(
        _ stream: Stream, peer: SocketAddress, listener: ListenerInfo, tlsFacts: TLSFacts?, worker: Worker,
        openedAt: UInt64
    ) {
        self.worker = worker
        self.peer = peer
        self.listener = listener
        self.tlsFacts = tlsFacts
        self.stream = stream
        self.openedAt = openedAt
        readAt = worker.loop.now
        since = worker.loop.now
        let snapshot = worker.current
        limits = Self.limits(of: snapshot, for: listener.settings.service)
        settingsNumber = worker.settingsNumber
        toldHead = snapshot.admission.head.head
        pingTime = limits.ping.nanoseconds
        session = ServerSession(
            limits: limits, wire: snapshot.admission.head, rules: snapshot.requestRules,
            isSecure: stream.isSecured, owner: self, spares: worker.http2Spares.streams)
        timer = Timer(loop: worker.loop) { [unowned self] in timedOut() }
        pace.rates = .none
        awaitRequest(within: worker.clientTimes.head)
        // In `drain_delay` the first request says so: a client that hears of the end before it has sent one, as one of gRPC that waits for
        // SETTINGS does, would send none here, and may know no other place yet.
        if worker.isClosingIdle { announceEnd() }
        worker.counters.http2.connections += 1
        schedule()
    }

    private static func limits(of snapshot: ConfigurationSnapshot, for service: ListenerService) -> HTTP2Limits {
        var limits = snapshot.settings.http2
        switch service {
        case .http: break
        case .externalProcessing:
            // A data plane asks as long as it lives, and resets the calls that it doesn't need any more. Before it has heard of a
            // limit it sends whatever comes in, on one connection, and a call that is refused is a request that fails.
            limits.requests = .max / 2
            limits.streams = max(limits.streams, leastCalls)
            limits.countsResets = false
        }
        return limits
    }

    /// Takes on what new settings say of the requests to come. What the client was told as the connection began holds for it until its
    /// end, which comes in good order behind the next request where that is another number now.
    private func followSettings() {
        // A head of which part has come is read as it began.
        guard !session.isReadingHead else { return }
        settingsNumber = worker.settingsNumber
        let snapshot = worker.current
        var new = Self.limits(of: snapshot, for: listener.settings.service)
        // One that has had more than that ends behind the next one, as if this was the last that it might have.
        limits.requests = max(new.requests, session.requests)
        limits.ping = new.ping
        pingTime = new.ping.nanoseconds
        // Bytes have come just now.
        if wait == .sign { arm(.sign, pingTime) }
        new.requests = limits.requests
        isOutdated = new != limits || snapshot.admission.head.head != toldHead
        session.readHeads(within: snapshot.admission.head, by: snapshot.requestRules)
    }

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        readAt = worker.loop.now
        guard phase == .open else {
            dropped += bytes.count
            if dropped > Linger.bytes { close() }
            return bytes.count
        }
        if settingsNumber != worker.settingsNumber { followSettings() }
        do throws(HTTP2Error) {
            try session.read(bytes, now: worker.loop.now)
        } catch {
            beginEnding()
        }
        settleTouched()
        schedule()
        return bytes.count
    }

    /// When the first bytes came of the head that the session hands over now: where it wasn't whole at once, it was waited for.
    var headBegan: UInt64 { awaitedHead == session.headsBegun ? awaitedHeadBegan : worker.loop.now }

    func began(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        noteRequest()
        // To nghttp2 these are over: a client could have any number of them.
        guard unfinished.count < limits.streams else { return stream.reset(.refusedStream) }
        switch listener.settings.service {
        case .http:
            let downstream = worker.http2Spares.take(stream, on: self)
            guard lacksMemory else { return downstream.begin(&head) }
            worker.memory.counters.refusedAdmission += 1
            downstream.refuse(&head, .memoryExhausted, isWhole: true)
        case .externalProcessing: beginCall(stream, head)
        }
    }

    /// Whether one more request can't be taken on. A client that takes nothing could have as many responses wait here as it may have
    /// streams, and as many heads: where bodies have nearly all of the memory that they may have, it gets no more before it has taken what
    /// waits and its heads are done with, and at the very end one at a time, as over HTTP/1.
    private var lacksMemory: Bool {
        let pressure = worker.pressure
        guard pressure >= 2 else { return false }
        return charge.bytes > 0 || headCharge.bytes > 0 || pressure == 3 && session.openStreams > 1
    }

    /// A request whose head takes so many bytes begins, or has ended where they are fewer than none.
    func countHead(_ bytes: Int) {
        headBytes += bytes
        headCharge.force(headBytes, from: worker.memory)
    }

    /// Pays for what waits in the streams, where that is much.
    func payForStreams() {
        let memory = session.memory
        if memory >= MemoryCharge.step || charge.bytes > 0 { charge.force(memory, from: worker.memory) }
    }

    func refused(_ stream: HTTP2Stream, _ error: WireError, _ head: inout MessageHead) {
        noteRequest()
        worker.http2Spares.take(stream, on: self).refuse(&head, .wire(error))
    }

    func malformed(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        noteRequest()
        worker.http2Spares.take(stream, on: self).noteMalformed(&head)
    }

    /// Begins a call of gRPC's, or answers what is none here.
    private func beginCall(_ stream: HTTP2Stream, _ head: borrowing MessageHead) {
        guard GRPC.isCall(head) else {
            var lines = OutputBuffer()
            lines.append("content-type: text/plain\r\n")
            stream.respond(415, &lines, hasContent: true)
            lines.append("This listener serves Envoy's external processing, by gRPC.\n")
            _ = stream.write(lines.span)
            lines.removeAll()
            stream.end(trailers: &lines)
            return schedule()
        }
        if head.path.isEqual(to: ProcessCall.path) {
            ProcessCall(stream, on: self).begin(head)
        } else if head.path.isEqual(to: HealthCall.path) {
            HealthCall(stream, on: self).begin()
        } else {
            var lines = OutputBuffer()
            lines.append(GRPC.headLines)
            GRPC.appendStatus(.unimplemented, "there is no such method", to: &lines)
            stream.respond(200, &lines, hasContent: false)
            schedule()
        }
    }

    private func noteRequest() {
        let isOld = worker.loop.now &- openedAt > worker.current.admission.age
        if worker.isDraining || isOld || isOutdated || session.requests >= limits.requests { announceEnd() }
        // A client that doesn't heed it.
        if session.requests >= limits.requests + limits.streams { session.end() }
    }

    /// Says that a stream got content: its exchange is told when all that was read has been looked at.
    func noteTouched(_ call: any HTTP2Call) { touched.append(call) }

    private func settleTouched() {
        var index = 0
        while index < touched.count {
            touched[index].settle()
            index += 1
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// Says that what is left of a whole response is to be sent. Mostly that is when the tick ends, and nothing is to be waited for.
    func noteEnding(_ downstream: HTTP2Downstream) { ending.append(downstream) }

    /// Says that the stream of an exchange is over, which goes on: the upstream is still to get what the client has sent.
    func noteUnfinished(_ downstream: HTTP2Downstream) { unfinished.append(downstream) }

    /// One of those has come to its end.
    func noteFinished(_ downstream: HTTP2Downstream) {
        guard let index = unfinished.firstIndex(where: { $0 === downstream }) else { return }
        unfinished.remove(at: index)
        guard unfinished.isEmpty else { return }
        if phase == .closed { worker.remove(self) } else { schedule() }
    }

    /// Whether requests are served.
    private var isServing: Bool { session.openStreams > 0 || !unfinished.isEmpty }

    /// Brings a stream's content again when the tick ends.
    func resume(_ call: any HTTP2Call) {
        resuming.append(call)
        schedule()
    }

    // MARK: Writing

    /// Sends, when the tick ends, what streams have said.
    func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        worker.loop.afterTick(self)
    }

    func tickEnded() {
        isScheduled = false
        // Also behind the connection's end: what is unfinished goes on, and the others' objects are to be free for other requests.
        while let call = resuming.popLast() { call.resumeContent() }
        settleTouched()
        send()
    }

    private func send() {
        guard phase != .closed else { return }
        if !stream.isAboveHighWatermark { write() }
        payForStreams()
        if !ending.isEmpty { awaitEnding() }
        let resets = session.takeResets()
        worker.counters.http2.resetByClient += UInt64(resets.byPeer)
        worker.counters.http2.resetHere += UInt64(resets.here)
        if session.isOver || phase == .ending { return finish() }
        setTimer()
    }

    private func awaitEnding() {
        for downstream in ending { downstream.expectRest() }
        ending.removeAll(keepingCapacity: true)
    }

    /// Hands what the session has to the stream, until that is full.
    private func write() {
        session.write { output in
            stream.write(&output)
            return !stream.isAboveHighWatermark
        }
    }

    func backedUp(_ stream: Stream) { if phase == .open { setTimer() } }

    func drained(_ stream: Stream) {
        if wait == .write { disarm() }
        schedule()
    }

    // MARK: Time

    /// One thing is waited for at a time: that the client takes what waits, else the rest of a head, else a sign that the client of a
    /// request is there, else a request.
    private func setTimer() {
        guard phase == .open else { return }
        let begins = noteHead()
        guard wait != .notice else { return }
        if stream.queued > 0 {
            if stream.isAboveHighWatermark, wait != .write {
                expectDrain()
            } else if begins, wait == .write {
                // The next look at what the client takes stays where it is: heads that follow one another would put it off for ever.
                timer.hasten(to: worker.clientTimes.head)
            }
            if wait == .write { return }
        }
        if session.isReadingHead {
            if wait != .head || begins { arm(.head, timeOfHead) }
        } else if isServing {
            since = 0
            if wait != .write, wait != .sign, wait != .ping { arm(.sign, pingTime) }
        } else if wait != .request || awaitedBehind != session.requests {
            // Requests that begin and end in one tick were never waited for.
            since = worker.loop.now
            let isFirst = session.requests == 0
            awaitRequest(within: isFirst ? worker.clientTimes.head : worker.keepAliveTime)
        }
    }

    /// Notes when a head began that comes in pieces; returns whether it wasn't noted before. Each has its own time, whatever else is
    /// waited for as it begins: one may begin in the bytes that end another.
    @discardableResult
    private func noteHead() -> Bool {
        guard session.isReadingHead, awaitedHead != session.headsBegun else { return false }
        (awaitedHead, awaitedHeadBegan) = (session.headsBegun, worker.loop.now)
        awaitedHeadEnd = worker.loop.activeNow &+ worker.clientTimes.head
        return true
    }

    /// Nanoseconds that the head which comes in pieces, and was noted, still has. What the process stood still for is nobody's slowness.
    private var timeOfHead: UInt64 {
        let now = worker.loop.activeNow
        return awaitedHeadEnd > now ? awaitedHeadEnd - now : 0
    }

    /// It is time for the head that is waited for to be whole, unless it has been since, and another one may have begun, in this tick.
    private func lookAtHead() {
        guard phase == .open, session.isReadingHead else { return setTimer() }
        noteHead()
        let time = timeOfHead
        if time > 0 { arm(.head, time) } else { headTimedOut() }
    }

    private func awaitRequest(within time: UInt64) {
        awaitedBehind = session.requests
        let time = worker.isClosingIdle ? worker.drainIdleTime : time
        let first = min(time, Self.restTime)
        timeLeft = time - first
        arm(.request, first)
    }

    /// From here on the client must take bytes within its time.
    private func expectDrain() {
        let time = pace.expectDrain(worker.loop.activeNow, within: worker.clientTimes.write, taken: stream.bytesTaken)
        arm(.write, phase == .open && session.isReadingHead ? min(time, timeOfHead) : time)
    }

    private func lookAtClient() {
        let times = worker.clientTimes
        if case .fine(let time) = pace.lookAtClient(
            worker.loop.activeNow, within: times.write, taken: stream.bytesTaken)
        {
            // A client that takes what waits for it may begin a head besides, and never end it. Behind the connection's end nobody waits
            // for that.
            guard phase == .open, session.isReadingHead else { return arm(.write, time) }
            noteHead()
            let timeOfHead = timeOfHead
            return timeOfHead == 0 ? headTimedOut() : arm(.write, min(time, timeOfHead))
        }
        worker.counters.admission.count(.write)
        forEachCall { $0.clientStalled() }
        close(reset: true)
    }

    private func headTimedOut() {
        worker.counters.admission.count(.head)
        session.terminate(.noError)
        hasLateHead = true
        beginEnding()
        send()
    }

    /// Sees that the client of a request is still there, when nothing has come for a while: the end of a connection that was lost on
    /// its way never comes. The client is asked once, and has to say something, or at least to take bytes.
    private func lookForSign(wasAsked: Bool) {
        guard isServing else { return setTimer() }
        let now = worker.loop.now
        let quiet = now &- readAt
        guard quiet >= pingTime else { return arm(.sign, pingTime - quiet) }
        let taken = stream.bytesTaken
        if !wasAsked || readAt > askedAt {
            session.ping()
            askedAt = now
        } else if taken == takenBefore {
            worker.counters.admission.count(.ping)
            return close(reset: true)
        }
        // What stands in front of the PING may be megabytes in the system's buffer, and a slow client takes them first.
        takenBefore = taken
        arm(.ping, pingTime)
        send()
    }

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
        case .request:
            // One that has come in this tick is served.
            guard !isServing, !session.isReadingHead else { return setTimer() }
            guard timeLeft == 0 else {
                session.giveBackPages()
                if resuming.isEmpty { resuming = [] }
                if touched.isEmpty { touched = [] }
                if ending.isEmpty { ending = [] }
                arm(.request, timeLeft)
                return timeLeft = 0
            }
            guard stream.isQuiet else { return arm(.request, 0) }
            if !worker.isClosingIdle {
                worker.counters.admission.count(session.requests == 0 ? .firstByte : .keepAlive)
            }
            end()
        case .head: lookAtHead()
        case .sign: lookForSign(wasAsked: false)
        case .ping: lookForSign(wasAsked: true)
        case .notice:
            session.end()
            send()
        case .write: lookAtClient()
        case .linger: lookAtRest()
        }
    }

    // MARK: Endings

    /// Tells the client that the connection takes no more requests soon; those on their way are served.
    private func announceEnd() {
        guard !session.isEndAnnounced else { return }
        session.announceEnd()
        arm(.notice, Self.noticeTime)
        schedule()
    }

    /// Ends a connection that serves no request.
    private func end() {
        session.end()
        beginEnding()
        send()
    }

    private func beginEnding() {
        if phase == .open { phase = .ending }
    }

    /// Everything is said: sends what waits, and closes when the client has read it.
    private func finish() {
        if let failure = session.failure, !hasToldFailure {
            hasToldFailure = true
            worker.counters.http2.failed(failure, peer: peer, worker)
        }
        session.closeStreams()
        payForStreams()
        stream.flush()
        phase = .ending
        guard stream.queued == 0 else {
            stream.tellEmpty()
            if endsByFault {
                if wait != .linger { arm(.linger, Linger.time) }
            } else if wait != .write {
                expectDrain()
            }
            return
        }
        // A client that has ended its side sends nothing more which the system would answer.
        if stream.isEnded { return close() }
        // Else our side has ended already, or `failed` is to come.
        guard stream.isWritable else { return }
        if isRested { close() } else { linger() }
    }

    /// Whether the connection ends for what the client has done: then what waits is to be taken soon.
    private var endsByFault: Bool { session.failure != nil || hasLateHead }

    /// Whether the client has had all responses for a while, so that nothing of them is on its way.
    private var isRested: Bool {
        guard !endsByFault else { return false }
        guard session.requests > 0 else { return true }
        guard since > 0, worker.loop.now &- since >= Linger.time else { return false }
        return stream.bytesWritten - stream.bytesTaken <= Self.fewBytes
    }

    /// Ends our side, and drops what still comes until the client has ended its own. Whoever reads gives windows back: to a socket that is
    /// closed already the system would answer them by a reset, which takes all from the client that it hasn't read (docs/rules.md F16).
    private func linger() {
        since = worker.loop.now
        takenBefore = stream.bytesTaken
        _ = pace.expectDrain(worker.loop.activeNow, within: worker.clientTimes.write, taken: takenBefore)
        stream.shutdownWrite()
        arm(.linger, Linger.time)
    }

    /// The client has not ended its side. The system may have megabytes that a slow one is still to read, and so may the client's, which
    /// its windows tell: it must have been silent for a whole wait since it took the last of them.
    private func lookAtRest() {
        guard !endsByFault else { return close(reset: stream.queued > 0) }
        let now = worker.loop.now, taken = stream.bytesTaken
        // With TLS its last record may wait for room.
        let hasAll = stream.queued == 0 && taken == stream.bytesWritten
        let isResting = now &- readAt >= Linger.time && taken <= takenBefore + 2 * Self.fewBytes
        if hasAll, isResting { return close() }
        takenBefore = taken
        guard case .fine = pace.lookAtClient(worker.loop.activeNow, within: worker.clientTimes.write, taken: taken)
        else {
            if hasAll { return close() }
            worker.counters.admission.count(.write)
            return close(reset: true)
        }
        arm(.linger, Linger.time)
    }

    /// Closes at once. With `reset` the client can't take what it has for complete. What is unfinished goes on without a client.
    private func close(reset: Bool = false) {
        guard phase != .closed else { return }
        phase = .closed
        disarm()
        session.closeStreams()
        charge.end(worker.memory)
        ending.removeAll()
        if reset { stream.abort() } else { stream.close() }
        if !resuming.isEmpty || !touched.isEmpty { schedule() }
        if unfinished.isEmpty { worker.remove(self) }
    }

    func ended(_ stream: Stream) {
        // What is whole is answered (docs/rules.md F17); what isn't will never be.
        forEachCall { $0.clientHalfClosed() }
        guard session.openStreams > 0 else { return finish() }
        session.end()
        schedule()
    }

    func peerGone(_ stream: Stream) {
        if stream.peerError != 0 { close() }
    }

    func failed(_ stream: Stream, _ errno: Int32) { close() }

    // MARK: What the worker asks

    var isIdle: Bool { phase == .open && !isServing }

    var rest: ConnectionRest {
        if isLingeringLong { return .idle(since: since) }
        guard phase == .open, !isServing, !stream.holdsOutput else { return .none }
        return session.requests == 0 || session.isReadingHead ? .head(since: since) : .idle(since: since)
    }

    func forEachExchange(_ body: (Exchange) -> Void) {
        forEachCall { call in
            if let exchange = call.exchange { body(exchange) }
        }
        for downstream in unfinished { if let exchange = downstream.exchange { body(exchange) } }
    }

    private func forEachCall(_ body: (any HTTP2Call) -> Void) {
        session.forEachHandler { handler in
            if let call = handler as? any HTTP2Call { body(call) }
        }
    }

    func closeIfIdle() {
        guard phase == .open else { return }
        announceEnd()
        if !isServing { arm(.notice, min(Self.noticeTime, worker.drainIdleTime)) }
    }

    func endByDrain() {
        forEachCall { $0.cutByDrain() }
        session.terminate(.noError)
        write()
        stream.flush()
        close(reset: stream.queued > 0)
        for downstream in unfinished { downstream.cutUnfinished() }
    }

    /// Whether all is said, and the client had the time for it that any client has.
    private var isLingeringLong: Bool {
        phase == .ending && wait == .linger && !stream.isWritable && unfinished.isEmpty
            && worker.loop.now &- since >= Linger.time
    }

    /// Its place is wanted at once.
    func closeIfQuiet() -> Bool {
        if isLingeringLong {
            close()
            return true
        }
        guard phase == .open, stream.isQuiet else { return false }
        session.end()
        write()
        close()
        return true
    }

    func evictHead() -> Bool { closeIfQuiet() }
}
