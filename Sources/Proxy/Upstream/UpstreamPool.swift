internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Logging
internal import Octets

/// The connections of one worker to one upstream: which addresses it has, which of them are fit, idle connections to
/// reuse, and the requests that wait for one.
///
/// Choosing an address is in `UpstreamPool+Choosing.swift`, waiting in `UpstreamPool+Waiting.swift`, what is learnt about
/// the addresses in `UpstreamPool+Health.swift`.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a pool, and nothing that is called while the queue or the budget is changed comes
/// back to it (docs/decisions/0007).
final class UpstreamPool {
    let loop: EventLoop
    let resolver: Resolver
    let wireLimits = WireLimits()
    /// What is let come on connections of HTTP/2.
    let http2: HTTP2Limits
    /// The worker's streams of connections of HTTP/2 that are over, for the next ones.
    let spareStreams: HTTP2StreamSpares
    let settings: UpstreamSettings
    /// What is counted, for this pool and those of the same name before and after a reload.
    let tally: UpstreamTally
    let handshakes: TLSCounters
    let takesLeastLoaded: Bool
    /// Whether the upstream is spoken to by HTTP/2.
    let speaksHTTP2: Bool
    let idleTime: UInt64
    let connectTime: UInt64
    private let maxAge: UInt64
    /// This worker's share of the limits.
    let maxConnections: Int
    let maxRequests: Int

    private var sources: [Source] = []
    /// What the pool before this one knew of addresses that haven't turned up here, until all names have been looked up.
    private var inherited: [EndpointName: KnownHealth] = [:]
    /// The addresses as they are now.
    var endpoints: [Endpoint] = []
    /// Where the search for the next address begins: behind the one that the last request was sent to.
    var nextEndpoint = 0
    /// Where it begins once a request is sent to the address that the last search found. A search behind which nothing is sent, as there
    /// is no room, takes nobody's turn.
    var foundEndpoint = 0
    /// The address that the last search found, for the connection that has to be made because none was idle.
    var choice: Endpoint?

    /// Connections, idle ones and those being made included.
    var connections = 0
    /// Checks that are on their way, each with a connection.
    var checking = 0
    /// Connections as `maxConnections` bounds them: without those of checks, and without those that are tried to addresses known to be
    /// dead. Such an address may say nothing until their time is over, in which requests would wait, or get a 503, for its sake.
    var connectionsOfRequests: Int { connections - checking - probes.count }
    /// Requests on their way, and connections that are made for one.
    var inFlight = 0
    @safe @exclusivity(unchecked) var queue: [UpstreamWait] = []
    /// Requests that wait for the first answer to a look-up.
    var unresolved: [UpstreamWait] = []
    @safe @exclusivity(unchecked) var budget = RetryBudget()
    var isDispatching = false
    private var faultLines = LineLimit()
    var isRetired = false
    private var random: UInt64

    // Health, see UpstreamPool+Health.swift.
    let ejectionTimes: EjectionTimes
    var probes: [ConnectAttempt] = []
    var probeTimer: Timer!
    var checks: [ActiveCheck] = []

    /// What an upstream's address stands for.
    private enum Source {
        /// With the name that stands for it in TLS.
        case fixed(SocketAddress, host: String)
        case name(NameSource)
    }

    /// - Parameters:
    ///   - http2: what servers of HTTP/2 may send before it is taken.
    ///   - spareStreams: the worker's, which its clients' connections have, too: an upstream that is idle holds nothing.
    ///   - resolver: the worker's, for names without name servers of their own.
    ///   - counters: the worker's.
    ///   - worker: with whom the limits of the settings are shared.
    ///   - old: the pool that this one takes the place of, whose upstream has the same name.
    init(
        _ settings: UpstreamSettings, http2: HTTP2Limits, spareStreams: HTTP2StreamSpares, loop: EventLoop,
        resolver: Resolver, counters: Counters, worker: WorkerShare, inPlaceOf old: UpstreamPool? = nil
    ) {
        self.loop = loop
        self.http2 = http2
        self.spareStreams = spareStreams
        self.resolver = Self.resolver(of: settings, loop: loop) ?? resolver
        self.settings = settings
        self.tally = counters.upstreams.tally(of: settings.name)
        self.handshakes = counters.tls
        takesLeastLoaded =
            switch settings.balance {
            case .roundRobin: false
            case .leastRequests: true
            }
        speaksHTTP2 = settings.version == .http2
        self.idleTime = settings.idle.nanoseconds
        self.connectTime = settings.connect.nanoseconds
        self.maxAge = settings.maxAge.nanoseconds
        maxConnections = settings.maxConnections.map(worker.share) ?? UpstreamSettings.standardConnections
        maxRequests = settings.maxRequests.map(worker.share) ?? .max
        ejectionTimes = EjectionTimes(
            shortest: settings.health.passive.ejection.nanoseconds,
            longest: settings.health.passive.maximumEjection.nanoseconds)
        random = Entropy.words(1)[0] | 1
        probeTimer = Timer(loop: loop) { [unowned self] in probeTimerFired() }
        for address in settings.addresses {
            switch address {
            case .unix(let path): sources.append(.fixed(SocketAddress(unixPath: path), host: address.host))
            case .tcp(let host, let port):
                if let literal = SocketAddress.parseHost(host, port: UInt16(port)) {
                    sources.append(.fixed(literal, host: address.host))
                } else {
                    sources.append(
                        .name(NameSource(host: host, port: UInt16(port), pool: self, settings: settings.resolving)))
                }
            }
        }
        if let old { inherited = old.knownHealth(by: HealthCarryOver(from: old.settings, to: settings)) }
        sourceChanged()
        for case .name(let source) in sources { source.resolve() }
        tally.add(self)
    }

