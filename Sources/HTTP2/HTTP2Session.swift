internal import CHTTP2
internal import HTTPWire
public import Octets

/// Why a connection has come to its end before its peer or its owner wanted it.
public struct HTTP2Error: Error, Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The peer broke a rule of HTTP/2.
        case rule
        /// It did too much that is allowed and of no use.
        case excess
        /// There was no memory.
        case memory
    }

    public let kind: Kind
    /// For a log.
    public let reason: String
}

/// One side of an HTTP/2 connection (RFC 9113), without I/O: bytes that the peer sent go in by `read`, and `write` gives those that
/// are to be sent. What streams say is told to each stream's handler. `ServerSession` and `ClientSession` are its two sides: what a
/// head is, and who begins a stream.
///
/// nghttp2 is the codec: frames, HPACK, windows, and the rules of RFC 9113 on what may come when. Heads are read by the rules of
/// `HeadBuilder`, as HTTP/1's are. What a peer may do that is allowed and of no use is counted (`Nuisance`), and the connection
/// ends with ENHANCE_YOUR_CALM when there is too much of it.
///
/// | what | bound |
/// |---|---|
/// | streams at once | `HTTP2Limits.streams`; beyond REFUSED_STREAM |
/// | content that waits | `streamWindow` for each; the connection's window is given back as bytes come, so no stream stops others |
/// | head and trailers | `WireLimits`; 431 |
/// | CONTINUATION frames behind HEADERS | 8 |
/// | content of one read | 64 KiB and a frame of each stream, while it is looked at |
/// | output that waits | one frame above `HTTP2Session.highWatermark`, and `HTTP2Stream.highWatermark` for each stream |
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a session; its owner, who is called while a head or output is changed, gets
/// at them by `read` and `write` only, which it must not call from inside of those (docs/decisions/0007).
@safe
public class HTTP2Session {
    /// Bytes that `write` returns at once, about.
    public static let highWatermark = 64 * 1024
    /// Streams that a peer may reset before their answer is whole, at once and a second (CVE-2023-44487).
    internal static let mostResets = 200
    internal static let resetsASecond = 50
    /// Bytes of a buffer that an idle connection may keep: enough for ordinary heads.
    internal static let keptCapacity = 1024

    // SAFETY of the pointer: made in `init`, freed in `deinit`; used by one thread, and never from inside of its own calls but by what
    // submits, which nghttp2 allows.
    internal private(set) final var session: OpaquePointer?
    internal final let limits: HTTP2Limits

    @safe @exclusivity(unchecked) internal final var streams = StreamTable()
    /// Bytes of memory that content takes which waits in all of them for the peer. Each stream adds its own, and takes off what goes back.
    public final var memory: Int { outputMemory }
    @safe @exclusivity(unchecked) internal final var outputMemory = 0
    /// The stream of the last call; the next is seldom another's.
    @safe @exclusivity(unchecked) internal final var last: HTTP2Stream?
    /// The head or the trailers that are being read; there is one at a time (RFC 9113 §4.3).
    @safe @exclusivity(unchecked) internal final var reading = FieldReading()
    @safe @exclusivity(unchecked) internal final var builder: HeadBuilder
    @safe @exclusivity(unchecked) internal final var head = MessageHead()
    @safe @exclusivity(unchecked) internal final var wireLimits: WireLimits

