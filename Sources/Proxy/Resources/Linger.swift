/// How long what a peer still sends is read and thrown away behind the last that it is sent: a client's behind an answer that came before
/// its request's end (docs/rules.md F13, F16), an upstream's behind the last request of a connection of HTTP/2.
enum Linger {
    /// Long enough for the peer to read what it was sent, short enough not to be held.
    static let time: UInt64 = 2_000_000_000
    /// Bytes at most. Clients send megabytes before they look for an answer, and a reset would take it from them; the time bounds
    /// the rest.
    static let bytes = 16 * 1024 * 1024
    /// How long a client of HTTP/1 that has sent more than that is held back before its connection ends: Go's servers wait as long.
    static let lastTime: UInt64 = 500_000_000
}
