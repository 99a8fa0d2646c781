/// Why no connection to an upstream could be had.
enum UpstreamFailure {
    /// The name could not be resolved, or nobody listens: 502.
    case unreachable(String)
    /// Neither yes nor no within the connect time: 504.
    case timedOut
}
final class ConnectAttempt { init(exchange: Exchange) {} ; func cancel() {}; func start(_ a: UpstreamAddress, loop: Any, resolver: Any, timeout: UInt64) {} }
