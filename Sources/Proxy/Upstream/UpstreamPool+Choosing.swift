internal import EventLoop

// Which address a request goes to.
extension UpstreamPool {
    /// The address for the next request, or nil when there is none that is worth a try.
    ///
    /// Fit addresses come first. One whose ejection is over gets one request now and then that shows whether it is fit
    /// again. When there is no other, the least unfit one is tried all the same, unless all of them are known to be dead:
    /// then a request would only wait for nothing (see `isDown`).
    ///
    /// Fit ones whose server takes no requests of HTTP/2 for now come behind those that take some.
    ///
    /// Nothing is noted of an address that is found: the sender says so by `noteSending`.
    /// - Parameters:
    ///   - tried: those that this request could not reach, or has been to.
    ///   - fitOnly: whether to find none rather than an unfit one.
    func choose(excluding tried: [Endpoint] = [], fitOnly: Bool = false) -> Endpoint? {
        let endpoints = endpoints
        let count = endpoints.count
        if count == 1, tried.isEmpty, endpoints[0].isHealthy { return endpoints[0] }
        foundEndpoint = nextEndpoint
        let leastLoaded = takesLeastLoaded
        var best: Endpoint?
        var bestAt = 0
        var full: Endpoint?
        var at = nextEndpoint
        for _ in 0..<count {
            at = at + 1 < count ? at + 1 : 0
            let endpoint = endpoints[at]
            if !tried.isEmpty, tried.contains(where: { $0 === endpoint }) { continue }
            if !endpoint.isHealthy {
                guard endpoint.mayProbe(loop.now) else { continue }
                foundEndpoint = at
                return endpoint
            }
            if speaksHTTP2, endpoint.takesNoStreams {
                full = full ?? endpoint
                continue
            }
            if !leastLoaded {
                foundEndpoint = at
                return endpoint
            }
            if let current = best, current.inFlight <= endpoint.inFlight { continue }
            best = endpoint
            bestAt = at
        }
        if let best {
            foundEndpoint = bestAt
            return best
        }
        return full ?? (fitOnly ? nil : leastUnfit(excluding: tried))
    }

    /// Requests that may be on their way at once: as many as the settings say, or as there may be connections. Over those of HTTP/2
    /// each server says how many it takes; most take 100.
    var mostRequests: Int {
        let (most, isTooMany) = maxConnections.multipliedReportingOverflow(by: speaksHTTP2 ? 100 : 1)
        return isTooMany ? maxRequests : min(maxRequests, most)
    }

    /// A request goes to `endpoint` now, which the last search has found. One that isn't fit is tried by it: only what is sent can show
    /// how it is.
    func noteSending(to endpoint: Endpoint) {
        nextEndpoint = foundEndpoint
        guard !endpoint.isHealthy else { return }
        endpoint.noteProbe(loop.now, endpoint.mayProbe(loop.now) ? probeTime : 0)
    }

    /// How long the request that tries an unfit address has before another one may.
    private var probeTime: UInt64 { connectTime + 2_000_000_000 }

    /// The address that was ejected for the longest time, those that could be connected to first.
    private func leastUnfit(excluding tried: [Endpoint]) -> Endpoint? {
        if isDown { return nil }
        var best: Endpoint?
        for endpoint in endpoints where !endpoint.isFailingChecks && !tried.contains(where: { $0 === endpoint }) {
            guard let current = best else {
                best = endpoint
                continue
            }
            if current.isDead != endpoint.isDead ? current.isDead : endpoint.ejectedUntil < current.ejectedUntil {
                best = endpoint
            }
        }
        return best
    }

    /// Whether requests are answered with 503 at once: no address is left that passes its checks and could be connected to.
    ///
    /// Addresses of this host that refuse connections are the exception: asking them costs no time, and the upstream of a
    /// sidecar is back the moment it listens.
    var isDown: Bool {
        var asksAnyway = settings.addresses.count == 1
        for endpoint in endpoints where !endpoint.isFailingChecks {
            guard endpoint.isDead else { return false }
            if !endpoint.failsQuickly || endpoints.count > 1 && !endpoint.address.isOfThisHost { asksAnyway = false }
        }
        return !asksAnyway || endpoints.allSatisfy(\.isFailingChecks)
    }

    /// Whether that exception holds: requests go to addresses that can't be connected to, as there are no others.
    var asksTheDead: Bool { !isDown && endpoints.allSatisfy { $0.isDead || $0.isFailingChecks } }
}

extension SocketAddress {
    /// Whether it is a loopback address or a unix socket.
    fileprivate var isOfThisHost: Bool {
        if let ipv4 { return ipv4 >> 24 == 127 }
        if let ipv6 { return ipv6 == (0, 1) }
        return true
    }
}
