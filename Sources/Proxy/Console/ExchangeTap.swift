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
        let room = limit - kept.count
        if text.count <= room { return kept.append(contentsOf: text) }
        if room > 0 { kept.append(contentsOf: text.extracting(0..<room)) }
    }

    /// Keeps bytes of the body that begin at `count`: some of them may have been brought before, and not been taken. `take` says how
    /// many are.
    mutating func look(at content: Span<UInt8>, limit: Int) {
        let known = body.count - count
        if known == 0 { return Self.append(content, to: &body, limit: limit) }
        guard known > 0, known < content.count else { return }
        Self.append(content.extracting(known..<content.count), to: &body, limit: limit)
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
    /// Its place among that history's taps.
    let place: Int

    /// The code of the problem that we answered with.
    @safe @exclusivity(unchecked) var code: String?
    @safe @exclusivity(unchecked) var upstreamStatus = 0

    // Since its end.
    /// The exchange that this one is a replay of, by the console's id.
    @safe @exclusivity(unchecked) private(set) var original: String?
    @safe @exclusivity(unchecked) private(set) var upstreamAddress: SocketAddress?
    /// Whom the connection led to, and for whom that spoke; nil: for itself.
    @safe @exclusivity(unchecked) private(set) var peer: SocketAddress?
    @safe @exclusivity(unchecked) private var realClient: SocketAddress?
    var client: SocketAddress? { realClient ?? peer }
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
        var port = 0
        var isSecure = false
        var version = MessageVersion.http1_1
    }

    init(limit: Int, generation: Int, place: Int) {
        self.limit = limit
        self.generation = generation
        self.place = place
    }

    func begin(_ request: borrowing MessageHead) { fromClient.keep(head: request.text) }

    func look(at content: Span<UInt8>) { fromClient.look(at: content, limit: limit) }
    func took(_ count: Int) { fromClient.take(count) }

    func responded(_ head: borrowing MessageHead) {
        upstreamStatus = head.status
        fromUpstream.keep(head: head.text)
    }

    // Bytes of a body.
    @inline(__always) func sent(_ content: Span<UInt8>) { toUpstream.keep(content, limit: limit) }
    @inline(__always) func received(_ content: Span<UInt8>) { fromUpstream.keep(content, limit: limit) }
    @inline(__always) func answered(_ content: Span<UInt8>) { toClient.keep(content, limit: limit) }

    /// Takes what is to be known of an exchange that has ended, and what only the console still asks for: the upstream's address.
    ///
    /// - Parameter loop: the exchange's, which says when it ended.
    func end(_ exchange: Exchange, number: Int, _ loop: EventLoop) {
        self.number = number
        requestID.append(contentsOf: exchange.requestID.span)
        route = exchange.route
        snapshot = exchange.snapshot
        facts.endedAt = loop.wallClockMilliseconds
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
        facts.total = loop.now &- exchange.record.startedAt
        facts.attempts = exchange.record.attempts
        facts.framing = exchange.record.framing
        facts.input = exchange.record.input
        facts.output = exchange.record.output
        facts.convertsRequest = facts.input != nil
        facts.convertsResponse = false
        facts.version = exchange.request.version
        upstreamAddress = exchange.upstreamAddress.take()
        realClient = exchange.realClient
        if let downstream = exchange.downstream {
            original = downstream.original
            peer = downstream.peer
            facts.port = downstream.listener.port
            facts.isSecure = downstream.isSecure
        } else {
            original = nil
            peer = nil
        }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            facts.convertsResponse = true
            facts.input = facts.input ?? transcoder.conversion?.inputEncoding
            facts.output = facts.output ?? transcoder.rule?.conversion?.plan.output
        }
    }

    /// Makes it ready for another exchange, whose end writes over the rest.
    func reset() {
        fromClient.removeAll()
        toUpstream.removeAll()
        fromUpstream.removeAll()
        toClient.removeAll()
        requestID.removeAll()
        upstreamStatus = 0
        if code != nil { code = nil }
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

    init(_ tap: consuming ExchangeTap) { unsafe held = Unmanaged.passRetained(tap) }

    @inline(__always)
    func with(_ body: (ExchangeTap) -> Void) { unsafe held._withUnsafeGuaranteedRef { body($0) } }

    // Buffers of an exchange, of which a closure can't take a span. They are lent as variables: as values they would be copied, and counted.
    func sent(headIn buffer: inout OutputBuffer) { with { $0.toUpstream.keep(head: buffer.span) } }
    func sent(bodyIn buffer: inout OutputBuffer) { with { $0.sent(buffer.span) } }

    func take() -> ExchangeTap { unsafe held.takeRetainedValue() }
}

