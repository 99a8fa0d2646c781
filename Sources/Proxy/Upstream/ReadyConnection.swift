internal import EventLoop

/// A connection to an upstream over which a request can be sent; whoever gets it owns the descriptor.
struct ReadyConnection {
    let descriptor: Int32
    /// Whom it goes to.
    let address: SocketAddress
}
