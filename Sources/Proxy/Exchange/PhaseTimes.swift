internal import Gateway

/// A client's times in nanoseconds, converted once: the data path only adds them to the clock.
struct ClientTimes {
    let handshake: UInt64
    let head: UInt64
    let keepAlive: UInt64
    let write: UInt64

    init(_ timeouts: ClientTimeouts) {
        handshake = timeouts.handshake.nanoseconds
        head = timeouts.header.nanoseconds
        keepAlive = timeouts.keepAlive.nanoseconds
        write = timeouts.write.nanoseconds
    }
}

/// A route's times in nanoseconds.
struct RouteTimes {
    var firstByte: UInt64 = 0
    var gap: UInt64 = 0
    var bodyGap: UInt64 = 0
    /// For the whole exchange; 0: no bound.
    var request: UInt64 = 0
    var rates = MinimumRates.standard
    var tunnel: UInt64 = 0

    init() {}

    init(_ timeouts: RouteTimeouts, _ rate: RateOptions) {
        firstByte = timeouts.firstByte.nanoseconds
        gap = timeouts.gap.nanoseconds
        bodyGap = timeouts.bodyGap.nanoseconds
        tunnel = timeouts.tunnel.nanoseconds
        request = timeouts.request?.nanoseconds ?? 0
        rates = MinimumRates(rate)
    }
}

/// The least that a client must send and take: bytes in a second, 0 for no minimum, and nanoseconds of grace.
struct MinimumRates {
    let request: UInt64
    let response: UInt64
    let grace: UInt64

    /// Those of a route that says nothing of them.
    static let standard = MinimumRates(RateOptions())
    /// Where no minimum holds.
    static let none = MinimumRates(request: 0, response: 0, grace: 0)

    private init(request: UInt64, response: UInt64, grace: UInt64) {
        self.request = request
        self.response = response
        self.grace = grace
    }

    /// What holds of them for calls of gRPC, whose messages come when there is something to say.
    var ofCalls: MinimumRates { MinimumRates(request: 0, response: response, grace: grace) }

    init(_ rate: RateOptions) {
        request = UInt64(clamping: rate.minimumRequest)
        response = UInt64(clamping: rate.minimumResponse)
        grace = rate.grace.nanoseconds
    }
}

extension Duration {
    /// Whole nanoseconds, at most what 63 bits hold (292 years).
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, seconds < 9_000_000_000 else { return seconds < 0 ? 0 : .max / 2 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
