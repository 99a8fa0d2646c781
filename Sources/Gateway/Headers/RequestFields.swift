package import HTTPWire
package import Octets

/// Fields of the client's that don't go on.
private enum RemovedFields {
    /// What the head that goes on says itself.
    static let always: KnownFieldSet = [
        .host, .contentLength, .transferEncoding, .expect, .xRequestID, .recastVerified, .recastReplay,
    ]
    static let trace: KnownFieldSet = [.traceparent, .tracestate]
    static let forwarded: KnownFieldSet = [
        .xForwardedFor, .xForwardedProto, .xForwardedHost, .xForwardedPort, .xRealIP, .forwarded,
    ]
    /// They speak of the bytes as they were before the conversion (docs/rules.md F2).
    static let ofOldBytes: KnownFieldSet = [
        .contentType, .contentEncoding, .contentMD5, .contentDigest, .reprDigest, .digest, .contentRange, .range,
        .ifRange,
    ]
    /// They ask for bytes that the client wouldn't get.
    static let aboutResponseBytes: KnownFieldSet = [
        .range, .ifRange, .acceptEncoding, .wantContentDigest, .wantReprDigest, .wantDigest,
    ]
}

// What becomes of a request's fields.
extension PassedFields {
    /// What goes on of a request's received fields.
    ///
    /// - Parameters:
    ///   - rule: what the route says of forwarding.
    ///   - isConverted: whether the content is.
    ///   - convertsResponses: whether the response's content may be.
    ///   - isTrusted: whether the peer's word about the client is believed.
    ///   - replaced: what else stays behind, as the head that goes on says it itself.
    package init(
        request head: borrowing MessageHead, by rule: ForwardingRule, isConverted: Bool, convertsResponses: Bool,
        isTrusted: Bool, without replaced: KnownFieldSet = []
    ) {
        var removed = RemovedFields.always
        removed.formUnion(replaced)
        if !(head.contains(.traceparent) && TraceContext.traceID(of: head) != nil) {
            removed.formUnion(RemovedFields.trace)
        }
        if !(isTrusted && rule.format == .off) { removed.formUnion(RemovedFields.forwarded) }
        if isConverted { removed.formUnion(RemovedFields.ofOldBytes) }
        if convertsResponses { removed.formUnion(RemovedFields.aboutResponseBytes) }
        var left: Int?
        // 0 doesn't come here: then the request ends with us (RFC 9110 §7.6.2).
        if head.contains(.maxForwards), head.methodKind == .options { left = head.maxForwards.map { $0 - 1 } }
        // Servers of the CGI family read `a_b` as `a-b`: such a name could pass for one that we set.
        self.init(removing: removed, passesUnderscores: rule.underscores == .pass, maxForwards: left)
    }
}

extension PassedFields {
    /// What goes on of a request's received fields where another one forwards it, so that nothing is said of this hop, and nothing of
    /// the framing.
    ///
    /// - Parameter dropped: what else stays behind.
    package init(
        processedRequest head: borrowing MessageHead, by rule: ForwardingRule, isConverted: Bool,
        convertsResponses: Bool, without dropped: KnownFieldSet = []
    ) {
        var removed: KnownFieldSet = [.recastVerified, .recastReplay, .xRequestID]
        removed.formUnion(dropped)
        if isConverted { removed.formUnion(RemovedFields.ofOldBytes) }
        if convertsResponses { removed.formUnion(RemovedFields.aboutResponseBytes) }
        self.init(removing: removed, passesUnderscores: rule.underscores == .pass)
    }
}

/// What is known of the connection that brought a request, for the fields that tell the upstream of the client.
package struct ClientPeer {
    /// Whether it has no IP address, as one on a unix socket.
    package let isUnix: Bool
    package let isIPv6: Bool
    package let isSecure: Bool
    /// The port that it connected to; 0 for a unix socket.
    package let port: Int
    /// X-Forwarded-Proto and, where there is a port, X-Forwarded-Port, as lines.
    package let schemeLines: [UInt8]

    package init(isUnix: Bool, isIPv6: Bool, isSecure: Bool, port: Int, schemeLines: [UInt8]) {
        self.isUnix = isUnix
        self.isIPv6 = isIPv6
        self.isSecure = isSecure
        self.port = port
        self.schemeLines = schemeLines
    }

    fileprivate var scheme: StaticString { isSecure ? "https" : "http" }
}

extension ForwardedFormat {
    /// Tells the upstream of the client in the fields of this format (docs/rules.md F5). A peer that isn't trusted has its word
    /// replaced by what we see ourselves; what a trusted one says is kept, and the peer's own address is added to it.
    ///
    /// - Parameter appendAddress: appends the peer's IP address, without port and brackets.
    package func appendClient(
        of head: borrowing MessageHead, _ peer: ClientPeer, isTrusted: Bool, to output: inout OutputBuffer,
        appendAddress: (inout OutputBuffer) -> Void
    ) {
        switch self {
        case .xForwarded:
            if isTrusted { return head.appendTrusted(peer, to: &output, appendAddress: appendAddress) }
            head.appendCalledHost(to: &output)
            if !peer.isUnix {
                output.append("X-Forwarded-For: ")
                appendAddress(&output)
                output.append("\r\n")
            }
            output.append(peer.schemeLines.span)
        case .forwarded:
            output.append("Forwarded: ")
            if isTrusted, head.appendValues(of: .forwarded, to: &output) { output.append(", ") }
            head.appendElement(peer, to: &output, appendAddress: appendAddress)
        case .off: break
        }
    }
}

