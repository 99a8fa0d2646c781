internal import ContentCoding
internal import Octets

/// The coding of a request's body while it is undone: the decoder, and what it has made that the conversion can't take yet.
final class RequestDecoding {
    let decoder = ContentDecoder()
    /// At most 64 KiB: while bytes wait here the decoder gets no input.
    var waiting = OutputBuffer()
    /// Bytes that the conversion may still take in this go; what is more waits for the end of the tick.
    var left = 0
    /// Whether the exchange will be called when the tick is over.
    var awaitsTick = false
    /// Counts the bodies, so that whoever called out can tell whether this is still about the one that it knew.
    private(set) var run = 0

    func begin(_ codings: AppliedCodings, limits: CodingLimits) {
        run += 1
        left = Exchange.sliceSize
        awaitsTick = false
        waiting.removeAll()
        decoder.begin(codings, limits: limits)
    }

    func end() {
        run += 1
        waiting.removeAll()
        waiting.shrink(to: Exchange.keptCapacity)
        decoder.end()
    }
}
