internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

/// One request and its response: the pair of a client's connection and an upstream's, and the conversion between them.
///
/// The request half is in `Exchange+Request.swift`, the response half in `Exchange+Response.swift`, a response's
/// conversion in `Exchange+HeldResponse.swift`, the ways it can end in `Exchange+Ending.swift`. Exchanges are reused; `reset` keeps allocations of ordinary size.
final class Exchange {
    enum RequestPhase {
        /// The head is being read. → body, ending, sent
        case head
        /// The body arrives. → ending, sent, discarding
        case body
        /// The body was read to its end; converted bytes still wait. → sent, discarding
        case ending
        /// All bytes of the request were handed to the upstream connection.
        case sent
        /// We answered without the upstream; what is left of the body is read and dropped so that the connection can go on.
        case discarding
        /// Discarded to the end.
        case discarded
    }

    enum UpstreamPhase {
        /// Not needed yet. → connecting, open, gone
        case unassigned
        /// → open, gone
        case connecting
        /// A connection is ours. → gone
        case open
        /// The connection was given back or closed, or none is needed.
        case gone
    }

    enum ResponsePhase {
        /// → held, streaming, complete
        case awaited
        /// The upstream's head has come, and its body is being converted: nothing was sent to the client. → streaming, complete
        case held
        /// The head was sent to the client. → complete
        case streaming
        case complete
    }

    /// Held strongly, because counting an unowned reference costs more; the worker lets go of them all when it ends.
    let worker: Worker
    /// The client's connection; set from `begin` until the exchange is recycled, which ends the cycle of references.
    var downstream: DownstreamConnection?
    var upstream: UpstreamConnection?
    /// The way to a connection, as long as there is none.
    var attempt: UpstreamWait?

    // The request.
    var parser: RequestParser
    var request = MessageHead()
    var requestPhase = RequestPhase.head
    var requestDecoder: BodyDecoder
    var requestEncoder = BodyEncoder(framing: .none)
    /// What the settings were when the request began; set with the route.
    var generation: Generation?
    var route: Route?
    var captures = PathCaptures()
    var times = RouteTimes()
    var conversion: Conversion?
    /// Body bytes that wait for the upstream: converted ones, or those of a plain forward.
    var waiting = OutputBuffer()
    /// The request's head and chunk framing that go out in front of the next body bytes.
    var framed = OutputBuffer()
    /// Whether the client's read event is off because the upstream can't take more.
    var isHeldBack = false
    var requestID: [UInt8] = []
    /// What a conversion wrote for the query of the target.
    var writtenQuery: [UInt8] = []

    /// What was sent of the request, as it went over the wire, while `holdsReplay`.
    var replay = OutputBuffer()
    /// Whether what is sent is also held, so that it can be sent again on another connection.
    var holdsReplay = false
    /// Whether more was sent than may be held.
    var replayIsCut = false
    /// Whether the status of the response may be a reason to send the request again.
    var heedsStatus = false
    /// Whether anything was sent on the present connection.
    var hasWritten = false
    /// Whether the client got an interim response of the upstream's: what follows must be that one's, too.
    var interimWasSent = false

    // The response.
    var upstreamPhase = UpstreamPhase.unassigned
    var responsePhase = ResponsePhase.awaited
    var responseEncoder = BodyEncoder(framing: .none)
    var responseFramed = OutputBuffer()
    var keepsAlive = false
    /// Whether a cut must be shown by a reset, because the end of the connection is the end of the body (HTTP/1.0).
    var endsWithConnection = false
    /// The response that is converted, while `isActive`; made when a route of the worker's first needs it.
    var held: HeldResponse?

    var record = ExchangeRecord()

    init(worker: Worker) {
        self.worker = worker
        self.parser = RequestParser(limits: worker.wireLimits)
        self.requestDecoder = BodyDecoder(framing: .none, limits: worker.wireLimits, isResponse: false)
    }

    /// Makes the exchange ready for another request. Called when nothing refers to the old one any more.
    func reset() {
        parser.reset()
        request.removeAll()
        request.shrink(to: Exchange.keptCapacity)
        requestPhase = .head
        generation = nil
        route = nil
        conversion = nil
        waiting.removeAll()
        waiting.highWatermark = OutputBuffer.defaultHighWatermark
        waiting.shrink(to: Exchange.keptCapacity)
        framed.removeAll()
        framed.shrink(to: Exchange.keptCapacity)
        responseFramed.removeAll()
        responseFramed.shrink(to: Exchange.keptCapacity)
        isHeldBack = false
        if holdsReplay || replayIsCut { dropReplay() }
        heedsStatus = false
        hasWritten = false
        interimWasSent = false
        upstream = nil
        attempt = nil
        upstreamPhase = .unassigned
        responsePhase = .awaited
        keepsAlive = false
        endsWithConnection = false
        held?.reset()
        record = ExchangeRecord()
        captures = PathCaptures()
        downstream = nil
    }

    /// Bytes of a buffer that a reused exchange may keep: enough for ordinary requests, little enough for a free list.
    static let keptCapacity = 16 * 1024
    /// Body bytes handed to a conversion in one piece: bounds what one call can add to the output.
    static let sliceSize = 64 * 1024
}

/// What is measured of one exchange, for the log.
struct ExchangeRecord {
    var startedAt: UInt64 = 0
    var status = 0
    /// Why we answered ourselves or cut the exchange; empty when the upstream's answer went through whole.
    var flag: StaticString = ""
    var bytesIn = 0
    var bytesOut = 0
    var bytesBack = 0
    /// Nanoseconds from the request's head to the upstream's first byte; 0 when there was none.
    var firstByteTime: UInt64 = 0
    /// How often the request was sent again after a connection that it had been given to failed.
    var retries = 0
    /// Why it was not sent once more, when that would have been asked for (docs/rules.md F20, F21).
    var retrySkip: RetrySkip?
    var framing: StaticString = ""
    var input: BodyEncoding?
    var output: BodyEncoding?
    var accounting: Accounting?
}
