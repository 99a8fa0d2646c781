internal import EventLoop
internal import HTTPWire
internal import Logging
internal import Octets
internal import Serialization

// Bodies for upstreams that want a Content-Length, held until their length is known: the upstream hears nothing of the
// request before all of it is here, and so never gets half of one.
extension Exchange: TurnWork {
    /// Pieces that are sent in one turn before the other connections have theirs.
    private static let piecesPerTurn = 4

    /// Whether the upstream wants a length for every body.
    var needsLength: Bool {
        guard let route, let generation else { return false }
        return generation.framings[route.upstream].mode == .length
    }

    /// Starts to forward a body as it comes, or to spool it.
    func startForward(_ framing: BodyFraming) {
        if framing == .chunked, needsLength { beginSpool() } else { startUpstream(framing: framing) }
    }

    private func beginSpool() {
        guard spool == nil, let route, let generation else { return }
        spool = Spool(generation.framings[route.upstream].spool, store: worker.spools)
    }

    /// Takes bytes of the body. Returns false when the request was refused instead.
    func spool(_ bytes: Span<UInt8>) -> Bool {
        guard let spool else { return true }
        do throws(SpoolFault) {
            try spool.append(bytes)
            return true
        } catch {
            refuseSpool(error)
            return false
        }
    }

    /// Takes what the conversion has written.
    func spoolOutput() -> Bool {
        guard let conversion else { return true }
        beginSpool()
        // Into a buffer of this function's own: a refusal may end the exchange, which empties those that it has.
        var output = OutputBuffer()
        conversion.swapOutput(&output)
        guard spool(output.span) else { return false }
        output.removeAll()
        conversion.swapOutput(&output)
        return true
    }

    private func refuseSpool(_ fault: SpoolFault) {
        let upstream = route.flatMap { generation?.settings.upstreams[$0.upstream].name } ?? ""
        if fault.isOfTheDisk, worker.spools.mayReport(at: worker.loop.now) {
            worker.logger.error(
                "bodies can't be spooled for the upstream \(upstream): \(fault == .full ? "the disk is full" : "the disk failed")"
            )
        }
        refuse(.spool(fault, upstream: upstream))
    }

    /// Sends what the spool holds, as fast as the upstream takes it. Returns whether all of it went on its way.
    func pump(_ spool: Spool) -> Bool {
        var left = Self.piecesPerTurn
        while !spool.isAtEnd {
            guard !upstreamIsFull else {
                upstream?.expectProgress()
                return false
            }
            guard left > 0 else {
                worker.loop.afterTurn(self)
                return false
            }
            left -= 1
            var piece = OutputBuffer()
            swap(&piece, &waiting)
            do throws(SpoolFault) {
                try spool.read(into: &piece)
            } catch {
                refuseSpool(error)
                return false
            }
            send(piece.span)
            piece.removeAll()
            swap(&piece, &waiting)
            guard upstreamPhase == .open, requestPhase == .ending else { return false }
        }
        return true
    }

    /// Goes on with what a turn was too short for.
    func turnEnded() {
        if responsePhase == .held, let held, held.hasInput || held.isWhole { continueHeld() }
        if decoding != nil { return decodeAfterTurn() }
        guard spool != nil || conversion != nil, requestPhase == .ending, upstreamPhase == .open else { return }
        // The conversion may have more to write: a held response has turns of its own, while the request waits.
        endRequest()
    }

    func endSpool() {
        spool?.end()
        spool = nil
    }

    /// Counts and logs how the body is framed.
    func noteFraming(_ framing: BodyFraming) {
        guard spool == nil else {
            record.framing = "spooled"
            worker.counters.framing.spooled &+= 1
            return
        }
        record.framing = framing.logName
        guard let conversion else { return }
        switch framing {
        case .length(let count) where count > conversion.outputCount:
            record.framing = "padded"
            worker.counters.framing.padded &+= 1
        case .length: worker.counters.framing.length &+= 1
        case .chunked: worker.counters.framing.chunked &+= 1
        case .none, .untilClose: break
        }
    }
}
