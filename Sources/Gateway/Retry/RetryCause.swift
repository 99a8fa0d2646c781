/// What makes a request a candidate for being sent once more.
package enum RetryCause: Equatable {
    /// The connection had served others, and ended before a byte of the response came (docs/rules.md F20).
    case staleConnection
    /// A new connection did the same.
    case reset
    /// The server has said that it did nothing with the request, whatever that is (RFC 9113 §8.7).
    case refused
    /// The response didn't begin in time.
    case timeout
    case status(Int)

    /// Whether a request is sent once more in any case, at once and without the budget: a connection that had served before says
    /// nothing of the server's load, and one that is going away neither.
    package var isFree: Bool { self == .staleConnection || self == .refused }

    package var result: RetryResult {
        switch self {
        case .staleConnection: .staleConnection
        case .reset: .reset
        case .refused: .refused
        case .timeout: .timeout
        case .status: .status
        }
    }
}

/// Retries as metrics count them.
package enum RetryResult: String, CaseIterable {
    case staleConnection = "stale_connection"
    case reset, refused, timeout, status
}

/// Why a request that failed was not sent once more.
package enum RetrySkip: String, CaseIterable {
    case notIdempotent = "not_idempotent"
    /// More of it was sent than the buffer holds.
    case bodyTooLarge = "body_too_large"
    case budget
    /// It was sent as often as it may be.
    case attempts
    case responseStarted = "response_started"
    /// The route says so.
    case disabled
}
