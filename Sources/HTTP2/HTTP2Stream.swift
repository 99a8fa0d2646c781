public import HTTPWire
public import Octets

/// Whom a stream's content and its end are told. All calls come from inside of `HTTP2Session.read`, `write` and
/// `HTTP2Stream.resume`; a handler may respond, pause, and end the stream in each of them.
public protocol HTTP2StreamHandler: AnyObject {
    /// A client's stream: the head of a response has come, checked, which may be an interim one. Content follows a final one unless
    /// `isComplete`. The handler takes the head, by a swap with one of its own.
    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream)
    /// A client's stream: the response can't be read. The stream is given up.
    func misread(_ error: WireError, on stream: HTTP2Stream)
    /// Content has come. Returns how many bytes were taken: fewer where the stream was paused, which keeps the rest.
    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int
    /// Content has come while the stream is paused: so many bytes wait.
    func held(_ count: Int, on stream: HTTP2Stream)
    /// All content was taken, and the trailers that came behind it.
    func contentEnded(_ stream: HTTP2Stream)
    /// The bytes of the response that wait have become few, after `isFull` held.
    func drained(_ stream: HTTP2Stream)
    /// The stream is over: both sides have said all, or one has given it up, which any other code than `noError` says.
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode)
}

// What serves requests gets no responses.
extension HTTP2StreamHandler {
    public func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {}
    public func misread(_ error: WireError, on stream: HTTP2Stream) {}
}

/// One request and its response on a connection of HTTP/2: content that waits to be taken, and content that waits to be sent.
///
/// What waits is bounded by the stream's window on one side and by the sender's heeding `isFull` on the other.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a stream, and no handler is called while a buffer is changed
/// (docs/decisions/0007).
public final class HTTP2Stream {
    /// Bytes of a response that wait above which its sender should stop: 64 KiB.
    public static let highWatermark = 64 * 1024
    /// Bytes at which it may go on: 16 KiB.
    public static let lowWatermark = 16 * 1024

    public private(set) var id: Int32
    /// Nil once the stream is over, which ends the cycle of references.
    private var session: HTTP2Session?
    /// Whom it tells; set where the stream is given to its owner, and nil once its exchange or the stream is over.
    public var handler: (any HTTP2StreamHandler)?

    // The request.
    /// Content that came while nobody took it.
    @safe @exclusivity(unchecked) private var held = OutputBuffer()
    private var isPaused = false
    private var hasEnded = false
    private var isEndTold = false
    /// Bytes that are to come, where the head said how many.
    private var announced: Int?
    /// Trailers, once the content has ended.
    public internal(set) var trailers = TrailerLines()

    // The response.
    @safe @exclusivity(unchecked) internal private(set) var output = OutputBuffer()
    private var isAboveHighWatermark = false
    private var isResponseEnded = false
    @safe @exclusivity(unchecked) private var trailerLines = OutputBuffer()
    /// Whether the session waits to be told that there is content.
    private var isDeferred = false
    private var isEndSent = false
    private var resetsWhenSent = false

    // A client's stream: the request is what goes out, the response what comes.
    /// Whether content that came whole is still brought when the stream is over.
    private var isClient = false
    /// Whether the final head has come.
    internal private(set) var hasResponse = false
    /// Responses before that.
    internal var interim = InterimCount()
    /// Whether the request's head has been written.
    internal private(set) var isRequestSent = false
    /// Whether the stream was given up here, by whom it tells.
    private var isGivenUp = false
    /// Whether the stream was reset since the peer broke a rule in it.
    public private(set) var isMalformed = false
    /// How the stream came to its end while content was still to be taken.
    private var endCode: HTTP2ErrorCode?

    internal init(_ id: Int32, session: HTTP2Session) {
        self.id = id
        self.session = session
    }

    /// Becomes another stream, whose buffers have memory already. Call it only on one that nobody else holds.
    fileprivate func begin(_ id: Int32, session: HTTP2Session) {
        self.id = id
        self.session = session
        isPaused = false
        hasEnded = false
        isEndTold = false
        announced = nil
        bringsLast = false
        isAboveHighWatermark = false
        isResponseEnded = false
        isDeferred = false
        isEndSent = false
        resetsWhenSent = false
        taken = 0
        wantsEmpty = false
        isClient = false
        hasResponse = false
        isRequestSent = false
        isGivenUp = false
        isMalformed = false
        endCode = nil
    }

