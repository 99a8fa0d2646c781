internal import EventLoop

/// What is left of a connection to an upstream behind its last response: a server may answer before it has read all of an upload, which
/// the system has for it by then. As it reads it gives windows back, and a socket that is closed already would answer those by a reset,
/// which takes the rest of the upload (docs/rules.md F16). So our side ends, what comes is dropped, and the socket is closed when the
/// server has ended its own side, has taken all and is silent since, or has taken nothing for too long.
///
/// Its stream holds it.
final class LastRequests: StreamHandler {
    private let stream: Stream
    private let timer: Timer
    private let loop: EventLoop
    private let silence: UInt64
    private var taken: UInt64
    private var takenAt: UInt64
    private var heardAt: UInt64
    private var dropped = 0

    /// Time between two looks at what the server has taken, which nothing tells.
    private static let look: UInt64 = 1_000_000_000

    /// - Parameter silence: nanoseconds in which the server must take something.
    init(of stream: Stream, loop: EventLoop, within silence: UInt64) {
        self.stream = stream
        self.loop = loop
        self.silence = silence
        timer = Timer(loop: loop)
        taken = stream.bytesTaken
        takenAt = loop.activeNow
        heardAt = loop.activeNow
        stream.handler = self
        stream.shutdownWrite()
        stream.resumeReading()
        timer.action = { [unowned self] in lookAtServer() }
        timer.set(after: Self.look)
    }

    private func lookAtServer() {
        let (now, taken) = (loop.activeNow, stream.bytesTaken)
        if taken > self.taken { (self.taken, takenAt) = (taken, now) }
        let hasAll = stream.queued == 0 && taken == stream.bytesWritten
        // One that reads what its own system has would have given a window back, or taken more.
        let isDone = hasAll && now &- max(takenAt, heardAt) >= Linger.time
        if isDone || now &- takenAt >= silence { close() } else { timer.set(after: Self.look) }
    }

    private func close() {
        timer.cancel()
        stream.close()
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        heardAt = loop.activeNow
        dropped += bytes.count
        if dropped > Linger.bytes { close() }
        return bytes.count
    }

    func drained(_ stream: Stream) {}
    func ended(_ stream: Stream) { close() }
    func failed(_ stream: Stream, _ errno: Int32) { timer.cancel() }
}
