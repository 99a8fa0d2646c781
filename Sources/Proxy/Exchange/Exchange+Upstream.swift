internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Logging
internal import Octets
internal import Transcoding

// The way to the upstream: a connection for the request, and what is sent over it as it has room; content that is held until its
// length is known, or followed by padding; a request that is sent again.
extension Exchange {
    // MARK: A connection

    /// Writes the upstream head and finds a connection for it.
    func connect(framing known: BodyFraming) throws(Refusal) {
        guard let route, let snapshot else { return }
        if let forwarder { return try connect(over: forwarder) }
        guard let upstream = route.upstream else { throw .upstream(.unavailable) }
        let (framing, encoder) = snapshot.framings[upstream].written(for: known)
        requestEncoder = encoder
        if requestTranscoder.isBegun { requestTranscoder.announce(framing) }
        do throws(ConversionError) {
            try writeRequestHead(framing: framing, route: route, snapshot)
        } catch {
            throw .conversion(error, accepted: [])
        }
        noteFraming(framing)
        if tap != nil { tapRequestHead() }
        if route.shadow != nil { beginShadow(route, snapshot) }
        record.upstreamStartedAt = worker.loop.now
        let pool = snapshot.pools[upstream]
        try handle(.connecting)
        if let connection = pool.takeIdle() {
            try open(connection, atOnce: true)
        } else {
            attempt = pool.wait(for: self)
        }
    }

    /// Goes on over what the request came by, which forwards it itself.
    private func connect(over side: UpstreamSide) throws(Refusal) {
        requestEncoder = BodyEncoder(framing: .untilClose)
        if requestTranscoder.isBegun { requestTranscoder.announce(.chunked) }
        record.upstreamStartedAt = worker.loop.now
        record.isForwardedThere = true
        try handle(.connecting)
        try open(side, atOnce: true)
    }

    private func open(_ connection: UpstreamSide, atOnce: Bool) throws(Refusal) {
        upstream = connection
        endpoint = connection.destination
        retryBuffer.isKept = false
        try connection.begin(self)
        if let route, connection.isReused ? route.repeatsRequests : route.repeatsOnConditions {
            retryBuffer.heedsStatus = route.repeatsOnConditions
            // The method allows that it is sent again, or the server may say that it did nothing with it.
            let mayRefuse = connection.mayRefuse
            if request.methodKind.isIdempotent || mayRefuse { keepForRetry(route, mayRefuse: mayRefuse) }
        }
        try handle(.connected(atOnce: atOnce))
    }

    /// The attempt succeeded: what has waited is sent, and the client may go on. `connectTime` is 0 for a connection that was
    /// there already.
    func connected(_ connection: UpstreamSide, madeIn connectTime: UInt64) {
        attempt = nil
        record.connectTime = connectTime
        catchingRefusal { () throws(Refusal) in try open(connection, atOnce: false) }
    }

    /// The attempt failed.
    func connectFailed(_ failure: UpstreamFailure) {
        attempt = nil
        if case .timedOut = failure { worker.counters.admission.count(.connect) }
        refuse(.upstream(failure))
    }

    /// Gives the upstream connection back or closes it.
    @inline(never)
    func releaseUpstream(reusable: Bool) {
        if let attempt {
            self.attempt = nil
            attempt.cancel()
        }
        guard let connection = upstream else { return }
        upstream = nil
        connection.release(reusable: reusable)
    }

    // MARK: What the upstream's connection tells

    /// It has room again.
    func upstreamDrained() {
        let isEmpty = upstream?.queued == 0
        tell(.upstreamDrained(isEmpty: isEmpty))
    }

    // A head of which the client has nothing yet is taken back first: to a connection that ends without a byte clients send their
    // request again, whatever its method is.

    /// It failed, or ended before the response did, or before the request had gone out.
    func upstreamFailed() {
        upstream = nil
        withdrawHead()
        tell(.upstreamFailed, cutFlag: .upstreamGone)
    }

