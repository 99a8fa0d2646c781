public import EventLoop
internal import HTTPWire
internal import Octets

/// One event loop with everything that lives on it: listeners, client connections, upstream pools, free lists, the log.
///
/// A connection never leaves its worker, so nothing here is locked. All workers share the immutable settings.
public final class Worker {
    public let loop: EventLoop
    /// What heads and chunk framing may be.
    var wireLimits: WireLimits { current.admission.head }
    /// What new exchanges are served by.
    private(set) var current: Generation {
        // The parser of a free exchange holds the limits that it was made with.
        didSet { freeExchanges.removeAll() }
    }
    let clock: Clock
    let log: AccessLog
    /// What the proxy itself has to say, apart from the access log.
    let logger = OperationalLog.logger
    var counters = Counters()
    let resolver: Resolver
    var clientTimes: ClientTimes { current.clientTimes }
    /// The listeners, and why they don't accept.
    var gate = ListenerGate()
    /// What all workers count together.
    let shared: SharedAdmission
    /// What admission remembers besides the connections; see Worker+Admission.swift.
    var admission = AdmissionState()

    /// The open client connections; each knows its place, so that leaving costs one swap.
    private(set) var connections: [DownstreamConnection] = []
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
    /// - Parameter shared: that of the other workers of the process.
    public init(
        loop: EventLoop, settings: ProxySettings, shared: SharedAdmission = SharedAdmission()
    ) throws(ServerError) {
        self.loop = loop
        self.shared = shared
        self.clock = Clock(loop: loop)
        self.log = try AccessLog(loop: loop, target: settings.accessLog)
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
                UpstreamPool(loop: loop, resolver: resolver, settings: $0, wireLimits: WireLimits())
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
        return gate.listeners.map(\.address)
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
            listener.onShortage = { [unowned self] in ranShort() }
            gate.add(listener)
        } catch {
            throw .listen(address.description, reason: error.description)
        }
    }

    private func accept(_ descriptor: Int32, from peer: SocketAddress) {
        let client: ClientKey?
        switch admit(descriptor, from: peer) {
        case .refused: return
        case .admitted(let key): client = key
        }
        let connection = DownstreamConnection(descriptor, peer: peer, worker: self)
        connection.client = client
        connection.listIndex = connections.count
        connections.append(connection)
        if connections.count > current.admission.relief { relieve(keeping: connection) }
    }

    /// Forgets a closed connection.
    func remove(_ connection: DownstreamConnection) {
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.listIndex] = last
            last.listIndex = connection.listIndex
        }
        if let client = connection.client { shared.leave(client) }
        if gate.reasons.contains(.connections) { resumeIfRoom() }
        finishDrainIfIdle()
    }

    // MARK: Free lists

    func takeExchange() -> Exchange {
        freeExchanges.popLast() ?? Exchange(worker: self)
    }

    func recycle(_ exchange: Exchange) {
        if exchange.isCounted { shared.endRequest() }
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
        gate.close()
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
        freeExchanges.removeAll()
        done()
    }
}
