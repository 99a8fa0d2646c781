internal import EventLoop
internal import HTTPWire

/// The connections of one worker to one upstream: idle ones to reuse, the last used first, and the way to new ones.
final class UpstreamPool {
    let loop: EventLoop
    let settings: UpstreamSettings
    private let resolver: Resolver
    private var idle: [UpstreamConnection] = []
    private var nextAddress = 0
    private let idleTime: UInt64
    private let connectTime: UInt64
    let wireLimits: WireLimits

    init(loop: EventLoop, resolver: Resolver, settings: UpstreamSettings, wireLimits: WireLimits) {
        self.loop = loop
        self.wireLimits = wireLimits
        self.idleTime = settings.idle.nanoseconds
        self.connectTime = settings.connect.nanoseconds
        self.resolver = resolver
        self.settings = settings
    }

    /// An idle connection, or nil.
    func takeIdle() -> UpstreamConnection? {
        idle.popLast()
    }

    /// Keeps a connection for the next exchange, or closes it when enough are kept.
    func put(_ connection: UpstreamConnection) {
        guard idle.count < settings.maxIdlePerLoop else { return connection.close() }
        idle.append(connection)
        connection.becomeIdle(for: idleTime)
    }

    /// Forgets an idle connection that has ended.
    func remove(_ connection: UpstreamConnection) {
        // The list is short (`maxIdle`), and the one that ends is nearly always among the oldest, at the front.
        if let index = idle.firstIndex(where: { $0 === connection }) { idle.remove(at: index) }
    }

    /// Opens a connection to the next of the upstream's addresses. `attempt` hears of the outcome, once, unless cancelled.
    func connect(_ attempt: ConnectAttempt) {
        let address = settings.addresses[nextAddress % settings.addresses.count]
        nextAddress &+= 1
        attempt.start(address, loop: loop, resolver: resolver, timeout: connectTime)
    }
}
