/// Where one request and its response are, seen from a proxy: read from downstream, written to upstream, read from upstream,
/// written to downstream. Pure: it is told what happened and answers what may follow.
///
/// The rules: a message whose source ended abnormally is never completed on the other side (docs/rules.md F14, F15), and a
/// connection is reused only when both directions ended cleanly and both peers want it (RFC 9112 §9.3).
public struct ExchangeState: Hashable, Sendable {
    /// A message that is read.
    public enum Reading: UInt8, Hashable, Sendable, CaseIterable {
        /// Nothing is awaited. Next: `head`; a request also `body`, `complete`, `broken`.
        case idle
        /// The head is awaited or partly there. Next: `body`, `bodyUntilClose`, `complete`, `broken`.
        case head
        /// The body is under way. Next: `complete`, `broken`.
        case body
        /// The body is under way and the peer's close ends it. Next: `complete`, `broken`.
        case bodyUntilClose
        /// All was read. Final.
        case complete
        /// The peer ended it early, or it could not be read. Final.
        case broken
    }

    /// A message that is written.
    public enum Writing: UInt8, Hashable, Sendable, CaseIterable {
        /// Nothing was written. Next: `body`, `complete`.
        case idle
        /// The head was written and the body is under way. Next: `complete`, `broken`.
        case body
        /// All was written. Final.
        case complete
        /// It was given up in the middle. Final.
        case broken
    }

    /// Whether a connection may carry another exchange as far as the peers said.
    public enum Reuse: UInt8, Hashable, Sendable, CaseIterable {
        /// Nothing speaks against it. Next: `refused`.
        case allowed
        /// It is closed after this exchange. Final.
        case refused
    }

    /// What happened.
    public enum Event: Hashable, Sendable {
        /// The first byte of a request came.
        case requestStarted
        /// The request's head was read; `persists` is its `isKeepAlive`.
        case requestHeadReceived(BodyFraming, persists: Bool)
        /// The last byte of the request's body was read.
        case requestBodyReceived
        /// The request can't or won't be read to its end.
        case requestRefused
        /// Downstream ended its side.
        case downstreamEnded
        /// The request's head was written to upstream.
        case requestHeadSent(BodyFraming)
        /// The end of the request's body was written.
        case requestBodySent
        /// The request is given up in the middle of its body.
        case requestAbandoned
        /// The final response's head was read. Interim ones are no events.
        case responseHeadReceived(BodyFraming, persists: Bool)
        /// The last byte of the response's body was read.
        case responseBodyReceived
        /// The response can't or won't be read to its end.
        case responseRefused
        /// Upstream ended its side.
        case upstreamEnded
        /// Another upstream connection takes the request from its start.
        case upstreamReplaced
        /// A response head was written to downstream: the upstream's (`relayed`) or one of ours.
        case responseHeadSent(BodyFraming, persists: Bool, relayed: Bool)
        /// The end of the response's body was written.
        case responseBodySent
        /// The response is given up in the middle of its body.
        case responseCut
        /// The next exchange begins on the same downstream connection.
        case next
    }

    /// The request as it is read from downstream.
    public private(set) var requestIn = Reading.idle
    /// The request as it is written to upstream.
    public private(set) var requestOut = Writing.idle
    /// The response as it is read from upstream.
    public private(set) var responseIn = Reading.idle
    /// The response as it is written to downstream.
    public private(set) var responseOut = Writing.idle
    /// What is known about the downstream connection's future.
    public private(set) var downstreamReuse = Reuse.allowed
    /// What is known about the upstream connection's future.
    public private(set) var upstreamReuse = Reuse.allowed
    /// Whether the response that is written is the upstream's.
    public private(set) var isRelayed = false

    /// An exchange of which nothing has happened.
    public init() {}

    /// Whether the downstream connection may carry another request now.
    public var mayReuseDownstream: Bool {
        requestIn == .complete && responseOut == .complete && downstreamReuse == .allowed
    }

    /// Whether the upstream connection may go back to its pool now.
    public var mayReuseUpstream: Bool {
        requestOut == .complete && responseIn == .complete && upstreamReuse == .allowed
    }

    /// Whether downstream ending its side now cuts a request. After a whole request it is a half-close, not an error.
    public var isDownstreamEndAnError: Bool { requestIn == .head || requestIn == .body }

