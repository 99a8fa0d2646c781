internal import EventLoop

/// What the main thread knows of all workers.
final class ServerControl {
    private let worker: Worker
    private let addresses: [SocketAddress]
    private let ready: ([SocketAddress]) -> Void
    /// What was asked of all workers and has not been answered by all.
    private var gatherings: [Int: Gathering] = [:]
    private var nextGathering = 0

    /// A question to all workers.
    private struct Gathering {
        var missing: Int
        var answers: [any Sendable]
        let done: ([any Sendable], _ missing: Int) -> Void
        /// Ends it where it may not wait for ever.
        var timer: Timer?
    }
    private let process = ProcessSamples()
    private var others: [LoopInbox] = []
    /// Workers on other threads that have not said yet whether they listen.
    private var starting = 0
    /// Workers that still serve.
    private var serving = 1
    private var isStopping = false
    /// Whether a signal has come: one that follows `/drain`, as when an orchestrator's hook has asked for it, is the first.
    private var wasSignalled = false
    /// Whether new requests are wanted: what `/ready` says.
    enum Readiness {
        case starting, ready, draining
    }

    var readiness: Readiness { isStopping ? .draining : starting > 0 ? .starting : .ready }

    private(set) var outcome = Server.Outcome.drained
    private(set) var failure: ServerError?

    init(worker: Worker, addresses: [SocketAddress], ready: @escaping ([SocketAddress]) -> Void) {
        self.worker = worker
        self.addresses = addresses
        self.ready = ready
    }

    /// Starts the workers but the first. They listen on the addresses that the first one got: a port 0 is the same for all.
    func startOthers(_ settings: ProxySettings) throws(ServerError) -> [JoinHandle] {
        let sink = worker.log.sink
        starting = settings.workers - 1
        if starting == 0 { ready(addresses) }
        let main = worker.loop.inbox
        let addresses = addresses
        var threads: [JoinHandle] = []
        do throws(LoopError) {
            while threads.count < settings.workers - 1 {
                threads.append(
                    try startThread(name: "worker-\(threads.count + 1)") {
                        ServerControl.serve(settings, addresses: addresses, sink: sink, main: main)
                    })
            }
        } catch {
            throw .loop(reason: error.description)
        }
        return threads
    }

    /// The life of a worker's thread.
    private static func serve(
        _ settings: ProxySettings, addresses: [SocketAddress], sink: LogSink?, main: LoopInbox
    ) {
        do throws(ServerError) {
            let loop = try Server.makeLoop()
            let worker = try Worker(loop: loop, settings: settings, logSink: sink)
            try worker.listen(on: addresses)
            loop.context = worker
            let inbox = loop.inbox
            main.perform { loop in control(of: loop).started(inbox) }
            loop.run()
            main.perform { loop in control(of: loop).ended(inbox) }
        } catch {
            let failure = error
            main.perform { loop in control(of: loop).failed(failure) }
        }
    }

    private static func control(of loop: EventLoop) -> ServerControl {
        guard let control = loop.context as? ServerControl else { preconditionFailure("not the main loop") }
        return control
    }

    private func started(_ inbox: LoopInbox) {
        others.append(inbox)
        serving += 1
        starting -= 1
        if isStopping {
            drain(inbox)
        } else if starting == 0 {
            ready(addresses)
        }
    }

    private func failed(_ error: ServerError) {
        failure = error
        outcome = .interrupted
        worker.loop.stop()
    }

    private func ended(_ inbox: LoopInbox? = nil) {
        others.removeAll { $0 === inbox }
        serving -= 1
        if serving == 0 { worker.loop.stop() }
    }

    /// The first signal drains, the second ends.
    func stopRequested() {
        guard !wasSignalled else {
            outcome = .interrupted
            worker.log.end()
            worker.loop.stop()
            return
        }
        wasSignalled = true
        beginDrain()
    }

    /// Drains: no new connections, exchanges in flight finish, and then the process ends. Asked for again, it changes
    /// nothing.
    func beginDrain() {
        guard !isStopping else { return }
        isStopping = true
        OperationalLog.note("draining")
        for inbox in others { drain(inbox) }
        worker.drain { [unowned self] in ended() }
    }

    private func drain(_ inbox: LoopInbox) {
        inbox.perform { loop in
            guard let worker = loop.context as? Worker else { preconditionFailure("not a worker's loop") }
            worker.drain { loop.stop() }
        }
    }

    // MARK: What all workers know

    /// Asks every worker that serves, and hands the answers to `done`, on the main loop, when the last has come. Workers
    /// answer between two turns; one that is stuck keeps `done` from being called.
    func gather<Answer: Sendable>(
        _ ask: @escaping @Sendable (Worker) -> Answer, _ done: @escaping ([Answer]) -> Void
    ) {
        gather(within: nil, ask) { answers, _ in done(answers) }
    }

    /// The same; after `nanoseconds` it is content with the answers that have come, and says how many are missing.
    func gather<Answer: Sendable>(
        within nanoseconds: UInt64?, _ ask: @escaping @Sendable (Worker) -> Answer,
        _ done: @escaping ([Answer], _ missing: Int) -> Void
    ) {
        let number = nextGathering
        nextGathering += 1
        var gathering = Gathering(missing: others.count + 1, answers: []) { answers, missing in
            done(answers.compactMap { $0 as? Answer }, missing)
        }
        if let nanoseconds {
            let timer = Timer(loop: worker.loop) { [unowned self] in finish(number) }
            timer.set(after: nanoseconds)
            gathering.timer = timer
        }
        gatherings[number] = gathering
        let main = worker.loop.inbox
        for inbox in others {
            inbox.perform { loop in
                guard let worker = loop.context as? Worker else { preconditionFailure("not a worker's loop") }
                let answer = ask(worker)
                main.perform { loop in Self.control(of: loop).take(answer, for: number) }
            }
        }
        take(ask(worker), for: number)
    }

    private func take(_ answer: any Sendable, for number: Int) {
        guard var gathering = gatherings[number] else { return }
        gathering.answers.append(answer)
        gathering.missing -= 1
        gatherings[number] = gathering
        if gathering.missing == 0 { finish(number) }
    }

    private func finish(_ number: Int) {
        guard let gathering = gatherings.removeValue(forKey: number) else { return }
        gathering.done(gathering.answers, gathering.missing)
    }

    /// What is counted once for the whole process.
    func visit(_ samples: inout MetricSamples) {
        process.visit(&samples)
        samples.gauge("recast_workers", "Event loops that serve.", Double(serving))
        samples.counter(
            "recast_access_log_dropped_total", "Lines of the access log that could not be written and were dropped.",
            worker.log.sink?.dropped ?? 0)
    }
}
