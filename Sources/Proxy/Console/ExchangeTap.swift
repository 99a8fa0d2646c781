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
    /// Bytes of the body, kept or not.
    private(set) var count = 0

    /// Bytes of a head at most: as much as one of usual limits has.
    static let headLimit = 16 * 1024
    /// Bytes of a head that a tap keeps room for.
    private static let ordinaryHead = 4 * 1024

    /// Keeps bytes of the head, behind those that are kept.
    mutating func keep(head text: Span<UInt8>) {
        let room = Self.headLimit - head.count
        head.append(contentsOf: text.extracting(0..<min(room, text.count)))
    }

    /// Keeps bytes of the body, behind those that came.
    mutating func keep(_ content: Span<UInt8>, limit: Int) {
        count += content.count
        let room = limit - body.count
        guard room > 0 else { return }
        body.append(contentsOf: content.extracting(0..<min(room, content.count)))
    }

    /// Keeps bytes of the body that begin at `count`: some of them may have been brought before, and not been taken. `take` says how
    /// many are.
    mutating func look(at content: Span<UInt8>, limit: Int) {
        let known = body.count - count
        guard known >= 0, known < content.count, body.count < limit else { return }
        let end = min(content.count, known + limit - body.count)
        body.append(contentsOf: content.extracting(known..<end))
    }

    mutating func take(_ taken: Int) { count += taken }

    /// Whether it is a request of that method.
    func has(method: [UInt8]) -> Bool {
        let text = head.span
        return text.count > method.count && text[method.count] == ASCII.space
            && text.extracting(0..<method.count).isEqual(to: method.span)
    }

    mutating func removeAll() {
        head.removeAll()
        body.removeAll()
        if head.capacity > Self.ordinaryHead { head.free() }
        count = 0
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
    /// The exchange that this one is a replay of, by the console's id.
    @safe @exclusivity(unchecked) var original: String?

    // Since its end.
    /// The exchange's number in its worker's history.
    @safe @exclusivity(unchecked) private(set) var number = 0
    @safe @exclusivity(unchecked) private(set) var requestID = OwnedArray<UInt8>()
    @safe @exclusivity(unchecked) private(set) var facts = Facts()
    @safe @exclusivity(unchecked) private(set) var route: Route?
    /// The settings that it began with, which know its upstream's name.
    @safe @exclusivity(unchecked) private(set) var snapshot: ConfigurationSnapshot?

    /// What is known of an exchange that has ended and needs no counting of references.
    struct Facts {
        /// Milliseconds since 1970.
        var endedAt = 0
        var status = 0
        var flag: EndReason?
        var bytesIn = 0
        var bytesOut = 0
        var bytesBack = 0
        /// Nanoseconds, as `ExchangeRecord` has them; `total` from the head's end to the exchange's.
        var head: UInt64 = 0
        var body: UInt64 = 0
        var conversion: UInt64 = 0
        var connect: UInt64 = 0
        var firstByte: UInt64 = 0
        var upstream: UInt64 = 0
        var total: UInt64 = 0
        var attempts = 0
        var framing: StaticString = ""
        /// The conversion's, of the request or, where that has none, of the response.
        var input: BodyEncoding?
        var output: BodyEncoding?
        var convertsRequest = false
        var convertsResponse = false
        var upstreamAddress: SocketAddress?
        var client: SocketAddress?
        var peer: SocketAddress?
        var port = 0
        var isSecure = false
        var version = MessageVersion.http1_1
    }

    init(limit: Int, generation: Int) {
        self.limit = limit
        self.generation = generation
    }

    func begin(_ request: borrowing MessageHead) { fromClient.keep(head: request.text) }

    func look(at content: Span<UInt8>) { fromClient.look(at: content, limit: limit) }
    func took(_ count: Int) { fromClient.take(count) }

    func responded(_ head: borrowing MessageHead) {
        upstreamStatus = head.status
        fromUpstream.keep(head: head.text)
    }

    // Bytes of a body.
    func sent(_ content: Span<UInt8>) { toUpstream.keep(content, limit: limit) }
    func received(_ content: Span<UInt8>) { fromUpstream.keep(content, limit: limit) }
    func answered(_ content: Span<UInt8>) { toClient.keep(content, limit: limit) }

    /// Takes what is to be known of an exchange that has ended.
    func end(_ exchange: Exchange, number: Int) {
        self.number = number
        requestID.removeAll()
        requestID.append(contentsOf: exchange.requestID.span)
        route = exchange.route
        snapshot = exchange.snapshot
        facts.endedAt = exchange.worker.loop.wallClockMilliseconds
        facts.status = exchange.record.status
        facts.flag = exchange.record.flag
        facts.bytesIn = exchange.record.bytesIn
        facts.bytesOut = exchange.record.bytesOut
        facts.bytesBack = exchange.record.bytesBack
        facts.head = exchange.record.headTime
        facts.body = exchange.record.bodyTime
        facts.conversion = exchange.record.transcodeTime
        facts.connect = exchange.record.connectTime
        facts.firstByte = exchange.record.firstByteTime
        facts.upstream = exchange.record.upstreamTime
        facts.total = exchange.worker.loop.now &- exchange.record.startedAt
        facts.attempts = exchange.record.attempts
        facts.framing = exchange.record.framing
        facts.input = exchange.record.input
        facts.output = exchange.record.output
        facts.convertsRequest = facts.input != nil
        facts.convertsResponse = false
        facts.upstreamAddress = exchange.upstreamAddress
        facts.version = exchange.request.version
        if let downstream = exchange.downstream {
            let peer = downstream.peer
            facts.peer = peer
            facts.client = exchange.realClient ?? peer
            facts.port = downstream.listener.port
            facts.isSecure = downstream.isSecure
        } else {
            facts.peer = nil
            facts.client = nil
        }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            facts.convertsResponse = true
            facts.input = facts.input ?? transcoder.conversion?.inputEncoding
            facts.output = facts.output ?? transcoder.rule?.conversion?.plan.output
        }
    }

    /// Makes it ready for another exchange.
    func reset() {
        fromClient.removeAll()
        toUpstream.removeAll()
        fromUpstream.removeAll()
        toClient.removeAll()
        if code != nil { code = nil }
        upstreamStatus = 0
        if original != nil { original = nil }
        route = nil
        snapshot = nil
    }
}

