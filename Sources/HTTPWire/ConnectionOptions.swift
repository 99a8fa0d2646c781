internal import Octets

/// What Connection says (RFC 9110 §7.6.1): whether the connection persists, and which fields end here.
internal enum ConnectionOptions {
    /// R31 for requests: tokens only, few of them, and none that names a field which must not be removed.
    static func applyToRequest(_ head: inout MessageHead) throws(WireError) {
        // RFC 9112 §9.3: a proxy must not keep a connection to an HTTP/1.0 client.
        head.isKeepAlive = head.capabilities.contains(.persistence)
        guard head.contains(.connection), !isOneWord(&head) else { return }
        var count = 0
        for index in 0..<head.lines.count where head.lines[index].known == .connection {
            let base = Int(head.lines[index].value.start)
            var start = 0
            while start <= head.value(index).count {
                let member = ListMember.at(start, in: head.value(index))
                start = member.next
                if member.range.isEmpty { continue }
                count += 1
                let at = base + member.range.lowerBound
                guard count <= WireLimits.connectionOptions,
                    ListMember.isToken(head.value(index).extracting(member.range))
                else { throw WireError(.badConnection, at: at) }
                let known = KnownField.find(head.value(index).extracting(member.range))
                guard !known.mustNotBeRemoved else { throw WireError(.protectedConnectionOption, at: at) }
                apply(&head, at, base + member.range.upperBound, known)
            }
        }
    }

    /// For responses: an option that can't be read, or names what must stay, is not obeyed; the connection isn't reused then.
    static func applyToResponse(_ head: inout MessageHead) {
        // RFC 9112 §9.3: a response of HTTP/1.0 keeps the connection only where it says so.
        head.isKeepAlive = head.capabilities.contains(.persistence)
        guard head.contains(.connection), !isOneWord(&head) else { return }
        var count = 0
        var isReadable = true
        for index in 0..<head.lines.count where head.lines[index].known == .connection {
            let base = Int(head.lines[index].value.start)
            var start = 0
            while start <= head.value(index).count, count <= WireLimits.connectionOptions {
                let member = ListMember.at(start, in: head.value(index))
                start = member.next
                if member.range.isEmpty { continue }
                count += 1
                let isToken = ListMember.isToken(head.value(index).extracting(member.range))
                let known = isToken ? KnownField.find(head.value(index).extracting(member.range)) : .other
                guard isToken, !known.mustNotBeRemoved, !known.isForAllRecipients,
                    count <= WireLimits.connectionOptions
                else {
                    isReadable = false
                    continue
                }
                if known == .keepAlive { head.isKeepAlive = true }
                apply(&head, base + member.range.lowerBound, base + member.range.upperBound, known)
            }
        }
        if !isReadable || has("close", head) { head.isKeepAlive = false }
    }

    /// Acts on what Connection says nearly always, one `keep-alive` or `close`. False, and nothing is done, for all else.
    private static func isOneWord(_ head: inout MessageHead) -> Bool {
        guard let line = head.first(.connection), !head.isRepeated(.connection) else { return false }
        if head.value(line).isEqualIgnoringCase(to: "keep-alive") {
            // A request of HTTP/1.0 doesn't keep its connection all the same.
            if head.status != 0 { head.isKeepAlive = true }
            return true
        }
        guard head.value(line).isEqualIgnoringCase(to: "close") else { return false }
        head.isKeepAlive = false
        return true
    }

    /// Acts on one option, the token at `start..<end` of the head.
    private static func apply(_ head: inout MessageHead, _ start: Int, _ end: Int, _ known: KnownField) {
        let range = ByteRange(start, end)
        switch known {
        case .keepAlive: return
        case .upgrade: head.wantsUpgrade = head.contains(.upgrade)
        case .other:
            if head.span(range).isEqualIgnoringCase(to: "close") {
                head.isKeepAlive = false
                return
            }
            for index in 0..<head.lines.count where head.lines[index].known == .other {
                guard head.span(head.lines[index].name).isEqualIgnoringCase(to: head.span(range)) else { continue }
                head.lines[index].isHopByHop = true
            }
        default:
            guard head.contains(known) else { return }
            for index in 0..<head.lines.count where head.lines[index].known == known {
                head.lines[index].isHopByHop = true
            }
        }
    }

    private static func has(_ option: StaticString, _ head: borrowing MessageHead) -> Bool {
        for index in 0..<head.lines.count where head.lines[index].known == .connection {
            if ListMember.contains(option, in: head.value(index)) { return true }
        }
        return false
    }
}

extension MessageHead {
    /// Whether Connection takes a field away that isn't one of the hop by itself.
    public var removesFields: Bool {
        guard contains(.connection) else { return false }
        for line in 0..<fieldCount where isHopByHop(line) && !known(line).isHopByHop { return true }
        return false
    }

    /// The error of a request of which Connection takes a field away that its route goes by: what was looked at must go on whole.
    public static var removalFault: WireError { WireError(.protectedConnectionOption, at: 0) }
}

extension KnownField {
    /// Whether a response's field is for whoever gets it, so that Connection can't mean it (RFC 9110 §7.6.1 says so of Cache-Control):
    /// without it a cache would keep what it must not, or a client take the content for another.
    fileprivate var isForAllRecipients: Bool { self != .other && !isHopByHop }

    /// Fields that Connection must not take away: framing, routing, credentials, and what tells the upstream about the
    /// client or the body (R31).
    fileprivate var mustNotBeRemoved: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .authorization, .cookie, .setCookie, .contentType,
            .contentEncoding, .contentRange, .via, .forwarded, .xForwardedFor, .xForwardedProto, .xForwardedHost,
            .xForwardedPort, .xRealIP, .xRequestID, .recastVerified, .recastReplay:
            true
        default: false
        }
    }
}
