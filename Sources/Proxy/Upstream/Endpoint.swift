internal import EventLoop
internal import Gateway
internal import Octets

/// One address of an upstream as one worker sees it: its idle connections, its load, its health.
///
/// SAFETY of `@exclusivity(unchecked)`, for what each request touches: one thread uses an endpoint, and adding to a list or taking
/// from it calls nothing of ours (docs/decisions/0007).
final class Endpoint {
    let name: EndpointName
    var address: SocketAddress { name.address }
    /// The name that stands for it in TLS: that of the settings.
    var host: String { name.host }
    /// `address` as logs and metrics show it.
    let label: String
    /// Idle connections, the last used at the end.
    @safe @exclusivity(unchecked) var idle: [UpstreamConnection] = []
    /// Connections of HTTP/2 over which requests may begin, in the order in which they were made.
    var shared: [HTTP2ClientConnection] = []
    /// Requests that wait for one of those.
    var streamQueue: StreamQueue?
    /// Connections: idle ones, those in use, and those being made.
    var connections = 0
    /// Requests on their way.
    @safe @exclusivity(unchecked) var inFlight = 0
    /// Whether it isn't among the upstream's addresses any more: what is in flight ends, nothing is kept.
    var isGone = false

    /// Whether requests go here without a second thought: neither ejected, nor dead, nor failing its checks.
    private(set) var isHealthy = true
    /// Failures in a row: connections that could not be made, ended before a response, gateway errors.
    @safe @exclusivity(unchecked) var failures = 0
    /// Connections in a row that could not be made.
    private(set) var connectFailures = 0
    /// Whether connections were refused at once, so that trying costs no time.
    private(set) var failsQuickly = false
    /// Whether as many connections in a row as the settings say could not be made.
    private(set) var isDead = false
    /// The nanosecond from which a request may see whether it is well again; 0 when it isn't ejected.
    private(set) var ejectedUntil: UInt64 = 0
    /// Whether the active checks say that it is not to be used.
    private(set) var isFailingChecks = false
    /// Whether a request was let through since, whose outcome decides.
    private(set) var isProbed = false
    /// Times that it was taken out of use: that it was ejected, or came to fail its checks.
    private(set) var ejections = 0
    /// Whether its connections bear to be used again.
    @safe @exclusivity(unchecked) var reuse = ReuseHistory()
    /// What went wrong last, and the nanosecond of that; nil while nothing has.
    private(set) var lastFailure: (what: EndpointFailure, at: UInt64)?
    /// Which lines of TLS that failed are told, by the word for why.
    var tlsLines = LineLimits<String>()
    private var level: UInt64 = 0
    private var healthySince: UInt64 = 0

    /// The first connection of HTTP/2 that takes another request: so few of them are in use, and the others end.
    var roomyConnection: HTTP2ClientConnection? {
        for connection in shared where connection.hasRoom && connection.isUsable { return connection }
        return nil
    }

    /// Whether its server takes no requests of HTTP/2 for now (RFC 9113 §6.5.2): other connections would hear the same.
    var takesNoStreams: Bool { !shared.isEmpty && shared.allSatisfy(\.takesNoStreams) }

    /// Connections that serve nobody.
    var idleCount: Int { idle.count + (shared.isEmpty ? 0 : shared.reduce(0) { $0 + ($1.isIdle ? 1 : 0) }) }

    /// - Parameter known: what was known of its health before the settings of its upstream changed.
    init(_ name: EndpointName, known: KnownHealth? = nil) {
        self.name = name
        self.label = name.address.description
        guard let known else { return }
        (failures, connectFailures, failsQuickly) = (known.failures, known.connectFailures, known.failsQuickly)
        (isDead, isFailingChecks) = (known.isDead, known.isFailingChecks)
        (ejectedUntil, level, healthySince) = (known.ejectedUntil, known.level, known.healthySince)
        (ejections, reuse) = (known.ejections, known.reuse)
        lastFailure = known.lastFailure
        update()
    }

    // MARK: Health

    /// What goes on to be known of it where the settings of its upstream change, as far as that holds.
    func known(_ now: UInt64, by rule: HealthCarryOver) -> KnownHealth {
        KnownHealth(
            failures: failures, connectFailures: connectFailures, failsQuickly: failsQuickly, isDead: isDead,
            ejectedUntil: ejectedUntil, level: level, healthySince: healthySince, isFailingChecks: isFailingChecks,
            ejections: ejections, reuse: reuse, lastFailure: lastFailure
        ).kept(now, by: rule)
    }

    /// Whether a request may see if it is well again.
    func mayProbe(_ now: UInt64) -> Bool { !isFailingChecks && !isDead && ejectedUntil <= now }

