internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

// Who the client is, and what the upstream is told of it (docs/rules.md F5).
extension Exchange {
    /// Looks, where the peer is trusted, for the client behind it.
    func findClient(_ generation: Generation, _ route: Route) throws(Refusal) {
        guard let peer = downstream?.peer, generation.forwarding.trusted.contains(peer) else { return }
        trustsPeer = true
        let format = route.forwarding.format
        let size = ClientChain.size(of: request, format == .forwarded ? .forwarded : .xForwardedFor)
        guard size <= ClientChain.limit else { throw .forwardedTooLong }
        guard size > 0 else { return }
        let client = ClientChain.client(of: request, format, peer: peer, trusted: generation.forwarding.trusted)
        if client != peer { realClient = client }
    }

    /// The client as far as it is known: by what trusted peers say, else the peer.
    var client: SocketAddress? { realClient ?? downstream?.peer }

    /// Tells the upstream of the client, in the fields of the route's format.
    func writeClient(_ rule: ForwardingRule, into output: inout OutputBuffer) {
        guard let downstream else { return }
        let peer = downstream.peer
        let isSecure = downstream.isSecure
        let place = downstream.place
        // Nearly every address is none to be looked at in another form, of which it would be a copy.
        let address = peer.isIPv4 ? peer : peer.unmapped
        rule.format.appendClient(
            of: request,
            ClientPeer(
                isUnix: address.isUnix, isIPv6: address.isIPv6, isSecure: isSecure, port: place.port,
                schemeLines: isSecure ? place.securedSchemeLines : place.schemeLines),
            isTrusted: trustsPeer, to: &output
        ) { address.appendIP(to: &$0) }
        if rule.realIP, let client, !client.isUnix {
            output.append("X-Real-IP: ")
            client.unmapped.appendIP(to: &output)
            output.append("\r\n")
        }
    }
}
