internal import EventLoop
internal import Logging

// New settings: read on a thread of their own, taken over by each worker between two ticks.
extension ServerControl {
    /// Lets SIGHUP, and a change of the files where `watch` says so, read the settings again by `load`.
    func prepareReloads(_ load: SettingsReload?) {
        guard let load else { return }
        reloader = Reloader(loop: worker.loop, load: load) { [unowned self] result in reloaded(result) }
        watch(settings.lifecycle.files)
    }

    /// Reads the settings again: now, or when all workers run.
    func reloadRequested() {
        isReloadWaiting = !isStarted
        guard isStarted, isReady, let reloader else { return }
        notifier?.reloading()
        reloader.request()
    }

    private func reloaded(_ result: Result<ProxySettings, ReloadFailure>) {
        guard isReady else { return }
        switch result {
        case .success(let settings): adopt(settings)
        case .failure(let failure):
            refuse(failure.reasons)
            watch(self.settings.lifecycle.files + failure.files)
        }
    }

    /// Keeps what is in effect and says why.
    private func refuse(_ reasons: [String]) {
        worker.counters.lifecycle.failedReloads += 1
        worker.counters.lifecycle.isLastReloadRefused = true
        for reason in reasons { worker.logger.error("reload: \(reason)") }
        worker.logger.error("reload: refused, the settings in effect stay")
        notifier?.ready(status: "serving \(settings.routes.count) routes; the last reload was refused")
    }

    private func adopt(_ settings: ProxySettings) {
        let old = self.settings
        let workers = old.workers
        let added = settings.listen.filter { !old.listen.contains($0) }
        let removed = old.listen.filter { !settings.listen.contains($0) }
        let opened: [[BoundListener]]
        let logSink: LogSink?
        do throws(ServerError) {
            logSink = settings.accessLog == old.accessLog ? worker.log.sink : try LogSink.of(settings.accessLog)
            opened = try BoundListener.open(
                added, workers: workers, lifecycle: settings.lifecycle, replaced: removed, inherited: inherited)
        } catch {
            return refuse(["\(error)"])
        }
        for name in ServerRestart.needed(from: old, to: settings) {
            worker.logger.warning("reload: a new value of \"\(name)\" takes effect after a restart")
        }
        let settings = Self.keepingWhatRuns(of: old, in: settings)
        self.settings = settings
        // Nothing can fail from here on.
        distribute(opened.map { SettingsChange(settings: settings, opened: $0, logSink: logSink) }) { $0.adopt($1) }
        certificates.follow(settings)
        admin?.services.adopted()
        admin?.hosts = settings.admin.hosts
        OperationalLog.use(settings.admin.logFormat)
        // A level that was set at the admin port stays, unless the settings now say another one.
        if settings.admin.logLevel != old.admin.logLevel { OperationalLog.level = settings.admin.logLevel }
        worker.counters.lifecycle.reloads += 1
        worker.counters.lifecycle.isLastReloadRefused = false
        worker.counters.lifecycle.lastReload = worker.loop.wallClockSeconds
        worker.logger.info("reload: serving \(settings.routes.count) routes")
        notifier?.ready(status: "serving \(settings.routes.count) routes")
        watch(settings.lifecycle.files)
    }

    /// What `ServerRestart` names keeps the value that the process started with, so that these settings say what is in
    /// effect: so many workers get the next ones, and share limits out.
    ///
    /// Upstreams that are the same stay the same objects: their pools go on, and what was read of their certificates now is
    /// what these pools use.
    private static func keepingWhatRuns(of old: ProxySettings, in new: ProxySettings) -> ProxySettings {
        var settings = ServerRestart.kept(of: old, in: new)
        for (index, upstream) in new.upstreams.enumerated() {
            guard let same = old.upstreams.first(where: { $0 == upstream }) else { continue }
            if let tls = same.tls, let read = upstream.tls { tls.use(read) }
            settings.upstreams[index] = same
        }
        return settings
    }

    private func watch(_ files: [String]) {
        guard settings.lifecycle.watch, let reloader else {
            fileWatch = nil
            return
        }
        if let fileWatch {
            fileWatch.watch(files, since: reloader.startedAt)
            return
        }
        do throws(LoopError) {
            fileWatch = try FileWatch(loop: worker.loop, files: files) { [unowned self] in
                worker.logger.info("reload: a file of the settings has changed")
                reloadRequested()
            }
        } catch {
            worker.logger.error("the settings' files can't be watched: \(error)")
        }
    }
}
