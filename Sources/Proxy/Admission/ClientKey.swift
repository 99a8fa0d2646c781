internal import EventLoop

/// Whom a connection counts for: an IPv4 address, or a /64 network of IPv6, since one client easily has all addresses of one.
struct ClientKey: Hashable, Sendable {
    private let high: UInt64
    /// Whether it is this host. All its clients share one address.
    let isLoopback: Bool

    /// Nil for a unix socket, whose clients have no address.
    init?(_ peer: SocketAddress) {
        if let address = peer.ipv4 {
            // ::ffff:0:0/96 has no /64 of its own that could be meant, so the two kinds can't meet.
            high = 0xFFFF_0000_0000 | UInt64(address)
            isLoopback = address >> 24 == 127
        } else if let (high, low) = peer.ipv6 {
            self.high = high
            isLoopback = high == 0 && low == 1
        } else {
            return nil
        }
    }
}
