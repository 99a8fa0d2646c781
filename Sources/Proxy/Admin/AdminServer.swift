internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// What operators and their tools ask: a small HTTP/1.1 server on the main thread's loop, beside its worker, behind two doors.
/// One takes commands, the other shows how things stand and no more.
///
/// No answer waits for a worker that is stuck: after a second it tells what the others said. docs/admin.md says what can be
/// asked.
final class AdminServer {
    /// Set before the loop runs.
    weak var control: ServerControl?
    let services: AdminServices
    /// By which names the port for commands may be called, besides addresses and `localhost`.
    var hosts: [HostPattern]
    /// What the console keeps; nil: there is none.
    var console: ConsoleSettings? {
        didSet {
            guard console != oldValue else { return }
            if oldValue == nil { tellConsole() }
            // What was kept by the old settings is forgotten: who follows it begins anew, and learns of the new ones.
            for feed in feeds.values where feed.isOfConsole { feed.events.end() }
        }
    }
    /// Who has it sees what the console keeps, and sends it again.
    let token = ConsoleToken()
    let loop: EventLoop
    /// Masks what the console shows.
    let aside: AsideWork
    /// Writes metrics, which must not wait for the console's work.
    private let scrapes: AsideWork
    private var doors: [AdminDoor] = []
    /// Who follows the uploads, or the exchanges.
    private var feeds: [ObjectIdentifier: Feed] = [:]

    private struct Feed {
        let feed: AnyObject
        let events: AdminEvents
        /// Whether it tells what the console keeps.
        let isOfConsole: Bool
    }
    /// Requests that the console sends again.
    var replays = 0
    /// Answers that take long and are being made.
    private var readings = 0
    /// Who waits for metrics that aren't gathered yet, and whether others are being gathered and written.
    private var scrapers: [(AdminResponse) -> Void] = []
    private var isScraped = false
    /// What each worker counted when it answered last, or at its end: a worker that is silent, or has ended, must not make
    /// sums go down.
    private var lastSamples: [ObjectIdentifier: MetricSamples] = [:]

    /// Nanoseconds that an answer waits for the workers, 1 s.
    static let gatherTime: UInt64 = 1_000_000_000
    /// Uploads that an answer shows at most.
    static let transferLimit = 1000
    /// Readers of events at most: each costs a look at all workers, and a connection that others may need.
    static let feedLimit = 16
    /// Answers that take long, as the console's do, and are made at once.
    static let readingLimit = 16

    /// Listens on the addresses that `settings` name, beside other processes where `lifecycle` lets them, from `takePlaces` on.
    init(
        loop: EventLoop, settings: AdminSettings, lifecycle: LifecycleSettings, services: AdminServices
    ) throws(ServerError) {
        self.loop = loop
        aside = AsideWork(loop: loop, name: "recast-console")
        scrapes = AsideWork(loop: loop, name: "recast-metrics")
        self.services = services
        hosts = settings.hosts
        console = settings.console
        let places: [(ListenAddress?, SocketMode?, AdminDoor.Surface)] = [
            (settings.address, settings.mode, .commands), (settings.status, settings.statusMode, .status),
        ]
        do throws(ServerError) {
            for (address, mode, surface) in places {
                guard let address else { continue }
                doors.append(
                    try AdminDoor(loop: loop, address: address, mode: mode, lifecycle: lifecycle, surface: surface) {
                        [unowned self] request, door, respond in answer(request, at: door, respond)
                    })
            }
        } catch {
            close()
            throw error
        }
    }

    /// Lets clients come to addresses that other processes share.
    func takePlaces() throws(ServerError) {
        for door in doors { try door.takePlace() }
    }

    /// Listens once more on unix sockets whose files somebody has removed.
    func reopenLost(_ lifecycle: LifecycleSettings) {
        for door in doors { door.reopenIfLost(lifecycle) }
    }

    /// Whether other files than ours stand at the paths of unix sockets.
    var isDisplaced: Bool { doors.contains(where: \.isDisplaced) }

    /// Says where the console is, and by which token it is asked.
    func tellConsole() {
        guard let address = address(of: .commands) else { return }
        OperationalLog.note(
            address.isUnix
                ? "console on \(address), with the token \(token)"
                : "console: http://\(Self.reachable(address))/console#token=\(token)")
    }

    /// An address of this machine that leads there, where it listens on all.
    private static func reachable(_ address: SocketAddress) -> String {
        let text = address.description
        if text.hasPrefix("0.0.0.0:") { return "127.0.0.1" + text.dropFirst("0.0.0.0".count) }
        if text.hasPrefix("[::]:") { return "[::1]" + text.dropFirst("[::]".count) }
        return text
    }

