/// When a route sends a request once more.
public struct RetryOptions: Hashable, Sendable {
    public init() {}
}
