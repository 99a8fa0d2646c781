/// What bytes that are held belong to.
enum MemoryKind: String, CaseIterable {
    /// Requests: output that waits, what their streams queue, trees.
    case request
    /// Responses: those that are converted, and what clients don't read.
    case response
    /// The parts of spools in memory.
    case spool
}
