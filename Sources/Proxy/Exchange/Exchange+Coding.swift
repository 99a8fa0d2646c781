internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// Content codings of requests: undone between the framing and the conversion. What the decoder has made and the conversion
// can't take waits, and the client with it.
extension Exchange {
    /// Undoes the request's codings in front of `conversion`, where it has any. Returns false when the request was refused.
    func startDecoding(_ route: Route, _ conversion: Conversion, hasBody: Bool) -> Bool {
        let options = route.options.coding
        guard let codings = request.appliedCodings(among: options.undone) else {
            worker.counters.coding.countError("unsupported_content_coding", .requestDecoded)
            refuse(.contentCoding(options.undone))
            return false
        }
        guard let first = codings.first else { return true }
        guard hasBody else {
            // Nothing at all is no coded body, not even an empty one.
            refuseCoding(.malformed(first, .truncated))
            return false
        }
        // The framing counts the bytes on the wire; those that come out are the decoder's to count.
        conversion.bodyLimit = .max
        let decoding = worker.coders.takeDecoding(codings)
        decoding.begin(codings, limits: options.limits)
        self.decoding = decoding
        record.coding = first
        return true
    }

    /// Takes bytes of a coded body. Returns how many were used, as `convert` does.
    ///
    /// A few bytes may be decoded to a hundred times as many, so these are bounded as the slice is: what is more waits for the
    /// next turn, and the client with it.
    func decode(_ slice: Span<UInt8>) -> Int {
        guard let decoding else { return slice.count }
        let run = decoding.run
        decoding.left = Self.sliceSize
        var at = 0
        do throws(CodingError) {
            while true {
                let isClear = convertDecoded(decoding)
                guard goesOn(decoding, run) else { return slice.count }
                guard isClear, !isHeldBack, at < slice.count || decoding.decoder.hasMore else { return at }
                guard decoding.left > 0 else {
                    holdBack(.turn)
                    waitForTurn(decoding)
                    return at
                }
                at += try decoding.decoder.feed(slice.extracting(at..<slice.count), into: &decoding.waiting)
                guard payForDecoder(decoding) else { return slice.count }
            }
        } catch {
            refuseCoding(error)
            return slice.count
        }
    }

    /// Goes on with what a turn was too short for.
    func decodeAfterTurn() {
        guard let decoding, decoding.awaitsTurn else { return }
        decoding.awaitsTurn = false
        // The time since is others'.
        record.transcodeMark = 0
        if requestPhase == .ending { return endRequest() }
        guard requestPhase == .body, holds.contains(.turn), decodeWaiting() else { return }
        chargeRequest(leftover: 0)
        letGo(.turn)
    }

    private func waitForTurn(_ decoding: RequestDecoding) {
        guard !decoding.awaitsTurn else { return }
        decoding.awaitsTurn = true
        worker.loop.afterTurn(self)
    }

    /// The upstream has room again, or a turn has begun: converts what waits. Returns whether the client's next bytes can be taken;
    /// else what is waited for is a reason to hold it back, in the place of the one that is gone.
    func decodeWaiting() -> Bool {
        guard let decoding else { return true }
        let run = decoding.run
        decoding.left = Self.sliceSize
        do throws(CodingError) {
            while true {
                let isClear = convertDecoded(decoding)
                guard goesOn(decoding, run) else { return false }
                guard isClear, !upstreamIsFull else {
                    holdBack(.upstream)
                    holds.remove(.turn)
                    upstream?.expectProgress()
                    return false
                }
                guard decoding.decoder.hasMore else { return true }
                guard decoding.left > 0 else {
                    holdBack(.turn)
                    holds.remove(.upstream)
                    waitForTurn(decoding)
                    return false
                }
                _ = try decoding.decoder.feed(Span(), into: &decoding.waiting)
                guard payForDecoder(decoding) else { return false }
            }
        } catch {
            refuseCoding(error)
            return false
        }
    }

