/// What a worker needs to go over to new settings.
struct SettingsChange: Sendable {
    let settings: ProxySettings
    /// Its sockets for addresses that the old settings don't have.
    let opened: [BoundListener]
    /// Where the access log goes from here on; nil: nowhere.
    let logSink: LogSink?
}
