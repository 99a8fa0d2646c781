internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// What the console keeps of one message: its head, and the beginning of its body.
struct KeptMessage: ~Copyable {
    /// As HTTP/1.1 writes it, whatever brought it. Of longer ones the beginning.
    private(set) var head = OwnedArray<UInt8>()
    private(set) var body = OwnedArray<UInt8>()
    /// Bytes of the body, kept or not, besides those that `passed`.
    private(set) var count = 0
    /// Bytes at the body's beginning that went on as they came: the message that brought them has them.
    private(set) var passed = 0

    /// Bytes of a head at most: as much as one of usual limits has.
    static let headLimit = 16 * 1024
    /// Bytes of a head that a tap keeps room for.
    private static let ordinaryHead = 4 * 1024

    /// Keeps bytes of the head, behind those that are kept.
    @inline(__always)
    mutating func keep(head text: Span<UInt8>) {
        Self.append(text, to: &head, limit: Self.headLimit)
    }

    /// Keeps bytes of the body, behind those that came.
    @inline(__always)
    mutating func keep(_ content: Span<UInt8>, limit: Int) {
        count &+= content.count
        Self.append(content, to: &body, limit: limit)
    }

    /// Appends as much of `text` as `kept` may hold.
    @inline(__always)
    private static func append(_ text: Span<UInt8>, to kept: inout OwnedArray<UInt8>, limit: Int) {
        if !kept.appendIfRoom(text, limit: limit) { appendBeginning(of: text, to: &kept, limit: limit) }
    }

    @inline(never)
    private static func appendBeginning(of text: Span<UInt8>, to kept: inout OwnedArray<UInt8>, limit: Int) {
        kept.append(contentsOf: text.extracting(0..<min(text.count, max(0, limit - kept.count))))
    }

    /// The last bytes that were kept of the body weren't taken, and will be brought again.
    mutating func putBack(_ left: Int) {
        count -= left
        if body.count > count { body.truncate(to: count) }
    }

    /// Counts bytes of the body that go on as they came.
    @inline(__always)
    mutating func pass(_ content: Int) { passed &+= content }

    /// Whether it is a request of that method, in whatever case that is written.
    func has(method: [UInt8]) -> Bool {
        let text = head.span
        return text.count > method.count && text[method.count] == ASCII.space
            && text.extracting(0..<method.count).isEqualIgnoringCase(to: method.span)
    }

    mutating func removeAll() {
        head.removeAll()
        body.removeAll()
        if head.capacity > Self.ordinaryHead { head.free() }
        count = 0
        passed = 0
    }
}

/// What the console keeps of one exchange: while that runs its messages, from its end on the facts, too.
///
/// It holds bytes as they are; who is shown what of them is decided when somebody looks (`ShownExchange`), so that an exchange which
/// nobody looks at costs copies and no more.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a tap, and nothing that is called while such a property is changed comes back to
/// it (docs/decisions/0007).
final class ExchangeTap {
    @safe @exclusivity(unchecked) var fromClient = KeptMessage()
    @safe @exclusivity(unchecked) var toUpstream = KeptMessage()
    @safe @exclusivity(unchecked) var fromUpstream = KeptMessage()
    @safe @exclusivity(unchecked) var toClient = KeptMessage()
    let limit: Int
    /// The generation of the history that it is of: new settings bring another one.
    let generation: Int

    /// The code of the problem that we answered with.
    @safe @exclusivity(unchecked) var code: String?
    @safe @exclusivity(unchecked) var upstreamStatus = 0

    /// Whom the connection leads to, and where it was accepted.
    @safe @exclusivity(unchecked) private(set) var origin: RequestOrigin?
    /// The exchange that this one is a replay of, by the console's id.
    @safe @exclusivity(unchecked) private(set) var original: String?

    // Since its end.
    /// Where the request went.
    @safe @exclusivity(unchecked) private(set) var endpoint: Endpoint?
    @safe @exclusivity(unchecked) private(set) var requestID: [UInt8] = []
    @safe @exclusivity(unchecked) private(set) var facts = Facts()
    /// Values of variables of the path that give access by their names.
    @safe @exclusivity(unchecked) private(set) var pathSecrets: [[UInt8]] = []
    /// The settings that it began with.
    @safe @exclusivity(unchecked) private(set) var snapshot: ConfigurationSnapshot?
    var client: SocketAddress? { (facts.realClient ?? origin?.peer).map(SocketAddress.init) }
    var route: Route? { facts.route.flatMap { snapshot?.settings.routes[$0] } }

