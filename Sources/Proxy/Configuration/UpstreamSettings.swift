public import Gateway

/// A server, or several equal ones, that requests are forwarded to.
public struct UpstreamSettings: Hashable, Sendable {
    /// The name that routes call it by; unique.
    public var name: String
    /// At least one. Each name stands for all of its addresses, at most `Resolving.limit` of them.
    public var addresses: [UpstreamAddress]
    /// The version of HTTP by which it is spoken to; 1.1.
    public var version = UpstreamVersion.http1
    /// How it is spoken to by TLS; nil: without.
    public var tls: UpstreamTLS?
    /// How long a pooled connection is kept unused; 3 s, below what servers wait (Node: 5 s) so that we close first.
    public var idle = Duration.seconds(3)
    /// Bound on one attempt to connect, the TLS handshake and the look-up of a name that was never resolved included;
    /// 3 s, then 504.
    public var connect = Duration.seconds(3)
    /// Unused connections kept by each event loop; 64.
    public var maxIdlePerLoop = 64
    public var framing = FramingMode.auto
    /// Heeded with `framing: length`.
    public var spool = SpoolSettings()
    /// The age at which a connection isn't used again; 5 min, up to a tenth less so that not all of them end at once.
    public var maxAge = Duration.seconds(300)
    /// Requests that one connection carries at most; 1000, up to a tenth less.
    public var requestsPerConnection = 1000
    /// Connections of the whole process at most, idle ones included; each worker gets an equal share, at least one.
    /// nil: `standardConnections` for each worker.
    public var maxConnections: Int?
    /// Requests of the whole process that may be on their way at once, divided as `maxConnections`. nil: as many as there
    /// are connections, or as servers of HTTP/2 take over those.
    public var maxRequests: Int?
    /// Requests of each worker that may wait when a limit is reached.
    public var queue = UpstreamQueueSettings()
    /// Which address a request goes to.
    public var balance = UpstreamBalance.roundRobin
    public var health = UpstreamHealthSettings()
    public var resolving = ResolvingSettings()

    /// Connections of each worker where no setting says otherwise: 4096. Each serves one client's connection, and those leave
    /// half of the descriptors free; so many that a thousand slow clients don't take all.
    public static let standardConnections = 4096

    public init(name: String, addresses: [UpstreamAddress]) {
        self.name = name
        self.addresses = addresses
    }
}

extension UpstreamSettings {
    /// The Host that names this upstream: that of its first address which has a name, else `localhost`.
    var hostField: String { hostFields[0] }

    /// The Host that names each of its addresses which has a name, else `localhost`: at least one.
    var hostFields: [String] {
        let names: [String] = addresses.compactMap { address in
            guard case .tcp(let host, let port) = address else { return nil }
            return AddressText.hostField(host: host, port: port, isSecure: tls != nil)
        }
        return names.isEmpty ? ["localhost"] : names
    }
}

/// By what an upstream is spoken to.
public enum UpstreamVersion: String, Hashable, Sendable, CaseIterable {
    /// A connection for each request that is on its way.
    case http1 = "1.1"
    /// A stream for each, of few connections: with TLS where ALPN chooses it, without by prior knowledge (RFC 9113 §3.3).
    case http2 = "2"
}

/// How requests are spread over the addresses of an upstream, by each worker for itself.
public enum UpstreamBalance: String, Hashable, Sendable, CaseIterable {
    /// One after the other.
    case roundRobin = "round_robin"
    /// The one with the fewest requests of this worker on their way; among equals, one after the other.
    case leastRequests = "least_requests"
}

/// The requests that wait for an upstream whose limits are reached, first come, first served.
public struct UpstreamQueueSettings: Hashable, Sendable {
    /// Requests that may wait, for each worker; 128. 0: none waits.
    public var size = 128
    /// How long one waits; 1 s, then 503.
    public var timeout = Duration.seconds(1)

    public init() {}
}

/// How often names are looked up.
public struct ResolvingSettings: Hashable, Sendable {
    /// Name servers to ask instead of those of `/etc/resolv.conf`: address literals with a port.
    public var servers: [UpstreamAddress] = []
    /// An answer is used at least this long, whatever its TTL says; 1 s.
    public var minimum = Duration.seconds(1)
    /// An answer is used at most this long; 5 min.
    public var maximum = Duration.seconds(300)

    public init() {}
}

/// How it is found out which addresses of an upstream are fit for use.
public struct UpstreamHealthSettings: Hashable, Sendable {
    public var passive = PassiveHealthSettings()
    /// nil: no checks.
    public var active: ActiveHealthSettings?

    public init() {}
}

/// What is learnt from requests that are served anyway.
public struct PassiveHealthSettings: Hashable, Sendable {
    /// Failures in a row after which an address gets no requests for a while; 5. 0: never.
    public var failures = 5
    /// Statuses of responses that count as failures; 502, 503 and 504.
    public var statuses = [StatusRange(502...504)]
    /// For how long, doubled each time it fails again; 10 s.
    public var ejection = Duration.seconds(10)
    /// The longest such time; 60 s.
    public var maximumEjection = Duration.seconds(60)

    public init() {}
}

/// Requests that each worker sends by itself to see whether an address answers.
public struct ActiveHealthSettings: Hashable, Sendable {
    /// The target of the request, an absolute path with or without a query.
    public var path: String
    /// The Host field; the address as the settings write it where nothing else is said.
    public var host: String?
    /// From one check to the next; 2 s.
    public var interval = Duration.seconds(2)
    /// For a whole check, the connection included; 1 s.
    public var timeout = Duration.seconds(1)
    /// Failed checks in a row after which an address gets no requests; 3.
    public var fall = 3
    /// Passed checks in a row after which it gets some again; 2.
    public var rise = 2
    /// Statuses that pass; 200 to 399.
    public var statuses = [StatusRange(200...399)]

    public init(path: String) {
        self.path = path
    }
}
