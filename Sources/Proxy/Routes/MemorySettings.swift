/// How much memory and disk bodies may take in the whole process.
public struct MemorySettings: Hashable, Sendable {
    public init() {}
}
