internal import Glibc

/// What the system lets this process have of memory.
public enum MemoryLimit {
    /// The smallest of the limits that hold, in bytes, and what sets it; nil when none does.
    ///
    /// Asked are the control group (version 2, then 1) with the groups above it, RLIMIT_AS and RLIMIT_DATA.
    public static func current() -> (bytes: Int, source: String)? {
        smallest(
            files: groupFiles(of: text("/proc/self/cgroup") ?? ""),
            resources: [("RLIMIT_AS", resource(RLIMIT_AS)), ("RLIMIT_DATA", resource(RLIMIT_DATA))], read: text)
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

    /// The files that may hold a limit for a process whose `/proc/self/cgroup` is `membership`. Inside a container the
    /// path of the group is mostly not visible and its files are at the top, so the top is always among them.
    static func groupFiles(of membership: String) -> [String] {
        var files: [String] = []
        for line in membership.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[1].isEmpty {
                files += places(fields[2]).map { "/sys/fs/cgroup\($0)/memory.max" }
            } else if fields[1].split(separator: ",").contains("memory") {
                files += places(fields[2]).map { "/sys/fs/cgroup/memory\($0)/memory.limit_in_bytes" }
            }
        }
        return files
    }

    /// A group and those above it, up to the top.
    private static func places(_ path: Substring) -> [String] {
        var places = [""]
        for name in path.split(separator: "/") where name != ".." {
            places.append("\(places[places.count - 1])/\(name)")
        }
        return places
    }

    /// The limit in a file's text; nil for `max` and for the huge number by which version 1 says the same.
    static func bytes(in text: String) -> Int? {
        guard let line = text.split(separator: "\n").first, let bytes = Int(line) else { return nil }
        return bytes > 0 && bytes < 1 << 60 ? bytes : nil
    }

    private static func resource(_ resource: __rlimit_resource) -> Int? {
        var limit = rlimit()
        // SAFETY: the structure is written during the call.
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur < 1 << 60 ? Int(limit.rlim_cur) : nil
    }

    /// The first 4 KiB of a file of the system's.
    private static func text(_ path: String) -> String? {
        // SAFETY: the path lives during the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // SAFETY: the buffer is written during the call, up to its size.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}
