/// What a stream tells its owner. All calls come from the loop, never from inside a call to the stream, and none comes
/// after `close()` or `abort()`. Closing the stream inside any of them is fine.
public protocol StreamHandler: AnyObject {
    /// Bytes arrived. Returns how many of them were consumed, from the front; the stream keeps the rest and hands it over
    /// again, together with what follows, on the next read or after `resumeReading()`.
    ///
    /// `bytes` is the loop's read buffer: at most `EventLoop.readBufferSize` (384 KiB). A handler that leaves a whole full
    /// buffer gets nothing more until it calls `resumeReading()` and consumes.
    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int

    /// The peer's FIN, after all bytes before it were handed over. What was not consumed remains with the stream
    /// (`pendingCount`) and is handed over once more on `resumeReading()`. The stream can still write.
    func ended(_ stream: Stream)

    /// The write queue fell to the low watermark after `isAboveHighWatermark` held, or ran empty after `tellEmpty`.
    func drained(_ stream: Stream)

    /// The socket was full when the tick ended: what was held to its end is queued, in part at least.
    func backedUp(_ stream: Stream)

    /// The connection broke: a reset, `EPIPE`, a time-out of the system. The stream is closed already. All bytes that the
    /// system still had were handed over before, so an early answer of a peer that resets is not lost.
    func failed(_ stream: Stream, _ errno: Int32)

    /// The peer sent its FIN or a reset while the stream is paused. Called once. A FIN can't be told from a peer that is
    /// gone for good; after a reset `stream.peerError` is not 0. Bytes sent before it can still be read after
    /// `resumeReading()`, which then leads to `ended` or `failed`.
    func peerGone(_ stream: Stream)

    /// Whether the handler needs bytes to go on. Asked once, when a socket was accepted and what had come with it has been handed
    /// over; where it needs none, those that come, and the peer's end, may be told up to `EventLoop.patience` later.
    func awaitsBytes(_ stream: Stream) -> Bool

    /// The TLS handshake is over: `stream.tlsFacts` says what was agreed on. Called once, before the first `received`. A
    /// handshake that failed is told by `failed`; `stream.tlsError` says why.
    func secured(_ stream: Stream)

    /// The TLS handshake failed on this side, and the peer was sent the reason, which a close could take away from it. Returns whether
    /// the handler sees to that: then the stream is open, nothing can be written any more, `received` brings what still comes, as it
    /// comes and to be thrown away, and the handler closes. Where it doesn't, the stream is closed, and `failed` comes next.
    func refused(_ stream: Stream) -> Bool
}

extension StreamHandler {
    /// Does nothing: `queued` tells.
    public func backedUp(_ stream: Stream) {}

    /// Any may come that are of interest.
    public func awaitsBytes(_ stream: Stream) -> Bool { true }

    /// Does nothing: the end is told when reading resumes.
    public func peerGone(_ stream: Stream) {}

    /// Does nothing.
    public func secured(_ stream: Stream) {}

    /// The connection is of no more use.
    public func refused(_ stream: Stream) -> Bool { false }
}

/// The handler of a stream that is closed, or whose owner isn't whole yet.
final class NoHandler: StreamHandler, Sendable {
    static let shared = NoHandler()

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int { bytes.count }
    func ended(_ stream: Stream) {}
    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) {}
}
