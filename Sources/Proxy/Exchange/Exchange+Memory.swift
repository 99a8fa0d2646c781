internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// What an exchange holds of the process' memory. Waiting output and the streams' queues are bounded by their watermarks, so
// they are only counted; trees, converted responses and spools grow with the body, so they ask before they go on.
extension Exchange {
    /// Bytes of a body that passes although memory is short: it fits the loop's buffers.
    private static let smallBody = 16 * 1024
    /// What any other body has from its beginning on: room for what waits on both sides of a pause.
    private static let reserve = 2 * MemoryCharge.step

    // MARK: Before the body

    /// Whether there is memory to take a body; a larger one has what it needs for a start then. A small one passes as long as
    /// a little is left.
    func hasMemory(for framing: BodyFraming) -> Bool {
        let pressure = worker.pressure
        if case .length(let count) = framing, count <= Self.smallBody { return pressure < 3 }
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

    /// Counts what waits for an upstream that takes no more, with `leftover` bytes that stay with the client's stream.
    func chargeRequest(leftover: Int) {
        let output = (conversion?.outputCount ?? 0) + waiting.count + (upstream?.stream.queued ?? 0)
        requestCharge.force(max(Self.reserve, output + leftover + (conversion?.heldCount ?? 0)), from: worker.memory)
    }

    /// Pays for a tree that grows. Returns false when the request was refused: there is no memory for more of it.
    func chargeTree(of conversion: Conversion) -> Bool {
        let held = max(Self.reserve, conversion.heldCount + conversion.outputCount)
        guard requestCharge.set(held, from: worker.memory) else {
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