    /// The client has sent all: converts what waits and sees that the coding has ended. Returns false when there is no room
    /// for all of it yet, or when the request was refused.
    func endDecoding() -> Bool {
        guard let decoding else { return true }
        let run = decoding.run
        decoding.left = Self.sliceSize
        do throws(CodingError) {
            while true {
                let isClear = convertDecoded(decoding)
                guard goesOn(decoding, run) else { return false }
                guard isClear else {
                    upstream?.expectProgress()
                    return false
                }
                guard decoding.decoder.hasMore else { break }
                guard decoding.left > 0 else {
                    waitForTurn(decoding)
                    return false
                }
                _ = try decoding.decoder.feed(Span(), into: &decoding.waiting)
                guard payForDecoder(decoding) else { return false }
            }
            try decoding.decoder.finish()
            recycleDecoding()
            if requestCharge.bytes > 0 { chargeRequest(leftover: 0) }
            return true
        } catch {
            refuseCoding(error)
            return false
        }
    }

    /// Hands the conversion what was decoded. Returns false when some of it has to wait, or when the request was refused and
    /// the decoding, perhaps, is another request's.
    private func convertDecoded(_ decoding: RequestDecoding) -> Bool {
        guard !decoding.waiting.isEmpty else { return true }
        let run = decoding.run
        // Taken out of the object: a refusal ends it while its bytes are still being looked at.
        var decoded = OutputBuffer()
        swap(&decoded, &decoding.waiting)
        let taken = convert(decoded.span)
        guard goesOn(decoding, run) else { return false }
        decoded.drop(taken)
        decoding.left -= taken
        swap(&decoded, &decoding.waiting)
        return decoding.waiting.isEmpty
    }

    /// Whether the request that `decoding` was begun for is still to be converted. After a refusal it isn't, though the exchange may
    /// stay to drop the rest of the body: a second fault of the same bytes would end a connection that the answer kept alive.
    private func goesOn(_ decoding: RequestDecoding, _ run: Int) -> Bool {
        self.decoding === decoding && decoding.run == run && (requestPhase == .body || requestPhase == .ending)
    }

    /// Pays for what the decoders hold by now. Returns false when the request was refused.
    private func payForDecoder(_ decoding: RequestDecoding) -> Bool {
        decoding.decoder.heldCount < MemoryCharge.step || payForRequest()
    }

    private func refuseCoding(_ error: CodingError) {
        worker.counters.coding.countError(error.code, .requestDecoded)
        refuse(.conversion(ConversionError(error), accepted: []))
    }

    /// Lets go of the coders of an exchange that is over.
    func recycleCoders() {
        recycleDecoding()
        recycleHeldDecoder()
        if let held { dropCoded(held) }
        if let coding = responseCoding {
            responseCoding = nil
            recycle(coding.encoder)
        }
    }

    /// Gives the decoders of the request's codings back, which may be large: a slow answer must not keep them.
    private func recycleDecoding() {
        guard let decoding else { return }
        self.decoding = nil
        count(decoding.decoder, .requestDecoded)
        worker.coders.recycle(decoding)
    }

    /// The same of the response's.
    func recycleHeldDecoder() {
        guard let decoder = held?.takeDecoder() else { return }
        count(decoder, .responseDecoded)
        worker.coders.recycle(decoder)
    }

    /// Counts what went through `encoder` and gives it back.
    func recycle(_ encoder: ContentEncoder) {
        worker.counters.coding.count(
            .responseEncoded, encoder.coding, in: encoder.inputCount, out: encoder.outputCount)
        worker.coders.recycle(encoder)
    }

    private func count(_ decoder: ContentDecoder, _ flow: CodingCounters.Flow) {
        guard let coding = decoder.codings.first else { return }
        worker.counters.coding.count(flow, coding, in: decoder.inputCount, out: decoder.outputCount)
    }
}

extension ConversionError {
    /// A body that was refused for its coding. It has no offset: that of the coded bytes would help nobody.
    init(_ error: CodingError) {
        let kind: Kind =
            if case .malformed = error { .malformed } else { .limit }
        self.init(kind, code: error.code, reason: error.reason, setting: error.setting)
    }
}
