internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Logging
internal import Octets

/// What the copies of a worker's requests share with the requests.
final class ShadowServices {
    let loop: EventLoop
    let memory: MemoryAllowance
    let coders: CoderPool
    let counters: ShadowCounters
    /// Those with copies that wait or are on their way.
    private var busy: [ObjectIdentifier: ShadowSender] = [:]
    private var finishing: (() -> Void)?
    private var timer: Timer?

    init(loop: EventLoop, memory: MemoryAllowance, coders: CoderPool, counters: ShadowCounters) {
        self.loop = loop
        self.memory = memory
        self.coders = coders
        self.counters = counters
    }

    fileprivate func began(_ sender: ShadowSender) { busy[ObjectIdentifier(sender)] = sender }

    fileprivate func ended(_ sender: ShadowSender) {
        busy[ObjectIdentifier(sender)] = nil
        if busy.isEmpty, finishing != nil { giveUp() }
    }

    /// Calls `done` once, when no copy is on its way any more, at the latest after `nanoseconds`; what is left then is dropped.
    func finish(within nanoseconds: UInt64, _ done: @escaping () -> Void) {
        guard !busy.isEmpty else { return done() }
        finishing = done
        let timer = Timer(loop: loop) { [unowned self] in giveUp() }
        timer.set(after: nanoseconds)
        self.timer = timer
    }

    /// Drops all copies, and calls what `finish` was given.
    func giveUp() {
        let senders = busy
        busy = [:]
        for sender in senders.values { sender.drop() }
        timer?.cancel()
        let done = finishing
        finishing = nil
        done?()
    }
}

/// Sends one worker's copies of a route's requests to a second upstream, and tries the conversion that the route has for copies.
///
/// The requests never wait for it: a copy is sent when its request is over, on connections of its own, a few in a tick; there are
/// only so many at a time, each has a time, none is sent twice, and where the upstream takes none there are none for a while.
final class ShadowSender: TickTask {
    /// Where copies go.
    struct Target {
        let settings: UpstreamSettings
        /// The line in the place of Host; empty: Host stays.
        let host: [UInt8]
        let resolver: Resolver
    }

    let route: Route
    let options: ShadowOptions
    let target: Target?
    private let services: ShadowServices
    private let ratio: TraceRatio
    private let trial: Route?
    private let conversions: ConversionPool?
    private let requestLine: Int

    private var random = TraceIDGenerator()
    /// Copies whose requests are over.
    private var waiting: [ShadowCopy] = []
    private var trials: [ShadowTrial] = []
    private var comparisons: [(copy: ShadowCopy, answer: ShadowAnswer)] = []
    private var connections: [ShadowConnection] = []
    private var idle: [ShadowConnection] = []
    private var nextAddress = 0
    private var pause = ShadowPause()
    /// How many there were when `counters` was told.
    private var counted = 0
    private var isScheduled = false
    /// Whether a tick is let pass, in which answers to clients go out.
    private var isEarly = false
    private var isRetired = false
    private var refusalLines = LineLimit()
    private var differenceLines = LineLimit()
    private var pauseLines = LineLimit()
    private var recoveryLines = LineLimit()

    /// Copies that are begun in one tick at most.
    private static let copiesPerTick = 4
    /// Bytes of them behind which no other one is begun.
    private static let bytesPerTick = 256 * 1024

    /// Bytes of an answer that are read at most.
    var answerLimit: Int { options.compares ? min(options.buffer, ShadowComparison.longest) : options.buffer }
    var loop: EventLoop { services.loop }
    var memory: MemoryAllowance { services.memory }
    private var counters: ShadowCounters { services.counters }

    /// - Parameter requestLine: how long a client's request line may be.
    init?(_ route: Route, target: Target?, services: ShadowServices, requestLine: Int) {
        guard let shadow = route.shadow else { return nil }
        self.route = route
        options = shadow.options
        ratio = shadow.ratio
        trial = shadow.trial
        conversions = shadow.trial?.conversion.map { ConversionPool($0.plan) }
        self.target = target
        self.services = services
        self.requestLine = requestLine
    }

    // MARK: Copies

