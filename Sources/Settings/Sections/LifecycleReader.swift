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
        lifecycle.watch = section.bool("watch", standard: lifecycle.watch)
        lifecycle.reusePort = section.bool("reuse_port", standard: lifecycle.reusePort)
        lifecycle.drainDelay =
            section.time("drain_delay", standard: Sourced(lifecycle.drainDelay), mayBeZero: true).value
        lifecycle.drainIdle = section.time("drain_idle", standard: Sourced(lifecycle.drainIdle)).value
        return lifecycle
    }
}
