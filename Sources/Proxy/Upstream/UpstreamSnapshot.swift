internal import EventLoop
internal import Gateway

/// What one worker knows of an upstream.
public struct UpstreamSnapshot: Sendable, Hashable {
    public var name: String
    public var endpoints: [EndpointSnapshot]
    public var names: [NameSnapshot]
    /// Requests that wait for a connection because a limit is reached.
    public var queued: Int
    /// Requests that wait for the first answer to a look-up.
    public var unresolved: Int
    /// Connections, idle ones and those being made included, and how many there may be.
    public var connections: Int
    public var maxConnections: Int
    /// Requests on their way.
    public var inFlight: Int
    /// Whether requests are answered with 503 at once.
    public var isDown: Bool
    /// Requests that were sent once more since the start, by why, and those that were not, by why not.
    public var retries: [String: UInt64]
    public var skippedRetries: [String: UInt64]
}

/// What one worker knows of an upstream's address.
public struct EndpointSnapshot: Sendable, Hashable {
    public enum State: Sendable, Hashable {
        case healthy
        /// No requests for so many milliseconds more; 0: the next request shows.
        case ejected(milliseconds: UInt64)
        /// Connections can't be made.
        case dead
        /// The active checks fail.
        case failingChecks
    }

    /// `127.0.0.1:3000`, `unix:/run/app.sock`.
    public var address: String
    public var state: State
    public var idle: Int
    public var connections: Int
    public var inFlight: Int
    /// Failures in a row.
    public var failures: Int
    /// Connections in a row that could not be made.
    public var connectFailures: Int
    /// Times that it was ejected, or came to fail its checks.
    public var ejections: Int
    /// Whether its connections serve one request each for now, as too many ended without a word; and how often that began.
    public var isReusePaused: Bool
    public var reusePauses: Int
    /// What went wrong last, as a line for a person, and the seconds since then; nil: nothing has.
    public var lastFailure: String?
    public var lastFailureAge: UInt64?
}

/// What one worker knows of a name among an upstream's addresses.
public struct NameSnapshot: Sendable, Hashable {
    public var name: String
    /// The last good answer.
    public var addresses: [String]
    /// Seconds since then; nil: never.
    public var age: UInt64?
    /// In seconds.
    public var ttl: Int
    /// Why the last look-up failed; nil after a good one.
    public var fault: String?
}

extension UpstreamPool {
    /// How the upstream is, as this worker sees it.
    func snapshot() -> UpstreamSnapshot {
        let now = loop.now
        return UpstreamSnapshot(
            name: settings.name, endpoints: endpoints.map { $0.snapshot(now) },
            names: names.map { source in
                NameSnapshot(
                    name: source.host, addresses: source.addresses.map(\.description),
                    age: source.answeredAt == 0 ? nil : (now - source.answeredAt) / 1_000_000_000, ttl: source.ttl,
                    fault: source.fault?.description)
            },
            queued: queue.count, unresolved: unresolved.count, connections: connections,
            maxConnections: maxConnections, inFlight: inFlight, isDown: !endpoints.isEmpty && isDown,
            retries: RetryResult.allCases.reduce(into: [:]) { $0[$1.rawValue] = tally.retried($1) },
            skippedRetries: RetrySkip.allCases.reduce(into: [:]) { $0[$1.rawValue] = tally.skipped($1) })
    }
}

extension Endpoint {
    fileprivate func snapshot(_ now: UInt64) -> EndpointSnapshot {
        let state: EndpointSnapshot.State =
            if isFailingChecks {
                .failingChecks
            } else if isDead {
                .dead
            } else if ejectedUntil != 0 {
                .ejected(milliseconds: ejectedUntil > now ? (ejectedUntil - now) / 1_000_000 : 0)
            } else {
                .healthy
            }
        return EndpointSnapshot(
            address: label, state: state, idle: idleCount, connections: connections, inFlight: inFlight,
            failures: failures, connectFailures: connectFailures, ejections: ejections,
            isReusePaused: reuse.isPaused(now), reusePauses: reuse.pauses,
            lastFailure: lastFailure.map { "\($0.what)" },
            lastFailureAge: lastFailure.map { now > $0.at ? (now - $0.at) / 1_000_000_000 : 0 })
    }
}
