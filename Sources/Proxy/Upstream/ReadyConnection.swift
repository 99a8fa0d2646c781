internal import EventLoop

/// A connection to an upstream over which a request can be sent; whoever gets it owns the descriptor.
struct ReadyConnection {
    let descriptor: Int32
    /// Whom it goes to.
    let endpoint: Endpoint

    var address: SocketAddress { endpoint.address }

    /// Takes over the descriptor. The one place where the bytes of an upstream connection get their way.
    func makeStream(loop: EventLoop, handler: any StreamHandler) -> Stream {
        Stream(loop: loop, descriptor: descriptor, handler: handler)
    }
}
