internal import Glibc

/// What the system knows of this process, under the names that Prometheus' own libraries use, and what was built.
struct ProcessSamples {
    /// Seconds since 1970 when the process began to serve.
    private let startedAt = Double(LogTime.now()) / 1000

    func visit(_ samples: inout MetricSamples) {
        samples.gauge(
            "recast_build_info", "What runs; always 1.",
            labels: [
                .init("version", BuildInformation.version), .init("commit", BuildInformation.commit ?? "unknown"),
            ], 1)
        samples.gauge("process_start_time_seconds", "When the process began to serve, since 1970.", startedAt)
        if let count = Self.openDescriptors() {
            samples.gauge("process_open_fds", "Open file descriptors.", Double(count))
        }
        var limit = rlimit()
        // SAFETY: the pointer is used only during the call.
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            samples.gauge("process_max_fds", "File descriptors that may be open.", Double(limit.rlim_cur))
        }
        var time = timespec()
        // SAFETY: as above.
        if unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            samples.counter(
                "process_cpu_seconds_total",
                "Time of the processors that was used, by the program and the system for it.",
                seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
        }
        if let pages = Self.pages() {
            let size = sysconf(Int32(_SC_PAGESIZE))
            samples.gauge("process_virtual_memory_bytes", "Address space in use.", Double(pages.all * size))
            samples.gauge("process_resident_memory_bytes", "Memory in use.", Double(pages.resident * size))
        }
    }

    /// Entries of /proc/self/fd but for its own two and the descriptor that reads them.
    private static func openDescriptors() -> Int? {
        // SAFETY: the folder is closed below; entries are only counted.
        guard let folder = unsafe opendir("/proc/self/fd") else { return nil }
        var count = 0
        while unsafe readdir(folder) != nil { count += 1 }
        unsafe closedir(folder)
        return count - 3
    }

    private static func pages() -> (all: Int, resident: Int)? {
        // SAFETY: the path is a constant; the buffer is as long as the call is told.
        let descriptor = unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return nil }
        let numbers = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").map { Int($0) ?? 0 }
        return numbers.count > 1 ? (numbers[0], numbers[1]) : nil
    }
}
