internal import Gateway

/// Lines of heads that are the same for all requests of a snapshot.
struct ForwardingLines {
    /// The Via lines of what was received as HTTP/1.0 and HTTP/1.1; nil where there is no Via.
    let via: (old: [UInt8], new: [UInt8])?
    let pseudonym: [UInt8]
    let addsViaToResponses: Bool
    let loopLimit: Int
    let trusted: TrustedPeers
    let hasTrusted: Bool
    /// The Host fields of routes that replace it, by the route's index.
    let hosts: [[UInt8]]

    init(_ settings: ProxySettings) {
        let forwarding = settings.forwarding
        pseudonym = Array((forwarding.via ?? "").utf8)
        via = forwarding.via.map { (Array("Via: 1.0 \($0)\r\n".utf8), Array("Via: 1.1 \($0)\r\n".utf8)) }
        addsViaToResponses = forwarding.addsViaToResponses
        loopLimit = forwarding.loopLimit
        trusted = forwarding.trusted
        hasTrusted = !forwarding.trusted.isEmpty
        hosts = settings.routes.map { route in
            switch route.forwarding.host {
            case .preserve: []
            case .fixed(let name): Array("Host: \(name)\r\n".utf8)
            case .upstream: Array("Host: \(settings.upstreams[route.upstream].hostField)\r\n".utf8)
            }
        }
    }
}

extension UpstreamSettings {
    /// The Host that names this upstream: its first address without the port that HTTP has anyway. A unix socket has no name.
    fileprivate var hostField: String {
        switch addresses.first {
        case .tcp(let host, let port):
            let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            return port == 80 ? name : "\(name):\(port)"
        case .unix, nil: return "localhost"
        }
    }
}