    @safe @exclusivity(unchecked) private var output = OutputBuffer()
    @safe @exclusivity(unchecked) private var drained: [HTTP2Stream] = []
    /// Those that have gathered content of the bytes that are being read.
    @safe @exclusivity(unchecked) private var gathering: [HTTP2Stream] = []
    @safe @exclusivity(unchecked) private var nuisance = Nuisance()
    /// Streams that the peer may reset while they are served: each has cost work for nobody.
    @safe @exclusivity(unchecked) private var undone = Bucket(
        most: HTTP2Session.mostResets, aSecond: HTTP2Session.resetsASecond)
    /// Bytes of content that have come of the DATA frame that is being read.
    @safe @exclusivity(unchecked) private var frameContent = 0
    /// Bytes of its payload.
    @safe @exclusivity(unchecked) private var frameLength = 0
    @safe @exclusivity(unchecked) private var now: UInt64 = 0
    /// Why the connection was ended, where its peer is the reason.
    public final var failure: HTTP2Error? { fault }
    @safe @exclusivity(unchecked) private final var fault: HTTP2Error?
    /// The last stream that the peer has begun.
    @safe @exclusivity(unchecked) internal final var newest: Int32 = 0
    /// Whether a stream of the peer's was reset here, or refused.
    private final var hasReset = false
    /// Streams that were reset by the peer, and here, since somebody last looked.
    @safe @exclusivity(unchecked) private var resets = (byPeer: 0, here: 0)
    /// Whether the first of two GOAWAY frames has been submitted, and the second.
    public private(set) final var isEndAnnounced = false
    private var isEnding = false
    /// Requests that began.
    public final var requests: Int { requestCount }
    @safe @exclusivity(unchecked) internal final var requestCount = 0

    /// Streams that are over, of sessions that the same thread uses.
    internal final let spares: HTTP2StreamSpares

    internal init(
        _ limits: HTTP2Limits, wire: WireLimits, rules: RequestRules, isClient: Bool, spares: HTTP2StreamSpares
    ) {
        self.limits = limits
        self.spares = spares
        wireLimits = wire
        builder = HeadBuilder(limits: wire, rules: rules)
        var settings = recast_http2_settings(
            streams: UInt32(clamping: limits.streams), stream_window: UInt32(clamping: limits.streamWindow),
            connection_window: UInt32(clamping: limits.connectionWindow), field_list: UInt32(clamping: wire.head))
        // SAFETY: the session holds this object's address, and ends before it; the calls live as long as the process, and the
        // blocks as long as the spares, which are this object's.
        unsafe session = recast_http2_make(
            isClient, Unmanaged.passUnretained(self).toOpaque(), Calls.shared.pointer, spares.blocks, &settings)
        if unsafe session == nil { fault = HTTP2Error(kind: .memory, reason: "no memory for a session") }
    }

    deinit {
        // SAFETY: made in `init`.
        unsafe recast_http2_free(session)
    }

    /// Streams that are open.
    public final var openStreams: Int { streams.count }
    /// Whether the connection is over: nothing is to be read and nothing to be written any more.
    public final var isOver: Bool {
        if failure != nil { return true }
        // SAFETY: see `session`.
        let isWanted = unsafe recast_http2_wants_read(session) || recast_http2_wants_write(session)
        return !isWanted && output.isEmpty
    }
    /// Streams that were reset since this was last asked.
    public final func takeResets() -> (byPeer: Int, here: Int) {
        defer { resets = (0, 0) }
        return resets
    }

    /// Whether part of a head, or of trailers, has come.
    public final var isReadingHead: Bool { reading.stream != 0 }
    /// Heads and trailers that have begun: tells the one that is being read from the one before it.
    public final var headsBegun: Int { headCount }
    @safe @exclusivity(unchecked) internal final var headCount = 0

    // MARK: Bytes

    /// Reads bytes that the peer sent, all of them. Throws where the connection has failed; what `write` gives is still to be sent.
    ///
    /// - Parameter now: nanoseconds of a clock that doesn't go back.
    public final func read(_ bytes: Span<UInt8>, now: UInt64) throws(HTTP2Error) {
        if let failure { throw failure }
        self.now = now
        // SAFETY: the bytes are read during the call.
        let result = unsafe bytes.withUnsafeBufferPointer {
            unsafe recast_http2_read(session, $0.baseAddress, $0.count)
        }
        if !gathering.isEmpty { deliverGathered() }
        if let failure { throw failure }
        switch result {
        case RECAST_HTTP2_NO_FAULT: break
        case RECAST_HTTP2_CONTINUATIONS:
            terminate(.enhanceYourCalm)
            throw fail(.excess, "more than \(RECAST_HTTP2_MOST_CONTINUATIONS) CONTINUATION frames behind a head")
        case RECAST_HTTP2_NO_MEMORY: throw fail(.memory, "no memory for what it sent")
        default: throw fail(.rule, "its bytes are no frames of HTTP/2")
        }
    }

