internal import HTTPWire

/// How bodies for one upstream are framed. A reference, because requests look at it and a string is in it.
final class UpstreamFraming: Sendable {
    let mode: FramingMode
    let spool: SpoolSettings

    init(_ upstream: UpstreamSettings) {
        mode = upstream.framing
        spool = upstream.spool
    }

    private init(_ mode: FramingMode, spool: SpoolSettings) {
        self.mode = mode
        self.spool = spool
    }

    /// That of requests which a data plane forwards: it frames them itself.
    static let processed = UpstreamFraming(.chunked, spool: SpoolSettings())

    /// The framing that a body gets of which we know `known`.
    func framing(for known: BodyFraming) -> BodyFraming {
        guard mode == .chunked, case .length(let count) = known, count > 0 else { return known }
        return .chunked
    }
}