    /// Leaves nothing of what it was in its buffers, and no more memory than most streams need.
    fileprivate func clear() {
        held.removeAll()
        output.removeAll()
        trailerLines.removeAll()
        held.shrink(to: HTTP2StreamSpares.keptCapacity)
        output.shrink(to: HTTP2StreamSpares.keptCapacity)
        trailerLines.shrink(to: HTTP2StreamSpares.keptCapacity)
        if !trailers.isEmpty { trailers = TrailerLines() }
    }

    // MARK: The request's content

    /// Bytes of the content that are still to come or to be taken, where that is known.
    public var contentLeft: Int? { hasEnded ? held.count : announced.map { $0 + held.count } }

    /// Whether no content is behind what `HTTP2StreamHandler.received` is given, as far as that is known.
    public private(set) var bringsLast = false
    /// Whether the client has sent all of it.
    public var isContentComplete: Bool { hasEnded }

    internal func beginContent(_ framing: BodyFraming, isComplete: Bool) {
        if case .length(let count) = framing { announced = count }
        hasEnded = isComplete
        isEndTold = isComplete
    }

    /// Takes content from the peer, whose window stays smaller until the handler takes it.
    ///
    /// The last byte of content whose length was said waits for the stream's end: with it an upstream would have a whole request,
    /// which more content would turn into one that must not go on (RFC 9113 §8.1.1).
    ///
    /// - Parameter ends: whether the content is the end of the stream's last frame.
    internal func arrived(_ content: Span<UInt8>, ends: Bool) {
        if let announced { self.announced = max(0, announced - content.count) }
        guard let handler else { return consumed(content.count) }
        guard !isPaused, held.isEmpty else {
            held.append(content)
            return handler.held(held.count, on: self)
        }
        bringsLast = announced == 0 && ends
        let kept = announced == 0 && !ends ? 1 : 0
        let part = content.extracting(0..<max(0, content.count - kept))
        let taken = part.isEmpty ? 0 : handler.received(part, on: self)
        if taken < content.count { held.append(content.extracting(taken..<content.count)) }
        consumed(taken)
    }

    internal func beginRequest(hasContent: Bool) {
        isClient = true
        isDeferred = false
        isResponseEnded = !hasContent
    }

    internal func beginResponse(length: Int?) {
        hasResponse = true
        announced = length
    }

    internal func ended() {
        hasEnded = true
        deliver()
    }

    private func tellEnd() {
        guard hasEnded, held.isEmpty, !isEndTold else { return }
        isEndTold = true
        handler?.contentEnded(self)
        if let endCode { tellClosed(endCode) }
    }

    private func consumed(_ count: Int) {
        if count > 0 { session?.consume(count, of: self) }
    }

    /// Brings no content before `resume`.
    public func pause() { isPaused = true }

    /// Brings content again: first what has come meanwhile. Not to be called from inside `received`.
    public func resume() {
        isPaused = false
        deliver()
    }

    private func deliver() {
        while !isPaused, let handler {
            // As in `arrived`.
            let kept = announced == 0 && !hasEnded ? 1 : 0
            guard held.count > kept else { break }
            bringsLast = hasEnded
            var content = OutputBuffer()
            swap(&content, &held)
            let taken = handler.received(content.span.extracting(0..<content.count - kept), on: self)
            if taken < content.count {
                content.drop(taken)
                // Nothing can have come meanwhile: the session reads nothing from inside of this call.
                swap(&content, &held)
            }
            consumed(taken)
            if taken == 0 { return }
        }
        tellEnd()
    }

    /// Throws away what waits here, and lets come what is to be thrown away by the handler.
    public func drop() {
        isPaused = false
        let count = held.count
        held.removeAll()
        consumed(count)
    }

    // MARK: The response

    /// Bytes that wait for the client.
    public var queued: Int { output.count }
    /// Whether the client takes less than comes: `HTTP2StreamHandler.drained` says when it has room again.
    public var isFull: Bool { isAboveHighWatermark }

    /// Sends a head. `lines` are `name: value` and CRLF each; those that HTTP/2 forbids are left out (RFC 9113 §8.2.2). A status
    /// below 200 is an interim response. Without content the response ends with it.
    public func respond(_ status: Int, _ lines: inout OutputBuffer, hasContent: Bool) {
        session?.respond(self, status, &lines, hasContent: hasContent)
        isDeferred = true
        if status >= 200, !hasContent { isResponseEnded = true }
    }

