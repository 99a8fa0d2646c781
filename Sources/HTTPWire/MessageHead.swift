public import Octets
internal import Synchronization

/// A parsed head: the bytes as they came, and an index of what stands where.
///
/// A head that a parser has returned is safe to act on: one way to read its framing, one host, no byte in a name or value
/// that could start a line of its own. Use one value for many messages: parsing into it again keeps its allocations.
/// Spans borrow the head; copy what must outlive the next parse.
public struct MessageHead: ~Copyable, Sendable {
    /// Keeps a head in its place. The compiler copies a value that it can load whenever an object lends it to a function, and a value that
    /// holds an atomic can't be loaded (docs/decisions/0022).
    private let stays = Atomic(false)

    @usableFromInline internal var bytes = OwnedArray<UInt8>()
    @usableFromInline internal var lines = OwnedArray<FieldLine>()
    /// One bit for each known field: that it is there; that it is there more than once.
    @usableFromInline internal var present: UInt64 = 0
    internal var repeated: UInt64 = 0
    /// Whether some name holds `_`.
    public internal(set) var hasUnderscores = false

    internal var methodRange = ByteRange.empty
    internal var targetRange = ByteRange.empty
    internal var pathRange = ByteRange.empty
    internal var queryRange: ByteRange?
    internal var authorityRange = ByteRange.empty
    internal var hostRange = ByteRange.empty
    internal var reasonRange = ByteRange.empty
    /// Where the first `?` of a request's target stands, and the first `%` before it; offsets into the bytes.
    internal var queryMark: Int?
    internal var firstEscape: Int?
    /// Whether the response's start line is what we would write for it.
    internal var isVerbatimStart = false

    /// The method of a request, where forwarding cares.
    public internal(set) var methodKind = Method.other
    /// How the request's target was written (RFC 9112 §3.2).
    public internal(set) var targetForm = TargetForm.origin
    /// What the sender speaks.
    public internal(set) var version = MessageVersion.http1_1
    /// The status of a response, 100…999; 0 in a request. What is above 599 is in use, and treated as a 5xx (RFC 9110 §15).
    public internal(set) var status = 0
    /// Whether the target is of absolute form with the scheme `https`.
    public internal(set) var isSecureTarget = false
    /// Whether a `%` stands in the path.
    public internal(set) var pathHasEscapes = false
    /// The port of the effective host where one was written.
    public internal(set) var port: Int?
    /// Whether the connection persists after this message as far as this head says. A request of HTTP/1.0 never does
    /// (RFC 9112 §9.3: a proxy must not keep such a connection); a response of 1.0 does with `keep-alive`.
    public internal(set) var isKeepAlive = true
    /// Whether the client waits for a 100 before it sends the body: HTTP/1.1, `Expect: 100-continue`, and a body follows.
    public internal(set) var expectsContinue = false
    /// Whether the message asks to leave HTTP on this connection: HTTP/1.1, Upgrade, named by Connection, no body, not h2c alone.
    public internal(set) var wantsUpgrade = false
    /// How the request's body is framed, as `Framing.request` says. Responses need the request's method too: ask `Framing`.
    public internal(set) var framing = BodyFraming.none
    /// Whether the head says a length of 0 and the message's end, which shows whether that is true, is still to come: HTTP/2 has it so.
    public var promisesNoContent: Bool { framing == .chunked && contains(.contentLength) }

    /// What the sender can take.
    @inlinable public var capabilities: MessageCapabilities { version.capabilities }

    /// An empty head to parse into.
    public init() {}

    /// Forgets the message and keeps the allocations.
    public mutating func removeAll() {
        bytes.removeAll()
        lines.removeAll()
        present = 0
        repeated = 0
        queryMark = nil
        firstEscape = nil
        isVerbatimStart = false
        pathHasEscapes = false
        hasUnderscores = false
        methodRange = .empty
        targetRange = .empty
        pathRange = .empty
        queryRange = nil
        authorityRange = .empty
        hostRange = .empty
        reasonRange = .empty
        methodKind = .other
        targetForm = .origin
        version = .http1_1
        status = 0
        isSecureTarget = false
        port = nil
        isKeepAlive = true
        expectsContinue = false
        wantsUpgrade = false
        framing = .none
    }

