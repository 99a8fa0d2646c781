internal import HTTPWire
internal import Octets

/// Who is told of an exchange's messages on their way.
struct ExchangeWatchers: OptionSet {
    let rawValue: UInt8
    /// Its place in a trace.
    static var trace: ExchangeWatchers { ExchangeWatchers(rawValue: 1) }
    /// The console.
    static var tap: ExchangeWatchers { ExchangeWatchers(rawValue: 2) }
    /// The route's shadow.
    static var shadow: ExchangeWatchers { ExchangeWatchers(rawValue: 4) }

    /// Whether one of them looks at messages, which a trace doesn't.
    @inline(__always)
    var lookAtMessages: Bool { rawValue > Self.trace.rawValue }
}

// What is of interest of a response, for all who watch the exchange.
extension Exchange {
    /// The head of the upstream's response.
    @inline(never)
    func watchResponse(_ head: borrowing MessageHead) {
        if watchers.contains(.tap) { tapResponse(head) }
        if watchers.contains(.shadow) { noteForShadow(head) }
    }

    /// Its content.
    @inline(never)
    func watchResponse(_ content: Span<UInt8>) {
        if watchers.contains(.tap) { tapReceived(content) }
        if watchers.contains(.shadow) { noteForShadow(content) }
    }

    /// The exchange is over: each of them lets go of it.
    @inline(never)
    func endWatching() {
        if watchers.contains(.shadow) { endShadow() }
        if watchers.contains(.tap) { dropTap() }
    }
}
