internal import EventLoop
internal import Glibc
internal import Logging

/// Looks every second whether files of certificates have changed, and loads what has; keys of tickets are renewed by the way, and
/// what runs out is told. The main thread's.
///
/// Asking beats being told here: whatever way a file is replaced (rename, Kubernetes' `..data` link, a mount, a network file
/// system), its identity is another one. A file must be the same twice in a row, so that one that is being written, or a
/// certificate whose key is still to come, is not looked at.
final class CertificateWatch {
    private let worker: Worker
    private var entries: [Entry] = []
    private var timer: Timer?
    /// When what is in use was looked at last for what has run out, in seconds since 1970.
    private var lookedAt = Int64(time(nil))

    private static let interval: UInt64 = 1_000_000_000

    private struct Entry {
        let source: any LoadedFromFiles
        /// What was there when the files were loaded, and when they were looked at last.
        var loaded: [FileStamp?]
        var seen: [FileStamp?]
        /// When files that couldn't be loaded are looked at again though they haven't changed, in seconds since 1970; nil: they aren't.
        var again: Int64?
    }

    /// - Parameter worker: the main one, whose counters and log are used.
    init(worker: Worker) {
        self.worker = worker
        follow(worker.current.settings)
    }

    /// Watches the files of `settings` from now on. What has changed since they were loaded, with the settings, is seen too.
    func follow(_ settings: ProxySettings) {
        entries = []
        for tls in settings.listeners.values.compactMap(\.tls) { add(tls.loaded) }
        for tls in settings.upstreams.compactMap(\.tls) { add(tls.loaded) }
        timer = nil
        guard !entries.isEmpty else { return }
        timer = Timer(loop: worker.loop) { [unowned self] in look() }
        timer?.set(after: Self.interval)
    }

    private func add(_ source: some LoadedFromFiles) {
        guard !source.files.isEmpty else { return }
        let stamps = source.stamps
        entries.append(Entry(source: source, loaded: stamps, seen: stamps))
    }

    private func look() {
        tellEnded()
        for index in entries.indices {
            entries[index].source.renewTicketKeys()
            let stamps = entries[index].source.files.map { FileStamp($0) }
            let isSettled = stamps == entries[index].seen
            entries[index].seen = stamps
            let isDue = entries[index].again.map { $0 <= Int64(time(nil)) } == true
            guard isSettled, isDue || stamps != entries[index].loaded else { continue }
            // Whatever comes of it: what is wrong is told once, and looked at again when it has changed, or time may have mended it.
            entries[index].loaded = stamps
            entries[index].again = load(entries[index])
        }
        timer?.set(after: Self.interval)
    }

    /// Tells of what has run out since the last look: it is served on, as by a process that starts then, and peers refuse it.
    private func tellEnded() {
        let now = Int64(time(nil))
        // A clock that is put back has things run out once more.
        defer { lookedAt = now }
        guard now > lookedAt else { return }
        var told: Set<TLSFileFinding> = []
        for entry in entries {
            for finding in entry.source.ended(since: lookedAt, at: now) where told.insert(finding).inserted {
                worker.logger.warning("\(finding.path): \(finding.message)")
            }
        }
    }

    /// Returns when the same files may be loaded, in seconds since 1970, where they can't be now and that lies at the time alone.
    private func load(_ entry: Entry) -> Int64? {
        let names = entry.source.files.joined(separator: ", ")
        do throws(ReloadFault) {
            let loaded = try entry.source.reload()
            worker.counters.tls.reloads += 1
            let titles = loaded.lives.compactMap(\.shown).map { " (\($0))" }.joined()
            worker.logger.notice("certificates were loaded anew: \(names)\(titles)")
            for finding in loaded.findings(at: Int64(time(nil))) {
                worker.logger.warning("\(finding.path): \(finding.message)")
            }
            return nil
        } catch {
            worker.counters.tls.failedReloads += 1
            let then = error.mendedAt == nil ? "" : ", when it is looked at again"
            worker.logger.error("changed certificates are not used, the old ones stay: \(error.error)\(then)")
            return error.mendedAt
        }
    }
}
