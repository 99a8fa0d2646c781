internal import EventLoop
internal import Gateway
internal import Logging

/// What the main thread knows of all workers, and what it tells them: new settings (`ServerControl+Reload.swift`), and the
/// end.
final class ServerControl {
    let worker: Worker
    /// What is in effect.
    var settings: ProxySettings
    /// The service manager's sockets, for addresses that come with new settings.
    let inherited: InheritedSockets
    let notifier = ServiceNotifier()
    var reloader: Reloader?
    /// The watch over the settings' files, where it is wanted.
    var fileWatch: FileWatch?
    /// The watch over the files of unix sockets, where another process may take their places.
    var socketWatch: FileWatch?
    /// Looks at them again while that watch can't tell what happens: who has taken a place may be killed, and leaves its file.
    private var socketTimer: Timer?
    private static let socketInterval: UInt64 = 1_000_000_000
    /// Why they can't be listened on anew, as it was told: each look would tell it again.
    private var toldLost: [ListenAddress: String] = [:]
    /// What is read by new settings only when all workers run.
    var isReloadWaiting = false
    /// Addresses that a reload has taken away, each time with the number of workers that haven't closed their sockets for them yet.
    private var leaving: [Int: (addresses: [ListenAddress], workers: Int)] = [:]
    private var nextLeaving = 0

    /// The sockets of each worker, until all workers run: nobody listens there before.
    private var waiting: [[BoundListener]]
    private let addresses: [SocketAddress]
    private let ready: ([SocketAddress]) -> Void
    let certificates: CertificateWatch
    /// What was asked of all workers and has not been answered by all.
    private var gatherings: [Int: Gathering] = [:]
    private var nextGathering = 0

    /// A question to all workers.
    private struct Gathering {
        var missing: Int
        var answers: [any Sendable]
        let done: ([any Sendable], _ missing: Int) -> Void
        /// Ends it where a worker is stuck.
        let timer: Timer
    }
    /// A worker and its thread, by its number, which is the thread's name too; 0 is the main thread's.
    private struct Other: Sendable {
        let number: Int
        let thread: ThreadReference
        let inbox: LoopInbox
    }

    /// Those that run, in the order of their numbers, in whichever order they have started.
    private var others: [Other] = []
    private var watchdog: Watchdog?
    private let process = ProcessSamples()
    /// The port for operators; the server holds it.
    weak var admin: AdminServer?
    /// Workers on other threads that have not said yet whether they listen.
    private var starting = 0
    /// Workers that still serve.
    private var serving = 1
    private var isStopping = false
    private var isSignalled = false
    /// Whether workers were told to stop accepting: one that starts late is told then.
    private var isDraining = false
    private var delay: Timer?
    /// Ends what the workers themselves have not ended in time.
    private var deadline: Timer?
    /// The nanosecond in which the grace time is over.
    private var graceEnd: UInt64 = 0
    /// Nanoseconds that the end at once waits for the workers, 1 s.
    private static let endTime: UInt64 = 1_000_000_000
    /// Connections that were cut when the grace time was over.
    private var cut = 0
    /// Whether there are workers that were not waited for: their threads must not be waited for either.
    private(set) var hasGivenUp = false
    /// Whether new requests are wanted: what `/ready` says.
    enum Readiness {
        case starting, ready, draining
    }

    var readiness: Readiness { isStopping ? .draining : starting > 0 ? .starting : .ready }

    private(set) var outcome = Server.Outcome.drained
    private(set) var failure: ServerError?

    init(
        worker: Worker, settings: ProxySettings, endpoints: [[BoundListener]], inherited: InheritedSockets,
        ready: @escaping ([SocketAddress]) -> Void
    ) {
        self.worker = worker
        self.settings = settings
        waiting = endpoints
        addresses = endpoints[0].map(\.socket.address)
        self.inherited = inherited
        self.ready = ready
        certificates = CertificateWatch(worker: worker)
    }

    /// The control of the main loop.
    static func of(_ loop: EventLoop) -> ServerControl {
        guard let control = loop.context as? ServerControl else { preconditionFailure("not the main loop") }
        return control
    }

    // MARK: Starting

    /// Whether the process serves and means to go on: all workers listen, and the end was not asked for.
    var isReady: Bool { isStarted && !isStopping }
    var isStarted: Bool { starting == 0 }

