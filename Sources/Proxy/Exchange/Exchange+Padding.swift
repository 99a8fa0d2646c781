internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// Converted bodies that are longer than what is held of them: their length is announced as a bound, and what that has too many
// follows the body as padding, which the encoding says is nothing (docs/decisions/0011). Servers that read no chunks would
// take a chunked body for an empty one.
extension Exchange {
    /// Pieces of padding that are sent in one turn before the other connections have theirs.
    private static let paddingPerTurn = 4

    /// The framing of a body whose head has to go out before all of its output is there: a length where the client gave one
    /// and a bound can be told, else chunks.
    func framing(ofRestOf conversion: Conversion) -> BodyFraming {
        // What a content coding hides can have any length.
        guard decoding == nil, case .length(let length) = request.framing,
            let bound = conversion.outputBound(ofBody: length)
        else { return .chunked }
        return .length(conversion.outputCount + bound)
    }

    /// Makes more room in front of the head where the input is whole and only its output is left, since its exact length is
    /// known once it is there. Returns nil when the request was refused, false where there is no more room to be had.
    func holdMore(_ conversion: Conversion) -> Bool? {
        guard upstreamPhase == .unassigned, !writesQuery, conversion.outputCount < ConversionHold.ofWholeDocument,
            let route, let generation, generation.framings[route.upstream].mode == .auto
        else { return false }
        guard payForRequest() else { return nil }
        conversion.withOutput { $0.highWatermark = min(2 * $0.count, ConversionHold.ofWholeDocument) }
        return true
    }

    /// Whether what the conversion has written, and `passing` bytes behind it, fit the length that was announced. The request
    /// is refused otherwise, which can happen only where escapes have used up what a bound allows them.
    func fits(_ conversion: Conversion, passing: Int) -> Bool {
        guard upstreamPhase == .open || upstreamPhase == .connecting, let left = requestEncoder.remaining,
            conversion.outputCount + passing > left
        else { return true }
        let upstream = route.flatMap { generation?.settings.upstreams[$0.upstream].name } ?? ""
        let error = ConversionError(
            .unrepresentable, code: "length_outgrown",
            reason:
                "the converted body is longer than the length that was announced for it: its texts grow too much by escapes",
            setting: "upstreams.\(upstream).framing")
        refuse(.conversion(error, accepted: []))
        return false
    }

    /// Writes behind the converted body what its announced length has too many. Returns whether the last of it waits to be sent with
    /// what ends the body; else it goes on when the upstream has room, or in the next turn.
    func pad(_ conversion: Conversion) -> Bool {
        guard let padding = conversion.padding else { return true }
        var pieces = Self.paddingPerTurn
        while let left = requestEncoder.remaining, left > conversion.outputCount {
            guard !upstreamIsFull else {
                upstream?.expectProgress()
                return false
            }
            guard pieces > 0 else {
                worker.loop.afterTurn(self)
                return false
            }
            pieces -= 1
            let count = min(left - conversion.outputCount, Exchange.sliceSize)
            conversion.withOutput { $0.append(padding, count: count) }
            worker.counters.framing.padding &+= UInt64(count)
            if left > conversion.outputCount { sendWaiting() }
            guard upstreamPhase == .open, requestPhase == .ending else { return false }
        }
        return true
    }
}

extension OutputBuffer {
    /// Appends `count` bytes that mean nothing.
    fileprivate mutating func append(_ padding: OutputPadding, count: Int) {
        switch padding {
        case .lines:
            append(Self.emptyLines.span.extracting(0..<count & ~1))
            if count % 2 == 1 { append(ASCII.space) }
        case .spaces:
            append(upTo: count) { $0.append(repeating: ASCII.lineFeed, count: count) }
        }
    }

    /// As many lines as one piece of padding has, so that they are copied and not written byte by byte.
    private static let emptyLines = Array(repeating: [ASCII.carriageReturn, ASCII.lineFeed], count: Exchange.sliceSize / 2)
        .flatMap(\.self)
}
