public import EventLoop
internal import Gateway
internal import HTTPWire
internal import Logging
internal import Octets

/// One event loop with everything that lives on it: listeners, client connections, upstream pools, free lists, the log.
///
/// A connection never leaves its worker, so nothing here is locked. All workers share the immutable settings.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a worker, and nothing that is called while such a property is changed comes
/// back to it (docs/decisions/0007).
public final class Worker {
    public let loop: EventLoop
    /// What heads and chunk framing may be.
    var wireLimits: WireLimits { current.admission.head }
    /// What new exchanges are served by.
    private(set) var current: ConfigurationSnapshot {
        didSet {
            // The parser of a free reader holds the limits that it was made with.
            freeReaders.removeAll()
            settingsNumber += 1
        }
    }
    /// Tells `current` from those before it, for who holds something of it and doesn't hold itself.
    @safe @exclusivity(unchecked) private(set) var settingsNumber = 0
    let clock: Clock
    private(set) var log: AccessLog
    /// What the console keeps of exchanges, where there is one: `keepsExchanges`.
    @safe @exclusivity(unchecked) var history: ExchangeHistory
    private(set) var keepsExchanges: Bool
    private var histories = 0
    /// Whether an exchange that ends is more than counted and logged.
    private var isWatching: Bool
    /// Makes spans of the exchanges; nil: none are made.
    private(set) var tracer: Tracer?
    var isTracing: Bool { tracer != nil }
    /// Says which exchanges' spans they are.
    @safe @exclusivity(unchecked) var traceSampler: TraceSampler
    /// Those of earlier settings, until what they hold is sent.
    private var retiredTracers: [Tracer] = []
    /// What the proxy itself has to say, apart from the access log.
    let logger = OperationalLog.logger
    @safe @exclusivity(unchecked) var counters: Counters
    let coders = CoderPool()
    /// What is counted of requests, for `/metrics`.
    let requests = RequestCounters()
    /// Whether what is measured is seen: the access log, the admin port, or spans.
    private(set) var isMeasuring: Bool
    private let isCounting: Bool
    let resolver: Resolver
    /// What senders of webhooks keep on servers of their own.
    let fetches: SenderFetches
    /// What copies of requests share.
    let copies: ShadowServices
    var clientTimes: ClientTimes { current.clientTimes }
    /// The listeners, and why they don't accept.
    var gate = ListenerGate()
    /// Where listeners have been left that may still have connections for us: each address once for each of its sockets.
    private var closing: [ListenAddress] = []
    /// What all workers count together.
    let shared: SharedAdmission
    /// What admission remembers besides the connections; see Worker+Admission.swift.
    var admission = AdmissionState()
    /// What this worker's bodies hold of the process' memory, and who waits for some.
    let memory: MemoryAllowance
    let spools: SpoolStore
    private(set) var memoryQueue: MemoryQueue!
    /// The pictures that requests wait for.
    let pictures: PictureQueue
    /// How short memory is: 0 to 3, see `MemoryBudget.pressure`.
    var pressure: Int { memory.pressure }

    /// The open client connections; each knows its place, so that leaving costs one swap.
    @safe @exclusivity(unchecked) private(set) var connections: [any ClientConnection] = []
    /// Whether every response says that its connection ends.
    private(set) var isDraining = false
    /// Whether connections without a request are closed.
    private(set) var isClosingIdle = false
    /// How long such a connection is kept: `LifecycleSettings.drainIdle` in nanoseconds.
    private(set) var drainIdleTime: UInt64 = 0
    /// Connections that were still open when the grace time was over.
    private(set) var connectionsCut = 0
    private var onDrained: (() -> Void)?
    private var isHurried = false
    private var graceTimer: Timer?

    /// What this worker shares with the others of the process.
    let budgets: ProcessBudgets
    /// Which of them it is.
    private let number: Int

    @safe @exclusivity(unchecked) private var freeExchanges: [Exchange] = []
    @safe @exclusivity(unchecked) private var freeReaders: [RequestReader] = []
    let http2Spares = HTTP2Spares()
    private var freeProcessMemory: [ProcessMemory] = []
    @safe @exclusivity(unchecked) private var requestIDs = RequestIDGenerator()

