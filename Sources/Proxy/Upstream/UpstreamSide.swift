internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// The upstream's side of one exchange, whatever is behind it: takes the request, brings the response by the exchange's functions.
///
/// `UpstreamConnection` speaks HTTP/1.1 to a server, `HTTP2Upstream` is a stream of a connection of HTTP/2. Where a data plane asks
/// for external processing it is that which forwards the request, and its side is the call that it asks by. A class, not a
/// protocol: an exchange looks at `head` without a call.
class UpstreamSide {
    /// The head of the response, from when it has come until the exchange lets go.
    final var head = MessageHead()
    /// The address that it leads to; nil: nobody here knows.
    final let destination: Endpoint?
    /// Whether it has served another exchange before the present one, or may fail for as little as one that has.
    final var isReused = false
    /// Whether any request may be refused before the server has done anything with it, as HTTP/2 lets it (RFC 9113 §8.7): so each is kept
    /// to be sent again.
    final var mayRefuse = false
    /// The stream to a server that is the exchange's alone, where there is one: what each request asks of it is asked without a
    /// call through a table.
    final let wire: Stream?

    init(to destination: Endpoint? = nil, over wire: Stream? = nil) {
        self.destination = destination
        self.wire = wire
    }

    // Not inlined: a call on a stream that is another object's is counted a holder more, and one on its own isn't (docs/decisions/0022).

    /// Bytes of the request that wait to be taken.
    @inline(never)
    final var queued: Int { wire?.queued ?? held }
    /// Whether it takes less than comes: `Exchange.upstreamDrained` says when it has room again.
    @inline(never)
    final var isFull: Bool { wire?.isAboveHighWatermark ?? holdsMuch }
    /// Sends `framing`, `content` behind it and what ends that: of the request, as its `BodyEncoder` frames it.
    @inline(never)
    final func write(_ framing: Span<UInt8>, _ content: Span<UInt8>, _ end: Span<UInt8>) {
        if let wire { wire.write(framing, content, end) } else { take(framing, content) }
    }
    /// `Exchange.upstreamDrained` is to be told when all that was written has gone out.
    final func awaitEmpty() { if let wire { wire.tellEmpty() } else { tellEmpty() } }

    // What stands for the stream where there is none.
    var held: Int { 0 }
    var holdsMuch: Bool { false }
    func take(_ first: Span<UInt8>, _ second: Span<UInt8>) {}
    func tellEmpty() {}

    /// The trailer fields of the response, once it is whole.
    var trailers: TrailerLines { TrailerLines() }

    /// Serves `exchange` from here on.
    func begin(_ exchange: Exchange) throws(Refusal) {}
    /// All of the request was written. Asked where there is no `wire`, on which the framing says so.
    func requestEnded() throws(Refusal) {}

    /// The request is sent: the response must begin within `time` nanoseconds.
    func expectResponse(within time: UInt64) {}
    /// The request isn't taken as fast as it comes: some of it must be within the time between two reads.
    func expectProgress() {}
    /// Nothing need come for now.
    func expectNothing() {}
    /// What the exchange did leaves the connection in an unknown state.
    func refuseReuse() {}
    /// The client has room again.
    func resume() {}
    /// The exchange lets go. `reusable`: it is over and left the connection clean.
    func release(reusable: Bool) {}
}
