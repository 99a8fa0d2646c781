internal import EventLoop

// How many exchanges there may be, and how fast and how long they may be.
extension Exchange {
    /// Counts the exchange among those of the process. Returns false when it was refused.
    func hasCapacity() -> Bool {
        let cap = worker.current.admission.inFlight
        guard cap > 0 else { return true }
        if worker.shared.beginRequest(cap: cap) {
            isCounted = true
            return true
        }
        worker.counters.admission.overloaded += 1
        refuse(.overloaded)
        return false
    }

    /// Starts what the route has of throttles and deadlines.
    func setPace(_ route: Route) {
        let rate = route.options.rate
        if rate.request > 0 {
            requestThrottle = Throttle(loop: worker.loop, rate: rate.request) { [unowned self] in letGo(.rate) }
        }
        if rate.response > 0 {
            responseThrottle = Throttle(loop: worker.loop, rate: rate.response) { [unowned self] in
                // A client that is full says itself when it has room.
                if downstream?.stream.isAboveHighWatermark != true, !holdsInput { upstream?.resume() }
            }
        }
        guard times.request > 0 else { return }
        let timer = deadline ?? Timer(loop: worker.loop) { [unowned self] in requestTimedOut() }
        deadline = timer
        timer.set(after: times.request)
    }
}
