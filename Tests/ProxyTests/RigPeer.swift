import EventLoop
import Octets

/// One end of a connection in the hands of a test: a client, or an upstream that was connected to. It keeps what it
/// receives and does what the test says.
final class RigPeer: StreamHandler {
    private(set) var stream: Stream!
    /// All bytes that were received.
    private(set) var received: [UInt8] = []
    /// How often bytes came.
    private(set) var reads = 0
    /// Bytes of `received` that `take` has given out.
    private var taken = 0
    /// Whether the other side has sent its FIN.
    private(set) var hasEnded = false
    /// The error that broke the connection: `ECONNRESET` after a reset.
    private(set) var failure: Int32?
    /// The port that was connected to, for the upstream's side.
    var localPort: UInt16 = 0
    /// Called after each read.
    var onReceived: ((RigPeer) -> Void)?

    init(loop: EventLoop, descriptor: Int32, paused: Bool = false) {
        stream = Stream(loop: loop, descriptor: descriptor, handler: self)
        if paused { stream.pauseReading() }
    }

    /// Whether the other side has closed, by a FIN or a reset.
    var isOver: Bool { hasEnded || failure != nil }
    var text: String { String(decoding: received, as: UTF8.self) }

    /// The next message, when all of it has been received.
    func take(_ body: RigMessage.Body = .framed) -> RigMessage? {
        guard let (message, used) = RigMessage.parse(received[taken...], body, isOver: isOver) else { return nil }
        taken += used
        return message
    }

    /// Whether a message is there to be taken.
    func has(_ body: RigMessage.Body = .framed) -> Bool {
        RigMessage.parse(received[taken...], body, isOver: isOver) != nil
    }

    /// Bytes behind the messages that were taken.
    var rest: [UInt8] { Array(received[taken...]) }

    /// Bytes that the system has not taken yet: the other side isn't read.
    var queued: Int { stream.queued }
    /// Bytes that the system has taken.
    var sent: Int { Int(stream.bytesWritten) }

    func send(_ text: String) { send(Array(text.utf8)) }
    func send(_ bytes: [UInt8]) { stream.write(bytes.span) }
    func pause() { stream.pauseReading() }
    func resume() { stream.resumeReading() }
    func halfClose() { stream.shutdownWrite() }
    func reset() { stream.abort() }

    func close() {
        onReceived = nil
        stream.close()
    }

    // MARK: What the stream tells

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        received.append(contentsOf: bytes)
        reads += 1
        onReceived?(self)
        return bytes.count
    }

    func ended(_ stream: Stream) { hasEnded = true }
    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) { failure = errno }
}
