internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

// The console: what workers keep of exchanges, shown as JSON and as events, and sent again (docs/console.md).
extension AdminServer {
    // Taken when something is asked for: by the time of the answer there may be other settings, or none, which mask nothing.
    private var mask: NameMask { NameMask(console?.mask ?? []) }

    /// Exchanges that a list of several workers shows at most: a page with many more is slow. One worker's are shown all the same.
    private static let listLimit = 2_000

    // MARK: The list

    func answerExchanges(
        _ request: AdminRequest, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void
    ) {
        var fault = ""
        guard let selection = ExchangeSelection(request, fault: &fault) else { return respond(.fault(400, fault)) }
        guard let console else { return }
        let workers = control.settings.workers
        let most = max(console.entries, min(console.entries * workers, Self.listLimit))
        guard request.wantsEvents else {
            return gatherExchanges(selection, [:], limit: most, control) { news, missing in
                respond(.json(Self.list(news, by: console, of: workers, limit: most, missing: missing)))
            }
        }
        follow(isOfConsole: true, respond) { [weak self, weak control] events in
            guard let self else { return nil }
            let follower = ExchangeFollower()
            return EventFeed(events, every: ExchangeFollower.interval, loop: loop) { [weak self, weak control] done in
                guard let self, let control else { return }
                let limit = follower.known.isEmpty ? most : ExchangeNews.limit
                gatherExchanges(selection, follower.known, limit: limit, control, done)
            } tell: { (news, missing) in
                follower.tell(news) {
                    Self.list($0, by: console, of: workers, limit: most, missing: missing)
                } more: {
                    Self.more($0)
                }
            }
        }
    }

    private func gatherExchanges(
        _ selection: ExchangeSelection, _ known: [Int: Int], limit: Int, _ control: ServerControl,
        _ done: @escaping (ShownNews, _ missing: Int) -> Void
    ) {
        let mask = mask
        control.gather(within: Self.gatherTime) { worker in
            worker.exchanges(selection, since: known, limit: limit)
        } _: { [weak self] (answers: [ExchangeNews], missing) in
            guard let self else { return }
            aside.run {
                var news = ExchangeNews()
                for answer in answers { news.merge(answer, limit: limit) }
                return ShownNews(news, mask)
            } _: {
                done($0, missing)
            }
        }
    }

    private static func list(
        _ news: ShownNews, by settings: ConsoleSettings, of workers: Int, limit: Int, missing: Int
    ) -> AdminValue {
        .object([
            ("exchanges", .list(news.exchanges)),
            ("entries", .number(settings.entries)), ("workers", .number(workers)), ("limit", .number(limit)),
            ("body", .number(settings.body)), ("mask", .list(settings.mask.map(AdminValue.text))),
            ("truncated", .bool(news.missed > 0)), ("workers_missing", .number(missing)),
        ])
    }

    private static func more(_ news: ShownNews) -> AdminValue {
        .object([("exchanges", .list(news.exchanges)), ("missed", .number(news.missed))])
    }

    // MARK: One exchange

    func answerExchange(
        _ request: AdminRequest, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void
    ) {
        let mask = mask
        findExchange(request.value("id"), control, respond) { [weak self] kept in
            guard let self else { return }
            let explain = services.explain()
            aside.run {
                kept.value(mask, kept.moves(explain)).document.span.copied()
            } _: {
                respond(.json($0))
            }
        }
    }

    /// Hands the exchange of that id to `use`, or says why there is none.
    private func findExchange(
        _ id: String?, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void,
        _ use: @escaping (KeptExchange) -> Void
    ) {
        guard let id else { return respond(.fault(400, "which exchange? As in ?id=0-17")) }
        let numbers = id.split(separator: "-").map { Int($0) }
        guard numbers.count == 2, let worker = numbers[0], let number = numbers[1] else {
            return respond(.fault(400, "an exchange's id is two numbers, as in 0-17"))
        }
        control.gather(within: Self.gatherTime) { each in
            each.share.number == worker ? each.exchange(number) : nil
        } _: { (answers: [KeptExchange?], missing) in
            if let kept = answers.compactMap(\.self).first { return use(kept) }
            respond(
                missing > 0
                    ? .fault(503, "the worker that may have it doesn't answer")
                    : .fault(404, "there is no exchange \(id) any more: the last ones are kept"))
        }
    }

    // MARK: Learning

