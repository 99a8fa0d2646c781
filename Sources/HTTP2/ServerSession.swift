public import HTTPWire
internal import Octets

/// Whom a server's session tells of its streams. All calls come from inside of `HTTP2Session.read` and `write`.
public protocol ServerSessionOwner: AnyObject {
    /// A request's head has come, checked; content follows unless it says that there is none. The owner takes the head, by a swap
    /// with one of its own, and sets the stream's handler.
    func began(_ stream: HTTP2Stream, _ head: inout MessageHead)
    /// A request's head came that can't be taken, for this reason. The owner answers it. What was read of the head, its request line
    /// above all, is there for a log, and may be taken as in `began`; nothing else is to be done by it.
    func refused(_ stream: HTTP2Stream, _ error: WireError, _ head: inout MessageHead)
    /// A request's head came that breaks a rule of HTTP/2, for which the stream is being reset (RFC 9113 §8.1.1): nobody is to be
    /// answered. The owner may set the stream's handler, which is told that it is over. The head is as in `refused`.
    func malformed(_ stream: HTTP2Stream, _ head: inout MessageHead)
}

/// The server's side of a connection: the client begins streams, each with a request's head.
///
/// SAFETY of `@exclusivity(unchecked)`: as in `HTTP2Session`.
@safe
public final class ServerSession: HTTP2Session {
    private let isSecure: Bool
    /// Not counted: the owner owns the session.
    public unowned let owner: any ServerSessionOwner
    @safe @exclusivity(unchecked) private var line = RequestLine()

    /// - Parameters:
    ///   - isSecure: whether the connection has TLS.
    ///   - wire: the limits of heads and trailers.
    ///   - rules: those that are a matter of taste.
    ///   - spares: streams that are over, of sessions that the same thread uses.
    public init(
        limits: HTTP2Limits, wire: WireLimits, rules: RequestRules, isSecure: Bool, owner: any ServerSessionOwner,
        spares: HTTP2StreamSpares = HTTP2StreamSpares()
    ) {
        self.isSecure = isSecure
        self.owner = owner
        super.init(limits, wire: wire, rules: rules, isClient: false, spares: spares)
    }

    /// Has the heads and trailers that begin from here on read by these limits and rules. What the client was told of them when the session
    /// began isn't told anew.
    ///
    /// Must not be called while one is being read (`isReadingHead`): it is read to its end as it began.
    public func readHeads(within wire: WireLimits, by rules: RequestRules) {
        precondition(!isReadingHead, "a head is being read")
        wireLimits = wire
        builder = HeadBuilder(limits: wire, rules: rules)
    }

    override internal func began(_ id: Int32, isTrailers: Bool) {
        reading.begin(id, isTrailers: isTrailers)
        headCount += 1
        guard !isTrailers else { return }
        line.removeAll()
        requestCount += 1
        newest = id
        let stream = spares.take(id, session: self)
        streams.insert(stream)
        last = stream
    }