    /// Brings what frames of one read have brought of a stream in one piece: most of what follows costs as much for a frame as for
    /// all of them, an upstream's write above all.
    private final func deliverGathered() {
        var index = 0
        while index < gathering.count {
            gathering[index].deliverGathered()
            index += 1
        }
        gathering.removeAll(keepingCapacity: true)
    }

    internal final func noteGathering(_ stream: HTTP2Stream) { gathering.append(stream) }

    /// Gives bytes that are to be sent to `send`, a piece of about `highWatermark` at most, until that returns false or there are no
    /// more.
    public final func write(_ send: (inout OutputBuffer) -> Bool) {
        while true {
            fill()
            if output.isEmpty { break }
            if !send(&output) { break }
            // Room for more, which may be there at once.
            while let stream = drained.popLast() { stream.handler?.drained(stream) }
        }
        while let stream = drained.popLast() { stream.handler?.drained(stream) }
        if streams.isEmpty { shrink(to: Self.keptCapacity) }
    }

    /// Gives back what an idle connection should not hold: clients decide how large heads and answers are.
    private final func shrink(to limit: Int) {
        if !isReadingHead {
            shrinkHead(to: limit)
            head.shrink(to: limit)
        }
        if output.isEmpty, output.capacity > limit { spares.buffers.recycle(&output) }
    }

    /// Frees the buffers, and gives pages of memory back to the system, at the cost of a system call now and of page faults when a
    /// stream begins. Call it on a connection that has had none for a while. Returns the bytes of the pages.
    @discardableResult
    public final func giveBackPages() -> Int {
        guard streams.isEmpty else { return 0 }
        shrink(to: 0)
        streams = StreamTable()
        if drained.isEmpty { drained = [] }
        if gathering.isEmpty { gathering = [] }
        // SAFETY: see `session`.
        return unsafe recast_http2_give_back(session)
    }

    /// Bytes of memory that the buffers of fields and of output have.
    internal final var capacity: Int { headCapacity + output.capacity }

    private final func fill() {
        while output.count < Self.highWatermark {
            var bytes: UnsafePointer<UInt8>?
            // SAFETY: the pointer is read before the session's next call.
            let count = unsafe recast_http2_next(session, &bytes)
            guard count > 0, let bytes = unsafe bytes else {
                if count < 0 { _ = fail(.memory, "no frame can be written (\(count))") }
                return
            }
            makeRoom(for: count)
            // SAFETY: as many bytes are there.
            unsafe output.append(Span(_unsafeStart: bytes, count: count))
        }
    }

    /// Takes memory of another session's output, rather than to grow by copies: an idle one keeps little, or none where what was written
    /// last took it along.
    private final func makeRoom(for count: Int) {
        if output.capacity == 0 || output.count + count > Self.keptCapacity {
            spares.buffers.enlarge(&output, for: count)
        }
    }

    private final func fail(_ kind: HTTP2Error.Kind, _ reason: String) -> HTTP2Error {
        let failure = self.failure ?? HTTP2Error(kind: kind, reason: reason)
        fault = failure
        return failure
    }

    // MARK: The end

    /// Tells the client that the connection takes no more requests soon (RFC 9113 §6.8): those on their way are still served. `end`
    /// follows when they have had time to come.
    public final func announceEnd() {
        guard !isEndAnnounced else { return }
        isEndAnnounced = true
        // SAFETY: see `session`.
        _ = unsafe recast_http2_announce_end(session)
    }

    /// Tells the client which request is the last that is served. The connection is over when no stream is open.
    public final func end(_ code: HTTP2ErrorCode = .noError) {
        guard !isEnding else { return }
        isEndAnnounced = true
        isEnding = true
        // SAFETY: see `session`.
        _ = unsafe recast_http2_end(session, code.rawValue)
    }