    /// One that asks the name servers of the settings; nil where they name none. When it can't be made, that is told: the
    /// system's servers may know other names than those that were written.
    private static func resolver(of settings: UpstreamSettings, loop: EventLoop) -> Resolver? {
        let servers = settings.resolving.servers.compactMap { SocketAddress.parse($0.description) }
        guard !servers.isEmpty else { return nil }
        do throws(LoopError) {
            return try Resolver(loop: loop, servers: servers)
        } catch {
            OperationalLog.logger.error(
                "upstream \(settings.name): its name servers can't be asked, those of the system are instead: \(error)")
            return nil
        }
    }

    /// What is known of its addresses, those included that haven't turned up yet, as far as that holds for the pool that takes its place.
    private func knownHealth(by rule: HealthCarryOver) -> [EndpointName: KnownHealth] {
        let before = inherited.mapValues { $0.kept(loop.now, by: rule) }
        return endpoints.reduce(into: before) { $0[$1.name] = $1.known(loop.now, by: rule) }
    }

    var names: [NameSource] {
        sources.compactMap { if case .name(let source) = $0 { source } else { nil } }
    }

    /// What nobody has asked for when all names have been looked up is too old by the next look-up.
    private func forgetInherited() {
        if !inherited.isEmpty, !names.contains(where: \.isUndecided) { inherited = [:] }
    }

    /// The addresses may have changed: keeps those that stay, with all that is known about them, and lets go of the others.
    func sourceChanged() {
        var found: [EndpointName] = []
        for source in sources {
            let (addresses, host) =
                switch source {
                case .fixed(let address, let host): ([address], host)
                case .name(let source): (source.addresses, source.host)
                }
            for address in addresses where !found.contains(where: { $0.address == address }) {
                found.append(EndpointName(address: address, host: host))
            }
        }
        guard found != endpoints.map(\.name) else {
            forgetInherited()
            return decideUnresolved()
        }
        let old = endpoints
        if old.isEmpty { nextEndpoint = Int(nextRandom() >> 33) % max(1, found.count) }
        endpoints = found.map { name in
            old.first { $0.name == name } ?? Endpoint(name, known: inherited.removeValue(forKey: name))
        }
        forgetInherited()
        for endpoint in old where !endpoints.contains(where: { $0 === endpoint }) {
            endpoint.isGone = true
            closeIdle(of: endpoint)
        }
        choice = nil
        updateChecks()
        armProbes()
        decideUnresolved()
        dispatchLater()
    }

    // MARK: Idle connections

    /// An idle connection to the address whose turn it is, or of HTTP/2 a stream of one that has room; or nil. Counts as a request.
    ///
    /// What has come in since the loop last looked makes a connection useless (docs/rules.md F19): the answer to nobody's
    /// request would become that of the next one, and a request written behind a FIN gets none.
    func takeIdle() -> UpstreamSide? {
        budget.earn()
        guard queue.isEmpty, inFlight < maxRequests, let endpoint = choose() else {
            choice = nil
            return nil
        }
        choice = endpoint
        guard let connection = idleConnection(of: endpoint) else { return nil }
        noteSending(to: endpoint)
        return connection
    }

    func idleConnection(of endpoint: Endpoint) -> UpstreamSide? {
        while let connection = endpoint.idle.popLast() {
            if connection.isUsable { return connection }
            connection.close()
        }
        return endpoint.shared.isEmpty ? nil : endpoint.roomyConnection?.take()
    }

