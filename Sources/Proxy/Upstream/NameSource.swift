internal import EventLoop

/// A name among an upstream's addresses: looked up again and again in the background, as its TTL says. The last good answer
/// is kept when the name servers fail.
final class NameSource {
    let host: String
    private let port: UInt16
    private unowned let pool: UpstreamPool
    private let minimum: UInt64
    private let maximum: UInt64
    private var lookUp: Resolution?
    private var timer: Timer!
    /// The nanosecond in which the name is to be looked up again, as name servers count: the timer stands still with the process.
    private var dueAt: UInt64 = 0
    /// The last good answer.
    private(set) var addresses: [SocketAddress] = []
    /// The nanosecond of the last good answer, and for how many seconds it holds.
    private(set) var answeredAt: UInt64 = 0
    private(set) var ttl = 0
    /// The nanosecond of the last one that spoke of both families, or beside which nothing was kept.
    private var wholeAt: UInt64 = 0
    /// Why the last look-up failed; nil after a good one and before the first.
    private(set) var fault: ResolveError?
    private var failures: UInt64 = 0

    /// Addresses of one name that are used at most: more are more sockets than use.
    static let limit = 32
    /// How long an answer is kept that can't be had again (docs/upstreams.md).
    static let keepTime: UInt64 = 600 * 1_000_000_000
    /// The time of one look-up, longer than c-ares takes to ask twice.
    private static let lookUpTime: UInt64 = 5_000_000_000
    /// After a failure it is tried again this soon, then twice as late each time, up to `slowestRetry` and to the time after which a good
    /// answer is asked for again; up to `slowestRetryForAny` while there is no address.
    private static let firstRetry: UInt64 = 1_000_000_000
    private static let slowestRetry: UInt64 = 15_000_000_000
    private static let slowestRetryForAny: UInt64 = 2_000_000_000

    init(host: String, port: UInt16, pool: UpstreamPool, settings: ResolvingSettings) {
        self.host = host
        self.port = port
        self.pool = pool
        self.minimum = settings.minimum.nanoseconds
        self.maximum = max(settings.maximum.nanoseconds, settings.minimum.nanoseconds)
        timer = Timer(loop: pool.loop) { [unowned self] in resolve() }
    }

    deinit { lookUp?.cancel() }

    /// Whether a first answer, good or bad, is still to come.
    var isUndecided: Bool { addresses.isEmpty && fault == nil }

    /// Looks the name up now, unless that is under way.
    func resolve() {
        guard lookUp == nil else { return }
        timer.cancel()
        lookUp = pool.resolver.resolve(host, port: port, timeout: Self.lookUpTime) { [unowned self] result, seconds in
            let isPartial = lookUp?.isPartial == true
            lookUp = nil
            switch result {
            case .success(let found): succeeded(found, seconds: seconds, isPartial: isPartial)
            case .failure(let error): failed(error)
            }
        }
    }

    func stop() {
        timer.cancel()
        lookUp?.cancel()
        lookUp = nil
    }

    /// The process has stood still, and the timer with it: what was looked up before may be too old. Where it isn't, nobody is asked: a
    /// machine that is too busy stands still now and then, and has many names.
    func noticeStandstill() {
        guard timer.isSet else { return }
        let now = pool.loop.now
        if now >= dueAt { resolve() } else { timer.set(after: dueAt - now) }
    }

    private func succeeded(_ answer: [SocketAddress], seconds: Int, isPartial: Bool) {
        if fault != nil { pool.tell(recovery: "the name \(host) is resolved again") }
        fault = nil
        failures = 0
        ttl = seconds
        // Of a family about which nobody said anything the last good answer is kept, as it is when nobody says anything at all.
        let now = pool.loop.now
        answeredAt = now
        let kept =
            isPartial && now - wholeAt <= Self.keepTime
            ? addresses.filter { known in !answer.contains { $0.isIPv6 == known.isIPv6 } } : []
        if kept.isEmpty { wholeAt = now }
        let found = answer + kept
        // What is known stays in front, so that a server that shuffles a long list doesn't make us change all the time.
        let known = addresses.filter(found.contains)
        addresses = Array((known + found.filter { !known.contains($0) }).prefix(Self.limit))
        resolveAgain(after: min(max(UInt64(max(0, seconds)) * 1_000_000_000, minimum), maximum))
        pool.sourceChanged()
    }

    private func failed(_ error: ResolveError) {
        let now = pool.loop.now
        if fault == nil {
            let result =
                addresses.isEmpty ? "it has no address" : "its last addresses are used for up to 10 min"
            pool.tell("the name \(host) can't be resolved (\(error)): \(result)")
        }
        fault = error
        failures = min(failures + 1, 8)
        if !addresses.isEmpty, now - answeredAt > Self.keepTime {
            pool.tell("the name \(host) could not be resolved for 10 min: its addresses are given up")
            addresses = []
        }
        let slowest = addresses.isEmpty ? Self.slowestRetryForAny : min(Self.slowestRetry, maximum)
        resolveAgain(after: min(Self.firstRetry << (failures - 1), slowest))
        pool.sourceChanged()
    }

    /// A pool that settings have no more use for wants the first answer, for those who wait for it, and no other.
    private func resolveAgain(after time: UInt64) {
        guard !pool.isRetired else { return }
        dueAt = pool.loop.now &+ time
        timer.set(after: time)
    }
}
