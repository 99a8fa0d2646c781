public import Transcoding

/// What a route does with copies of its requests, of which their clients hear nothing: `shadow` in the settings.
public struct ShadowOptions: Hashable, Sendable {
    /// The index, into the settings' upstreams, of the one that gets the copies; nil: none does.
    public var upstream: Int?
    /// Of which part of the requests there are copies, in millionths: 0 to 1,000,000; all of them.
    public var sample = 1_000_000
    /// Bytes of a copy's content at most, and of each answer that is read; 64 KiB. Longer requests have no copy, and are counted.
    public var buffer = 64 * 1024
    /// Copies that may wait or be on their way, for each worker; 16. Beyond it there is no copy, and that is counted.
    public var inFlight = 16
    /// For a copy, from when it may be sent to the end of its answer; 5 s.
    public var timeout = Duration.seconds(5)
    /// Whether the answer to a copy is compared with that which the client gets.
    public var compares = false
    /// Values of answers that may differ, with all that is below them.
    public var ignored: [FieldPath] = []

    public init() {}
}

/// `ShadowOptions` of a route, prepared. An object: most routes have none, and ask no more than that.
public final class RouteShadow: Sendable {
    /// The field by which the second upstream knows a copy; its value is the route's name. In lower case.
    static let markName = "recast-shadow"

    public let options: ShadowOptions
    /// The route as it would be if it converted: copies of its requests are converted by it, to see what that would refuse. Nil: they
    /// are not.
    public let trial: Route?
    /// The part of the requests of which there are copies.
    package let ratio: TraceRatio

    init(_ options: ShadowOptions, trial: Route?) {
        self.options = options
        self.trial = trial
        ratio = TraceRatio(millionths: options.sample)
    }
}
