internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// What the console keeps of one message: its head, and the beginning of its body.
struct KeptMessage {
    /// As HTTP/1.1 writes it, whatever brought it. Of longer ones the beginning.
    private(set) var head = OutputBuffer()
    private(set) var body = OutputBuffer()
    /// Bytes of the body, kept or not.
    private(set) var count = 0

    /// Bytes of a head at most: as much as one of usual limits has.
    static let headLimit = 16 * 1024

    /// Keeps bytes of the head, behind those that are kept.
    mutating func keep(head text: Span<UInt8>) {
        let room = Self.headLimit - head.count
        head.append(text.extracting(0..<min(room, text.count)))
    }

    /// Keeps bytes of the body, behind those that came.
    mutating func keep(_ content: Span<UInt8>, limit: Int) {
        count += content.count
        let room = limit - body.count
        guard room > 0 else { return }
        body.append(content.extracting(0..<min(room, content.count)))
    }

    /// Keeps bytes of the body that begin at `count`: some of them may have been brought before, and not been taken. `take` says how
    /// many are.
    mutating func look(at content: Span<UInt8>, limit: Int) {
        let known = body.count - count
        guard known >= 0, known < content.count, body.count < limit else { return }
        let end = min(content.count, known + limit - body.count)
        body.append(content.extracting(known..<end))
    }

    mutating func take(_ taken: Int) { count += taken }

    /// Whether it is a request of that method.
    func has(method: [UInt8]) -> Bool {
        let text = head.span
        return text.count > method.count && text[method.count] == ASCII.space
            && text.extracting(0..<method.count).isEqual(to: method.span)
    }

    mutating func removeAll(keeping capacity: Int) {
        head.removeAll()
        body.removeAll()
        head.shrink(to: 4 * 1024)
        body.shrink(to: capacity)
        count = 0
    }
}

/// What the console keeps of one exchange: while that runs its messages, from its end on the facts, too.
///
/// It holds bytes as they are; who is shown what of them is decided when somebody looks (`ShownExchange`), so that an exchange which
/// nobody looks at costs copies and no more.
final class ExchangeTap {
    var fromClient = KeptMessage()
    var toUpstream = KeptMessage()
    var fromUpstream = KeptMessage()
    var toClient = KeptMessage()
    let limit: Int
    /// The generation of the history that it is of: new settings bring another one.
    let generation: Int

    /// The code of the problem that we answered with.
    var code: String?
    var upstreamStatus = 0
    /// The exchange that this one is a replay of, by the console's id.
    var original: String?

    // Since its end.
    /// The exchange's number in its worker's history.
    var number = 0
    /// Milliseconds since 1970.
    private(set) var endedAt = 0
    private(set) var requestID = OutputBuffer()
    private(set) var record = ExchangeRecord()
    private(set) var time: UInt64 = 0
    private(set) var route: Route?
    private(set) var upstream: String?
    private(set) var upstreamAddress: SocketAddress?
    private(set) var client: SocketAddress?
    private(set) var peer: SocketAddress?
    private(set) var port = 0
    private(set) var isSecure = false
    private(set) var version = MessageVersion.http1_1
    private(set) var input: BodyEncoding?
    private(set) var output: BodyEncoding?

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
        let worker = exchange.worker
        self.number = number
        endedAt = worker.loop.wallClockMilliseconds
        requestID.removeAll()
        requestID.append(exchange.requestID.span)
        record = exchange.record
        time = worker.loop.now &- exchange.record.startedAt
        route = exchange.route
        if let route = exchange.route, exchange.record.attempts > 0, let snapshot = exchange.snapshot {
            upstream = snapshot.upstreamName(of: route)
        }
        upstreamAddress = exchange.upstreamAddress
        client = exchange.client
        if let downstream = exchange.downstream {
            peer = downstream.peer
            port = downstream.listener.port
            isSecure = downstream.isSecure
        }
        version = exchange.request.version
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            input = transcoder.conversion?.inputEncoding
            output = transcoder.rule?.conversion?.plan.output
        }
    }

    /// Makes it ready for another exchange.
    func reset() {
        fromClient.removeAll(keeping: limit)
        toUpstream.removeAll(keeping: limit)
        fromUpstream.removeAll(keeping: limit)
        toClient.removeAll(keeping: limit)
        code = nil
        upstreamStatus = 0
        original = nil
        record = ExchangeRecord()
        route = nil
        upstream = nil
        upstreamAddress = nil
        client = nil
        peer = nil
        port = 0
        isSecure = false
        input = nil
        output = nil
    }
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
        // Those of a burst go back to the allocator.
        if spare.count < 16 { spare.append(old) }
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
        guard tap == nil, let tap = worker.history?.begin() else { return }
        self.tap = tap
        watchers.insert(.tap)
        tap.original = downstream?.original
        tap.begin(request)
    }

    /// Nothing was said of the exchange's end: it wasn't one.
    @inline(never)
    func dropTap() {
        guard let tap else { return }
        self.tap = nil
        worker.history?.drop(tap)
    }

    /// Takes content as `receive`, and keeps it.
    @inline(never)
    func receiveTapped(_ content: Span<UInt8>, isLast: Bool) throws(Refusal) -> Int {
        // Before it is taken: of what is refused it is of interest most.
        tap?.look(at: content)
        let taken = try take(content, isLast: isLast)
        tap?.took(taken)
        return taken
    }

    /// Keeps the head that goes upstream, which stands in `framed`.
    @inline(never)
    func tapRequestHead() {
        var head = OutputBuffer()
        swap(&head, &framed)
        tap?.toUpstream.keep(head: head.span)
        swap(&head, &framed)
    }

    /// Keeps content that goes upstream.
    @inline(never)
    func tapBody(_ content: Span<UInt8>) { tap?.sent(content) }

    /// As above, with what stands in `buffered` in front of it.
    @inline(never)
    func tapSent(_ content: Span<UInt8>) {
        var waiting = OutputBuffer()
        swap(&waiting, &buffered)
        tap?.sent(waiting.span)
        swap(&waiting, &buffered)
        tap?.sent(content)
    }

    @inline(never)
    func tapResponse(_ head: borrowing MessageHead) { tap?.responded(head) }

    /// Keeps content that has come from the upstream.
    @inline(never)
    func tapReceived(_ content: Span<UInt8>) { tap?.received(content) }

    /// Keeps content that the client gets.
    @inline(never)
    func tapAnswered(_ content: Span<UInt8>) { tap?.answered(content) }

    /// Keeps the head that the client gets: its fields, which stand in `output` from `start` on.
    @inline(never)
    func tapAnswer(_ status: Int, _ output: borrowing OutputBuffer, from start: Int) {
        var line = OutputBuffer()
        HeadWriter.statusLine(status, into: &line)
        tap?.toClient.keep(head: line.span)
        tap?.toClient.keep(head: output.span.extracting(start..<output.count))
    }
}
