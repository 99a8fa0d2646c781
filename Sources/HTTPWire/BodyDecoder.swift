internal import Octets

/// Finds the bytes of a body among the bytes of its connection (RFC 9112 §6, §7).
///
/// Ask `next` with the bytes that are not consumed yet; drop `skipped` of them; use as many of the `available` ones as you
/// like, say so with `took`, and ask again. It holds no bytes, so it can be paused anywhere.
public struct BodyDecoder: Sendable {
    /// What `next` found at the front of its input.
    public struct Step: Hashable, Sendable {
        /// Framing bytes at the front. They are consumed: drop them.
        public let skipped: Int
        /// Body bytes right behind them.
        public let available: Int
        /// Whether the body ends with these available bytes. Bytes behind them belong to the next message.
        public let isEnd: Bool
    }

    private enum State: Hashable {
        case length, untilClose, chunked, complete
    }

    private let isResponse: Bool
    private var state: State
    private var chunks: ChunkReader
    /// Body bytes that are still to come, of the length or of the current chunk.
    private var left: Int
    /// Body bytes that the last `next` offered.
    private var offered = 0
    /// Bytes consumed so far, framing included: the offset in errors.
    private var position = 0
    /// Body bytes taken so far.
    public private(set) var bodyCount = 0

    /// A decoder at the first byte after the head. With `isResponse`, errors have status 502.
    public init(framing: BodyFraming, limits: WireLimits = WireLimits(), isResponse: Bool = false) {
        self.isResponse = isResponse
        chunks = ChunkReader(limits: limits, isResponse: isResponse)
        state = .complete
        left = 0
        frame(framing)
    }

    /// Begins with the body of another message, as a new decoder with these limits, or those of before, would.
    public mutating func begin(_ framing: BodyFraming, limits: WireLimits? = nil) {
        chunks.reset()
        if let limits { chunks.limits = limits }
        offered = 0
        position = 0
        bodyCount = 0
        left = 0
        frame(framing)
    }

    private mutating func frame(_ framing: BodyFraming) {
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let length):
            state = .length
            left = length
        case .chunked: state = .chunked
        case .untilClose: state = .untilClose
        }
    }

    /// What a body may hold.
    public var limits: WireLimits { chunks.limits }

    /// Whether the body has ended and all of it was taken.
    public var isComplete: Bool { state == .complete }

    /// Body bytes that are still to come, where that is known: not for chunked, not until close.
    public var remaining: Int? {
        switch state {
        case .length: left
        case .complete: 0
        case .chunked, .untilClose: nil
        }
    }

    /// Trailer fields that were read and checked.
    public var trailerCount: Int { chunks.trailerCount }

    /// Whether `trailers` is filled; otherwise trailer fields are checked and dropped. At most `limits.trailerBytes` are kept.
    public var keepsTrailers: Bool {
        get { chunks.keepsTrailers }
        set { chunks.keepsTrailers = newValue }
    }

    /// The trailer lines that were read, each with its CRLF; empty unless `keepsTrailers`. Each name is a token, and no
    /// value holds a control other than HTAB.
    public var trailers: TrailerLines { TrailerLines(chunks.trailers) }

    /// Looks at the bytes that are not consumed yet. Throws 400 where the framing is broken, 413 and 431 for limits.
    public mutating func next(_ input: Span<UInt8>) throws(WireError) -> Step {
        switch state {
        case .complete:
            offered = 0
            return Step(skipped: 0, available: 0, isEnd: true)
        case .length:
            // A length beyond the limit is refused before a byte of it is read.
            guard left <= limits.body - bodyCount else { throw error(.bodyTooLarge, at: 0) }
            offered = min(left, input.count)
            return Step(skipped: 0, available: offered, isEnd: offered == left)
        case .untilClose:
            guard input.count <= limits.body - bodyCount else { throw error(.bodyTooLarge, at: 0) }
            offered = input.count
            return Step(skipped: 0, available: offered, isEnd: false)
        case .chunked:
            var skipped = 0
            if left == 0 {
                do {
                    skipped = try chunks.read(input, bodyCount: bodyCount)
                } catch {
                    throw self.error(error.fault, at: error.offset)
                }
                position += skipped
                left = chunks.takeSize()
                if chunks.isComplete {
                    state = .complete
                    offered = 0
                    return Step(skipped: skipped, available: 0, isEnd: true)
                }
            }
            offered = min(left, input.count - skipped)
            return Step(skipped: skipped, available: offered, isEnd: false)
        }
    }

    /// Says that `count` of the available bytes were used; at most as many as the last step offered.
    public mutating func took(_ count: Int) {
        precondition(count >= 0 && count <= offered, "took more body bytes than were available")
        offered -= count
        position += count
        bodyCount += count
        switch state {
        case .length:
            left -= count
            if left == 0 { state = .complete }
        case .chunked: left -= count
        case .untilClose, .complete: break
        }
    }

    /// Says that the peer has ended its side. That completes a body framed until close, and cuts any other that is not
    /// complete: 400, or 502 for a response. Bytes that were offered but not taken must be taken before.
    public mutating func endOfInput() throws(WireError) {
        switch state {
        case .complete: return
        case .untilClose: state = .complete
        case .length, .chunked: throw error(.bodyCut, at: 0)
        }
    }

    private func error(_ fault: WireFault, at offset: Int) -> WireError {
        WireError(fault, at: position + offset, fromUpstream: isResponse)
    }
}
