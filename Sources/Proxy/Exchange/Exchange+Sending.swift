internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// The way to the upstream: a connection for the request, and what is sent over it as it has room.
extension Exchange {
    /// Writes the upstream head and finds a connection for it.
    func startUpstream(framing known: BodyFraming) {
        guard let route, let generation else { return }
        let framing = generation.framings[route.upstream].framing(for: known)
        requestEncoder = BodyEncoder(framing: framing)
        do throws(ConversionError) {
            try writeRequestHead(framing: framing, route: route)
        } catch {
            return refuse(.conversion(error, accepted: []))
        }
        noteFraming(framing)
        record.upstreamStartedAt = worker.loop.now
        let pool = generation.pools[route.upstream]
        if let connection = pool.takeIdle() {
            open(connection)
        } else {
            upstreamPhase = .connecting
            attempt = pool.wait(for: self)
        }
    }

    private func open(_ connection: UpstreamConnection) {
        upstreamPhase = .open
        upstream = connection
        upstreamAddress = connection.endpoint.address
        hasWritten = false
        holdsReplay = false
        connection.begin(self)
        if let route, connection.isReused ? route.repeatsRequests : route.repeatsOnConditions { holdReplay(route) }
    }

    /// The attempt succeeded: what has waited is sent, and the client may go on. `connectTime` is 0 for a connection that was
    /// there already.
    func connected(_ connection: UpstreamConnection, madeIn connectTime: UInt64) {
        attempt = nil
        record.connectTime = connectTime
        open(connection)
        if !replay.isEmpty { sendReplay() }
        if requestPhase == .sent {
            upstream?.expectResponse(within: times.firstByte)
        } else {
            continueRequest()
        }
    }

    /// The attempt failed.
    func connectFailed(_ failure: UpstreamFailure) {
        attempt = nil
        upstreamPhase = .gone
        if case .timedOut = failure { worker.counters.admission.count(.connect) }
        refuse(.upstream(failure))
    }

    /// The upstream has room again.
    func upstreamDrained() {
        if responsePhase == .complete, requestPhase == .sent { finishUpload() } else { continueRequest() }
    }

    private func continueRequest() {
        guard upstreamPhase == .open else { return }
        if requestPhase == .ending {
            sendWaiting()
            if upstreamIsFull { upstream?.expectProgress() } else { endRequest() }
            return
        }
        guard requestPhase == .body else { return }
        sendWaiting()
        flushFramed()
        awaitContinue()
        if holds.contains(.upstream) {
            if decoding != nil, !decodeWaiting() { return }
            guard !upstreamIsFull else {
                upstream?.expectProgress()
                return
            }
            chargeRequest(leftover: 0)
            letGo(.upstream)
        }
    }

    /// Sends the head when nothing else has taken it along, once the bytes of one read have been seen.
    func settle() {
        if upstreamPhase == .open, !framed.isEmpty, requestPhase == .body { flushFramed() }
    }

    /// Sends the bytes that wait, as one chunk where the framing is chunked, with the head in front when it is still here.
    func sendWaiting() {
        guard upstreamPhase == .open else { return }
        if let conversion {
            conversion.swapOutput(&waiting)
            defer { conversion.swapOutput(&waiting) }
            send(waiting.span)
            waiting.removeAll()
        } else if !waiting.isEmpty {
            send(waiting.span)
            waiting.removeAll()
        }
    }

    /// Sends the bytes that wait and what ends the body, in one write. Returns false when there is no connection for it.
    func sendEnd() -> Bool {
        guard upstreamPhase == .open else { return false }
        conversion?.swapOutput(&waiting)
        let count = waiting.count
        requestEncoder.frame(count, into: &framed)
        if count > 0 { finishFraming(into: &waiting) } else { finishFraming(into: &framed) }
        record.bytesOut += count
        if count > 0 {
            sendFramed(waiting.span)
            waiting.removeAll()
        } else {
            flushFramed()
        }
        conversion?.swapOutput(&waiting)
        return true
    }

    private func finishFraming(into output: inout OutputBuffer) {
        guard let route, route.forwarding.passesTrailers else { return requestEncoder.close(into: &output) }
        let trailers = requestDecoder.trailers
        requestEncoder.close(into: &output) { trailers.write(named: route.forwarding.trailers, into: &$0) }
    }

    /// Leaves large memory of the output, all of which has gone to the upstream, to the next exchange: while the response is awaited
    /// others convert, and what the processor has at hand is better used again than made anew for each.
    func giveOutputBack() {
        conversion?.swapOutput(&waiting)
        if waiting.isEmpty { clear(&waiting) }
        conversion?.swapOutput(&waiting)
    }

    func send(_ body: Span<UInt8>) {
        guard upstream != nil, !body.isEmpty else { return }
        requestEncoder.frame(body.count, into: &framed)
        record.bytesOut += body.count
        sendFramed(body)
    }

    /// Sends the bytes that wait and `content`, a part of the client's body, behind them: as one chunk, without a copy of
    /// `content`. Returns false when there is no connection for it.
    func sendWaiting(passing content: Span<UInt8>) -> Bool {
        guard upstream != nil, let conversion else { return false }
        conversion.swapOutput(&waiting)
        let count = waiting.count + content.count
        requestEncoder.frame(count, into: &framed)
        record.bytesOut += count
        framed.append(waiting.span)
        waiting.removeAll()
        conversion.swapOutput(&waiting)
        sendFramed(content)
        return true
    }

    /// Sends what is framed, `body` behind it, and what ends its chunk.
    private func sendFramed(_ body: Span<UInt8>) {
        guard let upstream else { return }
        let lineEnd: InlineArray<2, UInt8> = [ASCII.carriageReturn, ASCII.lineFeed]
        let end = requestEncoder.takeEnd() ? lineEnd.span : Span()
        hasWritten = true
        if holdsReplay { holdForReplay(body, end) }
        upstream.stream.write(framed.span, body, end)
        framed.removeAll()
    }

    func flushFramed() {
        guard let upstream, !framed.isEmpty else { return }
        hasWritten = true
        upstream.stream.write(framed.span)
        if holdsReplay { holdFramedForReplay() } else { framed.removeAll() }
    }
}

extension BodyFraming {
    var logName: StaticString {
        switch self {
        case .none: "none"
        case .length: "length"
        case .chunked: "chunked"
        case .untilClose: "close"
        }
    }
}
