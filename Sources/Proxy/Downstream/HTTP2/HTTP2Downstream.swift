internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets
internal import Transcoding

/// One request of an HTTP/2 connection: brings its content from the stream to the exchange, and writes the response into it.
///
/// One whose stream is over becomes another request's (`HTTP2Spares`), with its buffer and its timer.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses it, what writes a head's lines calls none of its functions meanwhile, and all
/// else is read and replaced as a whole (docs/decisions/0007).
final class HTTP2Downstream: Downstream, CallSink, StreamSource, HTTP2Call {
    /// What the timer means when it fires.
    private enum Wait { case nothing, body, write, discard }

    /// Nil in one that is spare.
    @safe @exclusivity(unchecked) private var connection: HTTP2Connection!
    @safe @exclusivity(unchecked) private var stream: HTTP2Stream!
    @safe @exclusivity(unchecked) private(set) var exchange: Exchange?
    /// Held strongly, as exchanges hold it; it lets go of its spares when it ends.
    private let worker: Worker

    // The response's head, until its first content takes it along.
    @safe @exclusivity(unchecked) private var lines = OutputBuffer()
    @safe @exclusivity(unchecked) private var status = 0
    @safe @exclusivity(unchecked) private var hasContent = false
    /// Whether the client isn't told how much content the response has.
    private var hasUnknownLength = false

    @safe @exclusivity(unchecked) private(set) var contentLimit = Int.max
    @safe @exclusivity(unchecked) var arrived = 0
    @safe @exclusivity(unchecked) private var isTouched = false
    /// Whether the connection has it in a list, to bring content again.
    @safe @exclusivity(unchecked) private var isResuming = false
    @safe @exclusivity(unchecked) private var isClosed = false
    /// Whether both sides have said all, and the exchange goes on: the upstream is still to get some of the request.
    @safe @exclusivity(unchecked) private var isUnfinished = false
    /// The time for content, while it isn't set yet.
    @safe @exclusivity(unchecked) private var bodyTime: UInt64?

    @safe @exclusivity(unchecked) private var timer: Timer?
    @safe @exclusivity(unchecked) private var wait = Wait.nothing
    @safe @exclusivity(unchecked) private var pace = ClientPace()
    /// Bounds how long the end of a response waits for the rest of its request, of which so many bytes had come when it was last set.
    @safe @exclusivity(unchecked) private var endTimer: Timer?
    private var arrivedBefore = 0

    /// What is counted of the head until the exchange has ended.
    @safe @exclusivity(unchecked) private var headBytes = 0
    /// Bytes of a head that is counted. One field in HPACK's table makes 4 KiB of each byte that names it, so that a client sends next to
    /// nothing for the heads of all its streams; what is smaller is in the connection's own share.
    private static let countedHead = 1024
    /// A head is there as it was read, for the rules of the response and the log, as it goes upstream, and as it would once more.
    private static let copiesOfHead = 3

    /// Bytes of the rest of a request that have been dropped since its answer was whole.
    @safe @exclusivity(unchecked) private var discarded = 0

    init(_ worker: Worker) { self.worker = worker }

    /// Takes on a stream whose head has come.
    func attach(to stream: HTTP2Stream, on connection: HTTP2Connection) {
        self.stream = stream
        self.connection = connection
        stream.handler = self
    }

    /// Becomes a spare when nobody will call it any more: its stream is over, and no list has it.
    private func release() {
        guard isClosed, exchange == nil, !isTouched, !isResuming, connection != nil else { return }
        connection = nil
        stream = nil
        lines.removeAll()
        lines.shrink(to: HTTP2Spares.keptCapacity)
        status = 0
        hasContent = false
        contentLimit = .max
        arrived = 0
        bodyTime = nil
        pace = ClientPace()
        discarded = 0
        isClosed = false
        worker.http2Spares.give(self)
    }

    // MARK: The request

    /// Begins with a request whose head has come.
    func begin(_ head: inout MessageHead) {
        touch()
        let exchange = takeExchange()
        swap(&exchange.request, &head)
        let size = exchange.request.text.count
        if size >= Self.countedHead { countHead(Self.copiesOfHead * size) }
        exchange.begin(on: self)
    }

    /// Counts what a head takes; 0 when it takes nothing any more.
    private func countHead(_ bytes: Int) {
        connection.countHead(bytes - headBytes)
        headBytes = bytes
    }

