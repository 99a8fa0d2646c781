internal import EventLoop
internal import Logging

extension MemoryBudget {
    /// `memory.bodies: auto` where nothing limits the process and the system doesn't say what it has: 64 MiB.
    static let standard = 64 * 1024 * 1024
    /// The least that `auto` comes to: 8 MiB.
    static let least = 8 * 1024 * 1024

    /// The budget that the settings ask for on this system. Throws when it can't fit into what the process may have.
    static func make(_ settings: MemorySettings) throws(ServerError) -> MemoryBudget {
        let allowed = MemoryLimit.current()
        guard let wanted = settings.bodies else {
            return MemoryBudget(limit: automatic(allowed: allowed?.bytes, installed: MemoryLimit.installed()))
        }
        if let allowed {
            guard wanted < allowed.bytes else {
                throw .memory(
                    reason:
                        "memory.bodies is \(wanted) bytes, and \(allowed.source) allows the process \(allowed.bytes)")
            }
            if wanted > allowed.bytes / 4 * 3 {
                OperationalLog.logger.warning(
                    """
                    memory.bodies is \(wanted) bytes of the \(allowed.bytes) that \(allowed.source) allows: little is left \
                    for connections and code
                    """)
            }
        }
        return MemoryBudget(limit: wanted)
    }

    /// What `auto` is: half of what the process may have, or a quarter of what the machine has where nothing limits it.
    static func automatic(allowed: Int?, installed: Int?) -> Int {
        if let allowed, allowed <= installed ?? .max { return max(allowed / 2, least) }
        return installed.map { max($0 / 4, least) } ?? standard
    }
}
