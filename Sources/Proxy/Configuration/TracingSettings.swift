/// Where spans go, and of which requests there are any.
public struct TracingSettings: Hashable, Sendable {
    /// What becomes of a `traceparent` that a request brings.
    public enum Parent: String, Hashable, Sendable, CaseIterable {
        /// Its trace goes on here, and is recorded where it says so.
        case follow
        /// A trace begins here, as for a request without one.
        case ignore
    }

    /// The collector: HTTP, or HTTPS.
    public var isSecure: Bool
    /// A name or an address without brackets.
    public var host: String
    public var port: UInt16
    /// The path, and a query where there is one.
    public var target: String
    /// Millionths of the traces that begin here which are recorded, 0 to 1,000,000.
    public var sample = 10_000
    public var parent = Parent.follow
    /// The resource's `service.name`.
    public var service = "recast"
    /// Further fields of each request to the collector.
    public var headers: [Header] = []
    /// Spans of one worker that wait or are on their way, at most.
    public var queue = 2048
    /// Spans in one request at most.
    public var batch = 512
    /// How long a span waits for others.
    public var interval = Duration.seconds(5)
    /// For one request to the collector, connecting included.
    public var timeout = Duration.seconds(10)

    /// A field of the requests to the collector: without line ends, checked.
    public struct Header: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(isSecure: Bool, host: String, port: UInt16, target: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.target = target
    }
}
