internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Signatures

// Requests of routes that take one sender's alone: their content is held as it came, before codings are undone, until it is whole
// and its signature holds. The upstream hears nothing before; then the content goes the way of any other.
extension Exchange {
    /// Looks at the head, and begins to hold the content where there is some.
    func beginVerification(
        _ rule: RequestVerification, _ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming
    ) throws(Refusal) {
        record.verification = rule
        do throws(SignatureFault) {
            if case .length(let count) = framing, count > rule.limit { throw .tooLong }
            if !snapshot.routes.keepsTargets { noteTarget() }
            let target = signedTarget
            let verifier = try SignatureVerifier(
                rule.options, request, target: target.span,
                isSecure: downstream?.isSecure == true || request.isSecureTarget,
                now: worker.loop.wallClockMilliseconds)
            guard framing.isEmpty else {
                var settings = snapshot.framings[route.upstream].spool
                settings.memory = min(settings.memory, rule.limit)
                settings.disk = rule.limit - settings.memory
                verification = PendingVerification(rule, verifier, Spool(settings, store: worker.spools))
                return
            }
            try verifier.finish(Span())
            verified(rule)
        } catch {
            try notVerified(rule, error)
        }
    }

    /// Keeps the target as it came.
    func noteTarget() {
        signedTarget = request.path.copied()
        if let query = request.query?.copied() { signedTarget += [UInt8(ascii: "?")] + query }
    }

    /// Takes content that is held. All of it is taken, or the request is refused.
    func hold(_ content: Span<UInt8>, in pending: PendingVerification) throws(Refusal) -> Int {
        record.bytesIn += content.count
        guard content.count <= pending.rule.limit - pending.content.count else {
            // It can't be known any more, so it doesn't go on under `report` either.
            count(pending.rule, .tooLong)
            throw .notVerified(.tooLong, status: 413)
        }
        do throws(SpoolFault) {
            try pending.content.append(content)
        } catch {
            throw .spool(error, upstream: upstreamName)
        }
        pending.verifier.update(content)
        return content.count
    }

    /// All of the content has come.
    func endVerification(_ pending: PendingVerification) throws(Refusal) {
        var content = OutputBuffer()
        if pending.verifier.needsWholeContent { try readAll(pending, into: &content) }
        do throws(SignatureFault) {
            try pending.verifier.finish(content.span)
            verified(pending.rule)
        } catch {
            try notVerified(pending.rule, error)
        }
        if pending.verifier.needsWholeContent { chargeRequest(leftover: 0) }
    }

    /// Reads all that is held; it can be read once more then.
    private func readAll(_ pending: PendingVerification, into content: inout OutputBuffer) throws(Refusal) {
        // The content once more, and what is read of it.
        guard requestCharge.set(Self.reserve + 4 * pending.content.count, from: worker.memory) else {
            worker.memory.counters.refusedRequest += 1
            throw .memoryExhausted
        }
        do throws(SpoolFault) {
            while !pending.content.isAtEnd { try pending.content.read(into: &content) }
            pending.content.rewind()
        } catch {
            throw .spool(error, upstream: upstreamName)
        }
    }

    private func verified(_ rule: RequestVerification) { count(rule, nil) }

    private func notVerified(_ rule: RequestVerification, _ fault: SignatureFault) throws(Refusal) {
        count(rule, fault)
        if case .status(let status) = rule.failure { throw .notVerified(fault, status: status) }
    }

    private func count(_ rule: RequestVerification, _ fault: SignatureFault?) {
        record.signatureFault = fault
        worker.counters.verification.count(rule.sender, fault)
    }

    /// Lets what was held go on: as it is, with its length, or through the conversion. Returns false where that waits for room or
    /// for the next tick.
    func sendVerified(_ pending: PendingVerification) throws(Refusal) -> Bool {
        if requestTranscoder.isBegun {
            guard try transcodeHeld(pending) else { return false }
            pending.end()
        } else {
            spool = pending.content
        }
        verification = nil
        return true
    }

    private func transcodeHeld(_ pending: PendingVerification) throws(Refusal) -> Bool {
        requestTranscoder.beginSlice()
        var pieces = Self.piecesPerTick
        while true {
            if pending.piece.isEmpty {
                if pending.content.isAtEnd { return true }
                guard pieces > 0 else {
                    awaitNextTick()
                    return false
                }
                pieces -= 1
                do throws(SpoolFault) {
                    try pending.content.read(into: &pending.piece)
                } catch {
                    throw .spool(error, upstream: upstreamName)
                }
            }
            let step = try feed(&pending.piece)
            if requestTranscoder.needsMemory { try payForRequest() }
            switch step.outcome {
            case .done: break
            case .full:
                if try bufferMore() { continue }
                guard try pushOutput() else {
                    upstream?.expectProgress()
                    return false
                }
            case .tick:
                if machine.upstream == .open { _ = try pushOutput() }
                awaitNextTick()
                return false
            }
        }
    }

    /// Feeds the conversion from a buffer, which keeps what it doesn't take.
    private func feed(_ piece: inout OutputBuffer) throws(Refusal) -> RequestTranscoder.Step {
        let step = try requestTranscoder.feed(piece.span)
        piece.drop(step.consumed)
        return step
    }

    /// The exchange is over, or refused: what is held goes nowhere.
    func dropHeld() {
        verification?.end()
        verification = nil
    }

    /// Tells the upstream whose request it is, or why that isn't known.
    func appendVerification(_ rule: RequestVerification, to output: inout OutputBuffer) {
        output.append("Recast-Verified: ")
        if let fault = record.signatureFault {
            output.append("failed; sender=")
            output.append(text: rule.sender)
            output.append("; reason=")
            output.append(text: fault.rawValue)
        } else {
            output.append(text: rule.sender)
        }
        output.append("\r\n")
    }
}

/// Content that is held until it is known whose it is.
final class PendingVerification {
    let rule: RequestVerification
    let verifier: SignatureVerifier
    let content: Spool
    /// What was read of it again and the conversion has not taken yet.
    var piece = OutputBuffer()

    init(_ rule: RequestVerification, _ verifier: SignatureVerifier, _ content: Spool) {
        self.rule = rule
        self.verifier = verifier
        self.content = content
    }

    /// Gives back what it holds.
    func end() { content.end() }
}
