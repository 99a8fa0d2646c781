/// How a route forwards heads: what it tells of the client and of itself, what it lets through besides.
public struct ForwardingOptions: Hashable, Sendable {
    /// The Host field that the upstream gets (docs/rules.md F6).
    public var host = HostRule.preserve
    /// In which fields the upstream is told of the client (F5).
    public var forwarded = ForwardedFormat.xForwarded
    /// Whether X-Real-IP tells the client's address, too.
    public var realIP = false
    /// What becomes of fields whose names hold `_` (R18).
    public var underscores = UnderscoreRule.drop
    /// Whether a request with content must announce its length; otherwise 411 (R24).
    public var requiresLength = false
    /// Who answers `Expect: 100-continue` (F11).
    public var expectContinue = ContinueRule.local
    /// Trailer fields that pass, in lower case; routes that convert bodies pass none (F12).
    public var trailers: [String] = []
    /// Protocols to which a connection may change, in lower case; nil: `websocket`. Routes that convert bodies allow none (F23).
    public var upgrade: [String]?
    /// What becomes of a request to be converted that says `Cache-Control: no-transform` (F2).
    public var noTransform = NoTransformRule.reject
    /// What a client means that ends its side before it has its answer (F17).
    public var halfClose = HalfCloseRule.answer
    /// What becomes of addresses in a response's Location, Content-Location and cookies (F29).
    public var addresses = AddressRule.pass

    /// The protocols of `upgrade` where no setting says otherwise.
    public static let standardUpgrades = ["websocket"]

    public init() {}
}

/// Which Host field the upstream gets.
public enum HostRule: Hashable, Sendable {
    /// The client's.
    case preserve
    /// The upstream's address as the settings write it.
    case upstream
    /// This one: a host and an optional port.
    case fixed(String)
}

/// How the upstream is told of the client.
public enum ForwardedFormat: String, Hashable, Sendable, CaseIterable {
    /// X-Forwarded-For, -Proto, -Host, -Port.
    case xForwarded = "x-forwarded"
    /// Forwarded (RFC 7239).
    case forwarded
    /// Not at all. What a trusted peer says passes as it came.
    case off
}

/// What becomes of fields whose names hold `_`, which servers of the CGI family read as `-`.
public enum UnderscoreRule: String, Hashable, Sendable, CaseIterable {
    /// They stay behind.
    case drop
    /// The request is answered with 400.
    case reject
    /// They pass, as any other field.
    case pass
}

/// Who answers `Expect: 100-continue`.
public enum ContinueRule: String, Hashable, Sendable, CaseIterable {
    /// The proxy, once the route, the method, the type and the length are checked.
    case local
    /// The upstream; the proxy when the upstream says nothing for a second, and for bodies that are converted.
    case forward
}

/// What becomes of a request that forbids its conversion.
public enum NoTransformRule: String, Hashable, Sendable, CaseIterable {
    /// It is answered with 415: the upstream reads only what the conversion makes.
    case reject
    /// It is forwarded as it is.
    case pass
    /// It is converted all the same. The rule binds proxies that were not asked for; a route is asked for by its upstream.
    case convert
}

/// What a client means that ends its side of the connection before it has its answer.
public enum HalfCloseRule: String, Hashable, Sendable, CaseIterable {
    /// That it has no more to say: it gets its answer.
    case answer
    /// That it has gone away: the upstream's request is given up.
    case abort
}

/// What becomes of a response's addresses: Location, Content-Location, and the Path and Domain of cookies.
public enum AddressRule: String, Hashable, Sendable, CaseIterable {
    /// They pass as they came.
    case pass
    /// Those that lead to the upstream lead to the route instead, by the way back of its `rewrite`.
    case outer
}
