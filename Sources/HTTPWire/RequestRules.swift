internal import Octets

/// What a request's head must satisfy beyond its syntax, and the few points where that is a matter of taste.
///
/// The parser calls `check`, so a head that it returns has passed.
public struct RequestRules: Hashable, Sendable {
    /// Whether HTTP/1.2 and later minors are answered 505; otherwise they are read as 1.1 (RFC 9110 §2.5).
    public var refusesLaterMinor = false
    /// Whether ``^ ` { | }`` in a target are answered 400. Off: browsers send them in queries.
    public var refusesUnwiseBytes = false
    /// Whether a `%` in a path that two hexadecimal digits don't follow is answered 400. Queries are left alone.
    public var refusesBadPercent = true

    public init() {}

    /// Checks a head whose lines were read, and derives what it says about host, connection and body.
    internal func check(_ head: inout MessageHead) throws(WireError) {
        try RequestTarget.split(&head, rules: self)
        try checkHost(&head)
        // R34: TRACE echoes credentials. CONNECT was refused with its target.
        if head.methodKind == .trace { throw WireError(.methodNotSupported, at: Int(head.methodRange.start)) }
        try checkNames(head)
        try ConnectionOptions.applyToRequest(&head)
        head.framing = try Framing.request(head)
        try checkExpect(&head)
        try checkUpgrade(&head)
        try checkSingletons(head)
    }

    /// R9, R10, R17: one Host that is a host, and the same one as an absolute target says.
    private func checkHost(_ head: inout MessageHead) throws(WireError) {
        guard let index = head.first(.host) else {
            if head.version == .http1_0 { return }
            throw WireError(.missingHost, at: Int(head.targetRange.start))
        }
        let value = head.lines[index].value
        let start = Int(value.start)
        guard !head.isRepeated(.host) else { throw WireError(.repeatedHost, at: start) }
        guard let host = Authority.parse(head.bytes.span, start, Int(value.end)) else {
            throw WireError(.badHost, at: start)
        }
        guard head.targetForm == .absolute else {
            head.setAuthority(host)
            // A colon without a port says nothing and is not passed on.
            if host.whole != value {
                head.lines[index].value = host.whole
                head.lines[index].isVerbatim = false
            }
            return
        }
        let standard = head.isSecureTarget ? 443 : 80
        guard head.span(head.hostRange).isEqualIgnoringCase(to: head.span(host.host)),
            head.port ?? standard == host.port ?? standard
        else { throw WireError(.hostMismatch, at: start) }
    }

    /// R18: a CGI-like upstream reads `Content_Length` as Content-Length.
    private func checkNames(_ head: borrowing MessageHead) throws(WireError) {
        guard head.hasUnderscores else { return }
        for index in 0..<head.lines.count where head.lines[index].hasUnderscore {
            let line = head.lines[index]
            let name = head.span(line.name)
            for field in KnownField.allCases where field.mustNotBeImitated && name.isImitation(of: field.name) {
                throw WireError(.underscoreAlias, at: Int(line.name.start))
            }
        }
    }

    /// R32: the only expectation is `100-continue`, once; HTTP/1.0 has none.
    private func checkExpect(_ head: inout MessageHead) throws(WireError) {
        guard let index = head.first(.expect), head.version != .http1_0 else { return }
        let at = Int(head.lines[index].value.start)
        guard !head.isRepeated(.expect) else { throw WireError(.expectationFailed, at: at) }
        if head.lines[index].value.isEmpty { return }
        guard head.value(index).isEqualIgnoringCase(to: "100-continue") else {
            throw WireError(.expectationFailed, at: at)
        }
        head.expectsContinue = !head.framing.isEmpty
    }

    /// R33: an upgrade is asked for by both fields, in HTTP/1.1, without a body, and not to h2c alone.
    private func checkUpgrade(_ head: inout MessageHead) throws(WireError) {
        guard head.contains(.upgrade) else { return }
        var hasOther = false
        for index in 0..<head.lines.count where head.lines[index].known == .upgrade {
            let value = head.value(index)
            guard value.isASCII else { throw WireError(.badFieldValue, at: Int(head.lines[index].value.start)) }
            var start = 0
            while start <= value.count, !hasOther {
                let member = ListMember.at(start, in: value)
                start = member.next
                let name = value.extracting(member.range)
                hasOther = !name.isEmpty && !name.isEqualIgnoringCase(to: "h2c")
            }
        }
        head.wantsUpgrade = head.wantsUpgrade && head.version != .http1_0 && head.framing.isEmpty && hasOther
    }

    /// R14, R35: fields with one value come once, and Content-Type is no list.
    private func checkSingletons(_ head: borrowing MessageHead) throws(WireError) {
        if head.repeated != 0 {
            for index in 0..<head.lines.count {
                let line = head.lines[index]
                guard line.known.isSingleton, head.isRepeated(line.known) else { continue }
                throw WireError(.repeatedSingleton, at: Int(line.name.start))
            }
        }
        guard let index = head.first(.contentType) else { return }
        let value = head.value(index)
        let at = Int(head.lines[index].value.start)
        // One look at a value that has neither a comma nor a byte above 0x7F, which is nearly every one.
        let comma = UInt8(ascii: ",")
        let run = Scan.run(to: comma, comma, comma, comma, in: value, from: 0)
        if run.isASCII, run.end == value.count { return }
        guard value.isASCII else { throw WireError(.badFieldValue, at: at) }
        guard !value.hasUnquotedComma else { throw WireError(.listedSingleton, at: at) }
    }
}

extension KnownField {
    /// Fields whose repetition would let two readers pick different ones (R35). Host and Content-Length have their own errors.
    fileprivate var isSingleton: Bool {
        switch self {
        case .contentType, .authorization, .contentLocation, .contentRange: true
        default: false
        }
    }

    /// The framing, routing and body fields that `_` for `-` must not imitate (R18).
    fileprivate var mustNotBeImitated: Bool {
        switch self {
        case .contentLength, .transferEncoding, .contentType, .contentEncoding, .contentRange, .keepAlive,
            .proxyConnection, .http2Settings, .proxyAuthorization, .xForwardedFor, .xForwardedProto, .xForwardedHost,
            .xForwardedPort, .xRealIP, .xRequestID, .recastVerified, .recastReplay:
            true
        default: false
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are `name` where `_` counts as `-`, letters in either case.
    fileprivate func isImitation(of name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        for index in indices {
            let byte = self[index] == UInt8(ascii: "_") ? UInt8(ascii: "-") : self[index] | 0x20
            // SAFETY: index < count, which is the name's own length.
            if unsafe byte != name.utf8Start[index] | 0x20 { return false }
        }
        return true
    }

    fileprivate var isASCII: Bool {
        for index in indices where self[index] >= 0x80 { return false }
        return true
    }

    /// Whether a comma stands outside of quoted strings.
    fileprivate var hasUnquotedComma: Bool {
        guard Scan.firstIndex(of: UInt8(ascii: ","), in: self) != nil else { return false }
        var isQuoted = false
        var at = 0
        while at < count {
            switch self[at] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted: at += 1
            case UInt8(ascii: ",") where !isQuoted: return true
            default: break
            }
            at += 1
        }
        return false
    }
}