    /// Proposes a definition by the bodies that are kept whole of a route's requests, or says how many there are. Values stay here.
    func learn(_ request: AdminRequest, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void) {
        guard let route = request.value("route") else {
            return respond(.fault(400, "which route? As in /console/learn?route=orders"))
        }
        control.gather(within: Self.gatherTime) { worker in
            worker.bodies(of: route)
        } _: { [weak self] (answers: [[AdminServices.Body]], _) in
            guard let self else { return }
            let bodies = Array(answers.joined())
            if request.value("count") == "true" {
                return respond(.json(.object([("route", .text(route)), ("bodies", .number(bodies.count))])))
            }
            let propose = services.learn()
            aside.run {
                propose(route, bodies)
            } _: { answer in
                respond(
                    answer.status == 200
                        ? .json(text: answer.text) : .fault(answer.status, answer.text))
            }
        }
    }

    // MARK: Trying

    func tryOut(_ request: AdminRequest, _ respond: @escaping (AdminResponse) -> Void) {
        let (attempt, body) = (services.tryOut(), request.body)
        aside.run {
            attempt(body)
        } _: { answer in
            respond(.json(text: answer.text, status: answer.status))
        }
    }

    // MARK: Replays

    /// Replays that run at once at most.
    private static let replayLimit = 16

    func replay(
        _ request: AdminRequest, _ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void
    ) {
        var document = LiteralBuilder()
        var limits = Limits()
        limits.body = AdminConnection.bodyLimit
        limits.depth = 32
        do throws(ConversionError) {
            try document.take(json: request.body, limits: limits)
        } catch {
            return respond(.fault(400, "the body is no JSON as {\"id\": \"0-17\"}: \(error)"))
        }
        let order: ReplayOrder
        do throws(ReplayFault) {
            order = try ReplayOrder(document.value, hint: services.hint)
        } catch {
            return respond(.fault(error.status, error.reason))
        }
        guard replays < Self.replayLimit else {
            return respond(.fault(503, "\(Self.replayLimit) requests are being sent again already"))
        }
        replays += 1
        let answer = { [weak self] (response: AdminResponse) in
            self?.replays -= 1
            respond(response)
        }
        let mask = mask
        findExchange(order.id, control, answer) { [weak self, weak control] kept in
            guard let self, control != nil else { return }
            aside.run {
                Result { () throws(ReplayFault) -> ReplayedRequest in
                    try kept.check(order, mask)
                    return try ReplayedRequest(kept, order.edit, mask)
                }
            } _: { [weak self, weak control] (request: Result<ReplayedRequest, ReplayFault>) in
                guard let self, let control else { return }
                switch request {
                case .success(let request): send(request, of: kept, control, answer)
                case .failure(let fault): answer(.fault(fault.status, fault.reason))
                }
            }
        }
    }

    private func send(
        _ request: ReplayedRequest, of kept: KeptExchange, _ control: ServerControl,
        _ respond: @escaping (AdminResponse) -> Void
    ) {
        let replay = Replay(of: kept.facts.id, body: request.body, from: kept.peer, on: control.worker) { outcome in
            switch outcome {
            case .ended(let id, let status):
                respond(.json(.object([("id", .text(id)), ("status", .number(status))])))
            case .refused(let reason): respond(.fault(400, "the request breaks a rule of HTTP: \(reason)"))
            }
        }
        replay.begin(request.head(of: Array(kept.facts.requestID.utf8)))
    }

    // MARK: Routes

    /// The routes in the order of matching, with what they have done since the process began.
    func answerRouteCounts(_ control: ServerControl, _ respond: @escaping (AdminResponse) -> Void) {
        control.gather(within: Self.gatherTime) { worker in
            worker.requests.totals
        } _: { [weak self] (answers: [[String: RouteTotals]], missing) in
            guard let self else { return }
            var totals: [String: RouteTotals] = [:]
            for answer in answers { totals.merge(answer) { $0 + $1 } }
            let shown = shownRoutes.map { name, members -> AdminValue in
                .object(members + (totals[name] ?? RouteTotals()).members)
            }
            respond(.json(.object([("routes", .list(shown)), ("workers_missing", .number(missing))])))
        }
    }
}

extension RouteTotals {
    fileprivate var members: [(name: String, value: AdminValue)] {
        let counts = classes.sorted { $0.key < $1.key }
        return [
            ("requests", .number(Int(counts.reduce(0) { $0 + $1.value }))),
            (
                "by_status",
                .object(counts.map { ($0.key == 0 ? "other" : "\($0.key)xx", .number(Int($0.value))) })
            ),
        ]
    }
}
