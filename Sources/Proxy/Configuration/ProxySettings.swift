public import Gateway
public import HTTP2

/// All that the proxy runs with: checked, complete, and never changed once it serves.
public struct ProxySettings: Sendable {
    /// Where connections are accepted; at least one.
    public var listen: [ListenAddress]
    /// What is said of them, where that is more than the address; `listener(at:)` has it of each.
    public var listeners: [ListenAddress: ListenerSettings] = [:]
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
    /// What rules of heads, targets and fields hold that doesn't stand in the settings themselves, but comes from variables and files:
    /// nobody is shown it.
    public var foreignValues: [String] = []

    public init(listen: [ListenAddress], workers: Int, upstreams: [UpstreamSettings], routes: [Route]) {
        self.listen = listen
        self.workers = workers
        self.upstreams = upstreams
        self.routes = routes
    }

    /// Who may connect to unix sockets, as far as that is set.
    var socketModes: [ListenAddress: SocketMode] { listeners.compactMapValues(\.mode) }

    /// How an address is served.
    public func listener(at address: ListenAddress) -> ListenerSettings { listeners[address] ?? ListenerSettings() }
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