    /// It gave up the request alone, which a client without a response is told by `refusal`.
    func upstreamGaveUp(_ refusal: Refusal) {
        upstream = nil
        endsByStatus = false
        withdrawHead()
        catchingRefusal { () throws(Refusal) in
            do throws(Refusal) {
                try handle(.upstreamFailed)
            } catch {
                if case .upstreamClosed = error { throw refusal }
                throw error
            }
        }
    }

    /// It sent what can't be read as a response.
    func upstreamMisread(_ fault: ResponseFault) {
        withdrawHead()
        if machine.awaitsResponse { refuse(.badResponse(fault)) } else { fail(.upstreamBad) }
    }

    /// It didn't take the request, didn't answer, or stopped, within its time.
    ///
    /// - Parameter endpoint: where it was, if the request may be sent again elsewhere.
    func upstreamTimedOut(_ kind: AdmissionCounters.Timeout, leaving endpoint: Endpoint? = nil) {
        worker.counters.admission.count(kind)
        if let endpoint, sendAgain(.timeout, avoiding: endpoint) { return }
        withdrawHead()
        tell(.upstreamTimedOut, cutFlag: .upstreamTime)
    }

    // MARK: Sending

    var upstreamIsFull: Bool { upstream?.isFull ?? false }

    /// Sends the bytes that wait, as one chunk where the framing is chunked, with the head in front when it is still here. Returns
    /// whether it has: what was held goes out before.
    @discardableResult
    func sendBuffered() throws(Refusal) -> Bool {
        guard machine.upstream == .open else { return false }
        if let spool, try !pump(spool) { return false }
        requestTranscoder.swapOutput(&buffered)
        if !buffered.isEmpty {
            send(buffered.span)
            buffered.removeAll()
        }
        requestTranscoder.swapOutput(&buffered)
        return true
    }

    /// Sends the bytes that wait and `content`, a part of the client's, behind them: as one chunk, without a copy of `content`.
    /// Returns false when there is no connection for it.
    func sendBuffered(passing content: Span<UInt8>) -> Bool {
        guard upstream != nil else { return false }
        requestTranscoder.swapOutput(&buffered)
        let count = buffered.count + content.count
        requestEncoder.frame(count, into: &framed)
        record.bytesOut += count
        if tap != nil { tapSent(content) }
        framed.append(buffered.span)
        buffered.removeAll()
        requestTranscoder.swapOutput(&buffered)
        sendFramed(content)
        return true
    }

    func send(_ body: Span<UInt8>) {
        guard upstream != nil, !body.isEmpty else { return }
        requestEncoder.frame(body.count, into: &framed)
        record.bytesOut += body.count
        if tap != nil { tapBody(body) }
        sendFramed(body)
    }

    /// Sends what is framed, `body` behind it, and what ends its chunk.
    private func sendFramed(_ body: Span<UInt8>) {
        guard let upstream else { return }
        let lineEnd: InlineArray<2, UInt8> = [ASCII.carriageReturn, ASCII.lineFeed]
        let end = requestEncoder.takeEnd() ? lineEnd.span : Span()
        machine.noteWritten()
        if retryBuffer.isTapped { keep(body, end) }
        upstream.write(framed.span, body, end)
        framed.removeAll()
    }

    func flushFramed() {
        guard let upstream, !framed.isEmpty else { return }
        machine.noteWritten()
        upstream.write(framed.span, Span(), Span())
        if retryBuffer.isTapped { keepFramed() } else { framed.removeAll() }
    }

    // MARK: The end of the request

    /// All of the request is at hand and the connection is open: sends the rest, as far as the upstream takes it.
    func sendRest() throws(Refusal) {
        if let spool, try !pump(spool) { return }
        if requestTranscoder.isPadded, try !pad() { return }
        sendEnd()
        let upstream = upstream
        try tellRequestEnd(upstream)
        try handle(.requestWritten(isEmpty: upstream?.queued == 0))
    }

