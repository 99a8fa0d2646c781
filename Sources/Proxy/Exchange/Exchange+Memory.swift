internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// What an exchange holds of the process' memory. Waiting output and the streams' queues are bounded by their watermarks, so
// they are only counted; trees, decoders' windows, converted responses and spools grow with the body, so they ask before they
// go on.
extension Exchange {
    /// What any other body has from its beginning on: room for what waits on both sides of a pause.
    static let reserve = 2 * MemoryCharge.step

    // MARK: Before the body

    /// Whether there is memory to take a body; a larger one has what it needs for a start then. A short one, which fits the loop's
    /// buffers, passes as long as a little is left.
    func hasMemory(for framing: BodyFraming) -> Bool {
        let pressure = worker.pressure
        if case .length(let count) = framing, count <= ConversionHold.shortBody { return pressure < 3 }
        return pressure < 2 && requestCharge.set(Self.reserve, from: worker.memory)
    }

    /// Reads nothing of the body before there is memory, or its time is over.
    func waitForMemory(_ framing: BodyFraming) {
        framingInQueue = framing
        holds.insert(.memory)
        downstream?.expectNothing()
        downstream?.stream.pauseReading()
        worker.memoryQueue.add(self)
    }

    /// There may be memory. Returns whether the wait is over.
    func memoryMayHaveCome() -> Bool {
        guard let framing = framingInQueue else { return true }
        guard requestPhase == .body else {
            framingInQueue = nil
            return true
        }
        guard hasMemory(for: framing) else { return false }
        framingInQueue = nil
        holds.remove(.memory)
        startBody(framing)
        // No body bytes are at hand that would take the head along.
        settle()
        if requestPhase == .body, !isHeldBack { downstream?.stream.resumeReading() }
        return true
    }

    /// The time is over.
    func memoryDidNotCome() {
        framingInQueue = nil
        guard requestPhase == .body else { return }
        worker.memory.counters.refusedAdmission += 1
        refuse(.memoryExhausted)
    }

    /// Somebody else has ended the wait.
    func leaveQueue() {
        framingInQueue = nil
        worker.memoryQueue.remove(self)
    }

    // MARK: While bodies are here

    /// What the request holds: output that waits, a tree, the decoders of its codings, the copy for another attempt.
    private var requestBytes: Int {
        var bytes = waiting.count + replay.count + (upstream?.stream.queued ?? 0)
        if let conversion { bytes += conversion.outputCount + conversion.heldCount }
        if let decoding { bytes += decoding.decoder.heldCount }
        return max(Self.reserve, bytes)
    }

    /// Counts what waits for an upstream that takes no more, with `leftover` bytes that stay with the client's stream.
    func chargeRequest(leftover: Int) {
        requestCharge.force(requestBytes + leftover, from: worker.memory)
    }

    /// Pays for what grows with the body: a tree, the decoders' windows. Returns false when the request was refused: there is
    /// no memory for more of it.
    func payForRequest() -> Bool {
        guard requestCharge.set(requestBytes, from: worker.memory) else {
            worker.memory.counters.refusedRequest += 1
            refuse(.memoryExhausted)
            return false
        }
        return true
    }

    /// Pays for a copy that has become large. Returns false when there is no memory for it.
    func payForReplay() -> Bool {
        replay.count < MemoryCharge.step || requestCharge.set(requestBytes, from: worker.memory)
    }

    /// Pays for a response that is converted. Returns false when it was refused: there is no memory for more of it.
    func chargeHeld(_ held: HeldResponse) -> Bool {
        guard responseCharge.set(held.heldCount, from: worker.memory) else {
            worker.memory.counters.refusedResponse += 1
            refuse(.memoryExhausted)
            return false
        }
        return true
    }

    /// Whether there is memory to spare for an encoder of `coding`, which is paid for then.
    func payForEncoder(_ coding: Coding) -> Bool {
        worker.pressure == 0 && responseCharge.set(ContentEncoder.heldCount(for: coding), from: worker.memory)
    }

    /// Counts what waits for a client that doesn't read, and the encoder that it keeps.
    func chargeResponse(queued: Int) {
        let encoder = responseCoding.map { ContentEncoder.heldCount(for: $0.encoder.coding) } ?? 0
        responseCharge.force(queued + encoder, from: worker.memory)
    }

    /// The request is sent and will not be sent again.
    func endHolding() {
        endSpool()
        requestCharge.end(worker.memory)
    }

    /// Nothing is held any more.
    func endCharges() {
        requestCharge.end(worker.memory)
        responseCharge.end(worker.memory)
    }
}