    /// Answers a request whose head can't be taken, though nothing may be wrong with it.
    func refuse(_ head: inout MessageHead, _ refusal: Refusal, isWhole: Bool = false) {
        let exchange = takeExchange()
        swap(&exchange.request, &head)
        exchange.refuseHead(refusal, isWhole: isWhole, on: self)
    }

    /// The head was malformed, so that the stream is reset: the log has it.
    func noteMalformed(_ head: inout MessageHead) {
        let exchange = takeExchange()
        swap(&exchange.request, &head)
        exchange.noteMalformedHead(on: self)
        abandon(exchange)
    }

    private func takeExchange() -> Exchange {
        let exchange = worker.takeExchange()
        self.exchange = exchange
        exchange.record.headStartedAt = connection.headBegan
        return exchange
    }

    /// Ends an exchange that hasn't come to its end.
    private func abandon(_ exchange: Exchange) {
        self.exchange = nil
        exchange.abandon()
        worker.recycle(exchange)
        if headBytes > 0 { countHead(0) }
        noteFinished()
    }

    /// Has `settle` called when all that was read has been looked at.
    private func touch() {
        guard !isTouched else { return }
        isTouched = true
        connection.noteTouched(self)
    }

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        guard let exchange else { return discard(content.count) }
        touch()
        return bring(content, isLast: stream.bringsLast, to: exchange)
    }

    func held(_ count: Int, on stream: HTTP2Stream) {
        guard let exchange, count >= MemoryCharge.step else { return }
        exchange.contentRead(leftover: count)
    }

    func contentEnded(_ stream: HTTP2Stream) {
        guard let exchange, exchange.readsContent else { return }
        exchange.contentEnded()
    }

    /// All that was read has been looked at: what the exchange holds for more of it goes out.
    func settle() {
        isTouched = false
        guard let exchange else { return release() }
        exchange.settle()
        if let time = bodyTime { expectBody(within: time) }
    }

    // MARK: RequestSource

    var peer: SocketAddress { connection.peer }
    var listener: ListenerInfo { connection.listener }
    var isSecure: Bool { connection.isSecure }
    var tlsFacts: TLSFacts? { connection.tlsFacts }
    /// The connection ends by GOAWAY, which no single response says.
    var isSpent: Bool { false }

    func limitContent(to count: Int) { contentLimit = count }
    /// They are kept in any case, bounded as HTTP/1's are.
    func keepTrailers() {}
    var contentLeft: Int? { stream.contentLeft }

    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer) {
        stream.trailers.write(named: names, into: &output)
    }

    func pauseReading() { stream.pause() }
    func resumeReading() {
        guard !isResuming else { return }
        isResuming = true
        connection.resume(self)
    }

    func resumeContent() {
        isResuming = false
        stream.resume()
        exchange?.settle()
        release()
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        guard let exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
        if headBytes > 0 { countHead(0) }
        noteFinished()
        if wait == .body || wait == .discard { disarm() }
        // The upstream takes no more of the request: nothing is to be waited for.
        releaseEnd()
        // A reset at once would take the answer from the clients that send all before they read (docs/rules.md F13). Also where all
        // that was announced has come, and the client has not ended its stream.
        if !isClosed, !stream.isContentComplete { expectDiscard() }
        if stream.awaitsSending { connection.noteEnding(self) }
        connection.schedule()
        // What still comes is dropped, and its window given back. Behind it this object may be another request's.
        stream.drop()
    }

    /// Drops content of a request that was answered. Behind too much of it the client is told.
    private func discard(_ count: Int) -> Int {
        discarded += count
        if wait == .discard, discarded > Linger.bytes { refuseRest() }
        return count
    }

    /// Tells the client, behind the whole answer, that no more of its request is wanted (RFC 9113 §8.1).
    private func refuseRest() {
        if wait == .discard { disarm() }
        stream.resetWhenSent()
        if stream.awaitsSending { expectDrain() }
        connection.schedule()
    }

    /// What could be sent in this tick has been: of a response that is whole, what is left must be taken within its time, which begins
    /// when no more of the request is waited for.
    func expectRest() {
        if !isClosed, exchange == nil, wait != .discard, let stream, stream.awaitsSending { expectDrain() }
    }

    // MARK: ResponseSink

    var isFull: Bool { stream.isFull }
    /// What waits in the stream may wait there when the exchange is long over: the connection pays for it.
    var queued: Int { 0 }

    func sendInterim(_ head: borrowing MessageHead) {
        _ = PassedFields(response: head).write(head, into: &lines)
        stream.respond(head.status, &lines, hasContent: false)
        connection.schedule()
    }

    func sendContinue() {
        stream.respond(100, &lines, hasContent: false)
        connection.schedule()
    }

    func begin(
        _ response: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) {
        status = response.status ?? head.status
        hasUnknownLength =
            switch response.length {
            case .asReceived: head.first(.contentLength) == nil
            case .unknown: true
            case .known, .none: false
            }
        // Trailers may follow content of no bytes, too.
        hasContent =
            !response.length.isEmpty || response.length == .known(0) && exchange?.passesResponseTrailers == true
            || holdsEnd
        let position = response.fields.write(head, into: &lines)
        addFields(&lines, position)
        switch response.length {
        case .asReceived:
            if let length = head.first(.contentLength) {
                HeadWriter.clean("Content-Length", head.value(length), into: &lines)
            }
        case .known(let count): HeadWriter.field("Content-Length", decimal: count, into: &lines)
        case .none, .unknown: break
        }
        if worker.keepsExchanges { exchange?.tapAnswer(lines, from: position.fields) }
    }

    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int {
        lines.removeAll()
        addFields(&lines)
        let count = lines.count + content.count
        self.status = status
        hasContent = !content.isEmpty
        sendHead()
        if hasContent {
            _ = stream.write(content)
            stream.end(trailers: &lines)
        }
        connection.schedule()
        return count
    }

    private func sendHead() {
        guard status != 0 else { return }
        stream.respond(status, &lines, hasContent: hasContent)
        status = 0
        connection.schedule()
    }

    func send(_ content: Span<UInt8>) -> Bool {
        sendHead()
        return wrote(hasRoom: stream.write(content))
    }

    func send(owned content: inout OutputBuffer) -> Bool {
        sendHead()
        return wrote(hasRoom: stream.write(taking: &content))
    }

    private func wrote(hasRoom: Bool) -> Bool {
        connection.schedule()
        if !hasRoom {
            connection.payForStreams()
            expectDrain()
        }
        return hasRoom
    }

    func flush() { sendHead() }

    func end(adding addTrailers: (inout OutputBuffer) -> Void) {
        sendHead()
        guard hasContent else { return }
        var trailers = OutputBuffer()
        addTrailers(&trailers)
        let holdsEnd = holdsEnd
        stream.end(trailers: &trailers, holdsEnd: holdsEnd)
        connection.schedule()
        guard holdsEnd else { return }
        if endTimer == nil { endTimer = Timer(loop: worker.loop) { [unowned self] in lookAtEnd() } }
        expectEnd()
    }

    /// Whether END_STREAM, should the response be whole now, waits for the rest of a request that its upstream goes on to take
    /// (docs/rules.md F13). curl 7.88 sends no more behind it, nor reads, where it waits for the stream's window; nor behind the last
    /// byte of a response whose length it knows, which therefore ends at once. A client that didn't say how much it sends may send until
    /// it has read to the end, as those of calls do.
    private var holdsEnd: Bool {
        hasUnknownLength && !stream.isContentComplete && (stream.contentLeft ?? 0) > 0 && exchange?.isCall != true
    }

    private func expectEnd() {
        arrivedBefore = arrived
        endTimer?.set(after: Linger.time)
    }

    /// A client that sends nothing may wait for the end.
    private func lookAtEnd() {
        if exchange != nil, arrived > arrivedBefore { expectEnd() } else { releaseEnd() }
    }

    private func releaseEnd() {
        guard let endTimer else { return }
        endTimer.cancel()
        stream.releaseEnd()
        connection.schedule()
    }

    func withdraw() -> Bool {
        guard status != 0 else { return false }
        status = 0
        lines.removeAll()
        return true
    }

    /// A stream that is reset can't be taken for one that is complete. What was said of it goes out before (docs/rules.md F14), as far as
    /// the client takes it within its time.
    func cut() { leave { $0.cut(.internalError) } }

    func cut(adding addTrailers: (inout OutputBuffer) -> Void) {
        var trailers = OutputBuffer()
        addTrailers(&trailers)
        leave { stream in
            stream.end(trailers: &trailers)
            // Who reads trailers reads while it sends: it need not be let send the rest.
            stream.resetWhenSent()
        }
    }

    /// Lets go of a stream whose response ends before its time, as `end` says.
    private func leave(_ end: (HTTP2Stream) -> Void) {
        sendHead()
        if wait == .body || wait == .discard { disarm() }
        end(stream)
        if let exchange { abandon(exchange) }
        if stream.awaitsSending { connection.noteEnding(self) }
        connection.schedule()
        stream.drop()
    }

    /// Gives the stream up with all that waits for a client that takes nothing, or has left.
    private func reset() {
        stream.reset(.internalError)
        if let exchange { abandon(exchange) }
        connection.schedule()
        stream.drop()
    }

    // MARK: What the stream and the connection say

    func drained(_ stream: HTTP2Stream) {
        // What is left of a response that is over is to be taken within its time, however little it is.
        guard let exchange else { return }
        if wait == .write { disarm() }
        exchange.downstreamDrained()
    }

    func takesRest(of stream: HTTP2Stream) -> Bool {
        guard exchange != nil else { return false }
        goOnAlone()
        return true
    }

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        disarm()
        endTimer?.cancel()
        isClosed = true
        guard let exchange else { return release() }
        guard code != .noError else { return goOnAlone() }
        exchange.clientGone()
        abandon(exchange)
        release()
    }

    /// Goes on without a client, which has all of its response and has sent all of its request.
    private func goOnAlone() {
        guard !isUnfinished else { return }
        isUnfinished = true
        disarm()
        connection.noteUnfinished(self)
    }

    private func noteFinished() {
        guard isUnfinished else { return }
        isUnfinished = false
        connection.noteFinished(self)
    }

    /// The grace time of a drain is over for one that goes on alone.
    func cutUnfinished() {
        guard let exchange else { return }
        exchange.cutByDrain()
        abandon(exchange)
        stream.drop()
    }

    /// The client has ended its side of the connection.
    func clientHalfClosed() {
        guard let exchange else {
            if wait == .discard { refuseRest() }
            return
        }
        guard exchange.machine.isRequestRead, exchange.answersHalfClosed else {
            exchange.clientGone()
            return reset()
        }
        exchange.clientHalfClosed()
    }

    func clientStalled() { exchange?.clientStalled() }

    func cutByDrain() { exchange?.cutByDrain() }

    // MARK: Time

    func setRates(_ rates: MinimumRates) { pace.rates = rates }

    func expectBody(within time: UInt64) {
        // Most content is whole when all that was read has been looked at.
        bodyTime = isTouched ? time : nil
        guard !isTouched, wait != .write, !stream.isContentComplete else { return }
        arm(.body, pace.expectContent(worker.loop.activeNow, within: time, arrived: UInt64(arrived)))
    }

    func expectNothing() {
        bodyTime = nil
        guard wait == .body else { return }
        pace.rest(worker.loop.activeNow)
        disarm()
    }

    func expectDiscard() { arm(.discard, Linger.time) }

    /// From here on the client must take bytes: some within its time, and as many as the route asks.
    private func expectDrain() {
        guard wait != .write else { return }
        arm(.write, pace.expectDrain(worker.loop.activeNow, within: worker.clientTimes.write, taken: stream.taken))
    }

    private func arm(_ wait: Wait, _ nanoseconds: UInt64) {
        self.wait = wait
        let timer = self.timer ?? Timer(loop: worker.loop) { [unowned self] in timedOut() }
        self.timer = timer
        timer.set(after: nanoseconds)
    }

    private func disarm() {
        guard wait != .nothing else { return }
        wait = .nothing
        timer?.cancel()
    }

    private func timedOut() {
        let wait = self.wait
        self.wait = .nothing
        switch wait {
        case .nothing: break
        case .body: lookAtBody()
        case .write: lookAtClient()
        case .discard:
            worker.counters.admission.count(.linger)
            // The answer is whole, and no more of the request is wanted.
            if let exchange { abandon(exchange) }
            refuseRest()
            // Behind it this object may be another request's.
            stream.drop()
        }
    }

    private func lookAtBody() {
        let finding = pace.lookAtContent(worker.loop.activeNow, arrived: UInt64(arrived))
        if let time = worker.settleContent(finding, of: exchange, pace.rates) { arm(.body, time) }
    }

    private func lookAtClient() {
        let finding = pace.lookAtClient(worker.loop.activeNow, within: worker.clientTimes.write, taken: stream.taken)
        if let time = worker.settleDrain(finding, of: exchange) { arm(.write, time) } else { reset() }
    }
}
