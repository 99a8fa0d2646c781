/// How much memory and disk bodies may take in the whole process.
public struct MemorySettings: Hashable, Sendable {
    /// Bytes of memory; nil: `auto`, half of what a control group or a resource limit allows, else a quarter of what the
    /// machine has.
    public var bodies: Int?
    /// How long a new body waits for memory before it is refused; 1 s, then 503.
    public var wait = Duration.seconds(1)
    /// Bytes of disk for all spools together; 1 GiB.
    public var spoolTotal = 1024 * 1024 * 1024

    public init() {}
}
