public import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

/// One event loop with everything that lives on it: listeners, client connections, upstream pools, free lists, the log.
///
/// A connection never leaves its worker, so nothing here is locked. All workers share the immutable settings.
public final class Worker {
    public let loop: EventLoop
    let settings: ProxySettings
    let wireLimits = WireLimits()
    let routes: RouteTable
    let clientTimes: ClientTimes
    private let routeTimes: [RouteTimes]
    let clock: Clock
    let pools: [UpstreamPool]
    let log: AccessLog
    let resolver: Resolver
    private var listeners: [Listener] = []

    /// The open client connections; each knows its place, so that leaving costs one swap.
    private var connections: [DownstreamConnection] = []
    private(set) var isDraining = false
    private var onDrained: (() -> Void)?
    private var graceTimer: Timer?

    private var freeExchanges: [Exchange] = []
    /// Conversions that are ready for another body, by the route's index.
    private var freeConversions: [[Conversion]]
    /// The same of responses, by the route's index and the rule's.
    private var freeResponseConversions: [[[Conversion]]]
    private var requestIDs = RequestIDGenerator()

    /// Objects of one kind that a free list keeps at most; the rest is given back to the allocator.
    private static let freeListLimit = 256

    /// Connections that may wait to be accepted; the system caps it (`net.core.somaxconn`).
    private static let backlog = 1024

    /// Makes a worker on `loop`. No port is opened before `listen`.
    public init(loop: EventLoop, settings: ProxySettings) throws(ServerError) {
        self.loop = loop
        self.settings = settings
        self.routes = RouteTable(settings.routes)
        self.clientTimes = ClientTimes(settings.client)
        self.routeTimes = settings.routes.map { RouteTimes($0.timeouts) }
        self.clock = Clock(loop: loop)
        self.log = try AccessLog(loop: loop, target: settings.accessLog)
        let resolver: Resolver
        do {
            resolver = try Resolver(loop: loop)
        } catch {
            throw .loop(reason: "\(error)")
        }
        self.resolver = resolver
        self.pools = settings.upstreams.map {
            UpstreamPool(loop: loop, resolver: resolver, settings: $0, wireLimits: WireLimits())
        }
        self.freeConversions = Array(repeating: [], count: settings.routes.count)
        self.freeResponseConversions = settings.routes.map { Array(repeating: [], count: $0.responses.count) }
    }

    /// Opens the listeners of the settings and returns the addresses that were bound, with real port numbers. With
    /// `sharedPort` other workers can listen on the same addresses, and the kernel spreads connections over all.
    public func listen(sharedPort: Bool) throws(ServerError) -> [SocketAddress] {
        for address in settings.listen {
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

    func times(of route: Route) -> RouteTimes { routeTimes[route.index] }

    // MARK: Free lists

    func takeExchange() -> Exchange {
        freeExchanges.popLast() ?? Exchange(worker: self)
    }

    func recycle(_ exchange: Exchange) {
        exchange.reset()
        if freeExchanges.count < Self.freeListLimit { freeExchanges.append(exchange) }
    }

    /// A conversion of `rule`, reused where one is free.
    func takeConversion(
        _ rule: ConversionRule, route: Route, contentType: Span<UInt8>, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        // With one input encoding every free conversion fits; with several it is made for the one that came.
        if rule.hasOneInput, let conversion = freeConversions[route.index].popLast() {
            try conversion.restart(contentType: contentType, sources: sources)
            return conversion
        }
        return try rule.makeConversion(contentType: contentType, sources: sources)
    }

    func recycle(_ conversion: Conversion, route: Route) {
        if freeConversions[route.index].count < Self.freeListLimit / 4 {
            freeConversions[route.index].append(conversion)
        }
    }

    /// A conversion for a response of `rule`, one of `route`'s, reused where one is free.
    func takeConversion(
        _ rule: ResponseRules.Rule, _ plan: ConversionPlan, route: Route, contentType: Span<UInt8>, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        if plan.inputs.count == 1, let conversion = freeResponseConversions[route.index][rule.index].popLast() {
            try conversion.restart(contentType: contentType, sources: sources)
            return conversion
        }
        return try Conversion.make(plan: plan, contentType: contentType, sources: sources)
    }

    func recycle(_ conversion: Conversion, rule: ResponseRules.Rule, route: Route) {
        if freeResponseConversions[route.index][rule.index].count < Self.freeListLimit / 4 {
            freeResponseConversions[route.index][rule.index].append(conversion)
        }
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
        timer.set(after: settings.grace.nanoseconds)
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
