internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The response half: from the upstream's bytes to the client's.
extension Exchange {
    /// Passes an interim response on: 103 and what may come, never 100 (we answered that ourselves) and never to HTTP/1.0.
    func interim(_ head: borrowing MessageHead) {
        if head.status == 100 { return continueRelayed() }
        guard request.minorVersion == 1, responsePhase == .awaited, let downstream else { return }
        interimWasSent = true
        HeadWriter.statusLine(head.status, into: &responseFramed)
        ResponseHeadWriter.copyFields(of: head, into: &responseFramed)
        HeadWriter.end(into: &responseFramed)
        downstream.stream.write(responseFramed.span)
        responseFramed.removeAll()
    }

    /// The final response's head has come.
    func respond(_ head: borrowing MessageHead, framing: BodyFraming) {
        if holdsReplay || heedsStatus {
            if repeatsStatus(head.status), sendAgain(.status(head.status), avoiding: upstream?.endpoint) { return }
            dropReplay()
        }
        record.firstByteTime = worker.loop.now - record.startedAt
        loggedResponse = worker.log.chosenFields(of: head)
        // From here on nothing is sent again.
        if spool != nil || requestCharge.bytes > 0, requestPhase == .sent { endHolding() }
        if continueState == .asked { refuseBody() }
        if let rules = route?.responseRules {
            chooseResponse(rules, head, framing: framing)
        } else {
            beginResponse(head, framing: clientFraming(for: framing))
        }
    }

    /// Writes the response's head, which goes out with the first body bytes.
    func beginResponse(
        _ head: borrowing MessageHead, framing: BodyFraming, changes: HeadChanges = [], contentType: [UInt8]? = nil,
        coding: Coding? = nil
    ) {
        var framing = framing
        var changes = changes
        var coding = coding
        if let compression = route?.compression, responsePhase != .held, compression.options.plain {
            coding = startCompression(compression, head, framing: &framing, changes: &changes)
        }
        record.responseCoding = coding
        record.status = head.status
        responsePhase = .streaming
        // An answer before the request's end: the rest of the upload is not wanted, so this connection ends with it.
        if !isRequestRead || worker.isDraining || worker.pressure > 0 { keepsAlive = false }
        responseEncoder = BodyEncoder(framing: framing)
        endsWithConnection = framing == .untilClose
        if endsWithConnection { keepsAlive = false }
        let writer = ResponseHeadWriter(
            isHead: request.methodKind == .head, framing: framing, keepsAlive: keepsAlive, changes: changes,
            coding: coding)
        let requestID = requestID
        let part = writer.writeFields(
            of: head, requestID: requestID.span, clock: worker.clock, contentType: contentType?.span,
            into: &responseFramed)
        if let generation, generation.forwarding.addsViaToResponses, let via = generation.forwarding.via {
            let line = head.minorVersion == 0 ? via.old : via.new
            responseFramed.append(line.span)
        }
        if let editor = route?.headers?.response {
            applyResponseRules(editor, to: &responseFramed, from: part.fields, own: part.own)
        }
        writer.writeFraming(of: head, into: &responseFramed)
        if framing == .chunked, passesResponseTrailers, let route {
            head.appendTrailerField(route.forwarding.trailers, to: &responseFramed)
        }
        writer.end(into: &responseFramed)
    }

    /// Whether trailer fields of the response can reach the client: the route lists some, the client takes them, and the body is
    /// chunked on its way to it (docs/rules.md F12).
    var passesResponseTrailers: Bool {
        guard let route, route.forwarding.passesTrailers else { return false }
        return request.acceptsTrailers
    }

    /// The upstream's framing as this client can read it: chunked only to HTTP/1.1, else until the connection closes.
    func clientFraming(for framing: BodyFraming) -> BodyFraming {
        switch framing {
        case .none, .length: framing
        case .chunked, .untilClose: request.minorVersion == 1 ? .chunked : .untilClose
        }
    }

    /// Takes bytes of the response's body: sends them, or converts them. Returns whether more can be taken now.
    func respond(_ body: Span<UInt8>) -> Bool {
        record.bytesUpstream += body.count
        if responsePhase == .held {
            return hold(body)
        }
        return send(response: body)
    }

    /// Sends bytes of the response's body, coded where it gets a coding. Returns whether the client can take more now.
    func send(response body: Span<UInt8>) -> Bool {
        if let responseCoding { return compress(body, responseCoding) }
        return write(response: body)
    }

