internal import EventLoop
internal import Gateway

/// How fast a client has to send and to take, and how long it may be silent.
extension DownstreamConnection {
    /// Says what the route of the request that has begun asks of the client.
    func setRates(_ rates: MinimumRates) { self.rates = rates }

    /// Says that the exchange reads the body now: from here on the client must keep sending, without a pause longer than
    /// `time`, and as fast as the route asks.
    ///
    /// A client that has an answer to read is held to that first: bytes that it sends are no sign that it reads.
    func expectBody(within time: UInt64) {
        guard wait != .write else { return }
        if !flowIsBody {
            flowIsBody = true
            flow.start(rate: rates.request, grace: rates.grace, pause: time, count: stream.bytesRead)
        }
        guard flow.isOn else { return arm(.body, time) }
        let now = worker.loop.now
        silentAt = now &+ time
        flow.want(now)
        arm(.body, min(time, flow.wait(now)))
    }

    /// Says that no more of the request is expected for now: it is complete, or we hold it back ourselves.
    func expectNothing() {
        guard wait == .body else { return }
        flow.rest(worker.loop.now)
        disarm()
    }

    /// Says that the answer is out and the rest of the request is thrown away: a client that doesn't send it is let go.
    func expectDiscard() { arm(.linger, Self.lingerTime) }

    /// From here on the client must take bytes: some within its time, and as many as the route asks.
    func expectDrain() {
        guard wait != .write else { return }
        let now = worker.loop.now
        let time = worker.clientTimes.write
        flowIsBody = false
        takenBefore = stream.bytesTaken
        silentAt = now &+ time
        flow.start(rate: rates.response, grace: rates.grace, pause: time, count: takenBefore)
        flow.want(now)
        arm(.write, nextLook(now))
    }

    /// Nanoseconds until the client is looked at again. It can take bytes without our seeing it: the system here has a
    /// buffer, too, and says that it has room when much of it is free.
    private func nextLook(_ now: UInt64) -> UInt64 {
        let left = min(worker.clientTimes.write / 4, silentAt > now ? silentAt - now : 0)
        return flow.isOn ? min(left, flow.wait(now)) : left
    }

    /// The body was silent for too long, or it is time to see how fast it comes.
    func lookAtBody() {
        let now = worker.loop.now
        guard flow.isOn, now < silentAt else {
            worker.counters.admission.count(.bodyGap)
            exchange?.bodyTimedOut(.bodyTimeout)
            return
        }
        guard flow.check(now, count: stream.bytesRead) else {
            worker.counters.admission.count(.bodyRate)
            exchange?.bodyTimedOut(.bodyTooSlow(rates.request))
            return
        }
        arm(.body, min(silentAt - now, flow.wait(now)))
    }

    /// It is time to see how fast the client takes what waits for it.
    func lookAtClient() {
        let now = worker.loop.now
        let taken = stream.bytesTaken
        if taken > takenBefore {
            takenBefore = taken
            silentAt = now &+ worker.clientTimes.write
        }
        let isSilent = now >= silentAt
        if !isSilent, !flow.isOn || flow.check(now, count: taken) { return arm(.write, nextLook(now)) }
        worker.counters.admission.count(isSilent ? .write : .responseRate)
        exchange?.clientStalled()
        close(reset: true)
    }
}
