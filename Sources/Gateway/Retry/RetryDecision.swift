package import HTTPWire

/// Whether a request that failed is sent once more, and after which pause.
package enum RetryDecision: Equatable {
    /// The route asks for no retry on this cause, which is no retry left out.
    case unwanted
    /// It can't be sent again.
    case skip(RetrySkip)
    /// It is sent again after so many nanoseconds.
    case retry(after: UInt64)
}

/// What is known of a request when it fails.
package struct RetryProgress {
    /// How often it was sent again already because the route asks for it.
    package var retries = 0
    /// How often it was, whatever the route asks for.
    package var freeRetries = FreeRetries()
    /// Whether a byte of it went out: a request of which nothing was sent was not executed, whatever its method is.
    package var hasWritten = false
    /// Whether its method can be executed twice without harm (RFC 9110 §9.2.2).
    package var isIdempotent = true
    /// Whether all that was sent of it is in the retry buffer.
    package var isBuffered = true
    /// Whether the client has an interim response of the failed try.
    package var hasAnswered = false

    package init() {}
}

// A function of what the route says, of what is known of the request, and of the budget: who asks keeps the request and sends it.
extension RetryOptions {
    /// The shortest and the longest pause before a request is sent again because the route asks for it, in nanoseconds.
    package static let pauses: ClosedRange<UInt64> = 25_000_000...250_000_000

    /// The decision on a request that failed for `cause` at `now` nanoseconds. `budget` pays for what the route asks for;
    /// `random` spreads the pauses, so that retries of many requests don't come all at once. See docs/rules.md F20 and F21.
    package func decide(
        on cause: RetryCause, _ progress: RetryProgress, budget: inout RetryBudget, now: UInt64, random: () -> UInt64
    ) -> RetryDecision {
        guard wants(cause) else { return .unwanted }
        var progress = progress
        if cause.isUntouched { progress.isIdempotent = true }
        let isSpent = cause.isFree ? progress.freeRetries.isSpent(cause) : progress.retries >= attempts
        if let skip = skip(progress, isSpent: isSpent) { return .skip(skip) }
        if cause.isFree { return .retry(after: 0) }
        guard budget.spend(now) else { return .skip(.budget) }
        return .retry(after: Self.pause(retry: progress.retries + 1, random()))
    }

    /// Why a request that failed for `cause` behind a byte of its response isn't sent again; nil where the route asks for no retry then.
    package func skipBehindAnswer(on cause: RetryCause) -> RetrySkip? {
        guard wants(cause) else { return nil }
        var progress = RetryProgress()
        progress.hasAnswered = true
        return skip(progress, isSpent: false)
    }

    /// Whether the route wants a retry for `cause`.
    private func wants(_ cause: RetryCause) -> Bool {
        switch cause {
        case .staleConnection, .refused, .leftOut: true
        case .reset: onReset
        case .timeout: onTimeout
        case .status(let status): statuses.contains(status)
        }
    }

    private func skip(_ progress: RetryProgress, isSpent: Bool) -> RetrySkip? {
        if !isEnabled { return .disabled }
        if progress.hasAnswered { return .responseStarted }
        if isSpent { return .attempts }
        if !progress.hasWritten { return nil }
        if !progress.isIdempotent { return .notIdempotent }
        return progress.isBuffered ? nil : .bodyTooLarge
    }

    /// Each time up to twice as long, from the shortest pause on.
    private static func pause(retry: Int, _ random: UInt64) -> UInt64 {
        let most = min(pauses.upperBound, pauses.lowerBound << UInt64(min(retry + 1, 4)))
        return pauses.lowerBound + random % (most - pauses.lowerBound)
    }
}

extension Method {
    /// Whether a request of this method can be executed twice without harm: RFC 9110 §9.2.2.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete, .trace: true
        default: false
        }
    }
}
