internal import CHTTP2
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
    /// Both sides have said all, and some of the content still waits here. Returns whether it is wanted: then it goes on to be brought,
    /// as if the stream were open, and `closed` comes behind its end, or behind `HTTP2Stream.drop`.
    func takesRest(of stream: HTTP2Stream) -> Bool
    /// The stream is over: both sides have said all, or one has given it up, which any other code than `noError` says.
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode)
}

// What serves requests gets no responses. Content is lost only where a handler says that it may be.
extension HTTP2StreamHandler {
    public func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {}
    public func misread(_ error: WireError, on stream: HTTP2Stream) {}
    public func takesRest(of stream: HTTP2Stream) -> Bool { true }
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
    /// Bytes of content that are gathered before they are brought, 64 KiB, and what their frame has besides.
    internal static let mostGathered = 64 * 1024

    public var id: Int32 { number }
    @safe @exclusivity(unchecked) private var number: Int32
    /// Nil once the stream is over, which ends the cycle of references.
    @safe @exclusivity(unchecked) private var session: HTTP2Session?
    /// Whom it tells; set where the stream is given to its owner, and nil once its exchange or the stream is over.
    public var handler: (any HTTP2StreamHandler)? {
        get { owner }
        set { owner = newValue }
    }
    @safe @exclusivity(unchecked) private var owner: (any HTTP2StreamHandler)?

    /// All that a stream is but for its memory, so that one whose memory another had begins as a new one does.
    private struct State {
        // What comes: the request, or a client's response.
        var isPaused = false
        /// Whether content of the bytes that are being read waits for more of them.
        var isGathering = false
        var hasEnded = false
        var isEndTold = false
        /// Bytes that are to come, where the head said how many.
        var announced: Int?
        var bringsLast = false
        /// Bytes at the end of what is held that came of a frame which may have more than the head said: nobody gets them before it has
        /// come whole.
        var doubtful = 0

        // What goes out: the response, or a client's request.
        var isAboveHighWatermark = false
        var isOutputEnded = false
        /// Whether the session waits to be told that there is content.
        var isDeferred = false
        var isEndSent = false
        var resetsWhenSent = false
        /// Heads of the response that wait to be written.
        var heads = 0
        /// With what the stream is given up once what waits has gone out.
        var cutCode: HTTP2ErrorCode?
        /// Whether the end of the response waits for that of the request.
        var holdsEnd = false
        var taken: UInt64 = 0
        var wantsEmpty = false
        /// Bytes of the output's memory that the session counts.
        var memory = 0

        // Of a client's stream.
        var isClient = false
        var hasResponse = false
        var interim = InterimCount()
        var isRequestSent = false
        /// Whether the stream was given up here, by whom it tells.
        var isGivenUp = false
        var isMalformed = false

        /// How the stream came to its end while content was still to be taken.
        var endCode: HTTP2ErrorCode?
        var codeAsTold = HTTP2ErrorCode.noError
    }

    @safe @exclusivity(unchecked) private var state = State()
    /// Content that came while nobody took it, or that waits for more of the same read.
    @safe @exclusivity(unchecked) private var held = OutputBuffer()
    /// Trailers, once the content has ended.
    public var trailers: TrailerLines { trailerSection }
    @safe @exclusivity(unchecked) internal var trailerSection = TrailerLines()
    @safe @exclusivity(unchecked) internal private(set) var output = OutputBuffer()
    @safe @exclusivity(unchecked) private var trailerLines = OutputBuffer()

    internal init(_ id: Int32, session: HTTP2Session) {
        number = id
        self.session = session
    }

    /// Becomes another stream, whose buffers have memory already. Call it only on one that nobody else holds.
    fileprivate func begin(_ id: Int32, session: HTTP2Session) {
        number = id
        self.session = session
        state = State()
    }

