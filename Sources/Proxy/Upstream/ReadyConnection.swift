internal import EventLoop

/// A connection to an upstream over which a request can be sent; whoever gets it owns the descriptor.
struct ReadyConnection {
    /// -1 where `stream` has it.
    let descriptor: Int32
    /// Whom it goes to.
    let address: SocketAddress
    /// The stream that speaks TLS already, whose handler is to be set.
    var stream: Stream?
}