    /// Free exchanges at most, and as many free readers, so that a thousand connections can ask at once and none is made anew.
    /// The allocator gets the others back.
    private static let freeExchangeLimit = 1024
    /// So many of them keep `Exchange.keptCapacity` in each buffer, the others what an ordinary head needs.
    private static let ampleExchangeLimit = 256
    /// Memories of calls with room for a body that waits whole, 128 KiB a buffer.
    private static let ampleProcessMemories = 16

    /// Makes a worker on `loop`. No port is opened before `listen`.
    public convenience init(loop: EventLoop, settings: ProxySettings) throws(ServerError) {
        let shared = SharedAdmission()
        try self.init(
            loop: loop, settings: settings, shared: shared,
            logSink: try LogSink.of(settings.accessLog, losses: shared.logLosses))
    }

    /// As above, with what workers of one process share: budgets and the counts of admission, which the one that is given none
    /// makes, and the log; nil: nothing is logged. `number` says from 0 on which one it is: limits are shared out by it.
    init(
        loop: EventLoop, settings: ProxySettings, number: Int = 0, budgets: ProcessBudgets? = nil,
        shared: SharedAdmission = SharedAdmission(), logSink: LogSink?
    ) throws(ServerError) {
        self.loop = loop
        self.number = number
        self.shared = shared
        let own = if let budgets { budgets } else { try ProcessBudgets(settings.memory) }
        memory = MemoryAllowance(own.memory)
        memory.counters.tellsBudget = budgets == nil
        spools = SpoolStore(quota: own.spool, memory: memory)
        pictures = PictureQueue(loop: loop, pool: own.imageThreads, memory: memory)
        self.budgets = own
        let counters = Counters(memory: memory, spools: spools, pictures: pictures)
        self.counters = counters
        self.clock = Clock(loop: loop)
        self.log = AccessLog(loop: loop, sink: logSink, form: settings.accessLogForm)
        isCounting = settings.admin.address != nil || settings.admin.status != nil
        isMeasuring = isCounting || logSink != nil || settings.tracing != nil
        isWatching = settings.tracing != nil || settings.admin.console != nil
        keepsExchanges = settings.admin.console != nil
        history = ExchangeHistory(settings.admin.console)
        let resolver: Resolver
        do {
            resolver = try Resolver(loop: loop)
        } catch {
            throw .loop(reason: "\(error)")
        }
        self.resolver = resolver
        fetches = SenderFetches(loop: loop, resolver: resolver)
        tracer = settings.tracing.map {
            Tracer($0, loop: loop, resolver: resolver, counters: counters.tracing)
        }
        traceSampler = TraceSampler(settings.tracing)
        copies = ShadowServices(loop: loop, memory: memory, coders: coders, counters: counters.shadow)
        let share = WorkerShare(number: number, of: settings.workers)
        let spareStreams = http2Spares.streams
        self.current = ConfigurationSnapshot(
            settings: settings,
            pools: settings.upstreams.map {
                UpstreamPool(
                    $0, http2: settings.http2, spareStreams: spareStreams, loop: loop, resolver: resolver,
                    counters: counters, worker: share)
            },
            worker: number, rates: shared.rates, copies: copies)
        memoryQueue = MemoryQueue(loop: loop, memory: memory, wait: settings.memory.wait.nanoseconds) {
            [unowned self] in setAccepting($0)
        }
        // Unowned: a weak reference would make each one to the worker slower, of which each connection takes some.
        loop.onStandstill = { [unowned self] in current.pools.forEach { $0.noticeStandstill() } }
    }

    /// Opens the listeners of the settings for this worker alone, and returns the addresses that were bound, with real port
    /// numbers.
    public func listen() throws(ServerError) -> [SocketAddress] {
        let endpoints = try BoundListener.open(
            current.settings.listen, modes: current.settings.socketModes, workers: 1,
            lifecycle: current.settings.lifecycle)[0]
        listen(on: endpoints)
        return endpoints.map(\.socket.address)
    }

    /// Accepts on sockets that were opened for this worker.
    func listen(on endpoints: [BoundListener]) {
        for endpoint in endpoints {
            let address = endpoint.socket.address
            let info = ListenerInfo(
                name: address.description, port: Int(address.port), current.settings.listener(at: endpoint.name))
            let listener = Listener(loop: loop, socket: endpoint.socket) { [unowned self] descriptor, peer in
                accept(descriptor, from: peer, at: info)
            }
            listener.onShortage = { [unowned self] in ranShort() }
            gate.add(listener, endpoint.name, info)
        }
    }

