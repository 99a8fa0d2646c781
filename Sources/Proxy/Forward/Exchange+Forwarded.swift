internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

// What the upstream is told of the client (docs/rules.md F5). A peer that isn't trusted has its word replaced by what we
// see ourselves; what a trusted one says is kept, and the peer's own address is added to it.
extension Exchange {
    /// Looks, where the peer is trusted, for the client behind it.
    func findClient(_ generation: Generation, _ route: Route) throws(Refusal) {
        guard let peer = downstream?.peer, generation.forwarding.trusted.contains(peer) else { return }
        trustsPeer = true
        let format = route.forwarding.format
        let size = ClientChain.size(of: request, format == .forwarded ? .forwarded : .xForwardedFor)
        guard size <= ClientChain.limit else { throw .forwardedTooLong }
        guard size > 0 else { return }
        let client = ClientChain.client(of: request, format, peer: peer, trusted: generation.forwarding.trusted)
        if client != peer { realClient = client }
    }

    /// The client as far as it is known: by what trusted peers say, else the peer.
    var client: SocketAddress? { realClient ?? downstream?.peer }

    /// Writes the fields of the route's format.
    func writeForwarded(_ rule: ForwardingRule, into output: inout OutputBuffer) {
        guard let downstream else { return }
        switch rule.format {
        case .xForwarded:
            if trustsPeer {
                request.appendTrustedFields(peer: downstream, into: &output)
            } else {
                // What the client said of itself is replaced.
                HeadWriter.clean("X-Forwarded-Host", request.authority, into: &output)
                if !downstream.peer.isUnix {
                    output.append("X-Forwarded-For: ")
                    downstream.appendPeer(to: &output)
                    output.append("\r\n")
                }
                downstream.appendSchemeAndPort(into: &output)
            }
        case .forwarded:
            output.append("Forwarded: ")
            if trustsPeer, request.appendValues(of: .forwarded, into: &output) { output.append(", ") }
            request.appendForwardedElement(peer: downstream, into: &output)
        case .off: break
        }
        if rule.realIP, let client, !client.isUnix {
            output.append("X-Real-IP: ")
            client.unmapped.appendIP(to: &output)
            output.append("\r\n")
        }
    }
}

extension DownstreamConnection {
    fileprivate var scheme: StaticString { isSecure ? "https" : "http" }

    /// Appends the peer's IP address.
    fileprivate func appendPeer(to output: inout OutputBuffer) {
        // Nearly every address is none to be looked at in another form, of which it would be a copy.
        if peer.isIPv4 { peer.appendIP(to: &output) } else { peer.unmapped.appendIP(to: &output) }
    }

    fileprivate func appendSchemeAndPort(into output: inout OutputBuffer) {
        let lines = isSecure ? place.securedSchemeLines : place.schemeLines
        output.append(lines.span)
    }

    fileprivate func appendPort(into output: inout OutputBuffer) {
        if place.port > 0 { HeadWriter.field("X-Forwarded-Port", decimal: place.port, into: &output) }
    }
}

extension MessageHead {
    /// X-Forwarded-* by a trusted peer: its list with its own address behind; its host, scheme and port where they are such.
    fileprivate func appendTrustedFields(peer: DownstreamConnection, into output: inout OutputBuffer) {
        if let line = first(.xForwardedHost), !value(line).isEmpty {
            HeadWriter.clean("X-Forwarded-Host", value(line), into: &output)
        } else {
            HeadWriter.clean("X-Forwarded-Host", authority, into: &output)
        }
        if contains(.xForwardedFor) || !peer.peer.isUnix {
            output.append("X-Forwarded-For: ")
            let hasOthers = appendValues(of: .xForwardedFor, into: &output)
            if !peer.peer.isUnix {
                if hasOthers { output.append(", ") }
                peer.appendPeer(to: &output)
            }
            output.append("\r\n")
        }
        if let line = first(.xForwardedProto), Self.isScheme(value(line)) {
            HeadWriter.clean("X-Forwarded-Proto", value(line), into: &output)
        } else {
            output.append("X-Forwarded-Proto: ")
            output.append(peer.scheme)
            output.append("\r\n")
        }
        if let line = first(.xForwardedPort), Self.isPort(value(line)) {
            HeadWriter.clean("X-Forwarded-Port", value(line), into: &output)
        } else {
            peer.appendPort(into: &output)
        }
    }

    /// One element of Forwarded and the line's end: RFC 7239 §4 and §6.
    fileprivate func appendForwardedElement(peer: DownstreamConnection, into output: inout OutputBuffer) {
        let address = peer.peer.unmapped
        if address.isUnix {
            output.append("for=unknown")
        } else if address.isIPv6 {
            output.append("for=\"[")
            address.appendIP(to: &output)
            output.append("]\"")
        } else {
            output.append("for=")
            address.appendIP(to: &output)
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
    fileprivate func appendValues(of field: KnownField, into output: inout OutputBuffer) -> Bool {
        guard contains(field) else { return false }
        var isFirst = true
        for line in 0..<fieldCount where known(line) == field && !value(line).isEmpty {
            if !isFirst { output.append(", ") }
            isFirst = false
            output.append(value(line))
        }
        return !isFirst
    }

    private static func isScheme(_ value: Span<UInt8>) -> Bool {
        value.isEqualIgnoringCase(to: "http") || value.isEqualIgnoringCase(to: "https")
    }

    private static func isPort(_ value: Span<UInt8>) -> Bool {
        guard (1...5).contains(value.count) else { return false }
        for index in value.indices where !ASCII.isDigit(value[index]) { return false }
        return true
    }
}
