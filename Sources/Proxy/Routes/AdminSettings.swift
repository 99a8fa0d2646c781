/// The port for operators.
public struct AdminSettings: Hashable, Sendable {
    public init() {}
}
