internal import EventLoop
internal import HTTPWire
internal import Octets

// Connections that leave HTTP by Upgrade (RFC 9110 §7.8; docs/rules.md F23), as WebSocket's do.
extension Exchange {
    /// Offers the upstream those protocols that the client asks for and the route allows. A request that has a body, or came
    /// by HTTP/1.0, or asks for h2c wants no upgrade in the first place (R33).
    func chooseUpgrade(among allowed: [[UInt8]]) {
        guard request.methodKind == .get else { return }
        offeredUpgrades.removeAll(keepingCapacity: true)
        for name in allowed where request.lists(member: name.span, in: .upgrade) { offeredUpgrades.append(name) }
    }

    /// Whether this is the answer to an upgrade that was offered.
    func acceptsSwitch(_ head: borrowing MessageHead) -> Bool {
        guard head.wantsUpgrade, responsePhase == .awaited, requestPhase == .sent, downstream != nil,
            let line = head.first(.upgrade)
        else { return false }
        for name in offeredUpgrades where head.value(line).isEqualIgnoringCase(to: name.span) { return true }
        return false
    }

    /// The upstream has switched protocols: tells the client and joins both connections. `first` are the upstream's bytes
    /// behind its head.
    func beginTunnel(_ head: borrowing MessageHead, _ connection: UpstreamConnection, _ first: Span<UInt8>) {
        guard let downstream else { return connection.close() }
        // A tunnel has a time of its own, and nothing is sent again.
        deadline?.cancel()
        dropReplay()
        record.firstByteTime = worker.loop.now - record.startedAt
        loggedResponse = worker.log.chosenFields(of: head)
        record.status = 101
        upstream = nil
        upstreamPhase = .gone
        responsePhase = .complete
        keepsAlive = false
        HeadWriter.statusLine(of: head, into: &responseFramed)
        let fields = responseFramed.count
        ResponseHeadWriter.copyFields(of: head, into: &responseFramed)
        if let editor = route?.headers?.response {
            applyResponseRules(editor, to: &responseFramed, from: fields, own: responseFramed.count)
        }
        if let line = head.first(.upgrade) { HeadWriter.clean("Upgrade", head.value(line), into: &responseFramed) }
        HeadWriter.field("Connection", "Upgrade", into: &responseFramed)
        HeadWriter.end(into: &responseFramed)
        settleResponse()
        let tunnel = Tunnel(client: downstream.stream, upstream: connection, owner: downstream, idle: times.tunnel)
        self.tunnel = tunnel
        worker.counters.forwarding.tunnels += 1
        worker.counters.forwarding.openTunnels += 1
        downstream.tunnelBegan()
        tunnel.begin(first)
    }

    /// Takes note of what went through the tunnel, and closes it.
    func endTunnel() {
        guard let tunnel else { return }
        self.tunnel = nil
        tunnel.close()
        record.bytesIn = tunnel.bytesUp
        record.bytesOut = tunnel.bytesUp
        record.bytesBack = tunnel.bytesDown
        worker.counters.forwarding.openTunnels -= 1
        worker.counters.forwarding.tunnelBytesUp += UInt64(tunnel.bytesUp)
        worker.counters.forwarding.tunnelBytesDown += UInt64(tunnel.bytesDown)
    }
}
