internal import Glibc

/// The control groups that the process is in, of version 2 and of version 1: what a container, a pod or a service may have is a
/// limit of one of them, or of one above it.
struct ControlGroups {
    /// What `/proc/self/cgroup` says.
    let membership: String
    /// What `/proc/self/mountinfo` says; empty where it can't be read.
    let mounts: String

    /// Those of this process, as they are now.
    static func current() -> ControlGroups {
        ControlGroups(membership: text("/proc/self/cgroup") ?? "", mounts: text("/proc/self/mountinfo") ?? "")
    }

    /// Where the files of a controller are, from the top down to the process's own group.
    struct Folders: Equatable {
        /// Of version 2, where all controllers share one tree.
        var unified: [String] = []
        /// Of version 1, where the controller has a tree of its own.
        var own: [String] = []
    }

    /// The folders in which `controller`, as `cpu`, may have limits of this process.
    ///
    /// Inside a container the path of the group is mostly not visible and its files are at the top, so the top is always among
    /// them.
    func folders(of controller: String) -> Folders {
        var folders = Folders()
        for line in membership.split(separator: "\n") {
            // 4:cpu,cpuacct:/path, and 0::/path of version 2.
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[1].isEmpty {
                let mount = mount(of: nil) ?? ("/sys/fs/cgroup", "/")
                folders.unified += Self.places(String(fields[2]), in: mount)
            } else if fields[1].split(separator: ",").contains(Substring(controller)) {
                let mount = mount(of: controller) ?? ("/sys/fs/cgroup/\(controller)", "/")
                folders.own += Self.places(String(fields[2]), in: mount)
            }
        }
        return folders
    }

    /// Where a tree is mounted, and which of its groups is the top that is seen there (proc_pid_mountinfo(5)); the last one of
    /// several covers the others.
    /// - Parameter controller: nil for that of version 2.
    private func mount(of controller: String?) -> (point: String, root: String)? {
        var found: (point: String, root: String)?
        // As bytes: a node has thousands of mounts, and this is done before the first request.
        for line in mounts.utf8.split(separator: UInt8(ascii: "\n")) {
            // ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS…] - TYPE SOURCE SUPER-OPTIONS
            let fields = line.split(separator: UInt8(ascii: " "))
            guard let dash = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }), dash >= 6,
                dash + 3 < fields.count
            else { continue }
            let isWanted =
                if let controller {
                    fields[dash + 1].elementsEqual("cgroup".utf8)
                        && fields[dash + 3].split(separator: UInt8(ascii: ","))
                            .contains { $0.elementsEqual(controller.utf8) }
                } else {
                    fields[dash + 1].elementsEqual("cgroup2".utf8)
                }
            if isWanted { found = (Self.unescaped(fields[4]), Self.unescaped(fields[3])) }
        }
        return found
    }

    /// The group at `path` and those above it, as far as they are seen at the mount.
    private static func places(_ path: String, in mount: (point: String, root: String)) -> [String] {
        var names = path.split(separator: "/")
        let root = mount.root.split(separator: "/")
        if names.starts(with: root) { names.removeFirst(root.count) }
        var places = [mount.point]
        for name in names where name != ".." { places.append("\(places[places.count - 1])/\(name)") }
        return places
    }

    /// Blanks, tabs, line ends and backslashes stand as `\` and three octal digits.
    private static func unescaped(_ text: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text of a file of the system's, up to 1 MiB: what lists mounts may be long.
    static func text(_ path: String) -> String? {
        // SAFETY: the path lives during the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var slice = [UInt8](repeating: 0, count: 4096)
        while text.count < 1024 * 1024 {
            // SAFETY: the buffer is written during the call, up to its size.
            let count = unsafe slice.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            text += slice[..<count]
        }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}
