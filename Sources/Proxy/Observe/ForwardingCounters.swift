/// What is counted of forwarding.
struct ForwardingCounters {
    /// Connections that changed to another protocol.
    var tunnels: UInt64 = 0
    /// Those that are open.
    var openTunnels = 0
    /// Bytes that went through them to the upstream.
    var tunnelBytesUp: UInt64 = 0
    /// Bytes that went through them to the client.
    var tunnelBytesDown: UInt64 = 0
    /// Requests refused because they had been here too often.
    var loops: UInt64 = 0

    func visit(_ samples: inout MetricSamples) {
        samples.counter("recast_tunnels_total", "Connections that changed to another protocol.", tunnels)
        samples.gauge("recast_open_tunnels", "Open connections that changed to another protocol.", Double(openTunnels))
        let help = "Bytes that went through connections that changed to another protocol."
        samples.counter("recast_tunnel_bytes_total", help, labels: [.init("direction", "upstream")], tunnelBytesUp)
        samples.counter("recast_tunnel_bytes_total", help, labels: [.init("direction", "client")], tunnelBytesDown)
        samples.counter(
            "recast_loops_total", "Requests refused because their Via shows that they go round in a loop.", loops)
    }
}
