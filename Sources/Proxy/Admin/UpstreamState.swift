/// How an upstream stands, for `/upstreams`: that of one worker, or of all together.
struct UpstreamState: Sendable {
    /// One of its addresses.
    struct Address: Sendable {
        let address: String
        /// What else is known of it, in the order in which it is shown.
        var details: [(name: String, value: AdminValue)] = []
    }

    let name: String
    var addresses: [Address]
    /// Connections that wait for a request, that serve one, and that are being made.
    var idle = 0
    var active = 0
    var connecting = 0

    /// Adds what another worker knows of the same upstream.
    mutating func merge(_ other: UpstreamState) {
        idle += other.idle
        active += other.active
        connecting += other.connecting
    }
}
