/// What a client of HTTP/2 may do on one connection; of a server, its windows and `ping` hold. The limits of a head and of trailers
/// are `WireLimits`, as for HTTP/1.
public struct HTTP2Limits: Hashable, Sendable {
    /// Streams that may be open at once, 1 to 10,000: 100, as in Envoy's advice for edges. Beyond: REFUSED_STREAM.
    public var streams = 100
    /// Bytes of a stream's content that may come before the upstream has taken some, 1 KiB to 16 MiB: 64 KiB. A stream brings
    /// as much in one round trip at most.
    public var streamWindow = 64 * 1024
    /// Bytes of content that may be on their way on a connection, of all its streams together, 64 KiB to 1 GiB: 1 MiB.
    public var connectionWindow = 1024 * 1024
    /// Requests of a connection before it ends in good order, as nginx does: 1,000.
    public var requests = 1000

    /// Time without a byte from a client that has a stream open: then it is asked for a sign of life (PING), and after as long again
    /// without one its connection ends. 30 s.
    public var ping = Duration.seconds(30)

    /// Whether streams that the client resets are counted as what brings nothing. Where resets are how it ends its work they aren't.
    public var countsResets = true

    public init() {}
}

/// Why a connection or a stream ends (RFC 9113 §7).
public struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let noError = HTTP2ErrorCode(rawValue: 0)
    public static let protocolError = HTTP2ErrorCode(rawValue: 1)
    public static let internalError = HTTP2ErrorCode(rawValue: 2)
    public static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    public static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    public static let cancel = HTTP2ErrorCode(rawValue: 8)
    public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name that RFC 9113 §7 gives it, or its number.
    public var name: String { rawValue < Self.names.count ? Self.names[Int(rawValue)] : "the code \(rawValue)" }
}