    /// Tells an upstream that no framing of HTTP/1 tells it that all of the request was written.
    private func tellRequestEnd(_ upstream: UpstreamSide?) throws(Refusal) {
        if let upstream, upstream.wire == nil { try upstream.requestEnded() }
    }

    /// Appends the trailer fields behind the request's content that go on, as lines.
    func appendRequestTrailers(to output: inout OutputBuffer) {
        guard passesTrailers, let route, let downstream else { return }
        downstream.appendTrailers(named: trailerNames(of: route), to: &output)
    }

    /// Names of the trailer fields that pass; nil: all.
    func trailerNames(of route: Route) -> [[UInt8]]? { isCall ? nil : route.forwarding.trailers }

    /// Sends the bytes that wait and what ends the content, in one write.
    private func sendEnd() {
        requestTranscoder.swapOutput(&buffered)
        let count = buffered.count
        requestEncoder.frame(count, into: &framed)
        if count > 0, tap != nil { tapSent(Span()) }
        if count > 0 { finishFraming(into: &buffered) } else { finishFraming(into: &framed) }
        record.bytesOut += count
        if count > 0 {
            sendFramed(buffered.span)
            buffered.removeAll()
        } else {
            flushFramed()
        }
        requestTranscoder.swapOutput(&buffered)
    }

    private func finishFraming(into output: inout OutputBuffer) {
        guard passesTrailers else { return requestEncoder.close(into: &output) }
        requestEncoder.close(into: &output) { appendRequestTrailers(to: &$0) }
    }

    /// All of the request was written: its memory goes to the next one, and so does its conversion.
    @inline(never)
    func releaseOutput() {
        if requestTranscoder.conversion != nil { recycleConversion() } else if buffered.isEmpty { clear(&buffered) }
    }

    /// Gives the conversion, which has come to its end, back to the worker: other requests are converted while this one
    /// awaits its response. Output that isn't sent yet waits in the exchange.
    func recycleConversion() {
        guard let route, let conversion = requestTranscoder.end() else { return }
        conversion.withOutput { output in
            if output.isEmpty { clear(&output) } else { swap(&output, &buffered) }
        }
        snapshot?.conversions(of: route).recycle(conversion)
    }

    // MARK: A length for content that has none

    // Converted content that is longer than what is buffered of it: its length is announced as a bound, and what that has too
    // many follows it as padding, which the encoding says is nothing (docs/decisions/0011). Servers that read no chunks would
    // take a chunked request for an empty one.

    /// Pieces of padding, or of a spool, that are sent in one tick before the other connections have theirs.
    static let piecesPerTick = 4

    /// How bodies are framed for the upstream.
    func framing(of route: Route, _ snapshot: ConfigurationSnapshot) -> UpstreamFraming {
        guard let upstream = route.upstream, forwarder == nil else { return .processed }
        return snapshot.framings[upstream]
    }

    var upstreamName: String { route.flatMap { snapshot?.upstreamName(of: $0) } ?? "" }

    /// Writes behind the converted content what its announced length has too many. Returns whether all of it went on its way; else
    /// it goes on when the upstream has room, or in the next tick.
    private func pad() throws(Refusal) -> Bool {
        try sendBuffered()
        var pieces = Self.piecesPerTick
        while requestEncoder.remaining ?? 0 > 0 {
            guard mayGoOn(&pieces) else { return false }
            let piece = requestTranscoder.takePadding()
            send(piece.span)
            worker.counters.framing.padding &+= UInt64(piece.count)
        }
        return true
    }

    /// Whether another piece may be sent in this tick; else the upstream's room, or the next tick, is waited for.
    private func mayGoOn(_ pieces: inout Int) -> Bool {
        if upstreamIsFull {
            upstream?.expectProgress()
            return false
        }
        if pieces == 0 { worker.loop.afterTick(self) }
        pieces -= 1
        return pieces >= 0
    }

