/// Spans that wait, and those on their way: no more than `limit` in all.
struct SpanQueue {
    var limit: Int
    private var waiting: [[UInt8]] = []
    /// Those of the batch that is on its way.
    private(set) var sending = 0

    init(limit: Int) { self.limit = limit }

    var waitingCount: Int { waiting.count }
    var count: Int { waiting.count + sending }

    /// Takes a span; returns false, and takes none, where there are as many as there may be.
    mutating func add(_ span: [UInt8]) -> Bool {
        guard count < limit else { return false }
        waiting.append(span)
        return true
    }

    /// The first spans, `most` at most, which count until `sent`.
    mutating func take(_ most: Int) -> [[UInt8]] {
        let batch = Array(waiting.prefix(most))
        waiting.removeFirst(batch.count)
        sending = batch.count
        return batch
    }

    /// So many of those on their way are gone, one way or the other.
    mutating func sent(_ count: Int) { sending -= count }

    /// Forgets all that wait; returns how many.
    mutating func drop() -> Int {
        defer { waiting = [] }
        return waiting.count
    }
}

/// When a batch is sent again that the collector has not taken, as OTLP asks for: later each time, by chance somewhat more or less,
/// and not for ever.
struct ExportBackoff {
    /// Requests for one batch at most.
    static let attempts = 5
    /// Nanoseconds until the second request, 1 s; doubled each time.
    static let first: UInt64 = 1_000_000_000
    /// Nanoseconds at most, whatever Retry-After says: 30 s.
    static let longest: UInt64 = 30_000_000_000

    private var failures = 0

    init() {}

    /// Nanoseconds until the batch is sent again; nil: it is given up, and the next one begins anew.
    /// - Parameters:
    ///   - asked: the seconds that the collector asks for, which make the time no shorter.
    ///   - random: any number; decides on the part of the time, from a half to the whole of it.
    mutating func next(asked: Int?, random: UInt64) -> UInt64? {
        failures += 1
        guard failures < Self.attempts else {
            failures = 0
            return nil
        }
        let whole = min(Self.longest, Self.first << UInt64(failures - 1))
        let own = whole / 2 + random % (whole / 2 + 1)
        // What asks for no time at all would be asked five times at once, and then lose the batch.
        return max(own, min(Self.longest, UInt64(min(max(0, asked ?? 0), 3600)) * 1_000_000_000))
    }

    /// The batch was taken, or can't be.
    mutating func end() { failures = 0 }

    /// Whether OTLP lets a request be sent again that was answered so.
    static func repeats(_ status: Int) -> Bool { [429, 502, 503, 504].contains(status) }
}
