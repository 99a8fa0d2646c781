/// The version of HTTP that the sender of a message speaks. What it can take is asked of its `capabilities`; the version itself is
/// for what names it, such as Via and logs.
public enum MessageVersion: UInt8, Hashable, Sendable, BitwiseCopyable, CaseIterable {
    case http1_0
    /// HTTP/1.1, and any later minor, which must be read as 1.1 (RFC 9110 §2.5).
    case http1_1
    case http2

    /// As Via and logs write it.
    public var text: StaticString {
        switch self {
        case .http1_0: "HTTP/1.0"
        case .http1_1: "HTTP/1.1"
        case .http2: "HTTP/2.0"
        }
    }

    /// What a peer that speaks this version can take.
    @inlinable public var capabilities: MessageCapabilities {
        switch self {
        case .http1_0: []
        case .http1_1: [.unsizedBodies, .trailers, .interimResponses, .persistence]
        case .http2: [.unsizedBodies, .trailers, .interimResponses, .persistence, .framedEnds]
        }
    }
}

/// What the sender of a message understands of what may be sent back to it.
public struct MessageCapabilities: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Bodies whose length isn't known beforehand, and whose end can be told from a cut: chunked ones in HTTP/1.1.
    @inlinable public static var unsizedBodies: MessageCapabilities { MessageCapabilities(rawValue: 1) }
    /// Fields behind a body.
    @inlinable public static var trailers: MessageCapabilities { MessageCapabilities(rawValue: 2) }
    /// Interim (1xx) responses before the final one, 100 among them.
    @inlinable public static var interimResponses: MessageCapabilities { MessageCapabilities(rawValue: 4) }
    /// A connection that goes on behind the message.
    @inlinable public static var persistence: MessageCapabilities { MessageCapabilities(rawValue: 8) }
    /// Messages whose end no field has to tell, not even where there is no content, and whose trailers need no leave: a stream's frames
    /// have an end (RFC 9113 §8.1). Calls of gRPC, which end by trailers, can be answered as such.
    @inlinable public static var framedEnds: MessageCapabilities { MessageCapabilities(rawValue: 16) }
}
