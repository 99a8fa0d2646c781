/// What a route can be told besides where it goes and how it converts: one group for each part of the proxy that heeds it.
public struct RouteOptions: Hashable, Sendable {
    public var forwarding = ForwardingOptions()
    public var headers = HeaderRules()
    public var coding = CodingOptions()
    public var retry = RetryOptions()
    public var rate = RateOptions()
    /// How often a client may come; nil: as often as it likes.
    public var rateLimit: RateLimit?

    public init() {}
}