    /// Where that door listens, with the real port.
    func address(of surface: AdminDoor.Surface) -> SocketAddress? {
        doors.first { $0.surface == surface }?.address
    }

    /// The process ends: where others may listen on the same addresses, who comes is theirs from now on.
    func beginDrain(_ lifecycle: LifecycleSettings) {
        guard lifecycle.reusePort else { return }
        for door in doors { door.leave(after: lifecycle.handshake.nanoseconds) }
    }

    func close() {
        for door in doors { door.close() }
    }

    private func answer(_ request: AdminRequest, at door: AdminDoor, _ respond: @escaping (AdminResponse) -> Void) {
        switch door.surface {
        case .status:
            guard AdminEndpoint(rawValue: request.path)?.isStatus == true else {
                return respond(.fault(404, "there is no such page: there are /live, /ready and /metrics"))
            }
        case .commands:
            // Before anything is told: a name of another owner may lead here (DNS rebinding), and then his page in the
            // operator's browser reads the answer as its own.
            guard door.address.isUnix || request.calls(oneOf: hosts) else {
                return respond(
                    .fault(421, "call this port by an address, by localhost, or by a name that admin.hosts lists"))
            }
            guard !request.isFromOtherSite else {
                return respond(.fault(403, "a page of another site may not ask the proxy"))
            }
        }
        let page = console == nil ? nil : ConsolePage.answer(path: request.path)
        guard let endpoint = page == nil ? AdminEndpoint(rawValue: request.path) : .console else {
            return respond(.fault(404, "there is no such page: GET / lists those that there are"))
        }
        if console == nil, endpoint == .console || endpoint.isConsole {
            return respond(.fault(404, "the console is off: write admin: {address: …, console: on}"))
        }
        guard endpoint.takes(request.method) else {
            var refusal = AdminResponse.fault(405, "\(endpoint.rawValue) takes \(endpoint.allow)")
            refusal.allow = endpoint.allow
            return respond(refusal)
        }
        let hasToken = console != nil && request.token.map(token.matches) == true
        guard !endpoint.isConsole || hasToken else {
            var refusal = AdminResponse.fault(
                401, "which token? The log says it at the start; send it as Authorization: Bearer …")
            refusal.fields = "WWW-Authenticate: Bearer realm=\"the console\"\r\n"
            return respond(refusal)
        }
        let isCommand = request.method != .get && request.method != .head
        guard !isCommand || !request.isFromPage || hasToken && request.isFromOwnPage else {
            return respond(.fault(403, "a page in a browser may not command the proxy"))
        }
        if let (known, lists) = endpoint.parameters,
            let fault = request.fault(known: known, lists: lists, hint: services.hint)
        {
            return respond(.fault(400, fault))
        }
        guard let control else { return respond(.fault(503, "starting")) }
        switch endpoint {
        case .index: respond(.json(AdminEndpoint.list))
        case .live: respond(.text("live\n"))
        case .ready: respond(Self.answer(control.readiness))
        case .metrics: answerMetrics(control, respond)
        case .routes: respond(.json(routes))
        case .upstreams: answerUpstreams(control, respond)
        case .config: respond(.json(config))
        case .logLevel: respond(logLevel(request))
        case .drain:
            control.beginDrain()
            respond(.json(.object([("draining", .bool(true))]), status: 202))
        case .explain: read(respond) { explain(request, $0) }
        case .console: if let page { respond(page) }
        case .exchanges where request.wantsEvents: answerExchanges(request, control, respond)
        case .exchanges: read(respond) { answerExchanges(request, control, $0) }
        case .exchange: read(respond) { answerExchange(request, control, $0) }
        case .replay: replay(request, control, respond)
        case .routeCounts: answerRouteCounts(control, respond)
        case .trial: read(respond) { tryOut(request, $0) }
        case .options: respond(.json(text: services.options()))
        case .learn: read(respond) { learn(request, control, $0) }
        case .transfers: respondTransfers(request, control, respond)
        }
    }

    /// Has `work` make an answer that may take long. Each keeps one of the port's connections busy, and others need some: those that
    /// follow events and those that send requests again are bounded, too.
    private func read(
        _ respond: @escaping (AdminResponse) -> Void, _ work: (@escaping (AdminResponse) -> Void) -> Void
    ) {
        guard readings < Self.readingLimit else {
            return respond(.fault(503, "\(Self.readingLimit) answers that take long are being made already"))
        }
        readings += 1
        work { [weak self] response in
            self?.readings -= 1
            respond(response)
        }
    }

