internal import ContentCoding
internal import Gateway
internal import HTTPWire
internal import Octets

/// The copy of one request while that is served: what went upstream of it, and what came back where that is to be compared.
final class ShadowCopy {
    let sender: ShadowSender
    /// How the content was framed for the upstream.
    let framing: BodyFraming
    /// Whether the method is HEAD, to which answers have no content.
    let isHead: Bool
    let requestID: [UInt8]
    /// The values that a conversion which is tried takes from the request, or why there are none.
    let sources: Result<[[UInt8]], Refusal>
    /// What went upstream, framing and all.
    private(set) var bytes = OutputBuffer()
    /// Whether all of the request is known to have gone out.
    var isSent = false
    /// The answer that the client gets, as the upstream gave it.
    var first: ShadowAnswer?
    private var charge = CopyCharge()

    /// Bytes besides the content: a head, and as much framing as there is content.
    private static let overhead = 128 * 1024

    init(
        _ sender: ShadowSender, framing: BodyFraming, isHead: Bool, requestID: [UInt8],
        sources: Result<[[UInt8]], Refusal>
    ) {
        self.sender = sender
        self.framing = framing
        self.isHead = isHead
        self.requestID = requestID
        self.sources = sources
    }

    /// Takes bytes that go upstream. Returns why it takes no more.
    func append(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) -> ShadowDrop? {
        let count = bytes.count + first.count + second.count + third.count
        guard count <= 2 * sender.options.buffer + Self.overhead else { return .tooLarge }
        guard count < MemoryCharge.step || charge.set(count, from: sender.memory) else { return .memory }
        bytes.append(first)
        bytes.append(second)
        bytes.append(third)
        return nil
    }

    /// The bytes are in another buffer, of the connection that sends them.
    func dropBytes() { bytes = OutputBuffer() }

    /// Gives its memory back.
    func end() {
        charge.end(sender.memory)
        first?.end(sender.memory)
        bytes = OutputBuffer()
    }
}

/// Why there is no copy of a request, as metrics call it.
enum ShadowDrop: String {
    /// The content is longer than a copy may be.
    case tooLarge = "too_large"
    /// As many are on their way as may be.
    case inFlight = "in_flight"
    /// Copies hold all the memory that they may, or it is short.
    case memory
    /// The upstream took none a moment ago.
    case paused
    /// The request didn't go out whole.
    case incomplete
    /// The process ends, or the settings have changed.
    case ended
}

/// An answer to a request or to its copy, as far as it is kept to be compared.
struct ShadowAnswer {
    let status: Int
    let type: [UInt8]
    /// Nil where some can't be undone.
    let codings: AppliedCodings?
    private(set) var content = OutputBuffer()
    /// Whether all of the content is here.
    var isWhole = false
    private(set) var isTooLong = false
    private let limit: Int
    private var charge = CopyCharge()

    /// - Parameter limit: bytes of content that are kept.
    init(_ head: borrowing MessageHead, route: Route, limit: Int) {
        status = head.status
        type = head.first(.contentType).map { head.value($0).copied() } ?? []
        codings = route.undoneCodings(of: head)
        self.limit = limit
    }

    mutating func append(_ bytes: Span<UInt8>, _ memory: MemoryAllowance) {
        guard !isTooLong else { return }
        let count = content.count + bytes.count
        guard count <= limit, count < MemoryCharge.step || charge.set(count, from: memory) else {
            isTooLong = true
            return end(memory)
        }
        content.append(bytes)
    }

    /// Gives the memory back.
    mutating func end(_ memory: MemoryAllowance) {
        charge.end(memory)
        content = OutputBuffer()
    }
}
