/// A server that requests are forwarded to.
public struct UpstreamSettings: Hashable, Sendable {
    /// The name that routes call it by; unique.
    public var name: String
    /// At least one.
    public var addresses: [UpstreamAddress]
    /// How it is spoken to by TLS; nil: without.
    public var tls: UpstreamTLS?
    /// How long a pooled connection is kept unused; 3 s, below what servers wait (Node: 5 s) so that we close first.
    public var idle = Duration.seconds(3)
    /// Bound on resolving, connecting and the TLS handshake; 3 s, then 504.
    public var connect = Duration.seconds(3)
    /// Unused connections kept by each event loop; 64.
    public var maxIdlePerLoop = 64
    public var framing = FramingMode.auto
    /// Heeded with `framing: length`.
    public var spool = SpoolSettings()

    public init(name: String, addresses: [UpstreamAddress]) {
        self.name = name
        self.addresses = addresses
    }
}
