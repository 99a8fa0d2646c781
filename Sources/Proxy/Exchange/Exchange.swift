internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

/// One request and its response: the pair of a client's connection and an upstream's, and the conversion between them.
///
/// The request half is in `Exchange+Request.swift`, the response half in `Exchange+Response.swift`, a response's
/// conversion in `Exchange+HeldResponse.swift`, the ways it can end in `Exchange+Ending.swift`.
/// What bodies hold of memory and disk is in `Exchange+Memory.swift` and `Exchange+Spool.swift`.
///
/// Exchanges are reused; `reset` keeps allocations of ordinary size.
///
/// SAFETY of `@exclusivity(unchecked)`, for what each request touches many times: one thread uses an exchange, and nothing that
/// is called while such a property is changed or lent comes back to it (docs/decisions/0007).
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
    /// What the settings were when the exchange was made, whose limits its parser holds.
    let home: Generation
    /// The client's connection; set from `begin` until the exchange is recycled, which ends the cycle of references.
    var downstream: DownstreamConnection?
    var upstream: UpstreamConnection?
    /// The way to a connection, as long as there is none.
    var attempt: UpstreamWait?

    // The request.
    @safe @exclusivity(unchecked) var parser: RequestParser
    @safe @exclusivity(unchecked) var request = MessageHead()
    var requestPhase = RequestPhase.head
    @safe @exclusivity(unchecked) var requestDecoder: BodyDecoder
    @safe @exclusivity(unchecked) var requestEncoder = BodyEncoder(framing: .none)
    /// What the settings were when the request began; set with the route.
    var generation: Generation?
    var route: Route?
    @safe @exclusivity(unchecked) var captures = PathCaptures()
    @safe @exclusivity(unchecked) var times = RouteTimes()
    var conversion: Conversion?
    /// The codings of the request's body while they are undone in front of the conversion.
    var decoding: RequestDecoding?
    /// Body bytes that wait for the upstream: converted ones, or those of a plain forward.
    @safe @exclusivity(unchecked) var waiting = OutputBuffer()
    /// The request's head and chunk framing that go out in front of the next body bytes.
    @safe @exclusivity(unchecked) var framed = OutputBuffer()
    /// Why nothing is read of the body for now.
    var holds: HoldReasons = []
    var isHeldBack: Bool { !holds.isEmpty }
    /// Slow the bodies down, on routes that ask for it.
    var requestThrottle: Throttle?
    var responseThrottle: Throttle?
    /// Ends the exchange when it takes too long, on routes that have such a time.
    var deadline: Timer?
    /// Whether the exchange counts among the requests in flight of the process.
    var isCounted = false
    @safe @exclusivity(unchecked) var requestID: [UInt8] = []
    /// Whether the client's peer is one whose word about the client is believed.
    var trustsPeer = false
    /// The client that a trusted peer speaks for; nil: the peer itself.
    var realClient: SocketAddress?
    /// Protocols that the upstream was offered to switch to.
    var offeredUpgrades: [[UInt8]] = []
    /// The lines that header rules write where a value is the request's: those of the request, then from
    /// `responseHeaderLines` on those of the response. They hold while `hasHeaderLines`.
    @safe @exclusivity(unchecked) var headerLines: [UInt8] = []
    var responseHeaderLines = 0
    var hasHeaderLines = false
    /// Both connections once they have left HTTP.
    var tunnel: Tunnel?
    var continueState = ContinueState.settled
    /// What a conversion wrote for the query of the target.
    var writtenQuery: [UInt8] = []
    /// The body, where it is held until its length is known; until the response begins.
    var spool: Spool?
    /// What the request and the response hold of the worker's memory.
    @safe @exclusivity(unchecked) var requestCharge = MemoryCharge(.request)
    @safe @exclusivity(unchecked) var responseCharge = MemoryCharge(.response)
    /// The body's framing, while nothing of it is read because memory is short.
    var framingInQueue: BodyFraming?

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
    /// Whether the last bytes went from the client's stream to the upstream's as they are.
    var passesContent = false
    /// Whether the client got an interim response of the upstream's: what follows must be that one's, too.
    var interimWasSent = false

    // The response.
    var upstreamPhase = UpstreamPhase.unassigned
    var responsePhase = ResponsePhase.awaited
    @safe @exclusivity(unchecked) var responseEncoder = BodyEncoder(framing: .none)
    @safe @exclusivity(unchecked) var responseFramed = OutputBuffer()
    var keepsAlive = false
    /// Whether a cut must be shown by a reset, because the end of the connection is the end of the body (HTTP/1.0).
    var endsWithConnection = false
    /// The response that is converted, while `isActive`; made when a route of the worker's first needs it.
    var held: HeldResponse?
    /// The content coding that a streamed response gets on its way to the client.
    var responseCoding: ResponseCoding?

    @safe @exclusivity(unchecked) var record = ExchangeRecord()
    /// Whom the request went to, or should have gone to when the last connection was tried.
    var upstreamAddress: SocketAddress?
    /// What the log shows of the upstream's response besides.
    var loggedResponse: [(member: String, value: [UInt8])] = []

    /// Whether nothing has been sent of an answer yet.
    var awaitsResponse: Bool { responsePhase == .awaited || responsePhase == .held }

    init(worker: Worker) {
        self.worker = worker
        self.home = worker.current
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
        clear(&waiting)
        waiting.highWatermark = OutputBuffer.defaultHighWatermark
        clear(&framed)
        clear(&responseFramed)
        holds = []
        requestThrottle = nil
        responseThrottle = nil
        deadline?.cancel()
        isCounted = false
        trustsPeer = false
        realClient = nil
        if !offeredUpgrades.isEmpty { offeredUpgrades.removeAll() }
        hasHeaderLines = false
        continueState = .settled
        if holdsReplay || replayIsCut { dropReplay() }
        heedsStatus = false
        hasWritten = false
        passesContent = false
        interimWasSent = false
        upstream = nil
        attempt = nil
        upstreamPhase = .unassigned
        responsePhase = .awaited
        keepsAlive = false
        endsWithConnection = false
        recycleCoders()
        held?.reset()
        if spool != nil { endSpool() }
        if requestCharge.bytes + responseCharge.bytes > 0 { endCharges() }
        if framingInQueue != nil { leaveQueue() }
        record = ExchangeRecord()
        upstreamAddress = nil
        if !loggedResponse.isEmpty { loggedResponse = [] }
        captures = PathCaptures()
        downstream = nil
    }

    /// Empties a buffer; the loop gets memory that is too much to keep for each exchange.
    func clear(_ buffer: inout OutputBuffer) {
        buffer.removeAll()
        if buffer.capacity > Exchange.keptCapacity { worker.loop.recycle(&buffer) }
    }

    /// Bytes of a buffer that a reused exchange may keep: enough for ordinary requests, little enough for a free list.
    static let keptCapacity = 16 * 1024
    /// Body bytes handed to a conversion in one piece: bounds what one call can add to the output. Where content
    /// passes, it is all of a read (`longestSlice`).
    static let sliceSize = 64 * 1024
}

