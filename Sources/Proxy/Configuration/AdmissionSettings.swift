/// How many connections and requests are taken at once, and from whom; and what a head may be, which holds before a route is
/// known.
public struct AdmissionSettings: Hashable, Sendable {
    /// Bounds on the heads of requests. Beyond: 414 for the request line, else 431.
    public struct Head: Hashable, Sendable {
        /// Bytes of the request line without its CRLF; 16 KiB (RFC 9112 §3 wants 8000 at least).
        public var requestLine = 16 * 1024
        /// Bytes of the whole head with its last CRLF; 64 KiB, at most `largest`.
        public var bytes = 64 * 1024
        /// Bytes of one field line without its CRLF; 16 KiB.
        public var fieldLine = 16 * 1024
        /// Field lines; 100.
        public var fields = 100

        /// The largest head that can be asked for, 192 KiB: one has to fit into an event loop's read buffer.
        public static let largest = 192 * 1024

        public init() {}
    }

    /// A cap on the connections of one client address.
    public enum ClientCap: Hashable, Sendable {
        /// 256 for each address but those of this host, whose clients all share one.
        case standard
        case none
        /// For each address, also this host's.
        case count(Int)

        /// What `standard` stands for.
        public static let standardCount = 256
    }

    public var head = Head()
    /// Client connections of the whole process; nil: half of the descriptors that the system allows, less those that the
    /// process needs itself, and at most `largestTotal`. Each worker takes its share. A connection beyond waits in the backlog.
    public var connections: Int?
    /// Client connections of one address, or of one /64 network of IPv6. One beyond is answered with 429 and closed.
    public var perClient = ClientCap.standard
    /// Requests on one client connection, 10 000; the answer to the last one says that the connection closes. 0: no bound.
    public var requestsPerConnection = 10_000
    /// How old a client connection may be when a request begins and still go on after it; 1 h. nil: no bound.
    public var connectionAge: Duration? = .seconds(3600)
    /// Requests that the process serves at once; nil: no bound. One beyond is answered with 503 and Retry-After.
    public var inFlight: Int?

    /// The default cap on client connections where descriptors abound. Idle connections are closed in its last tenth: above
    /// 10 800.
    public static let largestTotal = 12_000

    public init() {}
}
