internal import EventLoop

/// A connection to an upstream over which a request can be sent; its taker owns the descriptor.
struct ReadyConnection {
    /// -1 where `stream` has it.
    let descriptor: Int32
    /// Whom it goes to.
    let endpoint: Endpoint
    /// Nanoseconds that it took, TLS included.
    let connectTime: UInt64
    /// The stream that speaks TLS already, whose handler is to be set.
    let stream: Stream?
    /// The connection of HTTP/2, where that is what the upstream is spoken to by: it has the stream.
    var shared: HTTP2ClientConnection?

    /// Takes over the descriptor. The one place where the bytes of an upstream connection get their way. The stream's handler is to be
    /// set before the loop goes on.
    func makeStream(loop: EventLoop) -> Stream { stream ?? Stream(loop: loop, descriptor: descriptor) }
}
