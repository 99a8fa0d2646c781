public import EventLoop
internal import HTTPWire
internal import Octets

/// One event loop with everything that lives on it: listeners, client connections, upstream pools, free lists, the log.
///
/// A connection never leaves its worker, so nothing here is locked. All workers share the immutable settings.
public final class Worker {
    public let loop: EventLoop
    let wireLimits = WireLimits()
    /// What new exchanges are served by.
    private(set) var current: Generation
    let clock: Clock
    let log: AccessLog
    /// What the proxy itself has to say, apart from the access log.
    let logger = OperationalLog.logger
    var counters = Counters()
    let resolver: Resolver
    var clientTimes: ClientTimes { current.clientTimes }
    private var listeners: [Listener] = []

    /// The open client connections; each knows its place, so that leaving costs one swap.
    private var connections: [DownstreamConnection] = []
    private(set) var isDraining = false
    private var onDrained: (() -> Void)?
    private var graceTimer: Timer?

    private var freeExchanges: [Exchange] = []
    private var requestIDs = RequestIDGenerator()

    /// Objects of one kind that a free list keeps at most; the rest is given back to the allocator.
    private static let freeListLimit = 256

    /// Connections that may wait to be accepted; the system caps it (`net.core.somaxconn`).
    private static let backlog = 1024

    /// Makes a worker on `loop`. No port is opened before `listen`.
    public init(loop: EventLoop, settings: ProxySettings) throws(ServerError) {
        self.loop = loop
        self.clock = Clock(loop: loop)
        self.log = try AccessLog(loop: loop, target: settings.accessLog)
        let upstreams = counters.upstreams
        let resolver: Resolver
        do {
            resolver = try Resolver(loop: loop)
        } catch {
            throw .loop(reason: "\(error)")
        }
        self.resolver = resolver
        self.current = Generation(
            settings: settings,
            pools: settings.upstreams.map {
                UpstreamPool(
                    loop: loop, resolver: resolver, settings: $0, wireLimits: WireLimits(),
                    tally: upstreams.tally(of: $0.name), workers: settings.workers)
            })
    }

    /// Opens the listeners of the settings and returns the addresses that were bound, with real port numbers. With
    /// `sharedPort` other workers can listen on the same addresses, and the kernel spreads connections over all.
    public func listen(sharedPort: Bool) throws(ServerError) -> [SocketAddress] {
        for address in current.settings.listen {
            guard let socketAddress = SocketAddress.parse(address.description) else {
                throw .listen(address.description, reason: "it is not an address")
            }
            try open(socketAddress, sharedPort: sharedPort)
        }
        return listeners.map(\.address)
    }

    /// Opens listeners on addresses that another worker listens on already. Unix sockets can't be shared: they stay with
    /// the worker that has them.
    func listen(on addresses: [SocketAddress]) throws(ServerError) {
        for address in addresses where !address.isUnix { try open(address, sharedPort: true) }
    }

    private func open(_ address: SocketAddress, sharedPort: Bool) throws(ServerError) {
        do throws(LoopError) {
            let listener = try Listener(
                loop: loop, address: address, reusePort: sharedPort && !address.isUnix, backlog: Worker.backlog
            ) { [unowned self] descriptor, peer in
                accept(descriptor, from: peer)
            }
            listeners.append(listener)
        } catch {
            throw .listen(address.description, reason: error.description)
        }
    }

    private func accept(_ descriptor: Int32, from peer: SocketAddress) {
        let connection = DownstreamConnection(descriptor, peer: peer, worker: self)
        connection.listIndex = connections.count
        connections.append(connection)
    }

    /// Forgets a closed connection.
    func remove(_ connection: DownstreamConnection) {
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.listIndex] = last
            last.listIndex = connection.listIndex
        }
        finishDrainIfIdle()
    }

    /// How the upstreams are, as this worker sees them. To be asked on its loop.
    public var upstreams: [UpstreamSnapshot] { current.pools.map { $0.snapshot() } }

    // MARK: Free lists

    func takeExchange() -> Exchange {
        freeExchanges.popLast() ?? Exchange(worker: self)
    }

    func recycle(_ exchange: Exchange) {
        exchange.reset()
        if freeExchanges.count < Self.freeListLimit { freeExchanges.append(exchange) }
    }

    func nextRequestID(into output: inout [UInt8]) { requestIDs.next(into: &output) }

    // MARK: Drain

    /// Stops accepting, closes idle connections, lets the exchanges in flight end, and then calls `done` once: when no
    /// connection is left, or after the grace period.
    public func drain(_ done: @escaping () -> Void) {
        guard !isDraining else { return }
        isDraining = true
        onDrained = done
        for listener in listeners { listener.close() }
        listeners.removeAll()
        let timer = Timer(loop: loop) { [unowned self] in endDrain() }
        timer.set(after: current.settings.grace.nanoseconds)
        graceTimer = timer
        // Closing removes a connection from the array, hence the copy.
        for connection in Array(connections) { connection.closeIfIdle() }
        finishDrainIfIdle()
    }

    private func finishDrainIfIdle() {
        if isDraining, connections.isEmpty { endDrain() }
    }

    private func endDrain() {
        guard let done = onDrained else { return }
        onDrained = nil
        graceTimer?.cancel()
        log.flush()
        // They hold the worker: without this none of them would ever be freed.
        for connection in connections { connection.close() }
        for pool in current.pools { pool.retire() }
        freeExchanges.removeAll()
        done()
    }
}