    /// Sends content behind the head. Returns whether more may follow now.
    public func write(_ content: Span<UInt8>) -> Bool {
        guard session != nil, !isResponseEnded else { return true }
        output.append(content)
        if output.count > Self.highWatermark { isAboveHighWatermark = true }
        resumeOutput()
        return !isAboveHighWatermark
    }

    /// Ends the response, behind content, with trailer fields where `lines` has some.
    public func end(trailers lines: inout OutputBuffer) {
        guard !isResponseEnded else { return }
        isResponseEnded = true
        swap(&trailerLines, &lines)
        resumeOutput()
    }

    private func resumeOutput() {
        guard isDeferred else { return }
        isDeferred = false
        session?.resume(self)
    }

    /// What goes into a frame of `most` bytes; nil: there is nothing for now.
    internal func next(_ most: Int) -> (count: Int, isLast: Bool, hasTrailers: Bool)? {
        let count = min(most, output.count)
        let isLast = isResponseEnded && count == output.count
        guard count > 0 || isLast else {
            isDeferred = true
            return nil
        }
        var hasTrailers = false
        if isLast, !trailerLines.isEmpty, let session { hasTrailers = session.trail(self, &trailerLines) }
        return (count, isLast, hasTrailers)
    }

    /// Bytes of the response that have gone into frames.
    public private(set) var taken: UInt64 = 0

    /// Whether `HTTP2StreamHandler.drained` is to be told, once, when nothing waits any more.
    public var wantsEmpty = false

    /// Moves the next bytes into a frame.
    internal func move(_ count: Int, to frame: inout OutputBuffer) {
        taken += UInt64(count)
        frame.append(output.span.extracting(0..<count))
        output.drop(count)
        let tellsEmpty = wantsEmpty && output.isEmpty
        guard tellsEmpty || isAboveHighWatermark && output.count <= Self.lowWatermark else { return }
        if tellsEmpty { wantsEmpty = false }
        isAboveHighWatermark = false
        session?.noteDrained(self)
    }

    /// Tells the client, behind the whole response, that no more of its request is wanted (RFC 9113 §8.1). Until then it may go on.
    public func resetWhenSent() {
        guard !hasEnded else { return }
        resetsWhenSent = true
        if isEndSent { reset(.noError) }
    }

    /// The response's last frame has been written. Before that a reset would take its place.
    internal func endSent() {
        isEndSent = true
        if resetsWhenSent { reset(.noError) }
    }

    /// A frame that begins or ends the stream has been written.
    internal func noteSent(isReset: Bool) {
        isRequestSent = true
        if isReset, !isGivenUp { isMalformed = true }
    }

    /// Gives the stream up.
    public func reset(_ code: HTTP2ErrorCode) {
        isGivenUp = true
        session?.reset(self, code)
    }

    /// Called once, when the session knows the stream no more. A client may give it up with any code, NO_ERROR among them.
    internal func close(_ code: HTTP2ErrorCode) {
        let isWhole = isEndSent && (hasEnded || resetsWhenSent)
        let code = code == .noError && !isWhole ? .cancel : code
        session = nil
        // A response that came whole is not to be lost, whatever the server says behind it (RFC 9113 §8.1).
        if isClient, hasEnded, !isEndTold, handler != nil { return endCode = code }
        tellClosed(code)
    }

    private func tellClosed(_ code: HTTP2ErrorCode) {
        let handler = self.handler
        self.handler = nil
        handler?.closed(self, code)
    }
}

/// Streams that are over, for the next ones: of a request nothing is to be allocated then. The sessions of one thread share them,
/// so that an idle connection holds none.
public final class HTTP2StreamSpares {
    /// As many as two connections have at once by default.
    private static let most = 256
    /// Bytes that each buffer of a spare keeps.
    fileprivate static let keptCapacity = 2048

    private var spares: [HTTP2Stream] = []

    public init() {}

    internal func take(_ id: Int32, session: HTTP2Session) -> HTTP2Stream {
        guard let stream = spares.popLast() else { return HTTP2Stream(id, session: session) }
        stream.begin(id, session: session)
        return stream
    }

    /// Takes a stream that is over. One that somebody still holds isn't kept: it would become another under his hands.
    internal func give(_ stream: consuming HTTP2Stream) {
        guard spares.count < Self.most, isKnownUniquelyReferenced(&stream) else { return }
        stream.clear()
        spares.append(stream)
    }
}