    /// What is known of an exchange that has ended and needs no counting of references.
    struct Facts {
        /// The exchange's number in its worker's history.
        var number = 0
        /// Milliseconds since 1970.
        var endedAt = 0
        var record = ExchangeRecord()
        /// The route's place in the settings.
        var route: Int?
        /// Whether anything of the request was written to a connection: its head is made before there is one.
        var wasSent = false
        /// Nanoseconds from the head's end to the exchange's.
        var total: UInt64 = 0
        /// Whether the response was converted, from what, and to what.
        var convertsResponse = false
        var responseInput: BodyEncoding?
        var responseOutput: BodyEncoding?
        var version = MessageVersion.http1_1
        /// For whom the connection's peer spoke; nil: for itself.
        var realClient: PlainAddress?

        var convertsRequest: Bool { record.input != nil }
        // The conversion's, of the request or, where that has none, of the response.
        var input: BodyEncoding? { record.input ?? (convertsResponse ? responseInput : nil) }
        var output: BodyEncoding? { record.output ?? (convertsResponse ? responseOutput : nil) }
    }

    init(limit: Int, generation: Int) {
        self.limit = limit
        self.generation = generation
    }

    /// Returns whether the exchange is a replay.
    @inline(__always)
    func begin(_ request: borrowing MessageHead, of source: any Downstream) -> Bool {
        origin = source.origin
        let isReplay = origin?.isRepeated == true
        if isReplay { original = source.original }
        fromClient.keep(head: request.text)
        return isReplay
    }

    @inline(__always)
    func responded(_ head: borrowing MessageHead) {
        upstreamStatus = head.status
        fromUpstream.keep(head: head.text)
    }

    // Bytes of a body.
    @inline(__always) func came(_ content: Span<UInt8>) { fromClient.keep(content, limit: limit) }
    @inline(__always) func sent(_ content: Span<UInt8>) { toUpstream.keep(content, limit: limit) }
    @inline(__always) func received(_ content: Span<UInt8>) { fromUpstream.keep(content, limit: limit) }
    @inline(__always) func answered(_ content: Span<UInt8>) { toClient.keep(content, limit: limit) }

    /// Takes what is to be known of an exchange that has ended, and what only the console still asks for: where the request went.
    ///
    /// - Parameter loop: the exchange's, which says when it ended.
    @inline(__always)
    fileprivate func end(_ exchange: Exchange, number: Int, _ loop: EventLoop) {
        // Nothing asks an exchange that is over for its id: it gets the old one's memory.
        swap(&requestID, &exchange.requestID)
        if snapshot !== exchange.snapshot { snapshot = exchange.snapshot }
        endpoint = exchange.endpoint.take()
        facts.number = number
        facts.endedAt = loop.wallClockMilliseconds
        facts.record = exchange.record
        facts.route = exchange.route?.index
        facts.wasSent = exchange.machine.hasWritten || exchange.record.retries > 0
        facts.total = loop.now &- exchange.record.startedAt
        facts.convertsResponse = false
        facts.version = exchange.request.version
        facts.realClient = exchange.trustsPeer ? exchange.realClient?.plain : nil
        if exchange.mayHidePath { pathSecrets = exchange.secretValuesOfPath }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            facts.convertsResponse = true
            facts.responseInput = transcoder.conversion?.inputEncoding
            facts.responseOutput = transcoder.rule?.conversion?.plan.output
        }
    }

    /// Makes it ready for another exchange, whose end writes over the rest. Settings are let go of unless they are `current`: those the
    /// other exchange is likely to end with, too.
    @inline(__always)
    fileprivate func reset(_ current: ConfigurationSnapshot?) {
        fromClient.removeAll()
        toUpstream.removeAll()
        fromUpstream.removeAll()
        toClient.removeAll()
        upstreamStatus = 0
        if code != nil { code = nil }
        if original != nil { original = nil }
        if !pathSecrets.isEmpty { pathSecrets.removeAll() }
        if snapshot !== current { snapshot = nil }
        endpoint = nil
    }

    /// Lets go of the settings of the exchange before.
    fileprivate func forgetSettings() { snapshot = nil }
}

/// A tap that its owner holds and hands on, without counting references each time that it is told of something.
///
/// SAFETY: `init` retains the tap and `free` gives it up, once. In between it has one owner, the list of a history or an exchange,
/// which alone frees it: nothing that is called with it does.
@safe
struct HeldTap: BitwiseCopyable, @unchecked Sendable {
    private let held: Unmanaged<ExchangeTap>

    init(_ tap: consuming ExchangeTap) { unsafe held = Unmanaged.passRetained(tap) }

    @inline(__always)
    func with<Result>(_ body: (ExchangeTap) -> Result) -> Result {
        // SAFETY: the tap is retained until its owner frees it, which `body` doesn't.
        unsafe held._withUnsafeGuaranteedRef { body($0) }
    }