    /// Ends at once: what `write` gives has the reason, and no stream goes on.
    public final func terminate(_ code: HTTP2ErrorCode) {
        // SAFETY: see `session`.
        _ = unsafe recast_http2_terminate(session, code.rawValue)
    }

    /// Tells every stream that it is over, since its connection is. A client's whose request hasn't begun to go out ends as one that the
    /// server has refused.
    public final func closeStreams() {
        last = nil
        let open = streams.all
        streams = StreamTable()
        drained = []
        for stream in open { stream.close(stream.isUnsent ? .refusedStream : .cancel) }
    }

    /// Calls `body` with the handler of each open stream.
    public final func forEachHandler(_ body: (any HTTP2StreamHandler) -> Void) {
        // A handler may end streams.
        for stream in streams.all { if let handler = stream.handler { body(handler) } }
    }

    /// Counts what is of no use. Returns whether it is too much.
    private final func bears(_ cost: Int) -> Bool {
        if nuisance.take(cost, now: now) { return true }
        endByExcess("too many frames that bring nothing, or streams that are reset")
        return false
    }

    /// Counts a stream that the peer has reset.
    private final func countReset(_ id: Int32) {
        // Behind a whole answer it undoes nothing: so Go's client ends each upload that is answered before its end.
        guard bears(Nuisance.reset), find(id)?.isAnswered != true, !undone.take(1, now: now) else { return }
        endByExcess("too many streams that are reset")
    }

    private final func endByExcess(_ reason: String) {
        terminate(.enhanceYourCalm)
        _ = fail(.excess, reason)
    }

    /// Asks the peer for a sign of life: a PING, which it has to acknowledge.
    public final func ping() {
        // SAFETY: see `session`.
        _ = unsafe recast_http2_ping(session)
    }

    // MARK: What streams say

    internal final func consume(_ count: Int, of stream: HTTP2Stream) {
        // SAFETY: see `session`. A stream that is gone needs no window.
        _ = unsafe recast_http2_consume_stream(session, stream.id, count)
    }

    internal final func respond(_ stream: HTTP2Stream, _ status: Int, _ lines: inout OutputBuffer, hasContent: Bool) {
        let count = lines.count
        // SAFETY: the lines are copied during the call.
        let result = unsafe lines.span.withUnsafeBufferPointer { bytes in
            unsafe recast_http2_respond(session, stream.id, UInt32(status), bytes.baseAddress, count, hasContent)
        }
        lines.removeAll()
        if result != 0 { reset(stream, .internalError) }
    }

    internal final func trail(_ stream: HTTP2Stream, _ lines: inout OutputBuffer) -> Bool {
        let count = lines.count
        // SAFETY: the lines are copied during the call.
        let result = unsafe lines.span.withUnsafeBufferPointer { bytes in
            unsafe recast_http2_trail(session, stream.id, bytes.baseAddress, count)
        }
        lines.removeAll()
        return result == 0
    }

    internal final func resume(_ stream: HTTP2Stream) {
        // SAFETY: see `session`.
        unsafe recast_http2_resume(session, stream.id)
    }