    /// Whether the fields of a request can be asked for. After nil and after an error of `RequestParser.parse` only its method and
    /// target can: the bytes of the fields are not here.
    public var hasFields: Bool { bytes.count > Int(targetRange.end) }

    /// Gives the allocations back when they hold more than `limit` bytes.
    public mutating func shrink(to limit: Int) {
        guard bytes.capacity > limit else { return }
        removeAll()
        bytes.free()
        lines.free()
    }

    /// The head as it came, start line and all; where fields brought it (`HeadBuilder`), as HTTP/1.1 would have. Behind the empty line,
    /// or in its place, there may be a byte of ours.
    ///
    /// SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
    public var text: Span<UInt8> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(bytes.span, borrowing: self) }
    }

    /// The bytes at `range`, which a parser made of offsets into them.
    @inlinable
    @_lifetime(borrow self)
    internal func span(_ range: ByteRange) -> Span<UInt8> {
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        unsafe _overrideLifetime(bytes.slice(Int(range.start)..<Int(range.end)), borrowing: self)
    }
}

/// How the target of a request is written: RFC 9112 §3.2. The authority form is CONNECT's alone, which is refused.
public enum TargetForm: UInt8, Hashable, Sendable {
    case origin, absolute, asterisk
}

// MARK: - Fields

extension MessageHead {
    /// The number of field lines.
    @inlinable public var fieldCount: Int { lines.count }

    /// The name of field line `i` as it was written: a token.
    @inlinable
    @_lifetime(borrow self)
    public func name(_ i: Int) -> Span<UInt8> { span(lines[i].name) }

    /// The value of field line `i` without white space at its ends. It holds no CR, LF, NUL or other control but HTAB.
    @inlinable
    @_lifetime(borrow self)
    public func value(_ i: Int) -> Span<UInt8> { span(lines[i].value) }

    /// Which field line `i` is, where it matters to forwarding.
    @inlinable
    public func known(_ i: Int) -> KnownField { lines[i].known }

    /// Whether the field is there at least once.
    @inlinable
    public func contains(_ field: KnownField) -> Bool {
        present & (1 &<< UInt64(field.rawValue)) != 0
    }

    /// The first line of this field, or nil.
    @inlinable
    public func first(_ field: KnownField) -> Int? {
        guard contains(field) else { return nil }
        var index = 0
        while lines[index].known != field { index &+= 1 }
        return index
    }

    /// The line of Content-Type; nil where there is none, where it is empty, which names no type either, and where there are several, of
    /// which two readers would pick different ones.
    public var contentTypeLine: Int? {
        guard let line = first(.contentType), !isRepeated(.contentType), !lines[line].value.isEmpty else { return nil }
        return line
    }

    /// Whether there is no type at all: Content-Type isn't there, or is there once and empty.
    package var hasNoType: Bool { contentTypeLine == nil && !isRepeated(.contentType) }

    /// The first line at or after `start` whose name is `name`, letters in either case; for names that are not known.
    public func first(named name: Span<UInt8>, from start: Int = 0) -> Int? {
        var index = start
        while index < lines.count {
            if span(lines[index].name).isEqualIgnoringCase(to: name) { return index }
            index += 1
        }
        return nil
    }

    /// Whether line `i` must not be forwarded: it belongs to this connection (RFC 9110 §7.6.1) or Connection lists it.
    @inlinable
    public func isHopByHop(_ i: Int) -> Bool { lines[i].isHopByHop }

    /// Whether the name of line `i` holds `_`, which CGI-like servers read as `-`. Forward such a field only where a
    /// setting says so.
    @inlinable
    public func hasUnderscore(_ i: Int) -> Bool { lines[i].hasUnderscore }

    internal func isRepeated(_ field: KnownField) -> Bool {
        repeated & (1 &<< UInt64(field.rawValue)) != 0
    }
}

// MARK: - Start line

