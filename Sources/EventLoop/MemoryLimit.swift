internal import Glibc

/// What the system lets this process have of memory.
public enum MemoryLimit {
    /// The smallest of the limits that hold, in bytes, and what sets it; nil when none does.
    ///
    /// Asked are the control group (version 2, then 1) with the groups above it, RLIMIT_AS and RLIMIT_DATA.
    public static func current() -> (bytes: Int, source: String)? {
        smallest(
            files: files(of: ControlGroups.current()),
            resources: [
                // It counts addresses, of which code, stacks and the allocator's heaps have far more than memory.
                ("RLIMIT_AS", resource(RLIMIT_AS).map { max(1, $0 - addresses()) }),
                ("RLIMIT_DATA", resource(RLIMIT_DATA)),
            ],
            read: ControlGroups.text)
    }

    /// Bytes of memory that the machine has; nil where the system doesn't say.
    public static func installed() -> Int? {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let size = sysconf(Int32(_SC_PAGESIZE))
        return pages > 0 && size > 0 ? pages * size : nil
    }

    static func smallest(
        files: [String], resources: [(String, Int?)], read: (String) -> String?
    ) -> (bytes: Int, source: String)? {
        var found: (bytes: Int, source: String)?
        for file in files {
            guard let bytes = read(file).flatMap(bytes(in:)) else { continue }
            if bytes < found?.bytes ?? .max { found = (bytes, file) }
        }
        for (name, bytes) in resources {
            if let bytes, bytes < found?.bytes ?? .max { found = (bytes, name) }
        }
        return found
    }

    /// The files that may hold a limit for a process in these groups.
    static func files(of groups: ControlGroups) -> [String] {
        let folders = groups.folders(of: "memory")
        return folders.own.map { "\($0)/memory.limit_in_bytes" } + folders.unified.map { "\($0)/memory.max" }
    }

    /// The limit in a file's text; nil for `max` and for the huge number by which version 1 says the same.
    static func bytes(in text: String) -> Int? {
        guard let line = text.split(separator: "\n").first, let bytes = Int(line) else { return nil }
        return bytes > 0 && bytes < 1 << 60 ? bytes : nil
    }

    /// Bytes of addresses that the process has; 0 where the system doesn't say.
    private static func addresses() -> Int {
        let pages = ControlGroups.text("/proc/self/statm")?.split(separator: " ").first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func resource(_ resource: __rlimit_resource) -> Int? {
        var limit = rlimit()
        // SAFETY: the structure is written during the call.
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur < 1 << 60 ? Int(limit.rlim_cur) : nil
    }
}
