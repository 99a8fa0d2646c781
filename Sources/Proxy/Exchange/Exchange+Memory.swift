internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// What an exchange holds of the process' memory. Waiting output and the streams' queues are bounded by their watermarks, so
// they are only counted; trees, converted responses and spools grow with the body, so they ask before they go on.
extension Exchange {
    /// Bytes of a body that passes although memory is short: it fits the loop's buffers.
    private static let smallBody = 16 * 1024
    private static let fullPressure = 3

    // MARK: Before the body

    /// Whether a body is to wait now that memory is short. A small one may take a little where there is a little left.
    func mustWait(_ framing: BodyFraming) -> Bool {
        if case .length(let count) = framing, count <= Self.smallBody { return worker.pressure == Self.fullPressure }
        return true
    }

    /// Reads nothing of the body before there is memory, or its time is over.
    func waitForMemory(_ framing: BodyFraming) {
        framingInQueue = framing
        holds.insert(.memory)
        downstream?.expectNothing()
        downstream?.stream.pauseReading()
        worker.memoryQueue.add(self)
    }

    /// There is memory.
    func memoryCame() {
        guard let framing = framingInQueue else { return }
        framingInQueue = nil
        guard requestPhase == .body else { return }
        holds.remove(.memory)
        startBody(framing)
        if requestPhase == .body, !isHeldBack { downstream?.stream.resumeReading() }
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

    /// Counts what waits for an upstream that takes no more, with `leftover` bytes that stay with the client's stream.
    func chargeRequest(leftover: Int) {
        let output = (conversion?.outputCount ?? 0) + waiting.count + (upstream?.stream.queued ?? 0)
        requestCharge.force(output + leftover + (conversion?.heldCount ?? 0), from: worker.memory)
    }

    /// Pays for a tree that grows. Returns false when the request was refused: there is no memory for more of it.
    func chargeTree(of conversion: Conversion) -> Bool {
        guard requestCharge.set(conversion.heldCount + conversion.outputCount, from: worker.memory) else {
            worker.memory.counters.refusedRequest += 1
            refuse(.memoryExhausted)
            return false
        }
        return true
    }

    /// Pays for a response that is converted. It is refused when there is no memory for more of it.
    func chargeHeld(_ held: HeldResponse) {
        guard let conversion = held.conversion else { return }
        guard responseCharge.set(conversion.heldCount + conversion.outputCount, from: worker.memory) else {
            worker.memory.counters.refusedResponse += 1
            return refuse(.memoryExhausted)
        }
    }

    /// Counts what waits for a client that doesn't read.
    func chargeResponse(queued: Int) {
        responseCharge.force(queued, from: worker.memory)
    }

    /// Nothing is held any more.
    func endCharges() {
        requestCharge.end(worker.memory)
        responseCharge.end(worker.memory)
    }
}
