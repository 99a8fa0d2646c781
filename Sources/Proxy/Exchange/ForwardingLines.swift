internal import Gateway
internal import HTTPWire

/// Lines of heads that are the same for all requests of a snapshot.
struct ForwardingLines {
    /// The Via lines; nil where there is none.
    let via: ViaLines?
    let pseudonym: [UInt8]
    let addsViaToResponses: Bool
    let loopLimit: Int
    let trusted: TrustedPeers
    let hasTrusted: Bool
    /// The Host fields that routes write in the place of the client's, by the route's index: where it has none, all do.
    let hosts: [[UInt8]]
    /// The ways back of routes with `addresses: outer`, by the route's index.
    let outerAddresses: [OuterAddresses?]

    init(_ settings: ProxySettings) {
        let forwarding = settings.forwarding
        pseudonym = Array((forwarding.via ?? "").utf8)
        via = forwarding.via.map(ViaLines.init)
        addsViaToResponses = forwarding.addsViaToResponses
        loopLimit = forwarding.loopLimit
        trusted = forwarding.trusted
        hasTrusted = !forwarding.trusted.isEmpty
        hosts = settings.routes.map { route in
            Self.host(of: route, for: route.upstream.map { settings.upstreams[$0] })
        }
        outerAddresses = OuterAddresses.all(of: settings.routes) { route in
            var hosts = route.upstream.map { settings.upstreams[$0].hostFields } ?? []
            if case .fixed(let name) = route.forwarding.host { hosts.append(name) }
            return hosts
        }
    }

    /// The line of Host that requests of `route` have for `upstream` where it isn't the client's, or the client has said none.
    static func host(of route: Route, for upstream: UpstreamSettings?) -> [UInt8] {
        switch route.forwarding.host {
        case .fixed(let name): Array("Host: \(name)\r\n".utf8)
        case .preserve, .upstream: upstream.map { Array("Host: \($0.hostField)\r\n".utf8) } ?? []
        }
    }
}

/// The lines of Via (RFC 9110 §7.6.3), one for each version in which a message is received.
struct ViaLines {
    private let lines: [[UInt8]]

    init(_ pseudonym: String) {
        lines = MessageVersion.allCases.map {
            Array("Via: \("\($0.text)".dropFirst("HTTP/".count)) \(pseudonym)\r\n".utf8)
        }
    }

    func line(_ version: MessageVersion) -> [UInt8] { lines[Int(version.rawValue)] }
}