    /// Starts the workers but the first. When the last one runs, clients come.
    func startOthers() throws(ServerError) -> [JoinHandle] {
        let count = waiting.count
        starting = count - 1
        let sink = worker.log.sink
        if starting == 0 { try allStarted() }
        let main = worker.loop.inbox
        let settings = settings
        let budgets = worker.budgets
        let shared = worker.shared
        var threads: [JoinHandle] = []
        do throws(LoopError) {
            for number in 1..<count {
                let sink = HandedSink(sink)
                threads.append(
                    try startThread(name: Self.name(ofWorker: number)) {
                        ServerControl.serve(number, settings, budgets: budgets, shared: shared, sink: sink, main: main)
                    })
            }
        } catch {
            throw .loop(reason: error.description)
        }
        return threads
    }

    private static func name(ofWorker number: Int) -> String { number == 0 ? "the main thread" : "worker-\(number)" }

    /// The life of a worker's thread.
    private static func serve(
        _ number: Int, _ settings: ProxySettings, budgets: ProcessBudgets, shared: SharedAdmission, sink: HandedSink,
        main: LoopInbox
    ) {
        do throws(ServerError) {
            let loop = try Server.makeLoop()
            let worker = try Worker(
                loop: loop, settings: settings, number: number, budgets: budgets, shared: shared,
                logSink: sink.take())
            loop.context = worker
            let inbox = loop.inbox
            let other = Other(number: number, thread: .current, inbox: inbox)
            main.perform { loop in ServerControl.of(loop).started(other) }
            loop.run()
            let cut = worker.connectionsCut
            let samples = WorkerSamples(worker)
            main.perform { loop in
                let control = ServerControl.of(loop)
                control.watchdog?.forget(inbox)
                control.admin?.ended(samples)
                control.ended(inbox, cut: cut)
            }
        } catch {
            let failure = error
            main.perform { loop in ServerControl.of(loop).failed(failure) }
        }
    }

    private func started(_ other: Other) {
        others.insert(other, at: others.firstIndex { $0.number > other.number } ?? others.endIndex)
        serving += 1
        starting -= 1
        if isDraining {
            drain(other.inbox)
            if outcome == .interrupted { Self.endDrain(other.inbox) }
        } else if isStopping {
            Self.announceDrain(other.inbox)
        }
        guard starting == 0 else { return }
        do throws(ServerError) { try allStarted() } catch { failed(error) }
    }

    private func allStarted() throws(ServerError) {
        guard !isStopping else { return }
        try takePlaces()
        worker.counters.lifecycle.lastReload = worker.loop.wallClockSeconds
        ready(addresses)
        let main = Other(number: 0, thread: .current, inbox: worker.loop.inbox)
        watchdog = Watchdog(
            workers: ([main] + others).map {
                Watchdog.Worker(name: Self.name(ofWorker: $0.number), thread: $0.thread, inbox: $0.inbox)
            }, notifier: notifier)
        notifier?.ready(status: "serving \(counted(settings.routes.count, "route"))")
        ProgramPages.letGo()
        lookAfterSockets()
        if isReloadWaiting { reloadRequested() }
    }

    /// Lets clients come, who were another process' where one shares the addresses: what can fail has not.
    private func takePlaces() throws(ServerError) {
        let endpoints = waiting
        waiting = []
        try BoundListener.takePlaces(endpoints)
        do throws(ServerError) {
            try admin?.takePlaces()
        } catch {
            for endpoint in endpoints.joined() { endpoint.socket.close() }
            throw error
        }
        distribute(endpoints) { $0.listen(on: $1) }
    }

    /// Gives up what nobody listens on, where the start has not come to its end.
    func closeWaiting() {
        for endpoint in waiting.joined() { endpoint.socket.close() }
        waiting = []
    }

    private func failed(_ error: ServerError) {
        failure = error
        outcome = .interrupted
        worker.loop.stop()
    }

    // MARK: The end