    /// Whether there is to be a copy of the next request. What there is no room for is counted.
    func takesNext() -> Bool {
        guard ratio.takes(random.next()) else { return false }
        if count >= options.inFlight { return refuse(.inFlight) }
        if memory.pressure > 0 { return refuse(.memory) }
        if trial == nil, !pause.isOver(loop.now) { return refuse(.paused) }
        return true
    }

    private func refuse(_ reason: ShadowDrop) -> Bool {
        count(reason)
        return false
    }

    /// A request has no copy, or that comes to nothing.
    func count(_ reason: ShadowDrop) {
        if target != nil { counters.count(request: reason.rawValue, of: route.name) }
        if trial != nil { counters.count(conversion: reason.rawValue, of: route.name) }
    }

    /// Copies that wait or are on their way.
    private var count: Int { waiting.count + trials.count + connections.count + comparisons.count }

    /// A request is over, of which this is a copy.
    func take(_ copy: ShadowCopy) {
        guard count < options.inFlight else {
            copy.end()
            return count(.inFlight)
        }
        waiting.append(copy)
        services.began(self)
        settle()
        isEarly = true
        schedule()
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.afterTick(self)
    }

    func tickEnded() {
        isScheduled = false
        if isEarly {
            isEarly = false
            return schedule()
        }
        var begun = 0
        var bytes = 0
        while begun < min(waiting.count, Self.copiesPerTick), bytes < Self.bytesPerTick {
            bytes += waiting[begun].bytes.count
            begin(waiting[begun])
            begun += 1
        }
        waiting.removeFirst(begun)
        if let trial = trials.first, let result = trial.step() {
            trials.removeFirst()
            trial.giveBack(to: memory)
            ended(trial: result)
        }
        if let (copy, answer) = comparisons.first {
            comparisons.removeFirst()
            compare(copy, answer)
        }
        if !waiting.isEmpty || !trials.isEmpty || !comparisons.isEmpty { schedule() }
        settle()
    }

    /// Takes note of how many there are; whoever waits for all copies is told.
    private func settle() {
        counters.inFlight += count - counted
        counted = count
        if count == 0 { services.ended(self) }
    }

    private func begin(_ copy: ShadowCopy) {
        var content = OutputBuffer()
        let bytes = copy.bytes
        guard let head = ShadowRequest.headEnd(in: bytes.span) else {
            copy.end()
            return count(.incomplete)
        }
        do throws(ShadowRequest.Fault) {
            try ShadowRequest.appendContent(
                of: bytes.span, behind: head, framing: copy.framing, isSent: copy.isSent, limit: options.buffer,
                to: &content)
        } catch {
            copy.end()
            return count(error == .tooLarge ? .tooLarge : .incomplete)
        }
        let headBytes = bytes.span.extracting(0..<head)
        // What is tried has its content, and nothing else is sent of it.
        if target == nil { copy.end() }
        if let trial, let conversions {
            let trial = ShadowTrial(
                trial, content: content, hasContent: !copy.framing.isEmpty, conversions: conversions,
                coders: services.coders, requestLine: requestLine)
            if !trial.pay(from: memory) {
                counters.count(conversion: ShadowDrop.memory.rawValue, of: route.name)
            } else if let result = trial.begin(headBytes, sources: copy.sources) {
                trial.giveBack(to: memory)
                ended(trial: result)
            } else {
                trials.append(trial)
            }
        }
        guard let target else { return }
        guard pause.isOver(loop.now) else {
            copy.end()
            return counters.count(request: ShadowDrop.paused.rawValue, of: route.name)
        }
        var request = OutputBuffer()
        ShadowRequest.append(head: headBytes, content: content.span, host: target.host, route: route.name, to: &request)
        copy.dropBytes()
        send(request, copy)
    }

    // MARK: The upstream

    private func send(_ request: consuming OutputBuffer, _ copy: ShadowCopy) {
        let connection = takeIdle() ?? ShadowConnection(self, to: nextTarget())
        connections.append(connection)
        connection.send(request, isHead: copy.isHead) { [unowned self] connection, outcome in
            ended(copy, connection, outcome)
        }
    }

    private func takeIdle() -> ShadowConnection? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    private func nextTarget() -> UpstreamAddress {
        guard let addresses = target?.settings.addresses, !addresses.isEmpty else {
            preconditionFailure("a copy without an upstream")
        }
        nextAddress = (nextAddress + 1) % addresses.count
        return addresses[nextAddress]
    }