    // MARK: The spool

    // Content that is held until its length is known: the upstream hears nothing of the request before all of it is here, and so
    // never gets half of one. Upstreams that want a length are never sent anything else. Those that don't say are spared chunks as
    // long as there is room: of more than that they get what was held, and then the rest as it comes.

    /// Whether what can't be held is refused: the upstream wants its length, or a signature does.
    var needsSpool: Bool {
        guard let route, let snapshot else { return false }
        return route.signing != nil || framing(of: route, snapshot).mode == .length
    }

    /// Sees how output goes on that is longer than what is buffered of it: into the spool, where its length would not be told otherwise,
    /// or padding would be a quarter of it, and the client has said how long the body is; else over a connection that it asks for.
    /// Returns whether the output was taken.
    func holdOutput() throws(Refusal) -> Bool {
        let isLoose = requestTranscoder.isLooselyBound
        if isLoose, mayHold {
            machine.holdContent()
            return try spoolOutput()
        }
        let framing = requestTranscoder.beginStreaming(to: upstreamName)
        if !isLoose, framing == .chunked, mayHold {
            machine.holdContent()
            return try spoolOutput()
        }
        try connect(framing: framing)
        return false
    }

    /// Whether there seems to be room for content that needn't be held.
    private var mayHold: Bool {
        guard let route, let snapshot, let length = requestTranscoder.length else { return false }
        let way = framing(of: route, snapshot)
        return way.mode == .auto && !way.isOfHTTP2 && worker.spools.hasRoom(for: length, way.spool)
    }

    func beginSpool() {
        guard spool == nil, let route, let snapshot else { return }
        let settings = route.signing.map { spoolSettings(limit: $0.limit, route, snapshot) }
        spool = Spool(settings ?? framing(of: route, snapshot).spool, store: worker.spools)
    }

    /// Takes bytes of the content.
    func spool(_ bytes: Span<UInt8>) throws(Refusal) {
        guard let spool else { return }
        try spooling { () throws(SpoolFault) in try spool.append(bytes) }
    }

    /// Takes what the conversion has written. Returns false where there is no room for it, and it needn't be held: then it goes on
    /// behind what was, over a connection that it asks for.
    func spoolOutput() throws(Refusal) -> Bool {
        beginSpool()
        guard let spool else { return false }
        // The buffer is taken out: what is called looks at the exchange.
        var output = OutputBuffer()
        requestTranscoder.swapOutput(&output)
        let before = spool.count
        var isTaken = true
        do throws(SpoolFault) {
            try spool.append(output.span)
            output.removeAll()
        } catch {
            guard !needsSpool else { throw refusal(error) }
            noteFault(error)
            output.drop(spool.count - before)
            isTaken = false
        }
        requestTranscoder.putBack(&output)
        guard !isTaken else { return true }
        machine.releaseContent()
        try connect(framing: requestTranscoder.beginStreaming(to: upstreamName))
        return false
    }

    /// Does what a spool may fail at. A fault refuses the request, and one of the disk is logged.
    func spooling(_ work: () throws(SpoolFault) -> Void) throws(Refusal) {
        do throws(SpoolFault) {
            try work()
        } catch {
            throw refusal(error)
        }
    }

    private func refusal(_ fault: SpoolFault) -> Refusal {
        if case .tooLarge = fault, let signing = route?.signing { return .signedTooLarge(signing.limit) }
        noteFault(fault)
        return .spool(fault, upstream: upstreamName)
    }

    /// A fault of the disk is logged.
    private func noteFault(_ fault: SpoolFault) {
        guard fault.isOfTheDisk, let (folder, failure) = worker.spools.lastFailure else { return }
        worker.spools.forget(folder)
        let reason = fault == .full ? "the disk is full" : "the disk failed"
        guard worker.spools.mayReport("\(reason) \(folder)", at: worker.loop.now) else { return }
        worker.logger.error(
            "bodies can't be spooled for the upstream \(upstreamName) in \(folder): \(reason) (\(failure))")
    }