/// A tap of an exchange that runs, held without counting references each time that it is told of something.
///
/// SAFETY: the tap is retained by `init` and given up by `take`, once; nothing that is called with it in between takes it
/// (`Exchange.takeTap` does, when the exchange is over).
@safe
struct HeldTap {
    private let held: Unmanaged<ExchangeTap>

    init(_ tap: ExchangeTap) { unsafe held = Unmanaged.passRetained(tap) }

    @inline(__always)
    func with(_ body: (ExchangeTap) -> Void) { unsafe held._withUnsafeGuaranteedRef { body($0) } }

    func take() -> ExchangeTap { unsafe held.takeRetainedValue() }
}

/// The last exchanges of a worker that have ended, as many as the settings say.
final class ExchangeHistory {
    let settings: ConsoleSettings
    /// Tells its taps from those of the history before it.
    let generation: Int
    /// In the order of their ends, from `oldest` on, around the end of the array.
    private var kept: [ExchangeTap] = []
    private var oldest = 0
    private var spare: [ExchangeTap] = []
    /// Exchanges that run and are kept then: so that many clients at once are bounded, too, as many as ended ones.
    private var running = 0
    /// The number of the next one that ends, from 1 on. Those that aren't kept have one as well, so that it is seen how many there were.
    private(set) var next = 1

    init(_ settings: ConsoleSettings, generation: Int = 0) {
        self.settings = settings
        self.generation = generation
    }

    /// What an exchange that begins is kept in; nil where there are too many.
    func begin() -> ExchangeTap? {
        guard running < settings.entries else { return nil }
        running += 1
        return spare.popLast() ?? ExchangeTap(limit: settings.body, generation: generation)
    }

    /// An exchange has ended that nobody wants to see.
    func drop(_ tap: ExchangeTap) {
        guard tap.generation == generation else { return }
        running -= 1
        tap.reset()
        spare.append(tap)
    }

