internal import EventLoop
internal import Gateway
internal import Octets

/// Two connections that have left HTTP (101 Switching Protocols): what one side sends, the other one gets.
///
/// A side that can't take more stops the other one from being read. A FIN is passed on behind what came before it; where TLS hasn't said
/// that it is the end (close_notify), TLS on the other side doesn't either. An error of one side resets the other, and so does the end
/// of the tunnel a side for which bytes still wait here: it can't take what it got for all that there was. The client's connection owns
/// the tunnel, and the tunnel the upstream's.
final class Tunnel: StreamHandler {
    private let client: Stream
    private let upstream: Stream
    /// The upstream's connection as its pool knows it: it counts until the tunnel is closed.
    private let connection: UpstreamConnection
    private unowned let owner: DownstreamConnection
    private var timer: Timer!
    private let idle: UInt64
    /// After how long without a byte a side's system is asked whether it is there; it has about as long for its answer: a minute.
    private static let silence: UInt64 = 60 * 1_000_000_000
    private var isClosed = false
    /// What the systems of both sides had taken when it was looked at last, and whether that was since the last byte came.
    private var taken: UInt64 = 0
    private var wasLookedAt = false
    /// Bytes that the client has sent since the tunnel began.
    private(set) var bytesUp = 0
    /// Bytes that the upstream has sent since.
    private(set) var bytesDown = 0

    /// - Parameter idle: nanoseconds without a byte in either direction after which the tunnel is closed: none has come, and none of
    ///   those that wait was taken.
    init(client: Stream, upstream connection: UpstreamConnection, owner: DownstreamConnection, idle: UInt64) {
        self.client = client
        self.upstream = connection.stream
        self.connection = connection
        self.owner = owner
        self.idle = idle
        timer = Timer(loop: client.loop) { [unowned self] in lookAtBytes() }
    }

    /// Takes both connections over. `first` are bytes of the upstream's that came with its 101, which has been written.
    func begin(_ first: Span<UInt8>) {
        client.handler = self
        upstream.handler = self
        timer.set(after: idle)
        // A side that has gone from the network without a word would hold the other one, and its place at the upstream, until then.
        if idle > Self.silence {
            for side in [client, upstream] { side.probe(after: Self.silence) }
        }
        if !first.isEmpty { pass(first, from: upstream) }
        // What the client sent behind its request goes on from here; its FIN may have come already.
        client.resumeReading()
        if client.isEnded, client.pendingCount == 0 { passEnd(of: client) }
    }

    /// Closes the upstream's side; the client's belongs to its owner.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        timer.cancel()
        upstream.flush()
        if upstream.queued > 0 { upstream.abort() }
        connection.close()
    }

    /// No byte has come for a while. A slow reader may take some all the same: nothing tells as long as the system, which holds
    /// megabytes, has no room for more.
    private func lookAtBytes() {
        let (taken, written) = (client.bytesTaken &+ upstream.bytesTaken, client.bytesWritten &+ upstream.bytesWritten)
        let waits = taken < written || client.queued > 0 || upstream.queued > 0
        // When bytes were taken is known only behind a first look; then the last of them have the whole time, too.
        guard taken != self.taken, waits || wasLookedAt else { return end(.tunnelIdle) }
        self.taken = taken
        wasLookedAt = true
        timer.set(after: idle)
    }

    private func other(than stream: Stream) -> Stream { stream === client ? upstream : client }

    private func pass(_ bytes: Span<UInt8>, from stream: Stream) {
        let target = other(than: stream)
        if stream === client { bytesUp += bytes.count } else { bytesDown += bytes.count }
        wasLookedAt = false
        timer.set(after: idle)
        target.write(bytes)
        if target.isAboveHighWatermark { stream.pauseReading() }
    }

    private func passEnd(of stream: Stream) {
        other(than: stream).shutdownWrite(cut: stream.isTruncated)
        endIfOver()
    }

    /// Ends the tunnel when both sides have ended theirs and have got all that there was.
    private func endIfOver() {
        guard client.isEnded, upstream.isEnded, client.pendingCount == 0, upstream.pendingCount == 0 else { return }
        for stream in [client, upstream] where stream.queued > 0 {
            stream.tellEmpty()
            return
        }
        end(nil)
    }

    private func end(_ flag: EndReason?, reset: Bool = false) {
        guard !isClosed else { return }
        if reset, !upstream.isClosed { upstream.abort() }
        owner.tunnelEnded(flag, reset: reset)
    }

    // MARK: What the streams tell

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        // A FIN that was read while the stream was paused isn't told again.
        pass(bytes, from: stream)
        if stream.isEnded { other(than: stream).shutdownWrite(cut: stream.isTruncated) }
        return bytes.count
    }

    func ended(_ stream: Stream) { passEnd(of: stream) }

    func drained(_ stream: Stream) {
        wasLookedAt = false
        timer.set(after: idle)
        other(than: stream).resumeReading()
        endIfOver()
    }

    func peerGone(_ stream: Stream) {
        if stream.peerError != 0 { failed(stream, stream.peerError) }
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        end(stream === client ? .clientGone : .upstreamGone, reset: true)
    }
}
