internal import Octets

/// Makes heads from fields instead of bytes, as HTTP/2 and ext_proc bring them: what it returns has passed the same rules and
/// limits as a head that a parser returns, and is as safe to act on.
///
/// Call `beginRequest` or `beginResponse`, then `add` for each field in order, then `finish`, all with the same head. After an
/// error nothing of the head can be relied on. Limits count the head as HTTP/1.1 would write it, and so does the offset of an
/// error.
public struct HeadBuilder: Sendable {
    /// What may be sent.
    public let limits: WireLimits
    /// Which of the rules that are a matter of taste hold.
    public var rules: RequestRules

    private var isSecure = false
    private var hasAuthority = false
    private var hasHost = false

    private static let host = Array("Host".utf8)

    public init(limits: WireLimits = WireLimits(), rules: RequestRules = RequestRules()) {
        self.limits = limits
        self.rules = rules
    }

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - isSecure: whether the scheme is `https`.
    ///   - authority: what `:authority` says, which becomes the field Host; nil where the fields have a Host instead. With both,
    ///     they must name one host.
    ///   - path: the path and the query, or `*`.
    ///   - version: what the client speaks, as far as the proxy must know.
    public mutating func beginRequest(
        method: Span<UInt8>, isSecure: Bool = false, authority: Span<UInt8>? = nil, path: Span<UInt8>,
        version: MessageVersion = .http1_1, into head: inout MessageHead
    ) throws(WireError) {
        begin(version, &head)
        self.isSecure = isSecure
        guard method.count <= WireLimits.method, ListMember.isToken(method) else { throw WireError(.badMethod, at: 0) }
        head.bytes.append(contentsOf: method)
        head.bytes.append(ASCII.space)
        let start = head.bytes.count
        head.bytes.append(contentsOf: path)
        let end = head.bytes.count
        head.methodRange = ByteRange(0, method.count)
        head.methodKind = Method.find(method)
        head.targetRange = ByteRange(start, end)
        // The version's nine bytes belong to the line, and so to its limit.
        try check(lineEnd: end + 9, from: 0, limit: limits.requestLine, .requestLineTooLong)
        guard head.methodKind != .connect else { throw WireError(.methodNotSupported, at: start) }
        // Fields have no absolute form.
        guard end > start, path[0] == UInt8(ascii: "/") || path[0] == UInt8(ascii: "*") else {
            throw WireError(.badTarget, at: start)
        }
        let extent = RequestTarget.extent(in: head.bytes.span, from: start)
        guard extent.end == end else { throw WireError(.badTargetByte, at: extent.end) }
        head.queryMark = extent.query
        head.firstEscape = extent.escape
        Self.append(" HTTP/1.1\r\n", to: &head)
        guard let authority else { return }
        try append(Self.host.span, authority, to: &head)
        hasAuthority = true
    }

    /// Begins a response. Without a `reason` it has the registered one of its status.
    public mutating func beginResponse(
        status: Int, reason: Span<UInt8>? = nil, version: MessageVersion = .http1_1, into head: inout MessageHead
    ) throws(WireError) {
        begin(version, &head)
        guard (100...999).contains(status) else {
            throw WireError(status < 100 ? .badStatus : .badStatusLine, at: 9, fromUpstream: true)
        }
        head.status = status
        Self.append("HTTP/1.1 ", to: &head)
        for digit in [status / 100, status / 10 % 10, status % 10] { head.bytes.append(0x30 + UInt8(digit)) }
        head.bytes.append(ASCII.space)
        let start = head.bytes.count
        if let reason {
            head.bytes.append(contentsOf: reason)
        } else {
            Self.append(ReasonPhrase.of(status), to: &head)
        }
        let end = head.bytes.count
        let control = Scan.firstControl(in: head.bytes.span, from: start)
        guard control == end else { throw WireError(.badStatusLine, at: control, fromUpstream: true) }
        do throws(WireError) {
            try check(lineEnd: end, from: 0, limit: limits.requestLine, .requestLineTooLong)
        } catch {
            throw error.asUpstreamFault
        }
        head.reasonRange = end > start ? ByteRange(start, end) : .empty
        head.isVerbatimStart = end > start
        Self.append("\r\n", to: &head)
    }

    private mutating func begin(_ version: MessageVersion, _ head: inout MessageHead) {
        head.removeAll()
        head.version = version
        isSecure = false
        hasAuthority = false
        hasHost = false
    }

