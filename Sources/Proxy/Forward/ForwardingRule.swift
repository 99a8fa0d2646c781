internal import HTTPWire
internal import Octets

/// A route's `ForwardingOptions`, prepared: what each request asks stands apart, so that nothing is copied.
final class ForwardingRule: Sendable {
    let format: ForwardedFormat
    let realIP: Bool
    let underscores: UnderscoreRule
    let requiresLength: Bool
    /// The Expect field of a body that isn't converted goes on.
    let forwardsExpect: Bool
    let noTransform: NoTransformRule
    let abortsOnHalfClose: Bool
    /// Names of trailer fields that pass; empty on routes that convert.
    let trailers: [[UInt8]]
    let passesTrailers: Bool
    /// Protocols that a connection may change to; empty on routes that convert.
    let upgrades: [[UInt8]]
    /// Host of the request that goes upstream where it isn't the client's.
    let host: HostRule
    let replacesHost: Bool

    init(_ options: ForwardingOptions, converts: Bool) {
        format = options.forwarded
        realIP = options.realIP
        underscores = options.underscores
        requiresLength = options.requiresLength
        forwardsExpect = options.expectContinue == .forward
        noTransform = options.noTransform
        abortsOnHalfClose = options.halfClose == .abort
        trailers = converts ? [] : options.trailers.map { Array($0.utf8) }
        passesTrailers = !trailers.isEmpty
        upgrades = converts ? [] : (options.upgrade ?? ForwardingOptions.standardUpgrades).map { Array($0.utf8) }
        host = options.host
        replacesHost = options.host != .preserve
    }
}

/// Lines of heads that are the same for all requests of a generation.
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

extension MessageHead {
    /// How often Via says that a proxy named `pseudonym` has passed this message on (RFC 9110 §7.6.3).
    func viaCount(of pseudonym: Span<UInt8>) -> Int {
        guard contains(.via) else { return 0 }
        var count = 0
        for line in 0..<fieldCount where known(line) == .via {
            let value = value(line)
            var start = 0
            while start < value.count {
                let end = Scan.firstIndex(of: UInt8(ascii: ","), in: value, from: start) ?? value.count
                if Self.receivedBy(value.extracting(start..<end)).isEqualIgnoringCase(to: pseudonym) { count += 1 }
                start = end + 1
            }
        }
        return count
    }

    /// The name in `protocol RWS received-by [RWS comment]`; empty when there is none.
    @_lifetime(copy member)
    private static func receivedBy(_ member: Span<UInt8>) -> Span<UInt8> {
        func isSpace(_ index: Int) -> Bool { member[index] == ASCII.space || member[index] == ASCII.tab }
        var start = 0
        while start < member.count, isSpace(start) { start += 1 }
        while start < member.count, !isSpace(start) { start += 1 }
        while start < member.count, isSpace(start) { start += 1 }
        var end = start
        while end < member.count, !isSpace(end) { end += 1 }
        return member.extracting(start..<end)
    }
}
