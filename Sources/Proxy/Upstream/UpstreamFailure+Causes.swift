internal import EventLoop
internal import Gateway
internal import Glibc

// What the loop's errors mean to a request, and how metrics call it.
extension UpstreamFailure {
    init(_ error: ConnectError) {
        switch error {
        case .timedOut: self = .timedOut
        case .system(EMFILE), .system(ENFILE), .system(ENOBUFS), .system(ENOMEM): self = .noResources("\(error)")
        case .system(EADDRNOTAVAIL): self = .noLocalPort
        case .refused, .noSource, .system: self = .unreachable("\(error)")
        }
    }

    /// The word in metrics.
    var reason: UpstreamTally.ConnectReason {
        switch self {
        case .unreachable: .unreachable
        case .insecure: .tls
        case .otherProtocol: .otherProtocol
        case .timedOut: .timeout
        case .unresolved: .unresolved
        case .unavailable: .unavailable
        case .overloaded: .overloaded
        case .noResources: .resources
        case .noLocalPort: .localPort
        }
    }
}
