/// Why no connection to an upstream could be had.
package enum UpstreamFailure {
    /// No socket listens, or the way there is broken: 502.
    case unreachable(String)
    /// The TLS handshake failed, for this reason; no byte of a request was written: 502.
    case insecure(String)
    /// It is to be spoken to by HTTP/2 and speaks something else, as a sentence says; no byte of a request was written: 502.
    case otherProtocol(String)
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

    /// Whether the address is to blame, and not this process or the lack of an address.
    package var isOfAddress: Bool {
        switch self {
        case .unreachable, .insecure, .otherProtocol, .timedOut: true
        case .unresolved, .unavailable, .overloaded, .noResources, .noLocalPort: false
        }
    }
}
