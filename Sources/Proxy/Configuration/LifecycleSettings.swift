public import EventLoop

/// When settings are read again, and how the process ends.
public struct LifecycleSettings: Hashable, Sendable {
    /// Whether the settings are read again when one of `files` changes; false. SIGHUP does so in any case.
    public var watch = false
    /// How long connections are still accepted when draining has begun, so that balancers see `/ready` say no; 0 s.
    public var drainDelay = Duration.zero
    /// How long after its last answer, or its beginning, a connection without a request is kept open while draining; 1 s.
    /// Closing it the moment it is idle would meet the next request on its way.
    public var drainIdle = Duration.seconds(1)
    /// How long handshakes that have begun are waited for before a listener is closed; 100 ms. Not in the file.
    public var handshake = Duration.milliseconds(100)
    /// Whether another process of the same user may listen on the same addresses, to take over; false.
    public var reusePort = false
    /// The files that the settings were read from, those of `${file:…}` among them, as they were before.
    public var files: [ReadFile] = []
    /// What this machine doesn't have for settings that are read again, a line each: logged when they take effect. Not in the file.
    public var remarks: [String] = []

    public init() {}

    /// The same where no other process may listen: nothing is taken from one that does.
    var alone: LifecycleSettings {
        var alone = self
        alone.reusePort = false
        return alone
    }
}
