internal import Proxy

/// Reads what concerns the life of the process, at the top of the file.
struct LifecycleReader {
    let context: ReadingContext

    /// Takes what the top of the file says. Whatever is still there when `grace` is over is cut: an idle connection isn't kept for longer.
    func read(_ section: SectionReader, grace: SectionReader.Bound<Duration>?) -> LifecycleSettings {
        var lifecycle = LifecycleSettings()
        lifecycle.watch = section.bool("watch", standard: lifecycle.watch)
        lifecycle.reusePort = section.bool("reuse_port", standard: lifecycle.reusePort)
        lifecycle.drainDelay =
            section.time("drain_delay", standard: Sourced(lifecycle.drainDelay), mayBeZero: true).value
        lifecycle.drainIdle =
            section.bounded("drain_idle", standard: lifecycle.drainIdle, by: grace, describe: Units.describe(_:)) {
                context.time($0, $1)
            }.value
        return lifecycle
    }
}
