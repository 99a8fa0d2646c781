internal import CHTTP2
public import HTTPWire
internal import Octets

/// Whom a client's session tells of its connection. All calls come from inside of `HTTP2Session.read` and `write`.
public protocol ClientSessionOwner: AnyObject {
    /// The server has told its settings, the first time: it speaks HTTP/2.
    func becameReady()
    /// The server takes no further request; those beyond the last that it has seen are refused next, and so can be sent elsewhere
    /// (RFC 9113 §6.8).
    func endCame(_ code: HTTP2ErrorCode)
}

/// The client's side of a connection: it begins streams, each with a request's head, and reads the heads of responses.
///
/// A server that resets streams, or refuses them, is no attack: the requests were ours. What it sends besides is bounded as a
/// client's is; it can push nothing.
///
/// SAFETY of `@exclusivity(unchecked)`: as in `HTTP2Session`.
@safe
public final class ClientSession: HTTP2Session {
    private let isSecure: Bool
    /// Not counted: the owner owns the session.
    public unowned let owner: any ClientSessionOwner
    /// Whether the server has told its settings.
    public private(set) var isReady = false
    /// Whether the server has said that the connection ends.
    public private(set) var hasEndCome = false
    /// The last stream that it has looked at, by what it said then.
    private var lastTaken: Int32 = 0
    /// Why it ends the connection, by what it said last.
    private var endCode = HTTP2ErrorCode.noError
    /// The name of the field for which the head, or the trailers, that `HTTP2StreamHandler.misread` tells of can't be taken; nil where
    /// that is no matter of one field, or the name can't be told.
    public private(set) var faultyField: String?

    /// - Parameters:
    ///   - isSecure: whether the connection has TLS, which `:scheme` tells.
    ///   - wire: the limits of heads and trailers.
    ///   - spares: streams that are over, of sessions that the same thread uses.
    public init(
        limits: HTTP2Limits, wire: WireLimits, isSecure: Bool, owner: any ClientSessionOwner,
        spares: HTTP2StreamSpares = HTTP2StreamSpares()
    ) {
        self.isSecure = isSecure
        self.owner = owner
        var limits = limits
        limits.countsResets = false
        super.init(limits, wire: wire, rules: RequestRules(), isClient: true, spares: spares)
    }

    /// Streams that the server lets be open at once.
    // SAFETY: see `session`.
    public var peerStreams: Int { Int(unsafe recast_http2_peer_streams(session)) }

    /// Whether the server's window for the whole connection lets content of some request go out.
    // SAFETY: see `session`.
    public var maySend: Bool { unsafe recast_http2_may_send(session) }

    /// Whether the server has answered anything here: a request is over, or the head of a final response has come.
    public var isAnswered: Bool { requestCount > streams.count || streams.all.contains { $0.hasResponse } }

    /// Whether the server has ended the connection before `stream` in good order, and has taken others before that; nil: a stream that
    /// could not begin. One that reports an error would do so on the next connection, too.
    public func hasLeftOut(_ stream: HTTP2Stream?) -> Bool {
        guard hasEndCome, endCode == .noError, requestCount > 0, lastTaken > 0 else { return false }
        guard let stream else { return true }
        return stream.id > lastTaken
    }

    /// Begins a request; nil where the connection takes no more.
    ///
    /// - Parameters:
    ///   - head: as HTTP/1.1 writes it. Host becomes `:authority`, and what is of HTTP/1's connection is left out (RFC 9113 §8.2.2).
    ///   - hasContent: whether content or trailers follow; else the request ends with its head.
    ///   - handler: whom the stream tells.
    public func request(_ head: Span<UInt8>, hasContent: Bool, handler: any HTTP2StreamHandler) -> HTTP2Stream? {
        guard failure == nil, !hasEndCome else { return nil }
        // SAFETY: the head is copied during the call.
        let id = unsafe head.withUnsafeBufferPointer { bytes in
            unsafe recast_http2_request(session, bytes.baseAddress, bytes.count, isSecure, hasContent)
        }
        guard id > 0 else { return nil }
        requestCount += 1
        let stream = spares.take(id, session: self)
        stream.beginRequest(hasContent: hasContent)
        stream.handler = handler
        streams.insert(stream)
        last = stream
        return stream
    }

    override internal func began(_ id: Int32, isTrailers: Bool) {
        // Behind an interim response there is another head, which nghttp2 doesn't tell from trailers.
        reading.begin(id, isTrailers: find(id)?.hasResponse == true)
        if faultyField != nil { faultyField = nil }
    }

    override internal func noteFault(_ error: WireError, inFieldNamed name: Span<UInt8>) {
        var line = OutputBuffer()
        line.append(name)
        line.append(":")
        faultyField = error.fieldName(in: line.span)
    }

    override internal func take(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(WireError) {
        guard name.isEqual(to: ":status") else { return try builder.add(name, value, to: &head) }
        // nghttp2 lets three digits come, in front of all other fields.
        var status = 0
        for index in 0..<value.count { status = status * 10 + Int(value[index] &- UInt8(ascii: "0")) }
        try builder.beginResponse(status: status, version: .http2, into: &head)
    }

    override internal func endHead(of stream: HTTP2Stream, endsStream: Bool) {
        do throws(WireError) {
            if let error = reading.error { throw error }
            try builder.finish(&head)
            try stream.countInterim(head, limits: wireLimits)
        } catch {
            return misread(error, on: stream)
        }
        if head.status >= 200 {
            stream.beginResponse(length: endsStream ? nil : Framing.announcedLength(head))
        }
        stream.handler?.responded(&head, isComplete: endsStream, on: stream)
        if endsStream { stream.ended() }
    }

    private func misread(_ error: WireError, on stream: HTTP2Stream) {
        // What came in front of trailers that can't be taken is part of a response that has begun.
        stream.deliverGathered()
        // Where it waits to be taken, the stream's end comes behind it, as of any stream whose peer broke a rule.
        if stream.holdsContent { return reset(stream, .protocolError) }
        let handler = stream.handler
        stream.handler = nil
        stream.reset(.protocolError)
        handler?.misread(error.asUpstreamFault, on: stream)
    }

    override internal func refuseTrailers(of stream: HTTP2Stream) {
        if let error = reading.error { misread(error, on: stream) }
    }

    override internal func settingsCame() {
        guard !isReady else { return }
        isReady = true
        owner.becameReady()
    }

    override internal func endCame(_ code: HTTP2ErrorCode, last: Int32) {
        hasEndCome = true
        lastTaken = last
        endCode = code
        owner.endCame(code)
    }

    override internal func noteSent(_ id: Int32, _ type: UInt8) {
        guard type == FrameType.headers || type == FrameType.resetStream else { return }
        find(id)?.noteSent(isReset: type == FrameType.resetStream)
    }

    /// A request that didn't go out was seen by nobody.
    override internal func unsent(_ type: UInt8, of stream: HTTP2Stream) {
        guard type == FrameType.headers else { return }
        if stream.isRequestSent { return stream.reset(.internalError) }
        _ = streams.remove(stream.id)
        if last === stream { last = nil }
        stream.close(.refusedStream)
        spares.give(stream)
    }
}
