internal import EventLoop
internal import Glibc

/// Why no connection to an upstream could be had.
enum UpstreamFailure {
    /// Nobody listens, or the way there is broken: 502.
    case unreachable(String)
    /// The TLS handshake failed; no byte of a request was written: 502.
    case insecure(TLSError)
    /// Neither yes nor no within the connect time: 504.
    case timedOut
    /// Its name was never resolved, or not for long: 503.
    case unresolved(String)
    /// All of its addresses are known to be dead; nothing was tried: 503.
    case unavailable
    /// Its limits are reached, and the queue is full or took too long: 503.
    case overloaded
    /// This process can open no further socket: 503.
    case noResources(String)
    /// The system has no free local port for the address: 503.
    case noLocalPort

    init(_ error: ConnectError) {
        switch error {
        case .timedOut: self = .timedOut
        case .system(EMFILE), .system(ENFILE), .system(ENOBUFS), .system(ENOMEM): self = .noResources("\(error)")
        case .system(EADDRNOTAVAIL): self = .noLocalPort
        case .refused, .system: self = .unreachable("\(error)")
        }
    }

    /// Whether the address is to blame, and not this process or the lack of an address.
    var isOfAddress: Bool {
        switch self {
        case .unreachable, .insecure, .timedOut: true
        case .unresolved, .unavailable, .overloaded, .noResources, .noLocalPort: false
        }
    }

    /// The word in metrics.
    var reason: UpstreamTally.ConnectReason {
        switch self {
        case .unreachable: .unreachable
        case .insecure: .tls
        case .timedOut: .timeout
        case .unresolved: .unresolved
        case .unavailable: .unavailable
        case .overloaded: .overloaded
        case .noResources: .resources
        case .noLocalPort: .localPort
        }
    }
}
