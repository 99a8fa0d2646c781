internal import HTTPWire

/// How bodies for one upstream are framed. A reference, because requests look at it and a string is in it.
final class UpstreamFraming: Sendable {
    let mode: FramingMode
    let spool: SpoolSettings
    /// Whether frames of HTTP/2 carry them.
    let isOfHTTP2: Bool

    init(_ upstream: UpstreamSettings) {
        mode = upstream.framing
        spool = upstream.spool
        isOfHTTP2 = upstream.version == .http2
    }

    private init(_ mode: FramingMode, spool: SpoolSettings) {
        self.mode = mode
        self.spool = spool
        isOfHTTP2 = false
    }

    /// That of requests which a data plane forwards: it frames them itself.
    static let processed = UpstreamFraming(.chunked, spool: SpoolSettings())

    /// The framing that a body gets of which we know `known`, and what is written of it: frames of HTTP/2 carry content whose length
    /// isn't known as they carry any.
    func written(for known: BodyFraming) -> (framing: BodyFraming, encoder: BodyEncoder) {
        let framing = framing(for: known)
        if isOfHTTP2, framing == .chunked { return (framing, BodyEncoder(framing: .untilClose)) }
        return (framing, BodyEncoder(framing: framing))
    }

    /// The framing that a body gets of which we know `known`.
    func framing(for known: BodyFraming) -> BodyFraming {
        guard mode == .chunked, case .length(let count) = known, count > 0 else { return known }
        return .chunked
    }
}