extension MessageHead {
    /// X-Forwarded-Host as the client called us; nothing where it named no host, as it may in HTTP/1.0.
    @inline(__always)
    fileprivate func appendCalledHost(to output: inout OutputBuffer) {
        guard !authority.isEmpty else { return }
        HeadWriter.clean("X-Forwarded-Host", authority, into: &output)
    }

    /// X-Forwarded-* by a trusted peer: its list with its own address behind; its host, scheme and port where they are such. Of lists
    /// of these the last member goes on, which is what the peer itself says: another reader may take the first one, which is anybody's.
    fileprivate func appendTrusted(
        _ peer: ClientPeer, to output: inout OutputBuffer, appendAddress: (inout OutputBuffer) -> Void
    ) {
        if let host = lastMember(of: .xForwardedHost) {
            HeadWriter.clean("X-Forwarded-Host", host, into: &output)
        } else {
            appendCalledHost(to: &output)
        }
        if contains(.xForwardedFor) || !peer.isUnix {
            output.append("X-Forwarded-For: ")
            let hasOthers = appendValues(of: .xForwardedFor, to: &output)
            if !peer.isUnix {
                if hasOthers { output.append(", ") }
                appendAddress(&output)
            }
            output.append("\r\n")
        }
        var isSecure: Bool?
        let tellsScheme = lastMember(of: .xForwardedProto) != nil
        if let scheme = lastMember(of: .xForwardedProto) {
            // One that isn't known says of its client what it says, which is not what is seen here.
            isSecure = Scheme.isSecure(scheme)
            if Scheme.isWellFormed(scheme) { HeadWriter.clean("X-Forwarded-Proto", scheme, into: &output) }
        } else {
            output.append("X-Forwarded-Proto: ")
            output.append(peer.scheme)
            output.append("\r\n")
        }
        if let port = lastMember(of: .xForwardedPort), ASCII.decimal(port, most: 5) != nil {
            HeadWriter.clean("X-Forwarded-Port", port, into: &output)
        } else {
            let port = toldPort(tellsScheme: tellsScheme, isSecure: isSecure) ?? peer.port
            if port > 0 { HeadWriter.field("X-Forwarded-Port", decimal: port, into: &output) }
        }
    }

    /// The port to which a trusted peer's client connected, by what it says of scheme and host: that of the host, else the usual one of
    /// the scheme; 0 where neither is known. Nil where it says nothing: then all is as we see it ourselves. What it says never stands
    /// beside the port of our own listener, which its client knows nothing of.
    ///
    /// - Parameters:
    ///   - tellsScheme: whether it says one.
    ///   - isSecure: whether that is a secured one, where it is known.
    private func toldPort(tellsScheme: Bool, isSecure: Bool?) -> Int? {
        var told = port
        if let host = lastMember(of: .xForwardedHost) {
            told = Self.authority(in: host)?.port
        } else if !tellsScheme {
            return nil
        }
        if let told, told > 0 { return told }
        guard let isSecure else { return 0 }
        return isSecure ? 443 : 80
    }

    /// The last member that isn't empty in the lines of `field`, a list to which each proxy may add; nil where there is none.
    @_lifetime(borrow self)
    package func lastMember(of field: KnownField) -> Span<UInt8>? {
        guard contains(field) else { return nil }
        var line = fieldCount - 1
        while line >= 0 {
            defer { line -= 1 }
            guard known(line) == field else { continue }
            var end = value(line).count
            while end >= 0 {
                var start = end
                while start > 0, value(line)[start - 1] != UInt8(ascii: ",") { start -= 1 }
                let range = value(line).rangeWithoutBlanks(in: start..<end)
                if !range.isEmpty { return value(line).extracting(range) }
                end = start - 1
            }
        }
        return nil
    }

    /// One element of Forwarded and the line's end: RFC 7239 §4 and §6.
    fileprivate func appendElement(
        _ peer: ClientPeer, to output: inout OutputBuffer, appendAddress: (inout OutputBuffer) -> Void
    ) {
        if peer.isUnix {
            output.append("for=unknown")
        } else if peer.isIPv6 {
            output.append("for=\"[")
            appendAddress(&output)
            output.append("]\"")
        } else {
            output.append("for=")
            appendAddress(&output)
        }
        if !authority.isEmpty {
            // A port's colon is no token's, so the host is always quoted; it holds neither quote nor backslash (R17).
            output.append(";host=\"")
            output.append(authority)
            output.append("\"")
        }
        output.append(";proto=")
        output.append(peer.scheme)
        output.append("\r\n")
    }

    /// Appends the values of all lines of `field` that aren't empty, as one list. Returns whether there was any.
    fileprivate func appendValues(of field: KnownField, to output: inout OutputBuffer) -> Bool {
        guard contains(field) else { return false }
        var isFirst = true
        for line in 0..<fieldCount where known(line) == field && !value(line).isEmpty {
            if !isFirst { output.append(", ") }
            isFirst = false
            output.append(value(line))
        }
        return !isFirst
    }

    /// The number in Max-Forwards, at most six digits; nil when it is none.
    package var maxForwards: Int? {
        guard let line = first(.maxForwards) else { return nil }
        return ASCII.decimal(value(line), most: 6)
    }
}
