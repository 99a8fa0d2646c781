internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// A response whose body is looked at, how it goes on, and what was found; until its exchange is logged.
final class LookedResponse {
    let look: ResponseLook
    let rule: ResponseRules.Rule
    let length: ResponseLength
    let changes: HeadChanges
    let upstreamStatus: Int
    /// Whether its head waits for what is found.
    fileprivate(set) var isPending = true

    fileprivate init(
        _ look: ResponseLook, _ rule: ResponseRules.Rule, length: ResponseLength, changes: HeadChanges,
        upstreamStatus: Int
    ) {
        self.look = look
        self.rule = rule
        self.length = length
        self.changes = changes
        self.upstreamStatus = upstreamStatus
    }
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
        let response = LookedResponse(look, rule, length: length, changes: changes, upstreamStatus: head.status)
        self.look = response
        if look.isOver { try goOn(behind: response, head) } else { try handle(.responseBuffered) }
    }

    /// Takes the next bytes. Returns whether more can be taken now.
    func take(_ body: Span<UInt8>, for response: LookedResponse) throws(Refusal) -> Bool {
        let look = response.look
        look.feed(body)
        guard look.isOver else {
            try payForResponse(look.heldCount)
            return true
        }
        guard let upstream else { return true }
        try goOn(behind: response, upstream.head)
        return try sendHeld(of: look)
    }

    /// The body is whole.
    func endLook(_ response: LookedResponse) throws(Refusal) {
        guard let upstream else { return }
        let look = response.look
        look.bodyEnded()
        try goOn(behind: response, upstream.head)
        _ = try sendHeld(of: look)
    }

    /// What there is to know is known: begins the response, or its conversion.
    private func goOn(behind response: LookedResponse, _ head: borrowing MessageHead) throws(Refusal) {
        let look = response.look
        response.isPending = false
        recycleLook()
        if let problem = look.problem {
            try beginResponse(
                head, length: .known(problem.count), changes: response.changes.union([.otherBytes, .weakTag]),
                contentType: ResponseLook.problemType, status: look.status)
        } else if let conversion = response.rule.conversion {
            try convert(
                response.rule, conversion, head, length: response.length, changes: response.changes, status: look.status
            )
        } else {
            try beginResponse(head, length: response.length, changes: response.changes, status: look.status)
        }
    }

    /// Sends what was held, or what was made of it. Returns whether more can be taken now.
    private func sendHeld(of look: ResponseLook) throws(Refusal) -> Bool {
        if let problem = look.problem {
            defer { look.dropHeld() }
            return write(response: problem.span)
        }
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
        look.dropHeld()
        // What was held has gone to the client's stream, or is the conversion's now.
        if responseCharge.bytes > 0, machine.response == .streaming { chargeResponse(queued: downstream?.queued ?? 0) }
        return hasRoom
    }

    /// Gives back the decoder of what is, or was, looked at.
    func recycleLook() {
        guard let decoder = look?.look.takeDecoder() else { return }
        count(decoder, .responseDecoded)
        worker.coders.recycle(decoder)
    }
}