    /// Leaves nothing of what it was in its buffers, and no more memory than most streams need.
    fileprivate func clear(_ buffers: inout SpareBuffers) {
        held.removeAll()
        output.removeAll()
        trailerLines.removeAll()
        if held.capacity > HTTP2StreamSpares.keptCapacity { buffers.recycle(&held) }
        if output.capacity > HTTP2StreamSpares.keptCapacity { buffers.recycle(&output) }
        trailerLines.shrink(to: HTTP2StreamSpares.keptCapacity)
        if !trailerSection.isEmpty { trailerSection = TrailerLines() }
    }

    // MARK: The request's content

    /// Bytes of the content that are still to come or to be taken, where that is known.
    public var contentLeft: Int? {
        state.hasEnded ? held.count : state.announced.map { $0 + held.count - min(state.doubtful, held.count) }
    }

    /// Whether no content is behind what `HTTP2StreamHandler.received` is given, as far as that is known.
    public var bringsLast: Bool { state.bringsLast }
    /// Whether the client has sent all of it.
    public var isContentComplete: Bool { state.hasEnded }

    internal func beginContent(_ framing: BodyFraming, isComplete: Bool) {
        if case .length(let count) = framing { state.announced = count }
        state.hasEnded = isComplete
        state.isEndTold = isComplete
    }

    /// Takes content from the peer, whose window stays smaller until the handler takes it.
    ///
    /// The last byte of content whose length was said waits for the stream's end: with it an upstream would have a whole request,
    /// which more content would turn into one that must not go on (RFC 9113 §8.1.1).
    ///
    /// Of a frame with more content than is left of that length nghttp2 brings the pieces up to the one that passes it, so that what
    /// came of the frame would depend on how it was cut into reads. Nobody gets any of it.
    ///
    /// - Parameters:
    ///   - ends: whether the content is the end of the stream's last frame.
    ///   - left: bytes of the frame that aren't looked at yet, these among them, and its padding.
    internal func arrived(_ content: Span<UInt8>, ends: Bool, of left: Int) {
        if let announced = state.announced {
            // Padding may be all that is too much: the frame's end says so.
            if state.doubtful > 0 || announced < left, handler != nil { return doubt(content) }
            state.announced = max(0, announced - content.count)
        }
        guard let handler else { return consumed(content.count) }
        if state.isGathering { return gather(content) }
        guard !state.isPaused, held.isEmpty else {
            held.append(content)
            return handler.held(held.count, on: self)
        }
        // More is likely to come in the same read.
        guard ends else { return gather(content) }
        // Less than was said is an error that comes with the frame's end.
        state.bringsLast = state.announced ?? 0 == 0
        let taken = handler.received(content, on: self)
        if taken < content.count { held.append(content.extracting(taken..<content.count)) }
        consumed(taken)
    }

    /// Keeps content until all that was read has been looked at, or much has come.
    private func gather(_ content: Span<UInt8>) {
        beginGathering(content.count)
        held.append(content)
        if held.count >= Self.mostGathered { deliverGathered() }
    }

    private func beginGathering(_ count: Int) {
        guard !state.isGathering, let session else { return }
        state.isGathering = true
        session.noteGathering(self)
        if held.capacity < count { session.spares.buffers.lend(to: &held) }
    }

    /// Keeps content of a frame that may have too much of it.
    private func doubt(_ content: Span<UInt8>) {
        beginGathering(content.count)
        held.append(content)
        state.doubtful += content.count
    }

    /// A frame whose content was doubtful has come whole, and had no more than it may.
    internal func settleFrame() {
        guard state.doubtful > 0, let announced = state.announced else { return }
        state.announced = max(0, announced - state.doubtful)
        state.doubtful = 0
        // The frame may have come in an earlier read but for its padding.
        beginGathering(0)
        if held.count >= Self.mostGathered { deliverGathered() }
    }

    /// Brings what was gathered.
    internal func deliverGathered() {
        guard state.isGathering else { return }
        guard state.isPaused else { return deliver() }
        state.isGathering = false
        if !held.isEmpty { handler?.held(held.count, on: self) }
    }

    internal func ended() {
        settleFrame()
        state.hasEnded = true
        releaseEnd()
        deliver()
    }

