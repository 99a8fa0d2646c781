internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets

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
        if let length = isHead ? head.announcedLength : framing.count, length < compression.options.least {
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

    /// Applies a coding to a converted body where the route and the client want one.
    func compressHeld(
        _ body: Span<UInt8>, _ compression: Compression, _ contentType: [UInt8], _ changes: inout HeadChanges
    ) -> ResponseCoding? {
        guard body.count >= compression.options.least, !body.isEmpty, request.minorVersion == 1,
            compression.takes(type: contentType.span)
        else { return nil }
        changes.formUnion(.variesByCoding)
        guard let coding = AcceptEncodingField.choose(among: compression.options.codings, for: request) else {
            return nil
        }
        let coded = ResponseCoding(
            worker.coders.takeEncoder(coding, level: compression.options.level), flushes: false)
        guard coded.encoder.encode(body, into: &coded.output), coded.encoder.finish(into: &coded.output) else {
            // Without a coding it is as good.
            return nil
        }
        return coded
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
    /// The length that the answer to GET would have.
    fileprivate var announcedLength: Int? {
        guard let line = first(.contentLength) else { return nil }
        var count = 0
        let digits = value(line)
        for index in digits.indices {
            guard ASCII.isDigit(digits[index]), count < 1 << 56 else { return nil }
            count = count * 10 + Int(digits[index] - UInt8(ascii: "0"))
        }
        return count
    }

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
