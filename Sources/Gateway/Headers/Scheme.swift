internal import Octets

/// What the scheme of a URL says, wherever somebody tells one of a request: a proxy in X-Forwarded-Proto or Forwarded, a data plane in
/// `:scheme`.
package enum Scheme {
    /// Whether connections of that scheme are secured; in either case. Nil: it isn't one of HTTP, nor of the WebSocket that a request of
    /// HTTP begins (RFC 6455 §3), which some proxies tell of upgrades.
    package static func isSecure(_ text: Span<UInt8>) -> Bool? {
        if text.isEqualIgnoringCase(to: "https") || text.isEqualIgnoringCase(to: "wss") { return true }
        if text.isEqualIgnoringCase(to: "http") || text.isEqualIgnoringCase(to: "ws") { return false }
        return nil
    }

    /// Whether it may be one at all (RFC 3986 §3.1), of 32 bytes at most.
    package static func isWellFormed(_ text: Span<UInt8>) -> Bool {
        guard (1...32).contains(text.count), ASCII.isAlpha(text[0]) else { return false }
        for index in text.indices {
            let byte = text[index]
            let isMark = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            guard isMark || ASCII.isAlpha(byte) || ASCII.isDigit(byte) else { return false }
        }
        return true
    }
}