    override internal func take(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(WireError) {
        if name.count > 0, name[0] == UInt8(ascii: ":") {
            line.keepPseudo(name, value)
        } else if name.isEqual(to: "cookie") {
            line.addCookie(value)
            // Crumbs of which each is short may be many.
            if line.cookie.count > wireLimits.fieldLine { try addCookie() }
        } else {
            try beginHead()
            try builder.add(name, value, to: &head)
        }
    }

    private func addCookie() throws(WireError) {
        try beginHead()
        try line.writeCookie(&builder, into: &head)
    }

    /// Begins the head where nothing has, since pseudo-header fields come in any order.
    private func beginHead() throws(WireError) {
        guard !line.isBegun else { return }
        line.isBegun = true
        try line.begin(&builder, isSecure: isSecure, into: &head)
    }

    override internal func endHead(of stream: HTTP2Stream, endsStream: Bool) {
        defer { line.removeAll() }
        do throws(WireError) {
            if let error = reading.error { throw error }
            if line.hasCookie { try addCookie() } else { try beginHead() }
            try builder.finish(&head, hasContent: !endsStream)
        } catch {
            stream.beginContent(.none, isComplete: endsStream)
            writeRequestLine()
            return owner.refused(stream, error, &head)
        }
        stream.beginContent(head.framing, isComplete: endsStream)
        owner.began(stream, &head)
    }

    override internal func refuseHead(of stream: HTTP2Stream) {
        defer { line.removeAll() }
        writeRequestLine()
        owner.malformed(stream, &head)
    }

    /// Has a head that is refused say what came of its request line, of which a log tells, where nothing else has come.
    private func writeRequestLine() {
        do throws(WireError) {
            try beginHead()
        } catch {
            // What it has is refused already.
        }
    }

    override internal func unsent(_ type: UInt8, of stream: HTTP2Stream) {
        // A head that is longer than may be sent.
        if type == FrameType.headers { reset(stream, .internalError) }
    }

    override internal func shrinkHead(to limit: Int) { line.shrink(to: limit) }

    override internal var headCapacity: Int { line.capacity }
}

/// What the pseudo-header fields of a request have brought, and the crumbs of its cookies.
private struct RequestLine: ~Copyable {
    static let cookieName = Array("cookie".utf8)

    /// Whether the request line is written.
    var isBegun = false
    var method = OutputBuffer()
    var scheme = OutputBuffer()
    var authority = OutputBuffer()
    var hasAuthority = false
    var path = OutputBuffer()
    var cookie = OutputBuffer()
    var hasCookie = false

    mutating func removeAll() {
        isBegun = false
        hasAuthority = false
        method.removeAll()
        scheme.removeAll()
        authority.removeAll()
        path.removeAll()
        cookie.removeAll()
        hasCookie = false
    }

    /// Call it only when nothing is being read.
    mutating func shrink(to limit: Int) {
        method.shrink(to: limit)
        scheme.shrink(to: limit)
        authority.shrink(to: limit)
        path.shrink(to: limit)
        cookie.shrink(to: limit)
    }

    var capacity: Int {
        method.capacity + scheme.capacity + authority.capacity + path.capacity + cookie.capacity
    }

    /// Writes the request line, which pseudo-header fields bring, before the first other field.
    func begin(_ builder: inout HeadBuilder, isSecure: Bool, into head: inout MessageHead) throws(WireError) {
        // CONNECT has no scheme and no path (RFC 9113 §8.5), and is refused for what it is.
        if hasAuthority {
            try builder.beginRequest(
                method: method.span, isSecure: isSecure, authority: authority.span, path: path.span, version: .http2,
                into: &head)
        } else {
            try builder.beginRequest(
                method: method.span, isSecure: isSecure, path: path.span, version: .http2, into: &head)
        }
        // Who ends TLS in front of us says what its own client used; which of both it was, forwarding fields tell.
        guard scheme.span.isEqual(to: "http") || scheme.span.isEqual(to: "https") else {
            throw HeadBuilder.schemeFault
        }
    }

    func writeCookie(_ builder: inout HeadBuilder, into head: inout MessageHead) throws(WireError) {
        try builder.add(Self.cookieName.span, cookie.span, to: &head)
    }

    /// nghttp2 lets each one come once, before other fields, and no unknown one.
    mutating func keepPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        if name.isEqual(to: ":method") {
            method.append(value)
        } else if name.isEqual(to: ":path") {
            path.append(value)
        } else if name.isEqual(to: ":scheme") {
            scheme.append(value)
        } else if name.isEqual(to: ":authority") {
            authority.append(value)
            hasAuthority = true
        }
    }

    /// Crumbs become one field (RFC 9113 §8.2.3).
    mutating func addCookie(_ value: Span<UInt8>) {
        if hasCookie { cookie.append("; ") }
        hasCookie = true
        cookie.append(value)
    }
}
