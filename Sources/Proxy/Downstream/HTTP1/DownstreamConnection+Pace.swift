internal import EventLoop
internal import Gateway

/// How fast a client has to send and to take, and how long it may be silent.
extension DownstreamConnection {
    /// Says what the route of the request that has begun asks of the client.
    func setRates(_ rates: MinimumRates) { pace.rates = rates }

    /// Says that the exchange reads the body now: from here on the client must keep sending, without a pause longer than
    /// `time`, and as fast as the route asks.
    ///
    /// A client that has an answer to read is held to that first: bytes that it sends are no sign that it reads.
    func expectBody(within time: UInt64) {
        guard wait != .write else { return }
        arm(.body, pace.expectContent(worker.loop.activeNow, within: time, arrived: stream.bytesRead))
    }

    /// Says that no more of the request is expected for now: it is complete, or we hold it back ourselves.
    func expectNothing() {
        guard wait == .body else { return }
        pace.rest(worker.loop.activeNow)
        disarm()
    }

    /// Says that the answer is out and the rest of the request is thrown away: a client that doesn't send it is let go.
    func expectDiscard() { arm(.linger, Linger.time) }

    /// From here on the client must take bytes: some within its time, and as many as the route asks.
    func expectDrain() {
        guard wait != .write else { return }
        arm(.write, pace.expectDrain(worker.loop.activeNow, within: worker.clientTimes.write, taken: stream.bytesTaken))
    }

    /// The body was silent for too long, or it is time to see how fast it comes.
    func lookAtBody() {
        let finding = pace.lookAtContent(worker.loop.activeNow, arrived: stream.bytesRead)
        if let time = worker.settleContent(finding, of: exchange, pace.rates) { arm(.body, time) }
    }

    /// It is time to see how fast the client takes what waits for it.
    func lookAtClient() {
        let finding = pace.lookAtClient(
            worker.loop.activeNow, within: worker.clientTimes.write, taken: stream.bytesTaken)
        if let time = worker.settleDrain(finding, of: exchange) { arm(.write, time) } else { close(reset: true) }
    }
}
