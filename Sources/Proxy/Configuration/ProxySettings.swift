public import Gateway
public import HTTP2

/// All that the proxy runs with: checked, complete, and never changed once it serves.
public struct ProxySettings: Sendable {
    /// Where connections are accepted; at least one.
    public var listen: [ListenAddress]
    /// The TLS of those that speak it.
    public var tls: [ListenAddress: ServerTLS] = [:]
    /// The versions of HTTP that an address takes, where those aren't both.
    public var versions: [ListenAddress: HTTPVersions] = [:]
    /// What an address serves, where that isn't HTTP.
    public var services: [ListenAddress: ListenerService] = [:]
    public var http2 = HTTP2Limits()
    /// Event loops, each a thread of its own; at least 1.
    public var workers: Int
    /// What has set the number of workers where the settings leave it to the process; nil: they name it.
    public var workersReason: String?
    public var accessLog = AccessLogTarget.stdout
    public var accessLogForm = AccessLogForm()
    /// Nil: no spans are made.
    public var tracing: TracingSettings?
    public var upstreams: [UpstreamSettings]
    /// In the order of the settings, which is the order of matching.
    public var routes: [Route]
    public var client = ClientTimeouts()
    /// How long a stopping proxy waits for exchanges to end; 25 s (below the 30 s after which Kubernetes kills).
    public var grace = Duration.seconds(25)

    public var forwarding = ForwardingSettings()
    public var admission = AdmissionSettings()
    public var memory = MemorySettings()
    public var images = ImageSettings()
    public var lifecycle = LifecycleSettings()
    public var admin = AdminSettings()

    public init(listen: [ListenAddress], workers: Int, upstreams: [UpstreamSettings], routes: [Route]) {
        self.listen = listen
        self.workers = workers
        self.upstreams = upstreams
        self.routes = routes
    }
}

/// What clients find at an address.
public enum ListenerService: String, Hashable, Sendable, CaseIterable {
    /// The proxy: requests are forwarded to upstreams.
    case http
    /// Envoy's external processing: a data plane forwards requests, and asks by gRPC what becomes of them.
    case externalProcessing = "ext_proc"
}

/// Versions of HTTP that are taken at an address. With TLS the client chooses among them (ALPN), without it by how it begins.
public struct HTTPVersions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// 1.1, and 1.0 with it.
    public static let http1 = HTTPVersions(rawValue: 1)
    public static let http2 = HTTPVersions(rawValue: 2)
    public static let all: HTTPVersions = [.http1, .http2]
}

/// Where the access log goes.
public enum AccessLogTarget: Hashable, Sendable {
    case stdout
    case off
    /// Appended to; made if it doesn't exist.
    case file(path: String)
}

/// The time a client has for each phase on a connection.
public struct ClientTimeouts: Hashable, Sendable {
    /// From the first byte of a request's head to its last, and from accepting to the first byte; 10 s, then 408.
    public var header = Duration.seconds(10)
    /// For a TLS handshake; 5 s, then the connection is closed.
    public var handshake = Duration.seconds(5)
    /// Between two requests; 75 s (nginx's number), then the connection is closed.
    public var keepAlive = Duration.seconds(75)
    /// Between two reads of a request's body, for routes that don't say their own; 30 s, then 408.
    public var bodyGap = Duration.seconds(30)
    /// Without progress while response bytes wait; 60 s, then the connection is cut.
    public var write = Duration.seconds(60)

    public init() {}
}