    // MARK: What needs the workers

    /// Who comes while an answer is being made waits for the next one, which all of those share: many who ask at once keep nobody out.
    private func answerMetrics(_ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void) {
        scrapers.append(respond)
        if !isScraped { scrape(control) }
    }

    private func scrape(_ control: ServerControl) {
        let waiting = scrapers
        scrapers = []
        isScraped = true
        control.gather(within: Self.gatherTime) { worker in
            WorkerSamples(worker)
        } _: { [weak self, weak control] (answers: [WorkerSamples], missing) in
            guard let self, let control else { return }
            for answer in answers { lastSamples[answer.worker] = answer.samples }
            var own = MetricSamples()
            control.visit(&own)
            visit(&own)
            own.gauge(
                "recast_workers_silent", "Workers that did not answer this scrape in time; their last numbers stand.",
                Double(missing))
            // Adding up and writing take a tenth of a millisecond a route, in which this loop serves nobody.
            let parts = Array(lastSamples.values) + [own]
            scrapes.run {
                var samples = MetricSamples()
                for part in parts { samples.merge(part) }
                return samples.text()
            } _: { [weak self, weak control] (text: OutputBuffer) in
                for respond in waiting { respond(AdminResponse(contentType: MetricSamples.contentType, body: text)) }
                guard let self else { return }
                isScraped = false
                if let control, !scrapers.isEmpty { scrape(control) }
            }
        }
    }

    /// What is counted of the ports themselves.
    private func visit(_ samples: inout MetricSamples) {
        for door in doors {
            samples.counter(
                "recast_admin_connections_refused_total", "Connections that a port for operators had no room for.",
                labels: [.init("port", door.surface.rawValue)], door.refused)
        }
    }

    /// A worker has come to its end, with these samples. What it counted stays in the sums, and nothing else of it.
    func ended(_ last: WorkerSamples) {
        lastSamples[last.worker] = last.samples
        lastSamples[last.worker]?.dropGauges()
    }

    private func answerUpstreams(_ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void) {
        control.gather(within: Self.gatherTime) { worker in
            worker.upstreamStates()
        } _: { (answers: [[UpstreamState]], missing) in
            var states: [UpstreamState] = []
            for state in answers.joined() {
                if let index = states.firstIndex(where: { $0.name == state.name }) {
                    states[index].merge(state)
                } else {
                    states.append(state)
                }
            }
            respond(
                .json(
                    .object([
                        ("upstreams", .list(states.map(\.value))), ("workers_missing", .number(missing)),
                    ])))
        }
    }

    private func respondTransfers(
        _ request: AdminRequest, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void
    ) {
        let selection = TransferSelection(id: request.value("id"), route: request.value("route"))
        guard request.wantsEvents else {
            return gatherTransfers(selection, control) { list, missing in respond(.json(list.value(missing: missing))) }
        }
        var interval = TransferFollower.interval
        if let text = request.value("interval") {
            guard let milliseconds = UInt32(text),
                TransferFollower.intervals.contains(UInt64(milliseconds) * 1_000_000)
            else { return respond(.fault(400, "an interval is 100 to 60000 milliseconds")) }
            interval = UInt64(milliseconds) * 1_000_000
        }
        follow(respond) { [weak self] events in
            guard let self else { return nil }
            return TransferFollower.feed(events, of: selection, every: interval, loop: loop) {
                [weak self, weak control] done in
                guard let self, let control else { return }
                gatherTransfers(selection, control, done)
            }
        }
    }

    /// Answers with events, which the feed that `begin` returns sends for as long as the reader stays.
    ///
    /// - Parameter isOfConsole: whether they tell what the console keeps, and end when its settings change.
    func follow(
        isOfConsole: Bool = false, _ respond: @escaping (AdminResponse) -> Void,
        _ begin: @escaping (AdminEvents) -> AnyObject?
    ) {
        guard feeds.count < Self.feedLimit else {
            return respond(.fault(503, "\(Self.feedLimit) readers follow events already"))
        }
        respond(
            .events { [weak self] events in
                guard let self else { return events.end() }
                let key = ObjectIdentifier(events)
                events.onEnd = { [weak self] in self?.feeds[key] = nil }
                guard let feed = begin(events) else { return events.end() }
                feeds[key] = Feed(feed: feed, events: events, isOfConsole: isOfConsole)
            })
    }

