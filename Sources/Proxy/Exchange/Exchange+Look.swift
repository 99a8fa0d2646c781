internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// A response whose body is looked at, and how it goes on.
struct PendingLook {
    let look: ResponseLook
    let rule: ResponseRules.Rule
    let length: ResponseLength
    let changes: HeadChanges
}

// Responses that are looked at before their head goes out: for the status that an envelope says, and for a problem in its place.
// What has come is held as it is; then it goes on, streamed, into the rule's conversion, or as the problem. For the machine such a
// response is buffered, so an upstream that leaves before is a 502.
extension Exchange {
    /// Begins to look at a response's body. Where there is nothing to look at, it goes on at once.
    func beginLook(
        _ rule: ResponseRules.Rule, _ head: borrowing MessageHead, length: ResponseLength, changes: HeadChanges
    ) throws(Refusal) {
        guard let route else { return }
        let look = ResponseLook(
            rule, head, codings: route.undoneCodings(of: head), limits: route.options.coding.limits,
            coders: worker.coders)
        let pending = PendingLook(look: look, rule: rule, length: length, changes: changes)
        guard look.isOver else {
            self.look = pending
            return try handle(.responseBuffered)
        }
        try goOn(behind: pending, head)
    }

    /// Takes the next bytes. Returns whether more can be taken now.
    func take(_ body: Span<UInt8>, for pending: PendingLook) throws(Refusal) -> Bool {
        let look = pending.look
        look.feed(body)
        guard look.isOver else {
            if look.heldCount >= MemoryCharge.step, !responseCharge.set(look.heldCount, from: worker.memory) {
                worker.memory.counters.refusedResponse += 1
                throw .memoryExhausted
            }
            return true
        }
        guard let upstream else { return true }
        try goOn(behind: pending, upstream.head)
        return try sendHeld(of: look)
    }

    /// The body is whole.
    func endLook(_ pending: PendingLook) throws(Refusal) {
        guard let upstream else { return }
        let look = pending.look
        look.bodyEnded()
        try goOn(behind: pending, upstream.head)
        _ = try sendHeld(of: look)
    }

    /// What there is to know is known: begins the response, or its conversion.
    private func goOn(behind pending: PendingLook, _ head: borrowing MessageHead) throws(Refusal) {
        let look = pending.look
        self.look = nil
        if let decoder = look.takeDecoder() {
            count(decoder, .responseDecoded)
            worker.coders.recycle(decoder)
        }
        record.statusFinding = look.statusFinding
        record.problemFinding = look.problemFinding
        record.upstreamStatus = head.status
        lookedStatus = look.status
        if let problem = look.problem {
            try beginResponse(
                head, length: .known(problem.count), changes: pending.changes.union([.otherBytes, .weakTag]),
                contentType: ResponseLook.problemType, status: look.status)
        } else if let conversion = pending.rule.conversion {
            try convert(
                pending.rule, conversion, head, length: pending.length, changes: pending.changes, status: look.status)
        } else {
            try beginResponse(head, length: pending.length, changes: pending.changes, status: look.status)
        }
    }

    /// Sends what was held, or what was made of it. Returns whether more can be taken now.
    private func sendHeld(of look: ResponseLook) throws(Refusal) -> Bool {
        if let problem = look.problem { return write(response: problem.span) }
        var refusal: Refusal?
        let hasRoom = look.withHeld { held in
            guard !held.isEmpty else { return true }
            guard machine.response == .buffering else { return send(response: held) }
            do throws(Refusal) { return try buffer(held) } catch {
                refusal = error
                return true
            }
        }
        if let refusal { throw refusal }
        // What was held has gone to the client's stream, or is the conversion's now.
        if responseCharge.bytes > 0, machine.response == .streaming { chargeResponse(queued: downstream?.queued ?? 0) }
        return hasRoom
    }

    /// Gives back what a look holds that has not come to its end.
    func recycleLook() {
        guard let decoder = look?.look.takeDecoder() else { return }
        worker.coders.recycle(decoder)
    }
}
