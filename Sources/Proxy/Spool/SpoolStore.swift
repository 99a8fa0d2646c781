internal import Gateway

/// What all spools of one worker share: the quota of the process, the worker's memory, and the counts.
final class SpoolStore {
    let quota: SpoolQuota
    let memory: MemoryAllowance
    /// Files that are open, and bytes in them.
    var files = 0
    var bytes = 0
    private var failures: [UInt64] = [0, 0, 0, 0]

    private static let reasons = ["request_limit", "total", "no_space", "io"]

    init(quota: SpoolQuota, memory: MemoryAllowance) {
        self.quota = quota
        self.memory = memory
    }

    private var nextReport: UInt64 = 0
    /// Nanoseconds between two lines about the disk: 10 s.
    private static let reportGap: UInt64 = 10_000_000_000

    /// Whether a fault of the disk is to be reported now, `now` being nanoseconds of the loop's clock.
    func mayReport(at now: UInt64) -> Bool {
        guard now >= nextReport else { return false }
        nextReport = now + Self.reportGap
        return true
    }

    func count(_ fault: SpoolFault) {
        switch fault {
        case .tooLarge: failures[0] += 1
        case .total: failures[1] += 1
        case .full: failures[2] += 1
        case .failed: failures[3] += 1
        }
    }

    func visit(_ samples: inout MetricSamples) {
        samples.gauge("recast_spool_bytes", "Bytes of bodies on disk.", Double(bytes))
        samples.gauge("recast_spool_files", "Files of spooled bodies.", Double(files))
        for (reason, count) in zip(Self.reasons, failures) {
            samples.counter(
                "recast_spool_failures_total", "Bodies that could not be spooled.", labels: [.init("reason", reason)],
                count)
        }
    }
}