    /// Whether upstream ending its side now cuts a response.
    public var isUpstreamEndAnError: Bool { responseIn == .head || responseIn == .body }

    /// Takes note of what happened. `false`, and no change, when it can't happen or must not be done in this state.
    public mutating func apply(_ event: Event) -> Bool {
        switch event {
        case .requestStarted, .requestHeadReceived, .requestBodyReceived, .requestRefused, .downstreamEnded:
            applyRequestIn(event)
        case .requestHeadSent, .requestBodySent, .requestAbandoned: applyRequestOut(event)
        case .responseHeadReceived, .responseBodyReceived, .responseRefused, .upstreamEnded, .upstreamReplaced:
            applyResponseIn(event)
        case .responseHeadSent, .responseBodySent, .responseCut: applyResponseOut(event)
        case .next: applyNext()
        }
    }

    private mutating func applyRequestIn(_ event: Event) -> Bool {
        switch (event, requestIn) {
        case (.requestStarted, .idle): requestIn = .head
        case (.requestHeadReceived(let framing, let persists), .idle),
            (.requestHeadReceived(let framing, let persists), .head):
            // No request is framed until close (RFC 9112 §6.3).
            guard framing != .untilClose else { return false }
            requestIn = framing.isEmpty ? .complete : .body
            if !persists { downstreamReuse = .refused }
        case (.requestBodyReceived, .body): requestIn = .complete
        case (.requestRefused, .idle), (.requestRefused, .head), (.requestRefused, .body):
            requestIn = .broken
            downstreamReuse = .refused
        case (.downstreamEnded, _):
            if requestIn != .complete { requestIn = .broken }
            downstreamReuse = .refused
        default: return false
        }
        return true
    }

    private mutating func applyRequestOut(_ event: Event) -> Bool {
        switch (event, requestOut) {
        case (.requestHeadSent(let framing), .idle):
            guard requestIn == .body || requestIn == .complete, framing != .untilClose else { return false }
            requestOut = framing.isEmpty ? .complete : .body
            if responseIn == .idle { responseIn = .head }
        case (.requestBodySent, .body):
            // What was not read to its end must not look complete upstream.
            guard requestIn == .complete else { return false }
            requestOut = .complete
        case (.requestAbandoned, .body):
            requestOut = .broken
            upstreamReuse = .refused
        default: return false
        }
        return true
    }

    private mutating func applyResponseIn(_ event: Event) -> Bool {
        switch (event, responseIn) {
        case (.responseHeadReceived(let framing, let persists), .head):
            responseIn = framing.isEmpty ? .complete : framing == .untilClose ? .bodyUntilClose : .body
            if !persists || framing == .untilClose { upstreamReuse = .refused }
        case (.responseBodyReceived, .body): responseIn = .complete
        case (.responseRefused, .head), (.responseRefused, .body), (.responseRefused, .bodyUntilClose):
            responseIn = .broken
            upstreamReuse = .refused
        case (.upstreamEnded, _):
            switch responseIn {
            case .bodyUntilClose: responseIn = .complete
            case .head, .body: responseIn = .broken
            case .idle, .complete, .broken: break
            }
            upstreamReuse = .refused
        case (.upstreamReplaced, .idle), (.upstreamReplaced, .head), (.upstreamReplaced, .broken):
            guard responseOut == .idle else { return false }
            requestOut = .idle
            responseIn = .idle
            upstreamReuse = .allowed
        default: return false
        }
        return true
    }

    private mutating func applyResponseOut(_ event: Event) -> Bool {
        switch (event, responseOut) {
        case (.responseHeadSent(let framing, let persists, let relayed), .idle):
            let hasResponse = responseIn == .body || responseIn == .bodyUntilClose || responseIn == .complete
            guard requestIn != .idle, requestIn != .head, !relayed || hasResponse else { return false }
            responseOut = framing.isEmpty ? .complete : .body
            isRelayed = relayed
            if !persists || framing == .untilClose { downstreamReuse = .refused }
        case (.responseBodySent, .body):
            // What was not read to its end must not look complete downstream.
            guard !isRelayed || responseIn == .complete else { return false }
            responseOut = .complete
        case (.responseCut, .body):
            responseOut = .broken
            downstreamReuse = .refused
        default: return false
        }
        return true
    }

    private mutating func applyNext() -> Bool {
        guard mayReuseDownstream else { return false }
        self = ExchangeState()
        return true
    }
}
