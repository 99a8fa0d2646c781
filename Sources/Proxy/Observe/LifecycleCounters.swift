/// What became of reading the settings again, and of workers that hung. Counted by the first worker for all.
struct LifecycleCounters {
    var reloads: UInt64 = 0
    var failedReloads: UInt64 = 0
    /// Seconds since 1970 when the settings in effect came into effect; 0 in workers that don't count it.
    var lastReload = 0
    /// Whether the last reading of the settings was refused: what is in effect isn't what the file says.
    var isLastReloadRefused = false
    var stalls: UInt64 = 0

    func visit(_ samples: inout MetricSamples) {
        guard lastReload > 0 else { return }
        let help = "Times that the settings were read again, by result."
        let name = "recast_config_reloads_total"
        samples.counter(name, help, labels: [.init("result", "success")], reloads)
        samples.counter(name, help, labels: [.init("result", "failure")], failedReloads)
        samples.gauge(
            "recast_config_last_reload_successful", "Whether the settings that were read last are in effect.",
            isLastReloadRefused ? 0 : 1)
        samples.gauge(
            "recast_config_last_reload_success_timestamp_seconds", "When the settings in effect came into effect.",
            Double(lastReload))
        samples.counter("recast_worker_stalls_total", "Times that a worker did not answer for 5 s.", stalls)
    }
}
