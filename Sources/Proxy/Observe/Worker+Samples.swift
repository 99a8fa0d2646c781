internal import EventLoop
internal import HTTPWire
internal import Octets

// What a worker tells of itself when it is asked, between two turns.
extension Worker {
    /// All that it has counted, and how things stand.
    func metricSamples() -> MetricSamples {
        var samples = MetricSamples()
        counters.visit(&samples)
        var inFlight = RequestCounters.BodyBytes()
        var idle = 0
        var exchanges = 0
        var upstreamActive = 0
        var upstreamConnecting = 0
        for connection in connections {
            if connection.isIdle { idle += 1 }
            guard let exchange = connection.exchange, exchange.record.startedAt != 0 else { continue }
            exchanges += 1
            inFlight.add(exchange.record)
            if exchange.upstream != nil { upstreamActive += 1 }
            if exchange.upstreamPhase == .connecting { upstreamConnecting += 1 }
        }
        requests.visit(&samples, inFlight: inFlight)
        samples.gauge("recast_inflight_requests", "Requests that are being served.", Double(exchanges))
        func count(_ side: String, _ state: String, _ count: Int) {
            samples.gauge(
                "recast_connections", "Open connections; idle ones wait for a request.",
                labels: [.init("side", side), .init("state", state)], Double(count))
        }
        count("client", "idle", idle)
        count("client", "active", connections.count - idle)
        count("upstream", "idle", current.pools.reduce(0) { $0 + $1.idleCount })
        count("upstream", "active", upstreamActive)
        count("upstream", "connecting", upstreamConnecting)
        return samples
    }

    /// The uploads that are on their way, at most `limit`.
    func transfers(limit: Int) -> TransferList {
        var list = TransferList()
        let now = loop.now
        for connection in connections {
            guard let exchange = connection.exchange, exchange.isUpload else { continue }
            guard list.transfers.count < limit else {
                list.isTruncated = true
                break
            }
            list.transfers.append(exchange.transfer(at: now))
        }
        return list
    }

    /// How the upstreams stand on this worker.
    func upstreamStates() -> [UpstreamState] {
        var states = current.pools.map { pool in
            UpstreamState(
                name: pool.settings.name, addresses: pool.settings.addresses.map { .init(address: $0.description) },
                idle: pool.idleCount)
        }
        for connection in connections {
            guard let exchange = connection.exchange, exchange.generation === current, let route = exchange.route else {
                continue
            }
            if exchange.upstream != nil { states[route.upstream].active += 1 }
            if exchange.upstreamPhase == .connecting { states[route.upstream].connecting += 1 }
        }
        return states
    }
}

extension Exchange {
    /// Whether its request has a body that isn't wholly on the other side.
    fileprivate var isUpload: Bool {
        guard record.startedAt != 0, route != nil, !request.framing.isEmpty else { return false }
        switch requestPhase {
        case .body, .ending, .discarding: return true
        case .sent: return (upstream?.stream.queued ?? 0) > 0
        case .head, .discarded: return false
        }
    }

    fileprivate func transfer(at now: UInt64) -> Transfer {
        var transfer = Transfer(
            id: requestID.span.lossyString(), route: route?.name ?? "", age: now &- record.startedAt)
        if case .length(let total) = request.framing { transfer.total = total }
        transfer.bytesIn = record.bytesIn
        transfer.bytesOut = record.bytesOut
        transfer.isHeldBack = isHeldBack
        if let route, let generation { transfer.upstream = generation.upstreamName(of: route) }
        return transfer
    }
}
