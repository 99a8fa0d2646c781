internal import EventLoop

/// What all workers of a process share of memory, disk, and threads beside their own.
public final class ProcessBudgets: Sendable {
    let memory: MemoryBudget
    let spool: SpoolQuota
    /// Makes pictures smaller.
    let imageThreads = ThreadPool(name: "recast-image")

    /// The budgets of `settings`. Throws when the memory's can't fit into what the process may have.
    public init(_ settings: MemorySettings) throws(ServerError) {
        memory = try MemoryBudget.make(settings)
        spool = SpoolQuota(limit: settings.spoolTotal)
    }
}
