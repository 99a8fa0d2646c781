/// When settings are read again, and who is told of the life of the process.
public struct LifecycleSettings: Hashable, Sendable {
    public init() {}
}
