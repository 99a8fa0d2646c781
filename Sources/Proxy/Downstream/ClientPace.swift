internal import Gateway

/// How fast a client sends its content, or takes what waits for it, and how long it may be silent: one of both is looked at at a time.
///
/// It knows no timer: each function says how many nanoseconds later the client is looked at again. Bytes are counted by whoever reads
/// and writes; HTTP/1 counts those of a connection, HTTP/2 those of a stream. The time that it is told is the loop's `activeNow`: what the
/// process stood still for is nobody's slowness.
struct ClientPace {
    /// What a look at the client shows.
    enum Finding {
        /// All is well; the next look is so many nanoseconds later.
        case fine(UInt64)
        case silent
        case tooSlow
    }

    /// What the route of the request that has begun asks for.
    var rates = MinimumRates.standard
    private var flow = MinimumRate()
    /// Whether `flow` is that of the content.
    private var isContent = false
    /// When the silence has lasted too long: of the content that comes, or of the client that takes nothing.
    private var silentAt: UInt64 = 0
    /// What the client had taken when it was last looked at.
    private var takenBefore: UInt64 = 0

    /// Another request begins.
    mutating func begin() { isContent = false }

    /// Content is wanted: it must keep coming, without a pause longer than `time`, and as fast as the route asks.
    mutating func expectContent(
        _ now: @autoclosure () -> UInt64, within time: UInt64, arrived: @autoclosure () -> UInt64
    ) -> UInt64 {
        if !isContent {
            isContent = true
            flow.start(rate: rates.request, grace: rates.grace, pause: time, count: arrived())
        }
        guard flow.isOn else { return time }
        let now = now()
        silentAt = now &+ time
        flow.want(now)
        return min(time, flow.wait(now))
    }

    /// No content is wanted for now: time doesn't count.
    mutating func rest(_ now: UInt64) { flow.rest(now) }

    /// It is time to see how content comes. Without a minimum it is looked at only when it was silent for too long.
    mutating func lookAtContent(_ now: UInt64, arrived: @autoclosure () -> UInt64) -> Finding {
        guard flow.isOn, now < silentAt else { return .silent }
        guard flow.check(now, count: arrived()) else { return .tooSlow }
        return .fine(min(silentAt - now, flow.wait(now)))
    }

    /// From here on the client must take bytes: some within `time`, and as many as the route asks.
    mutating func expectDrain(_ now: UInt64, within time: UInt64, taken: UInt64) -> UInt64 {
        isContent = false
        takenBefore = taken
        silentAt = now &+ time
        flow.start(rate: rates.response, grace: rates.grace, pause: time, count: taken)
        flow.want(now)
        return nextLook(now, time)
    }

    /// It is time to see how fast the client takes what waits for it.
    mutating func lookAtClient(_ now: UInt64, within time: UInt64, taken: UInt64) -> Finding {
        if taken > takenBefore {
            takenBefore = taken
            silentAt = now &+ time
        }
        if now >= silentAt { return .silent }
        guard !flow.isOn || flow.check(now, count: taken) else { return .tooSlow }
        return .fine(nextLook(now, time))
    }

    /// Nanoseconds until the client is looked at again. It can take bytes without our seeing it: the system here has a
    /// buffer, too, and says that it has room when much of it is free.
    private func nextLook(_ now: UInt64, _ time: UInt64) -> UInt64 {
        let left = min(time / 4, silentAt > now ? silentAt - now : 0)
        return flow.isOn ? min(left, flow.wait(now)) : left
    }
}

extension Worker {
    /// Takes what a look at an exchange's content has shown: what doesn't come as it must is counted and ends the wait for it. Returns
    /// how many nanoseconds later the client is looked at again; nil where it isn't.
    func settleContent(_ finding: ClientPace.Finding, of exchange: Exchange?, _ rates: MinimumRates) -> UInt64? {
        switch finding {
        case .fine(let time): return time
        case .silent:
            counters.admission.count(.bodyGap)
            exchange?.bodyTimedOut(.bodyTimeout)
        case .tooSlow:
            counters.admission.count(.bodyRate)
            exchange?.bodyTimedOut(.bodyTooSlow(rates.request))
        }
        return nil
    }

    /// As above, of a client that has bytes to take; nil where it has to be cut off.
    func settleDrain(_ finding: ClientPace.Finding, of exchange: Exchange?) -> UInt64? {
        switch finding {
        case .fine(let time): return time
        case .silent: counters.admission.count(.write)
        case .tooSlow: counters.admission.count(.responseRate)
        }
        exchange?.clientStalled()
        return nil
    }
}