    internal final func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        hasReset = true
        // SAFETY: see `session`.
        _ = unsafe recast_http2_reset(session, stream.id, code.rawValue)
    }

    internal final func noteDrained(_ stream: HTTP2Stream) { drained.append(stream) }

    internal final func find(_ id: Int32) -> HTTP2Stream? {
        if let last, last.id == id { return last }
        guard let found = streams.find(id) else { return nil }
        last = found
        return found
    }

    // MARK: What nghttp2 calls

    // What the two sides do each in their own way.

    /// A head or, behind the content, trailers begin.
    internal func began(_ id: Int32, isTrailers: Bool) { preconditionFailure("a session is a client's or a server's") }
    /// A field of a head has come.
    internal func take(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(WireError) {}
    /// A field of a head, or of trailers, can't be taken.
    internal func noteFault(_ error: WireError, inFieldNamed name: Span<UInt8>) {}
    /// A head has come whole, or what was read of it can't be taken.
    internal func endHead(of stream: HTTP2Stream, endsStream: Bool) {}
    /// A head has come that breaks a rule of HTTP/2, for which the stream is being reset.
    internal func refuseHead(of stream: HTTP2Stream) {}
    /// Trailers have come that can't be taken.
    internal func refuseTrailers(of stream: HTTP2Stream) { reset(stream, .protocolError) }
    /// Gives back what an idle connection should not hold.
    internal func shrinkHead(to limit: Int) {}
    /// Bytes of memory that what heads are read into has.
    internal var headCapacity: Int { 0 }
    /// The peer has told its settings.
    internal func settingsCame() {}
    /// The peer has said that the connection ends (GOAWAY); streams beyond the last that it names are closed next.
    internal func endCame(_ code: HTTP2ErrorCode, last: Int32) {}
    /// A frame of that type could not be sent.
    internal func unsent(_ type: UInt8, of stream: HTTP2Stream) {}

    fileprivate final func field(_ nameBytes: Bytes, _ valueBytes: Bytes) -> Int32 {
        // SAFETY: nghttp2 lends the bytes for the time of its call, here and wherever `Bytes` come in.
        let name = unsafe Span(_unsafeElements: nameBytes.buffer)
        let value = unsafe Span(_unsafeElements: valueBytes.buffer)
        if reading.error != nil {
            // Decoded, since the table of fields changes with each, and dropped.
            reading.dropped += 1
            return reading.dropped > FieldReading.mostDropped || !bears(1) ? 1 : 0
        }
        do throws(WireError) {
            if reading.isTrailers {
                try reading.trailers.add(name, value, limits: wireLimits)
            } else {
                try take(name, value)
            }
        } catch {
            reading.error = error
            noteFault(error, inFieldNamed: name)
        }
        return 0
    }

    fileprivate final func badField(_ name: Bytes) {
        guard reading.error == nil else { return }
        // SAFETY: as in `field`.
        let name = unsafe Span(_unsafeElements: name.buffer)
        let error = HeadBuilder.fault(ofFieldNamed: name)
        reading.error = error
        noteFault(error, inFieldNamed: name)
    }

    /// Counts frames, also PRIORITY, which nghttp2 ignores. Those of unknown types it doesn't tell of: they cost what their bytes do.
    fileprivate final func frameHead(_ id: Int32, _ type: UInt8, _ flags: UInt8, _ length: Int) {
        switch type {
        // Content of a stream that is over nghttp2 drops without a word.
        case FrameType.headers:
            if isStray(id) { terminate(.streamClosed) }
        case FrameType.data: (frameContent, frameLength) = (0, length)
        // All others of this type it ignores, and so does nobody look at this one.
        case FrameType.priority where id == 0: terminate(.protocolError)
        case FrameType.resetStream:
            resets.byPeer += 1
            if limits.countsResets { countReset(id) }
        case FrameType.settings where flags & FrameFlags.acknowledges != 0: break
        // It comes behind our settings, which forbid it; until the peer has acknowledged those nghttp2 lets it pass.
        case FrameType.pushPromise: terminate(.protocolError)
        case FrameType.windowUpdate where nuisance.takesWindow(): break
        default: _ = bears(1)
        }
    }

    /// Whether a stream of a client's is over, so that nothing can be on its way for it (RFC 9113 §5.1). Once one was reset here,
    /// that can't be told: the peer may not have heard of it.
    private func isStray(_ id: Int32) -> Bool { id <= newest && id % 2 == 1 && !hasReset && find(id) == nil }

    fileprivate final func frame(_ id: Int32, _ type: UInt8, _ flags: UInt8, _ code: UInt32) -> Int32 {
        let endsStream = flags & FrameFlags.endStream != 0
        switch type {
        case FrameType.headers:
            guard reading.stream == id else { break }
            endFields(id, endsStream: endsStream)
        case FrameType.data:
            // Padding is no content.
            if frameContent == 0, !endsStream { _ = bears(1) }
            if flags & FrameFlags.padded != 0 { find(id)?.settleFrame() }
            if endsStream { find(id)?.ended() }
        case FrameType.settings where flags & FrameFlags.acknowledges == 0: settingsCame()
        case FrameType.goAway: endCame(HTTP2ErrorCode(rawValue: code), last: id)
        default: break
        }
        return 0
    }

    /// The head, or the trailers, have come whole.
    private func endFields(_ id: Int32, endsStream: Bool) {
        defer { reading.end() }
        guard let stream = find(id) else { return }
        if reading.isTrailers {
            // What came before has been taken already: nothing but the stream's end can tell that it isn't whole.
            guard reading.error == nil else { return refuseTrailers(of: stream) }
            swap(&stream.trailerSection, &reading.trailers)
            return stream.ended()
        }
        endHead(of: stream, endsStream: endsStream)
    }

    fileprivate final func badFrame(_ id: Int32, _ type: UInt8) {
        hasReset = true
        _ = bears(1)
        // A head that nghttp2 won't have. Its stream is closed when the reset has been written.
        guard type == FrameType.headers, reading.stream == id, !reading.isTrailers, let stream = find(id) else {
            return
        }
        reading.end()
        refuseHead(of: stream)
    }

    fileprivate final func content(_ id: Int32, _ bytes: Bytes, ends: Bool) -> Int32 {
        // SAFETY: as in `field`.
        let content = unsafe Span(_unsafeElements: bytes.buffer)
        frameContent += content.count
        nuisance.pay(forContent: content.count)
        // SAFETY: see `session`.
        _ = unsafe recast_http2_consume_connection(session, content.count)
        // More of the frame may come in another piece: padding, or content beyond the length that was said, which nghttp2 refuses
        // then. Of a frame with padding that is known when it has come whole.
        if let stream = find(id) {
            let left = frameLength - frameContent + content.count
            stream.arrived(content, ends: ends && frameContent == frameLength, of: left)
        }
        return 0
    }

    fileprivate final func next(_ id: Int32, _ most: Int) -> (count: Int, isLast: Bool, hasTrailers: Bool)? {
        find(id)?.next(most)
    }

    /// Writes a frame of content, unless enough waits to be sent, or its stream was closed while it waited: a head without its content
    /// would take what follows for that.
    fileprivate final func write(_ id: Int32, frameHead: Bytes, _ count: Int) -> recast_http2_writing {
        guard let stream = find(id) else { return RECAST_HTTP2_NO_STREAM }
        guard output.count < Self.highWatermark else { return RECAST_HTTP2_NO_ROOM }
        // SAFETY: as in `field`.
        unsafe makeRoom(for: frameHead.buffer.count + count)
        unsafe output.append(Span(_unsafeElements: frameHead.buffer))
        stream.move(count, to: &output)
        nuisance.noteSent(count)
        // Nobody owes a window for a frame that only its window has made small: who opens that a byte at a time would be paid for it.
        if count > 0, stream.queued == 0 { nuisance.noteFrame() }
        return RECAST_HTTP2_WRITTEN
    }

    fileprivate final func sent(_ id: Int32, _ type: UInt8, _ flags: UInt8, _ code: UInt32) {
        noteSent(id, type)
        if type == FrameType.resetStream { hasReset = true }
        // A client can make a server reset its streams as fast as it can ask for them (CVE-2025-8671).
        if type == FrameType.resetStream, code != HTTP2ErrorCode.noError.rawValue {
            resets.here += 1
            if limits.countsResets { _ = bears(Nuisance.reset) }
        }
        // What nghttp2 has found; where the reason is ours, it is told already.
        if type == FrameType.goAway, code != HTTP2ErrorCode.noError.rawValue {
            _ =
                code == HTTP2ErrorCode.enhanceYourCalm.rawValue
                ? fail(.excess, "too much in one frame of settings")
                : fail(.rule, "it broke a rule of HTTP/2 (\(HTTP2ErrorCode(rawValue: code).name), RFC 9113 §7)")
        }
        guard type == FrameType.data || type == FrameType.headers else { return }
        guard flags & FrameFlags.endStream != 0 else {
            if type == FrameType.headers { find(id)?.headSent() }
            return
        }
        nuisance.pay(Nuisance.response)
        find(id)?.endSent()
    }

    /// A frame of that type, of stream `id`, has been written.
    internal func noteSent(_ id: Int32, _ type: UInt8) {}

    fileprivate final func unsent(_ id: Int32, _ type: UInt8) {
        if let stream = find(id) { unsent(type, of: stream) }
    }

    fileprivate final func closed(_ id: Int32, _ code: UInt32) {
        guard let stream = streams.remove(id) else { return }
        if last === stream { last = nil }
        if reading.stream == id { reading.end() }
        stream.deliverGathered()
        stream.close(HTTP2ErrorCode(rawValue: code))
        spares.give(stream)
    }
}