/// The last exchanges of a worker that have ended, as many as the settings say.
struct ExchangeHistory: ~Copyable {
    let settings: ConsoleSettings
    /// Tells its taps from those of the history before it.
    let generation: Int
    /// All that were made, each at its `place`, by which they stand in the lists below: numbers move without counting references.
    private var taps: [ExchangeTap] = []
    private var spare = OwnedArray<Int>()
    /// In the order of their ends, from `oldest` on, around the end of the array.
    private var kept = OwnedArray<Int>()
    private var oldest = 0
    /// Exchanges that run and are kept then: so that many clients at once are bounded, too, as many as ended ones.
    private var running = 0
    /// The number of the next one that ends, from 1 on. Those that aren't kept have one as well, so that it is seen how many there were.
    private(set) var next = 1
    /// The pace of those that are kept: nanoseconds that one takes up, those of a second's, and when the last one's are over.
    private let interval: UInt64
    private let window: UInt64
    private var paced: UInt64 = 0

    /// Exchanges of a second that are kept at least: more than a page or a reader of events can follow, so few that keeping them costs
    /// a busy worker little. Where more entries are wanted, so many.
    static let leastPace = 2_000

    init(_ settings: ConsoleSettings, generation: Int = 0) {
        self.settings = settings
        self.generation = generation
        let pace = UInt64(max(settings.entries, Self.leastPace))
        interval = 1_000_000_000 / pace
        window = interval * pace
    }

    /// What an exchange that begins at `now` is kept in; nil where too many run, or began in the last second.
    ///
    /// - Parameter now: the loop's nanoseconds.
    mutating func begin(at now: UInt64) -> ExchangeTap? {
        guard running < settings.entries else { return nil }
        // A second's are taken at once after a second without any.
        let end = max(paced, now) &+ interval
        guard end &- now <= window else { return nil }
        paced = end
        return begin()
    }

    /// As above, of one that is kept whatever else there is: somebody has asked for it, and looks at it next.
    mutating func begin() -> ExchangeTap {
        running += 1
        if !spare.isEmpty { return taps[spare.removeLast()] }
        let tap = ExchangeTap(limit: settings.body, generation: generation, place: taps.count)
        taps.append(tap)
        return tap
    }

    /// An exchange has ended that nobody wants to see.
    mutating func drop(_ tap: ExchangeTap) {
        guard tap.generation == generation else { return }
        running -= 1
        recycle(tap)
    }

    /// An exchange has ended, at the present of `loop`.
    mutating func end(_ tap: ExchangeTap, _ exchange: Exchange, _ loop: EventLoop) {
        guard tap.generation == generation else { return missed() }
        running -= 1
        tap.end(exchange, number: next, loop)
        next += 1
        guard kept.count == settings.entries else { return kept.append(tap.place) }
        let old = taps[kept[oldest]]
        kept[oldest] = tap.place
        oldest = oldest + 1 == kept.count ? 0 : oldest + 1
        recycle(old)
    }

    /// Keeps a tap's memory for another exchange, which may never come: what it had of the old one's settings it lets go of at once.
    private mutating func recycle(_ tap: ExchangeTap) {
        tap.reset()
        spare.append(tap.place)
    }

    /// An exchange has ended of which nothing was kept.
    mutating func missed() { next += 1 }

    /// Those with numbers from `first` on, the newest first, until `body` returns false.
    func forEachNewest(from first: Int, _ body: (ExchangeTap) -> Bool) {
        for index in 0..<kept.count {
            let at = oldest + kept.count - 1 - index
            let tap = taps[kept[at < kept.count ? at : at - kept.count]]
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
        guard tap == nil else { return }
        if let begun = worker.history?.begin(at: worker.loop.now) {
            tap = HeldTap(begun)
        } else if downstream?.original != nil, let begun = worker.history?.begin() {
            tap = HeldTap(begun)
        } else {
            return
        }
        watchers.insert(.tap)
        tap?.with { $0.begin(request) }
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
        if let tap { tap.sent(headIn: &framed) }
    }

    /// Keeps content that goes upstream.
    @inline(never)
    func tapBody(_ content: Span<UInt8>) { tap?.with { $0.sent(content) } }

    /// As above, with what stands in `buffered` in front of it.
    @inline(never)
    func tapSent(_ content: Span<UInt8>) {
        guard let tap else { return }
        if !buffered.isEmpty { tap.sent(bodyIn: &buffered) }
        if !content.isEmpty { tap.with { $0.sent(content) } }
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
