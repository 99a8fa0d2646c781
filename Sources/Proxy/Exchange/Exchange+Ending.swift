internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The ways in which an exchange ends before its time.
extension Exchange {
    /// Bytes of an unread body that we read and drop so that the client's connection can go on after a refusal.
    private static let discardLimit = 64 * 1024

    /// Answers in the upstream's place, or cuts the response when its head has gone out already. The upstream request, if
    /// one has started, is aborted so that it can't be taken for complete.
    func refuse(_ refusal: Refusal) {
        guard downstream != nil else { return }
        if worker.isMeasuring { worker.requests.noteRefusal(refusal, of: route) }
        if responsePhase == .complete { return giveUpUpload(refusal.flag) }
        guard awaitsResponse else { return cut(refusal.flag) }
        if case .wire = refusal { keepsAlive = false }
        answer(status: refusal.status, flag: refusal.flag) { output in
            ProblemWriter(
                refusal: refusal, isHead: request.methodKind == .head, keepsAlive: keepsAlive, requestID: requestID,
                clock: worker.clock
            ).write(into: &output) { appendRuledFields(to: &$0, from: $1) }
        }
    }

    /// Sends an answer of ours, of which nothing has been sent yet; `write` sees whether the connection goes on.
    func answer(status: Int, flag: EndReason?, _ write: (inout OutputBuffer) -> Void) {
        guard let downstream else { return }
        releaseUpstream(reusable: false)
        holds = []
        record.status = status
        record.flag = flag
        if worker.isDraining { keepsAlive = false }
        chooseDiscard()
        framed.removeAll()
        responseFramed.removeAll()
        // Written into a buffer of this function's own, because `write` looks at the exchange.
        var output = OutputBuffer()
        swap(&output, &responseFramed)
        write(&output)
        swap(&output, &responseFramed)
        responsePhase = .complete
        record.bytesBack = responseFramed.count
        settleResponse()
        downstream.expectNothing()
        finishIfOver()
    }

    /// Decides what becomes of the request's unread rest: a short one is read and dropped, else the connection ends.
    private func chooseDiscard() {
        switch requestPhase {
        case .ending, .sent, .discarded:
            requestPhase = .discarded
        case .body
        where keepsAlive && !request.expectsContinue && (requestDecoder.remaining ?? .max) <= Self.discardLimit:
            requestPhase = requestDecoder.isComplete ? .discarded : .discarding
        case .head, .body, .discarding:
            keepsAlive = false
        }
    }

    /// A head that can't be read, or that didn't come in time: answered, and the connection ends.
    func refuseHead(_ refusal: Refusal, on downstream: DownstreamConnection) {
        self.downstream = downstream
        if record.startedAt == 0 { record.startedAt = worker.loop.now }
        worker.nextRequestID(into: &requestID)
        keepsAlive = false
        refuse(refusal)
    }

    /// Cuts a response that has begun, in a way that can't be taken for its end: no last chunk, a length not reached,
    /// and a reset where only the end of the connection ends the body (docs/rules.md F14).
    func cut(_ flag: EndReason) {
        guard let downstream else { return }
        record.flag = flag
        responsePhase = .complete
        let reset = endsWithConnection
        logEnd()
        downstream.close(reset: reset)
    }

    /// The response went through whole, and the rest of the upload can't: only the upload is cut.
    private func giveUpUpload(_ flag: EndReason) {
        record.flag = flag
        keepsAlive = false
        releaseUpstream(reusable: false)
        finishIfOver()
    }

    /// The upstream connection failed or ended before the response did, or before the request had gone out.
    func upstreamFailed(headReceived: Bool) {
        upstream = nil
        upstreamPhase = .gone
        if responsePhase == .complete {
            // It answered and left: the client has its answer, and what it still sends is wanted by nobody.
            finishIfOver()
        } else if responsePhase == .held, held?.isWhole == true {
            // It answered in full, and what it said is still being converted.
            return
        } else if responsePhase == .held {
            refuse(.upstreamBodyCut)
        } else if headReceived {
            cut(.upstreamGone)
        } else {
            refuse(.upstreamClosed)
        }
    }

    /// The upstream sent what can't be read as a response.
    func upstreamMisread(_ fault: ResponseFault) {
        withdrawHead()
        if awaitsResponse { refuse(.badResponse(fault)) } else { cut(.upstreamBad) }
    }

    /// Takes back a response's head that waits for the first bytes of its body, so that an answer of ours can go in its place.
    private func withdrawHead() {
        guard responsePhase == .streaming, record.bytesBack == 0, !responseFramed.isEmpty else { return }
        responseFramed.removeAll()
        if let responseCoding { recycle(responseCoding.encoder) }
        responseCoding = nil
        record.responseCoding = nil
        endsWithConnection = false
        responsePhase = .awaited
    }

    /// The upstream didn't take the request, didn't answer, or stopped, within its time.
    func upstreamTimedOut(_ kind: AdmissionCounters.Timeout) {
        // All that was awaited so far is a 100, which is advice.
        if continueState == .asked { return continueRelayed() }
        worker.counters.admission.count(kind)
        if responsePhase == .streaming { cut(.upstreamTime) } else { refuse(.upstreamTimeout) }
    }

    /// The request's body stopped arriving, or comes too slowly.
    func bodyTimedOut(_ refusal: Refusal) {
        keepsAlive = false
        if responsePhase == .streaming { cut(.clientTime) } else { refuse(refusal) }
    }

    /// The exchange took longer than its route allows.
    func requestTimedOut() {
        guard requestPhase != .discarding, requestPhase != .discarded else { return }
        worker.counters.admission.count(.request)
        let refusal = Refusal.requestTimeout(isRead: isRequestRead)
        if !isRequestRead { keepsAlive = false }
        if responsePhase == .streaming { cut(refusal.flag) } else { refuse(refusal) }
    }

    /// The client left before its request was whole, or its connection failed: nothing can be answered any more.
    func clientGone() {
        record.flag = .clientGone
        if record.status == 0 { record.status = 499 }
    }

    /// The grace time of a drain is over. A client that got no head of a response got none of an answer: 503, as nobody else
    /// was at fault.
    func cutByDrain() {
        withdrawHead()
        if awaitsResponse { record.status = 503 }
        if record.flag == nil { record.flag = .graceTime }
    }

    /// The client takes no bytes of the response any more.
    func clientStalled() {
        record.flag = .clientStalled
    }

    /// Whether a client that has half-closed after a whole request is still owed its answer.
    var answersHalfClosed: Bool { route?.forwarding.abortsOnHalfClose != true }

    /// The client has half-closed after a whole request: it gets its answer, and then the connection ends.
    func clientHalfClosed() {
        keepsAlive = false
    }

    /// Lets go of everything: the client's connection goes away.
    func abandon() {
        if responsePhase != .complete || requestPhase == .body {
            if record.flag == nil { record.flag = .clientGone }
        }
        endTunnel()
        logEnd()
        recycleConversion()
        recycleHeld()
        releaseUpstream(reusable: false)
        downstream = nil
    }
}