    /// Keeps a connection for the next exchange, or closes it when enough are kept.
    func put(_ connection: UpstreamConnection) {
        let endpoint = connection.endpoint
        guard !isRetired, !endpoint.isGone, !endpoint.reuse.isPaused(loop.now),
            idleOfHTTP1 < settings.maxIdlePerLoop || !queue.isEmpty
        else {
            return connection.close()
        }
        endpoint.idle.append(connection)
        connection.becomeIdle(for: idleTime)
        if !queue.isEmpty { dispatchLater() }
    }

    /// Connections that serve nobody.
    var idleCount: Int { endpoints.reduce(0) { $0 + $1.idleCount } }

    /// Those of HTTP/1, which are kept one for each request that may come.
    private var idleOfHTTP1: Int {
        if endpoints.count == 1 { return endpoints[0].idle.count }
        return endpoints.reduce(0) { $0 + $1.idle.count }
    }

    /// Forgets an idle connection that has ended.
    func remove(_ connection: UpstreamConnection) {
        // The list is short (`maxIdlePerLoop`), and the one that ends is mostly among the oldest, at the front.
        let endpoint = connection.endpoint
        if let index = endpoint.idle.firstIndex(where: { $0 === connection }) { endpoint.idle.remove(at: index) }
    }

    func closeIdle(of endpoint: Endpoint) {
        let idle = endpoint.idle
        endpoint.idle = []
        for connection in idle { connection.close() }
        for connection in endpoint.shared { connection.drain() }
    }

    /// The process has stood still, which no timer counts: names whose time is over are looked up again, and idle connections that have
    /// become too old meanwhile are closed.
    func noticeStandstill() {
        for source in names { source.noticeStandstill() }
        for endpoint in endpoints {
            let overdue = endpoint.idle.filter(\.isOverdue)
            endpoint.idle.removeAll(where: \.isOverdue)
            for connection in overdue { connection.close() }
            for connection in endpoint.shared where connection.isOverdue { connection.close() }
        }
    }

    // MARK: Counting

    /// A connection begins to be made.
    func opened(_ endpoint: Endpoint) {
        connections += 1
        endpoint.connections += 1
    }

    /// A connection is closed, or was not made.
    func closed(_ endpoint: Endpoint) {
        connections -= 1
        endpoint.connections -= 1
        if !queue.isEmpty { dispatchLater() }
    }

    /// A request has a connection.
    func began(on endpoint: Endpoint) {
        inFlight += 1
        endpoint.inFlight += 1
    }

    /// It has none any more.
    func ended(on endpoint: Endpoint) {
        inFlight -= 1
        endpoint.inFlight -= 1
        if !queue.isEmpty { dispatchLater() }
    }

    /// When a connection made now is too old, and how many requests it may carry: up to a tenth less than the settings say.
    func lifeOfConnection() -> (until: UInt64, requests: Int) {
        let part = Int(truncatingIfNeeded: nextRandom() & 0xFF)
        let requests = settings.requestsPerConnection
        return (
            loop.now + maxAge - maxAge / 10 / 256 * UInt64(part), max(1, requests - requests * part / 2560)
        )
    }

    /// A number for spreading things, from no good source (Marsaglia's xorshift64).
    func nextRandom() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }

    /// Tells the operator.
    func tell(_ text: String) {
        OperationalLog.logger.warning("upstream \(settings.name): \(text)")
    }

    /// Tells the operator that something is well again.
    func tell(recovery text: String) {
        OperationalLog.logger.notice("upstream \(settings.name): \(text)")
    }

    /// Tells the operator of a connection of HTTP/2 that was ended because of what its server sent.
    func tellFault(of endpoint: Endpoint, _ fault: String) {
        guard let others = faultLines.next(loop.now) else { return }
        tell("a connection of HTTP/2 with \(endpoint.label) was ended: \(fault)\(others)")
    }

    // MARK: The end

    /// The settings have no such upstream any more, or the worker ends: closes idle connections, stops look-ups and checks.
    /// Requests in flight come to their end and take their connections along. Those that wait are still served.
    func retire() {
        guard !isRetired else { return }
        for source in names where unresolved.isEmpty || !source.isUndecided { source.stop() }
        isRetired = true
        probeTimer.cancel()
        for probe in probes { probe.cancel() }
        probes = []
        for check in checks { check.stop() }
        checks = []
        for endpoint in endpoints { closeIdle(of: endpoint) }
    }
}
