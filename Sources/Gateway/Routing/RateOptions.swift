/// How fast bodies flow on a route: at least and at most. Rates are bytes in a second; 0 is none.
public struct RateOptions: Hashable, Sendable {
    /// What a request's body is slowed to, counted as the client sends it; 0: not at all.
    public var request = 0
    /// What a response's body is slowed to, counted as the upstream sends it; 0: not at all.
    public var response = 0
    /// What a client has to send of a body while it is read from; 500. Below: 408.
    public var minimumRequest = 500
    /// What a client has to take of a response while bytes wait for it; 500. Below: the connection is cut.
    public var minimumResponse = 500
    /// How long a body may be slower than the two minima; 10 s.
    public var grace = Duration.seconds(10)

    public init() {}
}
