/// How fast bodies flow on a route: at least and at most.
public struct RateOptions: Hashable, Sendable {
    public init() {}
}