extension MessageHead {
    /// The request's method as it was written.
    public var method: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(methodRange) }
    }

    /// The request's target as it was written, in whatever form.
    public var target: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(targetRange) }
    }

    /// Both, as they were written, and the space between them.
    internal var methodAndTarget: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(ByteRange(methodRange.start, targetRange.end)) }
    }

    /// The response's start line without its line end, where `isVerbatimStart`.
    internal var startLine: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(ByteRange(0, reasonRange.end)) }
    }

    /// The path as it was written: not decoded, dots not removed, never empty. `/` where an absolute-form target has none,
    /// `*` for the asterisk form, empty only for CONNECT.
    public var path: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(pathRange) }
    }

    /// Has a head that was refused before its end tell the path and the query of a target in origin form, for a log: else they are known
    /// when the head is whole. Nothing of them was checked.
    public mutating func settleTarget() {
        guard pathRange.isEmpty, !targetRange.isEmpty, Int(targetRange.end) <= bytes.count,
            bytes[Int(targetRange.start)] == UInt8(ascii: "/")
        else { return }
        let (start, end) = (Int(targetRange.start), Int(targetRange.end))
        let mark = Scan.firstIndex(of: UInt8(ascii: "?"), in: bytes.span.extracting(0..<end), from: start)
        pathRange = ByteRange(start, mark ?? end)
        queryRange = mark.map { ByteRange($0 + 1, end) }
    }

    /// What follows the first `?` of the target, as it was written; nil without one.
    public var query: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard let queryRange else { return nil }
            return span(queryRange)
        }
    }

    /// The effective host: that of an absolute-form target, else of Host. In lower case, without port, an IPv6 literal with
    /// its brackets. Empty only in HTTP/1.0 without Host.
    public var host: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(hostRange) }
    }

    /// The effective host with its port where one was written, in lower case: what Host should say upstream.
    public var authority: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(authorityRange) }
    }

    /// The response's reason phrase, often empty.
    public var reason: Span<UInt8> {
        @_lifetime(borrow self)
        get { span(reasonRange) }
    }
}

// Fields whose values are comma-separated lists (RFC 9110 §5.6.1).
extension MessageHead {
    /// Whether a line of `field` holds the member `word`, letters in either case. Lists with quoted commas aren't known.
    public func lists(member word: Span<UInt8>, in field: KnownField) -> Bool {
        guard contains(field) else { return false }
        for line in 0..<fieldCount where known(line) == field {
            var start = 0
            while start <= value(line).count {
                let member = ListMember.at(start, in: value(line))
                if value(line).extracting(member.range).isEqualIgnoringCase(to: word) { return true }
                start = member.next
            }
        }
        return false
    }

    /// Whether its content is gRPC's: its type is `application/grpc`, perhaps with the name of a variant behind it, as in
    /// `application/grpc+proto` and `application/grpc-web`.
    public var carriesGRPC: Bool {
        guard let line = first(.contentType), let next = Self.behindGRPC(value(line)) else { return false }
        return [0, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ";"), ASCII.space, ASCII.tab].contains(next)
    }

    /// What stands behind `application/grpc` in a media type, letters in either case: 0 where nothing does, nil where it begins otherwise.
    public static func behindGRPC(_ type: Span<UInt8>) -> UInt8? {
        let name: StaticString = "application/grpc"
        let count = name.utf8CodeUnitCount
        // Nearly every other type differs in this one letter.
        guard type.count >= count, type[12] | 0x20 == UInt8(ascii: "g"),
            type.extracting(0..<count).isEqualIgnoringCase(to: name)
        else { return nil }
        return type.count > count ? type[count] : 0
    }

    /// Whether the client takes trailer fields: `TE: trailers` in HTTP/1.1 (RFC 9110 §10.1.4).
    public var acceptsTrailers: Bool {
        guard contains(.te), capabilities.contains(.trailers) else { return false }
        for line in 0..<fieldCount where known(line) == .te {
            if ListMember.contains("trailers", in: value(line)) { return true }
        }
        return false
    }
}
