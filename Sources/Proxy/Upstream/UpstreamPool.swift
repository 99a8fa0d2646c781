internal import EventLoop
internal import HTTPWire

/// Where a new connection goes: straight to the first address that can be reached, or to whatever a name stands for.
enum UpstreamTarget {
    case addresses([SocketAddress])
    case name(String, port: UInt16)
}

/// The connections of one worker to one upstream: idle ones to reuse, the last used first, and the way to new ones.
final class UpstreamPool {
    let loop: EventLoop
    let resolver: Resolver
    let wireLimits: WireLimits
    let settings: UpstreamSettings
    private let targets: [UpstreamTarget]
    private let idleTime: UInt64
    private let connectTime: UInt64
    private var idle: [UpstreamConnection] = []
    private var isRetired = false
    /// Connections that wait for a request.
    var idleCount: Int { idle.count }
    private var nextTarget = 0
    /// What names stood for when they were last resolved, and the nanosecond until which that holds.
    private var known: [String: (addresses: [SocketAddress], until: UInt64)] = [:]

    init(loop: EventLoop, resolver: Resolver, settings: UpstreamSettings, wireLimits: WireLimits) {
        self.loop = loop
        self.resolver = resolver
        self.settings = settings
        self.wireLimits = wireLimits
        self.idleTime = settings.idle.nanoseconds
        self.connectTime = settings.connect.nanoseconds
        self.targets = settings.addresses.map(Self.target)
    }

    private static func target(of address: UpstreamAddress) -> UpstreamTarget {
        switch address {
        case .unix(let path): .addresses([SocketAddress(unixPath: path)])
        case .tcp(let host, let port):
            if let address = SocketAddress.parseHost(host, port: UInt16(port)) {
                .addresses([address])
            } else {
                .name(host, port: UInt16(port))
            }
        }
    }

    /// What new connections speak TLS by; nil: they don't.
    var tlsContext: TLSClientContext? { settings.tls?.context }

    /// An idle connection, or nil.
    ///
    /// What has come in since the loop last looked makes a connection useless (docs/rules.md F19): the answer to nobody's
    /// request would become that of the next one, and a request written behind a FIN gets none.
    func takeIdle() -> UpstreamConnection? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// Keeps a connection for the next exchange, or closes it when enough are kept.
    func put(_ connection: UpstreamConnection) {
        guard !isRetired, idle.count < settings.maxIdlePerLoop else { return connection.close() }
        idle.append(connection)
        connection.becomeIdle(for: idleTime)
    }

    /// New settings have no use for this pool: idle connections are closed, those in use when their exchanges have ended.
    /// Exchanges that have begun may still open new ones.
    func retire() {
        isRetired = true
        for connection in idle { connection.close() }
        idle.removeAll()
    }

    /// Forgets an idle connection that has ended.
    func remove(_ connection: UpstreamConnection) {
        // The list is short (`maxIdlePerLoop`), and the one that ends is mostly among the oldest, at the front.
        if let index = idle.firstIndex(where: { $0 === connection }) { idle.remove(at: index) }
    }

    /// Opens a connection for `exchange`, to the upstream's addresses in turn. It hears of the outcome from the loop.
    func connect(for exchange: Exchange) -> ConnectAttempt {
        let index = nextTarget % targets.count
        let attempt = ConnectAttempt(
            exchange: exchange, pool: self, endpoint: settings.addresses[index].host, timeout: connectTime)
        var target = targets[index]
        nextTarget &+= 1
        if case .name(let host, _) = target, let entry = known[host], entry.until > loop.now {
            let first = nextTarget % entry.addresses.count
            target = .addresses(Array(entry.addresses[first...] + entry.addresses[..<first]))
        }
        attempt.start(target)
        return attempt
    }

    /// Keeps the answer to a look-up for as long as it says. The names are those of the settings, so this stays small.
    func remember(_ addresses: [SocketAddress], of host: String, seconds: Int) {
        guard !addresses.isEmpty, seconds > 0 else { return }
        known[host] = (addresses, loop.now + UInt64(seconds) * 1_000_000_000)
    }
}
