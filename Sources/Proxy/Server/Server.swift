public import EventLoop
internal import Glibc
internal import Logging

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
    /// SIGTERM, SIGINT and SIGQUIT drain: no new connections, idle ones are closed, exchanges in flight finish, at most for the grace
    /// period. A second such signal ends at once. SIGHUP reads the settings again, SIGUSR1 opens the logs again; SIGPIPE and
    /// SIGUSR2 are ignored. Where a service manager listens (`NOTIFY_SOCKET`), it is told.
    /// - Parameters:
    ///   - reload: reads and checks the settings again; without it SIGHUP changes nothing.
    ///   - services: what the admin port shows of the settings; without it there is no admin port.
    public static func run(
        settings: ProxySettings, reload: SettingsReload? = nil, services: AdminServices? = nil,
        ready: @escaping ([SocketAddress]) -> Void
    ) throws(ServerError) -> Outcome {
        OperationalLog.use(settings.admin.logFormat)
        OperationalLog.level = settings.admin.logLevel
        defer { OperationalLog.settle() }
        ignoreSignalsOfWrites()
        ignoreUnusedSignals()
        prepareStacks()
        let needs = DescriptorNeeds(settings)
        let descriptors = raiseDescriptorLimit()
        try needs.check(descriptors)
        Allocator.tune(threads: settings.workers)
        let loop = try makeLoop()
        // As pid 1 a process gets only the signals that it has handlers for: they come before anything that may take long.
        handOverSignals {
            for number in [SIGTERM, SIGINT, SIGQUIT] {
                loop.onSignal(number) { [unowned loop] in serving(loop)?.stopRequested() }
            }
            loop.onSignal(SIGHUP) { [unowned loop] in serving(loop)?.reloadRequested() }
            loop.onSignal(SIGUSR1) { [unowned loop] in serving(loop)?.reopenLogs() }
        }
        if getpid() == 1 {
            loop.onSignal(SIGCHLD) { reapChildren() }
            // Those that ended before there was a handler.
            reapChildren()
        }
        let worker = try Worker(loop: loop, settings: settings)
        defer { worker.log.sink?.tellRest() }
        // Before there are sockets of our own among the numbers that the service manager speaks of.
        let inherited = InheritedSockets.take()
        for (number, name) in inherited.others {
            OperationalLog.logger.warning(
                "descriptor \(number) of the service manager, \(name), is no stream socket that listens: it isn't used")
        }
        // Before the other ports: clients that can connect to those must not find that the process ends at once.
        var admin: AdminServer?
        if settings.admin.address != nil || settings.admin.status != nil, let services {
            admin = try AdminServer(
                loop: loop, settings: settings.admin, lifecycle: settings.lifecycle, services: services)
        }
        defer { admin?.close() }
        let endpoints = try BoundListener.open(
            settings.listen, modes: settings.socketModes, workers: settings.workers, lifecycle: settings.lifecycle,
            inherited: inherited, takesPlaces: false)
        for (name, socket) in inherited.sockets
        where !settings.listen.contains(.systemd(name: name))
            && !settings.listen.contains(where: { SocketAddress.parse($0.description) == socket.address })
        {
            OperationalLog.logger.warning(
                "the service manager's socket \(socket.address) is in no \"listen\": write it, or systemd:\(name)")
        }
        let control = ServerControl(
            worker: worker, settings: settings, endpoints: endpoints, inherited: inherited, ready: ready)
        defer { control.closeWaiting() }
        loop.context = control
        admin?.control = control
        control.admin = admin
        let workers = counted(settings.workers, "worker")
        OperationalLog.note(
            "recast \(BuildInformation.short) starts with \(workers)"
                + (settings.workersReason.map { ", by \($0)" } ?? ""))
        if let note = needs.note(on: descriptors, cap: settings.admission.connections) {
            OperationalLog.note(note, level: .warning)
        }
        if let address = admin?.address(of: .commands) { OperationalLog.note("admin port on \(address)") }
        if settings.admin.console != nil { admin?.tellConsole() }
        if let address = admin?.address(of: .status) { OperationalLog.note("status port on \(address)") }
        let threads = try control.startOthers()
        // A file that has changed since it was read is read again by this at once, when all workers run.
        control.prepareReloads(reload)
        loop.run()
        control.end()
        if let failure = control.failure { throw failure }
        guard control.outcome == .drained else { return .interrupted }
        guard !control.hasGivenUp else { return .drained }
        for thread in threads { thread.join() }
        return .drained
    }

    /// The control of the main loop. A signal that comes before there is one waits for the loop's first tick.
    private static func serving(_ loop: EventLoop) -> ServerControl? { loop.context as? ServerControl }

    static func makeLoop() throws(ServerError) -> EventLoop {
        do throws(LoopError) {
            return try EventLoop()
        } catch {
            throw .loop(reason: error.description)
        }
    }
}
