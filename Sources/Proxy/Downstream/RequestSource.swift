internal import EventLoop
internal import Gateway
internal import Octets

// What an exchange knows of the client's side, whatever protocol that speaks. It belongs to one request: HTTP/1's connection serves
// one after the other, a connection of HTTP/2 has a stream for each.

/// Both sides of one request.
protocol Downstream: RequestSource, ResponseSink {}

/// What brought a request: it has read the head into `Exchange.request`, and brings the content, without what frames it, by
/// `Exchange.receive`.
protocol RequestSource: AnyObject {
    /// Whom its connection leads to.
    var peer: SocketAddress { get }
    /// Where the connection was accepted.
    var listener: ListenerInfo { get }
    var isSecure: Bool { get }
    /// The three of them in plain values.
    var origin: RequestOrigin { get }
    /// What the TLS handshake agreed on; nil without TLS.
    var tlsFacts: TLSFacts? { get }
    /// Whether the connection takes no further request: as many were served as may be, or for as long.
    var isSpent: Bool { get }
    /// The exchange that the request repeats, by the console's id.
    var original: String? { get }

    /// The name of the route that is to serve the request, where what brought it says so.
    var routeName: [UInt8]? { get }
    /// Sees, before any content is taken, that what `route` does can be done with what brought the request.
    func check(_ route: Route, _ plan: inout ExchangeMachine.Plan) throws(Refusal)

    /// Says, before any content, how many bytes there may be: one that announces more, in all or in its next piece, is refused
    /// (`Refusal.bodyTooLarge`) before those have to come. Content of known length has been compared already.
    func limitContent(to count: Int)
    /// Says, before any content, that the trailer fields behind it are wanted.
    func keepTrailers()
    /// Whether the request has content that doesn't come here: it passes beside what brought the head, unseen. The head's framing
    /// says that it is there, and how long where that is known.
    var hidesContent: Bool { get }
    /// Whether that may be so, as nothing says that content comes, nor that none does.
    var mayHideContent: Bool { get }
    /// Bytes of the content that are still to come, where that is known: 0 when all was taken.
    var contentLeft: Int? { get }
    /// Appends the trailer fields that came behind the content, those of `names` or, without, all that may pass, as lines.
    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer)

    /// Brings no content before `resumeReading`.
    func pauseReading()
    func resumeReading()

    /// Says how fast the client has to send and to take.
    func setRates(_ rates: MinimumRates)
    /// Says that content is wanted: it must keep coming, without a pause longer than `time`.
    func expectBody(within time: UInt64)
    /// Says that no content is wanted for now.
    func expectNothing()
    /// Says that the answer is out and the rest of the request is thrown away.
    func expectDiscard()

    /// The exchange is over and may not be used any more.
    func exchangeEnded(_ end: ExchangeEnd)
}

/// What becomes of the client's connection, where that serves one request after the other.
enum ExchangeEnd {
    /// Both sides may go on with another request.
    case keepAlive
    /// It ends; all of the request was read.
    case close
    /// It ends, and what is unread of the request is thrown away for a while.
    case linger
}

/// Whom a request came from, and where: plain values, of which a copy counts no references.
struct RequestOrigin {
    var peer: PlainAddress
    /// The port that the client connected to; 0 for a unix socket.
    var port: Int
    var isSecure: Bool
    /// Whether it repeats an exchange.
    var isRepeated = false
}

// What most sources are: connections that only bring requests.
extension RequestSource {
    var origin: RequestOrigin { RequestOrigin(peer: peer.plain, port: listener.port, isSecure: isSecure) }
    var routeName: [UInt8]? { nil }
    var original: String? { nil }
    var hidesContent: Bool { false }
    var mayHideContent: Bool { hidesContent }
    func check(_ route: Route, _ plan: inout ExchangeMachine.Plan) throws(Refusal) {}
}
