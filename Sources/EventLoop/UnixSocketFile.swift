internal import Glibc

/// The file of a unix socket: the very one that was bound, whatever stands at its path by now.
struct UnixSocketFile: Sendable {
    /// Where clients look for it.
    private let path: String
    /// Where it was made: beside that, where another process' socket had the place.
    private let made: String
    private let device: dev_t
    private let inode: ino_t

    /// The file that is at `made` now, or else at `path`, and is meant for `path`.
    init?(path: String, made: String? = nil) {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        guard unsafe lstat(made ?? path, &status) == 0 else { return nil }
        self.path = path
        self.made = made ?? path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Puts the file at its path, in the place of what is there.
    func takePlace() throws(LoopError) {
        guard made != path else { return }
        // SAFETY: both paths are end-marked and live during the call.
        guard unsafe rename(made, path) == 0 else {
            throw .system(call: "rename of a socket to \(path)", errno: errno)
        }
    }

    /// Removes the file, unless another process has put one of its own there.
    func remove() {
        for place in made == path ? [path] : [path, made] where isFile(at: place) {
            // SAFETY: the path is end-marked and lives during the call.
            _ = unsafe unlink(place)
        }
    }

    /// Whether no client finds the socket any more, and no other process serves them either: somebody has removed the file, or a process
    /// that had its place has ended.
    var isLost: Bool {
        let address = SocketAddress(unixPath: path)
        guard !isFile(at: path), !Self.isOther(address) else { return false }
        guard let outcome = try? Self.knock(at: address) else { return true }
        return outcome == ECONNREFUSED
    }

    /// Whether something else stands at the path, mostly the socket of a process that has taken the place, or nothing does.
    var isDisplaced: Bool { !isFile(at: path) }

    private func isFile(at place: String) -> Bool {
        guard let now = UnixSocketFile(path: place) else { return false }
        return now.device == device && now.inode == inode
    }

    /// Removes a socket's file whose listener is gone. Anything else at that path is left, and `bind` says so.
    static func removeStale(_ address: SocketAddress) throws(LoopError) {
        switch try knock(at: address) {
        case ECONNREFUSED:
            // SAFETY: the path is end-marked and lives during the call.
            guard unsafe unlink(address.path) == 0 || errno == ENOENT else {
                throw .system(call: "unlink \(address), which nobody listens on", errno: errno)
            }
        case EACCES:
            // Whether somebody listens there can't be known, and that is no reason to call it in use.
            throw .system(call: "connect \(address), which another user has made", errno: EACCES)
        default: break
        }
    }

    /// Whether a socket listens on the unix socket at `address`, also one whose backlog is full because its process hangs.
    static func isListenedOn(_ address: SocketAddress) -> Bool {
        guard let outcome = try? knock(at: address) else { return false }
        return outcome == 0 || outcome == EAGAIN
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
