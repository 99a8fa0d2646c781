/// What makes a request a candidate for being sent once more.
package enum RetryCause: Equatable {
    /// The connection had served others, and ended before a byte of the response came (docs/rules.md F20).
    case staleConnection
    /// A new connection did the same.
    case reset
    /// The server has said that it did nothing with the request, whatever that is (RFC 9113 §8.7).
    case refused
    /// It has said so by the end of a connection on which it had taken others (RFC 9113 §6.8): a server that ends its connections behind
    /// so many requests, and isn't full.
    case leftOut
    /// The response didn't begin in time.
    case timeout
    case status(Int)

    /// Whether a request is sent once more in any case, at once and without the budget: a connection that had served before says
    /// nothing of the server's load, and one that is going away neither.
    package var isFree: Bool { self == .staleConnection || isUntouched }

    /// Whether the server has done nothing with the request, by its own word.
    package var isUntouched: Bool { self == .refused || self == .leftOut }

    package var result: RetryResult {
        switch self {
        case .staleConnection: .staleConnection
        case .reset: .reset
        case .refused, .leftOut: .refused
        case .timeout: .timeout
        case .status: .status
        }
    }
}

/// How often a request was sent again whatever its route asks for. Each cause counts for itself.
@usableFromInline
package struct FreeRetries: Equatable {
    // Known to who makes an exchange's record, which is reset for each request.
    @usableFromInline internal var stale: UInt16 = 0
    @usableFromInline internal var refused: UInt16 = 0
    @usableFromInline internal var leftOut: UInt16 = 0

    /// What a connection leaves out goes to a new one together, which may leave out all but one: as many rounds as a server has
    /// streams, mostly.
    package static let mostLeftOut = 128

    @inlinable package init() {}

    package var count: Int { Int(stale) + Int(refused) + Int(leftOut) }

    /// Whether a request that failed for `cause` was sent again for it as often as may be.
    package func isSpent(_ cause: RetryCause) -> Bool {
        switch cause {
        case .staleConnection: stale > 0
        case .refused: refused > 0
        case .leftOut: leftOut >= Self.mostLeftOut
        case .reset, .timeout, .status: false
        }
    }

    package mutating func note(_ cause: RetryCause) {
        switch cause {
        case .staleConnection: stale += 1
        case .refused: refused += 1
        case .leftOut: leftOut += 1
        case .reset, .timeout, .status: break
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