    /// Bytes at the end of what is held that nobody gets before the stream's end, or their frame's, has come.
    private var keptBack: Int { state.doubtful > 0 ? state.doubtful : state.announced == 0 && !state.hasEnded ? 1 : 0 }
    /// Whether content waits that may be taken.
    internal var holdsContent: Bool { held.count > keptBack }

    private func tellEnd() {
        if !state.hasEnded, !state.isPaused, let endCode = state.endCode, !holdsContent { return tellClosed(endCode) }
        guard state.hasEnded, held.isEmpty, !state.isEndTold else { return }
        state.isEndTold = true
        handler?.contentEnded(self)
        if let endCode = state.endCode { tellClosed(endCode) }
    }

    private func consumed(_ count: Int) {
        if count > 0 { session?.consume(count, of: self) }
    }

    /// Brings no content before `resume`.
    public func pause() { state.isPaused = true }

    /// Brings content again: first what has come meanwhile. Not to be called from inside `received`.
    public func resume() {
        state.isPaused = false
        deliver()
    }

    private func deliver() {
        if !state.isPaused { state.isGathering = false }
        while !state.isPaused, let handler {
            // As in `arrived`.
            let kept = keptBack
            guard held.count > kept else { break }
            state.bringsLast = state.hasEnded
            var content = OutputBuffer()
            swap(&content, &held)
            let taken = handler.received(content.span.extracting(0..<content.count - kept), on: self)
            content.drop(taken)
            if content.count > 0 {
                // Nothing can have come meanwhile: the session reads nothing from inside of this call.
                swap(&content, &held)
            } else {
                session?.spares.buffers.recycle(&content)
            }
            consumed(taken)
            if taken == 0 { return }
        }
        tellEnd()
    }

    /// Throws away what waits here, and lets come what is to be thrown away by the handler.
    public func drop() {
        state.isPaused = false
        state.isGathering = false
        let count = held.count
        held.removeAll()
        consumed(count)
        if let endCode = state.endCode { tellClosed(endCode) }
    }

    // MARK: A client's response

    /// Whether the final head has come.
    internal var hasResponse: Bool { state.hasResponse }
    /// Whether the request's head has been written.
    internal var isRequestSent: Bool { state.isRequestSent }
    /// Whether nobody can have seen anything of it: a client's, whose request's head hasn't been written.
    internal var isUnsent: Bool { state.isClient && !state.isRequestSent }
    /// Whether the stream was reset since the peer broke a rule in it.
    public var isMalformed: Bool { state.isMalformed }

    /// Counts a head of a response, where it is an interim one.
    internal func countInterim(_ head: borrowing MessageHead, limits: WireLimits) throws(WireError) {
        try state.interim.add(head, limits: limits)
    }

    internal func beginRequest(hasContent: Bool) {
        state.isClient = true
        state.isDeferred = false
        state.isOutputEnded = !hasContent
    }

    internal func beginResponse(length: Int?) {
        state.hasResponse = true
        state.announced = length
    }

    // MARK: The response

    /// Bytes that wait for the client.
    public var queued: Int { output.count }
    /// Whether something that was said isn't sent yet: bytes, or the end alone, for which nghttp2 waits until the peer gives the stream
    /// a window again where content has spent it.
    public var awaitsSending: Bool {
        !output.isEmpty || state.isOutputEnded && !state.isEndSent || state.cutCode != nil
    }
    /// Whether the whole response has gone out, but for an end that is held back.
    internal var isAnswered: Bool { state.isEndSent || state.holdsEnd && output.isEmpty }
    /// Whether the client takes less than comes: `HTTP2StreamHandler.drained` says when it has room again.
    public var isFull: Bool { state.isAboveHighWatermark }

    /// Sends a head. `lines` are `name: value` and CRLF each; those that HTTP/2 forbids are left out (RFC 9113 §8.2.2). A status
    /// below 200 is an interim response. Without content the response ends with it.
    public func respond(_ status: Int, _ lines: inout OutputBuffer, hasContent: Bool) {
        session?.respond(self, status, &lines, hasContent: hasContent)
        state.heads += 1
        state.isDeferred = true
        if status >= 200, !hasContent { state.isOutputEnded = true }
    }