    /// The addresses of unix sockets whose files are gone, so that no client finds them.
    var lostSockets: [ListenAddress] { gate.lost }

    /// Whether other files than ours stand at the paths of unix sockets.
    var hasDisplacedSockets: Bool { gate.hasDisplaced }

    /// Ends accepting where `isLeft` says so. What waits there is accepted first; `done` is called when the last of these sockets is
    /// closed.
    private func leave(_ isLeft: (ListenAddress) -> Bool, _ done: (@Sendable () -> Void)? = nil) {
        let left = gate.remove(where: isLeft)
        guard !left.isEmpty else {
            done?()
            return
        }
        closing += left.map(\.name)
        var missing = left.count
        for (name, listener) in left {
            listener.finish(after: current.settings.lifecycle.handshake.nanoseconds) { [unowned self] in
                if let index = closing.firstIndex(of: name) { closing.remove(at: index) }
                missing -= 1
                if missing == 0 { done?() }
                finishDrainIfIdle()
            }
        }
    }

    private func accept(_ descriptor: Int32, from peer: SocketAddress, at listener: ListenerInfo) {
        let tls = listener.settings.tls
        let client: ClientKey?
        switch admit(descriptor, from: peer, speaksTLS: tls != nil) {
        case .refused: return
        case .admitted(let key): client = key
        }
        let connection = DownstreamConnection(
            descriptor, peer: peer, listener: listener, tls: tls?.context, worker: self)
        connection.client = client
        connection.listIndex = connections.count
        connections.append(connection)
        if memory.pressure == 3 { memoryQueue.stopAccepting() }
        if connections.count > current.admission.relief { relieve(keeping: connection) }
    }

    /// Lets new connections wait in the backlog while memory is short, or takes them again.
    func setAccepting(_ isAccepting: Bool) {
        if isAccepting { gate.resume(.pressure) } else { gate.pause(.pressure) }
    }

    /// Puts a connection into the place of one that has found out that its client speaks something else.
    func replace(_ connection: any ClientConnection, by other: any ClientConnection) {
        other.client = connection.client
        other.listIndex = connection.listIndex
        connections[connection.listIndex] = other
    }

