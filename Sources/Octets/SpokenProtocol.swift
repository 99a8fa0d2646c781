/// What a connection's first bytes show of the protocol that its peer speaks, for whoever awaited another one and could make nothing of
/// them: what is looked at when that has failed costs good peers nothing.
public enum SpokenProtocol: Hashable, Sendable {
    /// A record of TLS (RFC 8446 §5.1).
    case tls
    /// A header of the PROXY protocol, of version 1 or 2: a proxy or load balancer tells by it whom it speaks for.
    case proxyHeader
    /// A head of HTTP/1, or the preface of HTTP/2.
    case http

    /// What version 2 of the PROXY protocol begins with. HTTP/1 allows its two empty lines, and nothing allows the NUL behind them.
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
    private static let headers = ["PROXY TCP4 ", "PROXY TCP6 ", "PROXY UNKNOWN"].map { Array($0.utf8) }

    /// Looks at the first bytes of a connection, as many as there are; nil: they show none of these.
    public static func look(at start: Span<UInt8>) -> SpokenProtocol? {
        guard start.count > 0 else { return nil }
        // change_cipher_spec, alert, handshake and application_data, all of which name version 3.
        if (20...23).contains(start[0]), start.count == 1 || start[1] == 3 { return .tls }
        if start.count >= 5, begins(start, signature) { return .proxyHeader }
        for header in headers where start.count >= header.count && begins(start, header) { return .proxyHeader }
        return isHead(start) ? .http : nil
    }

    /// Whether both are the same, as far as they go.
    private static func begins(_ start: Span<UInt8>, _ bytes: [UInt8]) -> Bool {
        for index in 0..<min(start.count, bytes.count) where start[index] != bytes[index] { return false }
        return true
    }

    /// Whether there is a method, or a version, behind at most a few empty lines. One of either case: methods are, and a client that
    /// writes them in small letters is one of HTTP all the same.
    private static func isHead(_ start: Span<UInt8>) -> Bool {
        var at = 0
        while at < start.count, start[at] == ASCII.carriageReturn || start[at] == ASCII.lineFeed { at += 1 }
        let first = at
        guard first < start.count, ASCII.isAlpha(start[first]) else { return false }
        while at < start.count, at - first < 32, ASCII.isAlpha(start[at]) || start[at] == UInt8(ascii: "-") { at += 1 }
        return at == start.count || start[at] == ASCII.space || start[at] == UInt8(ascii: "/")
    }
}