    /// The first signal drains, the second ends at once, and so does the third where a worker is stuck.
    func stopRequested() {
        guard isSignalled else {
            isSignalled = true
            return beginDrain()
        }
        guard outcome != .interrupted else { return worker.loop.stop() }
        worker.logger.warning("a second signal: ending at once")
        outcome = .interrupted
        delay?.cancel()
        if !isDraining { drainAll() }
        // Each worker cuts what it serves, so that nothing cut looks whole, and logs it. None of them is waited for long.
        endWithin(Self.endTime)
        for other in others { Self.endDrain(other.inbox) }
        worker.cutDrain()
    }

    /// Ends the process in so many nanoseconds, whatever the workers do by then: one may hang, or not have come to its start.
    private func endWithin(_ nanoseconds: UInt64) {
        let timer = Timer(loop: worker.loop) { [unowned self] in
            let missing = serving + starting
            worker.logger.error("\(counted(missing, "worker")) did not end in time: ending without them")
            hasGivenUp = true
            worker.loop.stop()
        }
        timer.set(after: nanoseconds)
        deadline = timer
    }

    /// Ends the process in an orderly way: it is not ready any more from here on and says so in responses, accepts for
    /// `drain_delay` still, and then lets what is in flight end. Asking again changes nothing.
    func beginDrain() {
        guard !isStopping else { return }
        isStopping = true
        fileWatch = nil
        socketWatch = nil
        socketTimer = nil
        notifier?.stopping(
            status: "draining", within: settings.lifecycle.drainDelay.nanoseconds + longestEnd + Self.endTime)
        worker.logger.info("draining: at most \(settings.grace) for what is in flight")
        admin?.beginDrain(settings.lifecycle)
        worker.announceDrain()
        for other in others { Self.announceDrain(other.inbox) }
        let time = settings.lifecycle.drainDelay.nanoseconds
        guard time > 0 else { return drainAll() }
        let timer = Timer(loop: worker.loop) { [unowned self] in drainAll() }
        timer.set(after: time)
        delay = timer
    }

    /// Nanoseconds from the end of accepting on after which a worker that doesn't hang has come to its end. One that cuts what is left when
    /// its grace is over has the rest of its own work behind that.
    private var longestEnd: UInt64 {
        settings.grace.nanoseconds + Worker.copyTime + (settings.tracing == nil ? 0 : Tracer.finishTime)
    }

    private func drainAll() {
        isDraining = true
        let grace = settings.grace.nanoseconds
        graceEnd = worker.loop.activeNow + grace
        endWithin(longestEnd + Self.endTime)
        for other in others { drain(other.inbox) }
        worker.drain(within: grace) { [unowned self] in ended(cut: worker.connectionsCut) }
    }

    private static func announceDrain(_ inbox: LoopInbox) {
        inbox.perform { loop in Self.worker(of: loop).announceDrain() }
    }

    /// One that has started late has what is left of the grace time.
    private func drain(_ inbox: LoopInbox) {
        let now = worker.loop.activeNow
        let left = graceEnd > now ? graceEnd - now : 0
        inbox.perform { loop in Self.worker(of: loop).drain(within: left) { loop.stop() } }
    }

    private static func endDrain(_ inbox: LoopInbox) {
        inbox.perform { loop in Self.worker(of: loop).cutDrain() }
    }

    private func ended(_ inbox: LoopInbox? = nil, cut: Int) {
        others.removeAll { $0.inbox === inbox }
        serving -= 1
        self.cut += cut
        // Those that are still to start hear then that they needn't: without this loop they would wait for ever.
        guard serving == 0, starting == 0 else { return }
        if self.cut > 0 {
            let reason = outcome == .interrupted ? "ended by a signal" : "the grace time is over"
            worker.logger.warning("\(reason): cutting \(counted(self.cut, "connection"))")
        } else if outcome == .drained {
            worker.logger.info("drained: nothing is in flight any more")
        }
        worker.loop.stop()
    }

    /// Stops what doesn't belong to the main loop.
    func end() {
        watchdog?.stop()
        worker.loop.context = nil
    }

    // MARK: What all workers know

    private static func worker(of loop: EventLoop) -> Worker {
        guard let worker = loop.context as? Worker else { preconditionFailure("not a worker's loop") }
        return worker
    }

    /// Opens the logs' files again, which were moved away.
    func reopenLogs() {
        // Who has sent the signal waits for a word, here too.
        guard let sink = worker.log.sink, sink.hasFile else { return OperationalLog.logHasNoFile() }
        sink.reopen()
    }

