internal import EventLoop
internal import Gateway

/// What workers keep of exchanges, as far as a reader doesn't know it yet.
struct ExchangeNews: Sendable {
    /// The newest first.
    var exchanges: [ExchangeFacts] = []
    /// By worker, the number of the next exchange that ends.
    var next: [Int: Int] = [:]
    /// How many there were that nobody can be shown any more, or that were too many.
    var missed = 0

    /// Exchanges that one document shows at most besides those at the beginning.
    static let limit = 200

    /// Adds another worker's.
    mutating func merge(_ other: ExchangeNews, limit: Int) {
        next.merge(other.next) { $1 }
        missed += other.missed
        exchanges = (exchanges + other.exchanges).sorted { $0.endedAt > $1.endedAt }
        if exchanges.count > limit {
            missed += exchanges.count - limit
            exchanges.removeLast(exchanges.count - limit)
        }
    }
}

extension Worker {
    /// What it keeps of the selection since the numbers that `known` says, `limit` exchanges at most.
    func exchanges(_ selection: ExchangeSelection, since known: [Int: Int], limit: Int) -> ExchangeNews {
        var news = ExchangeNews()
        guard let history else { return news }
        let first = known[share.number] ?? 1
        news.next[share.number] = history.next
        var seen = 0
        history.forEachNewest(from: first) { tap in
            seen += 1
            if news.exchanges.count < limit, selection.holds(tap) {
                news.exchanges.append(ExchangeFacts(tap, of: share.number))
            }
            return true
        }
        // Those at the beginning are what is kept: that there were others before is no news.
        if known[share.number] != nil { news.missed = max(0, history.next - first - seen) }
        return news
    }

    /// The bodies of a route's requests that are kept whole, the newest first: 200 at most, of 2 MiB.
    func bodies(of route: String) -> [AdminServices.Body] {
        var bodies: [AdminServices.Body] = []
        var room = 2 * 1024 * 1024
        history?.forEachNewest(from: 1) { tap in
            guard tap.route?.name == route else { return true }
            let kept = KeptCopy(tap.fromClient)
            guard kept.isWhole, kept.count > 0, let type = kept.field("content-type"),
                let decoded = kept.decoded(limit: room), decoded.isWhole
            else { return true }
            room -= decoded.bytes.count
            if room >= 0 { bodies.append(.init(type: type, bytes: decoded.bytes)) }
            return room > 0 && bodies.count < 200
        }
        return bodies
    }

    /// One of them, whole.
    func exchange(_ number: Int) -> KeptExchange? { history?.find(number).map { KeptExchange($0, of: share.number) } }
}

/// The exchanges that end as events, for one reader.
final class ConsoleFeed {
    private let events: AdminEvents
    private let limit: Int
    private let look: ([Int: Int], @escaping (ExchangeNews, _ missing: Int) -> Void) -> Void
    private let show: (ExchangeNews, _ missing: Int, _ isFirst: Bool) -> AdminValue
    private let loop: EventLoop
    private var timer: Timer!
    private var isLooking = false
    private var known: [Int: Int] = [:]
    private var isFirst = true
    private var toldAt: UInt64 = 0

    /// Nanoseconds between two looks, 250 ms, and without an event until a sign is sent, 15 s.
    private static let interval: UInt64 = 250_000_000
    private static let signTime: UInt64 = 15_000_000_000

    /// - Parameters:
    ///   - look: gathers what there is since the numbers, and says how many workers were silent.
    ///   - show: the document of an event.
    init(
        _ events: AdminEvents, limit: Int, loop: EventLoop,
        look: @escaping ([Int: Int], @escaping (ExchangeNews, _ missing: Int) -> Void) -> Void,
        show: @escaping (ExchangeNews, _ missing: Int, _ isFirst: Bool) -> AdminValue
    ) {
        self.events = events
        self.limit = limit
        self.loop = loop
        self.look = look
        self.show = show
        timer = Timer(loop: loop) { [unowned self] in tick() }
        tick()
    }

    private func tick() {
        timer.set(after: Self.interval)
        guard !isLooking, events.hasRoom else { return }
        isLooking = true
        look(known) { [weak self] news, missing in self?.take(news, missing) }
    }

    private func take(_ news: ExchangeNews, _ missing: Int) {
        isLooking = false
        // What has no room now is looked for again.
        guard events.hasRoom else { return }
        known.merge(news.next) { $1 }
        if isFirst {
            isFirst = false
            toldAt = loop.now
            events.send("exchanges", show(news, missing, true))
        } else if !news.exchanges.isEmpty || news.missed > 0 {
            toldAt = loop.now
            events.send("more", show(news, missing, false))
        } else if loop.now &- toldAt >= Self.signTime {
            toldAt = loop.now
            events.sendSign()
        }
    }
}