    /// Sends content behind the head. Returns whether more may follow now.
    public func write(_ content: Span<UInt8>) -> Bool {
        guard let session, !state.isOutputEnded else { return true }
        if output.count + content.count > HTTP2StreamSpares.keptCapacity {
            session.spares.buffers.enlarge(&output, for: content.count)
        }
        output.append(content)
        noteMemory(session)
        if output.count > Self.highWatermark { state.isAboveHighWatermark = true }
        resumeOutput()
        return !state.isAboveHighWatermark
    }

    /// As `write`, for content that nobody else needs any more: where it is much, and nothing waits, its memory is taken over, so that it
    /// isn't there twice. Leaves `content` empty.
    public func write(taking content: inout OutputBuffer) -> Bool {
        guard let session, !state.isOutputEnded, output.isEmpty, content.count > Self.highWatermark else {
            defer { content.removeAll() }
            return write(content.span)
        }
        swap(&output, &content)
        noteMemory(session)
        state.isAboveHighWatermark = true
        resumeOutput()
        return false
    }

    /// Has the session count the memory of what waits: a client that takes all but the last bytes leaves more of it than of them.
    @inline(__always)
    private func noteMemory(_ session: HTTP2Session) {
        let memory = output.capacity > HTTP2StreamSpares.keptCapacity ? output.memory : output.count
        session.outputMemory += memory - state.memory
        state.memory = memory
    }

    /// Ends the response, behind content, with trailer fields where `lines` has some.
    ///
    /// - Parameter holdsEnd: whether trailers and END_STREAM wait until the request has ended too, or until `releaseEnd`; the content
    ///   doesn't.
    public func end(trailers lines: inout OutputBuffer, holdsEnd: Bool = false) {
        guard !state.isOutputEnded else { return }
        state.isOutputEnded = true
        state.holdsEnd = holdsEnd && !state.hasEnded
        swap(&trailerLines, &lines)
        resumeOutput()
    }

    /// Lets an end go that was held back.
    public func releaseEnd() {
        guard state.holdsEnd else { return }
        state.holdsEnd = false
        resumeOutput()
    }

    private func resumeOutput() {
        guard state.isDeferred else { return }
        state.isDeferred = false
        session?.resume(self)
    }

    /// What goes into a frame of `most` bytes; nil: there is nothing for now.
    internal func next(_ most: Int) -> (count: Int, isLast: Bool, hasTrailers: Bool)? {
        let count = min(most, output.count)
        let isLast = state.isOutputEnded && !state.holdsEnd && count == output.count
        guard count > 0 || isLast else {
            state.isDeferred = true
            return nil
        }
        var hasTrailers = false
        if isLast, !trailerLines.isEmpty, let session { hasTrailers = session.trail(self, &trailerLines) }
        return (count, isLast, hasTrailers)
    }

    /// Bytes that have gone into frames.
    public var taken: UInt64 { state.taken }

    /// Has `HTTP2StreamHandler.drained` told, once, when nothing waits any more.
    public func tellEmpty() { state.wantsEmpty = true }

    /// Moves the next bytes into a frame.
    internal func move(_ count: Int, to frame: inout OutputBuffer) {
        state.taken += UInt64(count)
        frame.append(output.span.extracting(0..<count))
        output.drop(count)
        if let session {
            // A response that goes on may pause for long.
            if output.isEmpty, !state.isOutputEnded, output.capacity > HTTP2StreamSpares.keptCapacity {
                session.spares.buffers.recycle(&output)
            }
            noteMemory(session)
        }
        cutIfSent()
        let tellsEmpty = state.wantsEmpty && output.isEmpty
        guard tellsEmpty || state.isAboveHighWatermark && output.count <= Self.lowWatermark else { return }
        if tellsEmpty { state.wantsEmpty = false }
        state.isAboveHighWatermark = false
        session?.noteDrained(self)
    }

    /// Tells the client, behind the whole response, that no more of its request is wanted (RFC 9113 §8.1). Until then it may go on.
    public func resetWhenSent() {
        releaseEnd()
        guard !state.hasEnded else { return }
        state.resetsWhenSent = true
        if state.isEndSent { reset(.noError) }
    }