    /// An exchange has ended.
    func end(_ tap: ExchangeTap, _ exchange: Exchange) {
        guard tap.generation == generation else { return missed() }
        running -= 1
        tap.end(exchange, number: next)
        next += 1
        guard kept.count == settings.entries else { return kept.append(tap) }
        let old = kept[oldest]
        kept[oldest] = tap
        oldest = oldest + 1 == kept.count ? 0 : oldest + 1
        old.reset()
        // With those that run there are as many as have ended, at most: another exchange finds one with its memory.
        if running + spare.count < settings.entries { spare.append(old) }
    }

    /// An exchange has ended of which nothing was kept.
    func missed() { next += 1 }

    /// Those with numbers from `first` on, the newest first, until `body` returns false.
    func forEachNewest(from first: Int, _ body: (ExchangeTap) -> Bool) {
        for index in 0..<kept.count {
            let place = oldest + kept.count - 1 - index
            let tap = kept[place < kept.count ? place : place - kept.count]
            guard tap.number >= first, body(tap) else { return }
        }
    }

    func find(_ number: Int) -> ExchangeTap? {
        var found: ExchangeTap?
        forEachNewest(from: number) { tap in
            if tap.number == number { found = tap }
            return found == nil
        }
        return found
    }
}

// What the exchange tells its tap. Each of these is called where there is one: the data path asks no more than whether there is.
extension Exchange {
    /// Begins to keep the exchange, whose head has come.
    @inline(never)
    func beginTap() {
        guard tap == nil, let history = worker.history, let begun = history.begin() else { return }
        tap = HeldTap(begun)
        watchers.insert(.tap)
        begun.original = downstream?.original
        begun.begin(request)
    }

    /// What is kept of the exchange, which is over for the console.
    func takeTap() -> ExchangeTap? {
        guard let held = tap else { return nil }
        tap = nil
        watchers.remove(.tap)
        return held.take()
    }

    /// Nothing was said of the exchange's end: it wasn't one.
    @inline(never)
    func dropTap() {
        if let tap = takeTap() { worker.history?.drop(tap) }
    }

    /// Takes content as `receive`, and keeps it.
    @inline(never)
    func receiveTapped(_ content: Span<UInt8>, isLast: Bool) throws(Refusal) -> Int {
        // Before it is taken: of what is refused it is of interest most.
        tap?.with { $0.look(at: content) }
        let taken = try take(content, isLast: isLast)
        tap?.with { $0.took(taken) }
        return taken
    }

    /// Keeps the head that goes upstream, which stands in `framed`.
    @inline(never)
    func tapRequestHead() {
        var head = OutputBuffer()
        swap(&head, &framed)
        tap?.with { $0.toUpstream.keep(head: head.span) }
        swap(&head, &framed)
    }

    /// Keeps content that goes upstream.
    @inline(never)
    func tapBody(_ content: Span<UInt8>) { tap?.with { $0.sent(content) } }

    /// As above, with what stands in `buffered` in front of it.
    @inline(never)
    func tapSent(_ content: Span<UInt8>) {
        if !buffered.isEmpty {
            var waiting = OutputBuffer()
            swap(&waiting, &buffered)
            tap?.with { $0.sent(waiting.span) }
            swap(&waiting, &buffered)
        }
        if !content.isEmpty { tap?.with { $0.sent(content) } }
    }

    func tapResponse(_ head: borrowing MessageHead) {
        tap?.with { $0.responded(head) }
    }

    /// Keeps content that has come from the upstream.
    func tapReceived(_ content: Span<UInt8>) { tap?.with { $0.received(content) } }

    /// Keeps content that the client gets.
    @inline(never)
    func tapAnswered(_ content: Span<UInt8>) { tap?.with { $0.answered(content) } }

    /// Keeps the fields that the client gets, which stand in `output` from `start` on.
    @inline(never)
    func tapAnswer(_ output: borrowing OutputBuffer, from start: Int) {
        tap?.with { $0.toClient.keep(head: output.span.extracting(start..<output.count)) }
    }

    /// Nothing of an answer went out.
    func tapWithdrawn() { tap?.with { $0.toClient.removeAll() } }

    /// We answer with a problem.
    func tapRefused(_ code: String) { tap?.with { $0.code = code } }
}