    /// Lets each worker do `work` between two ticks; each gets one of `parts`.
    func distribute<Part: Sendable>(_ parts: [Part], _ work: @escaping @Sendable (Worker, Part) -> Void) {
        for (other, part) in zip(others, parts.dropFirst()) {
            other.inbox.perform { loop in work(Self.worker(of: loop), part) }
        }
        if let first = parts.first { work(worker, first) }
    }

    /// Asks every worker that serves, which answers between two ticks, and hands the answers to `done`, on the main loop, when the last
    /// has come; after `nanoseconds` those that have come by then, with how many are missing.
    func gather<Answer: Sendable>(
        within nanoseconds: UInt64, _ ask: @escaping @Sendable (Worker) -> Answer,
        _ done: @escaping ([Answer], _ missing: Int) -> Void
    ) {
        let number = nextGathering
        nextGathering += 1
        let timer = Timer(loop: worker.loop) { [unowned self] in finish(number) }
        timer.set(after: nanoseconds)
        gatherings[number] = Gathering(
            missing: others.count + 1, answers: [],
            done: { answers, missing in done(answers.compactMap { $0 as? Answer }, missing) }, timer: timer)
        let main = worker.loop.inbox
        for other in others {
            other.inbox.perform { loop in
                let answer = ask(Self.worker(of: loop))
                main.perform { loop in Self.of(loop).take(answer, for: number) }
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
        settings.visitCertificates(&samples)
        process.visit(&samples)
        worker.shared.replays.visit(&samples)
        worker.shared.rates.visit(&samples)
        samples.gauge("recast_workers", "Event loops that serve.", Double(serving))
        if let most = settings.admission.inFlight {
            samples.gauge("recast_inflight_requests_max", "Requests that may be served at once.", Double(most))
        }
        samples.gauge("recast_spool_budget_bytes", "What spools may hold in all.", Double(settings.memory.spoolTotal))
        samples.counter(
            "recast_access_log_dropped_total", "Lines of the access log that could not be written and were dropped.",
            worker.shared.logLosses.count)
    }
}

// New settings: read on a thread of their own, taken over by each worker between two ticks.
extension ServerControl {
    /// Lets SIGHUP, and a change of the files where `watch` says so, read the settings again by `load`.
    func prepareReloads(_ load: SettingsReload?) {
        watchSockets()
        guard let load else { return }
        reloader = Reloader(loop: worker.loop, load: load) { [unowned self] result in reloaded(result) }
        watch(settings.lifecycle.files)
    }

    /// Reads the settings again: now, or when all workers run.
    func reloadRequested() {
        isReloadWaiting = !isStarted
        guard isStarted, let reloader else { return }
        guard isReady else { return tellLeftOut() }
        notifier?.reloading()
        reloader.request()
    }

    private func reloaded(_ result: Result<ProxySettings, ReloadFailure>) {
        guard isReady else { return tellLeftOut() }
        switch result {
        case .success(let settings): adopt(settings)
        case .failure(let failure):
            refuse(failure.reasons)
            watch(failure.files, besides: self.settings.lifecycle.files)
        }
    }

    private func tellLeftOut() { worker.logger.info("reload: left out, since the process ends") }

    /// Tells the service manager that the reload has ended. One that was asked for since the file was read has not.
    private func tellReloaded(_ remark: String = "") {
        guard reloader?.isAskedAgain != true else { return }
        notifier?.ready(status: "serving \(counted(settings.routes.count, "route"))\(remark)")
    }

    /// Keeps what is in effect and says why.
    private func refuse(_ reasons: [String]) {
        worker.counters.lifecycle.failedReloads += 1
        worker.counters.lifecycle.isLastReloadRefused = true
        for reason in reasons { worker.logger.error("reload: \(reason)") }
        worker.logger.error("reload: refused, the settings in effect stay")
        tellReloaded("; the last reload was refused")
    }

    private func adopt(_ settings: ProxySettings) {
        let old = self.settings
        let workers = old.workers
        let added = settings.listen.filter { !old.listen.contains($0) }
        let removed = old.listen.filter { !settings.listen.contains($0) }
        var opened: [[BoundListener]]
        let logSink: LogSink?
        do throws(ServerError) {
            logSink =
                settings.accessLog == old.accessLog
                ? worker.log.sink : try LogSink.of(settings.accessLog, losses: worker.shared.logLosses)
            opened = try BoundListener.open(
                added, modes: settings.socketModes, workers: workers, lifecycle: settings.lifecycle,
                replaced: removed + leaving.values.flatMap(\.addresses),
                kept: settings.listen.filter { old.listen.contains($0) }, inherited: inherited)
        } catch {
            refuse(["\(error)"])
            return watch(settings.lifecycle.files, besides: old.lifecycle.files)
        }
        // Nothing can fail from here on, and what there is to say is said as the new settings have it. A level that was set at the admin
        // port stays, unless they now say another one.
        OperationalLog.use(settings.admin.logFormat)
        if settings.admin.logLevel != old.admin.logLevel { OperationalLog.level = settings.admin.logLevel }
        for remark in settings.lifecycle.remarks { worker.logger.warning("reload: \(remark)") }
        for name in ServerRestart.needed(from: old, to: settings) {
            worker.logger.warning("reload: a new value of \"\(name)\" takes effect after a restart")
        }
        let settings = Self.keepingWhatRuns(of: old, in: settings)
        self.settings = settings
        toldLost = [:]
        let renewed = reopenLost(into: &opened)
        let onLeft = beginLeaving(removed + renewed)
        distribute(
            opened.map {
                SettingsChange(settings: settings, opened: $0, renewed: renewed, logSink: logSink, onLeft: onLeft)
            }
        ) { $0.adopt($1) }
        certificates.follow(settings)
        worker.shared.replays.keep(Set(settings.routes.filter { $0.verification?.replay != nil }.map(\.name)))
        worker.shared.rates.keep(Set(settings.routes.filter(\.limitsRate).map(\.name)))
        admin?.reopenLost(settings.lifecycle)
        watchSockets()
        admin?.services.adopted()
        admin?.hosts = settings.admin.hosts
        admin?.console = settings.admin.console
        worker.counters.lifecycle.reloads += 1
        worker.counters.lifecycle.isLastReloadRefused = false
        worker.counters.lifecycle.lastReload = worker.loop.wallClockSeconds
        worker.logger.info("reload: serving \(counted(settings.routes.count, "route"))")
        tellReloaded()
        watch(settings.lifecycle.files)
    }

    /// Opens unix sockets that stay once more where somebody has removed their files, and returns their addresses. Where that can't be done
    /// things are as they were, so that it is told, and no reason to refuse the settings.
    private func reopenLost(into opened: inout [[BoundListener]]) -> [ListenAddress] {
        var renewed: [ListenAddress] = []
        for name in worker.lostSockets where settings.listen.contains(name) {
            do throws(ServerError) {
                let sockets = try BoundListener.open(
                    [name], modes: settings.socketModes, workers: settings.workers, lifecycle: settings.lifecycle.alone)
                for (index, sockets) in sockets.enumerated() { opened[index] += sockets }
                renewed.append(name)
                toldLost[name] = nil
                worker.logger.warning("the file of \(name) was gone: it is listened on anew")
            } catch {
                // Another process may have come there meanwhile.
                let reason = "\(error)"
                guard worker.lostSockets.contains(name), toldLost[name] != reason else { continue }
                toldLost[name] = reason
                worker.logger.error("the file of \(name) is gone, so that no client finds it: \(reason)")
            }
        }
        return renewed
    }

    /// As above, between two reloads.
    private func reopenLost() {
        guard isReady else { return }
        var opened = [[BoundListener]](repeating: [], count: settings.workers)
        let renewed = reopenLost(into: &opened)
        admin?.reopenLost(settings.lifecycle)
        guard !renewed.isEmpty else { return }
        let (settings, logSink, onLeft) = (settings, worker.log.sink, beginLeaving(renewed))
        distribute(
            opened.map {
                SettingsChange(settings: settings, opened: $0, renewed: renewed, logSink: logSink, onLeft: onLeft)
            }
        ) { $0.adopt($1) }
    }

    /// The paths of unix sockets that another process may take.
    private var sharedPaths: [String] {
        guard settings.lifecycle.reusePort else { return [] }
        return (settings.listen + [settings.admin.address, settings.admin.status].compactMap(\.self)).compactMap {
            if case .unix(let path) = $0 { path } else { nil }
        }
    }

    /// Takes back unix sockets whose taker has ended, and looks again in a while where nothing would tell: a process that is killed leaves
    /// its files as they are, and where files can't be watched nothing tells of any. While all files are ours nothing is looked at.
    private func lookAfterSockets() {
        guard isReady, !sharedPaths.isEmpty else { return }
        reopenLost()
        guard socketWatch == nil || worker.hasDisplacedSockets || admin?.isDisplaced == true else {
            socketTimer?.cancel()
            return
        }
        let timer = socketTimer ?? Timer(loop: worker.loop) { [unowned self] in lookAfterSockets() }
        socketTimer = timer
        timer.set(after: Self.socketInterval)
    }

    /// Sees where a process that had taken over a unix socket has ended, as one that was started and found wanting: with its file, no
    /// client finds this process any more. Only where places are shared, since descriptors to watch by are few (inotify(7)).
    private func watchSockets() {
        defer { lookAfterSockets() }
        let paths = sharedPaths
        guard !paths.isEmpty else {
            socketWatch = nil
            socketTimer = nil
            return
        }
        do throws(LoopError) {
            if let socketWatch {
                try socketWatch.watch(paths.map { ReadFile($0) })
            } else {
                socketWatch = try FileWatch(loop: worker.loop, files: paths) { [unowned self] in lookAfterSockets() }
            }
        } catch {
            worker.logger.warning("the files of unix sockets can't be watched: \(error)")
        }
    }

    /// Remembers that `addresses` are being closed, and returns what each worker calls when it has done so. Until then they may be put
    /// back beside the sockets that still take who had come.
    private func beginLeaving(_ addresses: [ListenAddress]) -> (@Sendable () -> Void)? {
        guard !addresses.isEmpty else { return nil }
        let number = nextLeaving
        nextLeaving += 1
        leaving[number] = (addresses, settings.workers)
        let main = worker.loop.inbox
        return { main.perform { loop in ServerControl.of(loop).left(number) } }
    }

    private func left(_ number: Int) {
        guard let workers = leaving[number]?.workers else { return }
        if workers > 1 { leaving[number]?.workers = workers - 1 } else { leaving[number] = nil }
    }

    /// What `ServerRestart` names keeps the value that the process started with, so that these settings say what is in
    /// effect: so many workers get the next ones, and share limits out.
    ///
    /// Upstreams that are the same stay the same objects: their pools go on, and what was read of their certificates now is
    /// what these pools use. Listeners whose TLS is the same, file by file, keep its context, so that their clients' sessions go on.
    /// Where a file has run out in whose place one is in use that hasn't, that stays, and the watch over certificates tells so.
    private static func keepingWhatRuns(of old: ProxySettings, in new: ProxySettings) -> ProxySettings {
        var settings = ServerRestart.kept(of: old, in: new)
        for (index, upstream) in new.upstreams.enumerated() {
            guard let same = old.upstreams.first(where: { $0 == upstream }) else {
                if let tls = upstream.tls, let before = old.upstreams.first(where: { $0.name == upstream.name })?.tls {
                    tls.loaded.keepIfBetter(before.loaded)
                }
                continue
            }
            if let tls = same.tls, let read = upstream.tls { tls.loaded.use(read.loaded) }
            settings.upstreams[index] = same
        }
        for (address, listener) in new.listeners {
            if let before = old.listener(at: address).tls { listener.tls?.loaded.keep(before.loaded) }
        }
        return settings
    }

    /// Tells of changes of `files` since they were read last, and of `others`, which were read before and not this time.
    private func watch(_ files: [ReadFile], besides others: [ReadFile] = []) {
        guard settings.lifecycle.watch, reloader != nil else {
            fileWatch = nil
            return
        }
        do throws(LoopError) {
            let watch: FileWatch
            if let fileWatch {
                watch = fileWatch
            } else {
                watch = try FileWatch(loop: worker.loop, files: []) { [unowned self] in
                    worker.logger.info("reload: a file of the settings has changed")
                    reloadRequested()
                }
                fileWatch = watch
            }
            try watch.watch(files, besides: others.map(\.path))
        } catch {
            worker.logger.error("the settings' files can't be watched: \(error)")
        }
    }
}