    private func ended(_ copy: ShadowCopy, _ connection: ShadowConnection, _ outcome: ShadowConnection.Outcome) {
        connections.removeAll { $0 === connection }
        let result: String
        switch outcome {
        case .answered(var answer):
            result = "answered"
            if pause.answered(), let more = recoveryLines.next(loop.now) {
                tell("takes copies of requests again\(more)")
            }
            if options.compares {
                comparisons.append((copy, answer))
                schedule()
            } else {
                answer.end(memory)
                copy.end()
            }
        case .unreachable(let reason):
            result = "unreachable"
            failed(copy, reason, isUnreachable: true)
        case .timedOut:
            result = "timeout"
            failed(copy, "it doesn't answer in time", isUnreachable: false)
        case .failed:
            result = "failed"
            failed(copy, "it ends connections without an answer, or with one that can't be read", isUnreachable: false)
        }
        counters.count(request: result, of: route.name)
        if connection.isReusable, !isRetired, connection.requests < target?.settings.requestsPerConnection ?? 1 {
            idle.append(connection)
            connection.becomeIdle()
        } else {
            connection.close()
        }
        settle()
    }

    private func failed(_ copy: ShadowCopy, _ reason: String, isUnreachable: Bool) {
        copy.end()
        guard let time = pause.failed(loop.now, isUnreachable: isUnreachable) else { return }
        for connection in idle { connection.close() }
        idle = []
        guard let more = pauseLines.next(loop.now) else { return }
        tell("gets no copies of requests for \(time / 1_000_000_000) s: \(reason)\(more)")
    }

    private func tell(_ what: String) {
        guard let target else { return }
        OperationalLog.logger.warning("route \(route.name): the upstream \(target.settings.name) \(what)")
    }

    /// Forgets an idle connection that has ended.
    func remove(_ connection: ShadowConnection) {
        idle.removeAll { $0 === connection }
        connection.close()
    }

    // MARK: What is found out

    private func compare(_ copy: ShadowCopy, _ second: ShadowAnswer) {
        var second = second
        let comparison = ShadowComparison(copy.first, second, options, coders: services.coders)
        counters.count(comparison: comparison.outcome.rawValue, of: route.name)
        for difference in comparison.differences.all {
            counters.count(difference: difference.kind.rawValue, of: route.name)
        }
        if comparison.outcome == .different, let more = differenceLines.next(loop.now) {
            let id = String(decoding: copy.requestID, as: UTF8.self)
            OperationalLog.logger.notice(
                "route \(route.name): the answers to the request \(id) and to its copy differ: \(comparison.description)\(more)"
            )
        }
        second.end(memory)
        copy.end()
    }

    private func ended(trial result: ShadowTrial.Result) {
        switch result {
        case .converted: counters.count(conversion: "converted", of: route.name)
        case .passed: counters.count(conversion: "passed", of: route.name)
        case .refused(let refusal):
            counters.count(conversion: refusal.code, of: route.name)
            if let more = refusalLines.next(loop.now) {
                OperationalLog.logger.notice(
                    "route \(route.name): a request would be refused with \(refusal.status) \(refusal.code): \(refusal.detail)\(more)"
                )
            }
        }
    }

    // MARK: The end

    /// The settings have no such route any more, or the worker ends: connections without a copy are closed. Copies that are on their
    /// way come to their end.
    func retire() {
        isRetired = true
        for connection in idle { connection.close() }
        idle = []
    }

    /// Drops all copies.
    fileprivate func drop() {
        let left = count
        for copy in waiting { copy.end() }
        for (copy, answer) in comparisons {
            var answer = answer
            answer.end(memory)
            copy.end()
        }
        for trial in trials { trial.giveBack(to: memory) }
        for connection in connections + idle { connection.close() }
        for _ in 0..<left { count(.ended) }
        (waiting, trials, comparisons, connections, idle) = ([], [], [], [], [])
        counters.inFlight -= counted
        counted = 0
        if left > 0 {
            OperationalLog.logger.warning(
                "route \(route.name): \(left) copies of requests had no end before that of the worker")
        }
    }
}