    /// Forgets a closed connection.
    func remove(_ connection: any ClientConnection) {
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.listIndex] = last
            last.listIndex = connection.listIndex
        }
        if let client = connection.client { shared.leave(client) }
        if gate.reasons.contains(.connections) { resumeIfRoom() }
        finishDrainIfIdle()
    }

    /// How the upstreams are, as this worker sees them. To be asked on its loop.
    public var upstreams: [UpstreamSnapshot] { current.pools.map { $0.snapshot() } }

    /// This worker's part of limits that the settings give the process.
    var share: WorkerShare { WorkerShare(number: number, of: current.settings.workers) }

    // MARK: Free lists

    func takeExchange() -> Exchange {
        freeExchanges.popLast() ?? Exchange(worker: self)
    }

    func recycle(_ exchange: Exchange) {
        if exchange.isCounted { shared.endRequest() }
        exchange.reset()
        guard freeExchanges.count < Self.freeExchangeLimit else { return }
        if freeExchanges.count >= Self.ampleExchangeLimit { exchange.shrink() }
        freeExchanges.append(exchange)
    }

    func takeReader() -> RequestReader {
        freeReaders.popLast() ?? RequestReader(current)
    }

    func recycle(_ reader: RequestReader) {
        reader.reset()
        if reader.lentOutput.capacity > Exchange.keptCapacity { loop.recycle(&reader.lentOutput) }
        // One that was made before a reload has the limits of then.
        guard reader.home === current, freeReaders.count < Self.freeExchangeLimit else { return }
        if freeReaders.count >= Self.ampleExchangeLimit { reader.lentOutput.shrink(to: Exchange.ordinaryCapacity) }
        freeReaders.append(reader)
    }

    func takeProcessMemory() -> ProcessMemory { freeProcessMemory.popLast() ?? ProcessMemory() }

    func recycle(_ memory: inout ProcessMemory) {
        guard freeProcessMemory.count < Self.ampleExchangeLimit else { return }
        let isAmple = freeProcessMemory.count < Self.ampleProcessMemories
        memory.reset(keeping: isAmple ? 2 * OutputBuffer.defaultHighWatermark : Exchange.ordinaryCapacity)
        freeProcessMemory.append(memory)
    }

    /// An exchange has ended: counts and logs it.
    func ended(_ exchange: Exchange) {
        if isCounting { requests.count(exchange, now: loop.now) }
        // The log has the trace.
        if isTracing { exchange.beginTrace() }
        log.write(exchange)
        if isWatching, keepsExchanges || exchange.trace.isSampled { endWatched(exchange) }
    }

    /// As above, where the exchange's spans are made, or the console keeps it.
    @inline(never)
    private func endWatched(_ exchange: Exchange) {
        if isTracing, exchange.trace.isSampled { tracer?.ended(exchange, exchange.trace) }
        if let tap = exchange.takeTap() {
            history.end(tap, exchange, loop, current)
        } else {
            history.missed()
        }
    }

    func nextRequestID(into output: inout [UInt8]) { requestIDs.next(into: &output) }

    // MARK: New settings

    /// Serves what begins from here on by `settings`, as a worker that is alone: it opens the new listeners itself.
    public func adopt(_ settings: ProxySettings) throws(ServerError) {
        let old = current.settings.listen
        let added = settings.listen.filter { !old.contains($0) }
        let replaced = closing + old.filter { !settings.listen.contains($0) }
        let opened = try BoundListener.open(
            added, modes: settings.socketModes, workers: 1, lifecycle: settings.lifecycle, replaced: replaced)[0]
        let isSameLog = settings.accessLog == current.settings.accessLog
        let sink = isSameLog ? log.sink : try LogSink.of(settings.accessLog, losses: shared.logLosses)
        adopt(SettingsChange(settings: settings, opened: opened, logSink: sink))
    }

    /// Serves what begins from here on by `change`. Exchanges that have begun end by the settings that they began with.
    func adopt(_ change: SettingsChange) {
        let old = current
        let settings = change.settings
        // Pools of upstreams that are the same go on with their connections and all they know.
        let share = WorkerShare(number: number, of: old.settings.workers)
        let keepsHTTP2 = settings.http2 == old.settings.http2
        let pools = settings.upstreams.map { upstream in
            old.settings.upstreams.firstIndex(of: upstream).map { old.pools[$0] }
                .flatMap { keepsHTTP2 || !$0.speaksHTTP2 ? $0 : nil }
                ?? UpstreamPool(
                    upstream, http2: settings.http2, spareStreams: http2Spares.streams, loop: loop, resolver: resolver,
                    counters: counters, worker: share,
                    inPlaceOf: old.pools.first { $0.settings.name == upstream.name })
        }
        if settings.accessLog != old.settings.accessLog || settings.accessLogForm != old.settings.accessLogForm {
            moveLog(to: change.logSink, settings)
        }
        if settings.tracing != old.settings.tracing { trace(by: settings.tracing) }
        if settings.admin.console != old.settings.admin.console {
            histories += 1
            let next = history.next
            history = ExchangeHistory(settings.admin.console, generation: histories, next: next)
            noteMeasuring()
        }
        current = ConfigurationSnapshot(
            settings: settings, pools: pools, worker: number, rates: shared.rates, copies: copies)
        history.forgetSettings()
        counters.keep(settings)
        requests.keep(Set(settings.routes.map(\.name)))
        for pool in old.pools where !pools.contains(where: { $0 === pool }) { pool.retire() }
        for shadow in old.shadows { shadow?.retire() }
        if gate.reasons.contains(.connections) { resumeIfRoom() }
        guard !isClosingIdle else { return change.opened.forEach { $0.socket.close() } }
        gate.secure(settings)
        leave({ !settings.listen.contains($0) || change.renewed.contains($0) }, change.onLeft)
        listen(on: change.opened)
    }

    private func moveLog(to sink: LogSink?, _ settings: ProxySettings) {
        log.flush()
        log = AccessLog(loop: loop, sink: sink, form: settings.accessLogForm)
        noteMeasuring()
    }

    private func noteMeasuring() {
        isMeasuring = isCounting || log.isOn || tracer != nil
        keepsExchanges = history.isOn
        isWatching = tracer != nil || keepsExchanges
    }

    /// Makes spans by `settings` from here on. Those that wait go where they would have gone.
    private func trace(by settings: TracingSettings?) {
        traceSampler = TraceSampler(settings)
        if let tracer, let settings, tracer.goesOn(by: settings) { return }
        if let old = tracer {
            // Beside a collector that is gone, each reload would leave another one.
            if retiredTracers.count >= Self.mostRetiredTracers, let oldest = retiredTracers.first { oldest.giveUp() }
            retiredTracers.append(old)
            old.retire { [unowned self, unowned old] in retiredTracers.removeAll { $0 === old } }
        }
        tracer = settings.map { Tracer($0, loop: loop, resolver: resolver, counters: counters.tracing) }
        noteMeasuring()
    }

    /// Tracers of earlier settings that may hold spans at once.
    private static let mostRetiredTracers = 4

    /// The tracer, and those that still hold spans.
    private var allTracers: [Tracer] { retiredTracers + (tracer.map { [$0] } ?? []) }

    // MARK: Drain

    /// Lets every response say that its connection ends. Connections are still accepted.
    func announceDrain() { isDraining = true }

    /// Stops accepting, closes idle connections, lets the exchanges in flight end, and then calls `done` once: when no
    /// connection is left, or after the grace period.
    /// - Parameter nanoseconds: the grace time; nil: that of the settings.
    public func drain(within nanoseconds: UInt64? = nil, _ done: @escaping () -> Void) {
        guard !isClosingIdle else { return }
        isDraining = true
        isClosingIdle = true
        drainIdleTime = current.settings.lifecycle.drainIdle.nanoseconds
        onDrained = done
        let timer = Timer(loop: loop) { [unowned self] in endDrain() }
        timer.set(after: nanoseconds ?? current.settings.grace.nanoseconds)
        graceTimer = timer
        leave { _ in true }
        // Closing removes a connection from the array, hence the copy.
        for connection in Array(connections) { connection.closeIfIdle() }
        finishDrainIfIdle()
    }

    private func finishDrainIfIdle() {
        if isClosingIdle, connections.isEmpty, closing.isEmpty { endDrain() }
    }

    /// Ends the drain now, whatever is in flight. Without one it does nothing.
    func cutDrain() {
        isHurried = true
        if onDrained == nil {
            copies.giveUp()
            for tracer in allTracers { tracer.giveUp() }
        }
        endDrain()
    }

    private func endDrain() {
        guard let done = onDrained else { return }
        onDrained = nil
        graceTimer?.cancel()
        connectionsCut = connections.count
        memoryQueue.end()
        // They hold the worker: without this none of them would ever be freed. Closing removes from the array, hence the copy.
        for connection in Array(connections) { connection.endByDrain() }
        // Behind what is said of those that were cut.
        log.end()
        for pool in current.pools { pool.retire() }
        for shadow in current.shadows { shadow?.retire() }
        freeExchanges.removeAll()
        freeReaders.removeAll()
        http2Spares.removeAll()
        // A process that was told twice to end waits for no copy, and for no collector.
        if isHurried {
            copies.giveUp()
            return done()
        }
        copies.finish(within: Self.copyTime) { [self] in
            let tracers = allTracers
            guard !tracers.isEmpty, !isHurried else { return done() }
            var left = tracers.count
            for tracer in tracers {
                tracer.finish(within: Tracer.finishTime) {
                    left -= 1
                    if left == 0 { done() }
                }
            }
        }
    }

    /// Nanoseconds that copies of requests have behind the last of those: 1 s.
    static let copyTime: UInt64 = 1_000_000_000
}

/// What a worker needs to go over to new settings.
struct SettingsChange: Sendable {
    let settings: ProxySettings
    /// Its sockets for addresses that the old settings don't have, and for those in `renewed`.
    let opened: [BoundListener]
    /// Addresses that stay and have other sockets from here on.
    var renewed: [ListenAddress] = []
    /// Where the access log goes from here on; nil: nowhere.
    let logSink: LogSink?
    /// Called on the worker's thread when it has closed its sockets for addresses that the new settings don't have, or have others for.
    var onLeft: (@Sendable () -> Void)?
}
