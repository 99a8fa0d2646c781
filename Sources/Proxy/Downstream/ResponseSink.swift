internal import Gateway
internal import HTTPWire
internal import Octets

/// What takes the response of an exchange: its head, its content and its end, in the client's protocol. How that tells where the
/// content ends, and what it says of the connection, is its own.
///
/// Fields come as lines, a name, `: `, a value and CRLF each, written into a buffer of the sink's: one that writes such lines has them
/// where they belong, another one reads them there.
protocol ResponseSink: AnyObject {
    /// Whether the client takes less than comes: `Exchange.downstreamDrained` says when it has room again.
    var isFull: Bool { get }
    /// Bytes that wait for the client and that the exchange pays for: none where the connection does.
    var queued: Int { get }

    /// Passes an interim response on.
    func sendInterim(_ head: borrowing MessageHead)
    /// Tells the client to send its content.
    func sendContinue()

    /// Begins a response with the status of `head`, or another one, and those of its fields that go on. It may wait for the first content.
    ///
    /// - Parameter addFields: appends the lines that are new, and has the last word on those from the position on.
    func begin(
        _ response: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void)
    /// Sends bytes of the content. Returns whether the client can take more now.
    func send(_ content: Span<UInt8>) -> Bool
    /// As `send`, of content that nobody else needs any more, and leaves `content` empty: its memory may go along with what waits.
    func send(owned content: inout OutputBuffer) -> Bool
    /// Sends a head that has waited for content.
    func flush()
    /// Ends the response, all of whose content was sent. `addTrailers` appends trailer fields, as lines.
    func end(adding addTrailers: (inout OutputBuffer) -> Void)

    /// Takes a head back that still waits for content. Returns false when there is none.
    func withdraw() -> Bool
    /// Cuts a response that has begun, in a way that can't be taken for its end; the exchange is over then.
    func cut()

    /// Sends a whole response of ours. Returns its bytes.
    ///
    /// - Parameters:
    ///   - isLast: whether the connection ends with it.
    ///   - addFields: appends its fields, as lines.
    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int
}

extension ResponseSink {
    func send(owned content: inout OutputBuffer) -> Bool {
        defer { content.removeAll() }
        return send(content.span)
    }
}

/// What can end a response of which there is no more by trailers: a call's, whose client reads there how it went.
protocol CallSink: ResponseSink {
    /// Ends a response that has begun, and can't go on, behind what was sent of it; the exchange is over then. `addTrailers` appends the
    /// trailer fields, as lines, and they must tell that it isn't whole.
    func cut(adding addTrailers: (inout OutputBuffer) -> Void)
}

/// What can leave HTTP with the connection that it writes to (RFC 9110 §7.8): HTTP/1's, since HTTP/2 has no upgrade (RFC 9113 §8.6).
protocol SwitchableSink: ResponseSink {
    /// Tells the client that the upstream has switched protocols as it asked, and leaves HTTP with it: what comes from here on goes
    /// through the tunnel that is returned, to `upstream`.
    ///
    /// - Parameters:
    ///   - replaced: the received fields that `addFields` writes anew.
    ///   - idle: nanoseconds without a byte after which the tunnel ends.
    func switchProtocols(
        by head: borrowing MessageHead, replacing replaced: KnownFieldSet, to upstream: UpstreamConnection,
        idle: UInt64,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) -> Tunnel
}

/// What an exchange knows of a response when it begins, beside the upstream's head.
struct ResponseStart {
    /// Which of the received fields go on.
    let fields: PassedFields
    let length: ResponseLength
    /// Whether content of unknown length can end with the connection only.
    let endsByClose: Bool
    /// Whether the client's connection takes no further request.
    let isLast: Bool
    /// The status, where it isn't that of the upstream's head.
    var status: Int?
}

/// How much content a response has.
enum ResponseLength: Equatable {
    /// None, and nothing is said of it.
    case none
    /// None, since the request was HEAD: the length that the upstream's head tells is told (RFC 9110 §8.6).
    case asReceived
    case known(Int)
    /// It is told by its end.
    case unknown

    /// How much there is of content that came framed so.
    init(_ framing: BodyFraming) {
        switch framing {
        case .none: self = .none
        case .length(let count): self = .known(count)
        case .chunked, .untilClose: self = .unknown
        }
    }

    var isEmpty: Bool {
        switch self {
        case .none, .asReceived, .known(0): true
        case .known, .unknown: false
        }
    }

    /// The bytes where their number is known.
    var count: Int? {
        if case .known(let count) = self { count } else { nil }
    }
}
