internal import Gateway

/// What of the health of an upstream's addresses holds when its settings change (docs/upstreams.md): what the new ones would have found out
/// by the same means.
struct HealthCarryOver {
    /// Whether it is spoken to as before. Where it isn't, nothing is known: the change may be what makes it well.
    let isSameServer: Bool
    /// Whether the same failures of requests count.
    let keepsFailures: Bool
    /// Whether what couldn't be connected to couldn't be now.
    let keepsConnecting: Bool
    /// Whether the active checks ask the same.
    let keepsChecks: Bool
    /// Nanoseconds for which an address is left alone at most.
    let longest: UInt64

    init(from old: UpstreamSettings, to new: UpstreamSettings) {
        isSameServer = old.version == new.version && old.tls == new.tls
        let counts = isSameServer && new.health.passive.failures > 0
        keepsFailures = counts && old.health.passive.statuses == new.health.passive.statuses
        keepsConnecting = counts && old.connect == new.connect
        longest = new.health.passive.maximumEjection.nanoseconds
        if isSameServer, let before = old.health.active, let active = new.health.active {
            keepsChecks =
                before.path == active.path && before.statuses == active.statuses
                && before.host ?? old.hostField == active.host ?? new.hostField
        } else {
            keepsChecks = false
        }
    }
}
