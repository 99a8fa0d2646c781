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

    /// Writes behind the converted body what its announced length has too many, from where it lies. Returns whether all of it went
    /// on its way; else it goes on when the upstream has room, or in the next turn.
    func pad(_ conversion: Conversion) -> Bool {
        guard let padding = conversion.padding, requestEncoder.remaining ?? 0 > conversion.outputCount else {
            return true
        }
        sendWaiting()
        var pieces = Self.paddingPerTurn
        while let left = requestEncoder.remaining, left > 0 {
            guard !upstreamIsFull else {
                upstream?.expectProgress()
                return false
            }
            guard pieces > 0 else {
                worker.loop.afterTurn(self)
                return false
            }
            pieces -= 1
            let count = min(left, Exchange.sliceSize)
            send(padding.piece.span.extracting(0..<count))
            worker.counters.framing.padding &+= UInt64(count)
            guard upstreamPhase == .open, requestPhase == .ending else { return false }
        }
        return true
    }
}

extension OutputPadding {
    /// A piece of it, of which any beginning is padding as well, but for half a line end, which then stands alone.
    fileprivate var piece: [UInt8] {
        switch self {
        case .lines: Self.emptyLines
        case .spaces: Self.lineFeeds
        }
    }

    private static let emptyLines = Array(
        repeating: [ASCII.carriageReturn, ASCII.lineFeed], count: Exchange.sliceSize / 2
    ).flatMap(\.self)
    private static let lineFeeds = Array(repeating: ASCII.lineFeed, count: Exchange.sliceSize)
}