    /// A request was let through to see: the next one waits `time`, unless this one brings an outcome.
    func noteProbe(_ now: UInt64, _ time: UInt64) {
        guard ejectedUntil != 0 else { return }
        ejectedUntil = max(ejectedUntil, now + time)
        isProbed = true
    }

    /// Lets no requests through for a while. Twice as long as the last time if that was not long ago.
    /// - Parameter jitter: 0 to 255, by chance: for so many 2560ths longer, so that not all workers and proxies come back at once.
    func eject(_ now: UInt64, times: EjectionTimes, jitter: UInt64) {
        if ejectedUntil == 0, now - healthySince > times.longest { level = 0 }
        let time = min(times.shortest << min(level, 16), times.longest)
        level = min(level + 1, 16)
        ejectedUntil = now + time + ((time / 10 * jitter) >> 8)
        isProbed = false
        ejections += 1
        failures = 0
        update()
    }

    /// A connection could not be made. Returns whether that was one too many.
    func noteConnectFailure(isQuick: Bool, limit: Int) -> Bool {
        connectFailures += 1
        failsQuickly = isQuick
        if limit > 0, connectFailures >= limit { isDead = true }
        return isDead
    }

    /// Something went wrong, for whoever asks why.
    func note(_ what: EndpointFailure, at time: UInt64) { lastFailure = (what, time) }

    /// A connection was made.
    func noteConnected(_ now: UInt64) {
        guard connectFailures > 0 else { return }
        connectFailures = 0
        if isDead { heal(now) }
    }

    /// A request went well.
    func heal(_ now: UInt64) {
        failures = 0
        guard !isHealthy else { return }
        isDead = false
        connectFailures = 0
        if ejectedUntil != 0 { healthySince = now }
        ejectedUntil = 0
        isProbed = false
        update()
    }

    /// The active checks have come to another view.
    func setFailingChecks(_ isFailing: Bool) {
        isFailingChecks = isFailing
        if isFailing { ejections += 1 }
        update()
    }

    private func update() {
        isHealthy = ejectedUntil == 0 && !isDead && !isFailingChecks
    }
}

/// What went wrong with an address.
enum EndpointFailure: CustomStringConvertible {
    case connecting(UpstreamFailure)
    case tls(TLSError)
    /// A status that counts as a failure.
    case status(Int)
    /// The connection ended before a response, or the request's stream did.
    case closed
    case timedOut
    case malformed
    /// A check failed, for this reason.
    case check(String)

    /// One line for a person.
    var description: String {
        switch self {
        case .connecting(let failure): Refusal.upstream(failure).detail
        case .tls(let error): "TLS failed: \(error)"
        case .status(let status): "it answered with \(status)"
        case .closed: "it closed the connection, or gave the request up, before it answered"
        case .timedOut: "it didn't answer in time"
        case .malformed: "its response can't be read"
        case .check(let reason): "a check failed: \(reason)"
        }
    }
}

/// What is known of an address' health apart from who serves it: a pool hands it on to the one that takes its place.
struct KnownHealth {
    fileprivate var failures = 0
    fileprivate var connectFailures = 0
    fileprivate var failsQuickly = false
    fileprivate var isDead = false
    fileprivate var ejectedUntil: UInt64 = 0
    fileprivate var level: UInt64 = 0
    fileprivate var healthySince: UInt64 = 0
    fileprivate var isFailingChecks = false
    fileprivate var ejections = 0
    fileprivate var reuse = ReuseHistory()
    fileprivate var lastFailure: (what: EndpointFailure, at: UInt64)?

    /// As far as it holds by that rule.
    func kept(_ now: UInt64, by rule: HealthCarryOver) -> KnownHealth {
        var kept = KnownHealth()
        kept.ejections = ejections
        if rule.isSameServer { (kept.reuse, kept.lastFailure) = (reuse, lastFailure) }
        if rule.keepsChecks { kept.isFailingChecks = isFailingChecks }
        if rule.keepsFailures { kept.failures = failures }
        if rule.keepsConnecting { (kept.connectFailures, kept.failsQuickly) = (connectFailures, failsQuickly) }
        if isDead ? rule.keepsConnecting : rule.keepsFailures {
            kept.isDead = isDead
            if ejectedUntil != 0 { kept.ejectedUntil = min(ejectedUntil, now + rule.longest) }
            (kept.level, kept.healthySince) = (level, healthySince)
        }
        return kept
    }
}

/// What makes an address of an upstream the same one as before a look-up: where it is, and for which name it stands. An
/// address that has moved to another name is another one: its connections were made, in TLS, to the name before.
struct EndpointName: Hashable {
    let address: SocketAddress
    let host: String
}

/// For how long an address is left alone, in nanoseconds.
struct EjectionTimes {
    let shortest: UInt64
    let longest: UInt64
}
