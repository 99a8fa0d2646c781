public import EventLoop
internal import Glibc

/// The whole proxy: one worker a thread, signals on the first one, an orderly end.
public enum Server {
    /// How a run ended.
    public enum Outcome: Sendable {
        /// Every exchange had ended, or the grace period was over.
        case drained
        /// A second signal came before that.
        case interrupted
    }

    /// Serves until a signal ends it. `ready` hears the addresses of the listeners once all workers listen.
    ///
    /// SIGTERM and SIGINT drain: no new connections, idle ones are closed, exchanges in flight finish, at most for the grace
    /// period. A second signal ends at once.
    public static func run(settings: ProxySettings, ready: @escaping ([SocketAddress]) -> Void) throws(ServerError)
        -> Outcome
    {
        ignoreSIGPIPE()
        _ = raiseDescriptorLimit()
        let loop = try makeLoop()
        let worker = try Worker(loop: loop, settings: settings)
        let addresses = try worker.listen(sharedPort: settings.workers > 1)
        let control = ServerControl(worker: worker, addresses: addresses, ready: ready)
        loop.context = control
        let threads = try control.startOthers(settings)
        for number in [SIGTERM, SIGINT] { loop.onSignal(number) { [unowned control] in control.stopRequested() } }
        loop.run()
        if let failure = control.failure { throw failure }
        guard control.outcome == .drained else { return .interrupted }
        for thread in threads { thread.join() }
        return .drained
    }

    static func makeLoop() throws(ServerError) -> EventLoop {
        do throws(LoopError) {
            return try EventLoop()
        } catch {
            throw .loop(reason: error.description)
        }
    }
}

/// What the main thread knows of all workers.
private final class ServerControl {
    private let worker: Worker
    private let addresses: [SocketAddress]
    private let ready: ([SocketAddress]) -> Void
    private var others: [LoopInbox] = []
    /// Workers on other threads that have not said yet whether they listen.
    private var starting = 0
    /// Workers that still serve.
    private var serving = 1
    private var isStopping = false
    private(set) var outcome = Server.Outcome.drained
    private(set) var failure: ServerError?

    init(worker: Worker, addresses: [SocketAddress], ready: @escaping ([SocketAddress]) -> Void) {
        self.worker = worker
        self.addresses = addresses
        self.ready = ready
    }

    /// Starts the workers but the first. They listen on the addresses that the first one got: a port 0 is the same for all.
    func startOthers(_ settings: ProxySettings) throws(ServerError) -> [JoinHandle] {
        starting = settings.workers - 1
        if starting == 0 { ready(addresses) }
        let main = worker.loop.inbox
        let addresses = addresses
        var threads: [JoinHandle] = []
        do throws(LoopError) {
            while threads.count < settings.workers - 1 {
                threads.append(
                    try startThread(name: "worker-\(threads.count + 1)") {
                        ServerControl.serve(settings, addresses: addresses, main: main)
                    })
            }
        } catch {
            throw .loop(reason: error.description)
        }
        return threads
    }

    /// The life of a worker's thread.
    private static func serve(_ settings: ProxySettings, addresses: [SocketAddress], main: LoopInbox) {
        do throws(ServerError) {
            let loop = try Server.makeLoop()
            let worker = try Worker(loop: loop, settings: settings)
            try worker.listen(on: addresses)
            loop.context = worker
            let inbox = loop.inbox
            main.perform { loop in control(of: loop).started(inbox) }
            loop.run()
            main.perform { loop in control(of: loop).ended() }
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

    private func ended() {
        serving -= 1
        if serving == 0 { worker.loop.stop() }
    }

    /// The first signal drains, the second ends.
    func stopRequested() {
        guard !isStopping else {
            outcome = .interrupted
            worker.log.flush()
            worker.loop.stop()
            return
        }
        isStopping = true
        for inbox in others { drain(inbox) }
        worker.drain { [unowned self] in ended() }
    }

    private func drain(_ inbox: LoopInbox) {
        inbox.perform { loop in
            guard let worker = loop.context as? Worker else { preconditionFailure("not a worker's loop") }
            worker.drain { loop.stop() }
        }
    }
}
