internal import CEventShims

/// How many processors this process may use at once.
public struct ProcessorLimit: Hashable, Sendable {
    /// At least 1.
    public let count: Int
    /// What sets it, for a line of the log: `the processors that it may run on`, `the quota of 0.50 processors in FILE`.
    public let reason: String

    /// The smaller of the processors that the scheduler may put the process on (sched_getaffinity(2)) and of what the quotas of
    /// its control groups give, rounded up: of its own and of all above it, of version 2 (`cpu.max`) and 1
    /// (`cpu.cfs_quota_us`).
    public static func current() -> ProcessorLimit {
        smallest(
            affinity: Int(recast_processors()), folders: ControlGroups.current().folders(of: "cpu"),
            read: ControlGroups.text)
    }

    static func smallest(
        affinity: Int, folders: ControlGroups.Folders, read: (String) -> String?
    ) -> ProcessorLimit {
        var found = ProcessorLimit(count: max(1, affinity), reason: "the processors that it may run on")
        func offer(_ share: Share?, _ file: String) {
            guard let share, share.processors < found.count else { return }
            found = ProcessorLimit(count: share.processors, reason: "the quota of \(share) processors in \(file)")
        }
        for folder in folders.unified {
            let file = "\(folder)/cpu.max"
            offer(read(file).flatMap(Share.init(unified:)), file)
        }
        for folder in folders.own {
            let file = "\(folder)/cpu.cfs_quota_us"
            guard let quota = read(file), let period = read("\(folder)/cpu.cfs_period_us") else { continue }
            offer(Share(quota: quota, period: period), file)
        }
        return found
    }

    /// So many microseconds of processors in so many of time.
    struct Share: Hashable, CustomStringConvertible {
        let quota: Int
        let period: Int

        /// `50000 100000`; nil for `max 100000`, and for what is no quota at all.
        init?(unified text: String) {
            let words = text.split { $0 == " " || $0 == "\n" }
            guard words.count == 2 else { return nil }
            self.init(quota: String(words[0]), period: String(words[1]))
        }

        /// The two files of version 1; nil where the quota is -1, which is none.
        init?(quota: String, period: String) {
            guard let quota = Self.number(quota), let period = Self.number(period) else { return nil }
            self.quota = quota
            self.period = period
        }

        private static func number(_ text: String) -> Int? {
            guard let line = text.split(separator: "\n").first, let number = Int(line), number > 0 else { return nil }
            return number
        }

        /// Processors that have something to do at once: half a one is one.
        var processors: Int { quota / period + (quota % period == 0 ? 0 : 1) }

        /// With two decimals, rounded up, so that no quota is 0.00.
        var description: String {
            let (hundredfold, isHuge) = quota.multipliedReportingOverflow(by: 100)
            guard !isHuge else { return "\(quota / period)" }
            let hundredths = hundredfold / period + (hundredfold % period == 0 ? 0 : 1)
            return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
        }
    }
}
