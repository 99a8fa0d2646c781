/// Why settings that were read again can't be used; those in effect stay.
public struct ReloadFailure: Error, Hashable, Sendable {
    /// What is wrong, a line each, with its place.
    public var reasons: [String]
    /// The files that were read, or should have been: one of them must change before it can be better.
    public var files: [String]

    public init(reasons: [String], files: [String]) {
        self.reasons = reasons
        self.files = files
    }
}

/// Reads and checks the settings again. Called on a thread of its own; may take long.
public typealias SettingsReload = @Sendable () -> Result<ProxySettings, ReloadFailure>
