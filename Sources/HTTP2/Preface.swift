/// The bytes that a connection of HTTP/2 begins with (RFC 9113 §3.4), where neither TLS nor anything else has said what it speaks.
public enum Preface {
    /// What the first bytes of a connection show.
    public enum Finding: Hashable, Sendable { case http2, http1, undecided }

    private static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Looks at all bytes that have come. No request of HTTP/1 begins like this: PRI is reserved.
    public static func look(at start: Span<UInt8>) -> Finding {
        let count = min(start.count, bytes.count)
        for index in 0..<count where start[index] != bytes[index] { return .http1 }
        return count == bytes.count ? .http2 : .undecided
    }
}
