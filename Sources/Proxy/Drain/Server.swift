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
    ///
    /// - Parameter services: what the admin port shows of the settings; without it there is no admin port.
    public static func run(
        settings: ProxySettings, services: AdminServices? = nil, ready: @escaping ([SocketAddress]) -> Void
    ) throws(ServerError) -> Outcome {
        OperationalLog.use(settings.admin.logFormat)
        OperationalLog.level = settings.admin.logLevel
        defer { OperationalLog.settle() }
        ignoreSIGPIPE()
        _ = raiseDescriptorLimit()
        let loop = try makeLoop()
        let worker = try Worker(loop: loop, settings: settings)
        // Before the other ports: whoever can connect to those must not find that the process ends at once.
        var admin: AdminServer?
        if let address = settings.admin.address, let services {
            admin = try AdminServer(loop: loop, address: address, services: services)
        }
        defer { admin?.close() }
        let addresses = try worker.listen(sharedPort: settings.workers > 1)
        let control = ServerControl(worker: worker, addresses: addresses, ready: ready)
        loop.context = control
        admin?.control = control
        if let place = admin?.address { OperationalLog.note("admin port on \(place)") }
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
