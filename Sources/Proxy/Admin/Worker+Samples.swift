internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

// What a worker tells of itself when it is asked, between two ticks.
extension Worker {
    /// All that it has counted, and how things stand.
    func metricSamples() -> MetricSamples {
        var samples = MetricSamples()
        counters.visit(&samples)
        var inFlight = RequestCounters.BodyBytes()
        var idle = 0
        var exchanges = 0
        for connection in connections {
            if connection.isIdle { idle += 1 }
            connection.forEachExchange { exchange in
                guard exchange.record.startedAt != 0 else { return }
                exchanges += 1
                inFlight.add(exchange.record)
            }
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
        samples.gauge(
            "recast_connections_max", "Open connections that there may be.", labels: [.init("side", "client")],
            Double(current.admission.connections))
        let upstream = counters.upstreams.connections
        count("upstream", "idle", upstream.idle)
        count("upstream", "active", upstream.active)
        return samples
    }

    /// The uploads of a selection that are on their way, at most `limit`.
    func transfers(_ selection: TransferSelection, limit: Int) -> TransferList {
        var list = TransferList()
        let now = loop.now
        for connection in connections {
            connection.forEachExchange { exchange in
                guard exchange.isUpload else { return }
                let transfer = exchange.transfer(at: now)
                guard selection.holds(transfer) else { return }
                guard list.transfers.count < limit else {
                    list.isTruncated = true
                    return
                }
                list.transfers.append(transfer)
            }
            if list.isTruncated { break }
        }
        return list
    }

    /// How the upstreams stand on this worker.
    func upstreamStates() -> [UpstreamState] { upstreams.map(UpstreamState.init) }
}

extension Exchange {
    /// Whether its request has a body that isn't wholly on the other side.
    fileprivate var isUpload: Bool {
        guard record.startedAt != 0, route != nil, !request.framing.isEmpty else { return false }
        switch machine.request {
        case .content, .ending, .discarding: return true
        case .sent: return (upstream?.queued ?? 0) > 0
        case .head, .discarded: return false
        }
    }

    fileprivate func transfer(at now: UInt64) -> Transfer {
        var transfer = Transfer(
            id: requestID.span.lossyString(), route: route?.name ?? "", age: now &- record.startedAt)
        if case .length(let total) = request.framing { transfer.total = total }
        transfer.bytesIn = record.bytesIn
        transfer.bytesOut = record.bytesOut
        transfer.isHeldBack = machine.isPaused
        if let route, let snapshot { transfer.upstream = snapshot.upstreamName(of: route) }
        return transfer
    }
}
