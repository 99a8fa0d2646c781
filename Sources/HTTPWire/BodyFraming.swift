/// How a message's body ends, decided once from its head (RFC 9112 §6.3).
public enum BodyFraming: Hashable, Sendable {
    /// No body and no byte that says so: a request with neither field, a response that can't have a body.
    case none
    /// Exactly so many bytes, announced by Content-Length.
    case length(Int)
    /// The chunked transfer coding.
    case chunked
    /// Until the peer closes the connection; responses only.
    case untilClose

    /// Whether the head announces no byte of a body.
    public var isEmpty: Bool { self == .none || self == .length(0) }
}