    /// The response's last frame has been written. Before that a reset would take its place.
    internal func endSent() {
        state.isEndSent = true
        if state.resetsWhenSent { reset(.noError) }
    }

    /// Gives up a stream whose response can't be finished, behind what was said of it: a client gets the head and the content that there
    /// are, and can't take them for all. What waits needs the client's windows, so `awaitsSending` tells whether `reset` may have to end
    /// the wait. No more may be written.
    public func cut(_ code: HTTP2ErrorCode) {
        // A response that has ended is not to be finished by what its client takes.
        guard !state.isOutputEnded else { return reset(code) }
        state.cutCode = code
        cutIfSent()
    }

    private func cutIfSent() {
        guard let code = state.cutCode, state.heads == 0, output.isEmpty else { return }
        state.cutCode = nil
        reset(code)
    }

    /// A head of the response has been written, and the response goes on. nghttp2 would leave out a head, or content, behind which a reset
    /// is submitted already.
    internal func headSent() {
        // Of a client's stream none is counted.
        if state.heads > 0 { state.heads -= 1 }
        cutIfSent()
    }

    /// A frame that begins or ends the stream has been written.
    internal func noteSent(isReset: Bool) {
        state.isRequestSent = true
        if isReset, !state.isGivenUp { state.isMalformed = true }
    }

    /// Gives the stream up.
    public func reset(_ code: HTTP2ErrorCode) {
        state.isGivenUp = true
        session?.reset(self, code)
    }

    /// The code that the stream ended with, as its peer said it: NO_ERROR, too, where that gave it up.
    public var codeAsTold: HTTP2ErrorCode { state.codeAsTold }

    /// Called once, when the session knows the stream no more. A client may give it up with any code, NO_ERROR among them.
    internal func close(_ code: HTTP2ErrorCode) {
        state.codeAsTold = code
        let isWhole = state.isEndSent && (state.hasEnded || state.resetsWhenSent)
        let code = code == .noError && !isWhole ? .cancel : code
        session?.outputMemory -= state.memory
        state.memory = 0
        session = nil
        // A message that came whole is not to be lost: a response, whatever the server says behind it (RFC 9113 §8.1), and a request that
        // was answered before all of it was taken. Nor is what came of a response that was cut: how much a client gets of it isn't for
        // its pace to say (docs/rules.md F14), unless its upload waits for room that comes no more.
        let mayTakeRest =
            state.isClient
            ? holdsContent && (state.hasEnded || !state.isAboveHighWatermark)
            : state.hasEnded && !held.isEmpty && code == .noError
        if mayTakeRest, handler?.takesRest(of: self) == true { return state.endCode = code }
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
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses it, and what takes and gives calls nobody.
@safe
public final class HTTP2StreamSpares {
    /// As many as two connections have at once by default.
    private static let most = 256
    /// Bytes that each buffer of a spare keeps.
    fileprivate static let keptCapacity = 2048

    @safe @exclusivity(unchecked) private var spares: [HTTP2Stream] = []
    /// Memory of content that was gathered, and of what was on its way out.
    @safe @exclusivity(unchecked) internal var buffers = SpareBuffers(most: 8, capacity: 256 * 1024)
    // SAFETY: made here, freed in `deinit`, which sessions that use it come before: they hold this object.
    internal let blocks: OpaquePointer?

    public init() { unsafe blocks = recast_http2_blocks_make() }

    deinit {
        // SAFETY: made in `init`.
        unsafe recast_http2_blocks_free(blocks)
    }

    internal func take(_ id: Int32, session: HTTP2Session) -> HTTP2Stream {
        guard let stream = spares.popLast() else { return HTTP2Stream(id, session: session) }
        stream.begin(id, session: session)
        return stream
    }

    /// Takes a stream that is over. One that somebody still holds isn't kept: it would become another under his hands.
    internal func give(_ stream: consuming HTTP2Stream) {
        guard spares.count < Self.most, isKnownUniquelyReferenced(&stream) else { return }
        stream.clear(&buffers)
        spares.append(stream)
    }
}