/// Fields that are being read, of a head or of trailers.
internal struct FieldReading: ~Copyable {
    /// Fields behind one that can't be taken that are still decoded.
    static let mostDropped = 1000

    /// Whose they are; 0: nobody's.
    var stream: Int32 = 0
    var isTrailers = false
    var error: WireError?
    var dropped = 0
    var trailers = TrailerLines()

    mutating func begin(_ stream: Int32, isTrailers: Bool) {
        end()
        self.stream = stream
        self.isTrailers = isTrailers
    }

    mutating func end() {
        stream = 0
        error = nil
        dropped = 0
        if !trailers.isEmpty { trailers = TrailerLines() }
    }
}

/// What a peer does that is allowed and of no use, as a bucket that fills with time and with content that moves. Browsers that
/// leave a page with a hundred streams stay far from its bottom.
internal struct Nuisance {
    /// Frames of no use at once, and a second.
    static let most = 1000
    static let aSecond = 100
    /// What a stream costs that is reset, whoever does it.
    static let reset = 4
    /// What a whole response pays for.
    static let response = 16
    /// Windows of frames that are on their way at once, at most.
    static let mostWindows = 1 << 16
    /// Bytes of content that pay for one frame.
    static let bytes = 1024
    /// Bytes of content that were sent for each window that may be given back: who reads gRPC gives back that of the stream and that of
    /// the connection for each message, of which hundreds go into one frame here, and the smallest has five bytes.
    static let bytesOfWindow = 2