    // Buffers of an exchange, of which a closure can't take a span. They are lent as variables: as values they would be copied, and
    // counted.
    @inline(__always)
    func sent(headIn buffer: inout OutputBuffer) { with { $0.toUpstream.keep(head: buffer.span) } }
    func sent(bodyIn buffer: inout OutputBuffer) { with { $0.sent(buffer.span) } }

    /// Gives the tap up.
    func free() {
        // SAFETY: its owner calls this, and nobody uses the tap behind it.
        unsafe held.release()
    }
}

/// The last exchanges of a worker that have ended, as many as the settings say; none without a console.
///
/// A tap has one owner: it waits here, is an exchange's, or is kept. It is handed on, so that no reference to it is counted.
struct ExchangeHistory: ~Copyable {
    let settings: ConsoleSettings
    /// Whether anything is kept.
    let isOn: Bool
    /// Tells its taps from those of the history before it.
    let generation: Int
    /// Those that wait for an exchange.
    private var spare = OwnedArray<HeldTap>()
    /// In the order of their ends, from `oldest` on, around the end of the array.
    private var kept = OwnedArray<HeldTap>()
    private var oldest = 0
    /// Exchanges that run and are kept then: so that many clients at once are bounded, too, as many as ended ones.
    private var running = 0
    /// The number of the next one that ends, from 1 on. Those that aren't kept have one as well, so that it is seen how many there were.
    private(set) var next: Int
    /// The pace of those that are kept: nanoseconds that one takes up, those of a second's, and when the last one's are over.
    private let interval: UInt64
    private let window: UInt64
    private var paced: UInt64 = 0

    /// Exchanges of a second that are kept at least: more than a page or a reader of events can follow, so few that keeping them costs
    /// a busy worker little. Where more entries are wanted, so many.
    static let leastPace = 2_000

    /// - Parameters:
    ///   - settings: nil: nothing is kept.
    ///   - next: the number that the history before it would have given next: a page that is open knows exchanges by their numbers, so that
    ///     none may stand for two in the life of a process.
    init(_ settings: ConsoleSettings?, generation: Int = 0, next: Int = 1) {
        isOn = settings != nil
        self.next = next
        let settings = settings ?? ConsoleSettings()
        self.settings = settings
        self.generation = generation
        let pace = UInt64(max(settings.entries, Self.leastPace))
        interval = 1_000_000_000 / pace
        window = interval * pace
    }

    deinit {
        for index in 0..<spare.count { spare[index].free() }
        for index in 0..<kept.count { kept[index].free() }
    }

    /// What an exchange that begins at `now` is kept in; nil where too many run, or began in the last second.
    ///
    /// - Parameter now: the loop's nanoseconds.
    @inline(__always)
    mutating func begin(at now: UInt64) -> HeldTap? {
        guard running < settings.entries else { return nil }
        // A second's are taken at once after a second without any.
        let end = max(paced, now) &+ interval
        guard end &- now <= window else { return nil }
        paced = end
        return begin()
    }

    /// As above, of one that is kept whatever else there is: somebody has asked for it, and looks at it next.
    @inline(__always)
    mutating func begin() -> HeldTap {
        running += 1
        if !spare.isEmpty { return spare.removeLast() }
        return HeldTap(ExchangeTap(limit: settings.body, generation: generation))
    }

    /// An exchange has ended that nobody wants to see.
    mutating func drop(_ tap: HeldTap) {
        guard isOwn(tap) else { return tap.free() }
        running -= 1
        recycle(tap, nil)
    }

    /// An exchange has ended, at the present of `loop`.
    ///
    /// - Parameter current: the settings that the worker serves by now.
    @inline(__always)
    mutating func end(_ tap: HeldTap, _ exchange: Exchange, _ loop: EventLoop, _ current: ConfigurationSnapshot) {
        guard isOwn(tap) else {
            tap.free()
            return missed()
        }
        running &-= 1
        tap.with { $0.end(exchange, number: next, loop) }
        next &+= 1
        guard kept.count == settings.entries else { return kept.append(tap) }
        let old = kept[oldest]
        kept[oldest] = tap
        oldest = oldest + 1 == kept.count ? 0 : oldest + 1
        recycle(old, current)
    }

    /// The worker serves by other settings: what waits lets go of the old ones.
    func forgetSettings() {
        for index in 0..<spare.count { spare[index].with { $0.forgetSettings() } }
    }

    private func isOwn(_ tap: HeldTap) -> Bool { tap.with { $0.generation == generation } }

    /// Keeps a tap's memory for another exchange, which may never come: settings that nobody is served by it lets go of at once.
    @inline(__always)
    private mutating func recycle(_ tap: HeldTap, _ current: ConfigurationSnapshot?) {
        tap.with { $0.reset(current) }
        spare.append(tap)
    }

