/// When a route sends a request once more.
///
/// A connection that could not be made is no retry: nothing was sent, so the next address is tried whatever stands here.
public struct RetryOptions: Hashable, Sendable {
    /// Whether any request is sent again. Without conditions below, that is one of an idempotent method when the reused connection
    /// that it was sent on turns out to be dead before a byte of the response came, and any of which a server of HTTP/2 says that it
    /// did nothing with it; each once (docs/rules.md F20), but what a connection leaves out that has served others (`FreeRetries`).
    public var isEnabled = true
    /// Bytes of the request that are held for that, head and framing included; 64 KiB. A longer request isn't repeated.
    public var buffer = RetryOptions.standardBuffer
    /// What else is repeated, for idempotent methods and after a pause. Empty: nothing.
    public var statuses: [Int] = []
    /// Whether it is repeated when the upstream didn't begin its answer in time.
    public var onTimeout = false
    /// Whether it is repeated when the upstream ended a new connection before it answered.
    public var onReset = false
    /// How often at most, for `statuses`, `onTimeout` and `onReset`; 1.
    public var attempts = 1

    /// 64 KiB.
    public static let standardBuffer = 64 * 1024

    public init() {}

    /// Whether anything but a reused connection's end is a reason to send a request again.
    public var hasConditions: Bool { !statuses.isEmpty || onTimeout || onReset }
}
