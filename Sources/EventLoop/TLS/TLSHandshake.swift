/// A client's handshake on a connection that was just made: the step between connecting and use.
///
/// The loop keeps it, through its stream, until it is complete or cancelled.
public final class TLSHandshake: StreamHandler {
    private var completion: ((Result<Stream, TLSError>) -> Void)?
    private var stream: Stream?
    private var timer: Timer?

    /// Begins at once, on a connected socket that this takes over. `completion` comes once, from the loop, never from inside
    /// this call: with a stream that reads and whose handler is to be set, or with the reason. Not after `cancel()`.
    /// - Parameters:
    ///   - endpoint: see `TLSRole.client`.
    ///   - nanoseconds: the deadline, kept as coarsely as `Timer` does.
    public init(
        loop: EventLoop, descriptor: Int32, context: TLSClientContext, endpoint: String, timeout nanoseconds: UInt64,
        completion: @escaping (Result<Stream, TLSError>) -> Void
    ) {
        self.completion = completion
        timer = Timer(loop: loop) { [unowned self] in finish(.handshakeTimeout) }
        timer?.set(after: nanoseconds)
        stream = Stream(
            loop: loop, descriptor: descriptor, tls: .client(context, endpoint: endpoint), handler: self)
    }

    /// Gives up. No completion comes.
    public func cancel() {
        completion = nil
        timer = nil
        stream?.abort()
        stream = nil
    }

    private func finish(_ reason: TLSError.Reason) {
        finish(.failure(TLSError(reason)))
    }

    private func finish(_ result: Result<Stream, TLSError>) {
        guard let completion else { return }
        if case .failure = result { cancel() }
        self.completion = nil
        // The timer may be firing just now; the wheel keeps it meanwhile.
        timer = nil
        stream = nil
        completion(result)
    }

    public func secured(_ stream: Stream) { finish(.success(stream)) }

    public func failed(_ stream: Stream, _ errno: Int32) {
        finish(.failure(stream.tlsError ?? TLSError(.reset, detail: systemErrorText(errno))))
    }

    // Neither comes before `secured`, and then the handler is another one.
    public func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int { 0 }
    public func ended(_ stream: Stream) {}
    public func drained(_ stream: Stream) {}
}
