internal import EventLoop

/// Why no connection to an upstream could be had.
enum UpstreamFailure {
    /// The name could not be resolved, or nobody listens: 502.
    case unreachable(String)
    /// Neither yes nor no within the connect time: 504.
    case timedOut
}

/// One attempt at a new upstream connection for an exchange: resolve, then connect, all within one deadline.
final class ConnectAttempt {
    private var exchange: Exchange?
    private var pool: UpstreamPool?
    private var resolving: Resolution?
    private var connecting: Connect?
    private var deadline: UInt64 = 0

    init(exchange: Exchange) {
        self.exchange = exchange
    }
}
