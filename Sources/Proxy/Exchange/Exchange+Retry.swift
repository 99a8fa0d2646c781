internal import EventLoop
internal import HTTPWire
internal import Octets

// Sending a request once more, where that is safe (docs/rules.md F20, F21).
extension Exchange {
    /// The shortest and the longest pause before a request is sent again because the route asks for it.
    private static let pauses: ClosedRange<UInt64> = 25_000_000...250_000_000

    // MARK: What is held for it

    /// Holds what is sent from here on, where the method allows that it is sent again.
    func holdReplay(_ route: Route) {
        heedsStatus = route.repeatsOnConditions
        guard request.methodKind.isIdempotent, !replayIsCut else { return }
        // Sent again already, and not to be sent a third time.
        guard record.retries == 0 || route.repeatsOnConditions else { return }
        holdsReplay = true
    }

    /// `framed`, `body` and `end` are about to be sent.
    func holdForReplay(_ body: Span<UInt8>, _ end: Span<UInt8>) {
        let count = framed.count + body.count + end.count
        guard replay.count + count <= (route?.options.retry.buffer ?? 0) else { return cutReplay() }
        replay.append(framed.span)
        replay.append(body)
        replay.append(end)
        if !payForReplay() { cutReplay() }
    }

    /// `framed` was sent; it leaves its bytes here and is empty then.
    func holdFramedForReplay() {
        defer { framed.removeAll() }
        guard replay.count + framed.count <= (route?.options.retry.buffer ?? 0) else { return cutReplay() }
        // Mostly the head and nothing else: then it changes hands without a copy.
        if replay.isEmpty { swap(&replay, &framed) } else { replay.append(framed.span) }
    }

    private func cutReplay() {
        dropReplay()
        replayIsCut = true
    }

    /// Nothing is sent again any more.
    func dropReplay() {
        holdsReplay = false
        replayIsCut = false
        clear(&replay)
    }

    /// Sends what another connection had been given.
    func sendReplay() {
        guard let upstream else { return }
        hasWritten = true
        upstream.stream.write(replay.span)
        if !holdsReplay { dropReplay() }
    }

    // MARK: Whether, and how

    /// Whether the route sends a request again that was answered with `status`.
    func repeatsStatus(_ status: Int) -> Bool {
        guard heedsStatus, let route else { return false }
        return route.options.retry.statuses.contains(status)
    }

    /// Sends the request once more on a new connection, if that is safe and wanted; the old connection is given up.
    /// Returns false, and changes nothing but the counters, when it is not.
    func sendAgain(_ cause: RetryCause, avoiding endpoint: Endpoint?) -> Bool {
        guard let route, let generation, responsePhase == .awaited, requestPhase != .discarding,
            requestPhase != .discarded
        else { return false }
        let pool = generation.pools[route.upstream]
        let options = route.options.retry
        let isWanted: Bool
        var limit = options.attempts
        switch cause {
        case .staleConnection:
            isWanted = true
            limit = max(limit, 1)
        case .reset: isWanted = options.onReset
        case .timeout: isWanted = options.onTimeout
        case .status: isWanted = true
        }
        // What nobody asked for is not counted as left out.
        guard isWanted else { return false }
        // A connection that had served before says nothing of the server's load, and the new one is asked once: that is free.
        let skip = reasonNotToSendAgain(options, limit: limit)
        if let skip = cause == .staleConnection ? skip : skip ?? budgetIsSpent(pool) {
            pool.tally.count(skip)
            record.retrySkip = skip
            return false
        }
        record.retries += 1
        pool.tally.count(cause.result)
        releaseUpstream(reusable: false)
        upstreamPhase = .connecting
        let pause: UInt64
        if cause == .staleConnection {
            pause = 0
        } else {
            // Each time up to twice as long, and never all at once.
            let most = min(Self.pauses.upperBound, Self.pauses.lowerBound << UInt64(min(record.retries + 1, 4)))
            pause = Self.pauses.lowerBound + pool.nextRandom() % (most - Self.pauses.lowerBound)
        }
        attempt = pool.waitAgain(for: self, after: pause, avoiding: endpoint)
        return true
    }

    private func reasonNotToSendAgain(_ options: RetryOptions, limit: Int) -> RetrySkip? {
        if !options.isEnabled { return .disabled }
        if interimWasSent { return .responseStarted }
        if record.retries >= limit { return .attempts }
        // Where nothing was sent, nothing was executed, whatever the method is.
        if !hasWritten { return nil }
        if !request.methodKind.isIdempotent { return .notIdempotent }
        return holdsReplay ? nil : .bodyTooLarge
    }

    private func budgetIsSpent(_ pool: UpstreamPool) -> RetrySkip? {
        pool.budget.spend(worker.loop.now) ? nil : .budget
    }
}

extension Method {
    /// RFC 9110 §9.2.2.
    var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete, .trace: true
        default: false
        }
    }
}