/// What is measured of one exchange, for the log.
struct ExchangeRecord {
    var startedAt: UInt64 = 0
    var status = 0
    /// Why we answered ourselves or cut the exchange; nil when the upstream's answer went through whole.
    var flag: EndReason?
    var bytesIn = 0
    var bytesOut = 0
    var bytesBack = 0
    /// Nanoseconds from the request's head to the upstream's first byte; 0 when there was none.
    var firstByteTime: UInt64 = 0
    /// Body bytes of the upstream's response.
    var bytesUpstream = 0
    /// When the head's first byte was seen, and the nanoseconds from there to its end.
    var headStartedAt: UInt64 = 0
    var headTime: UInt64 = 0
    /// Nanoseconds from the head's end to that of the body.
    var bodyTime: UInt64 = 0
    /// Nanoseconds inside the conversion of the request; measured where somebody wants to know (`Worker.isMeasuring`).
    var transcodeTime: UInt64 = 0
    /// The clock as it was read last, while that is still the present.
    var transcodeMark: UInt64 = 0
    /// When an upstream was first asked for, and the nanoseconds until its response was whole.
    var upstreamStartedAt: UInt64 = 0
    var upstreamTime: UInt64 = 0
    /// Nanoseconds that making the last connection took, where it was made for this exchange.
    var connectTime: UInt64 = 0
    /// How often the request was sent again after a connection that it had been given to failed.
    var retries = 0
    /// How often the request was handed to an upstream connection, or was to be.
    var attempts: Int { upstreamStartedAt == 0 ? 0 : retries + 1 }
    /// Why it was not sent once more, when that would have been asked for (docs/rules.md F20, F21).
    var retrySkip: RetrySkip?
    var framing: StaticString = ""
    var input: BodyEncoding?
    var output: BodyEncoding?
    var accounting: Accounting?
    /// What was undone of the request's body, and applied to the response's; of two codings the last one.
    var coding: Coding?
    var responseCoding: Coding?
    /// What header rules did to the head that went upstream, and to the response's.
    var headers = HeaderEditCount()
    var responseHeaders = HeaderEditCount()
}