    /// Sends bytes of the response's body as they are. Returns whether the client can take more now.
    func write(response body: Span<UInt8>) -> Bool {
        guard let downstream else { return true }
        responseEncoder.frame(body.count, into: &responseFramed)
        record.bytesBack += body.count
        let lineEnd: InlineArray<2, UInt8> = [ASCII.carriageReturn, ASCII.lineFeed]
        let end = responseEncoder.takeEnd() ? lineEnd.span : Span()
        downstream.stream.write(responseFramed.span, body, end)
        responseFramed.removeAll()
        guard downstream.stream.isAboveHighWatermark else { return true }
        downstream.expectDrain()
        chargeResponse(queued: downstream.stream.queued)
        return false
    }

    /// Sends what has been written of the response when no body bytes have taken it along.
    func settleResponse() {
        if let responseCoding { flushCompressed(responseCoding) }
        guard let downstream, !responseFramed.isEmpty else { return }
        downstream.stream.write(responseFramed.span)
        responseFramed.removeAll()
    }

    /// The response is whole. `reusable`: the upstream connection ended its message cleanly and may serve another exchange;
    /// so it still reads, and gets what is left of an upload (docs/rules.md F13).
    func responseEnded(reusable: Bool) {
        record.upstreamTime = worker.loop.now &- record.upstreamStartedAt
        guard responsePhase == .held, let held, let upstream else { return completeResponse(reusable: reusable) }
        held.bodyEnded(from: upstream, isReusable: reusable)
        // Where input still waits, the turn's end goes on with it.
        if !held.hasInput { continueHeld() }
    }

    /// All of the response was handed on: ends it.
    func completeResponse(reusable: Bool) {
        if let responseCoding, !finishCompressed(responseCoding) { return }
        responsePhase = .complete
        if let upstream, let route, passesResponseTrailers {
            let trailers = upstream.trailers
            responseEncoder.close(into: &responseFramed) {
                trailers.write(named: route.forwarding.trailers, into: &$0)
            }
        } else {
            responseEncoder.close(into: &responseFramed)
        }
        settleResponse()
        if !reusable { releaseUpstream(reusable: false) }
        finishUpload()
    }

    /// After the response: waits until the upstream has all of the request, if it still takes any, and ends the exchange.
    func finishUpload() {
        if let upstream {
            guard requestPhase == .sent else {
                if holds.contains(.upstream) || requestPhase == .ending { upstream.expectProgress() }
                return
            }
            guard upstream.stream.queued == 0 else {
                upstream.stream.wantsEmpty = true
                return upstream.expectProgress()
            }
            releaseUpstream(reusable: true)
        }
        finishIfOver()
    }

    /// Gives the upstream connection back or closes it.
    func releaseUpstream(reusable: Bool) {
        if let attempt {
            self.attempt = nil
            attempt.cancel()
        }
        guard let connection = upstream else {
            upstreamPhase = .gone
            return
        }
        upstream = nil
        upstreamPhase = .gone
        connection.release(reusable: reusable)
    }

    /// The client has room again.
    func downstreamDrained() {
        if responseCharge.bytes > 0, let downstream { chargeResponse(queued: downstream.stream.queued) }
        if !holdsInput { upstream?.resume() }
        // The time for the client to read has taken the place of that for its body.
        if requestPhase == .body, !isHeldBack { downstream?.expectBody(within: times.bodyGap) }
    }

    /// Ends the exchange when both halves have ended.
    func finishIfOver() {
        guard responsePhase == .complete, let downstream else { return }
        switch requestPhase {
        case .sent, .discarded:
            end(on: downstream, keepAlive: keepsAlive, requestComplete: true)
        case .discarding where keepsAlive:
            // A few bytes are still to be read and dropped before the next request begins.
            downstream.expectDiscard()
            downstream.stream.resumeReading()
        case .head, .body, .ending, .discarding:
            end(on: downstream, keepAlive: false, requestComplete: requestPhase == .ending)
        }
    }

    private func end(on downstream: DownstreamConnection, keepAlive: Bool, requestComplete: Bool) {
        logEnd()
        recycleConversion()
        recycleHeld()
        releaseUpstream(reusable: false)
        downstream.exchangeEnded(keepAlive: keepAlive, requestComplete: requestComplete)
    }

    func recycleConversion() {
        guard let conversion, let route else { return }
        self.conversion = nil
        conversion.swapOutput(&waiting)
        // Only one that ran to its end is known to be clean.
        if requestPhase == .sent { generation?.recycle(conversion, route: route) }
    }

    func logEnd() {
        guard record.startedAt != 0 || record.status != 0 else { return }
        if worker.isMeasuring { worker.ended(self) }
        record.startedAt = 0
        record.status = 0
    }
}