    private func gatherTransfers(
        _ selection: TransferSelection, _ control: ServerControl,
        _ done: @escaping (TransferList, _ missing: Int) -> Void
    ) {
        control.gather(within: Self.gatherTime) { worker in
            worker.transfers(selection, limit: AdminServer.transferLimit)
        } _: { (answers: [TransferList], missing) in
            var list = TransferList()
            for answer in answers { list.merge(answer, limit: Self.transferLimit) }
            done(list, missing)
        }
    }

    // MARK: What is known here

    private static func answer(_ readiness: ServerControl.Readiness) -> AdminResponse {
        switch readiness {
        case .starting: .text("starting\n", status: 503)
        case .ready: .text("ready\n")
        case .draining: .text("draining\n", status: 503)
        }
    }

    private func logLevel(_ request: AdminRequest) -> AdminResponse {
        if let text = request.value("level") {
            guard request.method != .get, request.method != .head else {
                var refusal = AdminResponse.fault(405, "a level is set by PUT or POST")
                refusal.allow = "PUT, POST"
                return refusal
            }
            guard let level = OperationalLog.Level(rawValue: text) else {
                let known = OperationalLog.Level.allCases.map(\.rawValue).joined(separator: ", ")
                return .fault(400, "a level is one of \(known)")
            }
            OperationalLog.level = level
            OperationalLog.note("the log level is \(level.rawValue)")
        } else if request.method != .get, request.method != .head {
            return .fault(400, "which level? As in /log-level?level=debug")
        }
        return .json(.object([("level", .text(OperationalLog.level.rawValue))]))
    }

    private func explain(_ request: AdminRequest, _ respond: @escaping (AdminResponse) -> Void) {
        guard let route = request.value("route") else {
            return respond(.fault(400, "which route? As in /explain?route=orders"))
        }
        // What tools send of themselves with every body says nothing of this one.
        let sent = request.contentType == "application/x-www-form-urlencoded" ? nil : request.contentType
        let sample = AdminServices.Sample(
            route: route, body: request.body, type: request.value("type") ?? sent, method: request.value("method"),
            path: request.value("path"), query: request.value("query"),
            headers: request.query.filter { $0.name == "header" }.map(\.value), wantsJSON: request.wantsJSON)
        let explain = services.explain()
        // A large document takes as long as it does, and probes must not wait for it.
        aside.run {
            explain(sample)
        } _: { explanation in
            guard explanation.status == 200 else { return respond(.fault(explanation.status, explanation.text)) }
            var answer = AdminResponse.text(explanation.text)
            if sample.wantsJSON { answer.contentType = "application/json" }
            respond(answer)
        }
    }

    private var config: AdminValue {
        let settings = services.settings()
        return .object([
            ("settings", Self.value(settings.general)),
            (
                "routes",
                .list(
                    settings.routes.map { .object([("name", .text($0.name)), ("settings", Self.value($0.settings))]) })
            ),
        ])
    }

    private static func value(_ settings: [AdminServices.Setting]) -> AdminValue {
        .list(
            settings.map {
                .object([("key", .text($0.key)), ("value", .text($0.value)), ("origin", .text($0.origin))])
            })
    }

    /// The routes in the order of matching, each with what decides where a request goes.
    private var routes: AdminValue {
        .object([("routes", .list(shownRoutes.map { .object($0.members) }))])
    }

    /// As above, each by its name.
    var shownRoutes: [(name: String, members: [(name: String, value: AdminValue)])] {
        services.settings().routes.map { route in
            func value(_ key: String) -> String? { route.settings.first { $0.key == key }?.value }
            func rule(_ key: String) -> AdminValue {
                if let whole = value(key) { return .text(whole) }
                guard let input = value("\(key).decode.as"), let output = value("\(key).encode.as") else {
                    return .none
                }
                return .text("\(input) -> \(output)")
            }
            let match = route.settings.filter { $0.key.hasPrefix("match.") }
            return (
                route.name,
                [
                    ("name", .text(route.name)),
                    ("match", .object(match.map { (String($0.key.dropFirst(6)), .text($0.value)) })),
                    ("upstream", value("upstream").map(AdminValue.text) ?? .none), ("request", rule("request")),
                    ("response", rule("response")),
                ]
            )
        }
    }
}

/// What a worker says of itself, to be told apart from what it said before.
struct WorkerSamples: Sendable {
    let worker: ObjectIdentifier
    let samples: MetricSamples

    init(_ worker: Worker) {
        self.worker = ObjectIdentifier(worker)
        samples = worker.metricSamples()
    }
}
