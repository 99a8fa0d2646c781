internal import HTTP2
internal import HTTPWire
internal import Octets

/// A stream as its owner has it, with what must hold for it.
final class HTTP2Exchange: HTTP2StreamHandler {
    let stream: HTTP2Stream
    private unowned let connection: HTTP2Connection
    private let framing: BodyFraming
    private var received = 0
    private(set) var closings = 0
    private var isEndTold = false
    private var isPaused = false
    /// Bytes that are taken before less than given is.
    private var appetite = Int.max
    private var isDropping = false

    // The response.
    private var isAnswered = false
    private var hasContent = false
    private(set) var written = 0
    private(set) var isEnded = false
    private static let mostWritten = 400_000

    init(_ stream: HTTP2Stream, _ framing: BodyFraming, on connection: HTTP2Connection) {
        self.stream = stream
        self.framing = framing
        self.connection = connection
        stream.handler = self
    }

    // MARK: What the owner does

    func respond(hasContent: Bool) {
        guard !isAnswered else { return }
        isAnswered = true
        self.hasContent = hasContent
        isEnded = !hasContent
        var lines = OutputBuffer()
        lines.append(text: "Content-Type: a/b\r\nConnection: close\r\nX: y\r\nEmpty:\r\n")
        stream.respond(hasContent ? 200 : 204, &lines, hasContent: hasContent)
    }

    func inform() {
        guard !isAnswered else { return }
        var lines = OutputBuffer()
        lines.append(text: "Link: </a>\r\n")
        stream.respond(103, &lines, hasContent: false)
    }

    func write(_ count: Int) {
        guard isAnswered, hasContent, !isEnded else { return }
        let end = min(Self.mostWritten, written + count)
        let content = (written..<end).map { HTTP2Sent.byte($0, of: stream.id) }
        // A stream that is over takes none, and nothing of it may be sent.
        written = end
        let hasRoom = stream.write(content.span)
        if closings == 0, hasRoom == stream.isFull { connection.note("a full stream says that it has room") }
    }

    func end(_ trailers: String) {
        guard isAnswered, hasContent, !isEnded else { return }
        isEnded = true
        var lines = OutputBuffer()
        lines.append(text: trailers)
        stream.end(trailers: &lines)
    }

    func pause() {
        isPaused = true
        stream.pause()
    }

    func resume(appetite: Int) {
        isPaused = false
        self.appetite = appetite
        stream.resume()
    }

    func giveUp() {
        if !isEndTold { stream.resetWhenSent() }
        // From here on all content is dropped.
        stream.drop()
        isPaused = false
        appetite = .max
        isDropping = true
    }

    // MARK: What the stream says

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        check(stream)
        if isPaused { connection.note("content comes while the stream is paused") }
        if content.isEmpty { connection.note("content of no bytes comes") }
        if !isDropping { check(content) }
        connection.callback(self)
        if isDropping { return content.count }
        let count = min(content.count, appetite)
        received += count
        appetite -= count
        if count < content.count { pause() }
        return count
    }

    private func check(_ content: Span<UInt8>) {
        let given = received + content.count
        if case .length(let length) = framing {
            if given > length { connection.note("\(given) bytes come of \(length)") }
            if given == length, !connection.hasEnded(stream.id) {
                connection.note("all content comes of a stream that hasn't ended")
            }
        }
        guard connection.isFramed else { return }
        let said = connection.said.content[stream.id] ?? []
        guard given <= said.count else { return connection.note("\(given) bytes come of \(said.count)") }
        for index in 0..<content.count where said[received + index] != content[index] {
            return connection.note("another byte comes at \(received + index)")
        }
    }

    func held(_ count: Int, on stream: HTTP2Stream) {
        check(stream)
        let most = connection.mostHeld
        if count > most { connection.note("\(count) bytes are held, of \(most)") }
        connection.callback(self)
    }

    func contentEnded(_ stream: HTTP2Stream) {
        check(stream)
        if isEndTold { connection.note("content ends twice") }
        isEndTold = true
        if !isDropping {
            if case .length(let length) = framing, received != length {
                connection.note("content of \(length) ends behind \(received) bytes")
            }
            if connection.isFramed, received != connection.said.content[stream.id]?.count ?? 0 {
                connection.note("content ends behind \(received) bytes")
            }
        }
        if !connection.hasEnded(stream.id) { connection.note("the content of a stream ends that hasn't ended") }
        connection.callback(self)
    }

    func drained(_ stream: HTTP2Stream) {
        check(stream)
        if stream.isFull { connection.note("a full stream has drained") }
        connection.callback(self)
    }

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        check(stream)
        closings += 1
        guard code == .noError else { return }
        if !isEnded || stream.queued > 0 { connection.note("a stream ends well without its response") }
        if !stream.isContentComplete, !isDropping { connection.note("a stream ends well without its request") }
    }

    private func check(_ stream: HTTP2Stream) {
        if stream !== self.stream { connection.note("another stream is told of") }
        if closings > 0 { connection.note("stream \(stream.id) is told of behind its end") }
    }
}
