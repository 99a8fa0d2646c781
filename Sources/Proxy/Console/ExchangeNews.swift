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

/// What a reader is shown of it.
struct ShownNews: Sendable {
    /// The newest first.
    let exchanges: [AdminValue]
    let next: [Int: Int]
    let missed: Int

    init(_ news: ExchangeNews, _ mask: NameMask) {
        exchanges = news.exchanges.map { .object($0.members(mask)) }
        next = news.next
        missed = news.missed
    }
}

extension Worker {
    /// What it keeps of the selection since the numbers that `known` says, `limit` exchanges at most.
    func exchanges(_ selection: ExchangeSelection, since known: [Int: Int], limit: Int) -> ExchangeNews {
        var news = ExchangeNews()
        guard keepsExchanges else { return news }
        let next = history.next
        let first = known[share.number] ?? 1
        news.next[share.number] = next
        var seen = 0
        var beyond = 0
        history.forEachNewest(from: first) { tap in
            seen += 1
            guard selection.holds(tap) else { return true }
            if news.exchanges.count < limit {
                news.exchanges.append(ExchangeFacts(tap, of: share.number))
            } else {
                beyond += 1
            }
            return true
        }
        // Those at the beginning are what is kept: that there were others before is no news.
        if known[share.number] != nil { news.missed = max(0, next - first - seen) }
        // The reader's next look begins behind them.
        news.missed += beyond
        return news
    }

    /// The bodies of a route's requests that are kept whole, the newest first: 200 at most, of 2 MiB.
    func bodies(of route: String) -> [AdminServices.Body] {
        var bodies: [AdminServices.Body] = []
        var room = 2 * 1024 * 1024
        history.forEachNewest(from: 1) { tap in
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
    func exchange(_ number: Int) -> KeptExchange? { history.find(number).map { KeptExchange($0, of: share.number) } }
}

/// What a reader was told of the exchanges that end: a list at once, and then what is new.
final class ExchangeFollower {
    /// By worker, the number of the first exchange that it wasn't told.
    private(set) var known: [Int: Int] = [:]
    private var isFirst = true

    /// Nanoseconds between two looks, 250 ms.
    static let interval: UInt64 = 250_000_000

    /// - Parameters:
    ///   - list: the document of the first event.
    ///   - more: that of those behind it.
    func tell(
        _ news: ShownNews, list: (ShownNews) -> AdminValue, more: (ShownNews) -> AdminValue
    ) -> EventFeed<ShownNews>.Outcome {
        known.merge(news.next) { $1 }
        if isFirst {
            isFirst = false
            return .event("exchanges", list(news))
        }
        guard !news.exchanges.isEmpty || news.missed > 0 else { return .nothing }
        return .event("more", more(news))
    }
}
