internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// Content codings of responses that the route asks for: of converted ones, which are whole, and of plain ones, which are
// streamed.
extension Exchange {
    /// Decides whether a response that is forwarded gets a coding, and starts it. What changes in its framing and its head is
    /// put into `framing` and `changes`.
    func startCompression(
        _ compression: Compression, _ head: borrowing MessageHead, framing: inout BodyFraming,
        changes: inout HeadChanges
    ) -> Coding? {
        if head.status == 304 {
            // It renews what the client has: where that is the coded form, its tag is the weak one (RFC 9110 §15.4.5).
            changes.formUnion(.variesByCoding)
            if request.holdsWeakForm(ofTagIn: head) { changes.formUnion(.weakTag) }
            return nil
        }
        let isHead = request.methodKind == .head
        guard isHead || !framing.isEmpty, head.status >= 200, head.status != 204, head.status != 205,
            !head.isPartial, !head.hasContentCoding, !head.forbidsTransform,
            !request.forbidsTransform, request.minorVersion == 1,
            let line = head.first(.contentType), compression.takes(type: head.value(line))
        else { return nil }
        if let length = isHead ? Framing.announcedLength(head) : framing.count, length < compression.options.least {
            return nil
        }
        changes.formUnion(.variesByCoding)
        // Without memory for an encoder the body passes as it is.
        guard let coding = AcceptEncodingField.choose(among: compression.options.codings, for: request),
            isHead || payForEncoder(coding)
        else { return nil }
        changes.formUnion([.otherBytes, .weakTag])
        if !isHead {
            let encoder = worker.coders.takeEncoder(coding, level: compression.options.level)
            responseCoding = ResponseCoding(encoder, flushes: framing.count == nil)
            framing = .chunked
        }
        return coding
    }

    /// Sends bytes of a response that gets a coding. Returns whether the client can take more now.
    func compress(_ body: Span<UInt8>, _ coding: ResponseCoding) -> Bool {
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.encode(body, into: &output) else {
            cut(.upstreamGone)
            return true
        }
        return writeCompressed(&output)
    }

    /// All that has come from the upstream for now is in: lets the client have it.
    func flushCompressed(_ coding: ResponseCoding) {
        guard coding.flushes, coding.encoder.isPending, responsePhase == .streaming else { return }
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.flush(into: &output) else { return cut(.upstreamGone) }
        _ = writeCompressed(&output)
    }

    /// Sends the end of the coded body. Returns false when that failed, and the exchange with it.
    func finishCompressed(_ coding: ResponseCoding) -> Bool {
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.finish(into: &output) else {
            cut(.upstreamGone)
            return false
        }
        _ = writeCompressed(&output)
        return responsePhase == .streaming
    }

    private func writeCompressed(_ output: inout OutputBuffer) -> Bool {
        guard !output.isEmpty else { return downstream?.stream.isAboveHighWatermark != true }
        let hasRoom = write(response: output.span)
        output.removeAll()
        return hasRoom
    }

    /// Whether a converted response is one that gets a coding where the client takes it.
    func variesByCoding(_ held: HeldResponse) -> Bool {
        guard let compression = route?.compression, let conversion = held.conversion, !held.isUntouched else {
            return false
        }
        return conversion.outputCount >= max(compression.options.least, 1) && request.minorVersion == 1
            && compression.takes(type: conversion.contentType.span)
    }

    /// Applies a coding to a slice of a converted body, where the route and the client want one and there is memory for the encoder
    /// and what it writes; without a coding the body is as good. Returns whether that is all of it.
    func codeHeld(_ held: HeldResponse) -> Bool {
        if !held.isCodingChosen {
            held.isCodingChosen = true
            guard variesByCoding(held), let compression = route?.compression,
                let coding = AcceptEncodingField.choose(among: compression.options.codings, for: request),
                worker.pressure == 0
            else { return true }
            held.coded = ResponseCoding(
                worker.coders.takeEncoder(coding, level: compression.options.level), flushes: false)
        }
        guard let coded = held.coded else { return true }
        guard responseCharge.set(held.heldCount, from: worker.memory) else {
            dropCoded(held)
            return true
        }
        var isOver = false
        var isFine = true
        held.withBody { body in
            let end = min(held.codedAt + HeldResponse.sliceSize, body.count)
            isOver = end == body.count
            isFine = coded.encoder.encode(body.extracting(held.codedAt..<end), into: &coded.output)
            if isFine, isOver { isFine = coded.encoder.finish(into: &coded.output) }
            held.codedAt = end
        }
        guard isFine else {
            dropCoded(held)
            return true
        }
        return isOver
    }

    /// Lets go of a coded copy that isn't wanted any more.
    func dropCoded(_ held: HeldResponse) {
        guard let coded = held.coded else { return }
        held.coded = nil
        recycle(coded.encoder)
        if responseCharge.bytes > 0 { responseCharge.force(held.heldCount, from: worker.memory) }
    }
}

extension Route {
    /// The codings of a body with that head; nil when some can't be undone here.
    func undoneCodings(of head: borrowing MessageHead) -> AppliedCodings? {
        guard head.contains(.contentEncoding) else { return AppliedCodings() }
        return head.appliedCodings(among: options.coding.undone)
    }
}

extension BodyFraming {
    /// The length where it is known.
    fileprivate var count: Int? {
        if case .length(let count) = self { count } else { nil }
    }
}

extension MessageHead {
    /// Whether If-None-Match names the weak form of the strong tag that `response` has.
    fileprivate func holdsWeakForm(ofTagIn response: borrowing MessageHead) -> Bool {
        guard let line = response.first(.etag) else { return false }
        let tag = response.value(line)
        guard tag.count >= 2, tag[0] == UInt8(ascii: "\"") else { return false }
        for line in 0..<fieldCount where known(line) == .ifNoneMatch {
            let value = value(line)
            var at = 0
            while let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: value, from: at) {
                at = slash + 1
                if slash > 0, value[slash - 1] == UInt8(ascii: "W"), value.count - at >= tag.count,
                    value.extracting(at..<at + tag.count).isEqual(to: tag)
                {
                    return true
                }
            }
        }
        return false
    }
}