    private var bucket = Bucket(most: most, aSecond: aSecond)
    private var unpaid = 0
    /// Windows that are still to be given back.
    private var windows = 0
    /// Bytes of sent content that none of them is for yet.
    private var owed = 0

    /// Returns false where nothing is left.
    mutating func take(_ cost: Int, now: UInt64) -> Bool { bucket.take(cost, now: now) }

    /// A frame of content was sent, however small it is: its window may be given back, the stream's and the connection's, and a PING may
    /// measure how long it took. gRPC's libraries do so for each message.
    mutating func noteFrame() {
        windows = min(windows + 2, Self.mostWindows)
        pay(1)
    }

    /// A window grows. Returns whether that was to be expected, so that it costs nothing.
    mutating func takesWindow() -> Bool {
        guard windows > 0 else { return false }
        windows -= 1
        return true
    }

    mutating func pay(_ worth: Int) { bucket.pay(worth) }

    mutating func pay(forContent count: Int) {
        unpaid += count
        guard unpaid >= Self.bytes else { return }
        pay(unpaid / Self.bytes)
        unpaid %= Self.bytes
    }

    /// Content was sent, of whatever frames. Its windows may come much later and all at once, when a peer that was slow reads what it
    /// has, piece by piece.
    mutating func noteSent(_ count: Int) {
        pay(forContent: count)
        owed += count
        windows = min(windows + owed / Self.bytesOfWindow, Self.mostWindows)
        owed %= Self.bytesOfWindow
    }
}

/// What may be taken of something at once, and a second.
internal struct Bucket {
    let most: Int
    /// Nanoseconds in which it gains one.
    private let step: UInt64
    private var left: Int
    private var filledAt: UInt64 = 0

