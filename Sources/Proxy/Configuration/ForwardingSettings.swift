public import Gateway

/// What all routes tell of the client and of the proxy, and the rules of ingress that are a matter of taste.
public struct ForwardingSettings: Hashable, Sendable {
    /// What the proxy calls itself in Via; nil: it writes none and looks for no loops (docs/rules.md F4).
    public var via: String? = "recast"
    /// Whether responses get a Via, too.
    public var addsViaToResponses = false
    /// A request that has been here so often, by its Via, is refused with 508; 8. Several proxies of one name in a chain are
    /// no loop, hence the number.
    public var loopLimit = 8
    /// Peers whose word about the client is believed (F5).
    public var trusted = TrustedPeers()
    /// Whether HTTP/1.2 and later minors are answered with 505, instead of being read as 1.1 (R6).
    public var refusesLaterMinor = false
    /// Whether ``^ ` { | }`` in a target are answered with 400 (R8).
    public var refusesUnwiseBytes = false
    /// Whether a `%` in a path that two hexadecimal digits don't follow is answered with 400 (R11).
    public var refusesBadPercent = true
    /// What becomes of paths with dot segments and empty segments, before a route is looked for.
    public var paths = PathRules()

    public init() {}
}