    /// Sends what the spool holds, as fast as the upstream takes it. Returns whether all of it went on its way; the spool is given up
    /// then.
    private func pump(_ spool: Spool) throws(Refusal) -> Bool {
        var pieces = Self.piecesPerTick
        while !spool.isAtEnd {
            guard mayGoOn(&pieces) else { return false }
            try spooling(spool.prepare)
            spool.read { piece in
                send(piece)
                return piece.count
            }
        }
        endSpool()
        return true
    }

    func endSpool() {
        spool?.end()
        spool = nil
    }

    /// Counts and logs how the content is framed.
    private func noteFraming(_ framing: BodyFraming) {
        // What was let go of the spool is framed as if it had never been there, and so is content of which only the end was waited for.
        guard
            spool == nil || request.promisesNoContent || requestTranscoder.isBegun && !machine.plan.isSpooled
        else {
            record.framing = "spooled"
            worker.counters.framing.spooled &+= 1
            return
        }
        let isFramed = framing == .chunked && requestEncoder.framing == .untilClose
        record.framing = isFramed ? "frames" : framing.logName
        guard requestTranscoder.isBegun else { return }
        switch framing {
        case .length where requestTranscoder.isPadded && requestTranscoder.isBound:
            record.framing = "padded"
            worker.counters.framing.padded &+= 1
        case .length: worker.counters.framing.length &+= 1
        case .chunked where !isFramed: worker.counters.framing.chunked &+= 1
        case .none, .chunked, .untilClose: break
        }
    }

    // MARK: Sending again

    /// Keeps what is sent from here on.
    private func keepForRetry(_ route: Route, mayRefuse: Bool) {
        guard !retryBuffer.isCut else { return }
        // Sent again already, and not to be sent a third time, unless the server leaves it out.
        guard machine.retries == 0 || mayRefuse || route.repeatsOnConditions else { return }
        retryBuffer.isKept = true
    }

    private var retryBufferLimit: Int { route?.options.retry.buffer ?? 0 }

    /// `framed`, `body` and `end` are about to be sent.
    private func keep(_ body: Span<UInt8>, _ end: Span<UInt8>) {
        if shadow != nil { copyForShadow(body, end) }
        guard retryBuffer.isKept else { return }
        let count = framed.count + body.count + end.count
        guard retryBuffer.bytes.count + count <= retryBufferLimit else { return cutRetryBuffer() }
        retryBuffer.bytes.append(framed.span)
        retryBuffer.bytes.append(body)
        retryBuffer.bytes.append(end)
        if !payForRetryBuffer() { cutRetryBuffer() }
    }

    /// `framed` was sent; it leaves its bytes here and is empty then.
    private func keepFramed() {
        defer { framed.removeAll() }
        if shadow != nil { copyForShadow(Span(), Span()) }
        guard retryBuffer.isKept else { return }
        guard retryBuffer.bytes.count + framed.count <= retryBufferLimit else { return cutRetryBuffer() }
        // Mostly the head and nothing else: then it changes hands without a copy.
        if retryBuffer.bytes.isEmpty {
            swap(&retryBuffer.bytes, &framed)
        } else {
            retryBuffer.bytes.append(framed.span)
        }
    }

    private func cutRetryBuffer() {
        dropRetryBuffer()
        retryBuffer.isCut = true
    }

    /// Nothing is sent again any more.
    @inline(never)
    func dropRetryBuffer() {
        retryBuffer.isKept = false
        retryBuffer.isCut = false
        clear(&retryBuffer.bytes)
    }

