internal import Gateway
internal import Proxy

/// The timeouts of a route as settings.
struct TimeoutSettings {
    private var firstByte = Sourced(RouteTimeouts().firstByte)
    private var gap = Sourced(RouteTimeouts().gap)
    private var bodyGap = Sourced(RouteTimeouts().bodyGap)
    private var request = Sourced(RouteTimeouts().request)
    private var tunnel = Sourced(RouteTimeouts().tunnel)

    /// The timeouts that hold where nothing is written; the client's gap holds for all routes.
    init(bodyGap: Sourced<Duration> = Sourced(RouteTimeouts().bodyGap)) {
        self.bodyGap = bodyGap
    }

    /// Takes what `section` says and keeps the rest.
    mutating func read(_ section: SectionReader) {
        firstByte = section.time("first_byte", standard: firstByte)
        gap = section.time("gap", standard: gap)
        bodyGap = section.time("body_gap", standard: bodyGap)
        request = section.timeOrOff("request", standard: request)
        tunnel = section.time("tunnel", standard: tunnel)
        section.refuse("connect", "is set per upstream: upstreams: {NAME: {address: …, connect: 3s}}")
        section.finish()
    }

    var timeouts: RouteTimeouts {
        var timeouts = RouteTimeouts()
        timeouts.firstByte = firstByte.value
        timeouts.gap = gap.value
        timeouts.bodyGap = bodyGap.value
        timeouts.request = request.value
        timeouts.tunnel = tunnel.value
        return timeouts
    }
}

/// The timeouts of clients' connections, and the grace time, as settings.
struct ClientTimeoutSettings {
    private(set) var timeouts = ClientTimeouts()
    private(set) var grace: Duration
    /// What bounds other times of the process' end; nil where the grace time could not be read.
    let graceBound: SectionReader.Bound<Duration>?
    /// The standard for the routes' own.
    private(set) var bodyGap: Sourced<Duration>

    init(_ section: SectionReader, grace: Duration) {
        timeouts.handshake = section.time("handshake", standard: Sourced(timeouts.handshake)).value
        timeouts.header = section.time("header", standard: Sourced(timeouts.header)).value
        timeouts.keepAlive = section.time("keep_alive", standard: Sourced(timeouts.keepAlive)).value
        bodyGap = section.time("body_gap", standard: Sourced(timeouts.bodyGap))
        timeouts.bodyGap = bodyGap.value
        timeouts.write = section.time("write", standard: Sourced(timeouts.write)).value
        let failures = section.context.failures
        let read = section.time("grace", standard: Sourced(grace)).value
        self.grace = read
        graceBound = section.bound("timeouts.grace", read, since: failures)
        for key in ["first_byte", "gap", "request", "tunnel"] {
            section.refuse(key, "is a route's: write it under \"defaults: {timeouts: …}\" or in a route")
        }
        section.refuse("connect", "is set per upstream: upstreams: {NAME: {address: …, connect: 3s}}")
        section.finish()
    }
}
