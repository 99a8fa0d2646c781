internal import EventLoop
internal import Gateway

// Requests for which no idle connection was at hand: they connect, or wait for their turn.
extension UpstreamPool: TickTask {
    /// Finds a connection for `exchange` in a while, after `takeIdle` found none. It hears of the outcome from the loop.
    func wait(for exchange: Exchange) -> UpstreamWait {
        let wait = UpstreamWait(exchange: exchange, pool: self, mustBeFresh: false)
        wait.start(with: choice)
        choice = nil
        return wait
    }

    /// A new connection for a request that is sent again, `pause` nanoseconds from now, and not to `failed` if there is
    /// another address.
    func waitAgain(for exchange: Exchange, after pause: UInt64, avoiding failed: Endpoint?) -> UpstreamWait {
        let wait = UpstreamWait(exchange: exchange, pool: self, mustBeFresh: true)
        wait.start(after: pause, avoiding: failed)
        return wait
    }

    /// Whether one more connection may be made; an idle one is closed for it where that helps.
    func makeRoom() -> Bool {
        if connectionsOfRequests < maxConnections { return true }
        if speaksHTTP2 {
            for endpoint in endpoints where connectionsOfRequests >= maxConnections {
                endpoint.shared.first(where: \.isIdle)?.close()
            }
            return connectionsOfRequests < maxConnections
        }
        guard let endpoint = endpoints.max(by: { $0.idle.count < $1.idle.count }), let oldest = endpoint.idle.first
        else { return false }
        endpoint.idle.removeFirst()
        oldest.close()
        return connectionsOfRequests < maxConnections
    }

    /// Whether one more request may have a connection made to `endpoint`, or share one that is there or being made.
    func mayConnect(to endpoint: Endpoint) -> Bool {
        guard inFlight < maxRequests else { return false }
        if speaksHTTP2 {
            if endpoint.roomyConnection != nil || endpoint.streamQueue?.isConnecting == true { return true }
            if endpoint.takesNoStreams { return false }
        }
        return makeRoom()
    }

    /// The address for a request that waits: a fit one that it hasn't been to, else any that is worth a try.
    func choose(for wait: UpstreamWait) -> Endpoint? { choose(excluding: wait.tried, fitOnly: true) ?? choose() }

    /// The fit address with the fewest requests on their way among those with a connection of HTTP/2 that takes another one, for a request
    /// whose turn is at an address to which no connection may be made: where the limit is reached nothing may come for long that would let
    /// it go on. Of several, the next in turn. Over HTTP/1 there is none, since an idle connection to another address is closed for it.
    func endpointWithRoom(excluding tried: [Endpoint]) -> Endpoint? {
        guard speaksHTTP2 else { return nil }
        let endpoints = endpoints
        var best: Endpoint?
        var at = foundEndpoint
        for _ in endpoints {
            at = at + 1 < endpoints.count ? at + 1 : 0
            let endpoint = endpoints[at]
            if let best, best.inFlight <= endpoint.inFlight { continue }
            guard endpoint.isHealthy, endpoint.roomyConnection != nil, !tried.contains(where: { $0 === endpoint })
            else { continue }
            best = endpoint
        }
        return best
    }

    // MARK: The queue

    /// Takes `wait` in. Returns false when the queue is full.
    func enqueue(_ wait: UpstreamWait) -> Bool {
        guard queue.count < settings.queue.size else { return false }
        queue.append(wait)
        return true
    }

    /// Forgets a request that waits no more.
    func leave(_ wait: UpstreamWait) {
        queue.removeAll { $0 === wait }
        unresolved.removeAll { $0 === wait }
    }

    /// Serves the queue when the tick is over.
    func dispatchLater() {
        guard !isDispatching, !queue.isEmpty else { return }
        isDispatching = true
        loop.afterTick(self)
    }

    func tickEnded() {
        isDispatching = false
        while let wait = queue.first {
            guard inFlight < maxRequests else { return }
            let endpoint = choose(for: wait)
            // One that isn't fit is to be tried: a connection to another address would not show how it is. A connection of HTTP/2 that
            // takes requests is as good as a new one.
            if let endpoint, !wait.mustBeFresh || speaksHTTP2,
                let connection = idleConnection(of: endpoint)
                    ?? (endpoint.isHealthy ? anyIdle(excluding: wait.tried) : nil)
            {
                queue.removeFirst()
                if let endpoint = connection.destination { noteSending(to: endpoint) }
                wait.take(connection)
            } else if let endpoint {
                guard mayConnect(to: endpoint) else { return }
                queue.removeFirst()
                wait.connect(to: endpoint)
            } else {
                queue.removeFirst()
                wait.fail(endpoints.isEmpty ? noAddress : .unavailable)
            }
        }
    }

    private func anyIdle(excluding tried: [Endpoint]) -> UpstreamSide? {
        guard connectionsOfRequests >= maxConnections else { return nil }
        for endpoint in endpoints where endpoint.isHealthy && !tried.contains(where: { $0 === endpoint }) {
            if let connection = idleConnection(of: endpoint) { return connection }
        }
        return nil
    }

    // MARK: Names without an answer

    /// Whether the first answer to a look-up is still to come.
    var isUndecided: Bool { endpoints.isEmpty && names.contains(where: \.isUndecided) }

    /// Why there is no address.
    var noAddress: UpstreamFailure {
        .unresolved(names.lazy.compactMap { $0.fault?.description }.first ?? "it was not looked up in time")
    }

    /// Lets those that waited for an address go on, or fail.
    func decideUnresolved() {
        guard !unresolved.isEmpty, !isUndecided else { return }
        let waiting = unresolved
        unresolved = []
        for wait in waiting { wait.proceed() }
    }
}
