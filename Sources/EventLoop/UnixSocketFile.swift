internal import Glibc

/// The file of a unix socket: the very one that was bound, whatever stands at its path by now.
struct UnixSocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file that is at `path` now.
    init?(path: String) {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes the file, unless another process has put one of its own there.
    func remove() {
        guard let now = UnixSocketFile(path: path), now.device == device, now.inode == inode else { return }
        // SAFETY: the path is end-marked and lives during the call.
        _ = unsafe unlink(path)
    }

    /// Removes a socket's file whose listener is gone. Anything else at that path is left, and `bind` says so.
    static func removeStale(_ address: SocketAddress) throws(LoopError) {
        // SAFETY: the path is end-marked and lives during the call.
        if try knock(at: address) == ECONNREFUSED { _ = unsafe unlink(address.path) }
    }

    /// Whether a socket listens on the unix socket at `address`.
    static func isListenedOn(_ address: SocketAddress) -> Bool {
        (try? knock(at: address)) == 0
    }

    /// Whether something that is no socket stands at the path of `address`, which may be no unix socket's.
    static func isOther(_ address: SocketAddress) -> Bool {
        guard address.isUnix, let isSocket = isSocket(at: address) else { return false }
        return !isSocket
    }

    /// Whether what stands at the path of `address` is a socket; nil where nothing does.
    private static func isSocket(at address: SocketAddress) -> Bool? {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        return unsafe lstat(address.path, &status) == 0 ? status.st_mode & S_IFMT == S_IFSOCK : nil
    }

    /// Connects to the socket at `address` and leaves. 0, or why it can't be done; nil where there is no socket.
    private static func knock(at address: SocketAddress) throws(LoopError) -> Int32? {
        guard isSocket(at: address) == true else { return nil }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { throw .system(call: "socket", errno: errno) }
        defer { _ = Glibc.close(probe) }
        // SAFETY: the pointer is used only during the call.
        return unsafe address.withSystemAddress { unsafe connect(probe, $0, $1) } == 0 ? 0 : errno
    }
}
