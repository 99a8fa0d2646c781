/// How a route forwards heads: what it tells of the client and of itself, what it lets through besides.
public struct ForwardingOptions: Hashable, Sendable {
    public init() {}
}