    /// An exchange has ended of which nothing was kept.
    mutating func missed() { next += 1 }

    /// Those with numbers from `first` on, the newest first, until `body` returns false.
    func forEachNewest(from first: Int, _ body: (ExchangeTap) -> Bool) {
        for index in 0..<kept.count {
            let at = oldest + kept.count - 1 - index
            let isWanted = kept[at < kept.count ? at : at - kept.count].with { tap in
                tap.facts.number >= first && body(tap)
            }
            guard isWanted else { return }
        }
    }

    func find(_ number: Int) -> ExchangeTap? {
        var found: ExchangeTap?
        forEachNewest(from: number) { tap in
            if tap.facts.number == number { found = tap }
            return found == nil
        }
        return found
    }
}

// What the exchange tells its tap. Each of these is called where there is one: the data path asks no more than whether there is.
extension Exchange {
    /// Begins to keep the exchange, whose head has come.
    @inline(never)
    func beginTap(of source: any Downstream) {
        guard tap == nil else { return }
        if let begun = worker.history.begin(at: worker.loop.now) {
            tap = begun
        } else if source.original != nil {
            tap = worker.history.begin()
        } else {
            return
        }
        watchers.insert(.tap)
        if tap?.with({ $0.begin(request, of: source) }) == true { watchers.insert(.replay) }
    }

    /// What is kept of the exchange, which is over for the console.
    @inline(__always)
    func takeTap() -> HeldTap? {
        guard let held = tap else { return nil }
        tap = nil
        watchers.subtract([.tap, .replay])
        return held
    }

    /// Nothing was said of the exchange's end: it wasn't one.
    @inline(never)
    func dropTap() {
        if let tap = takeTap() { worker.history.drop(tap) }
    }

    /// Tells the upstream that the request is a replay, and of which one: a client's own word for that doesn't go on.
    @inline(never)
    func appendReplayMark(to output: inout OutputBuffer) {
        guard let value = request.copied(.recastReplay) else { return }
        HeadWriter.clean(ReplayedRequest.mark, value.span, into: &output)
    }

    /// Keeps content that has come, before it is taken: that may be the exchange's end, and of what is refused it is of interest most.
    @inline(never)
    func tapContent(_ content: Span<UInt8>) { tap?.with { $0.came(content) } }

    /// So many bytes of it weren't taken.
    func tapLeft(_ count: Int) { tap?.with { $0.fromClient.putBack(count) } }

    /// Keeps the head that goes upstream, which stands in `framed`.
    @inline(never)
    func tapRequestHead() {
        if let tap { tap.sent(headIn: &framed) }
    }

    /// Keeps content that goes upstream: what isn't converted the client's message has.
    @inline(never)
    func tapBody(_ content: Span<UInt8>) {
        guard requestTranscoder.isBegun else {
            tap?.with { $0.toUpstream.pass(content.count) }
            return
        }
        tap?.with { $0.sent(content) }
    }

    /// As above, with what stands in `buffered` in front of it.
    @inline(never)
    func tapSent(_ content: Span<UInt8>) {
        if !buffered.isEmpty {
            if requestTranscoder.isBegun { tap?.sent(bodyIn: &buffered) } else { tapBody(buffered.span) }
        }
        if !content.isEmpty { tapBody(content) }
    }

    @inline(__always)
    func tapResponse(_ head: borrowing MessageHead) {
        tap?.with { $0.responded(head) }
    }

    /// Keeps content that has come from the upstream.
    @inline(__always)
    func tapReceived(_ content: Span<UInt8>) { tap?.with { $0.received(content) } }

    /// Counts content that the client gets as it came.
    @inline(__always)
    func tapPassed(_ content: Span<UInt8>) { tap?.with { $0.toClient.pass(content.count) } }

    /// Keeps content that the client gets.
    @inline(never)
    func tapAnswered(_ content: Span<UInt8>) { tap?.with { $0.answered(content) } }

    /// Keeps the fields that the client gets, which stand in `output` from `start` on. A sink that begins a response tells it, once
    /// those that frame it stand there, too.
    @inline(never)
    func tapAnswer(_ output: borrowing OutputBuffer, from start: Int) {
        tap?.with { $0.toClient.keep(head: output.span.extracting(start..<output.count)) }
    }

    /// Nothing of an answer went out.
    func tapWithdrawn() { tap?.with { $0.toClient.removeAll() } }

    /// We answer with a problem.
    func tapRefused(_ code: String) { tap?.with { $0.code = code } }
}

extension MessageHead {
    fileprivate func copied(_ field: KnownField) -> [UInt8]? {
        guard let line = first(field) else { return nil }
        return value(line).copied()
    }
}