    /// Adds a field; white space at the ends of its value is none of it.
    public mutating func add(
        _ name: Span<UInt8>, _ value: Span<UInt8>, to head: inout MessageHead
    ) throws(WireError) {
        do throws(WireError) {
            if hasAuthority, name.count == Self.host.count, KnownField.find(name) == .host {
                return try addHost(value, to: head)
            }
            try append(name, value, to: &head)
        } catch {
            throw head.status == 0 ? error : error.asUpstreamFault
        }
    }

    /// A Host beside the authority: it must name the same host, and isn't written twice.
    private mutating func addHost(_ value: Span<UInt8>, to head: borrowing MessageHead) throws(WireError) {
        let at = head.bytes.count
        guard !hasHost else { throw WireError(.repeatedHost, at: at) }
        hasHost = true
        let authority = head.value(0)
        guard let host = Authority.parse(value, 0, value.count) else { throw WireError(.badHost, at: at) }
        guard let own = Authority.parse(authority, 0, authority.count) else {
            throw WireError(.badHost, at: Int(head.lines[0].value.start))
        }
        let standard = isSecure ? 443 : 80
        guard
            authority.extracting(own.host.range).isEqualIgnoringCase(to: value.extracting(host.host.range)),
            own.port ?? standard == host.port ?? standard
        else { throw WireError(.hostMismatch, at: at) }
    }

    /// Writes a field line as the parser reads it, and enters it into the index.
    private func append(_ name: Span<UInt8>, _ value: Span<UInt8>, to head: inout MessageHead) throws(WireError) {
        let start = head.bytes.count
        guard head.lines.count < limits.fieldCount else { throw WireError(.tooManyFields, at: start) }
        guard ListMember.isToken(name) else { throw WireError(.badFieldName, at: start) }
        guard name.count <= WireLimits.fieldName else { throw WireError(.fieldNameTooLong, at: start + name.count) }
        let text = value.withoutBlanks
        let valueStart = start + name.count + 2
        let control = Scan.firstControl(in: value, from: 0)
        guard control == value.count else { throw WireError(.badFieldValue, at: valueStart + control) }
        let valueEnd = valueStart + text.count
        try check(lineEnd: valueEnd, from: start, limit: limits.fieldLine, .fieldLineTooLong)
        head.bytes.append(line: name, text)
        head.add(
            name, at: ByteRange(start, start + name.count), value: ByteRange(valueStart, valueEnd),
            mayHoldUnderscore: true, isVerbatim: true)
    }

    /// The limits that a line has: its own, and what is left of the whole head's with its last CRLF.
    private func check(lineEnd: Int, from start: Int, limit: Int, _ fault: WireFault) throws(WireError) {
        let (line, head) = (start + limit, limits.head - 2)
        guard lineEnd <= min(line, head) else {
            throw WireError(line <= head ? fault : .headTooLarge, at: min(line, head))
        }
    }

    /// The error of a field that another reader has found to be no field: `name` isn't one, or its value holds what it must not.
    public static func fault(ofFieldNamed name: Span<UInt8>) -> WireError {
        let isToken = ListMember.isToken(name)
        return WireError(isToken ? .badFieldValue : .badFieldName, at: 0)
    }

    /// The error of a request whose scheme is none of HTTP.
    public static var schemeFault: WireError { WireError(.badScheme, at: 0) }

    /// Ends the head, and checks it as a whole.
    ///
    /// - Parameter hasContent: whether a body follows, where what carries the head says so, as HTTP/2 does; nil where the fields
    ///   say it, as in HTTP/1.
    public func finish(_ head: inout MessageHead, hasContent: Bool? = nil) throws(WireError) {
        let at = head.bytes.count
        guard at + 2 <= limits.head else {
            let error = WireError(.headTooLarge, at: limits.head)
            throw head.status == 0 ? error : error.asUpstreamFault
        }
        Self.append("\r\n", to: &head)
        guard head.status == 0 else { return try ResponseParser.check(&head) }
        try rules.check(&head)
        head.isSecureTarget = isSecure
        guard let hasContent else { return }
        switch head.framing {
        // Where a length of 0 was said, the end is still to come that shows whether it is true.
        case .none where hasContent, .length(0) where hasContent: head.framing = .chunked
        // HTTP/1.1 wants it said where content would be expected (RFC 9110 §8.6).
        case .none where head.methodKind.mayHaveBody: head.framing = .length(0)
        case .length(let length) where !hasContent && length > 0: throw WireError(.badContentLength, at: at)
        default: break
        }
    }

    private static func append(_ text: StaticString, to head: inout MessageHead) {
        text.withUTF8Buffer { bytes in
            // SAFETY: the span is used only inside the closure.
            unsafe head.bytes.append(contentsOf: Span(_unsafeElements: bytes))
        }
    }
}
