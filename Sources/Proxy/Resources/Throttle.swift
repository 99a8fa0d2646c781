internal import EventLoop

/// Slows one body to a number of bytes in a second: a token bucket.
///
/// Timers are coarse, so bytes go in bursts: of a tenth of a second's worth, or of 1 KiB where that is more and takes no
/// longer than a second. A burst comes up to 50 ms late; what that loses is made up for in the next one, so the mean is the
/// rate.
final class Throttle {
    private let loop: EventLoop
    private let burst: Double
    /// Bytes in a nanosecond.
    private let rate: Double
    private var tokens: Double
    private var filledAt: UInt64
    private var timer: Timer!

    /// Bursts saved up at most, for timers that are late.
    private static let savedBursts = 2.0

    /// - Parameters:
    ///   - rate: bytes in a second, at least 1.
    ///   - onTokens: called from the loop when bytes may flow again after `take` gave less than was wanted.
    init(loop: EventLoop, rate: Int, onTokens: @escaping () -> Void) {
        self.loop = loop
        self.rate = Double(rate) / 1e9
        burst = max(Double(rate) / 10, min(1024, Double(rate)))
        tokens = burst
        filledAt = loop.now
        timer = Timer(loop: loop, action: onTokens)
    }

    /// How many of `wanted` bytes may flow now; they count as flown. Fewer: the caller pauses until `onTokens`.
    func take(_ wanted: Int) -> Int {
        let now = loop.now
        tokens = min(tokens + Double(now - filledAt) * rate, burst * Self.savedBursts)
        filledAt = now
        let taken = min(wanted, Int(tokens))
        tokens -= Double(taken)
        if taken < wanted, !timer.isSet { timer.set(after: UInt64((burst - tokens) / rate)) }
        return taken
    }

    /// Gives bytes back that were taken and didn't flow.
    func putBack(_ count: Int) { tokens += Double(count) }

    /// No bytes flow any more.
    func stop() { timer.cancel() }
}