    /// Sends what another connection had been given.
    func sendRetryBuffer() throws(Refusal) {
        guard let upstream, !retryBuffer.bytes.isEmpty else { return }
        machine.noteWritten()
        upstream.write(retryBuffer.bytes.span, Span(), Span())
        if machine.request == .sent { try tellRequestEnd(upstream) }
        if !retryBuffer.isKept { dropRetryBuffer() }
    }

    /// The upstream fails for `cause` behind a byte of its response: notes that this is why the request isn't sent again, where the
    /// route would have it.
    func noteAnswered(_ cause: RetryCause) {
        guard let route, let snapshot, let upstream = route.upstream, forwarder == nil,
            let reason = route.options.retry.skipBehindAnswer(on: cause)
        else { return }
        snapshot.pools[upstream].tally.count(reason)
        record.retrySkip = reason
    }

    /// The exchange's own time is over while all of its request is here and its upstream is waited for: counts that as where one of the
    /// upstream's times is over. Its health is left alone: how long this one had is the client's matter, too.
    func noteOverdue() {
        guard let route, let snapshot, let upstream = route.upstream, record.attempts > 0, record.upstreamTime == 0
        else { return }
        let tally = snapshot.pools[upstream].tally
        if machine.response == .awaited { tally.timeouts &+= 1 } else { tally.count(cut: .timeout) }
    }

    /// Sends the request once more on a new connection, if that is safe and wanted (docs/rules.md F20, F21); the old connection
    /// is given up. Returns false, and changes nothing but the counters, when it is not.
    func sendAgain(_ cause: RetryCause, avoiding endpoint: Endpoint?) -> Bool {
        guard let route, let snapshot, let upstream = route.upstream, machine.mayRetry, forwarder == nil
        else { return false }
        let pool = snapshot.pools[upstream]
        var progress = RetryProgress()
        progress.retries = machine.retries - record.freeRetries.count
        progress.freeRetries = record.freeRetries
        progress.hasWritten = machine.hasWritten
        progress.isIdempotent = request.methodKind.isIdempotent
        progress.isBuffered = retryBuffer.isKept
        progress.hasAnswered = machine.interimWasSent
        let decision = route.options.retry.decide(
            on: cause, progress, budget: &pool.budget, now: worker.loop.now
        ) { pool.nextRandom() }
        switch decision {
        case .unwanted: return false
        case .skip(let reason):
            pool.tally.count(reason)
            record.retrySkip = reason
            return false
        case .retry(let pause):
            pool.tally.count(cause.result)
            releaseUpstream(reusable: false)
            tell(.retried)
            record.retries = machine.retries
            record.freeRetries.note(cause)
            attempt = pool.waitAgain(for: self, after: pause, avoiding: endpoint)
            return true
        }
    }
}

/// What was sent of a request, as it went over the wire, so that it can be sent again on another connection.
struct RetryBuffer {
    var bytes = OutputBuffer()
    /// Whether what is sent is also kept.
    var isKept: Bool {
        get { uses.contains(.kept) }
        set { if newValue { uses.insert(.kept) } else { uses.remove(.kept) } }
    }
    /// Whether what is sent is looked at: it is kept, or copied for a shadow.
    var isTapped: Bool { !uses.isEmpty }
    private(set) var uses = Uses()

    struct Uses: OptionSet {
        let rawValue: UInt8
        static var kept: Uses { Uses(rawValue: 1) }
        static var copied: Uses { Uses(rawValue: 2) }
    }

    /// Whether what is sent is copied for a shadow.
    mutating func setCopied(_ isCopied: Bool) { if isCopied { uses.insert(.copied) } else { uses.remove(.copied) } }

    /// Whether more was sent than may be kept.
    var isCut = false
    /// Whether there is something to drop. What is to be sent to another connection is there and not kept again.
    var isUsed: Bool { isKept || isCut || !bytes.isEmpty }
    /// Whether the status of the response may be a reason to send the request again.
    var heedsStatus = false
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
