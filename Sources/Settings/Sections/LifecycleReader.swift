internal import Proxy

/// Reads what concerns the life of the process, at the top of the file.
struct LifecycleReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> LifecycleSettings {
        var lifecycle = LifecycleSettings()
        lifecycle.watch = flag("watch", lifecycle.watch, section)
        lifecycle.reusePort = flag("reuse_port", lifecycle.reusePort, section)
        lifecycle.drainDelay =
            section.time("drain_delay", standard: Sourced(lifecycle.drainDelay), mayBeZero: true).value
        lifecycle.drainIdle = section.time("drain_idle", standard: Sourced(lifecycle.drainIdle)).value
        return lifecycle
    }

    private func flag(_ key: String, _ standard: Bool, _ section: SectionReader) -> Bool {
        section.value(key, standard: Sourced(standard), describe: String.init) { context.bool($0, $1) }.value
    }
}