    init(most: Int, aSecond: Int) {
        self.most = most
        step = 1_000_000_000 / UInt64(aSecond)
        left = most
    }

    /// Returns false where nothing is left.
    mutating func take(_ cost: Int, now: UInt64) -> Bool {
        let passed = (now &- filledAt) / step
        if passed > 0 {
            pay(Int(min(passed, UInt64(most))))
            filledAt = now
        }
        left -= cost
        return left >= 0
    }

    mutating func pay(_ worth: Int) { left = min(most, left + worth) }
}

internal enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let resetStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
}

internal enum FrameFlags {
    static let endStream: UInt8 = 1
    static let acknowledges: UInt8 = 1
    static let padded: UInt8 = 8
}

/// Bytes that nghttp2 lends for the time of a call.
@unsafe
private struct Bytes {
    let buffer: UnsafeBufferPointer<UInt8>

    init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        // SAFETY: the two are nghttp2's.
        unsafe buffer = UnsafeBufferPointer(start: start, count: unsafe start == nil ? 0 : count)
    }
}

/// The functions that every session calls.
@safe
private final class Calls: Sendable {
    static let shared = Calls()

    // SAFETY: written once, before anybody reads it, and never freed.
    nonisolated(unsafe) let pointer: UnsafePointer<recast_http2_calls>

    private init() {
        let calls = UnsafeMutablePointer<recast_http2_calls>.allocate(capacity: 1)
        // SAFETY of all: the owner is the session's object, which lives longer than the session; bytes are read during the call.
        unsafe calls.initialize(
            to: recast_http2_calls(
                frame_head: { owner, stream, type, flags, count in
                    unsafe with(owner) { $0.frameHead(stream, type, flags, count) }
                },
                begin: { owner, stream, isTrailers in
                    unsafe with(owner) { $0.began(stream, isTrailers: isTrailers) }
                    return 0
                },
                field: { owner, _, name, nameCount, value, valueCount in
                    unsafe with(owner) { unsafe $0.field(Bytes(name, nameCount), Bytes(value, valueCount)) }
                },
                bad_field: { owner, _, name, nameCount, _, _ in
                    unsafe with(owner) { unsafe $0.badField(Bytes(name, nameCount)) }
                },
                frame: { owner, stream, type, flags, code in
                    unsafe with(owner) { $0.frame(stream, type, flags, code) }
                },
                bad_frame: { owner, stream, type, _ in unsafe with(owner) { $0.badFrame(stream, type) } },
                content: { owner, stream, bytes, count, ends in
                    unsafe with(owner) { unsafe $0.content(stream, Bytes(bytes, count), ends: ends) }
                },
                ready: { owner, stream, most, isLast, hasTrailers in
                    guard let next = unsafe with(owner, { $0.next(stream, most) }) else { return -1 }
                    unsafe isLast!.pointee = next.isLast
                    unsafe hasTrailers!.pointee = next.hasTrailers
                    return next.count
                },
                write: { owner, stream, head, headCount, count in
                    unsafe with(owner) { unsafe $0.write(stream, frameHead: Bytes(head, headCount), count) }
                },
                sent: { owner, stream, type, flags, code in
                    unsafe with(owner) { $0.sent(stream, type, flags, code) }
                },
                unsent: { owner, stream, type, _ in unsafe with(owner) { $0.unsent(stream, type) } },
                closed: { owner, stream, code in unsafe with(owner) { $0.closed(stream, code) } }))
        unsafe pointer = UnsafePointer(calls)
    }
}

/// Calls `body` with the session, which isn't counted for that: whoever reads or writes has it.
@inline(__always)
private func with<Result>(_ owner: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Result) -> Result {
    // SAFETY: what the session was made with. The calls come from inside of functions of it, or of its `deinit`.
    unsafe Unmanaged<HTTP2Session>.fromOpaque(owner!)._withUnsafeGuaranteedRef { body($0) }
}
